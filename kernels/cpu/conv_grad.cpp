// Weight gradient of the float convolution.
//
// gw[o][k] is a sum over output pixels of gy[o][pixel] * x[pixel moved by tap k]. The vectors run along output channels: a band of
// output rows of gy is transposed to [pixel][channels of a block], the rows of x that it touches are copied with their zero
// padding, and register tiles of several taps by one block of channels sum over the pixels of the band. Bands are dealt to a
// number of parts that depends on the sizes only; each part has its own sums, which are added in order at the end.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/conv_float.h"
#include "kernels/cpu/conv_kernels.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// Copies rows [y0, y0 + rows) and columns [x0, x0 + cols) of an h x w plane; zeros outside of it.
void copy_padded(const float* plane, int64_t h, int64_t w, int64_t y0, int64_t x0, int64_t rows, int64_t cols, float* to) {
  const int64_t from = std::clamp<int64_t>(-x0, 0, cols), until = std::clamp<int64_t>(w - x0, from, cols);
  for (int64_t r = 0; r < rows; ++r, to += cols) {
    const int64_t y = y0 + r;
    if (y < 0 || y >= h) {
      std::fill_n(to, cols, 0.0f);
      continue;
    }
    std::fill_n(to, from, 0.0f);
    std::copy_n(plane + y * w + x0 + from, until - from, to + from);
    std::fill_n(to + until, cols - until, 0.0f);
  }
}

constexpr int64_t kBandFloats = 16384;  // transposed gy of a band: 64 KiB

}  // namespace

void conv_tiles_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias) {
  const ConvKernels& kernels = conv_kernels();
  const int64_t width = kGradVectors * kernels.lanes;
  const int64_t cg = s.c / s.groups, og = s.o / s.groups, taps = s.kh * s.kw, depth = cg * taps;
  const int64_t blocks = (og + width - 1) / width, all_blocks = s.groups * blocks;
  const int64_t out_plane = s.oh * s.ow;

  const int64_t band_rows = std::clamp<int64_t>(kBandFloats / (s.ow * width), 1, s.oh);
  const int64_t bands = (s.oh + band_rows - 1) / band_rows, units = s.n * bands;
  const int64_t parts = std::min(units, std::max<int64_t>(1, 16 / all_blocks));
  const int64_t part_floats = (depth + 1) * width;  // the extra column is the bias

  // The padded copy of x for a band.
  const int64_t x_cols = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dil_w + 1;
  const int64_t x_rows = (band_rows - 1) * s.stride_h + (s.kh - 1) * s.dil_h + 1;
  const int64_t x_plane = x_rows * x_cols;
  // Three taps side by side make one row of a tile; other kernels take each tap as a row.
  const int64_t run = s.kw == 3 && s.dil_w == 1 ? 3 : 1;
  const int64_t row_count = depth / run;

  Scratch sums(size_t(all_blocks * parts * part_floats) * sizeof(float));
  parallel_for(0, all_blocks * parts, 1, [&](int64_t begin, int64_t end) {
    Scratch g_buffer(size_t(band_rows * s.ow * width) * sizeof(float));
    Scratch x_buffer(size_t(cg * x_plane) * sizeof(float));
    float* g = g_buffer.as<float>();
    float* xp = x_buffer.as<float>();
    std::vector<const float*> rows;
    rows.reserve(size_t(row_count));
    for (int64_t c = 0; c < cg; ++c)
      for (int64_t i = 0; i < s.kh; ++i)
        for (int64_t j = 0; j < s.kw; j += run) rows.push_back(xp + c * x_plane + i * s.dil_h * x_cols + j * s.dil_w);
    for (int64_t item = begin; item < end; ++item) {
      // Parts of one block are neighbours: sums[block][part][column][channel].
      const int64_t block = item / parts % blocks, group = item / (parts * blocks), part = item % parts;
      float* out = sums.as<float>() + item * part_floats;
      std::fill_n(out, part_floats, 0.0f);
      const int64_t channels = std::min(width, og - block * width);
      for (int64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const int64_t image = unit / bands, oy = unit % bands * band_rows, height = std::min(band_rows, s.oh - oy);
        const float* g_from = gy + (image * s.o + group * og + block * width) * out_plane + oy * s.ow;
        kernels.transpose(g_from, out_plane, channels, height * s.ow, g);
        if (gbias) kernels.sum_pixels(g, height * s.ow, out + depth * width);
        const float* x_from = x + (image * s.c + group * cg) * s.h * s.w;
        const int64_t used_rows = (height - 1) * s.stride_h + (s.kh - 1) * s.dil_h + 1;
        for (int64_t c = 0; c < cg; ++c)
          copy_padded(x_from + c * s.h * s.w, s.h, s.w, oy * s.stride_h - s.pad_h, -s.pad_w, used_rows, x_cols,
                      xp + c * x_plane);
        for (int64_t r = 0; r < row_count;)
          r += kernels.grad(int(run), row_count - r, rows.data() + r, s.stride_h * x_cols, s.stride_w, g, height, s.ow,
                            out + r * run * width);
      }
    }
  });

  // Sum of the parts, sixteen columns at a time, turned to [channel][column].
  constexpr int64_t kColumns = 16;
  const int64_t column_blocks = (depth + 1 + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, 65536 / (parts * kColumns * width));
  parallel_for(0, all_blocks * column_blocks, grain, [&](int64_t begin, int64_t end) {
    Scratch buffer(size_t(kColumns * width) * sizeof(float));
    float* total = buffer.as<float>();
    for (int64_t item = begin; item < end; ++item) {
      const int64_t block = item / column_blocks, first = item % column_blocks * kColumns;
      const int64_t columns = std::min(kColumns, depth + 1 - first);
      kernels.sum_parts(sums.as<float>() + block * parts * part_floats + first * width, part_floats, parts, columns * width,
                        total);
      const int64_t channel0 = block / blocks * og + block % blocks * width;
      const int64_t channels = std::min(width, og - block % blocks * width);
      const int64_t weights = std::min(columns, depth - first);
      for (int64_t o = 0; o < channels; ++o)
        for (int64_t i = 0; i < weights; ++i) gw[(channel0 + o) * depth + first + i] = total[i * width + o];
      if (gbias && weights < columns) std::copy_n(total + weights * width, channels, gbias + channel0);
    }
  });
}

}  // namespace trt::cpu
