// Variances, norms and logsumexp, and the scans along one dimension.
#include <cmath>

#include "base/log.h"
#include "core/modes.h"
#include "gen/reduction_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/scan.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

using Dims = std::optional<IntArrayRef>;

TensorSpec floating_spec(const Tensor& self, Dims dim, bool keepdim, const char* op) {
  TRT_CHECK(is_floating(self.dtype()), op, ": needs a floating-point tensor, got ", self);
  return {reduced_sizes(self.sizes(), reduction_mask(dim, self.dim(), op), keepdim), self.dtype(), self.device()};
}

void warn_of_few_elements(const Tensor& self, uint64_t mask, double correction, const char* op) {
  int64_t n = 1;
  for (size_t d = 0; d < self.sizes().size(); ++d)
    if ((mask >> d) & 1) n *= self.sizes()[d];
  if (static_cast<double>(n) <= correction)
    log(LogLevel::kWarning, op, ": ", n, " element(s) less the correction of ", correction, " leave no degree of freedom; the result is not a number or infinite");
}

// Variance (or its square root) and mean; either may be null.
void variance(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool root, Tensor* var,
              Tensor* mean, const char* op) {
  const DType compute = reduction_compute_dtype(self.dtype());
  const double c = correction ? correction->to_double() : 1;
  warn_of_few_elements(self, reduction_mask(dim, self.dim(), op), c, op);
  const ReductionOutput outs[2] = {{var, compute}, {mean, compute}};
  dispatch_float(compute, op, [&]<typename T>() {
    reduce_into(
        self, reduction_mask(dim, self.dim(), op), compute, ArrayRef<ReductionOutput>(outs, 2), false,
        [c, root](const void* x, void* const* o, int64_t outer, int64_t r, int64_t inner) {
          cpu::reduce_var(static_cast<const T*>(x), static_cast<T*>(o[0]), static_cast<T*>(o[1]), c, root, outer, r, inner);
        });
  });
}

DType logsumexp_dtype(const Tensor& self) {
  return is_floating(self.dtype()) ? self.dtype() : thread_state.default_dtype;
}

DType scan_dtype(const Tensor& self, std::optional<DType> dtype, const char* op) {
  TRT_CHECK_CODE(dtype != DType::Bool, Code::kNotSupported, op, ": not supported for dtype bool (argument ", self, ")");
  if (dtype) return *dtype;
  return is_integral(self.dtype(), true) ? DType::Int64 : self.dtype();
}

TensorSpec scan_spec(const Tensor& self, int64_t dim, DType dtype, const char* op) {
  wrap_dim(dim, self.dim(), op);
  return {self.sizes(), dtype, self.device()};
}

// Runs scan(x, y, shape) in the compute type of `result` and stores y into out.
template <typename F>
void scan(const Tensor& self, int64_t dim, DType result, Tensor& out, const char* op, F&& f) {
  const DType compute = reduction_compute_dtype(result);
  const Tensor narrowed = is_floating(self.dtype()) && !is_floating(result) ? contiguous_tensor(self, result) : self;
  const Tensor x = contiguous_tensor(narrowed, compute);
  Tensor y = out.dtype() == compute ? out : empty_tensor(self.sizes(), compute);
  f(x, y, line_shape(self.sizes(), wrap_dim(dim, self.dim(), op)));
  if (!y.is_same(out)) copy_tensor(out, y);
}

template <typename F>
void with_scan_type(const Tensor& t, F&& f) {
  if (t.dtype() == DType::Float32)
    f.template operator()<float>();
  else if (t.dtype() == DType::Float64)
    f.template operator()<double>();
  else
    f.template operator()<int64_t>();
}

void cumulative_sum(const Tensor& self, int64_t dim, DType result, bool reverse, Tensor& out) {
  scan(self, dim, result, out, "cumsum", [&](const Tensor& x, Tensor& y, const LineShape& l) {
    with_scan_type(
        x, [&]<typename T>() { cpu::cumsum(x.data_ptr<T>(), y.data_ptr<T>(), l.outer, l.r, l.inner, reverse); });
  });
}

void cumulative_extremum(const Tensor& self, int64_t dim, bool largest, Tensor& values, Tensor& indices) {
  const char* op = largest ? "cummax" : "cummin";
  const LineShape l = line_shape(self.sizes(), wrap_dim(dim, self.dim(), op));
  const bool widen = is_reduced_floating(self.dtype());
  const Tensor x = contiguous_tensor(self, widen ? DType::Float32 : self.dtype());
  Tensor y = widen ? empty_tensor(self.sizes(), DType::Float32) : values;
  dispatch_dtype(x.dtype(), op, [&]<typename T>() {
    if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>)
      (largest ? cpu::cummax<T> : cpu::cummin<T>)(x.data_ptr<T>(), y.data_ptr<T>(), indices.data_ptr<int64_t>(),
                                                  l.outer, l.r, l.inner);
  });
  if (widen) copy_tensor(values, y);
}

std::array<TensorSpec, 2> scan_pair_spec(const Tensor& self, int64_t dim, const char* op) {
  return {scan_spec(self, dim, self.dtype(), op), scan_spec(self, dim, DType::Int64, op)};
}

}  // namespace

namespace meta {

TensorSpec var_correction(const Tensor& self, Dims dim, const std::optional<Scalar>&, bool keepdim) {
  return floating_spec(self, dim, keepdim, "var");
}
TensorSpec std_correction(const Tensor& self, Dims dim, const std::optional<Scalar>&, bool keepdim) {
  return floating_spec(self, dim, keepdim, "std");
}
std::array<TensorSpec, 2> var_mean_correction(const Tensor& self, Dims dim, const std::optional<Scalar>&,
                                              bool keepdim) {
  const TensorSpec s = floating_spec(self, dim, keepdim, "var_mean");
  return {s, s};
}
std::array<TensorSpec, 2> std_mean_correction(const Tensor& self, Dims dim, const std::optional<Scalar>&,
                                              bool keepdim) {
  const TensorSpec s = floating_spec(self, dim, keepdim, "std_mean");
  return {s, s};
}

TensorSpec linalg_vector_norm(const Tensor& self, const Scalar& ord, Dims dim, bool keepdim,
                              std::optional<DType> dtype) {
  const DType t = dtype.value_or(self.dtype());
  TRT_CHECK(is_floating(self.dtype()) && is_floating(t), "linalg_vector_norm: needs a floating-point dtype, got ", self,
            " and dtype ", t);
  TRT_CHECK(promote_types(self.dtype(), t) == t, "linalg_vector_norm: ", self, " does not fit the narrower dtype ", t);
  const uint64_t mask = reduction_mask(dim, self.dim(), "linalg_vector_norm");
  const double p = ord.to_double();
  if (p < 0 || p == HUGE_VAL)
    for (size_t d = 0; d < self.sizes().size(); ++d)
      TRT_CHECK(!((mask >> d) & 1) || self.sizes()[d] > 0, "linalg_vector_norm: the norm of order ", ord,
                " of no elements does not exist (dimension ", d, " of shape ", self.sizes(), ")");
  return {reduced_sizes(self.sizes(), mask, keepdim), t, self.device()};
}

TensorSpec logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return {reduced_sizes(self.sizes(), reduction_mask(dim, self.dim(), "logsumexp"), keepdim), logsumexp_dtype(self),
          self.device()};
}

TensorSpec cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan_spec(self, dim, scan_dtype(self, dtype, "cumsum"), "cumsum");
}
TensorSpec cumsum_reverse(const Tensor& self, int64_t dim) { return scan_spec(self, dim, self.dtype(), "cumsum"); }
TensorSpec cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan_spec(self, dim, scan_dtype(self, dtype, "cumprod"), "cumprod");
}
TensorSpec logcumsumexp(const Tensor& self, int64_t dim) {
  TRT_CHECK(is_floating(self.dtype()), "logcumsumexp: needs a floating-point tensor, got ", self);
  return scan_spec(self, dim, self.dtype(), "logcumsumexp");
}
std::array<TensorSpec, 2> cummax(const Tensor& self, int64_t dim) { return scan_pair_spec(self, dim, "cummax"); }
std::array<TensorSpec, 2> cummin(const Tensor& self, int64_t dim) { return scan_pair_spec(self, dim, "cummin"); }

}  // namespace meta

namespace native {

void var_correction(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, Tensor& out) {
  variance(self, dim, correction, false, &out, nullptr, "var");
}
void std_correction(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, Tensor& out) {
  variance(self, dim, correction, true, &out, nullptr, "std");
}
void var_mean_correction(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, Tensor& var,
                         Tensor& mean) {
  variance(self, dim, correction, false, &var, &mean, "var_mean");
}
void std_mean_correction(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool, Tensor& deviation,
                         Tensor& mean) {
  variance(self, dim, correction, true, &deviation, &mean, "std_mean");
}

void linalg_vector_norm(const Tensor& self, const Scalar& ord, Dims dim, bool, std::optional<DType>, Tensor& out) {
  const DType compute = reduction_compute_dtype(out.dtype());
  const double p = ord.to_double();
  dispatch_float(compute, "linalg_vector_norm", [&]<typename T>() {
    reduce_into(self, reduction_mask(dim, self.dim(), "linalg_vector_norm"), compute, ReductionOutput{&out, compute},
                false, [p](const void* x, void* const* o, int64_t outer, int64_t r, int64_t inner) {
                  cpu::reduce_norm(static_cast<const T*>(x), static_cast<T*>(o[0]), p, outer, r, inner);
                });
  });
}

void logsumexp(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  const DType compute = reduction_compute_dtype(logsumexp_dtype(self));
  dispatch_float(compute, "logsumexp", [&]<typename T>() {
    reduce_into(self, reduction_mask(dim, self.dim(), "logsumexp"), compute, ReductionOutput{&out, compute}, false,
                [](const void* x, void* const* o, int64_t outer, int64_t r, int64_t inner) {
                  cpu::reduce_logsumexp(static_cast<const T*>(x), static_cast<T*>(o[0]), outer, r, inner);
                });
  });
}

void cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  cumulative_sum(self, dim, scan_dtype(self, dtype, "cumsum"), false, out);
}
void cumsum_reverse(const Tensor& self, int64_t dim, Tensor& out) {
  cumulative_sum(self, dim, self.dtype(), true, out);
}

void cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  scan(self, dim, scan_dtype(self, dtype, "cumprod"), out, "cumprod", [&](const Tensor& x, Tensor& y, const LineShape& l) {
    with_scan_type(x, [&]<typename T>() { cpu::cumprod(x.data_ptr<T>(), y.data_ptr<T>(), l.outer, l.r, l.inner); });
  });
}

void logcumsumexp(const Tensor& self, int64_t dim, Tensor& out) {
  scan(self, dim, self.dtype(), out, "logcumsumexp", [&](const Tensor& x, Tensor& y, const LineShape& l) {
    dispatch_float(x.dtype(), "logcumsumexp",
                   [&]<typename T>() { cpu::logcumsumexp(x.data_ptr<T>(), y.data_ptr<T>(), l.outer, l.r, l.inner); });
  });
}

void cummax(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  cumulative_extremum(self, dim, true, values, indices);
}
void cummin(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  cumulative_extremum(self, dim, false, values, indices);
}

}  // namespace native

}  // namespace trt
