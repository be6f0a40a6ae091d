// Gradient helpers of attention and recurrent layers.
#pragma once

#include <array>
#include <tuple>

#include "core/tensor.h"

namespace trt::formulas {

// Gradients of attention_forward with respect to query, key, value and the mask.
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_gradients(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                                                               const Tensor& attn_mask, const Tensor& output, const Tensor& logsumexp, double dropout_p,
                                                               bool is_causal, double scale, int64_t seed, int64_t offset,
                                                               const std::array<bool, 4>& mask);
// Derivatives of attention_backward with respect to grad_output, query, key, value and the mask; vq, vk, vv and vm are the gradients of its results, of
// which those without their for_ flag do not count. Made of operators on whole matrices of scores.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> attention_second_gradients(const Tensor& vq, const Tensor& vk, const Tensor& vv, const Tensor& vm,
                                                                              const Tensor& grad_output, const Tensor& query, const Tensor& key,
                                                                              const Tensor& value, const Tensor& attn_mask, double dropout_p,
                                                                              bool is_causal, double scale, int64_t seed, int64_t offset, bool for_query,
                                                                              bool for_key, bool for_value, bool for_mask,
                                                                              const std::array<bool, 5>& mask);

}  // namespace trt::formulas
