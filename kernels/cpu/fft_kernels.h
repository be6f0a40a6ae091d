// One pass of the mixed-radix Fourier transform, compiled per instruction set; used by fft.cpp. Internal to kernels/cpu.
#pragma once

#include <cstdint>

namespace trt::cpu {

// Real and imaginary parts in arrays of their own.
template <typename T>
struct FftParts {
  T *re, *im;
};

constexpr int kMaxFftRadix = 31;

template <typename T>
struct FftKernels {
  // Stockham's pass: x is [radix, m, s], y is [m, radix, s]; y[p, k] = w^(p k) sum_j exp(-2 pi i j k / radix) x[j, p] for w = exp(-2 pi i / (radix m)).
  // `twiddles` holds w^(p k) at (k - 1) * m + p for k > 0. `roots`: exp(-2 pi i j / radix) for radices other than 2, 3, 4 and 5. x and y do not overlap.
  void (*pass)(int radix, int64_t m, int64_t s, FftParts<const T> x, FftParts<T> y, FftParts<const T> twiddles, FftParts<const T> roots);
  // n complex numbers into parts, and back, multiplied by `scale`.
  void (*split)(int64_t n, const T* from, T* re, T* im);
  void (*join)(int64_t n, const T* re, const T* im, T scale, T* to);
  // The transform of 2 * length real numbers from x, that of the complex numbers whose parts are the even and the odd ones: the elements 0 < k < length as
  // complex numbers in `to`, multiplied by `scale`, the imaginary parts also by `sign`. `turns` are exp(-pi i k / length).
  void (*take_apart)(int64_t length, FftParts<const T> x, FftParts<const T> turns, T scale, T sign, T* to);
  // The reverse, with exp(pi i k / length) times twice the odd ones: the elements 0 < k < length of parts, from complex numbers `from` up to `length`.
  void (*put_together)(int64_t length, const T* from, T sign, FftParts<const T> turns, T* re, T* im);
};

// The set for this processor, for float and double.
template <typename T>
const FftKernels<T>& fft_kernels();

}  // namespace trt::cpu
