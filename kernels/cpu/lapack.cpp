#include "kernels/cpu/lapack.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/macros.h"
#include "kernels/cpu/blas.h"

namespace trt::cpu {

namespace {

template <typename T>
constexpr bool kComplex = !std::is_same_v<T, real_part_t<T>>;

template <typename T>
constexpr char kPrefix = std::is_same_v<T, float> ? 's' : std::is_same_v<T, double> ? 'd' : std::is_same_v<T, std::complex<float>> ? 'c' : 'z';

// Calls a Fortran function: everything by reference, the lengths of the `Strings` leading texts at the end.
template <typename T, int Strings, typename... Args>
void call(const char* name, Args... args) {
  const std::string symbol = std::string(1, kPrefix<T>) + name + "_";
  void* found = blas().symbol(symbol.c_str());
  TRT_CHECK_CODE(found != nullptr, Code::kUnavailable, "OpenBLAS: the library ", blas().library, " has no function ", symbol);
  const BlasCall inside;
  if constexpr (Strings == 0) reinterpret_cast<void (*)(Args...)>(found)(args...);
  if constexpr (Strings == 1) reinterpret_cast<void (*)(Args..., size_t)>(found)(args..., 1);
  if constexpr (Strings == 2) reinterpret_cast<void (*)(Args..., size_t, size_t)>(found)(args..., 1, 1);
  if constexpr (Strings == 4) reinterpret_cast<void (*)(Args..., size_t, size_t, size_t, size_t)>(found)(args..., 1, 1, 1, 1);
}

// Runs f(work, length) twice: the first time LAPACK says in work[0] how much it wants (length -1).
template <typename T, typename F>
int with_workspace(F&& f) {
  T wanted{};
  int info = f(&wanted, -1);
  TRT_INTERNAL(info == 0);
  // As a number of T it may have been rounded down.
  const double length = static_cast<double>(std::real(wanted)) * (1 + static_cast<double>(std::numeric_limits<real_part_t<T>>::epsilon()));
  std::vector<T> work(static_cast<size_t>(std::clamp(length, 1.0, INT_MAX - 1.0)) + 1);
  info = f(work.data(), static_cast<int>(work.size()));
  TRT_INTERNAL(info >= 0);
  return info;
}

// The workspace of blocked algorithms, up to 64 numbers a row or column, is counted in 32 bits.
void check_blocked(int64_t lines) { TRT_CHECK_CODE(lines <= INT_MAX / 64, Code::kNotSupported, "LAPACK does not take matrices so large, of ", lines, " rows or columns"); }

}  // namespace

template <typename T>
void lapack_product(int m, int n, int k, const T* a, const T* b, T* c) {
  const T one(1), zero(0);
  call<T, 2>("gemm", "N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
}

template <typename T>
int lapack_lu(int m, int n, T* a, int* pivots) {
  int info = 0;
  call<T, 0>("getrf", &m, &n, a, &m, pivots, &info);
  TRT_INTERNAL(info >= 0);
  return info;
}

template <typename T>
void lapack_lu_solve(int n, int columns, const T* lu, const int* pivots, T* b) {
  int info = 0;
  call<T, 1>("getrs", "N", &n, &columns, lu, &n, pivots, b, &n, &info);
  TRT_INTERNAL(info == 0);
}

template <typename T>
void lapack_triangular_solve(bool left, bool upper, bool unit, int m, int n, const T* a, T* b) {
  const T one(1);
  const int order = left ? m : n;
  call<T, 4>("trsm", left ? "L" : "R", upper ? "U" : "L", "N", unit ? "U" : "N", &m, &n, &one, a, &order, b, &m);
}

template <typename T>
int lapack_cholesky(bool upper, int n, T* a) {
  int info = 0;
  call<T, 1>("potrf", upper ? "U" : "L", &n, a, &n, &info);
  TRT_INTERNAL(info >= 0);
  return info;
}

template <typename T>
void lapack_qr(int m, int n, T* a, T* scales) {
  check_blocked(n);
  with_workspace<T>([&](T* work, int length) {
    int info = 0;
    call<T, 0>("geqrf", &m, &n, a, &m, scales, work, &length, &info);
    return info;
  });
}

template <typename T>
void lapack_qr_vectors(int m, int n, int k, T* a, const T* scales) {
  check_blocked(n);
  with_workspace<T>([&](T* work, int length) {
    int info = 0;
    call<T, 0>(kComplex<T> ? "ungqr" : "orgqr", &m, &n, &k, a, &m, scales, work, &length, &info);
    return info;
  });
}

template <typename T>
int lapack_eigh(bool vectors, bool upper, int n, T* a, real_part_t<T>* values) {
  const char *job = vectors ? "V" : "N", *triangle = upper ? "U" : "L";
  // The divide-and-conquer driver (syevd); its integer and real workspaces by its documented bounds.
  const size_t order = static_cast<size_t>(n);
  std::vector<int> integers(5 * order + 3);
  const int integers_length = static_cast<int>(integers.size());
  return with_workspace<T>([&](T* work, int length) {
    int info = 0;
    if constexpr (kComplex<T>) {
      std::vector<real_part_t<T>> reals(vectors ? 2 * order * order + 5 * order + 1 : order + 1);
      const int reals_length = static_cast<int>(reals.size());
      call<T, 2>("heevd", job, triangle, &n, a, &n, values, work, &length, reals.data(), &reals_length, integers.data(), &integers_length, &info);
    } else {
      call<T, 2>("syevd", job, triangle, &n, a, &n, values, work, &length, integers.data(), &integers_length, &info);
    }
    return info;
  });
}

template <typename T>
int lapack_svd(bool full, int m, int n, T* a, real_part_t<T>* s, T* u, T* vh) {
  check_blocked(int64_t{m} + n);
  const int k = std::min(m, n);
  const int vh_rows = full ? n : k;
  std::vector<int> integers(static_cast<size_t>(k) * 8);
  std::vector<real_part_t<T>> reals;
  if constexpr (kComplex<T>) {
    const size_t small = static_cast<size_t>(k), large = static_cast<size_t>(std::max(m, n));
    reals.resize(std::max(5 * small * small + 7 * small, 2 * large * small + 2 * small * small + small) + 1);
  }
  return with_workspace<T>([&](T* work, int length) {
    int info = 0;
    const char* job = full ? "A" : "S";
    if constexpr (kComplex<T>) call<T, 1>("gesdd", job, &m, &n, a, &m, s, u, &m, vh, &vh_rows, work, &length, reals.data(), integers.data(), &info);
    else call<T, 1>("gesdd", job, &m, &n, a, &m, s, u, &m, vh, &vh_rows, work, &length, integers.data(), &info);
    return info;
  });
}

template <typename T>
int lapack_eig(int n, T* a, std::complex<real_part_t<T>>* values, std::complex<real_part_t<T>>* vectors) {
  using R = real_part_t<T>;
  const size_t order = static_cast<size_t>(n);
  T* none = nullptr;
  if constexpr (kComplex<T>) {
    std::vector<R> reals(2 * order);
    return with_workspace<T>([&](T* work, int length) {
      int info = 0;
      call<T, 2>("geev", "N", "V", &n, a, &n, values, none, &n, vectors, &n, work, &length, reals.data(), &info);
      return info;
    });
  } else {
    std::vector<R> re(order), im(order), v(order * order);
    const int status = with_workspace<T>([&](T* work, int length) {
      int info = 0;
      call<T, 2>("geev", "N", "V", &n, a, &n, re.data(), im.data(), none, &n, v.data(), &n, work, &length, &info);
      return info;
    });
    if (status != 0) return status;
    // A pair of conjugate eigenvalues shares two columns: the real and the imaginary part of the vector of the first.
    for (size_t j = 0; j < order; ++j) {
      values[j] = {re[j], im[j]};
      const bool pair = im[j] != 0 && j + 1 < order;
      for (size_t i = 0; i < order; ++i) {
        const R x = v[j * order + i], y = pair ? v[(j + 1) * order + i] : R(0);
        vectors[j * order + i] = {x, y};
        if (pair) vectors[(j + 1) * order + i] = {x, -y};
      }
      if (pair) {
        values[j + 1] = {re[j + 1], im[j + 1]};
        ++j;
      }
    }
    return 0;
  }
}

template <typename T>
int lapack_ldl(bool hermitian, int n, T* a, int* pivots) {
  return with_workspace<T>([&](T* work, int length) {
    int info = 0;
    call<T, 1>(kComplex<T> && hermitian ? "hetrf" : "sytrf", "L", &n, a, &n, pivots, work, &length, &info);
    return info;
  });
}

template <typename T>
void lapack_ldl_solve(bool hermitian, int n, int columns, const T* a, const int* pivots, T* b) {
  int info = 0;
  call<T, 1>(kComplex<T> && hermitian ? "hetrs" : "sytrs", "L", &n, &columns, a, &n, pivots, b, &n, &info);
  TRT_INTERNAL(info == 0);
}

#define TRT_LAPACK(T)                                                                             \
  template void lapack_product(int, int, int, const T*, const T*, T*);                            \
  template int lapack_lu(int, int, T*, int*);                                                     \
  template void lapack_lu_solve(int, int, const T*, const int*, T*);                              \
  template void lapack_triangular_solve(bool, bool, bool, int, int, const T*, T*);                \
  template int lapack_cholesky(bool, int, T*);                                                    \
  template void lapack_qr(int, int, T*, T*);                                                      \
  template void lapack_qr_vectors(int, int, int, T*, const T*);                                   \
  template int lapack_eigh(bool, bool, int, T*, real_part_t<T>*);                                 \
  template int lapack_svd(bool, int, int, T*, real_part_t<T>*, T*, T*);                           \
  template int lapack_eig(int, T*, std::complex<real_part_t<T>>*, std::complex<real_part_t<T>>*); \
  template int lapack_ldl(bool, int, T*, int*);                                                   \
  template void lapack_ldl_solve(bool, int, int, const T*, const int*, T*);
TRT_LAPACK(float)
TRT_LAPACK(double)
TRT_LAPACK(std::complex<float>)
TRT_LAPACK(std::complex<double>)
#undef TRT_LAPACK

}  // namespace trt::cpu
