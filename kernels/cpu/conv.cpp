// Entry points of the convolutions and the double path: a matrix product over unfolded bands of each image.
#include "kernels/cpu/conv.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/conv_float.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

bool no_output(const Conv2dShape& s) { return s.n <= 0 || s.o <= 0 || s.oh <= 0 || s.ow <= 0; }
// Nothing to sum over for an output pixel.
bool no_sum(const Conv2dShape& s) { return s.c <= 0 || s.h <= 0 || s.w <= 0 || s.kh <= 0 || s.kw <= 0; }
bool is_depthwise(const Conv2dShape& s) { return s.groups > 1 && s.groups == s.c; }

template <typename T>
void fill_bias(const Conv2dShape& s, const T* bias, T* y) {
  const int64_t plane = s.oh * s.ow;
  for (int64_t i = 0; i < s.n * s.o; ++i) std::fill_n(y + i * plane, plane, bias ? bias[i % s.o] : T(0));
}

template <typename T>
void sum_bias(const Conv2dShape& s, const T* gy, T* gbias) {
  const int64_t plane = s.oh * s.ow;
  parallel_for(0, s.o, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, s.n * plane)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o) {
                   T sum = 0;
                   for (int64_t n = 0; n < s.n; ++n) {
                     const T* row = gy + (n * s.o + o) * plane;
                     for (int64_t i = 0; i < plane; ++i) sum += row[i];
                   }
                   gbias[o] = sum;
                 }
               });
}

// The columns [first, first + count) of an output row whose input column for kernel column j is inside the image.
struct Columns {
  int64_t begin, end, x0;  // output columns [begin, end); input column = x0 + column * stride

  Columns(const Conv2dShape& s, int64_t j) : x0(j * s.dil_w - s.pad_w) {
    begin = x0 < 0 ? std::min(s.ow, (-x0 + s.stride_w - 1) / s.stride_w) : 0;
    end = s.w > x0 ? std::clamp((s.w - x0 + s.stride_w - 1) / s.stride_w, begin, s.ow) : begin;
  }
};

int64_t unfold_grain(const Conv2dShape& s, int64_t rows) {
  return std::max<int64_t>(1, 16384 / (s.kh * s.kw * rows * s.ow));
}

// col[(c, i, j)][rows of output, ow] for output rows [oy, oy + rows) of one image and group.
void unfold(const Conv2dShape& s, int64_t channels, const double* x, int64_t oy, int64_t rows, double* col) {
  parallel_for(0, channels, unfold_grain(s, rows), [&](int64_t begin, int64_t end) {
    double* to = col + begin * s.kh * s.kw * rows * s.ow;
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t i = 0; i < s.kh; ++i) {
        for (int64_t j = 0; j < s.kw; ++j) {
          const Columns columns(s, j);
          for (int64_t r = 0; r < rows; ++r, to += s.ow) {
            const int64_t y = (oy + r) * s.stride_h + i * s.dil_h - s.pad_h;
            if (y < 0 || y >= s.h) {
              std::fill_n(to, s.ow, 0.0);
              continue;
            }
            const double* row = x + (c * s.h + y) * s.w;
            std::fill_n(to, columns.begin, 0.0);
            for (int64_t o = columns.begin; o < columns.end; ++o) to[o] = row[columns.x0 + o * s.stride_w];
            std::fill_n(to + columns.end, s.ow - columns.end, 0.0);
          }
        }
      }
    }
  });
}

// The transposed operation: adds col into x.
void fold(const Conv2dShape& s, int64_t channels, const double* col, int64_t oy, int64_t rows, double* x) {
  parallel_for(0, channels, unfold_grain(s, rows), [&](int64_t begin, int64_t end) {
    const double* from = col + begin * s.kh * s.kw * rows * s.ow;
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t i = 0; i < s.kh; ++i) {
        for (int64_t j = 0; j < s.kw; ++j) {
          const Columns columns(s, j);
          for (int64_t r = 0; r < rows; ++r, from += s.ow) {
            const int64_t y = (oy + r) * s.stride_h + i * s.dil_h - s.pad_h;
            if (y < 0 || y >= s.h) continue;
            double* row = x + (c * s.h + y) * s.w;
            for (int64_t o = columns.begin; o < columns.end; ++o) row[columns.x0 + o * s.stride_w] += from[o];
          }
        }
      }
    }
  });
}

// Calls f(image, group, first output row, rows) for bands whose unfolded form stays near 8 MiB.
template <typename F>
void for_each_band(const Conv2dShape& s, F&& f) {
  const int64_t depth = s.c / s.groups * s.kh * s.kw;
  const int64_t band = std::clamp<int64_t>((int64_t(1) << 20) / std::max<int64_t>(1, depth * s.ow), 1, s.oh);
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t g = 0; g < s.groups; ++g)
      for (int64_t oy = 0; oy < s.oh; oy += band) f(n, g, oy, std::min(band, s.oh - oy), depth * band * s.ow);
}

}  // namespace

void conv2d_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, float* y) {
  if (no_output(s)) return;
  if (no_sum(s)) return fill_bias(s, bias, y);
  if (is_depthwise(s))
    depthwise_forward(s, x, w, bias, y);
  else
    conv_panels_forward(s, x, w, bias, y);
}

void conv2d_backward_input(const Conv2dShape& s, const float* gy, const float* w, float* gx) {
  if (s.n <= 0 || no_sum(s)) {
    std::fill_n(gx, std::max<int64_t>(0, s.n * s.c * s.h * s.w), 0.0f);
    return;
  }
  if (no_output(s))
    std::fill_n(gx, s.n * s.c * s.h * s.w, 0.0f);
  else if (is_depthwise(s))
    depthwise_backward_input(s, gy, w, gx);
  else
    conv_panels_backward_input(s, gy, w, gx);
}

void conv2d_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias) {
  if (no_output(s) || no_sum(s)) {
    std::fill_n(gw, s.o * (s.c / s.groups) * s.kh * s.kw, 0.0f);
    if (gbias) sum_bias(s, gy, gbias);
    return;
  }
  if (is_depthwise(s))
    depthwise_backward_weight(s, x, gy, gw, gbias);
  else
    conv_tiles_backward_weight(s, x, gy, gw, gbias);
}

void conv2d_forward(const Conv2dShape& s, const double* x, const double* w, const double* bias, double* y) {
  if (no_output(s)) return;
  fill_bias(s, bias, y);
  if (no_sum(s)) return;
  const int64_t cg = s.c / s.groups, og = s.o / s.groups, depth = cg * s.kh * s.kw, plane = s.oh * s.ow;
  for_each_band(s, [&](int64_t n, int64_t g, int64_t oy, int64_t rows, int64_t floats) {
    Scratch col(size_t(floats) * sizeof(double));
    unfold(s, cg, x + (n * s.c + g * cg) * s.h * s.w, oy, rows, col.as<double>());
    gemm(false, false, og, rows * s.ow, depth, 1.0, w + g * og * depth, depth, col.as<double>(), rows * s.ow, 1.0,
         y + (n * s.o + g * og) * plane + oy * s.ow, plane);
  });
}

void conv2d_backward_input(const Conv2dShape& s, const double* gy, const double* w, double* gx) {
  std::fill_n(gx, std::max<int64_t>(0, s.n * s.c * s.h * s.w), 0.0);
  if (no_output(s) || no_sum(s)) return;
  const int64_t cg = s.c / s.groups, og = s.o / s.groups, depth = cg * s.kh * s.kw, plane = s.oh * s.ow;
  for_each_band(s, [&](int64_t n, int64_t g, int64_t oy, int64_t rows, int64_t floats) {
    Scratch col(size_t(floats) * sizeof(double));
    gemm(true, false, depth, rows * s.ow, og, 1.0, w + g * og * depth, depth,
         gy + (n * s.o + g * og) * plane + oy * s.ow, plane, 0.0, col.as<double>(), rows * s.ow);
    fold(s, cg, col.as<double>(), oy, rows, gx + (n * s.c + g * cg) * s.h * s.w);
  });
}

void conv2d_backward_weight(const Conv2dShape& s, const double* x, const double* gy, double* gw, double* gbias) {
  const int64_t cg = s.c / s.groups, og = s.o / s.groups, depth = cg * s.kh * s.kw, plane = s.oh * s.ow;
  std::fill_n(gw, s.o * depth, 0.0);
  if (gbias) sum_bias(s, gy, gbias);
  if (no_output(s) || no_sum(s)) return;
  for_each_band(s, [&](int64_t n, int64_t g, int64_t oy, int64_t rows, int64_t floats) {
    Scratch col(size_t(floats) * sizeof(double));
    unfold(s, cg, x + (n * s.c + g * cg) * s.h * s.w, oy, rows, col.as<double>());
    gemm(false, true, og, depth, rows * s.ow, 1.0, gy + (n * s.o + g * og) * plane + oy * s.ow, plane, col.as<double>(),
         rows * s.ow, 1.0, gw + g * og * depth, depth);
  });
}

}  // namespace trt::cpu
