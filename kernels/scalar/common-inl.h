// Helpers of the primitives: lane types, polynomials, exponent arithmetic, and the scalar fallback per lane.
#if defined(TRT_SCALAR_COMMON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_COMMON_INL_H_
#undef TRT_SCALAR_COMMON_INL_H_
#else
#define TRT_SCALAR_COMMON_INL_H_
#endif

#include <hwy/highway.h>
#include <math.h>  // C's names: see per_lane
#include <stddef.h>
#include <stdint.h>

// True where the long primitives are vector code. The portable targets have neither a fused multiply-add nor wide
// registers, so there they call libm lane by lane: more accurate, smaller, and no slower.
#ifndef TRT_PRIM_VECTOR
#define TRT_PRIM_VECTOR (HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR)
#endif

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kIsFloat = sizeof(hn::TFromD<D>) == 4;
template <class D>
inline constexpr bool kIsInt = !hwy::IsFloat<hn::TFromD<D>>();

// f(lane of x...) for every lane. For functions that are rare or long; f takes and returns scalars.
// Only functions of C's libm may be called in f: an inline function of the C++ library would be compiled for this
// instruction set under a name that other translation units share.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> per_lane(D d, F f, V... x) {
  using T = hn::TFromD<D>;
  constexpr size_t kArgs = sizeof...(V);
  HWY_ALIGN T in[kArgs][HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T out[HWY_MAX_BYTES / sizeof(T)];
  size_t k = 0;
  (hn::Store(x, d, in[k++]), ...);
  const size_t n = hn::Lanes(d);
  for (size_t i = 0; i < n; ++i) {
    if constexpr (kArgs == 1)
      out[i] = f(in[0][i]);
    else
      out[i] = f(in[0][i], in[1][i]);
  }
  return hn::Load(d, out);
}

#if TRT_PRIM_VECTOR
// A primitive that exists for float through double: promotes both halves, applies f(double tag, vectors...), demotes.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> via_double(D d, F f, V... x) {
  const hn::Repartition<double, D> dd;
  const hn::Half<D> dh;
  const auto lo = f(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x))...);
  const auto hi = f(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x))...);
  return hn::Combine(d, hn::DemoteTo(dh, hi), hn::DemoteTo(dh, lo));
}
#endif

// c[0] + c[1] x + ... by Horner's rule.
template <class D, class V, size_t N>
HWY_INLINE V poly(D d, V x, const hn::TFromD<D> (&c)[N]) {
  V y = hn::Set(d, c[N - 1]);
#pragma GCC unroll 32
  for (size_t i = N - 1; i-- > 0;) y = hn::MulAdd(y, x, hn::Set(d, c[i]));
  return y;
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
