"""Functions of neural networks: the operators of the declarations src/ops/nn_*.yaml as they are, and those with another signature in Python."""

import math
import warnings

from trt import _C
from trt._nn_ops import *  # noqa: F403

_ops = _C._operators

gelu, softplus, softsign, tanhshrink, softshrink, hardshrink = (_ops[n] for n in ("gelu", "softplus", "softsign", "tanhshrink", "softshrink", "hardshrink"))
logsigmoid, sigmoid, tanh, linear, bilinear, pdist = (_ops[n] for n in ("log_sigmoid", "sigmoid", "tanh", "linear", "bilinear", "pdist"))


def _activation(name, doc, *parameters):
    """An operator with the argument `inplace` that PyTorch's functions have. `parameters`: (name, default)."""
    functional = _ops[name]
    inplace_method = getattr(_C.TensorBase, name + "_")
    names = ", ".join(["input"] + [p if d is None else f"{p}={d}" for p, d in parameters] + ["inplace=False"])
    args = ", ".join(["input"] + [p for p, _ in parameters])
    scope = {"functional": functional, "inplace_method": inplace_method}
    exec(f"def {name}({names}):\n    return inplace_method({args}) if inplace else functional({args})\n", scope)
    function = scope[name]
    function.__doc__, function.__module__ = doc + " inplace: writes into `input`.", __name__
    return function


relu = _activation("relu", "max(x, 0).")
relu6 = _activation("relu6", "min(max(x, 0), 6).")
leaky_relu = _activation("leaky_relu", "x, or negative_slope * x below zero.", ("negative_slope", 0.01))
elu = _activation("elu", "x, or alpha * (exp(x) - 1) below zero.", ("alpha", 1.0))
selu = _activation("selu", "elu with fixed factors that keep mean and variance.")
celu = _activation("celu", "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).", ("alpha", 1.0))
silu = _activation("silu", "x * sigmoid(x).")
mish = _activation("mish", "x * tanh(softplus(x)).")
hardtanh = _activation("hardtanh", "x limited to [min_val, max_val].", ("min_val", -1.0), ("max_val", 1.0))
hardsigmoid = _activation("hardsigmoid", "relu6(x + 3) / 6.")
hardswish = _activation("hardswish", "x * relu6(x + 3) / 6.")
threshold = _activation("threshold", "x, or value where x <= threshold.", ("threshold", None), ("value", None))
relu_, leaky_relu_, elu_, selu_, celu_, hardtanh_, threshold_ = (
    getattr(_C.TensorBase, n) for n in ("relu_", "leaky_relu_", "elu_", "selu_", "celu_", "hardtanh_", "threshold_"))


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu whose slope is drawn for each element, uniform from lower to upper; outside of training their mean."""
    return _written(input, _ops["rrelu"](input, lower, upper, training), inplace)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """rrelu, into `input`."""
    return rrelu(input, lower, upper, training, True)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution along `dim`; `hard`: one-hot, with the gradient of the soft sample. `eps` has no effect."""
    return _ops["gumbel_softmax"](logits, tau, hard, dim)


def _softmax_dim(name, input, stacklevel):
    dim = 0 if input.dim() in (0, 1, 3) else 1
    warnings.warn(f"{name} without dim guesses it, here {dim}; give dim", stacklevel=stacklevel)
    return dim


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) over the sum of it along `dim`."""
    return _ops["softmax"](input, _softmax_dim("softmax", input, _stacklevel) if dim is None else dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax."""
    return _ops["log_softmax"](input, _softmax_dim("log_softmax", input, _stacklevel) if dim is None else dim, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -x."""
    return _ops["softmin"](input, _softmax_dim("softmin", input, _stacklevel) if dim is None else dim, dtype)


def dropout(input, p=0.5, training=True, inplace=False):
    """In training zeroes elements with probability p, and scales the others by 1 / (1 - p)."""
    return _written(input, _ops["dropout"](input, p, training), inplace)


def _written(input, result, inplace):
    return input.copy_(result) if inplace else result


def _channel_dropout(name, input, dims, p, training, inplace):
    if input.dim() == dims - 1:
        return _channel_dropout(name, input.unsqueeze(0), dims, p, training, inplace).squeeze(0)
    if input.dim() != dims:
        raise ValueError(f"{name}: input must have {dims - 1} or {dims} dimensions, got shape {list(input.shape)}")
    return _written(input, _ops["feature_dropout"](input, p, training), inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels of [n, c, l] or [c, l]."""
    return _channel_dropout("dropout1d", input, 3, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels of [n, c, h, w]. As in PyTorch, three dimensions are [n, c, l]."""
    if input.dim() not in (3, 4):
        warnings.warn(f"dropout2d: {input.dim()} dimensions, where channels of images have 4", stacklevel=2)
    return _written(input, _ops["feature_dropout"](input, p, training), inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels of [n, c, d, h, w] or [c, d, h, w]."""
    return _channel_dropout("dropout3d", input, 5, p, training, inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """dropout that keeps mean 0 and variance 1, for networks with SELU."""
    return _written(input, _ops["alpha_dropout"](input, p, training), inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    return _written(input, _ops["feature_alpha_dropout"](input, p, training), inplace)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with any distance d; pairwise_distance by default."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin must be positive, got {margin}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"triplet_margin_with_distance_loss: unknown reduction '{reduction}'")
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (near - far + margin).clamp_min(0)
    return loss if reduction == "none" else getattr(loss, reduction)()


def _limit_norms(input, weight, max_norm, norm_type):
    """Scales those rows of `weight` that `input` names and whose norm is larger than `max_norm` down to it, in place."""
    table = weight.detach()
    named = _ops["zeros"]((table.size(0),), dtype=_C._dtypes["bool"])
    named[input.flatten()] = True
    norms = table.norm(norm_type, 1)
    large = named & (norms > max_norm)
    # The factor is rounded to the table's dtype once, as the norm is.
    factors = (max_norm / (norms.double() + 1e-7)).to(table.dtype)
    table.mul_(_ops["where"](large, factors, _ops["ones_like"](norms)).unsqueeze(1))


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` that `input` names. The gradient is dense, also with `sparse`."""
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.size(0) <= padding_idx < weight.size(0):
        raise ValueError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        _limit_norms(input, weight, max_norm, norm_type)
    return _ops["embedding"](weight, input, padding_idx, scale_grad_by_freq)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """The sum, mean or maximum of the rows of `weight` that each bag names. The bags are the rows of `input` [bags, n], or begin at `offsets` in
    `input` [n]. Rows `padding_idx` take no part. The gradient is dense, also with `sparse`."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode must be 'sum', 'mean' or 'max', got '{mode}'")
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise ValueError("embedding_bag: mode 'max' takes neither sparse nor scale_grad_by_freq")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(f"embedding_bag: per_sample_weights are for mode 'sum', got '{mode}'")
        if per_sample_weights.shape != input.shape:
            raise ValueError(f"embedding_bag: per_sample_weights must have the input's shape {list(input.shape)}, got {list(per_sample_weights.shape)}")
        per_sample_weights = per_sample_weights.reshape(-1)
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: an input of two dimensions takes no offsets")
        bags, n = input.shape
        offsets, include_last_offset = _ops["arange"](0, bags + 1) * n, True
        input = input.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"embedding_bag: input must have one dimension or two, got {list(input.shape)}")
    elif offsets is None or offsets.dim() != 1:
        raise ValueError("embedding_bag: an input of one dimension needs offsets of one dimension")
    if padding_idx is not None and not -weight.size(0) <= padding_idx < weight.size(0):
        raise ValueError("Padding_idx must be within num_embeddings")
    if max_norm is not None:
        _limit_norms(input, weight, max_norm, norm_type)
    return _ops["embedding_bag"](weight, input, offsets, scale_grad_by_freq, ("sum", "mean", "max").index(mode), sparse, per_sample_weights, include_last_offset,
                                 padding_idx)[0]


def _max_pool(name, dims):
    plain, with_indices = _ops[name], _ops[name + "_with_indices"]

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        stride = None if stride == [] or stride == () else stride
        return (with_indices if return_indices else plain)(input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__, pool.__doc__ = name, f"Maxima of windows in {dims} dimension(s); return_indices: and where they were."
    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(f"max_pool{n}d", n) for n in (1, 2, 3))


def _output_size(input, size, dims):
    """None keeps a size."""
    if isinstance(size, (tuple, list)):
        return [input.size(d - dims) if s is None else s for d, s in enumerate(size)]
    return [input.size(d - dims) for d in range(dims)] if size is None else size


def _adaptive(name, dims, indices):
    plain = _ops[name]
    if not indices:
        def pool(input, output_size):
            return plain(input, _output_size(input, output_size, dims))
    else:
        with_indices = _ops[name + "_with_indices"]

        def pool(input, output_size, return_indices=False):
            return (with_indices if return_indices else plain)(input, _output_size(input, output_size, dims))

    pool.__name__, pool.__doc__ = name, f"{'Maxima' if indices else 'Means'} of windows in {dims} dimension(s) such that the output has the given size."
    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive(f"adaptive_avg_pool{n}d", n, False) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive(f"adaptive_max_pool{n}d", n, True) for n in (1, 2, 3))


def _listed(x):
    """A number as a list of one."""
    return x if x is None or isinstance(x, (tuple, list)) else [x]


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool1d, with zeros where no maximum was."""
    return _ops["max_unpool1d"](input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool2d, with zeros where no maximum was."""
    return _ops["max_unpool2d"](input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool3d, with zeros where no maximum was."""
    return _ops["max_unpool3d"](input, indices, kernel_size, stride, padding, output_size)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images [n, c, h, w] as columns [n, c * kh * kw, windows]."""
    return _ops["im2col"](input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum of windows, given as columns, in images of `output_size`."""
    return _ops["col2im"](input, output_size, kernel_size, dilation, padding, stride)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Resizes the dimensions after the second one to `size` or by `scale_factor`."""
    return _ops["interpolate"](input, _listed(size), _listed(scale_factor), mode, align_corners, recompute_scale_factor, antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The same as interpolate."""
    warnings.warn("upsample is deprecated: use interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate with the nearest elements."""
    warnings.warn("upsample_nearest is deprecated: use interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate with mode bilinear and aligned corners."""
    warnings.warn("upsample_bilinear is deprecated: use interpolate with mode 'bilinear' and align_corners", stacklevel=2)
    return interpolate(input, size, scale_factor, "bilinear", True)


def kl_div(input, target, reduction="mean", log_target=False):
    """target * (log(target) - input), the divergence of the log-probabilities `input` from `target`, which are logarithms too with `log_target`."""
    if reduction == "mean":
        warnings.warn("kl_div: reduction 'mean' divides by the number of elements; the divergence divides by that of the rows, reduction 'batchmean'", stacklevel=2)
    return _ops["kl_div"](input, target, reduction, log_target)


__all__ = [n for n in globals() if not n.startswith("_") and n not in ("math", "warnings")]
