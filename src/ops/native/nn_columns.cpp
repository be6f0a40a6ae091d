// Windows of images as columns, and back.
#include <algorithm>

#include "base/parallel.h"
#include "gen/nn_conv_native.h"
#include "iter/copy.h"
#include "ops/window.h"

namespace trt {

namespace {

struct Columns {
  int64_t c, h, w;  // one image
  Pair kernel, dilation, padding, stride;
  int64_t oh, ow;  // windows

  int64_t image() const { return c * h * w; }
  int64_t column_data() const { return c * kernel.h * kernel.w * oh * ow; }
};

Columns columns_of(int64_t c, int64_t h, int64_t w, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
                   IntArrayRef stride, const char* op) {
  Columns a;
  a.c = c;
  a.h = h;
  a.w = w;
  a.kernel = pair_of(kernel, op, "kernel_size");
  a.dilation = pair_of(dilation, op, "dilation");
  a.padding = pair_of(padding, op, "padding");
  a.stride = pair_of(stride, op, "stride");
  TRT_CHECK(a.kernel.h > 0 && a.kernel.w > 0, op, ": kernel_size must be positive, got ", kernel);
  TRT_CHECK(a.dilation.h > 0 && a.dilation.w > 0, op, ": dilation must be positive, got ", dilation);
  TRT_CHECK(a.padding.h >= 0 && a.padding.w >= 0, op, ": padding must not be negative, got ", padding);
  TRT_CHECK(a.stride.h > 0 && a.stride.w > 0, op, ": stride must be positive, got ", stride);
  a.oh = window_count(h, a.kernel.h, a.stride.h, a.padding.h, a.dilation.h, op);
  a.ow = window_count(w, a.kernel.w, a.stride.w, a.padding.w, a.dilation.w, op);
  TRT_CHECK(a.oh > 0 && a.ow > 0, op, ": images of ", h, " by ", w, " are smaller than a window of kernel_size ",
            kernel, " and dilation ", dilation);
  return a;
}

int64_t product(int64_t a, int64_t b, const char* op) {
  int64_t out = 0;
  TRT_CHECK(!__builtin_mul_overflow(a, b, &out), op, ": the result is too large");
  return out;
}

Columns im2col_args(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                    IntArrayRef stride) {
  TRT_CHECK(self.dim() == 3 || self.dim() == 4, "im2col: input must have 3 or 4 dimensions, got ", self);
  for (int64_t d = -3; d < 0; ++d)
    TRT_CHECK(self.size(d) > 0, "im2col: only the batch may be empty, got ", self);
  return columns_of(self.size(-3), self.size(-2), self.size(-1), kernel_size, dilation, padding, stride, "im2col");
}

Columns col2im_args(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                    IntArrayRef padding, IntArrayRef stride) {
  TRT_CHECK(self.dim() == 2 || self.dim() == 3, "col2im: input must have 2 or 3 dimensions, got ", self);
  TRT_CHECK(output_size.size() == 1 || output_size.size() == 2, "col2im: output_size must be one number or two, got ",
            output_size);
  TRT_CHECK(output_size[0] > 0 && output_size.back() > 0, "col2im: output_size must be positive, got ", output_size);
  Columns a = columns_of(0, output_size[0], output_size.back(), kernel_size, dilation, padding, stride, "col2im");
  const int64_t taps = a.kernel.h * a.kernel.w;  // below 2^62
  TRT_CHECK(self.size(-2) > 0 && self.size(-2) % taps == 0, "col2im: the columns of input ", self,
            " are no multiple of a window's ", taps, " elements");
  TRT_CHECK(self.size(-1) == product(a.oh, a.ow, "col2im"), "col2im: input ", self, " must have ", a.oh, " * ", a.ow,
            " windows for output_size ", output_size);
  a.c = self.size(-2) / taps;
  return a;
}

// f(image's row, column's row, first window, end of windows) for the rows of windows that one tap of a channel has
// inside the image; g(column's row) for those that it has outside. Places are those of the row's first element.
template <typename F>
void for_each_tap(const Columns& a, int64_t channel, F&& f) {
  for (int64_t i = 0; i < a.kernel.h; ++i)
    for (int64_t j = 0; j < a.kernel.w; ++j) {
      const int64_t left = j * a.dilation.w - a.padding.w;
      // The windows q with 0 <= q * stride + left < w.
      const int64_t q0 = std::min(a.ow, left >= 0 ? 0 : (-left + a.stride.w - 1) / a.stride.w),
                    q1 = left >= a.w ? q0 : std::clamp((a.w - 1 - left) / a.stride.w + 1, q0, a.ow);
      for (int64_t r = 0; r < a.oh; ++r) {
        const int64_t y = r * a.stride.h - a.padding.h + i * a.dilation.h;
        const bool inside = y >= 0 && y < a.h;
        f(inside ? (channel * a.h + y) * a.w + left : 0, (((channel * a.kernel.h + i) * a.kernel.w + j) * a.oh + r) * a.ow,
          inside ? q0 : 0, inside ? q1 : 0);
      }
    }
}

// Sums of integers wrap.
template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return static_cast<T>(a + b);
}

}  // namespace

namespace meta {

TensorSpec im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                  IntArrayRef stride) {
  const Columns a = im2col_args(self, kernel_size, dilation, padding, stride);
  const int64_t rows = product(a.c, a.kernel.h * a.kernel.w, "im2col"), windows = product(a.oh, a.ow, "im2col");
  return TensorSpec(self.dim() == 3 ? DimVector{rows, windows} : DimVector{self.size(0), rows, windows}, self.dtype(),
                    self.device());
}

TensorSpec col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                  IntArrayRef padding, IntArrayRef stride) {
  const Columns a = col2im_args(self, output_size, kernel_size, dilation, padding, stride);
  return TensorSpec(self.dim() == 2 ? DimVector{a.c, a.h, a.w} : DimVector{self.size(0), a.c, a.h, a.w}, self.dtype(),
                    self.device());
}

}  // namespace meta

namespace native {

void im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride,
            Tensor& out) {
  if (out.numel() == 0) return;
  const Columns a = im2col_args(self, kernel_size, dilation, padding, stride);
  const Tensor x = contiguous_tensor(self);
  const int64_t n = self.dim() == 3 ? 1 : self.size(0), step = a.stride.w;
  dispatch_all(self.dtype(), "im2col", [&]<typename T>() {
    const T* images = x.data_ptr<T>();
    T* columns = out.data_ptr<T>();
    parallel_for(0, n * a.c, 1, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const T* from = images + at / a.c * a.image();
        T* to = columns + at / a.c * a.column_data();
        for_each_tap(a, at % a.c, [&](int64_t row, int64_t column, int64_t q0, int64_t q1) {
          std::fill(to + column, to + column + q0, T(0));
          for (int64_t q = q0; q < q1; ++q) to[column + q] = from[row + q * step];
          std::fill(to + column + q1, to + column + a.ow, T(0));
        });
      }
    });
  });
}

void col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
            IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  if (out.numel() == 0) return;
  const Columns a = col2im_args(self, output_size, kernel_size, dilation, padding, stride);
  const DType dtype = compute_dtype(out.dtype());
  const Tensor x = contiguous_tensor(self, dtype);
  Computed images(out, dtype);
  const int64_t n = self.dim() == 2 ? 1 : self.size(0), step = a.stride.w;
  dispatch_all(dtype, "col2im", [&]<typename T>() {
    const T* columns = x.data_ptr<T>();
    T* data = images.data<T>();
    parallel_for(0, n * a.c, 1, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const T* from = columns + at / a.c * a.column_data();
        T* to = data + at / a.c * a.image();
        std::fill_n(to + at % a.c * a.h * a.w, a.h * a.w, T(0));
        for_each_tap(a, at % a.c, [&](int64_t row, int64_t column, int64_t q0, int64_t q1) {
          for (int64_t q = q0; q < q1; ++q)
            to[row + q * step] = sum_of(to[row + q * step], from[column + q]);
        });
      }
    });
  });
  images.finish();
}

}  // namespace native

}  // namespace trt
