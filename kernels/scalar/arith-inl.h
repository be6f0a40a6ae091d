// Arithmetic, rounding, bit, comparison and mask primitives. All are exact, or rounded once as IEEE 754 says.
#if defined(TRT_SCALAR_ARITH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_ARITH_INL_H_
#undef TRT_SCALAR_ARITH_INL_H_
#else
#define TRT_SCALAR_ARITH_INL_H_
#endif

#include "kernels/scalar/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {

// ---- Constants

template <class D, class S>
HWY_INLINE hn::Vec<D> constant(D d, S v) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(v));
}
template <class D>
HWY_INLINE hn::Vec<D> constant_inf(D d) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(HUGE_VAL));
}
template <class D>
HWY_INLINE hn::Vec<D> constant_nan(D d) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(__builtin_nan("")));
}

// ---- Comparisons (as in C: false for NaN, but ne true) and masks

template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> lt(D, V a, V b) {
  return hn::Lt(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> le(D, V a, V b) {
  if constexpr (kIsInt<D>)
    return hn::Not(hn::Gt(a, b));
  else
    return hn::Le(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> gt(D, V a, V b) {
  return hn::Gt(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> ge(D, V a, V b) {
  if constexpr (kIsInt<D>)
    return hn::Not(hn::Lt(a, b));
  else
    return hn::Ge(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> eq(D, V a, V b) {
  return hn::Eq(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> ne(D, V a, V b) {
  // Highway's Ne is false for NaN.
  return hn::Not(hn::Eq(a, b));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> isnan(D, V x) {
  if constexpr (kIsInt<D>)
    return hn::Lt(x, x);
  else
    return hn::IsNaN(x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> isinf(D d, V x) {
  if constexpr (kIsInt<D>)
    return hn::Lt(x, x);
  else
    return hn::Eq(hn::Abs(x), constant_inf(d));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> isfinite(D d, V x) {
  if constexpr (kIsInt<D>)
    return hn::Eq(x, x);
  else
    return hn::Lt(hn::Abs(x), constant_inf(d));
}
// The sign bit: true for -0.0 and for NaNs that have it.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> signbit(D d, V x) {
  if constexpr (kIsInt<D>) {
    return hn::Lt(x, hn::Zero(d));
  } else {
    const hn::RebindToSigned<D> di;
    return hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di)));
  }
}
template <class D>
HWY_INLINE hn::Mask<D> mask_and(D, hn::Mask<D> a, hn::Mask<D> b) {
  return hn::And(a, b);
}
template <class D>
HWY_INLINE hn::Mask<D> mask_or(D, hn::Mask<D> a, hn::Mask<D> b) {
  return hn::Or(a, b);
}
template <class D>
HWY_INLINE hn::Mask<D> mask_xor(D, hn::Mask<D> a, hn::Mask<D> b) {
  return hn::Xor(a, b);
}
template <class D>
HWY_INLINE hn::Mask<D> mask_not(D, hn::Mask<D> a) {
  return hn::Not(a);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V select(D, hn::Mask<D> m, V a, V b) {
  return hn::IfThenElse(m, a, b);
}
template <class D>
HWY_INLINE hn::Vec<D> to_value(D d, hn::Mask<D> m) {
  return hn::IfThenElseZero(m, constant(d, 1));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> to_mask(D d, V x) {
  return hn::Not(hn::Eq(x, hn::Zero(d)));
}

// ---- Rounding; the identity for int64

namespace detail {

// f is a rounding of libm; exact for float, too. (Highway's portable rounding loses the sign of -0.)
template <class D, class F>
HWY_INLINE hn::Vec<D> round_lanes(D d, F f, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [f](T v) { return static_cast<T>(f(v)); }, x);
}

}  // namespace detail

template <class D, class V = hn::Vec<D>>
HWY_INLINE V floor(D d, V x) {
  if constexpr (kIsInt<D>)
    return x;
  else if constexpr (TRT_PRIM_VECTOR)
    return hn::Floor(x);
  else
    return detail::round_lanes(
        d, [](double v) { return ::floor(v); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ceil(D d, V x) {
  if constexpr (kIsInt<D>)
    return x;
  else if constexpr (TRT_PRIM_VECTOR)
    return hn::Ceil(x);
  else
    return detail::round_lanes(
        d, [](double v) { return ::ceil(v); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V trunc(D d, V x) {
  if constexpr (kIsInt<D>)
    return x;
  else if constexpr (TRT_PRIM_VECTOR)
    return hn::Trunc(x);
  else
    return detail::round_lanes(
        d, [](double v) { return ::trunc(v); }, x);
}
// Half to even.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round(D d, V x) {
  if constexpr (kIsInt<D>)
    return x;
  else if constexpr (TRT_PRIM_VECTOR)
    return hn::Round(x);
  else
    return detail::round_lanes(
        d, [](double v) { return ::rint(v); }, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V frac(D d, V x) {
  return hn::Sub(x, trunc(d, x));
}
// ---- Arithmetic

template <class D, class V = hn::Vec<D>>
HWY_INLINE V add(D, V a, V b) {
  return hn::Add(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sub(D, V a, V b) {
  return hn::Sub(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V mul(D d, V a, V b) {
  if constexpr (kIsInt<D> && !TRT_PRIM_VECTOR)
    return per_lane(
        d, [](int64_t x, int64_t y) { return static_cast<int64_t>(uint64_t(x) * uint64_t(y)); }, a, b);
  else
    return hn::Mul(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V neg(D, V a) {
  return hn::Neg(a);
}
// The smallest int64 maps to itself.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V abs(D, V a) {
  return hn::Abs(a);
}
// a * b + c, rounded once where the target has a fused multiply-add.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fma(D d, V a, V b, V c) {
  if constexpr (kIsInt<D>)
    return hn::Add(mul(d, a, b), c);
  else
    return hn::MulAdd(a, b, c);
}

// Integer division never traps: x / 0 and x % 0 are 0; the smallest value divided by -1 wraps.
HWY_INLINE int64_t int_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}
HWY_INLINE int64_t int_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// float: IEEE division; int64: truncating.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V div(D d, V a, V b) {
  if constexpr (kIsInt<D>)
    return per_lane(
        d, [](int64_t x, int64_t y) { return int_div(x, y); }, a, b);
  else
    return hn::Div(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V truncdiv(D d, V a, V b) {
  if constexpr (kIsInt<D>)
    return div(d, a, b);
  else
    return trunc(d, hn::Div(a, b));
}

// C's fmod: exact, the sign of a. The remainder of int64 division.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V fmod(D d, V a, V b) {
  using T = hn::TFromD<D>;
  if constexpr (kIsInt<D>) {
    return per_lane(
        d, [](int64_t x, int64_t y) { return int_mod(x, y); }, a, b);
  } else {
    const auto slow = [](T x, T y) { return sizeof(T) == 4 ? T(::fmodf(float(x), float(y))) : T(::fmod(x, y)); };
    if constexpr (!TRT_PRIM_VECTOR) return per_lane(d, slow, a, b);
    // While the quotient is an exact integer, a - q b is exact too. The rounded quotient may be one too large in
    // magnitude; then the remainder has the wrong sign and one more b repairs it, exactly.
    const V q = hn::Trunc(hn::Div(a, b));
    const auto large = hn::Ge(hn::Abs(q), constant(d, sizeof(T) == 4 ? 0x1p23 : 0x1p52));
    if (HWY_UNLIKELY(!hn::AllFalse(d, large))) return per_lane(d, slow, a, b);
    V r = hn::NegMulAdd(q, b, a);
    const auto wrong = hn::And(signbit(d, hn::Xor(r, a)), hn::Ne(r, hn::Zero(d)));
    r = hn::IfThenElse(wrong, hn::Add(r, hn::CopySign(b, a)), r);
    r = hn::IfThenElse(hn::And(isinf(d, b), isfinite(d, a)), a, r);
    return hn::CopySign(r, a);
  }
}

// True where a remainder m of a truncating division by b must move by b (and the quotient by -1) to be Python's.
template <class D, class V>
HWY_INLINE hn::Mask<D> remainder_off(D d, V m, V b) {
  return hn::And(hn::Ne(m, hn::Zero(d)), hn::Xor(hn::Lt(b, hn::Zero(d)), hn::Lt(m, hn::Zero(d))));
}
// Python's a % b: the sign of b.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V remainder(D d, V a, V b) {
  const V m = fmod(d, a, b);
  return hn::IfThenElse(remainder_off(d, m, b), hn::Add(m, b), m);
}
// Python's a // b, as torch.div(rounding_mode='floor') defines it.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V floordiv(D d, V a, V b) {
  if constexpr (kIsInt<D>) {
    return per_lane(
        d,
        [](int64_t x, int64_t y) {
          const int64_t q = int_div(x, y), m = int_mod(x, y);
          return q - (m != 0 && (m < 0) != (y < 0) ? 1 : 0);
        },
        a, b);
  } else {
    const V m = fmod(d, a, b);
    V q = hn::Div(hn::Sub(a, m), b);
    q = hn::IfThenElse(remainder_off(d, m, b), hn::Sub(q, constant(d, 1)), q);
    // (a - m) / b is an integer up to rounding; snap it.
    V f = floor(d, q);
    f = hn::IfThenElse(hn::Gt(hn::Sub(q, f), constant(d, 0.5)), hn::Add(f, constant(d, 1)), f);
    const V ab = hn::Div(a, b);
    f = hn::IfThenElse(hn::Eq(q, hn::Zero(d)), hn::CopySign(hn::Zero(d), ab), f);
    return hn::IfThenElse(hn::Eq(b, hn::Zero(d)), ab, f);
  }
}

// NaN if either is NaN; of equal arguments (0 and -0) the first, as PyTorch.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V maximum(D, V a, V b) {
  if constexpr (kIsInt<D>) return hn::Max(a, b);
  // The x86 instruction returns its second operand when either is NaN or both are zero, so with the operands exchanged only b needs a look; the
  // portable target returns the other one.
  else if constexpr (TRT_PRIM_VECTOR)
    return hn::IfThenElse(hn::IsNaN(b), b, hn::Max(b, a));
  else
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(b, a)));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V minimum(D, V a, V b) {
  if constexpr (kIsInt<D>)
    return hn::Min(a, b);
  else if constexpr (TRT_PRIM_VECTOR)
    return hn::IfThenElse(hn::IsNaN(b), b, hn::Min(b, a));
  else
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Min(b, a)));
}
// NaN only if both are NaN. Of equal arguments (0 and -0) the first: with the operands exchanged, Max and Min return
// it, and it also when the other one is NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fmax(D, V a, V b) {
  if constexpr (kIsInt<D>)
    return hn::Max(a, b);
  else
    return hn::IfThenElse(hn::IsNaN(a), b, hn::Max(b, a));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fmin(D, V a, V b) {
  if constexpr (kIsInt<D>)
    return hn::Min(a, b);
  else
    return hn::IfThenElse(hn::IsNaN(a), b, hn::Min(b, a));
}

// ---- Roots and signs

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sqrt(D, V x) {
  return hn::Sqrt(x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reciprocal(D d, V x) {
  return hn::Div(constant(d, 1), x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V rsqrt(D d, V x) {
  return hn::Div(constant(d, 1), hn::Sqrt(x));
}
// -1, 0 or 1; 0 for NaN and for both zeros.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sign(D d, V x) {
  const V zero = hn::Zero(d);
  return hn::IfThenElse(hn::Lt(x, zero), constant(d, -1), hn::IfThenElseZero(hn::Gt(x, zero), constant(d, 1)));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V copysign(D, V a, V b) {
  return hn::CopySign(a, b);
}
// The float after a in the direction of b.
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V nextafter(D d, V a, V b) {
  using T = hn::TFromD<D>;
  return per_lane(
      d, [](T x, T y) { return sizeof(T) == 4 ? T(::nextafterf(float(x), float(y))) : T(::nextafter(x, y)); }, a, b);
}

// ---- int64 bits

template <class D, class V = hn::Vec<D>>
HWY_INLINE V bit_and(D, V a, V b) {
  return hn::And(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V bit_or(D, V a, V b) {
  return hn::Or(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V bit_xor(D, V a, V b) {
  return hn::Xor(a, b);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V bit_not(D, V a) {
  return hn::Not(a);
}
// Shifts by less than 0 or more than 63 give 0 to the left and the sign (0 or -1) to the right. Because narrower
// integers are computed in int64, this also gives what their own types would.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V shl(D d, V a, V b) {
  const auto ok = hn::Eq(hn::And(b, constant(d, 63)), b);
  return hn::IfThenElseZero(ok, hn::Shl(a, hn::And(b, constant(d, 63))));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V shr(D d, V a, V b) {
  const auto ok = hn::Eq(hn::And(b, constant(d, 63)), b);
  return hn::Shr(a, hn::IfThenElse(ok, b, constant(d, 63)));
}

}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
