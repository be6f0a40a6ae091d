// Vector kernels of the plain reductions of floating-point numbers, int64 and bool (reduce_inl.h).
#include "kernels/cpu/reduce_kernels.h"

#include <cmath>

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/reduce_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

struct Nonzero : Sum {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D d, V v, T) {
    return hn::IfThenElse(hn::Eq(v, hn::Zero(d)), hn::Zero(d), hn::Set(d, T(1)));
  }
};
struct AbsSum : Sum {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D, V v, T) {
    return hn::Abs(v);
  }
};
struct SquareSum : Sum {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D, V v, T) {
    return hn::Mul(v, v);
  }
};
template <typename T>
HWY_NOINLINE void power_lanes(T* lanes, size_t n, T p) {
  for (size_t i = 0; i < n; ++i) lanes[i] = std::pow(lanes[i], p);
}
struct PowerSum : Sum {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D d, V v, T p) {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(hn::Abs(v), d, lanes);
    power_lanes(lanes, hn::MaxLanes(d), p);
    return hn::Load(d, lanes);
  }
};
struct AbsMax : Max {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D, V v, T) {
    return hn::Abs(v);
  }
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
};
struct AbsMin : Min {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D, V v, T) {
    return hn::Abs(v);
  }
};

// Bytes: or of the bytes themselves, or of "is zero".
struct AnyTrue : Plain {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Or(a, b);
  }
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
};
struct AnyFalse : AnyTrue {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D d, V v, T) {
    return hn::VecFromMask(d, hn::Eq(v, hn::Zero(d)));
  }
};

template <typename T>
constexpr ReduceTable<T> make_table(const ReduceTable<T>& t) {
  ReduceTable<T> k{};
  k.sum = kernel<Sum, T>(&t.sum);
  k.prod = kernel<Prod, T>(&t.prod);
  k.max = kernel<Max, T>(&t.max);
  k.min = kernel<Min, T>(&t.min);
  k.minmax = minmax_row<T>;
  if constexpr (hwy::IsFloat<T>()) {
    k.nonzero = kernel<Nonzero, T>(&t.sum);
    k.abs_sum = kernel<AbsSum, T>(&t.sum);
    k.square_sum = kernel<SquareSum, T>(&t.sum);
    k.power_sum = kernel<PowerSum, T>(&t.sum);
    k.abs_max = kernel<AbsMax, T>(&t.max);
    k.abs_min = kernel<AbsMin, T>(&t.min);
  }
  return k;
}
template <typename T>
constexpr ReduceTable<T> kReduce = make_table<T>(kReduce<T>);
constexpr Tables<ReduceTable, float, double, int64_t> kReductions = {kReduce<float>, kReduce<double>, kReduce<int64_t>};
const Tables<ReduceTable, float, double, int64_t>* reduce_tables() { return &kReductions; }

constexpr BoolTable kBools = {kernel<AnyTrue, uint8_t>(&kBools.any_true), kernel<AnyFalse, uint8_t>(&kBools.any_true)};
const BoolTable* bool_reductions() { return &kBools; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(reduce_tables);
HWY_EXPORT(bool_reductions);

template <typename T>
const ReduceTable<T>& reduce_table() {
  return *HWY_DYNAMIC_DISPATCH(reduce_tables)();
}
template const ReduceTable<float>& reduce_table<float>();
template const ReduceTable<double>& reduce_table<double>();
template const ReduceTable<int64_t>& reduce_table<int64_t>();
const BoolTable& bool_table() { return *HWY_DYNAMIC_DISPATCH(bool_reductions)(); }

}  // namespace trt::cpu
#endif  // HWY_ONCE
