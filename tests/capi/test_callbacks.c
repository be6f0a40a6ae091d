/*
 * Callbacks that release or change the very object that calls them. Each object's last handle goes inside its callback, so that only the
 * library's own reference keeps it until the call is over; AddressSanitizer sees when that is missing. `gone` counts the destroy functions.
 */
#include <stdio.h>

#include "expect.h"

#include "tensorrt/autograd.h"
#include "tensorrt/data.h"
#include "tensorrt/nn.h"
#include "tensorrt/ops.h"
#include "tensorrt/optim.h"

static int gone;
static void count_gone(void* data) {
  (void)data;
  ++gone;
}

static const int64_t kThree = 3;
static const float kX[] = {1, 2, 3};

static trt_tensor* vec(bool grad) {
  trt_tensor* t;
  ok(trt_tensor_from_data(kX, &kThree, 1, TRT_FLOAT32, &t));
  if (grad) ok(trt_tensor_set_requires_grad(t, true));
  return t;
}

/* The objects that the callbacks of this file let go, NULL once they are. */
static struct {
  trt_tensor *tensor, *other;
  trt_module *module, *parent;
  trt_optimizer* optimizer;
  trt_scheduler* scheduler;
  trt_dataset* dataset;
  trt_data_loader* loader;
  trt_state_dict* dict;
  uint64_t hook;
} held;

static void release_all(void) {
  trt_tensor_release(held.tensor);
  trt_tensor_release(held.other);
  trt_module_release(held.module);
  trt_module_release(held.parent);
  trt_optimizer_release(held.optimizer);
  trt_scheduler_release(held.scheduler);
  trt_dataset_release(held.dataset);
  trt_data_loader_release(held.loader);
  trt_state_dict_release(held.dict);
  memset(&held, 0, sizeof held);
}

static trt_optimizer* sgd(void) {
  trt_tensor* w = vec(true);
  const trt_tensor* list = w;
  trt_optimizer* o;
  ok(trt_sgd_create(&list, 1, NULL, &o));
  trt_tensor_release(w);
  return o;
}

static trt_status* lr_releases(int64_t epoch, size_t group, double* out, void* data) {
  (void)group;
  (void)data;
  if (epoch == 1) release_all();
  *out = 0.5;
  return NULL;
}
static trt_status* lr_releases_and_fails(int64_t epoch, size_t group, double* out, void* data) {
  lr_releases(epoch, group, out, data);
  return epoch == 1 ? trt_status_create(TRT_CANCELLED, "no") : NULL;
}

static void test_scheduler(void** state) {
  (void)state;
  gone = 0;
  for (int sequence = 0; sequence < 2; ++sequence) {
    held.optimizer = sgd();
    ok(trt_lambda_lr_create(held.optimizer, lr_releases, NULL, count_gone, &held.scheduler));
    if (sequence) {
      trt_scheduler *first = held.scheduler, *second, *both;
      ok(trt_exponential_lr_create(held.optimizer, 0.5, &second));
      trt_scheduler* list[] = {first, second};
      const int64_t milestone = 5;
      ok(trt_sequential_lr_create(held.optimizer, list, 2, &milestone, 1, &both));
      trt_scheduler_release(first);
      trt_scheduler_release(second);
      held.scheduler = both;
    }
    ok(trt_scheduler_step(held.scheduler));
    assert_int_equal(gone, sequence + 1);
  }
  held.optimizer = sgd();
  ok(trt_lambda_lr_create(held.optimizer, lr_releases_and_fails, NULL, count_gone, &held.scheduler));
  fails(trt_scheduler_step(held.scheduler), TRT_CANCELLED, "no");
  assert_int_equal(gone, 3);
}

static trt_status* lr_adds_group(int64_t epoch, size_t group, double* out, void* data) {
  (void)data;
  *out = group == 0 ? 0.5 : 0.25;
  if (epoch != 1 || group != 0) return NULL;
  trt_tensor* w = vec(true);
  const trt_tensor* list = w;
  ok(trt_optimizer_add_group(held.optimizer, &list, 1, NULL, NULL, 0));
  trt_tensor_release(w);
  return NULL;
}
static trt_status* lr_loads_state(int64_t epoch, size_t group, double* out, void* data) {
  (void)data;
  *out = 0.5;
  if (epoch == 1 && group == 0) ok(trt_scheduler_load_state_dict(held.scheduler, held.dict));
  return NULL;
}

static void test_scheduler_changed_inside(void** state) {
  (void)state;
  held.optimizer = sgd();
  ok(trt_optimizer_set_lr(held.optimizer, 1));
  ok(trt_lambda_lr_create(held.optimizer, lr_adds_group, NULL, NULL, &held.scheduler));
  ok(trt_scheduler_step(held.scheduler));
  double lr = 0;
  fails(trt_scheduler_last_lr(held.scheduler, 1, &lr), TRT_OUT_OF_RANGE, "group 1");
  ok(trt_scheduler_step(held.scheduler));
  ok(trt_scheduler_last_lr(held.scheduler, 1, &lr));
  assert_true(lr > 0);
  release_all();
  /* The state of a time when there was one group less. */
  held.optimizer = sgd();
  ok(trt_lambda_lr_create(held.optimizer, lr_loads_state, NULL, NULL, &held.scheduler));
  ok(trt_scheduler_state_dict(held.scheduler, &held.dict));
  trt_tensor* w = vec(true);
  const trt_tensor* list = w;
  ok(trt_optimizer_add_group(held.optimizer, &list, 1, NULL, NULL, 0));
  trt_tensor_release(w);
  fails(trt_scheduler_step(held.scheduler), TRT_FAILED_PRECONDITION, "group 1");
  release_all();
}

static trt_status* forward_releases(trt_module* self, const trt_tensor* input, trt_tensor** out, void* data) {
  (void)data;
  release_all(); /* the module, its parent and the input */
  trt_status* s = trt_mul_scalar(input, trt_scalar_int(2), out);
  if (!s) assert_string_equal(trt_module_type_name(self), "Own");
  return s;
}

static void test_module_forward(void** state) {
  (void)state;
  gone = 0;
  for (int in_sequence = 0; in_sequence < 2; ++in_sequence) {
    trt_tensor* y;
    ok(trt_custom_module_create("Own", forward_releases, NULL, count_gone, &held.module));
    held.tensor = vec(false);
    trt_module* top = held.module;
    if (in_sequence) {
      trt_module *relu, *list[3];
      ok(trt_relu_create(&relu));
      list[0] = relu, list[1] = held.module, list[2] = relu;
      ok(trt_sequential_create(list, 3, &held.parent));
      trt_module_release(relu);
      top = held.parent;
    }
    ok(trt_module_forward(top, held.tensor, &y));
    float got[3];
    ok(trt_tensor_copy_to_host(y, got, TRT_FLOAT32, 3));
    assert_true(got[2] == 6);
    trt_tensor_release(y);
    assert_int_equal(gone, in_sequence + 1);
  }
}

static trt_status* forward_adds_children(trt_module* self, const trt_tensor* input, trt_tensor** out, void* data) {
  (void)self;
  int* calls = data;
  if (++*calls == 1)
    for (int i = 0; i < 40; ++i) {
      trt_module* relu;
      char name[16];
      snprintf(name, sizeof name, "more%d", i);
      ok(trt_relu_create(&relu));
      ok(trt_module_register_child(held.parent, name, relu));
      trt_module_release(relu);
    }
  return trt_mul_scalar(input, trt_scalar_int(-2), out);
}

static void test_sequence_grows_inside(void** state) {
  (void)state;
  int calls = 0;
  ok(trt_custom_module_create("Grows", forward_adds_children, &calls, NULL, &held.module));
  ok(trt_sequential_create(&held.module, 1, &held.parent));
  trt_tensor *x = vec(false), *y;
  ok(trt_module_forward(held.parent, x, &y));
  float got[3];
  ok(trt_tensor_copy_to_host(y, got, TRT_FLOAT32, 3));
  assert_true(got[0] == 0); /* by the modules that came meanwhile */
  trt_tensor_release(x);
  trt_tensor_release(y);
  release_all();
}

static trt_status* visit_releases(trt_module* m, void* data) {
  (void)m;
  (void)data;
  release_all();
  return NULL;
}
static trt_status* visit_adds_children(trt_module* m, void* data) {
  int* visits = data;
  ++*visits;
  if (strcmp(trt_module_type_name(m), "ReLU") != 0 || trt_module_child_count(held.parent) > 20) return NULL;
  for (int i = 0; i < 40; ++i) {
    trt_module* identity;
    char name[16];
    snprintf(name, sizeof name, "more%d", i);
    ok(trt_identity_create(&identity));
    ok(trt_module_register_child(held.parent, name, identity));
    trt_module_release(identity);
  }
  return NULL;
}

static trt_module* two_relus(void) {
  trt_module *list[2], *m;
  ok(trt_relu_create(&list[0]));
  ok(trt_relu_create(&list[1]));
  ok(trt_sequential_create(list, 2, &m));
  trt_module_release(list[0]);
  trt_module_release(list[1]);
  return m;
}

static void test_module_apply(void** state) {
  (void)state;
  gone = 0;
  held.parent = two_relus();
  ok(trt_module_apply(held.parent, visit_releases, NULL, count_gone));
  assert_int_equal(gone, 1);
  int visits = 0;
  held.parent = two_relus();
  ok(trt_module_apply(held.parent, visit_adds_children, &visits, NULL));
  assert_int_equal(visits, 43);
  release_all();
}

static trt_status* hook_releases(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)data;
  const uint64_t id = held.hook;
  if (held.tensor) ok(trt_tensor_remove_hook(held.tensor, id));
  release_all();
  return trt_mul_scalar(grad, trt_scalar_int(2), out);
}

static void test_hooks(void** state) {
  (void)state;
  gone = 0;
  for (int leaf = 0; leaf < 2; ++leaf) {
    trt_tensor *w = vec(true), *y, *s, *g;
    ok(trt_mul_scalar(w, trt_scalar_int(3), &y));
    ok(trt_tensor_add_hook(leaf ? w : y, hook_releases, NULL, count_gone, &held.hook));
    ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &s));
    held.tensor = leaf ? trt_tensor_retain(w) : y;
    held.other = leaf ? y : s;
    ok(trt_tensor_backward(s));
    if (leaf) trt_tensor_release(s);
    ok(trt_tensor_grad(w, &g));
    float got[3];
    ok(trt_tensor_copy_to_host(g, got, TRT_FLOAT32, 3));
    assert_true(got[0] == 6);
    trt_tensor_release(g);
    trt_tensor_release(w);
    assert_int_equal(gone, leaf + 1);
  }
}

static void count_and_release(void* data) {
  (void)data;
  ++gone;
  release_all();
}

static void destroy_adds_hook(void* data) {
  (void)data;
  ++gone;
  uint64_t id;
  trt_tensor* g;
  ok(trt_tensor_add_hook(held.tensor, hook_releases, NULL, NULL, &id));
  ok(trt_tensor_remove_hook(held.tensor, id));
  ok(trt_tensor_grad(held.tensor, &g));
  trt_tensor_release(g);
  release_all();
}

/* The destroy function of a hook, and the deleter of a gradient, use the tensor and let it go: no lock may be held there. */
static void test_destroy_functions(void** state) {
  (void)state;
  gone = 0;
  for (int leaf = 0; leaf < 2; ++leaf) {
    uint64_t id;
    trt_tensor* w = vec(true);
    if (leaf) held.tensor = w;
    else ok(trt_mul_scalar(w, trt_scalar_int(3), &held.tensor)), trt_tensor_release(w);
    ok(trt_tensor_add_hook(held.tensor, hook_releases, NULL, destroy_adds_hook, &id));
    ok(trt_tensor_remove_hook(held.tensor, id));
    assert_null(held.tensor);
  }
  assert_int_equal(gone, 2);
  static float memory[3] = {1, 1, 1};
  const trt_device cpu = {TRT_CPU, 0};
  for (int way = 0; way < 5; ++way) {
    trt_tensor* grad;
    held.tensor = vec(true);
    ok(trt_tensor_from_blob(memory, &kThree, NULL, 1, TRT_FLOAT32, cpu, destroy_adds_hook, NULL, &grad));
    ok(trt_tensor_set_grad(held.tensor, grad));
    trt_tensor_release(grad);
    const trt_tensor* list = held.tensor;
    if (way == 0) ok(trt_tensor_set_grad(held.tensor, NULL));
    if (way == 1) {
      ok(trt_sgd_create(&list, 1, NULL, &held.optimizer));
      ok(trt_optimizer_zero_grad(held.optimizer, true));
    }
    if (way == 2) {
      trt_module* m;
      ok(trt_custom_module_create("Own", forward_releases, NULL, NULL, &m));
      ok(trt_module_register_parameter(m, "w", held.tensor));
      held.module = m;
      ok(trt_module_zero_grad(held.module, true));
    }
    if (way >= 3) {
      /* A recorded pass replaces the gradient by a new one, whose graph keeps the leaf alive until it is dropped. */
      trt_tensor *y, *s, *leaf = trt_tensor_retain(held.tensor);
      ok(trt_mul(held.tensor, held.tensor, &y));
      ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &s));
      const trt_tensor* root = s;
      ok(trt_backward(&root, 1, NULL, 0, &list, way == 3, false, true));
      ok(trt_tensor_set_grad(leaf, NULL));
      trt_tensor_release(leaf);
      trt_tensor_release(y);
      trt_tensor_release(s);
    }
    assert_int_equal(gone, 3 + way);
  }
}

/* The memory that a node saved is freed when its pass is over; the deleter lets the node's own result go, which keeps its gradient. */
static void test_saved_memory(void** state) {
  (void)state;
  gone = 0;
  static float memory[3] = {1, 1, 1};
  trt_tensor *w = vec(true), *blob, *y, *s;
  ok(trt_tensor_from_blob(memory, &kThree, NULL, 1, TRT_FLOAT32, (trt_device){TRT_CPU, 0}, count_and_release, NULL, &blob));
  ok(trt_mul(w, blob, &y));
  trt_tensor_release(blob);
  ok(trt_tensor_retain_grad(y));
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &s));
  held.tensor = y;
  held.other = s;
  ok(trt_tensor_backward(s));
  assert_int_equal(gone, 1);
  trt_tensor_release(w);
}

static trt_status* get_releases(int64_t index, trt_tensor** out, size_t fields, void* data) {
  (void)fields;
  (void)data;
  if (index == 0) release_all();
  return trt_full(NULL, 0, trt_scalar_int(index), TRT_INT64, NULL, &out[0]);
}
static trt_status* map_releases(const trt_tensor* const* in, size_t in_count, trt_tensor** out, size_t fields, void* data) {
  (void)in_count;
  (void)fields;
  (void)data;
  release_all();
  return trt_add_scalar(in[0], trt_scalar_int(1), trt_scalar_int(1), &out[0]);
}

static void test_data(void** state) {
  (void)state;
  gone = 0;
  trt_tensor_list* sample;
  bool more;
  ok(trt_dataset_from_callback(4, 1, get_releases, NULL, count_gone, &held.dataset));
  ok(trt_dataset_get(held.dataset, 0, &sample));
  trt_tensor_list_release(sample);
  assert_int_equal(gone, 1);
  trt_dataset* base;
  ok(trt_dataset_from_callback(4, 1, get_releases, NULL, count_gone, &base));
  ok(trt_dataset_map(base, 1, map_releases, NULL, count_gone, &held.dataset));
  trt_dataset_release(base);
  const int64_t indices[] = {1, 2};
  ok(trt_dataset_batch(held.dataset, indices, 2, &sample));
  trt_tensor_list_release(sample);
  assert_int_equal(gone, 3);
  for (int workers = 0; workers < 3; ++workers) {
    trt_data_loader_options options;
    trt_data_loader_options_init(&options);
    options.num_workers = workers;
    options.batch_size = 2;
    ok(trt_dataset_from_callback(4, 1, get_releases, NULL, count_gone, &held.dataset));
    ok(trt_data_loader_create(held.dataset, &options, &held.loader));
    ok(trt_data_loader_next(held.loader, &sample, &more));
    assert_true(more);
    trt_tensor_list_release(sample);
    assert_int_equal(gone, 4 + workers);
  }
}

static trt_status* backward_releases(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* data) {
  (void)grads_count;
  (void)out_count;
  (void)data;
  release_all();
  out[0] = trt_tensor_retain(grads[0]);
  return NULL;
}

static void test_custom_function(void** state) {
  (void)state;
  gone = 0;
  trt_tensor *w = vec(true), *computed, *y, *s, *g;
  ok(trt_tensor_detach(w, &computed));
  const trt_tensor *in = w, *c = computed;
  ok(trt_custom_function("Own", &in, 1, &c, 1, backward_releases, NULL, count_gone, &y));
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &s));
  held.tensor = y;
  held.other = s;
  ok(trt_tensor_backward(s));
  assert_int_equal(gone, 1);
  ok(trt_tensor_grad(w, &g));
  assert_non_null(g);
  trt_tensor* all[] = {w, computed, g};
  for (size_t i = 0; i < 3; ++i) trt_tensor_release(all[i]);
}

static void test_state_dict(void** state) {
  (void)state;
  gone = 0;
  static float memory[3];
  const trt_device cpu = {TRT_CPU, 0};
  trt_tensor* plain = vec(false);
  for (int way = 0; way < 2; ++way) {
    trt_tensor* blob;
    ok(trt_tensor_from_blob(memory, &kThree, NULL, 1, TRT_FLOAT32, cpu, count_and_release, NULL, &blob));
    ok(trt_state_dict_create(&held.dict));
    ok(trt_state_dict_set(held.dict, "a", plain));
    ok(trt_state_dict_set(held.dict, "b", blob));
    trt_tensor_release(blob);
    if (way == 0) ok(trt_state_dict_set(held.dict, "b", plain));
    else ok(trt_state_dict_remove(held.dict, "b"));
    assert_int_equal(gone, way + 1);
    assert_null(held.dict);
  }
  trt_tensor_release(plain);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scheduler),
      cmocka_unit_test(test_scheduler_changed_inside),
      cmocka_unit_test(test_module_forward),
      cmocka_unit_test(test_sequence_grows_inside),
      cmocka_unit_test(test_module_apply),
      cmocka_unit_test(test_hooks),
      cmocka_unit_test(test_destroy_functions),
      cmocka_unit_test(test_saved_memory),
      cmocka_unit_test(test_data),
      cmocka_unit_test(test_custom_function),
      cmocka_unit_test(test_state_dict),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
