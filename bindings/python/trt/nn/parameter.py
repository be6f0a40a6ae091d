"""Tensors that a module registers by themselves."""

from trt import _C
from trt._tensor import Tensor


class Parameter(Tensor):
    """A tensor that becomes a parameter of the module it is assigned to."""

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C._operators["empty"]((0,))
        return Tensor._make_subclass(cls, data, requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module it is assigned to."""

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _C._operators["empty"]((0,))
        t = Tensor._make_subclass(cls, data, data.requires_grad)
        t.persistent = persistent
        return t
