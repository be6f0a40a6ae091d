"""The types of results with several tensors: named tuples."""

from trt import _C

globals().update(_C._return_types)
__all__ = list(_C._return_types)
