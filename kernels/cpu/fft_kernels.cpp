#include "kernels/cpu/fft_kernels.h"

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fft_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Complex {
  using V = hn::Vec<D>;
  V re, im;
};

template <class D>
HWY_INLINE Complex<D> add(Complex<D> a, Complex<D> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> sub(Complex<D> a, Complex<D> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
// a - i b and a + i b.
template <class D>
HWY_INLINE Complex<D> sub_i(Complex<D> a, Complex<D> b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class D>
HWY_INLINE Complex<D> add_i(Complex<D> a, Complex<D> b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
// a + f b for a real f.
template <class D>
HWY_INLINE Complex<D> add_scaled(Complex<D> a, hn::Vec<D> f, Complex<D> b) {
  return {hn::MulAdd(f, b.re, a.re), hn::MulAdd(f, b.im, a.im)};
}
template <class D>
HWY_INLINE Complex<D> mul(Complex<D> a, hn::Vec<D> wr, hn::Vec<D> wi) {
  return {hn::NegMulAdd(a.im, wi, hn::Mul(a.re, wr)), hn::MulAdd(a.im, wr, hn::Mul(a.re, wi))};
}

// The transform of R elements, R = 2, 3, 4 or 5.
template <int R, class D>
HWY_INLINE void butterfly(D d, Complex<D> (&a)[R]) {
  using T = hn::TFromD<D>;
  if constexpr (R == 2) {
    const Complex<D> b = a[1];
    a[1] = sub<D>(a[0], b);
    a[0] = add<D>(a[0], b);
  } else if constexpr (R == 3) {
    const Complex<D> sum = add<D>(a[1], a[2]), diff = sub<D>(a[1], a[2]);
    const auto sine = hn::Set(d, T(0.866025403784438646763723170752936183));
    const Complex<D> mid = add_scaled<D>(a[0], hn::Set(d, T(-0.5)), sum), side{hn::Mul(sine, diff.re), hn::Mul(sine, diff.im)};
    a[0] = add<D>(a[0], sum);
    a[1] = sub_i<D>(mid, side);
    a[2] = add_i<D>(mid, side);
  } else if constexpr (R == 4) {
    const Complex<D> s02 = add<D>(a[0], a[2]), d02 = sub<D>(a[0], a[2]), s13 = add<D>(a[1], a[3]), d13 = sub<D>(a[1], a[3]);
    a[0] = add<D>(s02, s13);
    a[1] = sub_i<D>(d02, d13);
    a[2] = sub<D>(s02, s13);
    a[3] = add_i<D>(d02, d13);
  } else {
    const auto c1 = hn::Set(d, T(0.309016994374947424102293417182819059)), c2 = hn::Set(d, T(-0.809016994374947424102293417182819059));
    const auto s1 = hn::Set(d, T(0.951056516295153572116439333379382143)), s2 = hn::Set(d, T(0.587785252292473129168705954639072769));
    const Complex<D> p1 = add<D>(a[1], a[4]), m1 = sub<D>(a[1], a[4]), p2 = add<D>(a[2], a[3]), m2 = sub<D>(a[2], a[3]);
    const Complex<D> u = add_scaled<D>(add_scaled<D>(a[0], c1, p1), c2, p2), v = add_scaled<D>(add_scaled<D>(a[0], c2, p1), c1, p2);
    const Complex<D> x{hn::MulAdd(s2, m2.re, hn::Mul(s1, m1.re)), hn::MulAdd(s2, m2.im, hn::Mul(s1, m1.im))};
    const Complex<D> y{hn::NegMulAdd(s1, m2.re, hn::Mul(s2, m1.re)), hn::NegMulAdd(s1, m2.im, hn::Mul(s2, m1.im))};
    a[0] = add<D>(a[0], add<D>(p1, p2));
    a[1] = sub_i<D>(u, x);
    a[4] = add_i<D>(u, x);
    a[2] = sub_i<D>(v, y);
    a[3] = add_i<D>(v, y);
  }
}

// Positions [q, ...) of the lines in steps of the vector, as far as whole ones fit; returns where it stopped.
template <int R, class D, typename T>
HWY_INLINE int64_t columns(D d, int64_t q, int64_t s, int64_t m, int64_t p, FftParts<const T> x, FftParts<T> y, FftParts<const T> w) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; q + lanes <= s; q += lanes) {
    Complex<D> a[R];
#pragma GCC unroll 8
    for (int j = 0; j < R; ++j) {
      const int64_t at = (j * m + p) * s + q;
      a[j] = {hn::LoadU(d, x.re + at), hn::LoadU(d, x.im + at)};
    }
    butterfly<R>(d, a);
#pragma GCC unroll 8
    for (int k = 0; k < R; ++k) {
      if (k > 0) a[k] = mul<D>(a[k], hn::Set(d, w.re[(k - 1) * m + p]), hn::Set(d, w.im[(k - 1) * m + p]));
      const int64_t at = (p * R + k) * s + q;
      hn::StoreU(a[k].re, d, y.re + at);
      hn::StoreU(a[k].im, d, y.im + at);
    }
  }
  return q;
}

// Any odd radix: sums and differences of elements that lie symmetrically are multiplied by cosines and sines.
template <class D, typename T>
HWY_INLINE int64_t odd_columns(D d, int r, int64_t q, int64_t s, int64_t m, int64_t p, FftParts<const T> x, FftParts<T> y, FftParts<const T> w,
                               FftParts<const T> roots) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int half = (r - 1) / 2;
  for (; q + lanes <= s; q += lanes) {
    Complex<D> sums[kMaxFftRadix / 2], diffs[kMaxFftRadix / 2];
    auto load = [&](int j) HWY_ATTR {
      const int64_t at = (j * m + p) * s + q;
      return Complex<D>{hn::LoadU(d, x.re + at), hn::LoadU(d, x.im + at)};
    };
    auto store = [&](int k, Complex<D> v) HWY_ATTR {
      if (k > 0) v = mul<D>(v, hn::Set(d, w.re[(k - 1) * m + p]), hn::Set(d, w.im[(k - 1) * m + p]));
      const int64_t at = (p * r + k) * s + q;
      hn::StoreU(v.re, d, y.re + at);
      hn::StoreU(v.im, d, y.im + at);
    };
    const Complex<D> first = load(0);
    Complex<D> total = first;
    for (int j = 1; j <= half; ++j) {
      const Complex<D> a = load(j), b = load(r - j);
      sums[j - 1] = add<D>(a, b);
      diffs[j - 1] = sub<D>(a, b);
      total = add<D>(total, sums[j - 1]);
    }
    store(0, total);
    for (int k = 1; k <= half; ++k) {
      Complex<D> even = first, odd{hn::Zero(d), hn::Zero(d)};
      for (int j = 1, at = k; j <= half; ++j, at = at + k >= r ? at + k - r : at + k) {
        even = add_scaled<D>(even, hn::Set(d, roots.re[at]), sums[j - 1]);
        odd = add_scaled<D>(odd, hn::Set(d, roots.im[at]), diffs[j - 1]);
      }
      store(k, add_i<D>(even, odd));
      store(r - k, sub_i<D>(even, odd));
    }
  }
  return q;
}

// One line (s = 1) as far as whole vectors of p fit; returns where it stopped.
template <int R, class D, typename T>
HWY_INLINE int64_t single(D d, int64_t m, FftParts<const T> x, FftParts<T> y, FftParts<const T> w) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t p = 0;
  for (; p + lanes <= m; p += lanes) {
    Complex<D> a[R];
#pragma GCC unroll 8
    for (int j = 0; j < R; ++j) a[j] = {hn::LoadU(d, x.re + j * m + p), hn::LoadU(d, x.im + j * m + p)};
    butterfly<R>(d, a);
#pragma GCC unroll 8
    for (int k = 1; k < R; ++k) a[k] = mul<D>(a[k], hn::LoadU(d, w.re + (k - 1) * m + p), hn::LoadU(d, w.im + (k - 1) * m + p));
    if constexpr (R == 2) {
      hn::StoreInterleaved2(a[0].re, a[1].re, d, y.re + p * R);
      hn::StoreInterleaved2(a[0].im, a[1].im, d, y.im + p * R);
    } else if constexpr (R == 3) {
      hn::StoreInterleaved3(a[0].re, a[1].re, a[2].re, d, y.re + p * R);
      hn::StoreInterleaved3(a[0].im, a[1].im, a[2].im, d, y.im + p * R);
    } else {
      hn::StoreInterleaved4(a[0].re, a[1].re, a[2].re, a[3].re, d, y.re + p * R);
      hn::StoreInterleaved4(a[0].im, a[1].im, a[2].im, a[3].im, d, y.im + p * R);
    }
  }
  return p;
}

#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
// Radix 4 and s = 4 with vectors of 8: two p at once.
template <class D, typename T>
HWY_INLINE int64_t pairs(D d, int64_t m, FftParts<const T> x, FftParts<T> y, FftParts<const T> w) {
  int64_t p = 0;
  for (; p + 2 <= m; p += 2) {
    Complex<D> a[4];
#pragma GCC unroll 8
    for (int j = 0; j < 4; ++j) a[j] = {hn::LoadU(d, x.re + (j * m + p) * 4), hn::LoadU(d, x.im + (j * m + p) * 4)};
    butterfly<4>(d, a);
#pragma GCC unroll 8
    for (int k = 1; k < 4; ++k) {
      const T *re = w.re + (k - 1) * m + p, *im = w.im + (k - 1) * m + p;
      a[k] = mul<D>(a[k], hn::ConcatLowerLower(d, hn::Set(d, re[1]), hn::Set(d, re[0])), hn::ConcatLowerLower(d, hn::Set(d, im[1]), hn::Set(d, im[0])));
    }
#pragma GCC unroll 8
    for (int k = 0; k < 4; k += 2) {
      hn::StoreU(hn::ConcatLowerLower(d, a[k + 1].re, a[k].re), d, y.re + (p * 4 + k) * 4);
      hn::StoreU(hn::ConcatLowerLower(d, a[k + 1].im, a[k].im), d, y.im + (p * 4 + k) * 4);
      hn::StoreU(hn::ConcatUpperUpper(d, a[k + 1].re, a[k].re), d, y.re + ((p + 1) * 4 + k) * 4);
      hn::StoreU(hn::ConcatUpperUpper(d, a[k + 1].im, a[k].im), d, y.im + ((p + 1) * 4 + k) * 4);
    }
  }
  return p;
}
#endif

template <typename T>
void split(int64_t n, const T* from, T* re, T* im) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    hn::Vec<decltype(d)> a, b;
    hn::LoadInterleaved2(d, from + 2 * k, a, b);
    hn::StoreU(a, d, re + k);
    hn::StoreU(b, d, im + k);
  }
  for (; k < n; ++k) {
    re[k] = from[2 * k];
    im[k] = from[2 * k + 1];
  }
}

template <typename T>
void join(int64_t n, const T* re, const T* im, T scale, T* to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) hn::StoreInterleaved2(hn::Mul(factor, hn::LoadU(d, re + k)), hn::Mul(factor, hn::LoadU(d, im + k)), d, to + 2 * k);
  for (; k < n; ++k) {
    to[2 * k] = scale * re[k];
    to[2 * k + 1] = scale * im[k];
  }
}

template <typename T>
void take_apart(int64_t length, FftParts<const T> x, FftParts<const T> turns, T scale, T sign, T* to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T half = scale / 2, signed_half = sign * half;
  const auto by = hn::Set(d, half), signed_by = hn::Set(d, signed_half);
  int64_t k = 1;
  for (; k + lanes <= length; k += lanes) {
    const int64_t mirror = length - k - lanes + 1;
    const auto ar = hn::LoadU(d, x.re + k), ai = hn::LoadU(d, x.im + k);
    const auto br = hn::Reverse(d, hn::LoadU(d, x.re + mirror)), bi = hn::Reverse(d, hn::LoadU(d, x.im + mirror));
    const auto wr = hn::LoadU(d, turns.re + k), wi = hn::LoadU(d, turns.im + k);
    const auto dr = hn::Add(ai, bi), di = hn::Sub(br, ar);
    const auto re = hn::NegMulAdd(di, wi, hn::MulAdd(dr, wr, hn::Add(ar, br))), im = hn::MulAdd(di, wr, hn::MulAdd(dr, wi, hn::Sub(ai, bi)));
    hn::StoreInterleaved2(hn::Mul(by, re), hn::Mul(signed_by, im), d, to + 2 * k);
  }
  for (; k < length; ++k) {
    const T ar = x.re[k], ai = x.im[k], br = x.re[length - k], bi = x.im[length - k], wr = turns.re[k], wi = turns.im[k], dr = ai + bi, di = br - ar;
    to[2 * k] = half * (ar + br + (dr * wr - di * wi));
    to[2 * k + 1] = signed_half * (ai - bi + (dr * wi + di * wr));
  }
}

template <typename T>
void put_together(int64_t length, const T* from, T sign, FftParts<const T> turns, T* re, T* im) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, sign);
  int64_t k = 1;
  for (; k + lanes <= length; k += lanes) {
    hn::Vec<decltype(d)> ar, ai, br, bi;
    hn::LoadInterleaved2(d, from + 2 * k, ar, ai);
    hn::LoadInterleaved2(d, from + 2 * (length - k - lanes + 1), br, bi);
    br = hn::Reverse(d, br);
    bi = hn::Reverse(d, bi);
    const auto wr = hn::LoadU(d, turns.re + k), wi = hn::LoadU(d, turns.im + k), dr = hn::Sub(ar, br), di = hn::Mul(by, hn::Add(ai, bi));
    hn::StoreU(hn::NegMulAdd(di, wr, hn::MulAdd(dr, wi, hn::Add(ar, br))), d, re + k);
    hn::StoreU(hn::MulAdd(di, wi, hn::MulAdd(dr, wr, hn::Mul(by, hn::Sub(ai, bi)))), d, im + k);
  }
  for (; k < length; ++k) {
    const T ar = from[2 * k], ai = from[2 * k + 1], br = from[2 * (length - k)], bi = from[2 * (length - k) + 1], wr = turns.re[k], wi = turns.im[k];
    const T dr = ar - br, di = sign * (ai + bi);
    re[k] = ar + br + (dr * wi - di * wr);
    im[k] = sign * (ai - bi) + (dr * wr + di * wi);
  }
}

template <typename T>
void pass(int radix, int64_t m, int64_t s, FftParts<const T> x, FftParts<T> y, FftParts<const T> w, FftParts<const T> roots) {
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, 4> middle;
  const hn::CappedTag<T, 1> one;
  int64_t begin = 0;
  if (s == 1) begin = radix == 4 ? single<4>(wide, m, x, y, w) : radix == 2 ? single<2>(wide, m, x, y, w) : radix == 3 ? single<3>(wide, m, x, y, w) : 0;
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 8> eight;
  if constexpr (hn::MaxLanes(eight) == 8) {
    if (s == 4 && radix == 4) begin = pairs(eight, m, x, y, w);
  }
#endif
  auto each = [&](auto&& f) HWY_ATTR {
    for (int64_t p = begin; p < m; ++p) f(one, f(middle, f(wide, 0, p), p), p);
  };
  switch (radix) {
    case 2: return each([&](auto d, int64_t q, int64_t p) HWY_ATTR { return columns<2>(d, q, s, m, p, x, y, w); });
    case 3: return each([&](auto d, int64_t q, int64_t p) HWY_ATTR { return columns<3>(d, q, s, m, p, x, y, w); });
    case 4: return each([&](auto d, int64_t q, int64_t p) HWY_ATTR { return columns<4>(d, q, s, m, p, x, y, w); });
    case 5: return each([&](auto d, int64_t q, int64_t p) HWY_ATTR { return columns<5>(d, q, s, m, p, x, y, w); });
    default: return each([&](auto d, int64_t q, int64_t p) HWY_ATTR { return odd_columns(d, radix, q, s, m, p, x, y, w, roots); });
  }
}

template <typename T>
constexpr FftKernels<T> kFft = {pass<T>, split<T>, join<T>, take_apart<T>, put_together<T>};
constexpr Tables<FftKernels, float, double> kTables = {kFft<float>, kFft<double>};

}  // namespace

const Tables<FftKernels, float, double>* fft_tables() { return &kTables; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(fft_tables);

template <typename T>
const FftKernels<T>& fft_kernels() {
  return *HWY_DYNAMIC_DISPATCH(fft_tables)();
}
template const FftKernels<float>& fft_kernels<float>();
template const FftKernels<double>& fft_kernels<double>();

}  // namespace trt::cpu
#endif
