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

__all__ = ["MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]

_ops = _C._operators


class _OutProjection(Linear):
    """A Linear of the type name that PyTorch gives to it."""

    def _get_name(self):
        return "NonDynamicallyQuantizableLinear"


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

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        """`key_padding_mask` [n, s] and `attn_mask` [l, s] or [n * num_heads, l, s]: of bool, true forbids; others are added. `is_causal` says that
        `attn_mask` is the causal one, and needs it."""
        F._check_attention("MultiheadAttention", query, key, value)
        exchanged = self.batch_first and query.dim() == 3
        if exchanged:
            q = query.transpose(0, 1)
            k = q if key is query else key.transpose(0, 1)
            v = k if value is key else value.transpose(0, 1)
        else:
            q, k, v = query, key, value
        output, weights = F.multi_head_attention_forward(
            q, k, v, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim,
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
        return (output.transpose(0, 1) if exchanged else output), weights


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


class Transformer(Module):
    """An encoder of `src` [s, n, d_model] and a decoder of `tgt` [l, n, d_model] that attends to what it gives ([n, s, d_model] with `batch_first`; without a batch
    [s, d_model]). Gives as `tgt`. `custom_encoder` and `custom_decoder` are other modules for them."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation="relu", custom_encoder=None,
                 custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        kind = {"device": device, "dtype": dtype}

        def part(layer, stack, count):
            one = layer(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, **kind)
            return stack(one, count, LayerNorm(d_model, layer_norm_eps, bias=bias, **kind))

        self.encoder = part(TransformerEncoderLayer, TransformerEncoder, num_encoder_layers) if custom_encoder is None else custom_encoder
        self.decoder = part(TransformerDecoderLayer, TransformerDecoder, num_decoder_layers) if custom_decoder is None else custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The mask [sz, sz] that lets position i see the positions up to i: -inf above the diagonal, 0 elsewhere."""
        return _ops["full"]((sz, sz), -math.inf, dtype=dtype or _C.trt_get_default_dtype(), device=device).triu(1)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):
        """Masks as those of MultiheadAttention, each for one of the three attentions."""
        if src.dim() not in (2, 3) or tgt.dim() != src.dim():
            raise _C.InvalidArgumentError(f"Transformer: src and tgt must have 2 or 3 dimensions each, got {list(src.shape)} and {list(tgt.shape)}")
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise _C.InvalidArgumentError(f"Transformer: the batch number of src and tgt must be equal, got {list(src.shape)} and {list(tgt.shape)}")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise _C.InvalidArgumentError(f"Transformer: the feature number of src and tgt must be equal to d_model, {self.d_model}, got {list(src.shape)} and {list(tgt.shape)}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
