"""Helpers for gradients and parameters."""

from trt import _C
from trt.nn.utils import rnn


def _with_gradient(parameters):
    parameters = [parameters] if isinstance(parameters, _C.TensorBase) else list(parameters)
    return [p for p in parameters if p.grad is not None]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients so that the norm of all of them together is at most max_norm; gives the norm before, as a tensor."""
    parameters = _with_gradient(parameters)
    if not parameters:
        return _C._from_data(0.0, None)
    return _C._from_data(_C.trt_clip_grad_norm(parameters, float(max_norm), float(norm_type), error_if_nonfinite), None)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of the gradients to [-clip_value, clip_value]."""
    parameters = _with_gradient(parameters)
    if parameters:
        _C.trt_clip_grad_value(parameters, float(clip_value))


def parameters_to_vector(parameters):
    """All elements of the parameters as one vector."""
    return _C._operators["cat"]([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Copies the elements of a vector into the parameters."""
    at = 0
    for p in parameters:
        p.data.copy_(vec[at:at + p.numel()].view(p.shape))
        at += p.numel()
