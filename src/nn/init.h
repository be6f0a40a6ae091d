// Initializers: they fill a floating-point tensor in place, without recording. Random numbers come from `generator`, or from
// the default generator when it is null.
//
// Fans: for a weight [out, in, k...], fan_in = in * k..., fan_out = out * k...; fewer than two dimensions are an error.
#pragma once

#include <string_view>

#include "core/generator.h"
#include "core/tensor.h"

namespace trt::nn::init {

enum class FanMode { FanIn = 0, FanOut = 1 };

void uniform_(Tensor t, double low, double high, GeneratorImpl* generator = nullptr);
void normal_(Tensor t, double mean, double std, GeneratorImpl* generator = nullptr);
// Normal, limited to [low, high] (by the inverse distribution function, so that no value is drawn twice).
void trunc_normal_(Tensor t, double mean, double std, double low, double high, GeneratorImpl* generator = nullptr);
void constant_(Tensor t, double value);
// Two dimensions.
void eye_(Tensor t);
void xavier_uniform_(Tensor t, double gain, GeneratorImpl* generator = nullptr);
void xavier_normal_(Tensor t, double gain, GeneratorImpl* generator = nullptr);
// `a` is the negative slope of leaky_relu, and used with it only.
void kaiming_uniform_(Tensor t, double a, FanMode mode, std::string_view nonlinearity, GeneratorImpl* generator = nullptr);
void kaiming_normal_(Tensor t, double a, FanMode mode, std::string_view nonlinearity, GeneratorImpl* generator = nullptr);
// Rows (or columns, where there are more rows) orthonormal, times gain. At least two dimensions; the trailing ones are one.
void orthogonal_(Tensor t, double gain, GeneratorImpl* generator = nullptr);

// The recommended gain of "linear", "conv1d".., "sigmoid", "tanh", "relu", "leaky_relu" (negative slope `param`), "selu".
double calculate_gain(std::string_view nonlinearity, double param);
struct Fans {
  double in, out;
};
Fans calculate_fans(const Tensor& t);

}  // namespace trt::nn::init
