// The loop around a pointwise expression over complex numbers: contiguous arrays of std::complex<float> or std::complex<double>.
#pragma once

#include <complex>
#include <utility>

#include "kernels/cpu/pointwise_table.h"
#include "kernels/scalar/complex.h"

namespace trt {

template <class C>
C complex_scalar(const ScalarValue& s) {
  if constexpr (sizeof(C) == 2 * sizeof(float)) return C(s.cf[0], s.cf[1]);
  else return C(s.cd[0], s.cd[1]);
}

template <class Expr, class C, size_t... I>
void run_complex_impl(const void* const* in, void* const* out, int64_t n, const ScalarValue* scalars, std::index_sequence<I...>) {
  const C* p[sizeof...(I) + 1] = {static_cast<const C*>(in[I])...};
  C* o = static_cast<C*>(out[0]);
  C s[Expr::kScalars + 1];
  for (int k = 0; k < Expr::kScalars; ++k) s[k] = complex_scalar<C>(scalars[k]);
  for (int64_t i = 0; i < n; ++i) o[i] = Expr::eval(p[I][i]..., s);
}

template <class Expr, class C>
void run_complex(const void* const* in, void* const* out, int64_t n, const ScalarValue* scalars) {
  run_complex_impl<Expr, C>(in, out, n, scalars, std::make_index_sequence<Expr::kInputs>());
}

}  // namespace trt
