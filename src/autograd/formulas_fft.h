// Gradient helpers of Fourier transforms.
#pragma once

#include "core/tensor.h"

namespace trt::formulas {

// The adjoints of the transforms: the sum with the other sign, of the same normalization.
Tensor fft_complex_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, bool forward);
// `grad` may lack the second half along the last of the dimensions.
Tensor fft_from_real_backward(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef dim, int64_t normalization, bool forward);
Tensor fft_to_real_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, int64_t last_size, bool forward);

}  // namespace trt::formulas
