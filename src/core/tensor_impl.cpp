#include "core/tensor_impl.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "device/small_alloc.h"
#include "core/modes.h"

namespace trt {

constinit TRT_TLS ThreadState thread_state;

void set_inference_mode(bool enabled) {
  thread_state.inference = enabled;
  thread_state.exclude = enabled ? thread_state.exclude | KeySet(Key::Autograd) : thread_state.exclude - KeySet(Key::Autograd);
}

int64_t checked_numel(IntArrayRef sizes, DType dtype) {
  bool zero = false;
  for (int64_t s : sizes) {
    TRT_CHECK(s >= 0, "negative size in shape ", sizes);
    zero |= s == 0;
  }
  // Zero elements do not excuse the other sizes: their strides must be representable too.
  int64_t n = 1, bytes = 0;
  bool overflow = false;
  for (int64_t s : sizes) overflow |= __builtin_mul_overflow(n, s == 0 ? 1 : s, &n);
  overflow |= __builtin_mul_overflow(n, static_cast<int64_t>(element_size(dtype)), &bytes);
  TRT_CHECK(!overflow, "shape ", sizes, " has too many elements of ", dtype);
  return zero ? 0 : n;
}

DimVector contiguous_strides(IntArrayRef sizes) {
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool strides_are_contiguous(IntArrayRef sizes, IntArrayRef strides) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) {
      if (strides[i] != step) return std::find(sizes.begin(), sizes.begin() + i, 0) != sizes.begin() + i;
      step *= sizes[i];
    }
  }
  return true;
}

TensorImpl::TensorImpl(intrusive_ptr<StorageImpl> storage, DType dtype)
    : dtype_(dtype), device_(storage->device()), storage_(std::move(storage)) {
  keys_ = KeySet(backend_key(device_.type));
  if (TRT_LIKELY(!thread_state.inference)) keys_ = keys_ | KeySet(Key::Autograd);
}

TensorImpl::~TensorImpl() {
  if (ndim_ > kInlineDims) delete[] heap_;
}

void TensorImpl::destroy(TensorImpl* self) {
  self->~TensorImpl();
  small_free(self, sizeof(TensorImpl));
}

void TensorImpl::reserve_dims(size_t ndim) {
  int64_t* fresh = ndim > kInlineDims ? new int64_t[2 * ndim] : nullptr;
  if (ndim_ > kInlineDims) delete[] heap_;
  if (fresh) heap_ = fresh;
  ndim_ = static_cast<uint8_t>(ndim);
}

void TensorImpl::set_geometry(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  TRT_CHECK(sizes.size() <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", sizes.size());
  if (sizes.size() != ndim_) reserve_dims(sizes.size());
  int64_t* d = dims();
  int64_t n = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    d[i] = sizes[i];
    d[sizes.size() + i] = strides[i];
    n *= sizes[i];
  }
  numel_ = n;
  offset_ = offset;
  contiguous_ = strides_are_contiguous(sizes, strides);
}

TensorImpl* TensorImpl::create(intrusive_ptr<StorageImpl> storage, DType dtype, IntArrayRef sizes, IntArrayRef strides,
                               int64_t offset) {
  TRT_CHECK(sizes.size() <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", sizes.size());
  auto* impl = new (small_alloc(sizeof(TensorImpl))) TensorImpl(std::move(storage), dtype);
  impl->set_geometry(sizes, strides, offset);
  return impl;
}

TensorImpl* TensorImpl::create_contiguous(intrusive_ptr<StorageImpl> storage, DType dtype, IntArrayRef sizes) {
  const size_t n = sizes.size();
  TRT_CHECK(n <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", n);
  auto* impl = new (small_alloc(sizeof(TensorImpl))) TensorImpl(std::move(storage), dtype);
  if (TRT_LIKELY(n <= kInlineDims)) impl->ndim_ = static_cast<uint8_t>(n);
  else impl->reserve_dims(n);
  int64_t* d = impl->dims();
  int64_t step = 1, numel = 1;
  for (size_t i = n; i-- > 0;) {
    d[i] = sizes[i];
    d[n + i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
    numel *= sizes[i];
  }
  impl->numel_ = numel;
  return impl;
}

void TensorImpl::set_geometry_in_place(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const DimVector sizes_copy(sizes.data(), sizes.size()), strides_copy(strides.data(), strides.size());
  set_geometry(sizes_copy, strides_copy, offset);
}

void TensorImpl::set_storage(intrusive_ptr<StorageImpl> storage, DType dtype, IntArrayRef sizes, IntArrayRef strides,
                             int64_t offset) {
  DimVector sizes_copy(sizes.data(), sizes.size()), strides_copy(strides.data(), strides.size());
  set_geometry(sizes_copy, strides_copy, offset);
  version_offset_ = version() + 1 - storage->version();
  device_ = storage->device();
  storage_ = std::move(storage);
  dtype_ = dtype;
  keys_ = (keys_ & kWrapperKeys) | KeySet(backend_key(device_.type));
}

void TensorImpl::verify() const {
  TRT_INTERNAL(storage_.get() != nullptr);
  int64_t n = 1, last = offset_;
  for (size_t i = 0; i < ndim_; ++i) {
    TRT_INTERNAL(sizes()[i] >= 0);
    n *= sizes()[i];
    last += (sizes()[i] - 1) * std::max<int64_t>(strides()[i], 0);
  }
  TRT_INTERNAL(n == numel_);
  TRT_INTERNAL(offset_ >= 0);
  if (n > 0 && !device_.is_meta())
    TRT_INTERNAL(static_cast<size_t>(last + 1) * element_size(dtype_) <= storage_->bytes(), "geometry leaves its storage");
  TRT_INTERNAL(contiguous_ == strides_are_contiguous(sizes(), strides()));
  TRT_INTERNAL(keys_.has(backend_key(device_.type)));
}

}  // namespace trt
