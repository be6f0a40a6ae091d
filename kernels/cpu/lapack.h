// Matrix decompositions by the LAPACK in the OpenBLAS that blas() loads. One column-major matrix a call, its leading dimension the number of its
// rows; T is float, double or a complex number of these.
//
// Sizes must be at least 1. Thread-safe. Errors are those of blas(), and kUnavailable when the library lacks a function. Temporary memory comes from
// the heap (std::bad_alloc). Where an int is returned it is LAPACK's info: 0, or a positive number that says where the algorithm failed.
#pragma once

#include <complex>
#include <cstdint>

namespace trt::cpu {

template <typename T>
struct RealPart {
  using type = T;
};
template <typename T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <typename T>
using real_part_t = typename RealPart<T>::type;

// c[m,n] = a[m,k] @ b[k,n].
template <typename T>
void lapack_product(int m, int n, int k, const T* a, const T* b, T* c);
// a[m,n] = P L U in place; pivots[min(m, n)] count from 1.
template <typename T>
int lapack_lu(int m, int n, T* a, int* pivots);
// b[n,columns] = A^-1 b from the result of lapack_lu.
template <typename T>
void lapack_lu_solve(int n, int columns, const T* lu, const int* pivots, T* b);
// b[m,n] = A^-1 b (left) or b A^-1 for a triangular A. A zero on its diagonal divides.
template <typename T>
void lapack_triangular_solve(bool left, bool upper, bool unit, int m, int n, const T* a, T* b);
// The triangle of the Hermitian a[n,n] that `upper` names becomes its Cholesky factor; the other one is not read.
template <typename T>
int lapack_cholesky(bool upper, int n, T* a);
// Householder QR: a[m,n] becomes R and the reflectors, scales[min(m, n)] their scales.
template <typename T>
void lapack_qr(int m, int n, T* a, T* scales);
// a[m,n], whose first k <= n columns hold reflectors, becomes the first n columns of their product; m >= n.
template <typename T>
void lapack_qr_vectors(int m, int n, int k, T* a, const T* scales);
// Eigenvalues in ascending order and (when wanted, in a) the eigenvectors of a Hermitian matrix, of which one triangle is read.
template <typename T>
int lapack_eigh(bool vectors, bool upper, int n, T* a, real_part_t<T>* values);
// a[m,n] = u diag(s) vh, with u[m,m], vh[n,n] (full) or u[m,k], vh[k,n], k = min(m, n). a is overwritten and must be finite.
template <typename T>
int lapack_svd(bool full, int m, int n, T* a, real_part_t<T>* s, T* u, T* vh);
// Eigenvalues and right eigenvectors of a[n,n], which is overwritten and must be finite.
template <typename T>
int lapack_eig(int n, T* a, std::complex<real_part_t<T>>* values, std::complex<real_part_t<T>>* vectors);
// The Bunch-Kaufman factorization of the lower triangle of a symmetric or Hermitian matrix, and the solution of a system with it.
template <typename T>
int lapack_ldl(bool hermitian, int n, T* a, int* pivots);
template <typename T>
void lapack_ldl_solve(bool hermitian, int n, int columns, const T* a, const int* pivots, T* b);

}  // namespace trt::cpu
