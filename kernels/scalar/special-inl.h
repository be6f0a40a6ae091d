// Sigmoid, the error functions, the gamma family, pow, hypot and logaddexp.
#if defined(TRT_SCALAR_SPECIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_SPECIAL_INL_H_
#undef TRT_SCALAR_SPECIAL_INL_H_
#else
#define TRT_SCALAR_SPECIAL_INL_H_
#endif

#include "kernels/scalar/arith-inl.h"
#include "kernels/scalar/exp_log-inl.h"
#include "kernels/scalar/libm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V erf(D d, V x) {
  return libm::erf(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V erfc(D d, V x) {
  return libm::erfc(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hypot(D d, V a, V b) {
  return libm::hypot(d, a, b);
}

// Lane by lane in double; 2 ULP.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V erfinv(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(d, [](T v) { return static_cast<T>(libm::lane_erfinv(v)); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V digamma(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(d, [](T v) { return static_cast<T>(libm::lane_digamma(v)); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V lgamma(D d, V x) {
  if constexpr (kIsFloat<D>) return per_lane(d, [](float v) { return libm::lane_lgammaf(v); }, x);
  else return per_lane(d, [](double v) { return libm::lane_lgamma(v); }, x);
}

// float and double: every special case of C99. int64: wraps.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V pow(D d, V a, V b) {
  if constexpr (kIsInt<D>) return per_lane(d, [](int64_t x, int64_t e) { return libm::lane_ipow(x, e); }, a, b);
  else return libm::pow(d, a, b);
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V logaddexp(D d, V a, V b) {
  using T = hn::TFromD<D>;
  return per_lane(d, [](T x, T y) { return static_cast<T>(libm::lane_logaddexp(x, y, 1.0)); }, a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V logaddexp2(D d, V a, V b) {
  using T = hn::TFromD<D>;
  return per_lane(d, [](T x, T y) { return static_cast<T>(libm::lane_logaddexp(x, y, M_LN2)); }, a, b);
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
