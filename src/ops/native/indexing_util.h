// What the indexing operators share: checked indices, outputs that start as a copy of the input, rows of bytes.
#pragma once

#include <cstring>

#include "base/parallel.h"
#include "core/tensor.h"
#include "iter/copy.h"
#include "iter/tensor_iterator.h"

namespace trt {

// Throws unless `index` is int64 or int32.
void check_index_dtype(const Tensor& index, const char* op);
// The index as contiguous int64, in [0, n) throughout: kOutOfRange otherwise. `negative`: -n..-1 count from the end.
Tensor checked_index(const Tensor& index, int64_t n, bool negative, const char* op);
// Contiguous; a copy when it may share memory with `out`, which is about to be written.
Tensor readable(const Tensor& t, const Tensor& out);

// `t` broadcast to `sizes` without a copy.
Tensor expanded(const Tensor& t, IntArrayRef sizes);

// The output of an operator that changes a few elements of `self`: contiguous memory that begins as a copy of self.
// `out` may be self (the in-place variant), then strided too.
class ChangedCopy {
 public:
  ChangedCopy(const Tensor& self, Tensor& out) : out_(out) {
    target_ = out.is_contiguous() ? out : empty_tensor(self.sizes(), self.dtype());
    if (!same_view(target_, self)) copy_tensor(target_, self);
  }
  Tensor& get() { return target_; }
  void finish() {
    if (!target_.is_same(out_)) copy_tensor(out_, target_);
  }

 private:
  Tensor& out_;
  Tensor target_;
};

// A complex128, unread.
struct Bits128 {
  uint64_t low, high;
};

// Calls f.template operator()<T>() with a type as wide as the element: for moving elements unread.
template <typename F>
void with_element_bits(size_t itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      f.template operator()<uint8_t>();
      break;
    case 2:
      f.template operator()<uint16_t>();
      break;
    case 4:
      f.template operator()<uint32_t>();
      break;
    case 8:
      f.template operator()<uint64_t>();
      break;
    default:
      f.template operator()<Bits128>();
      break;
  }
}

}  // namespace trt
