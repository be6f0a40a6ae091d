// Softmax, log-softmax, logsumexp. A row that fits in the cache is read from memory once: maximum, exponentials and their
// sum, scaling. Longer rows are cut into pieces, whose maxima and sums are merged before a second pass writes the result.
// For inner > 1 the same steps run down tiles of columns narrow enough to stay in the cache.
#include "kernels/cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/reduce_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/cpu/simd_inl.h"

#ifndef TRT_KERNELS_CPU_SOFTMAX_ONCE
#define TRT_KERNELS_CPU_SOFTMAX_ONCE
namespace trt::cpu {
enum class SoftmaxMode { kSoftmax, kLog, kStats };

template <typename T>
struct SoftmaxTable {
  // y = softmax(x) over n elements.
  void (*row)(const T* x, T* y, int64_t n);
  // m = max x, s = sum exp(x - m), or sum exp(x) when m is infinite.
  void (*row_stats)(const T* x, int64_t n, T* m, T* s);
  // y = exp(x - m) * c, or y = x - m - c, per SoftmaxMode kSoftmax and kLog.
  void (*row_apply[2])(const T* x, T* y, int64_t n, T m, T c);
  // sum gy * y, or sum gy; then gx = (gy - dot) * y, or gy - exp(y) * dot.
  T (*row_dot[2])(const T* gy, const T* y, int64_t n);
  void (*row_grad[2])(const T* gy, const T* y, T* gx, int64_t n, T dot);
  // Columns j < n <= kReduceTile of r rows. kStats writes the maxima to y[0 .. n) and the sums to y[n .. 2 n).
  void (*cols[3])(const T* x, T* y, int64_t r, int64_t stride, int64_t n);
  void (*cols_grad[2])(const T* gy, const T* y, T* gx, int64_t r, int64_t stride, int64_t n);
};
}  // namespace trt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <typename T>
T row_max(const T* HWY_RESTRICT x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto a0 = lowest, a1 = lowest, a2 = lowest, a3 = lowest;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = hn::Max(a0, hn::LoadU(d, x + i));
    a1 = hn::Max(a1, hn::LoadU(d, x + i + lanes));
    a2 = hn::Max(a2, hn::LoadU(d, x + i + 2 * lanes));
    a3 = hn::Max(a3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = hn::Max(a0, hn::LoadU(d, x + i));
  if (const int64_t rest = n - i; rest > 0) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(rest));
    a1 = hn::Max(a1, hn::IfThenElse(mask, load_tail(d, x + i, rest), lowest));
  }
  // A NaN may or may not be the maximum here: the sum of the exponentials has it in any case.
  return max_lanes(d, hn::Max(hn::Max(a0, a1), hn::Max(a2, a3)));
}

// Sums f(i, load, store) over the vectors of [0, n), in blocks as reduce_row does.
template <class D, class F>
HWY_INLINE hn::TFromD<D> sum_vectors(D d, int64_t n, const F& f) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kBlock = 2048;
  const auto load = [d](const T* p) HWY_ATTR { return hn::LoadU(d, p); };
  const auto store = [d](V v, T* p) HWY_ATTR { hn::StoreU(v, d, p); };
  V total = hn::Zero(d);
  int64_t i = 0;
  while (n - i >= 4 * lanes) {
    const int64_t end = i + std::min(kBlock, (n - i) / (4 * lanes) * (4 * lanes));
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
    for (; i < end; i += 4 * lanes) {
      a0 = hn::Add(a0, f(i, load, store));
      a1 = hn::Add(a1, f(i + lanes, load, store));
      a2 = hn::Add(a2, f(i + 2 * lanes, load, store));
      a3 = hn::Add(a3, f(i + 3 * lanes, load, store));
    }
    total = hn::Add(total, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)));
  }
  for (; i + lanes <= n; i += lanes) total = hn::Add(total, f(i, load, store));
  if (const int64_t rest = n - i; rest > 0) {
    const auto tail = f(
        i, [d, rest](const T* p) HWY_ATTR { return load_tail(d, p, rest); },
        [d, rest](V v, T* p) HWY_ATTR { store_tail(d, v, p, rest); });
    total = hn::Add(total, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(rest)), tail));
  }
  return sum_lanes(d, total);
}

template <typename T>
void softmax_row(const T* x, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, row_max(x, n));
  const T s = sum_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto e = exp_vec<true>(d, hn::Sub(load(x + i), m));
    store(e, y + i);
    return e;
  });
  const auto scale = hn::Set(d, T(1) / s);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR { store(hn::Mul(load(y + i), scale), y + i); });
}

template <typename T>
void softmax_row_stats(const T* HWY_RESTRICT x, int64_t n, T* m, T* s) {
  const hn::ScalableTag<T> d;
  *m = row_max(x, n);
  const auto shift = hn::Set(d, *m - *m == 0 ? *m : T(0));
  *s = sum_vectors(d, n, [&](int64_t i, auto load, auto) HWY_ATTR {
    return exp_vec<false>(d, hn::Sub(load(x + i), shift));
  });
}

template <SoftmaxMode kMode, typename T>
void softmax_row_apply(const T* x, T* y, int64_t n, T m, T c) {
  const hn::ScalableTag<T> d;
  const auto vm = hn::Set(d, m), vc = hn::Set(d, c);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto u = hn::Sub(load(x + i), vm);
    if constexpr (kMode == SoftmaxMode::kLog) {
      store(hn::Sub(u, vc), y + i);
    } else {
      store(hn::Mul(exp_vec<true>(d, u), vc), y + i);
    }
  });
}

template <SoftmaxMode kMode, typename T>
T softmax_row_dot(const T* gy, const T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  return sum_vectors(d, n, [&](int64_t i, auto load, auto) HWY_ATTR {
    const auto g = load(gy + i);
    if constexpr (kMode == SoftmaxMode::kLog) {
      return g;
    } else {
      return hn::Mul(g, load(y + i));
    }
  });
}

template <SoftmaxMode kMode, class D, class V>
HWY_INLINE V softmax_grad(D d, V g, V y, V dot) {
  if constexpr (kMode == SoftmaxMode::kLog) {
    return hn::NegMulAdd(exp_vec<true>(d, y), dot, g);
  } else {
    return hn::Mul(hn::Sub(g, dot), y);
  }
}

template <SoftmaxMode kMode, typename T>
void softmax_row_grad(const T* gy, const T* y, T* gx, int64_t n, T dot) {
  const hn::ScalableTag<T> d;
  const auto vdot = hn::Set(d, dot);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    store(softmax_grad<kMode>(d, load(gy + i), load(y + i), vdot), gx + i);
  });
}

// Walks rows in groups of 8, calling f(first, end, j, load, store) for each vector of columns in a group.
template <class D, class F>
HWY_INLINE void for_row_groups(D d, int64_t r, int64_t n, const F& f) {
  for (int64_t i = 0; i < r; i += 8) {
    const int64_t end = std::min(r, i + 8);
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR { f(i, end, j, load, store); });
  }
}

template <SoftmaxMode kMode, typename T>
void softmax_cols(const T* x, T* y, int64_t r, int64_t stride, int64_t n) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T m[kReduceTile];
  HWY_ALIGN T s[kReduceTile];
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    auto v = load(x + i * stride + j);
    for (int64_t k = i + 1; k < end; ++k) v = hn::Max(v, load(x + k * stride + j));
    store(i == 0 ? v : hn::Max(v, load(m + j)), m + j);
  });
  if constexpr (kMode == SoftmaxMode::kStats) {
    for (int64_t j = 0; j < n; ++j) {
      y[j] = m[j];
      if (!(m[j] - m[j] == 0)) m[j] = 0;
    }
  }
  constexpr bool kNonPositive = kMode != SoftmaxMode::kStats;
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    const auto shift = load(m + j);
    auto sum = hn::Zero(d);
    for (int64_t k = i; k < end; ++k) {
      const auto e = exp_vec<kNonPositive>(d, hn::Sub(load(x + k * stride + j), shift));
      if constexpr (kMode == SoftmaxMode::kSoftmax) store(e, y + k * stride + j);
      sum = hn::Add(sum, e);
    }
    store(i == 0 ? sum : hn::Add(sum, load(s + j)), s + j);
  });
  if constexpr (kMode == SoftmaxMode::kStats) {
    std::memcpy(y + n, s, static_cast<size_t>(n) * sizeof(T));
  } else {
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
      const auto v = load(s + j);
      if constexpr (kMode == SoftmaxMode::kLog) {
        store(hn::IfThenElse(hn::Eq(v, v), hn::Log(d, v), v), s + j);
      } else {
        store(hn::Div(hn::Set(d, T(1)), v), s + j);
      }
    });
    for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
      const auto c = load(s + j);
      const auto shift = load(m + j);
      for (int64_t k = i; k < end; ++k) {
        const int64_t at = k * stride + j;
        if constexpr (kMode == SoftmaxMode::kLog) {
          store(hn::Sub(hn::Sub(load(x + at), shift), c), y + at);
        } else {
          store(hn::Mul(load(y + at), c), y + at);
        }
      }
    });
  }
}

template <SoftmaxMode kMode, typename T>
void softmax_cols_grad(const T* gy, const T* y, T* gx, int64_t r, int64_t stride, int64_t n) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T dot[kReduceTile];
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t k = i; k < end; ++k) {
      const auto g = load(gy + k * stride + j);
      if constexpr (kMode == SoftmaxMode::kLog) {
        sum = hn::Add(sum, g);
      } else {
        sum = hn::MulAdd(g, load(y + k * stride + j), sum);
      }
    }
    store(i == 0 ? sum : hn::Add(sum, load(dot + j)), dot + j);
  });
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    const auto vdot = load(dot + j);
    for (int64_t k = i; k < end; ++k) {
      const int64_t at = k * stride + j;
      store(softmax_grad<kMode>(d, load(gy + at), load(y + at), vdot), gx + at);
    }
  });
}

template <typename T>
const void* make_softmax() {
  constexpr auto kSoft = SoftmaxMode::kSoftmax, kLog = SoftmaxMode::kLog;
  static const SoftmaxTable<T> t = {
      softmax_row<T>,
      softmax_row_stats<T>,
      {softmax_row_apply<kSoft, T>, softmax_row_apply<kLog, T>},
      {softmax_row_dot<kSoft, T>, softmax_row_dot<kLog, T>},
      {softmax_row_grad<kSoft, T>, softmax_row_grad<kLog, T>},
      {softmax_cols<kSoft, T>, softmax_cols<kLog, T>, softmax_cols<SoftmaxMode::kStats, T>},
      {softmax_cols_grad<kSoft, T>, softmax_cols_grad<kLog, T>},
  };
  return &t;
}
const void* float_softmax() { return make_softmax<float>(); }
const void* double_softmax() { return make_softmax<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(float_softmax);
HWY_EXPORT(double_softmax);

namespace {

template <typename T>
const SoftmaxTable<T>& table();
template <>
const SoftmaxTable<float>& table() {
  return *static_cast<const SoftmaxTable<float>*>(HWY_DYNAMIC_DISPATCH(float_softmax)());
}
template <>
const SoftmaxTable<double>& table() {
  return *static_cast<const SoftmaxTable<double>*>(HWY_DYNAMIC_DISPATCH(double_softmax)());
}

// An exponential costs about as much as moving four elements.
int64_t grain_for(int64_t elements) { return std::max<int64_t>(1, kReduceGrain / 4 / std::max<int64_t>(1, elements)); }

int64_t pieces_of(int64_t r) { return (r + kReduceChunk - 1) / kReduceChunk; }

// Columns per tile: the tile of all three passes stays within 256 KiB, but rows are read by whole cache lines.
template <typename T>
int64_t tile_width(int64_t r, int64_t inner) {
  constexpr int64_t kElements = 262144 / sizeof(T), kLine = 128 / sizeof(T);
  const int64_t w = kElements / std::max<int64_t>(1, r) / kLine * kLine;
  return std::min(inner, std::clamp(w, kLine, kReduceTile));
}

// Calls f(offset of the tile's first element, width) for every tile of columns.
template <typename T, typename F>
void for_tiles(int64_t outer, int64_t r, int64_t inner, const F& f) {
  const int64_t width = tile_width<T>(r, inner), tiles = (inner + width - 1) / width;
  parallel_for(0, outer * tiles, grain_for(r * width), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t j = i % tiles * width;
      f(i / tiles * r * inner + j, std::min(width, inner - j));
    }
  });
}

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
    table<T>().row_stats(x + at, n, &p.max, &p.sum);
  });
  for (int64_t o = 0; o < outer; ++o) rows[static_cast<size_t>(o)] = merge_stats(&partial[static_cast<size_t>(o * pieces)], pieces);
  return rows;
}

template <SoftmaxMode kMode, typename T>
void forward(const T* x, T* y, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || r == 0 || inner == 0) return;
  const SoftmaxTable<T>& t = table<T>();
  constexpr int kIndex = static_cast<int>(kMode);
  if (inner > 1) {
    for_tiles<T>(outer, r, inner, [&](int64_t at, int64_t n) { t.cols[kIndex](x + at, y + at, r, inner, n); });
    return;
  }
  // exp(x - m) of an infinite maximum is NaN, and so must be the whole row.
  const auto factor = [](Stats<T> s) {
    if (!std::isfinite(s.max)) return std::numeric_limits<T>::quiet_NaN();
    return kMode == SoftmaxMode::kLog ? std::log(s.sum) : 1 / s.sum;
  };
  if (r <= kReduceChunk) {
    parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o) {
        const T* from = x + o * r;
        if (kMode == SoftmaxMode::kSoftmax) {
          t.row(from, y + o * r, r);
        } else {
          Stats<T> s;
          t.row_stats(from, r, &s.max, &s.sum);
          t.row_apply[kIndex](from, y + o * r, r, s.max, factor(s));
        }
      }
    });
    return;
  }
  const std::vector<Stats<T>> rows = long_row_stats(x, outer, r);
  for_pieces(outer, r, [&](int64_t i, int64_t at, int64_t n) {
    const Stats<T> s = rows[static_cast<size_t>(i / pieces_of(r))];
    t.row_apply[kIndex](x + at, y + at, n, s.max, factor(s));
  });
}

template <SoftmaxMode kMode, typename T>
void backward(const T* gy, const T* y, T* gx, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || r == 0 || inner == 0) return;
  const SoftmaxTable<T>& t = table<T>();
  constexpr int kIndex = static_cast<int>(kMode);
  if (inner > 1) {
    for_tiles<T>(outer, r, inner,
                 [&](int64_t at, int64_t n) { t.cols_grad[kIndex](gy + at, y + at, gx + at, r, inner, n); });
    return;
  }
  if (r <= kReduceChunk) {
    parallel_for(0, outer, grain_for(r), [&](int64_t b, int64_t e) {
      for (int64_t at = b * r; at < e * r; at += r) {
        t.row_grad[kIndex](gy + at, y + at, gx + at, r, t.row_dot[kIndex](gy + at, y + at, r));
      }
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
    t.row_grad[kIndex](gy + at, y + at, gx + at, n, dots[static_cast<size_t>(i / pieces)]);
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
  const SoftmaxTable<T>& t = table<T>();
  if (r == 0) {
    std::fill(out, out + outer * inner, -std::numeric_limits<T>::infinity());
  } else if (inner > 1) {
    for_tiles<T>(outer, r, inner, [&](int64_t at, int64_t n) {
      T stats[2 * kReduceTile];
      t.cols[static_cast<int>(SoftmaxMode::kStats)](x + at, stats, r, inner, n);
      T* to = out + at / (r * inner) * inner + at % (r * inner);
      for (int64_t j = 0; j < n; ++j) to[j] = log_of<T>({stats[j], stats[n + j]});
    });
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

#define TRT_SOFTMAX(T)                                                                           \
  template void softmax_forward<T>(const T*, T*, int64_t, int64_t, int64_t);                     \
  template void log_softmax_forward<T>(const T*, T*, int64_t, int64_t, int64_t);                 \
  template void softmax_backward<T>(const T*, const T*, T*, int64_t, int64_t, int64_t);          \
  template void log_softmax_backward<T>(const T*, const T*, T*, int64_t, int64_t, int64_t);      \
  template void reduce_logsumexp<T>(const T*, T*, int64_t, int64_t, int64_t);
TRT_SOFTMAX(float)
TRT_SOFTMAX(double)
#undef TRT_SOFTMAX

}  // namespace trt::cpu
#endif  // HWY_ONCE
