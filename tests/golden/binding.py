"""What run.py and tests/opinfo need, from the package trt: calls by PyTorch's public names and by those of the operator table, and data in and out."""

import os
import sys

try:
    import trt
except ImportError:  # not installed: as tests/run.sh builds it
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "bindings", "python"))
    import trt
from trt import Error, Tensor, manual_seed, set_num_threads, tensor  # noqa: F401
from trt.autograd import grad  # noqa: F401
from trt.nn import functional

DTYPES = {name: getattr(trt, name) for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16", "complex64", "complex128")}
Device, DType = trt.device, trt.dtype
call, operators, schema = trt.ops.call, trt.ops.names, trt.ops.schema
_MODULES = {"": trt, "nn.functional": functional, "linalg": trt.linalg, "special": trt.special, "fft": trt.fft}


def from_flat(values, shape, dtype, strides=None, requires_grad=False):
    """A tensor from its elements in row-major order; with `strides` (in elements) they are laid out so in memory."""
    dtype = DTYPES[dtype] if isinstance(dtype, str) else dtype
    t = trt.tensor(values, dtype=dtype)
    if t.shape != tuple(shape):
        t = t.reshape(list(shape)).clone()  # no view
    if strides is None:
        return t.requires_grad_(requires_grad)
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if t.numel() else 1
    laid = trt.zeros(size, dtype=dtype).as_strided(list(shape), list(strides))
    return laid.copy_(t).requires_grad_(requires_grad)


def flat(t):
    """The elements in row-major order, as Python numbers."""
    return t.detach().reshape(-1).tolist()


def is_function(name):
    """Whether the package has a function of PyTorch's name."""
    module, _, plain = name.rpartition(".")
    return callable(getattr(_MODULES.get(module), plain, None))


def call_public(name, args, kwargs):
    """Calls a function of the package by PyTorch's name ("add", "nn.functional.gelu"), or the method or property where there is no function."""
    module, _, plain = name.rpartition(".")
    function = getattr(_MODULES[module], plain, None)
    if not callable(function):
        function = getattr(Tensor, plain)
        if not callable(function):  # a property, as mT
            return getattr(args[0], plain)
    return function(*args, **kwargs)
