/**
 * @file optim.h
 * Optimizers, learning-rate schedulers, clipping of gradients.
 *
 * An optimizer holds references to parameters (floating-point leaves on the CPU) in groups. Each group has options, which are numbers with
 * names (bools are 0 or 1): "lr", "weight_decay", "maximize"; SGD also "momentum", "dampening", "nesterov"; Adam and AdamW "beta1", "beta2",
 * "eps", "amsgrad"; with a scheduler each also "initial_lr". Formulas and defaults are PyTorch's. Handles are counted.
 *
 * Conventions of this header:
 * - Functions that make an object give a new handle in *out.
 * - `options` arguments may be NULL for the defaults. Set a struct up with its _init function, then change fields.
 * - Errors are TRT_INVALID_ARGUMENT for NULL, bad values, shapes and dtypes; TRT_NOT_FOUND for an unknown option; TRT_OUT_OF_RANGE for a group
 *   that does not exist; others where noted.
 *
 * Thread class: externally synchronized, together with the parameters and their gradients. Counting references is safe from any thread.
 */
#ifndef TENSORRT_OPTIM_H
#define TENSORRT_OPTIM_H

#include "tensorrt/base.h"
#include "tensorrt/nn.h"
#include "tensorrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An optimizer. Counted. */
typedef struct trt_optimizer trt_optimizer;
/** A learning-rate scheduler. Counted; holds a reference to its optimizer. */
typedef struct trt_scheduler trt_scheduler;

/* --- optimizers --- */

/** Options of SGD. */
typedef struct trt_sgd_options {
  size_t struct_size;
  double lr;           /**< 1e-3 */
  double momentum;     /**< 0 */
  double dampening;    /**< 0 */
  bool nesterov;       /**< false; true needs momentum and no dampening */
  bool maximize;       /**< false */
  double weight_decay; /**< 0; L2, added to the gradient */
} trt_sgd_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_sgd_options_init(trt_sgd_options* options);
/**
 * Stochastic gradient descent. The parameters (count >= 1) form group 0; the options are also the defaults of groups added later. @since 0.1
 */
TRT_API trt_status* trt_sgd_create(const trt_tensor* const* params, size_t count, const trt_sgd_options* options, trt_optimizer** out);

/** Options of Adam and AdamW. */
typedef struct trt_adam_options {
  size_t struct_size;
  double lr;           /**< 1e-3 */
  double beta1;        /**< 0.9 */
  double beta2;        /**< 0.999 */
  double eps;          /**< 1e-8 */
  bool amsgrad;        /**< false */
  bool maximize;       /**< false */
  double weight_decay; /**< Adam: 0, L2, added to the gradient; AdamW: 0.01, decoupled */
} trt_adam_options;
/** Sets the defaults of Adam. @since 0.1 */
TRT_API void trt_adam_options_init(trt_adam_options* options);
/** Sets the defaults of AdamW. @since 0.1 */
TRT_API void trt_adamw_options_init(trt_adam_options* options);
/** Adam, as trt_sgd_create. @since 0.1 */
TRT_API trt_status* trt_adam_create(const trt_tensor* const* params, size_t count, const trt_adam_options* options, trt_optimizer** out);
/** AdamW, as trt_sgd_create. @since 0.1 */
TRT_API trt_status* trt_adamw_create(const trt_tensor* const* params, size_t count, const trt_adam_options* options, trt_optimizer** out);

/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_optimizer* trt_optimizer_retain(trt_optimizer* optimizer);
/** Releases one reference; NULL is allowed; any thread. @since 0.1 */
TRT_API void trt_optimizer_release(trt_optimizer* optimizer);
/** "AdamW", a constant; NULL for NULL. @since 0.1 */
TRT_API const char* trt_optimizer_type_name(const trt_optimizer* optimizer);
/** The groups and their options as text. `out` is freed with trt_string_release. @since 0.1 */
TRT_API trt_status* trt_optimizer_to_string(const trt_optimizer* optimizer, char** out);

/**
 * Adds a group. `names` and `values` (option_count each; NULL when 0) are its own options; the others are those given at creation. A
 * parameter must be in no other group, and contiguous parameters must not overlap in memory. @since 0.1
 */
TRT_API trt_status* trt_optimizer_add_group(trt_optimizer* optimizer, const trt_tensor* const* params, size_t count, const char* const* names,
                                            const double* values, size_t option_count);
/** Number of groups; 0 for NULL. @since 0.1 */
TRT_API size_t trt_optimizer_group_count(const trt_optimizer* optimizer);
/** The parameters of a group. @since 0.1 */
TRT_API trt_status* trt_optimizer_group_parameters(const trt_optimizer* optimizer, size_t group, trt_tensor_list** out);
/** The value of an option of a group. @since 0.1 */
TRT_API trt_status* trt_optimizer_get_option(const trt_optimizer* optimizer, size_t group, const char* name, double* out);
/** Sets an option of a group, from the next step on. @since 0.1 */
TRT_API trt_status* trt_optimizer_set_option(trt_optimizer* optimizer, size_t group, const char* name, double value);
/** The learning rate of a group: its option "lr". @since 0.1 */
TRT_API trt_status* trt_optimizer_get_lr(const trt_optimizer* optimizer, size_t group, double* out);
/** Sets the learning rate of all groups. @since 0.1 */
TRT_API trt_status* trt_optimizer_set_lr(trt_optimizer* optimizer, double lr);

/**
 * Updates every parameter that has a gradient, in one pass over the memory of each group; records nothing and moves the parameters' version
 * counters. States of float16 and bfloat16 parameters are float32. On failure (a gradient that does not fit) no parameter has changed.
 * @since 0.1
 */
TRT_API trt_status* trt_optimizer_step(trt_optimizer* optimizer);
/** Drops the gradients of all parameters (set_to_none), or fills them with zeros. @since 0.1 */
TRT_API trt_status* trt_optimizer_zero_grad(trt_optimizer* optimizer, bool set_to_none);

/**
 * All of the optimizer but the parameters: "param_groups.<g>.<option>" (0-d), "param_groups.<g>.params" (numbers of its parameters, counted
 * through all groups), "state.<number>.step", "state.<number>.momentum_buffer" (SGD), "state.<number>.exp_avg", ... (Adam). The tensors share
 * the optimizer's memory. @since 0.1
 */
TRT_API trt_status* trt_optimizer_state_dict(const trt_optimizer* optimizer, trt_state_dict** out);
/**
 * Copies a state dict into an optimizer with the same groups and the same names of options, whose values come with it. The type is not recorded, as
 * in PyTorch: Adam takes what AdamW saved, its weight_decay included. On failure (a name missing or unknown, a shape that differs, a value out of
 * range) nothing has changed. @since 0.1
 */
TRT_API trt_status* trt_optimizer_load_state_dict(trt_optimizer* optimizer, const trt_state_dict* dict);

/**
 * Scales the gradients of `params` so that the norm of all of them together is at most max_norm. norm_type: positive, 2 for the Euclidean
 * norm, infinity for the largest magnitude. *out_norm (may be NULL) receives the norm before. With error_if_nonfinite, a norm that is infinite or
 * NaN is TRT_FAILED_PRECONDITION. @since 0.1
 */
TRT_API trt_status* trt_clip_grad_norm(const trt_tensor* const* params, size_t count, double max_norm, double norm_type, bool error_if_nonfinite,
                                       double* out_norm);
/** Limits every element of the gradients of `params` to [-value, value]. @since 0.1 */
TRT_API trt_status* trt_clip_grad_value(const trt_tensor* const* params, size_t count, double value);

/* --- schedulers: a new one sets the groups' first learning rates; call trt_scheduler_step after trt_optimizer_step --- */

/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_scheduler* trt_scheduler_retain(trt_scheduler* scheduler);
/** Releases one reference; NULL is allowed; any thread. @since 0.1 */
TRT_API void trt_scheduler_release(trt_scheduler* scheduler);
/** "StepLR", a constant; NULL for NULL. @since 0.1 */
TRT_API const char* trt_scheduler_type_name(const trt_scheduler* scheduler);
/** Sets the next learning rates. On failure nothing has changed. @since 0.1 */
TRT_API trt_status* trt_scheduler_step(trt_scheduler* scheduler);
/** Number of steps taken; 0 for NULL. @since 0.1 */
TRT_API int64_t trt_scheduler_last_epoch(const trt_scheduler* scheduler);
/** The learning rate that the scheduler set last for a group. @since 0.1 */
TRT_API trt_status* trt_scheduler_last_lr(const trt_scheduler* scheduler, size_t group, double* out);
/**
 * The scheduler's position ("last_epoch", "base_lrs", "last_lr"), not its options. To resume: make optimizer and scheduler as before, then load
 * both; the learning rates themselves are in the optimizer's state dict. @since 0.1
 */
TRT_API trt_status* trt_scheduler_state_dict(const trt_scheduler* scheduler, trt_state_dict** out);
/** Copies a position into a scheduler, whose type is not recorded: make it as before. On failure nothing has changed. @since 0.1 */
TRT_API trt_status* trt_scheduler_load_state_dict(trt_scheduler* scheduler, const trt_state_dict* dict);

/** Times gamma every step_size steps. @since 0.1 */
TRT_API trt_status* trt_step_lr_create(trt_optimizer* optimizer, int64_t step_size, double gamma, trt_scheduler** out);
/** Times gamma at each milestone (a milestone given twice counts twice). @since 0.1 */
TRT_API trt_status* trt_multi_step_lr_create(trt_optimizer* optimizer, const int64_t* milestones, size_t count, double gamma, trt_scheduler** out);
/** Times gamma every step. @since 0.1 */
TRT_API trt_status* trt_exponential_lr_create(trt_optimizer* optimizer, double gamma, trt_scheduler** out);
/** Times factor (in (0, 1]) for the first total_iters steps. @since 0.1 */
TRT_API trt_status* trt_constant_lr_create(trt_optimizer* optimizer, double factor, int64_t total_iters, trt_scheduler** out);
/** Times a factor that goes linearly from start_factor (in (0, 1]) to end_factor (in [0, 1]) in total_iters steps: a warmup. @since 0.1 */
TRT_API trt_status* trt_linear_lr_create(trt_optimizer* optimizer, double start_factor, double end_factor, int64_t total_iters, trt_scheduler** out);
/** To zero in total_iters steps along (1 - t / total_iters)^power. @since 0.1 */
TRT_API trt_status* trt_polynomial_lr_create(trt_optimizer* optimizer, int64_t total_iters, double power, trt_scheduler** out);
/** Along half a cosine to eta_min in t_max steps, then up again. @since 0.1 */
TRT_API trt_status* trt_cosine_annealing_lr_create(trt_optimizer* optimizer, int64_t t_max, double eta_min, trt_scheduler** out);

/** Options of the one-cycle schedule. max_lr and total_steps have no default. */
typedef struct trt_one_cycle_options {
  size_t struct_size;
  double max_lr;           /**< the peak */
  int64_t total_steps;     /**< of the whole cycle; one more step is TRT_FAILED_PRECONDITION */
  bool linear;             /**< false; true: straight lines instead of cosines */
  bool cycle_momentum;     /**< true; false: leaves the momentum alone */
  bool three_phase;        /**< false; true: up, down to the beginning, then to the end */
  double pct_start;        /**< 0.3, the part of the cycle that goes up */
  double base_momentum;    /**< 0.85, the momentum (Adam: beta1) at the peak */
  double max_momentum;     /**< 0.95, at the ends */
  double div_factor;       /**< 25: the cycle begins at max_lr / div_factor */
  double final_div_factor; /**< 1e4: and ends at its beginning / final_div_factor */
} trt_one_cycle_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_one_cycle_options_init(trt_one_cycle_options* options);
/** Up to a peak and down again, the momentum the other way. `options` is required. Step after every batch. @since 0.1 */
TRT_API trt_status* trt_one_cycle_lr_create(trt_optimizer* optimizer, const trt_one_cycle_options* options, trt_scheduler** out);

/** Gives in *out_factor the factor for the base learning rate of a group after `epoch` steps. A status that it returns fails the step. */
typedef trt_status* (*trt_lr_fn)(int64_t epoch, size_t group, double* out_factor, void* user_data);
/**
 * Times a factor that the host computes; `fn` is called here (epoch 0) and in each step. `destroy` (may be NULL) runs exactly once: when the
 * scheduler goes, or before this function returns when it fails. @since 0.1
 */
TRT_API trt_status* trt_lambda_lr_create(trt_optimizer* optimizer, trt_lr_fn fn, void* user_data, trt_destroy_fn destroy, trt_scheduler** out);
/**
 * Runs schedulers[0] until step milestones[0], then schedulers[1] from its beginning, and so on; one milestone fewer than schedulers. They must be
 * of this optimizer and must not be stepped by the host. It sets the first learning rates again from the groups' base ones. @since 0.1
 */
TRT_API trt_status* trt_sequential_lr_create(trt_optimizer* optimizer, trt_scheduler* const* schedulers, size_t count, const int64_t* milestones,
                                             size_t milestone_count, trt_scheduler** out);

#ifdef __cplusplus
}
#endif

#endif
