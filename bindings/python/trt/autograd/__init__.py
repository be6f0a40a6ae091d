"""Gradients: backward passes, custom functions, checks."""

import warnings

from trt import _C
from trt._modes import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from trt.autograd.function import Function, FunctionCtx, once_differentiable  # noqa: F401
from trt.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck  # noqa: F401


class Node:
    """A node of the graph that a backward pass goes through. It keeps alive what lies behind it."""

    def __init__(self, handle):
        self._handle = handle

    def name(self) -> str:
        """"AddBackward0"."""
        return _C.trt_node_name(self)

    @property
    def next_functions(self):
        """For each argument that could need a gradient: the node that its gradient goes to (None where it needs none), and which of that node's results it is."""
        nexts = []
        for i in range(_C.trt_node_next_count(self)):
            handle = _C.trt_node_next(self, i)
            nexts.append((None if handle is None else Node(handle), _C.trt_node_next_input(self, i)))
        return tuple(nexts)

    @property
    def variable(self):
        """The leaf in which the gradient arrives, of a node AccumulateGrad."""
        leaf = _C.trt_node_variable(self)
        if leaf is None:
            raise AttributeError(f"{self.name()} has no attribute 'variable'")
        return leaf

    def __eq__(self, other):
        return self._handle == other._handle if isinstance(other, Node) else NotImplemented

    def __hash__(self):
        return hash(self._handle)

    def __repr__(self):
        return f"<{self.name()}>"


class RemovableHandle:
    """A hook that can be removed, also by `with`."""

    def __init__(self, tensor, id):
        self._tensor, self.id = tensor, id

    def remove(self):
        """Removes the hook; again without effect."""
        if self._tensor is not None:
            _C.trt_tensor_remove_hook(self._tensor, self.id)
            self._tensor = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def _list(tensors):
    return [tensors] if isinstance(tensors, _C.TensorBase) or tensors is None else list(tensors)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, *, inputs=None, _stacklevel=2):
    """Accumulates the gradients of `tensors` in the leaves, or only in `inputs`. `grad_tensors` (one for each) stand for 1 where a tensor has more than
    one element. retain_graph (create_graph, if not given) keeps what another pass needs; create_graph records the pass itself."""
    if create_graph:
        warnings.warn("backward() with create_graph leaves gradients that keep their graph alive, and the graph them: set .grad to None after use, or use "
                      "trt.autograd.grad", stacklevel=_stacklevel)
    tensors, grads = _list(tensors), [] if grad_tensors is None else _list(grad_tensors)
    inputs = [] if inputs is None else _list(inputs)
    _C.trt_backward(tensors, grads, inputs, bool(create_graph if retain_graph is None else retain_graph), bool(create_graph))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None, *, only_inputs=True, is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` with respect to `inputs`, a tuple; no tensor's grad changes. allow_unused: None for an input that the outputs do not depend
    on; materialize_grads: zeros for it."""
    if not only_inputs or is_grads_batched:
        raise NotImplementedError("grad: only_inputs=False and is_grads_batched=True are not supported")
    inputs = _list(inputs)
    grads = [] if grad_outputs is None else _list(grad_outputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads needs allow_unused, which was set to False")
    found = _C._grad(_list(outputs), inputs, grads, bool(create_graph if retain_graph is None else retain_graph), bool(create_graph),
                     bool(allow_unused or materialize_grads))
    if materialize_grads:
        found = tuple(_C._operators["zeros_like"](i) if g is None else g for g, i in zip(found, inputs))
    return found
