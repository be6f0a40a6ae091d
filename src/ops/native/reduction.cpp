// Sums, products, extrema and logical reductions.
#include <limits>
#include <memory>

#include "core/modes.h"
#include "gen/reduction_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "kernels/cpu/reduce.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

// Calls f.template operator()<T>() with the C++ type of a compute dtype.
template <typename F>
void with_compute_type(DType t, F&& f) {
  if (t == DType::Float32)
    f.template operator()<float>();
  else if (t == DType::Float64)
    f.template operator()<double>();
  else
    f.template operator()<int64_t>();
}

DType sum_dtype(const Tensor& self, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  return is_integral(self.dtype(), true) ? DType::Int64 : self.dtype();
}

// An integer or bool result of a float tensor: the input is converted first.
Tensor input_for(const Tensor& self, DType result) {
  return is_floating(self.dtype()) && !is_floating(result) ? contiguous_tensor(self, result) : self;
}

template <typename T>
using Reduce = void (*)(const T*, T*, int64_t, int64_t, int64_t);

template <typename T>
void reduce_with(Reduce<T> fn, const Tensor& self, uint64_t mask, DType compute, Tensor& out,
                 const ReductionFinish& finish = nullptr) {
  reduce_into(
      self, mask, compute, ReductionOutput{&out, compute}, true,
      [fn](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) {
        fn(static_cast<const T*>(x), static_cast<T*>(outs[0]), outer, r, inner);
      },
      finish);
}

// A dimension without elements has no extremum.
void check_not_empty(const Tensor& self, uint64_t mask, const char* op) {
  for (size_t d = 0; d < self.sizes().size(); ++d)
    TRT_CHECK(!((mask >> d) & 1) || self.sizes()[d] > 0, op, ": dimension ", d, " of shape ", self.sizes(),
              " has no elements");
}

TensorSpec extremum_spec(const Tensor& self, uint64_t mask, bool keepdim, const char* op) {
  TRT_CHECK_CODE(!is_complex(self.dtype()), Code::kNotSupported, op, ": complex numbers have no order, got ", self);
  check_not_empty(self, mask, op);
  return {reduced_sizes(self.sizes(), mask, keepdim), self.dtype(), self.device()};
}

// What extrema are looked for in: 16-bit floats as float32, everything else as it is.
DType ordered_dtype(const Tensor& self) { return is_reduced_floating(self.dtype()) ? DType::Float32 : self.dtype(); }

// Calls f.template operator()<T>() with the C++ type of an ordered dtype; bool is uint8_t.
template <typename F>
void with_ordered_type(DType t, F&& f) {
  switch (t) {
    case DType::UInt8:
    case DType::Bool: return f.template operator()<uint8_t>();
    case DType::Int8: return f.template operator()<int8_t>();
    case DType::Int16: return f.template operator()<int16_t>();
    case DType::Int32: return f.template operator()<int32_t>();
    default: return with_compute_type(t, f);
  }
}

void logical(const Tensor& self, uint64_t mask, bool any, Tensor& out) {
  auto reduce = [any](DType t) {
    return [any, t](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) {
      (any ? cpu::reduce_any : cpu::reduce_all)(x, t, static_cast<uint8_t*>(outs[0]), outer, r, inner);
    };
  };
  reduce_into(self, mask, self.dtype(), ReductionOutput{&out, DType::Bool}, true, reduce(self.dtype()), nullptr, reduce(DType::Bool));
}

// Sums in int64 of integers, the numbers of true ones of bools.
void integer_sum(const Tensor& self, uint64_t mask, Tensor& out) {
  const DType t = self.dtype();
  reduce_into(
      self, mask, t, ReductionOutput{&out, DType::Int64}, true,
      [t](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) {
        int64_t* to = static_cast<int64_t*>(outs[0]);
        if (t == DType::Bool) return cpu::reduce_nonzero(x, t, to, outer, r, inner);
        with_ordered_type(t, [&]<typename T>() {
          if constexpr (std::is_integral_v<T> && sizeof(T) < 8) cpu::reduce_sum_int64(static_cast<const T*>(x), to, outer, r, inner);
          else if constexpr (std::is_integral_v<T>) cpu::reduce_sum(static_cast<const T*>(x), to, outer, r, inner);
        });
      },
      nullptr,
      [](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) {
        cpu::reduce_sum(static_cast<const int64_t*>(x), static_cast<int64_t*>(outs[0]), outer, r, inner);
      });
}

void nonzero_count(const Tensor& self, uint64_t mask, Tensor& out) {
  const DType t = self.dtype();
  reduce_into(
      self, mask, t, ReductionOutput{&out, DType::Int64}, true,
      [t](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) { cpu::reduce_nonzero(x, t, static_cast<int64_t*>(outs[0]), outer, r, inner); }, nullptr,
      [](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) {
        cpu::reduce_sum(static_cast<const int64_t*>(x), static_cast<int64_t*>(outs[0]), outer, r, inner);
      });
}

void extremum(const Tensor& self, uint64_t mask, bool largest, Tensor& out) {
  if (self.dtype() == DType::Bool) return logical(self, mask, largest, out);
  const DType compute = ordered_dtype(self);
  with_ordered_type(compute, [&]<typename T>() {
    reduce_with<T>(largest ? &cpu::reduce_max<T> : &cpu::reduce_min<T>, self, mask, compute, out);
  });
}

// The bytes of bools as 0 and 1, in `space` unless they are already.
const uint8_t* zeros_and_ones(const uint8_t* x, int64_t n, std::unique_ptr<uint8_t[]>& space) {
  uint8_t most = 0;
  cpu::reduce_max(x, &most, 1, n, 1);
  if (most <= 1) return x;
  space.reset(new uint8_t[static_cast<size_t>(n)]);
  for (int64_t i = 0; i < n; ++i) space[static_cast<size_t>(i)] = x[i] != 0;
  return space.get();
}

// Extrema with positions. values or indices may be null.
void extremum_index(const Tensor& self, uint64_t mask, bool largest, Tensor* values, Tensor* indices) {
  const DType compute = ordered_dtype(self);
  with_ordered_type(compute, [&]<typename T>() {
    const ReductionOutput outs[2] = {{values, compute}, {indices, DType::Int64}};
    reduce_into(self, mask, compute, ArrayRef<ReductionOutput>(outs, 2), false,
                [largest, compute](const void* x, void* const* o, int64_t outer, int64_t r, int64_t inner) {
                  std::unique_ptr<uint8_t[]> space;
                  const void* from = compute == DType::Bool ? zeros_and_ones(static_cast<const uint8_t*>(x), outer * r * inner, space) : x;
                  (largest ? cpu::reduce_max_index<T>
                           : cpu::reduce_min_index<T>)(static_cast<const T*>(from), static_cast<T*>(o[0]),
                                                       static_cast<int64_t*>(o[1]), outer, r, inner);
                });
  });
}

std::array<TensorSpec, 2> extremum_index_spec(const Tensor& self, int64_t dim, bool keepdim, const char* op) {
  const TensorSpec values = extremum_spec(self, reduction_mask_one(dim, self.dim(), op), keepdim, op);
  return {values, TensorSpec(values.sizes, DType::Int64, self.device())};
}

uint64_t optional_mask(std::optional<int64_t> dim, int64_t ndim, const char* op) {
  return dim ? reduction_mask_one(*dim, ndim, op) : reduction_mask(std::nullopt, ndim, op);
}

TensorSpec arg_spec(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const char* op) {
  TensorSpec s = extremum_spec(self, optional_mask(dim, self.dim(), op), keepdim, op);
  s.dtype = DType::Int64;
  return s;
}

void arg_extremum(const Tensor& self, std::optional<int64_t> dim, bool largest, Tensor& out, const char* op) {
  // Positions in the flattened tensor count in the logical order, whatever the order of memory is.
  extremum_index(dim ? self : contiguous_tensor(self), optional_mask(dim, self.dim(), op), largest, nullptr, &out);
}

TensorSpec logical_spec(const Tensor& self, uint64_t mask, bool keepdim) {
  return {reduced_sizes(self.sizes(), mask, keepdim), self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool,
          self.device()};
}

void product(const Tensor& self, uint64_t mask, DType result, Tensor& out) {
  const DType compute = reduction_compute_dtype(result);
  with_compute_type(compute, [&]<typename T>() {
    reduce_with<T>(&cpu::reduce_prod<T>, input_for(self, result), mask, compute, out);
  });
}

// An empty list reduces nothing, as in PyTorch: each element alone.
uint64_t logical_mask(const Tensor& self, std::optional<IntArrayRef> dim, const char* op) {
  return dim && dim->empty() ? 0 : reduction_mask(dim, self.dim(), op);
}

uint64_t every_dim(const Tensor& self) { return reduction_mask(std::nullopt, self.dim(), ""); }

DType mean_dtype(const Tensor& self, std::optional<DType> dtype) {
  const DType t = dtype.value_or(self.dtype());
  TRT_CHECK(is_floating(t), "mean: needs a floating-point dtype, got ", self, "; convert the tensor or pass dtype");
  return t;
}

}  // namespace

namespace meta {

TensorSpec sum(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  return {reduced_sizes(self.sizes(), reduction_mask(dim, self.dim(), "sum"), keepdim), sum_dtype(self, dtype),
          self.device()};
}
TensorSpec mean(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  return {reduced_sizes(self.sizes(), reduction_mask(dim, self.dim(), "mean"), keepdim), mean_dtype(self, dtype),
          self.device()};
}
TensorSpec prod(const Tensor& self, std::optional<DType> dtype) { return {{}, sum_dtype(self, dtype), self.device()}; }
TensorSpec prod_dim_int(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return {reduced_sizes(self.sizes(), reduction_mask_one(dim, self.dim(), "prod"), keepdim), sum_dtype(self, dtype),
          self.device()};
}

TensorSpec amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extremum_spec(self, reduction_mask(dim, self.dim(), "amax"), keepdim, "amax");
}
TensorSpec amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extremum_spec(self, reduction_mask(dim, self.dim(), "amin"), keepdim, "amin");
}
std::array<TensorSpec, 2> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const TensorSpec s = extremum_spec(self, optional_mask(dim, self.dim(), "aminmax"), keepdim, "aminmax");
  return {s, s};
}
TensorSpec max(const Tensor& self) { return extremum_spec(self, every_dim(self), false, "max"); }
TensorSpec min(const Tensor& self) { return extremum_spec(self, every_dim(self), false, "min"); }
std::array<TensorSpec, 2> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum_index_spec(self, dim, keepdim, "max");
}
std::array<TensorSpec, 2> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum_index_spec(self, dim, keepdim, "min");
}
TensorSpec argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_spec(self, dim, keepdim, "argmax");
}
TensorSpec argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_spec(self, dim, keepdim, "argmin");
}

TensorSpec count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return {reduced_sizes(self.sizes(), optional_mask(dim, self.dim(), "count_nonzero"), false), DType::Int64, self.device()};
}
TensorSpec count_nonzero_dim_IntList(const Tensor& self, IntArrayRef dim) {
  return {reduced_sizes(self.sizes(), reduction_mask(dim, self.dim(), "count_nonzero"), false), DType::Int64, self.device()};
}

TensorSpec any(const Tensor& self) { return logical_spec(self, every_dim(self), false); }
TensorSpec all(const Tensor& self) { return logical_spec(self, every_dim(self), false); }
TensorSpec any_dims(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim) {
  return logical_spec(self, logical_mask(self, dim, "any"), keepdim);
}
TensorSpec all_dims(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim) {
  return logical_spec(self, logical_mask(self, dim, "all"), keepdim);
}

}  // namespace meta

namespace native {

void sum(const Tensor& self, std::optional<IntArrayRef> dim, bool, std::optional<DType> dtype, Tensor& out) {
  const DType result = sum_dtype(self, dtype), compute = reduction_compute_dtype(result);
  const uint64_t mask = reduction_mask(dim, self.dim(), "sum");
  if (is_integral(self.dtype(), true) && compute == DType::Int64) return integer_sum(self, mask, out);
  with_compute_type(
      compute, [&]<typename T>() { reduce_with<T>(&cpu::reduce_sum<T>, input_for(self, result), mask, compute, out); });
}

void mean(const Tensor& self, std::optional<IntArrayRef> dim, bool, std::optional<DType> dtype, Tensor& out) {
  const DType compute = reduction_compute_dtype(mean_dtype(self, dtype));
  const uint64_t mask = reduction_mask(dim, self.dim(), "mean");
  dispatch_float(compute, "mean", [&]<typename T>() {
    const T count = static_cast<T>(reduced_count(self.sizes(), mask));
    reduce_with<T>(&cpu::reduce_sum<T>, self, mask, compute, out, [count](void* const* outs, int64_t n) {
      T* p = static_cast<T*>(outs[0]);
      for (int64_t i = 0; i < n; ++i) p[i] /= count;
    });
  });
}

void prod(const Tensor& self, std::optional<DType> dtype, Tensor& out) {
  product(self, every_dim(self), sum_dtype(self, dtype), out);
}
void prod_dim_int(const Tensor& self, int64_t dim, bool, std::optional<DType> dtype, Tensor& out) {
  product(self, reduction_mask_one(dim, self.dim(), "prod"), sum_dtype(self, dtype), out);
}

void amax(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  extremum(self, reduction_mask(dim, self.dim(), "amax"), true, out);
}
void amin(const Tensor& self, IntArrayRef dim, bool, Tensor& out) {
  extremum(self, reduction_mask(dim, self.dim(), "amin"), false, out);
}
void aminmax(const Tensor& self, std::optional<int64_t> dim, bool, Tensor& min, Tensor& max) {
  const uint64_t mask = optional_mask(dim, self.dim(), "aminmax");
  if (self.dtype() == DType::Bool) {
    logical(self, mask, false, min);
    return logical(self, mask, true, max);
  }
  const DType compute = ordered_dtype(self);
  with_ordered_type(compute, [&]<typename T>() {
    const ReductionOutput outs[2] = {{&min, compute}, {&max, compute}};
    reduce_into(self, mask, compute, ArrayRef<ReductionOutput>(outs, 2), false, [](const void* x, void* const* o, int64_t outer, int64_t r, int64_t inner) {
      cpu::reduce_minmax(static_cast<const T*>(x), static_cast<T*>(o[0]), static_cast<T*>(o[1]), outer, r, inner);
    });
  });
}
void max(const Tensor& self, Tensor& out) { extremum(self, every_dim(self), true, out); }
void min(const Tensor& self, Tensor& out) { extremum(self, every_dim(self), false, out); }
void max_dim(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  extremum_index(self, reduction_mask_one(dim, self.dim(), "max"), true, &values, &indices);
}
void min_dim(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  extremum_index(self, reduction_mask_one(dim, self.dim(), "min"), false, &values, &indices);
}
void argmax(const Tensor& self, std::optional<int64_t> dim, bool, Tensor& out) {
  arg_extremum(self, dim, true, out, "argmax");
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, Tensor& out) {
  arg_extremum(self, dim, false, out, "argmin");
}

void count_nonzero(const Tensor& self, std::optional<int64_t> dim, Tensor& out) { nonzero_count(self, optional_mask(dim, self.dim(), "count_nonzero"), out); }
void count_nonzero_dim_IntList(const Tensor& self, IntArrayRef dim, Tensor& out) { nonzero_count(self, reduction_mask(dim, self.dim(), "count_nonzero"), out); }

void any(const Tensor& self, Tensor& out) { logical(self, every_dim(self), true, out); }
void all(const Tensor& self, Tensor& out) { logical(self, every_dim(self), false, out); }
void any_dims(const Tensor& self, std::optional<IntArrayRef> dim, bool, Tensor& out) {
  logical(self, logical_mask(self, dim, "any"), true, out);
}
void all_dims(const Tensor& self, std::optional<IntArrayRef> dim, bool, Tensor& out) {
  logical(self, logical_mask(self, dim, "all"), false, out);
}

bool equal(const Tensor& self, const Tensor& other) {
  if (self.sizes() != other.sizes()) return false;
  const DType type = promote_types(self.dtype(), other.dtype());
  const Tensor a = contiguous_tensor(self, type), b = contiguous_tensor(other, type);
  const int64_t n = a.numel();
  // Blocks, so that a difference at the beginning ends the search early.
  return dispatch_all(type, "equal", [&]<typename T>() {
    using C = opmath_t<T>;
    const T *p = a.data_ptr<T>(), *q = b.data_ptr<T>();
    for (int64_t from = 0; from < n; from += 4096) {
      const int64_t to = std::min(n, from + 4096);
      bool same = true;
      for (int64_t i = from; i < to; ++i) same &= static_cast<C>(p[i]) == static_cast<C>(q[i]);
      if (!same) return false;
    }
    return true;
  });
}

}  // namespace native

}  // namespace trt
