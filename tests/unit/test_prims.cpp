// The scalar primitives, for every instruction set that this machine has.
//
// Each transcendental primitive is swept over all magnitudes (bit patterns) and over its interesting range, and
// compared with libm in long double; exact primitives are compared bit by bit with a plain scalar definition. To add
// one: name it in the operator lists below and give it a row in kUnary, kBinary, or a case in exact_unary /
// exact_binary. With an argument the program prints the measured errors: the table of kernels/scalar/README.md.

#include "kernels/cpu/hwy_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/test_prims.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/scalar/prims-inl.h"

#ifndef TRT_TEST_PRIMS_ONCE
#define TRT_TEST_PRIMS_ONCE

// clang-format off
// Unary and binary value primitives and predicates: for all types, for floats, for int64.
#define ALL1(X) X(neg) X(abs) X(sign) X(floor) X(ceil) X(trunc) X(round) X(frac)
#define ALL2(X) \
  X(add) X(sub) X(mul) X(div) X(floordiv) X(truncdiv) X(fmod) X(remainder) X(maximum) X(minimum) X(fmax) X(fmin) X(pow)
#define FLOAT1(X)                                                                                                \
  X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan)   \
  X(sinh) X(cosh) X(tanh) X(asin) X(acos) X(atan) X(asinh) X(acosh) X(atanh) X(sigmoid) X(erf) X(erfc) X(erfinv) \
  X(lgamma) X(digamma) X(trigamma)
#define FLOAT2(X) X(copysign) X(atan2) X(hypot) X(nextafter) X(logaddexp) X(logaddexp2)
#define INT1(X) X(bit_not)
#define INT2(X) X(bit_and) X(bit_or) X(bit_xor) X(shl) X(shr)
#define MASK1(X) X(isnan) X(isinf) X(isfinite) X(signbit) X(to_mask)
#define MASK2(X) X(lt) X(le) X(gt) X(ge) X(eq) X(ne)

enum class Op {
#define NAME(n) n,
  ALL1(NAME) ALL2(NAME) FLOAT1(NAME) FLOAT2(NAME) INT1(NAME) INT2(NAME) MASK1(NAME) MASK2(NAME)
#undef NAME
  fma,
  masks,
  polygamma2,
  polygamma3,
};
// clang-format on

// All operators of one type and instruction set; n is a multiple of 16.
struct Prims {
  void (*f32)(Op, const float*, const float*, float*, size_t);
  void (*f64)(Op, const double*, const double*, double*, size_t);
  void (*i64)(Op, const int64_t*, const int64_t*, int64_t*, size_t);
};
#endif

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class F>
void loop(D d, F f, const hn::TFromD<D>* a, const hn::TFromD<D>* b, hn::TFromD<D>* out, size_t n) {
  for (size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
}

template <class T>
void run(Op op, const T* a, const T* b, T* out, size_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  // clang-format off
  switch (op) {
#define CASE1(n1) \
  case Op::n1: return loop(d, [d](V x, V) { return prim::n1(d, x); }, a, b, out, n);
#define CASE2(n1) \
  case Op::n1: return loop(d, [d](V x, V y) { return prim::n1(d, x, y); }, a, b, out, n);
#define CASEM1(n1) \
  case Op::n1: return loop(d, [d](V x, V) { return prim::to_value(d, prim::n1(d, x)); }, a, b, out, n);
#define CASEM2(n1) \
  case Op::n1: return loop(d, [d](V x, V y) { return prim::to_value(d, prim::n1(d, x, y)); }, a, b, out, n);
    ALL1(CASE1) ALL2(CASE2) MASK1(CASEM1) MASK2(CASEM2)
    case Op::fma: return loop(d, [d](V x, V y) { return prim::fma(d, x, y, prim::constant(d, 3)); }, a, b, out, n);
    case Op::masks:
      return loop(
          d,
          [d](V x, V y) {
            using namespace prim;
            const auto p = prim::lt(d, x, y), q = prim::gt(d, x, constant(d, 0));
            const auto m = mask_or(d, mask_and(d, p, mask_not(d, q)), mask_xor(d, p, q));
            return select(d, m, prim::add(d, to_value(d, q), constant(d, 1)), constant(d, -1));
          },
          a, b, out, n);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      FLOAT1(CASE1) FLOAT2(CASE2)
      case Op::polygamma2: return loop(d, [d](V x, V) { return prim::polygamma(d, prim::constant(d, 2), x); }, a, b, out, n);
      case Op::polygamma3: return loop(d, [d](V x, V) { return prim::polygamma(d, prim::constant(d, 3), x); }, a, b, out, n);
      default: break;
    }
  } else {
    switch (op) {
      INT1(CASE1) INT2(CASE2)
      default: break;
    }
  }
  // clang-format on
}

}  // namespace

const Prims* prims() {
  static const Prims p = {run<float>, run<double>, run<int64_t>};
  return &p;
}

}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <stdint.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "expect.h"

namespace trt {
HWY_EXPORT(prims);
const Prims& chosen_prims() { return *HWY_DYNAMIC_DISPATCH(prims)(); }
}  // namespace trt

namespace {

using Real = long double;

bool print_table = false;

// Calls f() once for each instruction set of this machine, with that set chosen.
template <class F>
void for_each_isa(F f) {
  const auto supported = static_cast<uint64_t>(hwy::SupportedTargets()) & HWY_TARGETS;
  for (uint64_t left = supported; left != 0; left &= left - 1) {
    const auto target = static_cast<int64_t>(left & (~left + 1));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    f(hwy::TargetName(target), target == HWY_AVX2 || target == HWY_AVX3);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

template <class T>
void run_op(Op op, const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& out) {
  const Prims& p = trt::chosen_prims();
  if constexpr (std::is_same_v<T, float>)
    p.f32(op, a.data(), b.data(), out.data(), a.size());
  else if constexpr (std::is_same_v<T, double>)
    p.f64(op, a.data(), b.data(), out.data(), a.size());
  else
    p.i64(op, a.data(), b.data(), out.data(), a.size());
}

template <class T>
void pad(std::vector<T>& v) {
  while (v.size() % 16) v.push_back(v.back());
}

template <class T>
std::vector<T> specials() {
  if constexpr (std::is_integral_v<T>) {
    return {0,
            1,
            -1,
            2,
            -2,
            3,
            -3,
            7,
            10,
            -10,
            62,
            63,
            64,
            65,
            1000,
            -64,
            INT64_MAX,
            INT64_MIN,
            INT64_MAX - 1,
            INT64_MIN + 1,
            0x123456789abcdef,
            -0x123456789abcdef,
            INT64_C(1) << 32,
            -(INT64_C(1) << 32)};
  } else {
    using L = std::numeric_limits<T>;
    std::vector<T> v = {0,
                        T(0.5),
                        1,
                        T(1.5),
                        2,
                        T(2.5),
                        3,
                        4,
                        7,
                        T(0.1),
                        10,
                        T(1e-3),
                        T(1e10),
                        T(1e20),
                        T(1e30),
                        T(8388607),
                        T(8388609),
                        T(4503599627370497.0),
                        T(88.5),
                        T(709.5),
                        T(1e-30),
                        L::min(),
                        L::denorm_min(),
                        L::max(),
                        L::epsilon(),
                        L::infinity(),
                        std::nextafter(T(1), T(0)),
                        std::nextafter(T(1), T(2)),
                        L::min() * T(1.5)};
    const size_t n = v.size();
    for (size_t i = 0; i < n; ++i) v.push_back(-v[i]);
    v.push_back(L::quiet_NaN());
    return v;
  }
}

// Bit patterns spread over the whole type, then an even grid over [lo, hi], then the special values.
template <class T>
std::vector<T> sweep(double lo, double hi) {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kCount = 60000;
  std::vector<T> v;
  const U step = static_cast<U>(~U(0)) / kCount;
  for (U i = 0, bits = 0; i < kCount; ++i, bits += step)
    v.push_back(std::bit_cast<T>(static_cast<U>(bits + (i * 7919u) % step)));
  for (int i = 0; i <= kCount; ++i) v.push_back(static_cast<T>(lo + (hi - lo) * i / kCount));
  for (T s : specials<T>()) v.push_back(s);
  pad(v);
  return v;
}

// |got - ref| in units of the last place of ref (of `floor_at` if ref is smaller); 0 for equal special values.
template <class T>
double ulp_error(T got, Real ref, Real floor_at = 0) {
  using L = std::numeric_limits<T>;
  if (std::isnan(ref)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isnan(got)) return HUGE_VAL;
  const Real limit = L::max();
  if (std::fabs(ref) > limit) {
    if (std::isinf(got)) return std::signbit(got) == std::signbit(ref) ? 0 : HUGE_VAL;
    if (std::isinf(ref)) return HUGE_VAL;
  } else if (std::isinf(got)) {
    got = std::copysign(L::max(), got);  // one step beyond the largest number
  }
  if (ref == 0 && got == 0) return std::signbit(got) == std::signbit(ref) ? 0 : HUGE_VAL;
  int e;
  std::frexp(std::max(std::fabs(ref), floor_at), &e);
  const int digits = L::digits, lowest = L::min_exponent - digits;
  return static_cast<double>(std::fabs(Real(got) - ref) / std::ldexp(Real(1), std::max(e - digits, lowest)));
}

// ---- References

Real ref_sigmoid(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real ref_lgamma(Real x) {
  int sign;
  return lgammal_r(x, &sign);
}
Real ref_digamma(Real x) {
  if (x == 0) return std::copysign(HUGE_VALL, -x);
  if (x < 0) {
    const Real f = x - std::rint(x);
    if (!(f != 0) || std::isnan(f)) return std::nanl("");
    return ref_digamma(1 - x) - M_PIl / std::tan(M_PIl * f);
  }
  if (std::isinf(x)) return x;
  Real s = 0;
  for (; x < 40; x += 1) s += 1 / x;
  const Real z = 1 / (x * x);
  const Real tail = z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z * (1.0L / 132)))));
  return std::log(x) - 0.5L / x - tail - s;
}
// The derivatives of digamma of orders 1 to 3: recurrence up to 60, then the series of Abramowitz and Stegun 6.4.11; reflection at 1/2.
template <int n>
Real ref_polygamma(Real x) {
  constexpr Real kSign = n % 2 ? 1 : -1;
  if (std::isnan(x)) return x;
  if (x < 0.5L) {
    const Real f = x - std::rint(x);
    if (!(f != 0)) return kSign * HUGE_VALL;
    const Real s = std::sin(M_PIl * f), c = std::cos(M_PIl * f), p = M_PIl;
    // d^n cot(p x) / dx^n
    const Real cot = n == 1 ? -p / (s * s) : n == 2 ? 2 * p * p * c / (s * s * s) : -2 * p * p * p * (2 * c * c + 1) / (s * s * s * s);
    return -kSign * ref_polygamma<n>(1 - x) - p * cot;
  }
  const Real bernoulli[] = {1.0L / 6, -1.0L / 30, 1.0L / 42, -1.0L / 30, 5.0L / 66, -691.0L / 2730};
  const Real factorial = n == 3 ? 6 : n;
  Real sum = 0;
  for (; x < 60; x += 1) sum += factorial / std::pow(x, n + 1);
  sum += factorial / n / std::pow(x, n) + factorial / 2 / std::pow(x, n + 1);
  for (int k = 1; k <= 6; ++k) {
    // B_2k (2k + n - 1)! / (2k)!
    Real c = bernoulli[k - 1];
    for (int j = 2 * k + 1; j <= 2 * k + n - 1; ++j) c *= j;
    sum += c / std::pow(x, 2 * k + n);
  }
  return kSign * sum;
}
Real ref_erfinv(Real x) {
  const Real y = std::fabs(x);
  if (!(y < 1)) return y == 1 ? std::copysign(HUGE_VALL, x) : std::nanl("");
  if (y == 0) return x;
  const Real half_root_pi = std::sqrt(M_PIl) / 2;
  if (y < 1e-6L) return x * half_root_pi * (1 + M_PIl / 12 * y * y);
  Real r = y < 0.9L ? y : std::sqrt(-std::log(1 - y));
  for (int i = 0; i < 60; ++i) {
    const Real f = y > 0.5L ? (1 - y) - std::erfc(r) : std::erf(r) - y;
    const Real step = f * half_root_pi * std::exp(r * r);
    r -= step / (1 + r * step);
  }
  return std::copysign(r, x);
}
Real ref_logaddexp(Real a, Real b) {
  if (a == b && std::isinf(a)) return a;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}
Real ref_logaddexp2(Real a, Real b) {
  if (a == b && std::isinf(a)) return a;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::max(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / M_LN2l;
}

struct Unary {
  const char* name;
  Op op;
  Real (*ref)(Real);
  double lo, hi;            // the evenly spaced part of the sweep
  double ulp_f, ulp_d;      // the bounds
  double floor_f, floor_d;  // below this magnitude of the result the error is absolute
};
const Unary kUnary[] = {
    {"sqrt", Op::sqrt, std::sqrt, 0, 10, 0.5, 0.5, 0, 0},
    {"rsqrt", Op::rsqrt, [](Real x) { return 1 / std::sqrt(x); }, 0, 10, 1.5, 1.5, 0, 0},
    {"reciprocal", Op::reciprocal, [](Real x) { return 1 / x; }, -10, 10, 0.5, 0.5, 0, 0},
    {"exp", Op::exp, std::exp, -105, 90, 1, 1, 0, 0},
    {"exp2", Op::exp2, std::exp2, -150, 129, 1, 1, 0, 0},
    {"expm1", Op::expm1, std::expm1, -3, 3, 1.5, 2, 0, 0},
    {"log", Op::log, std::log, 0, 4, 1, 1, 0, 0},
    {"log2", Op::log2, std::log2, 0, 4, 1, 1.5, 0, 0},
    {"log10", Op::log10, std::log10, 0, 4, 1, 1.5, 0, 0},
    {"log1p", Op::log1p, std::log1p, -1, 2, 1.5, 1.5, 0, 0},
    {"sin", Op::sin, std::sin, -30, 30, 1.5, 1.5, 0, 0},
    {"cos", Op::cos, std::cos, -30, 30, 1.5, 1.5, 0, 0},
    {"tan", Op::tan, std::tan, -30, 30, 3, 3, 0, 0},
    {"sinh", Op::sinh, std::sinh, -5, 5, 1, 3, 0, 0},
    {"cosh", Op::cosh, std::cosh, -5, 5, 1, 3, 0, 0},
    {"tanh", Op::tanh, std::tanh, -10, 10, 2, 2.5, 0, 0},
    {"asin", Op::asin, std::asin, -1, 1, 2, 2, 0, 0},
    {"acos", Op::acos, std::acos, -1, 1, 1.5, 1.5, 0, 0},
    {"atan", Op::atan, std::atan, -5, 5, 1.5, 1.5, 0, 0},
    {"asinh", Op::asinh, std::asinh, -5, 5, 1, 3, 0, 0},
    {"acosh", Op::acosh, std::acosh, 1, 5, 1, 3, 0, 0},
    {"atanh", Op::atanh, std::atanh, -1, 1, 1, 3, 0, 0},
    {"sigmoid", Op::sigmoid, ref_sigmoid, -20, 20, 2.1, 2.5, 0, 0},
    {"erf", Op::erf, std::erf, -4, 4, 1.5, 1.5, 0, 0},
    {"erfc", Op::erfc, std::erfc, -4, 12, 1, 5, 0, 0},
    {"erfinv", Op::erfinv, ref_erfinv, -1, 1, 1, 3, 0, 0},
    {"lgamma", Op::lgamma, ref_lgamma, -10, 10, 1, 5, 0, 0},
    {"digamma", Op::digamma, ref_digamma, -10, 10, 1, 16, 1e-8, 1},
    {"trigamma", Op::trigamma, ref_polygamma<1>, -10, 10, 1, 8, 0, 0},
    // Even orders have zeros between the poles.
    {"polygamma2", Op::polygamma2, ref_polygamma<2>, -10, 10, 1, 12, 1e-8, 16},
    {"polygamma3", Op::polygamma3, ref_polygamma<3>, -10, 10, 1, 12, 0, 0},
};

struct Binary {
  const char* name;
  Op op;
  Real (*ref)(Real, Real);
  double ulp_f, ulp_d;
  bool sums;  // the error is relative to the larger argument
};
const Binary kBinary[] = {
    {"pow", Op::pow, std::pow, 1, 1, false},
    {"atan2", Op::atan2, std::atan2, 1, 2, false},
    {"hypot", Op::hypot, std::hypot, 1, 1, false},
    {"logaddexp", Op::logaddexp, ref_logaddexp, 2, 2, true},
    {"logaddexp2", Op::logaddexp2, ref_logaddexp2, 2, 2, true},
};

// Runs one row on one instruction set; returns the largest error and where it was.
struct Worst {
  double ulp = 0;
  Real a = 0, b = 0, got = 0, ref = 0;
};
void report(const char* name, const char* type, const char* isa, const Worst& w, double bound) {
  if (print_table)
    std::printf("%-11s %s %-7s %8.3g of %4.2g  at (%.9Lg, %.9Lg): %.9Lg\n", name, type, isa, w.ulp, bound, w.a, w.b,
                w.got);
  if (!(w.ulp <= bound) && !print_table)
    fail_msg("%s %s %s(%.20Lg, %.20Lg) = %.20Lg, expected %.20Lg: %g ULP, bound %g", isa, type, name, w.a, w.b, w.got,
             w.ref, w.ulp, bound);
}

template <class T>
void check_unary(const Unary& row) {
  constexpr bool kFloat = sizeof(T) == 4;
  const std::vector<T> x = sweep<T>(row.lo, row.hi);
  std::vector<Real> ref(x.size());
  for (size_t i = 0; i < x.size(); ++i) ref[i] = row.ref(x[i]);
  std::vector<T> got(x.size());
  for_each_isa([&](const char* isa, bool vector) {
    run_op(row.op, x, x, got);
    Worst w;
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = ulp_error(got[i], ref[i], kFloat ? row.floor_f : row.floor_d);
      if (e > w.ulp || std::isnan(e)) w = {e, x[i], 0, got[i], ref[i]};
    }
    // Without vector code libm is what is measured; some of its functions are not better than 3 ULP.
    const double bound = kFloat ? row.ulp_f : row.ulp_d;
    report(row.name, kFloat ? "f32" : "f64", isa, w, vector ? bound : std::max(bound, 3.0));
  });
}

template <class T>
void pairs(std::vector<T>& a, std::vector<T>& b) {
  const std::vector<T> s = specials<T>();
  for (T x : s)
    for (T y : s) a.push_back(x), b.push_back(y);
  std::mt19937_64 rng(7);
  if constexpr (std::is_integral_v<T>) {
    for (int i = 0; i < 4000; ++i) {
      a.push_back(static_cast<T>(rng() >> (rng() % 64)));
      b.push_back(static_cast<T>(rng() >> (rng() % 64)) * (i % 2 ? 1 : -1));
    }
  } else {
    std::uniform_real_distribution<double> unit(-1, 1);
    for (int i = 0; i < 16000; ++i) {
      const double scale = i % 4 == 0 ? 1 : i % 4 == 1 ? 10 : i % 4 == 2 ? 100 : std::exp2(100 * unit(rng));
      a.push_back(static_cast<T>(scale * unit(rng)));
      b.push_back(static_cast<T>((i % 3 ? scale : 10) * unit(rng)));
      if (i % 2) a.back() = std::fabs(a.back());
    }
  }
  pad(a), pad(b);
}

template <class T>
void check_binary(const Binary& row) {
  constexpr bool kFloat = sizeof(T) == 4;
  std::vector<T> a, b;
  pairs(a, b);
  std::vector<Real> ref(a.size());
  for (size_t i = 0; i < a.size(); ++i) ref[i] = row.ref(a[i], b[i]);
  std::vector<T> got(a.size());
  for_each_isa([&](const char* isa, bool vector) {
    run_op(row.op, a, b, got);
    Worst w;
    for (size_t i = 0; i < a.size(); ++i) {
      const Real larger = std::max(std::fabs(Real(a[i])), std::fabs(Real(b[i])));
      const double e = ulp_error(got[i], ref[i], row.sums && std::isfinite(larger) ? larger : 0);
      if (e > w.ulp || std::isnan(e)) w = {e, a[i], b[i], got[i], ref[i]};
    }
    const double bound = kFloat ? row.ulp_f : row.ulp_d;
    report(row.name, kFloat ? "f32" : "f64", isa, w, vector ? bound : std::max(bound, 3.0));
  });
}

void test_unary(void**) {
  for (const Unary& row : kUnary) {
    check_unary<float>(row);
    check_unary<double>(row);
  }
}
void test_binary(void**) {
  for (const Binary& row : kBinary) {
    check_binary<float>(row);
    check_binary<double>(row);
  }
}

// ---- Exact primitives against plain definitions

template <class T>
T ref_floordiv(T a, T b) {
  if (b == 0) return a / b;
  const T m = std::fmod(a, b);
  T q = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) q -= 1;
  if (q == 0) return std::copysign(T(0), a / b);
  T f = std::floor(q);
  return q - f > T(0.5) ? f + 1 : f;
}
template <class T>
T ref_remainder(T a, T b) {
  const T m = std::fmod(a, b);
  return m != 0 && (b < 0) != (m < 0) ? m + b : m;
}

// clang-format off
template <class T>
bool exact_float(Op op, T a, T b, T& r) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case Op::neg: r = -a; break;
    case Op::abs: r = std::fabs(a); break;
    case Op::sign: r = T((a > 0) - (a < 0)); break;
    case Op::floor: r = std::floor(a); break;
    case Op::ceil: r = std::ceil(a); break;
    case Op::trunc: r = std::trunc(a); break;
    case Op::round: r = std::nearbyint(a); break;
    case Op::frac: r = a - std::trunc(a); break;
    case Op::add: r = a + b; break;
    case Op::sub: r = a - b; break;
    case Op::mul: r = a * b; break;
    case Op::div: r = a / b; break;
    case Op::truncdiv: r = std::trunc(a / b); break;
    case Op::fmod: r = std::fmod(a, b); break;
    case Op::remainder: r = ref_remainder(a, b); break;
    case Op::floordiv: r = ref_floordiv(a, b); break;
    case Op::maximum: r = nan ? a + b : a >= b ? a : b; break;
    case Op::minimum: r = nan ? a + b : a <= b ? a : b; break;
    case Op::fmax: r = std::isnan(b) ? a : std::isnan(a) ? b : a < b ? b : a; break;
    case Op::fmin: r = std::isnan(b) ? a : std::isnan(a) ? b : a > b ? b : a; break;
    case Op::copysign: r = std::copysign(a, b); break;
    case Op::nextafter: r = std::nextafter(a, b); break;
    case Op::isnan: r = std::isnan(a); break;
    case Op::isinf: r = std::isinf(a); break;
    case Op::isfinite: r = std::isfinite(a); break;
    case Op::signbit: r = std::signbit(a); break;
    case Op::to_mask: r = a != 0; break;
    case Op::lt: r = a < b; break;
    case Op::le: r = a <= b; break;
    case Op::gt: r = a > b; break;
    case Op::ge: r = a >= b; break;
    case Op::eq: r = a == b; break;
    case Op::ne: r = a != b; break;
    case Op::masks: r = (a < b && !(a > 0)) || ((a < b) != (a > 0)) ? T(a > 0) + 1 : T(-1); break;
    default: return false;
  }
  return true;
}

int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

bool exact_int(Op op, int64_t a, int64_t b, int64_t& r) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const __int128 wa = a, wb = b;
  const __int128 q = b == 0 ? 0 : wa / wb, m = b == 0 ? 0 : wa % wb;
  const bool off = m != 0 && (m < 0) != (b < 0);
  switch (op) {
    case Op::neg: r = wrap(0 - ua); break;
    case Op::abs: r = a < 0 ? wrap(0 - ua) : a; break;
    case Op::sign: r = (a > 0) - (a < 0); break;
    case Op::floor: case Op::ceil: case Op::trunc: case Op::round: r = a; break;
    case Op::frac: r = 0; break;
    case Op::add: r = wrap(ua + ub); break;
    case Op::sub: r = wrap(ua - ub); break;
    case Op::mul: r = wrap(ua * ub); break;
    case Op::fma: r = wrap(ua * ub + 3); break;
    case Op::div: case Op::truncdiv: r = static_cast<int64_t>(q); break;
    case Op::floordiv: r = static_cast<int64_t>(q - off); break;
    case Op::fmod: r = static_cast<int64_t>(m); break;
    case Op::remainder: r = static_cast<int64_t>(off ? m + wb : m); break;
    case Op::maximum: case Op::fmax: r = std::max(a, b); break;
    case Op::minimum: case Op::fmin: r = std::min(a, b); break;
    case Op::pow: {
      if (b < 0) {
        r = a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
      } else if (b <= 2000) {
        uint64_t p = 1;
        for (int64_t i = 0; i < b; ++i) p *= ua;
        r = wrap(p);
      } else {
        return false;
      }
      break;
    }
    case Op::bit_not: r = ~a; break;
    case Op::bit_and: r = a & b; break;
    case Op::bit_or: r = a | b; break;
    case Op::bit_xor: r = a ^ b; break;
    case Op::shl: r = b < 0 || b > 63 ? 0 : wrap(ua << b); break;
    case Op::shr: r = a >> (b < 0 || b > 63 ? 63 : b); break;
    case Op::isnan: case Op::isinf: r = 0; break;
    case Op::isfinite: r = 1; break;
    case Op::signbit: r = a < 0; break;
    case Op::to_mask: r = a != 0; break;
    case Op::lt: r = a < b; break;
    case Op::le: r = a <= b; break;
    case Op::gt: r = a > b; break;
    case Op::ge: r = a >= b; break;
    case Op::eq: r = a == b; break;
    case Op::ne: r = a != b; break;
    case Op::masks: r = (a < b && !(a > 0)) || ((a < b) != (a > 0)) ? (a > 0) + 1 : -1; break;
    default: return false;
  }
  return true;
}
// clang-format on

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
void check_exact() {
  std::vector<T> a, b;
  pairs(a, b);
  std::vector<T> got(a.size());
  for_each_isa([&](const char* isa, bool) {
    for (int k = 0; k <= static_cast<int>(Op::masks); ++k) {
      const Op op = static_cast<Op>(k);
      bool ran = false;
      for (size_t i = 0; i < a.size(); ++i) {
        T want;
        bool known;
        if constexpr (std::is_integral_v<T>)
          known = exact_int(op, a[i], b[i], want);
        else
          known = exact_float(op, a[i], b[i], want);
        if (!known) continue;
        if (!ran) run_op(op, a, b, got);
        ran = true;
        if (!same(got[i], want))
          fail_msg("%s operator %d of %zu-byte %s: (%.17g, %.17g) gives %.17g, expected %.17g", isa, k, sizeof(T),
                   std::is_integral_v<T> ? "integers" : "floats", double(a[i]), double(b[i]), double(got[i]),
                   double(want));
      }
    }
    if constexpr (std::is_floating_point_v<T>) {
      run_op(Op::fma, a, b, got);
      for (size_t i = 0; i < a.size(); ++i)
        if (!same(got[i], std::fma(a[i], b[i], T(3))) && !same(got[i], T(a[i] * b[i] + T(3))))
          fail_msg("%s fma(%.17g, %.17g, 3) = %.17g", isa, double(a[i]), double(b[i]), double(got[i]));
    }
  });
}
void test_exact(void**) {
  check_exact<float>();
  check_exact<double>();
  check_exact<int64_t>();
}

}  // namespace

int main(int argc, char**) {
  print_table = argc > 1;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),
      cmocka_unit_test(test_unary),
      cmocka_unit_test(test_binary),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
#endif
