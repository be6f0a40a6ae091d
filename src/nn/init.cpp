#include "nn/init.h"

#include <cmath>
#include <vector>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "iter/copy.h"

namespace trt::nn::init {

namespace {

void check_target(const Tensor& t, const char* name) {
  TRT_CHECK(is_floating(t.dtype()), name, ": a tensor of a floating-point dtype is needed, got ", t);
}

double kaiming_std(const Tensor& t, double a, FanMode mode, std::string_view nonlinearity, const char* name) {
  check_target(t, name);
  const Fans fans = calculate_fans(t);
  const double fan = mode == FanMode::FanIn ? fans.in : fans.out;
  return calculate_gain(nonlinearity, a) / std::sqrt(fan);
}

double xavier_std(const Tensor& t, double gain, const char* name) {
  check_target(t, name);
  const Fans fans = calculate_fans(t);
  return gain * std::sqrt(2.0 / (fans.in + fans.out));
}

double normal_cdf(double x) { return (1.0 + std::erf(x / std::sqrt(2.0))) / 2.0; }

}  // namespace

Fans calculate_fans(const Tensor& t) {
  TRT_CHECK(t.dim() >= 2, "init: fans need a tensor of at least 2 dimensions, got ", t);
  double field = 1;
  for (int64_t d = 2; d < t.dim(); ++d) field *= static_cast<double>(t.size(d));
  return {static_cast<double>(t.size(1)) * field, static_cast<double>(t.size(0)) * field};
}

double calculate_gain(std::string_view nonlinearity, double param) {
  if (nonlinearity == "linear" || nonlinearity == "sigmoid" || nonlinearity.starts_with("conv")) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2.0 / (1 + param * param));
  TRT_CHECK(nonlinearity == "selu", "init: no gain is known for the nonlinearity '", nonlinearity, "'");
  return 3.0 / 4;
}

void uniform_(Tensor t, double low, double high, GeneratorImpl* generator) {
  check_target(t, "uniform_");
  const GradModeGuard no_grad(false);
  op::uniform_(t, low, high, generator);
}

void normal_(Tensor t, double mean, double std, GeneratorImpl* generator) {
  check_target(t, "normal_");
  const GradModeGuard no_grad(false);
  op::normal_(t, mean, std, generator);
}

void constant_(Tensor t, double value) {
  const GradModeGuard no_grad(false);
  op::fill_(t, value);
}

void trunc_normal_(Tensor t, double mean, double std, double low, double high, GeneratorImpl* generator) {
  check_target(t, "trunc_normal_");
  TRT_CHECK(std > 0 && low < high, "trunc_normal_: std must be positive and the limits in order, got std ", std, ", limits ", low, " and ", high);
  const GradModeGuard no_grad(false);
  const double from = 2 * normal_cdf((low - mean) / std) - 1, to = 2 * normal_cdf((high - mean) / std) - 1;
  // In float32 at least: the inverse is steep at the ends.
  Tensor u = op::empty(t.sizes(), t.dtype() == DType::Float64 ? DType::Float64 : DType::Float32, t.device());
  op::uniform_(u, from, std::max(from, to), generator);
  op::erfinv_(u);
  op::mul_(u, std * std::sqrt(2.0));
  op::add_(u, mean);
  op::clamp_min_(u, low);
  op::clamp_max_(u, high);
  op::copy_(t, u);
}

void eye_(Tensor t) {
  TRT_CHECK(t.dim() == 2, "eye_: a tensor of 2 dimensions is needed, got ", t);
  const GradModeGuard no_grad(false);
  op::copy_(t, op::eye(t.size(0), t.size(1), t.dtype(), t.device()));
}

void xavier_uniform_(Tensor t, double gain, GeneratorImpl* generator) {
  const double bound = std::sqrt(3.0) * xavier_std(t, gain, "xavier_uniform_");
  if (t.numel()) uniform_(t, -bound, bound, generator);
}

void xavier_normal_(Tensor t, double gain, GeneratorImpl* generator) {
  const double std = xavier_std(t, gain, "xavier_normal_");
  if (t.numel()) normal_(t, 0, std, generator);
}

void kaiming_uniform_(Tensor t, double a, FanMode mode, std::string_view nonlinearity, GeneratorImpl* generator) {
  const double bound = std::sqrt(3.0) * kaiming_std(t, a, mode, nonlinearity, "kaiming_uniform_");
  if (t.numel()) uniform_(t, -bound, bound, generator);
}

void kaiming_normal_(Tensor t, double a, FanMode mode, std::string_view nonlinearity, GeneratorImpl* generator) {
  const double std = kaiming_std(t, a, mode, nonlinearity, "kaiming_normal_");
  if (t.numel()) normal_(t, 0, std, generator);
}

// Gram and Schmidt in double, each vector made orthogonal twice (which suffices for full precision): the factor Q of a QR
// decomposition with a positive diagonal, so Q of a normal matrix is uniform over the orthogonal ones.
void orthogonal_(Tensor t, double gain, GeneratorImpl* generator) {
  check_target(t, "orthogonal_");
  TRT_CHECK(t.dim() >= 2, "orthogonal_: a tensor of at least 2 dimensions is needed, got ", t);
  if (t.numel() == 0 || t.is_meta()) return;
  const GradModeGuard no_grad(false);
  const int64_t rows = t.size(0), cols = t.numel() / rows;
  const int64_t count = std::min(rows, cols), length = std::max(rows, cols);
  Tensor q = op::empty({count, length}, DType::Float64);
  op::normal_(q, 0, 1, generator);
  double* v = q.data_ptr<double>();
  for (int64_t i = 0; i < count; ++i) {
    double* x = v + i * length;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) {
        const double* y = v + j * length;
        double dot = 0;
        for (int64_t k = 0; k < length; ++k) dot += x[k] * y[k];
        for (int64_t k = 0; k < length; ++k) x[k] -= dot * y[k];
      }
    double square = 0;
    for (int64_t k = 0; k < length; ++k) square += x[k] * x[k];
    const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
    for (int64_t k = 0; k < length; ++k) x[k] *= scale;
  }
  const Tensor oriented = rows <= cols ? q : op::transpose(q, 0, 1);
  op::copy_(t, op::reshape(op::mul(oriented, gain), t.sizes()));
}

}  // namespace trt::nn::init
