// Softmax, log_softmax, dropout, and the activations composed of pointwise loops.
#include "core/generator.h"
#include "gen/all_ops.h"
#include "gen/nn_activation_native.h"
#include "iter/copy.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/softmax.h"
#include "ops/window.h"

namespace trt {

namespace {

struct Axis {
  int64_t outer = 1, r = 1, inner = 1;
};
// Checked before: dim is inside the rank.
Axis axis_of(IntArrayRef sizes, int64_t dim) {
  const size_t d = static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(1, static_cast<int64_t>(sizes.size())) : dim);
  Axis a;
  for (size_t i = 0; i < sizes.size(); ++i) (i < d ? a.outer : i == d ? a.r : a.inner) *= sizes[i];
  return a;
}

TensorSpec softmax_spec(const Tensor& self, int64_t dim, std::optional<DType> dtype, const char* op) {
  wrap_dim(dim, self.dim(), op);
  const DType type = dtype.value_or(self.dtype());
  TRT_CHECK_CODE(is_floating(type), Code::kNotSupported, op, ": not supported for dtype ", type);
  return TensorSpec(self.sizes(), type, self.device());
}

TensorSpec softmax_backward_spec(const Tensor& grad, const Tensor& output, int64_t dim, const char* op) {
  wrap_dim(dim, output.dim(), op);
  TRT_CHECK_CODE(is_floating(output.dtype()), Code::kNotSupported, op, ": not supported for dtype ", output.dtype());
  TRT_CHECK(grad.sizes() == output.sizes(), op, ": gradient ", grad, " does not fit output ", output);
  return TensorSpec(output.sizes(), output.dtype(), output.device());
}

template <bool log>
void softmax_into(const Tensor& self, int64_t dim, Tensor& out) {
  const Axis a = axis_of(out.sizes(), dim);
  const DType dtype = compute_dtype(out.dtype());
  const Tensor x = contiguous_tensor(self, dtype);
  Computed y(out, dtype);
  dispatch_float(dtype, "softmax", [&]<typename T>() {
    if constexpr (log)
      cpu::log_softmax_forward(x.data_ptr<T>(), y.data<T>(), a.outer, a.r, a.inner);
    else
      cpu::softmax_forward(x.data_ptr<T>(), y.data<T>(), a.outer, a.r, a.inner);
  });
  y.finish();
}

template <bool log>
void softmax_backward_into(const Tensor& grad_output, const Tensor& output, int64_t dim, Tensor& out) {
  const Axis a = axis_of(out.sizes(), dim);
  const DType dtype = compute_dtype(out.dtype());
  const Tensor gy = contiguous_tensor(grad_output, dtype), y = contiguous_tensor(output, dtype);
  Computed gx(out, dtype);
  dispatch_float(dtype, "softmax_backward", [&]<typename T>() {
    if constexpr (log)
      cpu::log_softmax_backward(gy.data_ptr<T>(), y.data_ptr<T>(), gx.data<T>(), a.outer, a.r, a.inner);
    else
      cpu::softmax_backward(gy.data_ptr<T>(), y.data_ptr<T>(), gx.data<T>(), a.outer, a.r, a.inner);
  });
  gx.finish();
}

void check_probability(double p, const char* op) {
  TRT_CHECK(p >= 0 && p <= 1, op, ": the probability must be between 0 and 1, got ", p);
}

}  // namespace

namespace meta {

TensorSpec softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return softmax_spec(self, dim, dtype, "softmax");
}
TensorSpec log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return softmax_spec(self, dim, dtype, "log_softmax");
}
TensorSpec softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim) {
  return softmax_backward_spec(grad_output, output, dim, "softmax_backward");
}
TensorSpec log_softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim) {
  return softmax_backward_spec(grad_output, output, dim, "log_softmax_backward");
}

std::array<TensorSpec, 2> native_dropout(const Tensor& input, double p, bool, GeneratorImpl*) {
  check_probability(p, "dropout");
  TRT_CHECK_CODE(is_floating(input.dtype()), Code::kNotSupported, "dropout: not supported for dtype ", input.dtype());
  return {TensorSpec(input.sizes(), input.dtype(), input.device()),
          TensorSpec(input.sizes(), DType::Bool, input.device())};
}

TensorSpec native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double) {
  TRT_CHECK_CODE(is_floating(grad_output.dtype()), Code::kNotSupported,
                 "native_dropout_backward: not supported for dtype ", grad_output.dtype());
  TRT_CHECK(mask.dtype() == DType::Bool && mask.sizes() == grad_output.sizes(), "native_dropout_backward: mask ", mask,
            " does not fit gradient ", grad_output);
  return TensorSpec(grad_output.sizes(), grad_output.dtype(), grad_output.device());
}

}  // namespace meta

namespace native {

void softmax(const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  softmax_into<false>(self, dim, out);
}
void log_softmax(const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  softmax_into<true>(self, dim, out);
}
void softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim, Tensor& out) {
  softmax_backward_into<false>(grad_output, output, dim, out);
}
void log_softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim, Tensor& out) {
  softmax_backward_into<true>(grad_output, output, dim, out);
}

void native_dropout(const Tensor& input, double p, bool train, GeneratorImpl* generator, Tensor& output, Tensor& mask) {
  if (!train) {
    copy_tensor(output, input);
    fill_tensor(mask, true);
    return;
  }
  const int64_t n = input.numel();
  const DType dtype = compute_dtype(input.dtype());
  const Tensor x = contiguous_tensor(input, dtype);
  Computed y(output, dtype);
  // Groups of 16 counters for 64 elements (Note [Random element layout]).
  const uint64_t counters = (static_cast<uint64_t>(n) + 63) / 64 * 16;
  const GeneratorImpl::State at = (generator ? *generator : default_generator()).reserve(counters);
  dispatch_float(dtype, "dropout", [&]<typename T>() {
    cpu::dropout_forward(x.data_ptr<T>(), y.data<T>(), mask.data_ptr<uint8_t>(), n, p, at.seed, at.offset);
  });
  y.finish();
}

void native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale, Tensor& out) {
  const DType dtype = compute_dtype(out.dtype());
  const Tensor g = contiguous_tensor(grad_output, dtype), kept = contiguous_tensor(mask);
  Computed gx(out, dtype);
  dispatch_float(dtype, "native_dropout_backward", [&]<typename T>() {
    cpu::masked_scale(g.data_ptr<T>(), kept.data_ptr<uint8_t>(), gx.data<T>(), out.numel(), scale);
  });
  gx.finish();
}

}  // namespace native

namespace composite {

Tensor softmin(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return op::softmax(op::neg(self), dim, dtype);  // negated in its own dtype, where unsigned integers wrap around
}

Tensor gelu(const Tensor& self, std::string_view approximate) {
  TRT_CHECK(approximate == "none" || approximate == "tanh", "gelu: approximate must be 'none' or 'tanh', got '",
            approximate, "'");
  return approximate == "none" ? op::gelu_erf(self) : op::gelu_tanh(self);
}

Tensor glu(const Tensor& self, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "glu: a 0-d tensor has no halves");
  const int64_t n = self.size(wrap_dim(dim, self.dim(), "glu"));
  TRT_CHECK(n % 2 == 0, "glu: dimension ", dim, " must have an even size, got ", n);
  return op::glu_product(op::slice(self, dim, 0, n / 2, 1), op::slice(self, dim, n / 2, n, 1));
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  TRT_CHECK(weight.dim() <= 1, "prelu: weight must have one dimension or none, got ", weight);
  TRT_CHECK(self.dtype() == weight.dtype(), "prelu: self and weight must have the same dtype, got ", self, " and ",
            weight);
  if (weight.numel() == 1) return op::prelu_slope(self, op::reshape(weight, {}));
  const int64_t channels = self.dim() >= 2 ? self.size(1) : 1;
  TRT_CHECK(weight.numel() == channels, "prelu: weight ", weight, " must have one element or one for each of ",
            channels, " channels");
  DimVector shape(static_cast<size_t>(self.dim() - 1), 1);
  shape[0] = channels;
  return op::prelu_slope(self, op::reshape(weight, shape));
}

Tensor dropout(const Tensor& input, double p, bool training, GeneratorImpl* generator) {
  check_probability(p, "dropout");
  if (!training || p == 0 || input.numel() == 0) return input;
  return std::get<0>(op::native_dropout(input, p, true, generator));
}

}  // namespace composite

}  // namespace trt
