#include "kernels/cpu/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"

namespace trt::cpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t grain_for(int64_t cost) { return cost >= kReduceGrain ? 1 : kReduceGrain / cost; }

template <typename T, typename A>
const ReduceKernel<A>& fold_of(const ReduceKernel<T, A>& k) {
  if constexpr (std::is_same_v<A, int64_t>) {
    if (k.fold == nullptr) return reduce_table<A>().sum;
  }
  return *k.fold;
}

// Columns of a narrow contiguous matrix: several rows side by side make one wide row, so that vectors are full.
template <typename T, typename A>
void reduce_narrow(const ReduceKernel<T, A>& k, const T* x, int64_t rows, int64_t n, T p, A* out) {
  const int64_t beside = std::min(kReduceTile / 2 / n, rows / 8);
  if (n > 64 || beside < 4) return k.cols(x, rows, n, n, p, out);
  A wide[kReduceTile];
  A two[128];
  const ReduceKernel<A>& fold = fold_of(k);
  const int64_t groups = rows / beside, rest = rows - groups * beside;
  k.cols(x, groups, n * beside, n * beside, p, wide);
  if (rest == 0) return fold.cols(wide, beside, n, n, A(p), out);
  fold.cols(wide, beside, n, n, A(p), two);
  k.cols(x + groups * beside * n, rest, n, n, p, two + n);
  fold.cols(two, 2, n, n, A(p), out);
}

template <typename T>
void finish_norm(T* out, int64_t n, double p) {
  if (p == 0 || p == 1 || std::isinf(p)) return;
  parallel_for(0, n, kReduceGrain, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      out[i] = p == 2 ? std::sqrt(out[i]) : std::pow(out[i], static_cast<T>(1) / static_cast<T>(p));
    }
  });
}

void finish_bool(uint8_t* out, int64_t n, bool invert) {
  for (int64_t i = 0; i < n; ++i) out[i] = (out[i] != 0) != invert;
}

}  // namespace

template <typename T, typename A>
void reduce_with(const ReduceKernel<T, A>& k, const T* x, A* out, int64_t outer, int64_t r, int64_t inner, T p) {
  if (outer == 0 || inner == 0) return;
  if (r == 0) {
    std::fill(out, out + outer * inner, k.identity);
    return;
  }
  if (inner == 1 && r <= kReduceChunk) {
    parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) { k.rows(x + b * r, e - b, r, p, out + b); });
    return;
  }
  // Long rows are cut into pieces. Columns are cut into tiles, and down the rows too when there are few columns, so that partial results stay small.
  const int64_t tiles = ceil_div(inner, kReduceTile);
  const int64_t piece_rows = inner == 1 ? kReduceChunk : outer * inner >= kReduceChunk ? r : std::min(r, std::max<int64_t>(128, kReduceChunk / inner));
  const int64_t pieces = ceil_div(r, piece_rows);
  std::unique_ptr<A[]> partial(pieces > 1 ? new A[static_cast<size_t>(outer * pieces * inner)] : nullptr);
  A* to = pieces > 1 ? partial.get() : out;
  parallel_for(0, outer * pieces * tiles, grain_for(piece_rows * std::min(inner, kReduceTile)), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t tile = i % tiles * kReduceTile, piece = i / tiles % pieces, o = i / tiles / pieces;
      const int64_t rows = std::min(piece_rows, r - piece * piece_rows);
      const T* from = x + (o * r + piece * piece_rows) * inner + tile;
      A* dst = to + (o * pieces + piece) * inner + tile;
      if (inner == 1) k.rows(from, 1, rows, p, dst);
      else if (tiles == 1) reduce_narrow(k, from, rows, inner, p, dst);
      else k.cols(from, rows, inner, std::min(kReduceTile, inner - tile), p, dst);
    }
  });
  if (pieces > 1) reduce_with(fold_of(k), partial.get(), out, outer, pieces, inner, A(p));
}

template <typename T>
void reduce_sum(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(reduce_table<T>().sum, x, out, outer, r, inner, T(0));
}
template <typename T>
void reduce_prod(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(reduce_table<T>().prod, x, out, outer, r, inner, T(0));
}
template <typename T>
void reduce_sum_int64(const T* x, int64_t* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(int_reduce_table<T>().sum, x, out, outer, r, inner, T(0));
}

namespace {
template <typename T>
const auto& extremum_table() {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8) return int_reduce_table<T>();
  else return reduce_table<T>();
}
}  // namespace

template <typename T>
void reduce_max(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(extremum_table<T>().max, x, out, outer, r, inner, T(0));
}
template <typename T>
void reduce_min(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(extremum_table<T>().min, x, out, outer, r, inner, T(0));
}
// Rows are read once for both.
template <typename T>
void reduce_minmax(const T* x, T* min, T* max, int64_t outer, int64_t r, int64_t inner) {
  const auto& t = extremum_table<T>();
  if (inner != 1 || r == 0) {
    reduce_with(t.min, x, min, outer, r, inner, T(0));
    return reduce_with(t.max, x, max, outer, r, inner, T(0));
  }
  const int64_t pieces = ceil_div(r, kReduceChunk), n = outer * pieces;
  std::unique_ptr<T[]> partial(pieces > 1 ? new T[static_cast<size_t>(2 * n)] : nullptr);
  T *small = pieces > 1 ? partial.get() : min, *large = pieces > 1 ? partial.get() + n : max;
  parallel_for(0, n, grain_for(std::min(r, kReduceChunk)), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t from = i % pieces * kReduceChunk;
      t.minmax(x + i / pieces * r + from, std::min(kReduceChunk, r - from), small + i, large + i);
    }
  });
  if (pieces == 1) return;
  reduce_with(t.min, small, min, outer, pieces, 1, T(0));
  reduce_with(t.max, large, max, outer, pieces, 1, T(0));
}

template <typename T>
void reduce_norm(const T* x, T* out, double p, int64_t outer, int64_t r, int64_t inner) {
  const ReduceTable<T>& t = reduce_table<T>();
  const ReduceKernel<T>& k = p == 0          ? t.nonzero
                             : p == 1        ? t.abs_sum
                             : p == 2        ? t.square_sum
                             : std::isinf(p) ? (p > 0 ? t.abs_max : t.abs_min)
                                             : t.power_sum;
  reduce_with(k, x, out, outer, r, inner, static_cast<T>(p));
  finish_norm(out, outer * inner, p);
}

void reduce_nonzero(const void* x, DType dtype, int64_t* out, int64_t outer, int64_t r, int64_t inner) {
  const auto count = [&]<typename T>(T bits) { reduce_with(count_table<T>().nonzero, static_cast<const T*>(x), out, outer, r, inner, bits); };
  switch (dtype) {  // the bits that tell a number from zero: all but the sign of a floating-point number
    case DType::Float16:
    case DType::BFloat16: return count(int16_t{0x7fff});
    case DType::Float32: return count(int32_t{0x7fffffff});
    case DType::Float64: return count(std::numeric_limits<int64_t>::max());
    case DType::Int16: return count(int16_t{-1});
    case DType::Int32: return count(int32_t{-1});
    case DType::Int64: return count(int64_t{-1});
    default: return count(uint8_t{255});
  }
}

namespace {
void reduce_logical(bool any, const void* x, DType dtype, uint8_t* out, int64_t outer, int64_t r, int64_t inner) {
  if (element_size(dtype) == 1) {
    reduce_with(any ? bool_table().any_true : bool_table().any_false, static_cast<const uint8_t*>(x), out, outer, r, inner, uint8_t{0});
    return finish_bool(out, outer * inner, !any);
  }
  const int64_t n = outer * inner;
  const std::unique_ptr<int64_t[]> counts(new int64_t[static_cast<size_t>(n)]);
  reduce_nonzero(x, dtype, counts.get(), outer, r, inner);
  for (int64_t i = 0; i < n; ++i) out[i] = any ? counts[static_cast<size_t>(i)] != 0 : counts[static_cast<size_t>(i)] == r;
}
}  // namespace

void reduce_any(const void* x, DType dtype, uint8_t* out, int64_t outer, int64_t r, int64_t inner) { reduce_logical(true, x, dtype, out, outer, r, inner); }
void reduce_all(const void* x, DType dtype, uint8_t* out, int64_t outer, int64_t r, int64_t inner) { reduce_logical(false, x, dtype, out, outer, r, inner); }

template <typename T>
void sum_per_channel(const T* x, T* out, int64_t n, int64_t c, int64_t s) {
  if (c == 0) return;
  if (s == 1) return reduce_sum(x, out, 1, n, c);
  // Short rows are summed over the images first, where the vectors run along [c, s]; long rows the other way round.
  const bool images_first = s < 16;
  std::vector<T> partial(static_cast<size_t>(images_first ? c * s : n * c));
  if (images_first) {
    reduce_sum(x, partial.data(), 1, n, c * s);
    reduce_sum(partial.data(), out, c, s, 1);
  } else {
    reduce_sum(x, partial.data(), n * c, s, 1);
    reduce_sum(partial.data(), out, 1, n, c);
  }
}

#define TRT_EXTREMA(T)                                                   \
  template void reduce_max<T>(const T*, T*, int64_t, int64_t, int64_t);  \
  template void reduce_min<T>(const T*, T*, int64_t, int64_t, int64_t);  \
  template void reduce_minmax<T>(const T*, T*, T*, int64_t, int64_t, int64_t);
#define TRT_REDUCE(T)                                                                                  \
  TRT_EXTREMA(T)                                                                                       \
  template void reduce_with<T, T>(const ReduceKernel<T>&, const T*, T*, int64_t, int64_t, int64_t, T); \
  template void reduce_sum<T>(const T*, T*, int64_t, int64_t, int64_t);                                \
  template void reduce_prod<T>(const T*, T*, int64_t, int64_t, int64_t);                               \
  template void sum_per_channel<T>(const T*, T*, int64_t, int64_t, int64_t);
#define TRT_REDUCE_INT(T) \
  TRT_EXTREMA(T)          \
  template void reduce_sum_int64<T>(const T*, int64_t*, int64_t, int64_t, int64_t);
TRT_REDUCE(float)
TRT_REDUCE(double)
TRT_REDUCE(int64_t)
TRT_REDUCE_INT(uint8_t)
TRT_REDUCE_INT(int8_t)
TRT_REDUCE_INT(int16_t)
TRT_REDUCE_INT(int32_t)
#undef TRT_REDUCE_INT
#undef TRT_REDUCE
#undef TRT_EXTREMA
template void reduce_norm<float>(const float*, float*, double, int64_t, int64_t, int64_t);
template void reduce_norm<double>(const double*, double*, double, int64_t, int64_t, int64_t);

}  // namespace trt::cpu
