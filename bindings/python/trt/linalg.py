"""Linear algebra: trt.linalg.vector_norm is the operator linalg_vector_norm."""

from trt import _C

LinAlgError = _C.InvalidArgumentError  # what a singular matrix raises

_PREFIX = "linalg_"

globals().update({name.removeprefix(_PREFIX): f for name, f in _C._operators.items() if name.startswith(_PREFIX)})
matmul, diagonal = _C._operators["matmul"], _C._operators["diagonal"]
__all__ = [name for name in globals() if not name.startswith("_")]
