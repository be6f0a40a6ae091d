"""Emits the operators' part of the C++ wrapper: include/tensorrt/ops.hpp, header-only over the C functions."""

from .emit_c import _c_name, c_outputs
from .model import variants

_PLAIN = {"int": "std::int64_t", "float": "double", "bool": "bool", "Scalar": "Scalar", "ScalarType": "DType", "Device": "Device", "str": "const std::string&",
          "Generator": "const Generator&"}


def _type(t):
    if t.kind == "Tensor":
        return "const std::vector<Tensor>&" if t.is_list else "Tensor&" if t.written else "const Tensor&"
    if t.is_list:
        base = "const std::vector<%s>&" % {"int": "std::int64_t", "float": "double"}[t.kind]
        return base if not t.optional else "const std::optional<std::vector<%s>>&" % {"int": "std::int64_t", "float": "double"}[t.kind]
    if t.kind == "Generator":
        return "const Generator&"
    if t.optional:
        return "std::optional<%s>" % {"str": "std::string"}.get(t.kind, _PLAIN[t.kind])
    return _PLAIN[t.kind]


def _default(a):
    d, t = a.default, a.type
    if d is None:
        return ""
    if d == "None":
        return " = " + ("{}" if t.kind in ("Tensor", "Generator") and not t.is_list else "std::nullopt")
    if t.is_list:
        values = d.strip("[]").strip() if d.startswith("[") else ", ".join([d] * max(1, t.list_size))
        inner = "std::vector<std::int64_t>{%s}" % values
        return " = " + inner
    if d in ("True", "False"):
        return " = " + d.lower()
    if t.kind == "ScalarType":
        return " = DType::" + d
    if d[0] in "\"'":
        return ' = "' + d[1:-1] + '"'
    return " = " + d


def _arguments(s):
    pre, args = [], []
    for a in s.args:
        n, t = _c_name(a.name), a.type
        if t.kind == "Tensor" and t.is_list:
            pre.append(f"  const auto {n}_handles = detail::handles({n});\n")
            args += [f"{n}_handles.data()", f"{n}_handles.size()"]
        elif t.kind == "Tensor":
            args.append(f"{n}.get()")
        elif t.is_list and t.optional:
            # An empty list is not None: it is passed as a pointer with count 0.
            args += [f"{n} ? detail::data(*{n}) : nullptr", f"{n} ? {n}->size() : 0"]
        elif t.is_list:
            args += [f"{n}.data()", f"{n}.size()"]
        elif t.kind == "Scalar":
            if t.optional:
                pre.append(f"  const trt_scalar {n}_c = {n} ? {n}->c() : trt_scalar{{}};\n")
                args.append(f"{n} ? &{n}_c : nullptr")
            else:
                args.append(f"{n}.c()")
        elif t.kind == "ScalarType":
            args.append(f"{n} ? static_cast<trt_dtype>(*{n}) : TRT_DTYPE_NONE" if t.optional else f"static_cast<trt_dtype>({n})")
        elif t.kind == "Device":
            if t.optional:
                pre.append(f"  const trt_device {n}_c = {n} ? {n}->c() : trt_device{{}};\n")
                args.append(f"{n} ? &{n}_c : nullptr")
            else:
                args.append(f"{n}.c()")
        elif t.kind == "str":
            args.append(f"{n} ? {n}->c_str() : nullptr" if t.optional else f"{n}.c_str()")
        elif t.kind == "Generator":
            args.append(f"{n}.get()")
        elif t.optional:
            args.append(f"{n} ? &*{n} : nullptr")
        else:
            args.append(n)
    return pre, args


def _required(v):
    """How many arguments a call must give at least."""
    if v.kind == "out":
        return len(v.schema.args)
    return max((i + 1 for i, a in enumerate(v.schema.args) if a.default is None), default=0)


def _required_beside(v, earlier):
    """The same where earlier overloads would take the call, too: the argument that tells them apart, and those before it, lose their defaults."""
    own, required = [_type(a.type) for a in v.schema.args], _required(v)
    for e in earlier:
        other = [_type(a.type) for a in e.schema.args]
        same = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), min(len(own), len(other)))
        if max(required, _required(e)) <= same < len(own):
            required = same + 1
    return required


def _function(v, required):
    s = v.schema
    params = ", ".join(f"{_type(a.type)} {_c_name(a.name)}{_default(a) if i >= required else ''}" for i, a in enumerate(s.args))
    pre, args = _arguments(s)
    name = v.cpp_name
    outs = c_outputs(v)
    if not outs:
        target = [a.name for a in s.args if a.type.written]
        ret, result = ("Tensor&", _c_name(target[0])) if len(target) == 1 else ("void", None)
        body = "".join(pre) + f"  check({v.c_symbol}({', '.join(args)}));\n" + (f"  return {result};\n" if result else "")
        return f"inline {ret} {name}({params}) {{\n{body}}}\n"
    decls, types, results, pointers = [], [], [], []
    for _, n, kind in outs:
        raw = {"tensor": "trt_tensor*", "list": "trt_tensor_list*", "int": "std::int64_t", "float": "double", "bool": "bool", "Scalar": "trt_scalar"}[kind]
        decls.append(f"  {raw} {n}_c{{}};\n")
        types.append({"tensor": "Tensor", "list": "std::vector<Tensor>", "int": "std::int64_t", "float": "double", "bool": "bool", "Scalar": "Scalar"}[kind])
        results.append({"tensor": f"Tensor::adopt({n}_c)", "list": f"detail::take({n}_c)", "Scalar": f"Scalar({n}_c)"}.get(kind, f"{n}_c"))
        pointers.append(f"&{n}_c")
    ret = types[0] if len(types) == 1 else "std::tuple<" + ", ".join(types) + ">"
    value = results[0] if len(results) == 1 else "{" + ", ".join(results) + "}"
    return f"inline {ret} {name}({params}) {{\n{''.join(pre)}{''.join(decls)}  check({v.c_symbol}({', '.join(args + pointers)}));\n  return {value};\n}}\n"


def header(groups):
    out = ["""// Generated by src/ops/generate.py from the declarations in src/ops. Do not edit.
//
// Every operator for C++17 and newer, over the C functions of ops.h (which document them). Included by tensorrt.hpp. Errors are thrown as
// trt::Error; a tensor given as {} is none.
#ifndef TENSORRT_OPS_HPP
#define TENSORRT_OPS_HPP

#include "tensorrt/tensorrt.hpp"

namespace trt {

"""]
    overloads = {}
    for ops in groups.values():
        for op in ops:
            if op.hidden or "internal" in op.tags:
                continue
            for v in variants(op):
                earlier = overloads.setdefault(v.cpp_name, [])
                out.append(_function(v, _required_beside(v, earlier)))
                earlier.append(v)
    out.append("\n}  // namespace trt\n\n#endif\n")
    return "".join(out)
