// Attention with several heads, and the layers of transformers.
#pragma once

#include "nn/layers.h"

namespace trt::nn {

struct AttentionOptions : ParameterOptions {
  int64_t kdim = 0, vdim = 0;  // 0: embed_dim
  double dropout = 0;
  bool bias = true;
  bool add_bias_kv = false;
  bool add_zero_attn = false;
  bool batch_first = false;
};
// Inputs: query [l, n, embed_dim], key [s, n, kdim], value [s, n, vdim] ([n, ...] with batch_first; without n for one sample), key_padding_mask [n, s],
// attn_mask [l, s] or [n * num_heads, l, s]. Outputs: as query; the probabilities [n, l, s], means over the heads; those of each head [n, num_heads, l, s].
ModulePtr multihead_attention(int64_t embed_dim, int64_t num_heads, const AttentionOptions& options);

struct TransformerOptions : ParameterOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  double layer_norm_eps = 1e-5;
  bool gelu = false;  // instead of relu
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
};
// Inputs: src, src_mask, src_key_padding_mask.
ModulePtr transformer_encoder_layer(int64_t d_model, int64_t nhead, const TransformerOptions& options);
// Inputs: tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask.
ModulePtr transformer_decoder_layer(int64_t d_model, int64_t nhead, const TransformerOptions& options);
// `num_layers` copies of a layer that one of the two above made, with its values, in "layers"; `norm` (may be null) after them. Inputs as the layer's.
ModulePtr transformer_encoder(const Module& layer, int64_t num_layers, ModulePtr norm);
ModulePtr transformer_decoder(const Module& layer, int64_t num_layers, ModulePtr norm);
// Both, with a layer_norm after each. Inputs: src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask.
ModulePtr transformer(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers, const TransformerOptions& options);

}  // namespace trt::nn
