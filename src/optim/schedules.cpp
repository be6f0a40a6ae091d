// The schedules. Each formula keeps PyTorch's order of operations, so that values agree to the last bit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "optim/scheduler.h"

namespace trt::optim {

namespace {

constexpr double kPi = std::numbers::pi;

class StepLr final : public Scheduler {
 public:
  StepLr(OptimizerPtr o, int64_t step_size, double gamma) : Scheduler(std::move(o)), step_size_(step_size), gamma_(gamma) {
    TRT_CHECK(step_size > 0, "StepLR: the step size must be positive, got ", step_size);
    start();
  }
  const char* type_name() const override { return "StepLR"; }

 protected:
  double next_lr(size_t, double lr, bool) override { return last_epoch_ == 0 || last_epoch_ % step_size_ != 0 ? lr : lr * gamma_; }
  double closed_form(size_t g, double) override { return base_lr(g) * std::pow(gamma_, static_cast<double>(last_epoch_ / step_size_)); }

 private:
  int64_t step_size_;
  double gamma_;
};

class MultiStepLr final : public Scheduler {
 public:
  MultiStepLr(OptimizerPtr o, IntArrayRef milestones, double gamma) : Scheduler(std::move(o)), milestones_(milestones.vec()), gamma_(gamma) {
    std::sort(milestones_.begin(), milestones_.end());
    start();
  }
  const char* type_name() const override { return "MultiStepLR"; }

 protected:
  double next_lr(size_t, double lr, bool) override {
    const auto n = std::count(milestones_.begin(), milestones_.end(), last_epoch_);
    return n == 0 ? lr : lr * std::pow(gamma_, static_cast<double>(n));
  }
  double closed_form(size_t g, double) override {
    const auto n = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
    return base_lr(g) * std::pow(gamma_, static_cast<double>(n));
  }

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

class ExponentialLr final : public Scheduler {
 public:
  ExponentialLr(OptimizerPtr o, double gamma) : Scheduler(std::move(o)), gamma_(gamma) { start(); }
  const char* type_name() const override { return "ExponentialLR"; }

 protected:
  double next_lr(size_t, double lr, bool initial) override { return initial ? lr : lr * gamma_; }
  double closed_form(size_t g, double) override { return base_lr(g) * std::pow(gamma_, static_cast<double>(last_epoch_)); }

 private:
  double gamma_;
};

class ConstantLr final : public Scheduler {
 public:
  ConstantLr(OptimizerPtr o, double factor, int64_t total) : Scheduler(std::move(o)), factor_(factor), total_(total) {
    TRT_CHECK(factor > 0 && factor <= 1, "ConstantLR: the factor must be in (0, 1], got ", factor);
    TRT_CHECK(total >= 0, "ConstantLR: total_iters must not be negative, got ", total);
    start();
  }
  const char* type_name() const override { return "ConstantLR"; }

 protected:
  double next_lr(size_t, double lr, bool) override {
    if (last_epoch_ == 0) return lr * factor_;
    return last_epoch_ != total_ ? lr : lr * (1.0 / factor_);
  }
  double closed_form(size_t g, double) override { return base_lr(g) * (factor_ + (last_epoch_ >= total_) * (1 - factor_)); }

 private:
  double factor_;
  int64_t total_;
};

class LinearLr final : public Scheduler {
 public:
  LinearLr(OptimizerPtr o, double from, double to, int64_t total) : Scheduler(std::move(o)), from_(from), to_(to), total_(static_cast<double>(total)) {
    TRT_CHECK(from > 0 && from <= 1, "LinearLR: the start factor must be in (0, 1], got ", from);
    TRT_CHECK(to >= 0 && to <= 1, "LinearLR: the end factor must be in [0, 1], got ", to);
    TRT_CHECK(total > 0, "LinearLR: total_iters must be positive, got ", total);
    start();
  }
  const char* type_name() const override { return "LinearLR"; }

 protected:
  double next_lr(size_t, double lr, bool initial) override {
    const auto epoch = static_cast<double>(last_epoch_);
    if (last_epoch_ == 0) return lr * from_;
    if (initial || epoch > total_) return lr;
    return lr * (1.0 + (to_ - from_) / (total_ * from_ + (epoch - 1) * (to_ - from_)));
  }
  double closed_form(size_t g, double) override {
    return base_lr(g) * (from_ + (to_ - from_) * std::min(total_, static_cast<double>(last_epoch_)) / total_);
  }

 private:
  double from_, to_, total_;
};

class PolynomialLr final : public Scheduler {
 public:
  PolynomialLr(OptimizerPtr o, int64_t total, double power) : Scheduler(std::move(o)), total_(static_cast<double>(total)), power_(power) {
    TRT_CHECK(total > 0, "PolynomialLR: total_iters must be positive, got ", total);
    start();
  }
  const char* type_name() const override { return "PolynomialLR"; }

 protected:
  double next_lr(size_t, double lr, bool initial) override {
    const auto epoch = static_cast<double>(last_epoch_);
    if (initial || epoch > total_) return lr;
    return lr * std::pow((1.0 - epoch / total_) / (1.0 - (epoch - 1) / total_), power_);
  }
  double closed_form(size_t g, double) override {
    return base_lr(g) * std::pow(1.0 - std::min(total_, static_cast<double>(last_epoch_)) / total_, power_);
  }

 private:
  double total_, power_;
};

class CosineAnnealingLr final : public Scheduler {
 public:
  CosineAnnealingLr(OptimizerPtr o, int64_t t_max, double eta_min) : Scheduler(std::move(o)), t_max_(t_max), eta_min_(eta_min) {
    TRT_CHECK(t_max > 0 && t_max < (int64_t{1} << 52), "CosineAnnealingLR: t_max must be positive, got ", t_max);
    start();
  }
  const char* type_name() const override { return "CosineAnnealingLR"; }

 protected:
  double next_lr(size_t g, double lr, bool initial) override {
    const auto epoch = static_cast<double>(last_epoch_), t = static_cast<double>(t_max_);
    if (initial) return lr;
    // The recursion is 0 / 0 where the cosine comes up from its minimum.
    if ((last_epoch_ - 1 - t_max_) % (2 * t_max_) == 0) return lr + (base_lr(g) - eta_min_) * (1 - std::cos(kPi / t)) / 2;
    return (1 + std::cos(kPi * epoch / t)) / (1 + std::cos(kPi * (epoch - 1) / t)) * (lr - eta_min_) + eta_min_;
  }
  double closed_form(size_t g, double) override {
    return eta_min_ + (base_lr(g) - eta_min_) * (1 + std::cos(kPi * static_cast<double>(last_epoch_) / static_cast<double>(t_max_))) / 2;
  }

 private:
  int64_t t_max_;
  double eta_min_;
};

class OneCycleLr final : public Scheduler {
 public:
  OneCycleLr(OptimizerPtr o, const OneCycleOptions& options) : Scheduler(std::move(o)), o_(options) {
    TRT_CHECK(o_.total_steps > 0, "OneCycleLR: total_steps must be positive, got ", o_.total_steps);
    TRT_CHECK(o_.max_lr > 0, "OneCycleLR: max_lr must be positive, got ", o_.max_lr);
    TRT_CHECK(o_.pct_start >= 0 && o_.pct_start <= 1, "OneCycleLR: pct_start must be between 0 and 1, got ", o_.pct_start);
    TRT_CHECK(o_.div_factor > 0 && o_.final_div_factor > 0, "OneCycleLR: the divisors must be positive, got ", o_.div_factor, " and ", o_.final_div_factor);
    TRT_CHECK(!o_.cycle_momentum || (o_.base_momentum >= 0 && o_.base_momentum < 1 && o_.max_momentum >= 0 && o_.max_momentum < 1),
              "OneCycleLR: momentums must be in [0, 1), got ", o_.base_momentum, " and ", o_.max_momentum);
    initial_lr_ = o_.max_lr / o_.div_factor;
    min_lr_ = initial_lr_ / o_.final_div_factor;
    const double total = static_cast<double>(o_.total_steps), up = o_.pct_start * total;
    if (o_.three_phase) {
      phases_ = {{up - 1, initial_lr_, o_.max_lr, o_.max_momentum, o_.base_momentum},
                 {2 * o_.pct_start * total - 2, o_.max_lr, initial_lr_, o_.base_momentum, o_.max_momentum},
                 {total - 1, initial_lr_, min_lr_, o_.max_momentum, o_.max_momentum}};
    } else {
      phases_ = {{up - 1, initial_lr_, o_.max_lr, o_.max_momentum, o_.base_momentum}, {total - 1, o_.max_lr, min_lr_, o_.base_momentum, o_.max_momentum}};
    }
    for (size_t g = 0; g < optimizer_->group_count(); ++g) optimizer_->group(g).initial_lr = initial_lr_;
    start();
  }
  const char* type_name() const override { return "OneCycleLR"; }

 protected:
  double next_lr(size_t, double, bool) override {
    TRT_CHECK_CODE(last_epoch_ <= o_.total_steps, Code::kFailedPrecondition, "OneCycleLR: step ", last_epoch_, " is beyond the ", o_.total_steps,
                   " steps of the cycle");
    const auto [phase, pct] = position();
    return anneal(phase->lr_from, phase->lr_to, pct);
  }
  std::optional<double> next_momentum(size_t) override {
    if (!o_.cycle_momentum) return std::nullopt;
    const auto [phase, pct] = position();
    return anneal(phase->momentum_from, phase->momentum_to, pct);
  }

 private:
  struct Phase {
    double end, lr_from, lr_to, momentum_from, momentum_to;
  };
  std::pair<const Phase*, double> position() const {
    const auto step = static_cast<double>(last_epoch_);
    double begin = 0;
    for (const Phase& p : phases_) {
      if (step <= p.end || &p == &phases_.back()) {
        // A cycle of one step has a phase without length.
        const double length = p.end - begin;
        return {&p, length != 0 ? (step - begin) / length : 1.0};
      }
      begin = p.end;
    }
    return {&phases_.back(), 1.0};
  }
  double anneal(double from, double to, double pct) const {
    if (o_.linear) return (to - from) * pct + from;
    const double cosine = std::cos(kPi * pct) + 1;
    return to + (from - to) / 2.0 * cosine;
  }

  OneCycleOptions o_;
  double initial_lr_, min_lr_;
  std::vector<Phase> phases_;
};

class LambdaLr final : public Scheduler {
 public:
  LambdaLr(OptimizerPtr o, LrFunction f) : Scheduler(std::move(o)), f_(std::move(f)) { start(); }
  const char* type_name() const override { return "LambdaLR"; }

 protected:
  double next_lr(size_t g, double, bool) override { return base_lr(g) * f_(last_epoch_, g); }

 private:
  LrFunction f_;
};

}  // namespace

SchedulerPtr step_lr(OptimizerPtr o, int64_t step_size, double gamma) { return make_intrusive<StepLr>(std::move(o), step_size, gamma); }
SchedulerPtr multi_step_lr(OptimizerPtr o, IntArrayRef milestones, double gamma) { return make_intrusive<MultiStepLr>(std::move(o), milestones, gamma); }
SchedulerPtr exponential_lr(OptimizerPtr o, double gamma) { return make_intrusive<ExponentialLr>(std::move(o), gamma); }
SchedulerPtr constant_lr(OptimizerPtr o, double factor, int64_t total) { return make_intrusive<ConstantLr>(std::move(o), factor, total); }
SchedulerPtr linear_lr(OptimizerPtr o, double from, double to, int64_t total) { return make_intrusive<LinearLr>(std::move(o), from, to, total); }
SchedulerPtr polynomial_lr(OptimizerPtr o, int64_t total, double power) { return make_intrusive<PolynomialLr>(std::move(o), total, power); }
SchedulerPtr cosine_annealing_lr(OptimizerPtr o, int64_t t_max, double eta_min) { return make_intrusive<CosineAnnealingLr>(std::move(o), t_max, eta_min); }
SchedulerPtr one_cycle_lr(OptimizerPtr o, const OneCycleOptions& options) { return make_intrusive<OneCycleLr>(std::move(o), options); }
SchedulerPtr lambda_lr(OptimizerPtr o, LrFunction f) { return make_intrusive<LambdaLr>(std::move(o), std::move(f)); }

}  // namespace trt::optim
