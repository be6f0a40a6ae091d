// Numbers as operands of the generated second derivatives.
#pragma once

#include "core/tensor.h"

namespace trt::autograd {

inline Tensor number(const Scalar& s) { return wrapped_scalar_tensor(s); }

}  // namespace trt::autograd
