// Matrix decompositions on raw row-major arrays, by the LAPACK in the OpenBLAS that blas() loads.
//
// Thread-safe. Errors are those of blas(), and kUnavailable when the library holds no LAPACK. Temporary memory comes
// from the heap (std::bad_alloc).
#pragma once

#include <cstdint>

namespace trt::cpu {

// a = u diag(s) vh for `batch` matrices a[m,n], with k = min(m, n): u[m,k], s[k] in descending order, vh[k,n]. All
// contiguous; a is overwritten. The sizes must be below 2^31. False when the iteration of a matrix does not converge; a
// must be finite.
template <typename T>
bool svd(int64_t batch, int64_t m, int64_t n, T* a, T* u, T* s, T* vh);

}  // namespace trt::cpu
