// Helpers that composite bodies and gradient formulas in the YAML declarations may call besides operators.
#pragma once

#include <optional>

#include "core/modes.h"
#include "core/tensor.h"
#include "iter/tensor_iterator.h"

namespace trt::formulas {

template <typename T>
T pick(const std::optional<T>& given, T otherwise) {
  return given.value_or(otherwise);
}
inline DType formula_dtype(const std::optional<DType>& dtype) { return dtype.value_or(thread_state.default_dtype); }

using trt::in_order_of;

}  // namespace trt::formulas
