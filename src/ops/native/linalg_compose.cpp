// Products, norms and distances made of other operators.
#include <bit>
#include <cmath>

#include "gen/all_ops.h"
#include "gen/linalg_compose_native.h"
#include "iter/promotion.h"
#include "ops/native/linalg_util.h"
#include "ops/native/widened.h"

namespace trt::composite {

using namespace linalg;

namespace {

using Dims = std::optional<IntArrayRef>;

Tensor summed(const Tensor& t, IntArrayRef dims, bool keepdim) { return op::sum(t, dims, keepdim, is_integral(t.dtype(), true) ? std::nullopt : std::optional(t.dtype())); }

// The value of a 0-d bool tensor.
bool true_of(const Tensor& t) { return static_cast<bool>(*t.data_ptr<Bool>()); }

// --- einsum ----------------------------------------------------------------------------------------------------------------

// A dimension's name: a letter, or a number from kEllipsis on for those of an ellipsis, counted from the last one.
constexpr int kEllipsis = 256;
using Labels = std::vector<int>;

struct Operand {
  Tensor tensor;
  Labels labels;
  int64_t size(size_t i) const { return tensor.size(static_cast<int64_t>(i)); }
  bool has(int label) const { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
  int64_t dim(int label) const { return std::find(labels.begin(), labels.end(), label) - labels.begin(); }
  void drop(int64_t d) { labels.erase(labels.begin() + d); }
};

bool contains(const Labels& l, int label) { return std::find(l.begin(), l.end(), label) != l.end(); }

// The labels of one side of the equation; `ellipsis` is how many dimensions the three dots stand for, -1 where they are not allowed.
Labels parse_labels(std::string_view text, int64_t ellipsis, std::string_view equation) {
  Labels out;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      TRT_CHECK(text.substr(i, 3) == "..." && !seen, "einsum: a dot must be part of one ellipsis in each operand, got \"", equation, "\"");
      for (int64_t k = ellipsis; k > 0; --k) out.push_back(kEllipsis + static_cast<int>(k) - 1);
      seen = true;
      i += 2;
      continue;
    }
    TRT_CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), "einsum: subscripts must be letters, got \"", equation, "\"");
    out.push_back(c);
  }
  return out;
}

int64_t letters_in(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return c != ' ' && c != '.'; });
}

// Sums over the labels for which `kept` is false, integers in int64 (where there is more than one to add) if `widen`.
template <typename F>
void sum_out(Operand& x, F&& kept, bool widen = false) {
  DimVector dims;
  Labels left;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (kept(x.labels[i])) left.push_back(x.labels[i]);
    else dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.empty()) return;
  DType dtype = x.tensor.dtype();
  if (widen && is_integral(dtype, true) && std::any_of(dims.begin(), dims.end(), [&](int64_t d) { return x.tensor.size(d) != 1; })) dtype = DType::Int64;
  x.tensor = op::sum(x.tensor, IntArrayRef(dims), false, dtype);
  x.labels = left;
}

// The dimensions of x in the order of the groups, with one dimension for each group; a label that x lacks is not allowed.
Tensor grouped(const Operand& x, std::initializer_list<const Labels*> groups) {
  DimVector order, sizes;
  for (const Labels* g : groups) {
    int64_t n = 1;
    for (int label : *g) {
      order.push_back(x.dim(label));
      n *= x.tensor.size(x.dim(label));
    }
    sizes.push_back(n);
  }
  return op::reshape(op::permute(x.tensor, order), sizes);
}

// The product of two operands, summed over the shared labels that `needed` does not name.
template <typename F>
Operand contract(Operand a, Operand b, F&& needed) {
  // A shared dimension of size 1 broadcasts: it leaves the operand in which it is.
  for (auto [x, y] : {std::pair{&a, &b}, std::pair{&b, &a}})
    for (int label : Labels(x->labels))
      if (y->has(label) && x->size(static_cast<size_t>(x->dim(label))) == 1 && y->size(static_cast<size_t>(y->dim(label))) != 1) {
        const int64_t d = x->dim(label);
        x->tensor = op::squeeze(x->tensor, d);
        x->drop(d);
      }
  const DType dtypes[] = {a.tensor.dtype(), b.tensor.dtype()};
  sum_out(a, [&](int l) { return needed(l) || b.has(l); }, true);
  sum_out(b, [&](int l) { return needed(l) || a.has(l); }, true);
  if (dtypes[0] == dtypes[1] && a.tensor.dtype() != b.tensor.dtype())
    for (Operand* x : {&a, &b}) x->tensor = op::to(x->tensor, DType::Int64);
  Labels shared, summed, left, right;
  DimVector sizes;
  for (int l : a.labels) (b.has(l) ? (needed(l) ? shared : summed) : left).push_back(l);
  for (int l : b.labels)
    if (!a.has(l)) right.push_back(l);
  Operand out;
  for (const auto& [labels, from] : {std::pair{&shared, &a}, std::pair{&left, &a}, std::pair{&right, &b}})
    for (int l : *labels) {
      out.labels.push_back(l);
      sizes.push_back(from->tensor.size(from->dim(l)));
    }
  const Tensor x = grouped(a, {&shared, &left, &summed}), y = grouped(b, {&shared, &summed, &right});
  out.tensor = op::reshape(summed.empty() ? op::mul(x, y) : op::bmm(x, y), sizes);
  return out;
}

// --- matrix norms ------------------------------------------------------------------------------------------------------------

std::pair<int64_t, int64_t> matrix_dims(const Tensor& self, IntArrayRef dim, const char* op) {
  TRT_CHECK(dim.size() == 2, op, ": needs two dimensions, got ", dim);
  const int64_t rows = wrap_dim(dim[0], self.dim(), op), cols = wrap_dim(dim[1], self.dim(), op);
  TRT_CHECK(self.dim() >= 2 && rows != cols, op, ": needs two different dimensions, got ", dim, " and ", self);
  return {rows, cols};
}

Tensor norm_input(const Tensor& self, std::optional<DType> dtype, const char* op) {
  TRT_CHECK(is_differentiable(self.dtype()), op, ": needs a floating-point or complex tensor, got ", self);
  if (!dtype) return self;
  TRT_CHECK(is_differentiable(*dtype) && is_complex(*dtype) == is_complex(self.dtype()), op, ": dtype ", *dtype, " does not fit ", self);
  TRT_CHECK(promote_types(self.dtype(), *dtype) == *dtype, op, ": ", self, " does not fit the narrower dtype ", *dtype);
  return op::to(self, *dtype);
}

// f of the singular values of the matrices in two dimensions.
template <typename F>
Tensor of_singular_values(const Tensor& x, int64_t rows, int64_t cols, bool keepdim, F&& f) {
  Tensor out = f(op::linalg_svdvals(op::movedim(x, {rows, cols}, {-2, -1})));
  if (!keepdim) return out;
  for (int64_t d : {std::min(rows, cols), std::max(rows, cols)}) out = op::unsqueeze(out, d);
  return out;
}

// The largest or smallest of the sums of magnitudes over one dimension.
Tensor extreme_sum(const Tensor& x, int64_t summed_dim, int64_t kept_dim, bool largest, bool keepdim) {
  const Tensor sums = summed(op::abs(x), {summed_dim}, true);
  TRT_CHECK(largest || sums.size(kept_dim) > 0, "linalg_matrix_norm: the smallest sum of an empty matrix is not defined, got ", x);
  const Tensor out = sums.size(kept_dim) == 0 ? op::sum(sums, IntArrayRef{kept_dim}, true, std::nullopt) : largest ? op::amax(sums, {kept_dim}, true) : op::amin(sums, {kept_dim}, true);
  return keepdim ? out : op::squeeze(op::squeeze(out, std::max(summed_dim, kept_dim)), std::min(summed_dim, kept_dim));
}

}  // namespace

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  TRT_CHECK(self.dim() == other.dim(), "linalg_cross: both tensors must have the same number of dimensions, got ", self, " and ", other);
  const int64_t d = wrap_dim(dim, self.dim(), "linalg_cross");
  TRT_CHECK(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, "linalg_cross: dimension ", dim, " must have size 3, got ", self, " and ", other);
  const DimVector sizes = broadcast_shapes(self.sizes(), other.sizes(), "linalg_cross");
  const Tensor a = op::expand(self, sizes), b = op::expand(other, sizes);
  auto turned = [d](const Tensor& t, int64_t by) { return op::roll(t, {-by}, {d}); };
  return op::sub(op::mul(turned(a, 1), turned(b, 2)), op::mul(turned(a, 2), turned(b, 1)));
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return op::linalg_cross(self, other, *dim);
  TRT_CHECK(self.dim() == other.dim(), "cross: both tensors must have the same number of dimensions, got ", self, " and ", other);
  const DimVector sizes = broadcast_shapes(self.sizes(), other.sizes(), "cross");
  const auto found = std::find(sizes.begin(), sizes.end(), 3);
  TRT_CHECK(found != sizes.end(), "cross: no dimension has size 3, got ", self, " and ", other);
  return op::linalg_cross(self, other, found - sizes.begin());
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_same_dtype(x, y, "linalg_vecdot");
  const DimVector sizes = broadcast_shapes(x.sizes(), y.sizes(), "linalg_vecdot");
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()), "linalg_vecdot");
  TRT_CHECK(!sizes.empty(), "linalg_vecdot: needs vectors, got ", x, " and ", y);
  const Tensor a = op::movedim(op::expand(op::conj(x), sizes), d, -1), b = op::movedim(op::expand(y, sizes), d, -1);
  return op::squeeze(op::squeeze(op::matmul(op::unsqueeze(a, -2), op::unsqueeze(b, -1)), -1), -1);
}

Tensor einsum(std::string_view equation, TensorList tensors) {
  TRT_CHECK(!tensors.empty(), "einsum: needs at least one operand");
  const size_t arrow = equation.find("->");
  const std::string_view left = equation.substr(0, arrow);
  std::vector<std::string_view> texts;
  for (size_t from = 0;;) {
    const size_t comma = left.find(',', from);
    texts.push_back(left.substr(from, comma == left.npos ? comma : comma - from));
    if (comma == left.npos) break;
    from = comma + 1;
  }
  TRT_CHECK(texts.size() == tensors.size(), "einsum: \"", equation, "\" names ", texts.size(), " operands, but there are ", tensors.size());
  std::vector<Operand> operands;
  int64_t ellipsis = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Tensor& t = tensors[i];
    const bool dots = texts[i].find('.') != left.npos;
    const int64_t letters = letters_in(texts[i]), rest = t.dim() - letters;
    TRT_CHECK(dots ? rest >= 0 : rest == 0, "einsum: the subscripts of operand ", i, " in \"", equation, "\" do not fit its ", t.dim(), " dimensions, got ", t);
    if (dots) ellipsis = std::max(ellipsis, rest);
    Operand x{t, parse_labels(texts[i], rest, equation)};
    // A label twice in one operand names the diagonal.
    for (size_t j = 0; j < x.labels.size(); ++j)
      for (size_t k = j + 1; k < x.labels.size();) {
        if (x.labels[k] != x.labels[j]) {
          ++k;
          continue;
        }
        TRT_CHECK(x.size(j) == x.size(k), "einsum: the subscript '", static_cast<char>(x.labels[k]), "' stands for different sizes, got ", t);
        x.tensor = op::movedim(op::diagonal(x.tensor, 0, static_cast<int64_t>(j), static_cast<int64_t>(k)), -1, static_cast<int64_t>(j));
        x.drop(static_cast<int64_t>(k));
      }
    operands.push_back(std::move(x));
  }
  Labels output;
  if (arrow != equation.npos) {
    output = parse_labels(equation.substr(arrow + 2), ellipsis, equation);
  } else {
    for (int64_t k = ellipsis; k > 0; --k) output.push_back(kEllipsis + static_cast<int>(k) - 1);
    for (int c = 'A'; c <= 'z'; ++c)
      if (std::count(left.begin(), left.end(), static_cast<char>(c)) == 1) output.push_back(c);
  }
  std::vector<std::pair<int, int64_t>> sizes;
  for (const Operand& x : operands)
    for (size_t i = 0; i < x.labels.size(); ++i) {
      auto at = std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == x.labels[i]; });
      if (at == sizes.end()) sizes.emplace_back(x.labels[i], x.size(i));
      else if (at->second == 1) at->second = x.size(i);
      else TRT_CHECK(x.size(i) == at->second || x.size(i) == 1, "einsum: a subscript of \"", equation, "\" stands for sizes ", at->second, " and ", x.size(i));
    }
  for (size_t i = 0; i < output.size(); ++i) {
    const bool known = std::any_of(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == output[i]; });
    TRT_CHECK(known && std::find(output.begin(), output.begin() + static_cast<long>(i), output[i]) == output.begin() + static_cast<long>(i),
              "einsum: the subscripts of the result must appear once in it and in an operand, got \"", equation, "\"");
  }
  Operand result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i)
    result = contract(result, operands[i], [&](int label) {
      return contains(output, label) || std::any_of(operands.begin() + static_cast<long>(i) + 1, operands.end(), [&](const Operand& x) { return x.has(label); });
    });
  // The last sum is that of op::sum, which adds integers in int64.
  if (is_integral(result.tensor.dtype(), true) && operands.size() == 1 && result.labels.size() > output.size()) result.tensor = op::to(result.tensor, DType::Int64);
  sum_out(result, [&](int label) { return contains(output, label); });
  DimVector order;
  for (int label : output) order.push_back(result.dim(label));
  return op::permute(result.tensor, order);
}

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t n = tensors.size();
  TRT_CHECK(n >= 2, "linalg_multi_dot: needs at least two tensors, got ", n);
  std::vector<Tensor> m(tensors.begin(), tensors.end());
  for (size_t i = 0; i < n; ++i) {
    check_same_dtype(m[0], m[i], "linalg_multi_dot");
    const bool end = i == 0 || i + 1 == n;
    TRT_CHECK(m[i].dim() == 2 || (end && m[i].dim() == 1), "linalg_multi_dot: needs matrices, and matrices or vectors at the ends, got ", m[i]);
  }
  const DType dtype = m[0].dtype();
  if (is_reduced_floating(dtype))
    for (Tensor& t : m) t = widened(t, dtype);
  const bool row = m[0].dim() == 1, column = m[n - 1].dim() == 1;
  if (row) m[0] = op::unsqueeze(m[0], 0);
  if (column) m[n - 1] = op::unsqueeze(m[n - 1], 1);
  std::vector<double> sizes{static_cast<double>(m[0].size(0))};
  for (size_t i = 0; i < n; ++i) {
    TRT_CHECK(i == 0 || m[i - 1].size(1) == m[i].size(0), "linalg_multi_dot: sizes do not fit, got ", m[i - (i > 0)], " and ", m[i]);
    sizes.push_back(static_cast<double>(m[i].size(1)));
  }
  // cost[i][j]: multiplications for the product of i..j; split: where its last product is (dynamic programming over lengths).
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = HUGE_VAL;
      for (size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (c < cost[i][j]) {
          cost[i][j] = c;
          split[i][j] = k;
        }
      }
    }
  auto product = [&](auto& self, size_t i, size_t j) -> Tensor {
    return i == j ? m[i] : op::mm(self(self, i, split[i][j]), self(self, split[i][j] + 1, j));
  };
  Tensor out = op::to(product(product, 0, n - 1), dtype);
  if (column) out = op::squeeze(out, 1);
  return row ? op::squeeze(out, 0) : out;
}

Tensor chain_matmul(TensorList matrices) {
  for (const Tensor& t : matrices) TRT_CHECK(t.dim() == 2, "chain_matmul: needs matrices, got ", t);
  TRT_CHECK(!matrices.empty(), "chain_matmul: needs at least one matrix");
  return matrices.size() == 1 ? op::clone(matrices[0]) : op::linalg_multi_dot(matrices);
}

Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  check_square(self, "linalg_matrix_power");
  // Chosen element by element, so that the history goes through self (its gradient is 0).
  if (n == 0) return op::where(op::zeros({}, DType::Bool, self.device()), self, op::eye(self.size(-1), std::nullopt, self.dtype(), self.device()));
  if (n < 0) {
    TRT_CHECK(n != INT64_MIN, "linalg_matrix_power: the exponent ", n, " is out of range");
    return op::linalg_matrix_power(op::linalg_inv(self), -n);
  }
  Tensor power = self, result;
  for (uint64_t rest = static_cast<uint64_t>(n);; rest >>= 1) {
    if (rest & 1) result = result.defined() ? op::matmul(result, power) : power;
    if (rest == 1) break;
    power = op::matmul(power, power);
  }
  return n == 1 ? op::clone(self) : result;
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  TRT_CHECK(x.dtype() != DType::Bool, "linalg_vander: needs numbers, got ", x);
  const Tensor v = x.dim() == 0 ? op::unsqueeze(x, 0) : x;
  const int64_t n = N.value_or(v.size(-1));
  TRT_CHECK(n > 1, "linalg_vander: N must be above 1, got ", n);
  const DType dtype = is_integral(x.dtype(), true) ? DType::Int64 : x.dtype();
  const Tensor column = op::to(op::unsqueeze(v, -1), dtype);
  const Tensor parts[] = {op::ones_like(column), op::cumprod(op::expand(column, joined(v.sizes(), {n - 1})), -1)};
  return op::cat(TensorList(parts, 2), -1);
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim, std::optional<DType> dtype) {
  const auto [rows, cols] = matrix_dims(self, dim, "linalg_matrix_norm");
  const double order = ord.to_double(), magnitude = std::abs(order);
  TRT_CHECK(magnitude == 1 || magnitude == 2 || std::isinf(order), "linalg_matrix_norm: the order must be 1, -1, 2, -2, inf or -inf, got ", ord);
  const Tensor x = norm_input(self, dtype, "linalg_matrix_norm");
  if (magnitude == 2)
    return of_singular_values(x, rows, cols, keepdim, [&](const Tensor& s) {
      TRT_CHECK(order > 0 || s.size(-1) > 0, "linalg_matrix_norm: the smallest singular value of an empty matrix is not defined, got ", self);
      if (s.size(-1) == 0) return op::sum(s, IntArrayRef{-1}, false, std::nullopt);
      return order > 0 ? op::amax(s, {-1}, false) : op::amin(s, {-1}, false);
    });
  return magnitude == 1 ? extreme_sum(x, rows, cols, order > 0, keepdim) : extreme_sum(x, cols, rows, order > 0, keepdim);
}

Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  TRT_CHECK(dim == -1 || (dim >= 0 && dim < v.dim()), "norm_except_dim: dim must be -1 or a dimension of ", v, ", got ", dim);
  if (dim == -1) return op::norm(v, Scalar(pow));
  DimVector others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != dim) others.push_back(d);
  if (others.empty()) return op::abs(v);
  return op::linalg_vector_norm(v, Scalar(pow), IntArrayRef(others), true, std::nullopt);
}

Tensor linalg_matrix_norm_str_ord(const Tensor& self, std::string_view ord, IntArrayRef dim, bool keepdim, std::optional<DType> dtype) {
  const auto [rows, cols] = matrix_dims(self, dim, "linalg_matrix_norm");
  TRT_CHECK(ord == "fro" || ord == "nuc", "linalg_matrix_norm: the order must be fro or nuc, got \"", ord, "\"");
  const Tensor x = norm_input(self, dtype, "linalg_matrix_norm");
  if (ord == "fro") return op::linalg_vector_norm(x, 2, IntArrayRef{rows, cols}, keepdim, std::nullopt);
  return of_singular_values(x, rows, cols, keepdim, [](const Tensor& s) { return op::sum(s, IntArrayRef{int64_t{-1}}, false, std::nullopt); });
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, Dims dim, bool keepdim, std::optional<DType> dtype) {
  if (!ord) return op::linalg_vector_norm(self, 2, dim, keepdim, dtype);
  const int64_t dims = dim ? static_cast<int64_t>(dim->size()) : self.dim();
  TRT_CHECK(dims == 1 || dims == 2, "linalg_norm: with an order, one or two dimensions are needed, got ", self, dim ? str_cat(" and dim ", *dim) : std::string());
  if (dims == 1) return op::linalg_vector_norm(self, *ord, dim, keepdim, dtype);
  return op::linalg_matrix_norm(self, *ord, dim.value_or(IntArrayRef{int64_t{0}, int64_t{1}}), keepdim, dtype);
}

Tensor linalg_norm_ord_str(const Tensor& self, std::string_view ord, Dims dim, bool keepdim, std::optional<DType> dtype) {
  TRT_CHECK(dim ? dim->size() == 2 : self.dim() == 2, "linalg_norm: the order \"", ord, "\" needs a matrix or two dimensions, got ", self);
  return op::linalg_matrix_norm(self, ord, dim.value_or(IntArrayRef{int64_t{0}, int64_t{1}}), keepdim, dtype);
}

Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  TRT_CHECK(self.dim() <= 2, "cov: needs a matrix or a vector, got ", self);
  TRT_CHECK(self.dtype() != DType::Bool, "cov: needs numbers, got ", self);
  Tensor x = self.dim() < 2 ? op::reshape(self, {1, self.numel()}) : self;
  const int64_t n = x.size(1);
  auto check = [&](const Tensor& w, const char* name, bool fits) {
    TRT_CHECK(w.dim() <= 1 && w.numel() == n && fits, "cov: ", name, " must hold ", n, std::string_view(name) == "fweights" ? " integers" : " floating-point numbers",
              ", got ", w);
    if (w.is_meta()) return;
    TRT_CHECK(!true_of(op::any(op::lt(w, Scalar(0)))), "cov: ", name, " must not be negative");
  };
  Tensor w;
  if (fweights.defined()) {
    check(fweights, "fweights", is_integral(fweights.dtype(), false));
    w = fweights;
  }
  if (aweights.defined()) {
    check(aweights, "aweights", is_floating(aweights.dtype()));
    w = w.defined() ? op::mul(w, aweights) : aweights;
  }
  const Tensor total = w.defined() ? op::sum(w, std::nullopt, false, std::nullopt) : Tensor();
  auto divided = [&](const Tensor& t) { return w.defined() ? op::div(t, total) : op::div(t, Scalar(n)); };
  TRT_CHECK(!w.defined() || n == 0 || w.is_meta() || !true_of(op::eq(total, Scalar(0))), "cov: the weights sum to zero");
  auto weighed = [&](const Tensor& t) { return w.defined() ? op::mul(t, w) : t; };
  const Tensor mean = divided(op::sum(weighed(x), IntArrayRef{int64_t{1}}, true, std::nullopt));
  x = op::sub(x, mean);
  Tensor other = op::conj(weighed(x));
  const DType common = promote_types(x.dtype(), other.dtype());
  const Tensor product = op::mm(op::to(x, common), op::transpose(op::to(other, common), 0, 1));
  Tensor out;
  if (!w.defined()) {
    out = op::div(product, Scalar(std::max<int64_t>(n - correction, 0)));
  } else {
    Tensor norm = aweights.defined() && correction != 0
                      ? op::sub(total, op::div(op::mul(op::sum(op::mul(w, aweights), std::nullopt, false, std::nullopt), Scalar(correction)), total))
                      : op::sub(total, Scalar(correction));
    out = op::div(product, op::clamp_min(norm, Scalar(0)));
  }
  return op::squeeze(out);
}

Tensor corrcoef(const Tensor& self) {
  TRT_CHECK(self.dim() <= 2, "corrcoef: needs a matrix or a vector, got ", self);
  const Tensor c = op::cov(self, 1, Tensor(), Tensor());
  if (c.dim() == 0) return op::div(c, c);
  const Tensor deviation = op::sqrt(op::real(op::diagonal(c, 0, 0, 1)));
  const Tensor r = op::div(op::div(c, op::unsqueeze(deviation, 1)), op::unsqueeze(deviation, 0));
  auto clipped = [](const Tensor& t) { return op::clamp_max(op::clamp_min(t, Scalar(-1)), Scalar(1)); };
  return is_complex(r.dtype()) ? op::complex(clipped(op::real(r)), clipped(op::imag(r))) : clipped(r);
}

// |x|^2 + |y|^2 - 2 x.y, a product of matrices instead of all differences. Both are shifted by a mean first, where less cancels. Equal rows
// have no gradient.
static Tensor euclidean(const Tensor& x1, const Tensor& x2) {
  const int64_t last_two[] = {-2, -1};
  const IntArrayRef rows(last_two, 1), columns(last_two + 1, 1);
  const bool alike = x1.sizes().slice(0, x1.sizes().size() - 2) == x2.sizes().slice(0, x2.sizes().size() - 2);
  Tensor a = x1, b = x2;
  if (alike && x1.size(-2) > 0) {
    Tensor middle;
    {
      GradModeGuard constant(false);
      middle = op::mean(x1, rows, true, std::nullopt);
    }
    a = op::sub(x1, middle);
    b = op::sub(x2, middle);
  }
  const Tensor squares = op::add(op::sum(op::square(a), columns, true, std::nullopt), op::mT(op::sum(op::square(b), columns, true, std::nullopt)));
  const Tensor distance = op::clamp_min(op::sub(squares, op::mul(op::matmul(a, op::mT(b)), Scalar(2))), Scalar(0));
  const Tensor zero = op::eq(distance, Scalar(0));
  return op::where(zero, Scalar(0), op::sqrt(op::where(zero, Scalar(1), distance)));
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  TRT_CHECK(x1.dim() >= 2 && x2.dim() >= 2, "cdist: needs matrices, got ", x1, " and ", x2);
  TRT_CHECK(is_floating(x1.dtype()) && is_floating(x2.dtype()), "cdist: needs floating-point tensors, got ", x1, " and ", x2);
  TRT_CHECK(x1.size(-1) == x2.size(-1), "cdist: the rows must have the same length, got ", x1, " and ", x2);
  TRT_CHECK(p >= 0, "cdist: p must not be negative, got ", p);
  TRT_CHECK(compute_mode.value_or(0) >= 0 && compute_mode.value_or(0) <= 2, "cdist: compute_mode must be 0, 1 or 2, got ", *compute_mode);
  const int64_t mode = compute_mode.value_or(0);
  const bool many = x1.size(-2) > 25 || x2.size(-2) > 25;
  if (p == 2 && x1.size(-1) > 0 && (mode == 1 || (mode == 0 && many)) && x1.dtype() == x2.dtype() && !is_reduced_floating(x1.dtype())) return euclidean(x1, x2);
  const Tensor difference = op::sub(op::unsqueeze(x1, -2), op::unsqueeze(x2, -3));
  if (difference.size(-1) == 0) return op::sum(difference, IntArrayRef{int64_t{-1}}, false, std::nullopt);
  return op::linalg_vector_norm(difference, Scalar(p), IntArrayRef{int64_t{-1}}, false, std::nullopt);
}

Tensor pdist(const Tensor& self, double p) {
  TRT_CHECK(self.dim() == 2 && is_floating(self.dtype()), "pdist: needs a floating-point matrix, got ", self);
  TRT_CHECK(p >= 0, "pdist: p must not be negative, got ", p);
  const Tensor pairs = op::triu_indices(self.size(0), self.size(0), 1, DType::Int64, self.device());
  const Tensor difference = op::sub(op::index_select(self, 0, op::select(pairs, 0, 0)), op::index_select(self, 0, op::select(pairs, 0, 1)));
  if (self.size(1) == 0) return op::sum(difference, IntArrayRef{int64_t{-1}}, false, std::nullopt);
  return op::linalg_vector_norm(difference, Scalar(p), IntArrayRef{int64_t{-1}}, false, std::nullopt);
}

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TRT_CHECK(self.dim() > 1, "renorm: needs at least 2 dimensions, got ", self);
  TRT_CHECK(is_differentiable(self.dtype()), "renorm: needs a floating-point or complex tensor, got ", self);
  TRT_CHECK(p.to_double() > 0, "renorm: p must be above 0, got ", p);
  TRT_CHECK(maxnorm.to_double() >= 0, "renorm: maxnorm must not be negative, got ", maxnorm);
  const int64_t kept = wrap_dim(dim, self.dim(), "renorm");
  DimVector others;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != kept) others.push_back(d);
  const std::optional<DType> wide = is_reduced_floating(self.dtype()) ? std::optional(DType::Float32) : std::nullopt;
  // A copy, because the in-place variant writes over what the gradient needs.
  const Tensor x = op::clone(self);
  const Tensor norm = op::linalg_vector_norm(x, p, IntArrayRef(others), true, wide);
  const Tensor factor = op::where(op::gt(norm, maxnorm), op::mul(op::reciprocal(op::add(norm, Scalar(1e-7))), maxnorm), Scalar(1));
  return op::mul(x, op::to(factor, real_dtype(self.dtype())));
}

}  // namespace trt::composite
