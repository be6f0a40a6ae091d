// nn.h: the functions that make layers.
#include "capi/nn_handles.h"
#include "nn/layers.h"
#include "nn/layers_attention.h"
#include "nn/layers_recurrent.h"

using namespace trt;
using namespace trt::capi;

namespace {

// *out receives the module that f makes.
template <typename F>
trt_status* create(const char* name, trt_module** out, const F& f) {
  return guard(name, [&] {
    require_out(out, "out");
    *out = handle(static_cast<nn::ModulePtr>(f()).detach());
  });
}

DType dtype_or_default(int32_t dtype) { return dtype == TRT_DTYPE_NONE ? DType::Undefined : to_dtype(dtype); }

nn::ParameterOptions parameters(int32_t dtype, trt_generator* g) { return {dtype_or_default(dtype), generator(g)}; }

nn::ConvOptions conv_options(const trt_conv_options* options) {
  const auto o = read_options(options, trt_conv_options_init);
  return {{dtype_or_default(o.dtype), generator(o.generator)},
          {o.stride[0], o.stride[1], 1},
          {o.padding[0], o.padding[1], 0},
          {0, 0, 0},
          {o.dilation[0], o.dilation[1], 1},
          o.groups,
          "zeros",
          o.bias,
          o.padding_same};
}

std::array<int64_t, 3> three(const int64_t (&v)[3]) { return {v[0], v[1], v[2]}; }

nn::ConvOptions conv_options(const trt_convnd_options* options) {
  const auto o = read_options(options, trt_convnd_options_init);
  static constexpr const char* kModes[] = {"zeros", "reflect", "replicate", "circular"};
  TRT_CHECK(o.padding_mode >= 0 && o.padding_mode <= TRT_PADDING_CIRCULAR, "the padding_mode ", o.padding_mode, " is unknown");
  return {{dtype_or_default(o.dtype), generator(o.generator)},
          three(o.stride),
          three(o.padding),
          three(o.output_padding),
          three(o.dilation),
          o.groups,
          kModes[o.padding_mode],
          o.bias,
          o.padding_same};
}

trt_status* create_conv(const char* name, bool transposed, int64_t in, int64_t out_channels, const int64_t* kernel, size_t ndim,
                        const trt_convnd_options* options, trt_module** out) {
  return create(name, out, [&] {
    const IntArrayRef sizes = int_list(kernel, ndim, "kernel_size");
    TRT_CHECK(ndim >= 1 && ndim <= 3, "kernel_size must have one to three elements, got ", sizes);
    std::array<int64_t, 3> k = {1, 1, 1};
    for (size_t d = 0; d < ndim; ++d) k[d] = sizes[d];
    return nn::conv(transposed, ndim, in, out_channels, k, conv_options(options));
  });
}

nn::AttentionOptions attention_options(const trt_attention_options* options) {
  const auto o = read_options(options, trt_attention_options_init);
  return {{dtype_or_default(o.dtype), generator(o.generator)}, o.kdim, o.vdim, o.dropout, o.bias, o.add_bias_kv, o.add_zero_attn, o.batch_first};
}

nn::TransformerOptions transformer_options(const trt_transformer_options* options) {
  const auto o = read_options(options, trt_transformer_options_init);
  return {{dtype_or_default(o.dtype), generator(o.generator)}, o.dim_feedforward, o.dropout, o.layer_norm_eps, o.gelu, o.batch_first, o.norm_first, o.bias};
}

nn::WindowOptions window_options(const trt_window_options* options) {
  const auto o = read_options(options, trt_window_options_init);
  return {{o.dilation[0], o.dilation[1]}, {o.padding[0], o.padding[1]}, {o.stride[0], o.stride[1]}};
}

nn::NormOptions norm_options(const trt_norm_options* options, void (*init)(trt_norm_options*) = trt_norm_options_init) {
  const auto o = read_options(options, init);
  TRT_CHECK(!(o.momentum != o.momentum), "the momentum must be a number");
  return {{dtype_or_default(o.dtype), nullptr}, o.eps, o.momentum < 0 ? std::nullopt : std::optional(o.momentum), o.affine, o.bias, o.track_running_stats};
}

nn::PoolOptions pool_options(const trt_pool_options* options) {
  const auto o = read_options(options, trt_pool_options_init);
  return {{o.stride[0], o.stride[1], 0},
          {o.padding[0], o.padding[1], 0},
          {o.dilation[0], o.dilation[1], 1},
          o.ceil_mode,
          o.count_include_pad,
          o.divisor_override ? std::optional(o.divisor_override) : std::nullopt};
}

nn::PoolOptions pool_options(const trt_poolnd_options* options) {
  const auto o = read_options(options, trt_poolnd_options_init);
  return {three(o.stride), three(o.padding), three(o.dilation), o.ceil_mode, o.count_include_pad,
          o.divisor_override ? std::optional(o.divisor_override) : std::nullopt};
}

// A recurrent layer or cell.
trt_status* create_recurrent(const char* name, nn::ModulePtr (*make)(nn::RecurrentKind, int64_t, int64_t, const nn::RecurrentOptions&),
                             std::optional<nn::RecurrentKind> kind, int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options,
                             trt_module** out) {
  return create(name, out, [&] {
    const auto o = read_options(options, trt_recurrent_options_init);
    const nn::RecurrentOptions read{{dtype_or_default(o.dtype), generator(o.generator)}, o.num_layers, o.proj_size, o.dropout, o.bias, o.batch_first,
                                    o.bidirectional};
    return make(kind.value_or(o.relu ? nn::RecurrentKind::kRelu : nn::RecurrentKind::kTanh), input_size, hidden_size, read);
  });
}

}  // namespace

extern "C" {

TRT_EXPORT void trt_linear_options_init(trt_linear_options* options) {
  if (options) *options = {sizeof *options, true, TRT_DTYPE_NONE, nullptr};
}
TRT_EXPORT void trt_embedding_options_init(trt_embedding_options* options) {
  if (options) *options = {sizeof *options, TRT_DTYPE_NONE, false, 0, nullptr};
}
TRT_EXPORT void trt_conv_options_init(trt_conv_options* options) {
  if (options) *options = {sizeof *options, {1, 1}, {0, 0}, {1, 1}, 1, true, false, TRT_DTYPE_NONE, nullptr};
}
TRT_EXPORT void trt_norm_options_init(trt_norm_options* options) {
  if (options) *options = {sizeof *options, 1e-5, 0.1, true, true, true, TRT_DTYPE_NONE};
}
TRT_EXPORT void trt_pool_options_init(trt_pool_options* options) {
  if (options) *options = {sizeof *options, {0, 0}, {0, 0}, {1, 1}, false, true, 0};
}
TRT_EXPORT void trt_instance_norm_options_init(trt_norm_options* options) {
  if (options) *options = {sizeof *options, 1e-5, 0.1, false, true, false, TRT_DTYPE_NONE};
}
TRT_EXPORT void trt_convnd_options_init(trt_convnd_options* options) {
  if (options) *options = {sizeof *options, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1, true, false, TRT_PADDING_ZEROS, TRT_DTYPE_NONE, nullptr};
}
TRT_EXPORT void trt_poolnd_options_init(trt_poolnd_options* options) {
  if (options) *options = {sizeof *options, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, false, true, 0};
}
TRT_EXPORT void trt_window_options_init(trt_window_options* options) {
  if (options) *options = {sizeof *options, {1, 1}, {0, 0}, {1, 1}};
}
TRT_EXPORT void trt_embedding_bag_options_init(trt_embedding_bag_options* options) {
  if (options) *options = {sizeof *options, TRT_BAG_MEAN, TRT_DTYPE_NONE, false, false, false, 0, nullptr};
}
TRT_EXPORT void trt_attention_options_init(trt_attention_options* options) {
  if (options) *options = {sizeof *options, 0, 0, 0, true, false, false, false, TRT_DTYPE_NONE, nullptr};
}
TRT_EXPORT void trt_transformer_options_init(trt_transformer_options* options) {
  if (options) *options = {sizeof *options, 2048, 0.1, 1e-5, true, false, false, false, TRT_DTYPE_NONE, nullptr};
}

TRT_EXPORT void trt_recurrent_options_init(trt_recurrent_options* options) {
  if (options) *options = {sizeof *options, 1, 0, 0, true, false, false, false, TRT_DTYPE_NONE, nullptr};
}

TRT_EXPORT trt_status* trt_sequential_create(trt_module* const* modules, size_t count, trt_module** out) {
  return create("trt_sequential_create", out, [&] {
    std::vector<nn::ModulePtr> list;
    for (trt_module* m : list_argument(modules, count, "modules")) {
      check_element(m, "modules", list.size());
      list.push_back(checked(m));
    }
    return nn::sequential(std::move(list));
  });
}
TRT_EXPORT trt_status* trt_linear_create(int64_t in_features, int64_t out_features, const trt_linear_options* options, trt_module** out) {
  return create("trt_linear_create", out, [&] {
    const auto o = read_options(options, trt_linear_options_init);
    return nn::linear(in_features, out_features, o.bias, parameters(o.dtype, o.generator));
  });
}
TRT_EXPORT trt_status* trt_embedding_create(int64_t num_embeddings, int64_t embedding_dim, const trt_embedding_options* options, trt_module** out) {
  return create("trt_embedding_create", out, [&] {
    const auto o = read_options(options, trt_embedding_options_init);
    return nn::embedding(num_embeddings, embedding_dim, o.has_padding_idx ? std::optional(o.padding_idx) : std::nullopt, parameters(o.dtype, o.generator));
  });
}
TRT_EXPORT trt_status* trt_conv1d_create(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const trt_conv_options* options, trt_module** out) {
  return create("trt_conv1d_create", out, [&] { return nn::conv(false, 1, in_channels, out_channels, {kernel_size, 1, 1}, conv_options(options)); });
}
TRT_EXPORT trt_status* trt_conv2d_create(int64_t in_channels, int64_t out_channels, int64_t kernel_h, int64_t kernel_w, const trt_conv_options* options,
                                         trt_module** out) {
  return create("trt_conv2d_create", out, [&] { return nn::conv(false, 2, in_channels, out_channels, {kernel_h, kernel_w, 1}, conv_options(options)); });
}
TRT_EXPORT trt_status* trt_batch_norm1d_create(int64_t num_features, const trt_norm_options* options, trt_module** out) {
  return create("trt_batch_norm1d_create", out, [&] { return nn::batch_norm(1, num_features, norm_options(options)); });
}
TRT_EXPORT trt_status* trt_batch_norm2d_create(int64_t num_features, const trt_norm_options* options, trt_module** out) {
  return create("trt_batch_norm2d_create", out, [&] { return nn::batch_norm(2, num_features, norm_options(options)); });
}
TRT_EXPORT trt_status* trt_convnd_create(int64_t in_channels, int64_t out_channels, const int64_t* kernel_size, size_t ndim,
                                         const trt_convnd_options* options, trt_module** out) {
  return create_conv("trt_convnd_create", false, in_channels, out_channels, kernel_size, ndim, options, out);
}
TRT_EXPORT trt_status* trt_conv_transpose_create(int64_t in_channels, int64_t out_channels, const int64_t* kernel_size, size_t ndim,
                                                 const trt_convnd_options* options, trt_module** out) {
  return create_conv("trt_conv_transpose_create", true, in_channels, out_channels, kernel_size, ndim, options, out);
}
TRT_EXPORT trt_status* trt_embedding_bag_create(int64_t num_embeddings, int64_t embedding_dim, const trt_embedding_bag_options* options, trt_module** out) {
  return create("trt_embedding_bag_create", out, [&] {
    const auto o = read_options(options, trt_embedding_bag_options_init);
    nn::EmbeddingBagOptions read{{dtype_or_default(o.dtype), generator(o.generator)}, {}, o.mode, o.scale_grad_by_freq, o.include_last_offset};
    if (o.has_padding_idx) read.padding_idx = o.padding_idx;
    return nn::embedding_bag(num_embeddings, embedding_dim, read);
  });
}
TRT_EXPORT trt_status* trt_bilinear_create(int64_t in1_features, int64_t in2_features, int64_t out_features, const trt_linear_options* options,
                                           trt_module** out) {
  return create("trt_bilinear_create", out, [&] {
    const auto o = read_options(options, trt_linear_options_init);
    return nn::bilinear(in1_features, in2_features, out_features, o.bias, parameters(o.dtype, o.generator));
  });
}
TRT_EXPORT trt_status* trt_prelu_create(int64_t num_parameters, double init, int32_t dtype, trt_module** out) {
  return create("trt_prelu_create", out, [&] { return nn::prelu(num_parameters, init, dtype_or_default(dtype)); });
}
TRT_EXPORT trt_status* trt_batch_norm3d_create(int64_t num_features, const trt_norm_options* options, trt_module** out) {
  return create("trt_batch_norm3d_create", out, [&] { return nn::batch_norm(3, num_features, norm_options(options)); });
}
TRT_EXPORT trt_status* trt_instance_norm_create(int32_t ndim, int64_t num_features, const trt_norm_options* options, trt_module** out) {
  return create("trt_instance_norm_create", out, [&] {
    TRT_CHECK(ndim >= 1 && ndim <= 3, "ndim must be 1, 2 or 3, got ", ndim);
    return nn::instance_norm(ndim, num_features, norm_options(options, trt_instance_norm_options_init));
  });
}
TRT_EXPORT trt_status* trt_rms_norm_create(const int64_t* normalized_shape, size_t ndim, const double* eps, bool elementwise_affine, int32_t dtype,
                                           trt_module** out) {
  return create("trt_rms_norm_create", out, [&] {
    TRT_CHECK(!eps || *eps >= 0, "eps must not be negative, got ", *eps);
    return nn::rms_norm(int_list(normalized_shape, ndim, "normalized_shape"), eps ? std::optional(*eps) : std::nullopt, elementwise_affine,
                        dtype_or_default(dtype));
  });
}
TRT_EXPORT trt_status* trt_local_response_norm_create(int64_t size, double alpha, double beta, double k, trt_module** out) {
  return create("trt_local_response_norm_create", out, [&] { return nn::local_response_norm(size, alpha, beta, k); });
}
TRT_EXPORT trt_status* trt_multihead_attention_create(int64_t embed_dim, int64_t num_heads, const trt_attention_options* options, trt_module** out) {
  return create("trt_multihead_attention_create", out, [&] { return nn::multihead_attention(embed_dim, num_heads, attention_options(options)); });
}
TRT_EXPORT trt_status* trt_transformer_encoder_layer_create(int64_t d_model, int64_t nhead, const trt_transformer_options* options, trt_module** out) {
  return create("trt_transformer_encoder_layer_create", out, [&] { return nn::transformer_encoder_layer(d_model, nhead, transformer_options(options)); });
}
TRT_EXPORT trt_status* trt_transformer_decoder_layer_create(int64_t d_model, int64_t nhead, const trt_transformer_options* options, trt_module** out) {
  return create("trt_transformer_decoder_layer_create", out, [&] { return nn::transformer_decoder_layer(d_model, nhead, transformer_options(options)); });
}
TRT_EXPORT trt_status* trt_transformer_encoder_create(const trt_module* layer, int64_t num_layers, trt_module* norm, trt_module** out) {
  return create("trt_transformer_encoder_create", out,
                [&] { return nn::transformer_encoder(*checked(layer, "layer"), num_layers, norm ? checked(norm, "norm") : nn::ModulePtr()); });
}
TRT_EXPORT trt_status* trt_transformer_decoder_create(const trt_module* layer, int64_t num_layers, trt_module* norm, trt_module** out) {
  return create("trt_transformer_decoder_create", out,
                [&] { return nn::transformer_decoder(*checked(layer, "layer"), num_layers, norm ? checked(norm, "norm") : nn::ModulePtr()); });
}
TRT_EXPORT trt_status* trt_transformer_create(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers,
                                              const trt_transformer_options* options, trt_module** out) {
  return create("trt_transformer_create", out,
                [&] { return nn::transformer(d_model, nhead, num_encoder_layers, num_decoder_layers, transformer_options(options)); });
}
TRT_EXPORT trt_status* trt_layer_norm_create(const int64_t* normalized_shape, size_t ndim, const trt_norm_options* options, trt_module** out) {
  return create("trt_layer_norm_create", out, [&] { return nn::layer_norm(int_list(normalized_shape, ndim, "normalized_shape"), norm_options(options)); });
}
TRT_EXPORT trt_status* trt_group_norm_create(int64_t num_groups, int64_t num_channels, const trt_norm_options* options, trt_module** out) {
  return create("trt_group_norm_create", out, [&] { return nn::group_norm(num_groups, num_channels, norm_options(options)); });
}

TRT_EXPORT trt_status* trt_lstm_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out) {
  return create_recurrent("trt_lstm_create", nn::recurrent_layers, nn::RecurrentKind::kLstm, input_size, hidden_size, options, out);
}
TRT_EXPORT trt_status* trt_gru_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out) {
  return create_recurrent("trt_gru_create", nn::recurrent_layers, nn::RecurrentKind::kGru, input_size, hidden_size, options, out);
}
TRT_EXPORT trt_status* trt_rnn_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out) {
  return create_recurrent("trt_rnn_create", nn::recurrent_layers, std::nullopt, input_size, hidden_size, options, out);
}
TRT_EXPORT trt_status* trt_lstm_cell_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out) {
  return create_recurrent("trt_lstm_cell_create", nn::recurrent_cell, nn::RecurrentKind::kLstm, input_size, hidden_size, options, out);
}
TRT_EXPORT trt_status* trt_gru_cell_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out) {
  return create_recurrent("trt_gru_cell_create", nn::recurrent_cell, nn::RecurrentKind::kGru, input_size, hidden_size, options, out);
}
TRT_EXPORT trt_status* trt_rnn_cell_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out) {
  return create_recurrent("trt_rnn_cell_create", nn::recurrent_cell, std::nullopt, input_size, hidden_size, options, out);
}
TRT_EXPORT trt_status* trt_recurrent_forward(trt_module* module, const trt_tensor* input, const trt_tensor* hidden, const trt_tensor* cell, trt_tensor** out,
                                             trt_tensor** out_hidden, trt_tensor** out_cell) {
  return guard("trt_recurrent_forward", [&] {
    require_out(out, "out");
    require_out(out_hidden, "out_hidden");
    require_out(out_cell, "out_cell");
    auto optional = [](const trt_tensor* t, const char* name) { return t ? checked(t, name) : Tensor(); };
    const nn::ModulePtr m = checked(module);
    nn::RecurrentResult r = nn::run_recurrent(*m, checked(input, "input"), optional(hidden, "hidden"), optional(cell, "cell"));
    trt_tensor* last = nullptr;
    if (r.cell.defined()) capi::give(std::move(r.cell), &last);
    capi::give(std::move(r.output), out);
    capi::give(std::move(r.hidden), out_hidden);
    *out_cell = last;
  });
}

TRT_EXPORT trt_status* trt_identity_create(trt_module** out) { return create("trt_identity_create", out, nn::identity); }
TRT_EXPORT trt_status* trt_dropout_create(double p, trt_module** out) {
  return create("trt_dropout_create", out, [&] { return nn::dropout(p); });
}
TRT_EXPORT trt_status* trt_feature_dropout_create(int32_t ndim, double p, trt_module** out) {
  return create("trt_feature_dropout_create", out, [&] {
    TRT_CHECK(ndim >= 1 && ndim <= 3, "ndim must be 1, 2 or 3, got ", ndim);
    return nn::feature_dropout(static_cast<size_t>(ndim), p);
  });
}
TRT_EXPORT trt_status* trt_alpha_dropout_create(double p, trt_module** out) {
  return create("trt_alpha_dropout_create", out, [&] { return nn::alpha_dropout(p); });
}
TRT_EXPORT trt_status* trt_feature_alpha_dropout_create(double p, trt_module** out) {
  return create("trt_feature_alpha_dropout_create", out, [&] { return nn::feature_alpha_dropout(p); });
}
TRT_EXPORT trt_status* trt_pad_create(const int64_t* padding, size_t padding_count, const char* mode, double value, trt_module** out) {
  return create("trt_pad_create", out, [&] {
    if (!mode) throw_null_argument("mode");
    return nn::pad(int_list(padding, padding_count, "padding"), mode, value);
  });
}
TRT_EXPORT trt_status* trt_upsample_create(const int64_t* size, size_t size_count, const double* scale_factor, size_t scale_factor_count, const char* mode,
                                           const bool* align_corners, const bool* recompute_scale_factor, trt_module** out) {
  return create("trt_upsample_create", out, [&] {
    if (!mode) throw_null_argument("mode");
    const auto optional = [](const bool* b) { return b ? std::optional(*b) : std::nullopt; };
    const auto factors = optional_float_list(scale_factor, scale_factor_count, "scale_factor");
    return nn::upsample(optional_int_list(size, size_count, "size"), factors, mode, optional(align_corners), optional(recompute_scale_factor));
  });
}
TRT_EXPORT trt_status* trt_upsampling2d_create(const int64_t* size, size_t size_count, const double* scale_factor, size_t scale_factor_count, bool bilinear,
                                               trt_module** out) {
  return create("trt_upsampling2d_create", out, [&] {
    const auto factors = optional_float_list(scale_factor, scale_factor_count, "scale_factor");
    const auto sizes = optional_int_list(size, size_count, "size");
    if (bilinear) return nn::upsample(sizes, factors, "bilinear", true, std::nullopt, "UpsamplingBilinear2d");
    return nn::upsample(sizes, factors, "nearest", std::nullopt, std::nullopt, "UpsamplingNearest2d");
  });
}
TRT_EXPORT trt_status* trt_unfold_create(int64_t kernel_h, int64_t kernel_w, const trt_window_options* options, trt_module** out) {
  return create("trt_unfold_create", out, [&] { return nn::unfold({kernel_h, kernel_w}, window_options(options)); });
}
TRT_EXPORT trt_status* trt_fold_create(int64_t output_h, int64_t output_w, int64_t kernel_h, int64_t kernel_w, const trt_window_options* options,
                                              trt_module** out) {
  return create("trt_fold_create", out, [&] { return nn::fold({output_h, output_w}, {kernel_h, kernel_w}, window_options(options)); });
}
TRT_EXPORT trt_status* trt_flatten_create(int64_t start_dim, int64_t end_dim, trt_module** out) {
  return create("trt_flatten_create", out, [&] { return nn::flatten(start_dim, end_dim); });
}
TRT_EXPORT trt_status* trt_unflatten_create(int64_t dim, const int64_t* sizes, size_t ndim, trt_module** out) {
  return create("trt_unflatten_create", out, [&] { return nn::unflatten(dim, int_list(sizes, ndim, "sizes")); });
}

TRT_EXPORT trt_status* trt_relu_create(trt_module** out) { return create("trt_relu_create", out, nn::relu); }
TRT_EXPORT trt_status* trt_relu6_create(trt_module** out) { return create("trt_relu6_create", out, nn::relu6); }
TRT_EXPORT trt_status* trt_leaky_relu_create(double negative_slope, trt_module** out) {
  return create("trt_leaky_relu_create", out, [&] { return nn::leaky_relu(negative_slope); });
}
TRT_EXPORT trt_status* trt_rrelu_create(double lower, double upper, trt_module** out) {
  return create("trt_rrelu_create", out, [&] { return nn::rrelu(lower, upper); });
}
TRT_EXPORT trt_status* trt_elu_create(double alpha, trt_module** out) {
  return create("trt_elu_create", out, [&] { return nn::elu(alpha); });
}
TRT_EXPORT trt_status* trt_gelu_create(bool tanh, trt_module** out) {
  return create("trt_gelu_create", out, [&] { return nn::gelu(tanh); });
}
TRT_EXPORT trt_status* trt_silu_create(trt_module** out) { return create("trt_silu_create", out, nn::silu); }
TRT_EXPORT trt_status* trt_mish_create(trt_module** out) { return create("trt_mish_create", out, nn::mish); }
TRT_EXPORT trt_status* trt_sigmoid_create(trt_module** out) { return create("trt_sigmoid_create", out, nn::sigmoid); }
TRT_EXPORT trt_status* trt_tanh_create(trt_module** out) { return create("trt_tanh_create", out, nn::tanh); }
TRT_EXPORT trt_status* trt_softplus_create(double beta, double threshold, trt_module** out) {
  return create("trt_softplus_create", out, [&] { return nn::softplus(beta, threshold); });
}
TRT_EXPORT trt_status* trt_hardswish_create(trt_module** out) { return create("trt_hardswish_create", out, nn::hardswish); }
TRT_EXPORT trt_status* trt_softmax_create(int64_t dim, trt_module** out) {
  return create("trt_softmax_create", out, [&] { return nn::softmax(dim); });
}
TRT_EXPORT trt_status* trt_softmax2d_create(trt_module** out) { return create("trt_softmax2d_create", out, nn::softmax2d); }
TRT_EXPORT trt_status* trt_log_softmax_create(int64_t dim, trt_module** out) {
  return create("trt_log_softmax_create", out, [&] { return nn::log_softmax(dim); });
}

TRT_EXPORT trt_status* trt_selu_create(trt_module** out) { return create("trt_selu_create", out, nn::selu); }
TRT_EXPORT trt_status* trt_celu_create(double alpha, trt_module** out) {
  return create("trt_celu_create", out, [&] { return nn::celu(alpha); });
}
TRT_EXPORT trt_status* trt_hardtanh_create(double min_val, double max_val, trt_module** out) {
  return create("trt_hardtanh_create", out, [&] { return nn::hardtanh(min_val, max_val); });
}
TRT_EXPORT trt_status* trt_hardsigmoid_create(trt_module** out) { return create("trt_hardsigmoid_create", out, nn::hardsigmoid); }
TRT_EXPORT trt_status* trt_log_sigmoid_create(trt_module** out) { return create("trt_log_sigmoid_create", out, nn::log_sigmoid); }
TRT_EXPORT trt_status* trt_softsign_create(trt_module** out) { return create("trt_softsign_create", out, nn::softsign); }
TRT_EXPORT trt_status* trt_tanhshrink_create(trt_module** out) { return create("trt_tanhshrink_create", out, nn::tanhshrink); }
TRT_EXPORT trt_status* trt_softshrink_create(double lambd, trt_module** out) {
  return create("trt_softshrink_create", out, [&] { return nn::softshrink(lambd); });
}
TRT_EXPORT trt_status* trt_hardshrink_create(double lambd, trt_module** out) {
  return create("trt_hardshrink_create", out, [&] { return nn::hardshrink(lambd); });
}
TRT_EXPORT trt_status* trt_threshold_create(double threshold, double value, trt_module** out) {
  return create("trt_threshold_create", out, [&] { return nn::threshold(threshold, value); });
}
TRT_EXPORT trt_status* trt_glu_create(int64_t dim, trt_module** out) {
  return create("trt_glu_create", out, [&] { return nn::glu(dim); });
}
TRT_EXPORT trt_status* trt_softmin_create(int64_t dim, trt_module** out) {
  return create("trt_softmin_create", out, [&] { return nn::softmin(dim); });
}
TRT_EXPORT trt_status* trt_pixel_shuffle_create(int64_t upscale_factor, trt_module** out) {
  return create("trt_pixel_shuffle_create", out, [&] { return nn::pixel_shuffle(upscale_factor); });
}
TRT_EXPORT trt_status* trt_pixel_unshuffle_create(int64_t downscale_factor, trt_module** out) {
  return create("trt_pixel_unshuffle_create", out, [&] { return nn::pixel_unshuffle(downscale_factor); });
}
TRT_EXPORT trt_status* trt_channel_shuffle_create(int64_t groups, trt_module** out) {
  return create("trt_channel_shuffle_create", out, [&] { return nn::channel_shuffle(groups); });
}
TRT_EXPORT trt_status* trt_adaptive_avg_pool1d_create(int64_t output_size, trt_module** out) {
  return create("trt_adaptive_avg_pool1d_create", out, [&] { return nn::adaptive_avg_pool({output_size}); });
}
TRT_EXPORT trt_status* trt_adaptive_max_pool1d_create(int64_t output_size, trt_module** out) {
  return create("trt_adaptive_max_pool1d_create", out, [&] { return nn::adaptive_max_pool({output_size}); });
}

TRT_EXPORT trt_status* trt_max_pool2d_create(int64_t kernel_h, int64_t kernel_w, const trt_pool_options* options, trt_module** out) {
  return create("trt_max_pool2d_create", out, [&] { return nn::max_pool({kernel_h, kernel_w}, pool_options(options)); });
}
TRT_EXPORT trt_status* trt_avg_pool2d_create(int64_t kernel_h, int64_t kernel_w, const trt_pool_options* options, trt_module** out) {
  return create("trt_avg_pool2d_create", out, [&] { return nn::avg_pool({kernel_h, kernel_w}, pool_options(options)); });
}
TRT_EXPORT trt_status* trt_adaptive_avg_pool2d_create(int64_t output_h, int64_t output_w, trt_module** out) {
  return create("trt_adaptive_avg_pool2d_create", out, [&] { return nn::adaptive_avg_pool({output_h, output_w}); });
}
TRT_EXPORT trt_status* trt_adaptive_max_pool2d_create(int64_t output_h, int64_t output_w, trt_module** out) {
  return create("trt_adaptive_max_pool2d_create", out, [&] { return nn::adaptive_max_pool({output_h, output_w}); });
}

TRT_EXPORT trt_status* trt_max_poolnd_create(const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out) {
  return create("trt_max_poolnd_create", out, [&] { return nn::max_pool(int_list(kernel_size, ndim, "kernel_size"), pool_options(options)); });
}
TRT_EXPORT trt_status* trt_avg_poolnd_create(const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out) {
  return create("trt_avg_poolnd_create", out, [&] { return nn::avg_pool(int_list(kernel_size, ndim, "kernel_size"), pool_options(options)); });
}
TRT_EXPORT trt_status* trt_lp_poolnd_create(double norm_type, const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out) {
  return create("trt_lp_poolnd_create", out, [&] { return nn::lp_pool(norm_type, int_list(kernel_size, ndim, "kernel_size"), pool_options(options)); });
}
TRT_EXPORT trt_status* trt_max_unpoolnd_create(const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out) {
  return create("trt_max_unpoolnd_create", out, [&] { return nn::max_unpool(int_list(kernel_size, ndim, "kernel_size"), pool_options(options)); });
}
TRT_EXPORT trt_status* trt_fractional_max_poolnd_create(const int64_t* kernel_size, size_t ndim, const int64_t* output_size, size_t output_size_count,
                                                        const double* output_ratio, size_t output_ratio_count, trt_module** out) {
  return create("trt_fractional_max_poolnd_create", out, [&] {
    const auto ratio = optional_float_list(output_ratio, output_ratio_count, "output_ratio");
    return nn::fractional_max_pool(int_list(kernel_size, ndim, "kernel_size"), optional_int_list(output_size, output_size_count, "output_size"), ratio);
  });
}
TRT_EXPORT trt_status* trt_adaptive_avg_poolnd_create(const int64_t* output_size, size_t ndim, trt_module** out) {
  return create("trt_adaptive_avg_poolnd_create", out, [&] { return nn::adaptive_avg_pool(int_list(output_size, ndim, "output_size")); });
}
TRT_EXPORT trt_status* trt_adaptive_max_poolnd_create(const int64_t* output_size, size_t ndim, trt_module** out) {
  return create("trt_adaptive_max_poolnd_create", out, [&] { return nn::adaptive_max_pool(int_list(output_size, ndim, "output_size")); });
}

TRT_EXPORT trt_status* trt_cosine_similarity_create(int64_t dim, double eps, trt_module** out) {
  return create("trt_cosine_similarity_create", out, [&] { return nn::cosine_similarity(dim, eps); });
}
TRT_EXPORT trt_status* trt_pairwise_distance_create(double p, double eps, bool keepdim, trt_module** out) {
  return create("trt_pairwise_distance_create", out, [&] { return nn::pairwise_distance(p, eps, keepdim); });
}

}  // extern "C"
