"""Checks of first and second derivatives against numerical ones, and of gradients with other layouts."""

import math

import samples as S
from context import MOST_ELEMENTS, Skip, describe, differentiable_paths, differs, flatten
from samples import Array, build, trt

STEP = 1e-4            # of numerical derivatives, for inputs of magnitude one
GRADIENT_RTOL = 1e-5


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
        return [trt.flat(o) for o in outputs]

    leaves = [build(a) for a in inputs]
    for t in leaves:
        t.requires_grad = True
    outputs = function(leaves)
    differentiable = [i for i, o in enumerate(outputs) if o.requires_grad]
    if not differentiable:
        return
    shapes = [o.shape for o in outputs]
    sizes = [o.numel() for o in outputs]
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
            if not used:
                continue
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
                products = [x * y for x, y in zip(trt.flat(gradient), u) if y != 0]
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


def as_parts(a):
    """A complex array as its real and imaginary parts."""
    return Array("float64", (*a.shape, 2), [x for z in a.data for x in (z.real, z.imag)])


def differentiable_parts(ctx):
    """As differentiable_paths; complex arguments by their parts, which `results_of` puts together again."""
    found = differentiable_paths(ctx)
    for path, a in ctx.sample.arrays():
        if a.dtype == "complex128":
            parts = build(as_parts(a))
            parts.requires_grad = True
            if any(isinstance(r, trt.Tensor) and r.requires_grad for r in flatten(ctx.call(given={path: trt.call("view_as_complex", parts)}))):
                found.append((path, as_parts(a)))
    return found


def results_of(ctx, paths):
    """The operator as a function of the tensors at `paths`; its results that are float64 tensors, and the parts of complex ones."""
    complex_paths = {path for path, a in ctx.sample.arrays() if a.dtype == "complex128"}

    def function(leaves):
        results = flatten(ctx.call(given={p: trt.call("view_as_complex", t) if p in complex_paths else t for p, t in zip(paths, leaves)}))
        results = [trt.call("view_as_real", r) if isinstance(r, trt.Tensor) and r.dtype.name == "complex128" else r for r in results]
        return [r for r in results if isinstance(r, trt.Tensor) and r.dtype.name == "float64"]

    return function


def check_gradient(ctx):
    if ctx.numel > MOST_ELEMENTS:
        return
    found = differentiable_parts(ctx)
    if not found or not ctx.values:
        return
    paths, inputs = [p for p, _ in found], [a for _, a in found]
    yield from check_derivative(ctx, "gradient", results_of(ctx, paths), inputs, 1 if ctx.quick else 2)


def check_second(ctx):
    if ctx.numel > MOST_ELEMENTS / 2:
        return
    found = differentiable_parts(ctx)
    if not found or not ctx.values:
        return
    paths, inputs = [p for p, _ in found], [a for _, a in found]
    function = results_of(ctx, paths)
    leaves = [build(a) for a in inputs]
    for t in leaves:
        t.requires_grad = True
    outputs = function(leaves)
    differentiable = [i for i, o in enumerate(outputs) if o.requires_grad and o.numel()]
    if not differentiable:
        return
    weights = [Array("float64", outputs[i].shape, [ctx.rng.uniform(0.5, 1.5) for _ in range(outputs[i].numel())]) for i in differentiable]

    known = {}

    def first_gradient(tensors):
        xs, vs = tensors[:len(inputs)], tensors[len(inputs):]
        for t in tensors:
            t.requires_grad = True
        ys = function(xs)
        grads = trt.grad([ys[i] for i in differentiable], xs, vs, create_graph=True, allow_unused=True)
        grads = [g for g in grads if g is not None]
        known.setdefault("constant", not any(g.requires_grad for g in grads))
        known.setdefault("zero", not any(any(trt.flat(g)) for g in grads))
        return grads

    yield from check_derivative(ctx, "second gradient", first_gradient, inputs + weights, 1)
    if known.get("constant"):
        # A gradient is linear in the incoming one, so it is a constant only where it is zero.
        yield "second gradient", None if known["zero"] else "the gradient has no history"


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
            given[path] = S.laid_out(a, layout)
            given[path].requires_grad = True
        outputs = [r for r in flatten(ctx.call(given=given)) if isinstance(r, trt.Tensor) and r.requires_grad]
        vs = [Array("float64", o.shape, [1 + (i % 7) / 8 for i in range(o.numel())]) for o in outputs]
        if grad_layout is None:
            tensors = [build(v) for v in vs]
        elif grad_layout == "expanded":
            tensors = [trt.call("as_strided", trt.from_flat([1.25], [1], "float64"), list(v.shape), [0] * len(v.shape), 0) for v in vs]
        elif grad_layout == "equal":
            tensors = [build(Array("float64", v.shape, [1.25] * len(v.data))) for v in vs]
        else:
            tensors = [S.laid_out(v, grad_layout) for v in vs]
        return trt.grad(outputs, [given[p] for p, _ in found], tensors, allow_unused=True)

    for check, layout, grad_layout, reference in (("gradient transposed", S.transposed, S.transposed, None), ("gradient sliced", S.sliced, S.sliced, None),
                                                  ("gradient expanded", None, "expanded", "equal")):
        try:
            expected = [None if g is None else S.to_array(g) for g in gradients(None, reference)]
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
