#include "autograd/formulas_indexing.h"

#include "gen/all_ops.h"

namespace trt::formulas {

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  return op::index_add(op::zeros(sizes, grad.dtype(), grad.device()), dim, index, grad);
}

Tensor index_add_backward(const Tensor& grad, IntArrayRef source_sizes, int64_t dim, const Tensor& index, const Scalar& alpha) {
  const Tensor part = op::reshape(op::index_select(grad, dim, index), source_sizes);
  return alpha.equals(1) ? part : op::mul(part, alpha);
}

}  // namespace trt::formulas
