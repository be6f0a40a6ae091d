// Normalizations: BatchNorm, InstanceNorm, LayerNorm, GroupNorm, RMSNorm.
#include "base/repr.h"
#include "core/modes.h"
#include "gen/all_ops.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace trt::nn {

namespace {

// What the normalizations share: weight ones, bias zeros.
class Norm : public Module {
 protected:
  Norm(std::string type_name, IntArrayRef shape, const NormOptions& o) : Module(std::move(type_name)), o_(o) {
    o_.generator = nullptr;
    o_.dtype = o.dtype == DType::Undefined ? thread_state.default_dtype : o.dtype;
    TRT_CHECK(is_floating(o_.dtype), this->type_name(), ": a floating-point dtype is needed, got ", o_.dtype);
    for (int64_t n : shape) TRT_CHECK(n >= 0, this->type_name(), ": sizes must not be negative, got ", shape);
    TRT_CHECK(o.eps >= 0, this->type_name(), ": eps must not be negative, got ", o.eps);
    checked_numel(shape, o_.dtype);
    register_parameter("weight", o.affine ? op::ones(shape, o_.dtype) : Tensor());
    register_parameter("bias", o.affine && o.bias ? op::zeros(shape, o_.dtype) : Tensor());
  }
  void reset_parameters(GeneratorImpl*) override {
    if (param(0).defined()) init::constant_(param(0), 1);
    if (param(1).defined()) init::constant_(param(1), 0);
  }
  const char* has_bias() const { return python_bool(param(1).defined()); }

  NormOptions o_;
};

// With running statistics.
class TrackingNorm : public Norm {
 protected:
  TrackingNorm(const char* name, int dims, int64_t features, const NormOptions& o)
      : Norm(str_cat(name, dims, "d"), {features}, o), dims_(dims), features_(features) {
    const bool track = o_.track_running_stats;
    register_buffer("running_mean", track ? op::zeros({features}, o_.dtype) : Tensor());
    register_buffer("running_var", track ? op::ones({features}, o_.dtype) : Tensor());
    register_buffer("num_batches_tracked", track ? op::zeros({}, DType::Int64) : Tensor());
  }
  void reset_parameters(GeneratorImpl* generator) override {
    Norm::reset_parameters(generator);
    if (!o_.track_running_stats) return;
    init::constant_(buf(0), 0);
    init::constant_(buf(1), 1);
    init::constant_(buf(2), 0);
  }
  std::string extra_repr() const override {
    return str_cat(features_, ", eps=", python_float(o_.eps), ", momentum=", o_.momentum ? python_float(*o_.momentum) : "None",
                   ", affine=", python_bool(o_.affine), ", bias=", has_bias(), ", track_running_stats=", python_bool(o_.track_running_stats));
  }

  int dims_;
  int64_t features_;
};

class BatchNorm final : public TrackingNorm {
 public:
  BatchNorm(int dims, int64_t features, const NormOptions& o) : TrackingNorm("BatchNorm", dims, features, o) {}
  Tensor forward(const Tensor& input) override {
    const int64_t dim = input.dim();
    if (dims_ == 1) TRT_CHECK(dim == 2 || dim == 3, "BatchNorm1d: the input must have 2 or 3 dimensions, got ", input);
    else TRT_CHECK(dim == dims_ + 2, type_name(), ": the input must have ", dims_ + 2, " dimensions, got ", input);
    TRT_CHECK(input.size(1) == features_, type_name(), ": the input must have ", features_, " channels, got ", input);
    const bool track = o_.track_running_stats;
    if (!training()) return op::batch_norm(input, buf(0), buf(1), param(0), param(1), !track, 0, o_.eps);
    if (!track) return op::batch_norm(input, Tensor(), Tensor(), param(0), param(1), true, 0, o_.eps);
    Tensor tracked = buf(2);
    const double momentum = o_.momentum ? *o_.momentum : 1.0 / (number_of(tracked, "num_batches_tracked") + 1);
    const Tensor result = op::batch_norm(input, buf(0), buf(1), param(0), param(1), true, momentum, o_.eps);
    const GradModeGuard no_grad(false);
    op::add_(tracked, Scalar(1));
    return result;
  }
};

class InstanceNorm final : public TrackingNorm {
 public:
  InstanceNorm(int dims, int64_t features, const NormOptions& o) : TrackingNorm("InstanceNorm", dims, features, o) {}
  Tensor forward(const Tensor& input) override {
    const bool single = input.dim() == dims_ + 1;
    TRT_CHECK(single || input.dim() == dims_ + 2, type_name(), ": the input must have ", dims_ + 1, " or ", dims_ + 2, " dimensions, got ", input);
    TRT_CHECK(input.size(single ? 0 : 1) == features_, type_name(), ": the input must have ", features_, " channels, got ", input);
    const Tensor result = op::instance_norm(single ? op::unsqueeze(input, 0) : input, buf(0), buf(1), param(0), param(1),
                                            training() || !o_.track_running_stats, o_.momentum.value_or(0), o_.eps);
    return single ? op::squeeze(result, 0) : result;
  }
};

class LayerNorm final : public Norm {
 public:
  LayerNorm(IntArrayRef shape, const NormOptions& o) : Norm("LayerNorm", shape, o), shape_(shape.data(), shape.size()) {
    TRT_CHECK(!shape.empty(), "LayerNorm: the normalized shape must have at least one dimension");
  }
  Tensor forward(const Tensor& input) override { return op::layer_norm(input, shape_, param(0), param(1), o_.eps); }
  std::string extra_repr() const override {
    return str_cat(python_tuple(shape_), ", eps=", python_float(o_.eps), ", elementwise_affine=", python_bool(o_.affine), ", bias=", has_bias());
  }

 private:
  DimVector shape_;
};

class RMSNorm final : public Module {
 public:
  RMSNorm(IntArrayRef shape, std::optional<double> eps, bool affine, DType dtype) : Module("RMSNorm"), shape_(shape.data(), shape.size()), eps_(eps) {
    const DType own = dtype == DType::Undefined ? thread_state.default_dtype : dtype;
    TRT_CHECK(is_floating(own), "RMSNorm: a floating-point dtype is needed, got ", own);
    TRT_CHECK(!shape.empty(), "RMSNorm: the normalized shape must have at least one dimension");
    for (int64_t n : shape) TRT_CHECK(n >= 0, "RMSNorm: sizes must not be negative, got ", shape);
    checked_numel(shape, own);
    register_parameter("weight", affine ? op::ones(shape, own) : Tensor());
  }
  void reset_parameters(GeneratorImpl*) override {
    if (param(0).defined()) init::constant_(param(0), 1);
  }
  Tensor forward(const Tensor& input) override { return op::rms_norm(input, shape_, param(0), eps_); }
  std::string extra_repr() const override {
    return str_cat(python_tuple(shape_), ", eps=", eps_ ? python_float(*eps_) : "None", ", elementwise_affine=", python_bool(param(0).defined()));
  }

 private:
  DimVector shape_;
  std::optional<double> eps_;
};

class GroupNorm final : public Norm {
 public:
  GroupNorm(int64_t groups, int64_t channels, const NormOptions& o) : Norm("GroupNorm", {channels}, o), groups_(groups), channels_(channels) {
    TRT_CHECK(groups > 0 && channels % groups == 0, "GroupNorm: ", channels, " channels cannot be divided into ", groups, " groups");
  }
  Tensor forward(const Tensor& input) override { return op::group_norm(input, groups_, param(0), param(1), o_.eps); }
  std::string extra_repr() const override {
    return str_cat(groups_, ", ", channels_, ", eps=", python_float(o_.eps), ", affine=", python_bool(o_.affine), ", bias=", has_bias());
  }

 private:
  int64_t groups_, channels_;
};

}  // namespace

ModulePtr batch_norm(int dims, int64_t num_features, const NormOptions& options) { return make_intrusive<BatchNorm>(dims, num_features, options); }
ModulePtr instance_norm(int dims, int64_t num_features, const NormOptions& options) { return make_intrusive<InstanceNorm>(dims, num_features, options); }
ModulePtr rms_norm(IntArrayRef normalized_shape, std::optional<double> eps, bool affine, DType dtype) {
  return make_intrusive<RMSNorm>(normalized_shape, eps, affine, dtype);
}
ModulePtr layer_norm(IntArrayRef normalized_shape, const NormOptions& options) { return make_intrusive<LayerNorm>(normalized_shape, options); }
ModulePtr group_norm(int64_t num_groups, int64_t num_channels, const NormOptions& options) {
  return make_intrusive<GroupNorm>(num_groups, num_channels, options);
}

}  // namespace trt::nn
