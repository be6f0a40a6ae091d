// The float convolutions behind conv2d_*; internal to kernels/cpu. Shapes are not empty here: each of n, c, h, w, o,
// kh, kw, oh and ow is positive.
#pragma once

#include "kernels/cpu/conv.h"

namespace trt::cpu {

// Blocked matrix products (conv_float.cpp, conv_grad.cpp); any shape.
void conv_panels_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, float* y);
void conv_panels_backward_input(const Conv2dShape& s, const float* gy, const float* w, float* gx);
void conv_tiles_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias);

// One input channel per group (conv_depthwise.cpp).
void depthwise_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, float* y);
void depthwise_backward_input(const Conv2dShape& s, const float* gy, const float* w, float* gx);
void depthwise_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias);

}  // namespace trt::cpu
