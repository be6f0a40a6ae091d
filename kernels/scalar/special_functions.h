// Special functions of numbers, in double: what pointwise kernels call lane by lane where a vector form does not pay. Compiled once, for no
// instruction set in particular. Thread-safe; no function sets errno for its caller to see or raises. NaN gives NaN unless something else is said.
#pragma once

#include <cstdint>

namespace trt::special {

// exp(x^2) erfc(x); log and inverse of the normal distribution function (NaN outside [0, 1]).
double erfcx(double x);
double log_ndtr(double x);
double ndtri(double p);

// Modified Bessel functions of the first kind, and times exp(-|x|). i0 and i1 of an infinity are NaN, as PyTorch's are.
double i0(double x);
double i1(double x);
double i0e(double x);
double i1e(double x);
// Of the second kind, and times exp(x): infinity at 0, NaN below.
double bessel_k0(double x);
double bessel_k1(double x);
double bessel_k0e(double x);
double bessel_k1e(double x);
// Bessel functions; NaN at infinities. y0, y1: -infinity at 0, NaN below.
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double spherical_j0(double x);
double airy_ai(double x);

// Hurwitz's zeta function: infinity for s = 1 and at the poles, NaN for s < 1.
double zeta(double s, double q);
// The regularized incomplete gamma functions P(a, x) and Q(a, x); NaN for negative arguments.
double igamma(double a, double x);
double igammac(double a, double x);

// Orthogonal polynomials of degree n, which is truncated; 0 for negative degrees and NaN as degree. `limit`: hermite_* are NaN for degrees above it.
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double hermite_h(double x, double n, double limit);
double hermite_he(double x, double n, double limit);
double laguerre_l(double x, double n);
double legendre_p(double x, double n);

// Greatest common divisor and least common multiple, modulo 2^64.
int64_t gcd(int64_t a, int64_t b);
int64_t lcm(int64_t a, int64_t b);

}  // namespace trt::special
