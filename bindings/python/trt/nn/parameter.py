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


def is_lazy(t):
    """Whether it is a parameter or buffer whose shape is not known yet."""
    return isinstance(t, UninitializedTensorMixin)


class UninitializedTensorMixin:
    """What UninitializedParameter and UninitializedBuffer have: a dtype and a device, and a shape only from `materialize` on."""

    cls_to_become = None

    @property
    def shape(self):
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to load an "
                           "uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their attributes.")

    def materialize(self, shape, device=None, dtype=None):
        """Becomes a parameter or buffer of this shape, with undefined values. The object stays the same."""
        self.data = _C._operators["empty"](tuple(shape), dtype=dtype or self.dtype, device=device or self.device)
        self.__class__ = self.cls_to_become

    def __repr__(self):
        return f"<{type(self).__name__}>"


def _nothing(device, dtype):
    return _C._operators["empty"]((0,), dtype=dtype or _C.trt_get_default_dtype(), device=device)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; see the Lazy modules."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Tensor._make_subclass(cls, _nothing(device, dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet; see the Lazy modules."""

    cls_to_become = Buffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        t = Tensor._make_subclass(cls, _nothing(device, dtype), requires_grad)
        t.persistent = persistent
        return t
