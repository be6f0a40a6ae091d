#include "kernels/cpu/reduce.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"

namespace trt::cpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t grain_for(int64_t cost) { return cost >= kReduceGrain ? 1 : kReduceGrain / cost; }

// Columns of a narrow contiguous matrix: several rows side by side make one wide row, so that vectors are full.
template <typename T>
void reduce_narrow(const ReduceKernel<T>& k, const T* x, int64_t rows, int64_t n, T p, T* out) {
  const int64_t beside = std::min(kReduceTile / 2 / n, rows / 8);
  if (n > 64 || beside < 4) return k.cols(x, rows, n, n, p, out);
  T wide[kReduceTile];
  T two[128];
  const int64_t groups = rows / beside, rest = rows - groups * beside;
  k.cols(x, groups, n * beside, n * beside, p, wide);
  if (rest == 0) return k.fold->cols(wide, beside, n, n, p, out);
  k.fold->cols(wide, beside, n, n, p, two);
  k.cols(x + groups * beside * n, rest, n, n, p, two + n);
  k.fold->cols(two, 2, n, n, p, out);
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

template <typename T>
void reduce_with(const ReduceKernel<T>& k, const T* x, T* out, int64_t outer, int64_t r, int64_t inner, T p) {
  if (outer == 0 || inner == 0) return;
  if (r == 0) {
    std::fill(out, out + outer * inner, k.identity);
    return;
  }
  if (inner == 1) {
    if (r <= kReduceChunk) {
      parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) { k.rows(x + b * r, e - b, r, p, out + b); });
      return;
    }
    const int64_t pieces = ceil_div(r, kReduceChunk);
    std::unique_ptr<T[]> partial(new T[static_cast<size_t>(outer * pieces)]);
    parallel_for(0, outer * pieces, 1, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const int64_t begin = i % pieces * kReduceChunk;
        k.rows(x + i / pieces * r + begin, 1, std::min(kReduceChunk, r - begin), p, &partial[i]);
      }
    });
    reduce_with(*k.fold, partial.get(), out, outer, pieces, 1, p);
    return;
  }
  // Columns: cut into tiles, and down the rows too when there are few columns, so that partial results stay small.
  const int64_t tiles = ceil_div(inner, kReduceTile);
  const int64_t piece_rows =
      outer * inner >= kReduceChunk ? r : std::min(r, std::max<int64_t>(128, kReduceChunk / inner));
  const int64_t pieces = ceil_div(r, piece_rows);
  std::unique_ptr<T[]> partial(pieces > 1 ? new T[static_cast<size_t>(outer * pieces * inner)] : nullptr);
  T* to = pieces > 1 ? partial.get() : out;
  parallel_for(0, outer * pieces * tiles, grain_for(piece_rows * std::min(inner, kReduceTile)),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b; i < e; ++i) {
                   const int64_t tile = i % tiles * kReduceTile, piece = i / tiles % pieces, o = i / tiles / pieces;
                   const int64_t rows = std::min(piece_rows, r - piece * piece_rows);
                   const T* from = x + (o * r + piece * piece_rows) * inner + tile;
                   T* dst = to + (o * pieces + piece) * inner + tile;
                   if (tiles == 1) {
                     reduce_narrow(k, from, rows, inner, p, dst);
                   } else {
                     k.cols(from, rows, inner, std::min(kReduceTile, inner - tile), p, dst);
                   }
                 }
               });
  if (pieces > 1) reduce_with(*k.fold, partial.get(), out, outer, pieces, inner, p);
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
void reduce_max(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(reduce_table<T>().max, x, out, outer, r, inner, T(0));
}
template <typename T>
void reduce_min(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(reduce_table<T>().min, x, out, outer, r, inner, T(0));
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

void reduce_any(const uint8_t* x, uint8_t* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(bool_table().any_true, x, out, outer, r, inner, uint8_t{0});
  finish_bool(out, outer * inner, false);
}
void reduce_all(const uint8_t* x, uint8_t* out, int64_t outer, int64_t r, int64_t inner) {
  reduce_with(bool_table().any_false, x, out, outer, r, inner, uint8_t{0});
  finish_bool(out, outer * inner, true);
}

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

#define TRT_REDUCE(T)                                                                               \
  template void reduce_with<T>(const ReduceKernel<T>&, const T*, T*, int64_t, int64_t, int64_t, T); \
  template void reduce_sum<T>(const T*, T*, int64_t, int64_t, int64_t);                             \
  template void reduce_prod<T>(const T*, T*, int64_t, int64_t, int64_t);                            \
  template void reduce_max<T>(const T*, T*, int64_t, int64_t, int64_t);                             \
  template void reduce_min<T>(const T*, T*, int64_t, int64_t, int64_t);                             \
  template void sum_per_channel<T>(const T*, T*, int64_t, int64_t, int64_t);
TRT_REDUCE(float)
TRT_REDUCE(double)
TRT_REDUCE(int64_t)
#undef TRT_REDUCE
template void reduce_norm<float>(const float*, float*, double, int64_t, int64_t, int64_t);
template void reduce_norm<double>(const double*, double*, double, int64_t, int64_t, int64_t);

}  // namespace trt::cpu
