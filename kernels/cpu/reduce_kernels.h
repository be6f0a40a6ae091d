// Private to the reductions and normalizations: the vector kernels of the processor at hand, as tables of function
// pointers, and how work is cut into pieces.
//
// Note [Pieces of a reduction]
// A long reduction is cut into pieces whose bounds follow from the extents alone (see Note [Deterministic
// parallelism]); partial results are reduced again by the same driver. Kernels are serial and never allocate.
#pragma once

#include <cstdint>

namespace trt::cpu {

constexpr int64_t kReduceChunk = 32768;  // elements in a piece of a contiguous reduction
constexpr int64_t kReduceGrain = 32768;  // elements that are worth waking another thread
constexpr int64_t kReduceTile = 1024;    // columns that a column kernel may be given at once
constexpr int64_t kStatChunk = 8192;     // elements of a contiguous piece whose mean and deviation are found at once
constexpr int64_t kStatRows = 128;       // the same for rows of columns

// Whether to write an output of `rows` rows past the caches: it is larger than the share of the last-level cache that a
// process may hope for, is none of the inputs, and consists of whole aligned cache lines.
inline bool should_stream(const void* out, const void* in1, const void* in2, int64_t rows, int64_t row_bytes) {
  constexpr int64_t kStreamBytes = int64_t{16} << 20;
  return out != in1 && out != in2 && row_bytes % 64 == 0 && reinterpret_cast<uintptr_t>(out) % 64 == 0 &&
         rows * row_bytes >= kStreamBytes;
}

template <typename T, typename A = T>
struct ReduceKernel {
  // out[i] = reduction of x[i * r .. (i + 1) * r), i in [0, outer), r > 0. p is the exponent of a norm.
  void (*rows)(const T* x, int64_t outer, int64_t r, T p, A* out);
  // out[j] = reduction of x[i * stride + j] over i in [0, rows), rows > 0, j in [0, n), n <= kReduceTile.
  void (*cols)(const T* x, int64_t rows, int64_t stride, int64_t n, T p, A* out);
  A identity;
  const ReduceKernel<A>* fold;  // combines partial results; null: by their sum
};

template <typename T>
struct ReduceTable {
  ReduceKernel<T> sum, prod, max, min;
  ReduceKernel<T> nonzero, abs_sum, square_sum, power_sum, abs_max, abs_min;  // floating point only
  void (*minmax)(const T* x, int64_t n, T* min, T* max);                      // of n > 0 elements
};

// The table for the instruction set of this processor; T is float, double, int64_t.
template <typename T>
const ReduceTable<T>& reduce_table();

// Of small integers. Sums are those of int64.
template <typename T>
struct IntReduceTable {
  ReduceKernel<T> max, min;
  ReduceKernel<T, int64_t> sum;
  void (*minmax)(const T* x, int64_t n, T* min, T* max);
};
template <typename T>
const IntReduceTable<T>& int_reduce_table();  // uint8_t, int8_t, int16_t, int32_t

// How many elements have other bits than 0 among those of p. The type stands for its size.
template <typename T>
struct CountTable {
  ReduceKernel<T, int64_t> nonzero;
};
template <typename T>
const CountTable<T>& count_table();  // uint8_t, int16_t, int32_t, int64_t

// Bytes: out = 0 or not 0.
struct BoolTable {
  ReduceKernel<uint8_t> any_true;   // some byte is not 0
  ReduceKernel<uint8_t> any_false;  // some byte is 0
};
const BoolTable& bool_table();

// Reduces [outer, r, inner] to [outer, inner], in parallel. The extents may be 0.
template <typename T, typename A>
void reduce_with(const ReduceKernel<T, A>& k, const T* x, A* out, int64_t outer, int64_t r, int64_t inner, T p);

// Two sums over one or two arrays: with u = x - center,
//   spread: s1 = sum u, s2 = sum u * u;   dot: s1 = sum g, s2 = sum g * u.
template <typename T>
struct StatKernels {
  // Over rows [i, n) at x + i * stride, one center; results are sums over all rows.
  using Rows = void (*)(const T* x, const T* g, int64_t rows, int64_t stride, int64_t n, T center, T* s1, T* s2);
  // Over i for each column j < n <= kReduceTile, rows <= kStatRows for full accuracy.
  using Cols = void (*)(const T* x, const T* g, int64_t rows, int64_t stride, int64_t n, const T* center, T* s1, T* s2);
  // Merges the statistics of nb further elements, given as spread sums around `center`, into those of na elements.
  using Merge = void (*)(int64_t n, double na, double* mean, double* m2, double nb, const T* center, const T* s1,
                         const T* s2);
  Rows spread_rows, dot_rows;
  Cols spread_cols, dot_cols;
  Merge merge_cols;
};

template <typename T>
const StatKernels<T>& stat_kernels();  // float, double

// Count, mean and sum of squared deviations of a set of numbers.
struct Moments {
  double n = 0, mean = 0, m2 = 0;

  // The moments of n numbers from their spread sums around a center.
  static Moments from_spread(double n, double center, double s1, double s2) {
    const double m2 = s2 - s1 * (s1 / n);
    return {n, center + s1 / n, m2 < 0 ? 0 : m2};
  }
  void merge(const Moments& b) {
    if (b.n == 0) return;
    if (n == 0) {
      *this = b;
      return;
    }
    const double total = n + b.n, delta = b.mean - mean, wb = b.n / total;
    mean += delta * wb;
    m2 += b.m2 + delta * delta * n * wb;
    n = total;
  }
};

// The moments of `rows` rows of n elements each, centred on the mean of the first row. Some of the numbers lie around
// that centre, so it is at most sqrt(rows) deviations off, and centring loses at most a factor `rows` of the precision.
template <typename T>
Moments row_moments(const T* x, int64_t rows, int64_t stride, int64_t n);

// The moments of each column j < n <= kReduceTile over any number of rows, centred in every block of kStatRows on the
// mean of the block's first 8 rows.
template <typename T>
void col_moments(const T* x, int64_t rows, int64_t stride, int64_t n, double* mean, double* m2);

}  // namespace trt::cpu
