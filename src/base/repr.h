// Text for the printed form of modules and schedulers, as Python would write it.
#pragma once

#include <string>

#include "base/array_ref.h"

namespace trt {

// The shortest decimal that reads back the same, in Python's form: "0.1", "1.0", "1e-05", "inf".
std::string python_float(double value);
inline const char* python_bool(bool value) { return value ? "True" : "False"; }
// "(3, 3)", "(3,)".
std::string python_tuple(IntArrayRef values);
// "2" when all values are equal, else "(2, 3)".
std::string number_or_tuple(IntArrayRef values);

}  // namespace trt
