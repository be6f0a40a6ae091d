// A number without a tensor: bool, int64, double or a complex number of two doubles. The category decides how it takes
// part in type promotion (Note [Type promotion] in iter/promotion.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "core/dtype.h"

namespace trt {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool = 0, Int = 1, Double = 2, Complex = 3 };

  constexpr Scalar() : kind_(Kind::Int), i_(0) {}
  constexpr Scalar(bool v) : kind_(Kind::Bool), i_(v) {}
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  constexpr Scalar(T v) : kind_(Kind::Int), i_(static_cast<int64_t>(v)) {}
  constexpr Scalar(double v) : kind_(Kind::Double), d_(v) {}
  constexpr Scalar(float v) : kind_(Kind::Double), d_(v) {}
  constexpr Scalar(std::complex<double> v) : kind_(Kind::Complex), d_(v.real()), imag_(v.imag()) {}
  constexpr Scalar(std::complex<float> v) : Scalar(std::complex<double>(v)) {}
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}

  constexpr Kind kind() const { return kind_; }
  constexpr bool is_double() const { return kind_ == Kind::Double; }
  constexpr bool is_int() const { return kind_ == Kind::Int; }
  constexpr bool is_bool() const { return kind_ == Kind::Bool; }
  constexpr bool is_complex() const { return kind_ == Kind::Complex; }

  // The real part of a complex number.
  double to_double() const { return kind_ >= Kind::Double ? d_ : static_cast<double>(i_); }
  double imag() const { return imag_; }
  std::complex<double> to_complex() const { return {to_double(), imag_}; }
  // Truncates; out of range and NaN give the smallest int64, as the hardware does.
  int64_t to_int() const {
    if (kind_ < Kind::Double) return i_;
    if (!(d_ >= -9223372036854775808.0 && d_ < 9223372036854775808.0)) return std::numeric_limits<int64_t>::min();
    return static_cast<int64_t>(d_);
  }
  bool to_bool() const { return kind_ >= Kind::Double ? d_ != 0 || imag_ != 0 : i_ != 0; }

  template <typename T>
  T to() const {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Bool>) return to_bool();
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(to_int());
    else if constexpr (is_complex_type<T>) return T(to_complex());
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(static_cast<float>(to_double()));
    else return static_cast<T>(to_double());
  }
  // Whether the number, cut to an integer where T is one, lies in T's range: the infinities and NaN are in that of a float. As in PyTorch an unsigned
  // T takes negative numbers too, modulo 2^n. A complex number fits a T that is none when its imaginary part is 0.
  template <typename T>
  bool fits() const {
    if constexpr (is_complex_type<T>) {
      return Scalar(to_double()).fits<typename T::value_type>() && Scalar(imag_).fits<typename T::value_type>();
    } else if (imag_ != 0) {
      return false;
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Bool> || std::is_same_v<T, double>) {
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      if (sizeof(T) == 8) return kind_ < Kind::Double || (d_ >= -9223372036854775808.0 && d_ < 9223372036854775808.0);
      const int64_t high = static_cast<int64_t>(Limits::max()), low = Limits::is_signed ? static_cast<int64_t>(Limits::min()) : -high;
      if (kind_ >= Kind::Double) return d_ >= static_cast<double>(low) && d_ <= static_cast<double>(high);
      return i_ >= low && i_ <= high;
    } else {
      const double most = std::is_same_v<T, Half> ? 65504.0 : std::is_same_v<T, BFloat16> ? 0x1.FEp127 : double{std::numeric_limits<float>::max()};
      const double v = to_double();
      return !(std::abs(v) > most) || std::isinf(v);
    }
  }
  bool equals(double v) const { return to_double() == v && imag_ == 0; }
  Scalar operator-() const { return is_complex() ? Scalar(-to_complex()) : kind_ == Kind::Double ? Scalar(-d_) : Scalar(static_cast<int64_t>(0 - static_cast<uint64_t>(i_))); }

  // The dtype that a 0-d tensor made of it has, with the default dtype standing for "a floating-point number".
  DType natural_dtype(DType default_dtype) const {
    return kind_ == Kind::Complex ? complex_dtype(default_dtype) : kind_ == Kind::Double ? default_dtype : kind_ == Kind::Int ? DType::Int64 : DType::Bool;
  }

 private:
  Kind kind_;
  union {
    int64_t i_;
    double d_;
  };
  double imag_ = 0;
};

inline void append(std::string& s, const Scalar& v) {
  if (v.is_complex()) {
    s += '(';
    append(s, v.to_double());
    if (!std::signbit(v.imag())) s += '+';
    append(s, v.imag());
    s += "j)";
  } else if (v.is_double()) append(s, v.to_double());
  else if (v.is_bool()) append(s, v.to_bool());
  else append(s, v.to_int());
}

}  // namespace trt
