"""Attention with several heads, and the layers of transformers."""

import copy
import math

from trt import _C
from trt.nn import functional as F
from trt.nn import init
from trt.nn.containers import ModuleList
from trt.nn.dropout import Dropout
from trt.nn.layers import LayerNorm, Linear, _parameter
from trt.nn.module import Module

__all__ = ["MultiheadAttention", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]

_ops = _C._operators


class _OutProjection(Linear):
    """A Linear of the type name that PyTorch gives to it."""

    def _get_name(self):
        return "NonDynamicallyQuantizableLinear"


def _added(mask, dtype):
    """A mask of bool, true where attention is forbidden, as one that is added; another as it is."""
    if mask is None or mask.dtype != _C._dtypes["bool"]:
        return mask
    return _ops["zeros"](mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over projections of query, key and value: [l, n, embed_dim], [s, n, kdim], [s, n, vdim] ([n, l, ...] with
    `batch_first`; [l, ...] without a batch). Gives [l, n, embed_dim] and with `need_weights` the probabilities [n, l, s], or [n, num_heads, l, s]."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False,
                 device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention: embed_dim must be a positive multiple of num_heads, got {embed_dim} and {num_heads}")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first, self.head_dim = embed_dim, num_heads, dropout, batch_first, embed_dim // num_heads
        self.kdim, self.vdim, self.add_zero_attn = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        shapes = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = _parameter((3 * embed_dim, embed_dim), dtype, device)
            for name in shapes:
                self.register_parameter(name, None)
        else:
            for name, size in shapes.items():
                self.register_parameter(name, _parameter((embed_dim, size), dtype, device))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", _parameter((3 * embed_dim,), dtype, device) if bias else None)
        self.out_proj = _OutProjection(embed_dim, embed_dim, bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            if add_bias_kv:
                self.register_parameter(name, _parameter((1, 1, embed_dim), dtype, device))
            else:
                setattr(self, name, None)
        self._reset_parameters()

    def _reset_parameters(self):
        for w in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if w is not None:
                init.xavier_uniform_(w)
        for b in (self.in_proj_bias, self.out_proj.bias):
            if b is not None:
                init.zeros_(b)
        for b in (self.bias_k, self.bias_v):
            if b is not None:
                init.xavier_normal_(b)

    def _projected(self, query, key, value):
        e = self.embed_dim
        weights = self.in_proj_weight.split(e) if self._qkv_same_embed_dim else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self._qkv_same_embed_dim and query is key and key is value:
            return F.linear(query, self.in_proj_weight, self.in_proj_bias).split(e, -1)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.split(e)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        """`key_padding_mask` [n, s] and `attn_mask` [l, s] or [n * num_heads, l, s]: of bool, true forbids; others are added. `is_causal` says that
        `attn_mask` is the causal one, and needs it."""
        if is_causal and attn_mask is None:
            raise RuntimeError("MultiheadAttention: is_causal needs attn_mask, which it is a hint for")
        if query.dim() not in (2, 3) or key.dim() != query.dim() or value.dim() != query.dim():
            raise _C.InvalidArgumentError(f"MultiheadAttention: query, key and value must have 2 or 3 dimensions each, got {list(query.shape)}, "
                                          f"{list(key.shape)} and {list(value.shape)}")
        single = query.dim() == 2
        if single:
            q = query.unsqueeze(0)
            k = q if key is query else key.unsqueeze(0)
            v = k if value is key else value.unsqueeze(0)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            q, k, v = query, key, value
        else:
            q = query.transpose(0, 1)
            k = q if key is query else key.transpose(0, 1)
            v = k if value is key else value.transpose(0, 1)
        n, length = q.size(0), q.size(1)
        q, k, v = self._projected(q, k, v)
        causal = is_causal and key_padding_mask is None and not need_weights and self.bias_k is None and not self.add_zero_attn
        mask = None if causal else _added(attn_mask, q.dtype)
        padding = _added(key_padding_mask, q.dtype)
        if mask is not None and mask.dim() == 3:
            mask = mask.view(n, self.num_heads, *mask.shape[1:])
        if self.bias_k is not None:
            k, v = _ops["cat"]([k, self.bias_k.expand(n, 1, -1)], 1), _ops["cat"]([v, self.bias_v.expand(n, 1, -1)], 1)
        if self.add_zero_attn:
            k, v = (_ops["cat"]([x, x.new_zeros((n, 1, self.embed_dim))], 1) for x in (k, v))
        more = (self.bias_k is not None) + self.add_zero_attn
        if more:  # the keys that were added are open to all
            mask, padding = (x if x is None else F.pad(x, [0, more]) for x in (mask, padding))
        if padding is not None:
            padding = padding.view(n, 1, 1, -1)
            mask = padding if mask is None else mask + padding
        q, k, v = (x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for x in (q, k, v))
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            weights = F.dropout(weights, dropout) if dropout > 0 else weights
            output = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            output = F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        output = self.out_proj(output.transpose(1, 2).reshape(n, length, self.embed_dim))
        if single:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return (output if self.batch_first else output.transpose(0, 1)), weights


def _activation(activation):
    if isinstance(activation, str):
        if activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        return getattr(F, activation)
    return activation


class _TransformerLayer(Module):
    """The parts that both kinds of layers have, in the order of their names in a state dict."""

    attentions = ("self_attn",)

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **kind))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm_first = norm_first
        for i in range(1, len(self.attentions) + 2):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **kind))
        for i in range(1, len(self.attentions) + 2):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attended(self, name, dropout, x, memory, mask, padding, is_causal):
        return dropout(getattr(self, name)(x, memory, memory, padding, False, mask, is_causal=is_causal and mask is not None)[0])

    def _fed_forward(self, x, dropout):
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and two linear layers, each with a residual connection and layer_norm (before them with `norm_first`)."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attended(x):
            return self._attended("self_attn", self.dropout1, x, x, src_mask, src_key_padding_mask, is_causal)

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + self._fed_forward(self.norm2(x), self.dropout2)
        x = self.norm1(src + attended(src))
        return self.norm2(x + self._fed_forward(x, self.dropout2))


class TransformerDecoderLayer(_TransformerLayer):
    """As TransformerEncoderLayer, with attention to `memory` in between."""

    attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=False,
                memory_is_causal=False):
        def attended(x):
            return self._attended("self_attn", self.dropout1, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def crossed(x):
            return self._attended("multihead_attn", self.dropout2, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)

        if self.norm_first:
            x = tgt + attended(self.norm1(tgt))
            x = x + crossed(self.norm2(x))
            return x + self._fed_forward(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + attended(tgt))
        x = self.norm2(x + crossed(x))
        return self.norm3(x + self._fed_forward(x, self.dropout3))


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, and `norm` after them."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, and `norm` after them."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=None,
                memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)
