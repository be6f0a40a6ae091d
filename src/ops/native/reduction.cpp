// Sums, products, extrema and logical reductions.
#include "core/modes.h"
#include "gen/reduction_native.h"
#include "gen/reduction_ops.h"
#include "gen/shape_ops.h"
#include "iter/copy.h"
#include "kernels/cpu/reduce.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

// Calls f.template operator()<T>() with the C++ type of a compute dtype.
template <typename F>
void with_compute_type(DType t, F&& f) {
  if (t == DType::Float32) f.template operator()<float>();
  else if (t == DType::Float64) f.template operator()<double>();
  else f.template operator()<int64_t>();
}

DType sum_dtype(const Tensor& self, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  return is_integral(self.dtype(), true) ? DType::Int64 : self.dtype();
}

// An integer or bool reduction of floats converts its input first, as the caller asked for it.
Tensor input_for(const Tensor& self, DType result) { return is_floating(self.dtype()) && !is_floating(result) ? contiguous_tensor(self, result) : self; }

}  // namespace

namespace meta {

TensorSpec sum(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  return {reduced_sizes(self.sizes(), reduction_mask(dim, self.dim(), "sum"), keepdim), sum_dtype(self, dtype), self.device()};
}

}  // namespace meta

namespace native {

void sum(const Tensor& self, std::optional<IntArrayRef> dim, bool, std::optional<DType> dtype, Tensor& out) {
  const DType result = sum_dtype(self, dtype), compute = reduction_compute_dtype(result);
  with_compute_type(compute, [&]<typename T>() {
    reduce_into(input_for(self, result), reduction_mask(dim, self.dim(), "sum"), compute, ReductionOutput{&out, compute}, true,
                [](const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner) {
                  cpu::reduce_sum(static_cast<const T*>(x), static_cast<T*>(outs[0]), outer, r, inner);
                });
  });
}

}  // namespace native

namespace composite {

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  if (self.sizes() == size) return self;
  const int64_t extra = self.dim() - static_cast<int64_t>(size.size());
  DimVector dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t have = self.sizes()[static_cast<size_t>(d)];
    const int64_t want = d < extra ? 1 : size[static_cast<size_t>(d - extra)];
    TRT_CHECK(extra >= 0 && (d < extra || want == have || want == 1), "sum_to_size: a tensor of shape ", self.sizes(), " cannot be summed to shape ", size);
    if (d < extra || want != have) dims.push_back(d);
  }
  TRT_CHECK(extra >= 0, "sum_to_size: a tensor of shape ", self.sizes(), " cannot be summed to shape ", size);
  return op::reshape(dims.empty() ? self : op::sum(self, IntArrayRef(dims), true, std::nullopt), size);
}

}  // namespace composite

}  // namespace trt
