// Layer normalization. A row stays in the first-level cache between the passes for the statistics and the result, so
// memory is read and written once. The gradients of gamma and beta are summed over fixed blocks of rows.
#include "kernels/cpu/norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd_inl.h"

#ifndef TRT_KERNELS_CPU_NORM_ONCE
#define TRT_KERNELS_CPU_NORM_ONCE
namespace trt::cpu {
template <typename T>
struct LayerNormTable {
  // y = (x - mean) * rstd * gamma + beta
  void (*forward)(const T* x, const T* gamma, const T* beta, T* y, int64_t n, T mean, T rstd, bool stream);
  // s1 = sum g, s2 = sum g * xhat with g = gy * gamma and xhat = (x - mean) * rstd; and, unless ggamma is null,
  // ggamma += gy * xhat, gbeta += gy.
  void (*sums)(const T* gy, const T* x, const T* gamma, int64_t n, T mean, T rstd, T* s1, T* s2, T* ggamma, T* gbeta);
  // gx = rstd * (g - m1 - xhat * m2)
  void (*apply)(const T* gy, const T* x, const T* gamma, T* gx, int64_t n, T mean, T rstd, T m1, T m2, bool stream);
};
}  // namespace trt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <typename T>
void ln_forward(const T* x, const T* gamma, const T* beta, T* y, int64_t n, T mean, T rstd, bool stream) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  const auto body = [&](int64_t i, auto load, auto store) HWY_ATTR {
    hwy::Prefetch(x + n + i);  // the next row
    const auto u = hn::Mul(hn::Sub(load(x + i), m), r);
    store(hn::MulAdd(u, load(gamma + i), load(beta + i)), y + i);
  };
  if (stream) {
    for_streamed_vectors(d, n, body);
  } else {
    for_vectors(d, n, body);
  }
}

// Blocks of 1,024 elements bound the number of terms per lane; two pairs of sums hide the latency of the additions.
template <bool kParams, typename T>
HWY_INLINE void ln_sums_impl(const T* HWY_RESTRICT gy, const T* HWY_RESTRICT x, const T* HWY_RESTRICT gamma, int64_t n,
                             T mean, T rstd, T* s1, T* s2, T* HWY_RESTRICT ggamma, T* HWY_RESTRICT gbeta) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  // Lanes past the end have gv = 0.
  const auto step = [&](int64_t i, auto load, auto store, V& a, V& b) HWY_ATTR {
    const auto gv = load(gy + i);
    const auto g = hn::Mul(gv, load(gamma + i));
    const auto u = hn::Mul(hn::Sub(load(x + i), m), r);
    a = hn::Add(a, g);
    b = hn::MulAdd(g, u, b);
    if constexpr (kParams) {
      store(hn::MulAdd(gv, u, load(ggamma + i)), ggamma + i);
      store(hn::Add(gv, load(gbeta + i)), gbeta + i);
    }
  };
  const auto whole_load = [d](const T* p) HWY_ATTR { return hn::LoadU(d, p); };
  const auto whole_store = [d](V v, T* p) HWY_ATTR { hn::StoreU(v, d, p); };
  V a = hn::Zero(d), b = a;
  int64_t i = 0;
  while (n - i >= 2 * lanes) {
    const int64_t end = i + std::min<int64_t>(1024, (n - i) / (2 * lanes) * (2 * lanes));
    V a0 = hn::Zero(d), b0 = a0, a1 = a0, b1 = a0;
    for (; i < end; i += 2 * lanes) {
      step(i, whole_load, whole_store, a0, b0);
      step(i + lanes, whole_load, whole_store, a1, b1);
    }
    a = hn::Add(a, hn::Add(a0, a1));
    b = hn::Add(b, hn::Add(b0, b1));
  }
  const int64_t done = i;
  for_vectors(d, n - done, [&](int64_t j, auto load, auto store) HWY_ATTR { step(done + j, load, store, a, b); });
  *s1 = sum_lanes(d, a);
  *s2 = sum_lanes(d, b);
}

template <typename T>
void ln_sums(const T* gy, const T* x, const T* gamma, int64_t n, T mean, T rstd, T* s1, T* s2, T* ggamma, T* gbeta) {
  if (ggamma != nullptr) {
    ln_sums_impl<true>(gy, x, gamma, n, mean, rstd, s1, s2, ggamma, gbeta);
  } else {
    ln_sums_impl<false>(gy, x, gamma, n, mean, rstd, s1, s2, ggamma, gbeta);
  }
}

template <typename T>
void ln_apply(const T* gy, const T* x, const T* gamma, T* gx, int64_t n, T mean, T rstd, T m1, T m2, bool stream) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd), a = hn::Set(d, m1), b = hn::Set(d, m2 * rstd);
  const auto body = [&](int64_t i, auto load, auto store) HWY_ATTR {
    hwy::Prefetch(x + n + i);
    hwy::Prefetch(gy + n + i);
    const auto g = hn::MulSub(load(gy + i), load(gamma + i), a);
    store(hn::Mul(hn::NegMulAdd(hn::Sub(load(x + i), m), b, g), r), gx + i);
  };
  if (stream) {
    for_streamed_vectors(d, n, body);
  } else {
    for_vectors(d, n, body);
  }
}

template <typename T>
constexpr LayerNormTable<T> kLayerNorm = {ln_forward<T>, ln_sums<T>, ln_apply<T>};
constexpr Tables<LayerNormTable, float, double> kLayerNorms = {kLayerNorm<float>, kLayerNorm<double>};
const Tables<LayerNormTable, float, double>* layer_norm_tables() { return &kLayerNorms; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(layer_norm_tables);

namespace {

template <typename T>
const LayerNormTable<T>& table() {
  return *HWY_DYNAMIC_DISPATCH(layer_norm_tables)();
}

int64_t row_grain(int64_t n) { return std::max<int64_t>(1, kReduceGrain / 2 / std::max<int64_t>(1, n)); }

// p, or a constant vector of n elements kept in `space` when p is null.
template <typename T>
const T* or_constant(const T* p, int64_t n, T value, std::vector<T>& space) {
  if (p != nullptr) return p;
  space.assign(static_cast<size_t>(n), value);
  return space.data();
}

}  // namespace

template <typename T>
void layer_norm_forward(const T* x, const T* gamma, const T* beta, T* y, T* mean, T* rstd, int64_t m, int64_t n,
                        double eps) {
  std::vector<T> ones, zeros;
  gamma = or_constant(gamma, n, T(1), ones);
  beta = or_constant(beta, n, T(0), zeros);
  const LayerNormTable<T>& t = table<T>();
  const bool stream = should_stream(y, x, x, m, n * static_cast<int64_t>(sizeof(T)));
  parallel_for(0, m, row_grain(n), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const T* row = x + i * n;
      Moments moments;
      for (int64_t j = 0; j < n; j += kStatChunk) {
        moments.merge(row_moments(row + j, 1, 0, std::min(kStatChunk, n - j)));
      }
      const T mu = static_cast<T>(moments.mean);
      const T r = static_cast<T>(1 / std::sqrt(moments.m2 / static_cast<double>(n) + eps));
      if (mean != nullptr) mean[i] = mu;
      if (rstd != nullptr) rstd[i] = r;
      t.forward(row, gamma, beta, y + i * n, n, mu, r, stream);
    }
    if (stream) hwy::FlushStream();
  });
}

template <typename T>
void layer_norm_backward(const T* gy, const T* x, const T* mean, const T* rstd, const T* gamma, T* gx, T* ggamma,
                         T* gbeta, int64_t m, int64_t n) {
  if (n == 0) return;
  std::vector<T> ones;
  gamma = or_constant(gamma, n, T(1), ones);
  const LayerNormTable<T>& t = table<T>();
  const bool params = ggamma != nullptr || gbeta != nullptr;
  // Blocks of 8 to 64 rows: enough of them to share out, few enough that their partial sums are small beside x and gy.
  const int64_t block_rows = std::clamp<int64_t>(m / 64, 8, 64), blocks = (m + block_rows - 1) / block_rows;
  std::vector<T> partial(static_cast<size_t>(params ? 2 * blocks * n : 0));
  T* const pgamma = params ? partial.data() : nullptr;
  T* const pbeta = params ? pgamma + blocks * n : nullptr;
  const bool stream = should_stream(gx, gy, x, m, n * static_cast<int64_t>(sizeof(T)));
  parallel_for(0, blocks, std::max<int64_t>(1, row_grain(n) / block_rows), [&](int64_t b, int64_t e) {
    for (int64_t i = b * block_rows; i < std::min(m, e * block_rows); ++i) {
      const int64_t at = i * n, to = i / block_rows * n;
      T s1, s2;
      t.sums(gy + at, x + at, gamma, n, mean[i], rstd[i], &s1, &s2, params ? pgamma + to : nullptr,
             params ? pbeta + to : nullptr);
      const T count = static_cast<T>(n);
      if (gx != nullptr) t.apply(gy + at, x + at, gamma, gx + at, n, mean[i], rstd[i], s1 / count, s2 / count, stream);
    }
    if (stream) hwy::FlushStream();
  });
  if (ggamma != nullptr) reduce_sum(pgamma, ggamma, 1, blocks, n);
  if (gbeta != nullptr) reduce_sum(pbeta, gbeta, 1, blocks, n);
}

#define TRT_LAYER_NORM(T)                                                                                  \
  template void layer_norm_forward<T>(const T*, const T*, const T*, T*, T*, T*, int64_t, int64_t, double); \
  template void layer_norm_backward<T>(const T*, const T*, const T*, const T*, const T*, T*, T*, T*, int64_t, int64_t);
TRT_LAYER_NORM(float)
TRT_LAYER_NORM(double)
#undef TRT_LAYER_NORM

}  // namespace trt::cpu
#endif  // HWY_ONCE
