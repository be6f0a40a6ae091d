// Layer normalization over rows and batch normalization over channels, forward and backward; T is float or double,
// arrays contiguous. Statistics are centred per block and merged in double. Thread-safe, parallel, results independent
// of the number of threads. Pointers marked "or null" are optional: without gamma the scale is 1, without beta the
// shift is 0, and a gradient that is not asked for is not computed. y may be x and gx may be gy; no other overlap.
#pragma once

#include <cstdint>

namespace trt::cpu {

// x, y: [m, n]; gamma, beta: [n] or null; mean, rstd: [m] or null. y = (x - mean) * rstd * gamma + beta with
// rstd = 1 / sqrt(var + eps), var being the biased variance of the row.
template <typename T>
void layer_norm_forward(const T* x, const T* gamma, const T* beta, T* y, T* mean, T* rstd, int64_t m, int64_t n,
                        double eps);

// gy, x, gx: [m, n] (gx or null); mean, rstd: [m] from the forward pass; gamma: [n] or null; ggamma, gbeta: [n] or
// null.
template <typename T>
void layer_norm_backward(const T* gy, const T* x, const T* mean, const T* rstd, const T* gamma, T* gx, T* ggamma,
                         T* gbeta, int64_t m, int64_t n);

// x, y: [n, c, s]; all others [c]; gamma, beta, running_mean, running_var or null. Normalizes with the mean and biased
// variance of each channel over n and s, saves the mean and 1 / sqrt(var + eps), and moves the running statistics by
// `momentum` towards the mean and the unbiased variance. For n * s == 0 the saved values are 0 and the running ones
// stay.
template <typename T>
void batch_norm_forward_train(const T* x, const T* gamma, const T* beta, T* y, T* save_mean, T* save_invstd,
                              T* running_mean, T* running_var, double momentum, double eps, int64_t n, int64_t c,
                              int64_t s);

template <typename T>
void batch_norm_forward_eval(const T* x, const T* gamma, const T* beta, const T* running_mean, const T* running_var,
                             double eps, T* y, int64_t n, int64_t c, int64_t s);

// save_mean and save_invstd: from the forward pass (train), or the running mean and 1 / sqrt(running_var + eps) (eval,
// where they do not depend on x). gx, ggamma, gbeta, gamma or null.
template <typename T>
void batch_norm_backward(const T* gy, const T* x, const T* save_mean, const T* save_invstd, const T* gamma, T* gx,
                         T* ggamma, T* gbeta, bool train, int64_t n, int64_t c, int64_t s);

}  // namespace trt::cpu
