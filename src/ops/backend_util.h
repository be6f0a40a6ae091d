// What the generated backend wrappers need: writing results into existing tensors (in-place and out variants).
#pragma once

#include <initializer_list>

#include "core/tensor.h"
#include "iter/tensor_iterator.h"
#include "ops/spec.h"

namespace trt {

// Throws unless all tensors that are there, also those in lists, are on one device.
[[noreturn]] void throw_devices_differ(const char* op, const Tensor& a, const Tensor& b);
inline void meet_device(const char* op, const Tensor*& first, const Tensor& t) {
  if (!t.defined()) return;
  if (!first) first = &t;
  else if (TRT_UNLIKELY(!(t.device() == first->device()))) throw_devices_differ(op, *first, t);
}
inline void meet_device(const char* op, const Tensor*& first, TensorList list) {
  for (const Tensor& t : list) meet_device(op, first, t);
}
template <typename... T>
void check_one_device(const char* op, const T&... tensors) {
  const Tensor* first = nullptr;
  (meet_device(op, first, tensors), ...);
}

// Copies src into dst (broadcast, cast), below autograd and without raising the version.
void copy_values(Tensor& dst, const Tensor& src);
// Checks that an in-place result fits `self`: the same shape, a castable dtype.
void check_inplace_result(const Tensor& self, const TensorSpec& spec, const char* op);
// Stores a computed result into self or out and raises the version.
void store_inplace(Tensor& self, const Tensor& result, const char* op);
void store_out(Tensor& out, const Tensor& result, const char* op);
// The second half of store_out, after check_output of every output of the operator passed.
void write_output(Tensor& out, const Tensor& result);

// Throws where two of an operator's outputs share memory: the second would be written over the first.
void check_outputs_apart(std::initializer_list<const Tensor*> outputs, const char* op);

// An output tensor as a kernel may write it: `out` itself when it is contiguous, of the right dtype and apart from the inputs,
// else a temporary that finish() copies back.
//
// The constructors of all outputs check before anything changes, and a kernel that fails leaves an output of another shape as it was.
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
