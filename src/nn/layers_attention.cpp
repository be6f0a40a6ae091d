#include "nn/layers_attention.h"

#include <cmath>
#include <limits>

#include "autograd/meta.h"
#include "core/modes.h"
#include "gen/all_ops.h"
#include "nn/init.h"

namespace trt::nn {

namespace {

// Far beyond any memory, and products of them do not overflow.
constexpr int64_t kMaxSize = int64_t{1} << 30;
constexpr int64_t kMaxLayers = 1 << 16;

// A mask of bool, true where attention is forbidden, as one that is added; another as it is.
Tensor added_mask(const Tensor& mask, DType dtype) {
  if (!mask.defined() || mask.dtype() != DType::Bool) return mask;
  return op::masked_fill(op::zeros(mask.sizes(), dtype, mask.device()), mask, Scalar(-std::numeric_limits<double>::infinity()));
}

class MultiheadAttention final : public MultiInput {
 public:
  MultiheadAttention(int64_t embed, int64_t heads, const AttentionOptions& o) : MultiInput("MultiheadAttention"), embed_(embed), heads_(heads), o_(o) {
    o_.generator = nullptr;
    TRT_CHECK(embed > 0 && heads > 0 && embed % heads == 0, "MultiheadAttention: embed_dim must be a positive multiple of num_heads, got ", embed, " and ",
              heads);
    TRT_CHECK(o.kdim >= 0 && o.vdim >= 0, "MultiheadAttention: kdim and vdim must not be negative, got ", o.kdim, " and ", o.vdim);
    TRT_CHECK(embed <= kMaxSize && o.kdim <= kMaxSize && o.vdim <= kMaxSize, "MultiheadAttention: embed_dim ", embed, ", kdim ", o.kdim, " and vdim ", o.vdim,
              " are too large");
    TRT_CHECK(o.dropout >= 0 && o.dropout <= 1, "MultiheadAttention: a probability must lie in [0, 1], got ", o.dropout);
    if (!o.kdim) o_.kdim = embed;
    if (!o.vdim) o_.vdim = embed;
    o_.dtype = o.dtype == DType::Undefined ? thread_state.default_dtype : o.dtype;
    TRT_CHECK(is_floating(o_.dtype), "MultiheadAttention: a floating-point dtype is needed, got ", o_.dtype);
    joint_ = o_.kdim == embed && o_.vdim == embed;
    add("in_proj_weight", joint_, {3 * embed, embed});
    add("q_proj_weight", !joint_, {embed, embed});
    add("k_proj_weight", !joint_, {embed, o_.kdim});
    add("v_proj_weight", !joint_, {embed, o_.vdim});
    add("in_proj_bias", o.bias, {3 * embed});
    add("bias_k", o.add_bias_kv, {1, 1, embed});
    add("bias_v", o.add_bias_kv, {1, 1, embed});
    out_proj_ = linear(embed, embed, o.bias, {o_.dtype, o.generator}, "NonDynamicallyQuantizableLinear");
    register_child("out_proj", out_proj_);
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override {
    for (size_t i = kJoint; i <= kValue; ++i)
      if (param(i).defined()) init::xavier_uniform_(param(i), 1, generator);
    if (o_.bias) {
      init::constant_(param(kBias), 0);
      init::constant_(out_proj_->parameter("bias"), 0);
    }
    for (size_t i = kBiasK; i <= kBiasV; ++i)
      if (param(i).defined()) init::xavier_normal_(param(i), 1, generator);
  }
  Signature signature() const override { return {{"query", "key", "value", "key_padding_mask", "attn_mask"}, 3, 3}; }
  std::vector<Tensor> run(TensorList inputs, size_t outputs) override {
    const Tensor &query = inputs[0], &key = inputs[1], &value = inputs[2];
    check(query, key, value);
    const bool single = query.dim() == 2;
    const auto batched = [&](const Tensor& t) { return single ? op::unsqueeze(t, 0) : o_.batch_first ? t : op::transpose(t, 0, 1); };
    const Tensor q_in = batched(query), k_in = key.is_same(query) ? q_in : batched(key), v_in = value.is_same(key) ? k_in : batched(value);
    const int64_t n = q_in.size(0), l = q_in.size(1), s = k_in.size(1), head = embed_ / heads_;
    auto [q, k, v] = projected(q_in, k_in, v_in);
    Tensor mask = added_mask(checked_mask(inputs[4], n, l, s), q.dtype());
    Tensor padding = added_mask(checked_padding(inputs[3], single, n, s), q.dtype());
    int64_t more = 0;
    const auto append = [&](const Tensor& k_more, const Tensor& v_more) {
      const Tensor keys[] = {k, k_more}, values[] = {v, v_more};
      k = op::cat(TensorList(keys, 2), 1);
      v = op::cat(TensorList(values, 2), 1);
      ++more;
    };
    if (o_.add_bias_kv) append(op::expand(param(kBiasK), {n, 1, embed_}), op::expand(param(kBiasV), {n, 1, embed_}));
    if (o_.add_zero_attn) {
      const Tensor zero = op::zeros({n, 1, embed_}, k.dtype(), k.device());
      append(zero, zero);
    }
    if (more) {  // the keys that were added are open to all
      if (mask.defined()) mask = op::pad(mask, {0, more});
      if (padding.defined()) padding = op::pad(padding, {0, more});
    }
    if (mask.defined() && mask.dim() == 3) mask = op::reshape(mask, {n, heads_, l, s + more});
    if (padding.defined()) {
      padding = op::reshape(padding, {n, 1, 1, s + more});
      mask = mask.defined() ? op::add(mask, padding) : padding;
    }
    const auto by_head = [&](const Tensor& t) { return op::transpose(op::unflatten(t, -1, {heads_, head}), 1, 2); };
    q = by_head(q);
    k = by_head(k);
    v = by_head(v);
    const double p = training() ? o_.dropout : 0;
    Tensor weights, y;
    if (outputs > 1) {
      const Tensor scores = op::matmul(op::div(q, Scalar(std::sqrt(static_cast<double>(head)))), op::transpose(k, -2, -1));
      weights = op::softmax(mask.defined() ? op::add(scores, mask) : scores, -1);
      if (p > 0) weights = op::dropout(weights, p, true);
      y = op::matmul(weights, v);
    } else {
      y = op::scaled_dot_product_attention(q, k, v, mask, p);
    }
    y = (*out_proj_)(op::reshape(op::transpose(y, 1, 2), {n, l, embed_}));
    const auto unbatched = [&](const Tensor& t) { return single ? op::squeeze(t, 0) : t; };
    std::vector<Tensor> results = {single || o_.batch_first ? unbatched(y) : op::transpose(y, 0, 1)};
    const int64_t heads_dim[] = {1};
    if (outputs > 1) results.push_back(unbatched(op::mean(weights, IntArrayRef(heads_dim, 1))));
    if (outputs > 2) results.push_back(unbatched(weights));
    return results;
  }

 private:
  enum : size_t { kJoint, kQuery, kKey, kValue, kBias, kBiasK, kBiasV };

  void add(const char* name, bool present, IntArrayRef sizes) {
    if (present) checked_numel(sizes, o_.dtype);
    register_parameter(name, present ? op::empty(sizes, o_.dtype) : Tensor());
  }
  void check(const Tensor& q, const Tensor& k, const Tensor& v) const {
    TRT_CHECK((q.dim() == 2 || q.dim() == 3) && k.dim() == q.dim() && v.dim() == q.dim(),
              "MultiheadAttention: query, key and value must have 2 or 3 dimensions each, got ", q, ", ", k, " and ", v);
    TRT_CHECK(q.size(-1) == embed_ && k.size(-1) == o_.kdim && v.size(-1) == o_.vdim, "MultiheadAttention: query, key and value must have ", embed_, ", ",
              o_.kdim, " and ", o_.vdim, " features, got ", q, ", ", k, " and ", v);
    const int64_t batch = o_.batch_first ? 0 : 1, length = q.dim() == 2 || !o_.batch_first ? 0 : 1;
    TRT_CHECK(k.size(length) == v.size(length), "MultiheadAttention: key and value must have the same length, got ", k, " and ", v);
    TRT_CHECK(q.dim() == 2 || (q.size(batch) == k.size(batch) && q.size(batch) == v.size(batch)),
              "MultiheadAttention: query, key and value must have the same batch, got ", q, ", ", k, " and ", v);
  }
  Tensor checked_mask(const Tensor& mask, int64_t n, int64_t l, int64_t s) const {
    if (!mask.defined()) return mask;
    int64_t maps;
    TRT_CHECK(!__builtin_mul_overflow(n, heads_, &maps), "MultiheadAttention: a batch of ", n, " and ", heads_, " heads are too many");
    const int64_t flat[] = {l, s}, deep[] = {maps, l, s};
    TRT_CHECK(mask.sizes() == IntArrayRef(flat, 2) || mask.sizes() == IntArrayRef(deep, 3), "MultiheadAttention: attn_mask must have the sizes ",
              IntArrayRef(flat, 2), " or ", IntArrayRef(deep, 3), ", got ", mask);
    return mask;
  }
  Tensor checked_padding(const Tensor& mask, bool single, int64_t n, int64_t s) const {
    if (!mask.defined()) return mask;
    const int64_t sizes[] = {n, s};
    const IntArrayRef needed = single ? IntArrayRef(sizes + 1, 1) : IntArrayRef(sizes, 2);
    TRT_CHECK(mask.sizes() == needed, "MultiheadAttention: key_padding_mask must have the sizes ", needed, ", got ", mask);
    return mask;
  }
  std::tuple<Tensor, Tensor, Tensor> projected(const Tensor& q, const Tensor& k, const Tensor& v) const {
    const Tensor& bias = param(kBias);
    if (joint_ && q.is_same(k) && k.is_same(v)) {
      const std::vector<Tensor> parts = op::split(op::linear(q, param(kJoint), bias), embed_, -1);
      return {parts[0], parts[1], parts[2]};
    }
    const auto part = [&](const Tensor& t, int64_t i) { return op::narrow(t, 0, i * embed_, embed_); };
    const auto project = [&](const Tensor& x, int64_t i) {
      return op::linear(x, joint_ ? part(param(kJoint), i) : param(kQuery + static_cast<size_t>(i)), bias.defined() ? part(bias, i) : bias);
    };
    return {project(q, 0), project(k, 1), project(v, 2)};
  }

  int64_t embed_, heads_;
  AttentionOptions o_;
  bool joint_ = true;
  ModulePtr out_proj_;
};

// The parts that layers of encoders and decoders have, in the order of their names in a state dict.
class TransformerLayer : public MultiInput {
 public:
  TransformerLayer(const char* name, bool decoder, int64_t d_model, int64_t nhead, const TransformerOptions& o)
      : MultiInput(name), decoder_(decoder), d_model_(d_model), nhead_(nhead), o_(o) {
    TRT_CHECK(d_model > 0 && nhead > 0 && d_model % nhead == 0, name, ": d_model must be a positive multiple of nhead, got ", d_model, " and ", nhead);
    TRT_CHECK(o.dim_feedforward > 0 && o.dim_feedforward <= kMaxSize, name, ": dim_feedforward must lie in [1, ", kMaxSize, "], got ", o.dim_feedforward);
    TRT_CHECK(o.dropout >= 0 && o.dropout <= 1, name, ": a probability must lie in [0, 1], got ", o.dropout);
    o_.dtype = o.dtype == DType::Undefined ? thread_state.default_dtype : o.dtype;
    const ParameterOptions own{o_.dtype, o.generator};
    AttentionOptions attention{own};
    attention.dropout = o.dropout;
    attention.bias = o.bias;
    attention.batch_first = o.batch_first;
    self_attn_ = part("self_attn", multihead_attention(d_model, nhead, attention));
    if (decoder) multihead_attn_ = part("multihead_attn", multihead_attention(d_model, nhead, attention));
    linear1_ = part("linear1", linear(d_model, o.dim_feedforward, o.bias, own));
    dropout_ = part("dropout", nn::dropout(o.dropout));
    linear2_ = part("linear2", linear(o.dim_feedforward, d_model, o.bias, own));
    NormOptions norm;
    norm.dtype = o_.dtype;
    norm.eps = o.layer_norm_eps;
    norm.bias = o.bias;
    const size_t parts = decoder ? 3 : 2;
    for (size_t i = 0; i < parts; ++i) norms_[i] = part(str_cat("norm", i + 1), layer_norm({d_model}, norm));
    for (size_t i = 0; i < parts; ++i) dropouts_[i] = part(str_cat("dropout", i + 1), nn::dropout(o.dropout));
    o_.generator = nullptr;
  }
  // A layer of the same options, values and mode. Its initial values are drawn from a generator of its own: a copy takes no numbers from the host's.
  ModulePtr copy() const;
  bool decoder() const { return decoder_; }

 protected:
  Tensor attended(const ModulePtr& attention, size_t i, const Tensor& x, const Tensor& memory, const Tensor& mask, const Tensor& padding) {
    const Tensor inputs[] = {x, memory, memory, padding, mask};
    return (*dropouts_[i])(call_with(*attention, TensorList(inputs, 5), 1)[0]);
  }
  Tensor fed_forward(const Tensor& x) {
    const Tensor y = (*linear1_)(x);
    return (*dropouts_[decoder_ ? 2 : 1])((*linear2_)((*dropout_)(o_.gelu ? op::gelu(y) : op::relu(y))));
  }
  // x + f(norm(x)), or norm(x + f(x)).
  template <typename F>
  Tensor residual(size_t i, const Tensor& x, const F& f) {
    if (o_.norm_first) return op::add(x, f((*norms_[i])(x)));
    return (*norms_[i])(op::add(x, f(x)));
  }

  ModulePtr self_attn_, multihead_attn_;

 private:
  ModulePtr part(const std::string& name, ModulePtr m) {
    register_child(name, m);
    return m;
  }

  bool decoder_;
  int64_t d_model_, nhead_;
  TransformerOptions o_;
  ModulePtr linear1_, dropout_, linear2_, norms_[3], dropouts_[3];
};

class EncoderLayer final : public TransformerLayer {
 public:
  EncoderLayer(int64_t d_model, int64_t nhead, const TransformerOptions& o) : TransformerLayer("TransformerEncoderLayer", false, d_model, nhead, o) {}
  Signature signature() const override { return {{"src", "src_mask", "src_key_padding_mask"}, 1, 1}; }
  std::vector<Tensor> run(TensorList in, size_t) override {
    const Tensor x = residual(0, in[0], [&](const Tensor& t) { return attended(self_attn_, 0, t, t, in[1], in[2]); });
    return {residual(1, x, [&](const Tensor& t) { return fed_forward(t); })};
  }
};

class DecoderLayer final : public TransformerLayer {
 public:
  DecoderLayer(int64_t d_model, int64_t nhead, const TransformerOptions& o) : TransformerLayer("TransformerDecoderLayer", true, d_model, nhead, o) {}
  Signature signature() const override {
    return {{"tgt", "memory", "tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"}, 2, 1};
  }
  std::vector<Tensor> run(TensorList in, size_t) override {
    Tensor x = residual(0, in[0], [&](const Tensor& t) { return attended(self_attn_, 0, t, t, in[2], in[4]); });
    x = residual(1, x, [&](const Tensor& t) { return attended(multihead_attn_, 1, t, in[1], in[3], in[5]); });
    return {residual(2, x, [&](const Tensor& t) { return fed_forward(t); })};
  }
};

ModulePtr TransformerLayer::copy() const {
  const intrusive_ptr<GeneratorImpl> own = make_intrusive<GeneratorImpl>(0);
  TransformerOptions o = o_;
  o.generator = own.get();
  o.dtype = linear1_->parameter("weight").dtype();  // another one after Module::to
  ModulePtr m = decoder_ ? transformer_decoder_layer(d_model_, nhead_, o) : transformer_encoder_layer(d_model_, nhead_, o);
  m->load_state_dict(*state_dict(), true);
  const auto from = named_parameters(), to = m->named_parameters();
  for (size_t i = 0; i < to.size() && from.size() == to.size(); ++i) autograd::set_requires_grad(to[i].tensor, autograd::requires_grad(from[i].tensor));
  m->train(training());
  return m;
}

// As PyTorch's: holds modules, and computes nothing.
class ModuleList final : public Module {
 public:
  explicit ModuleList(std::vector<ModulePtr> modules) : Module("ModuleList") {
    for (size_t i = 0; i < modules.size(); ++i) register_child(str_cat(i), std::move(modules[i]));
  }
  Tensor forward(const Tensor& input) override {
    throw_error(Code::kInvalidArgument, str_cat("ModuleList: holds modules and is no function, got ", input));
  }
};

class TransformerStack final : public MultiInput {
 public:
  TransformerStack(const char* name, bool decoder, const Module& layer, int64_t num_layers, ModulePtr norm)
      : MultiInput(name), decoder_(decoder), norm_(std::move(norm)) {
    const auto* given = dynamic_cast<const TransformerLayer*>(&layer);
    TRT_CHECK(given && given->decoder() == decoder, name, ": a ", decoder ? "TransformerDecoderLayer" : "TransformerEncoderLayer", " is needed, got ",
              layer.type_name());
    TRT_CHECK(num_layers >= 0 && num_layers <= kMaxLayers, name, ": num_layers must lie in [0, ", kMaxLayers, "], got ", num_layers);
    std::vector<ModulePtr> layers;
    for (int64_t i = 0; i < num_layers; ++i) layers.push_back(given->copy());
    layers_ = make_intrusive<ModuleList>(std::move(layers));
    register_child("layers", layers_);
    if (norm_) register_child("norm", norm_);
  }
  Signature signature() const override {
    if (!decoder_) return {{"src", "mask", "src_key_padding_mask"}, 1, 1};
    return {{"tgt", "memory", "tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"}, 2, 1};
  }
  std::vector<Tensor> run(TensorList in, size_t) override {
    std::vector<Tensor> inputs(in.begin(), in.end());
    for (const auto& child : layers_->children()) inputs[0] = call_with(*child.module, inputs, 1)[0];
    return {norm_ ? (*norm_)(inputs[0]) : inputs[0]};
  }

 private:
  bool decoder_;
  ModulePtr layers_, norm_;
};

class Transformer final : public MultiInput {
 public:
  Transformer(int64_t d_model, int64_t nhead, int64_t encoder_layers, int64_t decoder_layers, const TransformerOptions& o)
      : MultiInput("Transformer"), d_model_(d_model), batch_first_(o.batch_first) {
    for (const int64_t n : {encoder_layers, decoder_layers})
      TRT_CHECK(n >= 0 && n <= kMaxLayers, "Transformer: the numbers of layers must lie in [0, ", kMaxLayers, "], got ", n);
    NormOptions norm;
    norm.dtype = o.dtype;
    norm.eps = o.layer_norm_eps;
    norm.bias = o.bias;
    // In the order in which PyTorch draws the initial values.
    encoder_ = transformer_encoder(*transformer_encoder_layer(d_model, nhead, o), encoder_layers, layer_norm({d_model}, norm));
    decoder_ = transformer_decoder(*transformer_decoder_layer(d_model, nhead, o), decoder_layers, layer_norm({d_model}, norm));
    register_child("encoder", encoder_);
    register_child("decoder", decoder_);
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override {
    for (const auto& p : named_parameters())
      if (p.tensor.dim() > 1) init::xavier_uniform_(p.tensor, 1, generator);
  }
  Signature signature() const override {
    return {{"src", "tgt", "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask"}, 2, 1};
  }
  std::vector<Tensor> run(TensorList in, size_t) override {
    const Tensor &src = in[0], &tgt = in[1];
    TRT_CHECK((src.dim() == 2 || src.dim() == 3) && src.dim() == tgt.dim(), "Transformer: src and tgt must have 2 or 3 dimensions each, got ", src, " and ", tgt);
    const int64_t batch = batch_first_ ? 0 : 1;
    TRT_CHECK(src.dim() == 2 || src.size(batch) == tgt.size(batch), "Transformer: the batch number of src and tgt must be equal, got ", src, " and ", tgt);
    TRT_CHECK(src.size(-1) == d_model_ && tgt.size(-1) == d_model_, "Transformer: the feature number of src and tgt must be equal to d_model, ", d_model_,
              ", got ", src, " and ", tgt);
    const Tensor encoded[] = {src, in[2], in[5]};
    const Tensor decoded[] = {tgt, call_with(*encoder_, TensorList(encoded, 3), 1)[0], in[3], in[4], in[6], in[7]};
    return {call_with(*decoder_, TensorList(decoded, 6), 1)[0]};
  }

 private:
  int64_t d_model_;
  bool batch_first_;
  ModulePtr encoder_, decoder_;
};

}  // namespace

ModulePtr multihead_attention(int64_t embed_dim, int64_t num_heads, const AttentionOptions& options) {
  return make_intrusive<MultiheadAttention>(embed_dim, num_heads, options);
}
ModulePtr transformer_encoder_layer(int64_t d_model, int64_t nhead, const TransformerOptions& options) {
  return make_intrusive<EncoderLayer>(d_model, nhead, options);
}
ModulePtr transformer_decoder_layer(int64_t d_model, int64_t nhead, const TransformerOptions& options) {
  return make_intrusive<DecoderLayer>(d_model, nhead, options);
}
ModulePtr transformer_encoder(const Module& layer, int64_t num_layers, ModulePtr norm) {
  return make_intrusive<TransformerStack>("TransformerEncoder", false, layer, num_layers, std::move(norm));
}
ModulePtr transformer_decoder(const Module& layer, int64_t num_layers, ModulePtr norm) {
  return make_intrusive<TransformerStack>("TransformerDecoder", true, layer, num_layers, std::move(norm));
}
ModulePtr transformer(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers, const TransformerOptions& options) {
  return make_intrusive<Transformer>(d_model, nhead, num_encoder_layers, num_decoder_layers, options);
}

}  // namespace trt::nn
