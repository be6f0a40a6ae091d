"""Layers that find the size of their input out from the first one."""

from trt.nn.layers import (BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, InstanceNorm1d, InstanceNorm2d,
                           InstanceNorm3d, Linear)
from trt.nn.parameter import is_lazy

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
           "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear"]


class LazyModuleMixin:
    """Stands before the class of a layer. The first call makes the parameters by `initialize_parameters` (with the call's arguments), after which the object is of
    class `cls_to_become`. Before it, they are UninitializedParameter and UninitializedBuffer, which keep their identity: an optimizer may be made of them, state dicts
    be loaded, and the module be moved to another dtype or device."""

    cls_to_become = None
    _takes_any_size = True
    _batch_always = False  # no inputs without n

    def has_uninitialized_params(self):
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def initialize_parameters(self, *args, **kwargs):
        """Makes the parameters such that the arguments of a call fit."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def reset_parameters(self):
        """As that of the layer, once the parameters have a shape."""
        if not self.has_uninitialized_params():
            super().reset_parameters()

    def __call__(self, *args, **kwargs):
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        if self.cls_to_become is None:
            return super().__call__(*args, **kwargs)
        self.__class__ = self.cls_to_become
        return self(*args, **kwargs)

    def _materialize(self, **shapes):
        for name, shape in shapes.items():
            t = getattr(self, name)
            if is_lazy(t):
                t.materialize(shape)

    def _channels(self, input, ranks):
        """The number of channels of [n, c, ...] or [c, ...]; `ranks` are the numbers of dimensions that the layer takes."""
        if input.dim() not in ranks:
            raise RuntimeError(f"{self._get_name()}: the input must have {' or '.join(map(str, ranks))} dimensions, got shape {list(input.shape)}")
        return input.size(1) if self._batch_always or input.dim() == ranks[-1] else input.size(0)


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the last size of its first input."""

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(None, out_features, bias, device, dtype)

    def initialize_parameters(self, input):
        """Makes weight and bias for inputs like this one."""
        if self.has_uninitialized_params():
            self._materialize(weight=(self.out_features, input.size(-1)), bias=(self.out_features,))
            self.in_features = input.size(-1)
            self.reset_parameters()
        if self.in_features == 0:  # a state dict was loaded
            self.in_features = self.weight.size(1)


class _LazyConv(LazyModuleMixin):
    def initialize_parameters(self, input, *args, **kwargs):
        """Makes weight and bias for inputs like this one."""
        if self.has_uninitialized_params():
            channels = self._channels(input, (self.dims + 1, self.dims + 2))
            if channels % self.groups:
                raise ValueError(f"{self._get_name()}: {channels} channels cannot be divided into {self.groups} groups")
            self.in_channels = channels
            self._materialize(weight=self._weight_shape(), bias=(self.out_channels,))
            self.reset_parameters()
        if self.in_channels == 0:  # a state dict was loaded
            self.in_channels = self.weight.size(0) if self.transposed else self.weight.size(1) * self.groups


class _LazyNorm(LazyModuleMixin):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)  # PyTorch's defaults, also of InstanceNorm

    def initialize_parameters(self, input):
        """Makes weight, bias and running statistics for inputs like this one."""
        if self.has_uninitialized_params():
            self.num_features = self._channels(input, self.ranks)
            self._materialize(**{name: (self.num_features,) for name in ("weight", "bias", "running_mean", "running_var")})
            self.reset_parameters()
        if self.num_features == 0:
            known = self.weight if self.weight is not None else self.running_mean
            self.num_features = self._channels(input, self.ranks) if known is None else known.size(0)

    def reset_running_stats(self):
        """As that of the layer, once the statistics have a shape."""
        if not self.has_uninitialized_params():
            super().reset_running_stats()


def _lazy(base, mixin, doc):
    """The lazy form of a layer, without its first argument."""
    def __init__(self, *args, **kwargs):
        super(made, self).__init__(None, *args, **kwargs)

    made = type("Lazy" + base.__name__, (mixin, base), {"__init__": __init__, "__doc__": doc, "__module__": __name__, "cls_to_become": base,
                                                        "_batch_always": base.__name__.startswith("Batch")})
    return made


def _lazy_conv(base):
    return _lazy(base, _LazyConv, f"A {base.__name__} whose in_channels are those of its first input.")


def _lazy_norm(base):
    return _lazy(base, _LazyNorm, f"A {base.__name__} whose num_features is the number of channels of its first input.")


LazyConv1d, LazyConv2d, LazyConv3d = map(_lazy_conv, (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = map(_lazy_conv, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = map(_lazy_norm, (BatchNorm1d, BatchNorm2d, BatchNorm3d))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = map(_lazy_norm, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
