#include "kernels/cpu/conv_kernels.h"

#include "kernels/cpu/hwy_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
using D = hn::ScalableTag<float>;
constexpr int kRows = 8, kGradTaps = 12;  // 24 accumulators of 32 registers
#else
using D = hn::CappedTag<float, 8>;
constexpr int kRows = 4, kGradTaps = 6;  // 12 accumulators of 16 registers
#endif
using V = hn::Vec<D>;
constexpr D d;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
constexpr int kGradWidth = kGradVectors * kLanes;
constexpr uint32_t kAllLanes = (1u << kLanes) - 1;

// The portable target may have one lane only, and its MaskedLoad reads all lanes, also those outside the array.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
constexpr bool kPortable = true;

V masked_load(uint32_t bits, const float* p) {
  HWY_ALIGN float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = bits >> i & 1 ? p[i] : 0.0f;
  return hn::Load(d, lanes);
}

void masked_store(V v, uint32_t bits, float* p) {
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, d, lanes);
  for (int i = 0; i < kLanes; ++i) {
    if (bits >> i & 1) p[i] = lanes[i];
  }
}
#else
constexpr bool kPortable = false;

HWY_INLINE hn::Mask<D> mask_of(uint32_t bits) {
  // LoadMaskBits reads a fixed number of bytes whatever the lanes.
  alignas(8) uint8_t bytes[8] = {uint8_t(bits), uint8_t(bits >> 8)};
  return hn::LoadMaskBits(d, bytes);
}
HWY_INLINE V masked_load(uint32_t bits, const float* p) { return hn::MaskedLoad(mask_of(bits), d, p); }
HWY_INLINE void masked_store(V v, uint32_t bits, float* p) { hn::BlendedStore(v, mask_of(bits), d, p); }
#endif

// One run per vector: the masks of a tap stay in registers while the channels pass by.
template <int NV>
void pack_simple(const float* src, int64_t channel_stride, int64_t channels, int64_t taps, const LaneRun* runs,
                 float* panel) {
  for (int64_t t = 0; t < taps; ++t, runs += NV) {
    const float* from[NV];
    uint32_t mask[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) from[v] = src + runs[v].offset, mask[v] = runs[v].mask;
    for (int64_t c = 0; c < channels; ++c, panel += NV * kLanes) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) hn::Store(masked_load(mask[v], from[v] + c * channel_stride), d, panel + v * kLanes);
    }
  }
}

// The lanes of a run: src + offset + lane, or with step 2 src + offset + 2 * lane and the mask bit of a lane at 2 *
// lane.
template <int Step>
HWY_INLINE V load_run(const LaneRun& run, const float* src) {
  const float* p = src + run.offset;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = run.mask >> (i * Step) & 1 ? p[i * Step] : 0.0f;
  return hn::Load(d, lanes);
#else
  if constexpr (Step == 1) return masked_load(run.mask, p);
  constexpr uint32_t kLow = (1u << kLanes) - 1;
  return hn::ConcatEven(d, masked_load(run.mask >> kLanes & kLow, p + kLanes), masked_load(run.mask & kLow, p));
#endif
}

template <int Step>
void pack_runs(const float* src, int64_t channel_stride, int64_t channels, int64_t taps, int64_t vectors,
               const LaneRun* runs, const uint16_t* counts, float* panel) {
  for (int64_t t = 0; t < taps; ++t, counts += vectors) {
    const LaneRun* run = runs;
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = src + c * channel_stride;
      run = runs;
      for (int64_t v = 0; v < vectors; ++v, panel += kLanes) {
        V value = load_run<Step>(*run++, from);
        for (int i = 1; i < counts[v]; ++i) value = hn::Or(value, load_run<Step>(*run++, from));
        hn::Store(value, d, panel);
      }
    }
    runs = run;
  }
}

void pack_panel(const float* src, int64_t channel_stride, int64_t channels, int64_t taps, int vectors, int step,
                const LaneRun* runs, const uint16_t* counts, float* panel) {
  if (step == 2) return pack_runs<2>(src, channel_stride, channels, taps, vectors, runs, counts, panel);
  if (counts) return pack_runs<1>(src, channel_stride, channels, taps, vectors, runs, counts, panel);
  if (vectors == 3) return pack_simple<3>(src, channel_stride, channels, taps, runs, panel);
  if (vectors == 2) return pack_simple<2>(src, channel_stride, channels, taps, runs, panel);
  pack_simple<1>(src, channel_stride, channels, taps, runs, panel);
}

template <int NV>
HWY_INLINE void store_tile(const V (&acc)[kRows][NV], const TileOutput& out) {
  if (out.whole && out.rows == kRows) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      float* dst = out.dst + r * out.row_stride;
      const V bias = hn::Set(d, out.bias ? out.bias[r] : 0.0f);
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        float* to = dst + out.runs[v].offset;
        V sum = hn::Add(acc[r][v], bias);
        if (out.accumulate) sum = hn::Add(sum, hn::LoadU(d, to));
        hn::StoreU(sum, d, to);
      }
    }
    return;
  }
  HWY_ALIGN float tile[kRows * NV * kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) hn::Store(acc[r][v], d, tile + (r * NV + v) * kLanes);
  }
  for (int r = 0; r < out.rows; ++r) {
    float* dst = out.dst + r * out.row_stride;
    const V bias = hn::Set(d, out.bias ? out.bias[r] : 0.0f);
    const LaneRun* run = out.runs;
    for (int v = 0; v < NV; ++v) {
      const V value = hn::Add(hn::Load(d, tile + (r * NV + v) * kLanes), bias);
      for (int i = 0; i < out.counts[v]; ++i, ++run) {
        float* to = dst + run->offset;
        if (run->mask == kAllLanes) {
          hn::StoreU(out.accumulate ? hn::Add(value, hn::LoadU(d, to)) : value, d, to);
          continue;
        }
        if ((run->mask & (run->mask - 1)) == 0) {
          // Single lanes, as under a stride of the input gradient.
          const int lane = __builtin_ctz(run->mask);
          const float one = tile[(r * NV + v) * kLanes + lane] + (out.bias ? out.bias[r] : 0.0f);
          to[lane] = out.accumulate ? to[lane] + one : one;
          continue;
        }
        const V sum = out.accumulate ? hn::Add(value, masked_load(run->mask, to)) : value;
        masked_store(sum, run->mask, to);
      }
    }
  }
}

template <int NV>
HWY_NOINLINE void tile_of(int64_t k, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const TileOutput& out) {
  V acc[kRows][NV];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < k; ++p, a += kRows, b += NV * kLanes) {
    V bv[NV];
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) bv[v] = hn::Load(d, b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V av = hn::Set(d, a[r]);
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
  }
  store_tile(acc, out);
}

void tile(int vectors, int64_t k, const float* a, const float* b, const TileOutput& out) {
  if (vectors == 3) return tile_of<3>(k, a, b, out);
  if (vectors == 2) return tile_of<2>(k, a, b, out);
  tile_of<1>(k, a, b, out);
}

#if HWY_TARGET == HWY_AVX3
// The tile straight from the source planes. With masks in mask registers an unfolded vector costs no more than one or
// two loads, which fit beside the multiplications; packing would cost a tenth of them.
// Two has a bit for each vector that takes two runs.
template <int NV, int Two>
HWY_NOINLINE void tile_direct_of(const float* src, int64_t channel_stride, int64_t channels, int64_t taps,
                                 const LaneRun* runs, const float* HWY_RESTRICT a, const TileOutput& out) {
  constexpr int R = Two ? 2 : 1;
  V acc[kRows][NV];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::Zero(d);
  }
  const int64_t end = channels * channel_stride;
  for (int64_t t = 0; t < taps; ++t, runs += NV * R) {
    const float* from[NV * R];
    hn::Mask<D> mask[NV * R];
#pragma GCC unroll 16
    for (int v = 0; v < NV * R; ++v) from[v] = src + runs[v].offset, mask[v] = mask_of(runs[v].mask);
    for (int64_t at = 0; at < end; at += channel_stride, a += kRows) {
      __builtin_prefetch(a + 24 * kRows);
      V bv[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        bv[v] = hn::MaskedLoad(mask[v * R], d, from[v * R] + at);
        if (Two >> v & 1) bv[v] = hn::Or(bv[v], hn::MaskedLoad(mask[v * R + 1], d, from[v * R + 1] + at));
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const V av = hn::Set(d, a[r]);
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
      }
    }
  }
  store_tile(acc, out);
}

void tile_direct(int vectors, int two_runs, const float* src, int64_t channel_stride, int64_t channels, int64_t taps,
                 const LaneRun* runs, const float* a, const TileOutput& out) {
  auto call = [&](auto f) { f(src, channel_stride, channels, taps, runs, a, out); };
  if (vectors == 3) {
    // One vector that crosses from an image to the next is the common case.
    switch (two_runs) {
      case 0:
        return call(tile_direct_of<3, 0>);
      case 1:
        return call(tile_direct_of<3, 1>);
      case 2:
        return call(tile_direct_of<3, 2>);
      case 4:
        return call(tile_direct_of<3, 4>);
      default:
        return call(tile_direct_of<3, 7>);
    }
  }
  if (vectors == 2) return call(two_runs ? tile_direct_of<2, 3> : tile_direct_of<2, 0>);
  call(two_runs ? tile_direct_of<1, 1> : tile_direct_of<1, 0>);
}
constexpr auto kTileDirect = &tile_direct;
#else
constexpr decltype(ConvKernels::tile_direct) kTileDirect = nullptr;
#endif

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
int64_t transpose_blocks(const float*, int64_t, int64_t, float*) { return 0; }
#else
// Four rows by blocks of four columns; returns the columns done.
HWY_INLINE int64_t transpose_blocks(const float* s, int64_t row_stride, int64_t cols, float* to) {
  const hn::Full128<float> d4;
  int64_t col = 0;
  for (; col + 4 <= cols; col += 4, s += 4, to += 4 * kGradWidth) {
    const auto r0 = hn::LoadU(d4, s), r1 = hn::LoadU(d4, s + row_stride);
    const auto r2 = hn::LoadU(d4, s + 2 * row_stride), r3 = hn::LoadU(d4, s + 3 * row_stride);
    const auto a = hn::InterleaveLower(d4, r0, r1), b = hn::InterleaveLower(d4, r2, r3);
    const auto e = hn::InterleaveUpper(d4, r0, r1), f = hn::InterleaveUpper(d4, r2, r3);
    hn::Store(hn::ConcatLowerLower(d4, b, a), d4, to);
    hn::Store(hn::ConcatUpperUpper(d4, b, a), d4, to + kGradWidth);
    hn::Store(hn::ConcatLowerLower(d4, f, e), d4, to + 2 * kGradWidth);
    hn::Store(hn::ConcatUpperUpper(d4, f, e), d4, to + 3 * kGradWidth);
  }
  return col;
}
#endif

#if HWY_TARGET == HWY_AVX3
// Sixteen rows by blocks of sixteen columns: 4 x 4 blocks inside 128-bit lanes first, then the lanes themselves.
int64_t transpose_sixteen(const float* s, int64_t row_stride, int64_t cols, float* to) {
  int64_t col = 0;
  for (; col + 16 <= cols; col += 16, s += 16, to += 16 * kGradWidth) {
    V q[4][4];  // q[g][j]: lane b holds column 4 b + j of rows 4 g .. 4 g + 3
#pragma GCC unroll 16
    for (int g = 0; g < 4; ++g) {
      const float* row = s + 4 * g * row_stride;
      const V r0 = hn::LoadU(d, row), r1 = hn::LoadU(d, row + row_stride);
      const V r2 = hn::LoadU(d, row + 2 * row_stride), r3 = hn::LoadU(d, row + 3 * row_stride);
      const hn::Repartition<double, D> dd;
      const auto a = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1)),
                 b = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
      const auto e = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1)),
                 f = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
      q[g][0] = hn::BitCast(d, hn::InterleaveLower(dd, a, b));
      q[g][1] = hn::BitCast(d, hn::InterleaveUpper(dd, a, b));
      q[g][2] = hn::BitCast(d, hn::InterleaveLower(dd, e, f));
      q[g][3] = hn::BitCast(d, hn::InterleaveUpper(dd, e, f));
    }
#pragma GCC unroll 16
    for (int j = 0; j < 4; ++j) {
      // Highway has no shuffle of whole lanes of two vectors.
      const __m512 lo01 = _mm512_shuffle_f32x4(q[0][j].raw, q[1][j].raw, 0x44);
      const __m512 hi01 = _mm512_shuffle_f32x4(q[0][j].raw, q[1][j].raw, 0xEE);
      const __m512 lo23 = _mm512_shuffle_f32x4(q[2][j].raw, q[3][j].raw, 0x44);
      const __m512 hi23 = _mm512_shuffle_f32x4(q[2][j].raw, q[3][j].raw, 0xEE);
      hn::Store(V{_mm512_shuffle_f32x4(lo01, lo23, 0x88)}, d, to + j * kGradWidth);
      hn::Store(V{_mm512_shuffle_f32x4(lo01, lo23, 0xDD)}, d, to + (4 + j) * kGradWidth);
      hn::Store(V{_mm512_shuffle_f32x4(hi01, hi23, 0x88)}, d, to + (8 + j) * kGradWidth);
      hn::Store(V{_mm512_shuffle_f32x4(hi01, hi23, 0xDD)}, d, to + (12 + j) * kGradWidth);
    }
  }
  return col;
}
#endif

void transpose(const float* src, int64_t row_stride, int64_t rows, int64_t cols, float* dst) {
  constexpr int64_t kStep = kGradWidth < 4 ? kGradWidth : 4;
#if HWY_TARGET == HWY_AVX3
  if (rows >= kGradWidth) {
    int64_t done = 0;
    for (int64_t r = 0; r < kGradWidth; r += 16)
      done = transpose_sixteen(src + r * row_stride, row_stride, cols, dst + r);
    src += done, cols -= done, dst += done * kGradWidth;
  }
#endif
  for (int64_t r = 0; r < kGradWidth; r += kStep) {
    int64_t col = r + 4 <= rows && !kPortable ? transpose_blocks(src + r * row_stride, row_stride, cols, dst + r) : 0;
    for (; col < cols; ++col) {
      for (int64_t i = r; i < r + kStep; ++i) dst[col * kGradWidth + i] = i < rows ? src[i * row_stride + col] : 0.0f;
    }
  }
}

void copy_rows(const float* src, int64_t src_stride, int64_t rows, int64_t cols, float* dst, int64_t dst_stride) {
  const uint32_t tail = (1u << (cols % kLanes)) - 1;
  const int64_t whole = cols - cols % kLanes;
  for (int64_t r = 0; r < rows; ++r, src += src_stride, dst += dst_stride) {
    for (int64_t c = 0; c < whole; c += kLanes) hn::StoreU(hn::LoadU(d, src + c), d, dst + c);
    if (tail) hn::StoreU(masked_load(tail, src + whole), d, dst + whole);
  }
}

void sum_pixels(const float* g, int64_t pixels, float* sums) {
  V a[2][kGradVectors];
  for (auto& row : a)
    for (auto& v : row) v = hn::Zero(d);
  int64_t p = 0;
  for (; p + 2 <= pixels; p += 2, g += 2 * kGradWidth) {
#pragma GCC unroll 16
    for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < kGradVectors; ++v) a[i][v] = hn::Add(a[i][v], hn::Load(d, g + i * kGradWidth + v * kLanes));
    }
  }
  for (int v = 0; v < kGradVectors; ++v) {
    if (p < pixels) a[0][v] = hn::Add(a[0][v], hn::Load(d, g + v * kLanes));
    float* to = sums + v * kLanes;
    hn::Store(hn::Add(hn::Load(d, to), hn::Add(a[0][v], a[1][v])), d, to);
  }
}

template <int R, int T>
HWY_NOINLINE int64_t grad_of(const float* const* rows, int64_t x_image, int64_t x_row, int64_t x_step,
                             const float* HWY_RESTRICT g, int64_t images, int64_t oh, int64_t ow,
                             float* HWY_RESTRICT out) {
  V acc[R * T][kGradVectors];
#pragma GCC unroll 16
  for (int i = 0; i < R * T; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kGradVectors; ++v) acc[i][v] = hn::Zero(d);
  }
  const float* HWY_RESTRICT x[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) x[r] = rows[r];
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t oy = 0; oy < oh; ++oy) {
      int64_t at = image * x_image + oy * x_row;
      for (int64_t ox = 0; ox < ow; ++ox, at += x_step, g += kGradWidth) {
        V gv[kGradVectors];
#pragma GCC unroll 16
        for (int v = 0; v < kGradVectors; ++v) gv[v] = hn::Load(d, g + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
          for (int t = 0; t < T; ++t) {
            const V xv = hn::Set(d, x[r][at + t]);
#pragma GCC unroll 16
            for (int v = 0; v < kGradVectors; ++v) acc[r * T + t][v] = hn::MulAdd(xv, gv[v], acc[r * T + t][v]);
          }
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R * T; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kGradVectors; ++v) {
      float* to = out + i * kGradWidth + v * kLanes;
      hn::Store(hn::Add(hn::Load(d, to), acc[i][v]), d, to);
    }
  }
  return R;
}

int64_t grad(int taps, int64_t count, const float* const* rows, int64_t x_image, int64_t x_row, int64_t x_step,
             const float* g, int64_t images, int64_t oh, int64_t ow, float* out) {
  auto call = [&](auto f) { return f(rows, x_image, x_row, x_step, g, images, oh, ow, out); };
  constexpr bool kWide = kGradTaps >= 12;
  if (taps == 5) {
    if constexpr (kWide) {
      if (count >= 2) return call(grad_of<2, 5>);
    }
    return call(grad_of<1, 5>);
  }
  if (taps == 3) {
    if constexpr (kWide) {
      // Five and six rows go as two tiles near full rate instead of a full one and a short one.
      if (count >= 7 || count == 4) return call(grad_of<4, 3>);
      if (count >= 3) return call(grad_of<3, 3>);
    }
    if (count >= 2) return call(grad_of<2, 3>);
    return call(grad_of<1, 3>);
  }
  if constexpr (kWide) {
    if (count >= 12) return call(grad_of<12, 1>);
    if (count >= 8) return call(grad_of<8, 1>);
  } else {
    if (count >= 6) return call(grad_of<6, 1>);
  }
  if (count >= 4) return call(grad_of<4, 1>);
  if (count >= 2) return call(grad_of<2, 1>);
  return call(grad_of<1, 1>);
}

void sum_parts(const float* parts, int64_t part_stride, int64_t parts_count, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i += kLanes) {
    V sum = hn::LoadU(d, parts + i);
    for (int64_t p = 1; p < parts_count; ++p) sum = hn::Add(sum, hn::LoadU(d, parts + p * part_stride + i));
    hn::StoreU(sum, d, out + i);
  }
}

template <int R>
void depthwise_rows(const float* x, int64_t x_row, int64_t taps, const int64_t* offsets, const float* w, float bias,
                    int64_t ow, float* y) {
  for (int64_t ox = 0; ox < ow; ox += kLanes) {
    V acc[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r] = hn::Set(d, bias);
    for (int64_t t = 0; t < taps; ++t) {
      const V wv = hn::Set(d, w[t]);
      const float* from = x + offsets[t] + ox;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r] = hn::MulAdd(wv, hn::LoadU(d, from + r * x_row), acc[r]);
    }
    const bool whole = ox + kLanes <= ow;
    const uint32_t mask = (1u << (ow % kLanes)) - 1;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (whole)
        hn::StoreU(acc[r], d, y + r * ow + ox);
      else
        masked_store(acc[r], mask, y + r * ow + ox);
    }
  }
}

void depthwise(const float* x, int64_t x_row, int64_t taps, const int64_t* offsets, const float* w, float bias,
               int64_t oh, int64_t ow, float* y) {
  int64_t oy = 0;
  for (; oy + 4 <= oh; oy += 4) depthwise_rows<4>(x + oy * x_row, x_row, taps, offsets, w, bias, ow, y + oy * ow);
  for (; oy < oh; ++oy) depthwise_rows<1>(x + oy * x_row, x_row, taps, offsets, w, bias, ow, y + oy * ow);
}

template <int T>
void depthwise_grad_taps(const float* x, int64_t x_row, const int64_t* offsets, const float* gy, int64_t oh, int64_t ow,
                         float* gw) {
  V acc[T];
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) acc[t] = hn::Zero(d);
  const uint32_t tail = (1u << (ow % kLanes)) - 1;
  for (int64_t oy = 0; oy < oh; ++oy, gy += ow, x += x_row) {
    int64_t ox = 0;
    for (; ox + kLanes <= ow; ox += kLanes) {
      const V g = hn::LoadU(d, gy + ox);
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) acc[t] = hn::MulAdd(g, hn::LoadU(d, x + offsets[t] + ox), acc[t]);
    }
    if (tail) {
      // Both factors are masked: what follows the row may be an infinity, which zero does not cancel.
      const V g = masked_load(tail, gy + ox);
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) acc[t] = hn::MulAdd(g, masked_load(tail, x + offsets[t] + ox), acc[t]);
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < T; ++t) gw[t] += hn::GetLane(hn::SumOfLanes(d, acc[t]));
}

void depthwise_grad(const float* x, int64_t x_row, int64_t taps, const int64_t* offsets, const float* gy, int64_t oh,
                    int64_t ow, float* gw) {
  int64_t t = 0;
  for (; t + 9 <= taps; t += 9) depthwise_grad_taps<9>(x, x_row, offsets + t, gy, oh, ow, gw + t);
  for (; t + 3 <= taps; t += 3) depthwise_grad_taps<3>(x, x_row, offsets + t, gy, oh, ow, gw + t);
  for (; t < taps; ++t) depthwise_grad_taps<1>(x, x_row, offsets + t, gy, oh, ow, gw + t);
}

float sum(const float* p, int64_t count) {
  V acc[4];
  for (auto& v : acc) v = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < 4; ++v) acc[v] = hn::Add(acc[v], hn::LoadU(d, p + i + v * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes) acc[0] = hn::Add(acc[0], hn::LoadU(d, p + i));
  if (i < count) acc[1] = hn::Add(acc[1], masked_load((1u << (count - i)) - 1, p + i));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(acc[0], acc[1]), hn::Add(acc[2], acc[3]))));
}

constexpr ConvKernels kKernels = {kLanes,     kRows, pack_panel, tile,      kTileDirect,    transpose, copy_rows,
                                  sum_pixels, grad,  sum_parts,  depthwise, depthwise_grad, sum};

}  // namespace

const ConvKernels* get_conv_kernels() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(get_conv_kernels);

const ConvKernels& conv_kernels() {
  return *HWY_DYNAMIC_DISPATCH(get_conv_kernels)();
}

}  // namespace trt::cpu
#endif
