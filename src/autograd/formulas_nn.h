// Gradient helpers of the neural-network operators.
#pragma once

#include <array>
#include <tuple>

#include "core/tensor.h"

namespace trt::formulas {

// Gradients of conv2d with respect to input, weight and bias.
std::tuple<Tensor, Tensor, Tensor> conv2d_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                                   int64_t groups, const std::array<bool, 3>& mask);
Tensor conv2d_weight_gradient(const Tensor& grad, const Tensor& input, IntArrayRef weight_size, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation, int64_t groups);

// The elements of `planes` [..., h, w] at the flat positions that a max pooling noted (indices [..., oh, ow]).
Tensor gather_planes(const Tensor& planes, const Tensor& indices);
// adaptive_avg_pool2d to the last two of `sizes`.
Tensor adaptive_avg_pool2d_of(const Tensor& input, IntArrayRef sizes);

// The same of volumes [..., d, h, w].
Tensor gather_volumes(const Tensor& volumes, const Tensor& indices);
Tensor adaptive_avg_pool3d_of(const Tensor& input, IntArrayRef sizes);
// col2im to images of the last two of `sizes`.
Tensor col2im_like(const Tensor& columns, IntArrayRef sizes, IntArrayRef kernel_size, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride);

// resample to the size that `sizes` has in dimension `dim`.
Tensor resample_of(const Tensor& input, IntArrayRef sizes, int64_t dim, int64_t kind, bool align_corners, double scale);
int64_t size_at(IntArrayRef sizes, int64_t dim);

// Derivatives of the backward formulas of softmax and log_softmax with respect to the forward output. `v` is the
// gradient of the backward's result, `g` the gradient that it took.
Tensor softmax_double_backward(const Tensor& v, const Tensor& g, const Tensor& output, int64_t dim);
// The derivative of the backward of log_softmax with respect to its gradient argument.
Tensor log_softmax_adjoint(const Tensor& v, const Tensor& output, int64_t dim);
Tensor log_softmax_double_backward(const Tensor& v, const Tensor& g, const Tensor& output, int64_t dim);

// What dropout scales the elements that it keeps by.
double dropout_scale(double p, bool train);

// Gradients of native_layer_norm and batch_norm_stats (normalization over the batch) with respect to input, weight and
// bias.
std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& grad, const Tensor& input,
                                                       IntArrayRef normalized_shape, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& rstd, double eps,
                                                       const std::array<bool, 3>& mask);
std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& invstd, bool training,
                                                       double eps, const std::array<bool, 3>& mask);
// Derivatives of those two backward operators with respect to grad_output, input and weight; v, vw and vb are the
// gradients of their three results, of which those without their for_ flag do not count.
std::tuple<Tensor, Tensor, Tensor> layer_norm_double_backward(const Tensor& v, const Tensor& vw, const Tensor& vb,
                                                              const Tensor& grad_output, const Tensor& input,
                                                              IntArrayRef normalized_shape, const Tensor& weight,
                                                              double eps, bool for_input, bool for_weight,
                                                              bool for_bias, const std::array<bool, 3>& mask);
std::tuple<Tensor, Tensor, Tensor> batch_norm_double_backward(const Tensor& v, const Tensor& vw, const Tensor& vb,
                                                              const Tensor& grad_output, const Tensor& input,
                                                              const Tensor& weight, const Tensor& mean,
                                                              const Tensor& invstd, bool training, double eps,
                                                              bool for_input, bool for_weight, bool for_bias,
                                                              const std::array<bool, 3>& mask);

Tensor nll_loss_value(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index);
// Derivatives of cross_entropy_backward with respect to grad_output and input.
std::tuple<Tensor, Tensor> cross_entropy_double_backward(const Tensor& v, const Tensor& grad_output,
                                                         const Tensor& input, const Tensor& target,
                                                         const Tensor& weight, const Tensor& total_weight,
                                                         int64_t reduction, int64_t ignore_index,
                                                         const std::array<bool, 2>& mask);

// The derivative of embedding_backward with respect to its gradient argument.
Tensor embedding_double_backward(const Tensor& v, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq);

}  // namespace trt::formulas
