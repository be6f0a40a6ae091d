// Gradients of reductions and scans. All are made of differentiable operators.
#pragma once

#include <optional>

#include "core/tensor.h"

namespace trt::formulas {

// The gradient of a sum: grad, with the reduced dimensions put back, expanded to `sizes`.
Tensor expand_reduced(const Tensor& grad, IntArrayRef sizes, std::optional<IntArrayRef> dim, bool keepdim);

}  // namespace trt::formulas
