// Products made of other products: outer, addmv, addr, addbmm, matmul, inner, tensordot, bilinear.
#include "gen/all_ops.h"
#include "gen/linalg_native.h"
#include "iter/promotion.h"
#include "ops/native/widened.h"
#include "ops/sizes.h"

namespace trt::composite {

namespace {

// beta * self + alpha * product, where self must broadcast to the product and is left out when beta is 0.
Tensor add_scaled(const Tensor& self, const Tensor& product, const Scalar& beta_given, const Scalar& alpha_given,
                  const char* op) {
  const DType dtype = product.dtype();
  const Scalar beta = is_differentiable(dtype) ? beta_given : Scalar(beta_given.to_int()),
               alpha = is_differentiable(dtype) ? alpha_given : Scalar(alpha_given.to_int());
  TRT_CHECK(self.dtype() == dtype, op, ": self must have the dtype of the product, got ", self, " and ", product);
  const Tensor base = op::expand(self, product.sizes());
  if (dtype == DType::Bool) {
    const Tensor term = alpha.to_bool() ? product : op::zeros_like(product);
    return beta.to_bool() ? op::logical_or(base, term) : term;
  }
  const Tensor term = alpha.equals(1) ? product : op::mul(product, alpha);
  if (beta.equals(0)) return term;
  return op::add(beta.equals(1) ? base : op::mul(base, beta), term);
}

DimVector batch_sizes(const Tensor& t) { return DimVector(t.sizes().data(), t.sizes().size() - 2); }

// [..., n, k] times [k] or [k, m] as one product: the leading dimensions become rows.
Tensor fold_left(const Tensor& a, const Tensor& b) {
  const int64_t k = a.size(-1);
  const DimVector lead(a.sizes().data(), a.sizes().size() - 1);
  const Tensor rows = op::reshape(a, {count_of(lead), k});
  if (b.dim() == 1) return op::reshape(op::mv(rows, b), lead);
  return op::reshape(op::mm(rows, b), joined(lead, {b.size(1)}));
}

}  // namespace

Tensor outer(const Tensor& self, const Tensor& vec2) {
  TRT_CHECK(self.dim() == 1 && vec2.dim() == 1, "outer: needs two vectors, got ", self, " and ", vec2);
  return op::mul(op::unsqueeze(self, 1), vec2);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  if (const DType d = self.dtype(); is_reduced_floating(d) && mat.dtype() == d && vec.dtype() == d)
    return op::to(op::addmv(widened(self, d), widened(mat, d), widened(vec, d), beta, alpha), d);
  return add_scaled(self, op::mv(mat, vec), beta, alpha, "addmv");
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  TRT_CHECK(is_differentiable(vec1.dtype()) || (alpha.kind() <= Scalar::Kind::Int && beta.kind() <= Scalar::Kind::Int),
            "addr: beta and alpha must be integers for tensors of dtype ", vec1.dtype());
  if (const DType d = self.dtype(); is_reduced_floating(d) && vec1.dtype() == d && vec2.dtype() == d)
    return op::to(op::addr(widened(self, d), widened(vec1, d), widened(vec2, d), beta, alpha), d);
  return add_scaled(self, op::outer(vec1, vec2), beta, alpha, "addr");
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  TRT_CHECK(batch1.dim() == 3 && batch2.dim() == 3, "addbmm: needs two 3-d tensors, got ", batch1, " and ", batch2);
  TRT_CHECK(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1), "addbmm: sizes do not fit, got ",
            batch1, " and ", batch2);
  // The sum over the batch is part of the inner dimension of one product.
  const int64_t inner = batch1.size(0) * batch1.size(2);
  const Tensor left = op::reshape(op::permute(batch1, {1, 0, 2}), {batch1.size(1), inner});
  return op::addmm(self, left, op::reshape(batch2, {inner, batch2.size(2)}), beta, alpha);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t da = self.dim(), db = other.dim();
  TRT_CHECK(da >= 1 && db >= 1, "matmul: both tensors need at least one dimension, got ", self, " and ", other);
  TRT_CHECK(self.size(-1) == other.size(db >= 2 ? -2 : 0), "matmul: inner sizes ", self.size(-1), " and ", other.size(db >= 2 ? -2 : 0), " differ, got ", self, " and ", other);
  if (da == 1 && db == 1) return op::dot(self, other);
  if (da == 2 && db == 1) return op::mv(self, other);
  if (da == 1 && db == 2) return op::mv(op::transpose(other, 0, 1), self);
  if (da == 2 && db == 2) return op::mm(self, other);
  if (db <= 2) return fold_left(self, other);
  // A vector, or one matrix against batches that lie transposed in memory: (b^T a^T)^T folds without a copy.
  const bool folds_right = da == 1 || (da == 2 && op::transpose(other, -1, -2).is_contiguous());
  if (folds_right) {
    const Tensor turned = op::transpose(other, -1, -2);
    if (da == 1) return fold_left(turned, self);
    return op::transpose(fold_left(turned, op::transpose(self, 0, 1)), -1, -2);
  }
  const DimVector batch = broadcast_shapes(batch_sizes(self), batch_sizes(other), "matmul");
  const int64_t n = self.size(-2), k = self.size(-1), m = other.size(-1), count = count_of(batch);
  const Tensor a = op::reshape(op::expand(self, joined(batch, {n, k})), {count, n, k});
  const Tensor b = op::reshape(op::expand(other, joined(batch, {k, m})), {count, k, m});
  return op::reshape(op::bmm(a, b), joined(batch, {n, m}));
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return op::mul(self, other);
  TRT_CHECK(self.size(-1) == other.size(-1), "inner: last sizes differ, got ", self, " and ", other);
  return op::tensordot(self, other, {-1}, {-1});
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  TRT_CHECK(dims_self.size() == dims_other.size(), "tensordot: dimension lists of different lengths, ", dims_self,
            " and ", dims_other);
  auto wrapped = [](const Tensor& t, IntArrayRef dims) {
    DimVector out;
    uint64_t seen = 0;
    for (int64_t d : dims) {
      TRT_CHECK(t.dim() > 0, "tensordot: a 0-d tensor has no dimension to sum over");
      const int64_t w = wrap_dim(d, t.dim(), "tensordot");
      TRT_CHECK(!((seen >> w) & 1), "tensordot: dimension ", d, " appears twice in ", dims);
      seen |= uint64_t{1} << w;
      out.push_back(w);
    }
    return out;
  };
  auto free_dims = [](const Tensor& t, const DimVector& taken) {
    DimVector out;
    for (int64_t d = 0; d < t.dim(); ++d)
      if (std::find(taken.begin(), taken.end(), d) == taken.end()) out.push_back(d);
    return out;
  };
  const DimVector sa = wrapped(self, dims_self), sb = wrapped(other, dims_other);
  Tensor a = self, b = other;
  int64_t k = 1;
  for (size_t i = 0; i < sa.size(); ++i) {
    const int64_t x = self.size(sa[i]), y = other.size(sb[i]);
    TRT_CHECK(x == y || x == 1 || y == 1, "tensordot: sizes of dimensions ", dims_self[i], " and ", dims_other[i],
              " differ, got ", self, " and ", other);
    // A dimension of size 1 broadcasts, so the other side is summed first.
    if (x == 1 && y != 1) b = op::sum(b, IntArrayRef{sb[i]}, true, b.dtype());
    if (y == 1 && x != 1) a = op::sum(a, IntArrayRef{sa[i]}, true, a.dtype());
    k *= std::min(x, y);
  }
  DimVector pa = free_dims(a, sa), pb = sb, sizes;
  int64_t n = 1, m = 1;
  for (int64_t d : pa) {
    n *= a.size(d);
    sizes.push_back(a.size(d));
  }
  for (int64_t d : sa) pa.push_back(d);
  for (int64_t d : free_dims(b, sb)) {
    m *= b.size(d);
    sizes.push_back(b.size(d));
    pb.push_back(d);
  }
  const Tensor left = op::reshape(op::permute(a, pa), {n, k});
  const Tensor right = op::reshape(op::permute(b, pb), {k, m});
  return op::reshape(op::mm(left, right), sizes);
}

Tensor tensordot_int(const Tensor& self, const Tensor& other, int64_t dims) {
  TRT_CHECK(dims >= 0 && dims <= self.dim() && dims <= other.dim(), "tensordot: cannot sum over ", dims,
            " dimensions of ", self, " and ", other);
  DimVector a, b;
  for (int64_t i = 0; i < dims; ++i) {
    a.push_back(self.dim() - dims + i);
    b.push_back(i);
  }
  return op::tensordot(self, other, a, b);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  TRT_CHECK(input1.dim() >= 1 && input1.dim() == input2.dim(),
            "bilinear: inputs must have the same number of dimensions, got ", input1, " and ", input2);
  for (int64_t d = 0; d + 1 < input1.dim(); ++d)
    TRT_CHECK(input1.size(d) == input2.size(d), "bilinear: inputs differ in batch dimension ", d, ", got ", input1,
              " and ", input2);
  TRT_CHECK(weight.dim() == 3 && weight.size(1) == input1.size(-1) && weight.size(2) == input2.size(-1),
            "bilinear: weight ", weight, " does not fit inputs ", input1, " and ", input2);
  if (const DType d = weight.dtype(); is_reduced_floating(d) && input1.dtype() == d && input2.dtype() == d && (!bias.defined() || bias.dtype() == d))
    return op::to(op::bilinear(widened(input1, d), widened(input2, d), widened(weight, d), widened(bias, d)), d);
  const int64_t pairs = weight.size(1) * weight.size(2);
  const DimVector lead(input1.sizes().data(), input1.sizes().size() - 1);
  const Tensor products = op::mul(op::unsqueeze(input1, -1), op::unsqueeze(input2, -2));
  return op::linear(op::reshape(products, joined(lead, {pairs})), op::reshape(weight, {weight.size(0), pairs}), bias);
}

}  // namespace trt::composite
