#!/usr/bin/env python3
"""Runs the go command for the build tree, offline: build.py CACHE PACKAGE [--build OUT DIR | --in-package] -- ARGUMENTS

--build OUT DIR     builds the program of the folder DIR, whose go.mod replaces `tensorrt` by an installed copy, with PACKAGE instead
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache")
    parser.add_argument("package")
    parser.add_argument("--go", default="go")
    parser.add_argument("--build", nargs=2, metavar=("OUT", "DIR"))
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
    out, directory = map(os.path.abspath, args.build)
    with open(os.path.join(directory, "go.mod"), encoding="utf-8") as f:
        text = re.sub(r"(replace tensorrt =>).*", rf"\1 {package}", f.read())
    modfile = out + ".mod"
    with open(modfile, "w", encoding="utf-8") as f:
        f.write(text)
    return subprocess.run([args.go, "build", "-buildvcs=false", "-modfile=" + modfile, "-o", out, *arguments, "."], env=env, cwd=directory).returncode


if __name__ == "__main__":
    sys.exit(main())
