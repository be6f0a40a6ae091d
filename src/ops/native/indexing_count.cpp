// Counting: the most frequent element, different elements, histograms, combinations.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/indexing_native.h"
#include "kernels/cpu/sort.h"
#include "ops/native/indexing_util.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

template <typename T>
bool same(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) return static_cast<bool>(a) == static_cast<bool>(b);
  else return static_cast<opmath_t<T>>(a) == static_cast<opmath_t<T>>(b);
}
// NaN comes last.
template <typename T>
bool before(T a, T b) {
  const auto x = static_cast<opmath_t<T>>(a), y = static_cast<opmath_t<T>>(b);
  if constexpr (std::is_floating_point_v<opmath_t<T>>) return x < y || (std::isnan(y) && !std::isnan(x));
  else return x < y;
}

// Which of n things are different: groups of equal ones that follow each other in `order`, the first of each, their number, and the group of each thing.
struct Groups {
  std::vector<int64_t> first, counts, group;

  template <typename F>
  Groups(const std::vector<int64_t>& order, F&& equal) : group(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || !equal(order[i - 1], order[i])) {
        first.push_back(order[i]);
        counts.push_back(0);
      }
      ++counts.back();
      group[at(order[i])] = static_cast<int64_t>(first.size()) - 1;
    }
  }
};

// A view with dimension `from` at the place `to`.
Tensor moved(const Tensor& t, int64_t from, int64_t to) {
  DimVector sizes(t.sizes().data(), t.sizes().size()), strides(t.strides().data(), t.strides().size());
  for (DimVector* v : {&sizes, &strides}) {
    const int64_t value = (*v)[at(from)];
    v->erase(at(from));
    v->insert(at(to), value);
  }
  return alias_tensor(t, sizes, strides, t.storage_offset());
}

Tensor integers(const std::vector<int64_t>& v, IntArrayRef sizes) {
  Tensor t = empty_tensor(sizes, DType::Int64);
  std::copy(v.begin(), v.end(), t.data_ptr<int64_t>());
  return t;
}

std::tuple<Tensor, Tensor, Tensor> different(const Tensor& self, bool sort, bool return_inverse, bool return_counts, std::optional<int64_t> dim, const char* op) {
  TRT_CHECK_CODE(!is_complex(self.dtype()), Code::kNotSupported, op, ": not supported for complex tensors, got ", self);
  // [n, width]: single elements, or slices along a dimension.
  const int64_t d = dim ? wrap_dim(*dim, self.dim(), op) : 0;
  const bool slices = dim && self.dim() > 0;
  const Tensor things = contiguous_tensor(slices ? moved(self, d, 0) : self);
  const int64_t n = slices ? self.size(d) : self.numel(), width = slices && n > 0 ? self.numel() / n : 1;
  TRT_CHECK(!slices || self.numel() > 0 || n == 0, op, ": the slices along dimension ", *dim, " have no elements, got ", self);
  std::vector<int64_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  Tensor out;
  Tensor inverse = empty_tensor({0}, DType::Int64), counts = inverse;
  dispatch_dtype(self.dtype(), op, [&]<typename T>() {
    const T* x = things.data_ptr<T>();
    if (sort && width == 1) {
      cpu::sort_rows<T>(x, nullptr, order.data(), 1, n, false);
    } else if (sort) {
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return std::lexicographical_compare(x + a * width, x + (a + 1) * width, x + b * width, x + (b + 1) * width, before<T>);
      });
    }
    const Groups groups(order, [&](int64_t a, int64_t b) { return std::equal(x + a * width, x + (a + 1) * width, x + b * width, same<T>); });
    const int64_t found = static_cast<int64_t>(groups.first.size());
    DimVector sizes{found};
    if (slices) {
      sizes = DimVector(things.sizes().data(), things.sizes().size());
      sizes[0] = found;
    }
    out = empty_tensor(sizes, self.dtype());
    for (int64_t i = 0; i < found; ++i) std::copy_n(x + groups.first[at(i)] * width, width, out.data_ptr<T>() + i * width);
    if (return_inverse) inverse = slices ? integers(groups.group, {n}) : integers(groups.group, self.sizes());
    if (return_counts) counts = integers(groups.counts, {found});
  });
  if (slices && d != 0) out = contiguous_tensor(moved(out, 0, d));
  return {out, inverse, counts};
}

}  // namespace

namespace meta {

std::array<TensorSpec, 2> mode(const Tensor& self, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, self.dim(), "mode");
  TRT_CHECK_CODE(self.dim() == 0 || self.size(d) > 0, Code::kOutOfRange, "mode: dimension ", dim, " of ", self, " has no elements");
  const DimVector sizes = reduced_sizes(self.sizes(), uint64_t{1} << d, keepdim);
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

TensorSpec histogram_counts(const Tensor& self, TensorList edges, const Tensor& weight) {
  TRT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64 || is_reduced_floating(self.dtype()), "histogram: needs a floating-point tensor, got ", self);
  TRT_CHECK(self.dim() == 2 && self.size(1) == static_cast<int64_t>(edges.size()), "histogram: needs edges for each of ", self.size(-1), " dimensions, got ", edges.size());
  DimVector sizes;
  for (const Tensor& e : edges) {
    TRT_CHECK(e.dim() == 1 && e.size(0) > 1 && e.dtype() == self.dtype(), "histogram: edges must be vectors of at least two elements of the input's dtype (", self.dtype(), "), got ", e);
    sizes.push_back(e.size(0) - 1);
  }
  TRT_CHECK(!weight.defined() || (weight.dtype() == self.dtype() && weight.numel() == self.size(0)), "histogram: the weights must be as many as what is counted and have its dtype, got ",
            weight, " for ", self);
  return {sizes, self.dtype(), self.device()};
}

}  // namespace meta

namespace native {

void mode(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  if (values.numel() == 0) return;
  const int64_t d = wrap_dim(dim, self.dim(), "mode"), n = self.dim() ? self.size(d) : 1;
  const Tensor x = contiguous_tensor(self.dim() > 0 ? moved(self, d, self.dim() - 1) : self);
  dispatch_dtype(self.dtype(), "mode", [&]<typename T>() {
    const T* from = x.data_ptr<T>();
    parallel_for(0, values.numel(), std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> order(at(n));
      for (int64_t row = begin; row < end; ++row) {
        const T* p = from + row * n;
        cpu::sort_rows<T>(p, nullptr, order.data(), 1, n, false);
        int64_t most = 0;
        for (int64_t i = 0, start = 0; i < n; ++i) {
          if (i + 1 < n && same(p[order[at(i)]], p[order[at(i + 1)]])) continue;
          if (i + 1 - start > most) {
            most = i + 1 - start;
            values.data_ptr<T>()[row] = p[order[at(i)]];
            indices.data_ptr<int64_t>()[row] = order[at(i)];
          }
          start = i + 1;
        }
      }
    });
  });
}

std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& self, bool, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  return different(self, true, return_inverse, return_counts, dim, "unique");
}
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  return different(self, false, return_inverse, return_counts, dim, "unique_consecutive");
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  TRT_CHECK(self.dim() == 1 && is_integral(self.dtype(), false), "bincount: needs a vector of integers, got ", self);
  TRT_CHECK(minlength >= 0 && minlength < int64_t{1} << 40, "bincount: minlength must not be negative or huge, got ", minlength);
  TRT_CHECK(!weights.defined() || (weights.sizes() == self.sizes() && !is_complex(weights.dtype())), "bincount: weights must be real numbers of the input's shape, got ", weights, " for ", self);
  const Tensor x = contiguous_tensor(self, DType::Int64);
  const int64_t* p = x.data_ptr<int64_t>();
  int64_t size = minlength;
  for (int64_t i = 0; i < x.numel(); ++i) {
    TRT_CHECK(p[i] >= 0, "bincount: the numbers must not be negative, got ", p[i], " at position ", i);
    TRT_CHECK(p[i] < int64_t{1} << 40, "bincount: the number ", p[i], " is too large");
    size = std::max(size, p[i] + 1);
  }
  if (!weights.defined()) {
    Tensor out = empty_tensor({size}, DType::Int64);
    int64_t* to = out.data_ptr<int64_t>();
    std::fill_n(to, size, 0);
    for (int64_t i = 0; i < x.numel(); ++i) ++to[p[i]];
    return out;
  }
  const bool single = weights.dtype() == DType::Float32;
  const Tensor w = contiguous_tensor(weights, DType::Float64);
  Tensor sums = empty_tensor({size}, DType::Float64);
  double* to = sums.data_ptr<double>();
  std::fill_n(to, size, 0);
  for (int64_t i = 0; i < x.numel(); ++i) to[p[i]] += w.data_ptr<double>()[i];
  return single ? contiguous_tensor(sums, DType::Float32) : sums;
}

void histogram_counts(const Tensor& self, TensorList edges, const Tensor& weight, Tensor& out) {
  const int64_t n = self.size(0), dims = self.size(1);
  const Tensor x = contiguous_tensor(self, DType::Float64), w = weight.defined() ? contiguous_tensor(weight, DType::Float64) : Tensor();
  std::vector<Tensor> bounds;
  for (const Tensor& e : edges) bounds.push_back(contiguous_tensor(e, DType::Float64));
  std::vector<double> counts(at(out.numel()), 0.0);
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = 0;
    bool inside = true;
    for (int64_t d = 0; d < dims && inside; ++d) {
      const double v = x.data_ptr<double>()[i * dims + d];
      const double* first = bounds[at(d)].data_ptr<double>();
      const int64_t bins = out.size(d);
      inside = v >= first[0] && v <= first[bins];
      if (inside) place = place * bins + std::min<int64_t>(std::upper_bound(first, first + bins + 1, v) - first - 1, bins - 1);
    }
    if (inside) counts[at(place)] += w.defined() ? w.data_ptr<double>()[i] : 1.0;
  }
  dispatch_floating(out.dtype(), "histogram", [&]<typename T>() {
    for (int64_t i = 0; i < out.numel(); ++i) out.data_ptr<T>()[i] = static_cast<T>(static_cast<opmath_t<T>>(counts[at(i)]));
  });
}

}  // namespace native

namespace composite {

using Tensors = std::vector<Tensor>;

namespace {

// The bounds of a histogram: those that are given, or the least and the largest element, apart by `spread` on each side where they are equal.
std::pair<double, double> bounds_of(const Tensor& column, const std::optional<std::pair<double, double>>& given, double spread, const char* op) {
  double least = 0, largest = column.numel() == 0 ? 1 : 0;
  if (given) {
    std::tie(least, largest) = *given;
  } else if (column.numel() > 0 && !column.is_meta()) {
    least = *op::to(op::amin(column, {}, false), DType::Float64).data_ptr<double>();
    largest = *op::to(op::amax(column, {}, false), DType::Float64).data_ptr<double>();
  }
  TRT_CHECK(std::isfinite(least) && std::isfinite(largest), op, ": the range from ", least, " to ", largest, " is not finite");
  TRT_CHECK(least <= largest, op, ": the range from ", least, " to ", largest, " is empty");
  if (least == largest) {
    least -= spread;
    largest += spread;
  }
  return {least, largest};
}

void check_floating(const Tensor& self, const char* op) {
  TRT_CHECK_CODE(is_floating(self.dtype()), Code::kNotSupported, op, ": needs a floating-point tensor, got ", self);
}

// The counts and the edges; divided by their sum and the sizes of the boxes if `density`.
Tensors finished(const Tensor& rows, Tensors edges, const Tensor& weight, bool density) {
  Tensor counts = op::histogram_counts(rows, edges, weight.defined() ? op::reshape(weight, {-1}) : weight);
  if (density) {
    counts = op::div(counts, op::sum(counts));
    for (size_t d = 0; d < edges.size(); ++d) {
      const Tensor widths = op::diff(edges[d], 1, -1, Tensor(), Tensor());
      DimVector shape(at(counts.dim()), 1);
      shape[d] = widths.size(0);
      counts = op::div(counts, op::reshape(widths, shape));
    }
  }
  edges.insert(edges.begin(), counts);
  return edges;
}

Tensor rows_of(const Tensor& self, const char* op) {
  check_floating(self, op);
  TRT_CHECK(self.dim() >= 2, op, ": needs at least two dimensions, got ", self);
  int64_t n = 1;
  for (int64_t d = 0; d + 1 < self.dim(); ++d) n *= self.size(d);
  return op::reshape(self, {n, self.size(-1)});
}

Tensors grid_histogram(const Tensor& rows, IntArrayRef bins, const std::optional<ArrayRef<double>>& range, const Tensor& weight, bool density, const char* op) {
  const int64_t dims = rows.size(1);
  TRT_CHECK(static_cast<int64_t>(bins.size()) == dims, op, ": needs a number of bins for each of ", dims, " dimensions, got ", bins);
  TRT_CHECK(!range || range->size() == 2 * bins.size(), op, ": range must hold two numbers for each dimension, got ", range ? range->size() : 0);
  Tensors edges;
  for (int64_t d = 0; d < dims; ++d) {
    TRT_CHECK(bins[at(d)] > 0 && bins[at(d)] < int64_t{1} << 31, op, ": the number of bins must be positive, got ", bins);
    std::optional<std::pair<double, double>> given;
    if (range) given = {(*range)[at(2 * d)], (*range)[at(2 * d + 1)]};
    auto [from, to] = bounds_of(op::select(rows, 1, d), given, 0.5, op);
    // The edges in between are counted from bounds in the dtype of the input, as those that are returned.
    if (rows.dtype() == DType::Float32) from = static_cast<float>(from), to = static_cast<float>(to);
    edges.push_back(op::linspace(Scalar(from), Scalar(to), bins[at(d)] + 1, rows.dtype(), rows.device()));
  }
  return finished(rows, edges, weight, density);
}

}  // namespace

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const GradModeGuard no_graph(false);
  check_floating(self, "histc");
  TRT_CHECK(bins > 0 && bins < int64_t{1} << 31, "histc: bins must be positive, got ", bins);
  std::optional<std::pair<double, double>> given;
  if (min.to_double() != max.to_double() || self.numel() == 0) given = {min.to_double(), max.to_double()};
  const Tensor x = op::reshape(self, {-1, 1});
  const auto [from, to] = bounds_of(x, given, 1, "histc");
  // Edges in float64, whatever the dtype is: the intervals have the same width.
  const Tensor edges = op::linspace(Scalar(from), Scalar(to), bins + 1, DType::Float64, x.device());
  const Tensor wide = op::to(x, DType::Float64);
  return op::to(op::histogram_counts(wide, TensorList(&edges, 1), Tensor()), self.dtype());
}

std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins, std::optional<ArrayRef<double>> range, const Tensor& weight, bool density) {
  const GradModeGuard no_graph(false);
  check_floating(self, "histogram");
  TRT_CHECK(!weight.defined() || weight.sizes() == self.sizes(), "histogram: the weights must have the input's shape, got ", weight, " for ", self);
  const Tensors out = grid_histogram(op::reshape(self, {-1, 1}), IntArrayRef(&bins, 1), range, weight, density, "histogram");
  return {out[0], out[1]};
}
std::tuple<Tensor, Tensor> histogram_bins_tensor(const Tensor& self, const Tensor& bins, const Tensor& weight, bool density) {
  const GradModeGuard no_graph(false);
  check_floating(self, "histogram");
  TRT_CHECK(!weight.defined() || weight.sizes() == self.sizes(), "histogram: the weights must have the input's shape, got ", weight, " for ", self);
  const Tensors out = finished(op::reshape(self, {-1, 1}), {bins}, weight, density);
  return {out[0], out[1]};
}

Tensors histogramdd(const Tensor& self, IntArrayRef bins, std::optional<ArrayRef<double>> range, const Tensor& weight, bool density) {
  const GradModeGuard no_graph(false);
  return grid_histogram(rows_of(self, "histogramdd"), bins, range, weight, density, "histogramdd");
}
Tensors histogramdd_bins_tensors(const Tensor& self, TensorList bins, const Tensor& weight, bool density) {
  const GradModeGuard no_graph(false);
  return finished(rows_of(self, "histogramdd"), Tensors(bins.begin(), bins.end()), weight, density);
}

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TRT_CHECK(self.dim() == 1, "combinations: needs a vector, got ", self);
  TRT_CHECK(r >= 0, "combinations: r must not be negative, got ", r);
  if (r == 0) return op::zeros({0}, self.dtype(), self.device());
  const int64_t n = self.size(0);
  double count = 1;
  for (int64_t i = 0; i < r && count > 0; ++i) count = count * static_cast<double>(std::max<int64_t>(with_replacement ? n + i : n - i, 0)) / static_cast<double>(i + 1);
  const double elements = std::round(count) * static_cast<double>(r);
  TRT_CHECK(elements < 4e9 && r < int64_t{1} << 31, "combinations: ", r, " of ", n, " elements are too many");
  const int64_t rows = static_cast<int64_t>(std::round(count));
  Tensor index = empty_tensor({rows * r}, DType::Int64, self.device());
  if (!self.is_meta()) {
    std::vector<int64_t> chosen(at(rows > 0 ? r : 0));
    for (size_t i = 1; i < chosen.size(); ++i) chosen[i] = with_replacement ? 0 : static_cast<int64_t>(i);
    for (int64_t row = 0; row < rows; ++row) {
      std::copy(chosen.begin(), chosen.end(), index.data_ptr<int64_t>() + row * r);
      // The last position that can move on; those behind it begin anew.
      int64_t i = r - 1;
      while (i >= 0 && chosen[at(i)] == (with_replacement ? n - 1 : n - r + i)) --i;
      if (i < 0) break;
      ++chosen[at(i)];
      for (int64_t j = i + 1; j < r; ++j) chosen[at(j)] = with_replacement ? chosen[at(i)] : chosen[at(j - 1)] + 1;
    }
  }
  return op::reshape(op::index_select(self, 0, index), {rows, r});
}

}  // namespace composite

}  // namespace trt
