// tensor.h: handles, metadata, element access, lists.
#include "tensorrt/tensor.h"

#include "capi/convert.h"
#include "autograd/meta.h"
#include "core/print.h"
#include "iter/copy.h"

using namespace trt;
using namespace trt::capi;

namespace {

const Tensor& checked(const BorrowedTensor& t, const char* name) {
  if (!t.get().defined()) throw_null_argument(name);
  return t.get();
}

Scalar item_of(const trt_tensor* tensor) {
  BorrowedTensor borrowed(impl(tensor));
  const Tensor& t = checked(borrowed, "tensor");
  TRT_CHECK(t.numel() == 1, "item: a tensor with one element is needed, got ", t);
  TRT_CHECK(!t.is_meta(), "item: a meta tensor has no data");
  return dispatch_all(t.dtype(), "item", [&]<typename T>() { return Scalar(*t.data_ptr<T>()); });
}

Scalar real_item_of(const trt_tensor* tensor) {
  const Scalar s = item_of(tensor);
  TRT_CHECK(s.imag() == 0, "item: ", s, " is no real number; trt_tensor_item gives complex ones");
  return s;
}

}  // namespace

extern "C" {

TRT_EXPORT trt_tensor* trt_tensor_retain(const trt_tensor* tensor) {
  if (tensor) impl(tensor)->retain();
  return const_cast<trt_tensor*>(tensor);
}
TRT_EXPORT void trt_tensor_release(trt_tensor* tensor) {
  if (tensor) impl(tensor)->release();
}

TRT_EXPORT trt_status* trt_tensor_from_data(const void* data, const int64_t* sizes, size_t ndim, trt_dtype dtype, trt_tensor** out) {
  return guard("trt_tensor_from_data", [&] {
    require_out(out, "out");
    const IntArrayRef shape = int_list(sizes, ndim, "sizes");
    Tensor t = empty_tensor(shape, to_dtype(dtype));
    TRT_CHECK(data != nullptr || t.numel() == 0, "argument 'data' is NULL for shape ", shape);
    if (t.numel()) std::memcpy(t.data(), data, static_cast<size_t>(t.numel()) * t.itemsize());
    give(std::move(t), out);
  });
}

TRT_EXPORT trt_status* trt_tensor_from_blob(void* data, const int64_t* sizes, const int64_t* strides, size_t ndim, trt_dtype dtype, trt_device device,
                                            trt_destroy_fn deleter, void* ctx, trt_tensor** out) {
  return guard("trt_tensor_from_blob", [&] {
    require_out(out, "out");
    const IntArrayRef shape = int_list(sizes, ndim, "sizes");
    const DType type = to_dtype(dtype);
    const Device where = to_device(device);
    TRT_CHECK(where.type != DeviceType::Meta, "the Meta device has no memory");
    const int64_t numel = checked_numel(shape, type);
    TRT_CHECK(data != nullptr || numel == 0, "argument 'data' is NULL for shape ", shape);
    DimVector st = contiguous_strides(shape);
    if (strides) st.assign(strides, ndim);
    // The storage reaches to the last element.
    int64_t last = 0;
    for (size_t i = 0; i < ndim && numel > 0; ++i) {
      int64_t span;
      TRT_CHECK(st[i] >= 0, "negative stride in ", st, " (not supported)");
      TRT_CHECK(!__builtin_mul_overflow(shape[i] - 1, st[i], &span) && !__builtin_add_overflow(last, span, &last), "strides ", st, " are too large for shape ", shape);
    }
    int64_t bytes = 0;
    TRT_CHECK(!__builtin_mul_overflow(numel ? last + 1 : 0, static_cast<int64_t>(element_size(type)), &bytes), "strides ", st, " are too large for shape ", shape);
    TRT_CHECK(reinterpret_cast<uintptr_t>(data) % element_size(type) == 0, "'data' is not aligned for ", type);
    TRT_CHECK(ndim <= TensorImpl::kMaxDims, "a tensor has at most ", int(TensorImpl::kMaxDims), " dimensions, got ", ndim);
    // The deleter is set last: if anything above fails it must not run.
    give(Tensor::adopt(TensorImpl::create(StorageImpl::wrap(data, static_cast<size_t>(bytes), where, deleter, ctx), type, shape, st, 0)), out);
  });
}

TRT_EXPORT trt_status* trt_tensor_from_scalar(trt_scalar value, trt_dtype dtype, trt_tensor** out) {
  return guard("trt_tensor_from_scalar", [&] {
    require_out(out, "out");
    const Scalar s = to_scalar(value);
    give(scalar_tensor_of(s, optional_dtype(dtype).value_or(s.natural_dtype(thread_state.default_dtype))), out);
  });
}

TRT_EXPORT size_t trt_tensor_ndim(const trt_tensor* t) { return t ? static_cast<size_t>(impl(t)->dim()) : 0; }
TRT_EXPORT const int64_t* trt_tensor_sizes(const trt_tensor* t) { return t ? impl(t)->sizes().data() : nullptr; }
TRT_EXPORT const int64_t* trt_tensor_strides(const trt_tensor* t) { return t ? impl(t)->strides().data() : nullptr; }
TRT_EXPORT trt_status* trt_tensor_size(const trt_tensor* t, int64_t dim, int64_t* out) {
  return guard("trt_tensor_size", [&] {
    require_out(out, "out");
    BorrowedTensor borrowed(impl(t));
    *out = checked(borrowed, "tensor").size(dim);
  });
}
TRT_EXPORT int64_t trt_tensor_numel(const trt_tensor* t) { return t ? impl(t)->numel() : 0; }
TRT_EXPORT trt_dtype trt_tensor_dtype(const trt_tensor* t) { return t ? static_cast<trt_dtype>(impl(t)->dtype()) : TRT_DTYPE_NONE; }
TRT_EXPORT trt_device trt_tensor_device(const trt_tensor* t) {
  if (!t) return trt_device{TRT_CPU, 0};
  return trt_device{static_cast<int32_t>(impl(t)->device().type), impl(t)->device().index};
}
TRT_EXPORT int64_t trt_tensor_storage_offset(const trt_tensor* t) { return t ? impl(t)->storage_offset() : 0; }
TRT_EXPORT bool trt_tensor_is_contiguous(const trt_tensor* t) { return t && impl(t)->is_contiguous(); }
TRT_EXPORT bool trt_tensor_shares_storage(const trt_tensor* a, const trt_tensor* b) { return a && b && impl(a)->storage() == impl(b)->storage(); }
TRT_EXPORT uint32_t trt_tensor_version(const trt_tensor* t) { return t ? impl(t)->version() : 0; }
TRT_EXPORT void* trt_tensor_data(const trt_tensor* t) { return t ? impl(t)->data() : nullptr; }

TRT_EXPORT trt_status* trt_tensor_item(const trt_tensor* tensor, trt_scalar* out) {
  return guard("trt_tensor_item", [&] {
    require_out(out, "out");
    *out = from_scalar(item_of(tensor));
  });
}
TRT_EXPORT trt_status* trt_tensor_item_double(const trt_tensor* tensor, double* out) {
  return guard("trt_tensor_item_double", [&] {
    require_out(out, "out");
    *out = real_item_of(tensor).to_double();
  });
}
TRT_EXPORT trt_status* trt_tensor_item_int(const trt_tensor* tensor, int64_t* out) {
  return guard("trt_tensor_item_int", [&] {
    require_out(out, "out");
    *out = real_item_of(tensor).to_int();
  });
}

TRT_EXPORT trt_status* trt_tensor_copy_to_host(const trt_tensor* tensor, void* data, trt_dtype dtype, int64_t count) {
  return guard("trt_tensor_copy_to_host", [&] {
    BorrowedTensor borrowed(impl(tensor));
    const Tensor& t = checked(borrowed, "tensor");
    TRT_CHECK(t.device().is_cpu(), "only CPU tensors can be read, got ", t);
    TRT_CHECK(count == t.numel(), "room for ", count, " elements was given, the tensor ", t, " has ", t.numel());
    TRT_CHECK(data != nullptr || count == 0, "argument 'data' is NULL");
    if (count == 0) return;
    const DType type = to_dtype(dtype);
    TRT_CHECK(!is_complex(t.dtype()) || is_complex(type), "a complex tensor (", t, ") cannot be read as ", type, ", which has no imaginary part; read its real and imag");
    Tensor host = Tensor::adopt(TensorImpl::create_contiguous(StorageImpl::wrap(data, static_cast<size_t>(count) * element_size(type), kCPU, nullptr, nullptr), type, t.sizes()));
    copy_tensor(host, t);
    // The host may read its memory as bool, so that only 0 and 1 may be there.
    if (type == DType::Bool)
      for (uint8_t* p = static_cast<uint8_t*>(data); p != static_cast<uint8_t*>(data) + count; ++p) *p = *p != 0;
  });
}

TRT_EXPORT trt_status* trt_tensor_to_string(const trt_tensor* tensor, char** out) {
  return guard("trt_tensor_to_string", [&] {
    require_out(out, "out");
    BorrowedTensor borrowed(impl(tensor));
    const Tensor& t = checked(borrowed, "tensor");
    *out = copy_string(tensor_to_string(t, autograd::print_suffix(t)));
  });
}

TRT_EXPORT size_t trt_tensor_list_size(const trt_tensor_list* list) { return list ? list->tensors.size() : 0; }
// A Tensor is one pointer, which is the handle.
static_assert(sizeof(Tensor) == sizeof(trt_tensor*) && std::is_standard_layout_v<Tensor>);
TRT_EXPORT const trt_tensor* const* trt_tensor_list_data(const trt_tensor_list* list) {
  return list ? reinterpret_cast<const trt_tensor* const*>(list->tensors.data()) : nullptr;
}
TRT_EXPORT trt_status* trt_tensor_list_get(const trt_tensor_list* list, size_t index, trt_tensor** out) {
  return guard("trt_tensor_list_get", [&] {
    require_out(out, "out");
    if (!list) throw_null_argument("list");
    TRT_CHECK_CODE(index < list->tensors.size(), Code::kOutOfRange, "index ", index, " is out of range for a list of ", list->tensors.size());
    give(Tensor(list->tensors[index]), out);
  });
}
TRT_EXPORT void trt_tensor_list_release(trt_tensor_list* list) { delete list; }

TRT_EXPORT trt_dtype trt_get_default_dtype(void) { return static_cast<trt_dtype>(thread_state.default_dtype); }
TRT_EXPORT trt_status* trt_set_default_dtype(trt_dtype dtype) {
  return guard("trt_set_default_dtype", [&] {
    const DType t = to_dtype(dtype);
    TRT_CHECK(is_floating(t), "the default dtype must be a floating-point one, got ", t);
    thread_state.default_dtype = t;
  });
}

}  // extern "C"
