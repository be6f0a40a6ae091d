"""The checks of one sample call. Each is a generator of outcomes: (check, None) passed, (check, reason) failed, Skip(check, reason) skipped.

To add a check: write a function (operators, context) -> outcomes and put it into CHECKS. A check that fails for a reason that is known and
right gets a line in exceptions.py.
"""

import ctypes
import math
import random
import re
import zlib
from dataclasses import dataclass

import samples as S
from samples import Array, build, golden, trt

# Checks of values tell nothing about operators that promise no values.
UNDEFINED_VALUES = golden.UNDEFINED_VALUES
# Of the dtypes: relative to the elements, and relative to the largest element.
LOWER = {"float32": (2e-5, 2e-6), "float16": (4e-3, 2e-3), "bfloat16": (3e-2, 1.6e-2)}
SMALLEST = {"float32": 2e-45, "float16": 6e-8, "bfloat16": 1e-40}
LARGEST = {"float32": 3e38, "float16": 6e4, "bfloat16": 3e38}
STEP = 1e-4            # of numerical derivatives, for inputs of magnitude one
GRADIENT_RTOL = 1e-5
TILED_ELEMENTS = 150_000
MOST_ELEMENTS = 3000   # samples above take part in the cheap checks only


@dataclass
class Skip:
    check: str
    reason: str


@dataclass
class Takes:
    """The operator takes tensors of this dtype: for the table of coverage."""
    dtype: str


# --- calls ----------------------------------------------------------------------------------------------------------------

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
                args[name] = [given.get((name, i)) or build(x) for i, x in enumerate(v)]
            else:
                args[name] = given.get((name,)) or build(v)
        for name in self.written:
            # A leaf cannot be changed in place.
            if args[name].requires_grad:
                args[name] = trt.call("clone", args[name])
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
    function = trt.library()._dll.trt_tensor_version
    function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_uint32
    return function(t.handle)


def same_tensor(a, b):
    return isinstance(a, trt.Tensor) and a.handle == b.handle


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
    return differs_values(actual.flat(), expected.data, rtol, atol, what)


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
            e = Array(e.dtype, e.shape, a.flat() if isinstance(a, trt.Tensor) else [])
        reason = differs(a, e, rtol, atol, f"result {i}" if len(expected) > 1 else "the result")
        if reason:
            return reason
    return None


def rounding(a):
    """How much two ways of computing the same value may differ: (of the element, of the largest element)."""
    if isinstance(a, Array) and a.is_float:
        return {"float64": (1e-12, 1e-13), "float32": (2e-6, 1e-6), "float16": (2e-3, 1e-3), "bfloat16": (1.6e-2, 8e-3)}[a.dtype]
    return 0, 0


def loosest(arrays):
    return max((rounding(a) for a in arrays), default=(0, 0))


# --- gradients --------------------------------------------------------------------------------------------------------------

def perturbed(a, direction, step):
    return Array(a.dtype, a.shape, [x + step * u for x, u in zip(a.data, direction)])


def direction_for(a, rng):
    """Random directions whose elements are no larger than those of the input, so that small inputs are not stepped over."""
    return [rng.choice((-1, 1)) * rng.uniform(0.5, 1) * (abs(x) if 0 < abs(x) < 1 else 1) if math.isfinite(x) else 0.0 for x in a.data]


def numerical(f, inputs, index, direction):
    """Directional derivative of every element of f's results by extrapolated central differences; None where f is not smooth.

    f takes a list of arrays and returns lists of numbers. Steps of two sizes must agree, and the second differences must
    shrink with the step as they do where there is no kink.
    """
    def at(step):
        changed = list(inputs)
        changed[index] = perturbed(inputs[index], direction, step)
        return [x for values in f(changed) for x in values]

    h = STEP
    here, p1, m1, p2, m2 = at(0), at(h), at(-h), at(h / 4), at(-h / 4)
    out = []
    for y, a, b, c, d in zip(here, p1, m1, p2, m2):
        wide, narrow = (a - b) / (2 * h), (c - d) / (h / 2)
        slope = (16 * narrow - wide) / 15
        noise = 1e-12 * max(1.0, abs(a), abs(b)) / h
        bend_wide, bend_narrow = abs(a - 2 * y + b), abs(c - 2 * y + d)
        smooth = abs(wide - narrow) <= 1e-5 * max(abs(wide), abs(narrow)) + noise and bend_narrow <= 0.2 * bend_wide + 1e-13 * max(1.0, abs(y))
        out.append(slope if math.isfinite(slope) and smooth else None)
    return out, max((abs(x) for x in here if math.isfinite(x)), default=0.0)


def check_derivative(ctx, check, function, inputs, count):
    """Compares v^T J u of `function` (list of leaf tensors -> list of tensors with history) with numerical derivatives."""
    def values(arrays):
        outputs = function([build(a) for a in arrays])
        return [o.flat() for o in outputs]

    leaves = [build(a) for a in inputs]
    for t in leaves:
        t.requires_grad = True
    outputs = function(leaves)
    differentiable = [i for i, o in enumerate(outputs) if o.requires_grad]
    if not differentiable:
        return
    shapes = [o.shape for o in outputs]
    sizes = [o.numel for o in outputs]
    for index, a in enumerate(inputs):
        if not a.data:
            continue
        for _ in range(count):
            u = direction_for(a, ctx.rng)
            slopes, size = numerical(values, inputs, index, u)
            v = [0.0 if s is None else ctx.rng.uniform(0.5, 1.5) for s in slopes]
            at, vs, used = 0, [], 0
            for i, n in enumerate(sizes):
                if i in differentiable:
                    vs.append(trt.from_flat(v[at:at + n], shapes[i], "float64"))
                    used += n
                else:
                    v[at:at + n] = [0.0] * n
                at += n
            smooth = sum(x != 0 for x in v)
            if smooth == 0 or smooth < used / 4:
                yield Skip(check, "not smooth at the sample")
                continue
            gradient = trt.grad([outputs[i] for i in differentiable], [leaves[index]], vs, retain_graph=True, allow_unused=True)[0]
            terms = [x * s for x, s in zip(v, slopes) if x != 0]
            expected = math.fsum(terms)
            products = []
            if gradient is not None:
                if gradient.dtype.name != "float64" or gradient.shape != a.shape:
                    yield check, f"the gradient of input {index} is {gradient.dtype}{list(gradient.shape)}, the input float64{list(a.shape)}"
                    return
                # Where the function is not defined the numerical derivative was left out; its gradient is 0 * something.
                products = [x * y for x, y in zip(gradient.flat(), u) if y != 0]
            actual = math.fsum(products) if all(map(math.isfinite, products)) else math.nan
            scale = math.fsum(map(abs, terms)) + (math.fsum(map(abs, products)) if actual == actual else 0)
            noise = 1e-11 * max(1.0, size) * len(terms) ** 0.5 / STEP * 0.1
            if not abs(actual - expected) <= GRADIENT_RTOL * scale + noise:
                if actual != actual and smooth < used:
                    yield Skip(check, "not finite at the sample")
                    continue
                yield check, f"input {index} of {[list(x.shape) for x in inputs]}: {actual!r} in a random direction, numerically {expected!r}"
                return
            yield check, None


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


def results_of(ctx, paths):
    """The operator as a function of the tensors at `paths`; its results that are float64 tensors."""
    def function(leaves):
        results = flatten(ctx.call(given=dict(zip(paths, leaves))))
        return [r for r in results if isinstance(r, trt.Tensor) and r.dtype.name == "float64"]

    return function


def check_gradient(ctx):
    if ctx.numel > MOST_ELEMENTS:
        return
    found = differentiable_paths(ctx)
    if not found or not ctx.values:
        return
    paths, inputs = [p for p, _ in found], [a for _, a in found]
    yield from check_derivative(ctx, "gradient", results_of(ctx, paths), inputs, 1 if ctx.quick else 2)


def check_second(ctx):
    if ctx.numel > MOST_ELEMENTS / 4:
        return
    found = differentiable_paths(ctx)
    if not found or not ctx.values:
        return
    paths, inputs = [p for p, _ in found], [a for _, a in found]
    function = results_of(ctx, paths)
    leaves = [build(a) for a in inputs]
    for t in leaves:
        t.requires_grad = True
    outputs = function(leaves)
    differentiable = [i for i, o in enumerate(outputs) if o.requires_grad and o.numel]
    if not differentiable:
        return
    weights = [Array("float64", outputs[i].shape, [ctx.rng.uniform(0.5, 1.5) for _ in range(outputs[i].numel)]) for i in differentiable]

    def first_gradient(tensors):
        xs, vs = tensors[:len(inputs)], tensors[len(inputs):]
        for t in tensors:
            t.requires_grad = True
        ys = function(xs)
        grads = trt.grad([ys[i] for i in differentiable], xs, vs, create_graph=True, allow_unused=True)
        return [g for g in grads if g is not None]

    yield from check_derivative(ctx, "second gradient", first_gradient, inputs + weights, 1)


# --- metadata -----------------------------------------------------------------------------------------------------------------

def meta_tensor(a):
    return trt.call("empty", list(a.shape), dtype=trt.DTYPES[a.dtype], device=trt.Device("meta"))


def check_meta(ctx):
    given = {path: meta_tensor(a) for path, a in ctx.sample.arrays()}
    sample = ctx.sample
    if not given:
        if ctx.schema.arg("device") is None:
            return
        sample = S.Sample(ctx.op, {**sample.args, "device": trt.Device("meta")}, sample.origin)
    elif "device" in sample.args and ctx.schema.arg("device").type.kind == "Device":
        return
    expected = ctx.result()
    try:
        actual = flatten(ctx.call(given=given, sample=sample))
    except trt.Error as e:
        if e.code == "NOT_SUPPORTED" and "meta" in str(e).lower():
            if data_dependent(ctx):
                yield "meta", None
            else:
                yield "meta", describe(e)
            return
        yield "meta", describe(e)
        return
    if len(actual) != len(expected):
        yield "meta", f"{len(actual)} results, not {len(expected)}"
        return
    for i, (a, e) in enumerate(zip(actual, expected)):
        if not isinstance(a, trt.Tensor) or not isinstance(e, Array):
            yield "meta", "a number came from a tensor without data"
        elif a.device.type != trt.Device("meta").type:
            yield "meta", f"result {i} is on {a.device}"
        elif a.dtype.name != e.dtype or a.shape != e.shape:
            yield "meta", f"result {i} is {a.dtype}{list(a.shape)}, with data it is {e.dtype}{list(e.shape)}"
        else:
            yield "meta", None


def data_dependent(ctx):
    """Whether the result's form depends on data: a number as result, or declared so."""
    return any(r.type.kind != "Tensor" for r in ctx.schema.returns) or ctx.op in ctx.operators.no_meta


# --- layouts ------------------------------------------------------------------------------------------------------------------

def check_layouts(ctx):
    arrays = ctx.sample.arrays()
    if not arrays or ctx.numel > MOST_ELEMENTS:
        return
    expected = ctx.result()
    rtol, atol = loosest(expected)

    def compare(check, given, reference):
        try:
            reason = compare_all(ctx, ctx.call(given=given), reference, rtol, atol)
        except trt.Error as e:
            reason = describe(e)
        return check, reason and f"argument{'s' if len(given) > 1 else ''} {', '.join('.'.join(map(str, p)) for p in given)}: {reason}"

    for check, layout in (("transposed", S.transposed), ("sliced", S.sliced)):
        made = {path: layout(a) for path, a in arrays}
        made = {path: t for path, t in made.items() if t is not None}
        for path, t in made.items() if len(made) > 1 and not ctx.quick else ():
            yield compare(check, {path: t}, expected)
        if made:
            yield compare(check, {path: layout(a) for path, a in arrays if path in made}, expected)
    for path, a in arrays:
        if path[0] in ctx.written:
            continue
        found = S.expandable(a)
        if not found:
            continue
        equal, d = found
        try:
            reference = [S.to_array(x) if isinstance(x, trt.Tensor) else x for x in flatten(ctx.call(given={path: build(equal)}))]
        except trt.Error:
            continue  # such values are not allowed here
        yield compare("expanded", {path: S.expanded(equal, d)}, reference)


def check_gradient_layouts(ctx):
    """Gradients with strided inputs and a strided or expanded incoming gradient are those of contiguous ones."""
    if ctx.numel > MOST_ELEMENTS or not ctx.values:
        return
    found = differentiable_paths(ctx)
    if not found:
        return

    def gradients(layout, grad_layout):
        given = {}
        for path, a in found:
            given[path] = (layout(a) if layout else None) or build(a)
            given[path].requires_grad = True
        outputs = [r for r in flatten(ctx.call(given=given)) if isinstance(r, trt.Tensor) and r.requires_grad]
        vs = [Array("float64", o.shape, [1 + (i % 7) / 8 for i in range(o.numel)]) for o in outputs]
        if grad_layout is None:
            tensors = [build(v) for v in vs]
        elif grad_layout == "expanded":
            tensors = [trt.call("as_strided", trt.from_flat([1.25], [1], "float64"), list(v.shape), [0] * len(v.shape), 0) for v in vs]
        elif grad_layout == "equal":
            tensors = [build(Array("float64", v.shape, [1.25] * len(v.data))) for v in vs]
        else:
            tensors = [grad_layout(v) or build(v) for v in vs]
        return trt.grad(outputs, [given[p] for p, _ in found], tensors, allow_unused=True)

    for check, layout, grad_layout, reference in (("gradient transposed", S.transposed, S.transposed, None), ("gradient sliced", S.sliced, S.sliced, None),
                                                  ("gradient expanded", None, "expanded", "equal")):
        try:
            expected = [g and S.to_array(g) for g in gradients(None, reference)]
            actual = gradients(layout, grad_layout)
            reason = None
            for i, (a, e) in enumerate(zip(actual, expected)):
                if (a is None) != (e is None):
                    reason = f"gradient {i} is {'missing' if a is None else 'not missing'}"
                elif a is not None:
                    reason = reason or differs(a, e, 1e-11, 1e-12, f"gradient {i}")
        except trt.Error as e:
            reason = describe(e)
        yield check, reason


# --- variants -----------------------------------------------------------------------------------------------------------------

def check_out(ctx):
    name = ctx.variant(f"{ctx.name}.{ctx.overload + '_' if ctx.overload else ''}out")
    if name is None or ctx.written:
        return
    schema = ctx.operators.schema(name)
    outs = [a.name for a in schema.args if a.type.written]
    expected = ctx.result()
    if any(not isinstance(e, Array) for e in expected) or len(outs) != len(expected):
        yield "out", f"{len(outs)} out arguments, {len(expected)} results"
        return

    def empty(shape, dtype):
        n = math.prod(shape)
        return Array(dtype, tuple(shape), [1] * n if dtype != "bool" else [True] * n)

    def attempt(check, make, **more):
        tensors = {o: make(e) for o, e in zip(outs, expected)}
        before = [version(t) for t in tensors.values()]
        try:
            returned = flatten(ctx.call(op=name, extra=tensors, **more))
        except trt.Error as e:
            return check, describe(e)
        reason = compare_all(ctx, list(tensors.values()), expected, 1e-14, 0)
        if not reason and not all(same_tensor(r, t) for r, t in zip(returned, tensors.values())):
            reason = "the returned tensor is not the out tensor"
        if not reason and any(version(t) <= b for t, b in zip(tensors.values(), before)):
            reason = "the version counter did not rise"
        return check, reason

    yield attempt("out", lambda e: build(empty(e.shape, e.dtype)))
    yield attempt("out strided", lambda e: S.sliced(empty(e.shape, e.dtype)) or build(empty(e.shape, e.dtype)))
    yield attempt("out of another shape", lambda e: build(empty((0,), e.dtype)))
    # A bool tensor takes no numbers, an integer tensor no floating-point ones.
    if any(e.is_float for e in expected):
        given = {o: build(empty(e.shape, "int64" if e.is_float else e.dtype)) for o, e in zip(outs, expected)}
        try:
            ctx.call(op=name, extra=given)
            yield "out of another dtype", "an integer out tensor took floating-point results"
        except trt.Error as e:
            yield "out of another dtype", None if e.code in ("INVALID_ARGUMENT", "NOT_SUPPORTED") else describe(e)
    # A result in an out tensor has no history, so asking for one must fail.
    for path, a in differentiable_paths(ctx)[:1]:
        t = build(a)
        t.requires_grad = True
        try:
            ctx.call(op=name, given={path: t}, extra={o: build(empty(e.shape, e.dtype)) for o, e in zip(outs, expected)})
            yield "out with a gradient", "an argument that requires a gradient was accepted, and the gradient lost"
        except trt.Error as e:
            yield "out with a gradient", None if e.code == "FAILED_PRECONDITION" else describe(e)
    # The out tensor may be an input.
    if len(expected) == 1:
        for path, a in ctx.sample.arrays():
            if len(path) == 1 and a.dtype == expected[0].dtype and a.shape == expected[0].shape:
                t = build(a)
                yield attempt("out is an input", lambda e: t, given={path: t})
                break


def check_inplace(ctx):
    name = ctx.variant(f"{ctx.name}_{'.' + ctx.overload if ctx.overload else ''}")
    if name is None or ctx.written:
        return
    self_name = ctx.schema.args[0].name
    a = ctx.sample.args.get(self_name)
    expected = ctx.result()
    if not isinstance(a, Array) or len(expected) != 1 or not isinstance(expected[0], Array):
        return
    e = expected[0]
    t = build(a)
    before = version(t)
    if a.shape != e.shape:
        try:
            ctx.call(op=name, given={(self_name,): t})
            yield "in place", f"a result of shape {list(e.shape)} went into a tensor of shape {list(a.shape)}"
        except trt.Error as error:
            yield "in place", None if error.code == "INVALID_ARGUMENT" else describe(error)
        return
    if a.dtype != e.dtype:
        return
    for check, make in (("in place", build), ("in place strided", lambda x: S.sliced(x) or build(x))):
        t = make(a)
        before = version(t)
        try:
            returned = ctx.call(op=name, given={(self_name,): t})
            reason = differs(t, e, 1e-14, 0, "the tensor") if ctx.values else None
            if not reason and version(t) <= before:
                reason = "the version counter did not rise"
            if not reason and not same_tensor(returned, t):
                reason = "the returned tensor is not the argument"
        except trt.Error as error:
            reason = describe(error)
        yield check, reason
    if a.dtype == "float64" and ctx.numel <= MOST_ELEMENTS:
        yield from _inplace_gradient(ctx, name, self_name, a)


def _inplace_gradient(ctx, name, self_name, a):
    def gradients(in_place):
        leaves = {}
        for path, x in found:
            leaves[path] = build(x)
            leaves[path].requires_grad = True
        given = dict(leaves)
        if in_place:
            given[(self_name,)] = trt.call("clone", leaves[(self_name,)]) if (self_name,) in leaves else build(a)
        y = ctx.call(op=name if in_place else None, given=given)
        if not y.requires_grad:
            return None
        v = trt.from_flat([1 + (i % 7) / 8 for i in range(y.numel)], y.shape, "float64")
        return [g and g.flat() for g in trt.grad([y], list(leaves.values()), [v], allow_unused=True)]

    found = differentiable_paths(ctx)
    if not found:
        return
    try:
        expected, actual = gradients(False), gradients(True)
    except trt.Error as error:
        yield "in place gradient", describe(error)
        return
    reason = None
    if actual is None:
        reason = "the result does not require a gradient"
    else:
        for i, (x, y) in enumerate(zip(actual, expected)):
            if x is None and y is not None and any(y):
                reason = f"gradient {i} is missing"
            elif x is not None:
                reason = reason or differs_values(x, y or [0.0] * len(x), 1e-11, 1e-12, f"gradient {i}")
    yield "in place gradient", reason


# --- threads and dtypes -----------------------------------------------------------------------------------------------------

def raw(t):
    buffer = ctypes.create_string_buffer(max(1, t.numel * t.dtype.size))
    trt.library().tensor_copy_to_host(t.handle, buffer, t.dtype, t.numel)
    return buffer.raw


def _tilings(ctx):
    """The sample's tensors made larger, {path: tensor}: all along the first dimension for images, else along all dimensions."""
    arrays = [(p, a) for p, a in ctx.sample.arrays() if a.shape]
    if not arrays or any(not a.data for _, a in arrays):
        return
    (_, first), most = arrays[0], max(len(a.data) for _, a in arrays)
    rank = max(len(a.shape) for _, a in arrays)
    if rank > 3:
        r = max(2, TILED_ELEMENTS // most)
        same = {p: (r,) + (1,) * (len(a.shape) - 1) for p, a in arrays if len(a.shape) == rank and a.shape[0] == first.shape[0]}
        yield same
        yield {arrays[0][0]: (r,) + (1,) * (len(first.shape) - 1)}
    else:
        r = min(200, max(2, math.ceil((TILED_ELEMENTS / most) ** (1 / rank))))
        yield {p: tuple(r if n > 1 else 1 for n in a.shape) for p, a in arrays}
        r = max(2, TILED_ELEMENTS // most)
        yield {p: (r,) + (1,) * (len(a.shape) - 1) for p, a in arrays if a.shape[0] == first.shape[0] and len(a.shape) == len(first.shape)}


def _result_elements(ctx, given):
    """How large the result will be, found on Meta; 0 where that cannot be known."""
    try:
        meta = {path: trt.call("empty", list(t.shape), dtype=t.dtype, device=trt.Device("meta")) for path, t in given.items()}
        return sum(t.numel for t in flatten(ctx.call(given=meta)) if isinstance(t, trt.Tensor))
    except trt.Error:
        return 0


def check_threads(ctx):
    if not ctx.values:
        return
    for factors in _tilings(ctx):
        given = {}
        for path, a in ctx.sample.arrays():
            given[path] = trt.call("contiguous", trt.call("repeat", build(a), list(factors[path]))) if path in factors else build(a)

        if _result_elements(ctx, given) > 20 * TILED_ELEMENTS:
            continue

        def run(threads):
            trt.set_num_threads(threads)
            try:
                fresh = {}
                for path, t in given.items():
                    fresh[path] = trt.call("clone", t).detach()
                    if path in wanted:
                        fresh[path].requires_grad = True
                results = flatten(ctx.call(given=fresh))
                bits = [raw(r) if isinstance(r, trt.Tensor) else r for r in results]
                outputs = [r for r in results if isinstance(r, trt.Tensor) and r.requires_grad]
                if outputs and wanted:
                    vs = [trt.call("add", trt.call("mul", o.detach(), 0.25), 1.0) for o in outputs]
                    bits += [g and raw(g) for g in trt.grad(outputs, [fresh[p] for p in wanted], vs, allow_unused=True)]
                return bits
            finally:
                trt.set_num_threads(1)

        wanted = []
        try:
            run(1)
        except trt.Error:
            continue  # the sizes do not fit together in this way
        wanted = [p for p, _ in differentiable_paths(ctx)]
        one, two = run(1), run(2)
        shapes = [list(t.shape) for t in given.values()]
        bad = [i for i, (x, y) in enumerate(zip(one, two)) if x != y]
        yield "threads", f"result {bad[0]} (gradients last) differs between 1 and 2 threads, shapes {shapes}" if bad else None
        return


def check_dtypes(ctx):
    found = float_paths(ctx)
    if not found or not ctx.values or ctx.numel > MOST_ELEMENTS:
        return
    if ctx.is_random():
        yield Skip("dtypes", "other dtypes draw other numbers")
        return
    for dtype in ("float32", "float16", "bfloat16"):
        rounded = {}
        try:
            for path, a in found:
                t = trt.from_flat(a.data, a.shape, dtype)
                rounded[path] = Array(dtype, a.shape, t.flat())
        except (OverflowError, trt.Error):
            yield Skip("dtype " + dtype, "values out of range")
            continue
        try:
            actual = flatten(ctx.call(sample=ctx.sample.replaced(rounded)))
        except trt.Error as e:
            if dtype != "float32" and e.code in ("INVALID_ARGUMENT", "NOT_SUPPORTED"):
                yield Skip("dtype " + dtype, "not accepted")
            else:
                yield "dtype " + dtype, describe(e)
            continue
        try:
            wide = ctx.call(sample=ctx.sample.replaced({p: Array("float64", a.shape, a.data) for p, a in rounded.items()}))
        except trt.Error as e:
            yield Skip("dtype " + dtype, "rounded values are not allowed")
            continue
        expected = [S.to_array(x) if isinstance(x, trt.Tensor) else x for x in flatten(wide)]
        reason = _lower_reason(actual, expected, dtype, 0)
        if reason:
            # Terms may cancel: what counts then is the size of the terms.
            try:
                terms = flatten(ctx.call(sample=ctx.sample.replaced({p: Array("float64", a.shape, list(map(abs, a.data))) for p, a in rounded.items()})))
                size = max((abs(x) for t in terms if isinstance(t, trt.Tensor) for x in t.flat() if math.isfinite(x)), default=0)
                reason = _lower_reason(actual, expected, dtype, min(size, 1e4 * max((abs(x) for e in expected if isinstance(e, Array) for x in e.data), default=0)))
            except trt.Error:
                pass
        yield "dtype " + dtype, reason


def _lower_reason(actual, expected, dtype, size):
    if len(actual) != len(expected):
        return f"{len(actual)} results, not {len(expected)}"
    rtol, atol = LOWER[dtype]
    for a, e in zip(actual, expected):
        if not isinstance(e, Array):
            continue
        if not isinstance(a, trt.Tensor) or a.shape != e.shape:
            return "the results have another form than in float64"
        if not e.is_float:
            if a.dtype.name != e.dtype:
                return f"the result is {a.dtype}, not {e.dtype}"
            continue  # positions and comparisons may change with rounding; golden cases check them
        if a.dtype.name not in (dtype, e.dtype):
            return f"the result is {a.dtype}, not {dtype}"
        scale = max((abs(x) for x in e.data if math.isfinite(x)), default=0)
        for i, (x, y) in enumerate(zip(a.flat(), e.data)):
            if x == y or (x != x and y != y) or abs(y) > LARGEST[dtype]:
                continue
            if not abs(x - y) <= rtol * abs(y) + atol * max(scale, size) + SMALLEST[dtype]:
                return f"the result[{i}] is {x!r}, in float64 {y!r}"
    return None


def check_kinds(ctx):
    """Which dtypes the operator takes: no failure, only for the table of coverage."""
    arrays = ctx.sample.arrays()
    for dtype in dict.fromkeys(a.dtype for _, a in arrays):
        yield Takes(dtype)
    found = float_paths(ctx)
    for dtype in ("int64", "bool") if found else ():
        changed = {p: Array(dtype, a.shape, [bool(x) if dtype == "bool" else int(x) if math.isfinite(x) else 0 for x in a.data]) for p, a in found}
        try:
            ctx.call(sample=ctx.sample.replaced(changed))
            yield Takes(dtype)
        except trt.Error as e:
            if e.code == "INTERNAL":
                yield f"dtype {dtype}", describe(e)


CHECKS = {"meta": check_meta, "layouts": check_layouts, "out": check_out, "in place": check_inplace, "gradient": check_gradient, "second gradient": check_second,
          "gradient layouts": check_gradient_layouts, "dtypes": check_dtypes, "threads": check_threads, "kinds": check_kinds}
