#include "autograd/formulas_reduction.h"

#include <cmath>

#include "gen/all_ops.h"

namespace trt::formulas {

namespace {

// `t` with the dimensions that a reduction without keepdim dropped put back as size 1.
Tensor restore_reduced(const Tensor& t, size_t ndim, OptionalDims dim, bool keepdim) {
  if (keepdim || ndim == 0) return t;
  const bool all = !dim || dim->empty();
  DimVector sizes(ndim);
  for (size_t d = 0; d < ndim; ++d) sizes[d] = all ? 1 : 0;
  if (!all)
    for (int64_t d : *dim) sizes[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(ndim) : d)] = 1;
  size_t next = 0;
  if (!all) {
    for (size_t d = 0; d < ndim; ++d) {
      bool reduced = false;
      for (int64_t k : *dim) reduced |= (k < 0 ? k + static_cast<int64_t>(ndim) : k) == static_cast<int64_t>(d);
      if (!reduced) sizes[d] = t.sizes()[next++];
    }
  }
  return op::reshape(t, sizes);
}

int64_t count_reduced(IntArrayRef sizes, OptionalDims dim) {
  int64_t n = 1;
  if (!dim || dim->empty())
    for (int64_t s : sizes) n *= s;
  else if (!sizes.empty())
    for (int64_t d : *dim) n *= sizes[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(sizes.size()) : d)];
  return n;
}

// Whether an element is zero. A meta tensor has no elements to look at: the general formula is taken then.
bool has_zero(const Tensor& t) {
  if (t.is_meta()) return false;
  const Tensor any = op::any(op::eq(t, Scalar(0)));
  return op::equal(any, op::ones({}, DType::Bool, t.device()));
}

// The product of all other elements of each line, from products of beginnings and ends: no division, so zeros are no
// special case.
Tensor products_of_others(const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  const Tensor one = op::ones_like(op::slice(x, dim, 0, 1, 1));
  const Tensor before[] = {one, op::slice(x, dim, 0, n - 1, 1)};
  const Tensor after[] = {one, op::flip(op::slice(x, dim, 1, n, 1), {dim})};
  return op::mul(op::cumprod(op::cat(TensorList(before, 2), dim), dim),
                 op::flip(op::cumprod(op::cat(TensorList(after, 2), dim), dim), {dim}));
}

Tensor magnitude_power(const Tensor& self, double p) { return op::pow(op::abs(self), Scalar(p)); }

Tensor zero_where(const Tensor& condition, const Tensor& t) { return op::where(condition, Scalar(0), t); }

}  // namespace

Tensor expand_reduced(const Tensor& grad, IntArrayRef sizes, OptionalDims dim, bool keepdim) {
  return op::expand(restore_reduced(grad, sizes.size(), dim, keepdim), sizes);
}

Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalDims dim, bool keepdim) {
  return expand_reduced(op::div(grad, Scalar(static_cast<double>(std::max<int64_t>(1, count_reduced(sizes, dim))))),
                        sizes, dim, keepdim);
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return op::clone(grad);
  if (self.numel() == 0) return op::zeros_like(self);
  if (!has_zero(self)) return op::div(op::mul(grad, result), self);
  return op::mul(grad, op::reshape(products_of_others(op::reshape(self, {-1}), 0), self.sizes()));
}

Tensor prod_dim_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return op::clone(grad);
  if (self.numel() == 0) return op::zeros_like(self);
  const Tensor g = keepdim ? grad : op::unsqueeze(grad, dim);
  if (!has_zero(self)) return op::div(op::mul(g, keepdim ? result : op::unsqueeze(result, dim)), self);
  return op::mul(g, products_of_others(self, dim));
}

Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim) {
  const Tensor r = restore_reduced(result, self.sizes().size(), dim, keepdim),
               g = restore_reduced(grad, self.sizes().size(), dim, keepdim);
  const Tensor hit = op::logical_or(op::eq(self, r), op::logical_and(op::isnan(self), op::isnan(r)));
  const Tensor share = op::div(g, op::sum(hit, dim, true, std::nullopt));
  return op::where(hit, share, Scalar(0));
}

Tensor aminmax_backward(const Tensor& grad_min, const Tensor& grad_max, const Tensor& self, const Tensor& min,
                        const Tensor& max, std::optional<int64_t> dim, bool keepdim) {
  const IntArrayRef dims = dim ? IntArrayRef(*dim) : IntArrayRef();
  return op::add(extremum_backward(grad_min, self, min, dims, keepdim),
                 extremum_backward(grad_max, self, max, dims, keepdim));
}

Tensor select_along_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& indices, bool keepdim) {
  if (keepdim || sizes.empty()) return scatter_along_backward(grad, sizes, dim, indices);
  return scatter_along_backward(op::unsqueeze(grad, dim), sizes, dim, op::unsqueeze(indices, dim));
}

Tensor scatter_along_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& indices) {
  return op::scatter(op::zeros(sizes, grad.dtype(), grad.device()), dim, indices, grad);
}

Tensor scan_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& indices) {
  return op::scatter_add(op::zeros(sizes, grad.dtype(), grad.device()), dim, indices, grad);
}

Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalDims dim, const std::optional<Scalar>& correction,
                    bool keepdim) {
  const double rest =
      static_cast<double>(count_reduced(self.sizes(), dim)) - (correction ? correction->to_double() : 1);
  const Tensor g = restore_reduced(grad, self.sizes().size(), dim, keepdim);
  return op::mul(op::mul(g, Scalar(2 / rest)), op::sub(self, op::mean(self, dim, true, std::nullopt)));
}

Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result, OptionalDims dim,
                    const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor grad_var = zero_where(op::eq(result, Scalar(0)), op::div(grad, op::mul(result, Scalar(2))));
  return var_backward(grad_var, self, dim, correction, keepdim);
}

Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalDims dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  return op::add(var_backward(grad_var, self, dim, correction, keepdim),
                 mean_backward(grad_mean, self.sizes(), dim, keepdim));
}

Tensor std_mean_backward(const Tensor& grad_std, const Tensor& grad_mean, const Tensor& self, const Tensor& deviation,
                         OptionalDims dim, const std::optional<Scalar>& correction, bool keepdim) {
  return op::add(std_backward(grad_std, self, deviation, dim, correction, keepdim),
                 mean_backward(grad_mean, self.sizes(), dim, keepdim));
}

Tensor norm_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord, OptionalDims dim,
                     bool keepdim) {
  const double p = ord.to_double();
  const size_t ndim = self.sizes().size();
  const Tensor g = restore_reduced(grad, ndim, dim, keepdim), r = restore_reduced(result, ndim, dim, keepdim);
  if (p == 0) return op::zeros_like(self);
  if (p == 1) return op::mul(g, op::sign(self));
  if (p == 2) return op::mul(self, zero_where(op::eq(r, Scalar(0)), op::div(g, r)));
  if (std::isinf(p)) {
    const Tensor hit = op::logical_or(op::eq(op::abs(self), r), op::logical_and(op::isnan(self), op::isnan(r)));
    const Tensor share = op::div(g, op::sum(hit, dim, true, std::nullopt));
    return op::mul(op::sign(self), op::where(hit, share, Scalar(0)));
  }
  if (p < 1) {
    const Tensor scaled = zero_where(op::eq(self, Scalar(0)), op::mul(op::sign(self), magnitude_power(self, p - 1)));
    return op::mul(scaled, op::mul(g, op::pow(r, Scalar(1 - p))));
  }
  const Tensor scale = zero_where(op::eq(r, Scalar(0)), op::div(g, op::pow(r, Scalar(p - 1))));
  if (p < 2) return op::mul(op::mul(op::sign(self), magnitude_power(self, p - 1)), scale);
  return op::mul(op::mul(self, magnitude_power(self, p - 2)), scale);
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim) {
  const size_t ndim = self.sizes().size();
  const Tensor r = restore_reduced(result, ndim, dim, keepdim);
  // A line of -infinity only has the gradient 0.
  const Tensor finite = zero_where(op::eq(r, Scalar(-HUGE_VAL)), r);
  return op::mul(restore_reduced(grad, ndim, dim, keepdim), op::exp(op::sub(self, finite)));
}

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.dim() == 0) return op::clone(grad);
  if (self.numel() == 0) return op::zeros_like(self);
  if (!has_zero(self)) return op::div(op::cumsum_reverse(op::mul(grad, result), dim), self);
  // With zeros: element k meets the outputs from k on, each through the product of its other factors.
  const int64_t n = self.size(dim);
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < n; ++k) {
    const Tensor rest[] = {op::ones_like(op::slice(self, dim, 0, 1, 1)), op::slice(self, dim, k + 1, n, 1)};
    const Tensor products = op::cumprod(op::cat(TensorList(rest, 2), dim), dim);
    Tensor part = op::sum(op::mul(op::slice(grad, dim, k, n, 1), products), IntArrayRef(dim), false, std::nullopt);
    if (k > 0) part = op::mul(part, op::select(result, dim, k - 1));
    parts.push_back(part);
  }
  return op::stack(parts, dim);
}

Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.dim() == 0) return op::clone(grad);
  if (self.numel() == 0) return op::zeros_like(self);
  // exp(self_i) * sum over j >= i of grad_j * exp(-result_j), in logarithms, for the positive and the negative part of
  // grad. The logarithm of 0 is a finite number here: infinities would meet in the second derivative.
  const DType dtype = self.dtype();
  const double log_zero = dtype == DType::Float64 ? -1e308 : dtype == DType::Float16 ? -3e4 : -1e38;
  auto part = [&](const Tensor& g) {
    const Tensor positive = op::gt(g, Scalar(0));
    const Tensor log_grad = op::where(positive, op::log(op::where(positive, g, Scalar(1))), Scalar(log_zero));
    const Tensor sum = op::flip(op::logcumsumexp(op::flip(op::sub(log_grad, result), {dim}), dim), {dim});
    return op::exp(op::add(sum, self));
  };
  return op::sub(part(grad), part(op::neg(grad)));
}

}  // namespace trt::formulas
