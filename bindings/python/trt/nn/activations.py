"""Activations as modules."""

from trt import _C
from trt.nn import functional as F
from trt.nn.module import Module
from trt.nn.parameter import Parameter

__all__ = ["CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU",
           "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold"]


class _Activation(Module):
    """Calls `function` with the input and the options of the constructor, whose names and defaults `options` gives."""

    function = None
    options = {}
    inplace_option = False
    names_shown = True

    def __init__(self, *args, **kwargs):
        super().__init__()
        names = list(self.options) + (["inplace"] if self.inplace_option else [])
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes at most {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in given:
                raise TypeError(f"{type(self).__name__}() got an unexpected argument '{name}'")
            given[name] = value
        for name in names:
            default = False if name == "inplace" else self.options[name]
            if name not in given and default is ...:
                raise TypeError(f"{type(self).__name__}() missing 1 required argument: '{name}'")
            setattr(self, name, given.get(name, default))

    def forward(self, input):
        options = {name: getattr(self, name) for name in self.options}
        if "dim" in options and options["dim"] is None:
            options["_stacklevel"] = 5  # whoever called the module
        if self.inplace_option:
            options["inplace"] = self.inplace
        return type(self).function(input, **options)

    def extra_repr(self):
        parts = [f"{n}={getattr(self, n)!r}" if self.names_shown else repr(getattr(self, n)) for n in self.options]
        if self.inplace_option and self.inplace:
            parts.append("inplace=True")
        return ", ".join(parts)


def _module(name, function, doc, options=None, inplace=False, names_shown=True):
    """A subclass of _Activation."""
    return type(name, (_Activation,), {"function": staticmethod(function), "options": options or {}, "inplace_option": inplace, "names_shown": names_shown,
                                       "__doc__": doc, "__module__": __name__})


ReLU = _module("ReLU", F.relu, "max(x, 0).", inplace=True)
ReLU6 = _module("ReLU6", F.relu6, "min(max(x, 0), 6).", inplace=True)
LeakyReLU = _module("LeakyReLU", F.leaky_relu, "x, or negative_slope * x below zero.", {"negative_slope": 0.01}, inplace=True)
ELU = _module("ELU", F.elu, "x, or alpha * (exp(x) - 1) below zero.", {"alpha": 1.0}, inplace=True)
SELU = _module("SELU", F.selu, "elu with fixed factors that keep mean and variance.", inplace=True)
CELU = _module("CELU", F.celu, "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).", {"alpha": 1.0}, inplace=True)
SiLU = _module("SiLU", F.silu, "x * sigmoid(x).", inplace=True)
Mish = _module("Mish", F.mish, "x * tanh(softplus(x)).", inplace=True)
Hardsigmoid = _module("Hardsigmoid", F.hardsigmoid, "relu6(x + 3) / 6.", inplace=True)
Hardswish = _module("Hardswish", F.hardswish, "x * relu6(x + 3) / 6.", inplace=True)
Hardtanh = _module("Hardtanh", F.hardtanh, "x limited to [min_val, max_val].", {"min_val": -1.0, "max_val": 1.0}, inplace=True)
Threshold = _module("Threshold", F.threshold, "x, or value where x <= threshold.", {"threshold": ..., "value": ...}, inplace=True)
GELU = _module("GELU", F.gelu, "x times the normal distribution function; approximate=\"tanh\": by its tanh approximation.", {"approximate": "none"})
Sigmoid = _module("Sigmoid", F.sigmoid, "1 / (1 + exp(-x)).")
Tanh = _module("Tanh", F.tanh, "tanh(x).")
LogSigmoid = _module("LogSigmoid", F.logsigmoid, "log(sigmoid(x)).")
Softplus = _module("Softplus", F.softplus, "log(1 + exp(beta * x)) / beta, x where beta * x > threshold.", {"beta": 1.0, "threshold": 20.0})
Softshrink = _module("Softshrink", F.softshrink, "x - lambd, x + lambd, or 0 between.", {"lambd": 0.5}, names_shown=False)
Hardshrink = _module("Hardshrink", F.hardshrink, "x, or 0 between -lambd and lambd.", {"lambd": 0.5}, names_shown=False)
Softsign = _module("Softsign", F.softsign, "x / (1 + abs(x)).")
Tanhshrink = _module("Tanhshrink", F.tanhshrink, "x - tanh(x).")
GLU = _module("GLU", F.glu, "The first half along `dim` times the sigmoid of the second.", {"dim": -1})
Softmax = _module("Softmax", F.softmax, "Softmax along `dim`.", {"dim": None})
LogSoftmax = _module("LogSoftmax", F.log_softmax, "The logarithm of softmax along `dim`.", {"dim": None})
Softmin = _module("Softmin", F.softmin, "Softmax of -x along `dim`.", {"dim": None})


class Softmax2d(Module):
    """Softmax over the channels of [n, c, h, w] or [c, h, w]."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: input must have 3 or 4 dimensions, got shape {list(input.shape)}")
        return F.softmax(input, -3)


class RReLU(Module):
    """leaky_relu; in training the slope is drawn for each element, uniform from lower to upper, else their mean."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or weight * x below zero, the weight being a parameter."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_C._operators["full"]((num_parameters,), float(init), dtype=dtype or _C.trt_get_default_dtype(), device=device))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"
