"""Comparison of tensors in tests."""

from trt import _C

_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5),
               "complex128": (1e-7, 1e-7)}


def make_tensor(*shape, dtype, low=-9, high=9, requires_grad=False):
    """A tensor of random elements between `low` and `high`."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if dtype.is_floating_point:
        t = _C._operators["empty"](shape, dtype=dtype).uniform_(low, high)
    elif dtype.is_complex:
        part = _C._dtypes["float32" if dtype.name == "complex64" else "float64"]
        t = _C._operators["view_as_complex"](_C._operators["empty"]((*shape, 2), dtype=part).uniform_(low, high))
    elif dtype.name == "bool":
        t = _C._operators["randint"](0, 2, shape).to(dtype)
    else:
        t = _C._operators["randint"](max(low, 0) if not dtype.is_signed else low, high, shape, dtype=dtype)
    return t.requires_grad_() if requires_grad else t


def assert_close(actual, expected, *, rtol=None, atol=None, equal_nan=False, check_dtype=True, check_device=True, msg=None):
    """Raises AssertionError where two tensors (or numbers, or sequences or dicts of them) differ by more than atol + rtol * abs(expected); the tolerances
    follow from the dtype where none is given."""
    if isinstance(expected, dict):
        if set(actual) != set(expected):
            raise AssertionError(msg or f"the keys differ: {sorted(actual)} and {sorted(expected)}")
        for key in expected:
            assert_close(actual[key], expected[key], rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    if isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(msg or f"the lengths differ: {len(actual)} and {len(expected)}")
        for a, e in zip(actual, expected):
            assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    a, e = (x if isinstance(x, _C.TensorBase) else _C._from_data(x, None) for x in (actual, expected))
    if a.shape != e.shape:
        raise AssertionError(msg or f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}.")
    if check_dtype and a.dtype != e.dtype:
        raise AssertionError(msg or f"The values for attribute 'dtype' do not match: {a.dtype} != {e.dtype}.")
    defaults = max((_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, e)))
    rtol, atol = defaults[0] if rtol is None else rtol, defaults[1] if atol is None else atol
    wide = _C._dtypes["complex128" if a.dtype.is_complex or e.dtype.is_complex else "float64"]
    a, e = a.detach().to(wide), e.detach().to(wide)
    close = _C._operators["isclose"](a, e, rtol, atol, equal_nan)
    if bool(close.all()):
        return
    wrong = int((~close).sum())
    raise AssertionError(msg or f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {a.numel()}\nGreatest absolute difference: {float((a - e).abs().max())} "
                                f"(up to {atol} allowed)\nactual: {a}\nexpected: {e}")
