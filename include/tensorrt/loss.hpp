// The losses as objects in C++17, over the operators (which document shapes and formulas). Included by tensorrt.hpp.
//
// A loss is its options, with PyTorch's defaults, and a function:
// nn::CrossEntropyLoss().label_smoothing(0.1)(prediction, target). CrossEntropyLossOptions and the like are the same
// classes. reduction is trt::kMean (the default), trt::kSum or trt::kNone; "batchmean" exists for KLDivLoss.
#ifndef TENSORRT_LOSS_HPP
#define TENSORRT_LOSS_HPP

#include "tensorrt/indexing.hpp"

namespace trt {

inline constexpr const char *kMean = "mean", *kSum = "sum", *kNone = "none";

namespace nn {

/** What all losses have. */
template <typename Self>
class Loss {
 public:
  Self& reduction(const std::string& v) {
    reduction_ = v;
    return static_cast<Self&>(*this);
  }
  /** As in loss->forward(x, y). */
  Self* operator->() { return static_cast<Self*>(this); }
  template <typename... A>
  Tensor forward(const A&... arguments) const {
    return static_cast<const Self&>(*this)(arguments...);
  }

 protected:
  std::string reduction_ = kMean;
};

class MSELoss : public Loss<MSELoss> {
 public:
  Tensor operator()(const Tensor& input, const Tensor& target) const { return mse_loss(input, target, reduction_); }
};
class L1Loss : public Loss<L1Loss> {
 public:
  Tensor operator()(const Tensor& input, const Tensor& target) const { return l1_loss(input, target, reduction_); }
};
class SoftMarginLoss : public Loss<SoftMarginLoss> {
 public:
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return soft_margin_loss(input, target, reduction_);
  }
};
class MultiLabelMarginLoss : public Loss<MultiLabelMarginLoss> {
 public:
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return multilabel_margin_loss(input, target, reduction_);
  }
};
class SmoothL1Loss : public Loss<SmoothL1Loss> {
 public:
  SmoothL1Loss& beta(double v) {
    beta_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return smooth_l1_loss(input, target, reduction_, beta_);
  }

 private:
  double beta_ = 1;
};
class HuberLoss : public Loss<HuberLoss> {
 public:
  HuberLoss& delta(double v) {
    delta_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return huber_loss(input, target, reduction_, delta_);
  }

 private:
  double delta_ = 1;
};
/** The negative log-likelihood of classes; input: logarithms of probabilities. */
class NLLLoss : public Loss<NLLLoss> {
 public:
  NLLLoss& weight(const Tensor& v) {
    weight_ = v;
    return *this;
  }
  NLLLoss& ignore_index(std::int64_t v) {
    ignore_index_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return nll_loss(input, target, weight_, ignore_index_, reduction_);
  }

 private:
  Tensor weight_;
  std::int64_t ignore_index_ = -100;
};
class CrossEntropyLoss : public Loss<CrossEntropyLoss> {
 public:
  CrossEntropyLoss& weight(const Tensor& v) {
    weight_ = v;
    return *this;
  }
  CrossEntropyLoss& ignore_index(std::int64_t v) {
    ignore_index_ = v;
    return *this;
  }
  CrossEntropyLoss& label_smoothing(double v) {
    label_smoothing_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return cross_entropy(input, target, weight_, ignore_index_, reduction_, label_smoothing_);
  }

 private:
  Tensor weight_;
  std::int64_t ignore_index_ = -100;
  double label_smoothing_ = 0;
};
class BCELoss : public Loss<BCELoss> {
 public:
  BCELoss& weight(const Tensor& v) {
    weight_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return binary_cross_entropy(input, target, weight_, reduction_);
  }

 private:
  Tensor weight_;
};
class BCEWithLogitsLoss : public Loss<BCEWithLogitsLoss> {
 public:
  BCEWithLogitsLoss& weight(const Tensor& v) {
    weight_ = v;
    return *this;
  }
  BCEWithLogitsLoss& pos_weight(const Tensor& v) {
    pos_weight_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return binary_cross_entropy_with_logits(input, target, weight_, reduction_, pos_weight_);
  }

 private:
  Tensor weight_;
  Tensor pos_weight_;
};
class KLDivLoss : public Loss<KLDivLoss> {
 public:
  KLDivLoss& log_target(bool v) {
    log_target_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return kl_div(input, target, reduction_, log_target_);
  }

 private:
  bool log_target_ = false;
};
class HingeEmbeddingLoss : public Loss<HingeEmbeddingLoss> {
 public:
  HingeEmbeddingLoss& margin(double v) {
    margin_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return hinge_embedding_loss(input, target, margin_, reduction_);
  }

 private:
  double margin_ = 1;
};
class MultiMarginLoss : public Loss<MultiMarginLoss> {
 public:
  MultiMarginLoss& p(std::int64_t v) {
    p_ = v;
    return *this;
  }
  MultiMarginLoss& margin(double v) {
    margin_ = v;
    return *this;
  }
  MultiMarginLoss& weight(const Tensor& v) {
    weight_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return multi_margin_loss(input, target, p_, margin_, weight_, reduction_);
  }

 private:
  std::int64_t p_ = 1;
  double margin_ = 1;
  Tensor weight_;
};
class MultiLabelSoftMarginLoss : public Loss<MultiLabelSoftMarginLoss> {
 public:
  MultiLabelSoftMarginLoss& weight(const Tensor& v) {
    weight_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return multilabel_soft_margin_loss(input, target, weight_, reduction_);
  }

 private:
  Tensor weight_;
};
class PoissonNLLLoss : public Loss<PoissonNLLLoss> {
 public:
  PoissonNLLLoss& log_input(bool v) {
    log_input_ = v;
    return *this;
  }
  PoissonNLLLoss& full(bool v) {
    full_ = v;
    return *this;
  }
  PoissonNLLLoss& eps(double v) {
    eps_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target) const {
    return poisson_nll_loss(input, target, log_input_, full_, eps_, reduction_);
  }

 private:
  bool log_input_ = true;
  bool full_ = false;
  double eps_ = 1e-8;
};
class CosineEmbeddingLoss : public Loss<CosineEmbeddingLoss> {
 public:
  CosineEmbeddingLoss& margin(double v) {
    margin_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target) const {
    return cosine_embedding_loss(input1, input2, target, margin_, reduction_);
  }

 private:
  double margin_ = 0;
};
class MarginRankingLoss : public Loss<MarginRankingLoss> {
 public:
  MarginRankingLoss& margin(double v) {
    margin_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target) const {
    return margin_ranking_loss(input1, input2, target, margin_, reduction_);
  }

 private:
  double margin_ = 0;
};
class GaussianNLLLoss : public Loss<GaussianNLLLoss> {
 public:
  GaussianNLLLoss& full(bool v) {
    full_ = v;
    return *this;
  }
  GaussianNLLLoss& eps(double v) {
    eps_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& input, const Tensor& target, const Tensor& var) const {
    return gaussian_nll_loss(input, target, var, full_, eps_, reduction_);
  }

 private:
  bool full_ = false;
  double eps_ = 1e-6;
};
class TripletMarginLoss : public Loss<TripletMarginLoss> {
 public:
  TripletMarginLoss& margin(double v) {
    margin_ = v;
    return *this;
  }
  TripletMarginLoss& p(double v) {
    p_ = v;
    return *this;
  }
  TripletMarginLoss& eps(double v) {
    eps_ = v;
    return *this;
  }
  TripletMarginLoss& swap(bool v) {
    swap_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const {
    return triplet_margin_loss(anchor, positive, negative, margin_, p_, eps_, swap_, reduction_);
  }

 private:
  double margin_ = 1;
  double p_ = 2;
  double eps_ = 1e-6;
  bool swap_ = false;
};
class CTCLoss : public Loss<CTCLoss> {
 public:
  CTCLoss& blank(std::int64_t v) {
    blank_ = v;
    return *this;
  }
  CTCLoss& zero_infinity(bool v) {
    zero_infinity_ = v;
    return *this;
  }
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths) const {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank_, reduction_, zero_infinity_);
  }
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths) const {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank_, reduction_, zero_infinity_);
  }

 private:
  std::int64_t blank_ = 0;
  bool zero_infinity_ = false;
};

using BCELossOptions = BCELoss;
using BCEWithLogitsLossOptions = BCEWithLogitsLoss;
using CTCLossOptions = CTCLoss;
using CosineEmbeddingLossOptions = CosineEmbeddingLoss;
using CrossEntropyLossOptions = CrossEntropyLoss;
using GaussianNLLLossOptions = GaussianNLLLoss;
using HingeEmbeddingLossOptions = HingeEmbeddingLoss;
using HuberLossOptions = HuberLoss;
using KLDivLossOptions = KLDivLoss;
using L1LossOptions = L1Loss;
using MSELossOptions = MSELoss;
using MarginRankingLossOptions = MarginRankingLoss;
using MultiLabelMarginLossOptions = MultiLabelMarginLoss;
using MultiLabelSoftMarginLossOptions = MultiLabelSoftMarginLoss;
using MultiMarginLossOptions = MultiMarginLoss;
using NLLLossOptions = NLLLoss;
using PoissonNLLLossOptions = PoissonNLLLoss;
using SmoothL1LossOptions = SmoothL1Loss;
using SoftMarginLossOptions = SoftMarginLoss;
using TripletMarginLossOptions = TripletMarginLoss;

}  // namespace nn
}  // namespace trt

#endif
