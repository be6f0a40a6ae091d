// Names of operators.
#pragma once

#include <string_view>

namespace trt {

// Whether some operator has this name, given with or without its overload: "add.Scalar", "add". Thread-safe.
bool is_operator_name(std::string_view name);

}  // namespace trt
