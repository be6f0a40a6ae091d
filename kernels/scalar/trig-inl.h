// Trigonometric functions and their inverses. Coefficients: minimax polynomials of our own.
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

#if TRT_PRIM_VECTOR
namespace detail {

// Up to this magnitude the reduction below is exact to the last bit; beyond it libm does the work.
template <class D>
HWY_INLINE bool trig_in_range(D d, hn::Vec<D> a) {
  return hn::AllTrue(d, hn::Le(a, constant(d, kIsFloat<D> ? 0x1p20 : 0x1p29)));
}

// a >= 0 is q pi/2 + r, |r| <= pi/4. Gives sin(r), cos(r) and the two low bits of q (in the low bits of each lane).
template <class D, class V>
HWY_INLINE void sincos(D d, V a, V& s, V& c, hn::Vec<hn::RebindToSigned<D>>& q) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(a, constant(d, 0x1.45f306dc9c883p-1)));
  q = hn::BitCast(di, hn::Add(n, constant(d, kIsFloat<D> ? 0x1.8p23 : 0x1.8p52)));
  // The first step is exact because of the fused multiply-add: a - n hi is a multiple of hi's last bit, and small.
  V r, rs, rc;
  if constexpr (kIsFloat<D>) {
    r = hn::NegMulAdd(n, constant(d, 0x1.921fb6p+0), a);
    r = hn::NegMulAdd(n, constant(d, -0x1.777a5cp-25), r);
    r = hn::NegMulAdd(n, constant(d, -0x1.ee59dap-50), r);
    constexpr float kS[] = {-0x1.555546p-3f, 0x1.110756p-7f, -0x1.994b4p-13f};
    constexpr float kC[] = {0x1.55554ap-5f, -0x1.6c0c82p-10f, 0x1.99ff4ap-16f};
    const V z = hn::Mul(r, r);
    rs = poly(d, z, kS);
    rc = poly(d, z, kC);
  } else {
    r = hn::NegMulAdd(n, constant(d, 0x1.921fb54442d18p+0), a);
    r = hn::NegMulAdd(n, constant(d, 0x1.1a62633145c07p-54), r);
    r = hn::NegMulAdd(n, constant(d, -0x1.f1976b7ed8fbcp-110), r);
    constexpr double kS[] = {-0x1.5555555555549p-3, 0x1.111111110f841p-7,   -0x1.a01a019c0a25ep-13,
                             0x1.71de3570fad33p-19, -0x1.ae5e60c28fec0p-26, 0x1.5d915d825c1f2p-33};
    constexpr double kC[] = {0x1.555555555554cp-5,   -0x1.6c16c16c15140p-10, 0x1.a01a019cab74bp-16,
                             -0x1.27e4f8053412bp-22, 0x1.1ee9e890ef267p-29,  -0x1.8facd17290637p-37};
    const V z = hn::Mul(r, r);
    rs = poly(d, z, kS);
    rc = poly(d, z, kC);
  }
  const V z = hn::Mul(r, r), half_z = hn::Mul(constant(d, 0.5), z), one = constant(d, 1);
  s = hn::MulAdd(hn::Mul(r, z), rs, r);
  // 1 - z/2 + z^2 C(z), with the rounding error of 1 - z/2 put back.
  const V w = hn::Sub(one, half_z);
  c = hn::Add(w, hn::MulAdd(hn::Mul(z, z), rc, hn::Sub(hn::Sub(one, w), half_z)));
}

// Lanes whose bit `bit` of q is set, as the sign bit alone.
template <int kBit, class D, class VI>
HWY_INLINE hn::Vec<D> quadrant_sign(D d, VI q) {
  constexpr int kTop = sizeof(hn::TFromD<D>) * 8 - 1;
  return hn::And(hn::BitCast(d, hn::ShiftLeft<kTop - kBit>(q)), hn::SignBit(d));
}
template <class D, class VI>
HWY_INLINE hn::Mask<D> odd_quadrant(D d, VI q) {
  const hn::RebindToSigned<D> di;
  const auto one = hn::Set(di, 1);
  return hn::RebindMask(d, hn::Eq(hn::And(q, one), one));
}

// atan(t) for 0 <= t <= 1.
template <class D, class V>
HWY_INLINE V atan_poly(D d, V t) {
  const V z = hn::Mul(t, t);
  V p;
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {-0x1.555552p-2f, 0x1.9997fep-3f, -0x1.247508p-3f, 0x1.c50718p-4f, -0x1.693868p-4f,
                            0x1.14df7p-4f,   -0x1.70341p-5f, 0x1.74e8b6p-6f,  -0x1.e674fp-8f, 0x1.2981ccp-10f};
    p = poly(d, z, kC);
  } else {
    constexpr double kC[] = {-0x1.555555555554ep-2, 0x1.9999999998d45p-3, -0x1.249249245b0fap-3,  0x1.c71c71b744137p-4,
                             -0x1.745d15e5a8d8ep-4, 0x1.3b139ce282473p-4, -0x1.11103c2414623p-4,  0x1.e1d507b340844p-5,
                             -0x1.aedcd186f45b8p-5, 0x1.84bdd9b959c21p-5, -0x1.5f4079819378cp-5,  0x1.3946661fe05dfp-5,
                             -0x1.0d0d6665db7d6p-5, 0x1.add6e17ac77ecp-6, -0x1.32864ffd317e2p-6,  0x1.7590b98caa72fp-7,
                             -0x1.7365af9c270b9p-8, 0x1.1d7b336998202p-9, -0x1.3b79f50fb0491p-11, 0x1.bb4906744f433p-14,
                             -0x1.283384e894e5ep-17};
    p = poly(d, z, kC);
  }
  return hn::MulAdd(hn::Mul(t, z), p, t);
}

// asin(s) - s for s^2 = z <= 1/4.
template <class D, class V>
HWY_INLINE V asin_tail(D d, V s, V z) {
  V p;
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0x1.55554cp-3f, 0x1.333892p-4f, 0x1.6cabb4p-5f,
                            0x1.04ab12p-5f, 0x1.d7a6f4p-7f, 0x1.33d776p-5f};
    p = poly(d, z, kC);
  } else {
    constexpr double kC[] = {0x1.5555555555578p-3, 0x1.333333332df05p-4, 0x1.6db6db722c07ap-5, 0x1.f1c71a8b693bcp-6,
                             0x1.6e8bdfeb8254ep-6, 0x1.1c49ddb36631cp-6, 0x1.ca214adae1f68p-7, 0x1.75775c906c6fbp-7,
                             0x1.618bb2ae1cf36p-7, 0x1.e14dd5dcc4922p-9, 0x1.6505c46d28ad0p-6, -0x1.59fb71385b389p-6,
                             0x1.0be5d528e24d9p-5};
    p = poly(d, z, kC);
  }
  return hn::Mul(hn::Mul(s, z), p);
}

// hi + lo is pi/2 beyond the type's precision.
template <class D>
HWY_INLINE hn::Vec<D> half_pi_hi(D d) {
  return constant(d, kIsFloat<D> ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0);
}
template <class D>
HWY_INLINE hn::Vec<D> half_pi_lo(D d) {
  return constant(d, kIsFloat<D> ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54);
}

}  // namespace detail
#endif

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V sin(D d, V x) {
#if TRT_PRIM_VECTOR
  const V a = hn::Abs(x);
  if (HWY_UNLIKELY(!detail::trig_in_range(d, a))) return libm::sin(d, x);
  V s, c;
  hn::Vec<hn::RebindToSigned<D>> q;
  detail::sincos(d, a, s, c, q);
  const V sign = hn::Xor(detail::quadrant_sign<1>(d, q), hn::And(x, hn::SignBit(d)));
  return hn::Xor(hn::IfThenElse(detail::odd_quadrant(d, q), c, s), sign);
#else
  return libm::sin(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V cos(D d, V x) {
#if TRT_PRIM_VECTOR
  const V a = hn::Abs(x);
  if (HWY_UNLIKELY(!detail::trig_in_range(d, a))) return libm::cos(d, x);
  V s, c;
  hn::Vec<hn::RebindToSigned<D>> q;
  detail::sincos(d, a, s, c, q);
  const V sign = hn::Xor(detail::quadrant_sign<1>(d, q), detail::quadrant_sign<0>(d, q));
  return hn::Xor(hn::IfThenElse(detail::odd_quadrant(d, q), s, c), sign);
#else
  return libm::cos(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V tan(D d, V x) {
#if TRT_PRIM_VECTOR
  const V a = hn::Abs(x);
  if (HWY_UNLIKELY(!detail::trig_in_range(d, a))) return libm::tan(d, x);
  V s, c;
  hn::Vec<hn::RebindToSigned<D>> q;
  detail::sincos(d, a, s, c, q);
  const auto odd = detail::odd_quadrant(d, q);
  const V sign = hn::Xor(detail::quadrant_sign<0>(d, q), hn::And(x, hn::SignBit(d)));
  return hn::Xor(hn::Div(hn::IfThenElse(odd, c, s), hn::IfThenElse(odd, s, c)), sign);
#else
  return libm::tan(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V asin(D d, V x) {
#if TRT_PRIM_VECTOR
  // Above 1/2: asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2)).
  const V half = constant(d, 0.5), a = hn::Abs(x);
  const auto big = hn::Gt(a, half);
  const V z = hn::IfThenElse(big, hn::Mul(half, hn::Sub(constant(d, 1), a)), hn::Mul(a, a));
  const V s = hn::IfThenElse(big, hn::Sqrt(z), a);
  const V tail = detail::asin_tail(d, s, z);
  // The difference of the large parts is exact where it cancels.
  const V r =
      hn::Add(hn::Sub(detail::half_pi_hi(d), hn::Add(s, s)), hn::Sub(detail::half_pi_lo(d), hn::Add(tail, tail)));
  return hn::CopySign(hn::IfThenElse(big, r, hn::Add(s, tail)), x);
#else
  return libm::asin(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V acos(D d, V x) {
#if TRT_PRIM_VECTOR
  const V half = constant(d, 0.5), a = hn::Abs(x), zero = hn::Zero(d);
  const auto big = hn::Gt(a, half);
  const V z = hn::IfThenElse(big, hn::Mul(half, hn::Sub(constant(d, 1), a)), hn::Mul(a, a));
  const V s = hn::IfThenElse(big, hn::Sqrt(z), x);
  const V tail = detail::asin_tail(d, s, z);
  const V p = hn::Add(s, tail), twice = hn::Add(p, p);
  const V hi = detail::half_pi_hi(d), lo = detail::half_pi_lo(d);
  const V middle = hn::Sub(hi, hn::Sub(p, lo));
  const V left = hn::Sub(hn::Add(hi, hi), hn::Sub(twice, hn::Add(lo, lo)));
  return hn::IfThenElse(big, hn::IfThenElse(hn::Lt(x, zero), left, twice), middle);
#else
  return libm::acos(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V atan(D d, V x) {
#if TRT_PRIM_VECTOR
  const V one = constant(d, 1), a = hn::Abs(x);
  const auto big = hn::Gt(a, one);
  const V t = hn::IfThenElse(big, hn::Div(one, a), a);
  const V p = detail::atan_poly(d, t);
  const V r = hn::Sub(detail::half_pi_hi(d), hn::Sub(p, detail::half_pi_lo(d)));
  return hn::CopySign(hn::IfThenElse(big, r, p), x);
#else
  return libm::atan(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V atan2(D d, V y, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v, auto w) { return prim::atan2(dd, v, w); }, y, x);
  } else {
    const V zero = hn::Zero(d), a = hn::Abs(y), b = hn::Abs(x);
    const auto steep = hn::Gt(a, b);
    const V high = hn::IfThenElse(steep, a, b), low = hn::IfThenElse(steep, b, a);
    V t = hn::IfThenElse(hn::Eq(high, zero), zero, hn::Div(low, high));
    t = hn::IfThenElse(hn::Eq(low, constant_inf(d)), constant(d, 1), t);
    const V hi = detail::half_pi_hi(d), lo = detail::half_pi_lo(d);
    V r = detail::atan_poly(d, t);
    // pi/2 - r, then pi - r for the left half plane: hi - (r - lo) with the signs that the octant asks for.
    const auto left = signbit(d, x);
    const V steep_r = hn::Sub(hi, hn::Sub(hn::IfThenElse(left, hn::Neg(r), r), lo));
    const V left_r = hn::Sub(hn::Add(hi, hi), hn::Sub(r, hn::Add(lo, lo)));
    r = hn::IfThenElse(steep, steep_r, hn::IfThenElse(left, left_r, r));
    r = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), constant_nan(d), r);
    return hn::CopySign(r, y);
  }
#else
  return libm::atan2(d, y, x);
#endif
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
