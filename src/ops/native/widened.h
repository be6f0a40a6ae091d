// Functions made of several operators round after every step. In half precision that loses more than the last rounding may: they compute in float32.
#pragma once

#include "gen/all_ops.h"

namespace trt {

// `t` in float32 if its dtype is `narrow`. Other tensors stay as they are, so that dtypes that do not fit are still found.
inline Tensor widened(const Tensor& t, DType narrow) { return t.defined() && t.dtype() == narrow ? op::to(t, DType::Float32) : t; }

}  // namespace trt
