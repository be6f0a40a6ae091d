// Errors, dtypes, numbers, lists of arguments, devices, threads, memory and log in C++17, over base.h (which documents
// behaviour and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_BASE_HPP
#define TENSORRT_BASE_HPP

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tensorrt/tensorrt.h"

namespace trt {

/** A failed call: code, message and operator of its trt_status. */
class Error : public std::exception {
 public:
  /** Takes over a status. */
  explicit Error(trt_status* status)
      : code_(trt_status_code(status)), message_(trt_status_message(status)), op_(trt_status_op(status)) {
    trt_status_release(status);
  }
  /** An error of the host's own, for callbacks: it reaches the caller of the outer function with this code and message.
   */
  Error(trt_code code, const std::string& message) : code_(code), message_(message) {}
  trt_code code() const noexcept { return code_; }
  /** "INVALID_ARGUMENT". */
  const char* code_name() const noexcept { return trt_code_name(code_); }
  const char* what() const noexcept override { return message_.c_str(); }
  /** The operator or function that failed; "" when none applies. */
  const std::string& op() const noexcept { return op_; }
  /** The same error with another message: one to which something was added on its way. */
  Error with_message(const std::string& message) const {
    Error e = *this;
    e.message_ = message;
    return e;
  }

 private:
  trt_code code_;
  std::string message_, op_;
};

namespace detail {
/** Destroys the exception that a status carries. */
inline void destroy_exception(void* payload) { delete static_cast<std::exception_ptr*>(payload); }
[[noreturn]] inline void raise(trt_status* status) {
  if (const void* payload = trt_status_payload(status, destroy_exception)) {
    const std::exception_ptr thrown = *static_cast<const std::exception_ptr*>(payload);
    const std::unique_ptr<trt_status, void (*)(trt_status*)> owner(status, trt_status_release);
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      // A class derived from Error is the host's own, and stays what it is.
      if (typeid(e) != typeid(Error) || std::strcmp(e.what(), trt_status_message(status)) == 0) throw;
      throw e.with_message(trt_status_message(status));
    }
  }
  throw Error(status);
}
}  // namespace detail

/**
 * Throws unless `status` is NULL; takes ownership of it. What a function of the host threw inside of the call (a
 * module's forward, a hook, a dataset's function) is thrown again as it was; else an Error. The message of an Error
 * that left a part of a module says where that was: "... (in module 'encoder.2', Linear)".
 */
inline void check(trt_status* status) {
  if (status) detail::raise(status);
}

/** Element types. */
enum class DType {
  UInt8 = TRT_UINT8,
  Int8 = TRT_INT8,
  Int16 = TRT_INT16,
  Int32 = TRT_INT32,
  Int64 = TRT_INT64,
  Float16 = TRT_FLOAT16,
  Float32 = TRT_FLOAT32,
  Float64 = TRT_FLOAT64,
  Complex64 = TRT_COMPLEX64,
  Complex128 = TRT_COMPLEX128,
  Bool = TRT_BOOL,
  BFloat16 = TRT_BFLOAT16
};
inline constexpr DType kUInt8 = DType::UInt8, kInt8 = DType::Int8, kInt16 = DType::Int16, kInt32 = DType::Int32,
                       kInt64 = DType::Int64, kFloat16 = DType::Float16, kFloat32 = DType::Float32,
                       kFloat64 = DType::Float64, kBool = DType::Bool, kBFloat16 = DType::BFloat16,
                       kComplex64 = DType::Complex64, kComplex128 = DType::Complex128;
inline constexpr DType kByte = kUInt8, kChar = kInt8, kShort = kInt16, kInt = kInt32, kLong = kInt64, kHalf = kFloat16,
                       kFloat = kFloat32, kDouble = kFloat64, kComplexFloat = kComplex64, kComplexDouble = kComplex128;

/** Bytes of an element. */
inline std::size_t size_of(DType dtype) { return trt_dtype_size(static_cast<trt_dtype>(dtype)); }
/** "float32". */
inline const char* name_of(DType dtype) { return trt_dtype_name(static_cast<trt_dtype>(dtype)); }
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }
/** The thread's default floating dtype. */
inline DType get_default_dtype() { return static_cast<DType>(trt_get_default_dtype()); }
inline void set_default_dtype(DType dtype) { check(trt_set_default_dtype(static_cast<trt_dtype>(dtype))); }

/**
 * The dtype that holds every value of a C++ type: the type's own, else the next larger (int32 for std::uint16_t, int64
 * for std::uint32_t). 64-bit unsigned integers are kept as int64; a value that does not fit is an error.
 */
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::Float32;
  else if constexpr (std::is_floating_point_v<T>)
    return DType::Float64;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::Bool;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? DType::Int8 : DType::UInt8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return std::is_signed_v<T> ? DType::Int16 : DType::Int32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? DType::Int32 : DType::Int64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return DType::Int64;
  else
    static_assert(sizeof(T) == 0, "no dtype for this type");
}

namespace detail {
/** Whether elements of dtype_of<T>() lie in memory as T does. */
template <typename T>
constexpr bool same_layout() {
  return std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
         (std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) == 1 || sizeof(T) == 8));
}
/** The C++ type of the elements of dtype_of<T>(). */
template <typename T>
using element_t =
    std::conditional_t<same_layout<T>(), T,
                       std::conditional_t<std::is_floating_point_v<T>, double,
                                          std::conditional_t<sizeof(T) == 2, std::int32_t, std::int64_t>>>;
template <typename T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <typename T>
void check_range(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
    if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
      throw Error(TRT_OUT_OF_RANGE, "the unsigned number " + std::to_string(value) + " does not fit into int64");
  }
}
inline std::string take_string(char* s) {
  const std::unique_ptr<char, void (*)(char*)> owner(s, trt_string_release);
  return s ? std::string(s) : std::string();
}
/** Calls a C function whose last parameter is the output and returns that. */
template <typename... P, typename... A>
auto create(trt_status* (*fn)(P...), A... arguments) {
  using Out = std::remove_pointer_t<std::tuple_element_t<sizeof...(P) - 1, std::tuple<P...>>>;
  Out out{};
  check(fn(arguments..., &out));
  return out;
}
/** Sets up an options struct of the C API with its defaults. */
template <typename T>
T defaults(void (*init)(T*)) {
  T o;
  init(&o);
  return o;
}
/** The exception being handled as a status that carries it. */
inline trt_status* status_of_exception() noexcept {
  const auto make = [](trt_code code, const char* message) {
    auto* const thrown = new (std::nothrow) std::exception_ptr(std::current_exception());
    return thrown ? trt_status_create_with(code, message, thrown, destroy_exception) : trt_status_create(code, message);
  };
  try {
    throw;
  } catch (const Error& e) {
    return make(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return make(TRT_OUT_OF_MEMORY, "a callback ran out of memory");
  } catch (const std::exception& e) {
    return make(TRT_CALLBACK, e.what());
  } catch (...) {
    return make(TRT_CALLBACK, "a callback threw an exception of unknown type");
  }
}
/** Runs the host's function inside of a callback: what it throws becomes the callback's status. */
template <typename F>
trt_status* guarded(F&& f) noexcept {
  try {
    f();
    return nullptr;
  } catch (...) {
    return status_of_exception();
  }
}
/** The user_data of a callback, and its destroy function. */
template <typename T>
void destroy(void* user_data) {
  delete static_cast<T*>(user_data);
}

/** A counted handle of the C API; empty after default construction. Copying copies the reference. */
template <typename T, T* (*Retain)(T*), void (*Release)(T*)>
class Handle {
 public:
  Handle() = default;
  Handle(const Handle& o) : handle_(Retain(o.handle_)) {}
  Handle(Handle&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Handle& operator=(Handle o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Handle() { Release(handle_); }
  /** The handle, borrowed; NULL when empty. */
  T* get() const noexcept { return handle_; }
  /** Whether there is an object. */
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 protected:
  explicit Handle(T* owned) : handle_(owned) {}
  /** Lets go of the handle without releasing it. */
  T* forget() noexcept { return std::exchange(handle_, nullptr); }

 private:
  T* handle_ = nullptr;
};
}  // namespace detail

/** A device; the CPU by default. */
class Device {
 public:
  constexpr Device(trt_device_type type = TRT_CPU, std::int32_t index = 0) : device_{type, index} {}
  constexpr explicit Device(trt_device d) : device_(d) {}
  constexpr trt_device c() const { return device_; }
  constexpr trt_device_type type() const { return static_cast<trt_device_type>(device_.type); }
  constexpr std::int32_t index() const { return device_.index; }
  constexpr bool is_cpu() const { return device_.type == TRT_CPU; }
  constexpr bool is_meta() const { return device_.type == TRT_META; }
  friend constexpr bool operator==(const Device& a, const Device& b) {
    return a.device_.type == b.device_.type && a.device_.index == b.device_.index;
  }
  friend constexpr bool operator!=(const Device& a, const Device& b) { return !(a == b); }

 private:
  trt_device device_;
};
inline constexpr Device kCPU{TRT_CPU}, kMeta{TRT_META};

/** A number whose kind (bool, integer, floating, complex) takes part in type promotion. Becomes a double where one is needed;
 * to<T>() is exact. */
class Scalar {
 public:
  // Templates, because a pointer would convert to bool.
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Scalar(T v) : scalar_(trt_scalar_bool(v)) {}
  template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Scalar(T v) : scalar_(trt_scalar_int(static_cast<std::int64_t>(v))) {
    detail::check_range(v);
  }
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Scalar(T v) : scalar_(trt_scalar_double(static_cast<double>(v))) {}
  template <typename T>
  Scalar(std::complex<T> v) : scalar_(trt_scalar_complex(static_cast<double>(v.real()), static_cast<double>(v.imag()))) {}
  explicit Scalar(trt_scalar s) : scalar_(s) {}
  trt_scalar c() const { return scalar_; }
  bool is_bool() const { return scalar_.kind == TRT_SCALAR_BOOL; }
  bool is_integral() const { return scalar_.kind == TRT_SCALAR_INT; }
  bool is_floating_point() const { return scalar_.kind == TRT_SCALAR_DOUBLE; }
  bool is_complex() const { return scalar_.kind == TRT_SCALAR_COMPLEX; }
  std::complex<double> to_complex() const {
    return is_complex() ? std::complex<double>(scalar_.value.c[0], scalar_.value.c[1]) : std::complex<double>(to<double>());
  }
  /** The value as T: fractions are cut off for integers; an integer that T cannot hold, and an imaginary part, is
   * TRT_OUT_OF_RANGE. */
  template <typename T>
  T to() const {
    static_assert(std::is_arithmetic_v<T>, "a Scalar is a number; to_complex() gives a complex one");
    if (is_complex()) {
      if (scalar_.value.c[1] != 0) out_of_range("with imaginary part " + std::to_string(scalar_.value.c[1]));
      return Scalar(scalar_.value.c[0]).to<T>();
    }
    if constexpr (std::is_same_v<T, bool>) {
      return is_floating_point() ? scalar_.value.d != 0 : scalar_.value.i != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      return is_floating_point() ? static_cast<T>(scalar_.value.d) : static_cast<T>(scalar_.value.i);
    } else {
      constexpr T low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
      if (is_floating_point()) {
        const double d = scalar_.value.d, least = static_cast<double>(low), most = static_cast<double>(high);
        if (!((d >= least || d > least - 1) && (d < most || d < most + 1))) out_of_range(std::to_string(d));
        return static_cast<T>(d);
      }
      const std::int64_t i = scalar_.value.i;
      if constexpr (std::is_signed_v<T>) {
        if (i < low || i > high) out_of_range(std::to_string(i));
      } else {
        if (i < 0 || static_cast<std::uint64_t>(i) > high) out_of_range(std::to_string(i));
      }
      return static_cast<T>(i);
    }
  }
  double to_double() const { return to<double>(); }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  std::int64_t toLong() const { return to<std::int64_t>(); }
  bool toBool() const { return to<bool>(); }
  std::int64_t to_int() const { return to<std::int64_t>(); }
  operator double() const { return to<double>(); }

 private:
  [[noreturn]] static void out_of_range(const std::string& value) {
    throw Error(TRT_OUT_OF_RANGE, "the number " + value + " does not fit into the type");
  }
  trt_scalar scalar_;
};
inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.is_complex()) return out << s.to_complex();
  return s.is_floating_point() ? out << s.to<double>()
         : s.is_bool()         ? out << (s.to<bool>() ? "true" : "false")
                               : out << s.to<std::int64_t>();
}

/**
 * A list of numbers as an argument: made of one number, {1, 2}, a vector, an array, or pointer and count, whose memory
 * it borrows. For parameters only; what is to be kept is a std::vector.
 */
template <typename T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  template <typename U,
            std::enable_if_t<detail::is_number<U> && (std::is_integral_v<U> || std::is_floating_point_v<T>), int> = 0>
  constexpr ArrayRef(U one) : one_(static_cast<T>(one)), size_(1) {}
  constexpr ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(std::initializer_list<T> list) : size_(list.size()) { data_ = list.begin(); }
  template <typename A>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {}
  template <std::size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <std::size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
  /** Never NULL: an empty list differs from none. */
  constexpr const T* data() const { return data_ ? data_ : &one_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data(); }
  constexpr const T* end() const { return data() + size_; }
  constexpr const T& operator[](std::size_t i) const { return data()[i]; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

 private:
  const T* data_ = nullptr;
  T one_{};
  std::size_t size_ = 0;
};
using IntArrayRef = ArrayRef<std::int64_t>;

/** Sizes or strides: a vector that can be printed, "[2, 3]". */
class Sizes : public std::vector<std::int64_t> {
 public:
  using vector::vector;
  Sizes(const std::vector<std::int64_t>& v) : vector(v) {}
  Sizes(std::vector<std::int64_t>&& v) : vector(std::move(v)) {}
};
inline std::ostream& operator<<(std::ostream& out, IntArrayRef list) {
  const char* before = "[";
  for (const std::int64_t v : list) {
    out << before << v;
    before = ", ";
  }
  return out << (list.empty() ? "[]" : "]");
}
inline std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << IntArrayRef(sizes.data(), sizes.size());
}

/** The same where the list may be left out: {} and std::nullopt are none, which is not the empty list. */
template <typename T>
class OptionalArrayRef {
 public:
  constexpr OptionalArrayRef() = default;
  constexpr OptionalArrayRef(std::nullopt_t) {}
  constexpr OptionalArrayRef(std::initializer_list<T> list) : list_(list), has_value_(true) {}
  template <typename U, std::enable_if_t<std::is_convertible_v<const U&, ArrayRef<T>>, int> = 0>
  constexpr OptionalArrayRef(const U& list) : list_(list), has_value_(true) {}
  template <typename U, std::enable_if_t<std::is_convertible_v<const U&, ArrayRef<T>>, int> = 0>
  OptionalArrayRef(const std::optional<U>& list)
      : list_(list ? ArrayRef<T>(*list) : ArrayRef<T>()), has_value_(list.has_value()) {}
  constexpr bool has_value() const { return has_value_; }
  /** NULL when there is none. */
  constexpr const T* data() const { return has_value_ ? list_.data() : nullptr; }
  constexpr std::size_t size() const { return list_.size(); }
  constexpr const ArrayRef<T>& value() const { return list_; }

 private:
  ArrayRef<T> list_;
  bool has_value_ = false;
};
using OptionalIntArrayRef = OptionalArrayRef<std::int64_t>;

namespace detail {
/** A bool parameter that no number converts to: it keeps overloads apart. */
class StrictBool {
 public:
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  constexpr StrictBool(T v) : value_(v) {}
  constexpr operator bool() const { return value_; }

 private:
  bool value_;
};
/** A text parameter that no braced list converts to: it keeps overloads apart. */
class StrictString : public std::string {
 public:
  template <typename T, std::enable_if_t<std::is_convertible_v<const T&, std::string>, int> = 0>
  StrictString(const T& v) : std::string(v) {}
};
/** A number that may be left out, and that no bool converts to. */
class OptionalNumber : public std::optional<Scalar> {
 public:
  OptionalNumber(std::nullopt_t = std::nullopt) {}
  OptionalNumber(const Scalar& v) : optional(v) {}
  template <typename T, std::enable_if_t<is_number<T>, int> = 0>
  OptionalNumber(T v) : optional(Scalar(v)) {}
};
}  // namespace detail

/** A random stream. A default-constructed one, {} or std::nullopt stands for the default generator. Copying copies the
 * reference. */
class Generator : public detail::Handle<trt_generator, trt_generator_retain, trt_generator_release> {
 public:
  Generator() = default;
  Generator(std::nullopt_t) {}
  explicit Generator(std::uint64_t seed) : Handle(detail::create(trt_generator_create, seed)) {}
  /** Seed and position, to be set again later. */
  struct State {
    std::uint64_t seed, offset;
  };
  State state() const {
    State s{};
    check(trt_generator_get_state(get(), &s.seed, &s.offset));
    return s;
  }
  void set_state(const State& s) { check(trt_generator_set_state(get(), s.seed, s.offset)); }
  /** Starts the stream of a seed from the beginning. */
  void set_seed(std::uint64_t seed) { check(trt_generator_seed(get(), seed)); }
};
/** Seeds the default generator. */
inline void manual_seed(std::uint64_t seed) { check(trt_manual_seed(seed)); }

/** The library's version, "0.1.0". */
inline std::string version() { return trt_version_string(); }
/** Version, instruction set, BLAS core and threads, one line per fact. */
inline std::string build_info() { return detail::take_string(detail::create(trt_build_info)); }
/** Gives back cached memory; optional. */
inline void shutdown() { trt_shutdown(); }
/** Threads that one operator may use. */
inline int get_num_threads() { return trt_get_num_threads(); }
inline void set_num_threads(int n) { check(trt_set_num_threads(n)); }

/**
 * Asks a thread that computes to give up; base.h tells when it does. A default-constructed one is new. Copying copies the reference.
 *
 *     trt::CancelToken token;
 *     std::thread worker([token] {
 *       trt::CancelScope scope(token);
 *       train();                          // throws an Error with the code TRT_CANCELLED once it is cancelled
 *     });
 *     token.cancel();
 */
class CancelToken
    : public detail::Handle<trt_cancel_token, trt_cancel_token_retain, trt_cancel_token_release> {
 public:
  CancelToken() : Handle(detail::create(trt_cancel_token_create)) {}
  void cancel() const { trt_cancel_token_cancel(get()); }
  bool is_cancelled() const { return trt_cancel_token_is_cancelled(get()); }
};
/** A token is this thread's for the life of the object. */
class CancelScope {
 public:
  explicit CancelScope(const CancelToken& token)
      : token_(token), previous_(trt_cancel_token_set_current(token_.get())) {}
  ~CancelScope() { trt_cancel_token_set_current(previous_); }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  CancelToken token_;
  trt_cancel_token* previous_;
};

/** Receives log lines, from any thread but one at a time. What it throws is dropped. */
using LogFunction = std::function<void(trt_log_level level, const std::string& message)>;
/** Sends log lines to `fn`; an empty function ends that. */
inline void set_log_callback(LogFunction fn) {
  if (!fn) return check(trt_set_log_callback(nullptr, nullptr, nullptr));
  const auto call = [](int level, const char* message, void* user_data) {
    trt_status_release(
        detail::guarded([&] { (*static_cast<LogFunction*>(user_data))(static_cast<trt_log_level>(level), message); }));
  };
  check(trt_set_log_callback(call, new LogFunction(std::move(fn)), detail::destroy<LogFunction>));
}
/** Lines below this level are not made. */
inline void set_log_level(trt_log_level level) { check(trt_set_log_level(level)); }

/** The allocator. */
namespace memory {
/** The statistics of a device, in bytes. */
inline trt_memory_stats stats(Device device = {}) {
  auto s = detail::defaults(trt_memory_stats_init);
  check(trt_memory_get_stats(device.c(), &s));
  return s;
}
/** Sets the peaks to the current values. */
inline void reset_peak(Device device = {}) { check(trt_memory_reset_peak(device.c())); }
/** Gives cached, unused memory back to the system. */
inline void empty_cache(Device device = {}) { check(trt_memory_empty_cache(device.c())); }
/** Limits the memory reserved (0: no limit). */
inline void set_limit(std::int64_t bytes, Device device = {}) { check(trt_memory_set_limit(device.c(), bytes)); }
}  // namespace memory

}  // namespace trt

#endif
