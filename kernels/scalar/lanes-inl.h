// Primitives that are functions of numbers (special_functions.h), lane by lane in double, for every target.
#if defined(TRT_SCALAR_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_LANES_INL_H_
#undef TRT_SCALAR_LANES_INL_H_
#else
#define TRT_SCALAR_LANES_INL_H_
#endif

#include "kernels/scalar/common-inl.h"
#include "kernels/scalar/special_functions.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {

#define TRT_LANES1(name)                                              \
  template <class D>                                                  \
  HWY_NOINLINE hn::Vec<D> name(D d, hn::Vec<D> x) {                   \
    using T = hn::TFromD<D>;                                          \
    return per_lane(                                                  \
        d, [](T v) { return static_cast<T>(special::name(v)); }, x);  \
  }
#define TRT_LANES2(name)                                                        \
  template <class D>                                                            \
  HWY_NOINLINE hn::Vec<D> name(D d, hn::Vec<D> x, hn::Vec<D> y) {               \
    using T = hn::TFromD<D>;                                                    \
    return per_lane(                                                            \
        d, [](T v, T w) { return static_cast<T>(special::name(v, w)); }, x, y); \
  }
TRT_LANES1(erfcx)
TRT_LANES1(log_ndtr)
TRT_LANES1(ndtri)
TRT_LANES1(i0)
TRT_LANES1(i1)
TRT_LANES1(i0e)
TRT_LANES1(i1e)
TRT_LANES1(bessel_k0)
TRT_LANES1(bessel_k1)
TRT_LANES1(bessel_k0e)
TRT_LANES1(bessel_k1e)
TRT_LANES1(bessel_j0)
TRT_LANES1(bessel_j1)
TRT_LANES1(bessel_y0)
TRT_LANES1(bessel_y1)
TRT_LANES1(spherical_j0)
TRT_LANES1(airy_ai)
TRT_LANES2(zeta)
TRT_LANES2(igamma)
TRT_LANES2(igammac)
TRT_LANES2(chebyshev_t)
TRT_LANES2(chebyshev_u)
TRT_LANES2(chebyshev_v)
TRT_LANES2(chebyshev_w)
TRT_LANES2(laguerre_l)
TRT_LANES2(legendre_p)
TRT_LANES2(gcd)
TRT_LANES2(lcm)
#undef TRT_LANES1
#undef TRT_LANES2

// Above these degrees Hermite's polynomials are NaN, as PyTorch's are.
template <class D>
inline constexpr double kHermiteLimit = kIsFloat<D> ? 128 : 512;

template <class D>
HWY_NOINLINE hn::Vec<D> hermite_h(D d, hn::Vec<D> x, hn::Vec<D> n) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v, T w) { return static_cast<T>(special::hermite_h(v, w, kHermiteLimit<D>)); }, x, n);
}
template <class D>
HWY_NOINLINE hn::Vec<D> hermite_he(D d, hn::Vec<D> x, hn::Vec<D> n) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v, T w) { return static_cast<T>(special::hermite_he(v, w, kHermiteLimit<D>)); }, x, n);
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
