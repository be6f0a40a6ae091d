// Geometry of reductions: from a tensor and a set of dimensions to the [outer, r, inner] form of kernels/cpu/reduce.h
// and back.
#pragma once

#include <functional>

#include "core/tensor.h"

namespace trt {

// Bit d is set when dimension d is reduced. No dimensions, or an empty list, stand for all of them. Throws for a
// dimension out of range or given twice.
uint64_t reduction_mask(std::optional<IntArrayRef> dim, int64_t ndim, const char* op);
// The mask of one dimension.
uint64_t reduction_mask_one(int64_t dim, int64_t ndim, const char* op);
DimVector reduced_sizes(IntArrayRef sizes, uint64_t mask, bool keepdim);
// How many elements go into one result.
int64_t reduced_count(IntArrayRef sizes, uint64_t mask);

struct ReductionOutput {
  Tensor* tensor;  // contiguous, with or without the reduced dimensions; undefined: not wanted
  DType compute;   // what the kernel writes; converted to the tensor's dtype
};

// x: contiguous [outer, r, inner] of the compute dtype; outs[i]: contiguous [outer, inner].
using ReductionKernel = std::function<void(const void* x, void* const* outs, int64_t outer, int64_t r, int64_t inner)>;
// Called once with the finished results and their number, before conversion.
using ReductionFinish = std::function<void(void* const* outs, int64_t n)>;

// Reduces `self`, converted to `compute`, over the dimensions of `mask`. A dense tensor is read in its own order of
// memory. `associative`: dimensions that are not neighbours may be reduced one after another (needs a single output);
// otherwise they are brought together by a copy. `fold` reduces such partial results where `kernel` cannot, as they have
// another dtype than x. Where a copy of a large input is needed, it is made and reduced in parts.
void reduce_into(const Tensor& self, uint64_t mask, DType compute, ArrayRef<ReductionOutput> outs, bool associative,
                 const ReductionKernel& kernel, const ReductionFinish& finish = nullptr, const ReductionKernel& fold = nullptr);

// The compute dtype of a sum-like reduction: float32 for 16-bit floats, int64 for integers and bool.
DType reduction_compute_dtype(DType t);

// [outer, r, inner] around one dimension of a contiguous tensor; a 0-d tensor is [1, 1, 1].
struct LineShape {
  int64_t outer = 1, r = 1, inner = 1;
};
LineShape line_shape(IntArrayRef sizes, int64_t dim);

}  // namespace trt
