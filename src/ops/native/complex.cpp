// Complex tensors of operators whose kernels are real: made of real ones on the parts, above autograd, so that gradients come from the parts.
#include <algorithm>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/compose_native.h"
#include "gen/linalg_native.h"
#include "gen/nn_conv_native.h"
#include "gen/reduction_native.h"

namespace trt::composite {

namespace {

using Dims = std::optional<IntArrayRef>;

DType result_dtype(const Tensor& self, std::optional<DType> dtype) { return dtype.value_or(self.dtype()); }

// The dimensions of a reduction of `self` as numbers from the front, so that they mean the same when the parts are a last dimension more.
DimVector part_dims(const Tensor& self, Dims dim, const char* op) {
  DimVector out;
  if (dim && !dim->empty())
    for (int64_t d : *dim) out.push_back(wrap_dim(d, self.dim(), op));
  else
    for (int64_t d = 0; d < self.dim(); ++d) out.push_back(d);
  return out;
}

// f over the parts of self.
template <typename F>
Tensor on_parts(const Tensor& self, F&& f) {
  return op::view_as_complex(op::contiguous(f(op::view_as_real(self))));
}

// Parts of a tensor that may be real; the imaginary one is then undefined.
struct Parts {
  explicit Parts(const Tensor& t) : real(op::real(t)), imag(is_complex(t.dtype()) ? op::imag(t) : Tensor()) {}
  Tensor real, imag;
};

// A bilinear function of two complex tensors from the real one.
template <typename F>
Tensor bilinear_of(const Tensor& a, const Tensor& b, const char* op, F&& f) {
  TRT_CHECK(a.dtype() == b.dtype(), op, ": operands must have the same dtype, got ", a, " and ", b);
  const Parts x(a), y(b);
  return op::complex(op::sub(f(x.real, y.real), f(x.imag, y.imag)), op::add(f(x.real, y.imag), f(x.imag, y.real)));
}

// The product over one dimension, by halves.
Tensor product(Tensor x, int64_t dim, bool keepdim) {
  if (x.size(dim) == 0) {
    DimVector sizes(x.sizes().data(), x.sizes().size());
    sizes[static_cast<size_t>(dim)] = 1;
    x = op::ones(sizes, x.dtype(), x.device());
  }
  while (x.size(dim) > 1) {
    const int64_t n = x.size(dim), half = n / 2;
    Tensor y = op::mul(op::narrow(x, dim, 0, half), op::narrow(x, dim, half, half));
    if (n % 2) {
      const Tensor parts[] = {y, op::narrow(x, dim, n - 1, 1)};
      y = op::cat(TensorList(parts, 2), dim);
    }
    x = y;
  }
  return keepdim ? x : op::squeeze(x, dim);
}

Tensor add_scaled(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha, const char* op) {
  TRT_CHECK(self.dtype() == product.dtype(), op, ": self must have the dtype of the product, got ", self, " and ", product);
  const Tensor base = op::expand(self, product.sizes());
  const Tensor term = alpha.equals(1) ? product : op::mul(product, alpha);
  if (beta.equals(0)) return term;
  return op::add(beta.equals(1) ? base : op::mul(base, beta), term);
}

}  // namespace

Tensor sum_complex(const Tensor& self, Dims dim, bool keepdim, std::optional<DType> dtype) {
  if (!is_complex(result_dtype(self, dtype))) return op::sum(op::to(self, *dtype), dim, keepdim, dtype);
  if (self.dim() == 0) return op::to(self, result_dtype(self, dtype));
  const Tensor x = op::to(self, result_dtype(self, dtype));
  return on_parts(x, [&](const Tensor& parts) { return op::sum(parts, part_dims(self, dim, "sum"), keepdim, std::nullopt); });
}

Tensor mean_complex(const Tensor& self, Dims dim, bool keepdim, std::optional<DType> dtype) {
  const DType t = result_dtype(self, dtype);
  TRT_CHECK(is_differentiable(t), "mean: needs a floating-point or complex dtype, got ", self, " and dtype ", t);
  const Tensor x = op::to(self, t);
  if (!is_complex(t)) return op::mean(x, dim, keepdim, std::nullopt);
  if (self.dim() == 0) return x;
  return on_parts(x, [&](const Tensor& parts) { return op::mean(parts, part_dims(self, dim, "mean"), keepdim, std::nullopt); });
}

Tensor prod_complex(const Tensor& self, std::optional<DType> dtype) {
  const Tensor x = op::reshape(op::to(self, result_dtype(self, dtype)), {-1});
  return is_complex(x.dtype()) ? product(x, 0, false) : op::prod(x, dtype);
}
Tensor prod_dim_int_complex(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  const int64_t d = wrap_dim(dim, self.dim(), "prod");
  const Tensor x = op::to(self, result_dtype(self, dtype));
  if (!is_complex(x.dtype())) return op::prod(x, d, keepdim, dtype);
  return self.dim() == 0 ? x : product(x, d, keepdim);
}

Tensor cumsum_complex(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const int64_t d = wrap_dim(dim, self.dim(), "cumsum");
  const Tensor x = op::to(self, result_dtype(self, dtype));
  if (!is_complex(x.dtype())) return op::cumsum(x, d, dtype);
  if (self.dim() == 0) return op::clone(x);
  return on_parts(x, [&](const Tensor& parts) { return op::cumsum(parts, d, std::nullopt); });
}

// By doubling: after step k every element holds the product of the 2^k elements up to it (Hillis, Steele, "Data parallel algorithms", CACM 1986).
Tensor cumprod_complex(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const int64_t d = wrap_dim(dim, self.dim(), "cumprod");
  Tensor x = op::to(self, result_dtype(self, dtype));
  if (!is_complex(x.dtype())) return op::cumprod(x, d, dtype);
  if (self.dim() == 0) return op::clone(x);
  const int64_t n = self.size(d);
  if (n <= 1) return op::clone(x);
  for (int64_t step = 1; step < n; step *= 2) {
    const Tensor parts[] = {op::narrow(x, d, 0, step), op::mul(op::narrow(x, d, step, n - step), op::narrow(x, d, 0, n - step))};
    x = op::cat(TensorList(parts, 2), d);
  }
  return x;
}

// The variance of a complex variable is the sum of those of its parts.
Tensor var_correction_complex(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool keepdim) {
  return op::add(op::var(op::real(self), dim, correction, keepdim), op::var(op::imag(self), dim, correction, keepdim));
}
Tensor std_correction_complex(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool keepdim) {
  return op::sqrt(op::var(self, dim, correction, keepdim));
}
std::tuple<Tensor, Tensor> var_mean_correction_complex(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool keepdim) {
  return {op::var(self, dim, correction, keepdim), op::mean(self, dim, keepdim, std::nullopt)};
}
std::tuple<Tensor, Tensor> std_mean_correction_complex(const Tensor& self, Dims dim, const std::optional<Scalar>& correction, bool keepdim) {
  return {op::std(self, dim, correction, keepdim), op::mean(self, dim, keepdim, std::nullopt)};
}

Tensor linalg_vector_norm_complex(const Tensor& self, const Scalar& ord, Dims dim, bool keepdim, std::optional<DType> dtype) {
  TRT_CHECK(!dtype || is_complex(*dtype), "linalg_vector_norm: the dtype for a complex tensor must be complex, got ", self, " and dtype ", *dtype);
  const Tensor x = op::to(self, result_dtype(self, dtype));
  return op::linalg_vector_norm(op::abs(x), ord, dim, keepdim, std::nullopt);
}

Tensor logsumexp_complex(const Tensor& self, IntArrayRef dim, bool keepdim) {
  if (self.dim() == 0) return op::clone(self);
  const DimVector dims = part_dims(self, dim, "logsumexp");
  // The largest real part goes out of the sum; it is a constant to autograd, since the result does not depend on it.
  const Tensor most = [&] {
    const GradModeGuard no_grad(false);
    const Tensor m = op::amax(op::real(self), dims, true);
    return op::where(op::isfinite(m), m, Scalar(0));
  }();
  const Tensor sum = op::sum(op::exp(op::sub(self, most)), IntArrayRef(dims), true, std::nullopt);
  const Tensor out = op::add(op::log(sum), most);
  if (keepdim) return out;
  DimVector sizes;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) sizes.push_back(self.size(d));
  return op::reshape(out, sizes);
}

Tensor any_complex(const Tensor& self) { return op::any(op::ne(self, Scalar(0))); }
Tensor all_complex(const Tensor& self) { return op::all(op::ne(self, Scalar(0))); }
Tensor any_dims_complex(const Tensor& self, Dims dim, bool keepdim) { return op::any(op::ne(self, Scalar(0)), dim, keepdim); }
Tensor all_dims_complex(const Tensor& self, Dims dim, bool keepdim) { return op::all(op::ne(self, Scalar(0)), dim, keepdim); }

Tensor mm_complex(const Tensor& self, const Tensor& mat2) {
  return bilinear_of(self, mat2, "mm", [](const Tensor& a, const Tensor& b) { return op::mm(a, b); });
}
Tensor bmm_complex(const Tensor& self, const Tensor& mat2) {
  return bilinear_of(self, mat2, "bmm", [](const Tensor& a, const Tensor& b) { return op::bmm(a, b); });
}
Tensor mv_complex(const Tensor& self, const Tensor& vec) {
  return bilinear_of(self, vec, "mv", [](const Tensor& a, const Tensor& b) { return op::mv(a, b); });
}
Tensor dot_complex(const Tensor& self, const Tensor& tensor) {
  return bilinear_of(self, tensor, "dot", [](const Tensor& a, const Tensor& b) { return op::dot(a, b); });
}
Tensor addmm_complex(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  return add_scaled(self, op::mm(mat1, mat2), beta, alpha, "addmm");
}
Tensor baddbmm_complex(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  return add_scaled(self, op::bmm(batch1, batch2), beta, alpha, "baddbmm");
}
Tensor linear_complex(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor product = bilinear_of(input, weight, "linear", [](const Tensor& a, const Tensor& b) { return op::linear(a, b, Tensor()); });
  return bias.defined() ? add_scaled(bias, product, 1, 1, "linear") : product;
}

namespace {

// The bias of a convolution, one element a channel.
Tensor with_bias(const Tensor& result, const Tensor& bias, const char* op) {
  if (!bias.defined()) return result;
  TRT_CHECK(bias.dim() == 1 && bias.dtype() == result.dtype(), op, ": the bias must be a vector of dtype ", result.dtype(), ", got ", bias);
  return op::add(result, op::reshape(bias, {-1, 1, 1}));
}

}  // namespace

Tensor conv2d_complex(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  const Tensor product = bilinear_of(input, weight, "conv2d", [&](const Tensor& x, const Tensor& w) {
    return op::conv2d(x, w, Tensor(), stride, padding, dilation, groups);
  });
  return with_bias(product, bias, "conv2d");
}
Tensor conv_transpose2d_complex(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                                IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  const Tensor product = bilinear_of(input, weight, "conv_transpose2d", [&](const Tensor& x, const Tensor& w) {
    return op::conv_transpose2d(x, w, Tensor(), stride, padding, output_padding, groups, dilation);
  });
  return with_bias(product, bias, "conv_transpose2d");
}

}  // namespace trt::composite
