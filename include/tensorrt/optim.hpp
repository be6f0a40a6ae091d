// Optimizers, schedulers and the clipping of gradients in C++17, over optim.h (which documents formulas, defaults and
// errors). Included by tensorrt.hpp.
#ifndef TENSORRT_OPTIM_HPP
#define TENSORRT_OPTIM_HPP

#include "tensorrt/autograd.hpp"
#include "tensorrt/nn.hpp"

namespace trt {

namespace optim {

/** An optimizer; empty after default construction. Copying copies the reference. */
class Optimizer : public detail::Handle<trt_optimizer, trt_optimizer_retain, trt_optimizer_release> {
 public:
  Optimizer() = default;
  /** Takes over a handle. */
  explicit Optimizer(trt_optimizer* owned) : Handle(owned) {}
  /** "AdamW". */
  std::string type_name() const {
    const char* n = trt_optimizer_type_name(get());
    return n ? n : "";
  }
  /** The groups and their options. */
  std::string to_string() const { return detail::take_string(detail::create(trt_optimizer_to_string, get())); }
  void step() { check(trt_optimizer_step(get())); }
  /** Calls `closure`, which computes the loss and its gradients, then steps; gives what it gave. */
  template <typename F>
  auto step(F closure) {
    auto loss = [&] {
      const EnableGrad on;
      return closure();
    }();
    step();
    return loss;
  }
  void zero_grad(bool set_to_none = true) { check(trt_optimizer_zero_grad(get(), set_to_none)); }
  /** Adds parameters with options of their own: {{"lr", 0.01}}. */
  void add_param_group(TensorList params, const std::vector<std::pair<std::string, double>>& options = {}) {
    std::vector<const char*> names;
    std::vector<double> values;
    for (const auto& [name, value] : options) {
      names.push_back(name.c_str());
      values.push_back(value);
    }
    const auto p = detail::handles(params);
    check(trt_optimizer_add_group(get(), p.data(), p.size(), names.data(), values.data(), names.size()));
  }
  std::size_t group_count() const { return trt_optimizer_group_count(get()); }
  std::vector<Tensor> group_parameters(std::size_t group) const {
    return detail::take(detail::create(trt_optimizer_group_parameters, get(), group));
  }
  double option(const std::string& name, std::size_t group = 0) const {
    return detail::create(trt_optimizer_get_option, get(), group, name.c_str());
  }
  void set_option(const std::string& name, double value, std::size_t group = 0) {
    check(trt_optimizer_set_option(get(), group, name.c_str(), value));
  }
  double lr(std::size_t group = 0) const { return detail::create(trt_optimizer_get_lr, get(), group); }
  /** Of all groups. */
  void set_lr(double lr) { check(trt_optimizer_set_lr(get(), lr)); }
  StateDict state_dict() const { return StateDict(detail::create(trt_optimizer_state_dict, get())); }
  void load_state_dict(const StateDict& d) { check(trt_optimizer_load_state_dict(get(), d.get())); }
};

/** Options of SGD; a number is its learning rate. */
class SGDOptions {
 public:
  SGDOptions(double lr = 1e-3) : c_(detail::defaults(trt_sgd_options_init)) { c_.lr = lr; }
  SGDOptions& lr(double v) {
    c_.lr = v;
    return *this;
  }
  SGDOptions& momentum(double v) {
    c_.momentum = v;
    return *this;
  }
  SGDOptions& dampening(double v) {
    c_.dampening = v;
    return *this;
  }
  SGDOptions& weight_decay(double v) {
    c_.weight_decay = v;
    return *this;
  }
  SGDOptions& nesterov(bool v) {
    c_.nesterov = v;
    return *this;
  }
  SGDOptions& maximize(bool v) {
    c_.maximize = v;
    return *this;
  }
  const trt_sgd_options* c() const { return &c_; }

 private:
  trt_sgd_options c_;
};
/** What the options of Adam and AdamW have in common. */
template <typename Self>
class AdamBaseOptions {
 public:
  Self& lr(double v) {
    c_.lr = v;
    return self();
  }
  Self& betas(std::pair<double, double> v) {
    c_.beta1 = v.first;
    c_.beta2 = v.second;
    return self();
  }
  Self& eps(double v) {
    c_.eps = v;
    return self();
  }
  Self& weight_decay(double v) {
    c_.weight_decay = v;
    return self();
  }
  Self& amsgrad(bool v) {
    c_.amsgrad = v;
    return self();
  }
  Self& maximize(bool v) {
    c_.maximize = v;
    return self();
  }
  const trt_adam_options* c() const { return &c_; }

 protected:
  AdamBaseOptions(void (*init)(trt_adam_options*), double lr) : c_(detail::defaults(init)) { c_.lr = lr; }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  trt_adam_options c_;
};
/** Options of Adam; a number is its learning rate. */
class AdamOptions : public AdamBaseOptions<AdamOptions> {
 public:
  AdamOptions(double lr = 1e-3) : AdamBaseOptions(trt_adam_options_init, lr) {}
};
/** Options of AdamW; a number is its learning rate. */
class AdamWOptions : public AdamBaseOptions<AdamWOptions> {
 public:
  AdamWOptions(double lr = 1e-3) : AdamBaseOptions(trt_adamw_options_init, lr) {}
};

/** Stochastic gradient descent: SGD(net.parameters(), SGDOptions(0.1).momentum(0.9)). */
class SGD : public Optimizer {
 public:
  using Optimizer::Optimizer;
  SGD() = default;
  explicit SGD(TensorList params, const SGDOptions& o = {})
      : Optimizer(detail::create(trt_sgd_create, detail::handles(params).data(), params.size(), o.c())) {}
};
class Adam : public Optimizer {
 public:
  using Optimizer::Optimizer;
  Adam() = default;
  explicit Adam(TensorList params, const AdamOptions& o = {})
      : Optimizer(detail::create(trt_adam_create, detail::handles(params).data(), params.size(), o.c())) {}
};
class AdamW : public Optimizer {
 public:
  using Optimizer::Optimizer;
  AdamW() = default;
  explicit AdamW(TensorList params, const AdamWOptions& o = {})
      : Optimizer(detail::create(trt_adamw_create, detail::handles(params).data(), params.size(), o.c())) {}
};

/** A learning-rate scheduler; empty after default construction. A new one sets the first learning rates; step after the
 * optimizer's step. */
class Scheduler : public detail::Handle<trt_scheduler, trt_scheduler_retain, trt_scheduler_release> {
 public:
  Scheduler() = default;
  /** Takes over a handle. */
  explicit Scheduler(trt_scheduler* owned) : Handle(owned) {}
  /** "StepLR". */
  std::string type_name() const {
    const char* n = trt_scheduler_type_name(get());
    return n ? n : "";
  }
  void step() { check(trt_scheduler_step(get())); }
  /** Number of steps taken. */
  std::int64_t last_epoch() const { return trt_scheduler_last_epoch(get()); }
  double last_lr(std::size_t group = 0) const { return detail::create(trt_scheduler_last_lr, get(), group); }
  StateDict state_dict() const { return StateDict(detail::create(trt_scheduler_state_dict, get())); }
  void load_state_dict(const StateDict& d) { check(trt_scheduler_load_state_dict(get(), d.get())); }
};
/** Times gamma every step_size steps. */
class StepLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  StepLR() = default;
  StepLR(const Optimizer& o, std::int64_t step_size, double gamma = 0.1)
      : Scheduler(detail::create(trt_step_lr_create, o.get(), step_size, gamma)) {}
};
/** Times gamma at each milestone. */
class MultiStepLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  MultiStepLR() = default;
  MultiStepLR(const Optimizer& o, IntArrayRef milestones, double gamma = 0.1)
      : Scheduler(detail::create(trt_multi_step_lr_create, o.get(), milestones.data(), milestones.size(), gamma)) {}
};
/** Times gamma every step. */
class ExponentialLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  ExponentialLR() = default;
  ExponentialLR(const Optimizer& o, double gamma)
      : Scheduler(detail::create(trt_exponential_lr_create, o.get(), gamma)) {}
};
/** Times factor for the first total_iters steps. */
class ConstantLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  ConstantLR() = default;
  explicit ConstantLR(const Optimizer& o, double factor = 1.0 / 3, std::int64_t total_iters = 5)
      : Scheduler(detail::create(trt_constant_lr_create, o.get(), factor, total_iters)) {}
};
/** Times a factor that goes linearly from start_factor to end_factor in total_iters steps. */
class LinearLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  LinearLR() = default;
  explicit LinearLR(const Optimizer& o, double start_factor = 1.0 / 3, double end_factor = 1,
                    std::int64_t total_iters = 5)
      : Scheduler(detail::create(trt_linear_lr_create, o.get(), start_factor, end_factor, total_iters)) {}
};
/** To zero in total_iters steps along (1 - t / total_iters)^power. */
class PolynomialLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  PolynomialLR() = default;
  explicit PolynomialLR(const Optimizer& o, std::int64_t total_iters = 5, double power = 1)
      : Scheduler(detail::create(trt_polynomial_lr_create, o.get(), total_iters, power)) {}
};
/** Along half a cosine to eta_min in t_max steps, then up again. */
class CosineAnnealingLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  CosineAnnealingLR() = default;
  CosineAnnealingLR(const Optimizer& o, std::int64_t t_max, double eta_min = 0)
      : Scheduler(detail::create(trt_cosine_annealing_lr_create, o.get(), t_max, eta_min)) {}
};
/** Options of OneCycleLR. */
class OneCycleLROptions {
 public:
  OneCycleLROptions(double max_lr, std::int64_t total_steps) : c_(detail::defaults(trt_one_cycle_options_init)) {
    c_.max_lr = max_lr;
    c_.total_steps = total_steps;
  }
  OneCycleLROptions& pct_start(double v) {
    c_.pct_start = v;
    return *this;
  }
  /** "cos" or "linear". */
  OneCycleLROptions& anneal_strategy(const std::string& v) {
    if (v != "cos" && v != "linear")
      throw Error(TRT_INVALID_ARGUMENT, "OneCycleLR: anneal_strategy is \"cos\" or \"linear\", got \"" + v + "\"");
    c_.linear = v == "linear";
    return *this;
  }
  OneCycleLROptions& cycle_momentum(bool v) {
    c_.cycle_momentum = v;
    return *this;
  }
  OneCycleLROptions& base_momentum(double v) {
    c_.base_momentum = v;
    return *this;
  }
  OneCycleLROptions& max_momentum(double v) {
    c_.max_momentum = v;
    return *this;
  }
  OneCycleLROptions& div_factor(double v) {
    c_.div_factor = v;
    return *this;
  }
  OneCycleLROptions& final_div_factor(double v) {
    c_.final_div_factor = v;
    return *this;
  }
  OneCycleLROptions& three_phase(bool v) {
    c_.three_phase = v;
    return *this;
  }
  const trt_one_cycle_options* c() const { return &c_; }

 private:
  trt_one_cycle_options c_;
};
/** Up to a peak and down again, the momentum the other way. Step after every batch. */
class OneCycleLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  OneCycleLR() = default;
  OneCycleLR(const Optimizer& o, const OneCycleLROptions& options)
      : Scheduler(detail::create(trt_one_cycle_lr_create, o.get(), options.c())) {}
  OneCycleLR(const Optimizer& o, double max_lr, std::int64_t total_steps)
      : OneCycleLR(o, OneCycleLROptions(max_lr, total_steps)) {}
};
/** Times factor(epoch), or factor(epoch, group). What it throws reaches the caller of step. */
class LambdaLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  LambdaLR() = default;
  template <typename F>
  LambdaLR(const Optimizer& o, F factor) : Scheduler(make(o, std::move(factor))) {}

 private:
  template <typename F>
  static trt_scheduler* make(const Optimizer& o, F factor) {
    const auto call = [](std::int64_t epoch, std::size_t group, double* out, void* user_data) {
      return detail::guarded([&] {
        F& f = *static_cast<F*>(user_data);
        if constexpr (std::is_invocable_v<F&, std::int64_t, std::size_t>)
          *out = static_cast<double>(f(epoch, group));
        else
          *out = static_cast<double>(f(epoch));
      });
    };
    trt_scheduler* s = nullptr;
    check(trt_lambda_lr_create(o.get(), call, new F(std::move(factor)), detail::destroy<F>, &s));
    return s;
  }
};
/** Runs one scheduler after another, changing at the milestones. */
class SequentialLR : public Scheduler {
 public:
  using Scheduler::Scheduler;
  SequentialLR() = default;
  SequentialLR(const Optimizer& o, const std::vector<Scheduler>& schedulers, IntArrayRef milestones)
      : Scheduler(make(o, schedulers, milestones)) {}

 private:
  static trt_scheduler* make(const Optimizer& o, const std::vector<Scheduler>& schedulers, IntArrayRef milestones) {
    std::vector<trt_scheduler*> raw;
    for (const Scheduler& s : schedulers) raw.push_back(s.get());
    return detail::create(trt_sequential_lr_create, o.get(), raw.data(), raw.size(), milestones.data(),
                          milestones.size());
  }
};

}  // namespace optim

using optim::Optimizer;
using optim::Scheduler;

namespace nn {
/** Scales the gradients of `params` so that their norm together is at most max_norm; gives the norm before. */
inline double clip_grad_norm_(TensorList params, double max_norm, double norm_type = 2,
                              bool error_if_nonfinite = false) {
  return detail::create(trt_clip_grad_norm, detail::handles(params).data(), params.size(), max_norm, norm_type,
                        error_if_nonfinite);
}
/** Limits every element of the gradients of `params` to [-value, value]. */
inline void clip_grad_value_(TensorList params, double value) {
  check(trt_clip_grad_value(detail::handles(params).data(), params.size(), value));
}
namespace utils {
using nn::clip_grad_norm_;
using nn::clip_grad_value_;
}  // namespace utils
}  // namespace nn

}  // namespace trt

#endif
