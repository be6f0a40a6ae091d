#include "core/tensor.h"

#include <array>
#include <cstring>

#include "core/modes.h"

namespace trt {

namespace {

constexpr const char* kDTypeNames[kNumDTypes] = {"uint8",   "int8", "int16", "int32", "int64", "float16", "float32", "float64",
                                                 nullptr, "complex64", "complex128", "bool",  nullptr, nullptr,   nullptr,   "bfloat16"};
constexpr const char* kDeviceTypeNames[kNumDeviceTypes] = {"cpu", "cuda", "meta", "privateuse1", "privateuse2", "privateuse3"};

}  // namespace

const char* dtype_name(DType t) { return is_valid_dtype(static_cast<int>(t)) ? kDTypeNames[static_cast<int>(t)] : "undefined"; }

DType dtype_from_name(const char* name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kDTypeNames[i] && std::strcmp(kDTypeNames[i], name) == 0) return static_cast<DType>(i);
  return DType::Undefined;
}

bool is_valid_dtype(int value) { return value >= 0 && value < kNumDTypes && kDTypeNames[value]; }

const char* device_type_name(DeviceType t) { return kDeviceTypeNames[static_cast<size_t>(t)]; }

void append(std::string& s, Device d) {
  s += device_type_name(d.type);
  if (d.type != DeviceType::CPU && d.type != DeviceType::Meta) {
    s += ':';
    append(s, static_cast<int>(d.index));
  }
}

Device device_from_string(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  int index = 0;
  bool ok = true;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    auto r = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    ok = r.ec == std::errc() && r.ptr == digits.data() + digits.size() && index >= 0 && index < 128;
  }
  for (int i = 0; ok && i < kNumDeviceTypes; ++i)
    if (type == kDeviceTypeNames[i]) return Device(static_cast<DeviceType>(i), static_cast<int8_t>(index));
  throw_error(Code::kInvalidArgument, str_cat("not a device: \"", text, "\" (expected cpu, meta, cuda or cuda:N)"));
}

int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op) {
  const int64_t n = ndim == 0 ? 1 : ndim;
  TRT_CHECK_CODE(dim >= -n && dim < n, Code::kOutOfRange, op, ": dimension ", dim, " is out of range for a tensor of ", ndim,
                 " dimensions (expected ", -n, " to ", n - 1, ")");
  return dim < 0 ? dim + n : dim;
}

int64_t Tensor::wrap(int64_t d) const {
  TRT_CHECK_CODE(dim() > 0, Code::kOutOfRange, "size: a 0-d tensor has no dimension ", d);
  return wrap_dim(d, dim(), "size");
}

std::string describe(const Tensor& t) {
  if (!t.defined()) return "none";
  std::string s = str_cat(t.dtype(), t.sizes());
  if (!t.device().is_cpu()) {
    s += "@";
    append(s, t.device());
  }
  return s;
}

void throw_inference_changed(const Tensor& t, std::string_view op) {
  throw_error(Code::kFailedPrecondition,
              str_cat(op, ": a tensor made in inference mode (", t, ") is changed in place outside of inference mode; clone it to get a normal one"));
}

std::string describe(TensorList list) {
  std::string s = "(";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) s += ", ";
    s += describe(list[i]);
  }
  return s + ")";
}

Tensor empty_tensor(IntArrayRef sizes, DType dtype, Device device) {
  const int64_t n = checked_numel(sizes, dtype);
  return Tensor::adopt(TensorImpl::create_contiguous(
      StorageImpl::allocate(static_cast<size_t>(n) * element_size(dtype), device), dtype, sizes));
}

Tensor empty_strided_tensor(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device) {
  TRT_CHECK(sizes.size() == strides.size(), "empty_strided: ", sizes.size(), " sizes but ", strides.size(), " strides");
  const int64_t n = checked_numel(sizes, dtype);
  int64_t last = 0;
  if (n > 0)
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t span;
      TRT_CHECK(strides[i] >= 0 && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) &&
                    !__builtin_add_overflow(last, span, &last),
                "empty_strided: strides ", strides, " do not fit shape ", sizes);
    }
  int64_t bytes;
  TRT_CHECK(!__builtin_mul_overflow(n ? last + 1 : 0, static_cast<int64_t>(element_size(dtype)), &bytes),
            "empty_strided: strides ", strides, " do not fit shape ", sizes);
  return Tensor::adopt(TensorImpl::create(StorageImpl::allocate(static_cast<size_t>(bytes), device), dtype, sizes, strides, 0));
}

Tensor alias_tensor(const Tensor& t, IntArrayRef sizes, IntArrayRef strides, int64_t offset, DType dtype) {
  Tensor r = Tensor::adopt(TensorImpl::create(t.impl()->storage(), dtype, sizes, strides, offset));
  // A view of an inference tensor stays one, also outside inference mode.
  r.impl()->set_keys(t.impl()->keys() & (kBackendKeys | KeySet(Key::Autograd)));
  return r;
}

Tensor scalar_tensor_of(const Scalar& value, DType dtype) {
  Tensor r = empty_tensor({}, dtype);
  dispatch_all(dtype, "scalar_tensor", [&]<typename T>() { *r.data_ptr<T>() = value.to<T>(); });
  return r;
}

Tensor wrapped_scalar_tensor(const Scalar& value) {
  Tensor r = scalar_tensor_of(value, value.is_double() ? DType::Float64 : value.natural_dtype(DType::Float64));
  r.impl()->set_wrapped_number(true);
  return r;
}

void check_in_storage(IntArrayRef sizes, IntArrayRef strides, int64_t offset, int64_t storage_elements, const char* op) {
  TRT_CHECK(offset >= 0, op, ": storage offset ", offset, " is negative");
  int64_t last = offset;
  bool overflow = false, empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TRT_CHECK(sizes[i] >= 0, op, ": negative size in shape ", sizes);
    TRT_CHECK(strides[i] >= 0, op, ": negative stride in ", strides, " (not supported)");
    if (sizes[i] == 0) empty = true;
    int64_t span = 0;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &span);
    overflow |= __builtin_add_overflow(last, span, &last);
  }
  if (empty) return;
  TRT_CHECK_CODE(!overflow && last < storage_elements, Code::kOutOfRange, op, ": shape ", sizes, " with strides ", strides,
                 " and offset ", offset, " reaches beyond a storage of ", storage_elements, " elements");
}

}  // namespace trt
