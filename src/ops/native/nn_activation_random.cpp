// Activations and dropouts with random numbers that are made of other operators.
#include <cmath>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/nn_activation_native.h"

namespace trt::composite {

namespace {

void check_dropout(double p, const Tensor& input, const char* op) {
  TRT_CHECK(p >= 0 && p <= 1, op, ": the probability must be from 0 to 1, got ", p);
  TRT_CHECK(is_floating(input.dtype()), op, ": a floating-point input is needed, got ", input);
}

// The shape of one number a sample and channel: [n, c, 1, ...].
DimVector of_channels(const Tensor& input, const char* op) {
  TRT_CHECK(input.dim() >= 2, op, ": input needs a dimension of samples and one of channels, got ", input);
  DimVector shape(input.sizes().data(), input.sizes().size());
  for (size_t i = 2; i < shape.size(); ++i) shape[i] = 1;
  return shape;
}

// 1 with probability 1 - p, else 0.
Tensor kept(const Tensor& input, IntArrayRef shape, double p, GeneratorImpl* generator) {
  Tensor mask = op::empty(shape, input.dtype(), input.device());
  return op::bernoulli_(mask, 1 - p, generator);
}

// What is dropped takes the value that SELU has far below zero, then mean and variance are restored (Klambauer et al., Self-normalizing neural networks, 2017).
Tensor drop_alpha(const Tensor& input, IntArrayRef shape, double p, GeneratorImpl* generator) {
  constexpr double alpha = 1.0507009873554804934193349852946 * 1.6732632423543772848170429916717;  // SELU's scale and alpha
  if (p == 1) return op::mul(input, Scalar(0.0));
  const double a = 1 / std::sqrt((1 - p) * (1 + p * alpha * alpha));
  const Tensor mask = kept(input, shape, p, generator);
  const Tensor offset = op::add(op::mul(op::sub(mask, Scalar(1.0)), Scalar(a * alpha)), Scalar(a * alpha * p));
  return op::add(op::mul(input, op::mul(mask, Scalar(a))), offset);
}

}  // namespace

Tensor feature_dropout(const Tensor& input, double p, bool training, GeneratorImpl* generator) {
  check_dropout(p, input, "feature_dropout");
  const DimVector shape = of_channels(input, "feature_dropout");
  if (!training || p == 0 || input.numel() == 0) return input;
  if (p == 1) return op::mul(input, Scalar(0.0));
  return op::mul(input, op::div(kept(input, shape, p, generator), Scalar(1 - p)));
}

Tensor alpha_dropout(const Tensor& input, double p, bool training, GeneratorImpl* generator) {
  check_dropout(p, input, "alpha_dropout");
  if (!training || p == 0 || input.numel() == 0) return input;
  return drop_alpha(input, input.sizes(), p, generator);
}

Tensor feature_alpha_dropout(const Tensor& input, double p, bool training, GeneratorImpl* generator) {
  check_dropout(p, input, "feature_alpha_dropout");
  const DimVector shape = of_channels(input, "feature_alpha_dropout");
  if (!training || p == 0 || input.numel() == 0) return input;
  return drop_alpha(input, shape, p, generator);
}

Tensor rrelu(const Tensor& self, double lower, double upper, bool training, GeneratorImpl* generator) {
  TRT_CHECK(lower <= upper && std::isfinite(upper - lower), "rrelu: lower must not be above upper, got ", lower, " and ", upper);
  TRT_CHECK(is_floating(self.dtype()), "rrelu: a floating-point input is needed, got ", self);
  if (!training) return op::leaky_relu(self, Scalar((lower + upper) / 2));
  Tensor slopes = op::empty(self.sizes(), self.dtype(), self.device());
  op::uniform_(slopes, lower, upper, generator);
  return op::mul(self, op::where(op::gt(self, Scalar(0.0)), Scalar(1.0), slopes));
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim, GeneratorImpl* generator) {
  TRT_CHECK(tau > 0, "gumbel_softmax: tau must be positive, got ", tau);
  TRT_CHECK(is_floating(logits.dtype()), "gumbel_softmax: floating-point logits are needed, got ", logits);
  Tensor noise = op::empty(logits.sizes(), logits.dtype(), logits.device());
  op::exponential_(noise, 1, generator);
  const Tensor soft = op::softmax(op::div(op::sub(logits, op::log(noise)), Scalar(tau)), dim, std::nullopt);
  if (!hard) return soft;
  Tensor rest;  // what makes the soft sample one-hot; a constant, so that the gradient is that of the soft sample
  {
    const GradModeGuard constant(false);
    rest = op::sub(op::scatter(op::zeros_like(soft), dim, op::argmax(soft, dim, true), Scalar(1.0)), soft);
  }
  return op::add(rest, soft);
}

}  // namespace trt::composite
