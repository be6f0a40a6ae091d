"""The operators of neural networks, made from their declarations (src/ops/nn_*.yaml) by generate.py."""

from trt import _C

__all__ = [name for name, group in _C._groups.items() if group.startswith("nn_")]
globals().update({name: _C._operators[name] for name in __all__})
