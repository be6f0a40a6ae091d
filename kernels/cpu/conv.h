// Two-dimensional convolution and its gradients on raw contiguous NCHW arrays, float and double.
//
// x is [n, c, h, w], weight [o, c/groups, kh, kw], bias [o], y [n, o, oh, ow]. The caller has computed oh and ow (see
// conv2d_output_size) and made sure that c and o are divisible by groups. Outputs are overwritten and must not overlap
// inputs. Empty batches and images are allowed. Results do not depend on the number of threads. Thread-safe. Temporary
// memory comes from kernels/cpu/scratch.h (kOutOfMemory); the double path also throws what blas() throws.
//
// Float takes a blocked implicit matrix product (conv_float.cpp), depthwise shapes a direct loop (conv_depthwise.cpp),
// double a product over unfolded images (conv.cpp). Float sums are accumulated in float, in an order that the sizes
// fix.
#pragma once

#include <cstdint>

namespace trt::cpu {

struct Conv2dShape {
  int64_t n = 0, c = 0, h = 0, w = 0;  // input
  int64_t o = 0, kh = 0, kw = 0;       // weight
  int64_t stride_h = 1, stride_w = 1;  // at least 1
  int64_t pad_h = 0, pad_w = 0;        // zeros on each side, at least 0
  int64_t dil_h = 1, dil_w = 1;        // at least 1
  int64_t groups = 1;                  // at least 1
  int64_t oh = 0, ow = 0;              // output
};

// The output extent of one dimension: (in + 2 pad - dilation (kernel - 1) - 1) / stride + 1, at least 0.
constexpr int64_t conv2d_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  const int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

// y = conv(x, w) + bias; bias may be null.
void conv2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, float* y);
void conv2d_forward(const Conv2dShape& s, const double* x, const double* w, const double* bias, double* y);

// gx = the gradient of sum(y * gy) with respect to x.
void conv2d_backward_input(const Conv2dShape& s, const float* gy, const float* w, float* gx);
void conv2d_backward_input(const Conv2dShape& s, const double* gy, const double* w, double* gx);

// gw and, when not null, gbias: the same gradient with respect to weight and bias.
void conv2d_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias);
void conv2d_backward_weight(const Conv2dShape& s, const double* x, const double* gy, double* gw, double* gbias);

}  // namespace trt::cpu
