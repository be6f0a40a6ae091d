// Discrete Fourier transforms of lines: mixed radices (Stockham's form, which needs no reordering), Bluestein's for lengths with large prime factors.
//
// Several lines are transformed side by side, element by element, so that the loops over lines fill the vectors. Nothing is normalized but by
// the factor that is given. Errors grow with the logarithm of the length: a few ULP of the largest element. Blocks of lines depend on the sizes
// only, so results do not depend on the number of threads.
#pragma once

#include <complex>
#include <cstdint>

namespace trt::cpu {

// The lines of an array [outer, n, inner] along its middle dimension.
struct FftLines {
  int64_t outer, inner;
};

// to[k] = scale * sum_j from[j] exp(-+2 pi i j k / n): minus if `forward`. `from` may be `to`.
template <typename T>
void fft_complex(FftLines lines, int64_t n, const std::complex<T>* from, std::complex<T>* to, bool forward, T scale);

// The same of real numbers: the first n/2 + 1 elements of the result, the others being their conjugates in reverse, or all n if `both_sides`.
template <typename T>
void fft_from_real(FftLines lines, int64_t n, const T* from, std::complex<T>* to, bool forward, bool both_sides, T scale);

// The real result of length n from the first n/2 + 1 elements of a line whose others are the conjugates; the imaginary parts of the elements that are their
// own conjugates are not read.
template <typename T>
void fft_to_real(FftLines lines, int64_t n, const std::complex<T>* from, T* to, bool forward, T scale);

// Frees the tables that transforms keep for later ones of the same length: at most 32 MiB and 64 lengths for each of float and double, those used last. They
// are shared by all threads.
void fft_forget_plans() noexcept;

}  // namespace trt::cpu
