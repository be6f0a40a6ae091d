// Modules without parameters: activations, dropout, pooling, changes of shape.
#include <algorithm>
#include <iterator>

#include "base/repr.h"
#include "gen/all_ops.h"
#include "nn/layers.h"

namespace trt::nn {

namespace {

using ForwardFn = std::function<Tensor(const Tensor& input, const Module& self)>;

class Plain final : public Module {
 public:
  Plain(std::string type_name, ForwardFn forward, std::string extra) : Module(std::move(type_name)), forward_(std::move(forward)), extra_(std::move(extra)) {}
  Tensor forward(const Tensor& input) override { return forward_(input, *this); }
  std::string extra_repr() const override { return extra_; }

 private:
  ForwardFn forward_;
  std::string extra_;
};

ModulePtr plain(std::string type_name, ForwardFn forward, std::string extra = {}) {
  return make_intrusive<Plain>(std::move(type_name), std::move(forward), std::move(extra));
}

ModulePtr unary(const char* type_name, Tensor (*f)(const Tensor&)) {
  return plain(type_name, [f](const Tensor& x, const Module&) { return f(x); });
}

// As Plain, of two inputs.
class PlainPair final : public MultiInput {
 public:
  using Fn = std::function<Tensor(const Tensor& first, const Tensor& second)>;
  PlainPair(std::string type_name, const char* first, const char* second, Fn f, std::string extra)
      : MultiInput(std::move(type_name)), names_{first, second}, f_(std::move(f)), extra_(std::move(extra)) {}
  Signature signature() const override { return {names_, 2, 1}; }
  std::vector<Tensor> run(TensorList inputs, size_t) override { return {f_(inputs[0], inputs[1])}; }
  std::string extra_repr() const override { return extra_; }

 private:
  std::vector<const char*> names_;
  Fn f_;
  std::string extra_;
};

void check_probability(std::string_view name, double p) {
  TRT_CHECK(p >= 0 && p <= 1, name, ": the probability must be between 0 and 1, got ", p);
}

// Kernel, stride, padding and dilation of a pool of up to three dimensions.
struct Windows {
  size_t dims = 0;
  std::array<int64_t, 3> sizes[4] = {};
  IntArrayRef kernel() const { return {sizes[0].data(), dims}; }
  IntArrayRef stride() const { return {sizes[1].data(), dims}; }
  IntArrayRef padding() const { return {sizes[2].data(), dims}; }
  IntArrayRef dilation() const { return {sizes[3].data(), dims}; }
};

size_t checked_dims(const char* name, IntArrayRef sizes) {
  TRT_CHECK(sizes.size() >= 1 && sizes.size() <= 3, name, ": one to three sizes are needed, got ", sizes);
  return sizes.size();
}

Windows checked_pool(const std::string& name, IntArrayRef kernel, const PoolOptions& o) {
  Windows w{kernel.size(), {{}, o.stride, o.padding, o.dilation}};
  for (size_t d = 0; d < w.dims; ++d) {
    w.sizes[0][d] = kernel[d];
    TRT_CHECK(kernel[d] > 0 && o.stride[d] >= 0 && o.dilation[d] > 0, name, ": kernel size, stride and dilation must be positive, got ", kernel, ", ",
              w.stride(), " and ", w.dilation());
    TRT_CHECK(o.padding[d] >= 0 && o.padding[d] <= kernel[d] / 2, name, ": padding must be between 0 and half the kernel, got padding ", w.padding(),
              ", kernel size ", kernel);
    if (o.stride[d] == 0) w.sizes[1][d] = kernel[d];
  }
  return w;
}

using ReprFn = std::string (*)(IntArrayRef);
std::string pool_repr(const Windows& w, ReprFn text) {
  return str_cat("kernel_size=", text(w.kernel()), ", stride=", text(w.stride()), ", padding=", text(w.padding()));
}

std::string window_repr(IntArrayRef kernel, const WindowOptions& o) {
  return str_cat("kernel_size=", number_or_tuple(kernel), ", dilation=", number_or_tuple(o.dilation), ", padding=", number_or_tuple(o.padding), ", stride=",
                 number_or_tuple(o.stride));
}
void check_windows(const char* name, IntArrayRef kernel, const WindowOptions& o) {
  for (size_t d = 0; d < 2; ++d)
    TRT_CHECK(kernel[d] > 0 && o.stride[d] > 0 && o.dilation[d] > 0 && o.padding[d] >= 0, name,
              ": kernel size, stride and dilation must be positive and padding not negative, got ", kernel, ", ", IntArrayRef(o.stride), ", ",
              IntArrayRef(o.dilation), " and ", IntArrayRef(o.padding));
}

std::string float_tuple(ArrayRef<double> values) {
  std::string s = "(";
  for (size_t i = 0; i < values.size(); ++i) s += (i ? ", " : "") + python_float(values[i]);
  return s + (values.size() == 1 ? ",)" : ")");
}

ModulePtr adaptive_pool(const char* kind, IntArrayRef size, Tensor (*const (&f)[3])(const Tensor&, IntArrayRef)) {
  const size_t dims = checked_dims(kind, size);
  const std::string name = str_cat(kind, dims, "d");
  for (int64_t n : size) TRT_CHECK(n >= 0, name, ": the output size must not be negative, got ", size);
  return plain(
      name, [f = f[dims - 1], sizes = DimVector(size.data(), size.size())](const Tensor& x, const Module&) { return f(x, sizes); },
      "output_size=" + number_or_tuple(size));
}

}  // namespace

ModulePtr identity() {
  return plain("Identity", [](const Tensor& x, const Module&) { return x; });
}
ModulePtr dropout(double p) {
  check_probability("Dropout", p);
  return plain(
      "Dropout", [p](const Tensor& x, const Module& self) { return op::dropout(x, p, self.training()); },
      str_cat("p=", python_float(p), ", inplace=False"));
}
ModulePtr alpha_dropout(double p) {
  check_probability("AlphaDropout", p);
  return plain(
      "AlphaDropout", [p](const Tensor& x, const Module& self) { return op::alpha_dropout(x, p, self.training()); },
      str_cat("p=", python_float(p), ", inplace=False"));
}
ModulePtr feature_alpha_dropout(double p) {
  check_probability("FeatureAlphaDropout", p);
  return plain(
      "FeatureAlphaDropout", [p](const Tensor& x, const Module& self) { return op::feature_alpha_dropout(x, p, self.training()); },
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
ModulePtr rrelu(double lower, double upper) {
  TRT_CHECK(lower <= upper, "RReLU: lower must not be above upper, got ", lower, " and ", upper);
  return plain(
      "RReLU", [=](const Tensor& x, const Module& self) { return op::rrelu(x, lower, upper, self.training()); },
      str_cat("lower=", python_float(lower), ", upper=", python_float(upper)));
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
ModulePtr softmax2d() {
  return plain("Softmax2d", [](const Tensor& x, const Module&) {
    TRT_CHECK(x.dim() == 3 || x.dim() == 4, "Softmax2d: the input must have 3 or 4 dimensions, got ", x);
    return op::softmax(x, -3);
  });
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
ModulePtr max_pool(IntArrayRef kernel, const PoolOptions& o) {
  const size_t dims = checked_dims("MaxPool", kernel);
  const std::string name = str_cat("MaxPool", dims, "d");
  const Windows w = checked_pool(name, kernel, o);
  const auto f = dims == 1 ? op::max_pool1d : dims == 2 ? op::max_pool2d : op::max_pool3d;
  return plain(
      name, [=](const Tensor& x, const Module&) { return f(x, w.kernel(), w.stride(), w.padding(), w.dilation(), o.ceil_mode); },
      str_cat(pool_repr(w, number_or_tuple), ", dilation=", number_or_tuple(w.dilation()), ", ceil_mode=", python_bool(o.ceil_mode)));
}
ModulePtr avg_pool(IntArrayRef kernel, const PoolOptions& o) {
  const size_t dims = checked_dims("AvgPool", kernel);
  const std::string name = str_cat("AvgPool", dims, "d");
  const Windows w = checked_pool(name, kernel, o);
  TRT_CHECK(!o.divisor_override || *o.divisor_override != 0, name, ": the divisor must not be zero");
  TRT_CHECK(dims > 1 || !o.divisor_override, name, ": takes no divisor_override, got ", *o.divisor_override);
  if (dims == 1)
    return plain(
        name, [=](const Tensor& x, const Module&) { return op::avg_pool1d(x, w.kernel(), w.stride(), w.padding(), o.ceil_mode, o.count_include_pad); },
        pool_repr(w, python_tuple));
  const auto f = dims == 2 ? op::avg_pool2d : op::avg_pool3d;
  return plain(
      name,
      [=](const Tensor& x, const Module&) { return f(x, w.kernel(), w.stride(), w.padding(), o.ceil_mode, o.count_include_pad, o.divisor_override); },
      pool_repr(w, number_or_tuple));
}
ModulePtr lp_pool(double norm_type, IntArrayRef kernel, const PoolOptions& o) {
  const size_t dims = checked_dims("LPPool", kernel);
  const std::string name = str_cat("LPPool", dims, "d");
  const Windows w = checked_pool(name, kernel, o);
  TRT_CHECK(norm_type != 0, name, ": norm_type must not be zero");
  const auto f = dims == 1 ? op::lp_pool1d : dims == 2 ? op::lp_pool2d : op::lp_pool3d;
  return plain(
      name, [=](const Tensor& x, const Module&) { return f(x, norm_type, w.kernel(), w.stride(), o.ceil_mode); },
      str_cat("norm_type=", python_float(norm_type), ", kernel_size=", number_or_tuple(w.kernel()), ", stride=",
              o.stride[0] ? number_or_tuple(w.stride()) : "None", ", ceil_mode=", python_bool(o.ceil_mode)));
}
ModulePtr max_unpool(IntArrayRef kernel, const PoolOptions& o) {
  const size_t dims = checked_dims("MaxUnpool", kernel);
  const std::string name = str_cat("MaxUnpool", dims, "d");
  const Windows w = checked_pool(name, kernel, o);
  const auto f = dims == 1 ? op::max_unpool1d : dims == 2 ? op::max_unpool2d : op::max_unpool3d;
  return make_intrusive<PlainPair>(
      name, "input", "indices",
      [=](const Tensor& x, const Tensor& indices) { return f(x, indices, w.kernel(), w.stride(), w.padding(), std::nullopt); }, pool_repr(w, python_tuple));
}
ModulePtr fractional_max_pool(IntArrayRef kernel, std::optional<IntArrayRef> output_size, std::optional<ArrayRef<double>> output_ratio) {
  const size_t dims = checked_dims("FractionalMaxPool", kernel);
  const std::string name = str_cat("FractionalMaxPool", dims, "d");
  TRT_CHECK(dims > 1, name, ": two or three sizes of the kernel are needed, got ", kernel);
  TRT_CHECK(output_size.has_value() != output_ratio.has_value(), name, ": either output_size or output_ratio is needed");
  const size_t given = output_size ? output_size->size() : output_ratio->size();
  TRT_CHECK(given == 1 || given == dims, name, ": one number or ", dims, " are needed for the output, got ", given);
  const std::vector<int64_t> size(output_size ? output_size->begin() : nullptr, output_size ? output_size->end() : nullptr);
  const std::vector<double> ratio(output_size ? nullptr : output_ratio->begin(), output_size ? nullptr : output_ratio->end());
  for (int64_t n : kernel) TRT_CHECK(n > 0, name, ": the kernel size must be positive, got ", kernel);
  for (int64_t n : size) TRT_CHECK(n >= 0, name, ": output_size must not be negative, got ", IntArrayRef(size));
  for (double r : ratio) TRT_CHECK(r > 0 && r < 1, name, ": output_ratio must lie in (0, 1), got ", r);
  const auto f = dims == 2 ? op::fractional_max_pool2d : op::fractional_max_pool3d;
  return plain(name, [=, kernel = DimVector(kernel.data(), kernel.size())](const Tensor& x, const Module&) {
    return f(x, kernel, size.empty() ? std::nullopt : std::optional(IntArrayRef(size)), ratio.empty() ? std::nullopt : std::optional(ArrayRef<double>(ratio)),
             Tensor(), nullptr);
  });
}
ModulePtr adaptive_avg_pool(IntArrayRef output_size) {
  return adaptive_pool("AdaptiveAvgPool", output_size, {op::adaptive_avg_pool1d, op::adaptive_avg_pool2d, op::adaptive_avg_pool3d});
}
ModulePtr adaptive_max_pool(IntArrayRef output_size) {
  return adaptive_pool("AdaptiveMaxPool", output_size, {op::adaptive_max_pool1d, op::adaptive_max_pool2d, op::adaptive_max_pool3d});
}

ModulePtr feature_dropout(size_t dims, double p) {
  TRT_CHECK(dims >= 1 && dims <= 3, "Dropout: one to three dimensions, got ", dims);
  const std::string name = str_cat("Dropout", dims, "d");
  check_probability(name, p);
  return plain(
      name,
      [=](const Tensor& x, const Module& self) {
        const auto dim = static_cast<size_t>(x.dim());
        // As PyTorch: Dropout2d reads three dimensions as [n, c, l] and two as [n, c], the others have a sample without n.
        TRT_CHECK(dim == dims + 1 || dim == dims + 2 || (dims == 2 && dim == 2), self.type_name(), ": the input must have ", dims + 1, " or ", dims + 2,
                  " dimensions, got ", x);
        if (!self.training() || p == 0) return op::dropout(x, p, false);
        DimVector sizes(x.sizes().data(), x.sizes().size());
        const size_t leading = dim == dims + 1 && dims != 2 ? 1 : 2;
        for (size_t d = leading; d < dim; ++d) sizes[d] = 1;
        return op::mul(x, op::dropout(op::ones(sizes, x.dtype(), x.device()), p, true));
      },
      str_cat("p=", python_float(p), ", inplace=False"));
}
ModulePtr local_response_norm(int64_t size, double alpha, double beta, double k) {
  TRT_CHECK(size > 0, "LocalResponseNorm: size must be positive, got ", size);
  return plain(
      "LocalResponseNorm", [=](const Tensor& x, const Module&) { return op::local_response_norm(x, size, alpha, beta, k); },
      str_cat(size, ", alpha=", python_float(alpha), ", beta=", python_float(beta), ", k=", python_float(k)));
}
ModulePtr pad(IntArrayRef padding, std::string_view mode, double value) {
  static constexpr std::pair<std::string_view, const char*> kKinds[] = {
      {"constant", "ConstantPad"}, {"zeros", "ZeroPad"}, {"reflect", "ReflectionPad"}, {"replicate", "ReplicationPad"}, {"circular", "CircularPad"}};
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return k.first == mode; });
  TRT_CHECK(kind != std::end(kKinds), "pad: the mode must be 'constant', 'zeros', 'reflect', 'replicate' or 'circular', got '", mode, "'");
  TRT_CHECK(padding.size() == 2 || padding.size() == 4 || padding.size() == 6, kind->second, ": two, four or six numbers are needed, got ", padding);
  const bool constant = mode == "constant", zeros = mode == "zeros";
  TRT_CHECK(constant || value == 0, kind->second, ": a value is for mode 'constant', got ", value);
  const std::string text = python_tuple(padding);
  return plain(
      str_cat(kind->second, padding.size() / 2, "d"),
      [constant, zeros, value, mode = std::string(mode), sides = DimVector(padding.data(), padding.size())](const Tensor& x, const Module& self) {
        const int64_t dims = static_cast<int64_t>(sides.size()) / 2;
        TRT_CHECK(x.dim() >= dims, self.type_name(), ": the input must have at least ", dims, " dimensions, got ", x);
        if (constant || zeros) return op::pad(x, sides, "constant", Scalar(value));
        return op::pad(x, sides, mode);
      },
      constant ? str_cat("padding=", text, ", value=", python_float(value)) : text);
}
ModulePtr upsample(std::optional<IntArrayRef> size, std::optional<ArrayRef<double>> scale_factor, const std::string& mode, std::optional<bool> align_corners,
                   std::optional<bool> recompute_scale_factor, const char* type_name) {
  TRT_CHECK(size.has_value() != scale_factor.has_value(), type_name, ": either size or scale_factor is needed");
  static constexpr std::string_view kModes[] = {"nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"};
  TRT_CHECK(std::find(std::begin(kModes), std::end(kModes), mode) != std::end(kModes),
            type_name, ": the mode must be 'nearest', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area' or 'nearest-exact', got '", mode, "'");
  const size_t given = size ? size->size() : scale_factor->size();
  TRT_CHECK(given >= 1 && given <= 3, type_name, ": one to three numbers are needed, got ", given);
  const std::vector<int64_t> sizes(size ? size->begin() : nullptr, size ? size->end() : nullptr);
  const std::vector<double> scales(size ? nullptr : scale_factor->begin(), size ? nullptr : scale_factor->end());
  for (int64_t n : sizes) TRT_CHECK(n > 0, type_name, ": sizes must be positive, got ", IntArrayRef(sizes));
  for (double f : scales) TRT_CHECK(f > 0, type_name, ": factors must be positive, got ", f);
  std::string what = size ? "size=" + (given == 1 ? str_cat(sizes[0]) : python_tuple(sizes))
                          : "scale_factor=" + (given == 1 ? python_float(scales[0]) : float_tuple(scales));
  return plain(
      type_name,
      [=](const Tensor& x, const Module&) {
        // One number stands for each of the dimensions.
        const size_t dims = x.dim() > 2 ? static_cast<size_t>(x.dim() - 2) : 1;
        std::vector<int64_t> to = sizes;
        std::vector<double> by = scales;
        if (given == 1 && !to.empty()) to.resize(dims, sizes[0]);
        if (given == 1 && !by.empty()) by.resize(dims, scales[0]);
        return op::interpolate(x, to.empty() ? std::nullopt : std::optional(IntArrayRef(to)), by.empty() ? std::nullopt : std::optional(ArrayRef<double>(by)),
                               mode, align_corners, recompute_scale_factor);
      },
      str_cat(what, ", mode='", mode, "'"));
}
ModulePtr unfold(std::array<int64_t, 2> kernel, const WindowOptions& o) {
  check_windows("Unfold", kernel, o);
  return plain(
      "Unfold", [=](const Tensor& x, const Module&) { return op::im2col(x, kernel, o.dilation, o.padding, o.stride); }, window_repr(kernel, o));
}
ModulePtr fold(std::array<int64_t, 2> output_size, std::array<int64_t, 2> kernel, const WindowOptions& o) {
  check_windows("Fold", kernel, o);
  TRT_CHECK(output_size[0] > 0 && output_size[1] > 0, "Fold: the output size must be positive, got ", IntArrayRef(output_size));
  return plain(
      "Fold", [=](const Tensor& x, const Module&) { return op::col2im(x, output_size, kernel, o.dilation, o.padding, o.stride); },
      str_cat("output_size=", number_or_tuple(output_size), ", ", window_repr(kernel, o)));
}

ModulePtr cosine_similarity(int64_t dim, double eps) {
  return make_intrusive<PlainPair>(
      "CosineSimilarity", "x1", "x2", [=](const Tensor& x1, const Tensor& x2) { return op::cosine_similarity(x1, x2, dim, eps); }, "");
}
ModulePtr pairwise_distance(double p, double eps, bool keepdim) {
  return make_intrusive<PlainPair>(
      "PairwiseDistance", "x1", "x2", [=](const Tensor& x1, const Tensor& x2) { return op::pairwise_distance(x1, x2, p, eps, keepdim); }, "");
}

}  // namespace trt::nn
