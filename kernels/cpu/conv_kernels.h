// Inner loops of the float convolutions, compiled per instruction set; the drivers are conv_float.cpp and
// conv_depthwise.cpp. Internal to kernels/cpu.
//
// Note [Convolution as a matrix product of panels]
// One pass computes dst[channel][pixel] = sum over k of weight[channel][k] * unfolded[k][pixel], where k runs over
// (source channel, kernel tap). Pixels are cut into panels of up to kPanelVectors vectors, possibly from several
// images. A panel of the unfolded source consists of vector loads whose lanes outside the image are masked to zero. It
// is packed as [k][pixel], or read anew for each tile where masked loads are cheap, and multiplied with packed weights
// [block][k][tile_rows] in register tiles of tile_rows x kPanelVectors vectors. The vectors run along pixels, so that
// source and destination stay in NCHW. Which lane reads which address is described by lists of LaneRuns, the same for
// each channel; so stride, dilation, padding, the flipped kernel of the input gradient and its phases under a stride
// are differences in these lists only.
#pragma once

#include <cstdint>

namespace trt::cpu {

constexpr int kPanelVectors = 3;
constexpr int kGradVectors = 2;

// The lanes l in `mask` of a vector belong to the addresses base + offset + l.
struct LaneRun {
  int64_t offset;
  uint32_t mask;
};

// Where a tile goes: row r at dst + r * row_stride, the lanes of vector v by the next counts[v] runs.
struct TileOutput {
  float* dst;
  int64_t row_stride;
  int rows;           // rows beyond it are padding and dropped
  const float* bias;  // one value per row added, or null
  bool accumulate;    // add to what is there
  bool whole;         // each vector is one run with all lanes
  const LaneRun* runs;
  const uint16_t* counts;
};

struct ConvKernels {
  int lanes;      // floats in a vector
  int tile_rows;  // output channels of a register tile

  // panel[tap][c][vector][lane], 64-byte aligned. counts gives the number of runs of each vector; null means one each
  // (step 1 only). With step 2 a lane of a run is at offset + 2 * lane and its mask bit at 2 * lane.
  void (*pack_panel)(const float* src, int64_t channel_stride, int64_t channels, int64_t taps, int vectors, int step,
                     const LaneRun* runs, const uint16_t* counts, float* panel);

  // The product of a [k][tile_rows] and b [k][vectors * lanes].
  void (*tile)(int vectors, int64_t k, const float* a, const float* b, const TileOutput& out);

  // The same without a panel; a is [tap][channel][tile_rows]. The bits of two_runs are set for vectors that may take
  // two runs of step 1 under some tap. When it is 0, runs has one entry for each vector, else two. Null where masked
  // loads are slow.
  void (*tile_direct)(int vectors, int two_runs, const float* src, int64_t channel_stride, int64_t channels,
                      int64_t taps, const LaneRun* runs, const float* a, const TileOutput& out);

  // dst[col][kGradVectors * lanes] = src[row * row_stride + col]; rows beyond `rows` become zero.
  void (*transpose)(const float* src, int64_t row_stride, int64_t rows, int64_t cols, float* dst);

  // Copies rows x cols floats. Each row may be followed by up to lanes - 1 zeros, so rows are written in ascending
  // order and the array has that much room behind its end.
  void (*copy_rows)(const float* src, int64_t src_stride, int64_t rows, int64_t cols, float* dst, int64_t dst_stride);

  // sums[channel] += the sum of g[pixel][channel] over pixels.
  void (*sum_pixels)(const float* g, int64_t pixels, float* sums);

  // Weight gradient over `images` blocks of oh x ow pixels: out[r * taps + t][channel] += sum of g[pixel][channel] * x,
  // where x is rows[r][image * x_image + oy * x_row + ox * x_step + t]. taps is 1, 3 or 5. Handles as many of `count`
  // rows as fit a register tile and returns that number.
  int64_t (*grad)(int taps, int64_t count, const float* const* rows, int64_t x_image, int64_t x_row, int64_t x_step,
                  const float* g, int64_t images, int64_t oh, int64_t ow, float* out);

  // out[column][channel..] = the sum over `parts` of parts[p][column][channel] in order; `count` floats, a multiple of
  // lanes.
  void (*sum_parts)(const float* parts, int64_t part_stride, int64_t parts_count, int64_t count, float* out);

  // Depthwise: y[oy][ox] = bias + sum over t of w[t] * x[offsets[t] + oy * x_row + ox].
  void (*depthwise)(const float* x, int64_t x_row, int64_t taps, const int64_t* offsets, const float* w, float bias,
                    int64_t oh, int64_t ow, float* y);
  // gw[t] += sum of gy[oy][ox] * x[offsets[t] + oy * x_row + ox].
  void (*depthwise_grad)(const float* x, int64_t x_row, int64_t taps, const int64_t* offsets, const float* gy,
                         int64_t oh, int64_t ow, float* gw);
  float (*sum)(const float* p, int64_t count);
};

// The set for this processor; chosen once.
const ConvKernels& conv_kernels();

}  // namespace trt::cpu
