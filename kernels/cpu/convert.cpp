#include "kernels/cpu/convert.h"

#include <cstring>

#include "base/error.h"
#include "kernels/cpu/convert_complex.h"
#include "kernels/cpu/hwy_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convert.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef TRT_KERNELS_CPU_CONVERT_ONCE
#define TRT_KERNELS_CPU_CONVERT_ONCE
namespace trt::cpu {

// The entry points of one instruction set. The second index of `load` and the first of `store` is compute_index().
struct ConvertTable {
  ConvertFn load[kNumDTypes][3] = {};
  ConvertFn store[3][kNumDTypes] = {};
  void (*stream_copy)(const void*, void*, size_t, const void* const*, int) = nullptr;
  // log2 of the element size is the index.
  void (*transpose[4])(const void*, void*, int64_t, int64_t, int64_t, int64_t, bool) = {};
};

}  // namespace trt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Loops run in blocks of this constant length, which the compiler vectorizes; the remainder is done one by one.
constexpr int64_t kBlock = 64;

template <typename T>
HWY_INLINE T to_int(double x) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  constexpr double kLimit = sizeof(T) == 4 ? 0x1p31 : 0x1p63;
  // The truncated value fits when x > -limit - 1, and -limit itself is what out-of-range values become.
  return static_cast<T>((x > -kLimit) & (x < kLimit) ? x : -kLimit);
}
template <typename T>
HWY_INLINE T to_int(float x) {
  constexpr float kLimit = sizeof(T) == 4 ? 0x1p31f : 0x1p63f;
  return static_cast<T>((x > -kLimit) & (x < kLimit) ? x : -kLimit);
}

template <typename To, typename From>
HWY_INLINE To convert_one(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint8_t> || sizeof(To) == 8)
      return static_cast<To>(to_int<int64_t>(x));
    else
      return static_cast<To>(to_int<int32_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

// A bool in memory may hold any byte that a caller wrote; only zero is false.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename From, typename To>
void convert_loop(const void* src, void* dst, int64_t n) {
  const auto* s = static_cast<const Stored<From>*>(src);
  auto* d = static_cast<Stored<To>*>(dst);
  const auto one = [](Stored<From> x) -> Stored<To> {
    if constexpr (std::is_same_v<From, bool>)
      return static_cast<Stored<To>>(x != 0);
    else
      return convert_one<To>(x);
  };
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    Stored<To> block[kBlock];
    for (int64_t k = 0; k < kBlock; ++k) block[k] = one(s[i + k]);
    std::memcpy(d + i, block, sizeof block);
  }
  for (; i < n; ++i) d[i] = one(s[i]);
}

template <typename T>
void copy_loop(const void* src, void* dst, int64_t n) {
  if (n > 0) std::memmove(dst, src, static_cast<size_t>(n) * sizeof(T));
}

// ---- Float16 and BFloat16

// Calls vector(df, dh, du, i) for whole vectors where the target converts them, one(i) for the rest.
template <class Vector, class One>
HWY_INLINE void half_loop(int64_t n, [[maybe_unused]] const Vector& vector, const One& one) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const hn::RebindToUnsigned<decltype(dh)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  for (; i + lanes <= n; i += lanes) vector(df, dh, du, i);
#endif
  for (; i < n; ++i) one(i);
}

void half_to_float(const void* src, void* dst, int64_t n) {
  const auto* s = static_cast<const uint16_t*>(src);
  auto* d = static_cast<float*>(dst);
  half_loop(
      n, [&](auto df, auto dh, auto du, int64_t i) HWY_ATTR { hn::StoreU(hn::PromoteTo(df, hn::BitCast(dh, hn::LoadU(du, s + i))), df, d + i); },
      [&](int64_t i) { d[i] = half_bits_to_float(s[i]); });
}

void float_to_half(const void* src, void* dst, int64_t n) {
  const auto* s = static_cast<const float*>(src);
  auto* d = static_cast<uint16_t*>(dst);
  half_loop(
      n, [&](auto df, auto dh, auto du, int64_t i) HWY_ATTR { hn::StoreU(hn::BitCast(du, hn::DemoteTo(dh, hn::LoadU(df, s + i))), du, d + i); },
      [&](int64_t i) { d[i] = float_to_half_bits(s[i]); });
}

void bfloat16_to_float(const void* src, void* dst, int64_t n) {
  const auto* s = static_cast<const uint16_t*>(src);
  auto* d = static_cast<uint8_t*>(dst);
  uint32_t block[kBlock];
  for (; n >= kBlock; n -= kBlock, s += kBlock, d += sizeof block) {
    for (int64_t k = 0; k < kBlock; ++k) block[k] = static_cast<uint32_t>(s[k]) << 16;
    std::memcpy(d, block, sizeof block);
  }
  for (int64_t k = 0; k < n; ++k) block[k] = static_cast<uint32_t>(s[k]) << 16;
  std::memcpy(d, block, static_cast<size_t>(n) * sizeof(uint32_t));
}

HWY_INLINE uint16_t round_to_bfloat16(uint32_t x) {
  const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  const uint32_t quiet_nan = (x >> 16) | 0x40u;
  return static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}
void float_to_bfloat16(const void* src, void* dst, int64_t n) {
  const auto* s = static_cast<const uint8_t*>(src);
  auto* d = static_cast<uint16_t*>(dst);
  uint32_t in[kBlock];
  uint16_t out[kBlock];
  while (n > 0) {
    const int64_t m = n < kBlock ? n : kBlock;
    const size_t count = static_cast<size_t>(m);
    if (m == kBlock) {
      std::memcpy(in, s, sizeof in);
      for (int64_t k = 0; k < kBlock; ++k) out[k] = round_to_bfloat16(in[k]);
      std::memcpy(d, out, sizeof out);
    } else {
      std::memcpy(in, s, count * sizeof(uint32_t));
      for (int64_t k = 0; k < m; ++k) out[k] = round_to_bfloat16(in[k]);
      std::memcpy(d, out, count * sizeof(uint16_t));
    }
    s += count * sizeof(float);
    d += m;
    n -= m;
  }
}

// The other compute types go through a block of floats.
template <ConvertFn kToFloat, typename From, typename To>
void convert_from_half(const void* src, void* dst, int64_t n) {
  float block[kBlock];
  const auto* s = static_cast<const From*>(src);
  auto* d = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    kToFloat(s + i, block, m);
    convert_loop<float, To>(block, d + i, m);
  }
}
template <ConvertFn kFromFloat, typename From, typename To>
void convert_to_half(const void* src, void* dst, int64_t n) {
  float block[kBlock];
  const auto* s = static_cast<const From*>(src);
  auto* d = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    convert_loop<From, float>(s + i, block, m);
    kFromFloat(block, d + i, m);
  }
}

// ---- Movement

void stream_copy_impl(const void* src, void* dst, size_t bytes, const void* const* ahead, int n_ahead) {
  const auto* s = static_cast<const uint8_t*>(src);
  auto* d = static_cast<uint8_t*>(dst);
  const hn::ScalableTag<uint8_t> du;
  const size_t lanes = hn::Lanes(du);
  if (lanes < 16 || bytes < 4 * 64) {
    if (bytes) std::memcpy(d, s, bytes);
    return;
  }
  const size_t head = (64 - reinterpret_cast<uintptr_t>(d) % 64) % 64;
  std::memcpy(d, s, head);
  size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (int a = 0; a < n_ahead; ++a) __builtin_prefetch(static_cast<const uint8_t*>(ahead[a]) + i, 0, 0);
    for (size_t k = 0; k < 64; k += lanes) hn::Stream(hn::LoadU(du, s + i + k), du, d + i + k);
  }
  std::memcpy(d + i, s + i, bytes - i);
}

template <typename T>
HWY_INLINE T load_at(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <typename T>
void transpose_plain(const uint8_t* src, uint8_t* dst, int64_t r0, int64_t r1, int64_t c0, int64_t c1, int64_t ss,
                     int64_t ds) {
  constexpr int64_t kTile = 16;
  for (int64_t rb = r0; rb < r1; rb += kTile)
    for (int64_t cb = c0; cb < c1; cb += kTile)
      for (int64_t c = cb; c < c1 && c < cb + kTile; ++c)
        for (int64_t r = rb; r < r1 && r < rb + kTile; ++r) {
          const T v = load_at<T>(src + r * ss + c * static_cast<int64_t>(sizeof(T)));
          std::memcpy(dst + c * ds + r * static_cast<int64_t>(sizeof(T)), &v, sizeof v);
        }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// The 128-bit blocks at p, p + step, ... side by side in one vector.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const uint8_t* p, int64_t step) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 16) {
    return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(p));
  } else {
    const hn::Half<D> dh;
    constexpr int64_t kBlocks = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) / 32;
    return hn::Combine(d, load_blocks(dh, p + kBlocks * step, step), load_blocks(dh, p, step));
  }
}

// How many 16-byte blocks of columns a tile has: a whole cache line of each source row where the registers suffice, so
// that no line is visited twice. (Rows a power of two apart fall into the same cache set and evict each other.)
template <typename T>
constexpr int tile_blocks() {
#if HWY_TARGET == HWY_AVX3
  return sizeof(T) >= 4 ? 4 : static_cast<int>(sizeof(T));
#else
  return 1;
#endif
}

// One vector's worth of rows by tile_blocks() blocks of columns: full vectors of dst.
// Perfect-shuffle stages (interleave vector i with vector i + half) transpose within 128-bit blocks; the blocks were
// loaded from the rows that belong there.
template <typename T, bool kStream>
HWY_INLINE void transpose_tile(const uint8_t* src, uint8_t* dst, int64_t ss, int64_t ds) {
  const hn::ScalableTag<T> d;
  constexpr int kPerBlock = 16 / sizeof(T), kBlocks = tile_blocks<T>();
  hn::Vec<decltype(d)> a[kBlocks][kPerBlock], b[kPerBlock];
#pragma GCC unroll 16
  for (int i = 0; i < kPerBlock; ++i)
#pragma GCC unroll 4
    for (int g = 0; g < kBlocks; ++g) a[g][i] = load_blocks(d, src + i * ss + g * 16, kPerBlock * ss);
#pragma GCC unroll 4
  for (int g = 0; g < kBlocks; ++g) {
#pragma GCC unroll 4
    for (int stage = 1; stage < kPerBlock; stage *= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < kPerBlock / 2; ++i) {
        b[2 * i] = hn::InterleaveLower(d, a[g][i], a[g][i + kPerBlock / 2]);
        b[2 * i + 1] = hn::InterleaveUpper(d, a[g][i], a[g][i + kPerBlock / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kPerBlock; ++i) a[g][i] = b[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kPerBlock; ++i) {
      T* p = reinterpret_cast<T*>(dst + (g * kPerBlock + i) * ds);
      if constexpr (kStream)
        hn::Stream(a[g][i], d, p);
      else
        hn::StoreU(a[g][i], d, p);
    }
  }
}

template <typename T, bool kStream>
void transpose_body(const uint8_t* src, uint8_t* dst, int64_t rows, int64_t cols, int64_t ss, int64_t ds) {
  constexpr int64_t kSize = sizeof(T), kTileCols = tile_blocks<T>() * 16 / kSize;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  // Bands of four cache lines of dst: single lines a large power of two apart would all go to one bank of memory.
  constexpr int64_t kBand = 256 / kSize;
  for (int64_t rb = 0; rb < rows; rb += kBand)
    for (int64_t c = 0; c < cols; c += kTileCols)
      for (int64_t r = rb; r < rows && r < rb + kBand; r += lanes)
        transpose_tile<T, kStream>(src + r * ss + c * kSize, dst + c * ds + r * kSize, ss, ds);
}
#endif

template <typename T>
void transpose_impl(const void* src, void* dst, int64_t rows, int64_t cols, int64_t ss, int64_t ds, bool stream) {
  const auto* s = static_cast<const uint8_t*>(src);
  auto* d = static_cast<uint8_t*>(dst);
  int64_t full_rows = 0, full_cols = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  constexpr int64_t kTileCols = tile_blocks<T>() * 16 / sizeof(T);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  full_rows = rows - rows % lanes;
  full_cols = cols - cols % kTileCols;
  const bool aligned = (reinterpret_cast<uintptr_t>(d) | static_cast<uintptr_t>(ds)) % 64 == 0;
  if (stream && aligned)
    transpose_body<T, true>(s, d, full_rows, full_cols, ss, ds);
  else
    transpose_body<T, false>(s, d, full_rows, full_cols, ss, ds);
#else
  (void)stream;
#endif
  transpose_plain<T>(s, d, full_rows, rows, 0, cols, ss, ds);
  transpose_plain<T>(s, d, 0, full_rows, full_cols, cols, ss, ds);
}

// ---- The table

template <typename T>
constexpr void add_type(ConvertTable& t) {
  const int k = static_cast<int>(dtype_of<T>());
  t.load[k][0] = convert_loop<T, float>;
  t.load[k][1] = convert_loop<T, double>;
  t.load[k][2] = convert_loop<T, int64_t>;
  t.store[0][k] = convert_loop<float, T>;
  t.store[1][k] = convert_loop<double, T>;
  t.store[2][k] = convert_loop<int64_t, T>;
}
template <typename T, ConvertFn kToFloat, ConvertFn kFromFloat>
constexpr void add_half(ConvertTable& t) {
  const int k = static_cast<int>(dtype_of<T>());
  t.load[k][0] = kToFloat;
  t.load[k][1] = convert_from_half<kToFloat, T, double>;
  t.load[k][2] = convert_from_half<kToFloat, T, int64_t>;
  t.store[0][k] = kFromFloat;
  t.store[1][k] = convert_to_half<kFromFloat, double, T>;
  t.store[2][k] = convert_to_half<kFromFloat, int64_t, T>;
}

constexpr ConvertTable make_table() {
  ConvertTable t;
  add_type<bool>(t);
  add_type<uint8_t>(t);
  add_type<int8_t>(t);
  add_type<int16_t>(t);
  add_type<int32_t>(t);
  add_type<int64_t>(t);
  add_type<float>(t);
  add_type<double>(t);
  add_half<Half, half_to_float, float_to_half>(t);
  add_half<BFloat16, bfloat16_to_float, float_to_bfloat16>(t);
  t.load[static_cast<int>(DType::Float32)][0] = t.store[0][static_cast<int>(DType::Float32)] = copy_loop<float>;
  t.load[static_cast<int>(DType::Float64)][1] = t.store[1][static_cast<int>(DType::Float64)] = copy_loop<double>;
  t.load[static_cast<int>(DType::Int64)][2] = t.store[2][static_cast<int>(DType::Int64)] = copy_loop<int64_t>;
  t.stream_copy = stream_copy_impl;
  t.transpose[0] = transpose_impl<uint8_t>;
  t.transpose[1] = transpose_impl<uint16_t>;
  t.transpose[2] = transpose_impl<uint32_t>;
  t.transpose[3] = transpose_impl<uint64_t>;
  return t;
}
constexpr ConvertTable kTable = make_table();

}  // namespace

const ConvertTable* convert_table() { return &kTable; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(convert_table);

namespace {

const ConvertTable& table() { return *HWY_DYNAMIC_DISPATCH(convert_table)(); }

int compute_index(DType t) {
  switch (t) {
    case DType::Float32:
      return 0;
    case DType::Float64:
      return 1;
    case DType::Int64:
      return 2;
    default:
      return -1;
  }
}

template <size_t kSize>
void gather(const uint8_t* src, int64_t stride, uint8_t* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * static_cast<int64_t>(kSize), src + i * stride, kSize);
}
template <size_t kSize>
void scatter(const uint8_t* src, uint8_t* dst, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * stride, src + i * static_cast<int64_t>(kSize), kSize);
}

}  // namespace

ConvertFn load_converter(DType from, DType compute) {
  if (is_complex(from) || is_complex(compute)) return complex_converter(from, compute);
  const int c = compute_index(compute);
  TRT_INTERNAL(c >= 0 && static_cast<int>(from) < kNumDTypes, from, " to ", compute);
  const ConvertFn f = table().load[static_cast<int>(from)][c];
  TRT_INTERNAL(f != nullptr, from, " to ", compute);
  return f;
}

ConvertFn store_converter(DType compute, DType to) {
  if (is_complex(compute) || is_complex(to)) return complex_converter(compute, to);
  const int c = compute_index(compute);
  TRT_INTERNAL(c >= 0 && static_cast<int>(to) < kNumDTypes, compute, " to ", to);
  const ConvertFn f = table().store[c][static_cast<int>(to)];
  TRT_INTERNAL(f != nullptr, compute, " to ", to);
  return f;
}

void convert(const void* src, DType from, void* dst, DType to, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    std::memmove(dst, src, static_cast<size_t>(n) * element_size(from));
    return;
  }
  if (is_complex(from) || is_complex(to)) return complex_converter(from, to)(src, dst, n);
  if (compute_index(from) >= 0) return store_converter(from, to)(src, dst, n);
  if (compute_index(to) >= 0) return load_converter(from, to)(src, dst, n);
  // Two small types: int64 holds every integer; float holds the 16-bit types, and is what they are rounded from.
  const DType mid = is_floating(from) || is_floating(to) ? DType::Float32 : DType::Int64;
  const ConvertFn load = load_converter(from, mid), store = store_converter(mid, to);
  constexpr int64_t kChunk = 512;
  alignas(64) uint8_t scratch[kChunk * sizeof(int64_t)];
  const auto* s = static_cast<const uint8_t*>(src);
  auto* d = static_cast<uint8_t*>(dst);
  const int64_t from_size = static_cast<int64_t>(element_size(from)), to_size = static_cast<int64_t>(element_size(to));
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = n - i < kChunk ? n - i : kChunk;
    load(s + i * from_size, scratch, m);
    store(scratch, d + i * to_size, m);
  }
}

void gather_strided(const void* src, int64_t stride_bytes, void* dst, int64_t n, size_t elem_size) {
  const auto* s = static_cast<const uint8_t*>(src);
  auto* d = static_cast<uint8_t*>(dst);
  switch (elem_size) {
    case 1:
      return gather<1>(s, stride_bytes, d, n);
    case 2:
      return gather<2>(s, stride_bytes, d, n);
    case 4:
      return gather<4>(s, stride_bytes, d, n);
    case 8:
      return gather<8>(s, stride_bytes, d, n);
    case 16:
      return gather<16>(s, stride_bytes, d, n);
    default:
      TRT_INTERNAL(false, "element size ", elem_size);
  }
}

void scatter_strided(const void* src, void* dst, int64_t stride_bytes, int64_t n, size_t elem_size) {
  const auto* s = static_cast<const uint8_t*>(src);
  auto* d = static_cast<uint8_t*>(dst);
  switch (elem_size) {
    case 1:
      return scatter<1>(s, d, stride_bytes, n);
    case 2:
      return scatter<2>(s, d, stride_bytes, n);
    case 4:
      return scatter<4>(s, d, stride_bytes, n);
    case 8:
      return scatter<8>(s, d, stride_bytes, n);
    case 16:
      return scatter<16>(s, d, stride_bytes, n);
    default:
      TRT_INTERNAL(false, "element size ", elem_size);
  }
}

void fill(void* dst, const void* value, size_t elem_size, int64_t n) {
  if (n <= 0) return;
  TRT_INTERNAL(elem_size == 1 || elem_size == 2 || elem_size == 4 || elem_size == 8 || elem_size == 16, "element size ",
               elem_size);
  const auto* v = static_cast<const uint8_t*>(value);
  auto* d = static_cast<uint8_t*>(dst);
  const size_t bytes = static_cast<size_t>(n) * elem_size;
  bool same = true;
  for (size_t i = 1; i < elem_size; ++i) same &= v[i] == v[0];
  if (same) {
    std::memset(d, v[0], bytes);
    return;
  }
  uint8_t pattern[64];
  for (size_t i = 0; i < sizeof pattern; i += elem_size) std::memcpy(pattern + i, v, elem_size);
  size_t i = 0;
  for (; i + sizeof pattern <= bytes; i += sizeof pattern) std::memcpy(d + i, pattern, sizeof pattern);
  std::memcpy(d + i, pattern, bytes - i);
}

void stream_copy(const void* src, void* dst, size_t bytes, const void* const* ahead, int n_ahead) {
  table().stream_copy(src, dst, bytes, ahead, n_ahead);
}

void stream_fence() { hwy::FlushStream(); }

void transpose_copy(const void* src, void* dst, int64_t rows, int64_t cols, int64_t src_row_stride_bytes,
                    int64_t dst_row_stride_bytes, size_t elem_size, bool stream) {
  const int k = elem_size == 1 ? 0 : elem_size == 2 ? 1 : elem_size == 4 ? 2 : elem_size == 8 ? 3 : -1;
  TRT_INTERNAL(k >= 0, "element size ", elem_size);
  table().transpose[k](src, dst, rows, cols, src_row_stride_bytes, dst_row_stride_bytes, stream);
}

}  // namespace trt::cpu
#endif
