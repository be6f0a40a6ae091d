"""A small ctypes binding over the C API, for the test drivers. Needs nothing outside Python 3.8's standard library.

Loads the library named by TRT_LIBRARY, else build/src/libtensorrt.so of this tree. numpy is used only by from_numpy and
Tensor.numpy. Thread class: as the C API's; a Tensor owns one handle and releases it when collected.

  import trt_shim as trt
  x = trt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
  y = trt.call("sum", trt.call("mul", x, x))
  y.backward()
  print(x.grad.tolist())
"""

import ctypes
import os
import struct
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LIBRARY_PATH = os.environ.get("TRT_LIBRARY") or os.path.join(_ROOT, "build", "src", "libtensorrt.so")


class Error(RuntimeError):
    """A status that is not success: its code name, operator and message."""

    def __init__(self, code, op, message):
        super().__init__(message)
        self.code, self.op = code, op


class DType(int):
    """An element type: its number in the C API, with a name, a size, and a struct format (None where Python has none)."""

    def __new__(cls, number, name, size, format):
        self = super().__new__(cls, number)
        self.name, self.size, self.format = name, size, format
        return self

    def __repr__(self):
        return self.name

    @property
    def is_floating_point(self):
        return self.name.startswith(("float", "bfloat"))


_DTYPES = [
    DType(0, "uint8", 1, "B"), DType(1, "int8", 1, "b"), DType(2, "int16", 2, "h"), DType(3, "int32", 4, "i"), DType(4, "int64", 8, "q"),
    DType(5, "float16", 2, "e"), DType(6, "float32", 4, "f"), DType(7, "float64", 8, "d"), DType(11, "bool", 1, "?"), DType(15, "bfloat16", 2, None),
]
DTYPES = {d.name: d for d in _DTYPES}
_DTYPE_BY_NUMBER = {int(d): d for d in _DTYPES}


class _CDevice(ctypes.Structure):
    _fields_ = [("type", c_int32), ("index", c_int32)]


class Device:
    """A device by name: Device("cpu"), Device("meta"), Device("cuda:1")."""

    _TYPES = {"cpu": 0, "cuda": 1, "meta": 2, "privateuse1": 3, "privateuse2": 4, "privateuse3": 5}

    def __init__(self, name):
        kind, _, index = str(name).partition(":")
        if kind not in self._TYPES:
            raise ValueError(f"unknown device {name!r}")
        self.type, self.index = self._TYPES[kind], int(index or 0)

    def __str__(self):
        kind = next(k for k, v in self._TYPES.items() if v == self.type)
        return kind if self.type in (0, 2) else f"{kind}:{self.index}"

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))


class _CScalarValue(ctypes.Union):
    _fields_ = [("i", c_int64), ("d", c_double)]


class _CScalar(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("value", _CScalarValue)]


class _CValueUnion(ctypes.Union):
    _fields_ = [("i", c_int64), ("d", c_double), ("device", _CDevice), ("tensor", c_void_p), ("generator", c_void_p), ("string", c_char_p),
                ("tensors", POINTER(c_void_p)), ("ints", POINTER(c_int64)), ("doubles", POINTER(c_double))]


class _CValue(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("count", c_size_t), ("v", _CValueUnion)]


(_NONE, _TENSOR, _BOOL, _INT, _DOUBLE, _STRING, _DTYPE, _DEVICE, _GENERATOR, _TENSOR_LIST, _INT_LIST, _DOUBLE_LIST) = range(12)
_DESTROY = ctypes.CFUNCTYPE(None, c_void_p)

# name -> (result, arguments). A result None means void, "status" a trt_status*.
_SIGNATURES = {
    "trt_status_code": (c_int, [c_void_p]),
    "trt_status_message": (c_char_p, [c_void_p]),
    "trt_status_op": (c_char_p, [c_void_p]),
    "trt_status_release": (None, [c_void_p]),
    "trt_code_name": (c_char_p, [c_int]),
    "trt_version_string": (c_char_p, []),
    "trt_build_info": ("status", [POINTER(c_void_p)]),
    "trt_string_release": (None, [c_void_p]),
    "trt_get_num_threads": (c_int32, []),
    "trt_set_num_threads": ("status", [c_int32]),
    "trt_manual_seed": ("status", [c_uint64]),
    "trt_tensor_retain": (c_void_p, [c_void_p]),
    "trt_tensor_release": (None, [c_void_p]),
    "trt_tensor_from_data": ("status", [c_void_p, POINTER(c_int64), c_size_t, c_int, POINTER(c_void_p)]),
    "trt_tensor_from_blob": ("status", [c_void_p, POINTER(c_int64), POINTER(c_int64), c_size_t, c_int, _CDevice, _DESTROY, c_void_p, POINTER(c_void_p)]),
    "trt_tensor_ndim": (c_size_t, [c_void_p]),
    "trt_tensor_sizes": (POINTER(c_int64), [c_void_p]),
    "trt_tensor_strides": (POINTER(c_int64), [c_void_p]),
    "trt_tensor_numel": (c_int64, [c_void_p]),
    "trt_tensor_dtype": (c_int, [c_void_p]),
    "trt_tensor_device": (_CDevice, [c_void_p]),
    "trt_tensor_is_contiguous": (c_bool, [c_void_p]),
    "trt_tensor_item": ("status", [c_void_p, POINTER(_CScalar)]),
    "trt_tensor_copy_to_host": ("status", [c_void_p, c_void_p, c_int, c_int64]),
    "trt_tensor_to_string": ("status", [c_void_p, POINTER(c_void_p)]),
    "trt_tensor_requires_grad": (c_bool, [c_void_p]),
    "trt_tensor_set_requires_grad": ("status", [c_void_p, c_bool]),
    "trt_tensor_grad": ("status", [c_void_p, POINTER(c_void_p)]),
    "trt_tensor_set_grad": ("status", [c_void_p, c_void_p]),
    "trt_tensor_detach": ("status", [c_void_p, POINTER(c_void_p)]),
    "trt_tensor_backward": ("status", [c_void_p]),
    "trt_backward": ("status", [POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, c_bool, c_bool]),
    "trt_grad": ("status", [POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, c_bool, c_bool, c_bool, POINTER(c_void_p)]),
    "trt_set_grad_mode": (c_bool, [c_bool]),
    "trt_op_call": ("status", [c_char_p, POINTER(_CValue), POINTER(c_char_p), c_size_t, POINTER(POINTER(_CValue)), POINTER(c_size_t)]),
    "trt_values_release": (None, [POINTER(_CValue), c_size_t]),
    "trt_op_count": (c_size_t, []),
    "trt_op_name": (c_char_p, [c_size_t]),
    "trt_op_schema": ("status", [c_char_p, POINTER(c_void_p)]),
    "trt_dispatcher_dump": ("status", [c_char_p, POINTER(c_void_p)]),
}


class _Library:
    """The functions of the C API; those that return a status raise Error instead."""

    def __init__(self, path):
        self._dll = ctypes.CDLL(path)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._dll, name)
            function.argtypes = arguments
            function.restype = c_void_p if result == "status" else result
            setattr(self, name[4:], self._checked(function) if result == "status" else function)

    def _checked(self, function):
        def call(*args):
            status = function(*args)
            if status:
                try:
                    code = self.code_name(self.status_code(status)).decode()
                    raise Error(code, self.status_op(status).decode(), self.status_message(status).decode("utf-8", "replace"))
                finally:
                    self.status_release(status)

        return call


_loaded = None


def library():
    """The library, loaded at the first call."""
    global _loaded
    if _loaded is None:
        _loaded = _Library(LIBRARY_PATH)
    return _loaded


def _text(function, *args):
    out = c_void_p()
    function(*args, byref(out))
    try:
        return ctypes.string_at(out).decode()
    finally:
        library().string_release(out)


def _ints(values):
    return (c_int64 * max(1, len(values)))(*values)


def _handles(tensors):
    return (c_void_p * max(1, len(tensors)))(*[t.handle if t is not None else None for t in tensors])


def dtype(name):
    """DType from its name, or the argument itself."""
    return name if isinstance(name, DType) else DTYPES[name]


class Tensor:
    """Owns one handle."""

    __slots__ = ("handle",)

    def __init__(self, handle):
        self.handle = handle

    def release(self):
        """Releases the handle now; the object is unusable afterwards."""
        handle, self.handle = self.handle, None
        if handle:
            library().tensor_release(handle)

    def __del__(self):
        # At interpreter exit the module's names may be gone already; the process then frees the memory.
        if self.handle and _loaded is not None:
            self.release()

    @property
    def shape(self):
        return tuple(library().tensor_sizes(self.handle)[: library().tensor_ndim(self.handle)])

    @property
    def strides(self):
        return tuple(library().tensor_strides(self.handle)[: library().tensor_ndim(self.handle)])

    @property
    def dtype(self):
        return _DTYPE_BY_NUMBER[library().tensor_dtype(self.handle)]

    @property
    def device(self):
        d = library().tensor_device(self.handle)
        return Device(f"{next(k for k, v in Device._TYPES.items() if v == d.type)}:{d.index}")

    @property
    def numel(self):
        return library().tensor_numel(self.handle)

    def is_contiguous(self):
        return library().tensor_is_contiguous(self.handle)

    @property
    def requires_grad(self):
        return library().tensor_requires_grad(self.handle)

    @requires_grad.setter
    def requires_grad(self, value):
        library().tensor_set_requires_grad(self.handle, value)

    @property
    def grad(self):
        return self._new(library().tensor_grad)

    @grad.setter
    def grad(self, value):
        library().tensor_set_grad(self.handle, value.handle if value is not None else None)

    def _new(self, function):
        out = c_void_p()
        function(self.handle, byref(out))
        return Tensor(out.value) if out.value else None

    def detach(self):
        return self._new(library().tensor_detach)

    def backward(self, gradient=None, retain_graph=False, create_graph=False):
        grads = [gradient] if gradient is not None else []
        library().backward(_handles([self]), 1, _handles(grads), len(grads), None, 0, retain_graph, create_graph)

    def item(self):
        s = _CScalar()
        library().tensor_item(self.handle, byref(s))
        return s.value.d if s.kind == 2 else bool(s.value.i) if s.kind == 0 else s.value.i

    def flat(self):
        """All elements, row-major, as Python numbers."""
        n, d = self.numel, self.dtype
        # Python has no bfloat16; every one of them is a float32.
        if d.format is None:
            d = DTYPES["float32"]
        buffer = ctypes.create_string_buffer(max(1, n * d.size))
        library().tensor_copy_to_host(self.handle, buffer, d, n)
        return list(struct.unpack(f"={n}{d.format}", buffer.raw[: n * d.size]))

    def tolist(self):
        return _nest(self.flat(), list(self.shape))

    def numpy(self):
        """A numpy array with a copy (bfloat16 as float32)."""
        import numpy

        d = self.dtype if self.dtype.format else DTYPES["float32"]
        out = numpy.empty(self.shape, d.name)
        library().tensor_copy_to_host(self.handle, out.ctypes.data, d, self.numel)
        return out

    def __repr__(self):
        return _text(library().tensor_to_string, self.handle)

    def __add__(self, other):
        return call("add", self, other)

    def __sub__(self, other):
        return call("sub", self, other)

    def __mul__(self, other):
        return call("mul", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other):
        return call("div", self, other)

    def __matmul__(self, other):
        return call("matmul", self, other)

    def __neg__(self):
        return call("neg", self)


def _nest(flat, shape):
    if not shape:
        return flat[0]
    step = 1
    for s in shape[1:]:
        step *= s
    return [_nest(flat[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def _bfloat16_bits(x):
    """Round to nearest, ties to even; NaN stays NaN."""
    if x != x:
        return 0x7FC0
    try:
        bits = struct.unpack("=I", struct.pack("=f", x))[0]
    except OverflowError:
        return 0x7F80 if x > 0 else 0xFF80
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def pack(values, d):
    """The elements as bytes."""
    if d.name == "bfloat16":
        return struct.pack(f"={len(values)}H", *map(_bfloat16_bits, values))
    return struct.pack(f"={len(values)}{d.format}", *values)


def from_flat(values, shape, d, strides=None, requires_grad=False):
    """A tensor from its elements in row-major order; with `strides` (in elements) they are laid out so in memory."""
    d, shape = dtype(d), list(shape)
    out = c_void_p()
    if strides is None:
        library().tensor_from_data(pack(values, d), _ints(shape), len(shape), d, byref(out))
    else:
        laid = [0] * (1 + sum((n - 1) * s for n, s in zip(shape, strides)) if values else 1)
        at = [0]
        for n, s in zip(shape, strides):
            at = [a + i * s for a in at for i in range(n)]
        for a, v in zip(at, values):
            laid[a] = v
        data = pack(laid, d)
        buffer = ctypes.create_string_buffer(data, len(data))
        key = ctypes.addressof(buffer)
        _blobs[key] = buffer
        try:
            library().tensor_from_blob(buffer, _ints(shape), _ints(strides), len(shape), d, _CDevice(0, 0), _drop_blob, key, byref(out))
        except Error:
            _blobs.pop(key)
            raise
    t = Tensor(out.value)
    if requires_grad:
        t.requires_grad = True
    return t


# Memory that the library borrows, by address.
_blobs = {}
_drop_blob = _DESTROY(lambda key: _blobs.pop(key, None) and None)


def tensor(data, dtype=None, requires_grad=False):
    """A tensor from a number or nested lists; the dtype is inferred as PyTorch infers it: bool, int64 or float32."""
    shape, flat = [], [data]
    while flat and isinstance(flat[0], (list, tuple)):
        shape.append(len(flat[0]))
        if any(not isinstance(x, (list, tuple)) or len(x) != shape[-1] for x in flat):
            raise ValueError("the lists have different lengths")
        flat = [y for x in flat for y in x]
    if dtype is None:
        dtype = "bool" if flat and all(isinstance(x, bool) for x in flat) else "int64" if flat and all(isinstance(x, int) for x in flat) else "float32"
    return from_flat(flat, shape, dtype, requires_grad=requires_grad)


def from_numpy(array):
    """A tensor with a copy of a numpy array."""
    import numpy

    array = numpy.ascontiguousarray(array).reshape(array.shape)
    out = c_void_p()
    library().tensor_from_data(array.ctypes.data, _ints(array.shape), array.ndim, DTYPES[array.dtype.name], byref(out))
    return Tensor(out.value)


def _to_value(x, keep):
    """A boxed value; objects that must outlive the call go to `keep`."""
    v = _CValue()
    if x is None:
        v.kind = _NONE
    elif isinstance(x, Tensor):
        v.kind, v.v.tensor = _TENSOR, x.handle
    elif isinstance(x, bool):
        v.kind, v.v.i = _BOOL, x
    elif isinstance(x, DType):
        v.kind, v.v.i = _DTYPE, x
    elif isinstance(x, int):
        v.kind, v.v.i = _INT, x
    elif isinstance(x, float):
        v.kind, v.v.d = _DOUBLE, x
    elif isinstance(x, str):
        data = x.encode()
        keep.append(data)
        v.kind, v.v.string = _STRING, data
    elif isinstance(x, Device):
        v.kind, v.v.device = _DEVICE, _CDevice(x.type, x.index)
    elif isinstance(x, (list, tuple)):
        v.count = len(x)
        if any(isinstance(e, Tensor) for e in x):
            array = _handles(x)
            v.kind, v.v.tensors = _TENSOR_LIST, ctypes.cast(array, POINTER(c_void_p))
        elif any(isinstance(e, float) for e in x):
            array = (c_double * max(1, len(x)))(*x)
            v.kind, v.v.doubles = _DOUBLE_LIST, ctypes.cast(array, POINTER(c_double))
        else:
            array = _ints(x)
            v.kind, v.v.ints = _INT_LIST, ctypes.cast(array, POINTER(c_int64))
        keep.append(array)
    else:
        raise TypeError(f"a {type(x).__name__} cannot be passed to an operator")
    return v


def _from_value(v):
    if v.kind == _TENSOR:
        return Tensor(library().tensor_retain(v.v.tensor)) if v.v.tensor else None
    if v.kind == _TENSOR_LIST:
        return [Tensor(library().tensor_retain(v.v.tensors[i])) for i in range(v.count)]
    return {_NONE: None, _BOOL: bool(v.v.i), _INT: v.v.i, _DOUBLE: v.v.d}[v.kind]


def call(op, *args, **kwargs):
    """Calls an operator by name ("add", "add.Scalar"): its result, or a tuple of them."""
    lib, keep = library(), []
    count = len(args) + len(kwargs)
    values = (_CValue * max(1, count))(*[_to_value(x, keep) for x in list(args) + list(kwargs.values())])
    names = (c_char_p * max(1, count))(*([None] * len(args) + [k.encode() for k in kwargs]))
    out, out_count = POINTER(_CValue)(), c_size_t()
    lib.op_call(op.encode(), values, names, count, byref(out), byref(out_count))
    try:
        results = tuple(_from_value(out[i]) for i in range(out_count.value))
    finally:
        lib.values_release(out, out_count)
    return results[0] if len(results) == 1 else results


def grad(outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=False, allow_unused=False):
    """The gradients of `inputs`; None for one that the outputs do not depend on (with allow_unused)."""
    grads = list(grad_outputs or [])
    out = (c_void_p * max(1, len(inputs)))()
    library().grad(_handles(outputs), len(outputs), _handles(inputs), len(inputs), _handles(grads), len(grads), retain_graph, create_graph, allow_unused, out)
    return [Tensor(out[i]) if out[i] else None for i in range(len(inputs))]


def operators():
    """The names (with overload) of all operator variants."""
    lib = library()
    return [lib.op_name(i).decode() for i in range(lib.op_count())]


def schema(op):
    return _text(library().op_schema, op.encode())


def build_info():
    return _text(library().build_info)


def manual_seed(seed):
    library().manual_seed(seed)


def set_num_threads(n):
    library().set_num_threads(n)
