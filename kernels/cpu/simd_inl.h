// Small vector helpers shared by the reduction, softmax and normalization kernels: partial loads and stores, reduction
// over the lanes of a vector, the exponential. Included once per instruction set, inside a file that uses
// hwy/foreach_target.h; everything here is private to the including file.
#if defined(TRT_KERNELS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_KERNELS_CPU_SIMD_INL_H_
#undef TRT_KERNELS_CPU_SIMD_INL_H_
#else
#define TRT_KERNELS_CPU_SIMD_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A masked load of Highway reads all lanes where the processor has no fault-suppressing instruction; the tail of an
// array then goes through a buffer.
template <typename T>
constexpr bool has_native_masks() {
  return HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);
}

// Whether Max(a, b) and Min(a, b) are b when an operand is NaN, as the x86 instructions have it. On the portable target
// they return the operand that is not NaN.
constexpr bool kNanReturnsSecond = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;

// The first n lanes from p, zero in the others; 0 < n < Lanes(d).
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_tail(D d, const T* p, int64_t n) {
  if constexpr (has_native_masks<T>()) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
  } else {
    HWY_ALIGN T buf[hn::MaxLanes(d)] = {};
    std::memcpy(buf, p, static_cast<size_t>(n) * sizeof(T));
    return hn::Load(d, buf);
  }
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_tail(D d, hn::Vec<D> v, T* p, int64_t n) {
  if constexpr (has_native_masks<T>()) {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
  } else {
    HWY_ALIGN T buf[hn::MaxLanes(d)];
    hn::Store(v, d, buf);
    std::memcpy(p, buf, static_cast<size_t>(n) * sizeof(T));
  }
}

// Calls f(i, load, store) for each vector of [0, n): load(p) and store(v, p) touch whole vectors, and only the lanes
// below n in the last, incomplete one.
template <class D, class F>
HWY_INLINE void for_vectors(D d, int64_t n, const F& f) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    f(
        i, [d](const T* p) HWY_ATTR { return hn::LoadU(d, p); }, [d](V v, T* p) HWY_ATTR { hn::StoreU(v, d, p); });
  }
  if (const int64_t rest = n - i; rest > 0) {
    f(
        i, [d, rest](const T* p) HWY_ATTR { return load_tail(d, p, rest); },
        [d, rest](V v, T* p) HWY_ATTR { store_tail(d, v, p, rest); });
  }
}

// The same with stores that bypass the cache: the output must be aligned to the vector, n a multiple of the lanes (see
// should_stream), and the caller ends with hwy::FlushStream().
template <class D, class F>
HWY_INLINE void for_streamed_vectors(D d, int64_t n, const F& f) {
  using T = hn::TFromD<D>;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    f(
        i, [d](const T* p) HWY_ATTR { return hn::LoadU(d, p); },
        [d](hn::Vec<D> v, T* p) HWY_ATTR { hn::Stream(v, d, p); });
  }
}

// Combines all lanes by an associative and commutative functor combine(d, a, b), in an order fixed by the vector
// length.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> reduce_lanes(D d, hn::Vec<D> v) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes >= 2) v = Op::combine(d, v, hn::Reverse2(d, v));
  if constexpr (kLanes >= 4) v = Op::combine(d, v, hn::Reverse4(d, v));
  if constexpr (kLanes >= 8) v = Op::combine(d, v, hn::Reverse8(d, v));
  if constexpr (kLanes >= 16) v = Op::combine(d, v, hn::Reverse(d, v));
  return hn::GetLane(v);
}

struct AddLanes {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct MaxLanes {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Max(a, b);
  }
};

template <class D>
HWY_INLINE hn::TFromD<D> sum_lanes(D d, hn::Vec<D> v) {
  return reduce_lanes<AddLanes>(d, v);
}
template <class D>
HWY_INLINE hn::TFromD<D> max_lanes(D d, hn::Vec<D> v) {
  return reduce_lanes<MaxLanes>(d, v);
}

// Scales p by 2^n, n integral and within [-1100, 1100] (double) or [-160, 160] (float); gradual underflow and overflow
// to infinity as in the scalar function.
template <class D>
HWY_INLINE hn::Vec<D> scale_by_power_of_two(D d, hn::Vec<D> p, hn::Vec<D> n) {
  using T = hn::TFromD<D>;
#if HWY_TARGET == HWY_AVX3
  (void)d;
  if constexpr (sizeof(T) == 4) {
    return hn::Vec<D>{_mm512_scalef_ps(p.raw, n.raw)};
  } else {
    return hn::Vec<D>{_mm512_scalef_pd(p.raw, n.raw)};
  }
#else
  // Adding 1.5 * 2^mantissa puts the integer into the low bits. Two factors, because 2^n alone may not be a normal
  // number.
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr T kMagic = static_cast<T>(3) * static_cast<T>(int64_t{1} << (kMantissa - 1));
  const hn::RebindToSigned<D> di;
  const auto magic = hn::Set(d, kMagic);
  const auto bias = hn::BitCast(di, hn::Set(d, static_cast<T>(1)));
  const auto half = hn::Sub(hn::Add(hn::Mul(n, hn::Set(d, static_cast<T>(0.5))), magic), magic);
  const auto e1 = hn::Sub(hn::BitCast(di, hn::Add(half, magic)), hn::BitCast(di, magic));
  const auto e2 = hn::Sub(hn::BitCast(di, hn::Add(hn::Sub(n, half), magic)), hn::BitCast(di, magic));
  const auto f1 = hn::BitCast(d, hn::Add(hn::ShiftLeft<kMantissa>(e1), bias));
  const auto f2 = hn::BitCast(d, hn::Add(hn::ShiftLeft<kMantissa>(e2), bias));
  return hn::Mul(hn::Mul(p, f1), f2);
#endif
}

// exp(x), at most 1 ULP for float and double (1.2 without FMA), denormal results included; NaN gives NaN, -infinity 0
// and +infinity infinity. kNonPositive: the caller knows that x <= 0 or NaN. e^x = 2^n e^r with |r| <= ln(2)/2, where
// e^r = 1 + r + r^2 q(r) and q is the minimax polynomial for the relative error of the whole (3e-9 and 4e-18), found
// with the Remez algorithm.
template <bool kNonPositive, class D>
HWY_INLINE hn::Vec<D> exp_vec(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  constexpr bool kFloat = sizeof(T) == 4;
  const auto set = [d](double f, double g) HWY_ATTR { return hn::Set(d, static_cast<T>(kFloat ? f : g)); };
  const auto lo = set(-105.0, -746.0), hi = set(89.0, 710.0);
  auto c = x;
  if constexpr (kNanReturnsSecond) {
    c = hn::Max(lo, c);
    if constexpr (!kNonPositive) c = hn::Min(hi, c);
  } else {
    c = hn::IfThenElse(hn::Lt(c, lo), lo, c);
    c = hn::IfThenElse(hn::Gt(c, hi), hi, c);
  }
  // Rounding to integers by the magic constant again: Round is slow on the portable target.
  const auto magic = set(12582912.0, 6755399441055744.0);
  const auto n = hn::Sub(hn::MulAdd(c, set(1.44269504088896341, 1.44269504088896341), magic), magic);
  // The high part of ln 2 has trailing zeros, so its product with n is exact without FMA too.
  auto r = hn::NegMulAdd(n, set(0.693359375, 6.93145751953125e-1), c);
  r = hn::NegMulAdd(n, set(-2.12194440e-4, 1.42860682030941723212e-6), r);
  hn::Vec<D> q;
  if constexpr (kFloat) {
    q = hn::Set(d, T(0.001381463007643501524));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.0083687097411832011)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.04166838674875588122)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.1666652070875755574)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.4999999345783003662)));
  } else {
    q = hn::Set(d, T(2.500000048148584822e-8));
    q = hn::MulAdd(q, r, hn::Set(d, T(2.763021032081676263e-7)));
    q = hn::MulAdd(q, r, hn::Set(d, T(2.755758643262484044e-6)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.00002480149321581099599)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.0001984126950671291773)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.001388888894350430713)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.008333333333494271118)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.04166666666653070671)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.1666666666666641312)));
    q = hn::MulAdd(q, r, hn::Set(d, T(0.5000000000000010549)));
  }
  const auto one = hn::Set(d, T(1));
  q = hn::MulAdd(q, r, one);
  q = hn::MulAdd(q, r, one);
  return scale_by_power_of_two(d, q, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#endif  // TRT_KERNELS_CPU_SIMD_INL_H_
