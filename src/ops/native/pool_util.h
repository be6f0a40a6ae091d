// Maxima of windows of integers, which are rare: one loop for two and three dimensions.
#pragma once

#include "ops/window.h"

namespace trt {

struct Window3d {
  Triple kernel, stride, padding, dilation, out;
};

// The maximum of each window of the volumes of extent `in` of which `self` consists, into `output`, and its place into `indices` (may be null).
void max_pool_integers(const Tensor& self, const Triple& in, const Window3d& w, Tensor& output, Tensor* indices);

}  // namespace trt
