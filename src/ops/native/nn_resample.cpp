// Interpolation along one dimension. All modes that weight elements are products of one-dimensional ones, so this loop is
// all of them; and it is linear, so its gradient is the transposed loop and the gradient of that the loop itself.
#include <cmath>

#include "base/parallel.h"
#include "gen/nn_resample_native.h"
#include "iter/copy.h"
#include "ops/window.h"

namespace trt {

namespace {

// Every output is the sum of `width` inputs times weights. Rows that need fewer have weights of 0 at the end.
struct Taps {
  int64_t width = 0;
  std::vector<int64_t> index;
  std::vector<double> weight;
};

enum Kind : int64_t { kLinear, kCubic, kLinearAntialias, kCubicAntialias };

// Keys' cubic convolution kernel (1981) for the distance x; a is its free parameter.
double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return scale > 0 ? scale : static_cast<double>(in) / static_cast<double>(out);
}

Taps interpolating(int64_t in, int64_t out, bool is_cubic, bool align_corners, double step) {
  Taps t;
  t.width = is_cubic ? 4 : 2;
  const double last = static_cast<double>(in - 1);
  for (int64_t o = 0; o < out; ++o) {
    const double place = static_cast<double>(o);
    double at = align_corners ? step * place : step * (place + 0.5) - 0.5;
    // A scale that does not fit the sizes reaches past the end.
    at = std::min(at, last + 4);
    if (!is_cubic) at = std::clamp(at, 0.0, last);
    const double floor = std::floor(at), part = at - floor;
    const int64_t i = static_cast<int64_t>(floor);
    for (int64_t k = is_cubic ? -1 : 0; k <= (is_cubic ? 2 : 1); ++k) {
      t.index.push_back(std::clamp<int64_t>(i + k, 0, in - 1));
      const double distance = part - static_cast<double>(k);
      t.weight.push_back(is_cubic ? cubic(distance, -0.75) : 1 - std::fabs(distance));
    }
  }
  return t;
}

// The kernel is stretched over all inputs that an output covers.
Taps antialiasing(int64_t in, int64_t out, bool is_cubic, double step) {
  const double stretch = std::max(step, 1.0), reach = (is_cubic ? 2.0 : 1.0) * stretch;
  Taps t;
  t.width = std::min(in, 2 * static_cast<int64_t>(std::ceil(std::min(reach, static_cast<double>(in)))) + 1);
  t.index.assign(static_cast<size_t>(out * t.width), 0);
  t.weight.assign(static_cast<size_t>(out * t.width), 0);
  const double limit = static_cast<double>(in);
  for (int64_t o = 0; o < out; ++o) {
    const double center = step * (static_cast<double>(o) + 0.5);
    const int64_t begin = static_cast<int64_t>(std::clamp(std::floor(center - reach + 0.5), 0.0, limit)),
                  end = std::min(begin + t.width,
                                 static_cast<int64_t>(std::clamp(std::floor(center + reach + 0.5), 0.0, limit)));
    double sum = 0;
    double* weight = t.weight.data() + o * t.width;
    for (int64_t i = begin; i < end; ++i) {
      const double x = (static_cast<double>(i) - center + 0.5) / stretch;
      weight[i - begin] = is_cubic ? cubic(x, -0.5) : std::max(0.0, 1 - std::fabs(x));
      t.index[static_cast<size_t>(o * t.width + i - begin)] = i;
      sum += weight[i - begin];
    }
    if (sum != 0)
      for (int64_t k = 0; k < end - begin; ++k) weight[k] /= sum;
  }
  return t;
}

Taps taps_of(int64_t in, int64_t out, int64_t kind, bool align_corners, double scale) {
  const bool is_cubic = kind == kCubic || kind == kCubicAntialias;
  // As in PyTorch, linear and antialiased interpolation change nothing where the extent stays, whatever the scale is.
  const double step = in == out && kind != kCubic ? 1 : step_of(in, out, align_corners, scale);
  return kind >= kLinearAntialias ? antialiasing(in, out, is_cubic, step)
                                  : interpolating(in, out, is_cubic, align_corners, step);
}

DimVector resized(const Tensor& t, int64_t dim, int64_t size, int64_t kind, double scale, const char* op) {
  TRT_CHECK_CODE(is_floating(t.dtype()), Code::kNotSupported, op, ": not supported for dtype ", t.dtype());
  TRT_CHECK(t.dim() > 0, op, ": a tensor with dimensions is needed, got ", t);
  const size_t d = static_cast<size_t>(wrap_dim(dim, t.dim(), op));
  TRT_CHECK(kind >= kLinear && kind <= kCubicAntialias, op, ": kind must be between 0 and 3, got ", kind);
  TRT_CHECK(std::isfinite(scale) && scale >= 0, op, ": scale must be a finite number of at least 0, got ", scale);
  TRT_CHECK(size > 0 && size < (int64_t{1} << 48) && t.sizes()[d] > 0, op, ": cannot resize dimension ", d, " of ", t,
            " to ", size);
  DimVector out(t.sizes().data(), t.sizes().size());
  out[d] = size;
  return out;
}

// Products of the sizes before and behind a dimension.
struct Around {
  int64_t outer = 1, inner = 1;
};
Around around(IntArrayRef sizes, int64_t dim) {
  Around a;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d)
    (d < dim ? a.outer : a.inner) *= d == dim ? 1 : sizes[static_cast<size_t>(d)];
  return a;
}

// The rows [n, inner] of `from` to the rows [m, inner] of `to`, or with `transposed` back.
template <typename T>
void apply(const Taps& t, const T* from, T* to, int64_t outer, int64_t n, int64_t m, int64_t inner, bool transposed) {
  std::vector<T> weight(t.weight.begin(), t.weight.end());
  const int64_t in = transposed ? m : n, out = transposed ? n : m;
  const int64_t grain = std::max<int64_t>(1, 16384 / (t.width * m * inner));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* x = from + o * in * inner;
      T* y = to + o * out * inner;
      std::fill_n(y, out * inner, T(0));
      for (int64_t r = 0; r < m; ++r)
        for (int64_t k = 0; k < t.width; ++k) {
          const int64_t q = t.index[static_cast<size_t>(r * t.width + k)];
          const T w = weight[static_cast<size_t>(r * t.width + k)];
          if (k > 1 && w == 0) continue;  // filling of a row with fewer taps
          const T* a = x + (transposed ? r : q) * inner;
          T* b = y + (transposed ? q : r) * inner;
          for (int64_t i = 0; i < inner; ++i) b[i] += w * a[i];
        }
    }
  });
}

void run(const Tensor& self, int64_t dim, const Taps& taps, int64_t n, int64_t m, bool transposed, Tensor& out,
         const char* op) {
  const DType dtype = compute_dtype(out.dtype());
  const Tensor x = contiguous_tensor(self, dtype);
  Computed y(out, dtype);
  const Around a = around(self.sizes(), wrap_dim(dim, self.dim(), op));
  dispatch_float(dtype, op, [&]<typename T>() {
    apply(taps, x.data_ptr<T>(), y.data<T>(), a.outer, n, m, a.inner, transposed);
  });
  y.finish();
}

}  // namespace

namespace meta {

TensorSpec resample(const Tensor& self, int64_t dim, int64_t size, int64_t kind, bool, double scale) {
  return TensorSpec(resized(self, dim, size, kind, scale, "interpolate"), self.dtype(), self.device());
}

TensorSpec resample_backward(const Tensor& grad_output, int64_t size, int64_t dim, int64_t kind, bool, double scale) {
  return TensorSpec(resized(grad_output, dim, size, kind, scale, "resample_backward"), grad_output.dtype(),
                    grad_output.device());
}

}  // namespace meta

namespace native {

void resample(const Tensor& self, int64_t dim, int64_t size, int64_t kind, bool align_corners, double scale,
              Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = self.size(dim);
  run(self, dim, taps_of(n, size, kind, align_corners, scale), n, size, false, out, "interpolate");
}

void resample_backward(const Tensor& grad_output, int64_t size, int64_t dim, int64_t kind, bool align_corners,
                       double scale, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t m = grad_output.size(dim);
  run(grad_output, dim, taps_of(size, m, kind, align_corners, scale), size, m, true, out, "resample_backward");
}

}  // namespace native

}  // namespace trt
