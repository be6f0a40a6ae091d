#include "autograd/formulas.h"

#include <algorithm>

#include "gen/all_ops.h"

namespace trt::formulas {

Tensor slice_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  Tensor out = op::zeros(input_sizes, grad.dtype(), grad.device());
  Tensor part = op::slice(out, dim, start, end, step);
  op::copy_(part, grad);
  return out;
}

Tensor select_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t dim, int64_t index) {
  Tensor out = op::zeros(input_sizes, grad.dtype(), grad.device());
  Tensor part = op::select(out, dim, index);
  op::copy_(part, grad);
  return out;
}

Tensor diagonal_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor out = op::zeros(input_sizes, grad.dtype(), grad.device());
  Tensor part = op::diagonal(out, offset, dim1, dim2);
  op::copy_(part, grad);
  return out;
}

DimVector inverse_permutation(IntArrayRef dims) {
  DimVector out(dims.size());
  const int64_t n = static_cast<int64_t>(dims.size());
  for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(dims[static_cast<size_t>(i)] < 0 ? dims[static_cast<size_t>(i)] + n : dims[static_cast<size_t>(i)])] = i;
  return out;
}

Tensor unfold_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step) {
  Tensor out = op::zeros(input_sizes, grad.dtype(), grad.device());
  if (input_sizes.empty()) return size == 0 ? out : op::add(out, op::reshape(grad, {}));
  const int64_t n = static_cast<int64_t>(input_sizes.size());
  const int64_t d = dim < 0 ? dim + n : dim;
  const int64_t windows = grad.size(d);
  // The k-th element of every window: a strided slice of the input, no two windows meeting in it.
  for (int64_t k = 0; k < size; ++k) {
    Tensor part = op::slice(out, d, k, k + (windows - 1) * step + 1, step);
    op::add_(part, op::select(grad, -1, k));
  }
  return out;
}

// Whether several indices may mean one element: by rising strides, each step must lead beyond what the dimensions before it reach.
static bool may_overlap(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1) dims.emplace_back(strides[i], sizes[i]);
  std::sort(dims.begin(), dims.end());
  int64_t reached = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reached) return true;
    reached += stride * (size - 1);
  }
  return false;
}

Tensor as_strided_backward(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides, int64_t input_offset, IntArrayRef sizes,
                           IntArrayRef strides, std::optional<int64_t> offset_given) {
  // Everything is seen relative to the lower of both offsets, as one line of memory; elements that several positions of
  // the view share add up, and the input reads its own positions back (divided among them if the input overlaps itself).
  const int64_t offset = offset_given.value_or(input_offset);
  const int64_t base = std::min(offset, input_offset);
  auto extent = [](IntArrayRef s, IntArrayRef st, int64_t from) {
    int64_t n = from;
    for (size_t i = 0; i < s.size(); ++i) {
      if (s[i] == 0) return from;
      n += (s[i] - 1) * st[i];
    }
    return n + 1;
  };
  const int64_t length = std::max(extent(sizes, strides, offset - base), extent(input_sizes, input_strides, input_offset - base));
  auto positions = [&](IntArrayRef s, IntArrayRef st, int64_t from) {
    Tensor p = op::full({}, from, DType::Int64, grad.device());
    for (size_t i = 0; i < s.size(); ++i) {
      Tensor steps = op::mul(op::arange(0, s[i], 1, DType::Int64, grad.device()), st[i]);
      p = op::add(op::unsqueeze(p, -1), steps);
    }
    return op::reshape(p, {-1});
  };
  Tensor line = op::zeros({length}, grad.dtype(), grad.device());
  line = op::index_add(line, 0, positions(sizes, strides, offset - base), op::reshape(grad, {-1}));
  const Tensor own = positions(input_sizes, input_strides, input_offset - base);
  if (may_overlap(input_sizes, input_strides)) {
    const Tensor count = op::index_add(op::zeros_like(line), 0, own, op::ones({own.numel()}, grad.dtype(), grad.device()));
    line = op::div(line, op::clamp_min(count, 1));
  }
  return op::reshape(op::index_select(line, 0, own), input_sizes);
}

Tensor abs_backward(const Tensor& grad, const Tensor& self) { return op::mul(grad, op::sgn(self)); }

// The part of grad across the direction of self, divided by |self| (Hjorungnes, Gesbert, "Complex-Valued Matrix Differentiation", IEEE Trans. Signal
// Processing 2007, by the chain rule from z / |z|).
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!is_complex(self.dtype())) return op::zeros_like(grad);
  const Tensor magnitude = op::abs(self), zero = op::eq(magnitude, Scalar(0));
  const Tensor along = op::mul(result, op::real(op::mul(grad, op::conj_physical(result))));
  return op::where(zero, Scalar(0), op::div(op::sub(grad, along), op::where(zero, Scalar(1), magnitude)));
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!is_complex(self.dtype())) return op::zeros_like(grad);
  // d angle / dx = -y / |z|^2, d angle / dy = x / |z|^2: together i z / |z|^2.
  const Tensor square = op::square(op::abs(self)), zero = op::eq(square, Scalar(0));
  const Tensor turned = op::mul(self, Scalar(std::complex<double>(0, 1)));
  return op::where(zero, Scalar(0), op::mul(turned, op::div(grad, op::where(zero, Scalar(1), square))));
}

Tensor no_derivative(const Tensor&, std::string_view op) { throw_error(Code::kNotSupported, str_cat(op, ": there is no derivative of it")); }

}  // namespace trt::formulas
