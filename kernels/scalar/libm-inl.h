// The transcendental primitives lane by lane, on libm: for the portable target, and for the rare functions everywhere.
#if defined(TRT_SCALAR_LIBM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_LIBM_INL_H_
#undef TRT_SCALAR_LIBM_INL_H_
#else
#define TRT_SCALAR_LIBM_INL_H_
#endif

#include "kernels/scalar/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace prim {
namespace libm {

// Defines name(d, x) and name(d, x, y) over libm's name (double) and namef (float).
#define TRT_LIBM1(name)                                \
  template <class D>                                   \
  HWY_NOINLINE hn::Vec<D> name(D d, hn::Vec<D> x) {    \
    if constexpr (kIsFloat<D>)                         \
      return per_lane(                                 \
          d, [](float v) { return ::name##f(v); }, x); \
    else                                               \
      return per_lane(                                 \
          d, [](double v) { return ::name(v); }, x);   \
  }
#define TRT_LIBM2(name)                                               \
  template <class D>                                                  \
  HWY_NOINLINE hn::Vec<D> name(D d, hn::Vec<D> x, hn::Vec<D> y) {     \
    if constexpr (kIsFloat<D>)                                        \
      return per_lane(                                                \
          d, [](float v, float w) { return ::name##f(v, w); }, x, y); \
    else                                                              \
      return per_lane(                                                \
          d, [](double v, double w) { return ::name(v, w); }, x, y);  \
  }
TRT_LIBM1(exp)
TRT_LIBM1(exp2)
TRT_LIBM1(expm1)
TRT_LIBM1(log)
TRT_LIBM1(log2)
TRT_LIBM1(log10)
TRT_LIBM1(log1p)
TRT_LIBM1(sin)
TRT_LIBM1(cos)
TRT_LIBM1(tan)
TRT_LIBM1(sinh)
TRT_LIBM1(cosh)
TRT_LIBM1(tanh)
TRT_LIBM1(asin)
TRT_LIBM1(acos)
TRT_LIBM1(atan)
TRT_LIBM1(asinh)
TRT_LIBM1(acosh)
TRT_LIBM1(atanh)
TRT_LIBM1(erf)
TRT_LIBM1(erfc)
TRT_LIBM2(atan2)
TRT_LIBM2(hypot)
TRT_LIBM2(pow)
#undef TRT_LIBM1
#undef TRT_LIBM2

// e = exp(-|x|) never overflows, so that both tails keep their relative accuracy.
HWY_INLINE double lane_sigmoid(double x) {
  const double e = ::exp(-::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

// log(base^a + base^b) = max + log1p(base^-|a - b|) / ln(base), where ln_base = ln(base).
HWY_INLINE double lane_logaddexp(double a, double b, double ln_base) {
  if (a == b && ::fabs(a) == HUGE_VAL) return a;
  if (a != a || b != b) return a + b;
  const double m = a > b ? a : b;
  return m + ::log1p(::exp(-::fabs(a - b) * ln_base)) / ln_base;
}

// Winitzki's approximation, then up to three of Halley's steps (third order) on erf, or on erfc where erf is flat.
inline HWY_NOINLINE double lane_erfinv(double x) {
  const double y = ::fabs(x);
  if (!(y < 1)) return y == 1 ? ::copysign(HUGE_VAL, x) : __builtin_nan("");
  constexpr double kHalfSqrtPi = 0.88622692545275801365;
  if (y < 1e-4) {
    const double z = x * kHalfSqrtPi, z2 = z * z;  // the series in z: z + z^3/3 + 7 z^5/30
    return z + z * z2 * (1.0 / 3 + z2 * (7.0 / 30));
  }
  constexpr double kA = 0.147;
  const double w = ::log1p(-y * y), t = 2 / (M_PI * kA) + 0.5 * w;
  double r = ::sqrt(::sqrt(t * t - w / kA) - t);
  for (int i = 0; i < 3; ++i) {
    const double f = y > 0.5 ? (1 - y) - ::erfc(r) : ::erf(r) - y;
    const double u = f * kHalfSqrtPi * ::exp(r * r);
    r -= u / (1 + r * u);
    if (::fabs(u) < 1e-6 * r) break;
  }
  return ::copysign(r, x);
}

// Reflection for x < 0, recurrence up to 10, then the asymptotic series with Bernoulli's numbers.
inline HWY_NOINLINE double lane_digamma(double x) {
  if (x == 0) return ::copysign(HUGE_VAL, -x);
  double r = 0;
  if (x < 0) {
    const double f = x - ::rint(x);  // exact, and tan has this period
    if (f == 0 || f != f) return __builtin_nan("");
    r = -M_PI / ::tan(M_PI * f);
    x = 1 - x;
  }
  double s = 0;
  while (x < 10) {
    s += 1 / x;
    x += 1;
  }
  if (x == HUGE_VAL) return x;
  const double z = 1 / (x * x);
  const double tail =
      z *
      (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return ((::log(x) - 0.5 / x) - tail - s) + r;
}

// The derivative of digamma: reflection for x < 1/2, recurrence up to 10, then the asymptotic series.
inline HWY_NOINLINE double lane_trigamma(double x) {
  double r = 0, sign = 1;
  if (x < 0.5) {
    const double f = x - ::rint(x);
    if (f == 0) return HUGE_VAL;
    const double q = M_PI / ::sin(M_PI * f);
    r = q * q;
    sign = -1;
    x = 1 - x;
  }
  if (x == HUGE_VAL) return sign < 0 ? __builtin_nan("") : 0.0;
  double s = 0;
  while (x < 10) {
    s += 1 / (x * x);
    x += 1;
  }
  const double i = 1 / x, z = i * i;
  const double tail =
      i + 0.5 * z +
      i * z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * 7 / 6))))));
  return r + sign * (tail + s);
}

HWY_INLINE double lane_lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// The sum over k >= 0 of (unit / (q + k))^s for q > 0 and integers s >= 2: Hurwitz's zeta function times unit^s. Terms up to q + k = s + 9, then
// Euler and Maclaurin's series (DLMF 25.11.5; Johansson 2014, "Rigorous high-precision computation of the Hurwitz zeta function").
inline HWY_NOINLINE double lane_hurwitz(double s, double q, double unit) {
  // B_2k / (2k)!
  constexpr double kC[] = {0x1.5555555555555p-4, -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
                           0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
                           0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58};
  double sum = 0;
  for (; q < s + 9; q += 1) {
    const double term = ::pow(unit / q, s);
    sum += term;
    if (term <= sum * 0x1p-60) return sum;
  }
  if (q == HUGE_VAL) return sum;
  const double i = 1 / q, z = i * i;
  double series = 0.5 + q / (s - 1), factor = s * i;
  for (int k = 0; k < 11; ++k) {
    series += kC[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) * z;
  }
  return sum + ::pow(unit * i, s) * series;
}

// The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x); infinity at 0 and the negative integers for n > 1, as in PyTorch.
inline HWY_NOINLINE double lane_polygamma(double n, double x) {
  if (n == 0) return lane_digamma(x);
  if (n == 1) return lane_trigamma(x);
  if (x != x) return x;
  const double s = n + 1, sign = ::fmod(n, 2) == 0 ? -1 : 1;
  double unit = x, sum;
  if (x > 0) {
    if (x == HUGE_VAL) return sign * 0.0;
    sum = lane_hurwitz(s, x, unit);
  } else {
    // The terms left of 0 and right of it, counted from the pole that is closest; the distance to it is exact.
    const double r = x - ::rint(x);
    if (r == 0) return sign * HUGE_VAL;
    unit = ::fabs(r);
    const double right = r > 0 ? r : 1 + r, left = r > 0 ? 1 - r : -r;
    // Halfway between two poles the sides may cancel; what remains are the terms beyond the mirror image of x.
    sum = lane_hurwitz(s, right, unit) + sign * lane_hurwitz(s, left, unit);
    if (sum == 0) unit = 1 - x;
    sum -= sign * lane_hurwitz(s, 1 - x, unit);
  }
  // Times n! / unit^s.
  if (n > 1000) return sign * sum * ::exp(lane_lgamma(s) - s * ::log(unit));
  sum /= unit;
  for (double k = 1; k <= n; k += 1) sum *= k / unit;
  return sign * sum;
}

// Squares and multiplies modulo 2^64. A negative exponent leaves 0, or 1 and -1 for those bases.
HWY_INLINE int64_t lane_ipow(int64_t base, int64_t e) {
  if (e < 0) return base == 1 ? 1 : base == -1 ? ((e & 1) ? -1 : 1) : 0;
  uint64_t r = 1, b = static_cast<uint64_t>(base);
  for (; e != 0; e >>= 1, b *= b)
    if (e & 1) r *= b;
  return static_cast<int64_t>(r);
}

}  // namespace libm
}  // namespace prim
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();
#endif
