// Softmax, log-softmax, logsumexp. A row that fits in the cache is read from memory once: maximum, exponentials and
// their sum, scaling. Longer rows are cut into pieces, whose maxima and sums are merged before a second pass writes the
// result. For inner > 1 the same steps run down tiles of columns, and columns too long for the cache are cut in the
// same way.
#include "kernels/cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "hwy/cache_control.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/softmax_kernels.h"

namespace trt::cpu {
namespace {

// An exponential costs about as much as moving four elements.
int64_t grain_for(int64_t elements) { return std::max<int64_t>(1, kReduceGrain / 4 / std::max<int64_t>(1, elements)); }

int64_t pieces_of(int64_t r) { return (r + kReduceChunk - 1) / kReduceChunk; }

// How the columns of [outer, r, inner] are tiled. A tile of all r rows stays in the cache (256 KiB) between the passes
// and still reads whole stretches of each row; longer columns are cut into pieces of rows too.
struct ColumnPlan {
  ColumnPlan(int64_t outer, int64_t r, int64_t inner, int64_t element_size) : outer(outer), r(r), inner(inner) {
    const int64_t budget = 262144 / element_size, least = std::min<int64_t>(inner, 512 / element_size);
    width = std::min({inner, kReduceTile, std::max(least, budget / r / 16 * 16)});
    piece_rows = r;
    if (r * width > budget) {
      width = std::min(inner, kReduceTile);
      piece_rows = std::min(r, std::max<int64_t>(64, budget / width));
    }
    pieces = (r + piece_rows - 1) / piece_rows;
    tiles = (inner + width - 1) / width;
  }
  int64_t outer, r, inner, width, piece_rows, pieces, tiles;

  // Calls f(offset of the first element, rows, columns, position in an array [outer, pieces, inner]) for every tile.
  template <typename F>
  void for_tiles(const F& f) const {
    parallel_for(0, outer * pieces * tiles, grain_for(piece_rows * width), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const int64_t j = i % tiles * width, piece = i / tiles % pieces, o = i / tiles / pieces;
        f((o * r + piece * piece_rows) * inner + j, std::min(piece_rows, r - piece * piece_rows),
          std::min(width, inner - j), (o * pieces + piece) * inner + j);
      }
    });
  }
  // Where the results for all pieces of the column at a position of [outer, pieces, inner] are in [outer, inner].
  int64_t column(int64_t at) const { return at / (pieces * inner) * inner + at % inner; }
};

// Calls f(piece, offset of its first element, its length) for the pieces of all rows.
template <typename F>
void for_pieces(int64_t outer, int64_t r, const F& f) {
  const int64_t pieces = pieces_of(r);
  parallel_for(0, outer * pieces, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t begin = i % pieces * kReduceChunk;
      f(i, i / pieces * r + begin, std::min(kReduceChunk, r - begin));
    }
  });
}

template <typename T>
struct Stats {
  T max, sum;
};

// One row's maximum m and sum of exp(x - m), from its pieces; the sum is of exp(x) when m is infinite.
template <typename T>
Stats<T> merge_stats(const Stats<T>* piece, int64_t n) {
  T m = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) m = piece[i].max > m || piece[i].max != piece[i].max ? piece[i].max : m;
  const auto shift = [](T v) { return std::isfinite(v) ? static_cast<double>(v) : 0.0; };
  double s = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (piece[i].sum != 0) s += piece[i].sum * std::exp(shift(piece[i].max) - shift(m));
  }
  return {m, static_cast<T>(s)};
}

template <typename T>
std::vector<Stats<T>> long_row_stats(const T* x, int64_t outer, int64_t r) {
  const int64_t pieces = pieces_of(r);
  std::vector<Stats<T>> partial(static_cast<size_t>(outer * pieces)), rows(static_cast<size_t>(outer));
  for_pieces(outer, r, [&](int64_t i, int64_t at, int64_t n) {
    auto& p = partial[static_cast<size_t>(i)];
    softmax_table<T>().row_stats(x + at, n, &p.max, &p.sum);
  });
  for (int64_t o = 0; o < outer; ++o)
    rows[static_cast<size_t>(o)] = merge_stats(&partial[static_cast<size_t>(o * pieces)], pieces);
  return rows;
}

// Maximum and sum of each column, [outer, inner] both, with the meaning of row_stats.
template <typename T>
void column_stats(const T* x, const ColumnPlan& p, T* m, T* s) {
  const SoftmaxTable<T>& t = softmax_table<T>();
  const size_t total = static_cast<size_t>(p.outer * p.pieces * p.inner);
  std::vector<T> pm(total), ps(total);
  p.for_tiles([&](int64_t at, int64_t rows, int64_t n, int64_t to) {
    t.cols_stats(x + at, rows, p.inner, n, &pm[static_cast<size_t>(to)], &ps[static_cast<size_t>(to)]);
  });
  for (int64_t o = 0; o < p.outer; ++o) {
    T* om = &pm[static_cast<size_t>(o * p.pieces * p.inner)];
    T* os = &ps[static_cast<size_t>(o * p.pieces * p.inner)];
    if (p.pieces > 1) t.merge_stats(om, os, p.pieces, p.inner, p.inner);
    std::copy_n(om, p.inner, m + o * p.inner);
    std::copy_n(os, p.inner, s + o * p.inner);
  }
}

// What row_apply and cols_apply take: exp(x - m) of an infinite maximum is NaN, and so must be the whole slice.
template <SoftmaxMode kMode, typename T>
T factor(Stats<T> s) {
  if (!std::isfinite(s.max)) return std::numeric_limits<T>::quiet_NaN();
  return kMode == SoftmaxMode::kLog ? std::log(s.sum) : 1 / s.sum;
}

template <SoftmaxMode kMode, typename T>
void forward_columns(const T* x, T* y, int64_t outer, int64_t r, int64_t inner) {
  const SoftmaxTable<T>& t = softmax_table<T>();
  constexpr int kIndex = static_cast<int>(kMode);
  const ColumnPlan p(outer, r, inner, sizeof(T));
  if (p.pieces == 1) {
    p.for_tiles([&](int64_t at, int64_t rows, int64_t n, int64_t) { t.cols[kIndex](x + at, y + at, rows, inner, n); });
    return;
  }
  std::vector<T> m(static_cast<size_t>(outer * inner)), c(m.size());
  column_stats(x, p, m.data(), c.data());
  for (size_t j = 0; j < m.size(); ++j) c[j] = factor<kMode, T>({m[j], c[j]});
  p.for_tiles([&](int64_t at, int64_t rows, int64_t n, int64_t to) {
    const size_t j = static_cast<size_t>(p.column(to));
    t.cols_apply[kIndex](x + at, y + at, rows, inner, n, &m[j], &c[j]);
  });
}

template <SoftmaxMode kMode, typename T>
void backward_columns(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner) {
  const SoftmaxTable<T>& t = softmax_table<T>();
  constexpr int kIndex = static_cast<int>(kMode);
  const ColumnPlan p(outer, r, inner, sizeof(T));
  if (p.pieces == 1) {
    p.for_tiles([&](int64_t at, int64_t rows, int64_t n, int64_t) {
      T dot[kReduceTile];
      t.cols_dot[kIndex](gy + at, y + at, rows, inner, n, dot);
      t.cols_grad[kIndex](gy + at, y + at, gx + at, rows, inner, n, dot);
    });
    return;
  }
  std::vector<T> partial(static_cast<size_t>(outer * p.pieces * inner)), dots(static_cast<size_t>(outer * inner));
  p.for_tiles([&](int64_t at, int64_t rows, int64_t n, int64_t to) {
    t.cols_dot[kIndex](gy + at, y + at, rows, inner, n, &partial[static_cast<size_t>(to)]);
  });
  reduce_sum(partial.data(), dots.data(), outer, p.pieces, inner);
  p.for_tiles([&](int64_t at, int64_t rows, int64_t n, int64_t to) {
    t.cols_grad[kIndex](gy + at, y + at, gx + at, rows, inner, n, &dots[static_cast<size_t>(p.column(to))]);
  });
}

template <SoftmaxMode kMode, typename T>
void forward(const T* x, T* y, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || r == 0 || inner == 0) return;
  const SoftmaxTable<T>& t = softmax_table<T>();
  constexpr int kIndex = static_cast<int>(kMode);
  if (inner > 1) return forward_columns<kMode>(x, y, outer, r, inner);
  const bool stream = should_stream(y, x, x, outer, r * static_cast<int64_t>(sizeof(T))) && r <= kStreamedRow;
  if (r <= kReduceChunk) {
    parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o) {
        const T* from = x + o * r;
        if (kMode == SoftmaxMode::kSoftmax) {
          t.row(from, y + o * r, r, stream);
        } else {
          Stats<T> s;
          t.row_stats(from, r, &s.max, &s.sum);
          t.row_apply[kIndex](from, y + o * r, r, s.max, factor<kMode>(s), stream);
        }
      }
      if (stream) hwy::FlushStream();
    });
    return;
  }
  const std::vector<Stats<T>> rows = long_row_stats(x, outer, r);
  for_pieces(outer, r, [&](int64_t i, int64_t at, int64_t n) {
    const Stats<T> s = rows[static_cast<size_t>(i / pieces_of(r))];
    t.row_apply[kIndex](x + at, y + at, n, s.max, factor<kMode>(s), false);
  });
}

template <SoftmaxMode kMode, typename T>
void backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || r == 0 || inner == 0) return;
  const SoftmaxTable<T>& t = softmax_table<T>();
  constexpr int kIndex = static_cast<int>(kMode);
  if (inner > 1) return backward_columns<kMode>(gy, y, gx, outer, r, inner);
  const bool stream = should_stream(gx, gy, y, outer, r * static_cast<int64_t>(sizeof(T))) && r <= kStreamedRow;
  if (r <= kReduceChunk) {
    parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) {
      for (int64_t at = b * r; at < e * r; at += r) {
        t.row_grad[kIndex](gy + at, y + at, gx + at, r, t.row_dot[kIndex](gy + at, y + at, r), stream);
      }
      if (stream) hwy::FlushStream();
    });
    return;
  }
  const int64_t pieces = pieces_of(r);
  std::vector<T> partial(static_cast<size_t>(outer * pieces)), dots(static_cast<size_t>(outer));
  for_pieces(outer, r, [&](int64_t i, int64_t at, int64_t n) {
    partial[static_cast<size_t>(i)] = t.row_dot[kIndex](gy + at, y + at, n);
  });
  reduce_sum(partial.data(), dots.data(), outer, pieces, 1);
  for_pieces(outer, r, [&](int64_t i, int64_t at, int64_t n) {
    t.row_grad[kIndex](gy + at, y + at, gx + at, n, dots[static_cast<size_t>(i / pieces)], false);
  });
}

template <typename T>
T log_of(Stats<T> s) {
  return std::log(s.sum) + (std::isinf(s.max) ? T(0) : s.max);
}

}  // namespace

template <typename T>
void softmax_forward(const T* x, T* y, int64_t outer, int64_t r, int64_t inner) {
  forward<SoftmaxMode::kSoftmax>(x, y, outer, r, inner);
}
template <typename T>
void log_softmax_forward(const T* x, T* y, int64_t outer, int64_t r, int64_t inner) {
  forward<SoftmaxMode::kLog>(x, y, outer, r, inner);
}
template <typename T>
void softmax_backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner) {
  backward<SoftmaxMode::kSoftmax>(gy, y, gx, outer, r, inner);
}
template <typename T>
void log_softmax_backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner) {
  backward<SoftmaxMode::kLog>(gy, y, gx, outer, r, inner);
}

template <typename T>
void reduce_logsumexp(const T* x, T* out, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || inner == 0) return;
  const SoftmaxTable<T>& t = softmax_table<T>();
  if (r == 0) {
    std::fill(out, out + outer * inner, -std::numeric_limits<T>::infinity());
  } else if (inner > 1) {
    std::vector<T> m(static_cast<size_t>(outer * inner));
    column_stats(x, ColumnPlan(outer, r, inner, sizeof(T)), m.data(), out);
    for (int64_t i = 0; i < outer * inner; ++i) out[i] = log_of<T>({m[static_cast<size_t>(i)], out[i]});
  } else if (r <= kReduceChunk) {
    parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o) {
        Stats<T> s;
        t.row_stats(x + o * r, r, &s.max, &s.sum);
        out[o] = log_of(s);
      }
    });
  } else {
    const std::vector<Stats<T>> rows = long_row_stats(x, outer, r);
    for (int64_t o = 0; o < outer; ++o) out[o] = log_of(rows[static_cast<size_t>(o)]);
  }
}

#define TRT_SOFTMAX(T)                                                                      \
  template void softmax_forward<T>(const T*, T*, int64_t, int64_t, int64_t);                \
  template void log_softmax_forward<T>(const T*, T*, int64_t, int64_t, int64_t);            \
  template void softmax_backward<T>(const T*, const T*, T*, int64_t, int64_t, int64_t);     \
  template void log_softmax_backward<T>(const T*, const T*, T*, int64_t, int64_t, int64_t); \
  template void reduce_logsumexp<T>(const T*, T*, int64_t, int64_t, int64_t);
TRT_SOFTMAX(float)
TRT_SOFTMAX(double)
#undef TRT_SOFTMAX

}  // namespace trt::cpu
