// Exponentials, logarithms, hyperbolic functions, sigmoid. Coefficients: minimax polynomials of our own (Remez exchange
// in 60 digits) over the reduced ranges named beside them.
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

#if TRT_PRIM_VECTOR
namespace detail {

// The layout of a float type and constants that both types need.
template <typename T>
struct Ieee;
template <>
struct Ieee<float> {
  static constexpr int kMantissa = 23;
  static constexpr int32_t kBias = 127;
  static constexpr int32_t kMantissaMask = 0x7fffff;
  static constexpr int32_t kSqrtHalfBits = 0x3f3504f3;
  static constexpr float kMinNormal = 0x1p-126f;
  static constexpr float kLn2Hi = 0x1.62ep-1f, kLn2Lo = 0x1.0bfbe8p-15f;  // kLn2Hi * exponent is exact
};
template <>
struct Ieee<double> {
  static constexpr int kMantissa = 52;
  static constexpr int64_t kBias = 1023;
  static constexpr int64_t kMantissaMask = 0xfffffffffffff;
  static constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  static constexpr double kMinNormal = 0x1p-1022;
  static constexpr double kLn2Hi = 0x1.62e42fefa38p-1, kLn2Lo = 0x1.ef35793c7673p-45;
};

// The low mantissa bits of (n + round_magic) are the integer n in two's complement, for |n| < 2^21 (float), 2^50
// (double).
template <class D>
HWY_INLINE hn::Vec<D> round_magic(D d) {
  return constant(d, kIsFloat<D> ? 0x1.8p23 : 0x1.8p52);
}

// 2^n for an integral n whose result is normal.
template <class D, class V>
HWY_INLINE V pow2(D d, V n) {
  using F = Ieee<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::Add(hn::BitCast(di, hn::Add(n, round_magic(d))), hn::Set(di, F::kBias));
  return hn::BitCast(d, hn::ShiftLeft<F::kMantissa>(bits));
}

// y * 2^n for an integral n, |n| < 2000: overflow to infinity and rounding to subnormals as IEEE says.
#if HWY_TARGET == HWY_AVX3
HWY_INLINE hn::Vec512<float> scale(hn::ScalableTag<float>, hn::Vec512<float> y, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(y.raw, n.raw)};
}
HWY_INLINE hn::Vec512<double> scale(hn::ScalableTag<double>, hn::Vec512<double> y, hn::Vec512<double> n) {
  return hn::Vec512<double>{_mm512_scalef_pd(y.raw, n.raw)};
}
#else
template <class D, class V>
HWY_INLINE V scale(D d, V y, V n) {
  const V half = hn::Floor(hn::Mul(n, constant(d, 0.5)));
  return hn::Mul(hn::Mul(y, pow2(d, half)), pow2(d, hn::Sub(n, half)));
}
#endif

// e^r - 1 for |r| <= ln(2)/2; the error is relative to r.
template <class D, class V>
HWY_INLINE V expm1_poly(D d, V r) {
  V q;
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0x1p-1f, 0x1.555556p-3f, 0x1.5554aep-5f, 0x1.11109p-7f, 0x1.6d74cep-10f, 0x1.a1a1c6p-13f};
    q = poly(d, r, kC);
  } else {
    constexpr double kC[] = {0x1p-1,
                             0x1.5555555555559p-3,
                             0x1.555555555555ap-5,
                             0x1.111111110f698p-7,
                             0x1.6c16c16c14440p-10,
                             0x1.a01a01afef07cp-13,
                             0x1.a01a01b0bca3ep-16,
                             0x1.71ddf83827d42p-19,
                             0x1.27e4c5943aaacp-22,
                             0x1.af5ef30846ac4p-26,
                             0x1.1f95779460083p-29};
    q = poly(d, r, kC);
  }
  return hn::MulAdd(hn::Mul(r, r), q, r);
}
// e^r for |r| <= ln(2)/2.
template <class D, class V>
HWY_INLINE V exp_poly(D d, V r) {
  V q;
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0x1p-1f, 0x1.55548ep-3f, 0x1.55545ep-5f, 0x1.123b92p-7f, 0x1.6db476p-10f};
    q = poly(d, r, kC);
  } else {
    constexpr double kC[] = {0x1.000000000000cp-1,  0x1.5555555555561p-3,  0x1.555555554ffeap-5,  0x1.111111110d60bp-7,
                             0x1.6c16c185b70aap-10, 0x1.a01a01baf1f04p-13, 0x1.a0199667ea133p-16, 0x1.71dddfa8be634p-19,
                             0x1.28b072b1dc5afp-22, 0x1.af85bf8edc914p-26};
    q = poly(d, r, kC);
  }
  const V one = constant(d, 1);
  return hn::MulAdd(hn::MulAdd(q, r, one), r, one);
}

// x = n ln(2) + r, n integral.
template <class D, class V>
HWY_INLINE V exp_reduce(D d, V x, V& n) {
  n = hn::Round(hn::Mul(x, constant(d, 0x1.71547652b82fep+0)));
  const V hi = constant(d, kIsFloat<D> ? 0x1.62e43p-1 : 0x1.62e42fefa39efp-1);
  const V lo = constant(d, kIsFloat<D> ? -0x1.05c61p-29 : 0x1.abc9e3b39803fp-56);
  return hn::NegMulAdd(n, lo, hn::NegMulAdd(n, hi, x));
}

// Results are zero below, infinite above. (Min and Max return the second operand when it is NaN.)
template <class D, class V>
HWY_INLINE V exp_clamp_low(D d, V x) {
  return hn::Max(constant(d, kIsFloat<D> ? -104.0 : -746.0), x);
}
template <class D, class V>
HWY_INLINE V exp_clamp_high(D d, V x) {
  return hn::Min(constant(d, kIsFloat<D> ? 89.0 : 710.0), x);
}
// e^x without clamping.
template <class D, class V>
HWY_INLINE V exp_inner(D d, V x) {
  V n;
  const V r = exp_reduce(d, x, n);
  return scale(d, exp_poly(d, r), n);
}
// e^x - 1 for x from -40 (-20 for float) to where e^x nears the largest finite number.
template <class D, class V>
HWY_INLINE V expm1_inner(D d, V x) {
  V n;
  const V r = exp_reduce(d, x, n);
  const V s = pow2(d, n);
  return hn::MulAdd(s, expm1_poly(d, r), hn::Sub(s, constant(d, 1)));
}

// x = m * 2^e, m in [sqrt(1/2), sqrt(2)), x positive and normal. Also the exponent field of 2^e.
template <class D, class V>
HWY_INLINE V split(D d, V x, V& e, hn::Vec<hn::RebindToSigned<D>>& field) {
  using F = Ieee<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto one = static_cast<decltype(F::kMantissaMask)>(F::kBias) << F::kMantissa;
  const auto u = hn::Add(hn::BitCast(di, x), hn::Set(di, one - F::kSqrtHalfBits));
  field = hn::BitCast(di, hn::ShiftRight<F::kMantissa>(hn::BitCast(du, u)));
  // As the low bits of 2^23 (2^52) the field is an integer, without a conversion instruction.
  const V base = constant(d, kIsFloat<D> ? 0x1p23 : 0x1p52);
  e = hn::Sub(hn::Or(hn::BitCast(d, field), base), hn::Add(base, constant(d, F::kBias)));
  return hn::BitCast(d, hn::Add(hn::And(u, hn::Set(di, F::kMantissaMask)), hn::Set(di, F::kSqrtHalfBits)));
}

// log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1], plus e * (the low part of ln 2).
template <class D, class V>
HWY_INLINE V log_tail(D d, V f, V e_lo) {
  const V f2 = hn::Mul(f, f);
  if constexpr (kIsFloat<D>) {
    constexpr float kC[] = {0x1.555546p-2f, -0x1.ffffeep-3f, 0x1.99a546p-3f,  -0x1.5562ep-3f, 0x1.2332c2p-3f,
                            -0x1.fb439p-4f, 0x1.e650ecp-4f,  -0x1.e2e7eep-4f, 0x1.1b4036p-4f};
    const V cubic = hn::MulAdd(hn::Mul(f2, f), poly(d, f, kC), e_lo);
    return hn::MulAdd(constant(d, -0.5), f2, cubic);
  } else {
    // s = f / (2 + f): log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R(s^2)).
    constexpr double kC[] = {0x1.5555555555593p-1, 0x1.999999997fb30p-2, 0x1.2492494217bd4p-2, 0x1.c71c51e7dfa6bp-3,
                             0x1.7466463171805p-3, 0x1.39a0f48580f89p-3, 0x1.2f0d936b30712p-3};
    const V s = hn::Div(f, hn::Add(f, constant(d, 2))), z = hn::Mul(s, s);
    const V half_f2 = hn::Mul(constant(d, 0.5), f2);
    const V t = hn::MulAdd(s, hn::MulAdd(z, poly(d, z, kC), half_f2), e_lo);
    return hn::Sub(t, half_f2);
  }
}

// The logarithm's special cases on top of r = log(x).
template <class D, class V>
HWY_INLINE V log_edges(D d, V x, V r) {
  const V zero = hn::Zero(d);
  r = hn::IfThenElse(hn::Lt(x, constant_inf(d)), r, x);
  r = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(constant_inf(d)), r);
  return hn::IfThenElse(hn::Lt(x, zero), constant_nan(d), r);
}

// f and e with x = (1 + f) 2^e for a positive finite x, subnormal ones included.
template <class D, class V>
HWY_INLINE V log_reduce(D d, V x, V& e) {
  using F = Ieee<hn::TFromD<D>>;
  constexpr int kShift = F::kMantissa + 2;
  const auto small = hn::Lt(x, constant(d, F::kMinNormal));
  hn::Vec<hn::RebindToSigned<D>> field;
  const V scaled = hn::Mul(x, constant(d, kIsFloat<D> ? 0x1p25 : 0x1p54));
  const V m = split(d, hn::IfThenElse(small, scaled, x), e, field);
  e = hn::Sub(e, hn::IfThenElseZero(small, constant(d, kShift)));
  return hn::Sub(m, constant(d, 1));
}

}  // namespace detail
#endif

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
#if TRT_PRIM_VECTOR
  return detail::exp_inner(d, detail::exp_clamp_high(d, detail::exp_clamp_low(d, x)));
#else
  return libm::exp(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V exp2(D d, V x) {
#if TRT_PRIM_VECTOR
  x = hn::Min(constant(d, kIsFloat<D> ? 129.0 : 1025.0), hn::Max(constant(d, kIsFloat<D> ? -151.0 : -1076.0), x));
  const V n = hn::Round(x);
  const V r = hn::Mul(hn::Sub(x, n), constant(d, M_LN2));
  return detail::scale(d, detail::exp_poly(d, r), n);
#else
  return libm::exp2(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V expm1(D d, V x) {
#if TRT_PRIM_VECTOR
  const V low = hn::Max(constant(d, kIsFloat<D> ? -20.0 : -40.0), x);
  const V c = detail::exp_clamp_high(d, low);
  V n;
  const V r = detail::exp_reduce(d, c, n);
  // 2^n overflows for the last n that has finite results: halve it, and double the result.
  const auto last = hn::Gt(n, constant(d, kIsFloat<D> ? 127.0 : 1023.0));
  const V one = constant(d, 1);
  n = hn::IfThenElse(last, hn::Sub(n, one), n);
  const V s = detail::pow2(d, n);
  const V y = hn::MulAdd(s, detail::expm1_poly(d, r), hn::Sub(s, hn::IfThenElse(last, constant(d, 0.5), one)));
  return hn::CopySign(hn::IfThenElse(last, hn::Add(y, y), y), x);
#else
  return libm::expm1(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
#if TRT_PRIM_VECTOR
  // e = exp(-|x|) never overflows, so that both tails keep their relative accuracy.
  // For x < 0, e / (1 + e) is written as e - e^2 / (1 + e), which does not see the rounding of 1 + e.
  const V e = detail::exp_inner(d, detail::exp_clamp_low(d, hn::Neg(hn::Abs(x))));
  const V one = constant(d, 1), q = hn::Div(one, hn::Add(one, e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NegMulAdd(hn::Mul(e, e), q, e), q);
#else
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T v) { return static_cast<T>(libm::lane_sigmoid(v)); }, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
#if TRT_PRIM_VECTOR
  // It is 1 from the clamp on.
  const V a = hn::Min(constant(d, kIsFloat<D> ? 10.0 : 20.0), hn::Abs(x)), two = constant(d, 2);
  if constexpr (kIsFloat<D>) {
    // x + x^3 P(x^2) below 9/16; above 1 - 2 / (e^(2x) + 1).
    constexpr float kC[] = {-0x1.555548p-2f, 0x1.110c84p-3f, -0x1.b90bccp-5f, 0x1.58415ap-6f, -0x1.95550ap-8f};
    V n;
    const V r = detail::exp_reduce(d, hn::Add(a, a), n);
    const V e = hn::Mul(detail::exp_poly(d, r), detail::pow2(d, n)), one = constant(d, 1);
    const V far = hn::Sub(one, hn::Div(two, hn::Add(e, one)));
    const V z = hn::Mul(a, a), near = hn::MulAdd(hn::Mul(a, z), poly(d, z, kC), a);
    return hn::CopySign(hn::IfThenElse(hn::Lt(a, constant(d, 0.5625)), near, far), x);
  } else {
    // With t = e^(2|x|) - 1, tanh|x| = t / (t + 2).
    const V t = detail::expm1_inner(d, hn::Add(a, a));
    return hn::CopySign(hn::Div(t, hn::Add(t, two)), x);
  }
#else
  return libm::tanh(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V log(D d, V x) {
#if TRT_PRIM_VECTOR
  using F = detail::Ieee<hn::TFromD<D>>;
  V e;
  const V f = detail::log_reduce(d, x, e);
  const V tail = detail::log_tail(d, f, hn::Mul(e, constant(d, F::kLn2Lo)));
  return detail::log_edges(d, x, hn::MulAdd(e, constant(d, F::kLn2Hi), hn::Add(f, tail)));
#else
  return libm::log(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V log1p(D d, V x) {
#if TRT_PRIM_VECTOR
  using F = detail::Ieee<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const V one = constant(d, 1), u = hn::Add(one, x);
  V e;
  hn::Vec<decltype(di)> field;
  const V m = detail::split(d, u, e, field);
  // With s = 2^-e, 1 + x = (1 + f) 2^e for f = x s + (s - 1), rounded once: the rounding of 1 + x does not matter. For
  // a large x the 1 does not matter, and s could not be represented.
  const V s = hn::BitCast(d, hn::ShiftLeft<F::kMantissa>(hn::Sub(hn::Set(di, 2 * F::kBias), field)));
  const auto large = hn::Gt(x, constant(d, kIsFloat<D> ? 0x1p26 : 0x1p55));
  const V f = hn::IfThenElse(large, hn::Sub(m, one), hn::MulAdd(x, s, hn::Sub(s, one)));
  const V tail = detail::log_tail(d, f, hn::Mul(e, constant(d, F::kLn2Lo)));
  return detail::log_edges(d, u, hn::CopySign(hn::MulAdd(e, constant(d, F::kLn2Hi), hn::Add(f, tail)), x));
#else
  return libm::log1p(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V log2(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::log2(dd, v); }, x);
  } else {
    V e;
    const V f = detail::log_reduce(d, x, e);
    const V l = hn::Add(f, detail::log_tail(d, f, hn::Zero(d)));
    const V lo = hn::MulAdd(l, constant(d, 0x1.777d0ffda0d24p-56), e);
    return detail::log_edges(d, x, hn::MulAdd(l, constant(d, 0x1.71547652b82fep+0), lo));
  }
#else
  return libm::log2(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V log10(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::log10(dd, v); }, x);
  } else {
    V e;
    const V f = detail::log_reduce(d, x, e);
    const V l = hn::Add(f, detail::log_tail(d, f, hn::Zero(d)));
    // log10(2) = hi + lo, and e * hi is exact.
    const V lo = hn::MulAdd(l, constant(d, 0x1.95355baaafad3p-57), hn::Mul(e, constant(d, 0x1.fef311f12b358p-46)));
    const V y = hn::MulAdd(l, constant(d, 0x1.bcb7b1526e50ep-2), lo);
    return detail::log_edges(d, x, hn::MulAdd(e, constant(d, 0x1.34413509f78p-2), y));
  }
#else
  return libm::log10(d, x);
#endif
}

// ---- Hyperbolic functions; float goes through double.

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V sinh(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::sinh(dd, v); }, x);
  } else {
    const V half = constant(d, 0.5), one = constant(d, 1), a = hn::Abs(x);
    // (t + t / (t + 1)) / 2 with t = e^a - 1; where t + 1 is t the square of e^(a/2) keeps clear of overflow.
    const V t = detail::expm1_inner(d, hn::Min(constant(d, 40.0), a));
    const V small = hn::Mul(half, hn::Add(t, hn::Div(t, hn::Add(t, one))));
    const V w = prim::exp(d, hn::Mul(half, a));
    const V y = hn::IfThenElse(hn::Gt(a, constant(d, 30.0)), hn::Mul(hn::Mul(half, w), w), small);
    return hn::CopySign(y, x);
  }
#else
  return libm::sinh(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V cosh(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::cosh(dd, v); }, x);
  } else {
    const V half = constant(d, 0.5), a = hn::Abs(x);
    const V w = prim::exp(d, hn::Mul(half, a));
    const V e = hn::Mul(w, w);
    const V small = hn::MulAdd(half, e, hn::Div(half, e));
    return hn::IfThenElse(hn::Gt(a, constant(d, 30.0)), hn::Mul(hn::Mul(half, w), w), small);
  }
#else
  return libm::cosh(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V asinh(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::asinh(dd, v); }, x);
  } else {
    const V one = constant(d, 1), a = hn::Abs(x), a2 = hn::Mul(a, a);
    const auto large = hn::Gt(a, constant(d, 0x1p28));
    const V t = hn::Add(a, hn::Div(a2, hn::Add(one, hn::Sqrt(hn::Add(a2, one)))));
    // For a large a: log(2a), as log1p(a - 1) + log(2).
    const V l = prim::log1p(d, hn::IfThenElse(large, hn::Sub(a, one), t));
    return hn::CopySign(hn::Add(l, hn::IfThenElseZero(large, constant(d, M_LN2))), x);
  }
#else
  return libm::asinh(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V acosh(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::acosh(dd, v); }, x);
  } else {
    const V one = constant(d, 1), t = hn::Sub(x, one);
    const auto large = hn::Gt(x, constant(d, 0x1p28));
    const V arg = hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(t, constant(d, 2)))));
    const V l = prim::log1p(d, hn::IfThenElse(large, t, arg));
    const V y = hn::Add(l, hn::IfThenElseZero(large, constant(d, M_LN2)));
    return hn::IfThenElse(hn::Lt(x, one), constant_nan(d), y);
  }
#else
  return libm::acosh(d, x);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V atanh(D d, V x) {
#if TRT_PRIM_VECTOR
  if constexpr (kIsFloat<D>) {
    return via_double(
        d, [](auto dd, auto v) { return prim::atanh(dd, v); }, x);
  } else {
    const V a = hn::Abs(x);
    const V l = prim::log1p(d, hn::Div(hn::Add(a, a), hn::Sub(constant(d, 1), a)));
    return hn::CopySign(hn::Mul(constant(d, 0.5), l), x);
  }
#else
  return libm::atanh(d, x);
#endif
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
