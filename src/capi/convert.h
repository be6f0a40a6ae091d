// Arguments and results between C and C++.
#pragma once

#include <cstring>
#include <optional>
#include <tuple>

#include "capi/handles.h"
#include "core/modes.h"

namespace trt::capi {

template <typename T>
void require_out(T* out, const char* name) {
  TRT_CHECK(out != nullptr, "output pointer '", name, "' is NULL");
}

[[noreturn]] TRT_NOINLINE void throw_null_argument(const char* name);

inline void check_element(const void* element, const char* list, size_t index) {
  TRT_CHECK(element != nullptr, "argument '", list, "': element ", index, " is NULL");
}

// A tensor argument that is written.
class MutableArg {
 public:
  MutableArg(trt_tensor* t, const char* name) : tensor_(Tensor::adopt(impl(t))) {
    if (!t) throw_null_argument(name);
  }
  ~MutableArg() { tensor_.release_impl(); }
  MutableArg(const MutableArg&) = delete;
  operator Tensor&() { return tensor_; }

 private:
  Tensor tensor_;
};

class TensorListArg {
 public:
  TensorListArg(const trt_tensor* const* list, size_t count, const char* name, bool optional_elements) {
    TRT_CHECK(list != nullptr || count == 0, "argument '", name, "' is NULL but its count is ", count);
    TRT_CHECK(count < (size_t{1} << 40), "argument '", name, "' has an impossible count ", count);
    tensors_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      if (!optional_elements) check_element(list[i], name, i);
      tensors_.push_back(Tensor(intrusive_ptr<TensorImpl>(const_cast<TensorImpl*>(impl(list[i])))));
    }
  }
  operator TensorList() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

template <typename T>
ArrayRef<T> list_argument(const T* p, size_t count, const char* name) {
  TRT_CHECK(p != nullptr || count == 0, "argument '", name, "' is NULL but its count is ", count);
  TRT_CHECK(count <= (size_t{1} << 40), "argument '", name, "' has an impossible count ", count);
  return {p, count};
}
inline IntArrayRef int_list(const int64_t* p, size_t count, const char* name) { return list_argument(p, count, name); }
inline ArrayRef<double> float_list(const double* p, size_t count, const char* name) { return list_argument(p, count, name); }
inline std::optional<IntArrayRef> optional_int_list(const int64_t* p, size_t count, const char* name) {
  if (!p && count == 0) return std::nullopt;
  return list_argument(p, count, name);
}
inline std::optional<ArrayRef<double>> optional_float_list(const double* p, size_t count, const char* name) {
  if (!p && count == 0) return std::nullopt;
  return list_argument(p, count, name);
}

inline Scalar to_scalar(const trt_scalar& s) {
  if (s.kind == TRT_SCALAR_DOUBLE) return Scalar(s.value.d);
  if (s.kind == TRT_SCALAR_INT) return Scalar(s.value.i);
  if (s.kind == TRT_SCALAR_COMPLEX) return Scalar(std::complex<double>(s.value.c[0], s.value.c[1]));
  TRT_CHECK(s.kind == TRT_SCALAR_BOOL, "a trt_scalar has the unknown kind ", s.kind);
  return Scalar(s.value.i != 0);
}
inline std::optional<Scalar> optional_scalar(const trt_scalar* s) { return s ? std::optional(to_scalar(*s)) : std::nullopt; }
inline trt_scalar from_scalar(const Scalar& s) {
  trt_scalar r{};
  r.kind = static_cast<int32_t>(s.kind());
  if (s.is_complex()) r.value.c[0] = s.to_double(), r.value.c[1] = s.imag();
  else if (s.is_double()) r.value.d = s.to_double();
  else r.value.i = s.to_int();
  return r;
}

inline DType to_dtype(int dtype) {
  TRT_CHECK(is_valid_dtype(dtype), "unknown dtype ", dtype);
  return static_cast<DType>(dtype);
}
inline std::optional<DType> optional_dtype(int dtype) { return dtype == TRT_DTYPE_NONE ? std::nullopt : std::optional(to_dtype(dtype)); }

inline Device to_device(const trt_device& d) {
  TRT_CHECK(d.type >= 0 && d.type < kNumDeviceTypes && d.index >= 0 && d.index < 128, "unknown device (type ", d.type, ", index ", d.index, ")");
  return Device(static_cast<DeviceType>(d.type), static_cast<int8_t>(d.index));
}
inline std::optional<Device> optional_device(const trt_device* d) { return d ? std::optional(to_device(*d)) : std::nullopt; }

inline std::string_view string(const char* s, const char* name) {
  if (!s) throw_null_argument(name);
  return s;
}
inline std::optional<std::string_view> optional_string(const char* s) { return s ? std::optional<std::string_view>(s) : std::nullopt; }

template <typename T>
std::optional<T> optional_value(const T* p) {
  return p ? std::optional(*p) : std::nullopt;
}

// Results. Nothing is written before everything that may throw has happened.
inline void give(Tensor&& t, trt_tensor** out) { *out = to_handle(std::move(t)); }
inline void give(std::vector<Tensor>&& l, trt_tensor_list** out) { *out = new trt_tensor_list{std::move(l)}; }
inline void give(int64_t v, int64_t* out) { *out = v; }
inline void give(double v, double* out) { *out = v; }
inline void give(bool v, bool* out) { *out = v; }
inline void give(const Scalar& v, trt_scalar* out) { *out = from_scalar(v); }
template <typename... R, typename... O>
void give_all(std::tuple<R...>& results, O*... outs) {
  std::apply([&](R&... r) { (give(std::move(r), outs), ...); }, results);
}

char* copy_string(std::string_view s);

}  // namespace trt::capi
