// The loop around a pointwise expression: contiguous arrays, one vector at a time, the tail under a mask.
//
// Types: T is float, double or int64_t for all operands. in[i] and out[0] hold n elements and need no alignment; out may be one
// of the inputs. Accuracy is that of the primitives (kernels/scalar/README.md).
#if defined(TRT_KERNELS_CPU_POINTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_KERNELS_CPU_POINTWISE_INL_H
#undef TRT_KERNELS_CPU_POINTWISE_INL_H
#else
#define TRT_KERNELS_CPU_POINTWISE_INL_H
#endif

#include <cmath>
#include <utility>

#include "kernels/cpu/pointwise_table.h"
#include "kernels/scalar/prims-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE T scalar_value(const ScalarValue& s) {
  if constexpr (hwy::IsSame<T, float>()) return s.f;
  else if constexpr (hwy::IsSame<T, double>()) return s.d;
  else return s.i;
}

template <class Expr, class T, size_t... I>
HWY_INLINE void run_impl(const void* const* in, void* const* out, int64_t n, const ScalarValue* scalars, std::index_sequence<I...>) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const T* p[sizeof...(I) + 1] = {static_cast<const T*>(in[I])...};
  T* o = static_cast<T*>(out[0]);
  V s[Expr::kScalars + 1];
  for (int k = 0; k < Expr::kScalars; ++k) s[k] = hn::Set(d, scalar_value<T>(scalars[k]));
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(Expr::eval(d, hn::LoadU(d, p[I] + i)..., s), d, o + i);
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    hn::BlendedStore(Expr::eval(d, hn::MaskedLoad(mask, d, p[I] + i)..., s), mask, d, o + i);
  }
}

template <class Expr, class T>
void run(const void* const* in, void* const* out, int64_t n, const ScalarValue* scalars) {
  run_impl<Expr, T>(in, out, n, scalars, std::make_index_sequence<Expr::kInputs>());
}

}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();

#endif
