// Bessel functions, Airy's function and orthogonal polynomials. Formula numbers are those of the NIST Digital Library of Mathematical Functions (DLMF).
#include <math.h>

#include "kernels/scalar/special_functions.h"

namespace trt::special {
namespace {

constexpr double kNaN = __builtin_nan("");
constexpr double kEuler = 0.57721566490153286061;

// The sum of (x^2 / 4)^k / (k! (k + order)!), every term positive (DLMF 10.25.2).
double power_series(double x, int order) {
  const double z = 0.25 * x * x;
  double sum = 1, term = 1;
  for (int k = 1; k < 200; ++k) {
    term *= z / (static_cast<double>(k) * (k + order));
    sum += term;
    if (term < sum * 0x1p-56) break;
  }
  return sum;
}

// exp(-a) I(order, a) for a >= 0: the power series, and from 25 on Hankel's expansion (DLMF 10.40.1).
double scaled_i(double a, int order) {
  if (a < 25) return exp(-a) * power_series(a, order) * (order ? 0.5 * a : 1);
  const double mu = 4 * order * order;
  double sum = 1, term = 1;
  for (int k = 1; k < 40; ++k) {
    term *= ((2 * k - 1) * (2 * k - 1) - mu) / (8 * a * k);
    sum += term;
    if (fabs(term) < 1e-17 * fabs(sum)) break;
  }
  return sum / sqrt(2 * M_PI * a);
}

// exp(z) K(order, z), z > 0, by the trapezoidal rule on the integral of exp(-z (cosh t - 1)) cosh(order t) over t >= 0 (DLMF 10.32.9). The integrand
// falls off doubly exponentially and is analytic for |Im t| < pi / 2, so the error of the rule is about exp(-pi^2 / step), or exp(-2 pi^2 / (step^2 z))
// where z is large.
double scaled_k_integral(double z, double order) {
  const double step = z < 9 ? 0.2 : 0.6 / sqrt(z);
  double sum = 0.5;
  for (int k = 1; k < 400; ++k) {
    const double t = k * step, s = sinh(0.5 * t);
    const double term = exp(-2 * z * s * s) * cosh(order * t);
    sum += term;
    if (term < sum * 1e-18) break;
  }
  return sum * step;
}

// K(0, z) and K(1, z) for 0 < z <= 1 by their series (DLMF 10.31.2, 10.31.1).
double k0_series(double z) {
  const double q = 0.25 * z * z, l = log(0.5 * z) + kEuler;
  double sum = -l, term = 1, harmonic = 0;
  for (int k = 1; k < 30; ++k) {
    term *= q / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    sum += term * (harmonic - l);
  }
  return sum;
}
double k1_series(double z) {
  const double q = 0.25 * z * z, l = log(0.5 * z) + kEuler;
  double sum = 0, term = 1, harmonic = 0;
  for (int k = 0; k < 30; ++k) {
    sum += term * (l - harmonic - 0.5 / (k + 1));
    harmonic += 1.0 / (k + 1);
    term *= q / ((k + 1.0) * (k + 2.0));
  }
  return 1 / z + 0.5 * z * sum;
}

double bessel_k(double x, bool first, bool scaled) {
  if (!(x > 0)) return x == 0 ? HUGE_VAL : kNaN;
  if (x == HUGE_VAL) return 0;
  if (x <= 1) return (first ? k1_series(x) : k0_series(x)) * (scaled ? exp(x) : 1);
  const double k = scaled_k_integral(x, first ? 1 : 0);
  return scaled ? k : k * exp(-x);
}

// The degree as a number; false for what has no polynomial.
bool degree(double& n) {
  n = trunc(n);
  return n >= 0;
}

// p(k + 1) = 2 x p(k) - p(k - 1), from p(0) = 1 and p(1) = first.
double chebyshev(double x, double n, double first) {
  if (n == 0) return 1;
  double p = 1, q = first;
  for (double k = 2; k <= n && q == q; k += 1) {
    const double r = 2 * x * q - p;
    p = q;
    q = r;
  }
  return q;
}

bool even(double n) { return fmod(n, 2) == 0; }

// Degrees from which polynomials outside [-1, 1] are taken from hyperbolic functions: a recurrence could go on for long.
constexpr double kManySteps = 1e4;

// cosh((n + add) theta) / cosh(below theta) or the quotient of the hyperbolic sines, where |x| = cosh(theta) > 1.
double hyperbolic(double x, double n, double add, double below, bool sines) {
  const double theta = acosh(fabs(x)), t = (n + add) * theta;
  const double r = sines ? sinh(t) / sinh(below * theta) : cosh(t) / cosh(below * theta);
  return x < 0 && !even(n) ? -r : r;
}

// The solution of y'' = x y from Ai(-4) and Ai'(-4) down to x by Taylor's series, in steps no longer than 1.
double airy_steps(double x) {
  double at = -4, y = -0.0702655329492895150991, slope = -0.790628575368581380296;
  const int steps = static_cast<int>(ceil(at - x));
  const double h = (x - at) / (steps > 0 ? steps : 1);
  for (int i = 0; i < steps; ++i) {
    double c0 = y, c1 = slope, c2 = 0.5 * at * y;  // coefficients k - 2, k - 1 and k
    double power = h;                              // h^(k - 1)
    y = c0 + c1 * h + c2 * h * h;
    slope = c1 + 2 * c2 * h;
    for (int k = 3; k < 40; ++k) {
      const double c3 = (at * c1 + c0) / (static_cast<double>(k) * (k - 1));
      power *= h;
      slope += k * c3 * power;
      y += c3 * power * h;
      c0 = c1;
      c1 = c2;
      c2 = c3;
    }
    at += h;
  }
  return y;
}

// Above this degree the recurrences would take too long; the leading term of an expansion for large degrees has their accuracy by then.
constexpr double kMostSteps = 1e6;

}  // namespace

double i0e(double x) { return x == x ? scaled_i(fabs(x), 0) : x; }
double i1e(double x) { return x == x ? copysign(scaled_i(fabs(x), 1), x) : x; }
double i0(double x) {
  const double a = fabs(x);
  if (!(a < HUGE_VAL)) return kNaN;
  const double e = exp(0.5 * a);
  return a < 25 ? power_series(a, 0) : e * scaled_i(a, 0) * e;
}
double i1(double x) {
  const double a = fabs(x);
  if (!(a < HUGE_VAL)) return kNaN;
  const double e = exp(0.5 * a);
  return copysign(a < 25 ? 0.5 * a * power_series(a, 1) : e * scaled_i(a, 1) * e, x);
}

double bessel_k0(double x) { return bessel_k(x, false, false); }
double bessel_k1(double x) { return bessel_k(x, true, false); }
double bessel_k0e(double x) { return bessel_k(x, false, true); }
double bessel_k1e(double x) { return bessel_k(x, true, true); }

double bessel_j0(double x) { return isfinite(x) ? ::j0(x) : kNaN; }
double bessel_j1(double x) { return isfinite(x) ? ::j1(x) : kNaN; }
double bessel_y0(double x) { return !isfinite(x) || x < 0 ? kNaN : x == 0 ? -HUGE_VAL : ::y0(x); }
double bessel_y1(double x) { return !isfinite(x) || x < 0 ? kNaN : x == 0 ? -HUGE_VAL : ::y1(x); }

double spherical_j0(double x) {
  if (isinf(x)) return 0;
  if (fabs(x) < 1e-3) return 1 - x * x * (1.0 / 6 - x * x / 120);
  return sin(x) / x;
}

double airy_ai(double x) {
  if (!isfinite(x)) return kNaN;
  if (x > 1) {
    // DLMF 9.6.2.
    const double z = 2.0 / 3 * x * sqrt(x);
    return z > 760 ? 0 : exp(-z) * sqrt(x / 3) / M_PI * scaled_k_integral(z, 1.0 / 3);
  }
  if (x > -4) {
    // DLMF 9.4.1. Terms of opposite sign reach about 10^2 times the sum.
    double f = 1, g = x, tf = 1, tg = x;
    const double cube = x * x * x;
    for (int k = 1; k < 60; ++k) {
      tf *= cube / ((3.0 * k - 1) * (3.0 * k));
      tg *= cube / ((3.0 * k) * (3.0 * k + 1));
      f += tf;
      g += tg;
      if (fabs(tf) + fabs(tg) < 1e-18) break;
    }
    return 0.35502805388781723926 * f - 0.25881940379280679841 * g;
  }
  if (x > -9) return airy_steps(x);
  // DLMF 9.7.9, with u(k) by its recurrence 9.7.2, up to the smallest term.
  const double a = -x, z = 2.0 / 3 * a * sqrt(a);
  double even_sum = 1, odd_sum = 0, u = 1, last = 1;
  for (int k = 1; k < 40; ++k) {
    u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / ((2.0 * k - 1) * 216 * k) / z;
    if (u > last || u < 1e-18) break;
    last = u;
    const double signed_u = (k / 2) % 2 ? -u : u;
    (k % 2 ? odd_sum : even_sum) += signed_u;
  }
  const double phase = z - M_PI / 4;
  return (cos(phase) * even_sum + sin(phase) * odd_sum) / (sqrt(M_PI) * sqrt(sqrt(a)));
}

double chebyshev_t(double x, double n) {
  if (!degree(n)) return 0;
  if (fabs(x) == 1) return x > 0 || even(n) ? 1 : -1;
  if (n > 6 && fabs(x) < 1) return cos(n * acos(x));
  if (n > kManySteps && fabs(x) > 1) return hyperbolic(x, n, 0, 0, false);
  return chebyshev(x, n, x);
}
double chebyshev_u(double x, double n) {
  if (!degree(n)) return 0;
  if (fabs(x) == 1) return x > 0 || even(n) ? n + 1 : -(n + 1);
  if (n > 8 && fabs(x) < 1) return sin((n + 1) * acos(x)) / sin(acos(x));
  if (n > kManySteps && fabs(x) > 1) return hyperbolic(x, n, 1, 1, true);
  return chebyshev(x, n, 2 * x);
}
double chebyshev_v(double x, double n) {
  if (!degree(n)) return 0;
  if (fabs(x) == 1) return x > 0 ? 1 : even(n) ? 2 * n + 1 : -(2 * n + 1);
  if (n > 8 && fabs(x) < 1) return cos((n + 0.5) * acos(x)) / cos(0.5 * acos(x));
  if (n > kManySteps && fabs(x) > 1) return hyperbolic(x, n, 0.5, 0.5, x < 0);
  return chebyshev(x, n, 2 * x - 1);
}
double chebyshev_w(double x, double n) {
  if (!degree(n)) return 0;
  if (fabs(x) == 1) return x > 0 ? 2 * n + 1 : even(n) ? 1 : -1;
  if (n > 8 && fabs(x) < 1) return sin((n + 0.5) * acos(x)) / sin(0.5 * acos(x));
  if (n > kManySteps && fabs(x) > 1) return hyperbolic(x, n, 0.5, 0.5, x > 0);
  return chebyshev(x, n, 2 * x + 1);
}

double hermite_h(double x, double n, double limit) {
  if (!degree(n)) return 0;
  if (n > limit) return kNaN;
  if (n == 0) return 1;
  double p = 1, q = 2 * x;
  for (double k = 1; k < n && q == q; k += 1) {
    const double r = 2 * x * q - 2 * k * p;
    p = q;
    q = r;
  }
  return q;
}
double hermite_he(double x, double n, double limit) {
  if (!degree(n)) return 0;
  if (n > limit) return kNaN;
  if (n == 0) return 1;
  double p = 1, q = x;
  for (double k = 1; k < n && q == q; k += 1) {
    const double r = x * q - k * p;
    p = q;
    q = r;
  }
  return q;
}

double laguerre_l(double x, double n) {
  if (!degree(n)) return 0;
  if (x == 0 || n == 0) return 1;
  // DLMF 18.15.19 with its first term.
  if (n > kMostSteps) return x > 0 ? exp(0.5 * x) * bessel_j0(2 * sqrt(x * (n + 0.5))) : x < 0 ? exp(0.5 * x) * i0(2 * sqrt(-x * (n + 0.5))) : kNaN;
  double p = 1, q = 1 - x;
  for (double k = 1; k < n && q == q; k += 1) {
    const double r = ((2 * k + 1 - x) * q - k * p) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}
double legendre_p(double x, double n) {
  if (!degree(n)) return 0;
  if (fabs(x) == 1) return x > 0 || even(n) ? 1 : -1;
  if (n == 0) return 1;
  if (n > kMostSteps && fabs(x) < 1) {
    // DLMF 14.15.11 with its first term; P(-x) = (-1)^n P(x).
    const double theta = acos(fabs(x));
    const double p = sqrt(theta / sin(theta)) * bessel_j0((n + 0.5) * theta);
    return x < 0 && !even(n) ? -p : p;
  }
  if (n > kMostSteps && fabs(x) > 1) {
    const double theta = acosh(fabs(x));  // the same with hyperbolic functions
    const double p = sqrt(theta / sinh(theta)) * i0((n + 0.5) * theta);
    return x < 0 && !even(n) ? -p : p;
  }
  double p = 1, q = x;
  for (double k = 1; k < n && q == q; k += 1) {
    const double r = ((2 * k + 1) * x * q - k * p) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}

}  // namespace trt::special
