"""Dtypes by name, their limits, and how they combine."""

from trt import _C

globals().update(_C._dtypes)

# bits of the mantissa, smallest and largest exponent
_FLOATS = {"float16": (10, -14, 15), "bfloat16": (7, -126, 127), "float32": (23, -126, 127), "float64": (52, -1022, 1023)}


class finfo:
    """Limits of a floating-point dtype (the default one, if none is given)."""

    def __init__(self, dtype=None):
        dtype = dtype or _C.trt_get_default_dtype()
        if dtype.name not in _FLOATS:
            raise TypeError(f"finfo needs a floating-point dtype, not {dtype}")
        mantissa, low, high = _FLOATS[dtype.name]
        self.dtype = dtype.name
        self.bits = 8 * dtype.itemsize
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**high
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**low
        self.resolution = 10.0 ** -(mantissa * 3 // 10)

    def __repr__(self):
        return f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, dtype):
        if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
            raise TypeError(f"iinfo needs an integer dtype, not {dtype}")
        self.dtype = dtype.name
        self.bits = 8 * dtype.itemsize
        self.max = 2 ** (self.bits - dtype.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if dtype.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def get_default_dtype():
    """The thread's default floating-point dtype."""
    return _C.trt_get_default_dtype()


def set_default_dtype(dtype):
    """Sets the thread's default floating-point dtype: float32, float64, float16 or bfloat16."""
    _C.trt_set_default_dtype(dtype)


def result_type(a, b):
    """The dtype of an operation on the two (tensors or numbers)."""
    def shape_only(x):
        return x.to("meta") if isinstance(x, _C.TensorBase) else x
    a, b = shape_only(a), shape_only(b)
    if not isinstance(a, _C.TensorBase) and not isinstance(b, _C.TensorBase):
        a = _C._from_data(a, None)
    return _C._operators["add"](a, b).dtype if isinstance(a, _C.TensorBase) else _C._operators["add"](b, a).dtype


def promote_types(a, b):
    """The smallest dtype that holds both."""
    for d in (a, b):
        if not isinstance(d, _C.dtype):
            raise TypeError(f"promote_types: two dtypes are needed, got {a!r} and {b!r}")
    empty = _C._operators["empty"]
    return result_type(empty((0,), dtype=a, device="meta"), empty((0,), dtype=b, device="meta"))


def can_cast(from_, to):
    """Whether PyTorch's rules let an operation with a result of the first dtype write into the second."""
    def rank(d):
        return 3 if d.is_complex else 2 if d.is_floating_point else 0 if d.name == "bool" else 1
    return rank(from_) <= rank(to)
