// Matrix products on raw row-major arrays: float and double through OpenBLAS, other types through a plain loop.
//
// Products are cut into tiles of C that run in parallel; the tiles depend on the sizes only and the inner dimension is
// never cut between threads, so that results do not depend on the number of threads (Note [Deterministic parallelism]).
// Sizes of 2^31 and more are cut into pieces that BLAS can take. beta == 0 overwrites C without reading it; k == 0
// gives beta * C; alpha == 0 does not read A and B. C must not overlap A or B. Thread-safe. Errors are those of blas().
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/parallel.h"
#include "core/dtype.h"

namespace trt::cpu {

// C[m,n] = alpha * op(A)[m,k] op(B)[k,n] + beta * C. op transposes when the flag is set; lda, ldb and ldc are the
// distances between the stored rows (A is stored [m,k], or [k,m] when trans_a).
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
          const double* b, int64_t ldb, double beta, double* c, int64_t ldc);

// `batch` products; the strides are distances in elements between consecutive matrices, 0 to use one again for A and B.
void gemm_batched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k, float alpha,
                  const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb, int64_t stride_b,
                  float beta, float* c, int64_t ldc, int64_t stride_c);
void gemm_batched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k, double alpha,
                  const double* a, int64_t lda, int64_t stride_a, const double* b, int64_t ldb, int64_t stride_b,
                  double beta, double* c, int64_t ldc, int64_t stride_c);

// y = alpha * op(A) x + beta * y with A stored [m,n]; x has n elements and y m, or the other way round when trans.
// The increments are distances in elements from the first element on and may be zero (x) or negative.
void gemv(bool trans, int64_t m, int64_t n, float alpha, const float* a, int64_t lda, const float* x, int64_t incx,
          float beta, float* y, int64_t incy);
void gemv(bool trans, int64_t m, int64_t n, double alpha, const double* a, int64_t lda, const double* x, int64_t incx,
          double beta, double* y, int64_t incy);

// The sum of x[i * incx] * y[i * incy].
float dot(int64_t n, const float* x, int64_t incx, const float* y, int64_t incy);
double dot(int64_t n, const double* x, int64_t incx, const double* y, int64_t incy);

// The same product as gemm() for any element type, without BLAS: integers wrap around, the 16-bit floating-point types
// accumulate in float.
template <typename T>
void gemm_naive(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, opmath_t<T> alpha, const T* a, int64_t lda,
                const T* b, int64_t ldb, opmath_t<T> beta, T* c, int64_t ldc) {
  // Unsigned arithmetic wraps where signed overflow would be undefined; it is at least 32 bits wide because narrower
  // operands would be promoted to int.
  using Acc = typename std::conditional_t<std::is_integral_v<T>, std::conditional<sizeof(T) == 8, uint64_t, uint32_t>,
                                          std::type_identity<opmath_t<T>>>::type;
  constexpr int64_t kColumns = 256;
  auto load = [](const T& v) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<Acc>(v);
    else
      return static_cast<Acc>(static_cast<opmath_t<T>>(v));
  };
  if (m <= 0 || n <= 0) return;
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, n * std::max<int64_t>(k, 1)));
  parallel_for(0, m, grain, [&](int64_t row_begin, int64_t row_end) {
    Acc acc[kColumns];
    for (int64_t i = row_begin; i < row_end; ++i) {
      for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
        const int64_t width = std::min(kColumns, n - j0);
        std::fill_n(acc, width, Acc(0));
        if (trans_b) {
          for (int64_t j = 0; j < width; ++j) {
            const T* row = b + (j0 + j) * ldb;
            Acc sum(0);
            for (int64_t p = 0; p < k; ++p) sum += load(trans_a ? a[p * lda + i] : a[i * lda + p]) * load(row[p]);
            acc[j] = sum;
          }
        } else {
          for (int64_t p = 0; p < k; ++p) {
            const Acc value = load(trans_a ? a[p * lda + i] : a[i * lda + p]);
            const T* row = b + p * ldb + j0;
            for (int64_t j = 0; j < width; ++j) acc[j] += value * load(row[j]);
          }
        }
        T* out = c + i * ldc + j0;
        if (beta == opmath_t<T>(0)) {
          for (int64_t j = 0; j < width; ++j) out[j] = static_cast<T>(static_cast<Acc>(alpha) * acc[j]);
        } else {
          for (int64_t j = 0; j < width; ++j)
            out[j] = static_cast<T>(static_cast<Acc>(alpha) * acc[j] + static_cast<Acc>(beta) * load(out[j]));
        }
      }
    }
  });
}

}  // namespace trt::cpu
