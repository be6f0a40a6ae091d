// TensorIterator: the geometry of an element-wise loop over several tensors: broadcast, dimensions of size 1 dropped, dimensions
// ordered so that memory is walked in order, neighbours merged, and the work split over threads.
//
// Dimension 0 is the innermost. Strides are in bytes, 0 where an operand is broadcast. The iterator borrows the tensors.
#pragma once

#include "base/parallel.h"
#include "core/tensor.h"

namespace trt {

class TensorIterator {
 public:
  static constexpr int kMaxOperands = 12;
  struct Operand {
    char* data;
    DType dtype;
    SmallVector<int64_t, 6> strides;
  };

  // Outputs first (index 0 decides the order of dimensions). Every operand must broadcast to `shape`; outputs must have it.
  TensorIterator(IntArrayRef shape, ArrayRef<const Tensor*> operands);

  int ndim() const { return static_cast<int>(shape_.size()); }
  IntArrayRef shape() const { return shape_; }
  int64_t numel() const { return numel_; }
  int count() const { return count_; }
  const Operand& operand(int i) const { return operands_[i]; }
  std::string dump() const;

  // Calls loop(ptrs, n) for each innermost run inside elements [begin, end) of the flattened iteration space; ptrs[i] is
  // operand i's first element, its step is operand(i).strides[0] (0 for a scalar loop).
  template <typename Loop>
  void for_range(int64_t begin, int64_t end, Loop&& loop) const {
    if (begin >= end) return;
    char* ptrs[kMaxOperands];
    if (ndim() <= 1) {
      for (int i = 0; i < count_; ++i) ptrs[i] = operands_[i].data + (ndim() ? begin * operands_[i].strides[0] : 0);
      loop(ptrs, end - begin);
      return;
    }
    // The position as a counter per dimension.
    int64_t index[TensorImpl::kMaxDims];
    int64_t rest = begin;
    for (int i = 0; i < count_; ++i) ptrs[i] = operands_[i].data;
    for (int d = 0; d < ndim(); ++d) {
      index[d] = rest % shape_[d];
      rest /= shape_[d];
      for (int i = 0; i < count_; ++i) ptrs[i] += index[d] * operands_[i].strides[d];
    }
    int64_t at = begin;
    while (at < end) {
      const int64_t n = std::min(shape_[0] - index[0], end - at);
      loop(ptrs, n);
      at += n;
      if (at >= end) return;
      // Back to the begin of the innermost dimension, then carry.
      for (int i = 0; i < count_; ++i) ptrs[i] -= index[0] * operands_[i].strides[0];
      index[0] = 0;
      for (int d = 1; d < ndim(); ++d) {
        if (++index[d] < shape_[d]) {
          for (int i = 0; i < count_; ++i) ptrs[i] += operands_[i].strides[d];
          break;
        }
        index[d] = 0;
        for (int i = 0; i < count_; ++i) ptrs[i] -= (shape_[d] - 1) * operands_[i].strides[d];
      }
    }
  }

  // The same over all elements, in parallel where it pays. `grain` in elements.
  template <typename Loop>
  void for_each(Loop&& loop, int64_t grain = 32768) const {
    parallel_for(0, numel_, grain, [&](int64_t b, int64_t e) { for_range(b, e, loop); });
  }

 private:
  void sort_dims();
  void coalesce();

  int count_;
  int64_t numel_;
  DimVector shape_;
  Operand operands_[kMaxOperands];
};

// Memory overlap. Throws kInvalidArgument naming `op` when two elements of `t` share memory (an expanded tensor written in
// place), or when an output and an input overlap without being the same view.
void check_no_internal_overlap(const Tensor& t, const char* op);
void check_no_partial_overlap(const Tensor& out, const Tensor& in, const char* op);
// True unless it is sure that no byte is shared.
bool may_overlap(const Tensor& a, const Tensor& b);
bool same_view(const Tensor& a, const Tensor& b);
// True when the elements fill one piece of memory without holes, each in a place of its own, in whatever order.
bool is_dense(const Tensor& t);
// The strides of a dense result whose dimensions have the order in memory of the operands, all of which broadcast to `shape`: the first one decides to which
// the order of two dimensions matters (PyTorch's rule for the results of pointwise operators).
DimVector dense_strides(ArrayRef<const Tensor*> operands, IntArrayRef shape);
// Uninitialized, in the order in memory of `t`: what clone() and to() return. A dense one keeps its strides.
Tensor empty_in_order_of(const Tensor& t, DType dtype, Device device);
// `fresh`, a contiguous tensor of the shape of `like` that nobody else has, with its elements in the order in memory of `like` instead.
Tensor in_order_of(const Tensor& like, const Tensor& fresh);

}  // namespace trt
