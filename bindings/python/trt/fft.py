"""Discrete Fourier transforms: trt.fft.rfft is the operator fft_rfft."""

from trt import _C

_PREFIX = "fft_"

globals().update({name.removeprefix(_PREFIX): f for name, f in _C._operators.items() if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) not in ("complex", "from_real", "to_real")})
__all__ = [name for name in globals() if not name.startswith("_")]
