// Fused optimizer steps (optim.h). The kernels are written once over Highway vectors; a tail shorter than a vector runs
// through the same code with a vector of one lane, so an element's value does not depend on where a chunk ends.
#include "kernels/cpu/optim.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optim.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"
//
#include "hwy/highway.h"

#ifndef TRT_KERNELS_CPU_OPTIM_ONCE
#define TRT_KERNELS_CPU_OPTIM_ONCE
namespace trt::cpu {
namespace {

// Coefficients of one tensor, ready for use.
template <typename T>
struct SgdCoefficients {
  T sign, lr, momentum, keep, weight_decay;  // keep = 1 - dampening
  bool has_momentum, nesterov;
};

template <typename T>
struct AdamCoefficients {
  T sign, beta2, one_minus_beta1, one_minus_beta2, eps, step_size, inverse_sqrt_correction2;
  T param_scale;   // 1 - lr * weight_decay when decoupled, else 1
  T weight_decay;  // of the L2 form, else 0
};

template <typename T>
struct OptimKernels {
  void (*sgd)(const SgdTensor<T>& t, const SgdCoefficients<T>& k, int64_t begin, int64_t end);
  void (*adam)(const AdamTensor<T>& t, const AdamCoefficients<T>& k, int64_t begin, int64_t end);
  double (*sum_squares)(const T* x, int64_t n);
  void (*scale)(T* x, int64_t n, T factor);
};

}  // namespace
}  // namespace trt::cpu
#endif  // TRT_KERNELS_CPU_OPTIM_ONCE

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(d, i) for vectors, then for single elements.
template <typename T, typename F>
HWY_INLINE void for_each_vector(int64_t begin, int64_t end, const F& f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) f(d, i);
  const hn::CappedTag<T, 1> one;
  for (; i < end; ++i) f(one, i);
}

template <typename T>
void sgd(const SgdTensor<T>& t, const SgdCoefficients<T>& k, int64_t begin, int64_t end) {
  T* param = t.param;
  const T* grad = t.grad;
  T* buffer = t.momentum;
  const bool first = t.first_step;
  for_each_vector<T>(begin, end, [&](auto d, int64_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, param + i);
    auto g = hn::Mul(hn::LoadU(d, grad + i), hn::Set(d, k.sign));
    if (k.weight_decay != 0) g = hn::MulAdd(p, hn::Set(d, k.weight_decay), g);
    if (k.has_momentum) {
      const auto momentum = hn::Set(d, k.momentum);
      auto b = g;
      if (!first) b = hn::MulAdd(hn::LoadU(d, buffer + i), momentum, hn::Mul(g, hn::Set(d, k.keep)));
      hn::StoreU(b, d, buffer + i);
      g = k.nesterov ? hn::MulAdd(b, momentum, g) : b;
    }
    hn::StoreU(hn::NegMulAdd(g, hn::Set(d, k.lr), p), d, param + i);
  });
}

template <bool kAmsgrad, typename T>
void adam_impl(const AdamTensor<T>& t, const AdamCoefficients<T>& k, int64_t begin, int64_t end) {
  T* param = t.param;
  const T* grad = t.grad;
  T *m_data = t.exp_avg, *v_data = t.exp_avg_sq, *max_data = t.max_exp_avg_sq;
  for_each_vector<T>(begin, end, [&](auto d, int64_t i) HWY_ATTR {
    auto p = hn::LoadU(d, param + i);
    auto g = hn::Mul(hn::LoadU(d, grad + i), hn::Set(d, k.sign));
    if (k.weight_decay != 0) g = hn::MulAdd(p, hn::Set(d, k.weight_decay), g);
    p = hn::Mul(p, hn::Set(d, k.param_scale));
    auto m = hn::LoadU(d, m_data + i);
    m = hn::MulAdd(hn::Set(d, k.one_minus_beta1), hn::Sub(g, m), m);
    hn::StoreU(m, d, m_data + i);
    auto v = hn::Mul(hn::LoadU(d, v_data + i), hn::Set(d, k.beta2));
    v = hn::MulAdd(hn::Mul(g, g), hn::Set(d, k.one_minus_beta2), v);
    hn::StoreU(v, d, v_data + i);
    if constexpr (kAmsgrad) {
      v = hn::Max(hn::LoadU(d, max_data + i), v);
      hn::StoreU(v, d, max_data + i);
    }
    const auto denominator = hn::MulAdd(hn::Sqrt(v), hn::Set(d, k.inverse_sqrt_correction2), hn::Set(d, k.eps));
    hn::StoreU(hn::NegMulAdd(hn::Set(d, k.step_size), hn::Div(m, denominator), p), d, param + i);
  });
}

template <typename T>
void adam(const AdamTensor<T>& t, const AdamCoefficients<T>& k, int64_t begin, int64_t end) {
  if (t.max_exp_avg_sq) {
    adam_impl<true>(t, k, begin, end);
  } else {
    adam_impl<false>(t, k, begin, end);
  }
}

// Squares of floats are summed in double: they neither overflow nor lose the small ones.
template <typename T>
double sum_squares(const T* x, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> dt;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const T* from) HWY_ATTR {
    if constexpr (std::is_same_v<T, double>) {
      return hn::LoadU(d, from);
    } else {
      return hn::PromoteTo(d, hn::LoadU(dt, from));
    }
  };
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto a = load(x + i), b = load(x + i + lanes), c = load(x + i + 2 * lanes), e = load(x + i + 3 * lanes);
    s0 = hn::MulAdd(a, a, s0), s1 = hn::MulAdd(b, b, s1), s2 = hn::MulAdd(c, c, s2), s3 = hn::MulAdd(e, e, s3);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) total += static_cast<double>(x[i]) * x[i];
  return total;
}

template <typename T>
void scale(T* x, int64_t n, T factor) {
  for_each_vector<T>(0, n, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i);
  });
}

template <typename T>
constexpr OptimKernels<T> kTable = {sgd<T>, adam<T>, sum_squares<T>, scale<T>};

constexpr Tables<OptimKernels, float, double> kTables = {kTable<float>, kTable<double>};
const Tables<OptimKernels, float, double>* tables() { return &kTables; }

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {
namespace {

HWY_EXPORT(tables);

template <typename T>
const OptimKernels<T>& table() {
  return *HWY_DYNAMIC_DISPATCH(tables)();
}

constexpr int64_t kGrain = int64_t{1} << 14;

// Calls f(tensor index, begin, end) over pieces of all tensors' elements, in parallel over the concatenated range.
template <typename Tensor, typename F>
void for_pieces(const Tensor* tensors, int64_t count, const F& f) {
  std::vector<int64_t> ends(static_cast<size_t>(count));
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) ends[i] = total += tensors[i].numel;
  parallel_for(0, total, kGrain, [&](int64_t begin, int64_t end) {
    int64_t i = std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    while (begin < end) {
      const int64_t start = ends[i] - tensors[i].numel, stop = std::min(ends[i], end);
      if (begin < stop) f(i, begin - start, stop - start);
      begin = stop;
      ++i;
    }
  });
}

}  // namespace

template <typename T>
void sgd_step(const SgdTensor<T>* tensors, int64_t count, const SgdOptions& o) {
  const SgdCoefficients<T> k = {static_cast<T>(o.maximize ? -1 : 1),
                                static_cast<T>(o.lr),
                                static_cast<T>(o.momentum),
                                static_cast<T>(1 - o.dampening),
                                static_cast<T>(o.weight_decay),
                                o.momentum != 0,
                                o.nesterov};
  const auto fn = table<T>().sgd;
  for_pieces(tensors, count, [&](int64_t i, int64_t begin, int64_t end) { fn(tensors[i], k, begin, end); });
}

template <typename T>
void adam_step(const AdamTensor<T>* tensors, int64_t count, const AdamOptions& o) {
  // Most lists have one step count; its coefficients are computed once per run of equal counts.
  std::vector<AdamCoefficients<T>> coefficients(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && tensors[i].step == tensors[i - 1].step) {
      coefficients[i] = coefficients[i - 1];
      continue;
    }
    const double step = static_cast<double>(tensors[i].step);
    const double correction1 = 1 - std::pow(o.beta1, step), correction2 = 1 - std::pow(o.beta2, step);
    AdamCoefficients<T>& k = coefficients[i];
    k.sign = static_cast<T>(o.maximize ? -1 : 1);
    k.beta2 = static_cast<T>(o.beta2);
    k.one_minus_beta1 = static_cast<T>(1 - o.beta1);
    k.one_minus_beta2 = static_cast<T>(1 - o.beta2);
    k.eps = static_cast<T>(o.eps);
    k.step_size = static_cast<T>(o.lr / correction1);
    k.inverse_sqrt_correction2 = static_cast<T>(1 / std::sqrt(correction2));
    k.param_scale = static_cast<T>(o.decoupled ? 1 - o.lr * o.weight_decay : 1);
    k.weight_decay = static_cast<T>(o.decoupled ? 0 : o.weight_decay);
  }
  const auto fn = table<T>().adam;
  for_pieces(tensors, count, [&](int64_t i, int64_t begin, int64_t end) {
    AdamTensor<T> t = tensors[i];
    if (!o.amsgrad) t.max_exp_avg_sq = nullptr;
    fn(t, coefficients[i], begin, end);
  });
}

template <typename T>
double squared_norm(const Span<const T>* tensors, int64_t count) {
  constexpr int64_t kChunk = int64_t{1} << 14;
  std::vector<int64_t> ends(static_cast<size_t>(count));
  int64_t chunks = 0;
  for (int64_t i = 0; i < count; ++i) ends[i] = chunks += (tensors[i].numel + kChunk - 1) / kChunk;
  std::vector<double> partial(static_cast<size_t>(chunks));
  const auto fn = table<T>().sum_squares;
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    int64_t i = std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    for (int64_t c = begin; c < end; ++c) {
      while (c >= ends[i]) ++i;
      const int64_t first = i ? ends[i - 1] : 0, offset = (c - first) * kChunk;
      partial[c] = fn(tensors[i].data + offset, std::min(kChunk, tensors[i].numel - offset));
    }
  });
  double total = 0;
  for (double v : partial) total += v;
  return total;
}

template <typename T>
void scale_all(const Span<T>* tensors, int64_t count, double factor) {
  const auto fn = table<T>().scale;
  for_pieces(tensors, count, [&](int64_t i, int64_t begin, int64_t end) {
    fn(tensors[i].data + begin, end - begin, static_cast<T>(factor));
  });
}

template void sgd_step(const SgdTensor<float>*, int64_t, const SgdOptions&);
template void sgd_step(const SgdTensor<double>*, int64_t, const SgdOptions&);
template void adam_step(const AdamTensor<float>*, int64_t, const AdamOptions&);
template void adam_step(const AdamTensor<double>*, int64_t, const AdamOptions&);
template double squared_norm(const Span<const float>*, int64_t);
template double squared_norm(const Span<const double>*, int64_t);
template void scale_all(const Span<float>*, int64_t, double);
template void scale_all(const Span<double>*, int64_t, double);

}  // namespace trt::cpu
#endif  // HWY_ONCE
