// TensorImpl: what a tensor is. Storage + sizes + strides + offset + dtype + device, the key set for dispatch, and one
// pointer to autograd metadata that is null for a tensor that autograd never touched.
//
// Ownership: intrusively counted; the C API's trt_tensor* is a TensorImpl*. Thread safety: the count is atomic; the metadata
// is immutable after construction but for the few set_* functions, which need external synchronization.
#pragma once

#include <memory>

#include "base/array_ref.h"
#include "base/intrusive_ptr.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/key_set.h"
#include "core/storage.h"

namespace trt {

class Tensor;
class TensorImpl;

// The part of the autograd metadata that every layer may ask; the rest is autograd/meta.h's.
struct AutogradMetaBase {
  virtual ~AutogradMetaBase() = default;
  // Whether the tensor of this metadata requires a gradient now; of a view, whether its base does, too.
  virtual bool requires_grad_now(const Tensor&) const { return requires_grad; }
  bool requires_grad = false;  // asked for on a leaf, or true because a grad_fn is set
  bool is_view = false;        // a differentiable view: its history may have to be made anew from its base
};

class TensorImpl final : public RefCounted<TensorImpl> {
 public:
  static constexpr int kInlineDims = 5;
  static constexpr int kMaxDims = 64;

  // Takes over `storage`. Strides are in elements. The caller checked that all elements lie inside the storage.
  static TensorImpl* create(intrusive_ptr<StorageImpl> storage, DType dtype, IntArrayRef sizes, IntArrayRef strides,
                            int64_t offset);
  // The same with contiguous strides and offset 0.
  static TensorImpl* create_contiguous(intrusive_ptr<StorageImpl> storage, DType dtype, IntArrayRef sizes);
  static void destroy(TensorImpl* self);

  int64_t dim() const { return ndim_; }
  IntArrayRef sizes() const { return {dims(), ndim_}; }
  IntArrayRef strides() const { return {dims() + ndim_, ndim_}; }
  int64_t numel() const { return numel_; }
  int64_t storage_offset() const { return offset_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  KeySet keys() const { return keys_; }
  bool is_contiguous() const { return contiguous_; }
  const intrusive_ptr<StorageImpl>& storage() const { return storage_; }
  // A Python-like number turned into a 0-d tensor: weaker in type promotion.
  bool is_wrapped_number() const { return wrapped_number_; }
  void set_wrapped_number(bool v) { wrapped_number_ = v; }

  void* data() const {
    char* p = static_cast<char*>(storage_->data());
    return p ? p + offset_ * static_cast<int64_t>(element_size(dtype_)) : nullptr;
  }

  AutogradMetaBase* autograd() const { return autograd_.get(); }
  void set_autograd(std::unique_ptr<AutogradMetaBase> meta) { autograd_ = std::move(meta); }
  void set_keys(KeySet keys) { keys_ = keys; }

  // The version of the storage, as this tensor counts it: a replaced storage is one more change.
  uint32_t version() const { return storage_->version() + version_offset_; }
  // Replaces storage and geometry (set_data, resize of an out tensor). Keeps autograd metadata.
  void set_storage(intrusive_ptr<StorageImpl> storage, DType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  // Other sizes, strides and offset over the same memory, which must hold them (not checked). The version stays: the caller raises the storage's.
  void set_geometry_in_place(IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  // Throws kInternal when sizes, strides, offset and storage do not fit together.
  void verify() const;

 private:
  friend class RefCounted<TensorImpl>;
  TensorImpl(intrusive_ptr<StorageImpl> storage, DType dtype);
  ~TensorImpl();
  void set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset);
  int64_t* dims() { return ndim_ <= kInlineDims ? inline_ : heap_; }
  const int64_t* dims() const { return ndim_ <= kInlineDims ? inline_ : heap_; }
  void reserve_dims(size_t ndim);

  uint8_t ndim_ = 0;
  DType dtype_;
  bool contiguous_ = true;
  bool wrapped_number_ = false;
  Device device_;
  uint32_t version_offset_ = 0;  // set_storage: version() grows, and the other storage counts on as before
  KeySet keys_;
  intrusive_ptr<StorageImpl> storage_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  std::unique_ptr<AutogradMetaBase> autograd_;
  union {
    int64_t inline_[2 * kInlineDims];  // sizes, then strides directly behind them
    int64_t* heap_;
  };
};

// Product of the sizes; throws kInvalidArgument on a negative size or when the product (or the byte count for `dtype`)
// overflows int64.
int64_t checked_numel(IntArrayRef sizes, DType dtype);
// Row-major strides of a contiguous tensor; sizes of 0 count as 1, as PyTorch does.
DimVector contiguous_strides(IntArrayRef sizes);
bool strides_are_contiguous(IntArrayRef sizes, IntArrayRef strides);

}  // namespace trt
