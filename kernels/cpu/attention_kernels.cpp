// Vector kernels of attention: rows of scores.
#include "kernels/cpu/attention_kernels.h"

#include <limits>

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "kernels/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <typename T>
T attention_extend(T* HWY_RESTRICT s, int64_t n, T* m, T* sum) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  auto a0 = hn::Set(d, *m), a1 = a0;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a0 = hn::Max(a0, hn::LoadU(d, s + i));
    a1 = hn::Max(a1, hn::LoadU(d, s + i + lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = hn::Max(a0, hn::LoadU(d, s + i));
  if (const int64_t rest = n - i; rest > 0) {
    const auto first = hn::FirstN(d, static_cast<size_t>(rest));
    a1 = hn::Max(a1, hn::IfThenElse(first, load_tail(d, s + i, rest), hn::Set(d, kLowest)));
  }
  // A NaN may or may not be the maximum here: the sum of the exponentials has it in any case.
  const T largest = max_lanes(d, hn::Max(a0, a1));
  const auto shift = hn::Set(d, largest == kLowest ? T(0) : largest);
  auto b0 = hn::Zero(d), b1 = b0;
  for (i = 0; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto e0 = exp_vec<true>(d, hn::Sub(hn::LoadU(d, s + i), shift));
    const auto e1 = exp_vec<true>(d, hn::Sub(hn::LoadU(d, s + i + lanes), shift));
    hn::StoreU(e0, d, s + i);
    hn::StoreU(e1, d, s + i + lanes);
    b0 = hn::Add(b0, e0);
    b1 = hn::Add(b1, e1);
  }
  for (; i + lanes <= n; i += lanes) {
    const auto e = exp_vec<true>(d, hn::Sub(hn::LoadU(d, s + i), shift));
    hn::StoreU(e, d, s + i);
    b0 = hn::Add(b0, e);
  }
  if (const int64_t rest = n - i; rest > 0) {
    const auto e = exp_vec<true>(d, hn::Sub(load_tail(d, s + i, rest), shift));
    store_tail(d, e, s + i, rest);
    b1 = hn::Add(b1, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(rest)), e));
  }
  const T before = *m == kLowest ? T(0) : hn::GetLane(exp_vec<true>(d, hn::Sub(hn::Set(d, *m), shift)));
  *sum = *sum * before + sum_lanes(d, hn::Add(b0, b1));
  *m = largest;
  return before;
}

template <typename T>
void attention_probabilities(T* s, int64_t n, T lse) {
  const hn::ScalableTag<T> d;
  const auto shift = hn::Set(d, lse);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR { store(exp_vec<false>(d, hn::Sub(load(s + i), shift)), s + i); });
}

template <typename T>
void attention_gradient(T* g, const T* p, int64_t n, T dot) {
  const hn::ScalableTag<T> d;
  const auto v = hn::Set(d, dot);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR { store(hn::Mul(load(p + i), hn::Sub(load(g + i), v)), g + i); });
}

template <typename T>
void attention_scale(T* x, int64_t n, T factor) {
  const hn::ScalableTag<T> d;
  const auto v = hn::Set(d, factor);
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR { store(hn::Mul(load(x + i), v), x + i); });
}

template <typename T>
void attention_add(T* x, const T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR { store(hn::Add(load(x + i), load(y + i)), x + i); });
}

template <typename T>
void attention_keep(T* HWY_RESTRICT x, const uint8_t* HWY_RESTRICT keep, int64_t n) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const hn::Rebind<int32_t, decltype(d)> d32;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lowest = hn::Set(d, kLowest);
  for (; i + lanes <= n; i += lanes) {
    const auto m = hn::PromoteTo(d32, hn::LoadU(d8, keep + i));
    const auto v = hn::LoadU(d, x + i);
    if constexpr (sizeof(T) == 4) {
      hn::StoreU(hn::IfThenElse(hn::RebindMask(d, hn::Eq(m, hn::Zero(d32))), lowest, v), d, x + i);
    } else {
      hn::StoreU(hn::IfThenElse(hn::RebindMask(d, hn::Eq(hn::PromoteTo(di, m), hn::Zero(di))), lowest, v), d, x + i);
    }
  }
#endif
  for (; i < n; ++i)
    if (keep[i] == 0) x[i] = kLowest;
}

template <typename T>
constexpr AttentionTable<T> kAttention = {attention_extend<T>, attention_probabilities<T>, attention_gradient<T>,
                                          attention_scale<T>,  attention_add<T>,           attention_keep<T>};
constexpr Tables<AttentionTable, float, double> kAttentions = {kAttention<float>, kAttention<double>};
const Tables<AttentionTable, float, double>* attention_tables() { return &kAttentions; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(attention_tables);

template <typename T>
const AttentionTable<T>& attention_table() {
  return *HWY_DYNAMIC_DISPATCH(attention_tables)();
}
template const AttentionTable<float>& attention_table<float>();
template const AttentionTable<double>& attention_table<double>();

}  // namespace trt::cpu
#endif  // HWY_ONCE
