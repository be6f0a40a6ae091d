"""What the checks share: one sample call in its surroundings, outcomes, and comparing results."""

import math
import random
import zlib
from dataclasses import dataclass

import samples as S
from samples import Array, build, golden, trt

# Checks of values tell nothing about operators that promise no values.
UNDEFINED_VALUES = golden.UNDEFINED_VALUES
MOST_ELEMENTS = 3000  # samples above take part in the cheap checks only


@dataclass
class Skip:
    check: str
    reason: str


@dataclass
class Takes:
    """The operator takes tensors of this dtype: for the table of coverage."""
    dtype: str


def flatten(result):
    """The tensors and numbers of a result, in order."""
    if isinstance(result, (list, tuple)):
        return [x for r in result for x in flatten(r)]
    return [result]


class Context:
    """One sample with its schema and the variants of its operator."""

    def __init__(self, operators, sample, quick):
        self.operators, self.sample, self.quick = operators, sample, quick
        self.op = sample.op
        self.schema = operators.schema(sample.op)
        self.name, _, self.overload = sample.op.partition(".")
        self.written = [a.name for a in self.schema.args if a.type.written]
        self.rng = random.Random(zlib.crc32(f"{sample.op} {sample.origin}".encode()))
        self.numel = sum(len(a.data) for _, a in sample.arrays())
        self.values = not UNDEFINED_VALUES.search(self.name)
        self._result = None

    def call(self, op=None, given=None, sample=None, extra=None, seed=1):
        """Calls with fresh tensors; `given` are tensors to be used instead, by path."""
        args = {}
        sample = sample or self.sample
        given = given or {}
        for name, v in sample.args.items():
            if isinstance(v, list):
                args[name] = [given[name, i] if (name, i) in given else build(x) for i, x in enumerate(v)]
            else:
                args[name] = given[(name,)] if (name,) in given else build(v)
        for name in self.written:
            # A leaf cannot be changed in place.
            if args[name].requires_grad:
                args[name] = trt.call("clone", args[name])
        if op:  # the out variant of a factory has no dtype and device of its own
            known = {a.name for a in self.operators.schema(op).args}
            args = {name: v for name, v in args.items() if name in known or name not in ("dtype", "device")}
        trt.manual_seed(seed)
        return trt.call(op or self.op, **args, **(extra or {}))

    def result(self):
        """The result of the sample itself, as arrays and numbers; computed once."""
        if self._result is None:
            self._result = [S.to_array(x) if isinstance(x, trt.Tensor) else x for x in flatten(self.call())]
        return self._result

    def is_random(self):
        """Whether the result depends on the generator."""
        return compare_all(self, self.call(seed=2), self.result(), 0, 0) is not None

    def variant(self, name):
        return name if name in self.operators.schemas_by_name else None


def describe(e):
    return f"{e.code}: {e}"


def version(t):
    return t._version


def same_tensor(a, b):
    return isinstance(a, trt.Tensor) and a is b


def differs(actual, expected, rtol, atol, what="result"):
    """None, or how the tensor (or number) differs from the array (or number)."""
    if not isinstance(expected, Array):
        if isinstance(actual, trt.Tensor):
            actual = actual.item()
        return None if actual == expected or (actual != actual and expected != expected) else f"{what} is {actual!r}, not {expected!r}"
    if not isinstance(actual, trt.Tensor):
        return f"{what} is {actual!r}, not a tensor"
    if actual.dtype.name != expected.dtype:
        return f"{what} is {actual.dtype}, not {expected.dtype}"
    if actual.shape != expected.shape:
        return f"{what} has shape {list(actual.shape)}, not {list(expected.shape)}"
    return differs_values(trt.flat(actual), expected.data, rtol, atol, what)


def differs_values(actual, expected, rtol, atol, what):
    if actual == expected:
        return None
    scale = max((abs(x) for x in expected if x == x and abs(x) != math.inf), default=0)
    for i, (a, e) in enumerate(zip(actual, expected)):
        if a == e or (a != a and e != e):
            continue
        if not (abs(a - e) <= rtol * abs(e) + atol * scale):
            return f"{what}[{i}] is {a!r}, not {e!r}"
    return None


def compare_all(ctx, actual, expected, rtol, atol):
    actual = flatten(actual)
    if len(actual) != len(expected):
        return f"{len(actual)} results, not {len(expected)}"
    for i, (a, e) in enumerate(zip(actual, expected)):
        if not ctx.values and isinstance(e, Array):
            e = Array(e.dtype, e.shape, trt.flat(a) if isinstance(a, trt.Tensor) else [])
        reason = differs(a, e, rtol, atol, f"result {i}" if len(expected) > 1 else "the result")
        if reason:
            return reason
    return None


def rounding(a):
    """How much two ways of computing the same value may differ: (of the element, of the largest element)."""
    if isinstance(a, Array) and (a.is_float or a.dtype.startswith("complex")):
        return {"complex128": (1e-12, 1e-13), "complex64": (2e-6, 1e-6), "float64": (1e-12, 1e-13), "float32": (2e-6, 1e-6), "float16": (2e-3, 1e-3), "bfloat16": (1.6e-2, 8e-3)}[a.dtype]
    return 0, 0


def loosest(arrays):
    return max((rounding(a) for a in arrays), default=(0, 0))


def float_paths(ctx):
    return [(path, a) for path, a in ctx.sample.arrays() if a.dtype == "float64"]


def differentiable_paths(ctx):
    """The float64 tensor arguments that may require a gradient, and whether the result then does."""
    out = []
    for path, a in float_paths(ctx):
        t = build(a)
        t.requires_grad = True
        try:
            results = flatten(ctx.call(given={path: t}))
        except trt.Error:
            continue  # running statistics and the like are written, which a leaf that requires a gradient does not allow
        if any(isinstance(r, trt.Tensor) and r.requires_grad for r in results):
            out.append((path, a))
    return out
