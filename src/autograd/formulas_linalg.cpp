#include "autograd/formulas_linalg.h"

#include "gen/all_ops.h"

namespace trt::formulas {

Tensor scaled(const Tensor& t, const Scalar& factor) { return factor.equals(1) ? t : op::mul(t, factor); }

Tensor mm_backward_left(const Tensor& grad, const Tensor& b, const Scalar& alpha) {
  return scaled(op::mm(grad, op::transpose(b, 0, 1)), alpha);
}

Tensor mm_backward_right(const Tensor& grad, const Tensor& a, const Scalar& alpha) {
  return scaled(op::mm(op::transpose(a, 0, 1), grad), alpha);
}

std::tuple<Tensor, Tensor, Tensor> linear_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                   int64_t bias_dim, const std::array<bool, 3>& mask) {
  std::tuple<Tensor, Tensor, Tensor> out;
  const bool single = weight.dim() == 1;
  const bool matrix = input.dim() == 2 && !single;
  const int64_t k = input.sizes().back();
  const int64_t n = single ? 1 : weight.sizes()[0];
  int64_t m = 1;
  for (size_t i = 0; i + 1 < input.sizes().size(); ++i) m *= input.sizes()[i];
  const Tensor g = matrix ? grad : op::reshape(grad, {m, n});
  if (mask[0]) {
    const Tensor gi = op::mm(g, single ? op::unsqueeze(weight, 0) : weight);
    std::get<0>(out) = matrix ? gi : op::reshape(gi, input.sizes());
  }
  if (mask[1]) {
    const Tensor gw = op::mm(op::transpose(g, 0, 1), matrix ? input : op::reshape(input, {m, k}));
    std::get<1>(out) = single ? op::squeeze(gw, 0) : gw;
  }
  // The engine sums what a bias of another shape broadcast.
  if (mask[2]) std::get<2>(out) = single || bias_dim > 1 ? grad : op::sum(g, IntArrayRef{int64_t{0}});
  return out;
}

Tensor thin_svd_backward(const autograd::GradVec& grads, const Tensor& u, const Tensor& s, const Tensor& vh) {
  const Tensor &gu = grads[0], &gs = grads[1], &gvh = grads[2];
  const Tensor ut = op::transpose(u, -2, -1), v = op::transpose(vh, -2, -1);
  const Tensor row = op::unsqueeze(s, -2), column = op::unsqueeze(s, -1);
  const int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  // Of U^T dA V: what the singular values see on the diagonal, what the vectors see beside it.
  Tensor middle, result;
  auto add = [](Tensor& sum, const Tensor& t) { sum = sum.defined() ? op::add(sum, t) : t; };
  auto skew = [](const Tensor& t) { return op::sub(t, op::transpose(t, -2, -1)); };
  Tensor gaps;
  if (gu.defined() || gvh.defined()) {
    gaps = op::sub(op::mul(row, row), op::mul(column, column));
    gaps = op::add(gaps, op::eye(k, std::nullopt, s.dtype(), s.device()));
  }
  if (gs.defined()) add(middle, op::diag_embed(gs));
  if (gu.defined()) add(middle, op::mul(op::div(skew(op::matmul(ut, gu)), gaps), row));
  if (gvh.defined()) add(middle, op::mul(column, op::div(skew(op::matmul(vh, op::transpose(gvh, -2, -1))), gaps)));
  if (middle.defined()) add(result, op::matmul(op::matmul(u, middle), vh));
  // The parts outside of the spaces that the vectors span.
  if (gu.defined() && m > k) add(result, op::matmul(op::div(op::sub(gu, op::matmul(u, op::matmul(ut, gu))), row), vh));
  if (gvh.defined() && n > k) add(result, op::matmul(op::div(u, row), op::sub(gvh, op::matmul(op::matmul(gvh, v), vh))));
  return result;
}

}  // namespace trt::formulas
