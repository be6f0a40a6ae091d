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


def _fractional_max_pool(name, dims):
    plain, with_indices = _ops[name], _ops[name + "_with_indices"]

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if isinstance(output_ratio, (int, float)):
            output_ratio = [output_ratio]
        return (with_indices if return_indices else plain)(input, kernel_size, output_size, output_ratio, _random_samples)

    pool.__name__, pool.__doc__ = name, f"Maxima of windows at random places in {dims} dimensions (Graham, Fractional max-pooling, 2014): `output_size` windows, or `output_ratio` times the extents."
    return pool


fractional_max_pool2d, fractional_max_pool3d = (_fractional_max_pool(f"fractional_max_pool{n}d", n) for n in (2, 3))
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = (_ops[f"fractional_max_pool{n}d_with_indices"] for n in (2, 3))


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


def _check_attention(name, query, key, value):
    if query.dim() not in (2, 3) or key.dim() != query.dim() or value.dim() != query.dim():
        raise _C.InvalidArgumentError(f"{name}: query, key and value must have 2 or 3 dimensions each, got {list(query.shape)}, {list(key.shape)} and {list(value.shape)}")


def _added_mask(mask, dtype):
    """A mask of bool, true where attention is forbidden, as one that is added; another as it is."""
    if mask is None or mask.dtype != _C._dtypes["bool"]:
        return mask
    return _ops["zeros"](mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight,
                                 out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False,
                                 q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False):
    """What MultiheadAttention computes: attention of `num_heads` heads over projections of query [l, n, e], key and value [s, n, features] (or without n). The
    weights are `in_proj_weight` [3 * e, e], or with `use_separate_proj_weight` the three others. `bias_k` and `bias_v` [1, 1, e] are one more key and value,
    `add_zero_attn` adds zeros; `static_k` and `static_v` [n * num_heads, s, e / num_heads] stand for the projections of key and value. `key_padding_mask` [n, s] and
    `attn_mask` [l, s] or [n * num_heads, l, s]: of bool, true forbids; others are added. `is_causal` says that `attn_mask` is the causal one, and needs it. Gives
    [l, n, e] and with `need_weights` the probabilities [n, l, s], or [n, num_heads, l, s] without `average_attn_weights`."""
    name = "multi_head_attention_forward"
    _check_attention(name, query, key, value)
    if is_causal and attn_mask is None:
        raise RuntimeError(f"{name}: is_causal needs attn_mask, which it is a hint for")
    e = query.size(-1)
    if e != embed_dim_to_check or e % num_heads:
        raise _C.InvalidArgumentError(f"{name}: query must have {embed_dim_to_check} features, a multiple of {num_heads}, got {list(query.shape)}")
    if (bias_k is None) != (bias_v is None) or ((static_k is not None or static_v is not None) and bias_k is not None):
        raise _C.InvalidArgumentError(f"{name}: bias_k and bias_v are given both or none, and not with static_k or static_v")
    single = query.dim() == 2
    # Batch first; what is the same tensor stays so, and is projected at once.
    q = query.unsqueeze(0) if single else query.transpose(0, 1)
    k = q if key is query else key.unsqueeze(0) if single else key.transpose(0, 1)
    v = k if value is key else value.unsqueeze(0) if single else value.transpose(0, 1)
    if key_padding_mask is not None and single:
        key_padding_mask = key_padding_mask.unsqueeze(0)
    n, length = q.size(0), q.size(1)
    if not use_separate_proj_weight and q is k and k is v:
        q, k, v = linear(q, in_proj_weight, in_proj_bias).split(e, -1)
    else:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.split(e)
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.split(e)
        q, k, v = (linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases))
    causal = is_causal and key_padding_mask is None and not need_weights and bias_k is None and not add_zero_attn
    mask = None if causal else _added_mask(attn_mask, q.dtype)
    padding = _added_mask(key_padding_mask, q.dtype)
    if mask is not None and mask.dim() == 3:
        mask = mask.view(n, num_heads, *mask.shape[1:])
    if bias_k is not None:
        k, v = _ops["cat"]([k, bias_k.expand(n, 1, -1)], 1), _ops["cat"]([v, bias_v.expand(n, 1, -1)], 1)
    q, k, v = (x.unflatten(-1, (num_heads, e // num_heads)).transpose(1, 2) for x in (q, k, v))
    k, v = (x if static is None else static.view(n, num_heads, *static.shape[1:]) for x, static in ((k, static_k), (v, static_v)))
    if add_zero_attn:
        k, v = (_ops["cat"]([x, x.new_zeros((n, num_heads, 1, e // num_heads))], 2) for x in (k, v))
    more = (bias_k is not None) + bool(add_zero_attn)
    if more:  # the keys that were added are open to all
        mask, padding = (x if x is None else pad(x, [0, more]) for x in (mask, padding))
    if padding is not None:
        padding = padding.view(n, 1, 1, -1)
        mask = padding if mask is None else mask + padding
    probability = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (q / math.sqrt(e // num_heads)) @ k.transpose(-2, -1)
        weights = softmax(scores if mask is None else scores + mask, -1)
        weights = dropout(weights, probability) if probability > 0 else weights
        output = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        output = scaled_dot_product_attention(q, k, v, mask, probability, causal)  # noqa: F405
    output = linear(output.transpose(1, 2).reshape(n, length, e), out_proj_weight, out_proj_bias)
    if single:
        return output.squeeze(0), None if weights is None else weights.squeeze(0)
    return output.transpose(0, 1), weights
