#include "kernels/cpu/convert_complex.h"

#include <array>

#include "core/scalar.h"

namespace trt::cpu {

namespace {

template <typename From, typename To>
To convert_one(From v) {
  if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>) return To(v);
    else if constexpr (std::is_same_v<To, Bool>) return v != From(0);
    else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) return To(static_cast<float>(v.real()));
    else if constexpr (std::is_integral_v<To>) return Scalar(static_cast<double>(v.real())).to<To>();
    else return static_cast<To>(v.real());
  } else {
    using Part = typename To::value_type;
    if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) return To(static_cast<Part>(static_cast<float>(v)));
    else return To(static_cast<Part>(static_cast<opmath_t<From>>(v)));
  }
}

template <typename From, typename To>
void convert_all(const void* src, void* dst, int64_t n) {
  const auto* s = static_cast<const From*>(src);
  auto* d = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; ++i) d[i] = convert_one<From, To>(s[i]);
}

template <typename C, typename... T>
constexpr void add_pairs(std::array<std::array<ConvertFn, kNumDTypes>, kNumDTypes>& table) {
  ((table[static_cast<size_t>(dtype_of<T>())][static_cast<size_t>(dtype_of<C>())] = convert_all<T, C>,
    table[static_cast<size_t>(dtype_of<C>())][static_cast<size_t>(dtype_of<T>())] = convert_all<C, T>),
   ...);
}

constexpr auto make_pairs() {
  std::array<std::array<ConvertFn, kNumDTypes>, kNumDTypes> table{};
  add_pairs<std::complex<float>, Bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double, std::complex<float>, std::complex<double>>(table);
  add_pairs<std::complex<double>, Bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double, std::complex<double>>(table);
  return table;
}
constexpr auto kPairs = make_pairs();

}  // namespace

ConvertFn complex_converter(DType from, DType to) {
  TRT_INTERNAL(static_cast<int>(from) < kNumDTypes && static_cast<int>(to) < kNumDTypes, "dtypes");
  const ConvertFn f = kPairs[static_cast<size_t>(from)][static_cast<size_t>(to)];
  TRT_INTERNAL(f != nullptr, from, " to ", to);
  return f;
}

}  // namespace trt::cpu
