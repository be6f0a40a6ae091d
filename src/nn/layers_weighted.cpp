// Sequential, and the modules with a weight matrix: Linear, Bilinear, PReLU, convolutions, Embedding, EmbeddingBag.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/repr.h"
#include "core/modes.h"
#include "gen/all_ops.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace trt::nn {

namespace {

DType parameter_dtype(const ParameterOptions& o) { return o.dtype == DType::Undefined ? thread_state.default_dtype : o.dtype; }

Tensor new_parameter(IntArrayRef sizes, const ParameterOptions& o) {
  const DType dtype = parameter_dtype(o);
  TRT_CHECK(is_floating(dtype), "module: parameters need a floating-point dtype, got ", dtype);
  checked_numel(sizes, dtype);
  return op::empty(sizes, dtype);
}

// PyTorch's defaults of Linear and the convolutions: uniform in +-1/sqrt(fan_in), weight and bias.
void reset_weight_and_bias(const Tensor& weight, const Tensor& bias, GeneratorImpl* generator) {
  init::kaiming_uniform_(weight, std::sqrt(5.0), init::FanMode::FanIn, "leaky_relu", generator);
  if (!bias.defined()) return;
  const double fan_in = init::calculate_fans(weight).in;
  const double bound = fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
  init::uniform_(bias, -bound, bound, generator);
}

class Sequential final : public Module {
 public:
  explicit Sequential(std::vector<ModulePtr> modules) : Module("Sequential") {
    for (size_t i = 0; i < modules.size(); ++i) register_child(str_cat(i), std::move(modules[i]));
  }
  Tensor forward(const Tensor& input) override {
    const ForwardDepth depth(*this);
    Tensor x = input;
    // A child may be the host's and add children meanwhile.
    for (size_t i = 0; i < children().size(); ++i) {
      const ModulePtr child = children()[i].module;
      x = (*child)(x);
    }
    return x;
  }
};

class Linear final : public Module {
 public:
  Linear(const char* type_name, int64_t in, int64_t out, bool bias, const ParameterOptions& o) : Module(type_name), in_(in), out_(out) {
    TRT_CHECK(in >= 0 && out >= 0, type_name, ": the numbers of features must not be negative, got ", in, " and ", out);
    register_parameter("weight", new_parameter({out, in}, o));
    register_parameter("bias", bias ? new_parameter({out}, o) : Tensor());
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override { reset_weight_and_bias(param(0), param(1), generator); }
  Tensor forward(const Tensor& input) override { return op::linear(input, param(0), param(1)); }
  std::string extra_repr() const override {
    return str_cat("in_features=", in_, ", out_features=", out_, ", bias=", python_bool(param(1).defined()));
  }

 private:
  int64_t in_, out_;
};

class Bilinear final : public MultiInput {
 public:
  Bilinear(int64_t in1, int64_t in2, int64_t out, bool bias, const ParameterOptions& o) : MultiInput("Bilinear"), in1_(in1), in2_(in2), out_(out) {
    TRT_CHECK(in1 > 0 && in2 >= 0 && out >= 0, "Bilinear: in1_features must be positive, and in2_features and out_features not negative, got ", in1, ", ", in2,
              " and ", out);
    register_parameter("weight", new_parameter({out, in1, in2}, o));
    register_parameter("bias", bias ? new_parameter({out}, o) : Tensor());
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override {
    const double bound = 1 / std::sqrt(static_cast<double>(in1_));
    init::uniform_(param(0), -bound, bound, generator);
    if (param(1).defined()) init::uniform_(param(1), -bound, bound, generator);
  }
  Signature signature() const override { return {{"input1", "input2"}, 2, 1}; }
  std::vector<Tensor> run(TensorList inputs, size_t) override { return {op::bilinear(inputs[0], inputs[1], param(0), param(1))}; }
  std::string extra_repr() const override {
    return str_cat("in1_features=", in1_, ", in2_features=", in2_, ", out_features=", out_, ", bias=", python_bool(param(1).defined()));
  }

 private:
  int64_t in1_, in2_, out_;
};

class PReLU final : public Module {
 public:
  PReLU(int64_t count, double initial, DType dtype) : Module("PReLU"), count_(count), initial_(initial) {
    TRT_CHECK(count > 0, "PReLU: num_parameters must be positive, got ", count);
    register_parameter("weight", new_parameter({count}, {dtype, nullptr}));
    reset_parameters(nullptr);
  }
  void reset_parameters(GeneratorImpl*) override { init::constant_(param(0), initial_); }
  Tensor forward(const Tensor& input) override { return op::prelu(input, param(0)); }
  std::string extra_repr() const override { return str_cat("num_parameters=", count_); }

 private:
  int64_t count_;
  double initial_;
};

class Conv final : public Module {
 public:
  Conv(bool transposed, size_t dims, int64_t in, int64_t out, std::array<int64_t, 3> kernel, const ConvOptions& o)
      : Module(str_cat(transposed ? "ConvTranspose" : "Conv", dims, "d")), transposed_(transposed), dims_(dims), in_(in), out_(out), kernel_(kernel), o_(o) {
    o_.generator = nullptr;
    TRT_CHECK(o.groups > 0 && in > 0 && out > 0, type_name(), ": channels and groups must be positive, got ", in, " and ", out, " channels, ", o.groups,
              " groups");
    TRT_CHECK(in % o.groups == 0 && out % o.groups == 0, type_name(), ": ", in, " and ", out, " channels cannot be divided into ", o.groups, " groups");
    TRT_CHECK(!transposed || (!o.padding_same && is_zeros()), type_name(), ": only zeros pad, and not as 'same'");
    for (size_t d = 0; d < dims_; ++d) {
      TRT_CHECK(kernel[d] > 0 && o.stride[d] > 0 && o.dilation[d] > 0 && o.padding[d] >= 0 && o.output_padding[d] >= 0, type_name(),
                ": kernel size, stride and dilation must be positive and padding not negative, got ", first(kernel), ", ", first(o.stride), ", ",
                first(o.dilation), " and ", first(o.padding));
      TRT_CHECK(!o.padding_same || o.stride[d] == 1, type_name(), ": padding 'same' needs stride 1, got ", first(o.stride));
      TRT_CHECK(transposed || o.output_padding[d] == 0, type_name(), ": output_padding is for transposed convolutions, got ", first(o.output_padding));
      // The span of the dilated kernel is a size of the padded input.
      TRT_CHECK(is_zeros() || kernel[d] - 1 <= std::numeric_limits<int64_t>::max() / o.dilation[d], type_name(), ": kernel size ", first(kernel),
                " and dilation ", first(o.dilation), " are too large");
    }
    DimVector shape = {transposed ? in : out, (transposed ? out : in) / o.groups};
    for (size_t d = 0; d < dims_; ++d) shape.push_back(kernel[d]);
    register_parameter("weight", new_parameter(shape, o));
    register_parameter("bias", o.bias ? new_parameter({out}, o) : Tensor());
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override { reset_weight_and_bias(param(0), param(1), generator); }
  Tensor forward(const Tensor& input) override {
    if (transposed_) {
      const auto f = dims_ == 1 ? op::conv_transpose1d : dims_ == 2 ? op::conv_transpose2d : op::conv_transpose3d;
      return f(input, param(0), param(1), first(o_.stride), first(o_.padding), first(o_.output_padding), o_.groups, first(o_.dilation));
    }
    if (!is_zeros()) return convolve(padded(input), IntArrayRef(kNone.data(), dims_));
    if (o_.padding_same) return convolve(input, std::string_view("same"));
    return convolve(input, first(o_.padding));
  }
  std::string extra_repr() const override {
    const auto all = [this](const std::array<int64_t, 3>& v, int64_t value) {
      return std::all_of(v.data(), v.data() + dims_, [value](int64_t x) { return x == value; });
    };
    std::string s = str_cat(in_, ", ", out_, ", kernel_size=", python_tuple(first(kernel_)), ", stride=", python_tuple(first(o_.stride)));
    if (o_.padding_same) s += ", padding=same";
    else if (!all(o_.padding, 0)) s += ", padding=" + python_tuple(first(o_.padding));
    if (!all(o_.dilation, 1)) s += ", dilation=" + python_tuple(first(o_.dilation));
    if (!all(o_.output_padding, 0)) s += ", output_padding=" + python_tuple(first(o_.output_padding));
    if (o_.groups != 1) s += str_cat(", groups=", o_.groups);
    if (!param(1).defined()) s += ", bias=False";
    if (!is_zeros()) s += str_cat(", padding_mode=", o_.padding_mode);
    return s;
  }

 private:
  static constexpr std::array<int64_t, 3> kNone = {0, 0, 0};

  IntArrayRef first(const std::array<int64_t, 3>& v) const { return {v.data(), dims_}; }
  bool is_zeros() const { return std::string_view(o_.padding_mode) == "zeros"; }
  template <typename Padding>
  Tensor convolve(const Tensor& x, const Padding& padding) const {
    if (dims_ == 1) return op::conv1d(x, param(0), param(1), first(o_.stride), padding, first(o_.dilation), o_.groups);
    if (dims_ == 2) return op::conv2d(x, param(0), param(1), first(o_.stride), padding, first(o_.dilation), o_.groups);
    return op::conv3d(x, param(0), param(1), first(o_.stride), padding, first(o_.dilation), o_.groups);
  }
  // Padded by the mode of the options, on which no operator of convolution is made.
  Tensor padded(const Tensor& x) const {
    DimVector sides;
    for (size_t d = dims_; d-- > 0;) {
      const int64_t total = o_.dilation[d] * (kernel_[d] - 1);
      sides.push_back(o_.padding_same ? total / 2 : o_.padding[d]);
      sides.push_back(o_.padding_same ? total - total / 2 : o_.padding[d]);
    }
    return op::pad(x, sides, o_.padding_mode);
  }

  bool transposed_;
  size_t dims_;
  int64_t in_, out_;
  std::array<int64_t, 3> kernel_;
  ConvOptions o_;
};

class Embedding final : public Module {
 public:
  Embedding(int64_t count, int64_t dim, std::optional<int64_t> padding_idx, const ParameterOptions& o) : Module("Embedding"), count_(count), dim_(dim) {
    TRT_CHECK(count >= 0 && dim >= 0, "Embedding: sizes must not be negative, got ", count, " and ", dim);
    if (padding_idx) {
      TRT_CHECK(*padding_idx >= -count && *padding_idx < count, "Embedding: padding_idx ", *padding_idx, " is out of range for ", count, " embeddings");
      padding_idx_ = *padding_idx < 0 ? *padding_idx + count : *padding_idx;
    }
    register_parameter("weight", new_parameter({count, dim}, o));
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override {
    if (param(0).numel()) init::normal_(param(0), 0, 1, generator);
    if (padding_idx_ < 0) return;
    const GradModeGuard no_grad(false);
    init::constant_(op::select(param(0), 0, padding_idx_), 0);
  }
  Tensor forward(const Tensor& input) override { return op::embedding(param(0), input, padding_idx_); }
  std::string extra_repr() const override {
    std::string s = str_cat(count_, ", ", dim_);
    if (padding_idx_ >= 0) s += str_cat(", padding_idx=", padding_idx_);
    return s;
  }

 private:
  int64_t count_, dim_;
  int64_t padding_idx_ = -1;
};

class EmbeddingBag final : public MultiInput {
 public:
  EmbeddingBag(int64_t count, int64_t dim, const EmbeddingBagOptions& o) : MultiInput("EmbeddingBag"), count_(count), dim_(dim), o_(o) {
    o_.generator = nullptr;
    TRT_CHECK(count >= 0 && dim >= 0, "EmbeddingBag: sizes must not be negative, got ", count, " and ", dim);
    TRT_CHECK(o.mode >= 0 && o.mode <= 2, "EmbeddingBag: mode must be 0 (sum), 1 (mean) or 2 (maximum), got ", o.mode);
    TRT_CHECK(o.mode != 2 || !o.scale_grad_by_freq, "EmbeddingBag: mode 'max' does not take scale_grad_by_freq");
    if (o.padding_idx) {
      TRT_CHECK(*o.padding_idx >= -count && *o.padding_idx < count, "EmbeddingBag: padding_idx ", *o.padding_idx, " is out of range for ", count,
                " embeddings");
      if (*o.padding_idx < 0) o_.padding_idx = *o.padding_idx + count;
    }
    register_parameter("weight", new_parameter({count, dim}, o));
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override {
    if (param(0).numel()) init::normal_(param(0), 0, 1, generator);
    if (!o_.padding_idx) return;
    const GradModeGuard no_grad(false);
    init::constant_(op::select(param(0), 0, *o_.padding_idx), 0);
  }
  Signature signature() const override { return {{"input", "offsets", "per_sample_weights"}, 1, 1}; }
  std::vector<Tensor> run(TensorList inputs, size_t) override {
    Tensor input = inputs[0], offsets = inputs[1], weights = inputs[2];
    TRT_CHECK(input.dim() == 1 || input.dim() == 2, "EmbeddingBag: the input must have 1 or 2 dimensions, got ", input);
    if (weights.defined()) {
      TRT_CHECK(o_.mode == 0, "EmbeddingBag: per_sample_weights are for mode 'sum', got mode '", mode_name(), "'");
      TRT_CHECK(weights.sizes() == input.sizes(), "EmbeddingBag: per_sample_weights must have the shape of the input, got ", weights, " for ", input);
      weights = op::reshape(weights, {weights.numel()});
    }
    bool with_end = o_.include_last_offset;
    if (input.dim() == 2) {
      TRT_CHECK(!offsets.defined(), "EmbeddingBag: an input of 2 dimensions takes no offsets, got ", input, " and ", offsets);
      offsets = op::mul(op::arange(input.size(0) + 1, DType::Int64, input.device()), Scalar(input.size(1)));
      with_end = true;
      input = op::reshape(input, {input.numel()});
    } else {
      TRT_CHECK(offsets.defined() && offsets.dim() == 1, "EmbeddingBag: an input of 1 dimension needs offsets of 1 dimension, got ", input, " and ", offsets);
    }
    return {std::get<0>(op::embedding_bag(param(0), input, offsets, o_.scale_grad_by_freq, o_.mode, false, weights, with_end, o_.padding_idx))};
  }
  std::string extra_repr() const override {
    std::string s = str_cat(count_, ", ", dim_);
    if (o_.scale_grad_by_freq) s += ", scale_grad_by_freq=True";
    s += str_cat(", mode='", mode_name(), "'");
    if (o_.padding_idx) s += str_cat(", padding_idx=", *o_.padding_idx);
    return s;
  }

 private:
  const char* mode_name() const { return o_.mode == 0 ? "sum" : o_.mode == 1 ? "mean" : "max"; }

  int64_t count_, dim_;
  EmbeddingBagOptions o_;
};

}  // namespace

ModulePtr sequential(std::vector<ModulePtr> modules) { return make_intrusive<Sequential>(std::move(modules)); }
ModulePtr linear(int64_t in_features, int64_t out_features, bool bias, const ParameterOptions& options, const char* type_name) {
  return make_intrusive<Linear>(type_name, in_features, out_features, bias, options);
}
ModulePtr bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, bool bias, const ParameterOptions& options) {
  return make_intrusive<Bilinear>(in1_features, in2_features, out_features, bias, options);
}
ModulePtr prelu(int64_t num_parameters, double init, DType dtype) { return make_intrusive<PReLU>(num_parameters, init, dtype); }
ModulePtr embedding_bag(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingBagOptions& options) {
  return make_intrusive<EmbeddingBag>(num_embeddings, embedding_dim, options);
}
ModulePtr conv(bool transposed, size_t dims, int64_t in_channels, int64_t out_channels, std::array<int64_t, 3> kernel_size, const ConvOptions& options) {
  return make_intrusive<Conv>(transposed, dims, in_channels, out_channels, kernel_size, options);
}
ModulePtr embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx, const ParameterOptions& options) {
  return make_intrusive<Embedding>(num_embeddings, embedding_dim, padding_idx, options);
}

}  // namespace trt::nn
