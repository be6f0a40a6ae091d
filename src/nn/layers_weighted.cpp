// Sequential, and the modules with a weight matrix: Linear, convolutions, Embedding.
#include <cmath>

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
  Linear(int64_t in, int64_t out, bool bias, const ParameterOptions& o) : Module("Linear"), in_(in), out_(out) {
    TRT_CHECK(in >= 0 && out >= 0, "Linear: the numbers of features must not be negative, got ", in, " and ", out);
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

class Conv final : public Module {
 public:
  Conv(int dims, int64_t in, int64_t out, std::array<int64_t, 2> kernel, const ConvOptions& o)
      : Module(dims == 1 ? "Conv1d" : "Conv2d"), dims_(static_cast<size_t>(dims)), in_(in), out_(out), kernel_(kernel), o_(o) {
    o_.generator = nullptr;
    TRT_CHECK(o.groups > 0 && in > 0 && out > 0, type_name(), ": channels and groups must be positive, got ", in, " and ", out, " channels, ", o.groups,
              " groups");
    TRT_CHECK(in % o.groups == 0 && out % o.groups == 0, type_name(), ": ", in, " and ", out, " channels cannot be divided into ", o.groups, " groups");
    for (size_t d = 0; d < dims_; ++d) {
      TRT_CHECK(kernel[d] > 0 && o.stride[d] > 0 && o.dilation[d] > 0 && o.padding[d] >= 0, type_name(),
                ": kernel size, stride and dilation must be positive and padding not negative, got ", IntArrayRef(kernel), ", ", IntArrayRef(o.stride),
                ", ", IntArrayRef(o.dilation), " and ", IntArrayRef(o.padding));
      TRT_CHECK(!o.padding_same || o.stride[d] == 1, type_name(), ": padding 'same' needs stride 1, got ", IntArrayRef(o.stride));
    }
    DimVector shape = {out, in / o.groups};
    for (size_t d = 0; d < dims_; ++d) shape.push_back(kernel[d]);
    register_parameter("weight", new_parameter(shape, o));
    register_parameter("bias", o.bias ? new_parameter({out}, o) : Tensor());
    reset_parameters(o.generator);
  }
  void reset_parameters(GeneratorImpl* generator) override { reset_weight_and_bias(param(0), param(1), generator); }
  Tensor forward(const Tensor& input) override {
    if (dims_ == 2) {
      if (o_.padding_same) return op::conv2d(input, param(0), param(1), dims(o_.stride), std::string_view("same"), dims(o_.dilation), o_.groups);
      return op::conv2d(input, param(0), param(1), dims(o_.stride), dims(o_.padding), dims(o_.dilation), o_.groups);
    }
    if (o_.padding_same) return op::conv1d(input, param(0), param(1), dims(o_.stride), std::string_view("same"), dims(o_.dilation), o_.groups);
    return op::conv1d(input, param(0), param(1), dims(o_.stride), dims(o_.padding), dims(o_.dilation), o_.groups);
  }
  std::string extra_repr() const override {
    const auto all = [this](const std::array<int64_t, 2>& v, int64_t value) { return v[0] == value && (dims_ == 1 || v[1] == value); };
    std::string s = str_cat(in_, ", ", out_, ", kernel_size=", python_tuple(dims(kernel_)), ", stride=", python_tuple(dims(o_.stride)));
    if (o_.padding_same) s += ", padding=same";
    else if (!all(o_.padding, 0)) s += ", padding=" + python_tuple(dims(o_.padding));
    if (!all(o_.dilation, 1)) s += ", dilation=" + python_tuple(dims(o_.dilation));
    if (o_.groups != 1) s += str_cat(", groups=", o_.groups);
    if (!param(1).defined()) s += ", bias=False";
    return s;
  }

 private:
  IntArrayRef dims(const std::array<int64_t, 2>& v) const { return {v.data(), dims_}; }

  size_t dims_;
  int64_t in_, out_;
  std::array<int64_t, 2> kernel_;
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

}  // namespace

ModulePtr sequential(std::vector<ModulePtr> modules) { return make_intrusive<Sequential>(std::move(modules)); }
ModulePtr linear(int64_t in_features, int64_t out_features, bool bias, const ParameterOptions& options) {
  return make_intrusive<Linear>(in_features, out_features, bias, options);
}
ModulePtr conv(int dims, int64_t in_channels, int64_t out_channels, std::array<int64_t, 2> kernel_size, const ConvOptions& options) {
  return make_intrusive<Conv>(dims, in_channels, out_channels, kernel_size, options);
}
ModulePtr embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx, const ParameterOptions& options) {
  return make_intrusive<Embedding>(num_embeddings, embedding_dim, padding_idx, options);
}

}  // namespace trt::nn
