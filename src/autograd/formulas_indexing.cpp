#include "autograd/formulas_indexing.h"

#include "gen/all_ops.h"
#include "iter/promotion.h"

namespace trt::formulas {

namespace {

DimVector negated(IntArrayRef v) {
  DimVector out(v.data(), v.size());
  for (auto& x : out) x = static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return out;
}

Tensor zeros_of(IntArrayRef sizes, const Tensor& like) { return op::zeros(sizes, like.dtype(), like.device()); }

// The part of `src` that an index of the given shape reaches, and the way back.
Tensor leading_part(const Tensor& src, IntArrayRef sizes) {
  if (src.sizes() == sizes || src.dim() != static_cast<int64_t>(sizes.size())) return op::reshape(src, sizes);
  Tensor part = src;
  for (size_t d = 0; d < sizes.size(); ++d) part = op::slice(part, static_cast<int64_t>(d), 0, sizes[d], 1);
  return part;
}
Tensor padded_to(const Tensor& part, IntArrayRef sizes) {
  if (part.sizes() == sizes) return part;
  if (part.sizes().size() != sizes.size()) return op::reshape(part, sizes);
  DimVector pad(2 * sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) pad[2 * (sizes.size() - 1 - d) + 1] = sizes[d] - part.sizes()[d];
  return op::constant_pad_nd(part, pad, 0);
}

}  // namespace

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  return op::index_add(zeros_of(sizes, grad), dim, index, grad);
}

Tensor index_add_backward(const Tensor& grad, IntArrayRef source_sizes, int64_t dim, const Tensor& index,
                          const Scalar& alpha) {
  const Tensor part = op::reshape(op::index_select(grad, dim, index), source_sizes);
  return alpha.equals(1) ? part : op::mul(part, alpha);
}

Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  return op::scatter_add(zeros_of(sizes, grad), dim, index, grad);
}

Tensor gather_slice_backward(const Tensor& grad, IntArrayRef src_sizes, int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return zeros_of(src_sizes, grad);
  return padded_to(op::gather(grad, dim, index, false), src_sizes);
}

std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                                   const Tensor& index, const Tensor& src_given,
                                                   std::string_view reduce, bool include_self, const Tensor& result) {
  if (index.numel() == 0) return {grad, zeros_of(src_given.sizes(), grad)};
  const Tensor src = leading_part(src_given, index.sizes());
  auto gathered = [&](const Tensor& t) { return op::gather(t, dim, index, false); };
  Tensor grad_self, grad_src;
  if (reduce == "sum") {
    grad_self = grad;
    grad_src = gathered(grad);
  } else if (reduce == "mean") {
    Tensor count =
        op::scatter_add(include_self ? op::ones_like(grad) : op::zeros_like(grad), dim, index, op::ones_like(src));
    count = op::clamp_min(count, Scalar(1));
    grad_self = op::div(grad, count);
    grad_src = op::div(gathered(grad), gathered(count));
  } else if (reduce == "prod") {
    // A zero factor is replaced by one before dividing, so that what remains is the product of the others.
    const Tensor self_or_one = op::where(op::eq(self, Scalar(0)), Scalar(1), self);
    grad_self =
        op::div(op::mul(grad, op::scatter_reduce(self_or_one, dim, index, src, "prod", include_self)), self_or_one);
    const Tensor zero = op::eq(src, Scalar(0));
    const Tensor zeros_met = gathered(op::scatter_add(op::zeros_like(self), dim, index, op::to(zero, self.dtype())));
    const Tensor only_zero = op::logical_and(zero, op::eq(zeros_met, Scalar(1)));
    const Tensor without_it =
        op::scatter_reduce(self, dim, index, op::where(only_zero, Scalar(1), src), "prod", include_self);
    grad_src = op::where(only_zero, gathered(op::mul(grad, without_it)),
                         op::div(gathered(op::mul(grad, result)), op::where(zero, Scalar(1), src)));
  } else {
    // Shared evenly by all that are equal to the extremum.
    const Tensor self_hit = op::to(op::eq(self, result), grad.dtype()),
                 src_hit = op::to(op::eq(src, gathered(result)), grad.dtype());
    const Tensor share = op::div(grad, op::scatter_add(self_hit, dim, index, src_hit));
    grad_self = op::mul(self_hit, share);
    grad_src = op::mul(src_hit, gathered(share));
  }
  if (!include_self) grad_self = op::scatter(grad_self, dim, index, Scalar(0));
  return {grad_self, padded_to(grad_src, src_given.sizes())};
}

Tensor take_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& index) {
  return op::put(zeros_of(sizes, grad), index, grad, true);
}

Tensor put_backward(const Tensor& grad, const Tensor& index, bool accumulate) {
  return accumulate ? grad : op::put(grad, index, zeros_of(index.sizes(), grad), false);
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, TensorList indices) {
  return op::index_put(zeros_of(sizes, grad), indices, grad, true);
}

Tensor index_put_backward(const Tensor& grad, TensorList indices, bool accumulate) {
  return accumulate ? grad : op::index_put(grad, indices, zeros_of({}, grad), false);
}

Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask) {
  return op::masked_scatter(zeros_of(broadcast_shapes(sizes, mask.sizes(), "masked_select"), grad), mask, grad);
}

Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, IntArrayRef source_sizes) {
  int64_t numel = 1;
  for (int64_t s : source_sizes) numel *= s;
  const Tensor used = op::masked_select(grad, mask);
  return op::reshape(padded_to(used, {numel}), source_sizes);
}

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<DimVector>& sizes, int64_t dim) {
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (const DimVector& s : sizes) {
    if (s.size() == 1 && s[0] == 0) {
      parts.push_back(zeros_of({0}, grad));
      continue;
    }
    const int64_t n = s[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(s.size()) : dim)];
    parts.push_back(op::slice(grad, dim, from, from + n, 1));
    from += n;
  }
  return parts;
}

Tensor roll_backward(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims) {
  return op::roll(grad, negated(shifts), dims);
}

Tensor constant_pad_backward(const Tensor& grad, IntArrayRef pad) { return op::constant_pad_nd(grad, negated(pad), 0); }

}  // namespace trt::formulas
