// optim.h: optimizers, schedulers, clipping.
#include "tensorrt/optim.h"

#include <memory>

#include "base/cancel.h"
#include "capi/host_callback.h"
#include "capi/nn_handles.h"
#include "optim/scheduler.h"

using namespace trt;
using namespace trt::capi;

namespace {

optim::Optimizer* impl(trt_optimizer* o) { return reinterpret_cast<optim::Optimizer*>(o); }
optim::Scheduler* impl(trt_scheduler* s) { return reinterpret_cast<optim::Scheduler*>(s); }

// Both with a reference of their own: the host may release its handle in a callback that the call makes.
optim::OptimizerPtr checked_optimizer(const trt_optimizer* o) {
  if (!o) throw_null_argument("optimizer");
  return optim::OptimizerPtr(impl(const_cast<trt_optimizer*>(o)));
}
optim::SchedulerPtr checked_scheduler(const trt_scheduler* s, const char* name = "scheduler") {
  if (!s) throw_null_argument(name);
  return optim::SchedulerPtr(impl(const_cast<trt_scheduler*>(s)));
}

template <typename F>
trt_status* create_optimizer(const char* name, trt_optimizer** out, const F& f) {
  return guard(name, [&] {
    require_out(out, "out");
    *out = reinterpret_cast<trt_optimizer*>(static_cast<optim::OptimizerPtr>(f()).detach());
  });
}

// f makes the scheduler of an optimizer.
template <typename F>
trt_status* create_scheduler(const char* name, trt_optimizer* optimizer, trt_scheduler** out, const F& f) {
  return guard(name, [&] {
    require_out(out, "out");
    *out = reinterpret_cast<trt_scheduler*>(static_cast<optim::SchedulerPtr>(f(checked_optimizer(optimizer))).detach());
  });
}

std::vector<optim::NamedOption> adam_options(const trt_adam_options& o) {
  return {{"lr", o.lr}, {"beta1", o.beta1}, {"beta2", o.beta2}, {"eps", o.eps}, {"weight_decay", o.weight_decay}, {"amsgrad", double(o.amsgrad)}, {"maximize", double(o.maximize)}};
}

TensorListArg parameter_list(const trt_tensor* const* params, size_t count) { return TensorListArg(params, count, "params", false); }

}  // namespace

extern "C" {

TRT_EXPORT void trt_sgd_options_init(trt_sgd_options* options) {
  if (options) *options = {sizeof *options, 1e-3, 0, 0, false, false, 0};
}
TRT_EXPORT void trt_adam_options_init(trt_adam_options* options) {
  if (options) *options = {sizeof *options, 1e-3, 0.9, 0.999, 1e-8, false, false, 0};
}
TRT_EXPORT void trt_adamw_options_init(trt_adam_options* options) {
  if (options) *options = {sizeof *options, 1e-3, 0.9, 0.999, 1e-8, false, false, 1e-2};
}
TRT_EXPORT void trt_one_cycle_options_init(trt_one_cycle_options* options) {
  if (options) *options = {sizeof *options, 0, 0, false, true, false, 0.3, 0.85, 0.95, 25, 1e4};
}

TRT_EXPORT trt_status* trt_sgd_create(const trt_tensor* const* params, size_t count, const trt_sgd_options* options, trt_optimizer** out) {
  return create_optimizer("trt_sgd_create", out, [&] {
    const auto o = read_options(options, trt_sgd_options_init);
    const std::vector<optim::NamedOption> list = {{"lr", o.lr},           {"momentum", o.momentum}, {"dampening", o.dampening}, {"weight_decay", o.weight_decay},
                                                  {"nesterov", double(o.nesterov)}, {"maximize", double(o.maximize)}};
    return optim::sgd(parameter_list(params, count), list);
  });
}
TRT_EXPORT trt_status* trt_adam_create(const trt_tensor* const* params, size_t count, const trt_adam_options* options, trt_optimizer** out) {
  return create_optimizer("trt_adam_create", out, [&] {
    return optim::adam(parameter_list(params, count), adam_options(read_options(options, trt_adam_options_init)), false);
  });
}
TRT_EXPORT trt_status* trt_adamw_create(const trt_tensor* const* params, size_t count, const trt_adam_options* options, trt_optimizer** out) {
  return create_optimizer("trt_adamw_create", out, [&] {
    return optim::adam(parameter_list(params, count), adam_options(read_options(options, trt_adamw_options_init)), true);
  });
}

TRT_EXPORT trt_optimizer* trt_optimizer_retain(trt_optimizer* optimizer) {
  if (optimizer) impl(optimizer)->retain();
  return optimizer;
}
TRT_EXPORT void trt_optimizer_release(trt_optimizer* optimizer) {
  if (optimizer) impl(optimizer)->release();
}
TRT_EXPORT const char* trt_optimizer_type_name(const trt_optimizer* optimizer) { return optimizer ? checked_optimizer(optimizer)->type_name() : nullptr; }
TRT_EXPORT trt_status* trt_optimizer_to_string(const trt_optimizer* optimizer, char** out) {
  return guard("trt_optimizer_to_string", [&] {
    require_out(out, "out");
    *out = copy_string(checked_optimizer(optimizer)->to_string());
  });
}
TRT_EXPORT trt_status* trt_optimizer_add_group(trt_optimizer* optimizer, const trt_tensor* const* params, size_t count, const char* const* names,
                                               const double* values, size_t option_count) {
  return guard("trt_optimizer_add_group", [&] {
    const auto name_list = list_argument(names, option_count, "names");
    const auto value_list = list_argument(values, option_count, "values");
    std::vector<optim::NamedOption> options;
    for (size_t i = 0; i < option_count; ++i) {
      check_element(name_list[i], "names", i);
      options.push_back({name_list[i], value_list[i]});
    }
    checked_optimizer(optimizer)->add_group(parameter_list(params, count), options);
  });
}
TRT_EXPORT size_t trt_optimizer_group_count(const trt_optimizer* optimizer) { return optimizer ? checked_optimizer(optimizer)->group_count() : 0; }
TRT_EXPORT trt_status* trt_optimizer_group_parameters(const trt_optimizer* optimizer, size_t group, trt_tensor_list** out) {
  return guard("trt_optimizer_group_parameters", [&] {
    require_out(out, "out");
    give(std::vector<Tensor>(checked_optimizer(optimizer)->group(group).params), out);
  });
}
TRT_EXPORT trt_status* trt_optimizer_get_option(const trt_optimizer* optimizer, size_t group, const char* name, double* out) {
  return guard("trt_optimizer_get_option", [&] {
    require_out(out, "out");
    *out = checked_optimizer(optimizer)->option(group, string(name, "name"));
  });
}
TRT_EXPORT trt_status* trt_optimizer_set_option(trt_optimizer* optimizer, size_t group, const char* name, double value) {
  return guard("trt_optimizer_set_option", [&] { checked_optimizer(optimizer)->set_option(group, string(name, "name"), value); });
}
TRT_EXPORT trt_status* trt_optimizer_get_lr(const trt_optimizer* optimizer, size_t group, double* out) {
  return guard("trt_optimizer_get_lr", [&] {
    require_out(out, "out");
    *out = checked_optimizer(optimizer)->option(group, "lr");
  });
}
TRT_EXPORT trt_status* trt_optimizer_set_lr(trt_optimizer* optimizer, double lr) {
  return guard("trt_optimizer_set_lr", [&] {
    // The first group refuses what the others would.
    const optim::OptimizerPtr o = checked_optimizer(optimizer);
    for (size_t g = 0; g < o->group_count(); ++g) o->set_option(g, "lr", lr);
  });
}
TRT_EXPORT trt_status* trt_optimizer_step(trt_optimizer* optimizer) {
  return guard("trt_optimizer_step", [&] {
    check_cancelled();
    checked_optimizer(optimizer)->step();
  });
}
TRT_EXPORT trt_status* trt_optimizer_zero_grad(trt_optimizer* optimizer, bool set_to_none) {
  return guard("trt_optimizer_zero_grad", [&] { checked_optimizer(optimizer)->zero_grad(set_to_none); });
}
TRT_EXPORT trt_status* trt_optimizer_state_dict(const trt_optimizer* optimizer, trt_state_dict** out) {
  return guard("trt_optimizer_state_dict", [&] {
    require_out(out, "out");
    *out = handle(checked_optimizer(optimizer)->state_dict().detach());
  });
}
TRT_EXPORT trt_status* trt_optimizer_load_state_dict(trt_optimizer* optimizer, const trt_state_dict* dict) {
  return guard("trt_optimizer_load_state_dict", [&] { checked_optimizer(optimizer)->load_state_dict(*checked(dict)); });
}

TRT_EXPORT trt_status* trt_clip_grad_norm(const trt_tensor* const* params, size_t count, double max_norm, double norm_type, bool error_if_nonfinite,
                                          double* out_norm) {
  return guard("trt_clip_grad_norm", [&] {
    const double norm = optim::clip_grad_norm_(parameter_list(params, count), max_norm, norm_type, error_if_nonfinite);
    if (out_norm) *out_norm = norm;
  });
}
TRT_EXPORT trt_status* trt_clip_grad_value(const trt_tensor* const* params, size_t count, double value) {
  return guard("trt_clip_grad_value", [&] { optim::clip_grad_value_(parameter_list(params, count), value); });
}

TRT_EXPORT trt_scheduler* trt_scheduler_retain(trt_scheduler* scheduler) {
  if (scheduler) impl(scheduler)->retain();
  return scheduler;
}
TRT_EXPORT void trt_scheduler_release(trt_scheduler* scheduler) {
  if (scheduler) impl(scheduler)->release();
}
TRT_EXPORT const char* trt_scheduler_type_name(const trt_scheduler* scheduler) { return scheduler ? checked_scheduler(scheduler)->type_name() : nullptr; }
TRT_EXPORT trt_status* trt_scheduler_step(trt_scheduler* scheduler) {
  return guard("trt_scheduler_step", [&] { checked_scheduler(scheduler)->step(); });
}
TRT_EXPORT int64_t trt_scheduler_last_epoch(const trt_scheduler* scheduler) { return scheduler ? checked_scheduler(scheduler)->last_epoch() : 0; }
TRT_EXPORT trt_status* trt_scheduler_last_lr(const trt_scheduler* scheduler, size_t group, double* out) {
  return guard("trt_scheduler_last_lr", [&] {
    require_out(out, "out");
    *out = checked_scheduler(scheduler)->last_lr(group);
  });
}
TRT_EXPORT trt_status* trt_scheduler_state_dict(const trt_scheduler* scheduler, trt_state_dict** out) {
  return guard("trt_scheduler_state_dict", [&] {
    require_out(out, "out");
    *out = handle(checked_scheduler(scheduler)->state_dict().detach());
  });
}
TRT_EXPORT trt_status* trt_scheduler_load_state_dict(trt_scheduler* scheduler, const trt_state_dict* dict) {
  return guard("trt_scheduler_load_state_dict", [&] { checked_scheduler(scheduler)->load_state_dict(*checked(dict)); });
}

TRT_EXPORT trt_status* trt_step_lr_create(trt_optimizer* optimizer, int64_t step_size, double gamma, trt_scheduler** out) {
  return create_scheduler("trt_step_lr_create", optimizer, out, [&](auto o) { return optim::step_lr(o, step_size, gamma); });
}
TRT_EXPORT trt_status* trt_multi_step_lr_create(trt_optimizer* optimizer, const int64_t* milestones, size_t count, double gamma, trt_scheduler** out) {
  return create_scheduler("trt_multi_step_lr_create", optimizer, out,
                          [&](auto o) { return optim::multi_step_lr(o, int_list(milestones, count, "milestones"), gamma); });
}
TRT_EXPORT trt_status* trt_exponential_lr_create(trt_optimizer* optimizer, double gamma, trt_scheduler** out) {
  return create_scheduler("trt_exponential_lr_create", optimizer, out, [&](auto o) { return optim::exponential_lr(o, gamma); });
}
TRT_EXPORT trt_status* trt_constant_lr_create(trt_optimizer* optimizer, double factor, int64_t total_iters, trt_scheduler** out) {
  return create_scheduler("trt_constant_lr_create", optimizer, out, [&](auto o) { return optim::constant_lr(o, factor, total_iters); });
}
TRT_EXPORT trt_status* trt_linear_lr_create(trt_optimizer* optimizer, double start_factor, double end_factor, int64_t total_iters, trt_scheduler** out) {
  return create_scheduler("trt_linear_lr_create", optimizer, out, [&](auto o) { return optim::linear_lr(o, start_factor, end_factor, total_iters); });
}
TRT_EXPORT trt_status* trt_polynomial_lr_create(trt_optimizer* optimizer, int64_t total_iters, double power, trt_scheduler** out) {
  return create_scheduler("trt_polynomial_lr_create", optimizer, out, [&](auto o) { return optim::polynomial_lr(o, total_iters, power); });
}
TRT_EXPORT trt_status* trt_cosine_annealing_lr_create(trt_optimizer* optimizer, int64_t t_max, double eta_min, trt_scheduler** out) {
  return create_scheduler("trt_cosine_annealing_lr_create", optimizer, out, [&](auto o) { return optim::cosine_annealing_lr(o, t_max, eta_min); });
}
TRT_EXPORT trt_status* trt_one_cycle_lr_create(trt_optimizer* optimizer, const trt_one_cycle_options* options, trt_scheduler** out) {
  return create_scheduler("trt_one_cycle_lr_create", optimizer, out, [&](auto p) {
    if (!options) throw_null_argument("options");
    const auto o = read_options(options, trt_one_cycle_options_init);
    return optim::one_cycle_lr(p, {.max_lr = o.max_lr,
                                   .total_steps = o.total_steps,
                                   .pct_start = o.pct_start,
                                   .linear = o.linear,
                                   .cycle_momentum = o.cycle_momentum,
                                   .base_momentum = o.base_momentum,
                                   .max_momentum = o.max_momentum,
                                   .div_factor = o.div_factor,
                                   .final_div_factor = o.final_div_factor,
                                   .three_phase = o.three_phase});
  });
}
TRT_EXPORT trt_status* trt_lambda_lr_create(trt_optimizer* optimizer, trt_lr_fn fn, void* user_data, trt_destroy_fn destroy, trt_scheduler** out) {
  HostData data(user_data, destroy);
  return create_scheduler("trt_lambda_lr_create", optimizer, out, [&](auto o) {
    if (!fn) throw_null_argument("fn");
    // Shared, since a std::function must be copyable.
    auto shared = std::make_shared<HostData>(std::move(data));
    return optim::lambda_lr(o, [fn, shared](int64_t epoch, size_t group) {
      double factor = 1;
      if (trt_status* status = fn(epoch, group, &factor, shared->get())) throw StatusError(status);
      return factor;
    });
  });
}
TRT_EXPORT trt_status* trt_sequential_lr_create(trt_optimizer* optimizer, trt_scheduler* const* schedulers, size_t count, const int64_t* milestones,
                                                size_t milestone_count, trt_scheduler** out) {
  return create_scheduler("trt_sequential_lr_create", optimizer, out, [&](auto o) {
    std::vector<optim::SchedulerPtr> list;
    for (trt_scheduler* s : list_argument(schedulers, count, "schedulers")) {
      check_element(s, "schedulers", list.size());
      list.push_back(checked_scheduler(s));
    }
    return optim::sequential_lr(o, std::move(list), int_list(milestones, milestone_count, "milestones"));
  });
}

}  // extern "C"
