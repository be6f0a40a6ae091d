#include "optim/optimizer.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/meta.h"
#include "base/repr.h"
#include "core/modes.h"
#include "iter/copy.h"

namespace trt::optim {

namespace {

// The dtype in which a parameter's step is computed and its state kept.
DType compute_dtype(DType t) { return is_reduced_floating(t) ? DType::Float32 : t; }

struct Range {
  const char* begin;
  const char* end;
  size_t number;
};

// Kernels run over all tensors at once, so contiguous parameters must be apart in memory.
void check_no_overlap(const std::vector<Tensor>& params) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& t = params[i];
    if (!t.is_contiguous() || t.numel() == 0) continue;
    const char* p = static_cast<const char*>(t.data());
    ranges.push_back({p, p + static_cast<size_t>(t.numel()) * t.itemsize(), i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i)
    TRT_CHECK(ranges[i - 1].end <= ranges[i].begin, "optimizer: two parameters overlap in memory: ", params[ranges[i - 1].number], " and ",
              params[ranges[i].number]);
}

}  // namespace

const ParameterGroup& Optimizer::group(size_t index) const {
  TRT_CHECK_CODE(index < groups_.size(), Code::kOutOfRange, type_name(), ": there is no parameter group ", index, ", only ", groups_.size());
  return groups_[index];
}
ParameterGroup& Optimizer::group(size_t index) { return const_cast<ParameterGroup&>(std::as_const(*this).group(index)); }

int Optimizer::option_index(std::string_view name) const {
  const auto all = specs();
  for (size_t i = 0; i < all.size(); ++i)
    if (name == all[i].name) return static_cast<int>(i);
  return -1;
}

void Optimizer::set_checked(std::vector<double>& options, std::string_view name, double value) const {
  const int i = option_index(name);
  if (i < 0) {
    std::string known;
    for (const auto& s : specs()) known += str_cat(known.empty() ? "" : ", ", s.name);
    throw_error(Code::kNotFound, str_cat(type_name(), ": there is no option '", name, "', only ", known));
  }
  const OptionSpec& spec = specs()[static_cast<size_t>(i)];
  if (spec.is_bool) TRT_CHECK(value == 0 || value == 1, type_name(), ": option '", name, "' must be 0 or 1, got ", value);
  TRT_CHECK(value >= 0 && value < spec.below, type_name(), ": option '", name, "' must be in [0, ", spec.below, "), got ", value);
  options[static_cast<size_t>(i)] = value;
}

double Optimizer::option(size_t group, std::string_view name) const {
  const int i = option_index(name);
  TRT_CHECK_CODE(i >= 0, Code::kNotFound, type_name(), ": there is no option '", name, "'");
  return this->group(group).options[static_cast<size_t>(i)];
}

void Optimizer::set_option(size_t group, std::string_view name, double value) {
  ParameterGroup& g = this->group(group);
  std::vector<double> options = g.options;
  set_checked(options, name, value);
  check_options(options);
  g.options = std::move(options);
}

void Optimizer::set_defaults(ArrayRef<NamedOption> options) {
  std::vector<double> values;
  for (const auto& s : specs()) values.push_back(s.default_value);
  for (const auto& o : options) set_checked(values, o.name, o.value);
  check_options(values);
  defaults_ = std::move(values);
}

void Optimizer::add_group(TensorList params, ArrayRef<NamedOption> options) {
  TRT_CHECK(!params.empty(), type_name(), ": a parameter group needs at least one parameter");
  ParameterGroup g;
  g.options = defaults_;
  for (const auto& o : options) set_checked(g.options, o.name, o.value);
  check_options(g.options);
  std::unordered_set<const TensorImpl*> known;
  std::vector<Tensor> all;
  for (const auto& other : groups_)
    for (const auto& p : other.params) {
      known.insert(p.impl());
      all.push_back(p);
    }
  for (const Tensor& p : params) {
    TRT_CHECK(p.defined(), type_name(), ": a parameter is none");
    TRT_CHECK(is_floating(p.dtype()), type_name(), ": a parameter must have a floating-point dtype, got ", p);
    TRT_CHECK_CODE(p.device().is_cpu(), Code::kNotSupported, type_name(), ": parameters on ", p.device(), " are not supported");
    TRT_CHECK(autograd::is_leaf(p), type_name(), ": a parameter must be a leaf of the graph, got ", p);
    TRT_CHECK(known.insert(p.impl()).second, type_name(), ": the parameter ", p, " is given twice");
    all.push_back(p);
  }
  check_no_overlap(all);
  g.params = params.vec();
  g.states.resize(g.params.size());
  groups_.push_back(std::move(g));
}

std::vector<Optimizer::Item> Optimizer::prepare(ParameterGroup& g) {
  std::vector<Item> items;
  items.reserve(g.params.size());
  const size_t slots = slot_names().size();
  for (size_t i = 0; i < g.params.size(); ++i) {
    const Tensor& p = g.params[i];
    const Tensor grad = autograd::grad_of(p);
    if (!grad.defined()) continue;
    TRT_CHECK(grad.sizes() == p.sizes() && grad.dtype() == p.dtype() && grad.device() == p.device(), type_name(), ": the gradient ", grad,
              " does not fit its parameter ", p);
    check_may_change(p, type_name());
    const DType dtype = compute_dtype(p.dtype());
    Item& item = items.emplace_back();
    item.target = p;
    item.param = contiguous_tensor(p, dtype);
    item.grad = contiguous_tensor(grad, dtype);
    item.state = &g.states[i];
    for (size_t s = 0; s < slots; ++s) {
      const Tensor& have = item.state->slots[s];
      item.fresh[s] = !have.defined();
      if (have.defined()) {
        TRT_CHECK(have.sizes() == p.sizes(), type_name(), ": the shape of a parameter changed from ", have.sizes(), " to ", p.sizes());
        item.slots[s] = contiguous_tensor(have, dtype);
      } else if (slot_needed(g, s)) {
        item.slots[s] = empty_tensor(p.sizes(), dtype);
        fill_tensor(item.slots[s], 0);
      }
    }
  }
  return items;
}

void Optimizer::step() {
  std::vector<std::vector<Item>> work;
  for (auto& g : groups_) work.push_back(prepare(g));
  for (size_t i = 0; i < groups_.size(); ++i) {
    auto& items = work[i];
    for (Item& item : items) {
      for (size_t s = 0; s < 3; ++s) item.state->slots[s] = item.slots[s];
      if (counts_steps()) ++item.state->step;
    }
    // Kernels take tensors of one dtype.
    const auto middle = std::stable_partition(items.begin(), items.end(), [](const Item& item) { return item.param.dtype() == DType::Float32; });
    std::vector<Item> doubles(std::make_move_iterator(middle), std::make_move_iterator(items.end()));
    items.erase(middle, items.end());
    for (const auto* list : {&items, &doubles}) {
      if (list->empty()) continue;
      run(groups_[i], *list);
      for (const Item& item : *list) {
        if (!item.param.is_same(item.target)) {
          Tensor target = item.target;
          copy_tensor(target, item.param);
        }
        item.target.impl()->storage()->bump_version();
      }
    }
  }
}

void Optimizer::zero_grad(bool set_to_none) {
  std::vector<Tensor> dropped;  // freed last: their memory may be the host's
  // Nothing is zeroed unless all can be.
  for (const auto& g : groups_)
    for (const Tensor& p : g.params)
      if (const Tensor grad = autograd::grad_of(p); grad.defined() && !set_to_none) check_may_change(grad, "zero_grad");
  for (auto& g : groups_)
    for (const Tensor& p : g.params) {
      Tensor grad = autograd::grad_of(p);
      if (!grad.defined()) continue;
      if (set_to_none) {
        dropped.push_back(grad);
        autograd::set_grad(p, Tensor());
        continue;
      }
      if (grad.impl()->autograd()) {
        grad = autograd::detach(grad);
        autograd::set_grad(p, grad);
      }
      fill_tensor(grad, 0);
      grad.impl()->storage()->bump_version();
    }
}

StateDictPtr Optimizer::state_dict() const {
  auto dict = make_intrusive<StateDict>();
  int64_t number = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const ParameterGroup& g = groups_[i];
    const std::string prefix = str_cat("param_groups.", i, ".");
    const auto all = specs();
    for (size_t o = 0; o < all.size(); ++o) {
      if (all[o].is_bool) dict->set_number(prefix + all[o].name, g.options[o] != 0);
      else dict->set_number(prefix + all[o].name, g.options[o]);
    }
    if (g.initial_lr) dict->set_number(prefix + "initial_lr", *g.initial_lr);
    Tensor numbers = empty_tensor({static_cast<int64_t>(g.params.size())}, DType::Int64);
    for (size_t p = 0; p < g.params.size(); ++p) numbers.data_ptr<int64_t>()[p] = number + static_cast<int64_t>(p);
    dict->set(prefix + "params", numbers);
    number += static_cast<int64_t>(g.params.size());
  }
  number = 0;
  for (const auto& g : groups_)
    for (const auto& state : g.states) {
      const std::string prefix = str_cat("state.", number++, ".");
      if (state.step > 0) dict->set_number(prefix + "step", state.step);
      for (size_t s = 0; s < slot_names().size(); ++s)
        if (state.slots[s].defined()) dict->set(prefix + slot_names()[s], state.slots[s]);
    }
  return dict;
}

void Optimizer::load_state_dict(const StateDict& dict) {
  std::vector<ParameterGroup> fresh;
  std::unordered_set<std::string> known;
  const auto find = [&](const std::string& name) {
    known.insert(name);
    return dict.find(name);
  };
  int64_t number = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    ParameterGroup g;
    g.params = groups_[i].params;
    g.states.resize(g.params.size());
    g.options = groups_[i].options;
    const std::string prefix = str_cat("param_groups.", i, ".");
    for (const auto& spec : specs()) {
      const std::string name = prefix + spec.name;
      const Tensor* value = find(name);
      TRT_CHECK(value, type_name(), ": '", name, "' is missing; is it the state of another optimizer, or are there fewer groups?");
      set_checked(g.options, spec.name, number_of(*value, name));
    }
    check_options(g.options);
    if (const Tensor* value = find(prefix + "initial_lr")) g.initial_lr = number_of(*value, prefix + "initial_lr");
    const Tensor* params = find(prefix + "params");
    TRT_CHECK(params && params->numel() == static_cast<int64_t>(g.params.size()), type_name(), ": group ", i, " has ", g.params.size(),
              " parameters, the state dict ", params ? params->numel() : 0);
    for (size_t p = 0; p < g.params.size(); ++p, ++number) {
      const std::string state_prefix = str_cat("state.", number, ".");
      ParameterState& state = g.states[p];
      const Tensor* step = counts_steps() ? find(state_prefix + "step") : nullptr;
      if (step) {
        const double steps = number_of(*step, state_prefix + "step");
        TRT_CHECK(steps >= 0 && steps < 9e15 && steps == static_cast<double>(static_cast<int64_t>(steps)), type_name(), ": '", state_prefix,
                  "step' must be a count, got ", steps);
        state.step = static_cast<int64_t>(steps);
      }
      for (size_t s = 0; s < slot_names().size(); ++s) {
        const std::string name = state_prefix + slot_names()[s];
        const Tensor* value = find(name);
        TRT_CHECK(value || !step || !slot_needed(g, s), type_name(), ": '", name, "' is missing");
        if (!value) continue;
        TRT_CHECK(value->sizes() == g.params[p].sizes() && value->device().is_cpu(), type_name(), ": '", name, "' is ", *value,
                  ", its parameter ", g.params[p]);
        TRT_CHECK(step || !counts_steps(), type_name(), ": '", state_prefix, "step' is missing");
        state.slots[s] = empty_tensor(value->sizes(), compute_dtype(g.params[p].dtype()));
        copy_tensor(state.slots[s], *value);
      }
    }
    fresh.push_back(std::move(g));
  }
  std::string unknown;
  for (const auto& e : dict.entries())
    if (!known.count(e.name)) unknown += str_cat(unknown.empty() ? "" : ", ", e.name);
  TRT_CHECK(unknown.empty(), type_name(), ": the optimizer has no place for ", unknown);
  groups_ = std::move(fresh);
}

std::string Optimizer::to_string() const {
  std::string s = str_cat(type_name(), " (");
  for (size_t i = 0; i < groups_.size(); ++i) {
    s += str_cat("\nParameter Group ", i, "\n");
    const auto all = specs();
    for (size_t o = 0; o < all.size(); ++o) {
      const double v = groups_[i].options[o];
      s += str_cat("    ", all[o].name, ": ", all[o].is_bool ? std::string(python_bool(v != 0)) : python_float(v), "\n");
    }
  }
  return s + ")";
}

}  // namespace trt::optim
