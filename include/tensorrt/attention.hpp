// Layers in C++17 of several inputs or outputs: bilinear layers, bags of embeddings, attention, transformers. Over nn.h, which documents shapes,
// parameters and errors. Included by tensorrt.hpp.
#ifndef TENSORRT_ATTENTION_HPP
#define TENSORRT_ATTENTION_HPP

#include "tensorrt/layers.hpp"

namespace trt {
namespace nn {

/** x1 W x2 + b. */
class Bilinear : public Layer<Bilinear> {
 public:
  using Layer::Layer;
  Bilinear() = default;
  /** The options' numbers of features are those of the first input and of the output. */
  Bilinear(const LinearOptions& o, std::int64_t in2_features)
      : Layer(detail::create(trt_bilinear_create, o.in_features(), in2_features, o.out_features(), o.c())) {}
  Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, bool bias = true)
      : Bilinear(LinearOptions(in1_features, out_features).bias(bias), in2_features) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const { return forward_with({x1, x2})[0]; }
  Tensor operator()(const Tensor& x1, const Tensor& x2) const { return forward(x1, x2); }
};

/** Options of EmbeddingBag. */
class EmbeddingBagOptions : public ParameterOptions<EmbeddingBagOptions, trt_embedding_bag_options> {
 public:
  EmbeddingBagOptions(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : ParameterOptions(trt_embedding_bag_options_init), num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  /** TRT_BAG_MEAN without. */
  EmbeddingBagOptions& mode(trt_bag_mode v) {
    c_.mode = v;
    return *this;
  }
  EmbeddingBagOptions& scale_grad_by_freq(bool v) {
    c_.scale_grad_by_freq = v;
    return *this;
  }
  /** Whether offsets end with the number of indices. */
  EmbeddingBagOptions& include_last_offset(bool v) {
    c_.include_last_offset = v;
    return *this;
  }
  /** A row that is zero at first and takes no part. */
  EmbeddingBagOptions& padding_idx(std::int64_t v) {
    c_.has_padding_idx = true;
    c_.padding_idx = v;
    return *this;
  }
  std::int64_t num_embeddings() const { return num_embeddings_; }
  std::int64_t embedding_dim() const { return embedding_dim_; }

 private:
  std::int64_t num_embeddings_, embedding_dim_;
};
/** The sum, mean or maximum of the rows of a table that each bag names. */
class EmbeddingBag : public Layer<EmbeddingBag> {
 public:
  using Layer::Layer;
  EmbeddingBag() = default;
  explicit EmbeddingBag(const EmbeddingBagOptions& o)
      : Layer(detail::create(trt_embedding_bag_create, o.num_embeddings(), o.embedding_dim(), o.c())) {}
  EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim) : EmbeddingBag(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  Tensor weight() const { return parameter("weight"); }
  Tensor forward(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {}) const {
    return forward_with({input, offsets, per_sample_weights})[0];
  }
  Tensor operator()(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {}) const {
    return forward(input, offsets, per_sample_weights);
  }
};

/** Options of MultiheadAttention. */
class MultiheadAttentionOptions : public ParameterOptions<MultiheadAttentionOptions, trt_attention_options> {
 public:
  MultiheadAttentionOptions(std::int64_t embed_dim, std::int64_t num_heads)
      : ParameterOptions(trt_attention_options_init), embed_dim_(embed_dim), num_heads_(num_heads) {}
  MultiheadAttentionOptions& dropout(double v) {
    c_.dropout = v;
    return *this;
  }
  MultiheadAttentionOptions& bias(bool v) {
    c_.bias = v;
    return *this;
  }
  MultiheadAttentionOptions& add_bias_kv(bool v) {
    c_.add_bias_kv = v;
    return *this;
  }
  MultiheadAttentionOptions& add_zero_attn(bool v) {
    c_.add_zero_attn = v;
    return *this;
  }
  MultiheadAttentionOptions& batch_first(bool v) {
    c_.batch_first = v;
    return *this;
  }
  MultiheadAttentionOptions& kdim(std::int64_t v) {
    c_.kdim = v;
    return *this;
  }
  MultiheadAttentionOptions& vdim(std::int64_t v) {
    c_.vdim = v;
    return *this;
  }
  std::int64_t embed_dim() const { return embed_dim_; }
  std::int64_t num_heads() const { return num_heads_; }

 private:
  std::int64_t embed_dim_, num_heads_;
};
/** Attention of several heads. Called, it gives the output and the probabilities (empty unless wanted). */
class MultiheadAttention : public Layer<MultiheadAttention> {
 public:
  using Layer::Layer;
  MultiheadAttention() = default;
  explicit MultiheadAttention(const MultiheadAttentionOptions& o)
      : Layer(detail::create(trt_multihead_attention_create, o.embed_dim(), o.num_heads(), o.c())) {}
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads) : MultiheadAttention(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask = {},
                                     bool need_weights = true, const Tensor& attn_mask = {}, bool average_attn_weights = true) const {
    const std::size_t outputs = !need_weights ? 1 : average_attn_weights ? 2 : 3;
    auto all = forward_with({query, key, value, key_padding_mask, attn_mask}, outputs);
    return {all[0], need_weights ? all.back() : Tensor()};
  }
  std::tuple<Tensor, Tensor> operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask = {},
                                        bool need_weights = true, const Tensor& attn_mask = {}, bool average_attn_weights = true) const {
    return forward(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights);
  }
};

/** Options of the layers of transformers. */
class TransformerOptions : public ParameterOptions<TransformerOptions, trt_transformer_options> {
 public:
  TransformerOptions(std::int64_t d_model, std::int64_t nhead) : ParameterOptions(trt_transformer_options_init), d_model_(d_model), nhead_(nhead) {}
  TransformerOptions& dim_feedforward(std::int64_t v) {
    c_.dim_feedforward = v;
    return *this;
  }
  TransformerOptions& dropout(double v) {
    c_.dropout = v;
    return *this;
  }
  TransformerOptions& layer_norm_eps(double v) {
    c_.layer_norm_eps = v;
    return *this;
  }
  TransformerOptions& batch_first(bool v) {
    c_.batch_first = v;
    return *this;
  }
  TransformerOptions& norm_first(bool v) {
    c_.norm_first = v;
    return *this;
  }
  TransformerOptions& bias(bool v) {
    c_.bias = v;
    return *this;
  }
  /** Instead of relu. */
  TransformerOptions& gelu(bool v) {
    c_.gelu = v;
    return *this;
  }
  std::int64_t d_model() const { return d_model_; }
  std::int64_t nhead() const { return nhead_; }

 private:
  std::int64_t d_model_, nhead_;
};
using TransformerEncoderLayerOptions = TransformerOptions;
using TransformerDecoderLayerOptions = TransformerOptions;
/** Self-attention and two linear layers, each with a residual connection and layer_norm. */
class TransformerEncoderLayer : public Layer<TransformerEncoderLayer> {
 public:
  using Layer::Layer;
  TransformerEncoderLayer() = default;
  explicit TransformerEncoderLayer(const TransformerOptions& o) : Layer(detail::create(trt_transformer_encoder_layer_create, o.d_model(), o.nhead(), o.c())) {}
  TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead) : TransformerEncoderLayer(TransformerOptions(d_model, nhead)) {}
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {}) const {
    return forward_with({src, src_mask, src_key_padding_mask})[0];
  }
  Tensor operator()(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {}) const {
    return forward(src, src_mask, src_key_padding_mask);
  }
};
/** As TransformerEncoderLayer, with attention to `memory` in between. */
class TransformerDecoderLayer : public Layer<TransformerDecoderLayer> {
 public:
  using Layer::Layer;
  TransformerDecoderLayer() = default;
  explicit TransformerDecoderLayer(const TransformerOptions& o) : Layer(detail::create(trt_transformer_decoder_layer_create, o.d_model(), o.nhead(), o.c())) {}
  TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead) : TransformerDecoderLayer(TransformerOptions(d_model, nhead)) {}
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {}) const {
    return forward_with({tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask})[0];
  }
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                    const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {}) const {
    return forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  }
};
/** `num_layers` copies of a TransformerEncoderLayer, and `norm` (an empty one: none) after them. */
class TransformerEncoder : public Layer<TransformerEncoder> {
 public:
  using Layer::Layer;
  TransformerEncoder() = default;
  TransformerEncoder(const Module& layer, std::int64_t num_layers, const Module& norm = Module())
      : Layer(detail::create(trt_transformer_encoder_create, layer.get(), num_layers, norm.get())) {}
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {}) const {
    return forward_with({src, src_mask, src_key_padding_mask})[0];
  }
  Tensor operator()(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {}) const {
    return forward(src, src_mask, src_key_padding_mask);
  }
};
/** `num_layers` copies of a TransformerDecoderLayer, and `norm` (an empty one: none) after them. */
class TransformerDecoder : public Layer<TransformerDecoder> {
 public:
  using Layer::Layer;
  TransformerDecoder() = default;
  TransformerDecoder(const Module& layer, std::int64_t num_layers, const Module& norm = Module())
      : Layer(detail::create(trt_transformer_decoder_create, layer.get(), num_layers, norm.get())) {}
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {}) const {
    return forward_with({tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask})[0];
  }
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                    const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {}) const {
    return forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  }
};
/** An encoder of `src`, and a decoder of `tgt` that attends to what it gives. */
class Transformer : public Layer<Transformer> {
 public:
  using Layer::Layer;
  Transformer() = default;
  explicit Transformer(const TransformerOptions& o, std::int64_t num_encoder_layers = 6, std::int64_t num_decoder_layers = 6)
      : Layer(detail::create(trt_transformer_create, o.d_model(), o.nhead(), num_encoder_layers, num_decoder_layers, o.c())) {}
  Transformer(std::int64_t d_model, std::int64_t nhead, std::int64_t num_encoder_layers = 6, std::int64_t num_decoder_layers = 6)
      : Transformer(TransformerOptions(d_model, nhead), num_encoder_layers, num_decoder_layers) {}
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {}) const {
    return forward_with({src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask})[0];
  }
  Tensor operator()(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                    const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {}) const {
    return forward(src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask);
  }
};

}  // namespace nn
}  // namespace trt

#endif
