#include "kernels/cpu/gemm.h"

#include <climits>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/gemv_kernels.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// Products below this many multiplications cost less in a plain loop than a BLAS call does.
constexpr int64_t kTinyProduct = 128;
// Work (multiplications) that makes a task worth handing to another thread.
constexpr int64_t kTaskWork = int64_t(1) << 20;
// BLAS takes int sizes. Pieces of the inner dimension are far below the limit, and multiples of every unroll factor.
constexpr int64_t kMaxInner = int64_t(1) << 30;

inline void call_gemm(const Blas& b, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                      int64_t lda, const float* x, int64_t ldx, float beta, float* c, int64_t ldc) {
  const BlasCall inside;
  b.sgemm(kBlasRowMajor, ta ? kBlasTrans : kBlasNoTrans, tb ? kBlasTrans : kBlasNoTrans, int(m), int(n), int(k), alpha,
          a, int(lda), x, int(ldx), beta, c, int(ldc));
}
inline void call_gemm(const Blas& b, bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                      int64_t lda, const double* x, int64_t ldx, double beta, double* c, int64_t ldc) {
  const BlasCall inside;
  b.dgemm(kBlasRowMajor, ta ? kBlasTrans : kBlasNoTrans, tb ? kBlasTrans : kBlasNoTrans, int(m), int(n), int(k), alpha,
          a, int(lda), x, int(ldx), beta, c, int(ldc));
}
inline void call_gemv(const Blas& b, bool t, int64_t m, int64_t n, float alpha, const float* a, int64_t lda,
                      const float* x, int64_t incx, float beta, float* y, int64_t incy) {
  const BlasCall inside;
  b.sgemv(kBlasRowMajor, t ? kBlasTrans : kBlasNoTrans, int(m), int(n), alpha, a, int(lda), x, int(incx), beta, y,
          int(incy));
}
inline void call_gemv(const Blas& b, bool t, int64_t m, int64_t n, double alpha, const double* a, int64_t lda,
                      const double* x, int64_t incx, double beta, double* y, int64_t incy) {
  const BlasCall inside;
  b.dgemv(kBlasRowMajor, t ? kBlasTrans : kBlasNoTrans, int(m), int(n), alpha, a, int(lda), x, int(incx), beta, y,
          int(incy));
}
template <typename T>
void scale_matrix(int64_t m, int64_t n, T beta, T* c, int64_t ldc) {
  if (beta == T(1)) return;
  for (int64_t i = 0; i < m; ++i) {
    if (beta == T(0))
      std::fill_n(c + i * ldc, n, T(0));
    else
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] *= beta;
  }
}

// a * b without overflow, at most INT64_MAX.
inline int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

// The cut of C into tiles. The aim is up to 16 tiles of at least kTaskWork each, no side longer than 1024,
// none so thin that packing the operands again for each tile would show.
struct Tiling {
  int64_t tile_m, tile_n, tiles_m, tiles_n;

  Tiling(int64_t m, int64_t n, int64_t k) : tile_m(m), tile_n(n) {
    const int64_t area = saturating_mul(m, n);
    const int64_t work = saturating_mul(area, k);
    const int64_t wanted = std::clamp<int64_t>(work / (4 * kTaskWork), 1, 16);
    int64_t tiles = 1;
    auto round_up = [](int64_t v, int64_t to) { return (v + to - 1) / to * to; };
    constexpr int64_t kMinSide = 96, kMaxSide = 1024;
    while (tiles < wanted || tile_m > kMaxSide || tile_n > kMaxSide) {
      int64_t& side = tile_m >= tile_n ? tile_m : tile_n;
      if (side < 2 * kMinSide) break;
      side = round_up((side + 1) / 2, 16);
      tiles *= 2;
    }
    tiles_m = (m + tile_m - 1) / tile_m;
    tiles_n = (n + tile_n - 1) / tile_n;
  }
};

template <typename T>
void gemm_tile(const Blas& blas, bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
               const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  for (int64_t p = 0; p < k; p += kMaxInner) {
    const int64_t depth = std::min(kMaxInner, k - p);
    call_gemm(blas, ta, tb, m, n, depth, alpha, ta ? a + p * lda : a + p, lda, tb ? b + p : b + p * ldb, ldb,
              p == 0 ? beta : T(1), c, ldc);
  }
}

template <typename T>
void tiny_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
               int64_t ldb, T beta, T* c, int64_t ldc) {
  const int64_t a_row = ta ? 1 : lda, a_col = ta ? lda : 1, b_row = tb ? 1 : ldb, b_col = tb ? ldb : 1;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * a_row + p * a_col] * b[p * b_row + j * b_col];
      T& out = c[i * ldc + j];
      out = beta == T(0) ? alpha * sum : alpha * sum + beta * out;
    }
  }
}

// A stored matrix with one row leaves its leading dimension open; BLAS still wants one that is in range.
inline int64_t leading(int64_t rows, int64_t cols, int64_t ld) { return rows <= 1 ? std::max<int64_t>(cols, 1) : ld; }

template <typename T>
void gemm_any(bool ta, bool tb, int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
              int64_t stride_a, const T* b, int64_t ldb, int64_t stride_b, T beta, T* c, int64_t ldc,
              int64_t stride_c) {
  if (batch <= 0 || m <= 0 || n <= 0) return;
  if (k <= 0 || alpha == T(0)) {
    for (int64_t i = 0; i < batch; ++i) scale_matrix(m, n, beta, c + i * stride_c, ldc);
    return;
  }
  const int64_t work = saturating_mul(saturating_mul(m, n), k);
  if (work <= kTinyProduct) {
    parallel_for(0, batch, 32768 / work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        tiny_gemm(ta, tb, m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
    });
    return;
  }
  lda = leading(ta ? k : m, ta ? m : k, lda);
  ldb = leading(tb ? n : k, tb ? k : n, ldb);
  ldc = leading(m, n, ldc);
  if (std::max({lda, ldb, ldc}) > INT_MAX) {
    for (int64_t i = 0; i < batch; ++i)
      gemm_naive<T>(ta, tb, m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
    return;
  }
  const Blas& lib = blas();
  // One column or row: the matrix-vector kernels read the matrix once, in place.
  if (batch == 1 && n == 1) return gemv(ta, ta ? k : m, ta ? m : k, alpha, a, lda, b, tb ? 1 : ldb, beta, c, ldc);
  if (batch == 1 && m == 1) return gemv(!tb, tb ? n : k, tb ? k : n, alpha, b, ldb, a, ta ? lda : 1, beta, c, 1);
  if (batch == 1 && work <= 2 * kTaskWork) return gemm_tile(lib, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  const Tiling t(m, n, k);
  const int64_t tiles = t.tiles_m * t.tiles_n;
  const int64_t tile_work = saturating_mul(t.tile_m * t.tile_n, k);
  parallel_for(0, batch * tiles, std::max<int64_t>(1, kTaskWork / tile_work), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t matrix = item / tiles, tile = item % tiles;
      const int64_t i = tile / t.tiles_n * t.tile_m, j = tile % t.tiles_n * t.tile_n;
      const T* ap = a + matrix * stride_a + (ta ? i : i * lda);
      const T* bp = b + matrix * stride_b + (tb ? j * ldb : j);
      gemm_tile(lib, ta, tb, std::min(t.tile_m, m - i), std::min(t.tile_n, n - j), k, alpha, ap, lda, bp, ldb, beta,
                c + matrix * stride_c + i * ldc + j, ldc);
    }
  });
}

template <typename T>
void gemv_any(bool trans, int64_t m, int64_t n, T alpha, const T* a, int64_t lda, const T* x, int64_t incx, T beta,
              T* y, int64_t incy) {
  const int64_t x_size = trans ? m : n, y_size = trans ? n : m;
  if (y_size <= 0) return;
  // BLAS starts from the other end for a negative increment and has no zero one: such vectors go through a copy, and so
  // do those whose increment our own kernel does not take.
  if (incy < 1 || incy > INT_MAX) {
    Scratch copy(size_t(y_size) * sizeof(T));
    T* yc = copy.as<T>();
    if (beta != T(0))
      for (int64_t i = 0; i < y_size; ++i) yc[i] = y[i * incy];
    gemv_any(trans, m, n, alpha, a, lda, x, incx, beta, yc, 1);
    for (int64_t i = 0; i < y_size; ++i) y[i * incy] = yc[i];
    return;
  }
  if (x_size > 0 && alpha != T(0) && (trans ? incx < 1 || incx > INT_MAX : incx != 1)) {
    Scratch copy(size_t(x_size) * sizeof(T));
    T* xc = copy.as<T>();
    for (int64_t i = 0; i < x_size; ++i) xc[i] = x[i * incx];
    return gemv_any(trans, m, n, alpha, a, lda, xc, 1, beta, y, incy);
  }
  if (beta != T(1))
    for (int64_t i = 0; i < y_size; ++i) y[i * incy] = beta == T(0) ? T(0) : y[i * incy] * beta;
  if (x_size <= 0 || alpha == T(0)) return;
  lda = leading(m, n, lda);
  if (trans && lda > INT_MAX) {
    for (int64_t i = 0; i < y_size; ++i) {
      T sum = 0;
      for (int64_t j = 0; j < x_size; ++j) sum += a[i + j * lda] * x[j * incx];
      y[i * incy] += alpha * sum;
    }
    return;
  }
  // Parts of y of about 128 Ki elements of A; columns in whole cache lines.
  int64_t part = std::max<int64_t>(1, (int64_t(1) << 17) / x_size);
  if (trans) part = std::max<int64_t>(256, (part + 63) / 64 * 64);
  part = std::min({part, y_size, kMaxInner});
  const Blas* lib = trans ? &blas() : nullptr;
  parallel_for(0, (y_size + part - 1) / part, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t from = item * part, count = std::min(part, y_size - from);
      if (!trans) {
        gemv_kernels<T>().rows(count, x_size, alpha, a + from * lda, lda, x, y + from * incy, incy);
        continue;
      }
      for (int64_t p = 0; p < x_size; p += kMaxInner) {
        const int64_t depth = std::min(kMaxInner, x_size - p);
        call_gemv(*lib, true, depth, count, alpha, a + from + p * lda, lda, x + p * incx, incx, T(1), y + from * incy,
                  incy);
      }
    }
  });
}

template <typename T>
T dot_any(int64_t n, const T* x, int64_t incx, const T* y, int64_t incy) {
  if (n <= 0) return T(0);
  const bool dense = incx == 1 && incy == 1;
  auto part_sum = [&](int64_t from, int64_t count) {
    if (dense) return gemv_kernels<T>().dot(count, x + from, y + from);
    T sum = 0;
    for (int64_t i = from; i < from + count; ++i) sum += x[i * incx] * y[i * incy];
    return sum;
  };
  constexpr int64_t kPart = int64_t(1) << 16;
  if (n <= kPart) return part_sum(0, n);
  const int64_t parts = (n + kPart - 1) / kPart;
  Scratch partial(size_t(parts) * sizeof(T));
  T* sums = partial.as<T>();
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) sums[p] = part_sum(p * kPart, std::min(kPart, n - p * kPart));
  });
  T sum = 0;
  for (int64_t p = 0; p < parts; ++p) sum += sums[p];
  return sum;
}

}  // namespace

void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  gemm_any<float>(trans_a, trans_b, 1, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0);
}
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
          const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  gemm_any<double>(trans_a, trans_b, 1, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0);
}

void gemm_batched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k, float alpha,
                  const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb, int64_t stride_b,
                  float beta, float* c, int64_t ldc, int64_t stride_c) {
  gemm_any<float>(trans_a, trans_b, batch, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c);
}
void gemm_batched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k, double alpha,
                  const double* a, int64_t lda, int64_t stride_a, const double* b, int64_t ldb, int64_t stride_b,
                  double beta, double* c, int64_t ldc, int64_t stride_c) {
  gemm_any<double>(trans_a, trans_b, batch, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c);
}

void gemv(bool trans, int64_t m, int64_t n, float alpha, const float* a, int64_t lda, const float* x, int64_t incx,
          float beta, float* y, int64_t incy) {
  gemv_any<float>(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
void gemv(bool trans, int64_t m, int64_t n, double alpha, const double* a, int64_t lda, const double* x, int64_t incx,
          double beta, double* y, int64_t incy) {
  gemv_any<double>(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

float dot(int64_t n, const float* x, int64_t incx, const float* y, int64_t incy) {
  return dot_any<float>(n, x, incx, y, incy);
}
double dot(int64_t n, const double* x, int64_t incx, const double* y, int64_t incy) {
  return dot_any<double>(n, x, incx, y, incy);
}

}  // namespace trt::cpu
