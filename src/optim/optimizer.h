// Optimizers: parameters in groups, each with its own options, and a state for every parameter. SGD, Adam and AdamW.
//
// Note [Optimizer step]
// step() has three parts: every parameter with a gradient is checked and prepared, missing state is allocated, and one fused
// kernel runs over all tensors of a group. What can fail comes before anything is changed. float32 and float64 parameters are
// updated in place; others (float16, bfloat16, and strided ones) go through contiguous temporaries, float for the 16-bit types,
// and so is their state, which PyTorch would keep in 16 bits. Parameters' version counters move, as after any in-place change,
// and nothing is recorded.
//
// Options are numbers with names (bools are 0 or 1): "lr", "weight_decay", ... They are checked when they are set.
//
// Ownership: an optimizer keeps references to its parameters. Externally synchronized.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/state_dict.h"

namespace trt::optim {


struct OptionSpec {
  const char* name;
  double default_value;
  bool is_bool = false;
  double below = std::numeric_limits<double>::infinity();  // values are 0 <= v < below
};

struct ParameterState {
  int64_t step = 0;   // steps taken
  Tensor slots[3];    // undefined until needed; contiguous, of the dtype in which the step is computed
};

struct ParameterGroup {
  std::vector<Tensor> params;
  std::vector<ParameterState> states;  // one for each parameter
  std::vector<double> options;         // in the order of the specs
  std::optional<double> initial_lr;    // set by the first scheduler
};

struct NamedOption {
  std::string name;
  double value;
};

class Optimizer : public RefCounted<Optimizer> {
 public:
  virtual ~Optimizer() = default;
  virtual const char* type_name() const = 0;
  virtual ArrayRef<OptionSpec> specs() const = 0;

  // What groups added later have where they do not say otherwise.
  void set_defaults(ArrayRef<NamedOption> options);
  // Options that are not named have the optimizer's defaults. Parameters must be distinct floating-point leaves on the CPU, in
  // no other group, and contiguous ones must not overlap. Throws and changes nothing otherwise.
  void add_group(TensorList params, ArrayRef<NamedOption> options);
  size_t group_count() const { return groups_.size(); }
  const ParameterGroup& group(size_t index) const;
  ParameterGroup& group(size_t index);

  // Throw kNotFound for an unknown name, kOutOfRange for a group.
  double option(size_t group, std::string_view name) const;
  void set_option(size_t group, std::string_view name, double value);
  // Index in specs(), or -1.
  int option_index(std::string_view name) const;
  double lr(size_t group) const { return this->group(group).options[0]; }

  // Parameters without gradient are passed over.
  void step();
  void zero_grad(bool set_to_none);

  // "param_groups.0.lr", ..., "param_groups.0.params" (numbers of its parameters), "state.0.step", "state.0.exp_avg", ... The
  // tensors are the optimizer's own.
  StateDictPtr state_dict() const;
  // Copies. Throws, and changes nothing, unless groups and shapes agree and all names are known.
  void load_state_dict(const StateDict& dict);

  std::string to_string() const;

 protected:
  // A parameter that takes part in this step: contiguous param and grad, both of float or double.
  struct Item {
    Tensor target;  // the parameter itself
    Tensor param;   // target, or a temporary
    Tensor grad;
    ParameterState* state = nullptr;
    bool fresh[3] = {};  // slots that were made for this step
    Tensor slots[3];
  };
  // Names of the slots that a parameter of this optimizer may have.
  virtual ArrayRef<const char*> slot_names() const = 0;
  // Which of them the options ask for.
  virtual bool slot_needed(const ParameterGroup& g, size_t slot) const = 0;
  virtual bool counts_steps() const = 0;
  // Throws unless the options fit each other.
  virtual void check_options(const std::vector<double>&) const {}
  // Items are all float32 or all float64.
  virtual void run(const ParameterGroup& g, const std::vector<Item>& items) = 0;

  std::vector<ParameterGroup> groups_;
  std::vector<double> defaults_;  // in the order of the specs

 private:
  void set_checked(std::vector<double>& options, std::string_view name, double value) const;
  std::vector<Item> prepare(ParameterGroup& g);
};

using OptimizerPtr = intrusive_ptr<Optimizer>;

OptimizerPtr sgd(TensorList params, ArrayRef<NamedOption> options);
// decoupled: AdamW
OptimizerPtr adam(TensorList params, ArrayRef<NamedOption> options, bool decoupled);

// Scales all gradients so that the norm of all of them together is at most max_norm; returns that norm before. norm_type is
// positive, infinity for the largest magnitude. With error_if_nonfinite a norm that is not finite throws.
double clip_grad_norm_(TensorList params, double max_norm, double norm_type, bool error_if_nonfinite);
// Limits every element of every gradient to [-value, value].
void clip_grad_value_(TensorList params, double value);

}  // namespace trt::optim
