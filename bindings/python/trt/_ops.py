"""The operators as functions, made from their declarations (src/ops/*.yaml) by generate.py."""

from trt import _C

globals().update(_C._operators)
__all__ = list(_C._operators)
