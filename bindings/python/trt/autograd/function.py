"""Functions in Python with gradients of their own."""

import functools

from trt import _C
from trt._modes import no_grad


class FunctionCtx:
    """What forward hands to backward; attributes of any name may be set on it."""

    def __init__(self):
        self._to_save, self._saved, self._dirty, self._non_differentiable, self._materialize = (), (), (), (), True
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, which finds them in saved_tensors; to be called once, in forward or setup_context."""
        for t in tensors:
            if t is not None and not isinstance(t, _C.TensorBase):
                raise TypeError(f"save_for_backward can only save variables, but an argument is of type {type(t).__name__}")
        self._to_save = tensors

    @property
    def saved_tensors(self):
        """The tensors of save_for_backward. One that was changed in place since is an error."""
        return tuple(s and s.get() for s in self._saved)

    def mark_dirty(self, *tensors):
        """Tells that forward changed these inputs in place; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Tells that these outputs have no gradients."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool):
        """False: backward sees None for an output that no gradient arrived at, instead of zeros."""
        self._materialize = value


class _Saved:
    """A tensor kept for backward: an input or any other tensor itself; of an output only the elements, since the output holds the node that holds this;
    `output` is its number."""

    def __init__(self, tensor):
        self.tensor, self.version, self.output = tensor, tensor._version, None

    def get(self):
        if self.tensor._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[trt.{self.tensor.dtype.name} {list(self.tensor.shape)}] is at version {self.tensor._version}; expected version {self.version} instead.")
        if self.output is None or not _C.trt_grad_mode():
            return self.tensor
        return _C.trt_custom_function_saved_output(self.tensor, self.output)


def _same(tensor, tensors):
    return any(tensor is t for t in tensors)


class Function:
    """Base of custom functions. A subclass has static methods forward(ctx, *args) and backward(ctx, *grads), and is called by its apply(*args).

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                result = x.exp()
                ctx.save_for_backward(result)
                return result

            @staticmethod
            def backward(ctx, grad):
                result, = ctx.saved_tensors
                return grad * result

    forward may also be without ctx, beside setup_context(ctx, inputs, output).
    """

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("a custom function needs a static method forward")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("a custom function needs a static method backward (or vjp) to be differentiable")

    vjp = backward
    setup_context = None

    @classmethod
    def apply(cls, *args):
        """Runs forward, and records it where an argument requires gradients."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, _C.TensorBase) and a.requires_grad for a in args)
        record = _C.trt_grad_mode() and any(ctx.needs_input_grad)
        with no_grad():
            if cls.setup_context is None:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        outputs = list(result) if isinstance(result, tuple) else [result]
        if record:
            outputs = _record(cls, ctx, args, outputs)
        ctx._to_save = ()
        return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _record(cls, ctx, args, outputs):
    inputs = [a for a in args if isinstance(a, _C.TensorBase)]
    for d in ctx._dirty:
        if not _same(d, outputs):
            raise RuntimeError(f"{cls.__name__}: a tensor that was marked as dirty must be returned")
        if d.is_leaf and d.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    tensors = [i for i, o in enumerate(outputs) if isinstance(o, _C.TensorBase)]
    tracked = [i for i in tensors if outputs[i].is_floating_point() and not _same(outputs[i], ctx._non_differentiable)]
    plain = [outputs[i].detach() for i in tracked]
    # What backward needs to know of all outputs.
    shapes = [(o.shape, o.dtype) if isinstance(o, _C.TensorBase) else None for o in outputs]
    saved = []
    for t in ctx._to_save:
        if t is None:
            saved.append(None)
            continue
        at = next((k for k, i in enumerate(tracked) if outputs[i] is t and (not _same(t, inputs) or _same(t, ctx._dirty))), None)
        saved.append(_Saved(t if at is None else plain[at]))
        if at is not None:
            saved[-1].output = at
    # The node keeps this function: it must not hold the outputs, nor the inputs without need.
    name, count, given = cls.__name__ + "Backward", len(outputs), tuple(isinstance(a, _C.TensorBase) for a in args)

    def run(grads):
        full = [None] * count
        for i, g in zip(tracked, grads):
            full[i] = g
        if ctx._materialize:
            full = [_C._operators["zeros"](s[0], dtype=s[1]) if g is None and s is not None else g for g, s in zip(full, shapes)]
        return _gradients(cls, name, ctx, given, full)

    made = _C._custom_function(name, inputs, plain, run)
    new = list(outputs)
    for i, t in zip(tracked, made):
        if _same(outputs[i], ctx._dirty):
            outputs[i]._take_handle(t)
        else:
            new[i] = t
    for i in tensors:
        if i not in tracked and _same(outputs[i], inputs):
            new[i] = outputs[i].detach()
    ctx._saved, ctx._dirty, ctx._non_differentiable = tuple(saved), (), ()
    return new


def _gradients(cls, name, ctx, given, grads):
    backward = cls.vjp if cls.backward is Function.backward and cls.vjp is not Function.vjp else cls.backward
    found = backward(ctx, *grads)
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(found) > len(given) and all(g is None for g in found[len(given):]):
        found = found[:len(given)]
    if len(found) != len(given):
        raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {len(given)}, got {len(found)})")
    out = []
    for i, (g, is_tensor) in enumerate(zip(found, given)):
        if is_tensor:
            if g is not None and not isinstance(g, _C.TensorBase):
                raise TypeError(f"function {name} returned a {type(g).__name__} as gradient {i}; expected a tensor or None")
            out.append(g if ctx.needs_input_grad[i] else None)
        elif g is not None:
            raise RuntimeError(f"function {name} returned a gradient different from None at position {i + 1}, but the corresponding forward input was not a Tensor")
    return out


class _NoSecond(Function):
    @staticmethod
    def forward(ctx, grad, *depends_on):
        return grad.clone()

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(backward):
    """Decorates a backward that has no gradient itself: a second derivative is an error, not a wrong number."""

    @functools.wraps(backward)
    def wrapped(ctx, *grads):
        with no_grad():
            found = backward(ctx, *grads)
        depends = [g for g in grads if isinstance(g, _C.TensorBase) and g.requires_grad]
        if not _C.trt_grad_mode() or not depends:
            return found
        several = isinstance(found, (tuple, list))
        marked = [_NoSecond.apply(g, *depends) if isinstance(g, _C.TensorBase) else g for g in (found if several else [found])]
        return tuple(marked) if several else marked[0]

    return wrapped
