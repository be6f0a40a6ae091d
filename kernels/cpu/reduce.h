// Reductions over raw memory. Every function sees its input as a contiguous array [outer, r, inner], reduces it over r
// and writes a contiguous [outer, inner]; the caller composes other axes from that by permuting or by several calls.
// Any of the three extents may be 0: no output when outer or inner is 0, the identity of the reduction when r is 0.
//
// The functions are thread-safe, split large inputs over the pool of base/parallel.h, and return the same bits for any
// number of threads. Inputs and outputs must not overlap. Temporary memory comes from the heap (std::bad_alloc).
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace trt::cpu {

// T is float, double or int64_t, unless the function says otherwise.

// Sums of floating-point numbers are cascaded: blocks of a few dozen terms per lane, then sums of blocks, so that the
// error grows with the logarithm of r rather than with r. Integers wrap around. Identities: 0 and 1.
template <typename T>
void reduce_sum(const T* x, T* out, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void reduce_prod(const T* x, T* out, int64_t outer, int64_t r, int64_t inner);

// Sums of uint8_t, int8_t, int16_t and int32_t.
template <typename T>
void reduce_sum_int64(const T* x, int64_t* out, int64_t outer, int64_t r, int64_t inner);

// Extrema are there for uint8_t, int8_t, int16_t and int32_t too. The largest and smallest element; NaN if there is one. Identities: the lowest and the largest value of T (the
// infinities).
template <typename T>
void reduce_max(const T* x, T* out, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void reduce_min(const T* x, T* out, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void reduce_minmax(const T* x, T* min, T* max, int64_t outer, int64_t r, int64_t inner);

// The same with the position in [0, r) of the first such element; the first NaN counts as the extremum. values may be
// null. Throws kInvalidArgument for r == 0 when there is an output to write.
template <typename T>
void reduce_max_index(const T* x, T* values, int64_t* indices, int64_t outer, int64_t r, int64_t inner);
template <typename T>
void reduce_min_index(const T* x, T* values, int64_t* indices, int64_t outer, int64_t r, int64_t inner);

// float and double: (sum |x|^p)^(1/p); p == 0 counts the elements that are not 0, p == inf and -inf give the largest
// and smallest |x|. Identity: 0, for p < 0 infinity.
template <typename T>
void reduce_norm(const T* x, T* out, double p, int64_t outer, int64_t r, int64_t inner);

// float and double: log(sum(exp(x))) without overflow; -infinity for r == 0 and where all elements are -infinity.
template <typename T>
void reduce_logsumexp(const T* x, T* out, int64_t outer, int64_t r, int64_t inner);

// float and double: sum((x - mean)^2) / max(0, r - correction) and, unless null, the mean. A quotient with a zero
// divisor is infinity or NaN, as in PyTorch; NaN for r == 0. Statistics are centred in each block and merged in double
// (Chan, Golub, LeVeque 1983), so a mean large against the deviation costs no accuracy.
template <typename T>
void reduce_var(const T* x, T* var, T* mean, double correction, bool root, int64_t outer, int64_t r, int64_t inner);

// How many elements are not zero, of any dtype that is not complex. Of a bool, any byte but 0 is true; a NaN is not zero.
void reduce_nonzero(const void* x, DType dtype, int64_t* out, int64_t outer, int64_t r, int64_t inner);
// Whether one is, whether all are: 0 or 1.
void reduce_any(const void* x, DType dtype, uint8_t* out, int64_t outer, int64_t r, int64_t inner);
void reduce_all(const void* x, DType dtype, uint8_t* out, int64_t outer, int64_t r, int64_t inner);

// out[c] = the sum of x[n, c, s] over n and s (the gradient of a bias per channel).
template <typename T>
void sum_per_channel(const T* x, T* out, int64_t n, int64_t c, int64_t s);

}  // namespace trt::cpu
