// Reductions that are made of other operators.
#include <cmath>

#include "core/modes.h"
#include "gen/compose_ops.h"
#include "gen/factory_ops.h"
#include "gen/linalg_decompose_ops.h"
#include "gen/linalg_ops.h"
#include "gen/pointwise_ops.h"
#include "gen/reduction_native.h"
#include "gen/reduction_ops.h"
#include "gen/shape_ops.h"

namespace trt::composite {

namespace {

using Dims = std::optional<IntArrayRef>;

Scalar correction_of(bool unbiased) { return unbiased ? 1 : 0; }

// The sum of the singular values of the matrices in two dimensions.
Tensor nuclear_norm(const Tensor& self, Dims dim, bool keepdim, std::optional<DType> dtype) {
  TRT_CHECK(dim ? dim->size() == 2 : self.dim() == 2, "norm: p \"nuc\" needs a matrix or two dimensions, got ", self);
  const int64_t rows = wrap_dim(dim ? (*dim)[0] : 0, self.dim(), "norm"), cols = wrap_dim(dim ? (*dim)[1] : 1, self.dim(), "norm");
  TRT_CHECK(rows != cols, "norm: p \"nuc\" needs two different dimensions, got ", *dim);
  const Tensor matrices = op::movedim(dtype ? op::to(self, *dtype) : self, {rows, cols}, {-2, -1});
  Tensor norms = op::sum(std::get<1>(op::linalg_svd(matrices, false)), IntArrayRef{int64_t{-1}}, false, std::nullopt);
  if (!keepdim) return norms;
  for (int64_t d : {std::min(rows, cols), std::max(rows, cols)}) norms = op::unsqueeze(norms, d);
  return norms;
}

}  // namespace

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  if (self.sizes() == size)
    return size.empty() && !is_floating(self.dtype()) ? op::sum(self, std::nullopt, false, std::nullopt) : self;
  const int64_t extra = self.dim() - static_cast<int64_t>(size.size());
  DimVector dims;
  bool fits = extra >= 0;
  for (int64_t d = 0; fits && d < self.dim(); ++d) {
    const int64_t have = self.sizes()[static_cast<size_t>(d)];
    const int64_t want = d < extra ? 1 : size[static_cast<size_t>(d - extra)];
    fits = d < extra || want == have || want == 1;
    if (d < extra || want != have) dims.push_back(d);
  }
  TRT_CHECK(fits, "sum_to_size: a tensor of shape ", self.sizes(), " cannot be summed to shape ", size);
  return op::reshape(op::sum(self, IntArrayRef(dims), true, std::nullopt), size);
}

Tensor nansum(const Tensor& self, Dims dim, bool keepdim, std::optional<DType> dtype) {
  if (!is_floating(self.dtype())) return op::sum(self, dim, keepdim, dtype);
  return op::sum(op::where(op::isnan(self), Scalar(0), self), dim, keepdim, dtype);
}

Tensor nanmean(const Tensor& self, Dims dim, bool keepdim, std::optional<DType> dtype) {
  TRT_CHECK(is_floating(self.dtype()) && is_floating(dtype.value_or(self.dtype())),
            "nanmean: needs a floating-point tensor and dtype, got ", self, " and ", dtype.value_or(self.dtype()));
  const Tensor count = op::sum(op::logical_not(op::isnan(self)), dim, keepdim, std::nullopt);
  return op::div(op::nansum(self, dim, keepdim, dtype), count);
}

Tensor trace(const Tensor& self) {
  TRT_CHECK(self.dim() == 2, "trace: needs a matrix, got shape ", self.sizes());
  return op::sum(op::diagonal(self, 0, 0, 1), std::nullopt, false, std::nullopt);
}

Tensor count_nonzero_complex(const Tensor& self, std::optional<int64_t> dim) { return op::count_nonzero(op::ne(self, Scalar(0)), dim); }
Tensor count_nonzero_dim_IntList_complex(const Tensor& self, IntArrayRef dim) { return op::count_nonzero(op::ne(self, Scalar(0)), dim); }

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TRT_CHECK(self.dtype() == other.dtype(), "isclose: tensors of one dtype are needed, got ", self, " and ", other);
  TRT_CHECK(rtol >= 0 && atol >= 0, "isclose: tolerances must not be negative, got ", rtol, " and ", atol);
  Tensor close = op::eq(self, other);
  const bool floating = is_differentiable(self.dtype());
  if (equal_nan && floating) close = op::logical_or(close, op::logical_and(op::isnan(self), op::isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  const Tensor a = self.dtype() == DType::Bool ? op::to(self, DType::UInt8) : self;
  // Integers are compared in floating point, as their differences may wrap around.
  const Tensor b = floating ? other : op::to(other, thread_state.default_dtype);
  const Tensor allowed = op::add(op::abs(op::mul(b, Scalar(rtol))), Scalar(atol));
  const Tensor actual = op::abs(op::sub(a, b));
  return op::logical_or(close, op::logical_and(op::isfinite(actual), op::le(actual, allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const Tensor close = op::isclose(self, other, rtol, atol, equal_nan);
  return op::equal(op::all(close), op::ones({}, DType::Bool, close.device()));
}

Tensor var(const Tensor& self, bool unbiased) { return op::var(self, std::nullopt, correction_of(unbiased), false); }
Tensor var_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return op::var(self, dim, correction_of(unbiased), keepdim);
}
Tensor std(const Tensor& self, bool unbiased) { return op::std(self, std::nullopt, correction_of(unbiased), false); }
Tensor std_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return op::std(self, dim, correction_of(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return op::var_mean(self, std::nullopt, correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> var_mean_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return op::var_mean(self, dim, correction_of(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return op::std_mean(self, std::nullopt, correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> std_mean_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return op::std_mean(self, dim, correction_of(unbiased), keepdim);
}

Tensor norm(const Tensor& self, const std::optional<Scalar>& p, Dims dim, bool keepdim, std::optional<DType> dtype) {
  return op::linalg_vector_norm(self, p.value_or(Scalar(2)), dim, keepdim, dtype);
}

Tensor norm_str(const Tensor& self, std::string_view p, Dims dim, bool keepdim, std::optional<DType> dtype) {
  if (p == "nuc") return nuclear_norm(self, dim, keepdim, dtype);
  const bool known = p == "fro" || p == "inf" || p == "-inf";
  TRT_CHECK(known, "norm: p must be a number, \"fro\", \"nuc\", \"inf\" or \"-inf\", got \"", p, "\"");
  return op::linalg_vector_norm(self, p == "fro" ? Scalar(2) : Scalar(p == "inf" ? HUGE_VAL : -HUGE_VAL), dim, keepdim,
                                dtype);
}

}  // namespace trt::composite
