// The modules of the library, each made by a function. Names, defaults, initial values and printed forms are PyTorch's.
//
// Parameters have the dtype of the options (Undefined: the thread's default dtype) and are drawn from `generator` (null: the
// default generator). Bad options throw kInvalidArgument.
#pragma once

#include <array>
#include <optional>

#include "nn/module.h"

namespace trt::nn {

struct ParameterOptions {
  DType dtype = DType::Undefined;
  GeneratorImpl* generator = nullptr;
};

// Children are named "0", "1", ... and run in order; with none, forward gives its input.
ModulePtr sequential(std::vector<ModulePtr> modules);

// x [..., in] -> [..., out]
ModulePtr linear(int64_t in_features, int64_t out_features, bool bias, const ParameterOptions& options, const char* type_name = "Linear");
// x1 [..., in1], x2 [..., in2] -> [..., out]
ModulePtr bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, bool bias, const ParameterOptions& options);
// One slope for all channels, or one for each.
ModulePtr prelu(int64_t num_parameters, double init, DType dtype);

struct ConvOptions : ParameterOptions {
  std::array<int64_t, 3> stride = {1, 1, 1};
  std::array<int64_t, 3> padding = {0, 0, 0};
  std::array<int64_t, 3> output_padding = {0, 0, 0};  // transposed ones only
  std::array<int64_t, 3> dilation = {1, 1, 1};
  int64_t groups = 1;
  const char* padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  bool bias = true;
  bool padding_same = false;  // padding such that the output is as large as the input; stride 1 only
};
// dims 1: x [n, in, l] or [in, l]; dims 2: x [n, in, h, w] or [in, h, w]; dims 3: x [n, in, d, h, w] or [in, d, h, w]. The first `dims` elements count.
ModulePtr conv(bool transposed, size_t dims, int64_t in_channels, int64_t out_channels, std::array<int64_t, 3> kernel_size, const ConvOptions& options);

struct NormOptions : ParameterOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // none: a cumulative average
  bool affine = true;
  bool bias = true;  // with affine
  bool track_running_stats = true;
};
// dims 1: x [n, c] or [n, c, l]; dims 2: x [n, c, h, w]; dims 3: x [n, c, d, h, w]. float16 and bfloat16 have their statistics in the same dtype.
ModulePtr batch_norm(int dims, int64_t num_features, const NormOptions& options);
// dims 1: x [n, c, l] or [c, l], and so on.
ModulePtr instance_norm(int dims, int64_t num_features, const NormOptions& options);
ModulePtr layer_norm(IntArrayRef normalized_shape, const NormOptions& options);
// eps none: the epsilon of the input's dtype.
ModulePtr rms_norm(IntArrayRef normalized_shape, std::optional<double> eps, bool affine, DType dtype);
ModulePtr group_norm(int64_t num_groups, int64_t num_channels, const NormOptions& options);

// Integer indices of any shape -> [..., embedding_dim]. The row padding_idx is zero at first and gets no gradient; negative
// values count from the end.
ModulePtr embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx, const ParameterOptions& options);

struct EmbeddingBagOptions : ParameterOptions {
  std::optional<int64_t> padding_idx = {};
  int64_t mode = 1;  // 0 sum, 1 mean, 2 maximum
  bool scale_grad_by_freq = false;
  bool include_last_offset = false;
};
// Inputs: indices [bags, n], or [n] with offsets [bags]; weights of the indices' shape.
ModulePtr embedding_bag(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingBagOptions& options);

ModulePtr identity();
ModulePtr dropout(double p);
// Keep mean 0 and variance 1, for networks with SELU: of elements, or of whole channels of x [n, c, ...].
ModulePtr alpha_dropout(double p);
ModulePtr feature_alpha_dropout(double p);
// Zeroes whole channels of x [n, c, ...] with `dims` dimensions behind, or of one sample [c, ...].
ModulePtr feature_dropout(size_t dims, double p);
ModulePtr local_response_norm(int64_t size, double alpha, double beta, double k);
// Two numbers per dimension, from the last one on. Mode: "constant", "zeros", "reflect", "replicate", "circular".
ModulePtr pad(IntArrayRef padding, std::string_view mode, double value);
// One number for all dimensions behind the second one, or one for each; one of both lists.
ModulePtr upsample(std::optional<IntArrayRef> size, std::optional<ArrayRef<double>> scale_factor, const std::string& mode, std::optional<bool> align_corners,
                   std::optional<bool> recompute_scale_factor, const char* type_name = "Upsample");
struct WindowOptions {
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> stride = {1, 1};
};
ModulePtr unfold(std::array<int64_t, 2> kernel_size, const WindowOptions& options);
ModulePtr fold(std::array<int64_t, 2> output_size, std::array<int64_t, 2> kernel_size, const WindowOptions& options);
ModulePtr flatten(int64_t start_dim, int64_t end_dim);
ModulePtr unflatten(int64_t dim, IntArrayRef sizes);

ModulePtr relu();
ModulePtr relu6();
ModulePtr leaky_relu(double negative_slope);
ModulePtr rrelu(double lower, double upper);
ModulePtr elu(double alpha);
ModulePtr gelu(bool tanh);
ModulePtr silu();
ModulePtr mish();
ModulePtr sigmoid();
ModulePtr tanh();
ModulePtr softplus(double beta, double threshold);
ModulePtr hardswish();
ModulePtr softmax(int64_t dim);
ModulePtr softmax2d();
ModulePtr log_softmax(int64_t dim);

ModulePtr selu();
ModulePtr celu(double alpha);
ModulePtr hardtanh(double min_val, double max_val);
ModulePtr hardsigmoid();
ModulePtr log_sigmoid();
ModulePtr softsign();
ModulePtr tanhshrink();
ModulePtr softshrink(double lambd);
ModulePtr hardshrink(double lambd);
ModulePtr threshold(double threshold, double value);
ModulePtr glu(int64_t dim);
ModulePtr softmin(int64_t dim);
ModulePtr pixel_shuffle(int64_t upscale_factor);
ModulePtr pixel_unshuffle(int64_t downscale_factor);
ModulePtr channel_shuffle(int64_t groups);

struct PoolOptions {
  std::array<int64_t, 3> stride = {0, 0, 0};  // 0: the kernel's size
  std::array<int64_t, 3> padding = {0, 0, 0};
  std::array<int64_t, 3> dilation = {1, 1, 1};  // max pooling only
  bool ceil_mode = false;
  bool count_include_pad = true;                  // average pooling only
  std::optional<int64_t> divisor_override = {};  // average pooling only
};
// One to three dimensions: x [n, c, ...] or [c, ...].
ModulePtr max_pool(IntArrayRef kernel_size, const PoolOptions& options);
ModulePtr avg_pool(IntArrayRef kernel_size, const PoolOptions& options);
// Stride, and for the inverse of max_pool the padding, are what counts of the options; for the power average the stride and ceil_mode.
ModulePtr lp_pool(double norm_type, IntArrayRef kernel_size, const PoolOptions& options);
// Inputs: x and the indices of the maxima.
ModulePtr max_unpool(IntArrayRef kernel_size, const PoolOptions& options);
// Of two or three dimensions; one of size and ratio is given, with one number or one for each dimension.
ModulePtr fractional_max_pool(IntArrayRef kernel_size, std::optional<IntArrayRef> output_size, std::optional<ArrayRef<double>> output_ratio);
ModulePtr adaptive_avg_pool(IntArrayRef output_size);
ModulePtr adaptive_max_pool(IntArrayRef output_size);

// Of two inputs.
ModulePtr cosine_similarity(int64_t dim, double eps);
ModulePtr pairwise_distance(double p, double eps, bool keepdim);

}  // namespace trt::nn
