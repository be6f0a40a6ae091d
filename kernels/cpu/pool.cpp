// Pooling (pool.h). Output rows are independent; within a row the columns whose whole window lies inside the plane are
// computed in vectors when the stride is 1 or 2, the others one by one.
#include "kernels/cpu/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"
//
#include "hwy/highway.h"

#ifndef TRT_KERNELS_CPU_POOL_ONCE
#define TRT_KERNELS_CPU_POOL_ONCE
namespace trt::cpu {
namespace {

// The taps of one output row that lie inside the plane, and where the first of them is.
struct Taps {
  int64_t first;  // input row of the first tap
  int64_t count;
};

inline Taps row_taps(const Pool2d& p, int64_t row) {
  const int64_t start = row * p.sh - p.ph;
  const int64_t skip = start < 0 ? (-start + p.dh - 1) / p.dh : 0;
  const int64_t first = start + skip * p.dh;
  const int64_t inside = first < p.ih ? (p.ih - 1 - first) / p.dh + 1 : 0;
  return {first, std::min(p.kh - skip, inside)};
}

// Columns [lo, hi) of the output have all kw taps inside the plane.
inline void inner_columns(const Pool2d& p, int64_t* lo, int64_t* hi) {
  *lo = std::min((p.pw + p.sw - 1) / p.sw, p.ow);
  const int64_t room = p.iw - 1 - (p.kw - 1) * p.dw + p.pw;
  *hi = room < 0 ? *lo : std::clamp(room / p.sw + 1, *lo, p.ow);
}

template <typename T>
struct PoolKernels {
  // Output rows [r0, r1), counted over all planes.
  void (*max_rows)(const T* x, T* y, int64_t* indices, const Pool2d& p, int64_t r0, int64_t r1);
  void (*avg_rows)(const T* x, T* y, const Pool2d& p, bool include_pad, int64_t divisor, int64_t r0, int64_t r1);
  // Gradients of windows of 2 by 2 with stride 2 and no padding, planes [p0, p1).
  void (*max_grad_2x2)(const T* gy, const int64_t* indices, T* gx, const Pool2d& p, int64_t p0, int64_t p1);
  void (*avg_grad_2x2)(const T* gy, T* gx, const Pool2d& p, T divisor, int64_t p0, int64_t p1);
  T (*sum)(const T* x, int64_t n);
};

}  // namespace
}  // namespace trt::cpu
#endif  // TRT_KERNELS_CPU_POOL_ONCE

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of small images are short: vectors of 8, then of 4 lanes; the last vector of a run overlaps its predecessor.
constexpr bool kSimd = HWY_TARGET != HWY_SCALAR;
template <typename T>
using Wide = hn::CappedTag<T, sizeof(T) == 4 ? 8 : 4>;
template <typename T>
using Narrow = hn::CappedTag<T, 4>;

// Calls f(d, c) for vectors that cover the columns [lo, hi); false if the run is too short for one.
template <typename T, typename F>
HWY_INLINE bool for_vectors(int64_t lo, int64_t hi, const F& f) {
  const auto run = [&](auto d) HWY_ATTR {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    if (hi - lo < lanes) return false;
    int64_t c = lo;
    for (; c + lanes < hi; c += lanes) f(d, c);
    f(d, hi - lanes);
    return true;
  };
  if (run(Wide<T>())) return true;
  if constexpr (sizeof(T) == 4) return run(Narrow<T>());
  return false;
}

// Calls f(tap, v) for the taps of one input row in order, v the values of that tap for consecutive output columns.
// With stride 2 a pair of taps comes from one pair of loads; a last odd tap is read as the upper half of a pair whose
// lower half is the tap before it, so that nothing outside the windows is touched (kw >= 2).
template <int kStride, typename D, typename T, typename F>
HWY_INLINE void for_taps(D d, const T* x, int64_t kw, int64_t dw, const F& f) {
  if constexpr (kStride == 1) {
    for (int64_t t = 0; t < kw; ++t) f(t, hn::LoadU(d, x + t * dw));
  } else {
    hn::VFromD<D> even, odd;
    int64_t t = 0;
    for (; t + 2 <= kw; t += 2) {
      hn::LoadInterleaved2(d, x + t, even, odd);
      f(t, even);
      f(t + 1, odd);
    }
    if (t < kw) {
      hn::LoadInterleaved2(d, x + t - 1, even, odd);
      f(t, odd);
    }
  }
}

// Lanes of 32-bit positions, stored as int64.
template <typename D, typename V>
HWY_INLINE void store_indices(D di, V v, int64_t* to) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::StoreU(v, di, to);
  } else if constexpr (hn::MaxLanes(D()) * 8 <= HWY_MAX_BYTES) {
    const hn::Rebind<int64_t, D> d64;
    hn::StoreU(hn::PromoteTo(d64, v), d64, to);
  } else {
    // Positions are not negative: the upper halves are zero. (Little endian.)
    hn::StoreInterleaved2(v, hn::Zero(di), di, reinterpret_cast<int32_t*>(to));
  }
}

// The maxima of the columns [c, c + lanes) of one row. x points to the first tap row, `base` is its position.
template <int kStride, bool kIndices, typename D, typename T>
HWY_INLINE void max_vector(D d, const T* x, T* y, int64_t* indices, const Pool2d& p, int64_t rows, int64_t base,
                           int64_t c) {
  const hn::RebindToSigned<D> di;
  using I = hn::TFromD<decltype(di)>;
  const int64_t col = c * kStride - p.pw;
  auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto at = hn::Set(di, static_cast<I>(base + col));
  if constexpr (kIndices) at = hn::Add(at, hn::BitCast(di, hn::ShiftLeft<kStride - 1>(hn::Iota(di, 0))));
  const auto first = at;
  for (int64_t r = 0; r < rows; ++r) {
    for_taps<kStride>(d, x + r * p.dh * p.iw + col, p.kw, p.dw, [&](int64_t t, auto v) HWY_ATTR {
      const auto take = hn::Or(hn::Gt(v, best), hn::IsNaN(v));
      best = hn::IfThenElse(take, v, best);
      if constexpr (kIndices) {
        const auto here = hn::Add(first, hn::Set(di, static_cast<I>(r * p.dh * p.iw + t * p.dw)));
        at = hn::IfThenElse(hn::RebindMask(di, take), here, at);
      }
    });
  }
  hn::StoreU(best, d, y + c);
  if constexpr (kIndices) store_indices(di, at, indices + c);
}

template <int kStride, bool kIndices, typename T>
HWY_INLINE bool max_run(const T* x, T* y, int64_t* indices, const Pool2d& p, int64_t rows, int64_t base, int64_t lo,
                        int64_t hi) {
  return for_vectors<T>(lo, hi, [&](auto d, int64_t c) HWY_ATTR {
    if (kStride == 2 && p.kw == 2 && rows == 2) {  // the common case, with its loops unrolled
      Pool2d q = p;
      q.kw = 2;
      max_vector<kStride, kIndices>(d, x, y, indices, q, 2, base, c);
    } else {
      max_vector<kStride, kIndices>(d, x, y, indices, p, rows, base, c);
    }
  });
}

template <bool kIndices, typename T>
void max_rows_impl(const T* x, T* y, int64_t* indices, const Pool2d& p, int64_t r0, int64_t r1) {
  int64_t lo, hi;
  inner_columns(p, &lo, &hi);
  const int mode = !kSimd || p.ih * p.iw > std::numeric_limits<int32_t>::max() ? 0
                   : p.sw == 1                                                 ? 1
                   : p.sw == 2 && p.dw == 1 && p.kw >= 2                       ? 2
                                                                               : 0;
  for (int64_t r = r0; r < r1; ++r) {
    const int64_t plane = r / p.oh;
    const Taps taps = row_taps(p, r - plane * p.oh);
    const int64_t base = taps.first * p.iw;
    const T* xr = x + plane * p.ih * p.iw + base;
    T* yr = y + r * p.ow;
    int64_t* ir = kIndices ? indices + r * p.ow : nullptr;
    const auto scalar = [&](int64_t c0, int64_t c1) {
      for (int64_t c = c0; c < c1; ++c) {
        const int64_t start = c * p.sw - p.pw;
        const int64_t skip = start < 0 ? (-start + p.dw - 1) / p.dw : 0;
        const int64_t first = start + skip * p.dw, end = std::min(start + p.kw * p.dw, p.iw);
        T best = -std::numeric_limits<T>::infinity();
        int64_t at = first;
        for (int64_t t = 0; t < taps.count; ++t) {
          for (int64_t w = first; w < end; w += p.dw) {
            const int64_t here = t * p.dh * p.iw + w;
            const T v = xr[here];
            if (v > best || v != v) best = v, at = here;
          }
        }
        yr[c] = best;
        if constexpr (kIndices) ir[c] = taps.count > 0 && first < end ? base + at : -1;
      }
    };
    bool done = false;
    if (kSimd && taps.count > 0) {
      if (mode == 2) done = max_run<2, kIndices>(xr, yr, ir, p, taps.count, base, lo, hi);
      if (mode == 1) done = max_run<1, kIndices>(xr, yr, ir, p, taps.count, base, lo, hi);
    }
    scalar(0, done ? lo : p.ow);
    if (done) scalar(hi, p.ow);
  }
}

template <typename T>
void max_rows(const T* x, T* y, int64_t* indices, const Pool2d& p, int64_t r0, int64_t r1) {
  if (indices) {
    max_rows_impl<true>(x, y, indices, p, r0, r1);
  } else {
    max_rows_impl<false>(x, y, indices, p, r0, r1);
  }
}

template <typename T>
void avg_rows(const T* x, T* y, const Pool2d& p, bool include_pad, int64_t divisor, int64_t r0, int64_t r1) {
  int64_t lo, hi;
  inner_columns(p, &lo, &hi);
  for (int64_t r = r0; r < r1; ++r) {
    const int64_t plane = r / p.oh, row = r - plane * p.oh;
    const Taps taps = row_taps(p, row);
    const T* xr = x + plane * p.ih * p.iw + taps.first * p.iw;
    T* yr = y + r * p.ow;
    const int64_t h_size = include_pad ? std::min(p.kh, p.ih + 2 * p.ph - row * p.sh) : taps.count;
    const auto scalar = [&](int64_t c0, int64_t c1) {
      for (int64_t c = c0; c < c1; ++c) {
        const int64_t start = c * p.sw - p.pw;
        const int64_t first = std::max<int64_t>(start, 0), end = std::min(start + p.kw, p.iw);
        T sum = 0;
        for (int64_t t = 0; t < taps.count; ++t) {
          for (int64_t w = first; w < end; ++w) sum += xr[t * p.iw + w];
        }
        const int64_t w_size = include_pad ? std::min(p.kw, p.iw + p.pw - start) : end - first;
        yr[c] = sum / static_cast<T>(divisor ? divisor : h_size * w_size);
      }
    };
    bool done = false;
    if constexpr (kSimd) {
      const T over = static_cast<T>(divisor ? divisor : h_size * p.kw);
      const auto run = [&](auto stride) HWY_ATTR {
        return for_vectors<T>(lo, hi, [&](auto d, int64_t c) HWY_ATTR {
          auto sum = hn::Zero(d);
          for (int64_t t = 0; t < taps.count; ++t) {
            for_taps<stride.value>(d, xr + t * p.iw + c * stride.value - p.pw, p.kw, 1,
                                   [&](int64_t, auto v) HWY_ATTR { sum = hn::Add(sum, v); });
          }
          hn::StoreU(hn::Div(sum, hn::Set(d, over)), d, yr + c);
        });
      };
      if (p.sw == 2 && p.kw >= 2) done = run(std::integral_constant<int, 2>());
      if (p.sw == 1) done = run(std::integral_constant<int, 1>());
    }
    scalar(0, done ? lo : p.ow);
    if (done) scalar(hi, p.ow);
  }
}

// Calls f(plane-wise output row, gx row) for all rows of the planes; clears what no window covers.
template <typename T, typename F>
HWY_INLINE void for_rows_2x2(T* gx, const Pool2d& p, int64_t p0, int64_t p1, const F& f) {
  for (int64_t plane = p0; plane < p1; ++plane) {
    T* g = gx + plane * p.ih * p.iw;
    for (int64_t r = 0; r < p.oh; ++r) {
      T* to = g + 2 * r * p.iw;
      f(plane * p.oh + r, 2 * r * p.iw, to);
      for (int64_t c = 2 * p.ow; c < p.iw; ++c) to[c] = to[p.iw + c] = 0;
    }
    std::fill(g + 2 * p.oh * p.iw, g + p.ih * p.iw, T{0});
  }
}

template <typename T>
void max_grad_2x2(const T* gy, const int64_t* indices, T* gx, const Pool2d& p, int64_t p0, int64_t p1) {
  for_rows_2x2(gx, p, p0, p1, [&](int64_t row, int64_t base, T* to) HWY_ATTR {
    const T* g = gy + row * p.ow;
    const int64_t* at = indices + row * p.ow;
    bool done = false;
    if constexpr (kSimd) {
      done = for_vectors<T>(0, p.ow, [&](auto d, int64_t c) HWY_ATTR {
        const hn::RebindToSigned<decltype(d)> di;
        using I = hn::TFromD<decltype(di)>;
        const auto v = hn::LoadU(d, g + c);
        hn::VFromD<decltype(di)> index;
        if constexpr (sizeof(T) == 8) {
          index = hn::LoadU(di, at + c);
        } else {
          hn::VFromD<decltype(di)> upper;  // zero, as positions are below 2^31
          hn::LoadInterleaved2(di, reinterpret_cast<const int32_t*>(at + c), index, upper);
        }
        auto pos = hn::Add(hn::Iota(di, 0), hn::Iota(di, 0));
        pos = hn::Sub(hn::Sub(index, hn::Set(di, static_cast<I>(base + 2 * c))), pos);  // 0, 1, iw or iw + 1
        const auto part = [&](int64_t offset) HWY_ATTR {
          return hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(pos, hn::Set(di, static_cast<I>(offset)))), v);
        };
        hn::StoreInterleaved2(part(0), part(1), d, to + 2 * c);
        hn::StoreInterleaved2(part(p.iw), part(p.iw + 1), d, to + p.iw + 2 * c);
      });
    }
    if (!done) {
      for (int64_t c = 0; c < p.ow; ++c) {
        const int64_t pos = at[c] - base - 2 * c;
        to[2 * c] = pos == 0 ? g[c] : T{0};
        to[2 * c + 1] = pos == 1 ? g[c] : T{0};
        to[p.iw + 2 * c] = pos == p.iw ? g[c] : T{0};
        to[p.iw + 2 * c + 1] = pos == p.iw + 1 ? g[c] : T{0};
      }
    }
  });
}

template <typename T>
void avg_grad_2x2(const T* gy, T* gx, const Pool2d& p, T divisor, int64_t p0, int64_t p1) {
  for_rows_2x2(gx, p, p0, p1, [&](int64_t row, int64_t, T* to) HWY_ATTR {
    const T* g = gy + row * p.ow;
    bool done = false;
    if constexpr (kSimd) {
      done = for_vectors<T>(0, p.ow, [&](auto d, int64_t c) HWY_ATTR {
        const auto v = hn::Div(hn::LoadU(d, g + c), hn::Set(d, divisor));
        hn::StoreInterleaved2(v, v, d, to + 2 * c);
        hn::StoreInterleaved2(v, v, d, to + p.iw + 2 * c);
      });
    }
    if (!done) {
      for (int64_t c = 0; c < p.ow; ++c) {
        to[2 * c] = to[2 * c + 1] = to[p.iw + 2 * c] = to[p.iw + 2 * c + 1] = g[c] / divisor;
      }
    }
  });
}

template <typename T>
T sum(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, x + i));
    s1 = hn::Add(s1, hn::LoadU(d, x + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, x + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, hn::LoadU(d, x + i));
  T total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) total += x[i];
  return total;
}

template <typename T>
constexpr PoolKernels<T> kTable = {max_rows<T>, avg_rows<T>, max_grad_2x2<T>, avg_grad_2x2<T>, sum<T>};

constexpr Tables<PoolKernels, float, double> kTables = {kTable<float>, kTable<double>};
const Tables<PoolKernels, float, double>* tables() { return &kTables; }

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {
namespace {

HWY_EXPORT(tables);

template <typename T>
const PoolKernels<T>& table() {
  return *HWY_DYNAMIC_DISPATCH(tables)();
}

// A chunk of parallel work is at least this many element visits.
constexpr int64_t kGrain = 16384;
int64_t grain_of(int64_t work_per_item) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work_per_item)); }

bool is_2x2(const Pool2d& p) {
  return p.kh == 2 && p.kw == 2 && p.sh == 2 && p.sw == 2 && p.ph == 0 && p.pw == 0 && p.dh == 1 && p.dw == 1 &&
         2 * p.oh <= p.ih && 2 * p.ow <= p.iw && p.ih * p.iw <= std::numeric_limits<int32_t>::max();
}

struct Range {
  int64_t begin, end;
};
Range adaptive(int64_t i, int64_t in, int64_t out) { return {i * in / out, ((i + 1) * in + out - 1) / out}; }

template <typename T>
void scatter(const T* gy, const int64_t* indices, T* gx, int64_t planes, int64_t in, int64_t out) {
  parallel_for(0, planes, grain_of(in + out), [&](int64_t p0, int64_t p1) {
    for (int64_t plane = p0; plane < p1; ++plane) {
      T* g = gx + plane * in;
      std::fill(g, g + in, T{0});
      for (int64_t i = plane * out; i < (plane + 1) * out; ++i) {
        const int64_t at = indices[i];
        if (at == -1) continue;
        TRT_CHECK_CODE(static_cast<uint64_t>(at) < static_cast<uint64_t>(in), Code::kOutOfRange,
                       "max pooling backward: index ", at, " is outside a plane of ", in, " elements");
        g[at] += gy[i];
      }
    }
  });
}

}  // namespace

template <typename T>
void max_pool2d_forward(const T* x, T* y, int64_t* indices, int64_t planes, const Pool2d& p) {
  const auto fn = table<T>().max_rows;
  parallel_for(0, planes * p.oh, grain_of(p.ow * p.kh * p.kw),
               [&](int64_t r0, int64_t r1) { fn(x, y, indices, p, r0, r1); });
}

template <typename T>
void max_pool2d_backward(const T* gy, const int64_t* indices, T* gx, int64_t planes, const Pool2d& p) {
  const int64_t in = p.ih * p.iw, out = p.oh * p.ow;
  if (!is_2x2(p)) return scatter(gy, indices, gx, planes, in, out);
  const auto fn = table<T>().max_grad_2x2;
  parallel_for(0, planes, grain_of(in), [&](int64_t p0, int64_t p1) { fn(gy, indices, gx, p, p0, p1); });
}

template <typename T>
void avg_pool2d_forward(const T* x, T* y, int64_t planes, const Pool2d& p, bool count_include_pad,
                        int64_t divisor_override) {
  const auto fn = table<T>().avg_rows;
  parallel_for(0, planes * p.oh, grain_of(p.ow * p.kh * p.kw),
               [&](int64_t r0, int64_t r1) { fn(x, y, p, count_include_pad, divisor_override, r0, r1); });
}

template <typename T>
void avg_pool2d_backward(const T* gy, T* gx, int64_t planes, const Pool2d& p, bool count_include_pad,
                         int64_t divisor_override) {
  if (is_2x2(p)) {
    const auto fn = table<T>().avg_grad_2x2;
    const T divisor = static_cast<T>(divisor_override ? divisor_override : 4);
    return parallel_for(0, planes, grain_of(p.ih * p.iw),
                        [&](int64_t p0, int64_t p1) { fn(gy, gx, p, divisor, p0, p1); });
  }
  parallel_for(0, planes, grain_of(p.oh * p.ow * p.kh * p.kw), [&](int64_t p0, int64_t p1) {
    for (int64_t plane = p0; plane < p1; ++plane) {
      T* g = gx + plane * p.ih * p.iw;
      const T* from = gy + plane * p.oh * p.ow;
      std::fill(g, g + p.ih * p.iw, T{0});
      for (int64_t r = 0; r < p.oh; ++r) {
        const int64_t h_start = r * p.sh - p.ph, h0 = std::max<int64_t>(h_start, 0);
        const int64_t h1 = std::min(h_start + p.kh, p.ih), h_padded = std::min(p.kh, p.ih + p.ph - h_start);
        for (int64_t c = 0; c < p.ow; ++c) {
          const int64_t w_start = c * p.sw - p.pw, w0 = std::max<int64_t>(w_start, 0);
          const int64_t w1 = std::min(w_start + p.kw, p.iw), w_padded = std::min(p.kw, p.iw + p.pw - w_start);
          const int64_t size = divisor_override    ? divisor_override
                               : count_include_pad ? h_padded * w_padded
                                                   : (h1 - h0) * (w1 - w0);
          const T v = from[r * p.ow + c] / static_cast<T>(size);
          for (int64_t h = h0; h < h1; ++h) {
            for (int64_t w = w0; w < w1; ++w) g[h * p.iw + w] += v;
          }
        }
      }
    }
  });
}

template <typename T>
void adaptive_avg_pool2d_forward(const T* x, T* y, int64_t planes, int64_t ih, int64_t iw, int64_t oh, int64_t ow) {
  const auto sum = table<T>().sum;
  if (oh == 1 && ow == 1) {  // global pooling
    const int64_t n = ih * iw;
    return parallel_for(0, planes, grain_of(n), [&](int64_t p0, int64_t p1) {
      for (int64_t plane = p0; plane < p1; ++plane) {
        y[plane] = sum(x + plane * n, n) / static_cast<T>(ih) / static_cast<T>(iw);
      }
    });
  }
  parallel_for(0, planes, grain_of(ih * iw), [&](int64_t p0, int64_t p1) {
    for (int64_t plane = p0; plane < p1; ++plane) {
      const T* from = x + plane * ih * iw;
      for (int64_t r = 0; r < oh; ++r) {
        const Range h = adaptive(r, ih, oh);
        for (int64_t c = 0; c < ow; ++c) {
          const Range w = adaptive(c, iw, ow);
          T total = 0;
          if (w.begin == 0 && w.end == iw) {
            total = sum(from + h.begin * iw, (h.end - h.begin) * iw);
          } else {
            for (int64_t i = h.begin; i < h.end; ++i) {
              for (int64_t j = w.begin; j < w.end; ++j) total += from[i * iw + j];
            }
          }
          y[(plane * oh + r) * ow + c] = total / static_cast<T>(h.end - h.begin) / static_cast<T>(w.end - w.begin);
        }
      }
    }
  });
}

template <typename T>
void adaptive_avg_pool2d_backward(const T* gy, T* gx, int64_t planes, int64_t ih, int64_t iw, int64_t oh, int64_t ow) {
  parallel_for(0, planes, grain_of(ih * iw), [&](int64_t p0, int64_t p1) {
    for (int64_t plane = p0; plane < p1; ++plane) {
      T* to = gx + plane * ih * iw;
      if (oh == 1 && ow == 1) {
        std::fill(to, to + ih * iw, gy[plane] / static_cast<T>(ih) / static_cast<T>(iw));
        continue;
      }
      std::fill(to, to + ih * iw, T{0});
      for (int64_t r = 0; r < oh; ++r) {
        const Range h = adaptive(r, ih, oh);
        for (int64_t c = 0; c < ow; ++c) {
          const Range w = adaptive(c, iw, ow);
          const T v = gy[(plane * oh + r) * ow + c] / static_cast<T>(h.end - h.begin) / static_cast<T>(w.end - w.begin);
          for (int64_t i = h.begin; i < h.end; ++i) {
            for (int64_t j = w.begin; j < w.end; ++j) to[i * iw + j] += v;
          }
        }
      }
    }
  });
}

template <typename T>
void adaptive_max_pool2d_forward(const T* x, T* y, int64_t* indices, int64_t planes, int64_t ih, int64_t iw, int64_t oh,
                                 int64_t ow) {
  parallel_for(0, planes, grain_of(ih * iw), [&](int64_t p0, int64_t p1) {
    for (int64_t plane = p0; plane < p1; ++plane) {
      const T* from = x + plane * ih * iw;
      for (int64_t r = 0; r < oh; ++r) {
        const Range h = adaptive(r, ih, oh);
        for (int64_t c = 0; c < ow; ++c) {
          const Range w = adaptive(c, iw, ow);
          T best = -std::numeric_limits<T>::infinity();
          int64_t at = h.begin * iw + w.begin;
          for (int64_t i = h.begin; i < h.end; ++i) {
            for (int64_t j = w.begin; j < w.end; ++j) {
              const T v = from[i * iw + j];
              if (v > best || v != v) best = v, at = i * iw + j;
            }
          }
          const int64_t o = (plane * oh + r) * ow + c;
          y[o] = best;
          if (indices) indices[o] = at;
        }
      }
    }
  });
}

template <typename T>
void adaptive_max_pool2d_backward(const T* gy, const int64_t* indices, T* gx, int64_t planes, int64_t ih, int64_t iw,
                                  int64_t oh, int64_t ow) {
  scatter(gy, indices, gx, planes, ih * iw, oh * ow);
}

#define TRT_INSTANTIATE_POOL(T)                                                                                   \
  template void max_pool2d_forward(const T*, T*, int64_t*, int64_t, const Pool2d&);                               \
  template void max_pool2d_backward(const T*, const int64_t*, T*, int64_t, const Pool2d&);                        \
  template void avg_pool2d_forward(const T*, T*, int64_t, const Pool2d&, bool, int64_t);                          \
  template void avg_pool2d_backward(const T*, T*, int64_t, const Pool2d&, bool, int64_t);                         \
  template void adaptive_avg_pool2d_forward(const T*, T*, int64_t, int64_t, int64_t, int64_t, int64_t);           \
  template void adaptive_avg_pool2d_backward(const T*, T*, int64_t, int64_t, int64_t, int64_t, int64_t);          \
  template void adaptive_max_pool2d_forward(const T*, T*, int64_t*, int64_t, int64_t, int64_t, int64_t, int64_t); \
  template void adaptive_max_pool2d_backward(const T*, const int64_t*, T*, int64_t, int64_t, int64_t, int64_t, int64_t)
TRT_INSTANTIATE_POOL(float);
TRT_INSTANTIATE_POOL(double);
#undef TRT_INSTANTIATE_POOL

}  // namespace trt::cpu
#endif  // HWY_ONCE
