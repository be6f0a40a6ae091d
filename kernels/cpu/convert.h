// Element conversions and plain data movement on contiguous or strided memory: what stages the operands of pointwise
// kernels. Everything here is serial and reentrant; callers cut the work into chunks. Buffers are borrowed; unless said
// otherwise, source and destination must not overlap, and need only the alignment of their element type.
//
// Note [Conversion rules]
// Kernels compute in float, double, int64_t or a complex type (convert_complex.h). Conversions give what PyTorch gives on x86:
//   to Bool             x != 0 (true for NaN)
//   float to integer    truncation; what does not fit is the smallest int32 (for Int32), the smallest int64 (for
//   Int64), and
//                       for UInt8 the low byte of the int64, for Int8 and Int16 the low bits of the int32
//   integer to integer  the low bits
//   to a smaller float  round to nearest even; Float16 and BFloat16 are reached through float
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace trt::cpu {

// Converts n contiguous elements. dst may be src when the element sizes are equal.
using ConvertFn = void (*)(const void* src, void* dst, int64_t n);

// From any dtype to a compute type (Float32, Float64, Int64, Complex64 or Complex128), and back. Same-type entries copy. Chosen once per call
// of a kernel; the pointers are valid forever.
ConvertFn load_converter(DType from, DType compute);
ConvertFn store_converter(DType compute, DType to);

// Any pair of dtypes.
void convert(const void* src, DType from, void* dst, DType to, int64_t n);

// dst[i] = *(src + i * stride_bytes) and back, for elements of 1, 2, 4, 8 or 16 bytes. Strides may be zero or negative.
void gather_strided(const void* src, int64_t stride_bytes, void* dst, int64_t n, size_t elem_size);
void scatter_strided(const void* src, void* dst, int64_t stride_bytes, int64_t n, size_t elem_size);

// n copies of the element at `value` (1, 2, 4, 8 or 16 bytes).
void fill(void* dst, const void* value, size_t elem_size, int64_t n);

// memcpy that leaves the destination out of the caches: for results too large to be read back from them soon. Before
// another thread reads the result, the writing thread must call stream_fence(). Meanwhile the first `bytes` bytes at each
// of the n_ahead addresses are fetched: what the caller reads next then arrives while the stores drain, instead of taking
// turns with them. The addresses may lie past the end of what exists.
void stream_copy(const void* src, void* dst, size_t bytes, const void* const* ahead = nullptr, int n_ahead = 0);
void stream_fence();

// dst[c][r] = src[r][c] for r < rows, c < cols; elements of 1, 2, 4 or 8 bytes, contiguous within the rows of both
// sides. With `stream`, whole cache lines of dst bypass the caches as in stream_copy (stream_fence() included in the
// contract).
void transpose_copy(const void* src, void* dst, int64_t rows, int64_t cols, int64_t src_row_stride_bytes,
                    int64_t dst_row_stride_bytes, size_t elem_size, bool stream = false);

}  // namespace trt::cpu
