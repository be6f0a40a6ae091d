// Complex scalar primitives of pointwise expressions, for C = std::complex<float> or std::complex<double>. The names are those of the vector
// primitives (README.md). Truth values are bool.
//
// Products are the plain formula, as PyTorch's: no recovery of infinities from NaN parts (ISO C, Annex G). Quotients scale by the larger part of the
// divisor (Smith, "Algorithm 116: Complex division", CACM 1962).
#pragma once

#include <cmath>
#include <complex>
#include <numbers>

namespace trt::cx {

template <class C>
using Part = typename C::value_type;

template <class C> C constant(double v) { return C(static_cast<Part<C>>(v)); }

template <class C> C add(C x, C y) { return x + y; }
template <class C> C sub(C x, C y) { return x - y; }
template <class C> C mul(C x, C y) {
  return C(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}
// A number, real in most cases, times x: no NaN from an infinite part times the number's imaginary 0.
template <class C> C scale(C number, C x) { return number.imag() == 0 ? x * number.real() : mul(number, x); }
template <class C> C div(C x, C y) {
  using T = Part<C>;
  const T c = y.real(), d = y.imag();
  if (std::abs(c) >= std::abs(d)) {
    if (c == T(0) && d == T(0)) return C(x.real() / std::abs(c), x.imag() / std::abs(d));
    const T r = d / c, s = T(1) / (c + d * r);
    return C((x.real() + x.imag() * r) * s, (x.imag() - x.real() * r) * s);
  }
  const T r = c / d, s = T(1) / (d + c * r);
  return C((x.real() * r + x.imag()) * s, (x.imag() * r - x.real()) * s);
}
template <class C> C fma(C x, C y, C z) { return mul(x, y) + z; }
template <class C> C neg(C x) { return -x; }
template <class C> C conj(C x) { return std::conj(x); }
// abs and angle give a complex number whose imaginary part is 0: they stand before a conversion to a real dtype.
template <class C> C abs(C x) { return C(std::abs(x)); }
template <class C> C angle(C x) { return C(std::arg(x)); }
// z / |z|, 0 at 0.
template <class C> C sign(C x) { return x == C(0) ? C(0) : x / std::abs(x); }
template <class C> C reciprocal(C x) { return div(C(1), x); }
template <class C> C sqrt(C x) { return std::sqrt(x); }
template <class C> C rsqrt(C x) { return div(C(1), std::sqrt(x)); }
template <class C> C pow(C x, C y) {
  if (y == C(0)) return C(1);
  if (x == C(0)) return y.real() > 0 ? C(0) : std::pow(x, y);
  if (y == C(2)) return mul(x, x);
  return std::pow(x, y);
}
template <class C> C exp(C x) { return std::exp(x); }
template <class C> C exp2(C x) { return std::exp(x * std::numbers::ln2_v<Part<C>>); }
// exp(x) - 1 with parts (expm1(a) cos(b) + cos(b) - 1, exp(a) sin(b)), cos(b) - 1 = -2 sin(b/2)^2.
template <class C> C expm1(C x) {
  using T = Part<C>;
  const T half = std::sin(x.imag() / 2);
  return C(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag()));
}
template <class C> C log(C x) { return std::log(x); }
template <class C> C log2(C x) { return std::log(x) * std::numbers::log2e_v<Part<C>>; }
template <class C> C log10(C x) { return std::log10(x); }
// |1 + x|^2 - 1 = a (2 + a) + b^2 keeps what 1 + x would lose.
template <class C> C log1p(C x) {
  using T = Part<C>;
  const T a = x.real(), b = x.imag();
  if (std::abs(a) < T(0.5) && std::abs(b) < T(0.5)) return C(T(0.5) * std::log1p(a * (2 + a) + b * b), std::atan2(b, 1 + a));
  return std::log(C(1 + a, b));
}
template <class C> C sin(C x) { return std::sin(x); }
template <class C> C cos(C x) { return std::cos(x); }
template <class C> C tan(C x) { return std::tan(x); }
template <class C> C asin(C x) { return std::asin(x); }
template <class C> C acos(C x) { return std::acos(x); }
template <class C> C atan(C x) { return std::atan(x); }
template <class C> C sinh(C x) { return std::sinh(x); }
template <class C> C cosh(C x) { return std::cosh(x); }
template <class C> C tanh(C x) { return std::tanh(x); }
template <class C> C asinh(C x) { return std::asinh(x); }
template <class C> C acosh(C x) { return std::acosh(x); }
template <class C> C atanh(C x) { return std::atanh(x); }
template <class C> C sigmoid(C x) { return div(C(1), C(1) + std::exp(-x)); }
template <class C> C where(bool c, C x, C y) { return c ? x : y; }

template <class C> bool eq(C x, C y) { return x == y; }
template <class C> bool ne(C x, C y) { return x != y; }
// Complex numbers have no order: these compare real parts, and stand in gradients only.
template <class C> bool lt(C x, C y) { return x.real() < y.real(); }
template <class C> bool le(C x, C y) { return x.real() <= y.real(); }
template <class C> bool gt(C x, C y) { return x.real() > y.real(); }
template <class C> bool ge(C x, C y) { return x.real() >= y.real(); }
template <class C> bool isnan(C x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
template <class C> bool isinf(C x) { return std::isinf(x.real()) || std::isinf(x.imag()); }
template <class C> bool isfinite(C x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }
inline bool mask_and(bool x, bool y) { return x && y; }
inline bool mask_or(bool x, bool y) { return x || y; }
inline bool mask_xor(bool x, bool y) { return x != y; }
inline bool mask_not(bool x) { return !x; }

}  // namespace trt::cx
