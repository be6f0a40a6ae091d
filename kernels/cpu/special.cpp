// Special functions: the error function's relatives, incomplete gamma functions, zeta. Formula numbers are those of the NIST Digital Library of
// Mathematical Functions (DLMF).
#include "kernels/scalar/special_functions.h"

#include <math.h>

namespace trt::special {
namespace {

constexpr double kNaN = __builtin_nan("");
constexpr double kSqrt2 = 1.41421356237309504880, kSqrtPi = 1.77245385090551602730;

// exp(x^2) without the error that rounding the square would bring.
double exp_square(double x) {
  const double square = x * x;
  if (square > 709) return square > 745 ? HUGE_VAL : exp(0.5 * square) * exp(0.5 * square);
  const double lost = fma(x, x, -square);
  const double e = exp(square);
  return e + e * lost;
}

// mu - log(1 + mu) for mu > -1, by its series where the two cancel.
double minus_log1p(double mu) {
  if (fabs(mu) > 0.1) return mu - log1p(mu);
  double sum = 0, power = mu * mu, sign = 1;
  for (int k = 2; k < 30; ++k) {
    sum += sign * power / k;
    power *= mu;
    sign = -sign;
    if (fabs(power) < 1e-18 * fabs(sum)) break;
  }
  return sum;
}

// x^a exp(-x) / Gamma(a + 1); for large a by Stirling's series (DLMF 5.11.1), so that nothing large cancels.
double gamma_prefix(double a, double x) {
  if (a < 10) {
    int sign;
    return exp(a * log(x) - x - lgamma_r(a + 1, &sign));
  }
  const double i = 1 / a, z = i * i;
  const double stirling = i * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188))));
  const double mu = (x - a) / a;
  return exp(-a * (mu > -0.5 ? minus_log1p(mu) : mu - log(x / a)) - stirling) / sqrt(2 * M_PI * a);
}

// P by the series DLMF 8.7.1, for x < a + 1.
double lower_series(double a, double x) {
  double sum = 1, term = 1;
  for (double k = 1; k < 1e5; k += 1) {
    term *= x / (a + k);
    sum += term;
    if (term < sum * 0x1p-55) break;
  }
  return gamma_prefix(a, x) * sum;
}

// Q by the continued fraction DLMF 8.9.2, evaluated from the front (Lentz's method), for x >= a + 1.
double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-290;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (double k = 1; k < 1e5; k += 1) {
    const double n = -k * (k - a);
    b += 2;
    d = n * d + b;
    if (fabs(d) < kTiny) d = kTiny;
    c = b + n / c;
    if (fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double step = d * c;
    h *= step;
    if (fabs(step - 1) < 0x1p-52) break;
  }
  return gamma_prefix(a, x) * a * h;
}

// Q for x <= 1.1 and a <= 1: 1 - P without cancellation (DLMF 8.7.1 with the leading term apart).
double upper_small(double a, double x) {
  double sum = 0, term = 1;
  for (double k = 1; k < 60; k += 1) {
    term *= -x / k;
    sum += term / (a + k);
    if (fabs(term) < 1e-18) break;
  }
  int sign;
  const double exponent = a * log(x) - lgamma_r(1 + a, &sign);
  return -expm1(exponent) - exp(exponent) * a * sum;
}

// Temme's uniform expansion for large a (DLMF 8.12.3, 8.12.4), with its first two coefficients: enough from a = 10^5 on.
double large_parameter(double a, double x, bool upper) {
  const double mu = (x - a) / a;
  if (!(mu > -1)) return upper ? 1 : 0;
  const double half_square = minus_log1p(mu);
  const double eta = copysign(sqrt(2 * half_square), mu);
  double c0, c1;
  if (fabs(eta) < 0.05) {
    c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta * (1.0 / 2835 - eta * (139.0 / 777600)))));
    c1 = -1.0 / 540 - eta * (1.0 / 288 - eta * (25.0 / 12096));
  } else {
    const double m = 1 / mu, e = 1 / eta;
    c0 = m - e;
    c1 = e * e * e - m * m * m - m * m - m / 12;
  }
  const double rest = exp(-a * half_square) / sqrt(2 * M_PI * a) * (c0 + c1 / a);
  const double root = eta * sqrt(0.5 * a);
  return upper ? 0.5 * erfc(root) + rest : 0.5 * erfc(-root) - rest;
}

constexpr double kLarge = 1e5;

// The sum over k >= 0 of (q + k)^-s for q > 0, s > 1: terms up to q + k = s + 9, or until they vanish (at most about 60), then Euler and Maclaurin's
// series (DLMF 25.11.5).
double hurwitz(double s, double q) {
  // B_2k / (2k)!
  constexpr double kC[] = {1.0 / 12,
                           -1.0 / 720,
                           1.0 / 30240,
                           -1.0 / 1209600,
                           1.0 / 47900160,
                           -691.0 / 1307674368000.0,
                           1.0 / 74724249600.0,
                           -3617.0 / 10670622842880000.0,
                           43867.0 / 5109094217170944000.0};
  double sum = 0;
  for (; q < s + 9; q += 1) {
    const double term = pow(q, -s);
    sum += term;
    if (term <= sum * 0x1p-60) return sum;
  }
  const double i = 1 / q, z = i * i;
  double series = 1 / (s - 1) + 0.5 * i, factor = s * z;
  for (int k = 0; k < 9; ++k) {
    series += kC[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) * z;
  }
  return sum + pow(q, 1 - s) * series;
}

}  // namespace

double erfcx(double x) {
  if (x < 10) return x < -26.7 ? HUGE_VAL : x < 0 ? 2 * exp_square(x) - erfcx(-x) : exp_square(x) * erfc(x);
  if (!(x < 1e8)) return 1 / (x * kSqrtPi);
  // The asymptotic series DLMF 7.12.1.
  const double z = 0.5 / (x * x);
  double sum = 1, term = 1;
  for (int k = 1; k < 20; ++k) {
    term *= -(2 * k - 1) * z;
    sum += term;
    if (fabs(term) < 1e-17) break;
  }
  return sum / (x * kSqrtPi);
}

double log_ndtr(double x) {
  const double t = x / kSqrt2;
  if (x < -1) return log(0.5 * erfcx(-t)) - 0.5 * x * x;
  return log1p(-0.5 * erfc(t));
}

double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -HUGE_VAL : p == 1 ? HUGE_VAL : kNaN;
  if (fabs(p - 0.5) < 0.3) {
    // erf(z) = 2 p - 1 by Halley's steps from the tangent at 0.
    const double y = 2 * (p - 0.5);
    double z = y * (0.5 * kSqrtPi);
    for (int i = 0; i < 6; ++i) {
      const double u = (erf(z) - y) * (0.5 * kSqrtPi) * exp(z * z);
      z -= u / (1 + z * u);
      if (fabs(u) < 1e-9 * fabs(z)) break;
    }
    return kSqrt2 * z;
  }
  if (p > 0.5) return -ndtri(1 - p);
  // log_ndtr(x) = log p by Newton's steps with the second derivative, from the leading terms of the tail.
  const double target = log(p);
  double x = -sqrt(-2 * target);
  if (x < -2) x += (log(-x) + 0.91893853320467274178) / -x;
  for (int i = 0; i < 20; ++i) {
    const double slope = 2 / (kSqrt2 * kSqrtPi) / erfcx(-x / kSqrt2);
    const double f = (log_ndtr(x) - target) / slope;
    const double step = f / (1 + 0.5 * f * (x + slope));  // f'' / f' = -(x + slope)
    x -= step;
    if (fabs(step) < 1e-10 * fabs(x)) break;
  }
  return x;
}

double zeta(double s, double q) {
  if (s == 1) return HUGE_VAL;
  if (s < 1) return kNaN;
  if (q <= 0 && q == floor(q)) return HUGE_VAL;
  if (s != s || q != q || q == HUGE_VAL) return kNaN;
  if (s == HUGE_VAL) return q == 1 ? 1 : q > 1 ? kNaN : HUGE_VAL;
  if (q > 0) return hurwitz(s, q);
  if (s != floor(s)) return kNaN;
  // Terms left of 0 and right of it, counted from the next pole; those left of q do not belong to the sum.
  const double right = q - floor(q), left = 1 - right;
  const double sign = fmod(s, 2) == 0 ? 1 : -1;
  return hurwitz(s, right) + sign * (hurwitz(s, left) - hurwitz(s, 1 - q));
}

double igamma(double a, double x) {
  if (x < 0 || a < 0) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (a == HUGE_VAL) return x == HUGE_VAL ? kNaN : 0;
  if (x == HUGE_VAL) return 1;
  if (a != a || x != x) return kNaN;
  if (a >= kLarge) return large_parameter(a, x, false);
  return x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x);
}

double igammac(double a, double x) {
  if (x < 0 || a < 0) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0) return 1;
  if (a == HUGE_VAL) return x == HUGE_VAL ? kNaN : 1;
  if (x == HUGE_VAL) return 0;
  if (a != a || x != x) return kNaN;
  if (a >= kLarge) return large_parameter(a, x, true);
  if (x <= 1.1 && a <= 1) return upper_small(a, x);
  return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

int64_t gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) {
    const uint64_t r = x % y;
    x = y;
    y = r;
  }
  return static_cast<int64_t>(x);
}

int64_t lcm(int64_t a, int64_t b) {
  const uint64_t g = static_cast<uint64_t>(gcd(a, b));
  if (g == 0) return 0;
  const uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  const uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  const uint64_t product = x / g * y;
  const int64_t result = static_cast<int64_t>(product);
  return result < 0 ? static_cast<int64_t>(0 - product) : result;
}

}  // namespace trt::special
