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
  void (*forward)(const T* x, const T* gamma, const T* beta, T* y, int64_t n, T mean, T rstd);
  // s1 = sum g, s2 = sum g * xhat with g = gy * gamma and xhat = (x - mean) * rstd.
  void (*sums)(const T* gy, const T* x, const T* gamma, int64_t n, T mean, T rstd, T* s1, T* s2);
  // ggamma += gy * xhat, gbeta += gy over the rows, which are n apart.
  void (*params)(const T* gy, const T* x, int64_t rows, int64_t n, const T* mean, const T* rstd, T* ggamma, T* gbeta);
  // gx = rstd * (g - m1 - xhat * m2)
  void (*apply)(const T* gy, const T* x, const T* gamma, T* gx, int64_t n, T mean, T rstd, T m1, T m2);
};
}  // namespace trt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <typename T>
void ln_forward(const T* x, const T* gamma, const T* beta, T* y, int64_t n, T mean, T rstd) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto u = hn::Mul(hn::Sub(load(x + i), m), r);
    store(hn::MulAdd(u, load(gamma + i), load(beta + i)), y + i);
  });
}

// Blocks of 1,024 elements bound the number of terms per lane.
template <typename T>
void ln_sums(const T* HWY_RESTRICT gy, const T* HWY_RESTRICT x, const T* HWY_RESTRICT gamma, int64_t n, T mean, T rstd, T* s1,
             T* s2) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  auto a = hn::Zero(d), b = a;
  for (int64_t block = 0; block < n; block += 1024) {
    auto ab = hn::Zero(d), bb = ab;
    const T* px = x + block;
    const T* pg = gy + block;
    const T* pw = gamma + block;
    for_vectors(d, std::min<int64_t>(1024, n - block), [&](int64_t i, auto load, auto) HWY_ATTR {
      // Lanes past the end have g = 0.
      const auto g = hn::Mul(load(pg + i), load(pw + i));
      ab = hn::Add(ab, g);
      bb = hn::MulAdd(g, hn::Sub(load(px + i), m), bb);
    });
    a = hn::Add(a, ab);
    b = hn::Add(b, bb);
  }
  *s1 = sum_lanes(d, a);
  *s2 = sum_lanes(d, hn::Mul(b, r));
}

template <typename T>
void ln_params(const T* HWY_RESTRICT gy, const T* HWY_RESTRICT x, int64_t rows, int64_t n, const T* HWY_RESTRICT mean,
               const T* HWY_RESTRICT rstd, T* HWY_RESTRICT ggamma, T* HWY_RESTRICT gbeta) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    auto a = hn::Zero(d), b = a;
    for (int64_t k = 0; k < rows; ++k) {
      const auto g = load(gy + k * n + i);
      const auto u = hn::Mul(hn::Sub(load(x + k * n + i), hn::Set(d, mean[k])), hn::Set(d, rstd[k]));
      a = hn::MulAdd(g, u, a);
      b = hn::Add(b, g);
    }
    store(hn::Add(load(ggamma + i), a), ggamma + i);
    store(hn::Add(load(gbeta + i), b), gbeta + i);
  });
}

template <typename T>
void ln_apply(const T* gy, const T* x, const T* gamma, T* gx, int64_t n, T mean, T rstd, T m1, T m2) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd), a = hn::Set(d, m1), b = hn::Set(d, m2 * rstd);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto g = hn::MulSub(load(gy + i), load(gamma + i), a);
    store(hn::Mul(hn::NegMulAdd(hn::Sub(load(x + i), m), b, g), r), gx + i);
  });
}

template <typename T>
const void* make_layer_norm() {
  static const LayerNormTable<T> t = {ln_forward<T>, ln_sums<T>, ln_params<T>, ln_apply<T>};
  return &t;
}
const void* float_layer_norm() { return make_layer_norm<float>(); }
const void* double_layer_norm() { return make_layer_norm<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(float_layer_norm);
HWY_EXPORT(double_layer_norm);

namespace {

template <typename T>
const LayerNormTable<T>& table();
template <>
const LayerNormTable<float>& table() {
  return *static_cast<const LayerNormTable<float>*>(HWY_DYNAMIC_DISPATCH(float_layer_norm)());
}
template <>
const LayerNormTable<double>& table() {
  return *static_cast<const LayerNormTable<double>*>(HWY_DYNAMIC_DISPATCH(double_layer_norm)());
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
void layer_norm_forward(const T* x, const T* gamma, const T* beta, T* y, T* mean, T* rstd, int64_t m, int64_t n, double eps) {
  std::vector<T> ones, zeros;
  gamma = or_constant(gamma, n, T(1), ones);
  beta = or_constant(beta, n, T(0), zeros);
  const LayerNormTable<T>& t = table<T>();
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
      t.forward(row, gamma, beta, y + i * n, n, mu, r);
    }
  });
}

template <typename T>
void layer_norm_backward(const T* gy, const T* x, const T* mean, const T* rstd, const T* gamma, T* gx, T* ggamma, T* gbeta,
                         int64_t m, int64_t n) {
  if (n == 0) return;
  std::vector<T> ones;
  gamma = or_constant(gamma, n, T(1), ones);
  const LayerNormTable<T>& t = table<T>();
  const bool params = ggamma != nullptr || gbeta != nullptr;
  // Blocks of at least 32 rows, at most about 256 blocks: their partial sums are small beside x and gy.
  constexpr int64_t kGroup = 8;
  const int64_t block_rows = std::max<int64_t>(32, (m + 255) / 256), blocks = (m + block_rows - 1) / block_rows;
  std::vector<T> partial(static_cast<size_t>(params ? 2 * blocks * n : 0));
  T* const pgamma = partial.data();
  T* const pbeta = pgamma + (params ? blocks * n : 0);
  parallel_for(0, blocks, std::max<int64_t>(1, row_grain(n) / block_rows), [&](int64_t b, int64_t e) {
    for (int64_t block = b; block < e; ++block) {
      const int64_t end = std::min(m, (block + 1) * block_rows);
      // A few rows at a time: the second reading of x and gy comes from the cache. gx may be gy, so it is written last.
      for (int64_t i = block * block_rows; i < end; i += kGroup) {
        const int64_t rows = std::min(kGroup, end - i);
        if (params) {
          t.params(gy + i * n, x + i * n, rows, n, mean + i, rstd + i, pgamma + block * n, pbeta + block * n);
        }
        for (int64_t k = i; gx != nullptr && k < i + rows; ++k) {
          T s1, s2;
          t.sums(gy + k * n, x + k * n, gamma, n, mean[k], rstd[k], &s1, &s2);
          const T count = static_cast<T>(n);
          t.apply(gy + k * n, x + k * n, gamma, gx + k * n, n, mean[k], rstd[k], s1 / count, s2 / count);
        }
      }
    }
  });
  if (ggamma != nullptr) reduce_sum(pgamma, ggamma, 1, blocks, n);
  if (gbeta != nullptr) reduce_sum(pbeta, gbeta, 1, blocks, n);
}

#define TRT_LAYER_NORM(T)                                                                                              \
  template void layer_norm_forward<T>(const T*, const T*, const T*, T*, T*, T*, int64_t, int64_t, double);             \
  template void layer_norm_backward<T>(const T*, const T*, const T*, const T*, const T*, T*, T*, T*, int64_t, int64_t);
TRT_LAYER_NORM(float)
TRT_LAYER_NORM(double)
#undef TRT_LAYER_NORM

}  // namespace trt::cpu
#endif  // HWY_ONCE
