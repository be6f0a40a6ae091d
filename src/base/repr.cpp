#include "base/repr.h"

#include <algorithm>
#include <cmath>

namespace trt {

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double magnitude = std::fabs(value);
  // Python switches to an exponent below 1e-4 and from 1e16 on.
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[64];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, value, fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string s(buffer, r.ptr);
  if (fixed && s.find('.') == std::string::npos) s += ".0";
  return s;
}

std::string python_tuple(IntArrayRef values) {
  std::string s = "(";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) s += ", ";
    append(s, values[i]);
  }
  if (values.size() == 1) s += ',';
  return s + ')';
}

std::string number_or_tuple(IntArrayRef values) {
  const bool same = !values.empty() && std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
  return same ? str_cat(values[0]) : python_tuple(values);
}

}  // namespace trt
