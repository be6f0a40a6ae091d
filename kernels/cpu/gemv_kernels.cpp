#include "kernels/cpu/gemv_kernels.h"

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The inner products of R rows with x; a scalar loop takes the rest of each row.
template <int R, typename T>
HWY_INLINE void dot_rows(int64_t n, const T* HWY_RESTRICT a, int64_t lda, const T* HWY_RESTRICT x, T (&out)[R]) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kUnroll = R == 1 ? 4 : 1;
  constexpr int64_t kAhead = 2048 / int64_t(sizeof(T));
  V acc[R][kUnroll];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int u = 0; u < kUnroll; ++u) acc[r][u] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + kUnroll * lanes <= n; i += kUnroll * lanes) {
#pragma GCC unroll 16
    for (int u = 0; u < kUnroll; ++u) {
      const V xv = hn::LoadU(d, x + i + u * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const T* from = a + r * lda + i + u * lanes;
        __builtin_prefetch(from + kAhead);
        acc[r][u] = hn::MulAdd(hn::LoadU(d, from), xv, acc[r][u]);
      }
    }
  }
  if constexpr (kUnroll > 1) {
    for (; i + lanes <= n; i += lanes) acc[0][0] = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, x + i), acc[0][0]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    V sum = acc[r][0];
    if constexpr (kUnroll == 4) sum = hn::Add(hn::Add(acc[r][0], acc[r][1]), hn::Add(acc[r][2], acc[r][3]));
    out[r] = hn::GetLane(hn::SumOfLanes(d, sum));
    for (int64_t j = i; j < n; ++j) out[r] += a[r * lda + j] * x[j];
  }
}

template <typename T>
T dot(int64_t n, const T* x, const T* y) {
  T out[1];
  dot_rows<1>(n, x, 0, y, out);
  return out[0];
}

template <typename T>
void rows(int64_t count, int64_t cols, T alpha, const T* a, int64_t lda, const T* x, T* y, int64_t incy) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    T sums[4];
    dot_rows<4>(cols, a + i * lda, lda, x, sums);
    for (int r = 0; r < 4; ++r) y[(i + r) * incy] += alpha * sums[r];
  }
  for (; i < count; ++i) y[i * incy] += alpha * dot(cols, a + i * lda, x);
}

template <typename T>
constexpr GemvKernels<T> kGemv = {dot<T>, rows<T>};
constexpr Tables<GemvKernels, float, double> kTables = {kGemv<float>, kGemv<double>};

}  // namespace

const Tables<GemvKernels, float, double>* gemv_tables() { return &kTables; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(gemv_tables);

template <typename T>
const GemvKernels<T>& gemv_kernels() {
  return *HWY_DYNAMIC_DISPATCH(gemv_tables)();
}
template const GemvKernels<float>& gemv_kernels<float>();
template const GemvKernels<double>& gemv_kernels<double>();

}  // namespace trt::cpu
#endif
