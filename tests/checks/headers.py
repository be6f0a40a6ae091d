#!/usr/bin/env python3
"""Each public header compiles alone as C11, C++11 and C++17 (the wrapper tensorrt.hpp as C++17), with all warnings as errors; two includes of it are one; tensorrt.h has all.

  headers.py [CC [CXX]]     compilers, cc and c++ by default
"""

import os
import subprocess
import sys

import cheaders

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wstrict-prototypes", "-I" + cheaders.INCLUDE]
MODES = [("c", "-std=c11"), ("c++", "-std=c++11"), ("c++", "-std=c++17")]


def main():
    compilers = {"c": (sys.argv[1] if len(sys.argv) > 1 else "cc").split(), "c++": (sys.argv[2] if len(sys.argv) > 2 else "c++").split()}
    names = cheaders.public_headers()
    if os.path.exists(os.path.join(cheaders.INCLUDE, "tensorrt/tensorrt.hpp")):
        names.append("tensorrt/tensorrt.hpp")  # the other .hpp are parts of it
    failed = 0
    for name in names:
        for language, standard in MODES:
            if name.endswith(".hpp") and (language == "c" or standard == "-std=c++11"):
                continue
            flags = [f for f in FLAGS if language == "c" or f != "-Wstrict-prototypes"]
            text = f'#include "{name}"\n#include "{name}"\nextern int nothing;\n'
            run = subprocess.run(compilers[language] + flags + [standard, "-x", language, "-"], input=text, capture_output=True, text=True)
            if run.returncode:
                failed += 1
                print(f"{name} as {standard}:\n{run.stderr}")
    with open(os.path.join(cheaders.INCLUDE, "tensorrt/tensorrt.h"), encoding="utf-8") as f:
        whole = f.read()
    for name in cheaders.public_headers():
        if name != "tensorrt/tensorrt.h" and f'"{name}"' not in whole:
            failed += 1
            print(f"tensorrt.h does not include {name}")
    print(f"{len(names)} headers, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
