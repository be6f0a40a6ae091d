// Clipping of gradients.
#include <cmath>

#include "autograd/meta.h"
#include "core/modes.h"
#include "gen/all_ops.h"
#include "kernels/cpu/optim.h"
#include "optim/optimizer.h"

namespace trt::optim {

namespace {

std::vector<Tensor> gradients(TensorList params, const char* op) {
  std::vector<Tensor> grads;
  for (const Tensor& p : params) {
    TRT_CHECK(p.defined(), op, ": a parameter is none");
    Tensor g = autograd::grad_of(p);
    if (!g.defined()) continue;
    TRT_CHECK_CODE(g.device().is_cpu(), Code::kNotSupported, op, ": gradients on ", g.device(), " are not supported");
    check_may_change(g, op);
    grads.push_back(std::move(g));
  }
  return grads;
}

// Contiguous gradients of dtype T, for the fused kernels; empty ones left out.
template <typename T, typename P>
std::vector<cpu::Span<P>> spans(const std::vector<Tensor>& grads) {
  std::vector<cpu::Span<P>> list;
  for (const Tensor& g : grads)
    if (g.dtype() == dtype_of<T>() && g.is_contiguous() && g.numel()) list.push_back({g.data_ptr<T>(), g.numel()});
  return list;
}

bool fused(const Tensor& g) { return g.is_contiguous() && (g.dtype() == DType::Float32 || g.dtype() == DType::Float64); }

// The sum of |x|^p over all gradients, or the largest |x| for p = infinity.
double norm_sum(const std::vector<Tensor>& grads, double p) {
  double total = 0;
  if (p == 2) {
    const auto floats = spans<float, const float>(grads);
    const auto doubles = spans<double, const double>(grads);
    total += cpu::squared_norm(floats.data(), static_cast<int64_t>(floats.size()));
    total += cpu::squared_norm(doubles.data(), static_cast<int64_t>(doubles.size()));
  }
  for (const Tensor& g : grads) {
    if (g.numel() == 0 || (p == 2 && fused(g))) continue;
    const Tensor norm = op::linalg_vector_norm(op::to(is_complex(g.dtype()) ? op::abs(g) : g, DType::Float64), p);
    const double v = *norm.data_ptr<double>();
    if (!std::isinf(p)) total += std::pow(v, p);
    else if (v > total || std::isnan(v)) total = v;
  }
  return total;
}

}  // namespace

double clip_grad_norm_(TensorList params, double max_norm, double norm_type, bool error_if_nonfinite) {
  TRT_CHECK(max_norm >= 0, "clip_grad_norm_: max_norm must not be negative, got ", max_norm);
  TRT_CHECK(norm_type > 0, "clip_grad_norm_: the order of the norm must be positive, got ", norm_type);
  const GradModeGuard no_grad(false);
  const auto grads = gradients(params, "clip_grad_norm_");
  const double sum = norm_sum(grads, norm_type);
  const double norm = std::isinf(norm_type) ? sum : norm_type == 2 ? std::sqrt(sum) : std::pow(sum, 1 / norm_type);
  TRT_CHECK_CODE(!error_if_nonfinite || std::isfinite(norm), Code::kFailedPrecondition, "clip_grad_norm_: the norm of the gradients is ", norm);
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return norm;
  const auto floats = spans<float, float>(grads);
  const auto doubles = spans<double, double>(grads);
  cpu::scale_all(floats.data(), static_cast<int64_t>(floats.size()), factor);
  cpu::scale_all(doubles.data(), static_cast<int64_t>(doubles.size()), factor);
  for (Tensor g : grads) {
    if (fused(g)) g.impl()->storage()->bump_version();
    else op::mul_(g, factor);
  }
  return norm;
}

void clip_grad_value_(TensorList params, double value) {
  TRT_CHECK(value >= 0, "clip_grad_value_: the limit must not be negative, got ", value);
  const GradModeGuard no_grad(false);
  for (Tensor g : gradients(params, "clip_grad_value_")) {
    if (is_complex(g.dtype())) g = op::view_as_real(g);  // part by part
    op::clamp_min_(g, -value);
    op::clamp_max_(g, value);
  }
}

}  // namespace trt::optim
