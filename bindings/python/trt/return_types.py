"""The types of results with several tensors: named tuples."""

from collections import namedtuple

from trt import _C

globals().update(_C._return_types)
histogramdd = namedtuple("histogramdd", ("hist", "bin_edges"))
__all__ = [*_C._return_types, "histogramdd"]
