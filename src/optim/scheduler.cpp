// What all schedulers share, and SequentialLR.
#include "optim/scheduler.h"

#include <algorithm>
#include <cmath>

namespace trt::optim {

namespace {

Tensor to_tensor(const std::vector<double>& values) {
  Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::Float64);
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t;
}

std::vector<double> numbers(const StateDict& dict, const std::string& name, size_t at_most) {
  const Tensor& t = dict.at(name);
  TRT_CHECK(t.dtype() == DType::Float64 && t.dim() == 1 && t.is_contiguous() && t.device().is_cpu() && static_cast<size_t>(t.numel()) <= at_most,
            "scheduler: '", name, "' must be at most ", at_most, " numbers of float64, got ", t);
  return {t.data_ptr<double>(), t.data_ptr<double>() + t.numel()};
}

}  // namespace

Scheduler::Scheduler(OptimizerPtr optimizer) : optimizer_(std::move(optimizer)) { TRT_CHECK(optimizer_, "scheduler: the optimizer is none"); }

void Scheduler::add_base_lrs() {
  for (size_t g = base_lrs_.size(); g < optimizer_->group_count(); ++g) {
    ParameterGroup& group = optimizer_->group(g);
    if (!group.initial_lr) group.initial_lr = group.options[0];
    base_lrs_.push_back(*group.initial_lr);
  }
}

void Scheduler::start() {
  std::vector<std::optional<double>> before;
  for (size_t g = 0; g < optimizer_->group_count(); ++g) before.push_back(optimizer_->group(g).initial_lr);
  try {
    move_to(0, true, false);
  } catch (...) {
    for (size_t g = 0; g < before.size(); ++g) optimizer_->group(g).initial_lr = before[g];
    throw;
  }
}

void Scheduler::step() { move_to(last_epoch_ + 1, false, false); }

void Scheduler::move_to(int64_t epoch, bool initial, bool from_start) {
  add_base_lrs();
  const int64_t before = last_epoch_;
  last_epoch_ = epoch;
  struct Values {
    double lr;
    std::optional<double> momentum;
  };
  std::vector<Values> values;
  try {
    // A callback may add groups: they begin with the next step.
    for (size_t g = 0, groups = optimizer_->group_count(); g < groups; ++g) {
      const double lr = optimizer_->lr(g);
      const double next = from_start ? closed_form(g, lr) : next_lr(g, lr, initial);
      TRT_CHECK(std::isfinite(next), type_name(), ": the learning rate at step ", epoch, " would be ", next);
      values.push_back({next, next_momentum(g)});
    }
    last_lrs_.resize(values.size());
  } catch (...) {
    last_epoch_ = before;
    throw;
  }
  const int momentum_index = std::max(optimizer_->option_index("momentum"), optimizer_->option_index("beta1"));
  for (size_t g = 0; g < values.size(); ++g) {
    // Set past the checks of set_option: a schedule may pass below zero by a rounding error.
    auto& options = optimizer_->group(g).options;
    options[0] = last_lrs_[g] = values[g].lr;
    if (values[g].momentum && momentum_index >= 0) options[static_cast<size_t>(momentum_index)] = *values[g].momentum;
  }
}

double Scheduler::last_lr(size_t group) const {
  TRT_CHECK_CODE(group < last_lrs_.size(), Code::kOutOfRange, type_name(), ": there is no parameter group ", group, ", only ", last_lrs_.size());
  return last_lrs_[group];
}

void Scheduler::write_state(StateDict& dict, const std::string& prefix) const {
  dict.set_number(prefix + "last_epoch", last_epoch_);
  dict.set(prefix + "base_lrs", to_tensor(base_lrs_));
  dict.set(prefix + "last_lr", to_tensor(last_lrs_));
}

void Scheduler::read_state(const StateDict& dict, const std::string& prefix, bool commit) {
  const double epoch = dict.number(prefix + "last_epoch");
  TRT_CHECK(epoch >= -1 && epoch < 9e15, type_name(), ": '", prefix, "last_epoch' must be a count, got ", epoch);
  const size_t groups = optimizer_->group_count();
  auto base = numbers(dict, prefix + "base_lrs", groups), last = numbers(dict, prefix + "last_lr", groups);
  if (!commit) return;
  last_epoch_ = static_cast<int64_t>(epoch);
  base_lrs_ = std::move(base);
  last_lrs_ = std::move(last);
}

StateDictPtr Scheduler::state_dict() const {
  auto dict = make_intrusive<StateDict>();
  write_state(*dict, {});
  return dict;
}

void Scheduler::load_state_dict(const StateDict& dict) {
  TRT_CHECK(dict.size() == state_size(), type_name(), ": ", state_size(), " entries are needed, got ", dict.size(),
            "; is it the state of another scheduler?");
  read_state(dict, {}, false);
  read_state(dict, {}, true);
}

class SequentialLr final : public Scheduler {
 public:
  SequentialLr(OptimizerPtr optimizer, std::vector<SchedulerPtr> schedulers, IntArrayRef milestones)
      : Scheduler(std::move(optimizer)), schedulers_(std::move(schedulers)), milestones_(milestones.vec()) {
    TRT_CHECK(!schedulers_.empty() && milestones_.size() == schedulers_.size() - 1, "SequentialLR: ", schedulers_.size(), " schedulers need one milestone fewer, got ",
              milestones_.size());
    TRT_CHECK(std::is_sorted(milestones_.begin(), milestones_.end()) && (milestones_.empty() || milestones_[0] > 0),
              "SequentialLR: milestones must be positive and in order, got ", IntArrayRef(milestones_));
    for (size_t i = 0; i < schedulers_.size(); ++i) {
      TRT_CHECK(schedulers_[i], "SequentialLR: scheduler ", i, " is none");
      TRT_CHECK(&schedulers_[i]->optimizer() == optimizer_.get(), "SequentialLR: scheduler ", i, " is of another optimizer");
      TRT_CHECK_CODE(!dynamic_cast<SequentialLr*>(schedulers_[i].get()), Code::kNotSupported, "SequentialLR: schedulers in sequence cannot be nested");
      for (size_t j = 0; j < i; ++j) TRT_CHECK(!(schedulers_[i] == schedulers_[j]), "SequentialLR: scheduler ", i, " is given twice");
    }
    // The schedulers' own first settings are taken back; the first one's is made again.
    add_base_lrs();
    for (size_t g = 0; g < optimizer_->group_count(); ++g) optimizer_->group(g).options[0] = *optimizer_->group(g).initial_lr;
    for (const auto& s : schedulers_) s->undo();
    schedulers_[0]->move_to(0, true, false);
    last_epoch_ = 0;
    last_lrs_ = schedulers_[0]->last_lrs_;
  }
  const char* type_name() const override { return "SequentialLR"; }

  void step() override {
    const int64_t epoch = last_epoch_ + 1;
    const auto index = static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), epoch) - milestones_.begin());
    Scheduler& s = *schedulers_[index];
    if (index > 0 && milestones_[index - 1] == epoch) s.move_to(0, false, true);
    else s.step();
    last_epoch_ = epoch;
    last_lrs_ = s.last_lrs_;
  }
  void write_state(StateDict& dict, const std::string& prefix) const override {
    Scheduler::write_state(dict, prefix);
    for (size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->write_state(dict, str_cat(prefix, "schedulers.", i, "."));
  }
  void read_state(const StateDict& dict, const std::string& prefix, bool commit) override {
    for (size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->read_state(dict, str_cat(prefix, "schedulers.", i, "."), commit);
    Scheduler::read_state(dict, prefix, commit);
  }
  size_t state_size() const override {
    size_t n = Scheduler::state_size();
    for (const auto& s : schedulers_) n += s->state_size();
    return n;
  }

 protected:
  double next_lr(size_t, double lr, bool) override { return lr; }
  void undo() override {
    for (const auto& s : schedulers_) s->undo();
  }

 private:
  std::vector<SchedulerPtr> schedulers_;
  std::vector<int64_t> milestones_;
};

SchedulerPtr sequential_lr(OptimizerPtr optimizer, std::vector<SchedulerPtr> schedulers, IntArrayRef milestones) {
  return make_intrusive<SequentialLr>(std::move(optimizer), std::move(schedulers), milestones);
}

}  // namespace trt::optim
