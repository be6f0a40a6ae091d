// Gradients of indexing operators. All are made of differentiable operators.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/scalar.h"
#include "core/tensor.h"

namespace trt::formulas {

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor index_add_backward(const Tensor& grad, IntArrayRef source_sizes, int64_t dim, const Tensor& index,
                          const Scalar& alpha);
Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
// The gradient of what scatter wrote: gathered back; elements of `src` that the index does not reach get 0.
Tensor gather_slice_backward(const Tensor& grad, IntArrayRef src_sizes, int64_t dim, const Tensor& index);
std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                                   const Tensor& index, const Tensor& src, std::string_view reduce,
                                                   bool include_self, const Tensor& result);
Tensor take_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& index);
Tensor put_backward(const Tensor& grad, const Tensor& index, bool accumulate);
Tensor index_backward(const Tensor& grad, IntArrayRef sizes, TensorList indices);
Tensor index_put_backward(const Tensor& grad, TensorList indices, bool accumulate);
Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask);
Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, IntArrayRef source_sizes);
std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<DimVector>& sizes, int64_t dim);
Tensor roll_backward(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims);
Tensor constant_pad_backward(const Tensor& grad, IntArrayRef pad);

}  // namespace trt::formulas
