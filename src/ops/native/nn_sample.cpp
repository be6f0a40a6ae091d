// grid_sample and affine_grid, made of operators that read elements at computed places, so that gradients of every order
// follow.
#include "gen/all_ops.h"
#include "gen/nn_resample_native.h"

namespace trt::composite {

namespace {

// From -1 .. 1 to positions in an extent of n elements.
Tensor unnormalized(const Tensor& x, int64_t n, bool align_corners) {
  const double size = static_cast<double>(n);
  return align_corners ? op::mul(op::add(x, 1), (size - 1) / 2)
                       : op::sub(op::mul(op::add(x, 1), size / 2), 0.5);
}

// Positions reflected at low and high until they lie between.
Tensor reflected(const Tensor& x, double low, double high) {
  // A constant with a gradient, which is 0.
  if (low == high) return op::masked_fill(x, op::ones_like(x, DType::Bool), 0);
  const double span = high - low;
  const Tensor distance = op::abs(op::sub(x, low)), extra = op::fmod(distance, span),
               flips = op::floor(op::div(distance, span)), even = op::eq(op::fmod(flips, 2), 0);
  return op::where(even, op::add(extra, low), op::rsub(extra, high));
}

// Limited to 0 .. n - 1, without a gradient at and outside of the limits.
Tensor limited(const Tensor& x, int64_t n) {
  const double last = static_cast<double>(n - 1);
  const Tensor inside = op::logical_and(op::gt(x, 0), op::lt(x, last));
  // NaN becomes 0.
  const Tensor bound = op::where(op::ge(x, last), op::full_like(x, last), op::zeros_like(x));
  return op::where(inside, x, bound);
}

enum class Padding { kZeros, kBorder, kReflection };

Tensor placed(const Tensor& x, int64_t n, Padding padding, bool align_corners) {
  if (padding == Padding::kBorder) return limited(x, n);
  if (padding == Padding::kZeros) return x;
  const double size = static_cast<double>(n);
  return limited(align_corners ? reflected(x, 0, size - 1) : reflected(x, -0.5, size - 0.5), n);
}

// The elements of `flat` [n, c, places] at whole positions (floats), one tensor a dimension, each [n, outputs]; zero
// outside.
Tensor elements_at(const Tensor& flat, IntArrayRef extents, const std::vector<Tensor>& at) {
  Tensor place, inside;
  for (size_t i = 0; i < at.size(); ++i) {
    const double last = static_cast<double>(extents[i] - 1);
    const Tensor in = op::logical_and(op::ge(at[i], 0), op::le(at[i], last));
    inside = inside.defined() ? op::logical_and(inside, in) : in;
    const Tensor index = op::to(op::where(in, at[i], op::zeros_like(at[i])), DType::Int64);
    place = place.defined() ? op::add(op::mul(place, extents[i]), index) : index;
  }
  const DimVector shape{flat.size(0), flat.size(1), place.size(1)};
  const Tensor values = op::gather(flat, 2, op::expand(op::unsqueeze(place, 1), shape));
  return op::where(op::unsqueeze(inside, 1), values, op::zeros({}, flat.dtype(), flat.device()));
}

// Whole numbers have no gradient.
Tensor whole(const Tensor& x, bool to_nearest) {
  const GradModeGuard no_grad(false);
  return to_nearest ? op::round(x) : op::floor(x);
}

// The weights of the four elements around a position for cubic interpolation with a = -0.75 (Keys 1981); t is the part
// behind the second one.
std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double a = -0.75;
  auto near = [&](const Tensor& x) {
    return op::add(op::mul(op::mul(op::sub(op::mul(x, a + 2), a + 3), x), x), 1);
  };
  auto far = [&](const Tensor& x) {
    return op::sub(op::mul(op::add(op::mul(op::sub(op::mul(x, a), 5 * a), x), 8 * a), x), 4 * a);
  };
  const Tensor u = op::rsub(t, 1);
  return {far(op::add(t, 1)), near(t), near(u), far(op::add(u, 1))};
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode, std::string_view padding_mode,
                   std::optional<bool> align_corners) {
  constexpr const char* kName = "grid_sample";
  TRT_CHECK(input.dim() == 4 || input.dim() == 5, kName, ": input must have 4 or 5 dimensions, got ", input);
  const size_t dims = static_cast<size_t>(input.dim() - 2);
  TRT_CHECK(is_floating(input.dtype()) && grid.dtype() == input.dtype(), kName,
            ": needs floating-point input and grid of one dtype, got ", input, " and ", grid);
  TRT_CHECK(grid.dim() == input.dim() && grid.size(0) == input.size(0) &&
                grid.size(-1) == static_cast<int64_t>(dims),
            kName, ": grid must have ", input.dim(), " dimensions, the batch of the input and ", dims,
            " coordinates, got input ", input, " and grid ", grid);
  TRT_CHECK(padding_mode == "zeros" || padding_mode == "border" || padding_mode == "reflection", kName,
            ": padding_mode must be 'zeros', 'border' or 'reflection', got '", padding_mode, "'");
  TRT_CHECK(mode == "bilinear" || mode == "nearest" || mode == "bicubic", kName,
            ": mode must be 'bilinear', 'nearest' or 'bicubic', got '", mode, "'");
  TRT_CHECK(mode != "bicubic" || dims == 2, kName, ": mode bicubic is for inputs of 4 dimensions, got ", input);
  for (int64_t d = 2; d < input.dim(); ++d)
    TRT_CHECK(input.size(d) > 0 && input.size(d) < (int64_t{1} << 24), kName, ": dimension ", d, " of input ", input,
              " is empty or too large");
  // Positions in 16-bit floats are too coarse.
  if (is_reduced_floating(input.dtype()))
    return op::to(op::grid_sample(op::to(input, DType::Float32), op::to(grid, DType::Float32), mode, padding_mode,
                                  align_corners),
                  input.dtype());
  const Padding padding = padding_mode == "zeros"    ? Padding::kZeros
                          : padding_mode == "border" ? Padding::kBorder
                                                     : Padding::kReflection;
  const bool align = align_corners.value_or(false);
  const int64_t n = input.size(0);
  const DimVector extents(input.sizes().data() + 2, dims);
  DimVector shape{n, input.size(1)};
  int64_t outputs = 1;
  for (size_t i = 0; i < dims; ++i) {
    shape.push_back(grid.sizes()[i + 1]);
    TRT_CHECK(!__builtin_mul_overflow(outputs, grid.sizes()[i + 1], &outputs), kName, ": grid ", grid, " is too large");
  }
  const Tensor flat = op::flatten(input, 2, -1), places = op::reshape(grid, {n, outputs, grid.size(-1)});
  // Coordinates come as x, y, z; extents as depth, height, width.
  std::vector<Tensor> x;
  for (size_t i = 0; i < dims; ++i) {
    const Tensor at = unnormalized(op::select(places, 2, static_cast<int64_t>(dims - 1 - i)), extents[i], align);
    x.push_back(mode == "bicubic" ? at : placed(at, extents[i], padding, align));
  }
  if (mode == "nearest") {
    std::vector<Tensor> at;
    for (const Tensor& t : x) at.push_back(whole(t, true));
    Tensor values = elements_at(flat, extents, at);
    if (grad_enabled() && requires_grad_now(grid)) {
      // The grid has a gradient here too: zero, through factors that are 1 whatever the positions are.
      for (const Tensor& t : x) {
        const Tensor one = op::ones_like(at[0]);
        values = op::mul(values, op::unsqueeze(op::where(op::eq(one, 1), one, t), 1));
      }
    }
    return op::reshape(values, shape);
  }
  // The products of one tap a dimension.
  const bool is_cubic = mode == "bicubic";
  const size_t taps = is_cubic ? 4 : 2;
  std::vector<std::vector<Tensor>> at(dims), weight(dims);
  for (size_t i = 0; i < dims; ++i) {
    const Tensor floor = whole(x[i], false), part = op::sub(x[i], floor);
    for (size_t k = 0; k < taps; ++k) {
      const Tensor tap = op::add(floor, is_cubic ? static_cast<double>(k) - 1 : static_cast<double>(k));
      at[i].push_back(is_cubic ? placed(tap, extents[i], padding, align) : tap);
    }
    weight[i] = is_cubic ? cubic_weights(part) : std::vector<Tensor>{op::rsub(part, 1), part};
  }
  Tensor sum;
  size_t combinations = 1;
  for (size_t i = 0; i < dims; ++i) combinations *= taps;
  for (size_t c = 0; c < combinations; ++c) {
    std::vector<Tensor> tap;
    Tensor w;
    for (size_t i = 0, rest = c; i < dims; ++i, rest /= taps) {
      tap.push_back(at[i][rest % taps]);
      w = w.defined() ? op::mul(w, weight[i][rest % taps]) : weight[i][rest % taps];
    }
    const Tensor term = op::mul(elements_at(flat, extents, tap), op::unsqueeze(w, 1));
    sum = sum.defined() ? op::add(sum, term) : term;
  }
  return op::reshape(sum, shape);
}

Tensor affine_grid(const Tensor& theta, IntArrayRef size, std::optional<bool> align_corners) {
  const size_t dims = size.size() - 2;
  TRT_CHECK(size.size() == 4 || size.size() == 5, "affine_grid: size must have 4 or 5 numbers, got ", size);
  for (int64_t s : size) TRT_CHECK(s > 0, "affine_grid: size must be positive, got ", size);
  TRT_CHECK(is_floating(theta.dtype()) && theta.dim() == 3 && theta.size(0) == size[0] &&
                theta.size(1) == static_cast<int64_t>(dims) && theta.size(2) == static_cast<int64_t>(dims + 1),
            "affine_grid: theta must be a floating-point tensor of shape [", size[0], ", ", dims, ", ", dims + 1,
            "], got ", theta);
  const DimVector extents(size.data() + 2, dims);
  std::vector<Tensor> columns;
  for (size_t i = dims; i-- > 0;) {  // x first
    const int64_t n = extents[i];
    const double end = align_corners.value_or(false) ? 1 : static_cast<double>(n - 1) / static_cast<double>(n);
    const Tensor line = n == 1 ? op::zeros({1}, theta.dtype(), theta.device())
                               : op::linspace(-end, end, n, theta.dtype(), theta.device());
    DimVector shape(dims, 1);
    shape[i] = n;
    columns.push_back(op::reshape(op::expand(op::reshape(line, shape), extents), {-1}));
  }
  columns.push_back(op::ones({columns[0].size(0)}, theta.dtype(), theta.device()));
  const Tensor base = op::stack(columns, 1);  // [outputs, dims + 1]
  DimVector shape{size[0]};
  for (int64_t n : extents) shape.push_back(n);
  shape.push_back(static_cast<int64_t>(dims));
  return op::reshape(op::matmul(base, op::transpose(theta, 1, 2)), shape);
}

}  // namespace trt::composite
