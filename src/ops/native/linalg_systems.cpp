// Systems of equations, inverses, determinants, pseudoinverses: made of the decompositions.
#include <cmath>
#include <limits>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/linalg_compose_native.h"
#include "iter/promotion.h"
#include "ops/native/linalg_util.h"

namespace trt::composite {

using namespace linalg;

namespace {

Tensor identity(int64_t n, const Tensor& like) { return op::eye(n, std::nullopt, like.dtype(), like.device()); }
IntArrayRef last() {
  static constexpr int64_t kLast[] = {-1};
  return IntArrayRef(kLast, 1);
}

// Both with the broadcast batch.
std::pair<Tensor, Tensor> same_batch(const Tensor& a, const Tensor& b, const char* op) {
  const DimVector batch = broadcast_shapes(batch_of(a), batch_of(b), op);
  return {op::expand(a, joined(batch, {a.size(-2), a.size(-1)})), op::expand(b, joined(batch, {b.size(-2), b.size(-1)}))};
}

// Throws where a status is not zero. Nothing can be read from Meta tensors.
void check_status(const Tensor& info, const char* op, const char* what) {
  if (info.is_meta()) return;
  const Tensor status = contiguous_tensor(info);
  for (int64_t i = 0; i < status.numel(); ++i) {
    const int s = status.data_ptr<int>()[i];
    TRT_CHECK(s == 0, op, ": ", what, " (position ", s, ")", info.dim() > 0 ? str_cat(", matrix ", i, " of the batch") : std::string());
  }
}
constexpr const char* kSingular = "the matrix is singular: a pivot is zero";

bool is_vector_side(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == a.sizes().slice(0, a.sizes().size() - 1));
}

double epsilon_of(DType t) { return real_dtype(t) == DType::Float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon(); }

// Where a singular value counts: above the larger of atol and rtol times the largest. `values` are magnitudes.
struct Bounds {
  Tensor atol, rtol;
};

void check_bounds(const Tensor& self, bool hermitian, const char* op) {
  if (hermitian) check_square(self, op);
  else check_matrix(self, op);
  check_dtype(self, op);
}

Bounds bounds_of(const Tensor& self, const Tensor& atol, const Tensor& rtol, const char* op) {
  for (const Tensor& t : {atol, rtol}) TRT_CHECK(!t.defined() || !is_complex(t.dtype()), op, ": bounds must be real, got ", t);
  const DType dtype = real_dtype(self.dtype());
  auto number = [&](double v) { return op::full({}, Scalar(v), dtype, self.device()); };
  Bounds b{atol.defined() ? op::to(atol, dtype) : number(0), rtol.defined() ? op::to(rtol, dtype) : Tensor()};
  if (!b.rtol.defined()) {
    const Tensor usual = number(epsilon_of(dtype) * static_cast<double>(std::max(self.size(-1), self.size(-2))));
    b.rtol = atol.defined() ? op::where(op::gt(b.atol, Scalar(0)), number(0), usual) : usual;
  }
  return b;
}

Tensor counted(const Tensor& values, const Bounds& b) {
  const Tensor largest = op::amax(values, last(), true);
  return op::gt(values, op::maximum(op::unsqueeze(b.atol, -1), op::mul(op::unsqueeze(b.rtol, -1), largest)));
}

Tensor as_bound(const std::optional<double>& v, const Tensor& self) {
  return v ? op::full({}, Scalar(*v), DType::Float64, self.device()) : Tensor();
}

// The pseudoinverse without gradient.
Tensor pseudoinverse(const Tensor& self, const Bounds& bounds, bool hermitian) {
  auto inverted = [&](const Tensor& values, const Tensor& magnitudes) {
    const Tensor counts = counted(magnitudes, bounds);
    return op::where(counts, op::reciprocal(op::where(counts, values, Scalar(1))), Scalar(0));
  };
  if (hermitian) {
    const auto [values, vectors] = op::linalg_eigh(self, "L");
    const Tensor scaled = op::mul(vectors, op::unsqueeze(inverted(values, op::abs(values)), -2));
    return op::matmul(scaled, op::adjoint(vectors));
  }
  const auto [u, s, vh] = op::linalg_svd(self, false);
  return op::matmul(op::mul(op::adjoint(vh), op::unsqueeze(inverted(s, s), -2)), op::adjoint(u));
}

// The pseudoinverse with the gradient of one, whatever it was computed from.
Tensor pinv_within(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_bounds(self, hermitian, "linalg_pinv");
  const DimVector sizes = joined(batch_of(self), {self.size(-1), self.size(-2)});
  Tensor p;
  std::optional<GradModeGuard> no_graph(false);
  if (self.numel() == 0) p = op::zeros(sizes, self.dtype(), self.device());
  else p = pseudoinverse(self, bounds_of(self, atol, rtol, "linalg_pinv"), hermitian);
  TRT_CHECK(p.sizes() == IntArrayRef(sizes), "linalg_pinv: the bounds must broadcast to the batch, got ", self, " and a result of shape ", p.sizes());
  no_graph.reset();
  return op::pseudoinverse_of(self, p);
}

Tensor rank_within(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_bounds(self, hermitian, "linalg_matrix_rank");
  if (self.numel() == 0) return op::zeros(batch_of(self), DType::Int64, self.device());
  const GradModeGuard no_graph(false);
  const Tensor values = hermitian ? op::abs(op::linalg_eigvalsh(self, "L")) : op::linalg_svdvals(self);
  return op::sum(counted(values, bounds_of(self, atol, rtol, "linalg_matrix_rank")), last(), false, std::nullopt);
}

// Applies Householder reflectors H_i = I - tau_i v_i v_i^H one after the other: from the left (H x) or the right (x H).
Tensor reflected(const Tensor& reflectors, const Tensor& tau_given, Tensor x, bool left, bool adjoint, const char* op_name) {
  check_matrix(reflectors, op_name);
  check_dtype(reflectors, op_name);
  check_same_dtype(reflectors, tau_given, op_name);
  const int64_t m = reflectors.size(-2), n = reflectors.size(-1), k = tau_given.dim() > 0 ? tau_given.size(-1) : 0;
  TRT_CHECK(tau_given.dim() == reflectors.dim() - 1 && IntArrayRef(batch_of(tau_given, 1)) == IntArrayRef(batch_of(reflectors)) && k <= std::min(m, n), op_name,
            ": tau must have the batch of the reflectors and at most as many elements as they have columns, got ", reflectors, " and ", tau_given);
  // The steps of reflectors that are not orthogonal cancel each other: single precision computes in double.
  if (const DType d = x.dtype(); d == reflectors.dtype() && (d == DType::Float32 || d == DType::Complex64)) {
    const DType wide = d == DType::Float32 ? DType::Float64 : DType::Complex128;
    return op::to(reflected(op::to(reflectors, wide), op::to(tau_given, wide), op::to(x, wide), left, adjoint, op_name), d);
  }
  // Without reflectors the history still goes through them where the shapes allow it (the gradient is 0).
  if (k == 0) return x.sizes() == reflectors.sizes() ? op::where(op::zeros({}, DType::Bool, x.device()), reflectors, x) : op::clone(x);
  const Tensor tau = adjoint ? op::conj(tau_given) : tau_given;
  const Tensor v = op::add(op::tril(op::narrow(reflectors, -1, 0, k), -1), op::eye(m, k, reflectors.dtype(), reflectors.device()));
  const bool from_last = left != adjoint;
  for (int64_t step = 0; step < k; ++step) {
    const int64_t i = from_last ? k - 1 - step : step;
    const Tensor column = op::narrow(v, -1, i, 1), row = op::adjoint(column), scale = op::unsqueeze(op::narrow(tau, -1, i, 1), -1);
    x = op::sub(x, left ? op::matmul(op::mul(column, scale), op::matmul(row, x)) : op::matmul(op::matmul(x, op::mul(column, scale)), row));
  }
  return x;
}

}  // namespace

// --- Cholesky --------------------------------------------------------------------------------------------------------------

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  return std::get<0>(op::linalg_cholesky_ex(self, upper, true));
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  check_square(input2, "cholesky_solve");
  check_matrix(self, "cholesky_solve");
  const Tensor l = upper ? op::adjoint(input2) : input2;
  return op::linalg_solve_triangular(op::adjoint(l), op::linalg_solve_triangular(l, self, false, true, false), true, true, false);
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square(self, "cholesky_inverse");
  check_dtype(self, "cholesky_inverse");
  return op::cholesky_solve(op::expand(identity(self.size(-1), self), self.sizes()), self, upper);
}

// --- LU --------------------------------------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  const auto [lu, pivots, info] = op::linalg_lu_factor_ex(A, pivot, true);
  return {lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data, bool unpack_pivots) {
  check_matrix(LU_data, "lu_unpack");
  const Tensor none = op::zeros({0}, LU_data.dtype(), LU_data.device());
  const int64_t m = LU_data.size(-2), n = LU_data.size(-1), k = std::min(m, n);
  const Tensor p = unpack_pivots ? op::lu_permutation(LU_data, LU_pivots) : none;
  if (!unpack_data) return {p, none, none};
  const Tensor l = op::add(op::tril(op::narrow(LU_data, -1, 0, k), -1), op::eye(m, k, LU_data.dtype(), LU_data.device()));
  return {p, l, op::triu(op::narrow(LU_data, -2, 0, k), 0)};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  const auto [lu, pivots, info] = op::linalg_lu_factor_ex(A, pivot, false);
  return op::lu_unpack(lu, pivots, true, true);
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  check_square(LU, "linalg_lu_solve");
  check_dtype(LU, "linalg_lu_solve");
  check_matrix(B, "linalg_lu_solve");
  check_same_dtype(LU, B, "linalg_lu_solve");
  TRT_CHECK(LU.size(-1) == B.size(left ? -2 : -1), "linalg_lu_solve: sizes do not fit, got ", LU, " and ", B);
  const Tensor p = op::lu_permutation(LU, pivots);
  auto solved = [&](const Tensor& factor, const Tensor& b, bool upper, bool unit) { return op::linalg_solve_triangular(factor, b, upper, left, unit); };
  // A = P L U, and A^H = U^H L^H P^T.
  if (left && !adjoint) return solved(LU, solved(LU, op::matmul(op::mT(p), B), false, true), true, false);
  if (!left && !adjoint) return op::matmul(solved(LU, solved(LU, B, true, false), false, true), op::mT(p));
  const Tensor turned = op::adjoint(LU);
  if (left) return op::matmul(p, solved(turned, solved(turned, B, false, false), true, true));
  return solved(turned, solved(turned, op::matmul(B, p), true, true), false, false);
}

// --- systems and inverses --------------------------------------------------------------------------------------------------

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  check_square(self, "linalg_solve_triangular");
  check_matrix(B, "linalg_solve_triangular");
  const auto [a, b] = same_batch(self, B, "linalg_solve_triangular");
  return op::triangular_system(a, b, upper, left, unitriangular);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular) {
  check_matrix(self, "triangular_solve");
  check_square(A, "triangular_solve");
  const auto [a, b] = same_batch(A, self, "triangular_solve");
  return {op::triangular_system(transpose ? op::mT(a) : a, b, upper != transpose, true, unitriangular), op::clone(a)};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  check_square(A, "linalg_solve");
  check_dtype(A, "linalg_solve");
  check_same_dtype(A, B, "linalg_solve");
  const bool vector = is_vector_side(A, B);
  TRT_CHECK(left || !vector, "linalg_solve: vectors as right-hand sides need left=True, got ", A, " and ", B);
  TRT_CHECK(vector || B.dim() >= 2, "linalg_solve: the right-hand side must be matrices or vectors, got ", A, " and ", B);
  const Tensor rhs = vector ? op::unsqueeze(B, -1) : B;
  TRT_CHECK(A.size(-1) == rhs.size(left ? -2 : -1), "linalg_solve: sizes do not fit, got ", A, " and ", B);
  const auto [a, b] = same_batch(A, rhs, "linalg_solve");
  auto [x, info] = left ? op::linear_system(a, b) : op::linear_system(op::mT(a), op::mT(b));
  if (check_errors) check_status(info, "linalg_solve", kSingular);
  if (!left) x = op::mT(x);
  // One status for each matrix of A, which broadcasting repeats.
  const DimVector batch = batch_of(A);
  if (info.sizes() != IntArrayRef(batch) && info.numel() > 0) {
    const int64_t extra = info.dim() - static_cast<int64_t>(batch.size());
    for (int64_t i = 0; i < extra; ++i) info = op::select(info, 0, 0);
    for (size_t d = 0; d < batch.size(); ++d)
      if (batch[d] == 1) info = op::narrow(info, static_cast<int64_t>(d), 0, 1);
  }
  return {vector ? op::squeeze(x, -1) : x, info};
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) { return std::get<0>(op::linalg_solve_ex(A, B, left, true)); }

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square(A, "linalg_inv");
  check_dtype(A, "linalg_inv");
  const auto [x, info] = op::linear_system(A, op::expand(identity(A.size(-1), A), A.sizes()));
  if (check_errors) check_status(info, "linalg_inv", kSingular);
  return {x, info};
}

Tensor linalg_inv(const Tensor& A) { return std::get<0>(op::linalg_inv_ex(A, true)); }

Tensor logdet(const Tensor& self) {
  const auto [sign, magnitude] = op::linalg_slogdet(self);
  if (is_complex(self.dtype())) return op::add(op::log(sign), magnitude);
  return op::where(op::lt(sign, Scalar(0)), Scalar(std::numeric_limits<double>::quiet_NaN()), magnitude);
}

Tensor linalg_tensorinv(const Tensor& self, int64_t ind) {
  TRT_CHECK(ind > 0 && ind <= self.dim(), "linalg_tensorinv: ind must be between 1 and the number of dimensions, got ", ind, " and ", self);
  const IntArrayRef first = self.sizes().slice(0, static_cast<size_t>(ind)), rest = self.sizes().slice(static_cast<size_t>(ind), self.sizes().size() - static_cast<size_t>(ind));
  const int64_t n = count_of(first);
  TRT_CHECK(n == count_of(rest), "linalg_tensorinv: the first ", ind, " dimensions must hold as many elements as the others, got ", self);
  DimVector sizes(rest.data(), rest.size());
  for (int64_t s : first) sizes.push_back(s);
  return op::reshape(op::linalg_inv(op::reshape(self, {n, n})), sizes);
}

Tensor linalg_tensorsolve(const Tensor& self, const Tensor& other, std::optional<IntArrayRef> dims) {
  Tensor a = self;
  if (dims) {
    DimVector target;
    for (size_t i = 0; i < dims->size(); ++i) target.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims->size()));
    a = op::movedim(self, *dims, target);
  }
  TRT_CHECK(other.dim() <= a.dim(), "linalg_tensorsolve: other has more dimensions than self, got ", self, " and ", other);
  const size_t from = static_cast<size_t>(other.dim());
  const DimVector sizes(a.sizes().data() + from, a.sizes().size() - from);
  const int64_t n = count_of(sizes);
  TRT_CHECK(n == other.numel() && a.numel() == n * n, "linalg_tensorsolve: self must hold the square of the number of elements of other, got ", self, " and ", other);
  return op::reshape(op::linalg_solve(op::reshape(a, {n, n}), op::reshape(other, {n}), true), sizes);
}

// --- eigenvalues, singular values, QR --------------------------------------------------------------------------------------

Tensor linalg_eigvalsh(const Tensor& self, std::string_view UPLO) { return std::get<0>(op::linalg_eigh(self, UPLO)); }
Tensor linalg_eigvals(const Tensor& self) { return std::get<0>(op::linalg_eig(self)); }
Tensor linalg_svdvals(const Tensor& A) { return std::get<1>(op::linalg_svd(A, false)); }

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some, bool compute_uv) {
  check_matrix(self, "svd");
  if (!compute_uv) {
    auto zeros = [&](int64_t n) { return op::zeros(joined(batch_of(self), {n, n}), self.dtype(), self.device()); };
    return {zeros(self.size(-2)), op::linalg_svdvals(self), zeros(self.size(-1))};
  }
  const auto [u, s, vh] = op::linalg_svd(self, !some);
  return {u, s, op::adjoint(vh)};
}

std::tuple<Tensor, Tensor> qr(const Tensor& self, bool some) { return op::linalg_qr(self, some ? "reduced" : "complete"); }

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  check_matrix(input, "linalg_householder_product");
  TRT_CHECK(input.size(-2) >= input.size(-1), "linalg_householder_product: there must be at least as many rows as columns, got ", input);
  const Tensor start = op::expand(op::eye(input.size(-2), input.size(-1), input.dtype(), input.device()), input.sizes());
  return reflected(input, tau, start, true, false, "linalg_householder_product");
}

Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) {
  check_matrix(self, "ormqr");
  check_matrix(input3, "ormqr");
  check_same_dtype(self, input3, "ormqr");
  TRT_CHECK(IntArrayRef(batch_of(self)) == IntArrayRef(batch_of(input3)) && self.size(-2) == input3.size(left ? -2 : -1),
            "ormqr: the matrices do not fit the reflectors, got ", self, " and ", input3);
  return reflected(self, input2, input3, left, transpose, "ormqr");
}

// --- LDL, pseudoinverse, rank, condition -----------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> linalg_ldl_factor(const Tensor& self, bool hermitian) {
  const auto [ld, pivots, info] = op::linalg_ldl_factor_ex(self, hermitian, true);
  return {ld, pivots};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  check_square(LD, "linalg_ldl_solve");
  check_matrix(B, "linalg_ldl_solve");
  TRT_CHECK(pivots.dim() == LD.dim() - 1 && pivots.sizes() == LD.sizes().slice(0, LD.sizes().size() - 1),
            "linalg_ldl_solve: the pivots must be one for each column of LD, got ", pivots, " and ", LD);
  const auto [ld, b] = same_batch(LD, B, "linalg_ldl_solve");
  return op::ldl_system(ld, op::expand(pivots, joined(batch_of(ld), {ld.size(-1)})), b, hermitian);
}

Tensor linalg_pinv_atol_rtol_tensor(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) { return pinv_within(self, atol, rtol, hermitian); }
Tensor linalg_pinv_atol_rtol_float(const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return pinv_within(self, as_bound(atol, self), as_bound(rtol, self), hermitian);
}
Tensor linalg_pinv(const Tensor& self, double rcond, bool hermitian) { return pinv_within(self, Tensor(), as_bound(rcond, self), hermitian); }
Tensor linalg_pinv_rcond_tensor(const Tensor& self, const Tensor& rcond, bool hermitian) { return pinv_within(self, Tensor(), rcond, hermitian); }
Tensor pinverse(const Tensor& self, double rcond) { return pinv_within(self, Tensor(), as_bound(rcond, self), false); }

Tensor linalg_matrix_rank_atol_rtol_tensor(const Tensor& input, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  return rank_within(input, atol, rtol, hermitian);
}
Tensor linalg_matrix_rank_atol_rtol_float(const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return rank_within(self, as_bound(atol, self), as_bound(rtol, self), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& self, double tol, bool hermitian) { return rank_within(self, as_bound(tol, self), as_bound(0.0, self), hermitian); }
Tensor linalg_matrix_rank_tol_tensor(const Tensor& input, const Tensor& tol, bool hermitian) {
  return rank_within(input, tol, as_bound(0.0, input), hermitian);
}

Tensor linalg_cond(const Tensor& self, const std::optional<Scalar>& p) {
  check_matrix(self, "linalg_cond");
  check_dtype(self, "linalg_cond");
  const double order = p ? p->to_double() : 2, magnitude = std::abs(order);
  TRT_CHECK(magnitude == 1 || magnitude == 2 || std::isinf(order), "linalg_cond: p must be None, 1, -1, 2, -2, inf or -inf, got ", order);
  if (self.numel() == 0) {
    if (magnitude != 2) check_square(self, "linalg_cond");
    return op::zeros(batch_of(self), real_dtype(self.dtype()), self.device());
  }
  if (magnitude != 2) {
    check_square(self, "linalg_cond");
    const auto [inverse, info] = op::linalg_inv_ex(self, false);
    const int64_t dims[] = {-2, -1};
    const Tensor result = op::mul(op::linalg_matrix_norm(self, order, IntArrayRef(dims, 2), false, std::nullopt), op::linalg_matrix_norm(inverse, order, IntArrayRef(dims, 2), false, std::nullopt));
    return op::where(op::ne(info, Scalar(0)), Scalar(HUGE_VAL), result);
  }
  const Tensor s = op::linalg_svdvals(self);
  const Tensor largest = op::select(s, -1, 0), smallest = op::select(s, -1, s.size(-1) - 1);
  const Tensor result = order > 0 ? op::div(largest, smallest) : op::div(smallest, largest);
  return op::where(op::isnan(result), Scalar(HUGE_VAL), result);
}

Tensor linalg_cond_p_str(const Tensor& self, std::string_view p) {
  check_square(self, "linalg_cond");
  check_dtype(self, "linalg_cond");
  TRT_CHECK(p == "fro" || p == "nuc", "linalg_cond: p must be fro or nuc, got \"", p, "\"");
  if (self.numel() == 0) return op::zeros(batch_of(self), real_dtype(self.dtype()), self.device());
  const auto [inverse, info] = op::linalg_inv_ex(self, false);
  const int64_t dims[] = {-2, -1};
  // A singular matrix has no inverse to take singular values of.
  const Tensor singular = op::ne(info, Scalar(0));
  const Tensor safe = op::where(op::unsqueeze(op::unsqueeze(singular, -1), -1), op::zeros_like(inverse), inverse);
  const Tensor result = op::mul(op::linalg_matrix_norm(self, p, IntArrayRef(dims, 2), false, std::nullopt), op::linalg_matrix_norm(safe, p, IntArrayRef(dims, 2), false, std::nullopt));
  return op::where(singular, Scalar(HUGE_VAL), result);
}

std::tuple<Tensor, Tensor, Tensor> svd_lowrank(const Tensor& A, int64_t rank, int64_t steps, const Tensor& M, GeneratorImpl* generator) {
  check_matrix(A, "svd_lowrank");
  check_dtype(A, "svd_lowrank");
  const int64_t m = A.size(-2), n = A.size(-1);
  TRT_CHECK(rank >= 0 && rank <= std::min(m, n), "svd_lowrank: q must lie between 0 and ", std::min(m, n), " for ", A, ", got ", rank);
  TRT_CHECK(steps >= 0 && steps <= 1000, "svd_lowrank: niter must lie between 0 and 1000, got ", steps);
  const Tensor x = M.defined() ? op::sub(A, M) : A;
  // The range of the shorter side is looked for, so that the small decomposition is the smaller one.
  const bool wide = m < n;
  const Tensor a = wide ? op::adjoint(x) : x, h = wide ? x : op::adjoint(x);
  auto basis = [](const Tensor& t) { return std::get<0>(op::linalg_qr(t, "reduced")); };
  const DType real = real_dtype(A.dtype());
  const DimVector shape{a.size(-1), rank};
  const Tensor random = is_complex(A.dtype()) ? op::complex(op::randn(shape, generator, real, A.device()), op::randn(shape, generator, real, A.device()))
                                              : op::randn(shape, generator, real, A.device());
  Tensor Q = basis(op::matmul(a, random));
  for (int64_t i = 0; i < steps; ++i) Q = basis(op::matmul(a, basis(op::matmul(h, Q))));
  const auto [U, S, Vh] = op::linalg_svd(op::matmul(op::adjoint(Q), a), false);
  const Tensor left = op::matmul(Q, U), right = op::adjoint(Vh);
  return wide ? std::tuple(right, S, left) : std::tuple(left, S, right);
}

std::tuple<Tensor, Tensor, Tensor> pca_lowrank(const Tensor& A, std::optional<int64_t> q, bool center, int64_t niter, GeneratorImpl* generator) {
  check_matrix(A, "pca_lowrank");
  check_dtype(A, "pca_lowrank");
  const int64_t most = std::min(A.size(-2), A.size(-1)), rank = q.value_or(std::min<int64_t>(6, most));
  TRT_CHECK(rank >= 0 && rank <= most, "pca_lowrank: q must lie between 0 and ", most, " for ", A, ", got ", rank);
  const int64_t rows[] = {-2};
  return op::svd_lowrank(center ? op::sub(A, op::mean(A, IntArrayRef(rows, 1), true, std::nullopt)) : A, rank, niter, Tensor(), generator);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b, std::optional<double> rcond, std::optional<std::string_view> driver_given) {
  const std::string_view driver = driver_given.value_or("gelsy");
  TRT_CHECK(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss", "linalg_lstsq: driver must be gels, gelsy, gelsd or gelss, got \"",
            driver, "\"");
  check_matrix(self, "linalg_lstsq");
  check_dtype(self, "linalg_lstsq");
  check_same_dtype(self, b, "linalg_lstsq");
  const bool vector = is_vector_side(self, b);
  TRT_CHECK(vector || b.dim() >= 2, "linalg_lstsq: the right-hand side must be matrices or vectors, got ", self, " and ", b);
  const Tensor rhs = vector ? op::unsqueeze(b, -1) : b;
  const int64_t m = self.size(-2), n = self.size(-1);
  TRT_CHECK(rhs.size(-2) == m, "linalg_lstsq: sizes do not fit, got ", self, " and ", b);
  const DType real = real_dtype(self.dtype());
  const Tensor bound = as_bound(driver == "gels" ? std::optional(0.0) : rcond && *rcond >= 0 ? rcond : std::optional(epsilon_of(real) * static_cast<double>(std::max(m, n))), self);
  Tensor x = op::matmul(pinv_within(self, Tensor(), bound, false), rhs);
  const Tensor none = op::zeros({0}, real, self.device()), no_rank = op::zeros({0}, DType::Int64, self.device());
  const bool ranked = driver != "gels", valued = driver == "gelsd" || driver == "gelss";
  const Tensor rank = ranked ? rank_within(self, Tensor(), bound, false) : no_rank;
  Tensor values = none;
  if (valued) {
    const GradModeGuard no_graph(false);
    values = op::linalg_svdvals(self);
  }
  Tensor residuals = none;
  bool full = m > n && driver != "gelsy";
  if (full && ranked && !rank.is_meta())
    for (int64_t i = 0; i < rank.numel(); ++i) full &= rank.data_ptr<int64_t>()[i] == n;
  if (full) residuals = op::sum(op::square(op::abs(op::sub(op::matmul(self, x), rhs))), IntArrayRef{int64_t{-2}}, false, std::nullopt);
  if (vector) x = op::squeeze(x, -1);
  return {x, residuals, rank, values};
}

}  // namespace trt::composite
