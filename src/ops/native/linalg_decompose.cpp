// Decompositions of matrices: the tensor side of kernels/cpu/lapack.h.
#include <algorithm>
#include <climits>
#include <cmath>

#include "gen/linalg_decompose_native.h"
#include "iter/copy.h"
#include "kernels/cpu/lapack.h"
#include "ops/native/linalg_util.h"

namespace trt {

using namespace linalg;

namespace {

TensorSpec spec_of(const Tensor& t, IntArrayRef sizes, DType dtype) { return TensorSpec(sizes, dtype, t.device()); }

template <typename T>
bool all_finite(const T* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(std::real(p[i])) || !std::isfinite(std::imag(p[i]))) return false;
  return true;
}

// " (matrix 3 of the batch)" where there is a batch.
std::string in_batch(const Tensor& t, int64_t index) { return t.dim() > 2 ? str_cat(" (matrix ", index, " of the batch)") : std::string(); }

void check_converged(int info, const Tensor& t, int64_t index, const char* op) {
  TRT_CHECK(info == 0, op, ": no convergence for ", t, in_batch(t, index));
}

template <typename T>
void check_finite(const T* p, int64_t n, const Tensor& t, const char* op) {
  TRT_CHECK(all_finite(p, n), op, ": ", t, " holds an infinity or NaN");
}

template <typename T>
void set_identity(T* p, int64_t rows, int64_t cols, int64_t batch) {
  for (int64_t i = 0; i < batch * rows * cols; ++i) p[i] = T(0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < std::min(rows, cols); ++i) p[(b * rows + i) * cols + i] = T(1);
}

// The determinant of an LU factorization as a sign and the logarithm of its magnitude.
template <typename T>
std::pair<T, cpu::real_part_t<T>> log_determinant(const Columns<T>& lu, const int* pivots) {
  T sign(1);
  cpu::real_part_t<T> log_magnitude = 0;
  for (int i = 0; i < lu.rows(); ++i) {
    const T d = lu.at(i, i);
    const auto magnitude = std::abs(d);
    if (pivots[i] != i + 1) sign = -sign;
    sign = magnitude == 0 ? T(0) : sign * (d / magnitude);
    log_magnitude += std::log(magnitude);
  }
  return {sign, log_magnitude};
}

bool is_upper(std::string_view uplo, const char* op) {
  TRT_CHECK(uplo == "L" || uplo == "l" || uplo == "U" || uplo == "u", op, ": UPLO must be L or U, got \"", uplo, "\"");
  return uplo == "U" || uplo == "u";
}

enum class QrMode { kReduced, kComplete, kR };
QrMode qr_mode(std::string_view mode) {
  if (mode == "reduced") return QrMode::kReduced;
  if (mode == "complete") return QrMode::kComplete;
  TRT_CHECK(mode == "r", "linalg_qr: mode must be reduced, complete or r, got \"", mode, "\"");
  return QrMode::kR;
}

}  // namespace

// --- LU and what follows from it ---------------------------------------------------------------------------------------

std::array<TensorSpec, 3> meta::linalg_lu_factor_ex(const Tensor& A, bool pivot, bool) {
  check_matrix(A, "linalg_lu_factor");
  check_dtype(A, "linalg_lu_factor");
  TRT_CHECK_CODE(pivot, Code::kNotSupported, "linalg_lu_factor: pivot=False is not supported on the CPU");
  const DimVector batch = batch_of(A);
  return {spec_of(A, A.sizes(), A.dtype()), spec_of(A, joined(batch, {std::min(A.size(-1), A.size(-2))}), DType::Int32), spec_of(A, batch, DType::Int32)};
}

void native::linalg_lu_factor_ex(const Tensor& A, bool, bool check_errors, Tensor& lu, Tensor& pivots, Tensor& info) {
  const Tensor a = contiguous_tensor(A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), batch = info.numel();
  int* status = info.data_ptr<int>();
  dispatch_matrix(A.dtype(), "linalg_lu_factor", [&]<typename T>() {
    Columns<T> x(m, n);
    for (int64_t b = 0; b < batch; ++b) {
      status[b] = 0;
      if (k == 0) continue;
      x.load(a.data_ptr<T>() + b * m * n);
      status[b] = cpu::lapack_lu(x.rows(), x.cols(), x.data(), pivots.data_ptr<int>() + b * k);
      x.store(lu.data_ptr<T>() + b * m * n);
    }
  });
  for (int64_t b = 0; check_errors && b < batch; ++b)
    TRT_CHECK(status[b] == 0, "linalg_lu_factor: U[", status[b], ",", status[b], "] is zero", in_batch(A, b), ", got ", A);
}

TensorSpec meta::lu_permutation(const Tensor& lu, const Tensor& pivots) {
  check_matrix(lu, "lu_unpack");
  TRT_CHECK(pivots.dtype() == DType::Int32, "lu_unpack: the pivots must be int32, got ", pivots);
  const DimVector batch = batch_of(lu);
  TRT_CHECK(pivots.sizes() == IntArrayRef(joined(batch, {std::min(lu.size(-1), lu.size(-2))})), "lu_unpack: pivots ", pivots, " do not fit ", lu);
  return spec_of(lu, joined(batch, {lu.size(-2), lu.size(-2)}), lu.dtype());
}

void native::lu_permutation(const Tensor& lu, const Tensor& pivots_given, Tensor& out) {
  const Tensor pivots = contiguous_tensor(pivots_given);
  const int64_t m = out.size(-1), k = pivots.size(-1), batch = count_of(batch_of(out));
  dispatch_matrix(lu.dtype(), "lu_unpack", [&]<typename T>() {
    T* p = out.data_ptr<T>();
    std::vector<int64_t> rows(static_cast<size_t>(m));
    for (int64_t i = 0; i < out.numel(); ++i) p[i] = T(0);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t i = 0; i < m; ++i) rows[static_cast<size_t>(i)] = i;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t j = pivots.data_ptr<int>()[b * k + i] - 1;
        TRT_CHECK_CODE(j >= 0 && j < m, Code::kOutOfRange, "lu_unpack: a pivot must be between 1 and ", m, ", got ", j + 1);
        std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(j)]);
      }
      for (int64_t i = 0; i < m; ++i) p[(b * m + rows[static_cast<size_t>(i)]) * m + i] = T(1);
    }
  });
}

std::array<TensorSpec, 2> meta::linear_system(const Tensor& A, const Tensor& B) {
  check_square(A, "linalg_solve");
  check_matrix(B, "linalg_solve");
  check_dtype(A, "linalg_solve");
  check_same_dtype(A, B, "linalg_solve");
  const DimVector batch = batch_of(A);
  TRT_CHECK(IntArrayRef(batch) == IntArrayRef(batch_of(B)) && A.size(-1) == B.size(-2), "linalg_solve: sizes do not fit, got ", A, " and ", B);
  return {spec_of(B, B.sizes(), B.dtype()), spec_of(B, batch, DType::Int32)};
}

void native::linear_system(const Tensor& A, const Tensor& B, Tensor& out, Tensor& info) {
  const Tensor a = contiguous_tensor(A), b = contiguous_tensor(B);
  const int64_t n = A.size(-1), k = B.size(-1);
  dispatch_matrix(A.dtype(), "linalg_solve", [&]<typename T>() {
    Columns<T> x(n, n), y(n, k);
    std::vector<int> pivots(static_cast<size_t>(n));
    for (int64_t i = 0; i < info.numel(); ++i) {
      int& status = info.data_ptr<int>()[i] = 0;
      if (n == 0) continue;
      x.load(a.data_ptr<T>() + i * n * n);
      status = cpu::lapack_lu(x.rows(), x.rows(), x.data(), pivots.data());
      if (k == 0) continue;
      y.load(b.data_ptr<T>() + i * n * k);
      cpu::lapack_lu_solve(x.rows(), y.cols(), x.data(), pivots.data(), y.data());
      y.store(out.data_ptr<T>() + i * n * k);
    }
  });
}

std::array<TensorSpec, 2> meta::linalg_slogdet(const Tensor& A) {
  check_square(A, "linalg_slogdet");
  check_dtype(A, "linalg_slogdet");
  const DimVector batch = batch_of(A);
  return {spec_of(A, batch, A.dtype()), spec_of(A, batch, real_dtype(A.dtype()))};
}

void native::linalg_slogdet(const Tensor& A, Tensor& sign, Tensor& logabsdet) {
  const Tensor a = contiguous_tensor(A);
  const int64_t n = A.size(-1);
  dispatch_matrix(A.dtype(), "linalg_slogdet", [&]<typename T>() {
    Columns<T> x(n, n);
    std::vector<int> pivots(static_cast<size_t>(n));
    for (int64_t i = 0; i < sign.numel(); ++i) {
      x.load(a.data_ptr<T>() + i * n * n);
      if (n > 0) cpu::lapack_lu(x.rows(), x.rows(), x.data(), pivots.data());
      const auto [s, l] = log_determinant(x, pivots.data());
      sign.data_ptr<T>()[i] = s;
      logabsdet.data_ptr<cpu::real_part_t<T>>()[i] = l;
    }
  });
}

TensorSpec meta::linalg_det(const Tensor& A) {
  check_square(A, "linalg_det");
  check_dtype(A, "linalg_det");
  return spec_of(A, batch_of(A), A.dtype());
}

void native::linalg_det(const Tensor& A, Tensor& out) {
  const Tensor a = contiguous_tensor(A);
  const int64_t n = A.size(-1);
  dispatch_matrix(A.dtype(), "linalg_det", [&]<typename T>() {
    Columns<T> x(n, n);
    std::vector<int> pivots(static_cast<size_t>(n));
    for (int64_t i = 0; i < out.numel(); ++i) {
      x.load(a.data_ptr<T>() + i * n * n);
      if (n > 0) cpu::lapack_lu(x.rows(), x.rows(), x.data(), pivots.data());
      T det(1);
      for (int64_t j = 0; j < n; ++j) det *= pivots[static_cast<size_t>(j)] == j + 1 ? x.at(j, j) : -x.at(j, j);
      out.data_ptr<T>()[i] = det;
    }
  });
}

TensorSpec meta::triangular_system(const Tensor& A, const Tensor& B, bool, bool left, bool) {
  check_square(A, "linalg_solve_triangular");
  check_matrix(B, "linalg_solve_triangular");
  check_dtype(A, "linalg_solve_triangular");
  check_same_dtype(A, B, "linalg_solve_triangular");
  TRT_CHECK(IntArrayRef(batch_of(A)) == IntArrayRef(batch_of(B)) && A.size(-1) == B.size(left ? -2 : -1),
            "linalg_solve_triangular: sizes do not fit, got ", A, " and ", B);
  return spec_of(B, B.sizes(), B.dtype());
}

void native::triangular_system(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor a = contiguous_tensor(A), b = contiguous_tensor(B);
  const int64_t n = A.size(-1), rows = B.size(-2), cols = B.size(-1), batch = out.numel() / (rows * cols);
  dispatch_matrix(A.dtype(), "linalg_solve_triangular", [&]<typename T>() {
    Columns<T> x(n, n), y(rows, cols);
    for (int64_t i = 0; i < batch; ++i) {
      x.load(a.data_ptr<T>() + i * n * n);
      y.load(b.data_ptr<T>() + i * rows * cols);
      cpu::lapack_triangular_solve(left, upper, unitriangular, y.rows(), y.cols(), x.data(), y.data());
      y.store(out.data_ptr<T>() + i * rows * cols);
    }
  });
}

// --- Cholesky, LDL -----------------------------------------------------------------------------------------------------

std::array<TensorSpec, 2> meta::linalg_cholesky_ex(const Tensor& self, bool, bool) {
  check_square(self, "linalg_cholesky");
  check_dtype(self, "linalg_cholesky");
  return {spec_of(self, self.sizes(), self.dtype()), spec_of(self, batch_of(self), DType::Int32)};
}

void native::linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors, Tensor& out, Tensor& info) {
  const Tensor a = contiguous_tensor(self);
  const int64_t n = self.size(-1);
  int* status = info.data_ptr<int>();
  dispatch_matrix(self.dtype(), "linalg_cholesky", [&]<typename T>() {
    Columns<T> x(n, n);
    for (int64_t b = 0; b < info.numel(); ++b) {
      status[b] = 0;
      if (n == 0) continue;
      x.load(a.data_ptr<T>() + b * n * n);
      status[b] = cpu::lapack_cholesky(upper, x.rows(), x.data());
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (upper ? i > j : i < j) x.at(i, j) = T(0);
      x.store(out.data_ptr<T>() + b * n * n);
    }
  });
  for (int64_t b = 0; check_errors && b < info.numel(); ++b)
    TRT_CHECK(status[b] == 0, "linalg_cholesky: the matrix is not positive-definite (its leading minor of order ", status[b], " is not)", in_batch(self, b),
              ", got ", self);
}

std::array<TensorSpec, 3> meta::linalg_ldl_factor_ex(const Tensor& self, bool, bool) {
  check_square(self, "linalg_ldl_factor");
  check_dtype(self, "linalg_ldl_factor");
  const DimVector batch = batch_of(self);
  return {spec_of(self, self.sizes(), self.dtype()), spec_of(self, joined(batch, {self.size(-1)}), DType::Int32), spec_of(self, batch, DType::Int32)};
}

void native::linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors, Tensor& ld, Tensor& pivots, Tensor& info) {
  const Tensor a = contiguous_tensor(self);
  const int64_t n = self.size(-1);
  int* status = info.data_ptr<int>();
  dispatch_matrix(self.dtype(), "linalg_ldl_factor", [&]<typename T>() {
    Columns<T> x(n, n);
    for (int64_t b = 0; b < info.numel(); ++b) {
      status[b] = 0;
      if (n == 0) continue;
      x.load(a.data_ptr<T>() + b * n * n);
      status[b] = cpu::lapack_ldl(hermitian, x.rows(), x.data(), pivots.data_ptr<int>() + b * n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j) x.at(i, j) = T(0);
      x.store(ld.data_ptr<T>() + b * n * n);
    }
  });
  for (int64_t b = 0; check_errors && b < info.numel(); ++b)
    TRT_CHECK(status[b] == 0, "linalg_ldl_factor: D[", status[b], ",", status[b], "] is zero", in_batch(self, b), ", got ", self);
}

TensorSpec meta::ldl_system(const Tensor& ld, const Tensor& pivots, const Tensor& B, bool) {
  check_square(ld, "linalg_ldl_solve");
  check_matrix(B, "linalg_ldl_solve");
  check_dtype(ld, "linalg_ldl_solve");
  check_same_dtype(ld, B, "linalg_ldl_solve");
  const DimVector batch = batch_of(ld);
  TRT_CHECK(pivots.dtype() == DType::Int32 && pivots.sizes() == IntArrayRef(joined(batch, {ld.size(-1)})),
            "linalg_ldl_solve: the pivots must be int32, one for each column of LD, got ", pivots, " and ", ld);
  TRT_CHECK(IntArrayRef(batch) == IntArrayRef(batch_of(B)) && ld.size(-1) == B.size(-2), "linalg_ldl_solve: sizes do not fit, got ", ld, " and ", B);
  return spec_of(B, B.sizes(), B.dtype());
}

void native::ldl_system(const Tensor& LD, const Tensor& pivots_given, const Tensor& B, bool hermitian, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor ld = contiguous_tensor(LD), pivots = contiguous_tensor(pivots_given), rhs = contiguous_tensor(B);
  const int64_t n = B.size(-2), k = B.size(-1), batch = out.numel() / (n * k);
  const int* p = pivots.data_ptr<int>();
  // A negative pivot is that of a block of two, in which both rows have one.
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < n; ++i) {
      const int64_t v = p[b * n + i], row = v < 0 ? -v : v;
      TRT_CHECK_CODE(row >= 1 && row <= n, Code::kOutOfRange, "linalg_ldl_solve: a pivot must be between 1 and ", n, " or negative in a block of two, got ", v);
      if (v > 0) continue;
      TRT_CHECK_CODE(i + 1 < n && p[b * n + i + 1] == v, Code::kOutOfRange, "linalg_ldl_solve: the negative pivot ", v, " has no equal one after it");
      ++i;
    }
  dispatch_matrix(ld.dtype(), "linalg_ldl_solve", [&]<typename T>() {
    Columns<T> x(n, n), y(n, k);
    for (int64_t b = 0; b < batch; ++b) {
      x.load(ld.data_ptr<T>() + b * n * n);
      y.load(rhs.data_ptr<T>() + b * n * k);
      cpu::lapack_ldl_solve(hermitian, x.rows(), y.cols(), x.data(), p + b * n, y.data());
      y.store(out.data_ptr<T>() + b * n * k);
    }
  });
}

// --- QR ------------------------------------------------------------------------------------------------------------------

std::array<TensorSpec, 2> meta::linalg_qr(const Tensor& A, std::string_view mode) {
  check_matrix(A, "linalg_qr");
  check_dtype(A, "linalg_qr");
  const QrMode kind = qr_mode(mode);
  const int64_t m = A.size(-2), n = A.size(-1), k = kind == QrMode::kComplete ? m : std::min(m, n);
  const DimVector batch = batch_of(A);
  return {spec_of(A, kind == QrMode::kR ? DimVector{0} : joined(batch, {m, k}), A.dtype()), spec_of(A, joined(batch, {k, n}), A.dtype())};
}

void native::linalg_qr(const Tensor& A, std::string_view mode, Tensor& Q, Tensor& R) {
  const Tensor a = contiguous_tensor(A);
  const QrMode kind = qr_mode(mode);
  const int64_t m = A.size(-2), n = A.size(-1), k = R.size(-2), reflectors = std::min(m, n), batch = count_of(batch_of(A));
  dispatch_matrix(A.dtype(), "linalg_qr", [&]<typename T>() {
    if (reflectors == 0) {
      if (kind != QrMode::kR) set_identity(Q.data_ptr<T>(), m, k, batch);
      return;
    }
    Columns<T> x(m, n), q(m, k);
    std::vector<T> scales(static_cast<size_t>(reflectors));
    for (int64_t b = 0; b < batch; ++b) {
      x.load(a.data_ptr<T>() + b * m * n);
      cpu::lapack_qr(x.rows(), x.cols(), x.data(), scales.data());
      T* r = R.data_ptr<T>() + b * k * n;
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j) r[i * n + j] = i <= j ? x.at(i, j) : T(0);
      if (kind == QrMode::kR) continue;
      for (int64_t j = 0; j < k; ++j)
        for (int64_t i = 0; i < m; ++i) q.at(i, j) = j < reflectors ? x.at(i, j) : T(0);
      cpu::lapack_qr_vectors(q.rows(), q.cols(), static_cast<int>(reflectors), q.data(), scales.data());
      q.store(Q.data_ptr<T>() + b * m * k);
    }
  });
}

std::array<TensorSpec, 2> meta::geqrf(const Tensor& self) {
  check_matrix(self, "geqrf");
  check_dtype(self, "geqrf");
  return {spec_of(self, self.sizes(), self.dtype()), spec_of(self, joined(batch_of(self), {std::min(self.size(-2), self.size(-1))}), self.dtype())};
}

void native::geqrf(const Tensor& self, Tensor& a, Tensor& tau) {
  if (tau.numel() == 0) return;
  const Tensor input = contiguous_tensor(self);
  const int64_t m = self.size(-2), n = self.size(-1), k = tau.size(-1);
  dispatch_matrix(self.dtype(), "geqrf", [&]<typename T>() {
    Columns<T> x(m, n);
    for (int64_t b = 0; b < tau.numel() / k; ++b) {
      x.load(input.data_ptr<T>() + b * m * n);
      cpu::lapack_qr(x.rows(), x.cols(), x.data(), tau.data_ptr<T>() + b * k);
      x.store(a.data_ptr<T>() + b * m * n);
    }
  });
}

// --- eigenvalues and singular values ---------------------------------------------------------------------------------------

namespace {
// LAPACK counts the elements of its workspace, `factor` k^2 and some, in 32 bits.
void check_workspace(const Tensor& t, int64_t k, int64_t factor, const char* op) {
  TRT_CHECK_CODE(k <= 0 || factor * (k + 4) <= INT_MAX / (k + 4), Code::kNotSupported, op, ": LAPACK does not take matrices so large, got ", t);
}
}  // namespace

std::array<TensorSpec, 2> meta::linalg_eigh(const Tensor& self, std::string_view UPLO) {
  check_square(self, "linalg_eigh");
  check_dtype(self, "linalg_eigh");
  is_upper(UPLO, "linalg_eigh");
  return {spec_of(self, joined(batch_of(self), {self.size(-1)}), real_dtype(self.dtype())), spec_of(self, self.sizes(), self.dtype())};
}

void native::linalg_eigh(const Tensor& self, std::string_view UPLO, Tensor& values, Tensor& vectors) {
  if (values.numel() == 0) return;
  const int64_t n = self.size(-1);
  check_workspace(self, n, 2, "linalg_eigh");
  const Tensor a = contiguous_tensor(self);
  const bool upper = is_upper(UPLO, "linalg_eigh");
  dispatch_matrix(self.dtype(), "linalg_eigh", [&]<typename T>() {
    check_finite(a.data_ptr<T>(), a.numel(), self, "linalg_eigh");
    Columns<T> x(n, n);
    for (int64_t b = 0; b < values.numel() / n; ++b) {
      x.load(a.data_ptr<T>() + b * n * n);
      check_converged(cpu::lapack_eigh(true, upper, x.rows(), x.data(), values.data_ptr<cpu::real_part_t<T>>() + b * n), self, b, "linalg_eigh");
      x.store(vectors.data_ptr<T>() + b * n * n);
    }
  });
}

std::array<TensorSpec, 3> meta::linalg_svd(const Tensor& A, bool full_matrices) {
  check_matrix(A, "linalg_svd");
  check_dtype(A, "linalg_svd");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const DimVector batch = batch_of(A);
  return {spec_of(A, joined(batch, {m, full_matrices ? m : k}), A.dtype()), spec_of(A, joined(batch, {k}), real_dtype(A.dtype())),
          spec_of(A, joined(batch, {full_matrices ? n : k, n}), A.dtype())};
}

void native::linalg_svd(const Tensor& A, bool full_matrices, Tensor& U, Tensor& S, Tensor& Vh) {
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), batch = count_of(batch_of(A));
  check_workspace(A, k, 5, "linalg_svd");
  const Tensor a = contiguous_tensor(A);
  dispatch_matrix(A.dtype(), "linalg_svd", [&]<typename T>() {
    const int64_t u_cols = U.size(-1), v_rows = Vh.size(-2);
    if (k == 0) {
      set_identity(U.data_ptr<T>(), m, u_cols, batch);
      set_identity(Vh.data_ptr<T>(), v_rows, n, batch);
      return;
    }
    check_finite(a.data_ptr<T>(), a.numel(), A, "linalg_svd");
    Columns<T> x(m, n), u(m, u_cols), vh(v_rows, n);
    for (int64_t b = 0; b < batch; ++b) {
      x.load(a.data_ptr<T>() + b * m * n);
      const int info = cpu::lapack_svd(full_matrices, x.rows(), x.cols(), x.data(), S.data_ptr<cpu::real_part_t<T>>() + b * k, u.data(), vh.data());
      check_converged(info, A, b, "linalg_svd");
      u.store(U.data_ptr<T>() + b * m * u_cols);
      vh.store(Vh.data_ptr<T>() + b * v_rows * n);
    }
  });
}

std::array<TensorSpec, 2> meta::linalg_eig(const Tensor& self) {
  check_square(self, "linalg_eig");
  check_dtype(self, "linalg_eig");
  const DType t = complex_dtype(self.dtype());
  return {spec_of(self, joined(batch_of(self), {self.size(-1)}), t), spec_of(self, self.sizes(), t)};
}

void native::linalg_eig(const Tensor& self, Tensor& values, Tensor& vectors) {
  if (values.numel() == 0) return;
  const Tensor a = contiguous_tensor(self);
  const int64_t n = self.size(-1);
  dispatch_matrix(self.dtype(), "linalg_eig", [&]<typename T>() {
    using C = std::complex<cpu::real_part_t<T>>;
    check_finite(a.data_ptr<T>(), a.numel(), self, "linalg_eig");
    Columns<T> x(n, n);
    Columns<C> v(n, n);
    for (int64_t b = 0; b < values.numel() / n; ++b) {
      x.load(a.data_ptr<T>() + b * n * n);
      check_converged(cpu::lapack_eig(x.rows(), x.data(), values.data_ptr<C>() + b * n, v.data()), self, b, "linalg_eig");
      v.store(vectors.data_ptr<C>() + b * n * n);
    }
  });
}

// --- functions of matrices -------------------------------------------------------------------------------------------------

TensorSpec meta::pseudoinverse_of(const Tensor& self, const Tensor& pinv) {
  check_matrix(self, "linalg_pinv");
  check_same_dtype(self, pinv, "linalg_pinv");
  TRT_CHECK(pinv.sizes() == IntArrayRef(joined(batch_of(self), {self.size(-1), self.size(-2)})), "linalg_pinv: the pseudoinverse ", pinv, " does not fit ", self);
  return spec_of(pinv, pinv.sizes(), pinv.dtype());
}

void native::pseudoinverse_of(const Tensor&, const Tensor& pinv, Tensor& out) { copy_tensor(out, pinv); }

TensorSpec meta::linalg_matrix_exp(const Tensor& self) {
  check_square(self, "linalg_matrix_exp");
  TRT_CHECK_CODE(is_differentiable(self.dtype()), Code::kNotSupported, "linalg_matrix_exp: needs a floating-point or complex dtype, got ", self);
  return spec_of(self, self.sizes(), self.dtype());
}

namespace {

// Polynomials in few products, as in Bader, Blanes, Casas, "Computing the matrix exponential with an optimized Taylor polynomial approximation" (Mathematics
// 2019): Taylor's of degree 1, 2, 4, 8 and 12 take 0, 1, 2, 3 and 4. Their bounds of the 1-norm, up to which the error of the polynomial is below the unit
// roundoff, for float and double, stand in table 2 there. Larger matrices are halved until they fit, and the result squared as often.
constexpr int kDegrees[] = {1, 2, 4, 8, 12};
template <typename R>
constexpr R kNormBounds[] = {};
template <>
constexpr float kNormBounds<float>[] = {1.19e-7F, 5.97e-4F, 5.11e-2F, 5.80e-1F, 1.46F};
template <>
constexpr double kNormBounds<double>[] = {2.22e-16, 2.58e-8, 3.39e-4, 4.99e-2, 2.99e-1};

// Row-major matrices are taken for their transposes, column by column: so are then the results.
template <typename T>
class Exponential {
 public:
  using R = cpu::real_part_t<T>;

  // Of matrices [[D, E], [0, D]] with n rows in D, as gradients need them, if `blocks`: they are kept as D and E, and their products take 3 of n rows, not 8.
  Exponential(int64_t n, bool blocks) : n_(n), size_(blocks ? 2 * n * n : n * n), blocks_(blocks), memory_(static_cast<size_t>(7 * size_)) {
    for (int i = 0; i < 7; ++i) part_[i] = memory_.data() + i * size_;
  }

  static bool has_blocks(int64_t n, const T* a) {
    const int64_t m = n / 2;
    if (n % 2 || m < 4) return false;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < m; ++j)
        if (a[(m + i) * n + j] != T(0) || !(a[i * n + j] == a[(m + i) * n + m + j])) return false;
    return true;
  }

  // out = exp(a); NaN if an element is not finite.
  void run(const T* a, T* out) {
    if (!blocks_) return run_parts(a, out);
    T* both = part_[6];
    const int64_t width = 2 * n_;
    for (int64_t i = 0; i < n_; ++i) {
      std::copy_n(a + i * width, n_, both + i * n_);
      std::copy_n(a + i * width + n_, n_, both + (n_ + i) * n_);
    }
    run_parts(both, both);
    for (int64_t i = 0; i < n_; ++i) {
      std::copy_n(both + i * n_, n_, out + i * width);
      std::copy_n(both + (n_ + i) * n_, n_, out + i * width + n_);
      std::fill_n(out + (n_ + i) * width, n_, both[0] == both[0] ? T(0) : both[0]);
      std::copy_n(both + i * n_, n_, out + (n_ + i) * width + n_);
    }
  }

 private:
  void run_parts(const T* a, T* out) {
    R norm = 0;
    for (int64_t j = 0; j < n_; ++j) {
      R sum = 0;
      for (int64_t i = 0; i < n_; ++i) sum += std::abs(a[j * n_ + i]);
      if (blocks_)
        for (int64_t i = 0; i < n_; ++i) sum += std::abs(a[(n_ + j) * n_ + i]);
      if (!(sum <= norm)) norm = sum;
    }
    if (!std::isfinite(norm)) {
      std::fill_n(out, size_, T(std::numeric_limits<R>::quiet_NaN()));
      return;
    }
    const auto& bounds = kNormBounds<R>;
    int squarings = 0;
    size_t kind = 0;
    while (kind < 4 && norm > bounds[kind]) ++kind;
    if (norm > bounds[4]) {
      std::frexp(norm / bounds[4], &squarings);
      kind = 4;
    }
    T* x = part_[0];
    const R scale = std::ldexp(R(1), -squarings);
    for (int64_t i = 0; i < size_; ++i) x[i] = a[i] * scale;
    T* result = polynomial(kDegrees[kind]);
    T* spare = result == part_[1] ? part_[2] : part_[1];
    for (int i = 0; i < squarings; ++i) {
      product(result, result, spare);
      std::swap(result, spare);
    }
    std::copy_n(result, size_, out);
  }

  void product(const T* a, const T* b, T* c) const {
    if (!blocks_) return plain_product(a, b, c);
    const int64_t one = n_ * n_;
    T* other = part_[6];
    plain_product(a, b, c);
    plain_product(a, b + one, c + one);
    plain_product(a + one, b, other);
    for (int64_t i = 0; i < one; ++i) c[one + i] += other[i];
  }

  void plain_product(const T* a, const T* b, T* c) const {
    // Small ones without the cost of a call.
    if (n_ <= 4) {
      for (int64_t j = 0; j < n_; ++j)
        for (int64_t i = 0; i < n_; ++i) {
          T sum(0);
          for (int64_t k = 0; k < n_; ++k) sum += a[k * n_ + i] * b[j * n_ + k];
          c[j * n_ + i] = sum;
        }
      return;
    }
    const int n = static_cast<int>(n_);
    cpu::lapack_product(n, n, n, a, b, c);
  }

  // to = f[0] I + f[1] x[0] + f[2] x[1] ...
  template <size_t N>
  void combine(T* to, const R (&f)[N + 1], const T* const (&x)[N]) const {
    for (int64_t i = 0; i < size_; ++i) {
      T sum = f[1] * x[0][i];
      for (size_t k = 1; k < N; ++k) sum += f[k + 1] * x[k][i];
      to[i] = sum;
    }
    for (int64_t i = 0; i < n_; ++i) to[i * n_ + i] += f[0];
  }

  // Of part 0; gives the part that holds the result.
  T* polynomial(int degree) {
    T *x = part_[0], *x2 = part_[1], *a = part_[2], *b = part_[3], *c = part_[4], *d = part_[5];
    if (degree == 1) {
      combine<1>(a, {1, 1}, {x});
      return a;
    }
    product(x, x, x2);
    if (degree == 2) {
      combine<2>(a, {1, 1, R(0.5)}, {x, x2});
      return a;
    }
    if (degree == 4) {
      combine<2>(a, {R(0.5), R(1.0 / 6), R(1.0 / 24)}, {x, x2});
      product(x2, a, b);
      combine<2>(a, {1, 1, 1}, {x, b});
      return a;
    }
    if (degree == 8) {
      const double root = std::sqrt(177.0), f = 2.0 / 3;
      combine<2>(a, {0, R(f * (1 + root) / 88), R(f * (1 + root) / 352)}, {x, x2});
      product(x2, a, b);
      combine<2>(a, {0, R(f), 1}, {x2, b});
      combine<3>(c, {R((-271 + 29 * root) / (315 * f)), R(11 * (root - 1) / (1260 * f)), R(11 * (root - 9) / (5040 * f)), R((89 - root) / (5040 * f * f))}, {x, x2, b});
      product(a, c, b);
      combine<3>(a, {1, 1, R((857 - 58 * root) / 630), 1}, {x, x2, b});
      return a;
    }
    // With q = f(x)^2 + r(x) of degree 6 it is g(x) + (h(x) + q) q, where f, g, h and r are of degree 3: 16 numbers for 13 coefficients. That of x^3 in q is
    // 1 / 80 and those of 1 in q and f are 0; then the others follow, and all of them are small.
    T* x3 = c;
    product(x2, x, x3);
    combine<3>(a, {0, R(0.1318106101383018402), R(0.02027855540589259079), R(0.006759518468630863598)}, {x, x2, x3});
    product(a, a, b);
    combine<4>(a, {0, R(-0.03233963478636449297), R(0.09915721848798622052), R(0.007154142478451876969), 1}, {x, x2, x3, b});
    combine<4>(b, {R(5.449632121760621297), R(1.374003142542669273), R(0.0005103408446827501374), R(0.008994170906254731067), 1}, {x, x2, x3, a});
    product(b, a, d);
    combine<4>(a, {1, R(1.176239112537779129), R(-0.09166356494983314079), R(-0.05401438530441552131), 1}, {x, x2, x3, d});
    return a;
  }

  int64_t n_, size_;
  bool blocks_;
  std::vector<T> memory_;
  T* part_[7];
};

}  // namespace

void native::linalg_matrix_exp(const Tensor& self, Tensor& out) {
  if (out.numel() == 0) return;
  // Squaring multiplies the error of what is squared: in double precision while that costs little.
  const int64_t n = self.size(-1), size = n * n;
  constexpr int64_t kSmall = 64;
  const bool complex = is_complex(self.dtype());
  const DType compute = n <= kSmall ? (complex ? DType::Complex128 : DType::Float64) : is_reduced_floating(self.dtype()) ? DType::Float32 : self.dtype();
  const Tensor a = contiguous_tensor(self, compute);
  Tensor result = compute == out.dtype() ? out : empty_tensor(out.sizes(), compute);
  dispatch_matrix(compute, "linalg_matrix_exp", [&]<typename T>() {
    const T* from = a.data_ptr<T>();
    T* to = result.data_ptr<T>();
    bool blocks = true;
    for (int64_t b = 0; b < a.numel() / size && blocks; ++b) blocks = Exponential<T>::has_blocks(n, from + b * size);
    Exponential<T> one(blocks ? n / 2 : n, blocks);
    for (int64_t b = 0; b < a.numel() / size; ++b) one.run(from + b * size, to + b * size);
  });
  if (compute != out.dtype()) copy_tensor(out, result);
}

}  // namespace trt
