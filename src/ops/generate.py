#!/usr/bin/env python3
"""Generates everything that must know the operators, from the declarations in src/ops/*.yaml.

  generate.py --out DIR              writes the C++ sources of the build (only files whose content changed)
  generate.py --list                 prints the names of those files, one a line
  generate.py --headers DIR          writes the public headers ops.h, ops.hpp and tensor_methods.inc
  generate.py --check-headers DIR    fails when they are not what would be generated

--extra DIR adds the declarations of another folder to any of these.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gen import emit_autograd, emit_c, emit_hpp, emit_kernels, emit_ops, model  # noqa: E402
from gen.formula import Formula  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SHARDS = 9


def compose_bodies(groups, operators):
    """Composites given as an expression: their C++ body."""
    for ops in groups.values():
        for op in ops:
            if op.kind == "composite" and op.spec is not True:
                s = op.schema
                f = Formula(str(op.spec), {a.name for a in s.tensor_args}, {a.name for a in s.args if a.type.kind != "Tensor"}, operators)
                body = f.cpp
                for name, attribute in f.attributes:
                    get = {"sizes": "sizes()", "strides": "strides()", "dtype": "dtype()", "dim": "dim()", "numel": "numel()", "device": "device()"}[attribute]
                    body = body.replace(f"{name}_{attribute}", f"{name}.{get}")
                op.body = body


def generate(*extra):
    """({group: [Op]}, {file name: text}) of the declarations here and in the folders `extra`."""
    groups = model.load(HERE, *extra)
    operators = {op.schema.name for ops in groups.values() for op in ops} | {v.schema.name for ops in groups.values() for op in ops for v in model.variants(op)}
    compose_bodies(groups, operators)
    names = list(groups)
    files = {}
    for g, ops in groups.items():
        files[f"{g}_ops.h"] = emit_ops.header(g, ops)
        files[f"{g}_native.h"] = emit_ops.native_header(g, ops)
        files[f"{g}_ops.cpp"] = emit_ops.source(g, ops, names)
        files[f"{g}_autograd.cpp"] = emit_autograd.source(g, ops, names, operators)
        files[f"{g}_capi.cpp"] = emit_c.source(g, ops)
    for i, text in emit_kernels.shards(groups, SHARDS):
        files[f"pointwise_kernels_{i}.cpp"] = text
    files["pointwise_complex.cpp"] = emit_kernels.complex_source(groups)
    files["all_ops.h"] = emit_ops.all_header(names)
    files["register_operators.cpp"] = emit_ops.registration_source(names, SHARDS)
    files["op_symbols.txt"] = "\n".join(emit_c.symbols(groups)) + "\n"
    return groups, files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--headers")
    parser.add_argument("--check-headers")
    parser.add_argument("--extra", action="append", default=[])
    args = parser.parse_args()
    if args.list:
        names = [f[:-5] for d in [HERE] + args.extra for f in sorted(os.listdir(d)) if f.endswith(".yaml")]
        out = [n + s for n in names for s in ("_ops.h", "_native.h", "_ops.cpp", "_autograd.cpp", "_capi.cpp")]
        out += [f"pointwise_kernels_{i}.cpp" for i in range(SHARDS)] + ["pointwise_complex.cpp", "all_ops.h", "register_operators.cpp", "op_symbols.txt"]
        print("\n".join(out))
        return
    groups, files = generate(*args.extra)
    for directory, check in ((args.headers, False), (args.check_headers, True)):
        if not directory:
            continue
        for name, text in (("ops.h", emit_c.header(groups)), *emit_hpp.headers(groups).items()):
            path = os.path.join(directory, name)
            if not check:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                continue
            with open(path, encoding="utf-8") as f:
                if f.read() != text:
                    raise SystemExit(f"{path} is not what the declarations say; run src/ops/generate.py --headers {directory}")
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        for name, text in files.items():
            path = os.path.join(args.out, name)
            try:
                with open(path, encoding="utf-8") as f:
                    if f.read() == text:
                        continue
            except FileNotFoundError:
                pass
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)


if __name__ == "__main__":
    main()
