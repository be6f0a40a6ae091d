/**
 * @file tensorrt.hpp
 * The C++ wrapper: header-only, over the C ABI alone, so that a compiler newer or older than the library's can use it. C++17.
 *
 * RAII handles, exceptions (trt::Error), operators. Copying a Tensor copies a reference, as in PyTorch. Thread safety is that of the C
 * functions underneath. What is not wrapped is reached through the C functions: every class has get(). tests/capi checks that it compiles alone; examples/cpp shows a whole program.
 */
#ifndef TENSORRT_TENSORRT_HPP
#define TENSORRT_TENSORRT_HPP

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensorrt/tensorrt.h"

namespace trt {

/** A failed call: code, message and operator of its trt_status. */
class Error : public std::exception {
 public:
  explicit Error(trt_status* status) : code_(trt_status_code(status)), message_(trt_status_message(status)), op_(trt_status_op(status)) {
    trt_status_release(status);
  }
  trt_code code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }
  /** The operator or function that failed; "" when none applies. */
  const std::string& op() const noexcept { return op_; }

 private:
  trt_code code_;
  std::string message_, op_;
};

/** Throws unless `status` is NULL; takes ownership of it. */
inline void check(trt_status* status) {
  if (status) throw Error(status);
}

enum class DType {
  UInt8 = TRT_UINT8,
  Int8 = TRT_INT8,
  Int16 = TRT_INT16,
  Int32 = TRT_INT32,
  Int64 = TRT_INT64,
  Float16 = TRT_FLOAT16,
  Float32 = TRT_FLOAT32,
  Float64 = TRT_FLOAT64,
  Bool = TRT_BOOL,
  BFloat16 = TRT_BFLOAT16
};

/** The dtype of a C++ element type. */
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::Float32;
  else if constexpr (std::is_same_v<T, double>) return DType::Float64;
  else if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return DType::UInt8;
  else if constexpr (std::is_same_v<T, std::int8_t>) return DType::Int8;
  else if constexpr (std::is_same_v<T, std::int16_t>) return DType::Int16;
  else if constexpr (std::is_same_v<T, std::int32_t>) return DType::Int32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return DType::Int64;
  else static_assert(sizeof(T) == 0, "no dtype for this type");
}

/** A device; the CPU by default. */
class Device {
 public:
  constexpr Device(trt_device_type type = TRT_CPU, std::int32_t index = 0) : device_{type, index} {}
  constexpr explicit Device(trt_device d) : device_(d) {}
  constexpr trt_device c() const { return device_; }

 private:
  trt_device device_;
};

/** A number whose kind (bool, integer, floating) takes part in type promotion. */
class Scalar {
 public:
  // A template, because a pointer would convert to bool.
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Scalar(T v) : scalar_(trt_scalar_bool(v)) {}
  template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Scalar(T v) : scalar_(trt_scalar_int(static_cast<std::int64_t>(v))) {}
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Scalar(T v) : scalar_(trt_scalar_double(static_cast<double>(v))) {}
  explicit Scalar(trt_scalar s) : scalar_(s) {}
  trt_scalar c() const { return scalar_; }
  double to_double() const { return scalar_.kind == TRT_SCALAR_DOUBLE ? scalar_.value.d : static_cast<double>(scalar_.value.i); }

 private:
  trt_scalar scalar_;
};

/** A random stream. A default-constructed one stands for the default generator. */
class Generator {
 public:
  Generator() = default;
  explicit Generator(std::uint64_t seed) {
    trt_generator* g = nullptr;
    check(trt_generator_create(seed, &g));
    handle_.reset(g, trt_generator_release);
  }
  trt_generator* get() const { return handle_.get(); }

 private:
  std::shared_ptr<trt_generator> handle_;
};

class Tensor {
 public:
  Tensor() = default;
  /** Takes over a handle. */
  static Tensor adopt(trt_tensor* t) {
    Tensor r;
    r.handle_ = t;
    return r;
  }
  Tensor(const Tensor& o) : handle_(trt_tensor_retain(o.handle_)) {}
  Tensor(Tensor&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Tensor() { trt_tensor_release(handle_); }

  /** A contiguous tensor with a copy of `values`. */
  template <typename T>
  static Tensor from(const std::vector<T>& values, const std::vector<std::int64_t>& sizes) {
    trt_tensor* t = nullptr;
    check(detail_from(values.data(), values.size(), sizes, static_cast<trt_dtype>(dtype_of<T>()), &t));
    return adopt(t);
  }
  template <typename T>
  static Tensor from(const std::vector<T>& values) {
    return from(values, {static_cast<std::int64_t>(values.size())});
  }

  explicit operator bool() const { return handle_ != nullptr; }
  trt_tensor* get() const { return handle_; }
  /** Gives the handle to the caller. */
  trt_tensor* release() { return std::exchange(handle_, nullptr); }

  std::size_t dim() const { return trt_tensor_ndim(handle_); }
  std::vector<std::int64_t> sizes() const { return {trt_tensor_sizes(handle_), trt_tensor_sizes(handle_) + dim()}; }
  std::int64_t size(std::int64_t d) const {
    std::int64_t n = 0;
    check(trt_tensor_size(handle_, d, &n));
    return n;
  }
  std::int64_t numel() const { return trt_tensor_numel(handle_); }
  DType dtype() const { return static_cast<DType>(trt_tensor_dtype(handle_)); }
  Device device() const { return Device(trt_tensor_device(handle_)); }
  void* data() const { return trt_tensor_data(handle_); }

  /** The only element. */
  double item() const {
    double v = 0;
    check(trt_tensor_item_double(handle_, &v));
    return v;
  }
  /** All elements, row-major, converted to T. */
  template <typename T>
  std::vector<T> to_vector() const {
    static_assert(!std::is_same_v<T, bool>, "use std::uint8_t for bool tensors");
    std::vector<T> v(static_cast<std::size_t>(numel()));
    check(trt_tensor_copy_to_host(handle_, v.data(), static_cast<trt_dtype>(dtype_of<T>()), numel()));
    return v;
  }
  std::string to_string() const {
    char* s = nullptr;
    check(trt_tensor_to_string(handle_, &s));
    const std::unique_ptr<char, void (*)(char*)> owner(s, trt_string_release);
    return s;
  }

  bool requires_grad() const { return trt_tensor_requires_grad(handle_); }
  Tensor& set_requires_grad(bool v = true) {
    check(trt_tensor_set_requires_grad(handle_, v));
    return *this;
  }
  /** Gradients of this one-element tensor, accumulated in the leaves. */
  void backward() const { check(trt_tensor_backward(handle_)); }
  /** The same from a tensor of any shape, with the gradient of it; the graph kept, or recorded for higher derivatives. */
  void backward(const Tensor& gradient, bool retain_graph = false, bool create_graph = false) const {
    const trt_tensor *out = handle_, *g = gradient.handle_;
    check(trt_backward(&out, 1, &g, 1, nullptr, 0, retain_graph, create_graph));
  }
  /** The accumulated gradient; empty when there is none. */
  Tensor grad() const {
    trt_tensor* g = nullptr;
    check(trt_tensor_grad(handle_, &g));
    return adopt(g);
  }
  void zero_grad() const { check(trt_tensor_set_grad(handle_, nullptr)); }
  Tensor detach() const {
    trt_tensor* t = nullptr;
    check(trt_tensor_detach(handle_, &t));
    return adopt(t);
  }

 private:
  static trt_status* detail_from(const void* data, std::size_t count, const std::vector<std::int64_t>& sizes, trt_dtype dtype, trt_tensor** out) {
    std::int64_t n = 1;
    for (std::int64_t s : sizes) n = s >= 0 && (s == 0 || n <= INT64_MAX / s) ? n * s : -1;
    if (n != static_cast<std::int64_t>(count)) return trt_status_create(TRT_INVALID_ARGUMENT, "Tensor::from: the sizes do not give the number of values");
    return trt_tensor_from_data(data, sizes.data(), sizes.size(), dtype, out);
  }
  trt_tensor* handle_ = nullptr;
};

/** Grad mode of this thread for the life of the object. */
class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(trt_set_grad_mode(enabled)) {}
  ~GradMode() { trt_set_grad_mode(previous_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};
/** Inference mode of this thread for the life of the object. */
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : previous_(trt_set_inference_mode(enabled)) {}
  ~InferenceMode() { trt_set_inference_mode(previous_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  bool previous_;
};

namespace detail {
/** A counted handle of the C API. */
template <typename T, T* (*Retain)(T*), void (*Release)(T*)>
class Handle {
 public:
  Handle(const Handle& o) : handle_(Retain(o.handle_)) {}
  Handle(Handle&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Handle& operator=(Handle o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Handle() { Release(handle_); }
  T* get() const { return handle_; }

 protected:
  explicit Handle(T* owned) : handle_(owned) {}

 private:
  T* handle_;
};
/** Calls a C function whose last parameter is the output and returns that. */
template <typename... P, typename... A>
auto create(trt_status* (*fn)(P...), A... arguments) {
  using Out = std::remove_pointer_t<std::tuple_element_t<sizeof...(P) - 1, std::tuple<P...>>>;
  Out out{};
  check(fn(arguments..., &out));
  return out;
}
inline std::string take_string(char* s) {
  std::string r(s ? s : "");
  trt_string_release(s);
  return r;
}
inline std::vector<const trt_tensor*> handles(const std::vector<Tensor>& list) {
  std::vector<const trt_tensor*> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back(t.get());
  return out;
}
/** Never NULL: an empty list differs from none. */
template <typename T>
const T* data(const std::vector<T>& v) {
  static const T empty{};
  return v.empty() ? &empty : v.data();
}
inline std::vector<Tensor> take(trt_tensor_list* list) {
  struct Owner {
    trt_tensor_list* list;
    ~Owner() { trt_tensor_list_release(list); }
  } owner{list};
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < trt_tensor_list_size(list); ++i) {
    trt_tensor* t = nullptr;
    check(trt_tensor_list_get(list, i, &t));
    out.push_back(Tensor::adopt(t));
  }
  return out;
}
}  // namespace detail

}  // namespace trt

namespace trt {

/**
 * The gradients of one-element `output` (or of any output, weighted by `gradient`) with respect to `inputs`; changes no tensor's grad. With create_graph
 * they can be differentiated again. An input that does not reach the output gives an empty tensor if allow_unused, else an error.
 */
inline std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs, const Tensor& gradient = {}, bool retain_graph = false,
                                bool create_graph = false, bool allow_unused = false) {
  const trt_tensor *out = output.get(), *g = gradient.get();
  const auto raw = detail::handles(inputs);
  std::vector<trt_tensor*> results(inputs.size(), nullptr);
  check(trt_grad(&out, 1, raw.data(), raw.size(), &g, 1, retain_graph, create_graph, allow_unused, results.data()));
  std::vector<Tensor> grads;
  for (trt_tensor* r : results) grads.push_back(Tensor::adopt(r));
  return grads;
}

inline void manual_seed(std::uint64_t seed) { check(trt_manual_seed(seed)); }
inline void set_num_threads(int n) { check(trt_set_num_threads(n)); }

}  // namespace trt

#include "tensorrt/data.hpp"
#include "tensorrt/nn.hpp"
#include "tensorrt/ops.hpp"

namespace trt {

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(Scalar a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(Scalar a, const Tensor& b) { return mul(reciprocal(b), a); }
inline Tensor& operator+=(Tensor& a, const Tensor& b) { return add_(a, b); }
inline Tensor& operator-=(Tensor& a, const Tensor& b) { return sub_(a, b); }
inline Tensor& operator*=(Tensor& a, const Tensor& b) { return mul_(a, b); }
inline Tensor& operator/=(Tensor& a, const Tensor& b) { return div_(a, b); }
inline Tensor& operator+=(Tensor& a, Scalar b) { return add_(a, b); }
inline Tensor& operator-=(Tensor& a, Scalar b) { return sub_(a, b); }
inline Tensor& operator*=(Tensor& a, Scalar b) { return mul_(a, b); }
inline Tensor& operator/=(Tensor& a, Scalar b) { return div_(a, b); }

}  // namespace trt

#endif
