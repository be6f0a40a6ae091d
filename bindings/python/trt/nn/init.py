"""Initial values: each fills a tensor in place, records nothing, and gives the tensor."""

import math
import warnings

from trt import _C

_FAN = {"fan_in": 0, "fan_out": 1}


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance through a nonlinearity."""
    if nonlinearity in ("linear", "sigmoid", "conv1d", "conv2d", "conv3d"):
        return 1.0
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in [a, b)."""
    _C.trt_init_uniform(tensor, a, b, generator)
    return tensor


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal."""
    _C.trt_init_normal(tensor, mean, std, generator)
    return tensor


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, limited to [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("trunc_normal_: the mean lies more than two deviations outside of [a, b]; the distribution may be off", stacklevel=2)
    _C.trt_init_trunc_normal(tensor, mean, std, a, b, generator)
    return tensor


def constant_(tensor, val):
    """One value."""
    _C.trt_init_constant(tensor, val)
    return tensor


def zeros_(tensor):
    """Zeros."""
    _C.trt_init_zeros(tensor)
    return tensor


def ones_(tensor):
    """Ones."""
    _C.trt_init_ones(tensor)
    return tensor


def eye_(tensor):
    """The identity matrix."""
    _C.trt_init_eye(tensor)
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform in +-gain sqrt(6 / (fan_in + fan_out))."""
    _C.trt_init_xavier_uniform(tensor, gain, generator)
    return tensor


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with deviation gain sqrt(2 / (fan_in + fan_out))."""
    _C.trt_init_xavier_normal(tensor, gain, generator)
    return tensor


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform in +-gain sqrt(3 / fan), the gain being the nonlinearity's (`a`: the slope of a leaky relu)."""
    if tensor.numel() == 0:
        warnings.warn("kaiming_uniform_ of a tensor without elements does nothing", stacklevel=2)
        return tensor
    _C.trt_init_kaiming_uniform(tensor, a, _FAN[mode], nonlinearity, generator)
    return tensor


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with deviation gain / sqrt(fan)."""
    if tensor.numel() == 0:
        warnings.warn("kaiming_normal_ of a tensor without elements does nothing", stacklevel=2)
        return tensor
    _C.trt_init_kaiming_normal(tensor, a, _FAN[mode], nonlinearity, generator)
    return tensor


def orthogonal_(tensor, gain=1, generator=None):
    """Orthonormal rows (or columns, where there are fewer), times gain."""
    _C.trt_init_orthogonal(tensor, gain, generator)
    return tensor
