"""The checks of one sample call. Each is a generator of outcomes: (check, None) passed, (check, reason) failed,
Skip(check, reason) skipped.

To add a check: write a function context -> outcomes and put it into CHECKS. A check that fails for a reason that is known
and right gets a line in exceptions.py.
"""

import ctypes
import math

import samples as S
from context import (MOST_ELEMENTS, Skip, Takes, compare_all, describe, differentiable_paths, differs, differs_values, flatten, float_paths, loosest,
                     same_tensor, version)
from gradients import check_gradient, check_gradient_layouts, check_second
from samples import Array, build, trt

# Of the lower dtypes: relative to the element, and to the largest element.
LOWER = {"float32": (2e-5, 2e-6), "float16": (4e-3, 2e-3), "bfloat16": (3e-2, 1.6e-2)}
SMALLEST = {"float32": 2e-45, "float16": 6e-8, "bfloat16": 1e-40}
LARGEST = {"float32": 3e38, "float16": 6e4, "bfloat16": 3e38}
TILED_ELEMENTS = 150_000


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
    yield attempt("out strided", lambda e: S.laid_out(empty(e.shape, e.dtype), S.sliced))
    yield attempt("out of another shape", lambda e: build(empty((0,), e.dtype)))
    # A bool tensor takes no numbers, an integer tensor no floating-point ones. That of a factory says which numbers it wants.
    if {"dtype", "device"} & {a.name for a in ctx.schema.args} - {a.name for a in schema.args}:
        given = {o: build(empty(e.shape, "float64")) for o, e in zip(outs, expected)}
        try:
            ctx.call(op=name, extra=given)
            yield "out of another dtype", next((f"the out tensor became {t.dtype}" for t in given.values() if str(t.dtype).split(".")[-1] != "float64"), None)
        except trt.Error as e:
            yield "out of another dtype", describe(e)
    elif any(e.is_float for e in expected):
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


def views_its_argument(ctx, self_name, a):
    """Whether the result lies in the argument's memory: in place such an operator gives the tensor itself another geometry."""
    t = build(a)
    try:
        r = ctx.call(given={(self_name,): t})
    except trt.Error:
        return False
    return t.numel() > 0 and t.data_ptr() <= r.data_ptr() < t.data_ptr() + t.numel() * t.dtype.itemsize


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
    geometry = views_its_argument(ctx, self_name, a)
    if a.shape != e.shape and not geometry:
        try:
            ctx.call(op=name, given={(self_name,): t})
            yield "in place", f"a result of shape {list(e.shape)} went into a tensor of shape {list(a.shape)}"
        except trt.Error as error:
            yield "in place", None if error.code == "INVALID_ARGUMENT" else describe(error)
        return
    if a.dtype != e.dtype:
        if e.dtype != "bool":
            return
        # Comparisons in place: 0 and 1 in the tensor's own dtype.
        e = Array(a.dtype, e.shape, [float(x) if a.is_float else int(x) for x in e.data])
    for check, make in (("in place", build), ("in place strided", lambda x: S.laid_out(x, S.sliced))):
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
        v = trt.from_flat([1 + (i % 7) / 8 for i in range(y.numel())], y.shape, "float64")
        return [None if g is None else trt.flat(g) for g in trt.grad([y], list(leaves.values()), [v], allow_unused=True)]

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
    t = t.detach().contiguous()
    return ctypes.string_at(t.data_ptr(), t.numel() * t.dtype.itemsize) if t.numel() else b""


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
        return sum(t.numel() for t in flatten(ctx.call(given=meta)) if isinstance(t, trt.Tensor))
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
                    bits += [None if g is None else raw(g) for g in trt.grad(outputs, [fresh[p] for p in wanted], vs, allow_unused=True)]
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
                rounded[path] = Array(dtype, a.shape, trt.flat(t))
        except (OverflowError, trt.Error):
            yield Skip("dtype " + dtype, "values out of range")
            continue
        try:
            actual = [real_parts(x) for x in flatten(ctx.call(sample=ctx.sample.replaced(rounded)))]
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
        expected = [S.to_array(real_parts(x)) if isinstance(x, trt.Tensor) else x for x in flatten(wide)]
        mixed = any(not a.is_float for _, a in ctx.sample.arrays())
        reason = _lower_reason(actual, expected, dtype, mixed, 0)
        if reason:
            # Terms may cancel: what counts then is the size of the terms.
            try:
                terms = flatten(ctx.call(sample=ctx.sample.replaced({p: Array("float64", a.shape, list(map(abs, a.data))) for p, a in rounded.items()})))
                size = max((abs(x) for t in map(real_parts, terms) if isinstance(t, trt.Tensor) for x in trt.flat(t) if math.isfinite(x)), default=0)
                reason = _lower_reason(actual, expected, dtype, mixed, min(size, 1e4 * max((abs(x) for e in expected if isinstance(e, Array) for x in e.data), default=0)))
            except trt.Error:
                pass
        yield "dtype " + dtype, reason


def real_parts(x):
    """A complex tensor as its parts, anything else as it is."""
    return trt.call("view_as_real", x) if isinstance(x, trt.Tensor) and x.dtype.is_complex else x


def _lower_reason(actual, expected, dtype, mixed, size):
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
        # With integer tensors a part of the result may be float32, which promotes the rest.
        if a.dtype.name not in (dtype, e.dtype) and not (mixed and a.dtype.name == "float32"):
            return f"the result is {a.dtype}, not {dtype}"
        scale = max((abs(x) for x in e.data if math.isfinite(x)), default=0)
        for i, (x, y) in enumerate(zip(trt.flat(a), e.data)):
            if x == y or (x != x and y != y) or abs(y) > LARGEST[dtype]:
                continue
            if not abs(x - y) <= rtol * abs(y) + atol * max(scale, size) + SMALLEST[dtype]:
                return f"the result[{i}] is {x!r}, in float64 {y!r}"
    return None


def any_bytes(a):
    """A bool tensor in whose memory other bytes than 1 stand for true."""
    t = build(a)
    ctypes.memmove(t.data_ptr(), bytes((2, 255, 1, 128, 4, 3)[i % 6] if v else 0 for i, v in enumerate(a.data)), len(a.data))
    return t


def check_bool_bytes(ctx):
    """Every byte but 0 is true: also of tensors that are bool only here."""
    sample = ctx.sample
    if not any(a.dtype == "bool" for _, a in sample.arrays()):
        sample = sample.replaced({p: Array("bool", a.shape, [bool(x) for x in a.data]) for p, a in float_paths(ctx)})
    found = [(p, a) for p, a in sample.arrays() if a.dtype == "bool" and any(a.data)]
    if not found:
        return
    try:
        expected = [S.to_array(x) if isinstance(x, trt.Tensor) else x for x in flatten(ctx.call(sample=sample))]
    except trt.Error:
        return  # not for bool
    try:
        reason = compare_all(ctx, ctx.call(sample=sample, given={p: any_bytes(a) for p, a in found}), expected, 0, 0)
    except trt.Error as e:
        reason = describe(e)
    yield "bool bytes", reason


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
          "gradient layouts": check_gradient_layouts, "dtypes": check_dtypes, "threads": check_threads,
          "bool bytes": check_bool_bytes, "kinds": check_kinds}
