// nn.h: the functions that make layers.
#include "capi/nn_handles.h"
#include "nn/layers.h"

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
          {o.stride[0], o.stride[1]},
          {o.padding[0], o.padding[1]},
          {o.dilation[0], o.dilation[1]},
          o.groups,
          o.bias,
          o.padding_same};
}

nn::NormOptions norm_options(const trt_norm_options* options) {
  const auto o = read_options(options, trt_norm_options_init);
  TRT_CHECK(!(o.momentum != o.momentum), "the momentum must be a number");
  return {{dtype_or_default(o.dtype), nullptr}, o.eps, o.momentum < 0 ? std::nullopt : std::optional(o.momentum), o.affine, o.bias, o.track_running_stats};
}

nn::PoolOptions pool_options(const trt_pool_options* options) {
  const auto o = read_options(options, trt_pool_options_init);
  return {{o.stride[0], o.stride[1]},
          {o.padding[0], o.padding[1]},
          {o.dilation[0], o.dilation[1]},
          o.ceil_mode,
          o.count_include_pad,
          o.divisor_override ? std::optional(o.divisor_override) : std::nullopt};
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
  return create("trt_conv1d_create", out, [&] { return nn::conv(1, in_channels, out_channels, {kernel_size, 1}, conv_options(options)); });
}
TRT_EXPORT trt_status* trt_conv2d_create(int64_t in_channels, int64_t out_channels, int64_t kernel_h, int64_t kernel_w, const trt_conv_options* options,
                                         trt_module** out) {
  return create("trt_conv2d_create", out, [&] { return nn::conv(2, in_channels, out_channels, {kernel_h, kernel_w}, conv_options(options)); });
}
TRT_EXPORT trt_status* trt_batch_norm1d_create(int64_t num_features, const trt_norm_options* options, trt_module** out) {
  return create("trt_batch_norm1d_create", out, [&] { return nn::batch_norm(1, num_features, norm_options(options)); });
}
TRT_EXPORT trt_status* trt_batch_norm2d_create(int64_t num_features, const trt_norm_options* options, trt_module** out) {
  return create("trt_batch_norm2d_create", out, [&] { return nn::batch_norm(2, num_features, norm_options(options)); });
}
TRT_EXPORT trt_status* trt_layer_norm_create(const int64_t* normalized_shape, size_t ndim, const trt_norm_options* options, trt_module** out) {
  return create("trt_layer_norm_create", out, [&] { return nn::layer_norm(int_list(normalized_shape, ndim, "normalized_shape"), norm_options(options)); });
}
TRT_EXPORT trt_status* trt_group_norm_create(int64_t num_groups, int64_t num_channels, const trt_norm_options* options, trt_module** out) {
  return create("trt_group_norm_create", out, [&] { return nn::group_norm(num_groups, num_channels, norm_options(options)); });
}

TRT_EXPORT trt_status* trt_identity_create(trt_module** out) { return create("trt_identity_create", out, nn::identity); }
TRT_EXPORT trt_status* trt_dropout_create(double p, trt_module** out) {
  return create("trt_dropout_create", out, [&] { return nn::dropout(p); });
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
TRT_EXPORT trt_status* trt_log_softmax_create(int64_t dim, trt_module** out) {
  return create("trt_log_softmax_create", out, [&] { return nn::log_softmax(dim); });
}

TRT_EXPORT trt_status* trt_max_pool2d_create(int64_t kernel_h, int64_t kernel_w, const trt_pool_options* options, trt_module** out) {
  return create("trt_max_pool2d_create", out, [&] { return nn::max_pool2d({kernel_h, kernel_w}, pool_options(options)); });
}
TRT_EXPORT trt_status* trt_avg_pool2d_create(int64_t kernel_h, int64_t kernel_w, const trt_pool_options* options, trt_module** out) {
  return create("trt_avg_pool2d_create", out, [&] { return nn::avg_pool2d({kernel_h, kernel_w}, pool_options(options)); });
}
TRT_EXPORT trt_status* trt_adaptive_avg_pool2d_create(int64_t output_h, int64_t output_w, trt_module** out) {
  return create("trt_adaptive_avg_pool2d_create", out, [&] { return nn::adaptive_avg_pool2d({output_h, output_w}); });
}
TRT_EXPORT trt_status* trt_adaptive_max_pool2d_create(int64_t output_h, int64_t output_w, trt_module** out) {
  return create("trt_adaptive_max_pool2d_create", out, [&] { return nn::adaptive_max_pool2d({output_h, output_w}); });
}

}  // extern "C"
