// Gradients of the decompositions of matrices (src/ops/linalg_decompose.yaml). Where an operator is tagged complex_direct the formula takes and gives
// gradients of complex tensors as they are; the others are written for real numbers (Note [Complex gradients] in autograd/engine.h).
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "autograd/node.h"
#include "core/tensor.h"

namespace trt::formulas {

Tensor lu_factor_backward(const Tensor& grad, const Tensor& lu, const Tensor& pivots);
std::tuple<Tensor, Tensor> linear_system_backward(const Tensor& grad, const Tensor& a, const Tensor& x, const std::array<bool, 2>& mask);
// `grads`: of all results; undefined for those that took no part.
Tensor slogdet_backward(const autograd::GradVec& grads, const Tensor& a, const Tensor& sign);
Tensor det_backward(const Tensor& grad, const Tensor& a, const Tensor& det);
std::tuple<Tensor, Tensor> triangular_system_backward(const Tensor& grad, const Tensor& a, const Tensor& x, bool upper, bool left, bool unitriangular,
                                                      const std::array<bool, 2>& mask);
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper);
Tensor qr_backward(const autograd::GradVec& grads, const Tensor& q, const Tensor& r, std::string_view mode, IntArrayRef sizes);
// Equal eigenvalues or singular values make the gradients of the vectors infinite or NaN.
Tensor eigh_backward(const autograd::GradVec& grads, const Tensor& values, const Tensor& vectors);
Tensor svd_backward(const autograd::GradVec& grads, const Tensor& u, const Tensor& s, const Tensor& vh);
Tensor eig_backward(const autograd::GradVec& grads, const Tensor& self, const Tensor& values, const Tensor& vectors);
Tensor pinv_backward(const Tensor& grad, const Tensor& a, const Tensor& pinv);
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& a);

}  // namespace trt::formulas
