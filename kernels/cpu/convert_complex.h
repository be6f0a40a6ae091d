// Conversions from and to complex dtypes, of contiguous elements.
#pragma once

#include "kernels/cpu/convert.h"

namespace trt::cpu {

// The conversion between two different dtypes of which at least one is complex. To a complex dtype the imaginary part becomes 0; from
// one it is dropped, except that Bool is true where either part is not 0.
ConvertFn complex_converter(DType from, DType to);

}  // namespace trt::cpu
