// What the generated backend wrappers need: writing results into existing tensors (in-place and out variants).
#pragma once

#include <initializer_list>

#include "core/tensor.h"
#include "iter/tensor_iterator.h"
#include "ops/spec.h"

namespace trt {

// Copies src into dst (broadcast, cast), below autograd and without raising the version.
void copy_values(Tensor& dst, const Tensor& src);
// Checks that an in-place result fits `self`: the same shape, a castable dtype.
void check_inplace_result(const Tensor& self, const TensorSpec& spec, const char* op);
// Stores a computed result into self or out and raises the version.
void store_inplace(Tensor& self, const Tensor& result, const char* op);
void store_out(Tensor& out, const Tensor& result, const char* op);

// An output tensor as a kernel may write it: `out` itself when it is contiguous, of the right dtype and apart from the inputs,
// else a temporary that finish() copies back.
class OutWriter {
 public:
  OutWriter(const TensorSpec& spec, Tensor& out, std::initializer_list<const Tensor*> inputs, const char* op);
  Tensor& target() { return temporary_.defined() ? temporary_ : out_; }
  void finish();

 private:
  Tensor& out_;
  Tensor temporary_;
};

}  // namespace trt
