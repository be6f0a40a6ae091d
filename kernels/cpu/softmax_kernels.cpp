// Vector kernels of softmax, log-softmax and logsumexp, along rows and down columns.
#include "kernels/cpu/softmax_kernels.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"
#include "kernels/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <typename T>
T row_max(const T* HWY_RESTRICT x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto a0 = lowest, a1 = lowest, a2 = lowest, a3 = lowest;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = hn::Max(a0, hn::LoadU(d, x + i));
    a1 = hn::Max(a1, hn::LoadU(d, x + i + lanes));
    a2 = hn::Max(a2, hn::LoadU(d, x + i + 2 * lanes));
    a3 = hn::Max(a3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = hn::Max(a0, hn::LoadU(d, x + i));
  if (const int64_t rest = n - i; rest > 0) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(rest));
    a1 = hn::Max(a1, hn::IfThenElse(mask, load_tail(d, x + i, rest), lowest));
  }
  // A NaN may or may not be the maximum here: the sum of the exponentials has it in any case.
  return max_lanes(d, hn::Max(hn::Max(a0, a1), hn::Max(a2, a3)));
}

// Sums f(i, load, store) over the vectors of [0, n), in blocks as reduce_row does.
template <class D, class F>
HWY_INLINE hn::TFromD<D> sum_vectors(D d, int64_t n, const F& f) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kBlock = 2048;
  const auto load = [d](const T* p) HWY_ATTR { return hn::LoadU(d, p); };
  const auto store = [d](V v, T* p) HWY_ATTR { hn::StoreU(v, d, p); };
  V total = hn::Zero(d);
  int64_t i = 0;
  while (n - i >= 4 * lanes) {
    const int64_t end = i + std::min(kBlock, (n - i) / (4 * lanes) * (4 * lanes));
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
    for (; i < end; i += 4 * lanes) {
      a0 = hn::Add(a0, f(i, load, store));
      a1 = hn::Add(a1, f(i + lanes, load, store));
      a2 = hn::Add(a2, f(i + 2 * lanes, load, store));
      a3 = hn::Add(a3, f(i + 3 * lanes, load, store));
    }
    total = hn::Add(total, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)));
  }
  for (; i + lanes <= n; i += lanes) total = hn::Add(total, f(i, load, store));
  if (const int64_t rest = n - i; rest > 0) {
    const auto tail = f(
        i, [d, rest](const T* p) HWY_ATTR { return load_tail(d, p, rest); },
        [d, rest](V v, T* p) HWY_ATTR { store_tail(d, v, p, rest); });
    total = hn::Add(total, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(rest)), tail));
  }
  return sum_lanes(d, total);
}

template <class D, class F>
HWY_INLINE void for_output_vectors(D d, int64_t n, bool stream, const F& f) {
  if (stream) {
    for_streamed_vectors(d, n, f);
  } else {
    for_vectors(d, n, f);
  }
}

template <typename T>
void softmax_row(const T* x, T* y, int64_t n, bool stream) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T buffer[kStreamedRow];
  T* const to = stream ? buffer : y;
  const auto m = hn::Set(d, row_max(x, n));
  const T s = sum_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto e = exp_vec<true>(d, hn::Sub(load(x + i), m));
    store(e, to + i);
    return e;
  });
  const auto scale = hn::Set(d, T(1) / s);
  for_output_vectors(d, n, stream, [&](int64_t i, auto load, auto store) HWY_ATTR {
    hwy::Prefetch(x + n + i);  // the next row
    store(hn::Mul(load(to + i), scale), y + i);
  });
}

template <typename T>
void softmax_row_stats(const T* HWY_RESTRICT x, int64_t n, T* m, T* s) {
  const hn::ScalableTag<T> d;
  *m = row_max(x, n);
  const auto shift = hn::Set(d, *m - *m == 0 ? *m : T(0));
  *s = sum_vectors(d, n,
                   [&](int64_t i, auto load, auto) HWY_ATTR { return exp_vec<false>(d, hn::Sub(load(x + i), shift)); });
}

template <SoftmaxMode kMode, typename T>
void softmax_row_apply(const T* x, T* y, int64_t n, T m, T c, bool stream) {
  const hn::ScalableTag<T> d;
  const auto vm = hn::Set(d, m), vc = hn::Set(d, c);
  for_output_vectors(d, n, stream, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto u = hn::Sub(load(x + i), vm);
    if constexpr (kMode == SoftmaxMode::kLog) {
      store(hn::Sub(u, vc), y + i);
    } else {
      store(hn::Mul(exp_vec<true>(d, u), vc), y + i);
    }
  });
}

template <SoftmaxMode kMode, typename T>
T softmax_row_dot(const T* gy, const T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  return sum_vectors(d, n, [&](int64_t i, auto load, auto) HWY_ATTR {
    const auto g = load(gy + i);
    if constexpr (kMode == SoftmaxMode::kLog) {
      return g;
    } else {
      return hn::Mul(g, load(y + i));
    }
  });
}

template <SoftmaxMode kMode, class D, class V>
HWY_INLINE V softmax_grad(D d, V g, V y, V dot) {
  if constexpr (kMode == SoftmaxMode::kLog) {
    return hn::NegMulAdd(exp_vec<true>(d, y), dot, g);
  } else {
    return hn::Mul(hn::Sub(g, dot), y);
  }
}

template <SoftmaxMode kMode, typename T>
void softmax_row_grad(const T* gy, const T* y, T* gx, int64_t n, T dot, bool stream) {
  const hn::ScalableTag<T> d;
  const auto vdot = hn::Set(d, dot);
  for_output_vectors(d, n, stream, [&](int64_t i, auto load, auto store) HWY_ATTR {
    store(softmax_grad<kMode>(d, load(gy + i), load(y + i), vdot), gx + i);
  });
}

// Walks rows in groups of 8, calling f(first, end, j, load, store) for each vector of columns in a group.
template <class D, class F>
HWY_INLINE void for_row_groups(D d, int64_t r, int64_t n, const F& f) {
  for (int64_t i = 0; i < r; i += 8) {
    const int64_t end = std::min(r, i + 8);
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR { f(i, end, j, load, store); });
  }
}

template <typename T>
void cols_max(const T* x, int64_t r, int64_t stride, int64_t n, T* m) {
  const hn::ScalableTag<T> d;
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    auto v = load(x + i * stride + j);
    for (int64_t k = i + 1; k < end; ++k) v = hn::Max(v, load(x + k * stride + j));
    store(i == 0 ? v : hn::Max(v, load(m + j)), m + j);
  });
}

// s = sum exp(x - m), and, unless y is null, y = exp(x - m).
template <bool kNonPositive, typename T>
HWY_INLINE void cols_exp_sum(const T* x, T* y, int64_t r, int64_t stride, int64_t n, const T* m, T* s) {
  const hn::ScalableTag<T> d;
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    const auto shift = load(m + j);
    auto sum = hn::Zero(d);
    for (int64_t k = i; k < end; ++k) {
      const auto e = exp_vec<kNonPositive>(d, hn::Sub(load(x + k * stride + j), shift));
      if (y != nullptr) store(e, y + k * stride + j);
      sum = hn::Add(sum, e);
    }
    store(i == 0 ? sum : hn::Add(sum, load(s + j)), s + j);
  });
}

template <SoftmaxMode kMode, typename T>
void cols_apply(const T* x, T* y, int64_t r, int64_t stride, int64_t n, const T* m, const T* c) {
  const hn::ScalableTag<T> d;
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    const auto vm = load(m + j), vc = load(c + j);
    for (int64_t k = i; k < end; ++k) {
      const auto u = hn::Sub(load(x + k * stride + j), vm);
      if constexpr (kMode == SoftmaxMode::kLog) {
        store(hn::Sub(u, vc), y + k * stride + j);
      } else {
        store(hn::Mul(exp_vec<true>(d, u), vc), y + k * stride + j);
      }
    }
  });
}

template <SoftmaxMode kMode, typename T>
void softmax_cols(const T* x, T* y, int64_t r, int64_t stride, int64_t n) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T m[kReduceTile];
  HWY_ALIGN T s[kReduceTile];
  cols_max(x, r, stride, n, m);
  if constexpr (kMode == SoftmaxMode::kLog) {
    cols_exp_sum<true, T>(x, nullptr, r, stride, n, m, s);
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
      const auto v = load(s + j);
      store(hn::IfThenElse(hn::IsNaN(v), v, hn::Log(d, v)), s + j);
    });
    cols_apply<kMode>(x, y, r, stride, n, m, s);
  } else {
    cols_exp_sum<true, T>(x, y, r, stride, n, m, s);
    for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
      const auto c = hn::Div(hn::Set(d, T(1)), load(s + j));
      for (int64_t k = i; k < end; ++k) store(hn::Mul(load(y + k * stride + j), c), y + k * stride + j);
    });
  }
}

// The shift of the exponents: 0 where the maximum is infinite or NaN.
template <class D, class V>
HWY_INLINE V finite_or_zero(D d, V m) {
  return hn::IfThenElseZero(hn::Eq(hn::Sub(m, m), hn::Zero(d)), m);
}

template <typename T>
void cols_stats(const T* x, int64_t r, int64_t stride, int64_t n, T* m, T* s) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T shift[kReduceTile];
  cols_max(x, r, stride, n, m);
  for_vectors(d, n,
              [&](int64_t j, auto load, auto store) HWY_ATTR { store(finite_or_zero(d, load(m + j)), shift + j); });
  cols_exp_sum<false, T>(x, nullptr, r, stride, n, shift, s);
}

template <typename T>
void merge_cols_stats(T* m, T* s, int64_t pieces, int64_t stride, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
    auto vm = load(m + j);
    for (int64_t p = 1; p < pieces; ++p) vm = hn::Max(vm, load(m + p * stride + j));
    const auto shift = finite_or_zero(d, vm);
    auto sum = hn::Zero(d);
    for (int64_t p = 0; p < pieces; ++p) {
      // A piece of -infinity only has the sum 0, and no shift: 0 * exp(0 - shift) could be NaN.
      const auto e = exp_vec<false>(d, hn::Sub(finite_or_zero(d, load(m + p * stride + j)), shift));
      const auto part = load(s + p * stride + j);
      sum = hn::Add(sum, hn::IfThenElse(hn::Eq(part, hn::Zero(d)), part, hn::Mul(part, e)));
    }
    store(vm, m + j);
    store(sum, s + j);
  });
}

template <SoftmaxMode kMode, typename T>
void softmax_cols_dot(const T* gy, const T* y, int64_t r, int64_t stride, int64_t n, T* dot) {
  const hn::ScalableTag<T> d;
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t k = i; k < end; ++k) {
      const auto g = load(gy + k * stride + j);
      if constexpr (kMode == SoftmaxMode::kLog) {
        sum = hn::Add(sum, g);
      } else {
        sum = hn::MulAdd(g, load(y + k * stride + j), sum);
      }
    }
    store(i == 0 ? sum : hn::Add(sum, load(dot + j)), dot + j);
  });
}

template <SoftmaxMode kMode, typename T>
void softmax_cols_grad(const T* gy, const T* y, T* gx, int64_t r, int64_t stride, int64_t n, const T* dot) {
  const hn::ScalableTag<T> d;
  for_row_groups(d, r, n, [&](int64_t i, int64_t end, int64_t j, auto load, auto store) HWY_ATTR {
    const auto vdot = load(dot + j);
    for (int64_t k = i; k < end; ++k) {
      const int64_t at = k * stride + j;
      store(softmax_grad<kMode>(d, load(gy + at), load(y + at), vdot), gx + at);
    }
  });
}

constexpr auto kSoft = SoftmaxMode::kSoftmax, kLog = SoftmaxMode::kLog;
template <typename T>
constexpr SoftmaxTable<T> kSoftmax = {
    softmax_row<T>,
    softmax_row_stats<T>,
    {softmax_row_apply<kSoft, T>, softmax_row_apply<kLog, T>},
    {softmax_row_dot<kSoft, T>, softmax_row_dot<kLog, T>},
    {softmax_row_grad<kSoft, T>, softmax_row_grad<kLog, T>},
    {softmax_cols<kSoft, T>, softmax_cols<kLog, T>},
    cols_stats<T>,
    {cols_apply<kSoft, T>, cols_apply<kLog, T>},
    {softmax_cols_dot<kSoft, T>, softmax_cols_dot<kLog, T>},
    {softmax_cols_grad<kSoft, T>, softmax_cols_grad<kLog, T>},
    merge_cols_stats<T>,
};
constexpr Tables<SoftmaxTable, float, double> kSoftmaxes = {kSoftmax<float>, kSoftmax<double>};
const Tables<SoftmaxTable, float, double>* softmax_tables() { return &kSoftmaxes; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(softmax_tables);

template <typename T>
const SoftmaxTable<T>& softmax_table() {
  return *HWY_DYNAMIC_DISPATCH(softmax_tables)();
}
template const SoftmaxTable<float>& softmax_table<float>();
template const SoftmaxTable<double>& softmax_table<double>();

}  // namespace trt::cpu
#endif  // HWY_ONCE
