#!/usr/bin/env python3
"""Runs reference cases recorded from PyTorch against the library, through the Python package trt: each is a call by PyTorch's public name.

  run.py FILE.jsonl.gz [--ops add,mul | --ops @tier.txt] [--verbose] [--limit N] [--expect-all]

Prints the operators that fail (the first reason of each), what is not there yet in counts, and at last
`golden: P of T cases pass; O of U operators complete`. Exit status 1 when a case of an operator that is there fails
(with --expect-all: when any case does not pass). README.md of this directory describes the format of the cases.

The cases run in a child process. When one crashes or hangs, it counts as failed and a new child goes on after it.
"""

import argparse
import collections
import gzip
import itertools
import json
import math
import os
import re
import select
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "src", "ops"))

import binding as trt  # noqa: E402
from gen.schema import Schema  # noqa: E402

CASE_SECONDS = 60

# dtype -> (rtol, atol)
TOLERANCE = {"complex128": (1e-7, 1e-9), "complex64": (1.3e-6, 1e-5), "float64": (1e-7, 1e-9), "float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-3), "bfloat16": (1.6e-2, 1e-2)}
GRAD_TOLERANCE = (1e-6, 1e-8)
# Operators that add up many products or elements: ten times the tolerance in float32.
LONG_SUMS = re.compile(r"sum|mean|prod|norm|var|std|mm|mv|dot|addr|matmul|linear|conv|einsum|inner|outer|loss|entropy|soft(max|min)|pool|dist|"
                       r"similarity|interpolate|upsample|trace|integrate|trapez|cov|corrcoef|linalg|fft|kl_div|cross|cdist|bag|attention|lstm|gru|rnn|scatter|index_(add|reduce)")
UNDEFINED_VALUES = re.compile(r"(^|_)empty")
# Decompositions whose columns have a free sign: magnitudes are compared, and no gradients (they depend on the signs).
FREE_SIGNS = re.compile(r"(^|\.)(qr|svd|eigh|eig|geqrf)$")

# Functions whose positional arguments stand in another order in PyTorch's Python function than in the operator's schema.
PYTHON_ORDER = {
    "nn.functional.batch_norm": "input running_mean running_var weight bias training momentum eps",
    "nn.functional.instance_norm": "input running_mean running_var weight bias use_input_stats momentum eps",
}
# Python functions whose name belongs to another operator of the table.
RENAMED = {"special.polygamma": "polygamma", "lu": "linalg_lu_factor_ex", "H": "adjoint", "mH": "adjoint", "nn.functional.unfold": "im2col", "nn.functional.fold": "col2im"}
# Keyword arguments that Python adds to the operator, with the value that asks for nothing.
PYTHON_ONLY = {"requires_grad": False, "layout": None, "pin_memory": False, "as_tuple": False}
# The order among equal elements is not defined: an index may differ where it names an equal element. All take (self, k, dim=-1) or
# (self, dim=-1).
EQUAL_ELEMENTS = {"topk": 2, "kthvalue": 2, "sort": 1, "mode": 1, "median": 1, "nanmedian": 1}
# Functions of which the operator database passes the tensor under test first, whatever the signature says.
DATABASE_ORDER = {"where": (1, 0, 2), "einsum": (1, 0), "polygamma": (1, 0), "special.polygamma": (1, 0), "nn.functional.embedding": (1, 0),
                  "nn.functional.embedding_bag": (1, 0)}


# Variants of the operator database that are more than the call: what they do to the arguments, and to the result.
VARIANTS = {
    ("linalg.pinv", "singular"): (lambda a, b: [trt.call("matmul", a, trt.call("mT", b))], lambda r: r),
    ("linalg.lstsq", "grad_oriented"): (lambda *args: list(args), lambda r: r[0]),
}
# Operators whose records number only the results that require a gradient: the first result, a permutation, does not.
FIRST_CONSTANT = {"lu_unpack", "linalg.lu"}
# Cases whose record is not precise in float32: PyTorch 1.13's trigamma next to its poles (at them it gives large finite numbers).
# Its Bessel functions and Ai in float32 have large relative errors next to their zeros.
# Its exponential of a matrix is wrong in the sixth digit.
# Its erfcx of negative numbers, its polynomials and its products with reflectors that are not orthogonal (ormqr) lose digits in float32;
# its layer_norm of single elements has rounding errors where the difference from the mean is 0.
IMPRECISE = {"polygamma", "matrix_exp", "special.polygamma", "special.airy_ai", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1",
             "special.erfcx", "ormqr", "nn.functional.layer_norm", "native_layer_norm"}
IMPRECISE_NAMES = re.compile(r"special\..*_polynomial_")
# Cases that need a type which does not exist here.
LEFT_OUT = {("complex", "float16"): "complex32", ("view_as_complex", "float16"): "complex32", ("polar", "float16"): "complex32"}


class NotThere(Exception):
    """The operator or a type that it needs does not exist in the library (yet)."""


class Failed(Exception):
    """The case gives something else than PyTorch."""


# --- values -------------------------------------------------------------------------------------------------------------

def number(x):
    if isinstance(x, list):
        return complex(*map(float, x))
    return float(x) if isinstance(x, str) else x


def decode(v, leaves):
    """The value of an encoded argument. Tensors that may get gradients are appended to `leaves`."""
    if isinstance(v, dict):
        if "t" in v:
            if v["t"] not in trt.DTYPES:
                raise NotThere(f"dtype {v['t']}")
            d = trt.DTYPES[v["t"]]
            data = [number(x) for x in v["data"]]
            t = trt.from_flat([complex(x) for x in data] if v["t"].startswith("complex") else [float(x) for x in data] if d.is_floating_point else data, v["shape"], d, v.get("strides"))
            if v["t"] == "float64":
                leaves.append(t)
            return t
        if "dtype" in v:
            if v["dtype"] not in trt.DTYPES:
                raise NotThere(f"dtype {v['dtype']}")
            return trt.DTYPES[v["dtype"]]
        if "device" in v:
            return trt.Device(v["device"])
        if "c" in v:
            return complex(*map(float, v["c"]))
        raise NotThere("values of the kind " + ", ".join(v))
    if isinstance(v, list):
        return [decode(x, leaves) for x in v]
    # A text that stands where a number may: nan and the infinities.
    return float(v) if v in ("nan", "inf", "-inf") else v


def flat(t):
    """The elements, row-major, as Python's numbers."""
    return trt.flat(t)


def close(actual, expected, rtol, atol):
    if isinstance(expected, complex):
        # NaN and infinite parts must agree one by one; the error of a finite number is measured against its magnitude.
        actual = complex(actual)
        if all(map(math.isfinite, (actual.real, actual.imag, expected.real, expected.imag))):
            return abs(actual - expected) <= atol + rtol * abs(expected)
        return close(actual.real, expected.real, rtol, atol) and close(actual.imag, expected.imag, rtol, atol)
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(actual, float) and math.isnan(actual)
    if actual == expected:
        return True
    return abs(actual - expected) <= atol + rtol * abs(expected)


def compare_tensor(actual, expected, rtol, atol, what, magnitudes=False, values=True):
    if not isinstance(actual, trt.Tensor):
        raise Failed(f"{what} is {actual!r}, not a tensor")
    if actual.dtype.name != expected["t"]:
        raise Failed(f"{what} is {actual.dtype}, not {expected['t']}")
    if list(actual.shape) != expected["shape"]:
        raise Failed(f"{what} has shape {list(actual.shape)}, not {expected['shape']}")
    if not values:
        return
    exact = expected["t"] not in TOLERANCE
    for i, (a, e) in enumerate(zip(flat(actual), expected["data"])):
        e = number(e)
        if magnitudes:
            a, e = abs(a), abs(e)
        if a != e if exact else not close(a, e if isinstance(e, complex) else float(e), rtol, atol):
            raise Failed(f"{what}[{i}] is {a!r}, not {e!r}")


def compare(actual, expected, case, what="the result"):
    op = case["op"]
    if isinstance(expected, dict) and "t" in expected:
        if expected["t"] not in trt.DTYPES:
            raise NotThere(f"dtype {expected['t']}")
        rtol, atol = TOLERANCE.get(expected["t"], (0, 0))
        if expected["t"] in ("float32", "complex64") and LONG_SUMS.search(op):
            rtol, atol = 10 * rtol, 10 * atol
        compare_tensor(actual, expected, rtol, atol, what, bool(FREE_SIGNS.search(op)), not UNDEFINED_VALUES.search(op))
    elif isinstance(expected, list):
        if not isinstance(actual, (list, tuple)):
            raise Failed(f"{what} is {actual!r}, not a list")
        if len(actual) != len(expected):
            raise Failed(f"{what} has {len(actual)} elements, not {len(expected)}")
        for i, (a, e) in enumerate(zip(actual, expected)):
            compare(a, e, case, f"{what}.{i}")
    else:
        if isinstance(actual, trt.Tensor):
            actual = actual.item()
        expected = number(expected)
        if not (close(actual, expected, *TOLERANCE["float64"]) if isinstance(expected, float) else actual == expected):
            raise Failed(f"{what} is {actual!r}, not {expected!r}")


# --- operators ----------------------------------------------------------------------------------------------------------

class Operators:
    """The operators of the library: names and schemas."""

    def __init__(self):
        self.overloads = collections.defaultdict(list)
        for name in trt.operators():
            self.overloads[name.split(".")[0]].append(name)
        self.without_underscores = {}
        for name in self.overloads:
            if not name.endswith("_"):
                self.without_underscores.setdefault(name.replace("_", ""), name)
        self.schemas = {}

    def find(self, public_name):
        """The operator's name in the table, by rule from PyTorch's public name; None when it is not there."""
        name = RENAMED.get(public_name, public_name)
        if name.startswith("nn.functional."):
            name = name[len("nn.functional."):]
        name = name.replace("linalg.", "linalg_").replace("special.", "special_").replace("fft.", "fft_")
        for candidate in (name, name.rstrip("_"), name + "_", self.without_underscores.get(name.replace("_", ""))):
            if candidate in self.overloads:
                return candidate
        return None

    def schema(self, name):
        if name not in self.schemas:
            self.schemas[name] = Schema.parse(trt.schema(name))
        return self.schemas[name]


def misfit(t, v):
    """How badly a value fits a schema type: 0 exactly, None not at all."""
    if v is None:
        return 0 if t.optional else None
    if t.is_list:
        if isinstance(v, (list, tuple)):
            if t.kind == "Tensor":
                ok = all(isinstance(x, trt.Tensor) or (x is None and t.optional_element) for x in v)
            else:
                ok = all(isinstance(x, (int, float) if t.kind == "float" else int) and not isinstance(x, trt.Tensor) for x in v)
            return 0 if ok else None
        if t.kind == "Tensor":
            return 3 if isinstance(v, trt.Tensor) else None
        return 1 if isinstance(v, int) or (t.kind == "float" and isinstance(v, float)) else None
    if isinstance(v, (list, tuple)):
        return 2 if t.kind == "int" and len(v) == 1 and isinstance(v[0], int) else None
    if isinstance(v, trt.Tensor):
        if t.kind == "Tensor":
            return 0
        return 3 if t.kind in ("Scalar", "float", "int", "bool") and v.numel() == 1 else None
    if isinstance(v, trt.DType):
        return 0 if t.kind == "ScalarType" else None
    if isinstance(v, trt.Device):
        return 0 if t.kind == "Device" else None
    if isinstance(v, str):
        return {"str": 0, "Device": 1, "ScalarType": 2}.get(t.kind)
    if isinstance(v, bool):
        return {"bool": 0, "Scalar": 1, "Tensor": 2, "int": 3, "float": 4}.get(t.kind)
    if isinstance(v, int):
        return {"int": 0, "Scalar": 1, "float": 1, "Tensor": 2}.get(t.kind)
    if isinstance(v, float):
        return {"float": 0, "Scalar": 0, "Tensor": 2}.get(t.kind)
    return None


def bind(schema, args, kwargs):
    """(badness, arguments by name) of a call, or None when it does not fit."""
    positional = [a for a in schema.args if not a.kwarg_only]
    if len(args) > len(positional):
        return None
    bound, badness = {}, 0
    for a, v in zip(positional, args):
        bound[a.name] = v
    for k, v in kwargs.items():
        if k == "input" and schema.arg("input") is None and schema.args:
            k = schema.args[0].name
        if schema.arg(k) is None or k in bound:
            return None
        bound[k] = v
    for a in schema.args:
        if a.name not in bound:
            if a.default is None:
                return None
            continue
        # In Python None often stands for the default.
        cost = 1 if bound[a.name] is None and a.default is not None else misfit(a.type, bound[a.name])
        if cost is None:
            return None
        badness += cost
        if bound[a.name] is None and not a.type.optional:
            del bound[a.name]
            continue
        if isinstance(bound[a.name], trt.Tensor) and a.type.kind != "Tensor":
            bound[a.name] = bound[a.name].item()
    return badness, bound


def gathered(args):
    """Calls f(a, b, c) whose schema takes a list: all trailing arguments of one kind together."""
    for start in range(len(args)):
        tail = args[start:]
        if all(isinstance(x, trt.Tensor) for x in tail) or all(isinstance(x, int) for x in tail):
            yield args[:start] + [tail]


def call_operator(operators, public_name, name, args, kwargs):
    """Calls the overload that fits best."""
    if public_name in PYTHON_ORDER:
        names = PYTHON_ORDER[public_name].split()
        kwargs = {**dict(zip(names, args)), **kwargs}
        args = []
    elif public_name in DATABASE_ORDER:
        args = [args[i] for i in DATABASE_ORDER[public_name]]
    kwargs = {k: v for k, v in kwargs.items() if k not in PYTHON_ONLY or v != PYTHON_ONLY[k]}
    with_indices = kwargs.pop("return_indices", None)
    if "adaptive_max_pool" in public_name and len(args) == 3:
        with_indices = args.pop()
    if with_indices:
        name += "_with_indices"
    if "adaptive" in public_name and isinstance(args[1], list):  # None keeps a size
        kept = args[0].shape[-len(args[1]):]
        args[1] = [n if o is None else o for o, n in zip(args[1], kept)]
    candidates = []
    for attempt in itertools.chain([args], gathered(args)):
        for overload in operators.overloads.get(name, []):
            fit = bind(operators.schema(overload), attempt, kwargs)
            if fit:
                candidates.append((fit[0], len(candidates), overload, fit[1]))
        if candidates:
            break
    if not candidates:
        given = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        raise Failed(f"no overload of {name} takes ({given})")
    error = None
    for _, _, overload, bound in sorted(candidates, key=lambda c: c[:2]):
        try:
            return trt.call(overload, **bound)
        except trt.Error as e:
            error = error or e
    raise Failed(f"{error.code}: {error}")


def call_case(operators, case, name, args, kwargs):
    """The result of the case's call by its public name."""
    if case["op"] in ("polygamma", "special.polygamma") and "n" in kwargs:
        args, kwargs = [*args, kwargs["n"]], {k: v for k, v in kwargs.items() if k != "n"}
    if case["op"] in DATABASE_ORDER:
        args = [args[i] for i in DATABASE_ORDER[case["op"]]] + args[len(DATABASE_ORDER[case["op"]]):]
    before, after = VARIANTS.get((case["op"], case["variant"]), (None, None))
    try:
        if before:
            return after(trt.call_public(case["op"], before(*args), kwargs))
        return trt.call_public(case["op"], args, kwargs)
    except trt.Error as e:
        raise Failed(f"{e.code}: {e}")


# --- one case -----------------------------------------------------------------------------------------------------------

def flat_tensors(v):
    if isinstance(v, trt.Tensor):
        return [v]
    return [t for x in v for t in flat_tensors(x)] if isinstance(v, (list, tuple)) else []


def equal_elements(case, args, result):
    """Whether (values, indices) differs from the record only in the choice among equal elements."""
    if case["op"] not in EQUAL_ELEMENTS or not isinstance(result, tuple) or len(args[0].shape) == 0:
        return False
    values, indices = result
    try:
        compare(values, case["out"][0], case)
        compare_tensor(indices, case["out"][1], 0, 0, "indices", values=False)
    except Failed:
        return False
    at = EQUAL_ELEMENTS[case["op"]]
    dim = args[at] if len(args) > at else case["kwargs"].get("dim", -1)
    if indices.shape != values.shape or len(indices.shape) != len(args[0].shape):
        values, indices = trt.call("unsqueeze", values, dim), trt.call("unsqueeze", indices, dim)
    named = flat(trt.call("gather", args[0], dim, indices))
    return all(a == b or (a != a and b != b) for a, b in zip(named, flat(values)))


def widened(v, integers=False):
    """An encoded argument with its tensors of fewer digits than float64 in float64; with `integers` also those of integers and bool."""
    if isinstance(v, list):
        return [widened(x, integers) for x in v]
    if isinstance(v, dict) and "t" in v and (v["t"] in ("float16", "bfloat16", "float32") or (integers and v["t"] not in TOLERANCE)):
        return {**v, "t": "float64", "data": [float(x) for x in v["data"]]}
    return {"dtype": "float64"} if v in ({"dtype": "float16"}, {"dtype": "bfloat16"}) else v


def closer_than_recorded(operators, name, case, result):
    """Half precision: PyTorch 1.13 adds up in half precision on the CPU, and its error may be larger than the tolerance. The result is right
    when it is within the tolerance of the same call in float64."""
    imprecise = case["op"] in IMPRECISE or bool(IMPRECISE_NAMES.match(case["op"]))  # whose tensors are all values, none indices
    if case["dtype"] not in ("float16", "bfloat16") and not imprecise:
        return False
    if case["dtype"] == "float64":  # the record has few digits, too (PyTorch's Ai and Bessel functions of negative arguments and near their zeros)
        try:
            compare_tensor(result, case["out"], 1e-3, 1e-5, "the result")
        except Failed:
            return False
        return True
    leaves = []
    args = [decode(widened(v, imprecise), leaves) for v in case["args"]]
    kwargs = {k: decode(widened(v, imprecise), leaves) for k, v in case["kwargs"].items()}
    if kwargs.get("max_norm") is not None:
        # The rows that are added up are those of the table limited in its own dtype.
        limited = [decode(v, leaves) for v in case["args"]]
        call_case(operators, case, name, limited, {k: decode(v, leaves) for k, v in case["kwargs"].items()})
        args[0] = trt.call("to", limited[0], "float64")
        del kwargs["max_norm"]
    exact = flat_tensors(call_case(operators, case, name, args, kwargs))
    results = flat_tensors(result)
    recorded = case["out"] if isinstance(case["out"], list) else [case["out"]]
    if not len(exact) == len(results) == len(recorded):
        return False
    try:
        for i, (r, e, c) in enumerate(zip(results, exact, recorded)):
            t = c["t"]
            if t in TOLERANCE:
                data = [x if t != "float16" or not abs(x) >= 65520 else math.copysign(math.inf, x) for x in flat(e)]  # what float16 cannot hold
                compare_tensor(r, {"t": t, "shape": c["shape"], "data": data}, *TOLERANCE[t], f"the result.{i}")
            else:
                compare_tensor(r, c, *TOLERANCE.get(t, (0, 0)), f"the result.{i}")
    except Failed:
        return False
    return True


def same_groups(case, args, result):
    """unique: whether the same elements (slices) were found, as often and in the same places, in another order. Unsorted ones have none in PyTorch, and 1.13 sorted
    slices with dimension 0 and the other one exchanged."""
    kwargs = case["kwargs"]
    dim = kwargs.get("dim")
    if case["op"] != "unique" or (kwargs.get("sorted", True) and (dim is None or len(args[0].shape) < 3)):
        return False
    results = list(result) if isinstance(result, tuple) else [result]
    recorded = case["out"] if isinstance(case["out"], list) else [case["out"]]
    ours = [{"t": r.dtype.name, "shape": list(r.shape), "data": flat(r)} for r in results]
    if [(o["t"], o["shape"]) for o in ours] != [(r["t"], r["shape"]) for r in recorded]:
        return False

    def groups(out):
        values, rest = out[0], list(out[1:])
        if dim is None:
            slices = [(v,) for v in values["data"]]
        else:
            n = values["shape"][dim]
            inner = math.prod(values["shape"][dim % len(values["shape"]) + 1:])
            slices = [tuple(v for k, v in enumerate(values["data"]) if k // inner % n == i) for i in range(n)]
        inverse = rest.pop(0)["data"] if kwargs.get("return_inverse") else []
        counts = rest.pop(0)["data"] if kwargs.get("return_counts") else [1] * len(slices)
        return sorted(zip(slices, counts)), [slices[i] for i in inverse]

    return groups(ours) == groups(recorded)


# Systems of equations: the errors of single precision grow with the condition of the matrix.
SYSTEMS = re.compile(r"linalg\.(solve|tensorsolve|inv|tensorinv|lstsq|pinv|lu_solve|ldl_solve)|cholesky_(solve|inverse)|lu_solve|pinverse|triangular_solve")


def as_close_as_recorded(operators, name, case, result):
    """Systems in float32: whether the result is as close to that of the same call in float64 as the record is, up to a factor of 16 (in the largest error): that much two
    stable algorithms differ."""
    if case["dtype"] != "float32" or not SYSTEMS.match(case["op"]):
        return False
    leaves = []
    exact = flat_tensors(call_case(operators, case, name, [decode(widened(v), leaves) for v in case["args"]], {k: decode(widened(v), leaves) for k, v in case["kwargs"].items()}))
    recorded = case["out"] if isinstance(case["out"], list) else [case["out"]]
    for r, e, c in zip(flat_tensors(result), exact, recorded):
        if c["t"] != "float32" or list(r.shape) != c["shape"]:
            continue
        errors = [max((abs(a - b) for a, b in zip(x, flat(e))), default=0) for x in (flat(r), map(float, c["data"]))]
        if not errors[0] <= 16 * errors[1]:
            return False
    return True


# The inner products of two vectors, and those among them that conjugate the first.
INNER = {"dot", "vdot", "matmul", "linalg.vecdot"}
CONJUGATING = {"vdot", "linalg.vecdot"}


def recorded_without_result(case, args, result):
    """Complex inner products of vectors: the BLAS that PyTorch 1.13 recorded with gave back no complex numbers (the record is 0). The sum of the
    products decides instead."""
    if case["op"] not in INNER or not case["dtype"].startswith("complex") or case["out"].get("shape") != [] or complex(number(case["out"]["data"][0])) != 0:
        return False
    x, y = flat(args[0]), flat(args[1])
    if case["op"] in CONJUGATING:
        x = [v.conjugate() for v in x]
    return close(flat(result)[0], sum(a * b for a, b in zip(x, y)), *TOLERANCE[case["dtype"]])


# --- what newer versions of PyTorch do otherwise ------------------------------------------------------------------------
# Each function gets a case and its decoded arguments and returns the case as today's version would have been recorded. Where it returns the
# same case the record stands.

def today_arange(case, args, kwargs):
    """Integer dtype: the bounds and the step keep their fractions where the elements are counted (1.13 cut them off before)."""
    if case["out"]["t"] in TOLERANCE or not all(isinstance(x, (int, float)) for x in args):
        return case
    bounds = list(args) + ([kwargs["end"]] if "end" in kwargs else [])
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    count = math.ceil((end - start) / step)
    data = [int(start) + i * int(step) for i in range(count)]
    return {**case, "out": {**case["out"], "shape": [count], "data": [x % 256 for x in data] if case["out"]["t"] == "uint8" else data}}


def today_linspace(case, args, kwargs):
    """Integer dtype: the step is a double (1.13's was a float, and vectors of elements had a first element and a step of their own, both rounded)."""
    if case["out"]["t"] in TOLERANCE:
        return case
    start, end, steps = int(args[0]), int(args[1]), args[2]
    step = (end - start) / (steps - 1) if steps > 1 else 0
    exact = [int(start + step * i if i < steps // 2 or steps == 1 else end - step * (steps - 1 - i)) for i in range(steps)]
    if case["out"]["shape"] != [steps] or any(abs(a - b) > 1 for a, b in zip(exact, case["out"]["data"])):
        return case
    return {**case, "out": {**case["out"], "data": exact}}


def today_aminmax(case, args, kwargs):
    """keepdim keeps the shape of 0-d tensors (1.13 gave a vector of one element)."""
    return case if args[0].dim() else {**case, "out": [{**o, "shape": []} for o in case["out"]]}


def today_floor_divide(case, args, kwargs):
    """A quotient that overflows is infinite (1.13's was NaN)."""
    if case["variant"] not in ("", "floor_rounding") or case["out"]["t"] not in TOLERANCE or "nan" not in case["out"]["data"]:
        return case
    quotients = flat(trt.call("div", args[0], args[1] if isinstance(args[1], trt.Tensor) else trt.tensor(args[1])))
    return {**case, "out": {**case["out"], "data": [q if e == "nan" and math.isinf(q) else e for e, q in zip(case["out"]["data"], quotients)]}}


def today_div(case, args, kwargs):
    """As floor_divide. Truncated in bfloat16: PyTorch truncates the quotient before or after it is rounded, as the element stands in a vector or not; here
    it is the quotient itself."""
    if case["variant"] != "trunc_rounding" or case["dtype"] != "bfloat16" or case["out"]["t"] != "bfloat16":
        return today_floor_divide(case, args, kwargs)
    a, b = (x if isinstance(x, trt.Tensor) else trt.tensor(x, dtype="bfloat16") for x in args[:2])
    exact, rounded = flat(trt.call("div", trt.call("to", a, "float64"), trt.call("to", b, "float64"))), flat(trt.call("div", a, b))
    data = [math.trunc(q) if not isinstance(e, str) and math.isfinite(r) and e == r and abs(q) < abs(e) else e for e, q, r in zip(case["out"]["data"], exact, rounded)]
    return {**case, "out": {**case["out"], "data": data}}


TODAY = {"arange": today_arange, "linspace": today_linspace, "aminmax": today_aminmax, "floor_divide": today_floor_divide, "div": today_div}


# --- gradients that are not compared ------------------------------------------------------------------------------------

def unread_triangle(case, i, shape):
    """PyTorch's gradient of a Cholesky factor is not zero in the triangle that is not read: whether element k of gradient `i` lies there."""
    at = {"cholesky_inverse": 0, "cholesky_solve": 1}.get(case["op"])
    if i != at:
        return None
    upper = case["kwargs"].get("upper", False)
    n = shape[-1]
    return lambda k: (k // n % n > k % n) if upper else (k // n % n < k % n)


def singular(case, i, shape):
    """PyTorch makes the gradient of the determinant of the determinant and the inverse: zero where the determinant is exactly zero, though the cofactors
    are not. Whether element k of the gradient belongs to such a matrix."""
    if case["op"] != "linalg.det" or 0 not in case["out"]["data"]:
        return None
    return lambda k: case["out"]["data"][k // (shape[-1] * shape[-2])] == 0


NOT_COMPARED = (unread_triangle, singular)


def run_once(operators, name, case, wanted):
    """Runs a case with gradients for the leaves whose numbers are in `wanted` (None: no gradients)."""
    leaves = []
    args = [decode(v, leaves) for v in case["args"]]
    kwargs = {k: decode(v, leaves) for k, v in case["kwargs"].items()}
    if isinstance(kwargs.get("device"), str):
        kwargs["device"] = trt.Device(kwargs["device"])
    if case["op"] in TODAY:
        case = TODAY[case["op"]](case, args, kwargs)
    inputs = [leaves[i] for i in wanted] if wanted is not None else []
    for t in inputs:
        t.requires_grad = True
    if name.endswith("_") and args and isinstance(args[0], trt.Tensor):
        args[0] = trt.call("clone", args[0])  # a leaf cannot be changed in place
    result = call_case(operators, case, name, args, kwargs)
    try:
        compare(result, case["out"], case)
    except Failed as e:
        if not (equal_elements(case, args, result) or closer_than_recorded(operators, name, case, result)
                or recorded_without_result(case, args, result) or as_close_as_recorded(operators, name, case, result) or same_groups(case, args, result)):
            raise e
    if wanted is None or FREE_SIGNS.search(case["op"]):
        return
    wanted_outputs = [i + (case["op"] in FIRST_CONSTANT) for i in case["grad_outputs"]]
    outputs = [flat_tensors(result)[i] for i in wanted_outputs]
    weights = []
    for i, o in zip(wanted_outputs, outputs):
        if not o.requires_grad:
            raise Failed(f"result {i} does not require a gradient")
        n = math.prod(o.shape)
        weights.append(trt.from_flat([0.5 + k / (n - 1) if n > 1 else 0.5 for k in range(n)], o.shape, "float64"))
    for i, (actual, expected) in enumerate(zip(trt.grad(outputs, inputs, weights, allow_unused=True), case["grads"])):
        if expected is None:
            if actual is not None and any(flat(actual)):
                raise Failed(f"gradient {i} is not zero")
        elif actual is None:
            raise Failed(f"gradient {i} is missing")
        else:
            for rule in NOT_COMPARED:
                skipped = rule(case, i, expected["shape"])
                if skipped:
                    data = [flat(actual)[k] if skipped(k) else e for k, e in enumerate(expected["data"])]
                    expected = {**expected, "data": data}
            compare_tensor(actual, expected, *GRAD_TOLERANCE, f"gradient {i}")


def float64_shapes(v):
    if isinstance(v, dict):
        if "t" in v:
            return [v["shape"]] if v["t"] == "float64" else []
        return []
    return [s for x in v for s in float64_shapes(x)] if isinstance(v, list) else []


def leaf_choices(case):
    """Which of the float64 tensors the gradients belong to. Fewer gradients than tensors: running statistics and the
    like take none, so every choice with the right shapes is possible; the likeliest come first."""
    if "grads" not in case:
        return [None]
    shapes = float64_shapes(case["args"]) + float64_shapes(list(case["kwargs"].values()))
    grads = case["grads"]

    def possible(choice):
        return all(g is None or g["shape"] == shapes[i] for i, g in zip(choice, grads))

    choices = [c for c in itertools.combinations(range(len(shapes)), len(grads)) if possible(c)]
    return choices[:40] or [None]


def run_case(operators, case):
    # Some functions of networks are made in Python of several operators and have no entry in the table.
    name = operators.find(case["op"])
    if name is None and case["op"].startswith("nn.functional.") and trt.is_function(case["op"]):
        name = case["op"]
    if name is None:
        raise NotThere("operator")
    if (case["op"], case["dtype"]) in LEFT_OUT:
        raise NotThere("dtype " + LEFT_OUT[case["op"], case["dtype"]])
    failure = None
    for wanted in leaf_choices(case):
        try:
            run_once(operators, name, case, wanted)
            return
        except Failed as e:
            failure = failure or e
    raise failure


def child(path):
    """Runs the cases whose line numbers come on stdin; prints one line of JSON per case: [line, verdict, reason]."""
    wanted = {int(x) for x in sys.stdin.read().split()}
    results = os.fdopen(os.dup(1), "w")
    operators = Operators()
    print("ready", file=results, flush=True)
    with gzip.open(path, "rt") as lines:
        for i, line in enumerate(lines):
            if i not in wanted:
                continue
            case = json.loads(line)
            try:
                run_case(operators, case)
                verdict = "pass", ""
            except NotThere as e:
                verdict = "missing", str(e)
            except Failed as e:
                verdict = "fail", str(e)
            except Exception as e:  # a fault of the driver or of the package must not end the run
                verdict = "fail", f"{type(e).__name__}: {e}"
            print(json.dumps([i, *verdict]), file=results, flush=True)


# --- the run ------------------------------------------------------------------------------------------------------------

def run_cases(path, indices):
    """Yields (line number, verdict, reason) for all cases, starting another child after a crash."""
    left = list(indices)
    while left:
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write("\n".join(map(str, left)).encode())
        process.stdin.close()
        buffer, timed_out, ready = b"", False, False
        while True:
            if not select.select([process.stdout], [], [], CASE_SECONDS)[0]:
                timed_out = True
                process.kill()
                break
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                if line == b"ready":
                    ready = True
                    continue
                i, verdict, reason = json.loads(line)
                left.remove(i)
                yield i, verdict, reason
        process.stdout.close()
        status = process.wait()
        if not ready:
            raise SystemExit("the library could not be used at all")
        if left:
            reason = f"took more than {CASE_SECONDS} s" if timed_out else f"the process ended with status {status}"
            yield left.pop(0), "fail", reason


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--ops", help="names, separated by commas, or @FILE with one a line")
    parser.add_argument("--verbose", action="store_true", help="name every failing case and every operator that is not there")
    parser.add_argument("--limit", type=int, help="only the first N cases")
    parser.add_argument("--expect-all", action="store_true", help="cases not there yet count as failures in the exit status")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.file)
    only = None
    if args.ops:
        only = set(open(args.ops[1:]).read().split() if args.ops.startswith("@") else args.ops.split(","))
    names = {}
    with gzip.open(args.file, "rt") as lines:
        for i, line in enumerate(lines):
            op = json.loads(line)["op"]
            if only is None or op in only:
                names[i] = op
            if args.limit and len(names) == args.limit:
                break
    verdicts = collections.Counter()
    reasons, failures, incomplete = {}, collections.Counter(), set()
    absent, lacking = set(), collections.Counter()
    for i, verdict, reason in run_cases(args.file, names):
        op = names[i]
        verdicts[verdict] += 1
        if verdict == "pass":
            continue
        incomplete.add(op)
        if verdict == "missing":
            if reason == "operator":
                absent.add(op)
            else:
                lacking[reason] += 1
            continue
        failures[op] += 1
        reasons.setdefault(op, reason.replace("\n", " "))
        if args.verbose:
            print(f"line {i + 1} {op}: {reason}")
    for op in sorted(reasons):
        print(f"{op}: {failures[op]} failed: {reasons[op][:220]}")
    if absent:
        print(f"not there yet: {len(absent)} operators" + (": " + " ".join(sorted(absent)) if args.verbose else ""))
    for what, n in sorted(lacking.items()):
        print(f"not there yet: {what} ({n} cases)")
    operators = set(names.values())
    print(f"golden: {verdicts['pass']} of {len(names)} cases pass; {len(operators - incomplete)} of {len(operators)} operators complete")
    return 1 if failures or (args.expect_all and incomplete) else 0


if __name__ == "__main__":
    sys.exit(main())
