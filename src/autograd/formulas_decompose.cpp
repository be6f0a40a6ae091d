#include "autograd/formulas_decompose.h"

#include "core/modes.h"
#include "gen/all_ops.h"

namespace trt::formulas {

namespace {

Tensor transposed(const Tensor& t) { return op::transpose(t, -2, -1); }
Tensor product(const Tensor& a, const Tensor& b) { return op::matmul(a, b); }
Tensor diagonal_of(const Tensor& t) { return op::diagonal(t, 0, -2, -1); }
Tensor identity(int64_t n, const Tensor& like) { return op::eye(n, std::nullopt, like.dtype(), like.device()); }
Tensor triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) { return op::triangular_system(a, b, upper, left, unit); }
void add_to(Tensor& sum, const Tensor& t) { sum = sum.defined() ? op::add(sum, t) : t; }
// x_j - x_i at [i, j], 1 on the diagonal.
Tensor gaps(const Tensor& x) {
  return op::add(op::sub(op::unsqueeze(x, -2), op::unsqueeze(x, -1)), identity(x.size(-1), x));
}
// A real vector of numbers as factors of the columns or rows of a matrix.
Tensor on_columns(const Tensor& t, const Tensor& v) { return op::mul(t, op::unsqueeze(v, -2)); }
Tensor on_rows(const Tensor& v, const Tensor& t) { return op::mul(op::unsqueeze(v, -1), t); }

}  // namespace

// From P^T dA = dL U + L dU: with X = L^-1 P^T dA U^-1 (of the square part), L^-1 dL is what lies below the diagonal of X and dU U^-1 the rest.
Tensor lu_factor_backward(const Tensor& grad, const Tensor& lu, const Tensor& pivots) {
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor p = op::lu_permutation(lu, pivots);
  const Tensor square = op::narrow(op::narrow(lu, -2, 0, k), -1, 0, k), g = op::narrow(op::narrow(grad, -2, 0, k), -1, 0, k);
  const Tensor l = op::add(op::tril(square, -1), identity(k, lu)), u = op::triu(square, 0);
  Tensor below = product(transposed(l), op::tril(g, -1)), above = product(op::triu(g, 0), transposed(u));
  Tensor rest;
  if (n > k) {
    rest = op::narrow(grad, -1, k, n - k);
    below = op::sub(below, product(rest, transposed(op::narrow(lu, -1, k, n - k))));
  } else if (m > k) {
    const Tensor rows = op::narrow(grad, -2, k, m - k);
    above = op::sub(above, product(transposed(op::narrow(lu, -2, k, m - k)), rows));
    rest = triangular(transposed(u), rows, false, false, false);
  }
  const Tensor x = triangular(transposed(u), op::add(op::tril(below, -1), op::triu(above, 0)), false, false, false);
  if (m > k) {
    const Tensor parts[] = {triangular(transposed(l), x, true, true, true), rest};
    return product(p, op::cat(TensorList(parts, 2), -2));
  }
  if (n > k) {
    const Tensor parts[] = {x, rest};
    return product(p, triangular(transposed(l), op::cat(TensorList(parts, 2), -1), true, true, true));
  }
  return product(p, triangular(transposed(l), x, true, true, true));
}

std::tuple<Tensor, Tensor> linear_system_backward(const Tensor& grad, const Tensor& a, const Tensor& x, const std::array<bool, 2>& mask) {
  const Tensor gb = std::get<0>(op::linear_system(transposed(a), grad));
  return {mask[0] ? op::neg(product(gb, transposed(x))) : Tensor(), gb};
}

// d log det A = tr(A^-1 dA) = z; logabsdet moves with its real part, and sign by i sign Im(z).
Tensor slogdet_backward(const autograd::GradVec& grads, const Tensor& a, const Tensor& sign) {
  Tensor g;
  if (grads[1].defined()) g = op::to(grads[1], a.dtype());
  if (grads[0].defined() && is_complex(a.dtype())) {
    const Tensor turn = op::imag(op::mul(op::conj_physical(grads[0]), sign));
    add_to(g, op::complex(op::zeros_like(turn), op::neg(turn)));
  }
  if (!g.defined() || a.numel() == 0) return op::zeros_like(a);
  return std::get<0>(op::linear_system(op::adjoint(a), op::diag_embed(op::expand(op::unsqueeze(g, -1), IntArrayRef(op::select(a, -1, 0).sizes())))));
}

// d det A = tr(adj(A) dA). Where no further derivative is asked for, the adjugate comes from the singular value decomposition, which exists for every
// matrix; else it is det(A) A^-1.
Tensor det_backward(const Tensor& grad, const Tensor& a, const Tensor& det) {
  const int64_t n = a.size(-1);
  if (a.numel() == 0) return op::zeros_like(a);
  const Tensor g = op::unsqueeze(op::unsqueeze(grad, -1), -1);
  if (thread_state.grad_enabled) {
    const Tensor d = op::expand(op::unsqueeze(op::mul(grad, op::conj(det)), -1), IntArrayRef(op::select(a, -1, 0).sizes()));
    return std::get<0>(op::linear_system(op::adjoint(a), op::diag_embed(d)));
  }
  const auto [u, s, vh] = op::linalg_svd(a, true);
  // The product of all singular values but one, by products from both ends.
  const Tensor one = op::ones_like(op::narrow(s, -1, 0, 1));
  const Tensor before[] = {one, op::narrow(op::cumprod(s, -1), -1, 0, n - 1)};
  const Tensor after[] = {one, op::narrow(op::cumprod(op::flip(s, {-1}), -1), -1, 0, n - 1)};
  const Tensor others = op::mul(op::cat(TensorList(before, 2), -1), op::flip(op::cat(TensorList(after, 2), -1), {-1}));
  // conj(cofactors(U diag(s) Vh)) = conj(det U det Vh) U diag(others) Vh, as both are unitary.
  const Tensor turn = op::conj(op::mul(op::linalg_det(u), op::linalg_det(vh)));
  const Tensor cofactors = product(on_columns(u, others), vh);
  return op::mul(op::mul(cofactors, op::unsqueeze(op::unsqueeze(turn, -1), -1)), g);
}

std::tuple<Tensor, Tensor> triangular_system_backward(const Tensor& grad, const Tensor& a, const Tensor& x, bool upper, bool left, bool unitriangular,
                                                      const std::array<bool, 2>& mask) {
  const Tensor gb = triangular(transposed(a), grad, !upper, left, unitriangular);
  if (!mask[0]) return {Tensor(), gb};
  const Tensor full = op::neg(left ? product(gb, transposed(x)) : product(transposed(x), gb));
  const int64_t shift = unitriangular ? 1 : 0;
  return {upper ? op::triu(full, shift) : op::tril(full, -shift), gb};
}

// Murray, "Differentiation of the Cholesky decomposition", 2016: with F(X) the lower triangle of X, half of its diagonal,
// the gradient is the Hermitian part of L^-H F(L^H gL) L^-1.
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor l = upper ? op::adjoint(factor) : factor, g = upper ? op::adjoint(grad) : grad;
  const Tensor lh = op::adjoint(l);
  const Tensor inner = product(lh, g);
  const Tensor f = op::add(op::tril(inner, -1), op::mul(op::diag_embed(diagonal_of(inner)), Scalar(0.5)));
  const Tensor middle = op::mul(op::add(f, op::adjoint(f)), Scalar(0.5));
  return triangular(l, triangular(lh, middle, true, true, false), false, false, false);
}

// With M = R gR^H - gQ^H Q: gA = (gQ + Q S) R^-H, S the Hermitian matrix with the lower triangle of M. A wide A = [X Y] has R = [U Q^H Y].
Tensor qr_backward(const autograd::GradVec& grads, const Tensor& q, const Tensor& r, std::string_view mode, IntArrayRef sizes) {
  const int64_t m = sizes[sizes.size() - 2], n = sizes.back();
  TRT_CHECK_CODE(mode != "r", Code::kNotSupported, "linalg_qr: the gradient needs Q, which mode=\"r\" does not compute");
  TRT_CHECK_CODE(mode != "complete" || m <= n, Code::kNotSupported, "linalg_qr: there is no derivative for mode=\"complete\" and more rows than columns, got sizes ",
                 sizes);
  Tensor gq = grads[0], gr = grads[1];
  if (!gr.defined()) gr = op::zeros_like(r);
  if (!gq.defined()) gq = op::zeros_like(q);
  Tensor u = r, gu = gr, gy;
  if (m < n) {
    u = op::narrow(r, -1, 0, m);
    gu = op::narrow(gr, -1, 0, m);
    const Tensor gv = op::narrow(gr, -1, m, n - m);
    gy = product(q, gv);
    // Y = Q V, seen from Q.
    gq = op::add(gq, product(product(q, op::narrow(r, -1, m, n - m)), op::adjoint(gv)));
  }
  const Tensor inner = op::sub(product(u, op::adjoint(gu)), product(op::adjoint(gq), q));
  const Tensor below = op::add(op::tril(inner, -1), op::mul(op::diag_embed(diagonal_of(inner)), Scalar(0.5)));
  const Tensor gx = triangular(op::adjoint(u), op::add(gq, product(q, op::add(below, op::adjoint(below)))), false, false, false);
  if (m >= n) return gx;
  const Tensor parts[] = {gx, gy};
  return op::cat(TensorList(parts, 2), -1);
}

Tensor eigh_backward(const autograd::GradVec& grads, const Tensor& values, const Tensor& vectors) {
  const Tensor vh = op::adjoint(vectors);
  Tensor middle;
  if (grads[1].defined()) {
    // Orthonormal vectors change by skew-Hermitian combinations of each other.
    const Tensor full = product(vh, grads[1]);
    const Tensor inner = op::mul(op::sub(full, op::adjoint(full)), Scalar(0.5));
    middle = op::div(op::sub(inner, op::diag_embed(diagonal_of(inner))), gaps(values));
  }
  if (grads[0].defined()) add_to(middle, op::diag_embed(op::to(grads[0], vectors.dtype())));
  return product(product(vectors, middle), vh);
}

Tensor svd_backward(const autograd::GradVec& grads, const Tensor& u_given, const Tensor& s, const Tensor& vh_given) {
  const int64_t m = u_given.size(-2), n = vh_given.size(-1), k = s.size(-1);
  // Of complete bases only the first k vectors count.
  auto first_columns = [&](const Tensor& t) { return t.defined() && t.size(-1) > k ? op::narrow(t, -1, 0, k) : t; };
  auto first_rows = [&](const Tensor& t) { return t.defined() && t.size(-2) > k ? op::narrow(t, -2, 0, k) : t; };
  const Tensor u = first_columns(u_given), vh = first_rows(vh_given), gu = first_columns(grads[0]), gs = grads[1], gvh = first_rows(grads[2]);
  const Tensor uh = op::adjoint(u), v = op::adjoint(vh);
  // Of U^H dA V: what the singular values see on the diagonal, what the vectors see beside it.
  Tensor middle, result;
  auto skew = [](const Tensor& t) { return op::sub(t, op::adjoint(t)); };
  auto off_diagonal = [](const Tensor& t) { return op::sub(t, op::diag_embed(diagonal_of(t))); };
  Tensor distance;
  if (gu.defined() || gvh.defined()) distance = gaps(op::mul(s, s));
  if (gs.defined()) add_to(middle, op::diag_embed(op::to(gs, u.dtype())));
  if (gu.defined()) {
    const Tensor x = skew(product(uh, gu));
    add_to(middle, on_columns(op::div(off_diagonal(x), distance), s));
    // The phase that the vectors of a complex matrix share: their gradients along it cancel where the loss does not depend on it.
    if (is_complex(u.dtype())) add_to(middle, op::diag_embed(op::div(diagonal_of(x), op::mul(s, Scalar(2)))));
  }
  if (gvh.defined()) add_to(middle, on_rows(s, op::div(off_diagonal(skew(product(vh, op::adjoint(gvh)))), distance)));
  if (middle.defined()) add_to(result, product(product(u, middle), vh));
  // The parts outside of the spaces that the vectors span.
  const Tensor row = op::unsqueeze(s, -2);
  if (gu.defined() && m > k) add_to(result, product(op::div(op::sub(gu, product(u, product(uh, gu))), row), vh));
  if (gvh.defined() && n > k) add_to(result, product(op::div(u, row), op::sub(gvh, product(product(gvh, v), vh))));
  return result;
}

// Vectors of norm 1: their change along themselves is taken out (Boeddeker et al., "On the computation of complex-valued gradients with application to
// statistically optimum beamforming", 2017, section 4.9).
Tensor eig_backward(const autograd::GradVec& grads, const Tensor& self, const Tensor& values, const Tensor& vectors) {
  const Tensor vh = op::adjoint(vectors);
  Tensor middle;
  if (grads[1].defined()) {
    const Tensor inner = product(vh, grads[1]);
    const Tensor along = op::real(diagonal_of(inner));
    const Tensor x = op::sub(inner, product(vh, on_columns(vectors, along)));
    middle = op::div(op::sub(x, op::diag_embed(diagonal_of(x))), op::conj(gaps(values)));
  }
  if (grads[0].defined()) add_to(middle, op::diag_embed(grads[0]));
  const Tensor result = std::get<0>(op::linear_system(vh, product(middle, vh)));
  return is_complex(self.dtype()) ? result : op::real(result);
}

// Golub, Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate", SIAM J. Numer. Anal. 1973:
// dP = -P dA P + (I - P A) dA^H P^H P + P P^H dA^H (I - A P).
Tensor pinv_backward(const Tensor& grad, const Tensor& a, const Tensor& pinv) {
  const Tensor ph = op::adjoint(pinv), gh = op::adjoint(grad);
  const Tensor direct = op::neg(product(product(ph, grad), ph));
  const Tensor left = product(product(ph, pinv), op::sub(gh, product(product(gh, pinv), a)));
  const Tensor right = product(op::sub(gh, product(a, product(pinv, gh))), product(pinv, ph));
  return op::add(direct, op::add(left, right));
}

// The derivative in the direction E stands in exp([[A, E], [0, A]]) (Van Loan, "Computing integrals involving the matrix exponential", IEEE Trans. Automatic
// Control 1978); the adjoint of that map is the same with A transposed.
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& a) {
  const int64_t n = a.size(-1);
  const Tensor at = transposed(a);
  const Tensor upper[] = {at, grad}, lower[] = {op::zeros_like(at), at};
  const Tensor halves[] = {op::cat(TensorList(upper, 2), -1), op::cat(TensorList(lower, 2), -1)};
  return op::narrow(op::narrow(op::linalg_matrix_exp(op::cat(TensorList(halves, 2), -2)), -2, 0, n), -1, n, n);
}

}  // namespace trt::formulas
