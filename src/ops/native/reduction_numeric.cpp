// Made of other operators: quantiles, reductions of segments, integrals and derivatives of sampled functions.
#include <numeric>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/reduction_native.h"
#include "iter/copy.h"
#include "ops/native/widened.h"

namespace trt::composite {

using Tensors = std::vector<Tensor>;

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

// --- quantiles ---------------------------------------------------------------------------------------------------------------

Tensor quantiles(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation, bool skip_nan, const char* op) {
  TRT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, op, ": needs float32 or float64, got ", self);
  TRT_CHECK(q.dim() <= 1 && q.dtype() == self.dtype(), op, ": q must be a number or vector of the dtype of the input, got ", q, " for ", self);
  TRT_CHECK(self.numel() > 0, op, ": the input must not be empty, got ", self);
  const bool linear = interpolation == "linear", midpoint = interpolation == "midpoint";
  TRT_CHECK(linear || midpoint || interpolation == "lower" || interpolation == "higher" || interpolation == "nearest", op,
            ": interpolation must be linear, lower, higher, midpoint or nearest, got '", interpolation, "'");
  if (!q.is_meta()) {
    const Tensor numbers = contiguous_tensor(q, DType::Float64);
    for (int64_t i = 0; i < numbers.numel(); ++i)
      TRT_CHECK(numbers.data_ptr<double>()[i] >= 0 && numbers.data_ptr<double>()[i] <= 1, op, ": q must be from 0 to 1, got ", numbers.data_ptr<double>()[i]);
  }
  const int64_t d = dim ? wrap_dim(*dim, self.dim(), op) : 0;
  const Tensor lines = !dim || self.dim() == 0 ? op::reshape(self, {-1}) : op::movedim(self, d, -1);
  const Tensor sorted = std::get<0>(op::sort(lines, -1, false));
  const Scalar last(static_cast<double>(sorted.size(-1) - 1));
  const Tensor points = op::reshape(q, {-1});
  // Where in the sorted line the quantile lies; a line with a NaN ends in it.
  Tensor ranks;
  const Tensor is_nan = op::isnan(sorted);
  if (skip_nan) {
    const Tensor numbers = op::to(op::sum(op::logical_not(is_nan), IntArrayRef{int64_t{-1}}, true, std::nullopt), self.dtype());
    ranks = op::mul(points, op::clamp_min(op::sub(numbers, Scalar(1)), Scalar(0)));
  } else {
    ranks = op::where(op::any(is_nan, -1, true), last, op::mul(points, last));
  }
  if (interpolation == "lower") ranks = op::floor(ranks);
  else if (interpolation == "higher") ranks = op::ceil(ranks);
  else if (interpolation == "nearest") ranks = op::round(ranks);
  const Tensor below = op::to(ranks, DType::Int64);
  Tensor out = op::gather(sorted, -1, below);
  if (linear || midpoint) {
    const Tensor weights = midpoint ? op::full_like(ranks, Scalar(0.5)) : op::sub(ranks, op::to(below, self.dtype()));
    out = op::lerp(out, op::gather(sorted, -1, op::to(op::ceil(ranks), DType::Int64)), weights);
  }
  // [..., q] to [q, ...], with the reduced dimensions where they are kept.
  if (!dim || self.dim() == 0) {
    DimVector sizes(at(keepdim ? self.dim() : 0), 1);
    if (q.dim() == 1) sizes.insert(0, points.size(0));
    return op::reshape(out, sizes);
  }
  if (q.dim() == 0) out = op::squeeze(out, -1);
  else out = op::movedim(out, -1, 0);
  return keepdim ? op::unsqueeze(out, d + q.dim()) : out;
}

Tensor number(double q, const Tensor& self) { return op::full({}, Scalar(q), self.dtype(), self.device()); }

// --- integrals ---------------------------------------------------------------------------------------------------------------

Tensor part(const Tensor& t, int64_t d, int64_t from, int64_t to) { return op::narrow(t, d, from, t.size(d) + to - from); }
// The sums of neighbours.
Tensor pairs(const Tensor& y, int64_t d) { return op::add(part(y, d, 0, -1), part(y, d, 1, 0)); }

void check_numbers(const Tensor& t, const char* op) { TRT_CHECK(t.dtype() != DType::Bool, op, ": needs numbers, got ", t); }

// The distances of neighbours in `x`, so that they broadcast to those of y.
Tensor distances(const Tensor& y, const Tensor& x, int64_t d, const char* op) {
  check_numbers(x, op);
  if (x.dim() == 1) {
    TRT_CHECK(x.size(0) == y.size(d), op, ": x must have as many elements as y along dimension ", d, ", got ", x, " and ", y);
    DimVector sizes(at(y.dim() - d), 1);
    sizes[0] = x.size(0) - 1;
    return op::reshape(op::diff(x, 1, -1, Tensor(), Tensor()), sizes);
  }
  TRT_CHECK(x.dim() > 0, op, ": x must be a vector or broadcast to y, got ", x, " and ", y);
  Tensor wide = x;
  while (wide.dim() < y.dim()) wide = op::unsqueeze(wide, 0);
  return op::diff(wide, 1, d - y.dim() + wide.dim(), Tensor(), Tensor());
}

int64_t line_dim(const Tensor& y, int64_t dim, const char* op) {
  check_numbers(y, op);
  TRT_CHECK(y.dim() > 0, op, ": y needs at least one dimension, got ", y);
  return wrap_dim(dim, y.dim(), op);
}

Tensor zeros_without(const Tensor& y, int64_t d) {
  DimVector sizes(y.sizes().data(), y.sizes().size());
  sizes.erase(at(d));
  return op::zeros(sizes, y.dtype(), y.device());
}

// --- segments ----------------------------------------------------------------------------------------------------------------

// The segment of each position along the dimension after `lengths`' leading ones, [..., n]; positions before `starts` (0 if undefined) and behind the last
// segment get the number of segments.
Tensor segments_of(const Tensor& lengths, const Tensor& starts, int64_t n, bool check) {
  const int64_t count = lengths.size(-1), rows = count > 0 ? lengths.numel() / count : 0;
  const Tensor l = contiguous_tensor(lengths, DType::Int64), first = starts.defined() ? contiguous_tensor(starts, DType::Int64) : Tensor();
  DimVector sizes(lengths.sizes().data(), lengths.sizes().size());
  sizes.back() = n;
  Tensor out = empty_tensor(sizes, DType::Int64);
  int64_t* to = out.data_ptr<int64_t>();
  std::fill_n(to, out.numel(), count);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position = starts.defined() ? first.data_ptr<int64_t>()[row] : 0;
    TRT_CHECK(position >= 0, "segment_reduce: offsets must not be negative, got ", position);
    for (int64_t s = 0; s < count; ++s) {
      const int64_t length = l.data_ptr<int64_t>()[row * count + s];
      TRT_CHECK(length >= 0, "segment_reduce: lengths must not be negative, got ", length);
      TRT_CHECK(length <= n - position, "segment_reduce: the lengths add up to more than the ", n, " positions");
      std::fill_n(to + row * n + position, length, s);
      position += length;
    }
    TRT_CHECK(!check || position == n, "segment_reduce: the lengths add up to ", position, ", but there are ", n, " positions");
  }
  return out;
}

// --- derivatives -------------------------------------------------------------------------------------------------------------

Tensor ends_joined(const Tensor& first, const Tensor& middle, const Tensor& last, int64_t d) {
  const Tensor parts[] = {first, middle, last};
  return op::cat(TensorList(parts, 3), d);
}

Tensor at_position(const Tensor& t, int64_t d, int64_t i) { return op::narrow(t, d, i < 0 ? t.size(d) + i : i, 1); }
Tensor scaled_sum(const Tensor& a, const Scalar& fa, const Tensor& b, const Scalar& fb, const Tensor& c, const Scalar& fc) {
  return op::add(op::add(op::mul(a, fa), op::mul(b, fb)), op::mul(c, fc));
}

Tensor uniform_derivative(const Tensor& f, int64_t d, double h, int64_t edge_order) {
  auto element = [&](int64_t i) { return at_position(f, d, i); };
  const Tensor middle = op::div(op::sub(part(f, d, 2, 0), part(f, d, 0, -2)), Scalar(2 * h));
  Tensor first, last;
  if (edge_order == 1) {
    first = op::sub(element(1), element(0));
    last = op::sub(element(-1), element(-2));
  } else {
    first = scaled_sum(element(0), Scalar(-1.5), element(1), Scalar(2.0), element(2), Scalar(-0.5));
    last = scaled_sum(element(-1), Scalar(1.5), element(-2), Scalar(-2.0), element(-3), Scalar(0.5));
  }
  return ends_joined(op::div(first, Scalar(h)), middle, op::div(last, Scalar(h)), d);
}

Tensor derivative_at(const Tensor& f, int64_t d, const Tensor& coordinates, int64_t edge_order) {
  auto element = [&](int64_t i) { return at_position(f, d, i); };
  DimVector shape(at(f.dim() - d), 1);
  shape[0] = f.size(d) - 1;
  const Tensor steps = op::reshape(op::diff(coordinates, 1, -1, Tensor(), Tensor()), shape);
  auto step = [&](int64_t i) { return at_position(steps, 0, i); };
  auto product = [](const Tensor& a, const Tensor& b) { return op::mul(a, b); };
  // The weights of three neighbours: the derivative of the parabola through them, at the first, the middle or the last.
  auto parabola = [&](const Tensor& before, const Tensor& here, const Tensor& after, const Tensor& h1, const Tensor& h2, int where) {
    const Tensor sum = op::add(h1, h2), d1 = product(h1, sum), d2 = product(h1, h2), d3 = product(h2, sum);
    Tensor a, b, c;
    if (where == 0) {
      a = op::div(op::neg(op::add(op::add(h1, h1), h2)), d1);
      b = op::div(sum, d2);
      c = op::div(op::neg(h1), d3);
    } else if (where == 1) {
      a = op::div(op::neg(h2), d1);
      b = op::div(op::sub(h2, h1), d2);
      c = op::div(h1, d3);
    } else {
      a = op::div(h2, d1);
      b = op::div(op::neg(sum), d2);
      c = op::div(op::add(op::add(h2, h2), h1), d3);
    }
    return op::add(op::add(product(a, before), product(b, here)), product(c, after));
  };
  const Tensor middle = parabola(part(f, d, 0, -2), part(f, d, 1, -1), part(f, d, 2, 0), part(steps, 0, 0, -1), part(steps, 0, 1, 0), 1);
  Tensor first, last;
  if (edge_order == 1) {
    first = op::div(op::sub(element(1), element(0)), step(0));
    last = op::div(op::sub(element(-1), element(-2)), step(-1));
  } else {
    first = parabola(element(0), element(1), element(2), step(0), step(1), 0);
    last = parabola(element(-3), element(-2), element(-1), step(-2), step(-1), 2);
  }
  return ends_joined(first, middle, last, d);
}

DimVector derived_dims(const Tensor& self, const std::optional<IntArrayRef>& dim, int64_t edge_order) {
  TRT_CHECK(edge_order == 1 || edge_order == 2, "gradient: edge_order must be 1 or 2, got ", edge_order);
  DimVector out;
  if (dim)
    for (int64_t d : *dim) out.push_back(wrap_dim(d, self.dim(), "gradient"));
  else
    for (int64_t d = 0; d < self.dim(); ++d) out.push_back(d);
  for (size_t i = 0; i < out.size(); ++i) {
    TRT_CHECK(std::find(out.begin(), out.begin() + static_cast<long>(i), out[i]) == out.begin() + static_cast<long>(i), "gradient: dimension ", out[i], " stands twice in dim");
    TRT_CHECK(self.dim() > 0 && self.size(out[i]) > edge_order, "gradient: each dimension must have at least edge_order + 1 (", edge_order + 1, ") elements, got ", self);
  }
  return out;
}

}  // namespace

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantiles(self, q, dim, keepdim, interpolation, false, "quantile");
}
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantiles(self, number(q, self), dim, keepdim, interpolation, false, "quantile");
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantiles(self, q, dim, keepdim, interpolation, true, "nanquantile");
}
Tensor nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) {
  return quantiles(self, number(q, self), dim, keepdim, interpolation, true, "nanquantile");
}

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths, const Tensor& indices, const Tensor& offsets, int64_t axis, bool unsafe,
                      const std::optional<Scalar>& initial) {
  const bool sum = reduce == "sum", mean = reduce == "mean", largest = reduce == "max", smallest = reduce == "min";
  TRT_CHECK(sum || mean || largest || smallest || reduce == "prod", "segment_reduce: reduce must be sum, mean, max, min or prod, got '", reduce, "'");
  TRT_CHECK(is_floating(data.dtype()), "segment_reduce: needs a floating-point tensor, got ", data);
  TRT_CHECK(data.dim() > 0, "segment_reduce: needs at least one dimension, got ", data);
  TRT_CHECK_CODE(!indices.defined(), Code::kNotSupported, "segment_reduce: indices are not supported, give lengths or offsets");
  TRT_CHECK(lengths.defined() != offsets.defined(), "segment_reduce: needs either lengths or offsets");
  const int64_t d = wrap_dim(axis, data.dim(), "segment_reduce");
  const Tensor& given = lengths.defined() ? lengths : offsets;
  TRT_CHECK((given.dtype() == DType::Int64 || given.dtype() == DType::Int32) && given.dim() == d + 1 && given.sizes().slice(0, at(d)) == data.sizes().slice(0, at(d)),
            "segment_reduce: lengths and offsets must be int64 or int32, with the sizes of data before axis and one dimension more, got ", given, " for ", data, " and axis ", axis);
  TRT_CHECK(lengths.defined() || offsets.size(-1) > 0, "segment_reduce: offsets must hold at least the end of the data, got ", offsets);
  const Tensor l = lengths.defined() ? lengths : op::diff(offsets, 1, -1, Tensor(), Tensor());
  const int64_t count = l.size(-1);
  DimVector sizes(data.sizes().data(), data.sizes().size());
  sizes[at(d)] = count;
  if (data.is_meta() || l.is_meta()) return op::empty(sizes, data.dtype(), data.device());
  if (const DType t = data.dtype(); is_reduced_floating(t)) return op::to(op::segment_reduce(widened(data, t), reduce, lengths, indices, offsets, axis, unsafe, initial), t);
  const double start = initial ? initial->to_double() : largest ? -HUGE_VAL : smallest ? HUGE_VAL : sum || mean ? 0.0 : 1.0;
  // One segment more takes the positions that belong to none.
  sizes[at(d)] = count + 1;
  Tensor places = segments_of(l, offsets.defined() ? op::select(offsets, -1, 0) : Tensor(), data.size(d), !unsafe && lengths.defined());
  for (int64_t i = d + 1; i < data.dim(); ++i) places = op::unsqueeze(places, -1);
  places = op::expand(places, data.sizes());
  const Tensor begin = op::full(sizes, Scalar(start), data.dtype(), data.device());
  Tensor out = sum || mean ? op::scatter_add(begin, d, places, data)
                           : op::scatter_reduce(begin, d, places, data, largest ? "amax" : smallest ? "amin" : "prod", true);
  out = op::narrow(out, d, 0, count);
  if (!mean) return out;
  Tensor elements = op::to(l, data.dtype());
  for (int64_t i = d + 1; i < data.dim(); ++i) elements = op::unsqueeze(elements, -1);
  const Tensor empty = op::eq(elements, Scalar(0));
  const Tensor means = op::div(out, op::where(empty, Scalar(1.0), elements));
  return initial ? means : op::where(empty, Scalar(std::nan("")), means);
}

Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  if (const DType t = y.dtype(); is_reduced_floating(t)) return op::to(op::trapezoid(widened(y, t), widened(x, t), dim), t);
  const int64_t d = line_dim(y, dim, "trapezoid");
  if (y.size(d) == 0) return zeros_without(y, d);
  return op::div(op::sum(op::mul(pairs(y, d), distances(y, x, d, "trapezoid")), IntArrayRef{d - y.dim()}, false, std::nullopt), Scalar(2.0));
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (const DType t = y.dtype(); is_reduced_floating(t)) return op::to(op::trapezoid(widened(y, t), dx, dim), t);
  const int64_t d = line_dim(y, dim, "trapezoid");
  if (y.size(d) == 0) return zeros_without(y, d);
  const Tensor ends = op::mul(op::add(op::select(y, d, 0), op::select(y, d, -1)), Scalar(0.5));
  return op::mul(op::sub(op::sum(y, IntArrayRef{d}, false, std::nullopt), ends), dx);
}
Tensor cumulative_trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  if (const DType t = y.dtype(); is_reduced_floating(t)) return op::to(op::cumulative_trapezoid(widened(y, t), widened(x, t), dim), t);
  const int64_t d = line_dim(y, dim, "cumulative_trapezoid");
  TRT_CHECK(y.size(d) > 0, "cumulative_trapezoid: dimension ", dim, " of ", y, " has no elements");
  return op::div(op::cumsum(op::mul(distances(y, x, d, "cumulative_trapezoid"), pairs(y, d)), d - y.dim(), std::nullopt), Scalar(2.0));
}
Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (const DType t = y.dtype(); is_reduced_floating(t)) return op::to(op::cumulative_trapezoid(widened(y, t), dx, dim), t);
  const int64_t d = line_dim(y, dim, "cumulative_trapezoid");
  TRT_CHECK(y.size(d) > 0, "cumulative_trapezoid: dimension ", dim, " of ", y, " has no elements");
  TRT_CHECK(!dx.is_complex(), "cumulative_trapezoid: dx must be real, got ", dx);
  return op::cumsum(op::mul(pairs(y, d), Scalar(dx.to_double() / 2)), d, std::nullopt);
}

Tensors gradient(const Tensor& self, std::optional<ArrayRef<double>> spacing, std::optional<IntArrayRef> dim, int64_t edge_order) {
  const DimVector dims = derived_dims(self, dim, edge_order);
  TRT_CHECK(!spacing || spacing->size() == 1 || spacing->size() == dims.size(), "gradient: spacing must be a number for all or for each of ", dims.size(), " dimensions, got ",
            spacing ? spacing->size() : 0);
  Tensors out;
  const DType dtype = self.dtype();
  for (size_t i = 0; i < dims.size(); ++i) {
    const double h = !spacing ? 1 : (*spacing)[spacing->size() == 1 ? 0 : i];
    const Tensor derivative = uniform_derivative(is_reduced_floating(dtype) ? widened(self, dtype) : self, dims[i], h, edge_order);
    out.push_back(is_reduced_floating(dtype) ? op::to(derivative, dtype) : derivative);
  }
  return out;
}
Tensors gradient_coordinates(const Tensor& self, TensorList spacing, std::optional<IntArrayRef> dim, int64_t edge_order) {
  const DimVector dims = derived_dims(self, dim, edge_order);
  TRT_CHECK(spacing.size() == dims.size(), "gradient: needs coordinates for each of ", dims.size(), " dimensions, got ", spacing.size());
  Tensors out;
  for (size_t i = 0; i < dims.size(); ++i) {
    TRT_CHECK(spacing[i].dim() == 1 && spacing[i].size(0) == self.size(dims[i]), "gradient: the coordinates of dimension ", dims[i], " must be a vector of its size, got ", spacing[i],
              " for ", self);
    out.push_back(derivative_at(self, dims[i], spacing[i], edge_order));
  }
  return out;
}

}  // namespace trt::composite
