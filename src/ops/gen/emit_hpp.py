"""Emits the operators' part of the C++ wrapper, header-only over the C functions: include/tensorrt/ops.hpp (functions, and the methods' definitions) and
tensor_methods.inc (the methods' declarations, a part of class Tensor)."""

import textwrap

from .docs import facts, same_as
from .emit_c import _c_name, c_outputs
from .model import variants

_PLAIN = {"int": "std::int64_t", "float": "double", "bool": "bool", "Scalar": "Scalar", "ScalarType": "DType", "Device": "Device", "str": "const std::string&",
          "Generator": "const Generator&"}
_ELEMENT = {"int": "std::int64_t", "float": "double"}
_OUT = {"tensor": ("trt_tensor*", "Tensor", "Tensor::adopt({})"), "list": ("trt_tensor_list*", "std::vector<Tensor>", "detail::take({})"),
        "int": ("std::int64_t", "std::int64_t", "{}"), "float": ("double", "double", "{}"), "bool": ("bool", "bool", "{}"),
        "Scalar": ("trt_scalar", "Scalar", "Scalar({})")}


def _type(t):
    if t.kind == "Tensor":
        return "TensorList" if t.is_list else "OptionalTensorRef" if t.optional else "const Tensor&"
    if t.is_list:
        return ("OptionalArrayRef<%s>" if t.optional else "ArrayRef<%s>") % _ELEMENT[t.kind] if t.kind != "int" else "OptionalIntArrayRef" if t.optional else "IntArrayRef"
    if t.kind == "Generator":
        return "const Generator&"
    if t.optional:
        return "std::optional<%s>" % {"str": "std::string"}.get(t.kind, _PLAIN[t.kind])
    return _PLAIN[t.kind]


def _default(a):
    d, t = a.default, a.type
    if d == "None":
        return "{}" if t.kind in ("Tensor", "Generator") or t.is_list else "std::nullopt"
    if t.is_list:
        values = d.strip("[]").strip() if d.startswith("[") else ", ".join([d] * max(1, t.list_size))
        return "{%s}" % values
    if d in ("True", "False"):
        return d.lower()
    if t.kind == "ScalarType":
        return "DType::" + d
    if d[0] in "\"'":
        return '"' + d[1:-1] + '"'
    return d


def _arguments(s):
    """The statements before the call, and the arguments of the C function."""
    pre, args = [], []
    for a in s.args:
        n, t = _c_name(a.name), a.type
        if t.kind == "Tensor" and t.is_list:
            pre.append(f"  const auto {n}_handles = detail::handles({n});\n")
            args += [f"{n}_handles.data()", f"{n}_handles.size()"]
        elif t.kind in ("Tensor", "Generator"):
            args.append(f"{n}.get()")
        elif t.is_list:
            args += [f"{n}.data()", f"{n}.size()"]
        elif t.kind == "ScalarType":
            args.append(f"{n} ? static_cast<trt_dtype>(*{n}) : TRT_DTYPE_NONE" if t.optional else f"static_cast<trt_dtype>({n})")
        elif t.kind in ("Scalar", "Device"):
            if t.optional:
                raw = "trt_scalar" if t.kind == "Scalar" else "trt_device"
                pre.append(f"  const {raw} {n}_c = {n} ? {n}->c() : {raw}{{}};\n")
                args.append(f"{n} ? &{n}_c : nullptr")
            else:
                args.append(f"{n}.c()")
        elif t.kind == "str":
            args.append(f"{n} ? {n}->c_str() : nullptr" if t.optional else f"{n}.c_str()")
        elif t.optional:
            args.append(f"{n} ? &*{n} : nullptr")
        else:
            args.append(n)
    return pre, args


class _Function:
    """One C++ function over the C function of variant `v`: parameters [type, name, default or None], and what it calls."""

    def __init__(self, v):
        self.v = v
        args = list(v.schema.args)
        if v.kind == "out":  # outputs first, as in ATen
            count = len(v.schema.returns)
            args = args[len(args) - count:] + args[:len(args) - count]
        self.params = [[_type(a.type), _c_name(a.name), _default(a) if a.default is not None else None] for a in args]
        self.pre, self.args = _arguments(v.schema)
        self.written = [_c_name(a.name) for a in v.schema.args if a.type.written]
        self.forward = None  # set for an overload that calls another one: its arguments
        outs = c_outputs(v)
        if outs:
            self.outs = [(n,) + _OUT[kind] for _, n, kind in outs]
            types = [cpp for _, _, cpp, _ in self.outs]
            self.result = types[0] if len(types) == 1 else "std::tuple<" + ", ".join(types) + ">"
        else:
            self.outs = []
            self.result = "const Tensor&" if len(self.written) == 1 else "void"
        self.name = v.cpp_name

    def types(self):
        return [t for t, _, _ in self.params]

    def required(self):
        """How many arguments a call must give at least."""
        return max((i + 1 for i, p in enumerate(self.params) if p[2] is None), default=0)

    def require(self, count):
        for p in self.params[:count]:
            p[2] = None

    def is_method(self):
        tensors = [a.name for a in self.v.schema.args if a.type.kind == "Tensor" and not a.type.is_list and not a.type.optional]
        return self.v.kind != "out" and (tensors[:1] == ["self"] or tensors[:2] == ["condition", "self"]) and not self.name.endswith("_like")

    def signature(self, defaults, params=None):
        return ", ".join(f"{t} {n}" + (f" = {d}" if defaults and d is not None else "") for t, n, d in (self.params if params is None else params))

    def comment(self):
        if self.forward is not None:
            return "/** The same, with dtype and device in one argument. */\n"
        if self.v.kind == "functional":
            lines = [l for text in [self.v.op.doc] + facts(self.v.op) for l in textwrap.wrap(" ".join(text.split()), 150)]
        else:
            lines = textwrap.wrap(same_as(self.v, self.v.op.schema.name), 150)
        return f"/** {lines[0]} */\n" if len(lines) == 1 else "/**\n" + "".join(f" * {l}\n" for l in lines) + " */\n"

    def text(self):
        head = self.comment() + f"inline {self.result} {self.name}({self.signature(True)}) {{\n"
        if self.forward is not None:
            return head + f"  return {self.forward};\n}}\n"
        body = "".join(self.pre)
        if not self.outs:
            return head + body + f"  check({self.v.c_symbol}({', '.join(self.args)}));\n" + (f"  return {self.written[0]};\n" if len(self.written) == 1 else "") + "}\n"
        body += "".join(f"  {raw} {n}_c{{}};\n" for n, raw, _, _ in self.outs)
        call = ", ".join(self.args + [f"&{n}_c" for n, _, _, _ in self.outs])
        values = [take.format(n + "_c") for n, _, _, take in self.outs]
        value = values[0] if len(values) == 1 else "{" + ", ".join(values) + "}"
        return head + body + f"  check({self.v.c_symbol}({call}));\n  return {value};\n}}\n"

    def method(self):
        """(declaration, definition) of the method of class Tensor that calls this function."""
        others = [p for p in self.params if p[1] != "self"]
        arguments = ", ".join("*this" if n == "self" else n for _, n, _ in self.params)
        declaration = f"inline {self.result} {self.name}({self.signature(True, others)}) const;\n"
        definition = f"inline {self.result} Tensor::{self.name}({self.signature(False, others)}) const {{ {'return ' if self.result != 'void' else ''}trt::{self.name}({arguments}); }}\n"
        return declaration, definition


def _with_options(f):
    """The overloads of a factory that take TensorOptions for dtype and device, and those that leave out optional arguments before them."""
    names = [n for _, n, _ in f.params]
    if f.v.kind != "functional" or names[-2:] != ["dtype", "device"] or any(f.params[i][0][:13] != "std::optional" for i in (-2, -1)):
        return []
    front, out = f.params[:-2], []
    first = next((i for i, p in enumerate(front) if p[2] is not None), len(front))
    for given in range(first, len(front) + 1):
        g = _Function(f.v)
        g.params = [[t, n, None] for t, n, _ in front[:given]] + [["const TensorOptions&", "options", "{}"]]
        rest = [d for _, _, d in front[given:]]
        types = [t for t, _, _ in front[given:]]
        defaults = ["Generator()" if t == "const Generator&" else d for t, d in zip(types, rest)]
        call = ", ".join([n for _, n, _ in front[:given]] + defaults + ["options.dtype()", "options.device()"])
        g.forward = f"detail::with_grad({f.name}({call}), options)"
        out.append(g)
    f.require(len(f.params))
    return out


def _tell_apart(f, earlier):
    """Changes `f` so that no call fits both it and an earlier function of its name equally well."""
    for e in earlier:
        own, other = f.types(), e.types()
        same = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), min(len(own), len(other)))
        if same < min(len(own), len(other)):
            # No number is taken for a bool that stands where another overload has a number.
            for mine, theirs in ((f, e), (e, f)):
                if mine.params[same][0] in ("bool", "detail::StrictBool") and theirs.params[same][0] not in ("bool", "detail::StrictBool", "const Tensor&", "TensorList"):
                    mine.params[same][0] = "detail::StrictBool"
                    if theirs.params[same][0] == "std::optional<Scalar>":
                        theirs.params[same][0] = "detail::OptionalNumber"
            # A braced list of numbers is no text.
            for mine, theirs in ((f, e), (e, f)):
                if mine.params[same][0] == "const std::string&" and theirs.params[same][0] == "IntArrayRef":
                    mine.params[same][0] = "const detail::StrictString&"
            # A number is one for int, not for int? or int[].
            for mine, theirs in ((f, e), (e, f)):
                if mine.params[same][0] == "std::optional<std::int64_t>" and theirs.params[same][0] == "IntArrayRef":
                    mine.params[same][0] = "std::int64_t"
                    mine.args = [f"&{a.split()[0]}" if a.startswith(mine.params[same][1] + " ?") else a for a in mine.args]
                    mine.split_at = same
        # Where an earlier overload takes the call, too, the argument that tells them apart, and those before it, lose their defaults.
        if max(f.required(), e.required()) <= same < len(own):
            f.require(same + 1)


def _functions(groups):
    out, overloads = [], {}
    for ops in groups.values():
        for op in ops:
            if op.hidden or "internal" in op.tags:
                continue
            for v in variants(op):
                f = _Function(v)
                made = [f] + _with_options(f)
                earlier = overloads.setdefault(f.name, [])
                for g in made:
                    _tell_apart(g, earlier)
                earlier += made
                out += made
    return [x for f in out for x in _split(f)]


def _split(f):
    """A function whose optional number became a plain one, and the same without it."""
    at = getattr(f, "split_at", None)
    if at is None or f.params[at][2] is None:
        return [f]
    short = _Function(f.v)
    short.params = [list(p) for p in f.params[:at]]
    short.args = ["nullptr" if a == "&" + f.params[at][1] else a for a in f.args]
    if any(p[1] not in [q[1] for q in short.params] for p in f.params if p is not f.params[at]):
        raise ValueError(f"{f.name}: arguments follow an optional number that overloads need to be plain")
    f.require(at + 1)
    return [short, f]


_BANNER = "// Generated by src/ops/generate.py from the declarations in src/ops. Do not edit.\n//\n"


def headers(groups):
    """{file name: text}."""
    functions = _functions(groups)
    methods = [f.method() for f in functions if f.is_method()]
    ops = [_BANNER, """// Every operator for C++17 and newer, over the C functions of ops.h , as a function and, where it has an argument `self`, as a method
// of Tensor. Included by tensorrt.hpp. Errors are thrown as trt::Error. Numbers and braced lists are taken for lists of numbers; {} is a tensor or list left
// out; what is written comes first in _out functions.
#ifndef TENSORRT_OPS_HPP
#define TENSORRT_OPS_HPP

#include "tensorrt/tensor.hpp"

namespace trt {

"""]
    ops += [f.text() for f in functions]
    ops.append("\n#ifndef TRT_DOXYGEN\n")
    ops += [definition for _, definition in methods]
    ops.append("#endif\n\n}  // namespace trt\n\n#endif\n")
    inc = [_BANNER, "// The methods of class Tensor that are operators; ops.hpp defines them. In-place ones (`add_`) are const: the elements change, not the handle.\n"]
    inc += [declaration for declaration, _ in methods]
    return {"ops.hpp": "".join(ops), "tensor_methods.inc": "".join(inc)}
