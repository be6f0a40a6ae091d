// Two-dimensional pooling on contiguous planes: x is [planes, ih, iw], y is [planes, oh, ow], planes = batch * channels
// of an NCHW tensor. T is float or double. The caller owns all memory and has checked the sizes: kernel, stride and
// dilation are at least 1, the padding is at most half the kernel, and oh and ow follow from the other sizes. Outputs
// must not overlap inputs. Safe to call from many threads; results do not depend on the number of threads.
#pragma once

#include <cstdint>

namespace trt::cpu {

struct Pool2d {
  int64_t ih, iw, oh, ow;
  int64_t kh, kw;          // kernel
  int64_t sh, sw;          // stride
  int64_t ph = 0, pw = 0;  // padding on each side
  int64_t dh = 1, dw = 1;  // dilation; the average has none
};

// The maximum of each window and, unless `indices` is null, its position h * iw + w within the plane. Of equal maxima
// the first in row-major order counts; NaN is greater than everything, and the last NaN of a window gives the index. A
// window with no tap inside the plane (dilation can step over a small plane) gives -infinity and the index -1.
template <typename T>
void max_pool2d_forward(const T* x, T* y, int64_t* indices, int64_t planes, const Pool2d& p);

// gx = the sum of gy over the windows whose maximum was there; gx need not be initialized. `indices` are those of the
// forward call with the same p; one outside the plane throws kOutOfRange (except -1).
template <typename T>
void max_pool2d_backward(const T* gy, const int64_t* indices, T* gx, int64_t planes, const Pool2d& p);

// The sum of each window in row-major order, divided by divisor_override unless that is zero, else by the window's
// size, where padding counts if count_include_pad.
template <typename T>
void avg_pool2d_forward(const T* x, T* y, int64_t planes, const Pool2d& p, bool count_include_pad,
                        int64_t divisor_override);
template <typename T>
void avg_pool2d_backward(const T* gy, T* gx, int64_t planes, const Pool2d& p, bool count_include_pad,
                         int64_t divisor_override);

// Adaptive windows: output row r covers the input rows floor(r * ih / oh) .. ceil((r + 1) * ih / oh) - 1, columns
// alike.
template <typename T>
void adaptive_avg_pool2d_forward(const T* x, T* y, int64_t planes, int64_t ih, int64_t iw, int64_t oh, int64_t ow);
template <typename T>
void adaptive_avg_pool2d_backward(const T* gy, T* gx, int64_t planes, int64_t ih, int64_t iw, int64_t oh, int64_t ow);
template <typename T>
void adaptive_max_pool2d_forward(const T* x, T* y, int64_t* indices, int64_t planes, int64_t ih, int64_t iw, int64_t oh,
                                 int64_t ow);
template <typename T>
void adaptive_max_pool2d_backward(const T* gy, const int64_t* indices, T* gx, int64_t planes, int64_t ih, int64_t iw,
                                  int64_t oh, int64_t ow);

}  // namespace trt::cpu
