// Gradient helpers of matrix products.
#pragma once

#include <array>
#include <tuple>

#include "core/tensor.h"

namespace trt::formulas {

// t * factor; t itself for the factor 1.
Tensor scaled(const Tensor& t, const Scalar& factor);
// Gradients of alpha * (a @ b) with respect to a and b.
Tensor mm_backward_left(const Tensor& grad, const Tensor& b, const Scalar& alpha);
Tensor mm_backward_right(const Tensor& grad, const Tensor& a, const Scalar& alpha);
// Gradients of linear with respect to input, weight and bias (bias_dim: its number of dimensions).
std::tuple<Tensor, Tensor, Tensor> linear_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                   int64_t bias_dim, const std::array<bool, 3>& mask);
}  // namespace trt::formulas
