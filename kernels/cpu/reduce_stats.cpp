// Mean and variance, and the vector kernels of centred sums that batch normalization shares.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/macros.h"
#include "base/parallel.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce_stats.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

// One element's contribution to the two sums.
struct Spread {
  template <class V, class L, typename T>
  static HWY_INLINE void add(V center, L load, const T* x, const T*, V& s1, V& s2) {
    const auto u = hn::Sub(load(x), center);
    s1 = hn::Add(s1, u);
    s2 = hn::MulAdd(u, u, s2);
  }
};
struct Dot {
  template <class V, class L, typename T>
  static HWY_INLINE void add(V center, L load, const T* x, const T* g, V& s1, V& s2) {
    const auto gv = load(g);
    s1 = hn::Add(s1, gv);
    s2 = hn::MulAdd(gv, hn::Sub(load(x), center), s2);
  }
};

// Four pairs of running vectors; a piece of kStatChunk elements gives a lane at most a few hundred terms.
template <class Op, typename T>
void stat_rows(const T* HWY_RESTRICT x, const T* HWY_RESTRICT g, int64_t rows, int64_t stride, int64_t n, T center,
               T* s1, T* s2) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto c = hn::Set(d, center);
  const auto load = [d](const T* p) HWY_ATTR { return hn::LoadU(d, p); };
  V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  for (int64_t row = 0; row < rows; ++row, x += stride, g += stride) {
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      Op::add(c, load, x + i, g + i, a0, b0);
      Op::add(c, load, x + i + lanes, g + i + lanes, a1, b1);
      Op::add(c, load, x + i + 2 * lanes, g + i + 2 * lanes, a2, b2);
      Op::add(c, load, x + i + 3 * lanes, g + i + 3 * lanes, a3, b3);
    }
    for (; i + lanes <= n; i += lanes) Op::add(c, load, x + i, g + i, a0, b0);
    if (const int64_t rest = n - i; rest > 0) {
      // Lanes past the end must contribute nothing: their terms are cleared.
      const auto tail = [d, rest](const T* p) HWY_ATTR { return load_tail(d, p, rest); };
      V ta = hn::Zero(d), tb = ta;
      Op::add(c, tail, x + i, g + i, ta, tb);
      const auto mask = hn::FirstN(d, static_cast<size_t>(rest));
      a1 = hn::Add(a1, hn::IfThenElseZero(mask, ta));
      b1 = hn::Add(b1, hn::IfThenElseZero(mask, tb));
    }
  }
  *s1 = sum_lanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)));
  *s2 = sum_lanes(d, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)));
}

template <class Op, typename T>
void stat_cols(const T* HWY_RESTRICT x, const T* HWY_RESTRICT g, int64_t rows, int64_t stride, int64_t n,
               const T* HWY_RESTRICT center, T* HWY_RESTRICT s1, T* HWY_RESTRICT s2) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kGroup = 8;
  for (int64_t i = 0; i < rows; i += kGroup) {
    const int64_t end = std::min(rows, i + kGroup);
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
      const auto c = load(center + j);
      auto a = hn::Zero(d), b = a;
      for (int64_t k = i; k < end; ++k) Op::add(c, load, x + k * stride + j, g + k * stride + j, a, b);
      store(i == 0 ? a : hn::Add(a, load(s1 + j)), s1 + j);
      store(i == 0 ? b : hn::Add(b, load(s2 + j)), s2 + j);
    });
  }
}

template <typename T>
void merge_cols(int64_t n, double na, double* HWY_RESTRICT mean, double* HWY_RESTRICT m2, double nb,
                const T* HWY_RESTRICT center, const T* HWY_RESTRICT s1, const T* HWY_RESTRICT s2) {
  const double inv_nb = 1 / nb, wb = nb / (na + nb);
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto merge = [&](auto d1, int64_t j) HWY_ATTR {
    const auto load = [d1](const T* p) HWY_ATTR {
      if constexpr (sizeof(T) == 8) {
        return hn::LoadU(d1, p);
      } else {
        return hn::PromoteTo(d1, hn::LoadU(hn::Rebind<float, decltype(d1)>(), p));
      }
    };
    const auto s = load(s1 + j);
    const auto shift = hn::Mul(s, hn::Set(d1, inv_nb));
    const auto spread = hn::NegMulAdd(s, shift, load(s2 + j));
    const auto mean_b = hn::Add(load(center + j), shift);
    const auto mean_a = hn::LoadU(d1, mean + j);
    const auto delta = hn::Sub(mean_b, mean_a);
    hn::StoreU(hn::MulAdd(delta, hn::Set(d1, wb), mean_a), d1, mean + j);
    const auto between = hn::Mul(delta, hn::Mul(delta, hn::Set(d1, na * wb)));  // no overflow where na is 0
    hn::StoreU(hn::Add(hn::Add(hn::LoadU(d1, m2 + j), spread), between), d1, m2 + j);
  };
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) merge(d, j);
  for (; j < n; ++j) merge(hn::CappedTag<double, 1>(), j);
}

template <typename T>
constexpr StatKernels<T> kStats = {stat_rows<Spread, T>, stat_rows<Dot, T>, stat_cols<Spread, T>, stat_cols<Dot, T>, merge_cols<T>};
constexpr Tables<StatKernels, float, double> kAllStats = {kStats<float>, kStats<double>};
const Tables<StatKernels, float, double>* stat_tables() { return &kAllStats; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(stat_tables);

template <typename T>
const StatKernels<T>& stat_kernels() {
  return *HWY_DYNAMIC_DISPATCH(stat_tables)();
}
template const StatKernels<float>& stat_kernels<float>();
template const StatKernels<double>& stat_kernels<double>();

// A mean that overflowed, or of infinities, is no centre: their spread would be NaN.
template <typename T>
static T finite_center(T mean, T element) {
  if (std::isfinite(mean)) return mean;
  return std::isfinite(element) ? element : T(0);
}

// Whether squares added up to a sum that left the range in which they are precise. (Among doubles only the upper end counts: nothing wider is
// there to compute small ones in.)
template <typename T>
static bool out_of_range(T squares) {
  if constexpr (sizeof(T) == 4) return !(squares >= 1e-28f && squares <= std::numeric_limits<float>::max());
  return !(squares <= std::numeric_limits<double>::max());
}

// The same moments in double, one element after another: floats cannot leave its range, and equal doubles of any size have variance 0.
template <typename T>
static Moments wide_moments(const T* x, int64_t rows, int64_t stride, int64_t n, int64_t step) {
  Moments m;
  if constexpr (sizeof(T) == 4) {
    const double center = finite_center(x[0], T(0));
    double s1 = 0, s2 = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double u = static_cast<double>(x[i * stride + j * step]) - center;
        s1 += u;
        s2 += u * u;
      }
    // All equal: nothing was lost.
    if (s2 == 0) return {static_cast<double>(rows * n), center, 0};
    const double count = static_cast<double>(rows) * static_cast<double>(n), mean = center + s1 / count;
    double again1 = 0, again2 = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double u = static_cast<double>(x[i * stride + j * step]) - mean;
        again1 += u;
        again2 += u * u;
      }
    m = Moments::from_spread(count, mean, again1, again2);
  } else {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double v = x[i * stride + j * step], delta = v - m.mean;
        m.n += 1;
        m.mean += delta / m.n;
        m.m2 += delta * (v - m.mean);
      }
  }
  return m;
}

template <typename T>
Moments row_moments(const T* x, int64_t rows, int64_t stride, int64_t n) {
  T sum, s1, s2;
  reduce_table<T>().sum.rows(x, 1, n, T(0), &sum);
  const T center = finite_center(sum / static_cast<T>(n), x[0]);
  stat_kernels<T>().spread_rows(x, x, rows, stride, n, center, &s1, &s2);
  if (TRT_UNLIKELY(out_of_range(s2))) return wide_moments(x, rows, stride, n, 1);
  return Moments::from_spread(static_cast<double>(rows) * static_cast<double>(n), center, s1, s2);
}

template <typename T>
void col_moments(const T* x, int64_t rows, int64_t stride, int64_t n, double* mean, double* m2) {
  const StatKernels<T>& k = stat_kernels<T>();
  T center[kReduceTile], s1[kReduceTile], s2[kReduceTile];
  std::fill(mean, mean + n, 0.0);
  std::fill(m2, m2 + n, 0.0);
  for (int64_t i = 0; i < rows; i += kStatRows) {
    const int64_t some = std::min(kStatRows, rows - i);
    const T* from = x + i * stride;
    const int64_t few = std::min<int64_t>(8, some);
    reduce_table<T>().sum.cols(from, few, stride, n, T(0), center);
    for (int64_t j = 0; j < n; ++j) center[j] = finite_center(center[j] / static_cast<T>(few), from[j]);
    k.spread_cols(from, from, some, stride, n, center, s1, s2);
    bool lost = false;
    for (int64_t j = 0; j < n; ++j) lost |= out_of_range(s2[j]);
    if (TRT_UNLIKELY(lost)) {
      for (int64_t j = 0; j < n; ++j) {
        Moments m{static_cast<double>(i), mean[j], m2[j]};
        m.merge(out_of_range(s2[j]) ? wide_moments(from + j, some, stride, 1, 1)
                                    : Moments::from_spread(static_cast<double>(some), center[j], s1[j], s2[j]));
        mean[j] = m.mean, m2[j] = m.m2;
      }
      continue;
    }
    k.merge_cols(n, static_cast<double>(i), mean, m2, static_cast<double>(some), center, s1, s2);
  }
}

namespace {

template <typename T>
void store_moments(const Moments& m, double correction, bool root, T* var, T* mean) {
  const double divisor = m.n > correction ? m.n - correction : 0, v = m.m2 / divisor;
  // The square of a float's deviation may be no float.
  *var = static_cast<T>(root ? std::sqrt(v) : v);
  if (mean != nullptr) *mean = static_cast<T>(m.mean);
}

}  // namespace

template <typename T>
static void reduce_moments(const T* x, T* var, T* mean, double correction, bool root, int64_t outer, int64_t r, int64_t inner) {
  const int64_t outputs = outer * inner;
  if (r == 0) {
    std::fill(var, var + outputs, std::numeric_limits<T>::quiet_NaN());
    if (mean != nullptr) std::fill(mean, mean + outputs, std::numeric_limits<T>::quiet_NaN());
    return;
  }
  const bool rows = inner == 1;
  const int64_t tile_size = std::min(inner, kReduceTile), tiles = (inner + kReduceTile - 1) / kReduceTile;
  int64_t piece_len = rows ? kStatChunk : r;
  if (!rows && outputs < kReduceChunk) piece_len = std::max(kStatRows, kReduceChunk / inner);
  piece_len = std::min(piece_len, r);
  const int64_t pieces = (r + piece_len - 1) / piece_len;
  const int64_t cost = piece_len * tile_size;
  // Without partial results the moments of one output, or of one tile, live on the stack of its thread.
  std::vector<double> means(static_cast<size_t>(pieces > 1 ? pieces * outputs : 0)), m2s(means.size());
  parallel_for(0, outer * pieces * tiles, cost >= kReduceGrain ? 1 : kReduceGrain / cost, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t tile = i % tiles * kReduceTile, piece = i / tiles % pieces, o = i / tiles / pieces;
      const int64_t len = std::min(piece_len, r - piece * piece_len), n = std::min(kReduceTile, inner - tile);
      const T* from = x + (o * r + piece * piece_len) * inner + tile;
      const int64_t to = (o * pieces + piece) * inner + tile;
      double tile_mean[kReduceTile], tile_m2[kReduceTile];
      double* pm = pieces > 1 ? &means[static_cast<size_t>(to)] : tile_mean;
      double* p2 = pieces > 1 ? &m2s[static_cast<size_t>(to)] : tile_m2;
      if (rows) {
        const Moments m = row_moments(from, 1, 0, len);
        *pm = m.mean, *p2 = m.m2;
      } else {
        col_moments(from, len, inner, n, pm, p2);
      }
      if (pieces > 1) continue;
      for (int64_t j = 0; j < n; ++j) {
        store_moments({static_cast<double>(r), pm[j], p2[j]}, correction, root, var + to + j, mean ? mean + to + j : nullptr);
      }
    }
  });
  if (pieces == 1) return;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      Moments m;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const size_t k = static_cast<size_t>((o * pieces + piece) * inner + j);
        m.merge({static_cast<double>(std::min(piece_len, r - piece * piece_len)), means[k], m2s[k]});
      }
      const int64_t to = o * inner + j;
      store_moments(m, correction, root, var + to, mean ? mean + to : nullptr);
    }
  }
}

template <typename T>
void reduce_var(const T* x, T* var, T* mean, double correction, bool root, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || inner == 0) return;
  reduce_moments(x, var, mean, correction, root, outer, r, inner);
  const int64_t outputs = outer * inner;
  if (mean == nullptr || r == 0 || std::none_of(mean, mean + outputs, [](T m) { return std::isnan(m); })) return;
  // Merged moments of infinities are NaN; their sums are right.
  std::vector<T> sums(static_cast<size_t>(outputs));
  reduce_sum(x, sums.data(), outer, r, inner);
  for (int64_t i = 0; i < outputs; ++i)
    if (std::isnan(mean[i])) mean[i] = sums[static_cast<size_t>(i)] / static_cast<T>(r);
}

#define TRT_STATS(T)                                                                   \
  template Moments row_moments<T>(const T*, int64_t, int64_t, int64_t);                \
  template void col_moments<T>(const T*, int64_t, int64_t, int64_t, double*, double*); \
  template void reduce_var<T>(const T*, T*, T*, double, bool, int64_t, int64_t, int64_t);
TRT_STATS(float)
TRT_STATS(double)
#undef TRT_STATS

}  // namespace trt::cpu
#endif  // HWY_ONCE
