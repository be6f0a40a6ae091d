#!/usr/bin/env python3
"""Generates the operators' part of the Python binding from the declarations in src/ops/*.yaml.

  generate.py --out DIR [--extra DIR]

writes operators.cpp (src/arguments.h tells what it consists of) and the type stubs _ops.pyi, _nn_ops.pyi, _methods.pyi, special.pyi, linalg.pyi and fft.pyi. --extra
adds the declarations of another folder.
"""

import argparse
import keyword
import os
import re
import sys
import textwrap
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "src", "ops"))

from gen import model  # noqa: E402
from gen.docs import facts  # noqa: E402
from gen.emit_c import c_outputs  # noqa: E402
from gen.schema import Argument, Type  # noqa: E402

# Methods whose names are dtypes in the module.
DTYPE_NAMES = {"float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool"}
# Properties, written by hand in tensor.cpp.
PROPERTIES = {"T", "mT"}
# A method of another signature stands before it in Python.
PRIVATE_METHODS = {"to": "_to"}
# Arguments that say how large the result is.
SIZES = {"size", "repeats", "dims", "n", "m", "steps", "row", "col", "end", "output_size", "num_samples", "num_classes"}
ALIASES = ("divide", "multiply", "subtract", "true_divide")
BINARY = {"kAdd": "add", "kSub": "sub", "kMul": "mul", "kDiv": "div", "kFloorDivide": "floor_divide", "kRemainder": "remainder", "kPow": "pow",
          "kAnd": "bitwise_and", "kOr": "bitwise_or", "kXor": "bitwise_xor", "kLeftShift": "bitwise_left_shift", "kRightShift": "bitwise_right_shift",
          "kMatmul": "matmul", "kEq": "eq", "kNe": "ne", "kLt": "lt", "kLe": "le", "kGt": "gt", "kGe": "ge"}
KINDS = {"Scalar": "kScalar", "int": "kInt", "float": "kDouble", "bool": "kBool", "str": "kString", "ScalarType": "kDType", "Device": "kDevice",
         "Generator": "kGenerator"}
MOST_PARAMS = 16


@dataclass
class Param:
    arg: Argument
    kind: str
    ignored: bool = False
    number: bool = False  # a number may stand for the tensor

    @property
    def name(self):
        return self.arg.name


@dataclass
class Overload:
    """One signature of a function of Python."""
    op: model.Op
    variant: model.Variant
    out: model.Variant  # the out variant that `out=` calls, or None
    params: list
    created: bool  # has requires_grad

    @property
    def positional(self):
        return sum(not p.arg.kwarg_only for p in self.params)

    @property
    def variadic(self):
        """Whether elements of the only list may stand alone: view(2, 3)."""
        free = [p for i, p in enumerate(self.params) if not p.arg.kwarg_only and not (i == 0 and p.name == "self")]
        return len(free) == 1 and free[0].kind in ("kInts", "kTensors")


def kind_of(t):
    if t.kind == "Tensor":
        return "kTensors" if t.is_list else "kTensor"
    if t.is_list:
        return {"int": "kInts", "float": "kDoubles"}[t.kind]
    return KINDS[t.kind]


def overload_of(op, variant, out):
    several = sum(a.type.is_tensor for a in variant.schema.args) > 1

    def number(i, a):
        plain = a.type.is_tensor and not a.type.written and a.name not in ("condition", "mask")
        # Other names of pointwise operators take a number first, as those do.
        return plain and several and (op.kind == "pointwise" or (op.group == "compose" and (i > 0 or op.schema.name.split(".")[0] in ALIASES)))

    params = [Param(a, kind_of(a.type), number=number(i, a)) for i, a in enumerate(variant.schema.args)]
    names = {p.name for p in params}
    created = {"dtype", "device"} <= names
    if out:
        many = len(variant.schema.returns) > 1
        params.append(Param(Argument("out", Type("Tensor", is_list=many, optional=True), "None", True), "kTensors" if many else "kTensor"))
    if created:
        params.append(Param(Argument("requires_grad", Type("bool"), "False", True), "kBool"))
        params += [Param(Argument(n, Type("bool", optional=True), "None", True), "kIgnored", True) for n in ("layout", "pin_memory")]
    if op.group == "factory" and variant.schema.args[0].name == "self" and variant.kind == "functional":
        params.append(Param(Argument("memory_format", Type("bool", optional=True), "None", True), "kIgnored", True))
    if len(params) > MOST_PARAMS:
        raise SystemExit(f"{op.name} has more than {MOST_PARAMS} parameters")
    return Overload(op, variant, out, params, created)


def collect(groups):
    """{name: [Overload]} in the order of the declarations; in-place forms have names of their own."""
    found = {}
    for ops in groups.values():
        for op in ops:
            if op.hidden or "internal" in op.tags:
                continue
            by_kind = {v.kind: v for v in model.variants(op)}
            found.setdefault(op.schema.name, []).append(overload_of(op, by_kind["functional"], by_kind.get("out")))
            if "inplace" in by_kind:
                found.setdefault(op.schema.name + "_", []).append(overload_of(op, by_kind["inplace"], None))
    return found


# --- C++ ----------------------------------------------------------------------------------------------------------------

def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", '\\n"\n    "') + '"'


def list_default(a):
    if a.default.startswith("["):
        return [v.strip() for v in a.default.strip("[]").split(",") if v.strip()]
    return [a.default] * max(1, a.type.list_size)


class Lists:
    """The arrays of defaults that are lists."""

    def __init__(self):
        self.arrays = {}

    def name(self, values):
        return self.arrays.setdefault(tuple(values), f"kInts{len(self.arrays)}")

    def text(self):
        return "".join(f"constexpr int64_t {n}[] = {{{', '.join(v) or '0'}}};\n" for v, n in self.arrays.items())


def fallback(p, lists):
    a, d = p.arg, p.arg.default
    if d in (None, "None"):
        return "Value()"
    if p.kind == "kInts":
        values = list_default(a)
        return f"Value::list({lists.name(values)}, {len(values)})"
    if p.kind == "kScalar":
        return f"Value::scalar_double({d})" if any(c in d for c in ".en") else f"Value::scalar_int({d})"
    if p.kind == "kBool":
        return f"Value::boolean({d.lower()})"
    if p.kind == "kDouble":
        return f"Value::real({d})"
    if p.kind == "kInt":
        return f"Value::integer({d})"
    if p.kind == "kString":
        return f"Value::text({quoted(d[1:-1])})"
    if p.kind == "kDType":
        return f"Value::dtype_of(TRT_{d.upper()})"
    raise SystemExit(f"no default {d!r} for an argument of kind {p.kind}")


def param_text(p, lists):
    flag = ["false", "true"]
    return (f"{{{quoted(p.name)}, ArgKind::{p.kind}, {flag[p.arg.type.optional]}, {flag[p.arg.type.optional_element]}, {flag[p.arg.kwarg_only]}, "
            f"{flag[p.arg.default is not None]}, {flag[p.name in SIZES]}, {flag[p.number]}, {p.arg.type.list_size if p.kind == 'kInts' else 0}, "
            f"{fallback(p, lists)}, nullptr}}")


def c_argument(p, i):
    t = p.arg.type
    if p.kind == "kTensor":
        return [f"a.tensor({i})"]
    if p.kind in ("kTensors", "kInts", "kDoubles"):
        return [f"a.{ {'kTensors': 'tensors', 'kInts': 'ints', 'kDoubles': 'doubles'}[p.kind] }({i})", f"a.count({i})"]
    plain = {"kScalar": "scalar", "kInt": "integer", "kDouble": "real", "kBool": "boolean", "kString": "string", "kDType": "dtype", "kDevice": "device",
             "kGenerator": "generator"}[p.kind]
    return [f"a.{'optional_' if t.optional and p.kind in ('kScalar', 'kInt', 'kDouble', 'kBool', 'kDevice') else ''}{plain}({i})"]


def call_text(o, symbol, more=()):
    # The tensor to write into says dtype and device.
    left_out = ("dtype", "device") if more and model.is_factory(o.op.schema) and o.out and symbol == o.out.c_symbol else ()
    args = [x for i, p in enumerate(o.params[:len(o.variant.schema.args)]) if p.name not in left_out for x in c_argument(p, i)]
    call = f"{symbol}({', '.join(args + list(more))})"
    # What only changes metadata is never worth giving the GIL away.
    return call if o.op.kind == "view" else f"a.call([&] {{ return {call}; }})"


def body(o, ident):
    lines, schema = [], o.variant.schema
    index = {p.name: i for i, p in enumerate(o.params)}
    if o.out:
        at = index["out"]
        if model.is_factory(o.op.schema):
            lines.append(f"  if (a.given({at})) {{\n    if (!fits_out(a, {at}, {index['dtype']}, {index['device']}, {quoted(schema.name)})) return nullptr;\n"
                         f"    return give_filled({call_text(o, o.out.c_symbol, [f'a.tensor({at})'])}, a.object({at}), a.boolean({index['requires_grad']}));\n  }}")
        elif len(schema.returns) == 1:
            lines.append(f"  if (a.given({at})) return give_again({call_text(o, o.out.c_symbol, [f'a.tensor({at})'])}, a.object({at}));")
        else:
            n = len(schema.returns)
            outs = [f"a.tensors({at})[{k}]" for k in range(n)]
            lines.append(f"  if (a.given({at})) {{\n    if (!need_outs(a.count({at}), {n}, {quoted(schema.name)})) return nullptr;\n"
                         f"    return give_again({call_text(o, o.out.c_symbol, outs)}, a.object({at}));\n  }}")
    outs = c_outputs(o.variant)
    if not outs:
        written = next(i for i, a in enumerate(schema.args) if a.type.written)
        lines.append(f"  return give_again({call_text(o, o.variant.c_symbol)}, a.object({written}));")
    elif len(outs) > 1:
        n = len(outs)
        lines.append(f"  trt_tensor* out[{n}] = {{}};")
        lines.append(f"  trt_status* s = {call_text(o, o.variant.c_symbol, [f'&out[{k}]' for k in range(n)])};")
        lines.append(f"  return give_tuple(s, {ident}_type, out, {n});")
    else:
        kind = outs[0][2]
        c_type = {"tensor": "trt_tensor*", "list": "trt_tensor_list*", "bool": "bool", "int": "int64_t", "float": "double", "Scalar": "trt_scalar"}[kind]
        lines.append(f"  {c_type} out{{}};")
        lines.append(f"  trt_status* s = {call_text(o, o.variant.c_symbol, ['&out'])};")
        result = {"tensor": "give(s, out, a.same(0))", "list": "give_list(s, out)", "bool": "s ? raise(s) : PyBool_FromLong(out)",
                  "int": "s ? raise(s) : PyLong_FromLongLong(out)", "float": "s ? raise(s) : PyFloat_FromDouble(out)", "Scalar": "s ? raise(s) : wrap_scalar(out)"}[kind]
        if kind == "tensor" and o.created:
            result = f"give_created(s, out, a.boolean({index['requires_grad']}))"
        lines.append(f"  return {result};")
    return "\n".join(lines) + "\n"


# --- how it looks in Python ---------------------------------------------------------------------------------------------

def python_default(p):
    d = p.arg.default
    if p.kind == "kInts" and d != "None":
        values = list_default(p.arg)
        return values[0] if len(values) == 1 and not d.startswith("[") else "(" + ", ".join(values) + ("," if len(values) == 1 else "") + ")"
    return f"trt.{d}" if p.kind == "kDType" and d != "None" else d


def python_params(o, self_name, annotate=None):
    """The parameters as in a def; `annotate` gives the annotation of one."""
    parts, star = [], False
    for i, p in enumerate(o.params):
        if p.ignored:
            continue
        if p.arg.kwarg_only and not star:
            parts.append("*")
            star = True
        name = self_name if p.name == "self" else p.name
        text = name + (f": {annotate(p)}" if annotate and (i or self_name != "self") else "")
        if p.arg.default is not None:
            text += (" = " if annotate else "=") + python_default(p)
        parts.append(text)
    return parts


TYPE_NAMES = {"kTensor": "Tensor", "kTensors": "tuple of Tensors", "kScalar": "Number", "kInt": "int", "kDouble": "float", "kBool": "bool", "kInts": "tuple of ints",
              "kDoubles": "tuple of floats", "kString": "str", "kDType": "dtype", "kDevice": "device", "kGenerator": "Generator"}


def return_text(o):
    if o.variant.schema.args and o.variant.schema.args[0].type.written:
        return "Tensor"
    outs = c_outputs(o.variant)
    one = {"tensor": "Tensor", "list": "tuple of Tensors", "Scalar": "Number"}
    if len(outs) > 1:
        return "(" + ", ".join("Tensor " + n.removeprefix("out_") for _, n, _ in outs) + ")"
    return one.get(outs[0][2], outs[0][2])


def signature_text(o, self_name):
    parts, star = [], False
    for p in o.params:
        if p.ignored:
            continue
        if p.arg.kwarg_only and not star:
            parts.append("*")
            star = True
        name = self_name if p.name == "self" else p.name
        parts.append(f"{TYPE_NAMES[p.kind]} {name}" + (f"={python_default(p)}" if p.arg.default is not None else ""))
    return f"({', '.join(parts)}) -> {return_text(o)}"


def texts_of(overloads, self_name):
    """What the overloads do, in lines: each sentence once."""
    texts = []
    docs = [o.op.doc if o.variant.kind == "functional" else f"In-place form of {o.op.schema.name}: {o.op.doc}" for o in overloads]
    for text in docs + [f for o in overloads if o.variant.kind == "functional" for f in facts(o.op)]:
        if self_name != "self":
            text = re.sub(r"`[^`]*`", lambda code: re.sub(r"\bself\b", self_name, code[0]), text)
        if text not in texts:
            texts.append(text)
    return [l for t in texts for l in textwrap.wrap(" ".join(t.split()), 100)]


def documentation(name, overloads, self_name, leading):
    """(text signature or "", text)."""
    lines = [name + signature_text(o, self_name) for o in overloads] + [""] + texts_of(overloads, self_name)
    head = ""
    if len(overloads) == 1:
        params = python_params(overloads[0], self_name)
        if not any(keyword.iskeyword(p.split("=")[0]) for p in params) and not any("trt." in p for p in params):
            if leading == "$self":
                params = ["$self"] + params[1:]
            head = f"{name}({', '.join((['$module'] if leading == '$module' else []) + params)})\n--\n\n"
    return head + "\n".join(lines)


def is_function(name, overloads, functions):
    """Whether the module has it, beside the class: in-place forms where it has the other one, too."""
    inplace = all(o.variant.schema.args and o.variant.schema.args[0].type.written for o in overloads)
    return name not in DTYPE_NAMES and name not in PROPERTIES and (not inplace or name[:-1] in functions or name in ("fill_", "zero_", "resize_as_"))


def is_method(o):
    return o.params and o.params[0].name == "self" and o.params[0].kind == "kTensor"


def operators_cpp(functions):
    lists = Lists()
    bodies, types, stubs, table, methods = [], [], [], [], []
    for name, overloads in functions.items():
        ident = model.cpp_identifier(name)
        signatures = []
        for k, o in enumerate(overloads):
            outs = c_outputs(o.variant)
            type_ident = ident
            if len(outs) > 1:
                fields = [n.removeprefix("out_") for _, n, _ in outs]
                if all(t[1] != name for t in types):
                    types.append((type_ident, name, fields))
                    bodies.append(f"PyTypeObject* {type_ident}_type;\n")
                elif (type_ident, name, fields) not in types:
                    raise SystemExit(f"the overloads of {name} name their results differently")
            bodies.append(f"PyObject* call_{ident}_{k}(Args& a) {{\n{body(o, type_ident)}}}\n")
            bodies.append(f"Param params_{ident}_{k}[] = {{\n    " + ",\n    ".join(param_text(p, lists) for p in o.params) + "};\n")
            text = quoted(signature_text(o, "input"))
            signatures.append(f"{{params_{ident}_{k}, {len(o.params)}, {o.positional}, {'true' if o.variadic else 'false'}, call_{ident}_{k}, {text}}}")
        bodies.append(f"Signature signatures_{ident}[] = {{\n    " + ",\n    ".join(signatures) + "};\n")
        bodies.append(f"Function function_{ident} = {{{quoted(name)}, signatures_{ident}, {len(overloads)}}};\n\n")
        if is_function(name, overloads, functions):
            stubs.append(f"TRT_FUNCTION({ident})\n")
            doc = quoted(documentation(name, overloads, "input", "$module"))
            table.append(f"    {{{{{quoted(name)}, TRT_PYTHON(function_stub_{ident}), {doc}}}, {quoted(overloads[0].op.group)}}},\n")
        own = [o for o in overloads if is_method(o)]
        if own and name not in PROPERTIES:
            stubs.append(f"TRT_METHOD({ident})\n")
            doc = quoted(documentation(name, own, "self", "$self"))
            methods.append(f"    {{{quoted(PRIVATE_METHODS.get(name, name))}, TRT_PYTHON(method_stub_{ident}), {doc}}},\n")
    idents = [model.cpp_identifier(n) for n in functions]
    binary = ", ".join(f"&function_{n}" for n in BINARY.values())
    inplace = ", ".join(f"&function_{n}_" if n + "_" in functions else "nullptr" for n in BINARY.values())
    makers = "".join(f"  {{\n    static const char* const fields[] = {{{', '.join(quoted(f) for f in fields)}}};\n    {i}_type = return_type({quoted('trt.return_types.' + n)}, fields, "
                     f"{len(fields)});\n    if (!{i}_type || PyDict_SetItemString(types.get(), {quoted(n)}, reinterpret_cast<PyObject*>({i}_type)) < 0) return false;\n  }}\n" for i, n, fields in types)
    return f"""// Generated by bindings/python/generate.py from the declarations in src/ops. Do not edit.
#include <cmath>
#include <limits>

#include "arguments.h"

namespace trt_python {{

namespace {{

constexpr double inf = std::numeric_limits<double>::infinity();
{lists.text()}
bool need_outs(size_t given, size_t needed, const char* name) {{
  if (given == needed) return true;
  PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be a tuple of %zu tensors, got %zu", name, needed, given);
  return false;
}}

// Whether the tensor that a factory is to fill has the dtype and device that the call names, if it does.
bool fits_out(Args& a, int out, int dtype, int device, const char* name) {{
  const trt_tensor* t = a.tensor(out);
  if (a.given(dtype) && a.dtype(dtype) != trt_tensor_dtype(t)) {{
    PyErr_Format(PyExc_RuntimeError, "%s: dtype %s does not match that of 'out', %s", name, trt_dtype_name(a.dtype(dtype)), trt_dtype_name(trt_tensor_dtype(t)));
    return false;
  }}
  if (a.given(device) && a.optional_device(device)->type != trt_tensor_device(t).type) {{
    PyErr_Format(PyExc_RuntimeError, "%s: the device does not match that of 'out'", name);
    return false;
  }}
  return true;
}}

PyObject* give_filled(trt_status* status, PyObject* out, bool requires_grad) {{
  if (!status && requires_grad) status = trt_tensor_set_requires_grad(tensor_of(out), true);
  return give_again(status, out);
}}

{"".join(bodies)}
#define TRT_FUNCTION(name) \\
  PyObject* function_stub_##name(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {{ \\
    return dispatch(function_##name, nullptr, args, count, keywords); \\
  }}
#define TRT_METHOD(name) \\
  PyObject* method_stub_##name(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {{ \\
    return dispatch(function_##name, self, args, count, keywords); \\
  }}
#define TRT_PYTHON(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL | METH_KEYWORDS
{"".join(stubs)}
Function* const all_functions[] = {{{", ".join("&function_" + i for i in idents)}}};

}}  // namespace

OperatorEntry operator_functions[] = {{
{"".join(table)}    {{}}}};

PyMethodDef operator_methods[] = {{
{"".join(methods)}    {{}}}};

Function* const binary_functions[] = {{{binary}}};
Function* const inplace_functions[] = {{{inplace}}};

bool init_operators(PyObject* module) {{
  Ref types(PyDict_New());
  if (!types || !prepare(all_functions, sizeof all_functions / sizeof *all_functions)) return false;
{makers}  return PyModule_AddObjectRef(module, "_return_types", types.get()) == 0;
}}

}}  // namespace trt_python
"""


# --- stubs --------------------------------------------------------------------------------------------------------------

STUB_HEAD = '''"""Generated by bindings/python/generate.py from the declarations in src/ops. Do not edit."""

from typing import NamedTuple, Sequence, overload

from trt import Generator, Tensor, device as _device, dtype as _dtype

_int = int
_float = float
_bool = bool
_Number = int | float | bool
_Ints = Sequence[int]
'''


def annotation(p, numbers=True):
    t = p.arg.type
    text = {"kTensor": "Tensor | _Number" if p.number and numbers else "Tensor", "kTensors": "Sequence[Tensor | None]" if t.optional_element else "Sequence[Tensor]", "kScalar": "_Number", "kInt": "_int", "kDouble": "_float",
            "kBool": "_bool", "kInts": "_int | _Ints" if t.list_size or p.name == "dim" else "_Ints", "kDoubles": "Sequence[_float]", "kString": "str", "kDType": "_dtype",
            "kDevice": "_device | str", "kGenerator": "Generator"}[p.kind]
    return text + (" | None" if t.optional else "")


def return_annotation(name, o):
    outs = c_outputs(o.variant)
    if not outs:
        return "Tensor"
    if len(outs) > 1:
        return f"_{model.cpp_identifier(name)}"
    return {"tensor": "Tensor", "list": "tuple[Tensor, ...]", "Scalar": "_Number"}.get(outs[0][2], "_" + outs[0][2])


def variadic_params(o, self_name):
    """The same call with the elements of the list standing alone."""
    first = [self_name] if o.params[0].name == "self" else []
    lone = next(p for i, p in enumerate(o.params) if not p.arg.kwarg_only and not (i == 0 and p.name == "self"))
    element = "_int" if lone.kind == "kInts" else "Tensor"
    if first and self_name != "self":
        first = [f"{self_name}: Tensor"]
    rest = [f"{p.name}: {annotation(p)} = {python_default(p)}" for p in o.params if p.arg.kwarg_only and not p.ignored]
    return first + [f"*{lone.name}: {element}"] + rest


def stub_of(name, overloads, self_name, indent):
    forms = []
    for o in overloads:
        # Where an overload takes a number, this one need not.
        params = python_params(o, self_name, lambda p: annotation(p, len(overloads) == 1))
        if any(keyword.iskeyword(p.split(":")[0]) for p in params):  # uniform_(from, to): positional only
            params = [("from_" + p[4:]) if p.startswith("from:") else p for p in params]
        forms.append((params, return_annotation(name, o)))
        if o.variadic:
            forms.append((variadic_params(o, self_name), return_annotation(name, o)))
    pad = "    " * indent
    out = []
    lines = [line.replace("\\", "\\\\") for line in texts_of(overloads, self_name)]
    text = '"""' + lines[0] + "".join(f"\n{pad}    {line}" for line in lines[1:]) + (f"\n{pad}    " if len(lines) > 1 else "") + '"""'
    for i, (params, result) in enumerate(forms):
        if len(forms) > 1:
            out.append(f"{pad}@overload\n")
        # The first form says it for all.
        out.append(f"{pad}def {name}({', '.join(params)}) -> {result}:" + (" ...\n" if i else f"\n{pad}    {text}\n{pad}    ...\n"))
    return "".join(out)


def result_classes(functions):
    out = []
    for name, overloads in functions.items():
        outs = max((c_outputs(o.variant) for o in overloads), key=len)
        if len(outs) > 1:
            out.append(f"\nclass _{model.cpp_identifier(name)}(NamedTuple):\n" + "".join(f"    {n.removeprefix('out_')}: Tensor\n" for _, n, _ in outs))
    return "".join(out)


def stubs(functions):
    plain, nn, methods = {}, {}, {}
    for name, overloads in functions.items():
        if is_function(name, overloads, functions):
            plain[name] = overloads
            if overloads[0].op.group.startswith("nn_"):
                nn[name] = overloads
        own = [o for o in overloads if is_method(o)]
        if own and name not in PROPERTIES:
            methods[PRIVATE_METHODS.get(name, name)] = own

    def module(chosen):
        return STUB_HEAD + result_classes(chosen) + "\n" + "".join(stub_of(n, o, "input", 0) for n, o in chosen.items())

    def submodule(prefix):
        return module({n.removeprefix(prefix): o for n, o in plain.items() if n.startswith(prefix)}) + "\ndef __getattr__(name: str): ...\n"

    method_text = STUB_HEAD + result_classes(methods) + "\nclass OperatorMethods:\n" + "".join(stub_of(n, o, "self", 1) for n, o in methods.items())
    return {"_ops.pyi": module(plain), "_nn_ops.pyi": module(nn), "_methods.pyi": method_text, "special.pyi": submodule("special_"), "linalg.pyi": submodule("linalg_"),
            "fft.pyi": submodule("fft_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--extra", action="append", default=[])
    args = parser.parse_args()
    functions = collect(model.load(os.path.join(ROOT, "src", "ops"), *args.extra))
    for name, text in {"operators.cpp": operators_cpp(functions), **stubs(functions)}.items():
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
