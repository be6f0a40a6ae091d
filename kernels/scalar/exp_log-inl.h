// Exponentials, logarithms and hyperbolic functions.
#if defined(TRT_SCALAR_EXP_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_EXP_LOG_INL_H_
#undef TRT_SCALAR_EXP_LOG_INL_H_
#else
#define TRT_SCALAR_EXP_LOG_INL_H_
#endif

#include "kernels/scalar/arith-inl.h"
#include "kernels/scalar/libm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  return libm::exp(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2(D d, V x) {
  return libm::exp2(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1(D d, V x) {
  return libm::expm1(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log(D d, V x) {
  return libm::log(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log2(D d, V x) {
  return libm::log2(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log10(D d, V x) {
  return libm::log10(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p(D d, V x) {
  return libm::log1p(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sinh(D d, V x) {
  return libm::sinh(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V cosh(D d, V x) {
  return libm::cosh(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  return libm::tanh(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V asinh(D d, V x) {
  return libm::asinh(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V acosh(D d, V x) {
  return libm::acosh(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atanh(D d, V x) {
  return libm::atanh(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(d, [](T v) { return static_cast<T>(libm::lane_sigmoid(v)); }, x);
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
