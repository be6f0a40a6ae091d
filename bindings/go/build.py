#!/usr/bin/env python3
"""Runs the go command for the build tree, offline: build.py CACHE PACKAGE [--build OUT DIR | --in DIR | --in-package] -- ARGUMENTS

--build OUT DIR     builds the program of the folder DIR, whose go.mod replaces `tensorrt` by an installed copy, with PACKAGE instead
--in DIR            runs `go ARGUMENTS` in such a folder, likewise
--in-package        runs `go ARGUMENTS` in PACKAGE
The compiler's cache is in CACHE, so that nothing outside of the build tree is written.
"""

import argparse
import os
import re
import subprocess
import sys


def split(argv):
    """What stands before and behind `--`."""
    at = argv.index("--") if "--" in argv else len(argv)
    return argv[:at], argv[at:at + 1], argv[at + 1:]


def with_package(directory, package, modfile):
    """Writes the folder's go.mod with the package of the build tree to modfile."""
    with open(os.path.join(directory, "go.mod"), encoding="utf-8") as f:
        text = re.sub(r"(replace tensorrt =>).*", rf"\1 {package}", f.read())
    # Commands that run at once may share the file: it is never seen half written.
    with open(f"{modfile}.{os.getpid()}", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(f.name, modfile)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache")
    parser.add_argument("package")
    parser.add_argument("--go", default="go")
    parser.add_argument("--build", nargs=2, metavar=("OUT", "DIR"))
    parser.add_argument("--in", dest="directory", metavar="DIR")
    parser.add_argument("--in-package", action="store_true")
    mine, _, arguments = split(sys.argv[1:])
    args = parser.parse_args(mine)
    env = dict(os.environ, GOCACHE=os.path.abspath(args.cache), GOFLAGS="-mod=mod", GOPROXY="off", GO111MODULE="on", GOWORK="off", CGO_ENABLED="1")
    env.setdefault("GOPATH", os.path.join(env["GOCACHE"], "path"))
    # Go wants the plain name of a compiler.
    for name in ("CC", "CXX"):
        env.pop(name, None)
    package = os.path.abspath(args.package)
    if args.in_package:
        return subprocess.run([args.go, *arguments], env=env, cwd=package).returncode
    if args.directory:
        directory = os.path.abspath(args.directory)
        modfile = os.path.join(env["GOCACHE"], os.path.basename(directory) + ".mod")
        with_package(directory, package, modfile)
        return subprocess.run([args.go, arguments[0], "-modfile=" + modfile, *arguments[1:]], env=env, cwd=directory).returncode
    out, directory = map(os.path.abspath, args.build)
    with_package(directory, package, out + ".mod")
    return subprocess.run([args.go, "build", "-buildvcs=false", f"-modfile={out}.mod", "-o", out, *arguments, "."], env=env, cwd=directory).returncode


if __name__ == "__main__":
    sys.exit(main())
