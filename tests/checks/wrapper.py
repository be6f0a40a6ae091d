#!/usr/bin/env python3
"""The C++ wrapper reaches every C function, and compiles without warnings.

  wrapper.py reach                every function of the public headers is called in a .hpp, or stands in ELSEWHERE with a reason
  wrapper.py compile [CXX...]     the wrapper, its tests and the example under g++ and clang++ (or the given compilers) as C++17 with warnings as errors, the
                                  wrapper and the test of tensors as C++20; a file that only includes it within LIMIT seconds of processor time
"""

import os
import re
import resource
import shutil
import subprocess
import sys

import cheaders

ROOT = cheaders.ROOT
FLAGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror", "-fsyntax-only", "-I" + cheaders.INCLUDE]
LIMIT = 10  # about five times of what it takes

ELSEWHERE = {
    "trt_scope_begin": "scopes are for languages without destructors; the wrapper's objects release their handles",
    "trt_scope_end": "as trt_scope_begin",
    "trt_scope_keep": "as trt_scope_begin",
    "trt_tensor_list_get": "vectors of tensors are made from trt_tensor_list_data",
    "trt_tensor_owns_hook": "for collectors of garbage, which C++ does not have",
}


def called():
    """The C functions that the wrapper's code names, comments left out."""
    directory = os.path.join(cheaders.INCLUDE, "tensorrt")
    names = set()
    for file in sorted(os.listdir(directory)):
        if file.endswith(".hpp"):
            with open(os.path.join(directory, file), encoding="utf-8") as f:
                code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", f.read(), flags=re.S)
            names.update(re.findall(r"\btrt_\w+\b", code))
    return names


def reach():
    declared, names = {f.name for f in cheaders.all_functions()}, called()
    errors = [f"{n} is reached through no function of the wrapper" for n in sorted(declared - names - set(ELSEWHERE))]
    errors += [f"{n} stands in ELSEWHERE, but the wrapper calls it or it is gone" for n in sorted(ELSEWHERE) if n in names or n not in declared]
    print("\n".join(errors) if errors else f"{len(declared)} functions, {len(ELSEWHERE)} of them not for C++")
    return 1 if errors else 0


def compile_all(compilers):
    found = [c for c in compilers or ["g++", "clang++"] if shutil.which(c)]
    if not found:
        print("no C++ compiler")
        return 77
    sources = [os.path.join(ROOT, "tests/capi", f) for f in sorted(os.listdir(os.path.join(ROOT, "tests/capi"))) if re.match(r"test_wrapper_\w+\.cpp$", f)]
    sources.append(os.path.join(ROOT, "examples/cpp/fashion_mnist.cpp"))
    failed = 0
    for c in found:
        for standard in ("-std=c++17", "-std=c++20"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run = subprocess.run([c, *FLAGS, standard, "-x", "c++", "-"], input="#include <tensorrt/tensorrt.hpp>\n", capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{c} {standard}: {took:.1f} s of processor time for the header")
            if took > LIMIT:
                failed += 1
                print(f"that is more than {LIMIT}")
            runs = [("tensorrt.hpp", run)] + [(s, subprocess.run([c, *FLAGS, standard, s], capture_output=True, text=True)) for s in sources if standard.endswith("17") or s.endswith("_tensor.cpp")]
            for name, r in runs:
                if r.returncode:
                    failed += 1
                    print(f"{c} {standard} {os.path.relpath(name, ROOT) if os.path.isabs(name) else name}:\n{r.stderr[:2000]}")
    print(f"{len(found)} compilers, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(reach() if sys.argv[1] == "reach" else compile_all(sys.argv[2:]))
