// Softmax and log-softmax over the middle axis of contiguous arrays [outer, r, inner], and their gradients; T is float
// or double. Extents may be 0. Thread-safe, parallel, results independent of the number of threads. Each output array
// may be one of the inputs (same pointer); no other overlap. A slice with NaN or +infinity, or of -infinity only, gives
// NaN.
#pragma once

#include <cstdint>

namespace trt::cpu {

template <typename T>
void softmax_forward(const T* x, T* y, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void log_softmax_forward(const T* x, T* y, int64_t outer, int64_t r, int64_t inner);

// y is the output of the forward function, gy the gradient with respect to it.
template <typename T>
void softmax_backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void log_softmax_backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner);

}  // namespace trt::cpu
