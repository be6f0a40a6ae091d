"""Padding as modules. `padding` is a number for all sides, or one for each side: (left, right, top, bottom, front, back)."""

from trt.nn import functional as F
from trt.nn.layers import _Plain, _tuple

__all__ = [f"{kind}Pad{n}d" for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero") for n in (1, 2, 3)]


class _Pad(_Plain):
    options = ("padding",)
    repr_names = False
    mode, sides = None, None

    def __init__(self, padding):
        super().__init__()
        self.padding = _tuple(padding, self.sides)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)


class _ConstantPad(_Pad):
    options = ("padding", "value")
    repr_names = True
    mode = "constant"

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, self.mode, self.value)


class _ZeroPad(_ConstantPad):
    options = ("padding",)
    repr_names = False

    def __init__(self, padding):
        super().__init__(padding, 0.0)


for _kind, _base, _mode, _what in (("Circular", _Pad, "circular", "what is at the other end"), ("Constant", _ConstantPad, "constant", "a value"),
                                   ("Reflection", _Pad, "reflect", "the mirrored input, without its edge"), ("Replication", _Pad, "replicate", "the value at the edge"),
                                   ("Zero", _ZeroPad, "constant", "zeros")):
    for _n in (1, 2, 3):
        _where = "of the last dimension" if _n == 1 else f"of the last {_n} dimensions"
        globals()[f"{_kind}Pad{_n}d"] = type(f"{_kind}Pad{_n}d", (_base,), {"mode": _mode, "sides": 2 * _n, "__module__": __name__,
                                                                         "__doc__": f"Adds {_what} on both sides {_where}."})
