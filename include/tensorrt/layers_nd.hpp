// Layers in C++17 whose number of dimensions is an option in C: convolutions of three dimensions and transposed ones, normalizations, pools, padding,
// resizing, dropout of channels. Over nn.h, which documents shapes, parameters and errors. Included by tensorrt.hpp.
#ifndef TENSORRT_LAYERS_ND_HPP
#define TENSORRT_LAYERS_ND_HPP

#include "tensorrt/layers.hpp"

namespace trt {
namespace nn {

/** One number for all directions, or two or three: for height and width, or depth, height and width. */
class Triple {
 public:
  template <typename T, std::enable_if_t<detail::is_number<T> && std::is_integral_v<T>, int> = 0>
  Triple(T all) : values_{static_cast<std::int64_t>(all), static_cast<std::int64_t>(all), static_cast<std::int64_t>(all)} {}
  template <typename T, typename U>
  Triple(T h, U w) : values_{static_cast<std::int64_t>(h), static_cast<std::int64_t>(w), 1}, size_(2) {}
  template <typename T, typename U, typename V>
  Triple(T d, U h, V w) : values_{static_cast<std::int64_t>(d), static_cast<std::int64_t>(h), static_cast<std::int64_t>(w)}, size_(3) {}
  /** The numbers of a layer of `dims` dimensions. */
  std::vector<std::int64_t> sizes(std::size_t dims) const {
    if (size_ != 1 && size_ != dims)
      throw Error(TRT_INVALID_ARGUMENT, "one number or " + std::to_string(dims) + " are needed, got " + std::to_string(size_));
    return {values_, values_ + dims};
  }
  void store(std::int64_t (&to)[3]) const {
    for (std::size_t i = 0; i < 3; ++i) to[i] = values_[i];
  }

 private:
  std::int64_t values_[3];
  std::size_t size_ = 1;
};

/** Options of convolutions of one to three dimensions. */
class ConvNdOptions : public ParameterOptions<ConvNdOptions, trt_convnd_options> {
 public:
  ConvNdOptions(std::int64_t in_channels, std::int64_t out_channels, Triple kernel_size)
      : ParameterOptions(trt_convnd_options_init), in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  ConvNdOptions& stride(Triple v) {
    v.store(c_.stride);
    return *this;
  }
  ConvNdOptions& padding(Triple v) {
    v.store(c_.padding);
    c_.padding_same = false;
    return *this;
  }
  /** The output is as large as the input; not for transposed convolutions. */
  ConvNdOptions& padding_same(bool v) {
    c_.padding_same = v;
    return *this;
  }
  /** Not for transposed convolutions. */
  ConvNdOptions& padding_mode(trt_padding_mode v) {
    c_.padding_mode = v;
    return *this;
  }
  /** Transposed convolutions only. */
  ConvNdOptions& output_padding(Triple v) {
    v.store(c_.output_padding);
    return *this;
  }
  ConvNdOptions& dilation(Triple v) {
    v.store(c_.dilation);
    return *this;
  }
  ConvNdOptions& groups(std::int64_t v) {
    c_.groups = v;
    return *this;
  }
  ConvNdOptions& bias(bool v) {
    c_.bias = v;
    return *this;
  }
  /** The layer of `dims` dimensions that a function of C makes. */
  template <typename F>
  trt_module* make(F* create, std::size_t dims) const {
    const auto kernel = kernel_size_.sizes(dims);
    return detail::create(create, in_channels_, out_channels_, kernel.data(), kernel.size(), c());
  }

 private:
  std::int64_t in_channels_, out_channels_;
  Triple kernel_size_;
};
using Conv3dOptions = ConvNdOptions;
using ConvTranspose1dOptions = ConvNdOptions;
using ConvTranspose2dOptions = ConvNdOptions;
using ConvTranspose3dOptions = ConvNdOptions;
/** Conv1d, Conv2d or Conv3d with all options, by the number of dimensions; Conv1d and Conv2d do without padding_mode. */
inline Module conv_nd(std::size_t dims, const ConvNdOptions& o) { return Module(o.make(trt_convnd_create, dims)); }
/** Convolution of [n, in, d, h, w]. */
class Conv3d : public Layer<Conv3d> {
 public:
  using Layer::Layer;
  Conv3d() = default;
  explicit Conv3d(const Conv3dOptions& o) : Layer(o.make(trt_convnd_create, 3)) {}
  Conv3d(std::int64_t in_channels, std::int64_t out_channels, Triple kernel_size)
      : Conv3d(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};
/** The gradient of Conv1d as a layer. */
class ConvTranspose1d : public Layer<ConvTranspose1d> {
 public:
  using Layer::Layer;
  ConvTranspose1d() = default;
  explicit ConvTranspose1d(const ConvTranspose1dOptions& o) : Layer(o.make(trt_conv_transpose_create, 1)) {}
  ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size)
      : ConvTranspose1d(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};
/** The gradient of Conv2d as a layer. */
class ConvTranspose2d : public Layer<ConvTranspose2d> {
 public:
  using Layer::Layer;
  ConvTranspose2d() = default;
  explicit ConvTranspose2d(const ConvTranspose2dOptions& o) : Layer(o.make(trt_conv_transpose_create, 2)) {}
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size)
      : ConvTranspose2d(ConvTranspose2dOptions(in_channels, out_channels, Triple(kernel_size.h(), kernel_size.w()))) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};
/** The gradient of Conv3d as a layer. */
class ConvTranspose3d : public Layer<ConvTranspose3d> {
 public:
  using Layer::Layer;
  ConvTranspose3d() = default;
  explicit ConvTranspose3d(const ConvTranspose3dOptions& o) : Layer(o.make(trt_conv_transpose_create, 3)) {}
  ConvTranspose3d(std::int64_t in_channels, std::int64_t out_channels, Triple kernel_size)
      : ConvTranspose3d(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};

using BatchNorm3dOptions = BatchNormOptions;
/** Normalizes [n, c, d, h, w] over all but the channels. */
class BatchNorm3d : public Layer<BatchNorm3d> {
 public:
  using Layer::Layer;
  BatchNorm3d() = default;
  explicit BatchNorm3d(const BatchNorm3dOptions& o) : Layer(detail::create(trt_batch_norm3d_create, o.num_features(), o.c())) {}
};
/** Options of InstanceNorm1d, InstanceNorm2d and InstanceNorm3d: without parameters and running statistics at first. */
class InstanceNormOptions : public NormOptions<InstanceNormOptions> {
 public:
  InstanceNormOptions(std::int64_t num_features) : num_features_(num_features) { trt_instance_norm_options_init(&c_); }
  InstanceNormOptions& momentum(double v) {
    c_.momentum = v;
    return *this;
  }
  InstanceNormOptions& track_running_stats(bool v) {
    c_.track_running_stats = v;
    return *this;
  }
  std::int64_t num_features() const { return num_features_; }

 private:
  std::int64_t num_features_;
};
/** Normalizes each channel of each sample, with 1 dimension behind. */
class InstanceNorm1d : public Layer<InstanceNorm1d> {
 public:
  using Layer::Layer;
  InstanceNorm1d() = default;
  explicit InstanceNorm1d(const InstanceNormOptions& o) : Layer(detail::create(trt_instance_norm_create, 1, o.num_features(), o.c())) {}
};
/** Normalizes each channel of each sample, with 2 dimensions behind. */
class InstanceNorm2d : public Layer<InstanceNorm2d> {
 public:
  using Layer::Layer;
  InstanceNorm2d() = default;
  explicit InstanceNorm2d(const InstanceNormOptions& o) : Layer(detail::create(trt_instance_norm_create, 2, o.num_features(), o.c())) {}
};
/** Normalizes each channel of each sample, with 3 dimensions behind. */
class InstanceNorm3d : public Layer<InstanceNorm3d> {
 public:
  using Layer::Layer;
  InstanceNorm3d() = default;
  explicit InstanceNorm3d(const InstanceNormOptions& o) : Layer(detail::create(trt_instance_norm_create, 3, o.num_features(), o.c())) {}
};
/** Divides by the root mean square over the last dimensions; eps std::nullopt: the epsilon of the input's dtype. */
class RMSNorm : public Layer<RMSNorm> {
 public:
  using Layer::Layer;
  RMSNorm() = default;
  explicit RMSNorm(IntArrayRef normalized_shape, std::optional<double> eps = std::nullopt, bool elementwise_affine = true,
                   std::optional<DType> dtype = std::nullopt)
      : Layer(detail::create(trt_rms_norm_create, normalized_shape.data(), normalized_shape.size(), eps ? &*eps : nullptr, elementwise_affine,
                             dtype ? static_cast<std::int32_t>(*dtype) : std::int32_t{TRT_DTYPE_NONE})) {}
};
/** Divides by a power of the mean of squares over neighbouring channels. */
class LocalResponseNorm : public Layer<LocalResponseNorm> {
 public:
  using Layer::Layer;
  LocalResponseNorm() = default;
  explicit LocalResponseNorm(std::int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : Layer(detail::create(trt_local_response_norm_create, size, alpha, beta, k)) {}
};
/** In training mode zeroes whole channels, with 1 dimension behind. */
class Dropout1d : public Layer<Dropout1d> {
 public:
  using Layer::Layer;
  explicit Dropout1d(double p = 0.5) : Layer(detail::create(trt_feature_dropout_create, 1, p)) {}
};
/** In training mode zeroes whole channels, with 2 dimensions behind. */
class Dropout2d : public Layer<Dropout2d> {
 public:
  using Layer::Layer;
  explicit Dropout2d(double p = 0.5) : Layer(detail::create(trt_feature_dropout_create, 2, p)) {}
};
/** In training mode zeroes whole channels, with 3 dimensions behind. */
class Dropout3d : public Layer<Dropout3d> {
 public:
  using Layer::Layer;
  explicit Dropout3d(double p = 0.5) : Layer(detail::create(trt_feature_dropout_create, 3, p)) {}
};
/** Dropout for networks with SELU: keeps mean 0 and variance 1. */
class AlphaDropout : public Layer<AlphaDropout> {
 public:
  using Layer::Layer;
  explicit AlphaDropout(double p = 0.5) : Layer(detail::create(trt_alpha_dropout_create, p)) {}
};
/** AlphaDropout of whole channels. */
class FeatureAlphaDropout : public Layer<FeatureAlphaDropout> {
 public:
  using Layer::Layer;
  explicit FeatureAlphaDropout(double p = 0.5) : Layer(detail::create(trt_feature_alpha_dropout_create, p)) {}
};
/** x, or weight x below zero, the weight being a parameter. */
class PReLU : public Layer<PReLU> {
 public:
  using Layer::Layer;
  explicit PReLU(std::int64_t num_parameters = 1, double init = 0.25, std::optional<DType> dtype = std::nullopt)
      : Layer(detail::create(trt_prelu_create, num_parameters, init, dtype ? static_cast<std::int32_t>(*dtype) : std::int32_t{TRT_DTYPE_NONE})) {}
  Tensor weight() const { return parameter("weight"); }
};
namespace detail {
/** One number for all sides, or two for each dimension from the last one on. */
class PadSides {
 public:
  template <typename T, std::enable_if_t<is_number<T> && std::is_integral_v<T>, int> = 0>
  PadSides(T all) : sides_{static_cast<std::int64_t>(all)} {}
  PadSides(std::initializer_list<std::int64_t> sides) : sides_(sides) {}
  PadSides(const std::vector<std::int64_t>& sides) : sides_(sides) {}
  trt_module* make(std::size_t dims, const char* mode, double value) const {
    auto sides = sides_;
    if (sides.size() == 1) sides.resize(2 * dims, sides[0]);
    if (sides.size() != 2 * dims)
      throw Error(TRT_INVALID_ARGUMENT, "padding is one number or " + std::to_string(2 * dims) + ", got " + std::to_string(sides.size()));
    return create(trt_pad_create, sides.data(), sides.size(), mode, value);
  }

 private:
  std::vector<std::int64_t> sides_;
};
}  // namespace detail
/** A value on the sides of the last dimension. */
class ConstantPad1d : public Layer<ConstantPad1d> {
 public:
  using Layer::Layer;
  ConstantPad1d() = default;
  explicit ConstantPad1d(const detail::PadSides& padding, double value) : Layer(padding.make(1, "constant", value)) {}
};
/** A value on the sides of the last two dimensions. */
class ConstantPad2d : public Layer<ConstantPad2d> {
 public:
  using Layer::Layer;
  ConstantPad2d() = default;
  explicit ConstantPad2d(const detail::PadSides& padding, double value) : Layer(padding.make(2, "constant", value)) {}
};
/** A value on the sides of the last three dimensions. */
class ConstantPad3d : public Layer<ConstantPad3d> {
 public:
  using Layer::Layer;
  ConstantPad3d() = default;
  explicit ConstantPad3d(const detail::PadSides& padding, double value) : Layer(padding.make(3, "constant", value)) {}
};
/** Zeros on the sides of the last dimension. */
class ZeroPad1d : public Layer<ZeroPad1d> {
 public:
  using Layer::Layer;
  ZeroPad1d() = default;
  explicit ZeroPad1d(const detail::PadSides& padding) : Layer(padding.make(1, "zeros", 0)) {}
};
/** Zeros on the sides of the last two dimensions. */
class ZeroPad2d : public Layer<ZeroPad2d> {
 public:
  using Layer::Layer;
  ZeroPad2d() = default;
  explicit ZeroPad2d(const detail::PadSides& padding) : Layer(padding.make(2, "zeros", 0)) {}
};
/** Zeros on the sides of the last three dimensions. */
class ZeroPad3d : public Layer<ZeroPad3d> {
 public:
  using Layer::Layer;
  ZeroPad3d() = default;
  explicit ZeroPad3d(const detail::PadSides& padding) : Layer(padding.make(3, "zeros", 0)) {}
};
/** The elements mirrored on the sides of the last dimension. */
class ReflectionPad1d : public Layer<ReflectionPad1d> {
 public:
  using Layer::Layer;
  ReflectionPad1d() = default;
  explicit ReflectionPad1d(const detail::PadSides& padding) : Layer(padding.make(1, "reflect", 0)) {}
};
/** The elements mirrored on the sides of the last two dimensions. */
class ReflectionPad2d : public Layer<ReflectionPad2d> {
 public:
  using Layer::Layer;
  ReflectionPad2d() = default;
  explicit ReflectionPad2d(const detail::PadSides& padding) : Layer(padding.make(2, "reflect", 0)) {}
};
/** The elements mirrored on the sides of the last three dimensions. */
class ReflectionPad3d : public Layer<ReflectionPad3d> {
 public:
  using Layer::Layer;
  ReflectionPad3d() = default;
  explicit ReflectionPad3d(const detail::PadSides& padding) : Layer(padding.make(3, "reflect", 0)) {}
};
/** The outermost elements on the sides of the last dimension. */
class ReplicationPad1d : public Layer<ReplicationPad1d> {
 public:
  using Layer::Layer;
  ReplicationPad1d() = default;
  explicit ReplicationPad1d(const detail::PadSides& padding) : Layer(padding.make(1, "replicate", 0)) {}
};
/** The outermost elements on the sides of the last two dimensions. */
class ReplicationPad2d : public Layer<ReplicationPad2d> {
 public:
  using Layer::Layer;
  ReplicationPad2d() = default;
  explicit ReplicationPad2d(const detail::PadSides& padding) : Layer(padding.make(2, "replicate", 0)) {}
};
/** The outermost elements on the sides of the last three dimensions. */
class ReplicationPad3d : public Layer<ReplicationPad3d> {
 public:
  using Layer::Layer;
  ReplicationPad3d() = default;
  explicit ReplicationPad3d(const detail::PadSides& padding) : Layer(padding.make(3, "replicate", 0)) {}
};
/** The elements of the other side on the sides of the last dimension. */
class CircularPad1d : public Layer<CircularPad1d> {
 public:
  using Layer::Layer;
  CircularPad1d() = default;
  explicit CircularPad1d(const detail::PadSides& padding) : Layer(padding.make(1, "circular", 0)) {}
};
/** The elements of the other side on the sides of the last two dimensions. */
class CircularPad2d : public Layer<CircularPad2d> {
 public:
  using Layer::Layer;
  CircularPad2d() = default;
  explicit CircularPad2d(const detail::PadSides& padding) : Layer(padding.make(2, "circular", 0)) {}
};
/** The elements of the other side on the sides of the last three dimensions. */
class CircularPad3d : public Layer<CircularPad3d> {
 public:
  using Layer::Layer;
  CircularPad3d() = default;
  explicit CircularPad3d(const detail::PadSides& padding) : Layer(padding.make(3, "circular", 0)) {}
};

/** Options of Upsample: a size or a factor, one number for all dimensions or one for each. */
class UpsampleOptions {
 public:
  UpsampleOptions& size(std::vector<std::int64_t> v) {
    size_ = std::move(v);
    return *this;
  }
  UpsampleOptions& scale_factor(std::vector<double> v) {
    scale_factor_ = std::move(v);
    return *this;
  }
  /** "nearest" without; as that of interpolate. */
  UpsampleOptions& mode(const std::string& v) {
    mode_ = v;
    return *this;
  }
  UpsampleOptions& align_corners(std::optional<bool> v) {
    align_corners_ = v;
    return *this;
  }
  UpsampleOptions& recompute_scale_factor(std::optional<bool> v) {
    recompute_scale_factor_ = v;
    return *this;
  }
  trt_module* make() const {
    return detail::create(trt_upsample_create, size_.empty() ? nullptr : size_.data(), size_.size(), scale_factor_.empty() ? nullptr : scale_factor_.data(),
                          scale_factor_.size(), mode_.c_str(), align_corners_ ? &*align_corners_ : nullptr,
                          recompute_scale_factor_ ? &*recompute_scale_factor_ : nullptr);
  }
  trt_module* make_2d(bool bilinear) const {
    return detail::create(trt_upsampling2d_create, size_.empty() ? nullptr : size_.data(), size_.size(), scale_factor_.empty() ? nullptr : scale_factor_.data(),
                          scale_factor_.size(), bilinear);
  }

 private:
  std::vector<std::int64_t> size_;
  std::vector<double> scale_factor_;
  std::string mode_ = "nearest";
  std::optional<bool> align_corners_, recompute_scale_factor_;
};
/** Resizes the dimensions behind the second one. */
class Upsample : public Layer<Upsample> {
 public:
  using Layer::Layer;
  Upsample() = default;
  explicit Upsample(const UpsampleOptions& o) : Layer(o.make()) {}
};
/** Upsample with the nearest elements. */
class UpsamplingNearest2d : public Layer<UpsamplingNearest2d> {
 public:
  using Layer::Layer;
  UpsamplingNearest2d() = default;
  /** The options' size or scale_factor counts. */
  explicit UpsamplingNearest2d(const UpsampleOptions& o) : Layer(o.make_2d(false)) {}
};
/** Upsample with mode bilinear and aligned corners. */
class UpsamplingBilinear2d : public Layer<UpsamplingBilinear2d> {
 public:
  using Layer::Layer;
  UpsamplingBilinear2d() = default;
  /** The options' size or scale_factor counts. */
  explicit UpsamplingBilinear2d(const UpsampleOptions& o) : Layer(o.make_2d(true)) {}
};

/** Options of fractional pooling: the output's size, or its ratio to the input in (0, 1); one number for all dimensions or one for each. */
class FractionalMaxPoolOptions {
 public:
  FractionalMaxPoolOptions(Triple kernel_size) : kernel_size_(kernel_size) {}
  FractionalMaxPoolOptions& output_size(std::vector<std::int64_t> v) {
    output_size_ = std::move(v);
    return *this;
  }
  FractionalMaxPoolOptions& output_ratio(std::vector<double> v) {
    output_ratio_ = std::move(v);
    return *this;
  }
  /** The layer of `dims` dimensions. */
  trt_module* make(std::size_t dims) const {
    const auto kernel = kernel_size_.sizes(dims);
    return detail::create(trt_fractional_max_poolnd_create, kernel.data(), kernel.size(), output_size_.empty() ? nullptr : output_size_.data(), output_size_.size(),
                          output_ratio_.empty() ? nullptr : output_ratio_.data(), output_ratio_.size());
  }

 private:
  Triple kernel_size_;
  std::vector<std::int64_t> output_size_;
  std::vector<double> output_ratio_;
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions;
/** Maxima of windows of 2 dimensions at random places. */
class FractionalMaxPool2d : public Layer<FractionalMaxPool2d> {
 public:
  using Layer::Layer;
  FractionalMaxPool2d() = default;
  explicit FractionalMaxPool2d(const FractionalMaxPool2dOptions& o) : Layer(o.make(2)) {}
};
/** Maxima of windows of 3 dimensions at random places. */
class FractionalMaxPool3d : public Layer<FractionalMaxPool3d> {
 public:
  using Layer::Layer;
  FractionalMaxPool3d() = default;
  explicit FractionalMaxPool3d(const FractionalMaxPool3dOptions& o) : Layer(o.make(3)) {}
};

/** Options of Unfold and Fold. */
class WindowOptions {
 public:
  WindowOptions(Pair kernel_size) : kernel_size_(kernel_size), c_(detail::defaults(trt_window_options_init)) {}
  WindowOptions& dilation(Pair v) {
    v.store(c_.dilation);
    return *this;
  }
  WindowOptions& padding(Pair v) {
    v.store(c_.padding);
    return *this;
  }
  WindowOptions& stride(Pair v) {
    v.store(c_.stride);
    return *this;
  }
  Pair kernel_size() const { return kernel_size_; }
  const trt_window_options* c() const { return &c_; }

 private:
  Pair kernel_size_;
  trt_window_options c_;
};
using UnfoldOptions = WindowOptions;
using FoldOptions = WindowOptions;
/** The windows of images as columns. */
class Unfold : public Layer<Unfold> {
 public:
  using Layer::Layer;
  Unfold() = default;
  explicit Unfold(const UnfoldOptions& o) : Layer(detail::create(trt_unfold_create, o.kernel_size().h(), o.kernel_size().w(), o.c())) {}
};
/** The sum of windows, given as columns, in images. */
class Fold : public Layer<Fold> {
 public:
  using Layer::Layer;
  Fold() = default;
  Fold(Pair output_size, const FoldOptions& o)
      : Layer(detail::create(trt_fold_create, output_size.h(), output_size.w(), o.kernel_size().h(), o.kernel_size().w(), o.c())) {}
};

/** Options of pools of one or three dimensions, and of power averages and unpooling of one to three. */
class PoolNdOptions {
 public:
  PoolNdOptions(Triple kernel_size) : kernel_size_(kernel_size), c_(detail::defaults(trt_poolnd_options_init)) {}
  /** The kernel's size without. */
  PoolNdOptions& stride(Triple v) {
    v.store(c_.stride);
    for (const std::int64_t n : c_.stride)
      if (n == 0) throw Error(TRT_INVALID_ARGUMENT, "PoolNdOptions: the stride must be positive");
    return *this;
  }
  PoolNdOptions& padding(Triple v) {
    v.store(c_.padding);
    return *this;
  }
  /** Maximum only. */
  PoolNdOptions& dilation(Triple v) {
    v.store(c_.dilation);
    return *this;
  }
  PoolNdOptions& ceil_mode(bool v) {
    c_.ceil_mode = v;
    return *this;
  }
  /** Average only. */
  PoolNdOptions& count_include_pad(bool v) {
    c_.count_include_pad = v;
    return *this;
  }
  /** AvgPool3d only; 0: the window's size. */
  PoolNdOptions& divisor_override(std::int64_t v) {
    c_.divisor_override = v;
    return *this;
  }
  /** The layer of `dims` dimensions that a function of C makes. */
  template <typename F, typename... First>
  trt_module* make(F* create, std::size_t dims, First... first) const {
    const auto kernel = kernel_size_.sizes(dims);
    return detail::create(create, first..., kernel.data(), kernel.size(), &c_);
  }

 private:
  Triple kernel_size_;
  trt_poolnd_options c_;
};
using MaxPool1dOptions = PoolNdOptions;
using MaxPool3dOptions = PoolNdOptions;
using AvgPool1dOptions = PoolNdOptions;
using AvgPool3dOptions = PoolNdOptions;
using LPPool1dOptions = PoolNdOptions;
using LPPool2dOptions = PoolNdOptions;
using LPPool3dOptions = PoolNdOptions;
using MaxUnpool1dOptions = PoolNdOptions;
using MaxUnpool2dOptions = PoolNdOptions;
using MaxUnpool3dOptions = PoolNdOptions;
/** Maxima of windows of 1 dimension. */
class MaxPool1d : public Layer<MaxPool1d> {
 public:
  using Layer::Layer;
  MaxPool1d() = default;
  explicit MaxPool1d(std::int64_t kernel_size) : MaxPool1d(MaxPool1dOptions(kernel_size)) {}
  explicit MaxPool1d(const MaxPool1dOptions& o) : Layer(o.make(trt_max_poolnd_create, 1)) {}
};
/** Maxima of windows of 3 dimensions. */
class MaxPool3d : public Layer<MaxPool3d> {
 public:
  using Layer::Layer;
  MaxPool3d() = default;
  explicit MaxPool3d(Triple kernel_size) : MaxPool3d(MaxPool3dOptions(kernel_size)) {}
  explicit MaxPool3d(const MaxPool3dOptions& o) : Layer(o.make(trt_max_poolnd_create, 3)) {}
};
/** Means of windows of 1 dimension. */
class AvgPool1d : public Layer<AvgPool1d> {
 public:
  using Layer::Layer;
  AvgPool1d() = default;
  explicit AvgPool1d(std::int64_t kernel_size) : AvgPool1d(AvgPool1dOptions(kernel_size)) {}
  explicit AvgPool1d(const AvgPool1dOptions& o) : Layer(o.make(trt_avg_poolnd_create, 1)) {}
};
/** Means of windows of 3 dimensions. */
class AvgPool3d : public Layer<AvgPool3d> {
 public:
  using Layer::Layer;
  AvgPool3d() = default;
  explicit AvgPool3d(Triple kernel_size) : AvgPool3d(AvgPool3dOptions(kernel_size)) {}
  explicit AvgPool3d(const AvgPool3dOptions& o) : Layer(o.make(trt_avg_poolnd_create, 3)) {}
};
/** The power average of each window of 1 dimension. */
class LPPool1d : public Layer<LPPool1d> {
 public:
  using Layer::Layer;
  LPPool1d() = default;
  LPPool1d(double norm_type, std::int64_t kernel_size) : LPPool1d(norm_type, LPPool1dOptions(kernel_size)) {}
  /** Stride and ceil_mode count. */
  LPPool1d(double norm_type, const LPPool1dOptions& o) : Layer(o.make(trt_lp_poolnd_create, 1, norm_type)) {}
};
/** The power average of each window of 2 dimensions. */
class LPPool2d : public Layer<LPPool2d> {
 public:
  using Layer::Layer;
  LPPool2d() = default;
  LPPool2d(double norm_type, Triple kernel_size) : LPPool2d(norm_type, LPPool2dOptions(kernel_size)) {}
  /** Stride and ceil_mode count. */
  LPPool2d(double norm_type, const LPPool2dOptions& o) : Layer(o.make(trt_lp_poolnd_create, 2, norm_type)) {}
};
/** The power average of each window of 3 dimensions. */
class LPPool3d : public Layer<LPPool3d> {
 public:
  using Layer::Layer;
  LPPool3d() = default;
  LPPool3d(double norm_type, Triple kernel_size) : LPPool3d(norm_type, LPPool3dOptions(kernel_size)) {}
  /** Stride and ceil_mode count. */
  LPPool3d(double norm_type, const LPPool3dOptions& o) : Layer(o.make(trt_lp_poolnd_create, 3, norm_type)) {}
};
/** The inverse of MaxPool1d, with zeros where no maximum was. */
class MaxUnpool1d : public Layer<MaxUnpool1d> {
 public:
  using Layer::Layer;
  MaxUnpool1d() = default;
  explicit MaxUnpool1d(std::int64_t kernel_size) : MaxUnpool1d(MaxUnpool1dOptions(kernel_size)) {}
  /** Stride and padding count. */
  explicit MaxUnpool1d(const MaxUnpool1dOptions& o) : Layer(o.make(trt_max_unpoolnd_create, 1)) {}
  Tensor forward(const Tensor& x, const Tensor& indices) const { return forward_with({x, indices})[0]; }
  Tensor operator()(const Tensor& x, const Tensor& indices) const { return forward(x, indices); }
};
/** The inverse of MaxPool2d, with zeros where no maximum was. */
class MaxUnpool2d : public Layer<MaxUnpool2d> {
 public:
  using Layer::Layer;
  MaxUnpool2d() = default;
  explicit MaxUnpool2d(Triple kernel_size) : MaxUnpool2d(MaxUnpool2dOptions(kernel_size)) {}
  /** Stride and padding count. */
  explicit MaxUnpool2d(const MaxUnpool2dOptions& o) : Layer(o.make(trt_max_unpoolnd_create, 2)) {}
  Tensor forward(const Tensor& x, const Tensor& indices) const { return forward_with({x, indices})[0]; }
  Tensor operator()(const Tensor& x, const Tensor& indices) const { return forward(x, indices); }
};
/** The inverse of MaxPool3d, with zeros where no maximum was. */
class MaxUnpool3d : public Layer<MaxUnpool3d> {
 public:
  using Layer::Layer;
  MaxUnpool3d() = default;
  explicit MaxUnpool3d(Triple kernel_size) : MaxUnpool3d(MaxUnpool3dOptions(kernel_size)) {}
  /** Stride and padding count. */
  explicit MaxUnpool3d(const MaxUnpool3dOptions& o) : Layer(o.make(trt_max_unpoolnd_create, 3)) {}
  Tensor forward(const Tensor& x, const Tensor& indices) const { return forward_with({x, indices})[0]; }
  Tensor operator()(const Tensor& x, const Tensor& indices) const { return forward(x, indices); }
};
/** Means of windows that give the output this size. */
class AdaptiveAvgPool3d : public Layer<AdaptiveAvgPool3d> {
 public:
  using Layer::Layer;
  AdaptiveAvgPool3d() = default;
  explicit AdaptiveAvgPool3d(Triple output) : Layer(detail::create(trt_adaptive_avg_poolnd_create, output.sizes(3).data(), std::size_t{3})) {}
};
/** Maxima of windows that give the output this size. */
class AdaptiveMaxPool3d : public Layer<AdaptiveMaxPool3d> {
 public:
  using Layer::Layer;
  AdaptiveMaxPool3d() = default;
  explicit AdaptiveMaxPool3d(Triple output) : Layer(detail::create(trt_adaptive_max_poolnd_create, output.sizes(3).data(), std::size_t{3})) {}
};
/** The cosine of the angle between the vectors along a dimension of two tensors. */
class CosineSimilarity : public Layer<CosineSimilarity> {
 public:
  using Layer::Layer;
  explicit CosineSimilarity(std::int64_t dim = 1, double eps = 1e-8) : Layer(detail::create(trt_cosine_similarity_create, dim, eps)) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const { return forward_with({x1, x2})[0]; }
  Tensor operator()(const Tensor& x1, const Tensor& x2) const { return forward(x1, x2); }
};
/** The p-norm of the difference of two tensors along the last dimension. */
class PairwiseDistance : public Layer<PairwiseDistance> {
 public:
  using Layer::Layer;
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false) : Layer(detail::create(trt_pairwise_distance_create, p, eps, keepdim)) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) const { return forward_with({x1, x2})[0]; }
  Tensor operator()(const Tensor& x1, const Tensor& x2) const { return forward(x1, x2); }
};

}  // namespace nn
}  // namespace trt

#endif
