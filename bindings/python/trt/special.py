"""Special functions: trt.special.entr is the operator special_entr; others are known by PyTorch's names in this module, too."""

from trt import _C

_PREFIX = "special_"
_SAME = {"expit": "sigmoid", "psi": "digamma", "gammaln": "lgamma", "gammainc": "igamma", "gammaincc": "igammac", "multigammaln": "mvlgamma"}
_SHARED = ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "logsumexp", "log_softmax", "polygamma", "round", "sinc", "softmax", "xlogy")

globals().update({name.removeprefix(_PREFIX): f for name, f in _C._operators.items() if name.startswith(_PREFIX)})
globals().update({name: _C._operators[name] for name in _SHARED if name in _C._operators})
globals().update({name: _C._operators[op] for name, op in _SAME.items()})
__all__ = [name for name in globals() if not name.startswith("_")]
