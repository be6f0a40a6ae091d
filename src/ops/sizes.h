// Arithmetic on the sizes of tensors, for operators written by hand.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/tensor.h"

namespace trt {

// The sizes `lead` followed by `rest`.
inline DimVector joined(IntArrayRef lead, std::initializer_list<int64_t> rest) {
  DimVector out(lead.data(), lead.size());
  for (int64_t s : rest) out.push_back(s);
  return out;
}
inline int64_t count_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

}  // namespace trt
