// Element types. The numbers are pinned: they are those of trt_dtype in the C header and of PyTorch's ScalarType, and
// room is left for complex32 and the quantized ones.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "core/bool.h"
#include "core/half.h"

namespace trt {

enum class DType : uint8_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  // 8: complex32 (reserved)
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  // 12..14: quantized types of PyTorch, not used
  BFloat16 = 15,
  Undefined = 255,
};

constexpr int kNumDTypes = 16;

constexpr size_t element_size(DType t) {
  switch (t) {
    case DType::UInt8:
    case DType::Int8:
    case DType::Bool: return 1;
    case DType::Int16:
    case DType::Float16:
    case DType::BFloat16: return 2;
    case DType::Int32:
    case DType::Float32: return 4;
    case DType::Int64:
    case DType::Float64:
    case DType::Complex64: return 8;
    case DType::Complex128: return 16;
    default: return 0;
  }
}

constexpr bool is_floating(DType t) {
  return t == DType::Float32 || t == DType::Float64 || t == DType::Float16 || t == DType::BFloat16;
}
constexpr bool is_complex(DType t) { return t == DType::Complex64 || t == DType::Complex128; }
// What gradients exist for.
constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }
constexpr bool is_integral(DType t, bool include_bool) {
  return t == DType::UInt8 || t == DType::Int8 || t == DType::Int16 || t == DType::Int32 || t == DType::Int64 ||
         (include_bool && t == DType::Bool);
}
constexpr bool is_reduced_floating(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
// The dtype of the real and imaginary parts, t itself where it is not complex.
constexpr DType real_dtype(DType t) { return t == DType::Complex64 ? DType::Float32 : t == DType::Complex128 ? DType::Float64 : t; }
// The complex dtype with parts of t; the 16-bit floats, integers and bool give complex64.
constexpr DType complex_dtype(DType t) { return t == DType::Float64 || t == DType::Complex128 ? DType::Complex128 : DType::Complex64; }
template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <typename T>
constexpr bool is_complex_type = IsComplex<T>::value;

// The name as PyTorch prints it, without "torch.": "float32", "bool". "undefined" for Undefined.
const char* dtype_name(DType t);
// From such a name; Undefined when it is none.
DType dtype_from_name(const char* name);
// True when `value` is one of the enumerators that an array can have.
bool is_valid_dtype(int value);
inline void append(std::string& s, DType t) { s.append(dtype_name(t)); }

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Bool>) return DType::Bool;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::UInt8;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::Int8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::Int16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::Int64;
  else if constexpr (std::is_same_v<T, Half>) return DType::Float16;
  else if constexpr (std::is_same_v<T, BFloat16>) return DType::BFloat16;
  else if constexpr (std::is_same_v<T, float>) return DType::Float32;
  else if constexpr (std::is_same_v<T, double>) return DType::Float64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return DType::Complex64;
  else if constexpr (std::is_same_v<T, std::complex<double>>) return DType::Complex128;
  else static_assert(sizeof(T) == 0, "no dtype for this type");
}

// Calls f.template operator()<T>() with the C++ type of `t`, which is Bool for bool: dispatch_dtype(t, "op", [&]<typename T>() { ... }).
// Complex dtypes are not among them: dispatch_all takes those too.
template <typename F>
decltype(auto) dispatch_dtype(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int8: return f.template operator()<int8_t>();
    case DType::Int16: return f.template operator()<int16_t>();
    case DType::Int32: return f.template operator()<int32_t>();
    case DType::Int64: return f.template operator()<int64_t>();
    case DType::Float16: return f.template operator()<Half>();
    case DType::BFloat16: return f.template operator()<BFloat16>();
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    case DType::Bool: return f.template operator()<Bool>();
    default: throw_error(Code::kNotSupported, str_cat(op, ": not supported for dtype ", t));
  }
}

template <typename F>
decltype(auto) dispatch_all(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Complex64: return f.template operator()<std::complex<float>>();
    case DType::Complex128: return f.template operator()<std::complex<double>>();
    default: return dispatch_dtype(t, op, std::forward<F>(f));
  }
}

// The same for complex64 and complex128 only.
template <typename F>
decltype(auto) dispatch_complex(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Complex64: return f.template operator()<std::complex<float>>();
    case DType::Complex128: return f.template operator()<std::complex<double>>();
    default: throw_error(Code::kNotSupported, str_cat(op, ": not supported for dtype ", t));
  }
}

// The same for float32 and float64 only.
template <typename F>
decltype(auto) dispatch_float(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    default: throw_error(Code::kNotSupported, str_cat(op, ": not supported for dtype ", t));
  }
}

// The same for the four floating-point types.
template <typename F>
decltype(auto) dispatch_floating(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Float16: return f.template operator()<Half>();
    case DType::BFloat16: return f.template operator()<BFloat16>();
    default: return dispatch_float(t, op, std::forward<F>(f));
  }
}

// The type in which a kernel accumulates and computes: float for the 16-bit types, bool for Bool, T itself otherwise.
template <typename T>
using opmath_t =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, std::conditional_t<std::is_same_v<T, Bool>, bool, T>>;

}  // namespace trt
