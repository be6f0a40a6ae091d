"""Sizes of tensors."""

import math

from trt import _C


class Size(tuple):
    """The sizes of a tensor: a tuple that knows its product."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of these sizes."""
        return math.prod(self)

    def __repr__(self):
        return f"trt.Size({list(self)})"

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other):
        return Size(tuple(self) + tuple(other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other):
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count):
        return Size(super().__mul__(count))

    def __reduce__(self):
        return Size, (tuple(self),)


_C._set_size_class(Size)
