// SGD, Adam, AdamW: their options and states, over the fused kernels.
#include "kernels/cpu/optim.h"
#include "optim/optimizer.h"

namespace trt::optim {

namespace {

class Sgd final : public Optimizer {
 public:
  enum Option { kLr, kMomentum, kDampening, kWeightDecay, kNesterov, kMaximize };
  const char* type_name() const override { return "SGD"; }
  ArrayRef<OptionSpec> specs() const override {
    static constexpr OptionSpec kSpecs[] = {{"lr", 1e-3},          {"momentum", 0}, {"dampening", 0},
                                            {"weight_decay", 0},   {"nesterov", 0, true}, {"maximize", 0, true}};
    return {kSpecs, std::size(kSpecs)};
  }

 protected:
  ArrayRef<const char*> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum_buffer"};
    return {kNames, 1};
  }
  bool slot_needed(const ParameterGroup& g, size_t) const override { return g.options[kMomentum] != 0; }
  bool counts_steps() const override { return false; }
  void check_options(const std::vector<double>& o) const override {
    TRT_CHECK(!o[kNesterov] || (o[kMomentum] > 0 && o[kDampening] == 0), "SGD: nesterov needs a momentum and no dampening, got momentum ", o[kMomentum],
              ", dampening ", o[kDampening]);
  }
  void run(const ParameterGroup& g, const std::vector<Item>& items) override {
    dispatch_float(items[0].param.dtype(), "SGD", [&]<typename T>() {
      const auto& o = g.options;
      std::vector<cpu::SgdTensor<T>> list;
      list.reserve(items.size());
      for (const Item& item : items)
        list.push_back({item.param.data_ptr<T>(), item.grad.data_ptr<T>(), o[kMomentum] != 0 ? item.slots[0].data_ptr<T>() : nullptr, item.param.numel(),
                        item.fresh[0]});
      cpu::sgd_step(list.data(), static_cast<int64_t>(list.size()),
                    {.lr = o[kLr], .momentum = o[kMomentum], .dampening = o[kDampening], .weight_decay = o[kWeightDecay],
                     .nesterov = o[kNesterov] != 0, .maximize = o[kMaximize] != 0});
    });
  }
};

class Adam final : public Optimizer {
 public:
  enum Option { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kAmsgrad, kMaximize };
  explicit Adam(bool decoupled) : decoupled_(decoupled) {}
  const char* type_name() const override { return decoupled_ ? "AdamW" : "Adam"; }
  ArrayRef<OptionSpec> specs() const override {
    static constexpr OptionSpec kAdam[] = {{"lr", 1e-3},        {"beta1", 0.9, false, 1},  {"beta2", 0.999, false, 1}, {"eps", 1e-8},
                                           {"weight_decay", 0}, {"amsgrad", 0, true}, {"maximize", 0, true}};
    static constexpr OptionSpec kAdamW[] = {{"lr", 1e-3},           {"beta1", 0.9, false, 1},  {"beta2", 0.999, false, 1}, {"eps", 1e-8},
                                            {"weight_decay", 1e-2}, {"amsgrad", 0, true}, {"maximize", 0, true}};
    return {decoupled_ ? kAdamW : kAdam, std::size(kAdam)};
  }

 protected:
  ArrayRef<const char*> slot_names() const override {
    static constexpr const char* kNames[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    return {kNames, 3};
  }
  bool slot_needed(const ParameterGroup& g, size_t slot) const override { return slot < 2 || g.options[kAmsgrad] != 0; }
  bool counts_steps() const override { return true; }
  void run(const ParameterGroup& g, const std::vector<Item>& items) override {
    dispatch_float(items[0].param.dtype(), type_name(), [&]<typename T>() {
      const auto& o = g.options;
      std::vector<cpu::AdamTensor<T>> list;
      list.reserve(items.size());
      for (const Item& item : items)
        list.push_back({item.param.data_ptr<T>(), item.grad.data_ptr<T>(), item.slots[0].data_ptr<T>(), item.slots[1].data_ptr<T>(),
                        o[kAmsgrad] != 0 ? item.slots[2].data_ptr<T>() : nullptr, item.param.numel(), item.state->step});
      cpu::adam_step(list.data(), static_cast<int64_t>(list.size()),
                     {.lr = o[kLr], .beta1 = o[kBeta1], .beta2 = o[kBeta2], .eps = o[kEps], .weight_decay = o[kWeightDecay], .decoupled = decoupled_,
                      .amsgrad = o[kAmsgrad] != 0, .maximize = o[kMaximize] != 0});
    });
  }

 private:
  bool decoupled_;
};

OptimizerPtr with_first_group(intrusive_ptr<Optimizer> optimizer, TensorList params, ArrayRef<NamedOption> options) {
  optimizer->set_defaults(options);
  optimizer->add_group(params, {});
  return optimizer;
}

}  // namespace

OptimizerPtr sgd(TensorList params, ArrayRef<NamedOption> options) { return with_first_group(make_intrusive<Sgd>(), params, options); }
OptimizerPtr adam(TensorList params, ArrayRef<NamedOption> options, bool decoupled) {
  return with_first_group(make_intrusive<Adam>(decoupled), params, options);
}

}  // namespace trt::optim
