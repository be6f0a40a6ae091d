// Gradients of indexing operators. All are made of differentiable operators.
#pragma once

#include <optional>

#include "core/scalar.h"
#include "core/tensor.h"

namespace trt::formulas {

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor index_add_backward(const Tensor& grad, IntArrayRef source_sizes, int64_t dim, const Tensor& index, const Scalar& alpha);

}  // namespace trt::formulas
