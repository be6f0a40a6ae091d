#!/usr/bin/env python3
"""The binary interface: what abidw writes for the public headers, compared with the committed dump by abidiff.

  abi.py             fails when a function, type, enumerator or structure changed or went; additions pass
  abi.py --update    writes libtensorrt.abi

The dump is made from a library of empty functions with the signatures of the public headers: it has the types of the whole interface
without a build with debug information. (That the real library defines the same functions is checked by symbols.py, that it defines them
with these signatures by its compiler, since its sources include the headers.)
"""

import os
import shutil
import subprocess
import sys
import tempfile

import cheaders

DUMP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtensorrt.abi")


def stub_source():
    out = [f'#include "{h}"\n' for h in cheaders.public_headers()]
    for f in cheaders.all_functions():
        parameters = ", ".join(f"{p.type} {p.name}" for p in f.parameters) or "void"
        uses = " ".join(f"(void){p.name};" for p in f.parameters)
        result = "" if f.result == "void" else f" static {f.result.replace('const ', '', 1) if not f.result.endswith('*') else f.result} result_; return result_;"
        out.append(f"{f.result} {f.name}({parameters}) {{ {uses}{result} }}\n")
    return "".join(out)


def make_dump(directory, path):
    source, library = os.path.join(directory, "interface.c"), os.path.join(directory, "libtensorrt.so.0")
    with open(source, "w", encoding="utf-8") as f:
        f.write(stub_source())
    # The dump shall not say in which folder it was made.
    subprocess.run(["cc", "-std=c11", "-g", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", "-I" + cheaders.INCLUDE, f"-ffile-prefix-map={directory}=.",
                    "-Wl,-soname,libtensorrt.so.0", "-o", library, source], check=True)
    subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--type-id-style", "hash", "--out-file", path, library], check=True)


def main():
    if not shutil.which("abidw"):
        print("abidw is not installed (abigail-tools)")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        new = os.path.join(directory, "new.abi")
        make_dump(directory, new)
        if "--update" in sys.argv:
            shutil.copyfile(new, DUMP)
            return 0
        run = subprocess.run(["abidiff", "--no-added-syms", DUMP, new], capture_output=True, text=True)
        print(run.stdout[-4000:] + run.stderr if run.returncode else "the interface only grew or is unchanged")
        return 1 if run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
