#!/usr/bin/env python3
"""Makes the SWIG declarations (declarations.i) from the public C headers.

Usage: declare.py OUT HEADER...

SWIG chooses a typemap by the type's name, and the languages without out-parameters (Java, Go) need to know from the return type what a
call gives. So each function that returns a trt_status* is declared again with an alias of that type that names its outputs:

    trt_returns_tensor trt_add(const trt_tensor* self, const trt_tensor* other, trt_scalar alpha, trt_tensor** out);

The aliases are trt_returns_nothing, or trt_returns_ and the kinds of the outputs in order ("tensor", "tensor_tensor", "int64", "string", ...). Pairs
of pointer and count get the canonical names below by %apply, so that one typemap serves a pattern:

    (const int64_t* ints, size_t ints_count)                 int[], int[]?     (None: NULL and 0)
    (const double* doubles, size_t doubles_count)            float[]
    (const trt_tensor* const* tensors, size_t tensors_count) Tensor[], Tensor?[]
    (trt_X* const* handles, size_t handles_count)            lists of other handles
    (const char* const* strings, size_t strings_count)       str[]
    const T* optional_T                                      an optional number
    const T* options                                         a struct of options, which may be NULL

Enums, structs and callback types are passed on as they are. Functions that take callbacks or memory of the host, or give an array, are not declared here: they
are listed as `hand-written` in a comment at the end, and each language's interface file has them.
"""

import os
import re
import sys
from dataclasses import dataclass

HANDLES = ("tensor", "tensor_list", "module", "state_dict", "optimizer", "scheduler", "dataset", "data_loader", "generator", "safetensors", "cancel_token", "node")
# The kind of an output by its C type.
OUTPUTS = {f"trt_{h}**": h for h in HANDLES}
OUTPUTS |= {"int64_t*": "int64", "uint64_t*": "uint64", "size_t*": "size", "double*": "double", "bool*": "bool", "trt_scalar*": "scalar", "char**": "string"}
# `out` is an array that the call fills.
FILLED = {"trt_grad"}
OPTIONAL = {"int64_t": "int64", "double": "double", "bool": "bool", "trt_scalar": "scalar", "trt_device": "device"}


@dataclass
class Param:
    type: str  # without blanks before *
    name: str


@dataclass
class Function:
    name: str
    result: str
    params: list
    doc: str

    def outputs(self):
        """The trailing parameters that the call writes: [(kind, Param)]."""
        found = []
        for p in reversed(self.params):
            named_out = p.name == "out" or p.name.startswith("out_") or p.name in ("has_batch", "seed", "offset")
            if not (named_out and p.type in OUTPUTS):
                break
            found.insert(0, (OUTPUTS[p.type], p))
        return found


def parse(text):
    """Returns (verbatim declarations, functions) of a header."""
    verbatim, functions = [], []
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M)
    text = text.replace('extern "C" {', "")
    token = re.compile(r"/\*\*(?P<doc>.*?)\*/|/\*.*?\*/|(?P<function>TRT_API[^;{]*;)|(?P<type>typedef\s+(?:enum|struct)\s+\w*\s*\{(?:[^{}]|\{[^{}]*\})*\}\s*\w+;|typedef[^;{]*;)", re.S)
    doc = ""
    for m in token.finditer(text):
        if m["doc"] is not None:
            doc = clean(m["doc"])
        elif m["function"]:
            functions.append(parse_function(m["function"], doc))
            doc = ""
        elif m["type"]:
            verbatim.append(re.sub(r"/\*.*?\*/", "", m["type"], flags=re.S))
            doc = ""
    return verbatim, functions


def clean(doc):
    lines = [re.sub(r"^\s*\*? ?", "", l).rstrip() for l in doc.strip().splitlines()]
    return re.sub(r"\s*@since [\d.]+", "", "\n".join(lines)).strip()


def parse_function(text, doc):
    text = " ".join(text.split())
    m = re.match(r"TRT_API (.+?) ?\b(trt_\w+)\((.*)\);$", text)
    if not m:
        raise SystemExit(f"cannot read {text!r}")
    result, name, params = m.groups()
    out = []
    for p in params.split(","):
        p = p.strip()
        if p in ("void", ""):
            continue
        pm = re.match(r"(.+?[\s*])(\w+)$", p)
        out.append(Param(tidy(pm[1]), pm[2]))
    return Function(name, tidy(result), out, doc)


def tidy(c_type):
    return re.sub(r"\s*\*", "*", c_type.strip()).replace("*const*", "* const*").replace("*const", "* const")


def hand_written(f):
    """Whether typemaps cannot express it: callbacks, raw memory, arrays as results or to be filled, boxed values."""
    types = [p.type for p in f.params]
    if any(t.endswith("_fn") or "trt_value" in t for t in types):
        return True
    if any(t in ("void*", "const void*") for t in types) or f.result in ("void*", "const trt_tensor* const*"):
        return True
    paired = {x.name for _, *ab in pairs(f) for x in ab}
    if f.name in FILLED or any(p.type == "const char* const*" and p.name not in paired for p in f.params):
        return True
    written = {p.name for _, p in f.outputs()}
    return any(t in OUTPUTS and p.name not in written for p, t in zip(f.params, types))


def pairs(f):
    """The (pointer, count) pairs among the parameters: [(canonical, first, second)]."""
    kinds = {"const int64_t*": "ints", "const double*": "doubles", "const trt_tensor* const*": "tensors", "const char* const*": "strings"}
    kinds |= {f"trt_{h}* const*": "handles" for h in HANDLES}
    found = []
    for a, b in zip(f.params, f.params[1:]):
        if b.type == "size_t" and a.type in kinds and (b.name in (a.name + "_count", a.name.rstrip("s") + "_count", "count", "ndim")):
            found.append((kinds[a.type], a, b))
    return found


def declare(headers):
    verbatim, functions, applied, skipped, aliases = [], [], {}, [], set()
    for path in headers:
        with open(path, encoding="utf-8") as file:
            v, fs = parse(file.read())
        verbatim += v
        for f in fs:
            if hand_written(f):
                skipped.append(f.name)
                continue
            in_pair = set()
            for canonical, a, b in pairs(f):
                applied[f"({a.type} {a.name}, {b.type} {b.name})"] = f"({a.type} {canonical}, size_t {canonical}_count)"
                in_pair |= {a.name, b.name}
            for p in f.params:
                m = re.match(r"const (\w+)\*$", p.type)
                if m and p.name not in in_pair and m[1] in OPTIONAL:
                    applied[f"{p.type} {p.name}"] = f"{p.type} optional_{OPTIONAL[m[1]]}"
                elif m and m[1].endswith("_options"):
                    applied[f"{p.type} {p.name}"] = f"{p.type} options"
            for kind, p in f.outputs():
                if p.name != "out":
                    applied[f"{p.type} {p.name}"] = f"{p.type} out"
            result = f.result
            if result == "trt_status*":
                result = "trt_returns_" + ("_".join(k for k, _ in f.outputs()) or "nothing")
                aliases.add(result)
            functions.append((f, result))
    lines = ["/* Generated by bindings/swig/declare.py from the public headers. Do not edit. */", ""]
    lines += ["%{"] + [f"typedef trt_status* {a};" for a in sorted(aliases)] + ["%}", ""]
    lines += [f"typedef trt_status* {a};" for a in sorted(aliases)] + [""]
    lines += verbatim + [""]
    # A name that is a pattern's own needs no %apply.
    lines += [f"%apply {to} {{ {what} }};" for what, to in sorted(applied.items()) if to != what] + [""]
    for f, result in functions:
        lines.append(f"{result} {f.name}({', '.join(p.type + ' ' + p.name for p in f.params) or 'void'});")
    lines += ["", "/* hand-written: " + " ".join(skipped) + " */", ""]
    return "\n".join(lines)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = declare(sys.argv[2:])
    out = sys.argv[1]
    if not os.path.exists(out) or open(out, encoding="utf-8").read() != text:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
