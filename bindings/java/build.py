#!/usr/bin/env python3
"""Steps of the Java binding's build.

  build.py swig SWIG INTERFACE INCLUDE_DIR JAVA_DIR WRAPPER.CPP      the private SWIG module; its classes go to JAVA_DIR
  build.py jar JAVAC JAR OUT.JAR [--classpath PATH] [--entry NAME FILE]... SOURCE...
                                     compiles sources (a directory: all below it) and packs the classes, and each FILE under its NAME
  build.py javadoc JAVADOC OUT_DIR SOURCE_PATH SOURCE...             documentation; a warning is an error
"""

import os
import shutil
import subprocess
import sys
import tempfile


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{command[0]}: exit status {done.returncode}")
    return done.stdout


def sources(paths):
    out = []
    for p in paths:
        if os.path.isdir(p):
            out += [os.path.join(d, f) for d, _, files in os.walk(p) for f in sorted(files) if f.endswith(".java")]
        elif p.endswith(".java"):
            out.append(p)
    return out


def swig(program, interface, include, java, wrapper):
    shutil.rmtree(java, ignore_errors=True)
    package = os.path.join(java, "org", "libtensorrt")
    os.makedirs(package)
    run([program, "-c++", "-java", "-package", "org.libtensorrt", "-I" + include, "-outdir", package, "-o", wrapper, interface])


def jar(javac, jar_program, out, *rest):
    classpath, entries, paths, rest = None, [], [], list(rest)
    while rest:
        a = rest.pop(0)
        if a == "--classpath":
            classpath = rest.pop(0)
        elif a == "--entry":
            entries.append((rest.pop(0), rest.pop(0)))
        else:
            paths.append(a)
    with tempfile.TemporaryDirectory() as classes:
        arguments = os.path.join(classes, "arguments")
        with open(arguments, "w", encoding="utf-8") as file:
            file.write("\n".join('"' + s.replace("\\", "\\\\") + '"' for s in sources(paths)))
        run([javac, "--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror", "-parameters", "-d", classes]
            + (["-cp", classpath] if classpath else []) + ["@" + arguments])
        os.remove(arguments)
        for name, path in entries:
            os.makedirs(os.path.dirname(os.path.join(classes, name)), exist_ok=True)
            shutil.copyfile(path, os.path.join(classes, name))
        if os.path.exists(out):
            os.remove(out)
        run([jar_program, "--create", "--file", out, "--date=2026-01-01T00:00:00Z", "-C", classes, "."])


def javadoc(program, out, source_path, *paths):
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as arguments:
        arguments.write("\n".join('"' + s.replace("\\", "\\\\") + '"' for s in sources(paths)))
        arguments.flush()
        text = run([program, "-quiet", "-Xdoclint:all", "-Xmaxwarns", "50", "-encoding", "UTF-8", "-notimestamp", "--release", "17", "-sourcepath", source_path,
                    "-d", out, "@" + arguments.name])
    if "warning" in text:
        sys.exit(text)


if __name__ == "__main__":
    steps = {"swig": swig, "jar": jar, "javadoc": javadoc}
    if len(sys.argv) < 2 or sys.argv[1] not in steps:
        sys.exit(__doc__)
    steps[sys.argv[1]](*sys.argv[2:])
