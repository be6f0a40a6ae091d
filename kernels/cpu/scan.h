// Scans along the middle dimension of contiguous [outer, r, inner] values. Each line is scanned in sequence, so results
// do not depend on the number of threads. y may be x; other overlap is not allowed. The caller owns the memory. Safe to
// call from many threads.
#pragma once

#include <cstdint>

namespace trt::cpu {

// y[i] = x[0] + ... + x[i], or x[i] + ... + x[r-1] in reverse (the gradient). float accumulates in double and rounds
// each output, as PyTorch does on the CPU; int64 wraps around. T: float, double, int64_t.
template <typename T>
void cumsum(const T* x, T* y, int64_t outer, int64_t r, int64_t inner, bool reverse = false);
template <typename T>
void cumprod(const T* x, T* y, int64_t outer, int64_t r, int64_t inner, bool reverse = false);

// log(exp(x[0]) + ... + exp(x[i])), without overflow. T: float, double.
template <typename T>
void logcumsumexp(const T* x, T* y, int64_t outer, int64_t r, int64_t inner);

// The largest (smallest) value so far and its index along the dimension: the last of equals; NaN wins over all and the
// latest NaN gives the index. T: float, double, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool.
template <typename T>
void cummax(const T* x, T* y, int64_t* indices, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void cummin(const T* x, T* y, int64_t* indices, int64_t outer, int64_t r, int64_t inner);

}  // namespace trt::cpu
