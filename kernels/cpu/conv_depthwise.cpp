// Convolution with one input channel per group, in float: a direct loop over each plane.
//
// A plane is copied with its zero padding and, for strides, split into phases (every stride-th row and column), so that
// each tap reads consecutive pixels. The input gradient under stride 1 is the same loop over gy with the kernel turned
// around.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/conv_float.h"
#include "kernels/cpu/conv_kernels.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// The padded, phase-split copy of a plane and where each tap starts in it.
class PaddedPlane {
 public:
  PaddedPlane(int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t stride_h, int64_t stride_w, int64_t pad_h,
              int64_t pad_w, int64_t dil_h, int64_t dil_w, int64_t oh, int64_t ow, int lanes)
      : h_(h), w_(w), stride_h_(stride_h), stride_w_(stride_w), pad_h_(pad_h), pad_w_(pad_w) {
    phases_h_ = std::min(stride_h, (kh - 1) * dil_h + 1), phases_w_ = std::min(stride_w, (kw - 1) * dil_w + 1);
    rows_ = oh + (kh - 1) * dil_h / stride_h;
    cols_ = ow + (kw - 1) * dil_w / stride_w;
    lanes_ = lanes;
    for (int64_t i = 0; i < kh; ++i) {
      for (int64_t j = 0; j < kw; ++j) {
        const int64_t y = i * dil_h, x = j * dil_w;
        const int64_t phase = y % stride_h * phases_w_ + x % stride_w;
        offsets.push_back(phase * rows_ * cols_ + y / stride_h * cols_ + x / stride_w);
      }
    }
  }

  // Vector loads and copies may run over the last row by less than a vector.
  size_t bytes() const { return size_t(phases_h_ * phases_w_ * rows_ * cols_ + lanes_) * sizeof(float); }
  int64_t cols() const { return cols_; }

  // Zeros; fill() writes only the places that lie inside the plane.
  void clear(float* to) const { std::fill_n(to, phases_h_ * phases_w_ * rows_ * cols_ + lanes_, 0.0f); }

  void fill(const ConvKernels& kernels, const float* plane, float* to) const {
    for (int64_t py = 0; py < phases_h_; ++py) {
      const Span r = inside(h_, py - pad_h_, stride_h_, rows_);
      for (int64_t px = 0; px < phases_w_; ++px, to += rows_ * cols_) {
        const Span c = inside(w_, px - pad_w_, stride_w_, cols_);
        if (r.begin == r.end || c.begin == c.end) continue;
        const float* from = plane + (r.begin * stride_h_ + py - pad_h_) * w_ + c.begin * stride_w_ + px - pad_w_;
        float* out = to + r.begin * cols_ + c.begin;
        if (stride_w_ == 1) {
          kernels.copy_rows(from, stride_h_ * w_, r.end - r.begin, c.end - c.begin, out, cols_);
          continue;
        }
        for (int64_t i = r.begin; i < r.end; ++i, from += stride_h_ * w_, out += cols_)
          for (int64_t j = 0; j < c.end - c.begin; ++j) out[j] = from[j * stride_w_];
      }
    }
  }

  std::vector<int64_t> offsets;

 private:
  struct Span {
    int64_t begin, end;
  };
  // The i in [0, count) with 0 <= first + i * stride < size.
  static Span inside(int64_t size, int64_t first, int64_t stride, int64_t count) {
    const int64_t begin = std::clamp<int64_t>(first < 0 ? (stride - 1 - first) / stride : 0, 0, count);
    const int64_t end = std::clamp<int64_t>(size > first ? (size - first + stride - 1) / stride : 0, begin, count);
    return {begin, end};
  }

  int64_t h_, w_, stride_h_, stride_w_, pad_h_, pad_w_, phases_h_, phases_w_, rows_, cols_;
  int lanes_;
};

PaddedPlane input_plane(const Conv2dShape& s, int lanes) {
  return PaddedPlane(s.h, s.w, s.kh, s.kw, s.stride_h, s.stride_w, s.pad_h, s.pad_w, s.dil_h, s.dil_w, s.oh, s.ow,
                     lanes);
}

// Planes that make a task worth handing over.
int64_t plane_grain(int64_t work) { return std::max<int64_t>(1, (int64_t(1) << 17) / std::max<int64_t>(work, 1)); }

}  // namespace

void depthwise_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, float* y) {
  const ConvKernels& kernels = conv_kernels();
  const PaddedPlane padded = input_plane(s, kernels.lanes);
  const int64_t multiplier = s.o / s.c, taps = s.kh * s.kw, out_plane = s.oh * s.ow;
  parallel_for(0, s.n * s.c, plane_grain(out_plane * taps * multiplier), [&](int64_t begin, int64_t end) {
    Scratch buffer(padded.bytes());
    float* xp = buffer.as<float>();
    padded.clear(xp);
    for (int64_t plane = begin; plane < end; ++plane) {
      padded.fill(kernels, x + plane * s.h * s.w, xp);
      for (int64_t m = 0; m < multiplier; ++m) {
        const int64_t o = plane % s.c * multiplier + m;
        kernels.depthwise(xp, padded.cols(), taps, padded.offsets.data(), w + o * taps, bias ? bias[o] : 0.0f, s.oh,
                          s.ow, y + (plane * multiplier + m) * out_plane);
      }
    }
  });
}

void depthwise_backward_input(const Conv2dShape& s, const float* gy, const float* w, float* gx) {
  const ConvKernels& kernels = conv_kernels();
  const int64_t multiplier = s.o / s.c, taps = s.kh * s.kw, out_plane = s.oh * s.ow, in_plane = s.h * s.w;
  const int64_t grain = plane_grain(in_plane * taps * multiplier);
  if (s.stride_h == 1 && s.stride_w == 1 && multiplier == 1) {
    const PaddedPlane padded(s.oh, s.ow, s.kh, s.kw, 1, 1, (s.kh - 1) * s.dil_h - s.pad_h,
                             (s.kw - 1) * s.dil_w - s.pad_w, s.dil_h, s.dil_w, s.h, s.w, kernels.lanes);
    parallel_for(0, s.n * s.c, grain, [&](int64_t begin, int64_t end) {
      Scratch buffer(padded.bytes());
      padded.clear(buffer.as<float>());
      std::vector<float> turned(static_cast<size_t>(taps));
      for (int64_t plane = begin; plane < end; ++plane) {
        padded.fill(kernels, gy + plane * out_plane, buffer.as<float>());
        const float* wc = w + plane % s.c * taps;
        std::reverse_copy(wc, wc + taps, turned.begin());
        kernels.depthwise(buffer.as<float>(), padded.cols(), taps, padded.offsets.data(), turned.data(), 0.0f, s.h, s.w,
                          gx + plane * in_plane);
      }
    });
    return;
  }
  parallel_for(0, s.n * s.c, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      float* out = gx + plane * in_plane;
      std::fill_n(out, in_plane, 0.0f);
      for (int64_t m = 0; m < multiplier; ++m) {
        const float* g = gy + (plane * multiplier + m) * out_plane;
        const float* wc = w + (plane % s.c * multiplier + m) * taps;
        for (int64_t i = 0; i < s.kh; ++i) {
          for (int64_t j = 0; j < s.kw; ++j) {
            // Output columns whose input column is inside.
            const int64_t x0 = j * s.dil_w - s.pad_w;
            const int64_t from = x0 < 0 ? std::min(s.ow, (-x0 + s.stride_w - 1) / s.stride_w) : 0;
            const int64_t until = s.w > x0 ? std::min(s.ow, (s.w - x0 + s.stride_w - 1) / s.stride_w) : 0;
            const float weight = wc[i * s.kw + j];
            for (int64_t oy = 0; oy < s.oh; ++oy) {
              const int64_t y = oy * s.stride_h + i * s.dil_h - s.pad_h;
              if (y < 0 || y >= s.h) continue;
              for (int64_t ox = from; ox < until; ++ox)
                out[y * s.w + x0 + ox * s.stride_w] += weight * g[oy * s.ow + ox];
            }
          }
        }
      }
    }
  });
}

void depthwise_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias) {
  const ConvKernels& kernels = conv_kernels();
  const PaddedPlane padded = input_plane(s, kernels.lanes);
  const int64_t multiplier = s.o / s.c, taps = s.kh * s.kw, out_plane = s.oh * s.ow;
  parallel_for(0, s.c, plane_grain(s.n * out_plane * taps * multiplier), [&](int64_t begin, int64_t end) {
    Scratch buffer(padded.bytes());
    float* xp = buffer.as<float>();
    padded.clear(xp);
    for (int64_t c = begin; c < end; ++c) {
      std::fill_n(gw + c * multiplier * taps, multiplier * taps, 0.0f);
      if (gbias) std::fill_n(gbias + c * multiplier, multiplier, 0.0f);
      for (int64_t image = 0; image < s.n; ++image) {
        padded.fill(kernels, x + (image * s.c + c) * s.h * s.w, xp);
        for (int64_t o = c * multiplier; o < (c + 1) * multiplier; ++o) {
          const float* g = gy + (image * s.o + o) * out_plane;
          kernels.depthwise_grad(xp, padded.cols(), taps, padded.offsets.data(), g, s.oh, s.ow, gw + o * taps);
          if (gbias) gbias[o] += kernels.sum(g, out_plane);
        }
      }
    }
  });
}

}  // namespace trt::cpu
