#!/usr/bin/env python3
"""What the shared library exports and needs.

  symbols.py LIBRARY            compares its exported symbols with symbols.txt and with the public headers, and checks: nothing but trt_
                                symbols, one version node, SONAME, needed libraries, symbol versions of glibc up to 2.36, stripped size,
                                and no function-local static that is made at first use: a fork() meanwhile would leave it locked in the child
  symbols.py LIBRARY --update   writes symbols.txt; refuses to drop a symbol unless --drop is given
"""

import os
import re
import subprocess
import sys
import tempfile

import cheaders

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "symbols.txt")
GLIBC = (2, 36)
SIZE_LIMIT = 20 * 1000 * 1000
# OpenBLAS and the plug-ins are loaded when they are first needed, so the library comes up on a host without them.
NEEDED = re.compile(r"^(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|libz|libhwy|ld-linux-x86-64|libtbb)\.so(\.\d+)*$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """{symbol: version node} of the dynamic symbols that it defines."""
    out = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        _, kind, name = line.split()
        symbol, _, version = name.partition("@@")
        if kind != "A":
            out[symbol] = version
    return out


def sanitized(library):
    return any(s in run("nm", "-D", library) for s in (" __asan_init", " __tsan_init"))


def main():
    library, options = sys.argv[1], sys.argv[2:]
    symbols = exported(library)
    with open(LIST, encoding="utf-8") as f:
        committed = f.read().split()
    if "--update" in options:
        dropped = sorted(set(committed) - set(symbols))
        if dropped and "--drop" not in options:
            print("these symbols would be dropped (--drop allows it before a release): " + " ".join(dropped))
            return 1
        with open(LIST, "w", encoding="utf-8") as f:
            f.write("".join(s + "\n" for s in sorted(symbols)))
        return 0
    errors = []
    declared = {f.name for f in cheaders.all_functions()}
    for what, names in (
        ("exported but not in symbols.txt (run tests/checks/update.sh)", set(symbols) - set(committed)),
        ("in symbols.txt but not exported", set(committed) - set(symbols)),
        ("declared in a public header but not exported", declared - set(symbols)),
        ("exported but declared in no public header", set(symbols) - declared),
        ("exported without the prefix trt_", {s for s in symbols if not s.startswith("trt_")}),
        ("without a version node TENSORRT_", {s for s, v in symbols.items() if not v.startswith("TENSORRT_")}),
    ):
        if names:
            errors.append(f"{len(names)} symbols {what}: " + " ".join(sorted(names)[:40]))
    dynamic = run("readelf", "-dW", library)
    soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    if not soname or not re.match(r"^libtensorrt\.so\.\d+$", soname.group(1)):
        errors.append("no SONAME libtensorrt.so.<major>")
    if not sanitized(library):
        for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
            if not NEEDED.match(needed):
                errors.append(f"needs {needed}")
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", library))}
        if versions and max(versions) > GLIBC:
            errors.append(f"needs GLIBC_{'.'.join(map(str, max(versions)))}, newer than {'.'.join(map(str, GLIBC))}")
        if "__cxa_guard_acquire" in run("nm", "-D", library):
            errors.append("has function-local statics that are made at first use; make them constants or a Lazy (base/lazy.h)")
        with tempfile.NamedTemporaryFile() as stripped:
            run("strip", "-o", stripped.name, library)
            size = os.path.getsize(stripped.name)
        print(f"{len(symbols)} symbols, {size / 1e6:.1f} MB stripped, newest glibc symbol {'.'.join(map(str, max(versions, default=())))}")
        if size > SIZE_LIMIT:
            errors.append(f"the stripped library has {size} bytes, more than {SIZE_LIMIT}")
    print("\n".join(errors) if errors else "exports as committed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
