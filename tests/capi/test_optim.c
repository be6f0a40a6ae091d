/* Optimizers, clipping and schedulers through the C API. The expected numbers are PyTorch's, in float64. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

#include "tensorrt/autograd.h"
#include "tensorrt/ops.h"
#include "tensorrt/optim.h"

static trt_tensor* vec(const double* v, int64_t n, trt_dtype dtype) {
  trt_tensor *t, *converted;
  ok(trt_tensor_from_data(v, &n, 1, TRT_FLOAT64, &t));
  ok(trt_to(t, dtype, &converted));
  trt_tensor_release(t);
  return converted;
}

static trt_tensor* parameter(const double* v, int64_t n, trt_dtype dtype) {
  trt_tensor* t = vec(v, n, dtype);
  ok(trt_tensor_set_requires_grad(t, true));
  return t;
}

static void set_grad(trt_tensor* p, const double* v, int64_t n) {
  trt_tensor* g = vec(v, n, trt_tensor_dtype(p));
  ok(trt_tensor_set_grad(p, g));
  trt_tensor_release(g);
}

static void equals(const trt_tensor* t, const double* want, int64_t n, double tolerance) {
  double got[64];
  ok(trt_tensor_copy_to_host(t, got, TRT_FLOAT64, n));
  for (int64_t i = 0; i < n; ++i)
    if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i])))) {
      print_error("element %d: %.17g instead of %.17g\n", (int)i, got[i], want[i]);
      fail();
    }
}

static const double kStart[3] = {1.0, -2.0, 0.5};

static void wave(trt_tensor* p, int t) {
  const double g[3] = {sin(3 * t), sin(3 * t + 1), sin(3 * t + 2)};
  set_grad(p, g, 3);
}

/* Ten steps along the same gradients. */
static void trajectory(trt_optimizer* o, trt_tensor* p) {
  for (int t = 0; t < 10; ++t) {
    wave(p, t);
    ok(trt_optimizer_step(o));
  }
}

struct sgd_case {
  double momentum, dampening, weight_decay;
  bool nesterov, maximize;
  double want[3];
};
static const struct sgd_case kSgdCases[] = {
    {0, 0, 0, false, false, {0.9475996124578361, -2.0609477636073605, 0.4865399531130373}},
    {0.9, 0, 0, false, false, {0.9507553999358576, -2.3048859757793947, 0.21978340858321233}},
    {0.9, 0.3, 0, false, false, {0.9655287799550999, -2.3778406413762774, 0.12617488047230088}},
    {0, 0, 0.1, false, false, {0.8520469376522196, -1.8657817624925757, 0.4429126798703459}},
    {0.9, 0, 0.1, true, false, {0.49062257580412894, -1.4287161478549602, 0.09856135321057062}},
    {0.9, 0.3, 0.1, false, true, {0.742978757199002, -1.0876390219481455, 0.6823582827388338}},
    {0.5, 0, 0.01, true, true, {1.0535004252813047, -1.852453811889905, 0.536915204338427}},
};

struct adam_case {
  bool decoupled;
  double beta1, beta2, eps, weight_decay;
  bool amsgrad, maximize;
  double want[3];
};
static const struct adam_case kAdamCases[] = {
    {false, 0.9, 0.999, 1e-08, 0, false, false, {0.9636944331562699, -2.0926305219144155, 0.4251756256630965}},
    {false, 0.9, 0.999, 1e-08, 0.1, false, false, {0.8088638909886361, -1.9463931307808728, 0.4045419233417481}},
    {false, 0.5, 0.9, 0.001, 0, true, false, {0.9588045463126847, -2.056818840214469, 0.45896991743750554}},
    {false, 0.9, 0.99, 1e-08, 0.1, true, true, {0.8427879013984467, -1.780684740386321, 0.5494631403511868}},
    {true, 0.9, 0.999, 1e-08, 0, false, false, {0.9636944331562699, -2.0926305219144155, 0.4251756256630965}},
    {true, 0.9, 0.999, 1e-08, 0.1, false, false, {0.9160545291920532, -1.9916954400220965, 0.40355362644264514}},
    {true, 0.5, 0.9, 0.001, 0, true, false, {0.9588045463126847, -2.056818840214469, 0.45896991743750554}},
    {true, 0.9, 0.99, 1e-08, 0.1, true, true, {0.9860509884393073, -1.812584866115167, 0.5475528241030228}},
};

static void test_trajectories(void** state) {
  (void)state;
  static const struct {
    trt_dtype dtype;
    double tolerance;
  } kDTypes[] = {{TRT_FLOAT64, 1e-14}, {TRT_FLOAT32, 1e-6}, {TRT_BFLOAT16, 4e-2}, {TRT_FLOAT16, 4e-3}};
  for (size_t d = 0; d < 4; ++d) {
    for (size_t i = 0; i < sizeof kSgdCases / sizeof *kSgdCases; ++i) {
      const struct sgd_case* c = &kSgdCases[i];
      trt_tensor* p = parameter(kStart, 3, kDTypes[d].dtype);
      trt_sgd_options options;
      trt_sgd_options_init(&options);
      options.lr = 0.1;
      options.momentum = c->momentum;
      options.dampening = c->dampening;
      options.weight_decay = c->weight_decay;
      options.nesterov = c->nesterov;
      options.maximize = c->maximize;
      trt_optimizer* o;
      ok(trt_sgd_create((const trt_tensor* const*)&p, 1, &options, &o));
      trajectory(o, p);
      equals(p, c->want, 3, kDTypes[d].tolerance);
      trt_optimizer_release(o);
      trt_tensor_release(p);
    }
    for (size_t i = 0; i < sizeof kAdamCases / sizeof *kAdamCases; ++i) {
      const struct adam_case* c = &kAdamCases[i];
      trt_tensor* p = parameter(kStart, 3, kDTypes[d].dtype);
      const trt_adam_options options = {sizeof options, 0.05, c->beta1, c->beta2, c->eps, c->amsgrad, c->maximize, c->weight_decay};
      trt_optimizer* o;
      ok((c->decoupled ? trt_adamw_create : trt_adam_create)((const trt_tensor* const*)&p, 1, &options, &o));
      trajectory(o, p);
      equals(p, c->want, 3, kDTypes[d].tolerance);
      trt_optimizer_release(o);
      trt_tensor_release(p);
    }
  }
}

static void test_groups(void** state) {
  (void)state;
  trt_tensor* p[3];
  for (int i = 0; i < 3; ++i) p[i] = parameter(kStart, 3, TRT_FLOAT64);
  const trt_tensor* const* all = (const trt_tensor* const*)p;
  trt_optimizer* o;
  ok(trt_sgd_create(all, 1, NULL, &o));
  const char* names[] = {"lr", "momentum"};
  const double values[] = {0.5, 0.9};
  ok(trt_optimizer_add_group(o, all + 1, 1, names, values, 2));
  assert_int_equal(trt_optimizer_group_count(o), 2);
  double v;
  ok(trt_optimizer_get_lr(o, 0, &v));
  assert_true(v == 1e-3);
  ok(trt_optimizer_get_option(o, 1, "momentum", &v));
  assert_true(v == 0.9);
  ok(trt_optimizer_set_option(o, 0, "lr", 0.25));
  for (int i = 0; i < 2; ++i) wave(p[i], 1);
  const uint32_t version = trt_tensor_version(p[0]), other = trt_tensor_version(p[2]);
  ok(trt_optimizer_step(o));
  const double want0[] = {1 - 0.25 * sin(3), -2 - 0.25 * sin(4), 0.5 - 0.25 * sin(5)}, want1[] = {1 - 0.5 * sin(3), -2 - 0.5 * sin(4), 0.5 - 0.5 * sin(5)};
  equals(p[0], want0, 3, 1e-15);
  equals(p[1], want1, 3, 1e-15);
  equals(p[2], kStart, 3, 0);
  assert_true(trt_tensor_version(p[0]) > version && trt_tensor_version(p[2]) == other);
  assert_true(trt_tensor_is_leaf(p[0]));
  ok(trt_optimizer_zero_grad(o, true));
  trt_tensor* g;
  ok(trt_tensor_grad(p[0], &g));
  assert_null(g);
  ok(trt_optimizer_step(o)); /* without gradients nothing moves */
  equals(p[0], want0, 3, 1e-15);

  fails(trt_optimizer_add_group(o, all, 1, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "twice");
  fails(trt_optimizer_add_group(o, all + 2, 0, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "at least one");
  const char* unknown = "rate";
  fails(trt_optimizer_add_group(o, all + 2, 1, &unknown, values, 1), TRT_NOT_FOUND, "rate");
  const double negative = -1;
  fails(trt_optimizer_add_group(o, all + 2, 1, names, &negative, 1), TRT_INVALID_ARGUMENT, "lr");
  fails(trt_optimizer_set_option(o, 0, "nesterov", 1), TRT_INVALID_ARGUMENT, "momentum");
  fails(trt_optimizer_set_option(o, 0, "nesterov", 0.5), TRT_INVALID_ARGUMENT, "0 or 1");
  fails(trt_optimizer_set_option(o, 0, "lr", NAN), TRT_INVALID_ARGUMENT, "nan");
  fails(trt_optimizer_set_option(o, 2, "lr", 1), TRT_OUT_OF_RANGE, "group 2");
  assert_int_equal(trt_optimizer_group_count(o), 2);

  /* A parameter that changes its dtype. */
  for (int i = 0; i < 2; ++i) wave(p[i], 2);
  ok(trt_optimizer_set_lr(o, 1));
  trt_module* holder;
  ok(trt_identity_create(&holder));
  ok(trt_module_register_parameter(holder, "p", p[1]));
  ok(trt_module_to_dtype(holder, TRT_FLOAT32));
  trt_tensor* converted;
  ok(trt_tensor_grad(p[1], &converted));
  assert_int_equal(trt_tensor_dtype(converted), TRT_FLOAT32);
  ok(trt_optimizer_step(o)); /* the state follows the dtype */
  trt_tensor_release(converted);
  trt_module_release(holder);
  trt_optimizer_release(o);
  for (int i = 0; i < 3; ++i) trt_tensor_release(p[i]);
}

/* Strided parameters, views of one storage, and what is refused. */
static void test_parameters(void** state) {
  (void)state;
  const double values[6] = {1, 2, 3, 4, 5, 6}, ones[6] = {1, 1, 1, 1, 1, 1};
  const int64_t shape[] = {2, 3};
  trt_tensor *flat = vec(values, 6, TRT_FLOAT32), *matrix, *turned, *g, *ones_matrix, *half;
  ok(trt_view(flat, shape, 2, &matrix));
  ok(trt_transpose(matrix, 0, 1, &turned));
  ok(trt_tensor_set_requires_grad(turned, true));
  ok(trt_ones_like(turned, TRT_DTYPE_NONE, NULL, &ones_matrix));
  ok(trt_tensor_set_grad(turned, ones_matrix));
  trt_adam_options options;
  trt_adamw_options_init(&options);
  assert_true(options.weight_decay == 0.01);
  options.lr = 0.5;
  options.weight_decay = 0;
  trt_optimizer* o = NULL;
  ok(trt_adamw_create((const trt_tensor* const*)&turned, 1, &options, &o));
  ok(trt_optimizer_step(o));
  const double want[6] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
  equals(flat, want, 6, 1e-6);
  trt_optimizer_release(o);
  o = NULL;

  const trt_tensor* overlapping[2] = {flat, NULL};
  ok(trt_narrow(flat, 0, 3, 3, &half));
  overlapping[1] = half;
  fails(trt_sgd_create(overlapping, 2, NULL, &o), TRT_INVALID_ARGUMENT, "overlap");
  trt_tensor* integers;
  ok(trt_to(flat, TRT_INT64, &integers));
  const trt_tensor* wrong = integers;
  fails(trt_sgd_create(&wrong, 1, NULL, &o), TRT_INVALID_ARGUMENT, "floating");
  trt_tensor* leaf = parameter(ones, 6, TRT_FLOAT32);
  ok(trt_mul_scalar(leaf, trt_scalar_int(2), &g));
  wrong = g;
  fails(trt_sgd_create(&wrong, 1, NULL, &o), TRT_INVALID_ARGUMENT, "leaf");
  fails(trt_sgd_create(&wrong, 0, NULL, &o), TRT_INVALID_ARGUMENT, "at least one");
  fails(trt_sgd_create(NULL, 1, NULL, &o), TRT_INVALID_ARGUMENT, "params");
  wrong = NULL;
  fails(trt_sgd_create(&wrong, 1, NULL, &o), TRT_INVALID_ARGUMENT, "NULL");
  trt_adam_options_init(&options);
  options.beta2 = 1;
  wrong = leaf;
  fails(trt_adam_create(&wrong, 1, &options, &o), TRT_INVALID_ARGUMENT, "beta2");
  options.struct_size = 3;
  fails(trt_adam_create(&wrong, 1, &options, &o), TRT_INVALID_ARGUMENT, "struct_size");
  assert_null(o);
  trt_tensor* all[] = {flat, matrix, turned, g, ones_matrix, half, integers, leaf};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) trt_tensor_release(all[i]);
}

static void test_state_dict(void** state) {
  (void)state;
  trt_tensor *p = parameter(kStart, 3, TRT_FLOAT32), *q = parameter(kStart, 3, TRT_FLOAT32), *r = parameter(kStart, 3, TRT_FLOAT32);
  const trt_tensor *a[2] = {p, r}, *b[2] = {q, r};
  trt_optimizer *first, *second;
  trt_adam_options options;
  trt_adamw_options_init(&options);
  options.lr = 0.05;
  options.amsgrad = true;
  ok(trt_adamw_create(a, 2, &options, &first));
  trajectory(first, p);
  trt_state_dict* d;
  ok(trt_optimizer_state_dict(first, &d));
  const char* names[] = {"param_groups.0.lr",       "param_groups.0.beta1",    "param_groups.0.beta2",  "param_groups.0.eps",
                         "param_groups.0.weight_decay", "param_groups.0.amsgrad", "param_groups.0.maximize", "param_groups.0.params",
                         "state.0.step",            "state.0.exp_avg",         "state.0.exp_avg_sq",    "state.0.max_exp_avg_sq"};
  assert_int_equal(trt_state_dict_size(d), 12); /* nothing of r, which never had a gradient */
  for (size_t i = 0; i < 12; ++i) assert_string_equal(trt_state_dict_name(d, i), names[i]);

  /* A resumed optimizer goes on exactly as the first does. */
  ok(trt_adamw_create(b, 2, NULL, &second));
  ok(trt_optimizer_load_state_dict(second, d));
  const bool recording = trt_set_grad_mode(false);
  ok(trt_copy_(q, p));
  trt_set_grad_mode(recording);
  trajectory(first, p);
  trajectory(second, q);
  bool same;
  ok(trt_equal(p, q, &same));
  assert_true(same);

  trt_optimizer* sgd;
  ok(trt_sgd_create(a, 2, NULL, &sgd));
  fails(trt_optimizer_load_state_dict(sgd, d), TRT_INVALID_ARGUMENT, "momentum");
  ok(trt_state_dict_remove(d, "state.0.exp_avg"));
  fails(trt_optimizer_load_state_dict(second, d), TRT_INVALID_ARGUMENT, "exp_avg");
  const double two[2] = {1, 2};
  trt_tensor* wrong = vec(two, 2, TRT_FLOAT32);
  ok(trt_state_dict_set(d, "state.0.exp_avg", wrong));
  fails(trt_optimizer_load_state_dict(second, d), TRT_INVALID_ARGUMENT, "float32[2]");
  ok(trt_state_dict_set(d, "state.0.exp_avg", p));
  ok(trt_state_dict_set(d, "state.7.exp_avg", p));
  fails(trt_optimizer_load_state_dict(second, d), TRT_INVALID_ARGUMENT, "state.7.exp_avg");
  trajectory(first, p);
  trajectory(second, q);
  ok(trt_equal(p, q, &same));
  assert_true(same);
  trt_tensor_release(wrong);
  trt_tensor_release(p);
  trt_tensor_release(q);
  trt_tensor_release(r);
  trt_state_dict_release(d);
  trt_optimizer_release(first);
  trt_optimizer_release(second);
  trt_optimizer_release(sgd);
}

static void test_clipping(void** state) {
  (void)state;
  const double g0[3] = {3, 0, 0}, g1[3] = {0, -4, 0};
  trt_tensor *p[2] = {parameter(kStart, 3, TRT_FLOAT32), parameter(kStart, 3, TRT_FLOAT64)}, *g;
  const trt_tensor* const* all = (const trt_tensor* const*)p;
  set_grad(p[0], g0, 3);
  set_grad(p[1], g1, 3);
  double norm;
  ok(trt_clip_grad_norm(all, 2, 10, 2, false, &norm));
  assert_true(norm == 5);
  ok(trt_clip_grad_norm(all, 2, 10, INFINITY, false, &norm));
  assert_true(norm == 4);
  ok(trt_clip_grad_norm(all, 2, 10, 1, false, &norm));
  assert_true(norm == 7);
  ok(trt_clip_grad_norm(all, 2, 1, 2, true, NULL));
  const double want0[3] = {0.6, 0, 0}, want2[3] = {0, -0.5, 0};
  ok(trt_tensor_grad(p[0], &g));
  equals(g, want0, 3, 1e-6);
  trt_tensor_release(g);
  ok(trt_clip_grad_value(all, 2, 0.5));
  ok(trt_tensor_grad(p[1], &g));
  equals(g, want2, 3, 1e-15);
  trt_tensor_release(g);
  const double infinite[3] = {INFINITY, 1, 1};
  set_grad(p[0], infinite, 3);
  fails(trt_clip_grad_norm(all, 2, 1, 2, true, &norm), TRT_FAILED_PRECONDITION, "inf");
  ok(trt_tensor_grad(p[1], &g));
  equals(g, want2, 3, 1e-15);
  trt_tensor_release(g);
  fails(trt_clip_grad_norm(all, 2, -1, 2, false, NULL), TRT_INVALID_ARGUMENT, "max_norm");
  fails(trt_clip_grad_norm(all, 2, 1, 0, false, NULL), TRT_INVALID_ARGUMENT, "order");
  fails(trt_clip_grad_value(all, 2, NAN), TRT_INVALID_ARGUMENT, "nan");
  trt_tensor_release(p[0]);
  trt_tensor_release(p[1]);
}

/* SGD with learning rate 0.1 on one parameter. */
static trt_optimizer* plain_optimizer(void) {
  trt_tensor* p = parameter(kStart, 3, TRT_FLOAT32);
  trt_sgd_options options;
  trt_sgd_options_init(&options);
  options.lr = 0.1;
  trt_optimizer* o;
  ok(trt_sgd_create((const trt_tensor* const*)&p, 1, &options, &o));
  trt_tensor_release(p);
  return o;
}

/* Learning rates after 0, 1, 6, 13 and 20 steps. Releases both. */
static void schedule(trt_optimizer* o, trt_scheduler* s, const char* type, const double want[5]) {
  static const int at[5] = {0, 1, 6, 13, 20};
  assert_string_equal(trt_scheduler_type_name(s), type);
  int i = 0;
  for (int step = 0; step <= 20; ++step) {
    double lr, last;
    ok(trt_optimizer_get_lr(o, 0, &lr));
    ok(trt_scheduler_last_lr(s, 0, &last));
    assert_true(lr == last);
    assert_int_equal(trt_scheduler_last_epoch(s), step);
    if (step == at[i]) {
      if (fabs(lr - want[i]) > 1e-15 * fabs(want[i])) {
        print_error("%s: %.17g after %d steps, not %.17g\n", type, lr, step, want[i]);
        fail();
      }
      ++i;
    }
    if (step < 20) ok(trt_scheduler_step(s));
  }
  trt_scheduler_release(s);
  trt_optimizer_release(o);
}

struct factor {
  int calls, destroyed;
  bool fail;
};

static trt_status* power(int64_t epoch, size_t group, double* out_factor, void* user_data) {
  struct factor* f = user_data;
  ++f->calls;
  assert_int_equal(group, 0);
  if (f->fail) return trt_status_create(TRT_UNAVAILABLE, "no factor");
  *out_factor = pow(0.95, (double)epoch);
  return NULL;
}

static void factor_destroy(void* user_data) { ++((struct factor*)user_data)->destroyed; }

static void test_schedules(void** state) {
  (void)state;
  trt_optimizer* o;
  trt_scheduler* s;
#define SCHEDULE(create, type, ...)     \
  do {                                  \
    const double want[5] = __VA_ARGS__; \
    o = plain_optimizer();              \
    ok(create);                         \
    schedule(o, s, type, want);         \
  } while (0)
  const int64_t milestones[] = {5, 12, 12};
  SCHEDULE(trt_step_lr_create(o, 7, 0.3, &s), "StepLR", {0.1, 0.1, 0.1, 0.03, 0.009});
  SCHEDULE(trt_multi_step_lr_create(o, milestones, 3, 0.3, &s), "MultiStepLR", {0.1, 0.1, 0.03, 0.0026999999999999997, 0.0026999999999999997});
  SCHEDULE(trt_exponential_lr_create(o, 0.93, &s), "ExponentialLR",
           {0.1, 0.09300000000000001, 0.06469901834490002, 0.0389294556655815, 0.0234238873662592});
  SCHEDULE(trt_constant_lr_create(o, 0.3, 7, &s), "ConstantLR", {0.03, 0.03, 0.03, 0.1, 0.1});
  SCHEDULE(trt_linear_lr_create(o, 0.1, 0.9, 9, &s), "LinearLR",
           {0.010000000000000002, 0.018888888888888893, 0.06333333333333335, 0.09000000000000002, 0.09000000000000002});
  SCHEDULE(trt_polynomial_lr_create(o, 20, 1.7, &s), "PolynomialLR", {0.1, 0.09164950612180127, 0.05453391388693144, 0.0167847808549321, 0});
  SCHEDULE(trt_cosine_annealing_lr_create(o, 8, 0.003, &s), "CosineAnnealingLR",
           {0.1, 0.09630815732679741, 0.017205321112452453, 0.07006014646970697, 0.05150000000000008});
  trt_one_cycle_options cycle;
  trt_one_cycle_options_init(&cycle);
  cycle.max_lr = 0.5;
  cycle.total_steps = 21;
  SCHEDULE(trt_one_cycle_lr_create(o, &cycle, &s), "OneCycleLR",
           {0.020000000000000018, 0.06094263549195156, 0.49720771772545586, 0.23131855133348753, 2e-06});
  struct factor f = {0, 0, false};
  SCHEDULE(trt_lambda_lr_create(o, power, &f, factor_destroy, &s), "LambdaLR",
           {0.1, 0.095, 0.07350918906249998, 0.051334208327950485, 0.03584859224085419});
  assert_int_equal(f.calls, 21);
  assert_int_equal(f.destroyed, 1);
  const double want[5] = {0.001, 0.0208, 0.0993844170297569, 0.06545084971874739, 0.014644660940672629};
  trt_scheduler* parts[2];
  o = plain_optimizer();
  ok(trt_linear_lr_create(o, 0.01, 1, 5, &parts[0]));
  ok(trt_cosine_annealing_lr_create(o, 20, 0, &parts[1]));
  ok(trt_sequential_lr_create(o, parts, 2, milestones, 1, &s));
  trt_scheduler_release(parts[0]);
  trt_scheduler_release(parts[1]);
  schedule(o, s, "SequentialLR", want);
}

static void test_schedulers(void** state) {
  (void)state;
  trt_optimizer* o = plain_optimizer();
  trt_scheduler* s = NULL;
  double v;
  trt_one_cycle_options cycle;
  trt_one_cycle_options_init(&cycle);
  cycle.max_lr = 0.5;
  cycle.total_steps = 4;
  ok(trt_one_cycle_lr_create(o, &cycle, &s));
  ok(trt_optimizer_get_option(o, 0, "momentum", &v));
  assert_true(fabs(v - 0.95) < 1e-15);
  for (int i = 0; i < 4; ++i) ok(trt_scheduler_step(s));
  fails(trt_scheduler_step(s), TRT_FAILED_PRECONDITION, "beyond");
  assert_int_equal(trt_scheduler_last_epoch(s), 4);
  trt_scheduler_release(s);
  s = NULL;
  cycle.total_steps = 0;
  fails(trt_one_cycle_lr_create(o, &cycle, &s), TRT_INVALID_ARGUMENT, "total_steps");
  fails(trt_one_cycle_lr_create(o, NULL, &s), TRT_INVALID_ARGUMENT, "options");
  fails(trt_step_lr_create(o, 0, 0.1, &s), TRT_INVALID_ARGUMENT, "step size");
  fails(trt_step_lr_create(NULL, 1, 0.1, &s), TRT_INVALID_ARGUMENT, "optimizer");
  fails(trt_cosine_annealing_lr_create(o, 0, 0, &s), TRT_INVALID_ARGUMENT, "t_max");
  fails(trt_linear_lr_create(o, 0, 1, 5, &s), TRT_INVALID_ARGUMENT, "start factor");
  fails(trt_exponential_lr_create(o, 0.5, NULL), TRT_INVALID_ARGUMENT, "out");
  fails(trt_sequential_lr_create(o, NULL, 0, NULL, 0, &s), TRT_INVALID_ARGUMENT, "schedulers");
  assert_null(s);
  trt_optimizer_release(o);

  /* A callback that fails changes nothing; destroy runs once, also when creation fails. */
  o = plain_optimizer();
  struct factor f = {0, 0, true};
  fails(trt_lambda_lr_create(o, power, &f, factor_destroy, &s), TRT_UNAVAILABLE, "no factor");
  fails(trt_lambda_lr_create(o, NULL, &f, factor_destroy, &s), TRT_INVALID_ARGUMENT, "fn");
  assert_int_equal(f.destroyed, 2);
  f.fail = false;
  ok(trt_lambda_lr_create(o, power, &f, factor_destroy, &s));
  ok(trt_scheduler_step(s));
  f.fail = true;
  fails(trt_scheduler_step(s), TRT_UNAVAILABLE, "no factor");
  ok(trt_optimizer_get_lr(o, 0, &v));
  assert_true(v == 0.1 * 0.95);
  assert_int_equal(trt_scheduler_last_epoch(s), 1);
  f.fail = false;

  /* Resuming from both state dicts. */
  trt_state_dict *optimizer_state, *scheduler_state;
  ok(trt_optimizer_state_dict(o, &optimizer_state));
  ok(trt_scheduler_state_dict(s, &scheduler_state));
  trt_optimizer* again = plain_optimizer();
  trt_scheduler *resumed, *other;
  ok(trt_lambda_lr_create(again, power, &f, NULL, &resumed));
  ok(trt_optimizer_load_state_dict(again, optimizer_state));
  ok(trt_scheduler_load_state_dict(resumed, scheduler_state));
  ok(trt_scheduler_step(s));
  ok(trt_scheduler_step(resumed));
  double w;
  ok(trt_optimizer_get_lr(o, 0, &v));
  ok(trt_optimizer_get_lr(again, 0, &w));
  assert_true(v == w && v == 0.1 * pow(0.95, 2));
  assert_int_equal(trt_scheduler_last_epoch(resumed), 2);
  fails(trt_scheduler_load_state_dict(resumed, optimizer_state), TRT_INVALID_ARGUMENT, "entries");
  ok(trt_state_dict_remove(scheduler_state, "base_lrs"));
  trt_tensor* number = vec(&v, 1, TRT_FLOAT64);
  ok(trt_state_dict_set(scheduler_state, "base", number));
  fails(trt_scheduler_load_state_dict(resumed, scheduler_state), TRT_NOT_FOUND, "base_lrs");
  ok(trt_exponential_lr_create(again, 0.5, &other)); /* a second scheduler of one optimizer */
  ok(trt_scheduler_step(other));
  ok(trt_optimizer_get_lr(again, 0, &w));
  assert_true(w == v * 0.5);
  trt_tensor_release(number);
  trt_state_dict_release(optimizer_state);
  trt_state_dict_release(scheduler_state);
  trt_scheduler_release(s);
  trt_scheduler_release(resumed);
  trt_scheduler_release(other);
  trt_optimizer_release(o);
  trt_optimizer_release(again);
}

/* A regression problem that a small network learns. */
static void test_training(void** state) {
  (void)state;
  trt_module *layers[3], *m;
  ok(trt_manual_seed(3));
  ok(trt_linear_create(1, 16, NULL, &layers[0]));
  ok(trt_tanh_create(&layers[1]));
  ok(trt_linear_create(16, 1, NULL, &layers[2]));
  ok(trt_sequential_create(layers, 3, &m));
  for (int i = 0; i < 3; ++i) trt_module_release(layers[i]);
  const int64_t shape[] = {64, 1};
  trt_tensor *x, *y;
  ok(trt_empty(shape, 2, TRT_FLOAT32, NULL, &x));
  ok(trt_init_uniform(x, -2, 2, NULL));
  ok(trt_sin(x, &y));
  trt_state_dict* named;
  ok(trt_module_named_parameters(m, &named));
  trt_tensor* params[4];
  for (size_t i = 0; i < 4; ++i) ok(trt_state_dict_tensor(named, i, &params[i]));
  trt_state_dict_release(named);
  trt_optimizer* o;
  trt_adam_options options;
  trt_adamw_options_init(&options);
  options.lr = 0.02;
  ok(trt_adamw_create((const trt_tensor* const*)params, 4, &options, &o));
  double value = 1;
  for (int i = 0; i < 200; ++i) {
    trt_tensor *out, *difference, *squares, *loss;
    ok(trt_module_forward(m, x, &out));
    ok(trt_sub(out, y, trt_scalar_int(1), &difference));
    ok(trt_mul(difference, difference, &squares));
    ok(trt_mean(squares, NULL, 0, false, TRT_DTYPE_NONE, &loss));
    ok(trt_tensor_item_double(loss, &value));
    ok(trt_optimizer_zero_grad(o, true));
    ok(trt_tensor_backward(loss));
    ok(trt_optimizer_step(o));
    trt_tensor* all[] = {out, difference, squares, loss};
    for (int k = 0; k < 4; ++k) trt_tensor_release(all[k]);
  }
  assert_true(value < 0.005);
  for (int i = 0; i < 4; ++i) trt_tensor_release(params[i]);
  trt_tensor_release(x);
  trt_tensor_release(y);
  trt_optimizer_release(o);
  trt_module_release(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trajectories), cmocka_unit_test(test_groups),    cmocka_unit_test(test_parameters), cmocka_unit_test(test_state_dict),
      cmocka_unit_test(test_clipping),     cmocka_unit_test(test_schedules), cmocka_unit_test(test_schedulers), cmocka_unit_test(test_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
