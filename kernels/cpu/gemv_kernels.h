// Inner products and row-wise matrix-vector products, compiled per instruction set; used by gemm.cpp. Internal to
// kernels/cpu.
//
// Four rows are read side by side with prefetch: one stream alone does not keep enough cache lines under way to fill
// the memory bandwidth, and the kernels of OpenBLAS 0.3.21 reach a third of it on large matrices.
#pragma once

#include <cstdint>

namespace trt::cpu {

template <typename T>
struct GemvKernels {
  // The sum of x[i] * y[i], accumulated in T over several vectors.
  T (*dot)(int64_t n, const T* x, const T* y);
  // y[i * incy] += alpha * (row i of a, `cols` long) . x
  void (*rows)(int64_t rows, int64_t cols, T alpha, const T* a, int64_t lda, const T* x, T* y, int64_t incy);
};

// The sets for this processor, for float and double.
template <typename T>
const GemvKernels<T>& gemv_kernels();

}  // namespace trt::cpu
