// Optimizer steps fused over lists of tensors: one pass over the memory of all parameters, gradients and states. The
// elements of all tensors count as one range that is cut among threads, so many small tensors cost no more than a large
// one. T is float or double. Tensors are contiguous, do not overlap, and belong to the caller, who must not touch them
// during the call. Coefficients are computed in double and rounded to T once. Results do not depend on the number of
// threads.
#pragma once

#include <cstdint>

namespace trt::cpu {

template <typename T>
struct SgdTensor {
  T* param;
  const T* grad;
  T* momentum;  // the buffer; may be null if the momentum is zero
  int64_t numel;
  bool first_step;  // the buffer has no value yet: it becomes the gradient, without dampening
};

struct SgdOptions {
  double lr;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};

// g = grad (negated to maximize) + weight_decay * param; with momentum: buffer = g on the first step, else
// momentum * buffer + (1 - dampening) * g, and g = buffer, or g + momentum * buffer (Nesterov); param -= lr * g.
template <typename T>
void sgd_step(const SgdTensor<T>* tensors, int64_t count, const SgdOptions& options);

template <typename T>
struct AdamTensor {
  T* param;
  const T* grad;
  T* exp_avg;
  T* exp_avg_sq;
  T* max_exp_avg_sq;  // only with amsgrad
  int64_t numel;
  int64_t step;  // of this tensor, this call included: 1 on the first
};

struct AdamOptions {
  double lr;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = true;  // AdamW: param *= 1 - lr * weight_decay; false, Adam: g += weight_decay * param
  bool amsgrad = false;
  bool maximize = false;
};

// m += (1 - beta1) * (g - m); v = beta2 * v + (1 - beta2) * g * g; with amsgrad v' = max = max(max, v), else v' = v;
// param -= lr / (1 - beta1^step) * m / (sqrt(v') / sqrt(1 - beta2^step) + eps).
template <typename T>
void adam_step(const AdamTensor<T>* tensors, int64_t count, const AdamOptions& options);

template <typename T>
struct Span {
  T* data;
  int64_t numel;
};

// The sum of the squares of all elements, in double. Chunks depend on the sizes only.
template <typename T>
double squared_norm(const Span<const T>* tensors, int64_t count);

// Every element times `factor`, in place.
template <typename T>
void scale_all(const Span<T>* tensors, int64_t count, double factor);

}  // namespace trt::cpu
