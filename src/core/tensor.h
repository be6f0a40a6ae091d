// Tensor: a counted reference to a TensorImpl; copying it copies the reference. A default-constructed Tensor is undefined and
// stands for "none" where an operator takes an optional tensor.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/modes.h"
#include "core/scalar.h"
#include "core/tensor_impl.h"

namespace trt {

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(intrusive_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  static Tensor adopt(TensorImpl* impl) { return Tensor(intrusive_ptr<TensorImpl>::adopt(impl)); }

  bool defined() const { return impl_.get() != nullptr; }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* release_impl() { return impl_.detach(); }
  bool is_same(const Tensor& o) const { return impl_.get() == o.impl_.get(); }
  void reset() { impl_.reset(); }

  int64_t dim() const { return impl_->dim(); }
  IntArrayRef sizes() const { return impl_->sizes(); }
  IntArrayRef strides() const { return impl_->strides(); }
  // Negative d counts from the end; throws kOutOfRange.
  int64_t size(int64_t d) const { return sizes()[static_cast<size_t>(wrap(d))]; }
  int64_t stride(int64_t d) const { return strides()[static_cast<size_t>(wrap(d))]; }
  int64_t numel() const { return impl_->numel(); }
  int64_t storage_offset() const { return impl_->storage_offset(); }
  DType dtype() const { return impl_->dtype(); }
  Device device() const { return impl_->device(); }
  size_t itemsize() const { return element_size(dtype()); }
  bool is_contiguous() const { return impl_->is_contiguous(); }
  bool is_meta() const { return device().is_meta(); }
  void* data() const { return impl_->data(); }
  template <typename T>
  T* data_ptr() const {
    return static_cast<T*>(impl_->data());
  }
  bool shares_storage(const Tensor& o) const { return impl_->storage() == o.impl_->storage(); }

 private:
  int64_t wrap(int64_t d) const;
  intrusive_ptr<TensorImpl> impl_;
};

using TensorList = ArrayRef<Tensor>;

// A Tensor over an impl that somebody else keeps alive; gives no reference back.
class BorrowedTensor {
 public:
  explicit BorrowedTensor(const TensorImpl* impl) : tensor_(Tensor::adopt(const_cast<TensorImpl*>(impl))) {}
  ~BorrowedTensor() { tensor_.release_impl(); }
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;
  operator const Tensor&() const { return tensor_; }
  const Tensor& get() const { return tensor_; }

 private:
  Tensor tensor_;
};

// "float32[2, 3]", with the device when it is not the CPU; "none" for an undefined tensor. For error messages.
std::string describe(const Tensor& t);
std::string describe(TensorList list);
inline void append(std::string& s, const Tensor& t) { s += describe(t); }

// dim in [-ndim, ndim) to [0, ndim), where a 0-d tensor counts as one dimension; throws kOutOfRange naming `op`.
int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op);

// Uninitialized, contiguous. Below the dispatcher: no autograd, no modes.
Tensor empty_tensor(IntArrayRef sizes, DType dtype, Device device = kCPU);
Tensor empty_strided_tensor(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device = kCPU);
inline Tensor empty_like_tensor(const Tensor& t) { return empty_tensor(t.sizes(), t.dtype(), t.device()); }
// A tensor over the same storage with another geometry (offset in elements of t's dtype, from the storage's begin). The caller
// checked the bounds. Carries no autograd metadata.
Tensor alias_tensor(const Tensor& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset, DType dtype);
inline Tensor alias_tensor(const Tensor& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  return alias_tensor(t, sizes, strides, offset, t.dtype());
}
// A 0-d CPU tensor holding `value`, marked as a wrapped number.
Tensor wrapped_scalar_tensor(const Scalar& value);
// A 0-d tensor of the given dtype on the CPU.
Tensor scalar_tensor_of(const Scalar& value, DType dtype);
// Throws unless every element that the geometry reaches lies inside [0, storage_elements).
void check_in_storage(IntArrayRef sizes, IntArrayRef strides, int64_t offset, int64_t storage_elements, const char* op);

// Made in inference mode, or a view of such a tensor: nothing is recorded for it, ever.
inline bool is_inference(const Tensor& t) { return !t.impl()->keys().has(Key::Autograd); }
// Whether `t` may be changed in place here: an inference tensor only in inference mode.
inline bool may_change(const Tensor& t) { return !is_inference(t) || thread_state.inference; }
[[noreturn]] TRT_NOINLINE void throw_inference_changed(const Tensor& t, std::string_view op);
// Throws kFailedPrecondition naming `op` unless may_change(t). Operators' wrappers do this for every argument that is written.
inline void check_may_change(const Tensor& t, std::string_view op) {
  if (TRT_UNLIKELY(!may_change(t))) throw_inference_changed(t, op);
}

// Also true for a view whose history may have to be made anew.
inline bool requires_grad_quick(const Tensor& t) {
  if (!t.defined()) return false;
  const AutogradMetaBase* m = t.impl()->autograd();
  return m && (m->requires_grad || m->is_view);
}
inline bool requires_grad_now(const Tensor& t) { return requires_grad_quick(t) && t.impl()->autograd()->requires_grad_now(t); }

}  // namespace trt
