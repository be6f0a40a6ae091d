// Modules without parameters: activations, dropout, pooling, changes of shape.
#include "base/repr.h"
#include "gen/all_ops.h"
#include "nn/layers.h"

namespace trt::nn {

namespace {

using ForwardFn = std::function<Tensor(const Tensor& input, const Module& self)>;

class Plain final : public Module {
 public:
  Plain(const char* type_name, ForwardFn forward, std::string extra) : Module(type_name), forward_(std::move(forward)), extra_(std::move(extra)) {}
  Tensor forward(const Tensor& input) override { return forward_(input, *this); }
  std::string extra_repr() const override { return extra_; }

 private:
  ForwardFn forward_;
  std::string extra_;
};

ModulePtr plain(const char* type_name, ForwardFn forward, std::string extra = {}) {
  return make_intrusive<Plain>(type_name, std::move(forward), std::move(extra));
}

ModulePtr unary(const char* type_name, Tensor (*f)(const Tensor&)) {
  return plain(type_name, [f](const Tensor& x, const Module&) { return f(x); });
}

std::array<int64_t, 2> checked_pool(const char* name, const std::array<int64_t, 2>& kernel, const PoolOptions& o) {
  std::array<int64_t, 2> stride = o.stride;
  for (size_t d = 0; d < 2; ++d) {
    TRT_CHECK(kernel[d] > 0 && o.stride[d] >= 0 && o.dilation[d] > 0, name, ": kernel size, stride and dilation must be positive, got ",
              IntArrayRef(kernel), ", ", IntArrayRef(o.stride), " and ", IntArrayRef(o.dilation));
    TRT_CHECK(o.padding[d] >= 0 && o.padding[d] <= kernel[d] / 2, name, ": padding must be between 0 and half the kernel, got padding ",
              IntArrayRef(o.padding), ", kernel size ", IntArrayRef(kernel));
    if (stride[d] == 0) stride[d] = kernel[d];
  }
  return stride;
}

std::string pool_repr(const std::array<int64_t, 2>& kernel, const std::array<int64_t, 2>& stride, const PoolOptions& o) {
  return str_cat("kernel_size=", number_or_tuple(kernel), ", stride=", number_or_tuple(stride), ", padding=", number_or_tuple(o.padding));
}

void check_output_size(const char* name, const std::array<int64_t, 2>& size) {
  TRT_CHECK(size[0] >= 0 && size[1] >= 0, name, ": the output size must not be negative, got ", IntArrayRef(size));
}

}  // namespace

ModulePtr identity() {
  return plain("Identity", [](const Tensor& x, const Module&) { return x; });
}
ModulePtr dropout(double p) {
  TRT_CHECK(p >= 0 && p <= 1, "Dropout: the probability must be between 0 and 1, got ", p);
  return plain(
      "Dropout", [p](const Tensor& x, const Module& self) { return op::dropout(x, p, self.training()); },
      str_cat("p=", python_float(p), ", inplace=False"));
}
ModulePtr flatten(int64_t start_dim, int64_t end_dim) {
  return plain(
      "Flatten", [=](const Tensor& x, const Module&) { return op::flatten(x, start_dim, end_dim); },
      str_cat("start_dim=", start_dim, ", end_dim=", end_dim));
}
ModulePtr unflatten(int64_t dim, IntArrayRef sizes) {
  TRT_CHECK(!sizes.empty(), "Unflatten: sizes must not be empty");
  for (int64_t n : sizes) TRT_CHECK(n >= -1, "Unflatten: sizes must not be negative, got ", sizes);
  return plain(
      "Unflatten", [dim, shape = DimVector(sizes.data(), sizes.size())](const Tensor& x, const Module&) { return op::unflatten(x, dim, shape); },
      str_cat("dim=", dim, ", unflattened_size=", python_tuple(sizes)));
}

ModulePtr relu() { return unary("ReLU", op::relu); }
ModulePtr relu6() { return unary("ReLU6", op::relu6); }
ModulePtr silu() { return unary("SiLU", op::silu); }
ModulePtr mish() { return unary("Mish", op::mish); }
ModulePtr sigmoid() { return unary("Sigmoid", op::sigmoid); }
ModulePtr tanh() { return unary("Tanh", op::tanh); }
ModulePtr hardswish() { return unary("Hardswish", op::hardswish); }
ModulePtr leaky_relu(double negative_slope) {
  return plain(
      "LeakyReLU", [=](const Tensor& x, const Module&) { return op::leaky_relu(x, negative_slope); },
      str_cat("negative_slope=", python_float(negative_slope)));
}
ModulePtr elu(double alpha) {
  return plain("ELU", [=](const Tensor& x, const Module&) { return op::elu(x, alpha); }, str_cat("alpha=", python_float(alpha)));
}
ModulePtr gelu(bool tanh) {
  const char* kind = tanh ? "tanh" : "none";
  return plain("GELU", [=](const Tensor& x, const Module&) { return op::gelu(x, kind); }, str_cat("approximate='", kind, "'"));
}
ModulePtr softplus(double beta, double threshold) {
  return plain(
      "Softplus", [=](const Tensor& x, const Module&) { return op::softplus(x, beta, threshold); },
      str_cat("beta=", python_float(beta), ", threshold=", python_float(threshold)));
}
ModulePtr softmax(int64_t dim) {
  return plain("Softmax", [=](const Tensor& x, const Module&) { return op::softmax(x, dim); }, str_cat("dim=", dim));
}
ModulePtr log_softmax(int64_t dim) {
  return plain("LogSoftmax", [=](const Tensor& x, const Module&) { return op::log_softmax(x, dim); }, str_cat("dim=", dim));
}

ModulePtr selu() { return unary("SELU", op::selu); }
ModulePtr celu(double alpha) {
  return plain(
      "CELU", [=](const Tensor& x, const Module&) { return op::celu(x, alpha); }, str_cat("alpha=", python_float(alpha)));
}
ModulePtr hardtanh(double min_val, double max_val) {
  return plain(
      "Hardtanh", [=](const Tensor& x, const Module&) { return op::hardtanh(x, min_val, max_val); },
      str_cat("min_val=", python_float(min_val), ", max_val=", python_float(max_val)));
}
ModulePtr hardsigmoid() { return unary("Hardsigmoid", op::hardsigmoid); }
ModulePtr log_sigmoid() { return unary("LogSigmoid", op::log_sigmoid); }
ModulePtr softsign() { return unary("Softsign", op::softsign); }
ModulePtr tanhshrink() { return unary("Tanhshrink", op::tanhshrink); }
ModulePtr softshrink(double lambd) {
  return plain(
      "Softshrink", [=](const Tensor& x, const Module&) { return op::softshrink(x, lambd); }, str_cat(python_float(lambd)));
}
ModulePtr hardshrink(double lambd) {
  return plain(
      "Hardshrink", [=](const Tensor& x, const Module&) { return op::hardshrink(x, lambd); }, str_cat(python_float(lambd)));
}
ModulePtr threshold(double threshold, double value) {
  return plain(
      "Threshold", [=](const Tensor& x, const Module&) { return op::threshold(x, threshold, value); },
      str_cat("threshold=", python_float(threshold), ", value=", python_float(value)));
}
ModulePtr glu(int64_t dim) {
  return plain(
      "GLU", [=](const Tensor& x, const Module&) { return op::glu(x, dim); }, str_cat("dim=", dim));
}
ModulePtr softmin(int64_t dim) {
  return plain(
      "Softmin", [=](const Tensor& x, const Module&) { return op::softmin(x, dim); }, str_cat("dim=", dim));
}
ModulePtr pixel_shuffle(int64_t upscale_factor) {
  TRT_CHECK(upscale_factor > 0, "PixelShuffle: upscale_factor must be positive, got ", upscale_factor);
  return plain(
      "PixelShuffle", [=](const Tensor& x, const Module&) { return op::pixel_shuffle(x, upscale_factor); },
      str_cat("upscale_factor=", upscale_factor));
}
ModulePtr pixel_unshuffle(int64_t downscale_factor) {
  TRT_CHECK(downscale_factor > 0, "PixelUnshuffle: downscale_factor must be positive, got ", downscale_factor);
  return plain(
      "PixelUnshuffle", [=](const Tensor& x, const Module&) { return op::pixel_unshuffle(x, downscale_factor); },
      str_cat("downscale_factor=", downscale_factor));
}
ModulePtr channel_shuffle(int64_t groups) {
  TRT_CHECK(groups > 0, "ChannelShuffle: groups must be positive, got ", groups);
  return plain(
      "ChannelShuffle", [=](const Tensor& x, const Module&) { return op::channel_shuffle(x, groups); }, str_cat("groups=", groups));
}
ModulePtr adaptive_avg_pool1d(int64_t output_size) {
  check_output_size("AdaptiveAvgPool1d", {output_size, 0});
  return plain(
      "AdaptiveAvgPool1d", [=](const Tensor& x, const Module&) { return op::adaptive_avg_pool1d(x, {output_size}); },
      str_cat("output_size=", output_size));
}
ModulePtr adaptive_max_pool1d(int64_t output_size) {
  check_output_size("AdaptiveMaxPool1d", {output_size, 0});
  return plain(
      "AdaptiveMaxPool1d", [=](const Tensor& x, const Module&) { return op::adaptive_max_pool1d(x, {output_size}); },
      str_cat("output_size=", output_size));
}

ModulePtr max_pool2d(std::array<int64_t, 2> kernel, const PoolOptions& o) {
  const auto stride = checked_pool("MaxPool2d", kernel, o);
  return plain(
      "MaxPool2d", [=](const Tensor& x, const Module&) { return op::max_pool2d(x, kernel, stride, o.padding, o.dilation, o.ceil_mode); },
      str_cat(pool_repr(kernel, stride, o), ", dilation=", number_or_tuple(o.dilation), ", ceil_mode=", python_bool(o.ceil_mode)));
}
ModulePtr avg_pool2d(std::array<int64_t, 2> kernel, const PoolOptions& o) {
  const auto stride = checked_pool("AvgPool2d", kernel, o);
  TRT_CHECK(!o.divisor_override || *o.divisor_override != 0, "AvgPool2d: the divisor must not be zero");
  return plain(
      "AvgPool2d",
      [=](const Tensor& x, const Module&) {
        return op::avg_pool2d(x, kernel, stride, o.padding, o.ceil_mode, o.count_include_pad, o.divisor_override);
      },
      pool_repr(kernel, stride, o));
}
ModulePtr adaptive_avg_pool2d(std::array<int64_t, 2> output_size) {
  check_output_size("AdaptiveAvgPool2d", output_size);
  return plain(
      "AdaptiveAvgPool2d", [=](const Tensor& x, const Module&) { return op::adaptive_avg_pool2d(x, output_size); },
      "output_size=" + number_or_tuple(output_size));
}
ModulePtr adaptive_max_pool2d(std::array<int64_t, 2> output_size) {
  check_output_size("AdaptiveMaxPool2d", output_size);
  return plain(
      "AdaptiveMaxPool2d", [=](const Tensor& x, const Module&) { return op::adaptive_max_pool2d(x, output_size); },
      "output_size=" + number_or_tuple(output_size));
}

}  // namespace trt::nn
