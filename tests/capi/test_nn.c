/* Modules, state dicts and initializers through the C API. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

#include "tensorrt/autograd.h"
#include "tensorrt/nn.h"
#include "tensorrt/ops.h"
#include "tensorrt/optim.h"

static trt_tensor* filled(const int64_t* sizes, size_t ndim, double value) {
  trt_tensor* t;
  ok(trt_full(sizes, ndim, trt_scalar_double(value), TRT_FLOAT32, NULL, &t));
  return t;
}

static trt_tensor* random_tensor(int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t sizes[] = {a, b, c, d};
  trt_tensor* t;
  ok(trt_empty(sizes, 4, TRT_FLOAT32, NULL, &t));
  ok(trt_init_normal(t, 0, 1, NULL));
  return t;
}

static double first(const trt_tensor* t) {
  trt_tensor* flat;
  trt_tensor* one;
  const int64_t all = -1;
  double v;
  ok(trt_reshape(t, &all, 1, &flat));
  ok(trt_select(flat, 0, 0, &one));
  ok(trt_tensor_item_double(one, &v));
  trt_tensor_release(flat);
  trt_tensor_release(one);
  return v;
}

static trt_tensor* forward(trt_module* m, const trt_tensor* x) {
  trt_tensor* y;
  ok(trt_module_forward(m, x, &y));
  return y;
}

static bool same_values(const trt_tensor* a, const trt_tensor* b) {
  bool same;
  ok(trt_equal(a, b, &same));
  return same;
}

/* A sequence that takes over its modules. */
static trt_module* sequence(trt_module** modules, size_t count) {
  trt_module* m;
  ok(trt_sequential_create(modules, count, &m));
  for (size_t i = 0; i < count; ++i) trt_module_release(modules[i]);
  return m;
}

/* conv, batch norm, relu, (pool, flatten), linear; images are 8 by 8. */
static trt_module* network(void) {
  trt_module *inner[2], *m[5];
  trt_conv_options conv;
  trt_conv_options_init(&conv);
  conv.padding[0] = conv.padding[1] = 1;
  conv.bias = false;
  ok(trt_conv2d_create(1, 4, 3, 3, &conv, &m[0]));
  ok(trt_batch_norm2d_create(4, NULL, &m[1]));
  ok(trt_relu_create(&m[2]));
  ok(trt_max_pool2d_create(2, 2, NULL, &inner[0]));
  ok(trt_flatten_create(1, -1, &inner[1]));
  m[3] = sequence(inner, 2);
  ok(trt_linear_create(64, 10, NULL, &m[4]));
  return sequence(m, 5);
}

static void test_tree(void** state) {
  (void)state;
  trt_module* m = network();
  char* text;
  ok(trt_module_to_string(m, &text));
  assert_string_equal(text,
                      "Sequential(\n"
                      "  (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)\n"
                      "  (1): BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)\n"
                      "  (2): ReLU()\n"
                      "  (3): Sequential(\n"
                      "    (0): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)\n"
                      "    (1): Flatten(start_dim=1, end_dim=-1)\n"
                      "  )\n"
                      "  (4): Linear(in_features=64, out_features=10, bias=True)\n"
                      ")");
  trt_string_release(text);
  assert_int_equal(trt_module_parameter_count(m), 36 + 8 + 650);
  assert_int_equal(trt_module_child_count(m), 5);
  assert_string_equal(trt_module_child_name(m, 3), "3");
  assert_string_equal(trt_module_type_name(trt_module_child(m, 2)), "ReLU");
  assert_null(trt_module_child(m, 5));

  trt_state_dict* d;
  ok(trt_module_named_parameters(m, &d));
  const char* names[] = {"0.weight", "1.weight", "1.bias", "4.weight", "4.bias"};
  assert_int_equal(trt_state_dict_size(d), 5);
  for (size_t i = 0; i < 5; ++i) assert_string_equal(trt_state_dict_name(d, i), names[i]);
  trt_tensor* p;
  ok(trt_state_dict_get(d, "4.bias", &p));
  assert_true(trt_tensor_requires_grad(p));
  trt_state_dict_release(d);
  trt_tensor_release(p);

  trt_module* pool;
  ok(trt_module_submodule(m, "3.0", &pool));
  assert_string_equal(trt_module_type_name(pool), "MaxPool2d");
  fails(trt_module_submodule(m, "3.x", &pool), TRT_NOT_FOUND, "3.x");
  fails(trt_module_parameter(m, "0.bias", &p), TRT_NOT_FOUND, "0.bias");
  /* A part of a path that is empty is nobody's name; "" alone is the module itself. */
  const char* no_module[] = {".", "0.", ".0", "..", "3..0", "3.0.", ".3.0"};
  for (size_t i = 0; i < 7; ++i) {
    trt_module* found = NULL;
    fails(trt_module_submodule(m, no_module[i], &found), TRT_NOT_FOUND, no_module[i]);
    assert_null(found);
  }
  const char* no_tensor[] = {"", ".", "0", "0.", ".weight", "..weight", "0..weight", ".0.weight", "0.weight."};
  ok(trt_module_parameter(m, "0.weight", &p));
  for (size_t i = 0; i < 9; ++i) {
    trt_tensor* found = NULL;
    fails(trt_module_parameter(m, no_tensor[i], &found), TRT_NOT_FOUND, "Sequential has no");
    fails(trt_module_buffer(m, no_tensor[i], &found), TRT_NOT_FOUND, "Sequential has no");
    fails(trt_module_set_parameter(m, no_tensor[i], p), TRT_NOT_FOUND, "Sequential has no");
    assert_null(found);
  }
  trt_tensor_release(p);
  ok(trt_module_buffer(m, "1.running_var", &p));
  assert_int_equal(trt_tensor_numel(p), 4);
  trt_tensor_release(p);
  trt_module_release(pool);

  /* Tied and frozen parameters. */
  ok(trt_module_parameter(m, "1.weight", &p));
  ok(trt_module_set_parameter(m, "1.bias", p));
  trt_tensor_release(p);
  trt_tensor_list* list;
  ok(trt_module_parameters(m, &list));
  assert_int_equal(trt_tensor_list_size(list), 4);
  trt_tensor_list_release(list);
  assert_int_equal(trt_module_parameter_count(m), 36 + 4 + 650);
  ok(trt_module_set_requires_grad(trt_module_child(m, 4), false));
  assert_int_equal(trt_module_trainable_parameter_count(m), 36 + 4);
  fails(trt_module_register_child(trt_module_child(m, 3), "top", m), TRT_INVALID_ARGUMENT, "part of itself");
  fails(trt_module_register_child(m, "0", trt_module_child(m, 3)), TRT_INVALID_ARGUMENT, "already");
  fails(trt_module_register_child(m, "a.b", trt_module_child(m, 3)), TRT_INVALID_ARGUMENT, "dot");
  trt_module_release(m);
}

static void test_modes(void** state) {
  (void)state;
  trt_module* m = network();
  trt_tensor *x = random_tensor(5, 1, 8, 8), *tracked, *mean;
  assert_true(trt_module_is_training(m));
  ok(trt_module_buffer(m, "1.num_batches_tracked", &tracked));
  ok(trt_module_buffer(m, "1.running_mean", &mean));
  assert_int_equal(trt_tensor_dtype(tracked), TRT_INT64);
  trt_tensor* y = forward(m, x);
  assert_int_equal(trt_tensor_sizes(y)[1], 10);
  trt_tensor_release(y);
  assert_true(first(tracked) == 1);
  assert_true(first(mean) != 0);
  ok(trt_module_train(m, false));
  assert_false(trt_module_is_training(trt_module_child(trt_module_child(m, 3), 0)));
  trt_tensor *a = forward(m, x), *b = forward(m, x);
  assert_true(same_values(a, b));
  assert_true(first(tracked) == 1);
  trt_tensor_release(a);
  trt_tensor_release(b);
  /* A failing forward in training mode counts nothing. */
  ok(trt_module_train(m, true));
  trt_tensor* wrong = random_tensor(1, 4, 1, 1);
  fails(trt_module_forward(trt_module_child(m, 1), wrong, &y), TRT_INVALID_ARGUMENT, "batch_norm");
  assert_true(first(tracked) == 1);
  trt_tensor_release(wrong);

  /* Gradients. */
  y = forward(m, x);
  trt_tensor *sum, *w, *g;
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &sum));
  ok(trt_tensor_backward(sum));
  ok(trt_module_parameter(m, "0.weight", &w));
  ok(trt_tensor_grad(w, &g));
  assert_non_null(g);
  trt_tensor_release(g);
  ok(trt_module_zero_grad(m, false));
  ok(trt_tensor_grad(w, &g));
  assert_true(first(g) == 0);
  trt_tensor_release(g);
  ok(trt_module_zero_grad(m, true));
  ok(trt_tensor_grad(w, &g));
  assert_null(g);
  trt_tensor_release(y);
  trt_tensor_release(sum);

  /* In another dtype: the same tensor object. */
  ok(trt_module_to_dtype(m, TRT_FLOAT64));
  assert_int_equal(trt_tensor_dtype(w), TRT_FLOAT64);
  assert_int_equal(trt_tensor_dtype(tracked), TRT_INT64);
  trt_tensor* x64;
  ok(trt_to(x, TRT_FLOAT64, &x64));
  y = forward(m, x64);
  assert_int_equal(trt_tensor_dtype(y), TRT_FLOAT64);
  fails(trt_module_to_dtype(m, TRT_INT32), TRT_INVALID_ARGUMENT, "floating");
  trt_tensor_release(y);
  trt_tensor_release(x64);
  trt_tensor_release(w);
  trt_tensor_release(x);
  trt_tensor_release(tracked);
  trt_tensor_release(mean);
  trt_module_release(m);
}

static void test_state_dict(void** state) {
  (void)state;
  trt_module *m = network(), *n = network();
  trt_tensor* x = random_tensor(3, 1, 8, 8);
  trt_tensor_release(forward(m, x)); /* moves the running statistics */
  ok(trt_module_train(m, false));
  ok(trt_module_train(n, false));
  trt_tensor *a = forward(m, x), *b = forward(n, x);
  assert_false(same_values(a, b));
  trt_tensor_release(b);
  trt_state_dict* d;
  ok(trt_module_state_dict(m, &d));
  const char* names[] = {"0.weight", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked", "4.weight", "4.bias"};
  assert_int_equal(trt_state_dict_size(d), 8);
  for (size_t i = 0; i < 8; ++i) assert_string_equal(trt_state_dict_name(d, i), names[i]);
  ok(trt_module_load_state_dict(n, d, true));
  b = forward(n, x);
  assert_true(same_values(a, b));
  char* text;
  ok(trt_module_compare_state_dict(n, d, &text));
  assert_null(text);

  /* All that does not fit is told at once, and nothing changes. */
  const int64_t sizes[] = {4, 4};
  trt_tensor* other = filled(sizes, 2, 7);
  ok(trt_state_dict_remove(d, "0.weight"));
  ok(trt_state_dict_remove(d, "1.bias"));
  ok(trt_state_dict_set(d, "extra", other));
  ok(trt_state_dict_set(d, "4.bias", other));
  assert_true(trt_state_dict_contains(d, "4.weight"));
  trt_tensor* ones = filled(NULL, 0, 1);
  trt_tensor* w;
  ok(trt_module_parameter(m, "1.weight", &w));
  trt_tensor* two = filled(trt_tensor_sizes(w), 1, 2);
  ok(trt_state_dict_set(d, "1.weight", two));
  trt_status* s = trt_module_load_state_dict(n, d, true);
  assert_non_null(s);
  assert_int_equal(trt_status_code(s), TRT_INVALID_ARGUMENT);
  const char* message = trt_status_message(s);
  assert_non_null(strstr(message, "missing: 0.weight, 1.bias"));
  assert_non_null(strstr(message, "unexpected: extra"));
  assert_non_null(strstr(message, "4.bias is [4, 4] in the state dict and [10] in the module"));
  trt_status_release(s);
  fails(trt_module_load_state_dict(n, d, false), TRT_INVALID_ARGUMENT, "4.bias");
  trt_tensor* c = forward(n, x);
  assert_true(same_values(b, c));
  trt_tensor_release(c);
  ok(trt_state_dict_remove(d, "4.bias"));
  ok(trt_module_load_state_dict(n, d, false)); /* other names are passed over */
  trt_tensor* loaded;
  ok(trt_module_parameter(n, "1.weight", &loaded));
  assert_true(first(loaded) == 2);
  assert_true(trt_tensor_requires_grad(loaded));
  trt_tensor_release(loaded);

  /* Two entries swapped over the module's own memory. */
  trt_state_dict* swapped;
  ok(trt_module_state_dict(n, &swapped));
  trt_tensor *t1, *t2;
  ok(trt_state_dict_get(swapped, "1.weight", &t1));
  ok(trt_state_dict_get(swapped, "1.running_mean", &t2));
  const double v1 = first(t1), v2 = first(t2);
  ok(trt_state_dict_set(swapped, "1.weight", t2));
  ok(trt_state_dict_set(swapped, "1.running_mean", t1));
  ok(trt_module_load_state_dict(n, swapped, true));
  assert_true(first(t1) == v2 && first(t2) == v1);
  trt_tensor_release(t1);
  trt_tensor_release(t2);
  trt_state_dict_release(swapped);

  fails(trt_state_dict_get(d, "none", &c), TRT_NOT_FOUND, "none");
  fails(trt_state_dict_set(d, "", ones), TRT_INVALID_ARGUMENT, "empty");
  fails(trt_state_dict_remove(d, "none"), TRT_NOT_FOUND, "none");
  assert_null(trt_state_dict_name(d, 100));
  trt_tensor_release(a);
  trt_tensor_release(b);
  trt_tensor_release(other);
  trt_tensor_release(ones);
  trt_tensor_release(two);
  trt_tensor_release(w);
  trt_tensor_release(x);
  trt_state_dict_release(d);
  trt_module_release(m);
  trt_module_release(n);
}

struct custom {
  int calls, destroyed;
  bool fail, nothing;
};

/* input * scale + child(input) */
static trt_status* custom_forward(trt_module* self, const trt_tensor* input, trt_tensor** out, void* user_data) {
  struct custom* c = user_data;
  ++c->calls;
  if (c->fail) return trt_status_create(TRT_UNAVAILABLE, "the host says no");
  if (c->nothing) return NULL;
  trt_tensor *scale = NULL, *scaled = NULL, *below = NULL;
  trt_status* s = trt_module_parameter(self, "scale", &scale);
  if (!s) s = trt_mul(input, scale, &scaled);
  if (!s) s = trt_module_forward(trt_module_child(self, 0), input, &below);
  if (!s) s = trt_add(scaled, below, trt_scalar_int(1), out);
  trt_tensor_release(scale);
  trt_tensor_release(scaled);
  trt_tensor_release(below);
  return s;
}

static void custom_destroy(void* user_data) { ++((struct custom*)user_data)->destroyed; }

/* Names end up in JSON and in messages, both of which are UTF-8. */
static void test_names_are_utf8(void** state) {
  (void)state;
  /* A lone byte, one cut off, a longer form than needed, a surrogate, above U+10FFFF. */
  const char* bad[] = {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
  const int64_t n = 3;
  trt_tensor* t = filled(&n, 1, 1);
  trt_state_dict* d;
  trt_module *m, *child, *none = NULL;
  ok(trt_state_dict_create(&d));
  ok(trt_identity_create(&child));
  struct custom c = {0, 0, false, false};
  ok(trt_custom_module_create("Gr\xc3\xb6\xc3\x9f" "e\xf0\x9f\x98\x80", custom_forward, &c, NULL, &m));
  for (size_t i = 0; i < 5; ++i) {
    fails(trt_state_dict_set(d, bad[i], t), TRT_INVALID_ARGUMENT, "UTF-8");
    fails(trt_custom_module_create(bad[i], custom_forward, &c, NULL, &none), TRT_INVALID_ARGUMENT, "UTF-8");
    fails(trt_module_register_parameter(m, bad[i], t), TRT_INVALID_ARGUMENT, "UTF-8");
    fails(trt_module_register_buffer(m, bad[i], t, true), TRT_INVALID_ARGUMENT, "UTF-8");
    fails(trt_module_register_child(m, bad[i], child), TRT_INVALID_ARGUMENT, "UTF-8");
    /* What is not found is named in the message, with U+FFFD for what is no character. */
    trt_tensor* found = NULL;
    fails(trt_module_parameter(m, bad[i], &found), TRT_NOT_FOUND, "\xef\xbf\xbd");
    fails(trt_state_dict_get(d, bad[i], &found), TRT_NOT_FOUND, "\xef\xbf\xbd'");
  }
  assert_null(none);
  assert_int_equal(trt_state_dict_size(d), 0);
  ok(trt_state_dict_set(d, "\xe2\x82\xac", t));
  ok(trt_module_register_parameter(m, "\xe2\x82\xac", t));
  trt_tensor* found;
  ok(trt_module_parameter(m, "\xe2\x82\xac", &found));
  trt_tensor_release(found);
  trt_state_dict_release(d);
  trt_module_release(child);
  trt_module_release(m);
  trt_tensor_release(t);
}

static void test_custom(void** state) {
  (void)state;
  struct custom c = {0, 0, false, false};
  trt_module *m, *child;
  ok(trt_custom_module_create("Scaled", custom_forward, &c, custom_destroy, &m));
  const int64_t n = 3;
  trt_tensor *scale = filled(&n, 1, 3), *x = filled(&n, 1, 2), *y, *sum, *g;
  ok(trt_module_register_parameter(m, "scale", scale));
  ok(trt_module_register_buffer(m, "seen", x, true));
  ok(trt_module_register_buffer(m, "scratch", x, false));
  ok(trt_identity_create(&child));
  ok(trt_module_register_child(m, "inner", child));
  trt_module_release(child);
  assert_true(trt_tensor_requires_grad(scale));
  y = forward(m, x);
  assert_true(first(y) == 8);
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &sum));
  ok(trt_tensor_backward(sum));
  ok(trt_tensor_grad(scale, &g));
  assert_true(first(g) == 2);
  trt_tensor_release(g);
  trt_tensor_release(sum);
  trt_tensor_release(y);
  char* text;
  ok(trt_module_to_string(m, &text));
  assert_string_equal(text, "Scaled(\n  (inner): Identity()\n)");
  trt_string_release(text);
  trt_state_dict* d;
  ok(trt_module_state_dict(m, &d));
  assert_int_equal(trt_state_dict_size(d), 2);
  trt_state_dict_release(d);

  c.fail = true;
  trt_module* outer = NULL;
  ok(trt_sequential_create(&m, 1, &outer));
  trt_status* s = trt_module_forward(outer, x, &y);
  assert_int_equal(trt_status_code(s), TRT_UNAVAILABLE);
  assert_string_equal(trt_status_message(s), "the host says no (in module '0', Scaled)");
  trt_status_release(s);
  c.fail = false;
  c.nothing = true;
  fails(trt_module_forward(outer, x, &y), TRT_CALLBACK, "gave no tensor");
  trt_module_release(m);
  assert_int_equal(c.destroyed, 0);
  trt_module_release(outer);
  assert_int_equal(c.destroyed, 1);
  assert_int_equal(c.calls, 3);

  fails(trt_custom_module_create("X", NULL, &c, custom_destroy, &m), TRT_INVALID_ARGUMENT, "fn");
  fails(trt_custom_module_create(NULL, custom_forward, &c, custom_destroy, &m), TRT_INVALID_ARGUMENT, "type_name");
  fails(trt_custom_module_create("", custom_forward, &c, custom_destroy, &m), TRT_INVALID_ARGUMENT, "type name");
  fails(trt_custom_module_create("X", custom_forward, &c, custom_destroy, NULL), TRT_INVALID_ARGUMENT, "out");
  assert_int_equal(c.destroyed, 5);
  trt_tensor_release(scale);
  trt_tensor_release(x);
}

static trt_module* linear(int64_t in, int64_t out) {
  trt_module* m;
  ok(trt_linear_create(in, out, NULL, &m));
  return m;
}

/* Runs the module that user_data is, which may be no child; a first error is passed over. */
static trt_status* run_other(trt_module* self, const trt_tensor* input, trt_tensor** out, void* user_data) {
  trt_tensor* ignored = NULL;
  (void)self;
  trt_status_release(trt_module_forward(user_data, input, &ignored));
  trt_tensor_release(ignored);
  return trt_module_forward(user_data, input, out);
}
static trt_status* own_error(trt_module* self, const trt_tensor* input, trt_tensor** out, void* user_data) {
  (void)user_data;
  trt_status* s = trt_module_forward(trt_module_child(self, 0), input, out);
  trt_status_release(s);
  return s ? trt_status_create(TRT_CANCELLED, "given up") : NULL;
}

/* An error inside of a part tells the part's path and type, once; its code and operator stay. */
static void test_places(void** state) {
  (void)state;
  const int64_t sizes[] = {1, 2};
  trt_tensor *x = filled(sizes, 2, 1), *y = NULL;
  trt_module *relu, *other, *outer, *alone = linear(2, 3);
  /* 2.1 is the wrong one. */
  ok(trt_relu_create(&relu));
  trt_module* inner = sequence((trt_module*[]){linear(3, 4), linear(5, 6)}, 2);
  trt_module* net = sequence((trt_module*[]){alone, relu, inner}, 3);
  trt_status* s = trt_module_forward(net, x, &y);
  assert_string_equal(trt_status_op(s), "trt_module_forward");
  const char* place = strstr(trt_status_message(s), " (in module");
  assert_string_equal(place, " (in module '2.1', Linear)");
  assert_non_null(strstr(trt_status_message(s), "linear: "));
  fails(s, TRT_INVALID_ARGUMENT, "[6, 5]");
  /* The module itself: there is no path to tell. */
  alone = linear(3, 4);
  s = trt_module_forward(alone, x, &y);
  trt_module_release(alone);
  assert_null(strstr(trt_status_message(s), "in module"));
  trt_status_release(s);
  /* Through a module of the host, whose part it is no child of. */
  ok(trt_custom_module_create("Other", run_other, net, NULL, &other));
  ok(trt_sequential_create(&other, 1, &outer));
  s = trt_module_forward(outer, x, &y);
  assert_string_equal(strstr(trt_status_message(s), " (in module"), " (in module '0.<Sequential>.2.1', Linear)");
  trt_status_release(s);
  ok(trt_module_register_child(other, "net", net));
  s = trt_module_forward(outer, x, &y);
  assert_string_equal(strstr(trt_status_message(s), " (in module"), " (in module '0.net.2.1', Linear)");
  trt_status_release(s);
  trt_module_release(outer);
  trt_module_release(other);
  /* An error of the host's own in place of the inner one is where the host made it. */
  ok(trt_custom_module_create("Other", own_error, NULL, NULL, &other));
  ok(trt_module_register_child(other, "net", net));
  ok(trt_sequential_create(&other, 1, &outer));
  s = trt_module_forward(outer, x, &y);
  assert_string_equal(trt_status_message(s), "given up (in module '0', Other)");
  fails(s, TRT_CANCELLED, "given up");
  assert_null(y);
  trt_module_release(outer);
  trt_module_release(other);
  trt_module_release(net);
  trt_tensor_release(x);
}

/* Empty handles are told with the parent and the name. */
static void test_empty_parts(void** state) {
  (void)state;
  trt_module* m = sequence(NULL, 0);
  fails(trt_module_register_child(m, "encoder", NULL), TRT_INVALID_ARGUMENT, "the child 'encoder' for Sequential is NULL (an empty module)");
  fails(trt_module_register_parameter(m, "w", NULL), TRT_INVALID_ARGUMENT, "the parameter 'w' for Sequential is NULL (an empty tensor)");
  fails(trt_module_register_buffer(m, "b", NULL, true), TRT_INVALID_ARGUMENT, "the buffer 'b' for Sequential is NULL (an empty tensor)");
  fails(trt_module_set_parameter(m, "w", NULL), TRT_INVALID_ARGUMENT, "the parameter 'w' for Sequential is NULL (an empty tensor)");
  fails(trt_module_register_child(NULL, "encoder", NULL), TRT_INVALID_ARGUMENT, "argument 'module' is NULL");
  trt_module* out = NULL;
  fails(trt_sequential_create((trt_module*[]){m, NULL}, 2, &out), TRT_INVALID_ARGUMENT, "element 1");
  assert_int_equal(trt_module_child_count(m), 0);
  trt_state_dict* d;
  ok(trt_state_dict_create(&d));
  fails(trt_state_dict_set(d, "w", NULL), TRT_INVALID_ARGUMENT, "the tensor of the entry 'w' is NULL");
  trt_state_dict_release(d);
  trt_module_release(m);
}

/* A list is an array where tensors are taken. */
static void test_lists_as_arrays(void** state) {
  (void)state;
  trt_module* m = linear(2, 1);
  trt_tensor_list* list;
  trt_optimizer* optimizer;
  ok(trt_module_parameters(m, &list));
  assert_int_equal(trt_tensor_list_size(list), 2);
  const trt_tensor* const* data = trt_tensor_list_data(list);
  for (size_t i = 0; i < 2; ++i) {
    trt_tensor* one;
    ok(trt_tensor_list_get(list, i, &one));
    assert_ptr_equal(one, data[i]);
    trt_tensor_release(one);
  }
  ok(trt_sgd_create(data, trt_tensor_list_size(list), NULL, &optimizer));
  ok(trt_optimizer_step(optimizer));
  ok(trt_clip_grad_value(data, trt_tensor_list_size(list), 1));
  trt_optimizer_release(optimizer);
  trt_tensor_list_release(list);
  trt_module_release(m);
  assert_null(trt_tensor_list_data(NULL));
}

static trt_status* visit(trt_module* module, void* user_data) {
  int* left = user_data;
  (void)module;
  return --*left < 0 ? trt_status_create(TRT_CANCELLED, "enough") : NULL;
}

static void test_apply(void** state) {
  (void)state;
  trt_module* m = network();
  int left = 8;
  ok(trt_module_apply(m, visit, &left, NULL));
  assert_int_equal(left, 0);
  left = 2;
  fails(trt_module_apply(m, visit, &left, NULL), TRT_CANCELLED, "enough");
  struct custom c = {0, 0, false, false};
  fails(trt_module_apply(m, NULL, &c, custom_destroy), TRT_INVALID_ARGUMENT, "fn");
  assert_int_equal(c.destroyed, 1);
  trt_module_release(m);
}

/* Modules nested a hundred thousand deep: a clear error, and no recursion when they go. */
static void test_depth(void** state) {
  (void)state;
  struct custom c = {0, 0, false, false};
  trt_module *top, *at;
  ok(trt_custom_module_create("Node", custom_forward, &c, NULL, &top));
  at = top;
  for (int i = 0; i < 100000; ++i) {
    trt_module* next;
    ok(trt_custom_module_create("Node", custom_forward, &c, NULL, &next));
    ok(trt_module_register_child(at, "n", next));
    trt_module_release(next);
    at = next;
  }
  char* text;
  fails(trt_module_to_string(top, &text), TRT_INVALID_ARGUMENT, "deeper");
  trt_state_dict* d;
  fails(trt_module_state_dict(top, &d), TRT_INVALID_ARGUMENT, "deeper");
  assert_int_equal(trt_module_parameter_count(top), 0);
  trt_module_release(top);
}

static trt_status* forward_first_child(trt_module* self, const trt_tensor* input, trt_tensor** out, void* user_data) {
  (void)user_data;
  return trt_module_forward(trt_module_child(self, 0), input, out);
}

/* The same for forward, through modules of the library and of the host: a tree grows at its leaves unseen by its root. */
static void test_depth_of_forward(void** state) {
  (void)state;
  for (int host = 0; host < 2; ++host) {
    trt_module *top = NULL, *at = NULL;
    for (int i = 0; i < 100000; ++i) {
      trt_module* next;
      if (host) ok(trt_custom_module_create("Node", forward_first_child, NULL, NULL, &next));
      else ok(trt_sequential_create(NULL, 0, &next));
      if (at) {
        ok(trt_module_register_child(at, "0", next));
        trt_module_release(next);
      } else {
        top = next;
      }
      at = next;
    }
    trt_tensor *x, *y;
    const int64_t n = 1;
    ok(trt_zeros(&n, 1, TRT_FLOAT32, NULL, &x));
    for (int i = 0; i < 2; ++i) fails(trt_module_forward(top, x, &y), TRT_INVALID_ARGUMENT, "nested deeper than 1000 (in module '...0.0.");
    trt_tensor_release(x);
    trt_module_release(top);
  }
}

static void test_initial_values(void** state) {
  (void)state;
  trt_generator* g;
  ok(trt_generator_create(11, &g));
  trt_linear_options o;
  trt_linear_options_init(&o);
  o.generator = g;
  trt_module *a, *b;
  ok(trt_linear_create(100, 50, &o, &a));
  ok(trt_linear_create(100, 50, NULL, &b));
  trt_tensor *wa, *wb, *min, *max;
  ok(trt_module_parameter(a, "weight", &wa));
  ok(trt_module_parameter(b, "weight", &wb));
  assert_false(same_values(wa, wb));
  ok(trt_aminmax(wa, NULL, false, &min, &max));
  assert_true(first(min) >= -0.1 && first(min) < -0.099 && first(max) <= 0.1 && first(max) > 0.099);
  ok(trt_generator_seed(g, 11));
  ok(trt_module_reset_parameters(b, g));
  assert_true(same_values(wa, wb));
  trt_tensor_release(min);
  trt_tensor_release(max);
  trt_tensor_release(wa);
  trt_tensor_release(wb);
  trt_module_release(a);
  trt_module_release(b);
  trt_generator_release(g);

  const int64_t sizes[] = {200, 50};
  trt_tensor* t = filled(sizes, 2, 0);
  ok(trt_init_xavier_uniform(t, 2, NULL));
  ok(trt_aminmax(t, NULL, false, &min, &max));
  const double bound = 2 * sqrt(6.0 / 250);
  assert_true(first(max) <= bound && first(max) > 0.99 * bound && first(min) >= -bound);
  trt_tensor_release(min);
  trt_tensor_release(max);
  ok(trt_init_kaiming_normal(t, 0, TRT_FAN_OUT, "relu", NULL));
  trt_tensor* deviation;
  ok(trt_std(t, true, &deviation));
  assert_true(fabs(first(deviation) - 0.1) < 0.005);
  trt_tensor_release(deviation);
  ok(trt_init_trunc_normal(t, 0, 1, -0.5, 1, NULL));
  ok(trt_aminmax(t, NULL, false, &min, &max));
  assert_true(first(min) >= -0.5 && first(min) < -0.45 && first(max) <= 1 && first(max) > 0.95);
  trt_tensor_release(min);
  trt_tensor_release(max);
  ok(trt_init_eye(t));
  assert_true(first(t) == 1);
  ok(trt_init_constant(t, 3));
  assert_true(first(t) == 3);
  ok(trt_init_zeros(t));
  assert_true(first(t) == 0);
  fails(trt_init_kaiming_uniform(t, 0, 2, NULL, NULL), TRT_INVALID_ARGUMENT, "fan mode");
  fails(trt_init_kaiming_uniform(t, 0, TRT_FAN_IN, "swish", NULL), TRT_INVALID_ARGUMENT, "swish");
  trt_tensor* vector = filled(sizes, 1, 0);
  fails(trt_init_xavier_normal(vector, 1, NULL), TRT_INVALID_ARGUMENT, "2 dimensions");
  trt_tensor_release(vector);
  trt_tensor_release(t);
}

static void test_options(void** state) {
  (void)state;
  trt_module* m = NULL;
  trt_conv_options o;
  trt_conv_options_init(&o);
  o.struct_size = 0;
  fails(trt_conv2d_create(1, 1, 3, 3, &o, &m), TRT_INVALID_ARGUMENT, "_init");
  o.struct_size = sizeof o + 8;
  fails(trt_conv2d_create(1, 1, 3, 3, &o, &m), TRT_INVALID_ARGUMENT, "newer");
  /* An older, shorter struct: what it lacks has its default. */
  trt_conv_options_init(&o);
  o.stride[0] = o.stride[1] = 2;
  o.groups = 77;
  o.struct_size = offsetof(trt_conv_options, groups);
  ok(trt_conv2d_create(2, 2, 3, 3, &o, &m));
  trt_module_release(m);
  m = NULL;
  trt_conv_options_init(&o);
  o.groups = 3;
  fails(trt_conv2d_create(4, 6, 3, 3, &o, &m), TRT_INVALID_ARGUMENT, "groups");
  o.groups = 1;
  o.padding_same = true;
  o.stride[0] = 2;
  fails(trt_conv2d_create(4, 6, 3, 3, &o, &m), TRT_INVALID_ARGUMENT, "same");
  fails(trt_conv2d_create(4, 6, INT64_MAX, INT64_MAX, NULL, &m), TRT_INVALID_ARGUMENT, "too many");
  fails(trt_linear_create(-1, 6, NULL, &m), TRT_INVALID_ARGUMENT, "negative");
  fails(trt_linear_create(1, 6, NULL, NULL), TRT_INVALID_ARGUMENT, "out");
  trt_linear_options l;
  trt_linear_options_init(&l);
  l.dtype = TRT_INT32;
  fails(trt_linear_create(1, 6, &l, &m), TRT_INVALID_ARGUMENT, "floating");
  l.dtype = 99;
  fails(trt_linear_create(1, 6, &l, &m), TRT_INVALID_ARGUMENT, "99");
  trt_embedding_options e;
  trt_embedding_options_init(&e);
  e.has_padding_idx = true;
  e.padding_idx = 5;
  fails(trt_embedding_create(5, 2, &e, &m), TRT_INVALID_ARGUMENT, "padding_idx");
  trt_pool_options p;
  trt_pool_options_init(&p);
  p.padding[0] = 2;
  fails(trt_max_pool2d_create(3, 3, &p, &m), TRT_INVALID_ARGUMENT, "padding");
  fails(trt_dropout_create(1.5, &m), TRT_INVALID_ARGUMENT, "1.5");
  fails(trt_dropout_create(NAN, &m), TRT_INVALID_ARGUMENT, "nan");
  fails(trt_sequential_create(NULL, 1, &m), TRT_INVALID_ARGUMENT, "modules");
  trt_module* none = NULL;
  fails(trt_sequential_create(&none, 1, &m), TRT_INVALID_ARGUMENT, "NULL");
  assert_null(m);
  trt_module_release(NULL);
  trt_state_dict_release(NULL);
  assert_int_equal(trt_module_parameter_count(NULL), 0);
}

struct shared {
  trt_module* module;
  trt_tensor *input, *want;
  int wrong;
};

static void* run_shared(void* p) {
  struct shared* s = p;
  trt_set_grad_mode(false);
  for (int i = 0; i < 50; ++i) {
    trt_tensor* y = NULL;
    bool same = false;
    trt_status* status = trt_module_forward(s->module, s->input, &y);
    if (!status) status = trt_equal(y, s->want, &same);
    if (status || !same) ++s->wrong;
    trt_status_release(status);
    trt_tensor_release(y);
  }
  return NULL;
}

static void test_threads(void** state) {
  (void)state;
  trt_module* m = network();
  ok(trt_module_train(m, false));
  trt_tensor* x = random_tensor(2, 1, 8, 8);
  trt_tensor* want = forward(m, x);
  struct shared s[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    s[i] = (struct shared){m, x, want, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_shared, &s[i]), 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(s[i].wrong, 0);
  }
  trt_tensor_release(x);
  trt_tensor_release(want);
  trt_module_release(m);
}

/* --- hooks --- */

struct hook_log {
  char text[64];
  int destroyed;
  uint64_t id;
  bool fail, again;
};

static void hook_gone(void* data) { ++((struct hook_log*)data)->destroyed; }

static trt_status* doubling(trt_module* module, const trt_tensor* input, trt_tensor** out, void* data) {
  struct hook_log* log = data;
  strcat(log->text, trt_module_type_name(module));
  strcat(log->text, "<");
  if (log->fail) return trt_status_create(TRT_UNAVAILABLE, "the hook says no");
  return trt_add(input, input, trt_scalar_int(1), out);
}

static trt_status* watching(trt_module* module, const trt_tensor* input, const trt_tensor* output, trt_tensor** out, void* data) {
  struct hook_log* log = data;
  (void)out;
  assert_true(first(output) == -first(input) || first(output) == first(input));
  strcat(log->text, ">");
  // A hook may remove itself and add another one.
  if (log->id) {
    ok(trt_module_remove_hook(module, log->id));
    log->id = 0;
  }
  if (log->again) {
    log->again = false;
    ok(trt_module_add_forward_hook(module, watching, data, hook_gone, &log->id));
    log->id = 0;
  }
  return NULL;
}

static trt_status* negating(trt_module* module, const trt_tensor* input, const trt_tensor* output, trt_tensor** out, void* data) {
  (void)module;
  (void)input;
  (void)data;
  return trt_neg(output, out);
}

static void test_hooks(void** state) {
  (void)state;
  trt_module *inner, *outer;
  ok(trt_identity_create(&inner));
  ok(trt_sequential_create(&inner, 1, &outer));
  const int64_t one = 1;
  const double three = 3;
  trt_tensor *x, *y;
  ok(trt_tensor_from_data(&three, &one, 1, TRT_FLOAT64, &x));
  struct hook_log log = {.id = 0};
  uint64_t before, before_too, after, negate;
  ok(trt_module_add_forward_pre_hook(inner, doubling, &log, hook_gone, &before));
  ok(trt_module_add_forward_pre_hook(inner, doubling, &log, hook_gone, &before_too));
  ok(trt_module_add_forward_hook(inner, watching, &log, hook_gone, &after));
  ok(trt_module_add_forward_hook(inner, negating, NULL, NULL, &negate));
  assert_true(before != before_too && after != negate && before != after);
  // As a part of another module, too; each hook sees what the one before made.
  y = forward(outer, x);
  assert_true(first(y) == -12);
  trt_tensor_release(y);
  assert_string_equal(log.text, "Identity<Identity<>");
  ok(trt_module_remove_hook(inner, before));
  assert_int_equal(log.destroyed, 1);
  fails(trt_module_remove_hook(inner, before), TRT_NOT_FOUND, "no hook");
  y = forward(inner, x);
  assert_true(first(y) == -6);
  trt_tensor_release(y);

  log.fail = true;
  y = x;
  trt_status* s = trt_module_forward(outer, x, &y);
  assert_int_equal(trt_status_code(s), TRT_UNAVAILABLE);
  assert_string_equal(trt_status_message(s), "the hook says no (in module '0', Identity)");
  trt_status_release(s);
  assert_ptr_equal(y, x);
  log.fail = false;

  log.id = after;
  log.again = true;
  log.text[0] = 0;
  y = forward(inner, x);
  trt_tensor_release(y);
  assert_string_equal(log.text, "Identity<>");
  assert_int_equal(log.destroyed, 2);
  // The new one comes behind the negating one.
  y = forward(inner, x);
  trt_tensor_release(y);
  assert_string_equal(log.text, "Identity<>Identity<>");

  uint64_t id = 77;
  fails(trt_module_add_forward_hook(inner, NULL, &log, hook_gone, &id), TRT_INVALID_ARGUMENT, "fn");
  fails(trt_module_add_forward_pre_hook(NULL, doubling, &log, hook_gone, &id), TRT_INVALID_ARGUMENT, "module");
  fails(trt_module_add_forward_pre_hook(inner, doubling, &log, hook_gone, NULL), TRT_INVALID_ARGUMENT, "out_id");
  assert_int_equal(id, 77);
  assert_int_equal(log.destroyed, 5);
  trt_module_release(outer);
  assert_int_equal(log.destroyed, 5);
  trt_module_release(inner);
  assert_int_equal(log.destroyed, 7);
  trt_tensor_release(x);
}

/* A sequence in two halves, the second from the states of the first, is the sequence at once; the largest difference. */
static double halves(trt_module* m, const trt_tensor* x) {
  trt_tensor *a, *b, *y, *whole, *h, *c, *y0, *y1, *h1, *c1, *both, *difference, *largest;
  trt_tensor* parts[2];
  double v;
  ok(trt_slice(x, 0, &(int64_t){0}, &(int64_t){2}, 1, &a));
  ok(trt_slice(x, 0, &(int64_t){2}, &(int64_t){5}, 1, &b));
  y = forward(m, x);
  ok(trt_recurrent_forward(m, x, NULL, NULL, &whole, &h1, &c1));
  assert_true(same_values(y, whole));
  trt_tensor_release(h1);
  trt_tensor_release(c1);
  ok(trt_recurrent_forward(m, a, NULL, NULL, &y0, &h, &c));
  ok(trt_recurrent_forward(m, b, h, c, &y1, &h1, &c1));
  parts[0] = y0;
  parts[1] = y1;
  ok(trt_cat((const trt_tensor* const*)parts, 2, 0, &both));
  ok(trt_sub(both, y, trt_scalar_int(1), &difference));
  ok(trt_linalg_vector_norm(difference, trt_scalar_double(INFINITY), NULL, 0, false, TRT_DTYPE_NONE, &largest));
  ok(trt_tensor_item_double(largest, &v));
  trt_tensor* all[] = {a, b, y, whole, h, c, y0, y1, h1, c1, both, difference, largest};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) trt_tensor_release(all[i]);
  return v;
}

static void test_recurrent(void** state) {
  (void)state;
  trt_status* (*const layers[])(int64_t, int64_t, const trt_recurrent_options*, trt_module**) = {trt_lstm_create, trt_gru_create, trt_rnn_create};
  trt_status* (*const cells[])(int64_t, int64_t, const trt_recurrent_options*, trt_module**) = {trt_lstm_cell_create, trt_gru_cell_create, trt_rnn_cell_create};
  const int64_t rows[] = {4, 3, 1};
  trt_tensor *x, *out = NULL, *hidden = NULL, *cell = NULL, *step;
  trt_module* m = NULL;
  ok(trt_randn((int64_t[]){5, 3, 2}, 3, NULL, TRT_FLOAT32, NULL, &x));
  ok(trt_select(x, 0, 0, &step));
  trt_recurrent_options o;
  trt_recurrent_options_init(&o);
  for (size_t i = 0; i < 3; ++i) {
    /* Sizes whose products with the number of gates, of directions or of layers do not fit. */
    const int64_t large[] = {INT64_MAX, INT64_MAX / 2, INT64_MAX / 4 + 1, INT64_C(1) << 41};
    for (size_t k = 0; k < 4; ++k) {
      fails(layers[i](2, large[k], NULL, &m), TRT_INVALID_ARGUMENT, "too large");
      fails(layers[i](large[k], 2, NULL, &m), TRT_INVALID_ARGUMENT, "too large");
      fails(cells[i](2, large[k], NULL, &m), TRT_INVALID_ARGUMENT, "too large");
      fails(cells[i](large[k], 2, NULL, &m), TRT_INVALID_ARGUMENT, "too large");
      o.num_layers = large[k];
      fails(layers[i](2, 2, &o, &m), TRT_INVALID_ARGUMENT, "num_layers");
    }
    o.num_layers = 2;
    ok(layers[i](2, 4, &o, &m));
    assert_int_equal(trt_module_parameter_count(m), rows[i] * 4 * (2 + 4 + 2 + 4 + 4 + 2));
    assert_true(halves(m, x) < 1e-5);
    ok(trt_recurrent_forward(m, x, NULL, NULL, &out, &hidden, &cell));
    assert_int_equal(trt_tensor_numel(hidden), 2 * 3 * 4);
    assert_true((cell != NULL) == (i == 0));
    trt_tensor_release(out);
    trt_tensor_release(hidden);
    trt_tensor_release(cell);
    trt_module_release(m);

    ok(cells[i](2, 4, NULL, &m));
    ok(trt_recurrent_forward(m, step, NULL, NULL, &out, &hidden, &cell));
    assert_true(same_values(out, hidden) && (cell != NULL) == (i == 0));
    trt_tensor* y = forward(m, step);
    assert_true(same_values(out, y));
    trt_tensor_release(y);
    trt_tensor_release(out);
    trt_tensor_release(hidden);
    trt_tensor_release(cell);
    trt_module_release(m);
  }

  o.bidirectional = true;
  o.proj_size = 3;
  ok(trt_lstm_create(2, 4, &o, &m));
  trt_tensor* w;
  ok(trt_module_parameter(m, "weight_hr_l1_reverse", &w));
  trt_tensor_release(w);
  char* text;
  ok(trt_module_to_string(m, &text));
  assert_string_equal(text, "LSTM(2, 4, proj_size=3, num_layers=2, bidirectional=True)");
  trt_string_release(text);
  out = hidden = cell = NULL;
  fails(trt_recurrent_forward(m, step, x, NULL, &out, &hidden, &cell), TRT_INVALID_ARGUMENT, "go together");
  fails(trt_recurrent_forward(m, x, NULL, NULL, &out, &hidden, NULL), TRT_INVALID_ARGUMENT, "out_cell");
  trt_module_release(m);
  m = NULL;
  fails(trt_gru_create(2, 4, &o, &m), TRT_INVALID_ARGUMENT, "proj_size");
  fails(trt_lstm_create(2, 0, NULL, &m), TRT_INVALID_ARGUMENT, "hidden_size");
  ok(trt_identity_create(&m));
  fails(trt_recurrent_forward(m, x, NULL, NULL, &out, &hidden, &cell), TRT_INVALID_ARGUMENT, "Identity");
  assert_true(!out && !hidden && !cell);
  trt_module_release(m);
  trt_tensor_release(x);
  trt_tensor_release(step);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tree),  cmocka_unit_test(test_modes), cmocka_unit_test(test_state_dict),     cmocka_unit_test(test_custom),
      cmocka_unit_test(test_places), cmocka_unit_test(test_empty_parts), cmocka_unit_test(test_lists_as_arrays),
      cmocka_unit_test(test_apply), cmocka_unit_test(test_depth), cmocka_unit_test(test_depth_of_forward), cmocka_unit_test(test_initial_values),
      cmocka_unit_test(test_options), cmocka_unit_test(test_threads), cmocka_unit_test(test_names_are_utf8), cmocka_unit_test(test_hooks),
      cmocka_unit_test(test_recurrent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
