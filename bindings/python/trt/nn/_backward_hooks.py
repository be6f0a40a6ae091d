"""Backward hooks of modules: identities before and behind forward, whose backward calls the hooks."""

import warnings

from trt import _C
from trt.autograd.function import Function


class _Identity(Function):
    """Its inputs; told(grads), if it returns something, gives other gradients."""

    @staticmethod
    def forward(ctx, told, *tensors):
        ctx.told = told
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.told(grads)


def _tuple(grads):
    return grads if isinstance(grads, tuple) else tuple(grads) if isinstance(grads, list) else (grads,)


def _replaced(kind, result, grads):
    """What a hook returned instead of `grads`."""
    if result is None:
        return grads
    result = _tuple(result)
    if len(result) != len(grads):
        raise RuntimeError(f"Backward hook returned an invalid number of {kind}, got {len(result)}, but expected {len(grads)}")
    return result


def _through(tensors, told):
    """The values, those that need gradients behind an identity, and their places. told(grads of all values) gives what goes on."""
    places = [i for i, t in enumerate(tensors) if isinstance(t, _C.TensorBase) and t.requires_grad]
    if not places or not _C.trt_grad_mode():
        return tensors, []

    def tell(grads):
        full = [None] * len(tensors)
        for i, g in zip(places, grads):
            full[i] = g
        full = told(tuple(full))
        return [full[i] for i in places]

    behind = list(tensors)
    for i, t in zip(places, _Identity.apply(tell, *(tensors[i] for i in places))):
        behind[i] = t
    return tuple(behind), places


class BackwardHooks:
    """The hooks of a module, during one call of it: enter(args), then leave(output)."""

    def __init__(self, module, before, after):
        self._module, self._before, self._after = module, list(before.values()), list(after.values())
        self._grad_outputs, self._inputs, self._reached = None, 0, False

    def enter(self, args):
        """The arguments that forward gets."""
        self._inputs = len(args)
        args, places = _through(args, self._inputs_done)
        self._reached = bool(places)
        return args

    def leave(self, output):
        """The output that the caller gets."""
        outputs = _tuple(output) if isinstance(output, (tuple, list)) else (output,)
        if not all(isinstance(o, _C.TensorBase) or o is None for o in outputs):
            warnings.warn(f"backward hooks see a module's outputs where they are a tensor or a tuple of tensors, not {type(output).__name__}", stacklevel=4)
        new, places = _through(outputs, self._outputs_done)
        if not places:
            return output
        if isinstance(output, _C.TensorBase):
            return new[0]
        if hasattr(output, "_fields"):
            return type(output)(*new)
        return list(new) if isinstance(output, list) else new

    def _outputs_done(self, grads):
        for hook in self._before:
            grads = _replaced("grad_output", hook(self._module, grads), grads)
        self._grad_outputs = grads
        if not self._reached and self._after:
            warnings.warn("a full backward hook is called with the gradients of the outputs alone, since no input of the module needs one", stacklevel=2)
            self._call((None,) * self._inputs)
        return grads

    def _inputs_done(self, grads):
        return self._call(grads)

    def _call(self, grads):
        for hook in self._after:
            grads = _replaced("grad_input", hook(self._module, grads, self._grad_outputs), grads)
        return grads
