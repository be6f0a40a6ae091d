// Random fills on the CPU. Each is a pure function of (seed, offset, element index): results depend neither on the
// number of threads nor on how the range is cut. All pointers are to contiguous elements that the caller owns; n may be
// zero. Safe to call from many threads at once on distinct outputs. Every fill returns the number of 128-bit Philox
// counters that it consumed; the caller's generator adds it to its offset before the next fill.
//
// Note [Random element layout]
// Counters are taken in groups of 16: group g uses the counters offset + 16 * g + j, j = 0..15, with subsequence 0
// (Note [Random streams]). w0..w3 are the words of one counter.
//  - 32-bit layout, 64 elements a group: word k of counter j belongs to element 64 * g + 16 * k + j.
//  - 64-bit layout, 32 elements a group: the value (w[2h+1] << 32 | w[2h]) of counter j belongs to element
//    32 * g + 16 * h + j, h = 0..1.
// A partial last group consumes 16 counters too. A CUDA thread that owns one counter stores runs of 16 elements that
// are contiguous over its half warp, and a vector lane owns one counter without a transposition.
#pragma once

#include <cstdint>

namespace trt::cpu {

// The raw words in the 32-bit layout.
uint64_t fill_bits(uint32_t* y, int64_t n, uint64_t seed, uint64_t offset);

// Uniform in [lo, hi); lo itself where lo == hi. float: 32-bit layout, u = (w >> 8) * 2^-24. double: 64-bit layout,
// u = (w >> 11) * 2^-53. The element is fma(u, hi - lo, lo), limited to the largest value below hi. (Processors without
// FMA round twice, and may differ in the last bit.)
uint64_t fill_uniform(float* y, int64_t n, double lo, double hi, uint64_t seed, uint64_t offset);
uint64_t fill_uniform(double* y, int64_t n, double lo, double hi, uint64_t seed, uint64_t offset);

// Normal, by Box and Muller on pairs of words (a, b): r = sqrt(-2 ln u(a)), angle = 2 pi v(b), elements
// mean + std * (r cos) and mean + std * (r sin).
//  float, 32-bit layout: (a, b) = (w0, w1) makes the cosine element k = 0 and the sine element k = 1, (w2, w3) those of
//  k = 2 and 3. u = fma(float(a >> 1), 2^-31, 2^-32) in float arithmetic, v = b * 2^-32; |z| <= 6.67; error at most 4
//  ULP. double, 64-bit layout: a = w1:w0, b = w3:w2; the cosine element is h = 0, the sine element h = 1. u = 1 - (a >>
//  12) * 2^-52, v = b * 2^-64; |z| <= 8.49; error at most 8 ULP.
uint64_t fill_normal(float* y, int64_t n, double mean, double std, uint64_t seed, uint64_t offset);
uint64_t fill_normal(double* y, int64_t n, double mean, double std, uint64_t seed, uint64_t offset);

// 1 with probability p in [0, 1], else 0. 32-bit layout: 1 iff w < round(p * 2^32).
uint64_t fill_bernoulli(uint8_t* y, int64_t n, double p, uint64_t seed, uint64_t offset);

// Integers uniform in [low, high): 64-bit layout, low + floor(w * (high - low) / 2^64); the bias is below
// (high - low) / 2^64. REQUIRES low < high. fill_bits64 gives the whole range of int64.
uint64_t fill_randint(int64_t* y, int64_t n, int64_t low, int64_t high, uint64_t seed, uint64_t offset);
uint64_t fill_bits64(uint64_t* y, int64_t n, uint64_t seed, uint64_t offset);

// A permutation of 0..n-1: Fisher-Yates, step i = 0..n-2 swaps i with i + floor(w_i * (n - i) / 2^64), w_i in the
// 64-bit layout. Serial.
uint64_t fill_randperm(int64_t* y, int64_t n, uint64_t seed, uint64_t offset);

// Dropout: mask = fill_bernoulli(1 - p) of the same seed and offset; y = x / (1 - p) where mask is 1, else 0 (also
// where x is not finite). The mask does not depend on the dtype. y may be x. p in [0, 1]; p = 1 gives zeros.
uint64_t dropout_forward(const float* x, float* y, uint8_t* mask, int64_t n, double p, uint64_t seed, uint64_t offset);
uint64_t dropout_forward(const double* x, double* y, uint8_t* mask, int64_t n, double p, uint64_t seed,
                         uint64_t offset);

// y = x * scale where mask is not 0, else 0: the gradient of dropout with scale = 1 / (1 - p). y may be x.
void masked_scale(const float* x, const uint8_t* mask, float* y, int64_t n, double scale);
void masked_scale(const double* x, const uint8_t* mask, double* y, int64_t n, double scale);

}  // namespace trt::cpu
