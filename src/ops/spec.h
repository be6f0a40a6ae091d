// TensorSpec: what a meta rule says of one output: sizes, dtype, device. Meta rules look at metadata only.
#pragma once

#include <array>

#include "core/tensor.h"

namespace trt {

struct TensorSpec {
  DimVector sizes;
  DType dtype = DType::Float32;
  Device device;

  TensorSpec() = default;
  TensorSpec(IntArrayRef sizes_, DType dtype_, Device device_) : sizes(sizes_.data(), sizes_.size()), dtype(dtype_), device(device_) {}
  Tensor allocate() const { return empty_tensor(sizes, dtype, device); }
};

}  // namespace trt
