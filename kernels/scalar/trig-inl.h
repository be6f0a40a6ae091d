// Trigonometric functions and their inverses.
#if defined(TRT_SCALAR_TRIG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_TRIG_INL_H_
#undef TRT_SCALAR_TRIG_INL_H_
#else
#define TRT_SCALAR_TRIG_INL_H_
#endif

#include "kernels/scalar/arith-inl.h"
#include "kernels/scalar/libm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sin(D d, V x) {
  return libm::sin(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V cos(D d, V x) {
  return libm::cos(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tan(D d, V x) {
  return libm::tan(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V asin(D d, V x) {
  return libm::asin(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V acos(D d, V x) {
  return libm::acos(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan(D d, V x) {
  return libm::atan(d, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V atan2(D d, V y, V x) {
  return libm::atan2(d, y, x);
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
