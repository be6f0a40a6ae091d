// Operators made of others: shapes, splitting, clamping, casts.
#include <cmath>
#include <limits>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/compose_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "ops/backend_util.h"

namespace trt::composite {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }
using Tensors = std::vector<Tensor>;

template <typename F>
Tensors each(TensorList tensors, F&& f) {
  Tensors out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

Tensors split_evenly(const Tensor& self, int64_t sections, int64_t dim, const char* op) {
  TRT_CHECK(self.dim() > dim, op, ": needs at least ", dim + 1, " dimensions, got ", self);
  TRT_CHECK(sections > 0 && self.sizes()[at(dim)] % sections == 0, op, ": dimension ", dim, " of ", self,
            " cannot be split into ", sections, " equal parts");
  return op::tensor_split(self, sections, dim);
}

Tensors split_at(const Tensor& self, IntArrayRef indices, int64_t dim, const char* op) {
  TRT_CHECK(self.dim() > dim, op, ": needs at least ", dim + 1, " dimensions, got ", self);
  return op::tensor_split(self, indices, dim);
}

double largest(DType t) {
  switch (t) {
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return bfloat16_bits_to_float(0x7f7f);
    case DType::Float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

void check_bounds(bool any) { TRT_CHECK(any, "clamp: at least one of min and max is needed"); }

}  // namespace

// --- shapes ---

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? op::reshape(self, {1}) : self; }
Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return op::reshape(self, {1, 1});
  return self.dim() == 1 ? op::unsqueeze(self, 0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return op::reshape(self, {1, 1, 1});
  if (self.dim() == 1) return op::unsqueeze(op::unsqueeze(self, 0), -1);
  return self.dim() == 2 ? op::unsqueeze(self, -1) : self;
}
Tensors atleast_1d_Sequence(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return op::atleast_1d(t); });
}
Tensors atleast_2d_Sequence(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return op::atleast_2d(t); });
}
Tensors atleast_3d_Sequence(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return op::atleast_3d(t); });
}

Tensor movedim_intlist(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  TRT_CHECK(source.size() == destination.size(), "movedim: ", source, " and ", destination, " differ in length");
  const size_t n = self.sizes().size();
  DimVector order(n, -1);
  uint64_t taken = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], self.dim(), "movedim"),
                  to = wrap_dim(destination[i], self.dim(), "movedim");
    if (n == 0) continue;
    TRT_CHECK(!((taken >> from) & 1) && order[at(to)] < 0, "movedim: a dimension appears twice in ", source, " or ",
              destination);
    taken |= uint64_t{1} << from;
    order[at(to)] = from;
  }
  int64_t next = 0;
  for (size_t i = 0; i < n; ++i) {
    if (order[i] >= 0) continue;
    while ((taken >> next) & 1) ++next;
    order[i] = next++;
  }
  return op::permute(self, order);
}

Tensor t(const Tensor& self) {
  TRT_CHECK(self.dim() <= 2, "t: needs at most two dimensions, got ", self);
  return op::transpose(self, 0, self.dim() < 2 ? 0 : 1);
}
Tensor mT(const Tensor& self) {
  if (self.dim() == 0) return self;
  TRT_CHECK(self.dim() >= 2, "mT: needs at least two dimensions, got ", self);
  return op::transpose(self, -2, -1);
}
Tensor T(const Tensor& self) {
  DimVector order(self.sizes().size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return op::permute(self, order);
}

Tensor real(const Tensor& self) { return is_complex(self.dtype()) ? op::select(op::view_as_real(self), -1, 0) : self; }
Tensor imag(const Tensor& self) {
  TRT_CHECK(is_complex(self.dtype()), "imag: needs a complex tensor, got ", self);
  return op::select(op::view_as_real(self), -1, 1);
}
Tensor isreal(const Tensor& self) {
  return is_complex(self.dtype()) ? op::eq(op::imag(self), Scalar(0)) : op::ones_like(self, DType::Bool, std::nullopt);
}
Tensor conj(const Tensor& self) { return is_complex(self.dtype()) ? op::conj_physical(self) : self; }

Tensor complex(const Tensor& real, const Tensor& imag) {
  TRT_CHECK(real.dtype() == imag.dtype() && (real.dtype() == DType::Float32 || real.dtype() == DType::Float64),
            "complex: needs two tensors of one dtype, float32 or float64, got ", real, " and ", imag);
  const DimVector shape = broadcast_shapes(real.sizes(), imag.sizes(), "complex");
  const Tensor parts[] = {op::expand(real, shape), op::expand(imag, shape)};
  return op::view_as_complex(op::stack(TensorList(parts, 2), -1));
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  TRT_CHECK(abs.dtype() == angle.dtype() && (abs.dtype() == DType::Float32 || abs.dtype() == DType::Float64),
            "polar: needs two tensors of one dtype, float32 or float64, got ", abs, " and ", angle);
  return op::complex(op::mul(abs, op::cos(angle)), op::mul(abs, op::sin(angle)));
}

Tensors broadcast_tensors(TensorList tensors) {
  DimVector shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sizes(), "broadcast_tensors");
  return each(tensors, [&](const Tensor& t) { return op::expand(t, shape); });
}

Tensors meshgrid(TensorList tensors, std::string_view indexing) {
  TRT_CHECK(!tensors.empty(), "meshgrid: needs at least one tensor");
  TRT_CHECK(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be ij or xy, got \"", indexing, "\"");
  const size_t n = tensors.size();
  const bool swap = indexing == "xy" && n >= 2;
  DimVector shape;
  for (const Tensor& t : tensors) {
    TRT_CHECK(t.dim() <= 1, "meshgrid: vectors are needed, got ", t);
    TRT_CHECK(t.dtype() == tensors[0].dtype(), "meshgrid: tensors of one dtype are needed, got ", tensors[0], " and ",
              t);
    shape.push_back(t.numel());
  }
  if (swap) std::swap(shape[0], shape[1]);
  Tensors out;
  for (size_t i = 0; i < n; ++i) {
    DimVector line(n, 1);
    line[swap && i < 2 ? 1 - i : i] = tensors[i].numel();
    out.push_back(op::expand(op::reshape(tensors[i], line), shape));
  }
  return out;
}

Tensor cartesian_prod(TensorList tensors) {
  TRT_CHECK(!tensors.empty(), "cartesian_prod: needs at least one tensor");
  for (const Tensor& t : tensors) TRT_CHECK(t.dim() == 1, "cartesian_prod: vectors are needed, got ", t);
  if (tensors.size() == 1) return tensors[0];
  const Tensors grid = op::meshgrid(tensors, "ij");
  return op::stack(each(grid, [](const Tensor& t) { return op::reshape(t, {-1}); }), 1);
}

Tensor block_diag(TensorList tensors) {
  int64_t rows = 0, cols = 0;
  for (const Tensor& t : tensors) {
    TRT_CHECK(t.dim() <= 2, "block_diag: tensors of at most two dimensions are needed, got ", t);
    rows += t.dim() == 2 ? t.sizes()[0] : 1;
    cols += t.dim() == 0 ? 1 : t.size(-1);
  }
  if (tensors.empty()) return op::empty({1, 0}, std::nullopt, std::nullopt);
  Tensors strips;
  int64_t left = 0;
  for (const Tensor& t : tensors) {
    const Tensor block = op::atleast_2d(t);
    const int64_t width = block.sizes()[1];
    strips.push_back(op::constant_pad_nd(block, {left, cols - left - width}, 0));
    left += width;
  }
  return op::cat(strips, 0);
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const int64_t dims = std::max(self.dim(), other.dim());
  DimVector left, right, shape;  // [a0, 1, a1, 1, ...] and [1, b0, 1, b1, ...]
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t a = d < dims - self.dim() ? 1 : self.sizes()[at(d - (dims - self.dim()))];
    const int64_t b = d < dims - other.dim() ? 1 : other.sizes()[at(d - (dims - other.dim()))];
    left.push_back(a);
    left.push_back(1);
    right.push_back(1);
    right.push_back(b);
    int64_t size;
    TRT_CHECK(!__builtin_mul_overflow(a, b, &size), "kron: the result is too large, got ", self, " and ", other);
    shape.push_back(size);
  }
  return op::reshape(op::mul(op::reshape(self, left), op::reshape(other, right)), shape);
}

Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  TRT_CHECK(x.dim() == 1, "vander: a vector is needed, got ", x);
  const int64_t n = N.value_or(x.sizes()[0]);
  TRT_CHECK(n >= 0, "vander: N must not be negative, got ", n);
  const DType type = x.dtype() == DType::Bool ? DType::Int64 : x.dtype();
  Tensor powers = op::ones({x.sizes()[0], n}, type, x.device());
  if (n > 1) {
    const Tensor factors = op::expand(op::unsqueeze(op::to(x, type), -1), {x.sizes()[0], n - 1});
    powers = op::cat({op::narrow(powers, 1, 0, 1), op::cumprod(factors, 1, type)}, 1);
  }
  return increasing ? powers : op::flip(powers, {1});
}

Tensors unravel_index(const Tensor& indices, IntArrayRef shape) {
  TRT_CHECK(is_integral(indices.dtype(), false), "unravel_index: integers are needed as indices, got ", indices);
  int64_t count = 1;
  for (int64_t n : shape) TRT_CHECK(n >= 0 && !__builtin_mul_overflow(count, n, &count), "unravel_index: the shape ", shape, " is not one of a tensor");
  Tensors out(shape.size());
  Tensor rest = op::to(indices, DType::Int64);
  for (size_t d = shape.size(); d-- > 0;) {
    // Without elements in the tensor no position is valid; what is not checked must not divide by zero.
    const Scalar size(std::max<int64_t>(shape[d], 1));
    out[d] = op::remainder(rest, size);
    rest = op::floor_divide(rest, size);
  }
  return out;
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, std::optional<DType> dtype,
                std::optional<Device> device) {
  const DType type = dtype.value_or(thread_state.default_dtype);
  const bool whole = is_integral(type, true);  // the bounds of integer tensors are integers
  const Tensor exponents = op::linspace(whole ? Scalar(start.to_int()) : start, whole ? Scalar(end.to_int()) : end, steps, DType::Float64, device);
  return op::to(op::pow(Scalar(base), exponents), type);
}

// --- splitting ---

Tensors tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "tensor_split: a 0-d tensor cannot be split");
  TRT_CHECK(sections > 0, "tensor_split: the number of sections must be positive, got ", sections);
  const int64_t d = wrap_dim(dim, self.dim(), "tensor_split"), n = self.sizes()[at(d)];
  TRT_CHECK(sections <= (1 << 24), "tensor_split: ", sections, " are too many sections");
  Tensors out;
  int64_t from = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t size = n / sections + (i < n % sections);
    out.push_back(op::slice(self, d, from, from + size, 1));
    from += size;
  }
  return out;
}

Tensors tensor_split_indices(const Tensor& self, IntArrayRef indices, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "tensor_split: a 0-d tensor cannot be split");
  const int64_t d = wrap_dim(dim, self.dim(), "tensor_split");
  Tensors out;
  int64_t from = 0;
  for (int64_t to : indices) {
    out.push_back(op::slice(self, d, from, to, 1));
    from = to;
  }
  out.push_back(op::slice(self, d, from, std::nullopt, 1));
  return out;
}

Tensors tensor_split_tensor_indices_or_sections(const Tensor& self, const Tensor& positions, int64_t dim) {
  TRT_CHECK(positions.dtype() == DType::Int64 && positions.dim() <= 1,
            "tensor_split: needs an int64 vector or number, got ", positions);
  TRT_CHECK(positions.device().is_cpu(), "tensor_split: the positions must be on the CPU, got ", positions);
  const Tensor p = contiguous_tensor(positions);
  if (p.dim() == 0) return op::tensor_split(self, *p.data_ptr<int64_t>(), dim);
  return op::tensor_split(self, IntArrayRef(p.data_ptr<int64_t>(), at(p.numel())), dim);
}

Tensors hsplit_int(const Tensor& self, int64_t sections) {
  return split_evenly(self, sections, self.dim() == 1 ? 0 : 1, "hsplit");
}
Tensors hsplit_array(const Tensor& self, IntArrayRef indices) {
  return split_at(self, indices, self.dim() == 1 ? 0 : 1, "hsplit");
}
Tensors vsplit_int(const Tensor& self, int64_t sections) {
  TRT_CHECK(self.dim() >= 2, "vsplit: needs at least two dimensions, got ", self);
  return split_evenly(self, sections, 0, "vsplit");
}
Tensors vsplit_array(const Tensor& self, IntArrayRef indices) {
  TRT_CHECK(self.dim() >= 2, "vsplit: needs at least two dimensions, got ", self);
  return split_at(self, indices, 0, "vsplit");
}
Tensors dsplit_int(const Tensor& self, int64_t sections) { return split_evenly(self, sections, 2, "dsplit"); }
Tensors dsplit_array(const Tensor& self, IntArrayRef indices) { return split_at(self, indices, 2, "dsplit"); }

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  TRT_CHECK(self.dim() > 0, "diff: needs at least one dimension");
  TRT_CHECK(n >= 0, "diff: n must not be negative, got ", n);
  const int64_t d = wrap_dim(dim, self.dim(), "diff");
  if (n == 0) return op::clone(self);
  Tensor x = self;
  if (prepend.defined() || append.defined()) {
    Tensors parts;
    for (const Tensor* t : {&prepend, &self, &append})
      if (t->defined()) parts.push_back(*t);
    for (const Tensor& t : parts)
      TRT_CHECK(t.dim() == self.dim(), "diff: prepend and append must have the rank of ", self, ", got ", t);
    x = op::cat(parts, d);
  }
  for (int64_t i = 0, steps = std::min(n, x.sizes()[at(d)]); i < steps; ++i) {
    const Tensor left = op::slice(x, d, 0, -1, 1), right = op::slice(x, d, 1, std::nullopt, 1);
    x = x.dtype() == DType::Bool ? op::logical_xor(right, left) : op::sub(right, left);
  }
  return x;
}

// --- clamping and rounding ---

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  check_bounds(min || max);
  if (min && max) return op::clamp_between_numbers(self, *min, *max);
  return min ? op::clamp_min(self, *min) : op::clamp_max(self, *max);
}
Tensor& clamp_(Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  check_bounds(min || max);
  if (min && max) return op::clamp_between_numbers_(self, *min, *max);
  return min ? op::clamp_min_(self, *min) : op::clamp_max_(self, *max);
}
Tensor clamp_Tensor(const Tensor& self, const Tensor& min, const Tensor& max) {
  check_bounds(min.defined() || max.defined());
  if (min.defined() && max.defined()) return op::clamp_between(self, min, max);
  return min.defined() ? op::clamp_min(self, min) : op::clamp_max(self, max);
}
Tensor& clamp__Tensor(Tensor& self, const Tensor& min, const Tensor& max) {
  check_bounds(min.defined() || max.defined());
  if (min.defined() && max.defined()) return op::clamp_between_(self, min, max);
  return min.defined() ? op::clamp_min_(self, min) : op::clamp_max_(self, max);
}

Tensor logit(const Tensor& self, std::optional<double> eps) { return eps ? op::logit_clamped(self, Scalar(*eps)) : op::logit_open(self); }
Tensor& logit_(Tensor& self, std::optional<double> eps) { return eps ? op::logit_clamped_(self, Scalar(*eps)) : op::logit_open_(self); }

Tensor& polygamma_(Tensor& self, int64_t n) {
  // What is saved for the gradient is a copy, since self changes.
  const Tensor result = op::polygamma(n, thread_state.grad_enabled && requires_grad_quick(self) ? op::clone(self) : self);
  check_inplace_result(self, TensorSpec(result.sizes(), result.dtype(), result.device()), "polygamma_");
  return op::copy_(self, result);
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (is_complex(self.dtype())) return op::view_as_complex(op::contiguous(op::nan_to_num(op::view_as_real(self), nan, posinf, neginf)));
  if (!is_floating(self.dtype())) return op::clone(self);
  const double most = largest(self.dtype());
  return op::nan_to_num(self, Scalar(nan.value_or(0)), Scalar(posinf.value_or(most)), Scalar(neginf.value_or(-most)));
}

Tensor round_decimals(const Tensor& self, int64_t decimals) {
  if (decimals == 0) return op::round(self);
  TRT_CHECK(is_floating(self.dtype()), "round: decimals need a floating-point tensor, got ", self);
  const Scalar scale(std::pow(10.0, std::abs(static_cast<double>(decimals))));
  return decimals > 0 ? op::round_scaled(self, scale) : op::round_scaled_down(self, scale);
}

// --- arithmetic ---

Tensor div_Tensor_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return op::div(self, other);
  TRT_CHECK(*rounding_mode == "trunc" || *rounding_mode == "floor",
            "div: rounding_mode must be trunc, floor or none, got \"", *rounding_mode, "\"");
  return *rounding_mode == "trunc" ? op::trunc_divide(self, other) : op::div_floor(self, other);
}
Tensor div_Scalar_mode(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return op::div(self, wrapped_scalar_tensor(other), rounding_mode);
}

Tensor positive(const Tensor& self) {
  TRT_CHECK(self.dtype() != DType::Bool, "positive: not for bool tensors");
  return self;
}

// In complex128 when base or exponent is complex, else in float64.
static DType float_power_dtype(bool complex) { return complex ? DType::Complex128 : DType::Float64; }
static Scalar float_power_number(const Scalar& s) { return s.is_complex() ? s : Scalar(s.to_double()); }
Tensor float_power_Tensor_Tensor(const Tensor& self, const Tensor& exponent) {
  const DType dtype = float_power_dtype(is_complex(self.dtype()) || is_complex(exponent.dtype()));
  return op::pow(op::to(self, dtype), op::to(exponent, dtype));
}
Tensor float_power_Tensor_Scalar(const Tensor& self, const Scalar& exponent) {
  return op::pow(op::to(self, float_power_dtype(is_complex(self.dtype()) || exponent.is_complex())), float_power_number(exponent));
}
Tensor float_power_Scalar(const Scalar& self, const Tensor& exponent) {
  return op::pow(float_power_number(self), op::to(exponent, float_power_dtype(is_complex(exponent.dtype()) || self.is_complex())));
}

// --- casts ---

Tensor float_cast(const Tensor& self) { return op::to(self, DType::Float32); }
Tensor double_cast(const Tensor& self) { return op::to(self, DType::Float64); }
Tensor half(const Tensor& self) { return op::to(self, DType::Float16); }
Tensor bfloat16(const Tensor& self) { return op::to(self, DType::BFloat16); }
Tensor long_cast(const Tensor& self) { return op::to(self, DType::Int64); }
Tensor int_cast(const Tensor& self) { return op::to(self, DType::Int32); }
Tensor short_cast(const Tensor& self) { return op::to(self, DType::Int16); }
Tensor char_cast(const Tensor& self) { return op::to(self, DType::Int8); }
Tensor byte(const Tensor& self) { return op::to(self, DType::UInt8); }
Tensor bool_cast(const Tensor& self) { return op::to(self, DType::Bool); }

}  // namespace trt::composite
