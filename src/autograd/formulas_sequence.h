// Gradient helpers of attention, recurrent layers and bags of embeddings.
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

// Gradients of recurrent_layer with respect to gates, hidden, cell, weight, bias and projection. Where they are to be differentiated again they are made
// of operators, step by step.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> recurrent_gradients(const Tensor& grad_output, const Tensor& grad_cells, const Tensor& gates,
                                                                               const Tensor& hidden, const Tensor& cell, const Tensor& weight,
                                                                               const Tensor& bias, const Tensor& projection, const Tensor& output,
                                                                               const Tensor& cells, const Tensor& kept, int64_t kind, bool reverse,
                                                                               const std::array<bool, 6>& mask);

// Gradients of embedding_bag_forward with respect to weight and per_sample_weights.
std::tuple<Tensor, Tensor> embedding_bag_gradients(const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& bags, const Tensor& sizes,
                                                   const Tensor& per_sample_weights, const Tensor& max_indices, int64_t mode, int64_t padding_idx,
                                                   bool scale_grad_by_freq, const std::array<bool, 2>& mask);

}  // namespace trt::formulas
