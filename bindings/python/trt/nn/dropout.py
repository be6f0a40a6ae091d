"""Dropout as modules."""

from trt.nn import functional as F
from trt.nn.layers import _Plain

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class Dropout(_Plain):
    """In training zeroes elements with probability p, and scales the others by 1 / (1 - p)."""

    options = ("p", "inplace")
    function = staticmethod(F.dropout)

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: the probability must be between 0 and 1, got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return self.function(input, self.p, self.training, self.inplace)


class Dropout1d(Dropout):
    """Dropout of whole channels of [n, c, l], or [c, l]."""

    function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """Dropout of whole channels of [n, c, h, w]."""

    function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """Dropout of whole channels of [n, c, d, h, w], or [c, d, h, w]."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1, for networks with SELU."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels."""

    function = staticmethod(F.feature_alpha_dropout)
