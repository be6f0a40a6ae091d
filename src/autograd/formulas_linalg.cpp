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

}  // namespace trt::formulas
