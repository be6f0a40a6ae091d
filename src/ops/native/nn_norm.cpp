// Layer and batch normalization. Statistics of 16-bit floats are kept in float.
#include "gen/nn_norm_native.h"
#include "iter/copy.h"
#include "kernels/cpu/norm.h"
#include "ops/window.h"

namespace trt {

namespace {

void check_floating(const Tensor& t, const char* op) {
  TRT_CHECK_CODE(is_floating(t.dtype()), Code::kNotSupported, op, ": not supported for dtype ", t.dtype());
}

void check_parameter(const Tensor& t, IntArrayRef sizes, const Tensor& input, const char* op, const char* name) {
  if (!t.defined()) return;
  TRT_CHECK(t.sizes() == sizes, op, ": ", name, " must have shape ", sizes, ", got ", t);
  TRT_CHECK(t.dtype() == input.dtype() || t.dtype() == compute_dtype(input.dtype()), op, ": ", name, " ", t,
            " does not fit the dtype of input ", input);
  TRT_CHECK(t.device() == input.device(), op, ": ", name, " and input must be on the same device, got ", t, " and ",
            input);
}

// Leading dimensions of the input that layer_norm leaves alone.
size_t layer_norm_lead(IntArrayRef input, IntArrayRef normalized, const char* op) {
  TRT_CHECK(!normalized.empty(), op, ": normalized_shape must not be empty");
  const bool fits = input.size() >= normalized.size() &&
                    input.slice(input.size() - normalized.size(), normalized.size()) == normalized;
  TRT_CHECK(fits, op, ": input of shape ", input, " does not end in normalized_shape ", normalized);
  return input.size() - normalized.size();
}

struct Rows {
  int64_t m = 1, n = 1;
};
Rows rows_of(IntArrayRef input, size_t lead) {
  Rows r;
  for (size_t i = 0; i < input.size(); ++i) (i < lead ? r.m : r.n) *= input[i];
  return r;
}

struct Channels {
  int64_t n = 0, c = 0, s = 1;
};
Channels channels_of(IntArrayRef input) {
  Channels r{input[0], input.size() > 1 ? input[1] : 1, 1};
  for (size_t i = 2; i < input.size(); ++i) r.s *= input[i];
  return r;
}

// The number of channels; an input of one dimension is all batch, which only an empty one may be.
int64_t check_batch_norm_input(const Tensor& input, const char* op) {
  TRT_CHECK(input.dim() >= 2 || (input.dim() == 1 && input.numel() == 0), op,
            ": input needs at least 2 dimensions, got ", input);
  check_floating(input, op);
  return input.dim() >= 2 ? input.sizes()[1] : input.sizes()[0];
}

}  // namespace

namespace meta {

std::array<TensorSpec, 3> native_layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                                            const Tensor& bias, double) {
  check_floating(input, "layer_norm");
  const size_t lead = layer_norm_lead(input.sizes(), normalized_shape, "layer_norm");
  check_parameter(weight, normalized_shape, input, "layer_norm", "weight");
  check_parameter(bias, normalized_shape, input, "layer_norm", "bias");
  DimVector stats(input.sizes().data(), input.sizes().size());
  for (size_t i = lead; i < stats.size(); ++i) stats[i] = 1;
  const DType type = weight.defined() ? weight.dtype() : input.dtype();
  return {TensorSpec(input.sizes(), input.dtype(), input.device()), TensorSpec(stats, type, input.device()),
          TensorSpec(stats, type, input.device())};
}

std::array<TensorSpec, 3> native_layer_norm_backward(const Tensor& grad_output, const Tensor& input,
                                                     IntArrayRef normalized_shape, const Tensor& mean,
                                                     const Tensor& rstd, const Tensor& weight, double, bool for_input,
                                                     bool for_weight, bool for_bias) {
  constexpr const char* kName = "native_layer_norm_backward";
  check_floating(input, kName);
  const size_t lead = layer_norm_lead(input.sizes(), normalized_shape, kName);
  const Rows r = rows_of(input.sizes(), lead);
  TRT_CHECK(grad_output.sizes() == input.sizes(), kName, ": gradient ", grad_output, " does not fit input ", input);
  TRT_CHECK(mean.numel() == r.m && rstd.numel() == r.m, kName, ": statistics ", mean, " and ", rstd,
            " do not fit input ", input);
  check_parameter(weight, normalized_shape, input, kName, "weight");
  const DType type = weight.defined() ? weight.dtype() : input.dtype();
  auto parameter = [&](bool wanted) {
    return wanted ? TensorSpec(normalized_shape, type, input.device()) : TensorSpec({0}, type, input.device());
  };
  return {for_input ? TensorSpec(input.sizes(), input.dtype(), input.device())
                    : TensorSpec({0}, input.dtype(), input.device()),
          parameter(for_weight), parameter(for_bias)};
}

std::array<TensorSpec, 3> batch_norm_stats(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                           const Tensor& running_mean, const Tensor& running_var, bool training, double,
                                           double) {
  const int64_t c = check_batch_norm_input(input, "batch_norm");
  const IntArrayRef shape(&c, 1);
  check_parameter(weight, shape, input, "batch_norm", "weight");
  check_parameter(bias, shape, input, "batch_norm", "bias");
  check_parameter(running_mean, shape, input, "batch_norm", "running_mean");
  check_parameter(running_var, shape, input, "batch_norm", "running_var");
  TRT_CHECK(training || (running_mean.defined() && running_var.defined()),
            "batch_norm: running_mean and running_var are needed outside of training");
  for (const Tensor* t : {&running_mean, &running_var})
    if (training && t->defined()) check_may_change(*t, "batch_norm");
  const DType type = compute_dtype(input.dtype());
  return {TensorSpec(input.sizes(), input.dtype(), input.device()), TensorSpec(shape, type, input.device()),
          TensorSpec(shape, type, input.device())};
}

std::array<TensorSpec, 3> native_batch_norm_backward(const Tensor& grad_output, const Tensor& input,
                                                     const Tensor& weight, const Tensor& mean, const Tensor& invstd,
                                                     bool, double, bool for_input, bool for_weight, bool for_bias) {
  constexpr const char* kName = "native_batch_norm_backward";
  const int64_t c = check_batch_norm_input(input, kName);
  const IntArrayRef shape(&c, 1);
  TRT_CHECK(grad_output.sizes() == input.sizes(), kName, ": gradient ", grad_output, " does not fit input ", input);
  TRT_CHECK(mean.sizes() == shape && invstd.sizes() == shape, kName, ": statistics ", mean, " and ", invstd,
            " do not fit input ", input);
  check_parameter(weight, shape, input, kName, "weight");
  const DType type = weight.defined() ? weight.dtype() : input.dtype();
  auto parameter = [&](bool wanted) { return TensorSpec({wanted ? c : 0}, type, input.device()); };
  return {for_input ? TensorSpec(input.sizes(), input.dtype(), input.device())
                    : TensorSpec({0}, input.dtype(), input.device()),
          parameter(for_weight), parameter(for_bias)};
}

}  // namespace meta

namespace native {

void native_layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                       double eps, Tensor& output, Tensor& mean, Tensor& rstd) {
  const Rows r = rows_of(input.sizes(), input.sizes().size() - normalized_shape.size());
  const DType dtype = compute_dtype(input.dtype());
  const Tensor x = contiguous_tensor(input, dtype), w = optional_contiguous(weight, dtype),
               b = optional_contiguous(bias, dtype);
  Computed y(output, dtype), mu(mean, dtype), rs(rstd, dtype);
  dispatch_float(dtype, "layer_norm", [&]<typename T>() {
    cpu::layer_norm_forward(x.data_ptr<T>(), optional_data<T>(w), optional_data<T>(b), y.data<T>(), mu.data<T>(),
                            rs.data<T>(), r.m, r.n, eps);
  });
  y.finish();
  mu.finish();
  rs.finish();
}

void native_layer_norm_backward(const Tensor& grad_output, const Tensor& input, IntArrayRef normalized_shape,
                                const Tensor& mean, const Tensor& rstd, const Tensor& weight, double, bool for_input,
                                bool for_weight, bool for_bias, Tensor& grad_input, Tensor& grad_weight,
                                Tensor& grad_bias) {
  const Rows r = rows_of(input.sizes(), input.sizes().size() - normalized_shape.size());
  const DType dtype = compute_dtype(input.dtype());
  const Tensor gy = contiguous_tensor(grad_output, dtype), x = contiguous_tensor(input, dtype),
               mu = contiguous_tensor(mean, dtype), rs = contiguous_tensor(rstd, dtype),
               w = optional_contiguous(weight, dtype);
  Computed gx(grad_input, dtype), gw(grad_weight, dtype), gb(grad_bias, dtype);
  dispatch_float(dtype, "layer_norm", [&]<typename T>() {
    cpu::layer_norm_backward<T>(gy.data_ptr<T>(), x.data_ptr<T>(), mu.data_ptr<T>(), rs.data_ptr<T>(),
                                optional_data<T>(w), for_input ? gx.data<T>() : nullptr,
                                for_weight ? gw.data<T>() : nullptr, for_bias ? gb.data<T>() : nullptr, r.m, r.n);
  });
  gx.finish();
  gw.finish();
  gb.finish();
}

void batch_norm_stats(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool training, double momentum, double eps, Tensor& output,
                      Tensor& mean, Tensor& invstd) {
  const Channels n = channels_of(input.sizes());
  const DType dtype = compute_dtype(input.dtype());
  const Tensor x = contiguous_tensor(input, dtype), w = optional_contiguous(weight, dtype),
               b = optional_contiguous(bias, dtype);
  Tensor rm = optional_contiguous(running_mean, dtype), rv = optional_contiguous(running_var, dtype);
  if (input.dim() == 1) {
    fill_tensor(mean, 0);
    fill_tensor(invstd, 0);
    return;
  }
  Computed y(output, dtype);
  dispatch_float(dtype, "batch_norm", [&]<typename T>() {
    T* mu = mean.data_ptr<T>();
    T* is = invstd.data_ptr<T>();
    if (training) {
      cpu::batch_norm_forward_train(x.data_ptr<T>(), optional_data<T>(w), optional_data<T>(b), y.data<T>(), mu, is,
                                    optional_data<T>(rm), optional_data<T>(rv), momentum, eps, n.n, n.c, n.s);
      return;
    }
    const T* m = rm.data_ptr<T>();
    const T* v = rv.data_ptr<T>();
    cpu::batch_norm_forward_eval(x.data_ptr<T>(), optional_data<T>(w), optional_data<T>(b), m, v, eps, y.data<T>(), n.n,
                                 n.c, n.s);
    for (int64_t c = 0; c < n.c; ++c) {
      mu[c] = m[c];
      is[c] = static_cast<T>(1 / std::sqrt(static_cast<double>(v[c]) + eps));
    }
  });
  y.finish();
  if (!training) return;
  // The kernel moved the running statistics where they lay; what was converted or copied for it goes back.
  auto put_back = [](const Tensor& running, const Tensor& used) {
    if (!running.defined()) return;
    Tensor target = running;
    if (!used.is_same(running)) copy_tensor(target, used);
    target.impl()->storage()->bump_version();
  };
  put_back(running_mean, rm);
  put_back(running_var, rv);
}

void native_batch_norm_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                const Tensor& mean, const Tensor& invstd, bool training, double, bool for_input,
                                bool for_weight, bool for_bias, Tensor& grad_input, Tensor& grad_weight,
                                Tensor& grad_bias) {
  if (input.dim() == 1) return;
  const Channels n = channels_of(input.sizes());
  const DType dtype = compute_dtype(input.dtype());
  const Tensor gy = contiguous_tensor(grad_output, dtype), x = contiguous_tensor(input, dtype),
               mu = contiguous_tensor(mean, dtype), is = contiguous_tensor(invstd, dtype),
               w = optional_contiguous(weight, dtype);
  Computed gx(grad_input, dtype), gw(grad_weight, dtype), gb(grad_bias, dtype);
  dispatch_float(dtype, "batch_norm", [&]<typename T>() {
    cpu::batch_norm_backward<T>(gy.data_ptr<T>(), x.data_ptr<T>(), mu.data_ptr<T>(), is.data_ptr<T>(),
                                optional_data<T>(w), for_input ? gx.data<T>() : nullptr,
                                for_weight ? gw.data<T>() : nullptr, for_bias ? gb.data<T>() : nullptr, training, n.n,
                                n.c, n.s);
  });
  gx.finish();
  gw.finish();
  gb.finish();
}

}  // namespace native

}  // namespace trt
