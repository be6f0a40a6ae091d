#!/usr/bin/env python3
"""Copies the package's Python files into the build directory, beside the module: stage.py SOURCE BUILD STAMP. What is gone in SOURCE goes in BUILD."""

import os
import shutil
import sys

ENDINGS = (".py", ".pyi", "py.typed")
GENERATED = ("_ops.pyi", "_nn_ops.pyi", "_methods.pyi", "special.pyi", "linalg.pyi", "fft.pyi")


def files(folder):
    """The package's files, as paths relative to the folder."""
    found = set()
    for path, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__"]
        found |= {os.path.relpath(os.path.join(path, n), folder) for n in names if n.endswith(ENDINGS)}
    return found


def main():
    source, build, stamp = sys.argv[1:]
    wanted = files(source)
    for name in files(build) - wanted - set(GENERATED):
        os.unlink(os.path.join(build, name))
    for name in wanted:
        target = os.path.join(build, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(os.path.join(source, name), target)
    with open(stamp, "w"):
        pass


if __name__ == "__main__":
    main()
