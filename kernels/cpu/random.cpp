// Random fills (random.h). One group of 16 counters at a time: Philox writes its 64 words to a small buffer in the
// layout of Note [Random element layout], a transformation turns the buffer into elements.
#include "kernels/cpu/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "core/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/random.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/hwy_targets.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

#ifndef TRT_KERNELS_CPU_RANDOM_ONCE
#define TRT_KERNELS_CPU_RANDOM_ONCE
namespace trt::cpu {
namespace {

constexpr int64_t kCounters = 16;
constexpr int64_t kGroup32 = 64;
constexpr int64_t kGroup64 = 32;
constexpr int64_t kBlock = 8;  // groups whose words are made before the first is used

// The ten round keys, each in the low half of a 64-bit lane.
struct RoundKeys {
  uint64_t k0[kPhiloxRounds];
  uint64_t k1[kPhiloxRounds];
  uint64_t seed;
  explicit RoundKeys(uint64_t seed_) : seed(seed_) {
    for (uint32_t r = 0; r < kPhiloxRounds; ++r) {
      k0[r] = static_cast<uint32_t>(seed) + r * uint64_t{kPhiloxWeyl0};
      k1[r] = static_cast<uint32_t>(seed >> 32) + r * uint64_t{kPhiloxWeyl1};
    }
  }
};

// What a fill writes: groups [g0, g1) of an output of n elements. a and b are the parameters of the distribution.
struct Job {
  const RoundKeys* keys;
  uint64_t offset;
  int64_t n;
  double a, b;
  uint32_t threshold;  // of bernoulli and dropout: 1 iff word < threshold
  const void* x;
  void* y;
  uint8_t* mask;
};
using JobFn = void (*)(const Job& job, int64_t g0, int64_t g1);

struct Kernels {
  JobFn bits, bits64, uniform_f32, uniform_f64, normal_f32, normal_f64, bernoulli, dropout_f32, dropout_f64;
  void (*masked_scale_f32)(const float*, const uint8_t*, float*, int64_t, float);
  void (*masked_scale_f64)(const double*, const uint8_t*, double*, int64_t, double);
};

}  // namespace
}  // namespace trt::cpu
#endif  // TRT_KERNELS_CPU_RANDOM_ONCE

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that a vector never crosses a run of 16 elements.
using DF = hn::CappedTag<float, 16>;
using DD = hn::CappedTag<double, 16>;

// words[16 * k + j] = word k of counter base + j.
#if HWY_TARGET == HWY_SCALAR
void philox_group(const RoundKeys& keys, uint64_t base, uint32_t* HWY_RESTRICT words) {
  for (uint64_t j = 0; j < kCounters; ++j) {
    const PhiloxBlock block = philox4x32(keys.seed, 0, base + j);
    for (int k = 0; k < 4; ++k) words[16 * k + j] = block[k];
  }
}
#else
// Each counter sits in a 64-bit lane, because the 32x32->64 multiplication reads only the low half of a lane: the upper
// halves may hold garbage all along, and a round costs two products, two shifts and two three-way xors.
void philox_group(const RoundKeys& keys, uint64_t base, uint32_t* HWY_RESTRICT words) {
  const hn::CappedTag<uint64_t, 8> d64;
  const hn::Repartition<uint32_t, decltype(d64)> d32;
  const auto mul = [&](auto x, auto m) { return hn::MulEven(hn::BitCast(d32, x), m); };
  const auto m0 = hn::Set(d32, kPhiloxMul0), m1 = hn::Set(d32, kPhiloxMul1);
  const auto low = hn::Set(d64, 0xffffffffull);
  for (uint64_t j = 0; j < kCounters; j += hn::Lanes(d32)) {
    // a: the even counters, b: the odd ones; together one vector of 32-bit lanes in order.
    const auto twice = hn::Iota(d64, 0);
    auto a0 = hn::Add(hn::Set(d64, base + j), hn::Add(twice, twice));
    auto b0 = hn::Add(a0, hn::Set(d64, 1));
    auto a1 = hn::ShiftRight<32>(a0), b1 = hn::ShiftRight<32>(b0);
    auto a2 = hn::Zero(d64), a3 = a2, b2 = a2, b3 = a2;
    for (int r = 0; r < kPhiloxRounds; ++r) {
      const auto k0 = hn::Set(d64, keys.k0[r]), k1 = hn::Set(d64, keys.k1[r]);
      const auto pa0 = mul(a0, m0), pa1 = mul(a2, m1), pb0 = mul(b0, m0), pb1 = mul(b2, m1);
      a0 = hn::Xor3(hn::ShiftRight<32>(pa1), a1, k0);
      b0 = hn::Xor3(hn::ShiftRight<32>(pb1), b1, k0);
      a2 = hn::Xor3(hn::ShiftRight<32>(pa0), a3, k1);
      b2 = hn::Xor3(hn::ShiftRight<32>(pb0), b3, k1);
      a1 = pa1, a3 = pa0, b1 = pb1, b3 = pb0;
    }
    const auto put = [&](auto a, auto b, int k) {
      hn::StoreU(hn::BitCast(d32, hn::Or(hn::And(a, low), hn::ShiftLeft<32>(b))), d32, words + 16 * k + j);
    };
    put(a0, b0, 0), put(a1, b1, 1), put(a2, b2, 2), put(a3, b3, 3);
  }
}
#endif

// Calls op(words, element index, count) for each group; op writes elements [e, e + count).
template <int64_t kElements, typename Op>
HWY_INLINE void for_groups(const Job& job, int64_t g0, int64_t g1, const Op& op) {
  alignas(64) uint32_t words[64 * kBlock];
  const int64_t n = job.n;
  for (int64_t b = g0; b < g1; b += kBlock) {
    const int64_t end = std::min(b + kBlock, g1);
    for (int64_t g = b; g < end; ++g) {
      philox_group(*job.keys, job.offset + static_cast<uint64_t>(g) * kCounters, words + 64 * (g - b));
    }
    for (int64_t g = b; g < end; ++g) {
      const int64_t e = g * kElements;
      op(words + 64 * (g - b), e, std::min(kElements, n - e));
    }
  }
}

// The common form: op(words, out) makes a whole group of T; a partial group goes through a buffer.
template <typename T, int64_t kElements, typename Op>
HWY_INLINE void fill_groups(const Job& job, int64_t g0, int64_t g1, const Op& op) {
  T* y = static_cast<T*>(job.y);
  for_groups<kElements>(job, g0, g1, [&](const uint32_t* words, int64_t e, int64_t count) HWY_ATTR {
    if (count == kElements) {
      op(words, y + e);
    } else {
      T rest[kElements];
      op(words, rest);
      std::memcpy(y + e, rest, static_cast<size_t>(count) * sizeof(T));
    }
  });
}

// 64-bit values of counters j.. of half h, as lanes of d.
template <typename D>
HWY_INLINE hn::VFromD<D> load64(D d, const uint32_t* words, int64_t h, int64_t j) {
  const hn::Rebind<uint32_t, D> d32;
  const auto lo = hn::PromoteTo(d, hn::LoadU(d32, words + 32 * h + j));
  const auto hi = hn::PromoteTo(d, hn::LoadU(d32, words + 32 * h + 16 + j));
  return hn::Or(lo, hn::ShiftLeft<32>(hi));
}

void bits(const Job& job, int64_t g0, int64_t g1) {
  fill_groups<uint32_t, kGroup32>(job, g0, g1,
                                  [](const uint32_t* words, uint32_t* y) { std::memcpy(y, words, 64 * sizeof *y); });
}

void bits64(const Job& job, int64_t g0, int64_t g1) {
  const hn::RebindToUnsigned<DD> d;
  fill_groups<uint64_t, kGroup64>(job, g0, g1, [&](const uint32_t* words, uint64_t* y) HWY_ATTR {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t j = 0; j < 16; j += hn::Lanes(d)) hn::StoreU(load64(d, words, h, j), d, y + 16 * h + j);
    }
  });
}

void uniform_f32(const Job& job, int64_t g0, int64_t g1) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::RebindToUnsigned<DF> du;
  const float lo = static_cast<float>(job.a), hi = static_cast<float>(job.b);
  const auto base = hn::Set(d, lo), span = hn::Set(d, static_cast<float>(job.b - job.a));
  const auto last = hn::Set(d, std::nextafter(hi, lo)), ulp = hn::Set(d, 0x1p-24f);
  fill_groups<float, kGroup32>(job, g0, g1, [&](const uint32_t* words, float* y) HWY_ATTR {
    for (int64_t i = 0; i < kGroup32; i += hn::Lanes(d)) {
      const auto w = hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
      hn::StoreU(hn::Min(hn::MulAdd(hn::Mul(hn::ConvertTo(d, w), ulp), span, base), last), d, y + i);
    }
  });
}

void uniform_f64(const Job& job, int64_t g0, int64_t g1) {
  const DD d;
  const hn::RebindToSigned<DD> di;
  const hn::RebindToUnsigned<DD> du;
  const auto base = hn::Set(d, job.a), span = hn::Set(d, job.b - job.a);
  const auto last = hn::Set(d, std::nextafter(job.b, job.a)), ulp = hn::Set(d, 0x1p-53);
  fill_groups<double, kGroup64>(job, g0, g1, [&](const uint32_t* words, double* y) HWY_ATTR {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t j = 0; j < 16; j += hn::Lanes(d)) {
        const auto w = hn::BitCast(di, hn::ShiftRight<11>(load64(du, words, h, j)));
        hn::StoreU(hn::Min(hn::MulAdd(hn::Mul(hn::ConvertTo(d, w), ulp), span, base), last), d, y + 16 * h + j);
      }
    }
  });
}

// -2 ln u for u in [2^-32, 1]: exponent and mantissa in [sqrt(1/2), sqrt(2)), x - x^2/2 + x^3 P(x) with a Chebyshev fit
// P.
HWY_INLINE hn::VFromD<DF> minus_two_log(DF d, hn::VFromD<DF> u) {
  const hn::RebindToSigned<DF> di;
  const auto raw = hn::BitCast(di, u);
  const auto e = hn::ShiftRight<23>(hn::Sub(raw, hn::Set(di, 0x3f3504f3)));
  const auto x = hn::Sub(hn::BitCast(d, hn::Sub(raw, hn::ShiftLeft<23>(e))), hn::Set(d, 1.0f));
  auto p = hn::Set(d, -0.0790274377239f);
  for (float c : {0.126223198492f, -0.129981837637f, 0.142144959239f, -0.166412814631f, 0.200010450942f,
                  -0.250003064226f, 0.333333307282f, -0.5f}) {
    p = hn::MulAdd(p, x, hn::Set(d, c));
  }
  const auto ln = hn::MulAdd(hn::Mul(x, x), p, x);
  return hn::MulAdd(hn::ConvertTo(d, e), hn::Set(d, -1.386294361f), hn::Mul(hn::Set(d, -2.0f), ln));
}

HWY_INLINE hn::VFromD<DD> minus_two_log(DD d, hn::VFromD<DD> u) { return hn::Mul(hn::Set(d, -2.0), hn::Log(d, u)); }

// Coefficients in powers of t^2 of sin(pi t / 2) / t and cos(pi t / 2), Chebyshev fits on |t| <= 1/2.
template <typename T>
struct SinCos;
template <>
struct SinCos<float> {
  static constexpr float kSin[4] = {-0.00460214921f, 0.0796802176f, -0.645963478f, 1.57079632f};
  static constexpr float kCos[5] = {0.000903628066f, -0.0208600695f, 0.253669204f, -1.23370054f, 1.0f};
};
template <>
struct SinCos<double> {
  static constexpr double kSin[8] = {-6.62762493899247236e-10, 5.69192785048963342e-8,  -3.5988427171448578e-6,
                                     0.0001604411847266723,    -0.00468175413531482707, 0.0796926262461669245,
                                     -0.645964097506246252,    1.57079632679489662};
  static constexpr double kCos[8] = {
      -6.32125686962858841e-9, 4.71060972675782301e-7, -0.0000252020367704602584, 0.000919260274183155721,
      -0.0208634807633112091,  0.253669507901046709,   -1.23370055013616981,      1.0};
};

// Sine and cosine of the angle b / 2^bits turns, b the unsigned lanes of `turn`: the top bits give the quadrant
// exactly.
template <typename D, typename VU>
HWY_INLINE void sincos_turn(D d, VU turn, hn::VFromD<D>& sine, hn::VFromD<D>& cosine) {
  using T = hn::TFromD<D>;
  using C = SinCos<T>;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  constexpr int kBits = sizeof(T) * 8;
  using U = hn::TFromD<decltype(du)>;
  const auto q = hn::ShiftRight<kBits - 2>(hn::Add(turn, hn::Set(du, U{1} << (kBits - 3))));
  const auto rest = hn::BitCast(di, hn::Sub(turn, hn::ShiftLeft<kBits - 2>(q)));  // in [-2^(kBits-3), 2^(kBits-3))
  const auto t = hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, static_cast<T>(4 * std::ldexp(1.0, -kBits))));
  const auto t2 = hn::Mul(t, t);
  auto s = hn::Set(d, C::kSin[0]);
  for (size_t i = 1; i < std::size(C::kSin); ++i) s = hn::MulAdd(s, t2, hn::Set(d, C::kSin[i]));
  s = hn::Mul(s, t);
  auto c = hn::Set(d, C::kCos[0]);
  for (size_t i = 1; i < std::size(C::kCos); ++i) c = hn::MulAdd(c, t2, hn::Set(d, C::kCos[i]));
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Neg(hn::BitCast(di, hn::And(q, hn::Set(du, U{1}))))));
  const auto sign_s = hn::BitCast(d, hn::ShiftLeft<kBits - 1>(hn::ShiftRight<1>(q)));
  const auto sign_c = hn::BitCast(d, hn::ShiftLeft<kBits - 1>(hn::ShiftRight<1>(hn::Add(q, hn::Set(du, U{1})))));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), sign_s);
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), sign_c);
}

void normal_f32(const Job& job, int64_t g0, int64_t g1) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::RebindToUnsigned<DF> du;
  const auto mean = hn::Set(d, static_cast<float>(job.a)), std = hn::Set(d, static_cast<float>(job.b));
  fill_groups<float, kGroup32>(job, g0, g1, [&](const uint32_t* words, float* y) HWY_ATTR {
    for (int64_t half = 0; half < kGroup32; half += 32) {
      for (int64_t j = half; j < half + 16; j += hn::Lanes(d)) {
        const auto a = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<1>(hn::LoadU(du, words + j))));
        const auto u = hn::MulAdd(a, hn::Set(d, 0x1p-31f), hn::Set(d, 0x1p-32f));
        const auto r = hn::Mul(hn::Sqrt(hn::Max(minus_two_log(d, u), hn::Zero(d))), std);
        hn::VFromD<DF> s, c;
        sincos_turn(d, hn::LoadU(du, words + j + 16), s, c);
        hn::StoreU(hn::MulAdd(r, c, mean), d, y + j);
        hn::StoreU(hn::MulAdd(r, s, mean), d, y + j + 16);
      }
    }
  });
}

void normal_f64(const Job& job, int64_t g0, int64_t g1) {
  const DD d;
  const hn::RebindToUnsigned<DD> du;
  const auto mean = hn::Set(d, job.a), std = hn::Set(d, job.b), two = hn::Set(d, 2.0);
  const auto one_bits = hn::Set(du, 0x3ff0000000000000ull);
  fill_groups<double, kGroup64>(job, g0, g1, [&](const uint32_t* words, double* y) HWY_ATTR {
    for (int64_t j = 0; j < 16; j += hn::Lanes(d)) {
      const auto a = hn::BitCast(d, hn::Or(hn::ShiftRight<12>(load64(du, words, 0, j)), one_bits));  // in [1, 2)
      const auto r = hn::Mul(hn::Sqrt(hn::Max(minus_two_log(d, hn::Sub(two, a)), hn::Zero(d))), std);
      hn::VFromD<DD> s, c;
      sincos_turn(d, load64(du, words, 1, j), s, c);
      hn::StoreU(hn::MulAdd(r, c, mean), d, y + j);
      hn::StoreU(hn::MulAdd(r, s, mean), d, y + j + 16);
    }
  });
}

// Lanes of 0 and 1 in the low byte: 1 where the word is below the threshold.
template <typename DU, typename V>
HWY_INLINE auto below(DU du, V w, V threshold) {
  return hn::BitCast(hn::RebindToSigned<DU>(),
                     hn::And(hn::VecFromMask(du, hn::Lt(w, threshold)), hn::Set(du, uint32_t{1})));
}

void bernoulli(const Job& job, int64_t g0, int64_t g1) {
  const hn::RebindToUnsigned<DF> du;
  const hn::Rebind<uint8_t, DF> d8;
  const auto threshold = hn::Set(du, job.threshold);
  fill_groups<uint8_t, kGroup32>(job, g0, g1, [&](const uint32_t* words, uint8_t* y) HWY_ATTR {
    for (int64_t i = 0; i < kGroup32; i += hn::Lanes(du)) {
      hn::StoreU(hn::DemoteTo(d8, below(du, hn::LoadU(du, words + i), threshold)), d8, y + i);
    }
  });
}

template <typename T>
void dropout(const Job& job, int64_t g0, int64_t g1) {
  const hn::RebindToUnsigned<DF> du;
  const hn::Rebind<uint8_t, DF> d8;
  const DF d;
  const T* HWY_RESTRICT xs = static_cast<const T*>(job.x);
  T* ys = static_cast<T*>(job.y);
  uint8_t* HWY_RESTRICT masks = job.mask;
  const T scale = static_cast<T>(job.a);
  const auto threshold = hn::Set(du, job.threshold);
  const uint32_t limit = job.threshold;
  for_groups<kGroup32>(job, g0, g1, [&](const uint32_t* HWY_RESTRICT words, int64_t e, int64_t count) HWY_ATTR {
    const T* x = xs + e;
    T* y = ys + e;
    uint8_t* mask = masks + e;
    if constexpr (sizeof(T) == 4) {
      if (count == kGroup32) {
        const auto scales = hn::Set(d, scale);
        for (int64_t i = 0; i < kGroup32; i += hn::Lanes(du)) {
          const auto w = hn::LoadU(du, words + i);
          hn::StoreU(hn::DemoteTo(d8, below(du, w, threshold)), d8, mask + i);
          const auto keep = hn::RebindMask(d, hn::Lt(w, threshold));
          hn::StoreU(hn::IfThenElseZero(keep, hn::Mul(hn::LoadU(d, x + i), scales)), d, y + i);
        }
        return;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      const bool keep = words[i] < limit;
      mask[i] = keep;
      y[i] = keep ? x[i] * scale : T{0};
    }
  });
}

template <typename D, typename T>
void masked_scale_loop(D d, const T* x, const uint8_t* mask, T* y, int64_t n, T scale) {
  const hn::Rebind<uint8_t, D> d8;
  const hn::Rebind<int32_t, D> d32;
  const hn::RebindToSigned<D> di;
  const auto scales = hn::Set(d, scale);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto m32 = hn::PromoteTo(d32, hn::LoadU(d8, mask + i));
    const auto scaled = hn::Mul(hn::LoadU(d, x + i), scales);
    if constexpr (sizeof(T) == 4) {
      hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(d, hn::Eq(m32, hn::Zero(d32))), scaled), d, y + i);
    } else {
      const auto m64 = hn::PromoteTo(di, m32);
      hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(d, hn::Eq(m64, hn::Zero(di))), scaled), d, y + i);
    }
  }
  for (; i < n; ++i) y[i] = mask[i] != 0 ? x[i] * scale : T{0};
}

void masked_scale_f32(const float* x, const uint8_t* mask, float* y, int64_t n, float scale) {
  masked_scale_loop(DF(), x, mask, y, n, scale);
}
void masked_scale_f64(const double* x, const uint8_t* mask, double* y, int64_t n, double scale) {
  masked_scale_loop(DD(), x, mask, y, n, scale);
}

const Kernels* kernels() {
  static constexpr Kernels k = {
      bits,      bits64,         uniform_f32,     uniform_f64,      normal_f32,      normal_f64,
      bernoulli, dropout<float>, dropout<double>, masked_scale_f32, masked_scale_f64};
  return &k;
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {
namespace {

HWY_EXPORT(kernels);

const Kernels& table() {
  return *HWY_DYNAMIC_DISPATCH(kernels)();
}

constexpr int64_t kGrainGroups = 512;

uint64_t run(JobFn fn, Job job, int64_t group, uint64_t seed, uint64_t offset) {
  const RoundKeys keys(seed);
  job.keys = &keys;
  job.offset = offset;
  const int64_t groups = (job.n + group - 1) / group;
  parallel_for(0, groups, kGrainGroups, [&](int64_t g0, int64_t g1) { fn(job, g0, g1); });
  return static_cast<uint64_t>(groups * kCounters);
}

Job make_job(void* y, int64_t n, double a, double b) {
  Job job{};
  job.y = y, job.n = n, job.a = a, job.b = b;
  return job;
}

// What a fill of n elements in the 32-bit layout consumes, for the cases that need no words.
uint64_t consumed32(int64_t n) { return static_cast<uint64_t>((n + kGroup32 - 1) / kGroup32 * kCounters); }

uint64_t threshold_of(double p) { return static_cast<uint64_t>(std::llround(p * 0x1p32)); }

uint64_t mul_high(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

template <typename T>
uint64_t dropout_any(const T* x, T* y, uint8_t* mask, int64_t n, double p, uint64_t seed, uint64_t offset, JobFn fn) {
  const uint64_t threshold = threshold_of(1 - p);
  if (threshold == 0) {
    parallel_for(0, n, int64_t{1} << 16, [&](int64_t b, int64_t e) {
      std::fill(mask + b, mask + e, uint8_t{0});
      std::fill(y + b, y + e, T{0});
    });
    return consumed32(n);
  }
  if (threshold >> 32) {
    parallel_for(0, n, int64_t{1} << 16, [&](int64_t b, int64_t e) {
      std::fill(mask + b, mask + e, uint8_t{1});
      if (x != y) std::copy(x + b, x + e, y + b);
    });
    return consumed32(n);
  }
  Job job = make_job(y, n, 1 / (1 - p), 0);
  job.x = x, job.mask = mask, job.threshold = static_cast<uint32_t>(threshold);
  return run(fn, job, kGroup32, seed, offset);
}

}  // namespace

uint64_t fill_bits(uint32_t* y, int64_t n, uint64_t seed, uint64_t offset) {
  return run(table().bits, make_job(y, n, 0, 0), kGroup32, seed, offset);
}
uint64_t fill_bits64(uint64_t* y, int64_t n, uint64_t seed, uint64_t offset) {
  return run(table().bits64, make_job(y, n, 0, 0), kGroup64, seed, offset);
}
uint64_t fill_uniform(float* y, int64_t n, double lo, double hi, uint64_t seed, uint64_t offset) {
  return run(table().uniform_f32, make_job(y, n, lo, hi), kGroup32, seed, offset);
}
uint64_t fill_uniform(double* y, int64_t n, double lo, double hi, uint64_t seed, uint64_t offset) {
  return run(table().uniform_f64, make_job(y, n, lo, hi), kGroup64, seed, offset);
}
uint64_t fill_normal(float* y, int64_t n, double mean, double std, uint64_t seed, uint64_t offset) {
  return run(table().normal_f32, make_job(y, n, mean, std), kGroup32, seed, offset);
}
uint64_t fill_normal(double* y, int64_t n, double mean, double std, uint64_t seed, uint64_t offset) {
  return run(table().normal_f64, make_job(y, n, mean, std), kGroup64, seed, offset);
}

uint64_t fill_bernoulli(uint8_t* y, int64_t n, double p, uint64_t seed, uint64_t offset) {
  const uint64_t threshold = threshold_of(p);
  if (threshold == 0 || threshold >> 32) {
    std::fill(y, y + n, static_cast<uint8_t>(threshold != 0));
    return consumed32(n);
  }
  Job job = make_job(y, n, 0, 0);
  job.threshold = static_cast<uint32_t>(threshold);
  return run(table().bernoulli, job, kGroup32, seed, offset);
}

uint64_t fill_randint(int64_t* y, int64_t n, int64_t low, int64_t high, uint64_t seed, uint64_t offset) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const RoundKeys keys(seed);
  const JobFn words = table().bits64;
  const int64_t groups = (n + kGroup64 - 1) / kGroup64;
  parallel_for(0, groups, kGrainGroups, [&](int64_t g0, int64_t g1) {
    Job job = make_job(y, n, 0, 0);
    job.keys = &keys, job.offset = offset;
    for (int64_t g = g0; g < g1; g += kBlock) {  // the words are still in the first-level cache
      const int64_t end = std::min(g + kBlock, g1);
      words(job, g, end);
      for (int64_t i = g * kGroup64; i < std::min(end * kGroup64, n); ++i) {
        y[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + mul_high(static_cast<uint64_t>(y[i]), range));
      }
    }
  });
  return static_cast<uint64_t>(groups * kCounters);
}

uint64_t fill_randperm(int64_t* y, int64_t n, uint64_t seed, uint64_t offset) {
  for (int64_t i = 0; i < n; ++i) y[i] = i;
  const RoundKeys keys(seed);
  uint64_t words[kBlock * kGroup64];
  Job job = make_job(words, kBlock * kGroup64, 0, 0);
  job.keys = &keys;
  const JobFn fill = table().bits64;
  for (int64_t b = 0; b + 1 < n; b += kBlock * kGroup64) {
    job.offset = offset + static_cast<uint64_t>(b / kGroup64 * kCounters);
    fill(job, 0, kBlock);
    const int64_t end = std::min(b + kBlock * kGroup64, n - 1);
    for (int64_t i = b; i < end; ++i) {
      const int64_t j = i + static_cast<int64_t>(mul_high(words[i - b], static_cast<uint64_t>(n - i)));
      std::swap(y[i], y[j]);
    }
  }
  return static_cast<uint64_t>((n + kGroup64 - 1) / kGroup64 * kCounters);
}

uint64_t dropout_forward(const float* x, float* y, uint8_t* mask, int64_t n, double p, uint64_t seed, uint64_t offset) {
  return dropout_any(x, y, mask, n, p, seed, offset, table().dropout_f32);
}
uint64_t dropout_forward(const double* x, double* y, uint8_t* mask, int64_t n, double p, uint64_t seed,
                         uint64_t offset) {
  return dropout_any(x, y, mask, n, p, seed, offset, table().dropout_f64);
}

void masked_scale(const float* x, const uint8_t* mask, float* y, int64_t n, double scale) {
  const auto fn = table().masked_scale_f32;
  parallel_for(0, n, int64_t{1} << 16,
               [&](int64_t b, int64_t e) { fn(x + b, mask + b, y + b, e - b, static_cast<float>(scale)); });
}
void masked_scale(const double* x, const uint8_t* mask, double* y, int64_t n, double scale) {
  const auto fn = table().masked_scale_f64;
  parallel_for(0, n, int64_t{1} << 16, [&](int64_t b, int64_t e) { fn(x + b, mask + b, y + b, e - b, scale); });
}

}  // namespace trt::cpu
#endif  // HWY_ONCE
