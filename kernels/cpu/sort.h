// Sorting and selection along the last dimension of contiguous [rows, n] values of any dtype of the library.
//
// Order: numbers by value, -0 equal to 0, NaN greater than every number and equal to NaN, false before true. Equal
// elements keep the order of their indices, in both directions, so every result is unique: it depends neither on the
// number of threads nor on the algorithm. Outputs must not overlap the input; `values` or `indices` may be null. n is
// at most 2^32 - 1 (else kNotSupported). Safe to call from many threads. Scratch: 16 bytes an element of a row and
// thread. T: float, double, Half, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool.
#pragma once

#include <cstdint>

namespace trt::cpu {

// values and indices: [rows, n].
template <typename T>
void sort_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, bool descending);

// The k largest or smallest of each row, 0 <= k <= n, best first. values and indices: [rows, k].
template <typename T>
void topk_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, int64_t k, bool largest);

// The element of rank k, 0 <= k < n, of each row in ascending order. values and indices: [rows].
template <typename T>
void kth_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, int64_t k);
// The lower median of each row of n > 0 elements and where it is (the first of equals in sorted order; `indices` may be null): the first NaN if
// there is one, or, with skip_nan, the median of the numbers.
template <typename T>
void median_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, bool skip_nan);

}  // namespace trt::cpu
