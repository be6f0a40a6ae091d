// Copies between tensors: broadcasting, casting, any strides. Below the dispatcher; CPU memory only.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace trt {

// dst and src may overlap: the result is as if src had been read completely before. src must broadcast to dst.
void copy_tensor(Tensor& dst, const Tensor& src);
// src, or a contiguous copy of it, of dtype `dtype` (default: its own).
Tensor contiguous_tensor(const Tensor& src);
Tensor contiguous_tensor(const Tensor& src, DType dtype);
void fill_tensor(Tensor& dst, const Scalar& value);
// Throws where a number given by the user does not lie in the range of `dtype`.
void check_fits(const Scalar& value, DType dtype, const char* op);

}  // namespace trt
