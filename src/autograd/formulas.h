// Helpers that gradient formulas call besides operators. Each is made of differentiable operators, so that a formula can be
// differentiated again.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include "autograd/formulas_decompose.h"
#include "autograd/formulas_fft.h"
#include "autograd/formulas_indexing.h"
#include "autograd/formulas_linalg.h"
#include "autograd/formulas_nn.h"
#include "autograd/formulas_reduction.h"
#include "autograd/formulas_sequence.h"
#include "ops/formula_util.h"

namespace trt::formulas {

Tensor as_strided_backward(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides, int64_t input_offset, IntArrayRef sizes,
                           IntArrayRef strides, std::optional<int64_t> offset);
Tensor slice_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
Tensor select_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t dim, int64_t index);
Tensor diagonal_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t offset, int64_t dim1, int64_t dim2);
Tensor unfold_backward(const Tensor& grad, IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step);
DimVector inverse_permutation(IntArrayRef dims);
// For operators whose derivative exists but is not there (`grad: missing`): throws kNotSupported.
// Functions that are not holomorphic; `self` may be real or complex.
Tensor abs_backward(const Tensor& grad, const Tensor& self);
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor no_derivative(const Tensor& grad, std::string_view op);

}  // namespace trt::formulas
