// trt::nn::functional in C++17, over the operators (which document shapes and formulas). Included by tensorrt.hpp.
//
// The functions have the names of PyTorch's torch::nn::functional. Each takes either its arguments in the order of the operator, or the options that
// PyTorch's has: namespace F = trt::nn::functional; F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2)).
#ifndef TENSORRT_FUNCTIONAL_HPP
#define TENSORRT_FUNCTIONAL_HPP

#include "tensorrt/layers.hpp"
#include "tensorrt/loss.hpp"

namespace trt {

inline constexpr const char *kConstant = "constant", *kReflect = "reflect", *kReplicate = "replicate", *kCircular = "circular";
inline constexpr const char *kSame = "same", *kValid = "valid";

namespace nn {
namespace functional {

// --- activations ---

using trt::celu;
using trt::elu;
using trt::gelu;
using trt::glu;
using trt::hardshrink;
using trt::hardsigmoid;
using trt::hardswish;
using trt::hardtanh;
using trt::leaky_relu;
using trt::log_softmax;
using trt::mish;
using trt::prelu;
using trt::relu;
using trt::relu6;
using trt::selu;
using trt::sigmoid;
using trt::silu;
using trt::softmax;
using trt::softmin;
using trt::softplus;
using trt::softshrink;
using trt::softsign;
using trt::tanh;
using trt::tanhshrink;
using trt::threshold;
inline Tensor logsigmoid(const Tensor& input) { return trt::log_sigmoid(input); }

/** Options of relu, relu6 and selu. */
class InplaceFuncOptions {
 public:
  InplaceFuncOptions(bool inplace = false) : inplace_(inplace) {}
  /** Whether the result is written into the input. */
  InplaceFuncOptions& inplace(bool v) {
    inplace_ = v;
    return *this;
  }
  bool inplace() const { return inplace_; }

 private:
  bool inplace_;
};
using ReLUFuncOptions = InplaceFuncOptions;
using ReLU6FuncOptions = InplaceFuncOptions;
using SELUFuncOptions = InplaceFuncOptions;
inline Tensor relu(const Tensor& input, const ReLUFuncOptions& o) { return o.inplace() ? input.relu_() : input.relu(); }
inline Tensor relu6(const Tensor& input, const ReLU6FuncOptions& o) {
  return o.inplace() ? input.relu6_() : input.relu6();
}
inline Tensor selu(const Tensor& input, const SELUFuncOptions& o) { return o.inplace() ? input.selu_() : input.selu(); }

class GELUFuncOptions {
 public:
  /** "none" or "tanh". */
  GELUFuncOptions& approximate(const std::string& v) {
    approximate_ = v;
    return *this;
  }
  const std::string& approximate() const { return approximate_; }

 private:
  std::string approximate_ = "none";
};
inline Tensor gelu(const Tensor& input, const GELUFuncOptions& o) { return trt::gelu(input, o.approximate()); }

class LeakyReLUFuncOptions {
 public:
  LeakyReLUFuncOptions& negative_slope(double v) {
    negative_slope_ = v;
    return *this;
  }
  double negative_slope() const { return negative_slope_; }

 private:
  double negative_slope_ = 0.01;
};
inline Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& o) {
  return trt::leaky_relu(input, o.negative_slope());
}

/** Options of elu and celu. */
class AlphaFuncOptions {
 public:
  AlphaFuncOptions& alpha(double v) {
    alpha_ = v;
    return *this;
  }
  double alpha() const { return alpha_; }

 private:
  double alpha_ = 1;
};
using ELUFuncOptions = AlphaFuncOptions;
using CELUFuncOptions = AlphaFuncOptions;
inline Tensor elu(const Tensor& input, const ELUFuncOptions& o) { return trt::elu(input, o.alpha()); }
inline Tensor celu(const Tensor& input, const CELUFuncOptions& o) { return trt::celu(input, o.alpha()); }

/** Options of softmax, log_softmax and softmin. */
class SoftmaxFuncOptions {
 public:
  SoftmaxFuncOptions(std::int64_t dim) : dim_(dim) {}
  SoftmaxFuncOptions& dtype(DType v) {
    dtype_ = v;
    return *this;
  }
  std::int64_t dim() const { return dim_; }
  std::optional<DType> dtype() const { return dtype_; }

 private:
  std::int64_t dim_;
  std::optional<DType> dtype_;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
inline Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& o) {
  return trt::softmax(input, o.dim(), o.dtype());
}
inline Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& o) {
  return trt::log_softmax(input, o.dim(), o.dtype());
}
inline Tensor softmin(const Tensor& input, const SoftminFuncOptions& o) {
  return trt::softmin(input, o.dim(), o.dtype());
}

// --- layers with weights ---

using trt::bilinear;
using trt::conv1d;
using trt::conv2d;
using trt::conv_transpose1d;
using trt::conv_transpose2d;
using trt::linear;
using trt::one_hot;

/** Options of conv1d and conv2d. One-dimensional ones use the first of two numbers. */
class ConvFuncOptions {
 public:
  ConvFuncOptions& bias(const Tensor& v) {
    bias_ = v;
    return *this;
  }
  ConvFuncOptions& stride(Pair v) {
    stride_ = v;
    return *this;
  }
  ConvFuncOptions& padding(Pair v) {
    padding_ = v;
    mode_.clear();
    return *this;
  }
  /** kSame or kValid. */
  ConvFuncOptions& padding(const char* v) {
    mode_ = v;
    return *this;
  }
  ConvFuncOptions& dilation(Pair v) {
    dilation_ = v;
    return *this;
  }
  ConvFuncOptions& groups(std::int64_t v) {
    groups_ = v;
    return *this;
  }
  Tensor conv1d(const Tensor& x, const Tensor& w) const {
    return mode_.empty() ? trt::conv1d(x, w, bias_, stride_.h(), padding_.h(), dilation_.h(), groups_)
                         : trt::conv1d(x, w, bias_, stride_.h(), mode_, dilation_.h(), groups_);
  }
  Tensor conv2d(const Tensor& x, const Tensor& w) const {
    const std::int64_t s[] = {stride_.h(), stride_.w()}, p[] = {padding_.h(), padding_.w()},
                       d[] = {dilation_.h(), dilation_.w()};
    return mode_.empty() ? trt::conv2d(x, w, bias_, s, p, d, groups_) : trt::conv2d(x, w, bias_, s, mode_, d, groups_);
  }

 private:
  Tensor bias_;
  Pair stride_{1}, padding_{0}, dilation_{1};
  std::string mode_;
  std::int64_t groups_ = 1;
};
using Conv1dFuncOptions = ConvFuncOptions;
using Conv2dFuncOptions = ConvFuncOptions;
inline Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& o) {
  return o.conv1d(input, weight);
}
inline Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& o) {
  return o.conv2d(input, weight);
}

class EmbeddingFuncOptions {
 public:
  /** A row that gets no gradient. */
  EmbeddingFuncOptions& padding_idx(std::int64_t v) {
    padding_idx_ = v;
    return *this;
  }
  EmbeddingFuncOptions& scale_grad_by_freq(bool v) {
    scale_grad_by_freq_ = v;
    return *this;
  }
  std::int64_t padding_idx() const { return padding_idx_; }
  bool scale_grad_by_freq() const { return scale_grad_by_freq_; }

 private:
  std::int64_t padding_idx_ = -1;
  bool scale_grad_by_freq_ = false;
};
/** The rows of `weight` that `input` names: indices first, other than in trt::embedding. */
inline Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& o = {}) {
  return trt::embedding(weight, input, o.padding_idx(), o.scale_grad_by_freq());
}

// --- normalizations ---

using trt::batch_norm;
using trt::group_norm;
using trt::instance_norm;
using trt::layer_norm;
using trt::local_response_norm;
using trt::normalize;

/** Weight, bias and eps; Self is the class of the options. */
template <typename Self>
class NormFuncOptions {
 public:
  Self& weight(const Tensor& v) {
    weight_ = v;
    return static_cast<Self&>(*this);
  }
  Self& bias(const Tensor& v) {
    bias_ = v;
    return static_cast<Self&>(*this);
  }
  Self& eps(double v) {
    eps_ = v;
    return static_cast<Self&>(*this);
  }
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }
  double eps() const { return eps_; }

 private:
  Tensor weight_, bias_;
  double eps_ = 1e-5;
};
class BatchNormFuncOptions : public NormFuncOptions<BatchNormFuncOptions> {
 public:
  BatchNormFuncOptions& training(bool v) {
    training_ = v;
    return *this;
  }
  BatchNormFuncOptions& momentum(double v) {
    momentum_ = v;
    return *this;
  }
  bool training() const { return training_; }
  double momentum() const { return momentum_; }

 private:
  bool training_ = false;
  double momentum_ = 0.1;
};
inline Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                         const BatchNormFuncOptions& o) {
  return trt::batch_norm(input, running_mean, running_var, o.weight(), o.bias(), o.training(), o.momentum(), o.eps());
}
class LayerNormFuncOptions : public NormFuncOptions<LayerNormFuncOptions> {
 public:
  LayerNormFuncOptions(std::vector<std::int64_t> normalized_shape) : shape_(std::move(normalized_shape)) {}
  const std::vector<std::int64_t>& normalized_shape() const { return shape_; }

 private:
  std::vector<std::int64_t> shape_;
};
inline Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& o) {
  return trt::layer_norm(input, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}
class GroupNormFuncOptions : public NormFuncOptions<GroupNormFuncOptions> {
 public:
  GroupNormFuncOptions(std::int64_t num_groups) : groups_(num_groups) {}
  std::int64_t num_groups() const { return groups_; }

 private:
  std::int64_t groups_;
};
inline Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& o) {
  return trt::group_norm(input, o.num_groups(), o.weight(), o.bias(), o.eps());
}

class NormalizeFuncOptions {
 public:
  NormalizeFuncOptions& p(double v) {
    p_ = v;
    return *this;
  }
  NormalizeFuncOptions& dim(std::int64_t v) {
    dim_ = v;
    return *this;
  }
  NormalizeFuncOptions& eps(double v) {
    eps_ = v;
    return *this;
  }
  double p() const { return p_; }
  std::int64_t dim() const { return dim_; }
  double eps() const { return eps_; }

 private:
  double p_ = 2, eps_ = 1e-12;
  std::int64_t dim_ = 1;
};
inline Tensor normalize(const Tensor& input, const NormalizeFuncOptions& o) {
  return trt::normalize(input, o.p(), o.dim(), o.eps());
}

// --- pooling, dropout, padding, distances ---

using trt::adaptive_avg_pool1d;
using trt::adaptive_avg_pool2d;
using trt::avg_pool1d;
using trt::avg_pool2d;
using trt::cosine_similarity;
using trt::dropout;
using trt::max_pool1d;
using trt::max_pool2d;
using trt::pad;
using trt::pairwise_distance;

using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
inline Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) { return MaxPool2d(o)(input); }
inline Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) { return AvgPool2d(o)(input); }

class AdaptiveAvgPool2dFuncOptions {
 public:
  AdaptiveAvgPool2dFuncOptions(Pair output_size) : size_(output_size) {}
  Pair output_size() const { return size_; }

 private:
  Pair size_;
};
inline Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& o) {
  return trt::adaptive_avg_pool2d(input, {o.output_size().h(), o.output_size().w()});
}

class DropoutFuncOptions {
 public:
  /** Probability of zero: 0.5. */
  DropoutFuncOptions& p(double v) {
    p_ = v;
    return *this;
  }
  /** Whether anything is dropped: true. */
  DropoutFuncOptions& training(bool v) {
    training_ = v;
    return *this;
  }
  double p() const { return p_; }
  bool training() const { return training_; }

 private:
  double p_ = 0.5;
  bool training_ = true;
};
inline Tensor dropout(const Tensor& input, const DropoutFuncOptions& o) {
  return trt::dropout(input, o.p(), o.training());
}

class PadFuncOptions {
 public:
  /** Pairs of numbers, the last dimension first. */
  PadFuncOptions(std::vector<std::int64_t> pad) : pad_(std::move(pad)) {}
  /** kConstant, kReflect, kReplicate or kCircular. */
  PadFuncOptions& mode(const std::string& v) {
    mode_ = v;
    return *this;
  }
  PadFuncOptions& value(double v) {
    value_ = v;
    return *this;
  }
  const std::vector<std::int64_t>& pad() const { return pad_; }
  const std::string& mode() const { return mode_; }
  std::optional<Scalar> value() const { return value_; }

 private:
  std::vector<std::int64_t> pad_;
  std::string mode_ = kConstant;
  std::optional<Scalar> value_;
};
inline Tensor pad(const Tensor& input, const PadFuncOptions& o) {
  return trt::pad(input, o.pad(), o.mode(), o.value());
}

// --- losses: the options are the losses as objects ---

using trt::binary_cross_entropy;
using trt::binary_cross_entropy_with_logits;
using trt::cosine_embedding_loss;
using trt::cross_entropy;
using trt::gaussian_nll_loss;
using trt::hinge_embedding_loss;
using trt::huber_loss;
using trt::kl_div;
using trt::l1_loss;
using trt::margin_ranking_loss;
using trt::mse_loss;
using trt::multi_margin_loss;
using trt::multilabel_margin_loss;
using trt::multilabel_soft_margin_loss;
using trt::nll_loss;
using trt::poisson_nll_loss;
using trt::smooth_l1_loss;
using trt::soft_margin_loss;
using trt::triplet_margin_loss;

using BinaryCrossEntropyFuncOptions = BCELoss;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLoss;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLoss;
using CrossEntropyFuncOptions = CrossEntropyLoss;
using GaussianNLLLossFuncOptions = GaussianNLLLoss;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLoss;
using HuberLossFuncOptions = HuberLoss;
using KLDivFuncOptions = KLDivLoss;
using L1LossFuncOptions = L1Loss;
using MarginRankingLossFuncOptions = MarginRankingLoss;
using MSELossFuncOptions = MSELoss;
using MultiMarginLossFuncOptions = MultiMarginLoss;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLoss;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLoss;
using NLLLossFuncOptions = NLLLoss;
using PoissonNLLLossFuncOptions = PoissonNLLLoss;
using SmoothL1LossFuncOptions = SmoothL1Loss;
using SoftMarginLossFuncOptions = SoftMarginLoss;
using TripletMarginLossFuncOptions = TripletMarginLoss;

inline Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, const BinaryCrossEntropyFuncOptions& o) {
  return o(x, y);
}
inline Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y,
                                               const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  return o(x, y);
}
inline Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& y,
                                    const CosineEmbeddingLossFuncOptions& o) {
  return o(x1, x2, y);
}
inline Tensor cross_entropy(const Tensor& x, const Tensor& y, const CrossEntropyFuncOptions& o) { return o(x, y); }
inline Tensor gaussian_nll_loss(const Tensor& x, const Tensor& y, const Tensor& var,
                                const GaussianNLLLossFuncOptions& o) {
  return o(x, y, var);
}
inline Tensor hinge_embedding_loss(const Tensor& x, const Tensor& y, const HingeEmbeddingLossFuncOptions& o) {
  return o(x, y);
}
inline Tensor huber_loss(const Tensor& x, const Tensor& y, const HuberLossFuncOptions& o) { return o(x, y); }
inline Tensor kl_div(const Tensor& x, const Tensor& y, const KLDivFuncOptions& o) { return o(x, y); }
inline Tensor l1_loss(const Tensor& x, const Tensor& y, const L1LossFuncOptions& o) { return o(x, y); }
inline Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& y,
                                  const MarginRankingLossFuncOptions& o) {
  return o(x1, x2, y);
}
inline Tensor mse_loss(const Tensor& x, const Tensor& y, const MSELossFuncOptions& o) { return o(x, y); }
inline Tensor multi_margin_loss(const Tensor& x, const Tensor& y, const MultiMarginLossFuncOptions& o) {
  return o(x, y);
}
inline Tensor multilabel_margin_loss(const Tensor& x, const Tensor& y, const MultilabelMarginLossFuncOptions& o) {
  return o(x, y);
}
inline Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& y,
                                          const MultilabelSoftMarginLossFuncOptions& o) {
  return o(x, y);
}
inline Tensor nll_loss(const Tensor& x, const Tensor& y, const NLLLossFuncOptions& o) { return o(x, y); }
inline Tensor poisson_nll_loss(const Tensor& x, const Tensor& y, const PoissonNLLLossFuncOptions& o) { return o(x, y); }
inline Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, const SmoothL1LossFuncOptions& o) { return o(x, y); }
inline Tensor soft_margin_loss(const Tensor& x, const Tensor& y, const SoftMarginLossFuncOptions& o) { return o(x, y); }
inline Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                  const TripletMarginLossFuncOptions& o) {
  return o(anchor, positive, negative);
}

}  // namespace functional
}  // namespace nn
}  // namespace trt

#endif
