"""Layers with weights, normalizations, pooling, changes of shape."""

import math

from trt import _C
from trt.nn import functional as F
from trt.nn import init
from trt.nn.module import Module
from trt.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d",
           "AvgPool2d", "AvgPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "ChannelShuffle", "Conv1d",
           "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineSimilarity", "Embedding", "EmbeddingBag", "Flatten",
           "Fold", "FractionalMaxPool2d", "FractionalMaxPool3d", "GroupNorm", "Identity", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "Linear", "LocalResponseNorm", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
           "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle", "RMSNorm", "Unflatten",
           "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]

_ops = _C._operators


def _parameter(shape, dtype, device):
    if None in shape:  # of a lazy module
        return UninitializedParameter(device=device, dtype=dtype)
    return Parameter(_ops["empty"](tuple(shape), dtype=dtype or _C.trt_get_default_dtype(), device=device))


def _tuple(value, n):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def _reset(weight, bias):
    """PyTorch's defaults of Linear and the convolutions: uniform in +-1/sqrt(fan_in), weight and bias."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in = weight[0].numel() if weight.size(0) else 0
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


def _buffer(fill, size, kind):
    """Zeros or ones of a length; None: that of a lazy module."""
    return UninitializedBuffer(**kind) if size is None else _ops[fill]((size,), **kind)


class Identity(Module):
    """Gives its input; takes any arguments."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x W^T + b: [..., in_features] to [..., out_features]."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if (in_features or 0) < 0 or out_features < 0:
            raise ValueError(f"Linear: the numbers of features must not be negative, got {in_features} and {out_features}")
        self.in_features, self.out_features = self._known(in_features), out_features
        self.weight = _parameter((out_features, in_features), dtype, device)
        self.register_parameter("bias", _parameter((out_features if in_features is not None else None,), dtype, device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew."""
        _reset(self.weight, self.bias)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 W x2 + b."""

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = _parameter((out_features, in1_features, in2_features), dtype, device)
        self.register_parameter("bias", _parameter((out_features,), dtype, device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, bias={self.bias is not None}")


class Embedding(Module):
    """A table whose rows integers name: [...] to [..., embedding_dim]."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, _weight=None, device=None,
                 dtype=None):
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = _parameter((num_embeddings, embedding_dim), dtype, device)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **kwargs):
        """An Embedding of a given table."""
        module = cls(*embeddings.shape, padding_idx=padding_idx, _weight=embeddings, **kwargs)
        module.weight.requires_grad_(not freeze)
        return module

    def reset_parameters(self):
        """Draws the table anew."""
        if self.weight.numel():
            init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx] = 0

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}" + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")


class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows of a table that each bag names."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False, _weight=None,
                 include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type, self.padding_idx = num_embeddings, embedding_dim, max_norm, norm_type, padding_idx
        self.scale_grad_by_freq, self.mode, self.sparse, self.include_last_offset = scale_grad_by_freq, mode, sparse, include_last_offset
        if _weight is None:
            self.weight = _parameter((num_embeddings, embedding_dim), dtype, device)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self):
        """Draws the table anew."""
        if self.weight.numel():
            init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx] = 0

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
                               self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        return (f"{self.num_embeddings}, {self.embedding_dim}" + (f", max_norm={self.max_norm}" if self.max_norm is not None else "")
                + (f", norm_type={self.norm_type}" if self.norm_type != 2 else "") + (", scale_grad_by_freq=True" if self.scale_grad_by_freq else "")
                + f", mode={self.mode!r}"
                + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""))


class _Conv(Module):
    dims = 2
    transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", device=None, dtype=None,
                 output_padding=0):
        super().__init__()
        n = self.dims
        self.in_channels, self.out_channels, self.groups, self.padding_mode = self._known(in_channels), out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.dilation, self.output_padding = (_tuple(v, n) for v in (kernel_size, stride, dilation, output_padding))
        self.padding = padding if isinstance(padding, str) else _tuple(padding, n)
        lazy = in_channels is None
        if groups <= 0 or (not lazy and in_channels <= 0) or out_channels <= 0:
            raise ValueError(f"{type(self).__name__}: channels and groups must be positive, got {in_channels} and {out_channels} channels, {groups} groups")
        if (not lazy and in_channels % groups) or out_channels % groups:
            raise ValueError(f"{type(self).__name__}: {in_channels} and {out_channels} channels cannot be divided into {groups} groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"padding_mode must be one of 'zeros', 'reflect', 'replicate' and 'circular', but got padding_mode='{padding_mode}'")
        if isinstance(padding, str) and (padding not in ("same", "valid") or padding == "same" and any(s != 1 for s in self.stride)):
            raise ValueError(f"{type(self).__name__}: padding is 'valid', 'same' (with stride 1) or a number, got '{padding}' with stride {self.stride}")
        self.weight = _parameter((None,) if lazy else self._weight_shape(), dtype, device)
        self.register_parameter("bias", _parameter((None if lazy else out_channels,), dtype, device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew."""
        _reset(self.weight, self.bias)

    def _weight_shape(self):
        channels = (self.in_channels, self.out_channels // self.groups) if self.transposed else (self.out_channels, self.in_channels // self.groups)
        return channels + self.kernel_size

    def _padded(self, input):
        """(input, padding of the operator): other padding modes pad before."""
        if self.padding_mode == "zeros":
            return input, self.padding
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            sides = [(t // 2, t - t // 2) for t in total]
        else:
            sides = [(p, p) for p in (_tuple(0, self.dims) if self.padding == "valid" else self.padding)]
        return F.pad(input, [s for side in reversed(sides) for s in side], mode=self.padding_mode), _tuple(0, self.dims)

    def extra_repr(self):
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if isinstance(self.padding, str):
            s += f", padding={self.padding}"
        elif any(self.padding):
            s += f", padding={self.padding}"
        if any(d != 1 for d in self.dilation):
            s += f", dilation={self.dilation}"
        if any(self.output_padding):
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s


class Conv1d(_Conv):
    """Convolution: [n, in, l] or [in, l] to [n, out, l'] or [out, l']."""

    dims = 1

    def forward(self, input):
        input, padding = self._padded(input)
        return F.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Convolution: [n, in, h, w] or [in, h, w] to [n, out, h', w'] or [out, h', w']."""

    def forward(self, input):
        input, padding = self._padded(input)
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Convolution: [n, in, d, h, w] or [in, d, h, w] to [n, out, d', h', w'] or [out, d', h', w']."""

    dims = 3

    def forward(self, input):
        input, padding = self._padded(input)
        return F.conv3d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros", device=None,
                 dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f"Only \"zeros\" padding mode is supported for {type(self).__name__}")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype, output_padding)

    def _output_padding(self, input, output_size):
        if output_size is None:
            return self.output_padding
        wanted = tuple(output_size)[-self.dims:]
        smallest = [(input.size(i - self.dims) - 1) * self.stride[i] - 2 * self.padding[i] + self.dilation[i] * (self.kernel_size[i] - 1) + 1 for i in range(self.dims)]
        found = tuple(w - s for w, s in zip(wanted, smallest))
        if any(not 0 <= p < max(s, d) for p, s, d in zip(found, self.stride, self.dilation)):
            raise ValueError(f"requested an output size of {wanted}, but it must be at least {smallest} and less than a stride more")
        return found


class ConvTranspose1d(_ConvTranspose):
    """The gradient of Conv1d as a layer."""

    dims = 1

    def forward(self, input, output_size=None):
        return F.conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size), self.groups, self.dilation)


class ConvTranspose2d(_ConvTranspose):
    """The gradient of Conv2d as a layer."""

    def forward(self, input, output_size=None):
        return F.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size), self.groups, self.dilation)


class ConvTranspose3d(_ConvTranspose):
    """The gradient of Conv3d as a layer."""

    dims = 3

    def forward(self, input, output_size=None):
        return F.conv_transpose3d(input, self.weight, self.bias, self.stride, self.padding, self._output_padding(input, output_size), self.groups, self.dilation)


class _Norm(Module):
    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype):
        super().__init__()
        self.num_features, self.eps, self.momentum, self.affine, self.track_running_stats = self._known(num_features), eps, momentum, affine, track_running_stats
        for name in ("weight", "bias"):
            self.register_parameter(name, _parameter((num_features,), dtype, device) if affine else None)
        kind = dict(dtype=dtype or _C.trt_get_default_dtype(), device=device)
        self.register_buffer("running_mean", _buffer("zeros", num_features, kind) if track_running_stats else None)
        self.register_buffer("running_var", _buffer("ones", num_features, kind) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", _ops["zeros"]((), dtype=_C._dtypes["int64"]) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forgets the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Sets weight to ones, bias to zeros, and forgets the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")


class _BatchNorm(_Norm):
    ranks = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        if input.dim() not in self.ranks:
            raise _C.InvalidArgumentError(f"{type(self).__name__}: input must have {' or '.join(map(str, self.ranks))} dimensions, got shape {list(input.shape)}")
        if not self.track_running_stats:
            return F.batch_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)
        if not self.training:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        momentum = self.momentum if self.momentum is not None else 1.0 / (int(self.num_batches_tracked) + 1)
        result = F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, True, momentum, self.eps)
        self.num_batches_tracked.add_(1)
        return result


class BatchNorm1d(_BatchNorm):
    """Normalizes [n, c] or [n, c, l] over all but the channels."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes [n, c, h, w] over all but the channels."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes [n, c, d, h, w] over all but the channels."""

    ranks = (5,)


class _InstanceNorm(_Norm):
    ranks = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        if input.dim() not in self.ranks:
            raise _C.InvalidArgumentError(f"{type(self).__name__}: input must have {' or '.join(map(str, self.ranks))} dimensions, got shape {list(input.shape)}")
        batched = input if input.dim() == self.ranks[-1] else input.unsqueeze(0)
        own = self.training or not self.track_running_stats
        result = F.instance_norm(batched, self.running_mean, self.running_var, self.weight, self.bias, own, self.momentum or 0.0, self.eps)
        return result if batched is input else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes [n, c, l] or [c, l] over each channel of each sample."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalizes [n, c, h, w] or [c, h, w] over each channel of each sample."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalizes [n, c, d, h, w] or [c, d, h, w] over each channel of each sample."""

    ranks = (4, 5)


class LayerNorm(Module):
    """Normalizes over the last dimensions."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _tuple(normalized_shape, 1), eps, elementwise_affine
        self.register_parameter("weight", _parameter(self.normalized_shape, dtype, device) if elementwise_affine else None)
        self.register_parameter("bias", _parameter(self.normalized_shape, dtype, device) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets weight to ones and bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _tuple(normalized_shape, 1), eps, elementwise_affine
        self.register_parameter("weight", _parameter(self.normalized_shape, dtype, device) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalizes [n, c, ...] over groups of channels."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name in ("weight", "bias"):
            self.register_parameter(name, _parameter((num_channels,), dtype, device) if affine else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets weight to ones and bias to zeros."""
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class _Plain(Module):
    """A module that calls a function with its options; `options` are the names of both, in the order of the constructor."""

    options = ()
    shown = None
    repr_names = True

    def extra_repr(self):
        shown = self.options if self.shown is None else self.shown
        return ", ".join((f"{n}=" if self.repr_names else "") + (repr(v) if not isinstance(v, str) else v) for n in shown for v in [getattr(self, n)])


class LocalResponseNorm(_Plain):
    """Normalizes over neighbouring channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class Flatten(_Plain):
    """Joins the dimensions start_dim to end_dim."""

    options = ("start_dim", "end_dim")

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(_Plain):
    """Splits dimension `dim` into several."""

    options = ("dim", "unflattened_size")

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)


class _MaxPool(_Plain):
    options = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, kernel_size if stride is None else stride, padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode


class MaxPool1d(_MaxPool):
    """Maxima of windows: [n, c, l] or [c, l]."""

    def forward(self, input):
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)


class MaxPool2d(_MaxPool):
    """Maxima of windows: [n, c, h, w] or [c, h, w]."""

    def forward(self, input):
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)


class MaxPool3d(_MaxPool):
    """Maxima of windows: [n, c, d, h, w] or [c, d, h, w]."""

    def forward(self, input):
        return F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)


class _FractionalMaxPool(Module):
    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__} needs either output_size or output_ratio")
        self.kernel_size, self.return_indices, self._random_samples = _tuple(kernel_size, self.dims), return_indices, _random_samples
        self.output_size = None if output_size is None else _tuple(output_size, self.dims)
        self.output_ratio = None if output_ratio is None else _tuple(output_ratio, self.dims)
        if self.output_ratio and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        return self.function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows at random places: [n, c, h, w] or [c, h, w]."""

    dims, function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows at random places: [n, c, d, h, w] or [c, d, h, w]."""

    dims, function = 3, staticmethod(F.fractional_max_pool3d)


class _MaxUnpool(_Plain):
    options = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = (_tuple(v, self.dims) for v in (kernel_size, kernel_size if stride is None else stride, padding))

    def forward(self, input, indices, output_size=None):
        return self.function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """The inverse of MaxPool1d, with zeros where no maximum was."""

    dims = 1
    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """The inverse of MaxPool2d, with zeros where no maximum was."""

    dims = 2
    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """The inverse of MaxPool3d, with zeros where no maximum was."""

    dims = 3
    function = staticmethod(F.max_unpool3d)


class AvgPool1d(_Plain):
    """Means of windows: [n, c, l] or [c, l]."""

    options = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad = (
            _tuple(kernel_size, 1), _tuple(kernel_size if stride is None else stride, 1), _tuple(padding, 1), ceil_mode, count_include_pad)

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_Plain):
    """Means of windows: [n, c, h, w] or [c, h, w]."""

    options = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override = (
            kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)

    def forward(self, input):
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool3d(_Plain):
    """Means of windows: [n, c, d, h, w] or [c, d, h, w]."""

    options = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override = (
            kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)

    def forward(self, input):
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


class _LPPool(_Plain):
    options = ("norm_type", "kernel_size", "stride", "ceil_mode")
    function = None

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return self.function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPool):
    """The power average of each window of [n, c, l]."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The power average of each window of [n, c, h, w]."""

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The power average of each window of [n, c, d, h, w]."""

    function = staticmethod(F.lp_pool3d)


class _AdaptivePool(_Plain):
    options = ("output_size",)

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return self.function(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of windows such that the output has the given length."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Means of windows such that the output has the given size."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptivePool):
    """Means of windows such that the output has the given size."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return self.function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of windows such that the output has the given length."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of windows such that the output has the given size."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of windows such that the output has the given size."""

    function = staticmethod(F.adaptive_max_pool3d)


class Upsample(Module):
    """Resizes the dimensions after the second one (functional.interpolate)."""

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.name = type(self).__name__
        self.size = tuple(size) if isinstance(size, (tuple, list)) else size
        self.scale_factor = tuple(map(float, scale_factor)) if isinstance(scale_factor, (tuple, list)) else float(scale_factor) if scale_factor else None
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self):
        what = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with the nearest elements."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode bilinear and aligned corners."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(_Plain):
    """Channels become the pixels of blocks: [..., c * r * r, h, w] to [..., c, h * r, w * r]."""

    options = ("upscale_factor",)

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(_Plain):
    """The inverse of PixelShuffle."""

    options = ("downscale_factor",)

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(_Plain):
    """Divides the channels into groups and interleaves these."""

    options = ("groups",)

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


class Unfold(_Plain):
    """The windows of images as columns (functional.unfold)."""

    options = ("kernel_size", "dilation", "padding", "stride")

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Plain):
    """The sum of windows, given as columns, in images (functional.fold)."""

    options = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = output_size, kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class CosineSimilarity(_Plain):
    """The cosine of the angle between vectors along `dim`."""

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(_Plain):
    """The p-norm of differences along the last dimension."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
