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

#if TRT_PRIM_VECTOR
namespace detail {

// erfc(a) for a >= 0 in double: exp(-a^2) P(t) / (1 + 2a), where P approximates exp(a^2) erfc(a) (1 + 2a) in
// t = (a - 4) / (a + 4).
template <class D, class V>
HWY_NOINLINE V erfc_positive(D d, V a) {
  constexpr double kC[] = {
      0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a29cp-3,  0x1.f7f5df66fd71ep-7,   0x1.16ecefcfa6043p-4,
      -0x1.9ddb23c3e8a4dp-4,  0x1.7fee004df6ac8p-4,   -0x1.0fb06dfe58cb4p-4,  0x1.3079edf9f9a17p-5,
      -0x1.096238807764ap-6,  0x1.49c67191ab5fbp-8,   -0x1.8d4a9feef5802p-11, -0x1.a1de83d136273p-13,
      0x1.3be0d2dd60249p-13,  -0x1.9969d5dcdefa5p-16, -0x1.78a87287ba843p-17, 0x1.7fae61d7e1eebp-18,
      0x1.44392624f7caep-22,  -0x1.bfe11aaa99964p-21, 0x1.0bf5916065699p-24,  0x1.ec0954e4a90e8p-24,
      -0x1.0b4845ffd2616p-27, -0x1.cbf251a4a8713p-27, -0x1.d8213895db11cp-30};
  a = hn::Min(constant(d, 28.0), a);
  const V one = constant(d, 1), four = constant(d, 4);
  const V t = hn::Div(hn::Sub(a, four), hn::Add(a, four));
  const V p = hn::Div(poly(d, t, kC), hn::Add(hn::Add(a, a), one));
  const V square = hn::Mul(a, a), lost = hn::MulSub(a, a, square);
  const V e = exp_inner(d, exp_clamp_low(d, hn::Neg(square)));
  return hn::Mul(e, hn::NegMulAdd(lost, p, p));
}

// erf(x) for |x| <= 1, as x plus x times a polynomial in x^2.
template <class D, class V>
HWY_INLINE V erf_small(D d, V x) {
  const V z = hn::Mul(x, x);
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2d2p-4f,  -0x1.b7fbb4p-6f,
                            0x1.5419f6p-8f, -0x1.a485ecp-11f, 0x1.4ae4cep-14f};
    return hn::MulAdd(x, poly(d, z, kC), x);
  } else {
    constexpr double kC[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b34p-4,
                             -0x1.b82ce31284f37p-6,  0x1.565bcd0dbd8f8p-8,   -0x1.c02db3db49119p-11,
                             0x1.f9a321e4aee0fp-14,  -0x1.f4d1e4342c0c9p-17, 0x1.b9df3057322f8p-20,
                             -0x1.5f1f40d9e3982p-23, 0x1.f7b99c9b7bde6p-27,  -0x1.38ac214271478p-30,
                             0x1.062759a4363d1p-34};
    return hn::MulAdd(x, poly(d, z, kC), x);
  }
}

// e^(y log x) in double for float arguments x >= 0: the error of the logarithm, 2^-52 of at most 104, is far below
// float's precision.
template <class D, class V>
HWY_NOINLINE V pow_positive(D d, V x, V y) {
  return prim::exp(d, hn::Mul(y, prim::log(d, x)));
}

}  // namespace detail
#endif

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V erf(D d, V x) {
#if TRT_PRIM_VECTOR
  const V one = constant(d, 1), a = hn::Abs(x);
  const auto small = hn::Lt(a, one);
  const V near = detail::erf_small(d, x);
  V far;
  if constexpr (kIsFloat<D>) {
    // 1 - 2^L(a) with L = log2(erfc) on [1, 4]; erf is 1 beyond.
    constexpr float kC[] = {-0x1.f751a2p-12f, -0x1.a047bp+0f,  -0x1.d7559p-1f, -0x1.30c3b8p-3f,
                            0x1.024f1cp-5f,   -0x1.1717d4p-8f, 0x1.1a8c2ep-12f};
    const V l = poly(d, hn::Min(constant(d, 4.0), a), kC);
    const V n = hn::Round(l);
    const V e = detail::exp_poly(d, hn::Mul(hn::Sub(l, n), constant(d, M_LN2)));
    far = hn::NegMulAdd(e, detail::pow2(d, hn::Max(constant(d, -60.0), n)), one);
  } else {
    if (hn::AllTrue(d, small)) return near;
    far = hn::Sub(one, detail::erfc_positive(d, a));
  }
  return hn::IfThenElse(small, near, hn::CopySign(far, x));
#else
  return libm::erf(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V erfc(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::erfc(dd, v); }, x);
  } else {
    const V r = detail::erfc_positive(d, hn::Abs(x));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(constant(d, 2), r), r);
  }
#else
  return libm::erfc(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V hypot(D d, V a, V b) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    // No square of a float overflows or underflows in double.
    const V r = via_double(
        d, [](auto, auto v, auto w) { return hn::Sqrt(hn::MulAdd(v, v, hn::Mul(w, w))); }, a, b);
    return hn::IfThenElse(hn::Or(isinf(d, a), isinf(d, b)), constant_inf(d), r);
  }
#endif
  return libm::hypot(d, a, b);
}

// The next five: lane by lane in double.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V erfinv(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v) { return static_cast<T>(libm::lane_erfinv(v)); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V digamma(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v) { return static_cast<T>(libm::lane_digamma(v)); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V trigamma(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v) { return static_cast<T>(libm::lane_trigamma(v)); }, x);
}
// The n-th derivative of digamma; n holds integers from 0 on.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V polygamma(D d, V n, V x) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T m, T v) { return static_cast<T>(libm::lane_polygamma(m, v)); }, n, x);
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V lgamma(D d, V x) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v) { return static_cast<T>(libm::lane_lgamma(v)); }, x);
}

// float and double: every special case of C99. int64: wraps.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V pow(D d, V a, V b) {
  if constexpr (kIsInt<D>) {
    return per_lane(
        d, [](int64_t x, int64_t e) { return libm::lane_ipow(x, e); }, a, b);
  } else {
#if TRT_PRIM_VECTOR
    // Squares and the like come as a constant exponent; the products are within 1 ULP of the correctly rounded power.
    if (hn::AllTrue(d, hn::Eq(b, constant(d, 2)))) return hn::Mul(a, a);
    if (hn::AllTrue(d, hn::Eq(b, constant(d, 3)))) return hn::Mul(hn::Mul(a, a), a);
    if (hn::AllTrue(d, hn::Eq(b, constant(d, 1)))) return a;
    if (hn::AllTrue(d, hn::Eq(b, constant(d, -1)))) return hn::Div(constant(d, 1), a);
    if (hn::AllTrue(d, hn::Eq(b, constant(d, -2)))) return hn::Div(constant(d, 1), hn::Mul(a, a));
    if (hn::AllTrue(d, hn::Eq(hn::Abs(b), constant(d, 0.5)))) {
      // Unlike the root, the power of -0 and -infinity is not negative and not NaN.
      const V infinity = hn::Inf(d);
      const V root = hn::Sqrt(hn::Add(hn::IfThenElse(hn::Eq(a, hn::Neg(infinity)), infinity, a), hn::Zero(d)));
      return hn::IfThenElse(hn::Lt(b, hn::Zero(d)), hn::Div(constant(d, 1), root), root);
    }
    if constexpr (kIsFloat<D>) {
      const V one = constant(d, 1), zero = hn::Zero(d), half = constant(d, 0.5), abs_a = hn::Abs(a);
      V r = via_double(
          d, [](auto dd, auto x, auto y) { return detail::pow_positive(dd, x, y); }, abs_a, b);
      // b / 2 is an integer for every even b; an odd b is an integer and not even. Infinities count as even.
      const V half_b = hn::Mul(b, half);
      const auto even = hn::Eq(hn::Trunc(half_b), half_b);
      const auto odd = mask_and(d, hn::Eq(hn::Trunc(b), b), hn::Not(even));
      r = hn::Xor(r, hn::IfThenElseZero(odd, hn::And(a, hn::SignBit(d))));
      const auto fraction = mask_and(d, hn::Ne(hn::Trunc(b), b), mask_and(d, hn::Lt(a, zero), isfinite(d, a)));
      r = hn::IfThenElse(fraction, constant_nan(d), r);
      // 1 to anything, anything to 0, and -1 to an infinity are 1, whatever NaN is in it.
      const auto unit = hn::Or(hn::Eq(a, one), mask_and(d, hn::Eq(abs_a, one), isinf(d, b)));
      return hn::IfThenElse(hn::Or(unit, hn::Eq(b, zero)), one, r);
    }
#endif
    return libm::pow(d, a, b);
  }
}

#if TRT_PRIM_VECTOR
namespace detail {

// max(a, b) and -|a - b|; equal infinities differ by 0.
template <class D, class V>
HWY_INLINE V larger_and_gap(D d, V a, V b, V& gap) {
  gap = hn::IfThenZeroElse(hn::Eq(a, b), hn::Neg(hn::Abs(hn::Sub(a, b))));
  return maximum(d, a, b);
}

}  // namespace detail
#endif

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V logaddexp(D d, V a, V b) {
#if TRT_PRIM_VECTOR
  V gap;
  const V m = detail::larger_and_gap(d, a, b, gap);
  return hn::Add(m, prim::log1p(d, detail::exp_inner(d, detail::exp_clamp_low(d, gap))));
#else
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T x, T y) { return static_cast<T>(libm::lane_logaddexp(x, y, 1.0)); }, a, b);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V logaddexp2(D d, V a, V b) {
#if TRT_PRIM_VECTOR
  V gap;
  const V m = detail::larger_and_gap(d, a, b, gap);
  return hn::MulAdd(prim::log1p(d, prim::exp2(d, gap)), constant(d, M_LOG2E), m);
#else
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T x, T y) { return static_cast<T>(libm::lane_logaddexp(x, y, M_LN2)); }, a, b);
#endif
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
