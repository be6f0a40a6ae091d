// Vector kernels of recurrent layers.
#include "kernels/cpu/recurrent_kernels.h"

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "kernels/cpu/simd_inl.h"
#include "kernels/scalar/prims-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {
namespace prim = ::trt::HWY_NAMESPACE::prim;

// y (1 - y), the derivative of a sigmoid y.
template <class V>
HWY_INLINE V sigmoid_slope(V y) {
  return hn::NegMulAdd(y, y, y);
}
// 1 - y^2, the derivative of a tanh y.
template <class D, class V>
HWY_INLINE V tanh_slope(D d, V y) {
  return hn::NegMulAdd(y, y, hn::Set(d, hn::TFromD<D>(1)));
}

template <bool kRelu, typename T>
void activate(T* a, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto v = load(a + i);
    if constexpr (kRelu) {
      store(prim::maximum(d, v, hn::Zero(d)), a + i);
    } else {
      store(prim::tanh(d, v), a + i);
    }
  });
}

template <bool kRelu, typename T>
void activate_grad(const T* y, const T* dy, T* g, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t i, auto load, auto store) HWY_ATTR {
    const auto v = load(y + i);
    if constexpr (kRelu) {
      store(hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), load(dy + i)), g + i);
    } else {
      store(hn::Mul(load(dy + i), tanh_slope(d, v)), g + i);
    }
  });
}

template <typename T>
void lstm(T* a, const T* c0, T* c, T* h, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
    const auto i = prim::sigmoid(d, load(a + j)), f = prim::sigmoid(d, load(a + n + j));
    const auto g = prim::tanh(d, load(a + 2 * n + j)), o = prim::sigmoid(d, load(a + 3 * n + j));
    const auto cell = hn::MulAdd(f, load(c0 + j), hn::Mul(i, g));
    store(i, a + j);
    store(f, a + n + j);
    store(g, a + 2 * n + j);
    store(o, a + 3 * n + j);
    store(cell, c + j);
    store(hn::Mul(o, prim::tanh(d, cell)), h + j);
  });
}

template <typename T>
void lstm_grad(const T* a, const T* c0, const T* c, const T* dh, T* dc, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
    const auto i = load(a + j), f = load(a + n + j), g = load(a + 2 * n + j), o = load(a + 3 * n + j);
    const auto t = prim::tanh(d, load(c + j)), by_h = load(dh + j);
    const auto by_c = hn::MulAdd(hn::Mul(by_h, o), tanh_slope(d, t), load(dc + j));
    store(hn::Mul(hn::Mul(by_c, g), sigmoid_slope(i)), out + j);
    store(hn::Mul(hn::Mul(by_c, load(c0 + j)), sigmoid_slope(f)), out + n + j);
    store(hn::Mul(hn::Mul(by_c, i), tanh_slope(d, g)), out + 2 * n + j);
    store(hn::Mul(hn::Mul(by_h, t), sigmoid_slope(o)), out + 3 * n + j);
    store(hn::Mul(by_c, f), dc + j);
  });
}

template <typename T>
void gru(const T* x, const T* s, const T* h0, T* a, T* h, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
    const auto r = prim::sigmoid(d, hn::Add(load(x + j), load(s + j)));
    const auto z = prim::sigmoid(d, hn::Add(load(x + n + j), load(s + n + j)));
    const auto state = load(s + 2 * n + j);
    const auto m = prim::tanh(d, hn::MulAdd(r, state, load(x + 2 * n + j)));
    store(r, a + j);
    store(z, a + n + j);
    store(m, a + 2 * n + j);
    store(state, a + 3 * n + j);
    store(hn::MulAdd(hn::Sub(load(h0 + j), m), z, m), h + j);
  });
}

template <typename T>
void gru_grad(const T* a, const T* h0, T* dh, T* dx, T* ds, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto one = hn::Set(d, T(1));
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
    const auto r = load(a + j), z = load(a + n + j), m = load(a + 2 * n + j), state = load(a + 3 * n + j), by_h = load(dh + j);
    const auto by_m = hn::Mul(hn::Mul(by_h, hn::Sub(one, z)), tanh_slope(d, m));
    const auto by_r = hn::Mul(hn::Mul(by_m, state), sigmoid_slope(r));
    const auto by_z = hn::Mul(hn::Mul(by_h, hn::Sub(load(h0 + j), m)), sigmoid_slope(z));
    store(by_r, dx + j);
    store(by_z, dx + n + j);
    store(by_m, dx + 2 * n + j);
    store(by_r, ds + j);
    store(by_z, ds + n + j);
    store(hn::Mul(by_m, r), ds + 2 * n + j);
    store(hn::Mul(by_h, z), dh + j);
  });
}

template <typename T>
void lstm_output(const T* a, const T* c, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR { store(hn::Mul(load(a + 3 * n + j), prim::tanh(d, load(c + j))), y + j); });
}

template <typename T>
constexpr RecurrentTable<T> kRecurrent = {
    {activate<false, T>, activate<true, T>}, {activate_grad<false, T>, activate_grad<true, T>}, lstm<T>, lstm_grad<T>, gru<T>, gru_grad<T>, lstm_output<T>};
constexpr Tables<RecurrentTable, float, double> kRecurrents = {kRecurrent<float>, kRecurrent<double>};
const Tables<RecurrentTable, float, double>* recurrent_tables() { return &kRecurrents; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(recurrent_tables);

template <typename T>
const RecurrentTable<T>& recurrent_table() {
  return *HWY_DYNAMIC_DISPATCH(recurrent_tables)();
}
template const RecurrentTable<float>& recurrent_table<float>();
template const RecurrentTable<double>& recurrent_table<double>();

}  // namespace trt::cpu
#endif  // HWY_ONCE
