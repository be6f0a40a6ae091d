// Weight gradient of the float convolution.
//
// gw[o][k] is a sum over output pixels of gy[o][pixel] * x[pixel moved by tap k]. The vectors run along output
// channels: a band of output rows of gy is transposed to [pixel][channels of a block], the rows of x that it touches
// are copied with their zero padding, and register tiles of several taps by one block of channels sum over the pixels
// of the band. Bands are dealt to a number of parts that depends on the sizes only; each part has its own sums, which
// are added in order at the end.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/conv_float.h"
#include "kernels/cpu/conv_kernels.h"
#include "kernels/cpu/conv_prefetch.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// Copies rows [y0, y0 + rows) and columns [x0, x0 + cols) of an h x w plane to an array whose places outside the plane
// are zero already, unless `bands` is set: then another band may have filled what are whole rows of padding now.
void copy_padded(const ConvKernels& kernels, const float* plane, int64_t h, int64_t w, int64_t y0, int64_t x0,
                 int64_t rows, int64_t cols, bool bands, float* to) {
  const int64_t left = std::clamp<int64_t>(-x0, 0, cols), right = std::clamp<int64_t>(w - x0, left, cols);
  const int64_t top = std::clamp<int64_t>(-y0, 0, rows), bottom = std::clamp<int64_t>(h - y0, top, rows);
  if (bands) {
    std::fill_n(to, top * cols, 0.0f);
    std::fill_n(to + bottom * cols, (rows - bottom) * cols, 0.0f);
  }
  if (left < right && top < bottom)
    kernels.copy_rows(plane + (y0 + top) * w + x0 + left, w, bottom - top, right - left, to + top * cols + left, cols);
}

constexpr int64_t kBandFloats = 16384;  // transposed gy of a band: 64 KiB
constexpr int64_t kJoinPixels =
    256;  // small images are joined to about as many pixels, so that a tile's sums stay in registers

}  // namespace

void conv_tiles_backward_weight(const Conv2dShape& s, const float* x, const float* gy, float* gw, float* gbias) {
  const ConvKernels& kernels = conv_kernels();
  const int64_t width = kGradVectors * kernels.lanes;
  const int64_t cg = s.c / s.groups, og = s.o / s.groups, taps = s.kh * s.kw, depth = cg * taps;
  const int64_t blocks = (og + width - 1) / width, all_blocks = s.groups * blocks;
  const int64_t out_plane = s.oh * s.ow;

  const int64_t band_rows = std::clamp<int64_t>(kBandFloats / (s.ow * width), 1, s.oh);
  const int64_t bands = (s.oh + band_rows - 1) / band_rows;
  const int64_t joined = bands > 1 ? 1 : std::clamp<int64_t>(kJoinPixels / out_plane, 1, std::max<int64_t>(1, s.n / 8));
  const int64_t units = (s.n + joined - 1) / joined * bands;  // a band of one image, or some whole images
  const int64_t parts = std::min(units, std::max<int64_t>(1, 16 / all_blocks));
  const int64_t part_floats = (depth + 1) * width;  // the extra column is the bias

  // The padded copy of x for a band; without padding x is read in place.
  const bool in_place = s.pad_h == 0 && s.pad_w == 0;
  const int64_t x_cols = in_place ? s.w : (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dil_w + 1;
  const int64_t x_rows = (band_rows - 1) * s.stride_h + (s.kh - 1) * s.dil_h + 1;
  const int64_t x_plane = in_place ? s.h * s.w : x_rows * x_cols;
  const int64_t x_image = in_place ? s.c * s.h * s.w : cg * x_plane;
  // Three or five taps side by side make one row of a tile; other kernels take each tap as a row.
  const int64_t run = (s.kw == 3 || s.kw == 5) && s.dil_w == 1 ? s.kw : 1;
  const int64_t row_count = depth / run;

  Scratch sums(size_t(all_blocks * parts * part_floats) * sizeof(float));
  parallel_for(0, all_blocks * parts, 1, [&](int64_t begin, int64_t end) {
    Scratch g_buffer(size_t(joined * band_rows * s.ow * width) * sizeof(float));
    const int64_t x_floats = in_place ? 0 : joined * x_image + kernels.lanes;
    Scratch x_buffer(size_t(x_floats) * sizeof(float));
    std::fill_n(x_buffer.as<float>(), x_floats, 0.0f);
    float* g = g_buffer.as<float>();
    float* xp = x_buffer.as<float>();
    std::vector<const float*> rows(static_cast<size_t>(row_count));
    auto point_rows = [&](const float* first) {
      const float** row = rows.data();
      for (int64_t c = 0; c < cg; ++c)
        for (int64_t i = 0; i < s.kh; ++i)
          for (int64_t j = 0; j < s.kw; j += run) *row++ = first + c * x_plane + i * s.dil_h * x_cols + j * s.dil_w;
    };
    if (!in_place) point_rows(xp);
    Prefetcher g_next, x_next;
    for (int64_t item = begin; item < end; ++item) {
      // Parts of one block are neighbours: sums[block][part][column][channel].
      const int64_t block = item / parts % blocks, group = item / (parts * blocks), part = item % parts;
      float* out = sums.as<float>() + item * part_floats;
      std::fill_n(out, part_floats, 0.0f);
      const int64_t channels = std::min(width, og - block * width);
      for (int64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const int64_t first = unit / bands * joined, images = std::min(joined, s.n - first);
        const int64_t oy = unit % bands * band_rows, height = std::min(band_rows, s.oh - oy), pixels = height * s.ow;
        const int64_t used_rows = (height - 1) * s.stride_h + (s.kh - 1) * s.dil_h + 1;
        for (int64_t i = 0; i < images; ++i) {
          const float* g_from = gy + ((first + i) * s.o + group * og + block * width) * out_plane + oy * s.ow;
          kernels.transpose(g_from, out_plane, channels, pixels, g + i * pixels * width);
          if (in_place) continue;
          const float* x_from = x + ((first + i) * s.c + group * cg) * s.h * s.w;
          for (int64_t c = 0; c < cg; ++c)
            copy_padded(kernels, x_from + c * s.h * s.w, s.h, s.w, oy * s.stride_h - s.pad_h, -s.pad_w, used_rows,
                        x_cols, bands > 1, xp + i * x_image + c * x_plane);
        }
        if (in_place) point_rows(x + (first * s.c + group * cg) * s.h * s.w + oy * s.stride_h * s.w);
        if (gbias) kernels.sum_pixels(g, images * pixels, out + depth * width);
        int64_t g_lines = 0, x_lines = 0;
        if (unit + 1 < units * (part + 1) / parts) {
          const int64_t next = (unit + 1) / bands * joined, count = std::min<int64_t>(Prefetcher::kRanges, s.n - next);
          const int64_t oy2 = (unit + 1) % bands * band_rows, end2 = std::min(s.oh, oy2 + band_rows);
          const int64_t y0 = std::clamp<int64_t>(oy2 * s.stride_h - s.pad_h, 0, s.h),
                        y1 = std::min(s.h, y0 + used_rows);
          g_next.start(gy + (next * s.o + group * og + block * width) * out_plane, out_plane, channels);
          x_next.start(x + (next * s.c + group * cg) * s.h * s.w, s.h * s.w, cg);
          for (int64_t i = 0; i < std::min(count, joined); ++i) {
            g_next.add(i * s.o * out_plane + oy2 * s.ow, i * s.o * out_plane + end2 * s.ow);
            x_next.add((i * s.c * s.h + y0) * s.w, (i * s.c * s.h + y1) * s.w);
          }
          g_lines = g_next.lines() * 4 / row_count + 1, x_lines = x_next.lines() * 4 / row_count + 1;
        }
        for (int64_t r = 0; r < row_count;) {
          g_next.run(g_lines), x_next.run(x_lines);
          r += kernels.grad(int(run), row_count - r, rows.data() + r, x_image, s.stride_h * x_cols, s.stride_w, g,
                            images, height, s.ow, out + r * run * width);
        }
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
      kernels.sum_parts(sums.as<float>() + block * parts * part_floats + first * width, part_floats, parts,
                        columns * width, total);
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
