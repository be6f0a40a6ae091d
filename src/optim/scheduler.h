// Learning-rate schedulers. A scheduler keeps a reference to its optimizer, sets the groups' first learning rates when it is
// made, and moves them on each step(). Values are PyTorch's, computed with the same formulas in the same order of operations:
// most are recursive in the groups' current learning rate, so several schedulers can work on one optimizer.
//
// A failing step (a callback) changes nothing. Counted; externally synchronized, together with the optimizer.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "optim/optimizer.h"

namespace trt::optim {

class Scheduler : public RefCounted<Scheduler> {
 public:
  explicit Scheduler(OptimizerPtr optimizer);
  virtual ~Scheduler() = default;
  virtual const char* type_name() const = 0;

  virtual void step();
  // The number of steps since the first setting.
  int64_t last_epoch() const { return last_epoch_; }
  // What this scheduler set last for a group; throws kOutOfRange.
  double last_lr(size_t group) const;
  Optimizer& optimizer() const { return *optimizer_; }

  // "last_epoch", "base_lrs", "last_lr": the position, not the options. The learning rates themselves are the optimizer's, whose
  // state dict has them.
  virtual void write_state(StateDict& dict, const std::string& prefix) const;
  // Throws and changes nothing when an entry is missing or does not fit. `commit` false: only checks.
  virtual void read_state(const StateDict& dict, const std::string& prefix, bool commit);
  virtual size_t state_size() const { return 3; }
  StateDictPtr state_dict() const;
  void load_state_dict(const StateDict& dict);

 protected:
  friend class SequentialLr;
  // The learning rate of a group at last_epoch_, from its current one, `lr`; `initial` in the first setting.
  virtual double next_lr(size_t group, double lr, bool initial) = 0;
  // The same from the start; by default next_lr.
  virtual double closed_form(size_t group, double lr) { return next_lr(group, lr, false); }
  // The momentum (beta1) that goes with it, if the scheduler moves that.
  virtual std::optional<double> next_momentum(size_t) { return std::nullopt; }

  // To be called by the constructors of the classes: sets the first learning rates.
  void start();
  void move_to(int64_t epoch, bool initial, bool from_start);
  // Takes a step back, without touching the optimizer.
  virtual void undo() { --last_epoch_; }
  // A callback may have loaded a state of fewer groups.
  double base_lr(size_t group) const {
    TRT_CHECK_CODE(group < base_lrs_.size(), Code::kFailedPrecondition, type_name(), ": group ", group, " has no base learning rate");
    return base_lrs_[group];
  }
  // Base values for groups that were added to the optimizer since.
  void add_base_lrs();

  OptimizerPtr optimizer_;
  int64_t last_epoch_ = -1;
  std::vector<double> base_lrs_, last_lrs_;
};

using SchedulerPtr = intrusive_ptr<Scheduler>;

// The factor for the base learning rate of a group at an epoch. May throw.
using LrFunction = std::function<double(int64_t epoch, size_t group)>;

struct OneCycleOptions {
  double max_lr = 0;
  int64_t total_steps = 0;
  double pct_start = 0.3;
  bool linear = false;  // else cosine
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;
};

SchedulerPtr step_lr(OptimizerPtr optimizer, int64_t step_size, double gamma);
SchedulerPtr multi_step_lr(OptimizerPtr optimizer, IntArrayRef milestones, double gamma);
SchedulerPtr exponential_lr(OptimizerPtr optimizer, double gamma);
SchedulerPtr constant_lr(OptimizerPtr optimizer, double factor, int64_t total_iters);
SchedulerPtr linear_lr(OptimizerPtr optimizer, double start_factor, double end_factor, int64_t total_iters);
SchedulerPtr polynomial_lr(OptimizerPtr optimizer, int64_t total_iters, double power);
SchedulerPtr cosine_annealing_lr(OptimizerPtr optimizer, int64_t t_max, double eta_min);
SchedulerPtr one_cycle_lr(OptimizerPtr optimizer, const OneCycleOptions& options);
SchedulerPtr lambda_lr(OptimizerPtr optimizer, LrFunction f);
// Runs schedulers[i] until milestones[i], then the next from its own beginning. The schedulers must be of this optimizer and
// must not be stepped by anyone else.
SchedulerPtr sequential_lr(OptimizerPtr optimizer, std::vector<SchedulerPtr> schedulers, IntArrayRef milestones);

}  // namespace trt::optim
