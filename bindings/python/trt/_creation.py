"""Tensors from Python's data and from the memory of others."""

import warnings

from trt import _C


def _placed(t, device, requires_grad=False):
    if device is not None and _C.device(device) != t.device:
        t = t.to(device=device)
    return t.requires_grad_() if requires_grad else t


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of `data`: a number, nested sequences, a NumPy array or whatever has a buffer or __array__, or a tensor.

    The dtype is inferred as PyTorch does: bool, int64 or the default dtype for Python's numbers, an array's own otherwise.
    """
    if isinstance(data, _C.TensorBase):
        warnings.warn("tensor() of a tensor is a copy without history: x.detach().clone() says so", stacklevel=2)
    return _placed(_C._from_data(data, dtype), device, requires_grad)


def from_numpy(array):
    """A tensor on the memory of a NumPy array, or of another object with a buffer: both see each other's changes. The tensor keeps the array alive."""
    _warn_of_read_only(array, "from_numpy")
    return _C._from_buffer(array)


def _warn_of_read_only(source, name):
    try:
        read_only = memoryview(source).readonly
    except (TypeError, ValueError):  # told by what comes next
        return
    if read_only:
        warnings.warn(f"{name}: the memory of the {type(source).__name__} is not writable; writing into the tensor is undefined behavior (copy the memory "
                      "first, or make the tensor with trt.tensor)", stacklevel=3)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A vector on the memory of an object with a buffer: `count` elements (-1: all there are) from byte `offset` on."""
    _warn_of_read_only(buffer, "frombuffer")
    view = memoryview(buffer).cast("B")
    if count == 0 or len(view) <= offset or offset < 0:
        raise ValueError(f"a buffer of {len(view)} bytes has nothing at offset {offset} for {count} elements")
    if count < 0:
        if (len(view) - offset) % dtype.itemsize:
            raise ValueError(f"{len(view) - offset} bytes are no multiple of an element's {dtype.itemsize}")
        count = (len(view) - offset) // dtype.itemsize
    if offset + count * dtype.itemsize > len(view):
        raise ValueError(f"{count} elements of {dtype} do not fit into {len(view)} bytes from offset {offset} on")
    part = view[offset:offset + count * dtype.itemsize]
    formats = {"uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d", "bool": "?"}
    if dtype.name in formats:
        t = _C._from_buffer(part.cast(formats[dtype.name]))
    else:
        t = _C._from_bytes(part, (count,), dtype, 0)  # Python's views have no such elements
    return t.requires_grad_() if requires_grad else t


def from_dlpack(ext_tensor):
    """A tensor on the memory of an object with __dlpack__ (PyTorch, NumPy, JAX ...), or of a DLPack capsule."""
    if not hasattr(ext_tensor, "__dlpack__"):
        return _C._from_dlpack(ext_tensor)
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before version 1
        capsule = ext_tensor.__dlpack__()
    return _C._from_dlpack(capsule)


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, without a copy where that is possible: a tensor itself, or on the memory of an array."""
    if not isinstance(data, _C.TensorBase):
        if hasattr(data, "__array_interface__") and not hasattr(data, "item") or type(data).__name__ == "ndarray":
            _warn_of_read_only(data, "as_tensor")
            try:
                data = _C._from_buffer(data)
            except (TypeError, ValueError):
                data = _C._from_data(data, dtype)
        else:
            data = _C._from_data(data, dtype)
    if dtype is not None and data.dtype != dtype:
        data = data.to(dtype)
    return _placed(data, device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """`obj` as a tensor: without a copy where that is possible (copy=None), always (True) or never (False: an error where it is needed)."""
    if copy:
        return _placed(_C._from_data(obj, dtype), device, requires_grad)
    if not isinstance(obj, _C.TensorBase) and hasattr(obj, "__dlpack__") and type(obj).__name__ != "ndarray":
        obj = from_dlpack(obj)
    t = as_tensor(obj, dtype=dtype, device=device)
    if copy is False and isinstance(obj, (list, tuple, int, float)):
        raise ValueError("a tensor of Python's numbers is a copy")
    return t.requires_grad_() if requires_grad else t
