// Gradients of reductions and scans. All are made of differentiable operators.
#pragma once

#include <optional>

#include "core/scalar.h"
#include "core/tensor.h"

namespace trt::formulas {

using OptionalDims = std::optional<IntArrayRef>;

// The gradient of a sum: grad, with the reduced dimensions put back, expanded to `sizes`.
Tensor expand_reduced(const Tensor& grad, IntArrayRef sizes, OptionalDims dim, bool keepdim);
Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalDims dim, bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor prod_dim_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim);
// The gradient of an extremum goes to all elements that are equal to it, in equal parts.
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim);
Tensor aminmax_backward(const Tensor& grad_min, const Tensor& grad_max, const Tensor& self, const Tensor& min,
                        const Tensor& max, std::optional<int64_t> dim, bool keepdim);
// The gradient of an operator that picked the element `indices` of each line (max with a dimension, kthvalue, ...).
Tensor select_along_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& indices, bool keepdim);
// The same for one element per position (sort, topk: no two alike; cummax: positions repeat).
Tensor scatter_along_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& indices);
Tensor scan_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& indices);
Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalDims dim, const std::optional<Scalar>& correction,
                    bool keepdim);
Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result, OptionalDims dim,
                    const std::optional<Scalar>& correction, bool keepdim);
Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalDims dim,
                         const std::optional<Scalar>& correction, bool keepdim);
Tensor std_mean_backward(const Tensor& grad_std, const Tensor& grad_mean, const Tensor& self, const Tensor& deviation,
                         OptionalDims dim, const std::optional<Scalar>& correction, bool keepdim);
Tensor norm_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord, OptionalDims dim,
                     bool keepdim);
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);

}  // namespace trt::formulas
