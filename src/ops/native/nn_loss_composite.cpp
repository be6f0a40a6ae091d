// Losses composed of pointwise loops and a reduction.
#include "base/log.h"
#include "gen/all_ops.h"
#include "gen/nn_loss_native.h"
#include "ops/native/widened.h"

namespace trt::composite {

namespace {

int64_t reduction_code(std::string_view reduction, const char* op) {
  TRT_CHECK(reduction == "none" || reduction == "mean" || reduction == "sum", op,
            ": reduction must be 'none', 'mean' or 'sum', got '", reduction, "'");
  return reduction == "none" ? 0 : reduction == "mean" ? 1 : 2;
}

Tensor reduced(const Tensor& loss, std::string_view reduction, const char* op) {
  switch (reduction_code(reduction, op)) {
    case 1:
      return op::mean(loss);
    case 2:
      return op::sum(loss);
    default:
      return loss;
  }
}

Tensor weighted(const Tensor& loss, const Tensor& weight) { return weight.defined() ? op::mul(loss, weight) : loss; }

void check_same_sizes(const Tensor& input, const Tensor& target, const char* op) {
  TRT_CHECK(input.sizes() == target.sizes(), op, ": input and target must have the same shape, got ", input, " and ",
            target);
}

// Shapes that broadcast are allowed, but seldom meant: [n, 1] and [n] give a loss of [n, n].
void warn_of_broadcasting(const Tensor& input, const Tensor& target, const char* op) {
  if (input.sizes() == target.sizes()) return;
  log(LogLevel::kWarning, op, ": input ", input.sizes(), " and target ", target.sizes(),
      " have different shapes and are broadcast; the loss is likely not what is meant");
}

// The class dimension of an input [n, c, ...] or [c].
int64_t class_dim(const Tensor& input) { return input.dim() == 1 ? 0 : 1; }

// [c] along the class dimension of `input`.
Tensor along_classes(const Tensor& weight, const Tensor& input) {
  TRT_CHECK(weight.dim() == 1 && weight.size(0) == input.size(class_dim(input)), "cross_entropy: weight ", weight,
            " does not fit input ", input);
  DimVector shape(static_cast<size_t>(input.dim()), 1);
  shape[static_cast<size_t>(class_dim(input))] = weight.size(0);
  return op::reshape(weight, shape);
}

Tensor cross_entropy_of_probabilities(const Tensor& input, const Tensor& target, const Tensor& weight,
                                      std::string_view reduction, double smoothing) {
  TRT_CHECK(is_floating(target.dtype()),
            "cross_entropy: a target in the shape of the input holds probabilities and must be floating-point, got ",
            target);
  const int64_t dim = class_dim(input);
  const double classes = static_cast<double>(input.size(dim));
  const Tensor p = smoothing > 0 ? op::add(op::mul(target, 1 - smoothing), smoothing / classes) : target;
  Tensor terms = op::mul(op::log_softmax(input, dim), p);
  if (weight.defined()) terms = op::mul(terms, along_classes(weight, input));
  if (reduction == "none") return op::neg(op::sum(terms, IntArrayRef{dim}));
  const Tensor total = op::neg(op::sum(terms));
  // The mean is over everything but the classes.
  return reduction == "sum" ? total : op::div(total, static_cast<double>(input.numel()) / classes);
}

Tensor smoothed_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                              int64_t reduction, double smoothing) {
  const int64_t dim = class_dim(input);
  const Tensor logs = op::log_softmax(input, dim);
  auto [nll, total] = op::nll_loss_forward(logs, target, weight, reduction, ignore_index);
  Tensor smooth =
      op::neg(op::sum(weight.defined() ? op::mul(logs, along_classes(weight, input)) : logs, IntArrayRef{dim}));
  smooth = op::masked_fill(smooth, op::eq(op::reshape(target, smooth.sizes()), ignore_index), 0);
  if (reduction != 0) smooth = op::sum(smooth);
  if (reduction == 1) smooth = op::div(smooth, op::to(total, smooth.dtype()));
  if (reduction == 0) smooth = op::reshape(smooth, nll.sizes());
  return op::add(op::mul(nll, 1 - smoothing), op::mul(smooth, smoothing / static_cast<double>(input.size(dim))));
}

// Looks at values: false on Meta.
bool any_true(const Tensor& mask) {
  if (!mask.device().is_cpu()) return false;
  return *op::any(mask).data_ptr<Bool>();
}

}  // namespace

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                std::string_view reduction) {
  return std::get<0>(op::nll_loss_forward(input, target, weight, reduction_code(reduction, "nll_loss"), ignore_index));
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                     std::string_view reduction, double label_smoothing) {
  const int64_t code = reduction_code(reduction, "cross_entropy");
  TRT_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
            "cross_entropy: label_smoothing must be between 0 and 1, got ", label_smoothing);
  TRT_CHECK(input.dim() >= 1, "cross_entropy: input needs at least one dimension");
  if (input.sizes() == target.sizes() && is_floating(target.dtype())) {
    TRT_CHECK(ignore_index < 0, "cross_entropy: ignore_index is for targets that are classes, got ", ignore_index, " with probabilities ", target);
    return cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing);
  }
  if (label_smoothing > 0) return smoothed_cross_entropy(input, target, weight, ignore_index, code, label_smoothing);
  return std::get<0>(op::cross_entropy_forward(input, target, weight, code, ignore_index));
}

Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  warn_of_broadcasting(input, target, "mse_loss");
  return reduced(op::mse_loss_elements(input, target), reduction, "mse_loss");
}

Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  warn_of_broadcasting(input, target, "l1_loss");
  if (is_complex(input.dtype()) || is_complex(target.dtype())) return reduced(op::abs(op::sub(input, target)), reduction, "l1_loss");
  return reduced(op::l1_loss_elements(input, target), reduction, "l1_loss");
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction, double beta) {
  TRT_CHECK(beta >= 0, "smooth_l1_loss: beta must not be negative, got ", beta);
  warn_of_broadcasting(input, target, "smooth_l1_loss");
  if (beta == 0) return reduced(op::l1_loss_elements(input, target), reduction, "smooth_l1_loss");
  return reduced(op::smooth_l1_loss_elements(input, target, beta), reduction, "smooth_l1_loss");
}

Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction, double delta) {
  TRT_CHECK(delta > 0, "huber_loss: delta must be positive, got ", delta);
  warn_of_broadcasting(input, target, "huber_loss");
  return reduced(op::huber_loss_elements(input, target, delta), reduction, "huber_loss");
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            std::string_view reduction) {
  check_same_sizes(input, target, "binary_cross_entropy");
  for (const Tensor* t : {&input, &target})
    TRT_CHECK(!any_true(op::logical_not(op::logical_and(op::ge(*t, 0), op::le(*t, 1)))),
              "binary_cross_entropy: the elements of input and target must lie in [0, 1], those of ",
              t == &input ? "input " : "target ", *t, " do not");
  return reduced(weighted(op::binary_cross_entropy_elements(input, target), weight), reduction, "binary_cross_entropy");
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight,
                                        std::string_view reduction, const Tensor& pos_weight) {
  check_same_sizes(input, target, "binary_cross_entropy_with_logits");
  if (const DType d = input.dtype(); is_reduced_floating(d) && target.dtype() == d && (pos_weight.defined() || weight.defined()))
    return op::to(op::binary_cross_entropy_with_logits(widened(input, d), widened(target, d), widened(weight, d), reduction, widened(pos_weight, d)), d);
  Tensor loss;
  if (pos_weight.defined()) {
    // (1 - t) x + (1 + (p - 1) t) softplus(-x)
    const Tensor factor = op::add(op::mul(op::sub(pos_weight, 1), target), 1);
    loss = op::sub(op::mul(op::rsub(target, 1), input), op::mul(factor, op::log_sigmoid(input)));
  } else {
    loss = op::bce_with_logits_elements(input, target);
  }
  return reduced(weighted(loss, weight), reduction, "binary_cross_entropy_with_logits");
}

Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction, bool log_target) {
  const Tensor loss = log_target ? op::mul(op::exp(target), op::sub(target, input))
                                 : op::sub(op::xlogy(target, target), op::mul(target, input));
  if (reduction != "batchmean") return reduced(loss, reduction, "kl_div");
  const Tensor total = op::sum(loss);
  return input.dim() > 0 ? op::div(total, input.size(0)) : total;
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             std::string_view reduction) {
  TRT_CHECK(input1.dim() == target.dim() + 1 && input2.dim() == target.dim() + 1 && target.dim() <= 1,
            "cosine_embedding_loss: needs inputs [n, d] and target [n], or inputs [d] and a 0-d target, got ", input1,
            ", ", input2, " and ", target);
  constexpr double kEpsilon = 1e-12;
  const Tensor product = op::sum(op::mul(input1, input2), IntArrayRef{target.dim()});
  const Tensor square1 = op::add(op::sum(op::mul(input1, input1), IntArrayRef{target.dim()}), kEpsilon);
  const Tensor square2 = op::add(op::sum(op::mul(input2, input2), IntArrayRef{target.dim()}), kEpsilon);
  const Tensor cosine = op::div(product, op::sqrt(op::mul(square1, square2)));
  const Tensor zero = op::zeros_like(cosine);
  const Tensor apart = op::where(op::eq(target, -1), op::clamp_min(op::sub(cosine, margin), 0), zero);
  const Tensor together = op::where(op::eq(target, 1), op::rsub(cosine, 1), zero);
  return reduced(op::add(together, apart), reduction, "cosine_embedding_loss");
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin, std::string_view reduction) {
  const Tensor zero = op::zeros_like(input);
  const Tensor apart = op::where(op::ne(target, 1), op::clamp_min(op::rsub(input, margin), 0), zero);
  return reduced(op::add(apart, op::where(op::ne(target, -1), input, zero)), reduction, "hinge_embedding_loss");
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           std::string_view reduction) {
  TRT_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(),
            "margin_ranking_loss: all tensors must have the same number of dimensions, got ", input1, ", ", input2,
            " and ", target);
  const Tensor gap = op::add(op::mul(op::neg(target), op::sub(input1, input2)), margin);
  return reduced(op::clamp_min(gap, 0), reduction, "margin_ranking_loss");
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  return reduced(op::neg(op::log_sigmoid(op::mul(input, target))), reduction, "soft_margin_loss");
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, int64_t p, double margin, const Tensor& weight,
                         std::string_view reduction) {
  constexpr const char* kName = "multi_margin_loss";
  TRT_CHECK(p == 1 || p == 2, kName, ": p must be 1 or 2, got ", p);
  TRT_CHECK(input.dim() <= 2 && target.dtype() == DType::Int64, kName,
            ": needs input [n, c] or [c] and an int64 target, got ", input, " and ", target);
  const int64_t n = input.dim() == 2 ? input.size(0) : 1, c = input.dim() == 0 ? 1 : input.size(-1);
  TRT_CHECK(target.numel() == n && target.dim() <= 1 && c > 0, kName, ": target ", target, " does not fit input ",
            input);
  const Tensor rows = op::reshape(input, {n, c}), classes = op::reshape(target, {n, 1});
  Tensor gap = op::clamp_min(op::add(op::sub(rows, op::gather(rows, 1, classes)), margin), 0);
  if (p == 2) gap = op::mul(gap, gap);
  if (weight.defined()) {
    TRT_CHECK(weight.dim() == 1 && weight.size(0) == c, kName, ": weight must have shape [", c, "], got ", weight);
    gap = op::mul(gap, op::reshape(op::index_select(weight, 0, op::reshape(target, {n})), {n, 1}));
  }
  gap = op::masked_fill(gap, op::eq(op::arange(0, c, 1, DType::Int64, input.device()), classes), 0);
  const Tensor loss = op::div(op::sum(gap, IntArrayRef{int64_t{1}}), c);
  return reduced(input.dim() == 2 ? loss : op::reshape(loss, {}), reduction, kName);
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  constexpr const char* kName = "multilabel_margin_loss";
  TRT_CHECK(input.dim() <= 2 && target.dtype() == DType::Int64 && input.sizes() == target.sizes(), kName,
            ": needs input [n, c] or [c] and an int64 target of the same shape, got ", input, " and ", target);
  const int64_t n = input.dim() == 2 ? input.size(0) : 1, c = input.dim() == 0 ? 1 : input.size(-1);
  TRT_CHECK(c > 0, kName, ": there are no classes in input ", input);
  TRT_CHECK_CODE(!any_true(op::logical_or(op::lt(target, -1), op::ge(target, c))), Code::kOutOfRange, kName,
                 ": the elements of target must be -1 or classes below ", c, ", those of ", target, " are not");
  const Tensor rows = op::reshape(input, {n, c}), listed = op::reshape(target, {n, c});
  // Positions of the list before its end, and the classes that stand there.
  const Tensor counts = op::cumprod(op::to(op::ge(listed, 0), DType::Int64), 1);
  const Tensor ended = op::eq(counts, 0), classes = op::masked_fill(listed, ended, 0);
  const Tensor is_target = op::gt(op::scatter_add(op::zeros_like(listed), 1, classes, counts), 0);
  // [n, listed class, other class]
  const Tensor gap =
      op::clamp_min(op::rsub(op::sub(op::unsqueeze(op::gather(rows, 1, classes), 2), op::unsqueeze(rows, 1)), 1), 0);
  const Tensor skipped = op::logical_or(op::unsqueeze(ended, 2), op::unsqueeze(is_target, 1));
  const Tensor loss = op::div(op::sum(op::masked_fill(gap, skipped, 0), IntArrayRef{int64_t{1}, int64_t{2}}), c);
  return reduced(input.dim() == 2 ? loss : op::reshape(loss, {}), reduction, kName);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                                   std::string_view reduction) {
  TRT_CHECK(input.dim() >= 1, "multilabel_soft_margin_loss: input needs at least one dimension");
  check_same_sizes(input, target, "multilabel_soft_margin_loss");
  if (const DType d = input.dtype(); is_reduced_floating(d) && target.dtype() == d)
    return op::to(op::multilabel_soft_margin_loss(widened(input, d), widened(target, d), widened(weight, d), reduction), d);
  const Tensor loss = weighted(op::bce_with_logits_elements(input, target), weight);
  return reduced(op::mean(loss, IntArrayRef{int64_t{-1}}), reduction, "multilabel_soft_margin_loss");
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, std::string_view reduction) {
  TRT_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
            "triplet_margin_loss: all tensors must have the same number of dimensions, got ", anchor, ", ", positive,
            " and ", negative);
  const Tensor near = op::pairwise_distance(anchor, positive, p, eps, false);
  Tensor far = op::pairwise_distance(anchor, negative, p, eps, false);
  if (swap) far = op::minimum(far, op::pairwise_distance(positive, negative, p, eps, false));
  return reduced(op::clamp_min(op::add(op::sub(near, far), margin), 0), reduction, "triplet_margin_loss");
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        std::string_view reduction) {
  Tensor loss = log_input ? op::sub(op::exp(input), op::mul(target, input))
                          : op::sub(input, op::mul(target, op::log(op::add(input, eps))));
  if (full) {
    constexpr double kTwoPi = 6.283185307179586;
    const Tensor stirling =
        op::add(op::sub(op::mul(target, op::log(target)), target), op::mul(op::log(op::mul(target, kTwoPi)), 0.5));
    loss = op::add(loss, op::masked_fill(stirling, op::le(target, 1), 0));
  }
  return reduced(loss, reduction, "poisson_nll_loss");
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full, double eps,
                         std::string_view reduction) {
  TRT_CHECK(is_floating(var.dtype()), "gaussian_nll_loss: var must be floating-point, got ", var);
  TRT_CHECK(!any_true(op::lt(var, 0)), "gaussian_nll_loss: var has a negative element");
  Tensor v = var;
  if (var.sizes() != input.sizes()) {
    const IntArrayRef lead = input.sizes().slice(0, input.dim() > 0 ? input.sizes().size() - 1 : 0);
    if (input.dim() > 0 && var.sizes() == lead) {
      v = op::unsqueeze(var, -1);
    } else {
      const bool one_each =
          var.dim() == input.dim() && var.dim() > 0 && var.size(-1) == 1 && var.sizes().slice(0, lead.size()) == lead;
      TRT_CHECK(one_each, "gaussian_nll_loss: var ", var, " does not fit input ", input);
    }
  }
  // The lower bound does not stop the gradient.
  v = op::clone(v);
  {
    const GradModeGuard no_grad(false);
    op::clamp_min_(v, eps);
  }
  const Tensor gap = op::sub(input, target);
  Tensor loss = op::mul(op::add(op::log(v), op::div(op::mul(gap, gap), v)), 0.5);
  if (full) loss = op::add(loss, 0.9189385332046727);
  return reduced(loss, reduction, "gaussian_nll_loss");
}

}  // namespace trt::composite
