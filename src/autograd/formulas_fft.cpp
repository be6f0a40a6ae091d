#include "autograd/formulas_fft.h"

#include "gen/all_ops.h"

namespace trt::formulas {

Tensor fft_complex_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, bool forward) {
  return op::fft_complex(grad, dim, normalization, !forward);
}

Tensor fft_from_real_backward(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef dim, int64_t normalization, bool forward) {
  const int64_t last = dim[dim.size() - 1], n = static_cast<int64_t>(input_sizes.size()), d = last < 0 ? last + n : last;
  const int64_t missing = input_sizes[static_cast<size_t>(d)] - grad.size(d);
  Tensor g = grad;
  if (missing > 0) {
    DimVector pad(static_cast<size_t>(2 * (n - d)), 0);
    pad[static_cast<size_t>(2 * (n - 1 - d) + 1)] = missing;
    g = op::constant_pad_nd(grad, pad, Scalar(0));
  }
  return op::real(op::fft_complex(g, dim, normalization, !forward));
}

Tensor fft_to_real_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, int64_t last_size, bool forward) {
  const Tensor half = op::fft_from_real(grad, dim, normalization, !forward, false);
  const int64_t last = dim[dim.size() - 1], size = half.size(last), own = last_size % 2 == 0 ? 2 : 1;
  if (size <= own) return half;
  // Elements with a conjugate elsewhere count twice.
  Tensor weights = op::full({size}, Scalar(2.0), grad.dtype(), grad.device());
  Tensor first = op::narrow(weights, 0, 0, 1);
  op::fill_(first, Scalar(1));
  if (own == 2) {
    Tensor middle = op::narrow(weights, 0, size - 1, 1);
    op::fill_(middle, Scalar(1));
  }
  const int64_t d = last < 0 ? last + half.dim() : last;
  DimVector shape(static_cast<size_t>(half.dim() - d), 1);
  shape[0] = size;
  return op::mul(half, op::reshape(weights, shape));
}

}  // namespace trt::formulas
