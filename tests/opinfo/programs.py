#!/usr/bin/env python3
"""Random programs: 2 to 6 operators, each applied to inputs or to results of earlier ones, with random shapes, strides and dtypes.

  programs.py [--count N] [--seed S] [--reference numpy|torch] [--verbose]

Every step runs on the tensors as the steps before left them (views, strides and all); the reference computes the same step from their values, so
that rounding does not add up. numpy is the reference, in float64 and int64; it says nothing about dtypes, and a call that the library refuses is left
out. With --reference torch, which must be installed, dtypes are compared, too, and the library must take what PyTorch takes.

A program that fails is made smaller while it fails: fewer steps, plain layouts, smaller shapes, float64. Prints it as a call that repeats it, and at
last `programs: N of M pass`. To add an operator: a line of OPERATORS.
"""

import argparse
import copy
import math
import os
import random
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "golden"))

import binding  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("missing: numpy")
    sys.exit(77)

trt = binding.trt
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool", "float32", "float64")
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
LAYOUTS = ("plain", "plain", "transposed", "sliced", "expanded")


class Refused(Exception):
    """The library refused the call, or the reference did."""


# --- operators --------------------------------------------------------------------------------------------------------------

def unary(name, f=None):
    return name, 1, lambda r, x: (), f or getattr(np, name)


def binary(name, f=None):
    return name, 2, lambda r, x, y: (), f or getattr(np, name)


def dim_of(r, x):
    return r.randrange(-x.ndim, x.ndim) if x.ndim else None


def with_dim(make):
    """Parameters that begin with a dimension; nothing for 0-d tensors."""
    def parameters(r, x, *rest):
        d = dim_of(r, x)
        return None if d is None else make(r, x, d)
    return parameters


def reduction(name, f, whole=True):
    def parameters(r, x):
        d = dim_of(r, x)
        return (() if whole else None) if d is None or (whole and r.random() < 0.3) else (d, r.random() < 0.5)
    return name, 1, parameters, lambda x, d=None, keep=False: f(x, axis=d, keepdims=keep)


def permutation(r, x):
    return (r.sample(range(x.ndim), x.ndim),) if x.ndim else None


def new_shape(r, x):
    n = x.size
    if n == 0:
        return (list(x.shape[::-1]),)
    first = r.choice([d for d in range(1, n + 1) if n % d == 0])
    return r.choice([([n],), ([first, n // first],), ([-1, first],), ([first, 1, -1],)])


def gather_index(r, x, d):
    if x.shape[d] == 0:
        return None
    return d, [r.randrange(x.shape[d]) for _ in range(r.randrange(1, 4))]


def window(r, x, d):
    start = r.randrange(x.shape[d] + 1)
    return d, start, r.randrange(x.shape[d] - start + 1)


def expand_shape(r, x):
    return ([r.randrange(1, 4)] + [r.randrange(1, 4) if n == 1 else r.choice((n, -1)) for n in x.shape],)


def numpy_expand(x, shape):
    old = (1,) * (len(shape) - x.ndim) + x.shape
    return np.broadcast_to(x, [o if s == -1 else s for s, o in zip(shape, old)])


def step_slice(r, x, d):
    return d, r.randrange(x.shape[d] + 1), r.randrange(x.shape[d] + 1), r.randrange(1, 3)


def take_slice(x, d, start, stop, step):
    index = [slice(None)] * len(x.shape)
    index[d] = slice(start, stop, step)
    return x[tuple(index)]


def logsumexp(x, axis, keepdims):
    with np.errstate(all="ignore"):
        m = np.max(x, axis=axis, keepdims=True)
        m = np.where(np.isfinite(m), m, 0)
        s = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return s if keepdims else np.squeeze(s, axis=axis)


def sums(f):
    """A result that adds elements up: its error is measured against their sizes."""
    f.adds = True
    return f


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


# (name, number of tensors, parameters(random, shapes as numpy arrays...) or None where it does not apply, reference)
OPERATORS = [
    unary("neg", np.negative), unary("abs"), unary("exp"), unary("expm1"), unary("log"), unary("log1p"), unary("sqrt"), unary("square"), unary("sin"), unary("cos"),
    unary("tanh"), unary("atan", np.arctan), unary("asinh", np.arcsinh), unary("sinh"), unary("floor"), unary("ceil"), unary("trunc"), unary("round"),
    unary("sign", lambda x: (x > 0) * 1 - (x < 0) * 1), unary("reciprocal", lambda x: 1 / (x * 1.0)), unary("isnan"), unary("isinf"), unary("isfinite"), unary("logical_not"), unary("erf", erf),
    unary("sigmoid", lambda x: np.where(x > 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))), unary("relu", lambda x: np.where(x < 0, 0, x)),
    unary("rad2deg", lambda x: x * (180 / math.pi)), unary("exp2"), unary("signbit", lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0), unary("i0", np.i0), unary("clone", np.copy),
    unary("positive", np.copy), unary("t", lambda x: x.T), unary("ravel"), ("nan_to_num", 1, lambda r, x: (0.5, 1.5, -2.5), lambda x, n, a, b: np.nan_to_num(x, nan=n, posinf=a, neginf=b)),
    binary("add"), binary("sub", np.subtract), binary("mul", np.multiply), binary("div", np.divide), binary("maximum"), binary("minimum"), binary("fmax"), binary("fmin"),
    binary("atan2", np.arctan2), binary("eq", np.equal), binary("ne", np.not_equal), binary("lt", np.less), binary("le", np.less_equal), binary("gt", np.greater),
    binary("ge", np.greater_equal), binary("logical_and"), binary("logical_or"), binary("logical_xor"), binary("copysign"), binary("hypot"),
    binary("bitwise_and"), binary("bitwise_or"), binary("bitwise_xor"), binary("gcd"), binary("lcm"), binary("fmod"),
    # Of NaN PyTorch gives 0, NumPy NaN.
    binary("heaviside", lambda x, y: np.where(np.isnan(x), 0, np.heaviside(x, y)) if x.dtype.kind == "f" else np.heaviside(x, y)),
    binary("outer"), binary("matmul", sums(lambda x, y: np.matmul(x, y))),
    ("where", 3, lambda r, c, x, y: (), lambda c, x, y: np.where(c, x, y)),
    ("clamp", 1, lambda r, x: (-1, 2), lambda x, a, b: np.where(np.isnan(x), x, np.clip(x, a, b))),
    ("pow", 1, lambda r, x: (r.choice((2, 3)),), lambda x, e: np.power(x, e)),
    reduction("sum", sums(lambda x, axis, keepdims: np.sum(x, axis=axis, keepdims=keepdims))), reduction("mean", sums(lambda x, axis, keepdims: np.mean(x, axis=axis, keepdims=keepdims))),
    reduction("amax", lambda x, axis, keepdims: np.max(x, axis=axis, keepdims=keepdims)), reduction("amin", lambda x, axis, keepdims: np.min(x, axis=axis, keepdims=keepdims)),
    reduction("prod", lambda x, axis, keepdims: np.prod(x, axis=axis, keepdims=keepdims)), reduction("any", lambda x, axis, keepdims: np.any(x, axis=axis, keepdims=keepdims)),
    reduction("all", lambda x, axis, keepdims: np.all(x, axis=axis, keepdims=keepdims)), reduction("logsumexp", sums(logsumexp), False),
    ("cumsum", 1, with_dim(lambda r, x, d: (d,)), sums(lambda x, d: np.cumsum(x, axis=d))), ("cumprod", 1, with_dim(lambda r, x, d: (d,)), lambda x, d: np.cumprod(x, axis=d)),
    ("count_nonzero", 1, with_dim(lambda r, x, d: (d,)), lambda x, d: np.count_nonzero(x, axis=d)),
    ("diff", 1, with_dim(lambda r, x, d: (1, d)), sums(lambda x, n, d: np.diff(x, n, axis=d))),
    ("permute", 1, permutation, np.transpose), ("reshape", 1, new_shape, lambda x, s: x.reshape(s)), ("flip", 1, with_dim(lambda r, x, d: ([d],)), lambda x, d: np.flip(x, d)),
    ("transpose", 1, with_dim(lambda r, x, d: (d, r.randrange(x.ndim))), np.swapaxes), ("movedim", 1, with_dim(lambda r, x, d: (d, r.randrange(x.ndim))), np.moveaxis),
    ("roll", 1, with_dim(lambda r, x, d: (r.randrange(-4, 5), d)), lambda x, s, d: np.roll(x, s, d)),
    ("unsqueeze", 1, lambda r, x: (r.randrange(-x.ndim - 1, x.ndim + 1),), np.expand_dims), ("squeeze", 1, lambda r, x: (), np.squeeze),
    ("narrow", 1, with_dim(window), lambda x, d, a, n: take_slice(x, d, a, a + n, 1)),
    ("select", 1, with_dim(lambda r, x, d: (d, r.randrange(-x.shape[d], x.shape[d])) if x.shape[d] else None), lambda x, d, i: np.take(x, i, axis=d)),
    ("slice", 1, with_dim(step_slice), take_slice), ("expand", 1, expand_shape, numpy_expand),
    ("index_select", 1, with_dim(gather_index), lambda x, d, i: np.take(x, i, axis=d)),
    ("tile", 1, lambda r, x: ([r.randrange(1, 3) for _ in range(x.ndim)],), np.tile),
    ("tril", 1, lambda r, x: (r.randrange(-2, 3),) if x.ndim >= 2 else None, np.tril), ("triu", 1, lambda r, x: (r.randrange(-2, 3),) if x.ndim >= 2 else None, np.triu),
    ("diagonal", 1, lambda r, x: (r.randrange(-1, 2), 0, 1) if x.ndim >= 2 else None, lambda x, o, a, b: np.diagonal(x, o, a, b)),
    ("rot90", 1, lambda r, x: (r.randrange(-1, 4), [0, 1]) if x.ndim >= 2 else None, lambda x, k, d: np.rot90(x, k, d)),
    ("repeat_interleave", 1, with_dim(lambda r, x, d: (r.randrange(1, 3), d)), lambda x, n, d: np.repeat(x, n, axis=d)),
    ("sort", 1, with_dim(lambda r, x, d: (d,)), lambda x, d: np.sort(x, axis=d)),
    ("cat", 2, lambda r, x, y: (r.randrange(x.ndim),) if x.ndim and x.ndim == y.ndim else None, lambda x, y, d: np.concatenate([x, y], d)),
    ("stack", 2, lambda r, x, y: (r.randrange(x.ndim + 1),) if x.shape == y.shape else None, lambda x, y, d: np.stack([x, y], d)),
]
TABLE = {o[0]: o for o in OPERATORS}


def perform(library, name, tensors, parameters):
    """The step in the library trt or torch, which have the same names."""
    if name == "slice":
        return take_slice(tensors[0], *parameters)
    if name == "expand":
        return tensors[0].expand(*parameters)
    if name in ("cat", "stack"):
        return getattr(library, name)(list(tensors), *parameters)
    if name == "index_select":
        return library.index_select(tensors[0], parameters[0], library.tensor(parameters[1]))
    if name == "where":
        tensors = [tensors[0] if str(tensors[0].dtype).endswith("bool") else tensors[0] != 0, *tensors[1:]]
    result = getattr(library, name)(*tensors, *parameters)
    return result[0] if name == "sort" else result


# --- programs ---------------------------------------------------------------------------------------------------------------

class Program:
    """inputs: (dtype, shape, layout, seed of the values); steps: (name, numbers of the operands, parameters). Inputs are numbered before steps."""

    def __init__(self, inputs, steps=()):
        self.inputs, self.steps = list(inputs), list(steps)

    def __repr__(self):
        return f"Program({self.inputs}, {self.steps})"


def make_input(dtype, shape, layout, seed):
    r = random.Random(seed)

    def values(count):
        if dtype == "bool":
            return [r.random() < 0.5 for _ in range(count)]
        if dtype.startswith("float"):
            return [r.choice((math.nan, math.inf, -math.inf, -0.0)) if r.random() < 0.02 else r.randrange(-24, 25) / 8 for _ in range(count)]
        return [r.randrange(0 if dtype == "uint8" else -5, 6) for _ in range(count)]

    shape = list(shape)
    if layout == "transposed" and len(shape) > 1:
        return binding.from_flat(values(math.prod(shape)), shape[::-1], dtype).permute(list(range(len(shape)))[::-1])
    if layout == "sliced" and shape:
        wide = shape[:-1] + [2 * shape[-1] + 1]
        return binding.from_flat(values(math.prod(wide)), wide, dtype)[..., 1::2]
    if layout == "expanded" and shape and shape[0]:
        return binding.from_flat(values(math.prod(shape[1:])), [1] + shape[1:], dtype).expand(shape)
    return binding.from_flat(values(math.prod(shape)), shape, dtype)


def name_of(dtype):
    return str(dtype).rpartition(".")[2]


def to_numpy(t):
    dtype = name_of(t.dtype)
    kind = np.float64 if dtype.startswith("float") else np.bool_ if dtype == "bool" else np.int64
    return np.array(t.reshape(-1).tolist(), dtype=kind).reshape(tuple(t.shape))


def compare(actual, expected, operands, dtype, adds):
    """What differs, or None. `operands`: the values that went in."""
    if actual.shape != expected.shape:
        return f"the shape is {list(actual.shape)}, not {list(expected.shape)}"
    with np.errstate(all="ignore"):
        if dtype in EPSILON:
            expected = expected.astype(dtype).astype(np.float64)
            size = 1.0
            if adds:
                for o in operands:
                    finite = np.abs(o[np.isfinite(o)]).astype(np.float64)
                    size *= max(1.0, finite.max() if finite.size else 1.0)
                size *= max(1, max((o.size for o in operands), default=1))
            same = (actual == expected) | (np.isnan(actual) & np.isnan(expected)) | (np.abs(actual - expected) <= 64 * EPSILON[dtype] * (np.abs(expected) + size * 1e-2 + (size if adds else 0)))
        else:
            integer = np.dtype(dtype) if dtype != "bool" else np.dtype(bool)
            expected = expected.astype(integer)
            same = actual.astype(integer) == expected
    if same.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"element {list(at)} is {actual[at]!r}, not {expected[at]!r}"


class Runner:
    def __init__(self, torch=None):
        self.torch = torch

    def step(self, name, tensors, parameters):
        """(result, what is wrong with it or None)."""
        before = [to_numpy(t) for t in tensors]
        failure = None
        try:
            result = perform(trt, name, tensors, parameters)
        except (trt.Error, TypeError, IndexError, ValueError) as e:
            if getattr(e, "code", "") == "INTERNAL":
                return None, f"an internal error: {e}"
            failure = e
        if self.torch:
            copies = [self.torch.tensor(b.reshape(-1).tolist(), dtype=getattr(self.torch, name_of(t.dtype))).reshape(b.shape) for b, t in zip(before, tensors)]
            try:
                expected = perform(self.torch, name, copies, parameters)
            except (RuntimeError, TypeError, IndexError, ValueError) as e:
                raise Refused from None  # the library may take more than PyTorch
            if failure is not None:
                return None, f"refused: {failure}"
            if name_of(expected.dtype) != name_of(result.dtype):
                return None, f"the dtype is {result.dtype}, not {expected.dtype}"
            expected = to_numpy(expected)
        else:
            # A 0-d operand is rounded to the dtype of the others, which may be unsigned: numpy works in int64.
            if failure is not None or len({name_of(t.dtype) for t in tensors} & {"uint8", "int32", "int64"} | {"uint8"}) > 1 and any(name_of(t.dtype) == "uint8" for t in tensors):
                raise Refused
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = np.asarray(TABLE[name][3](*self.promoted(name, before, result), *parameters))
            except (TypeError, ValueError):
                raise Refused from None
        after = [to_numpy(t) for t in tensors]
        if any(not np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(before, after)):
            return None, "an operand changed"
        adds = getattr(TABLE[name][3], "adds", False) or name in ("sum", "mean", "logsumexp", "prod", "cumprod")
        return result, compare(to_numpy(result), expected, before, name_of(result.dtype), adds)

    @staticmethod
    def promoted(name, values, result):
        """numpy's sums and products of bool are not the library's: they count as numbers where the result is one."""
        if name_of(result.dtype) == "bool" or name in ("logical_not",):
            return values
        return [v.astype(np.int64) if v.dtype == bool and not (name == "where" and i == 0) else v for i, v in enumerate(values)]

    def run(self, program):
        """(number of the step that fails, what is wrong), or None."""
        values = [make_input(*i) for i in program.inputs]
        for k, (name, operands, parameters) in enumerate(program.steps):
            try:
                result, wrong = self.step(name, [values[i] for i in operands], parameters)
            except Refused:
                return None
            if wrong:
                return k, wrong
            values.append(result)
        return None

    def grow(self, rng):
        """A random program, made step by step, and what is wrong with its last step (or None)."""
        shape = [rng.choice((0, 1, 1, 2, 3, 4, 5)) if rng.random() < 0.1 else rng.randrange(1, 5) for _ in range(rng.randrange(4))]
        inputs = []
        for _ in range(rng.randrange(1, 4)):
            s = [1 if rng.random() < 0.15 else n for n in shape[rng.randrange(len(shape) + 1) if rng.random() < 0.2 else 0:]]
            inputs.append((rng.choice(DTYPES), s, rng.choice(LAYOUTS), rng.randrange(10**6)))
        program = Program(inputs)
        values = [make_input(*i) for i in inputs]
        wanted = rng.randrange(2, 7)
        for _ in range(40):
            if len(program.steps) == wanted:
                break
            name, count, parameters, _reference = rng.choice(OPERATORS)
            operands = [rng.randrange(len(values)) if rng.random() < 0.5 else len(values) - 1 for _ in range(count)]
            tensors = [values[i] for i in operands]
            if any(t.numel() > 2000 for t in tensors):
                continue
            made = parameters(rng, *[np.empty(tuple(t.shape)) for t in tensors])
            if made is None:
                continue
            try:
                result, wrong = self.step(name, tensors, made)
            except Refused:
                continue
            program.steps.append((name, operands, made))
            if wrong:
                return program, wrong
            values.append(result)
        return program, None

    def shrink(self, program):
        """A smaller program that fails, too."""
        changed = True
        while changed:
            changed = False
            for smaller in smaller_programs(program):
                try:
                    failed = self.run(smaller)
                except Exception:  # no program any more
                    continue
                if failed:
                    smaller.steps = smaller.steps[:failed[0] + 1]
                    program, changed = smaller, True
                    break
        return program


def smaller_programs(program):
    n = len(program.inputs)
    for k in range(len(program.steps) - 1):  # leave a step out; its users get its first operand
        p, replacement = copy.deepcopy(program), program.steps[k][1][0]
        del p.steps[k]
        p.steps = [(name, [replacement if o == n + k else o - (o > n + k) for o in operands], parameters) for name, operands, parameters in p.steps]
        yield p
    for i in range(n):
        if n > 1 and not any(i in s[1] for s in program.steps):
            p = copy.deepcopy(program)
            del p.inputs[i]
            p.steps = [(name, [o - (o > i) for o in operands], parameters) for name, operands, parameters in p.steps]
            yield p
        dtype, shape, layout, seed = program.inputs[i]
        options = ([(dtype, shape, "plain", seed)] if layout != "plain" else []) + ([("float64", shape, layout, seed)] if dtype != "float64" else [])
        options += [(dtype, shape[:d] + [m] + shape[d + 1:], layout, seed) for d in range(len(shape)) for m in range(1, shape[d])]
        options += [(dtype, shape[1:], layout, seed)] if shape else []
        for option in options:
            p = copy.deepcopy(program)
            p.inputs[i] = option
            yield p


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", choices=("numpy", "torch"), default="numpy")
    parser.add_argument("--verbose", action="store_true", help="print how often every operator ran")
    args = parser.parse_args()
    torch = __import__("torch") if args.reference == "torch" else None
    runner, passed, ran = Runner(torch), 0, {}
    for k in range(args.count):
        program, wrong = runner.grow(random.Random(f"{args.seed} {k}"))
        for step in program.steps:
            ran[step[0]] = ran.get(step[0], 0) + 1
        if wrong is None:
            passed += 1
            continue
        small = runner.shrink(program)
        failed = runner.run(small)
        print(f"program {k}: step {failed[0]} of {small}: {failed[1]}" if failed else f"program {k}: {wrong}, but not again: {program}")
    if args.verbose:
        print(", ".join(f"{name} {ran.get(name, 0)}" for name in sorted(TABLE)))
    if args.count >= 400 and len(ran) < len(TABLE) - 2:
        print("never ran: " + ", ".join(sorted(set(TABLE) - set(ran))))
        passed = min(passed, args.count - 1)
    print(f"programs: {passed} of {args.count} pass")
    return 0 if passed == args.count else 1


if __name__ == "__main__":
    sys.exit(main())
