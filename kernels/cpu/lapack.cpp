#include "kernels/cpu/lapack.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/macros.h"
#include "kernels/cpu/blas.h"

namespace trt::cpu {

namespace {

// Fortran: everything by reference, the lengths of strings at the end.
template <typename T>
using GesddFn = void (*)(const char* jobz, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu,
                         T* vt, const int* ldvt, T* work, const int* lwork, int* iwork, int* info, size_t jobz_length);

}  // namespace

template <typename T>
bool svd(int64_t batch, int64_t m, int64_t n, T* a, T* u, T* s, T* vh) {
  const int64_t k = std::min(m, n);
  if (batch == 0 || k == 0) return true;
  constexpr const char* kName = std::is_same_v<T, float> ? "sgesdd_" : "dgesdd_";
  const auto gesdd = reinterpret_cast<GesddFn<T>>(blas().symbol(kName));
  TRT_CHECK_CODE(gesdd != nullptr, Code::kUnavailable, "OpenBLAS: the library ", blas().library, " has no function ",
                 kName);
  // In column-major order the memory holds the transpose, [n,m], whose left vectors are the rows of vh and whose right
  // ones are the columns of u.
  const int rows = static_cast<int>(n), cols = static_cast<int>(m), rank = static_cast<int>(k);
  std::vector<int> iwork(static_cast<size_t>(8 * k));
  int info = 0, lwork = -1;
  T size = 0;
  auto call = [&](int64_t i, T* work) {
    const BlasCall inside;
    gesdd("S", &rows, &cols, a + i * m * n, &rows, s + i * k, vh + i * k * n, &rows, u + i * m * k, &rank, work, &lwork,
          iwork.data(), &info, 1);
  };
  call(0, &size);
  TRT_INTERNAL(info == 0);
  lwork = static_cast<int>(size);
  std::vector<T> work(static_cast<size_t>(std::max(lwork, 1)));
  for (int64_t i = 0; i < batch; ++i) {
    call(i, work.data());
    TRT_INTERNAL(info >= 0);
    if (info > 0) return false;
  }
  return true;
}

template bool svd(int64_t, int64_t, int64_t, float*, float*, float*, float*);
template bool svd(int64_t, int64_t, int64_t, double*, double*, double*, double*);

}  // namespace trt::cpu
