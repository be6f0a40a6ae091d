/* Cancel tokens: what gives up, when, and that nothing is half done then. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

#include "tensorrt/tensorrt.h"

static trt_cancel_token* new_token(void) {
  trt_cancel_token* t;
  ok(trt_cancel_token_create(&t));
  return t;
}

static trt_tensor* ones(int64_t n, bool grad) {
  trt_tensor* t;
  ok(trt_ones(&n, 1, TRT_FLOAT64, NULL, &t));
  if (grad) ok(trt_tensor_set_requires_grad(t, true));
  return t;
}

static void cancelled(trt_status* s) {
  assert_non_null(s);
  assert_int_equal(trt_status_code(s), TRT_CANCELLED);
  assert_non_null(strstr(trt_status_message(s), "cancelled"));
  trt_status_release(s);
}

static double item(const trt_tensor* t) {
  double v;
  ok(trt_tensor_item_double(t, &v));
  return v;
}

static void test_token(void** state) {
  (void)state;
  trt_cancel_token* t = new_token();
  assert_false(trt_cancel_token_is_cancelled(t));
  assert_ptr_equal(trt_cancel_token_retain(t), t);
  trt_cancel_token_release(t);
  trt_cancel_token_cancel(t);
  trt_cancel_token_cancel(t);
  assert_true(trt_cancel_token_is_cancelled(t));
  assert_null(trt_cancel_token_set_current(t));
  assert_ptr_equal(trt_cancel_token_set_current(NULL), t);
  trt_cancel_token_release(t);
  assert_false(trt_cancel_token_is_cancelled(NULL));
  trt_cancel_token_cancel(NULL);
  trt_cancel_token_release(NULL);
  assert_null(trt_cancel_token_retain(NULL));
  fails(trt_cancel_token_create(NULL), TRT_INVALID_ARGUMENT, "out");
}

static void test_operators(void** state) {
  (void)state;
  trt_cancel_token* t = new_token();
  trt_tensor *x = ones(4, false), *y = (trt_tensor*)x, *kept = NULL;
  trt_cancel_token_set_current(t);
  ok(trt_add_(x, x, trt_scalar_int(1)));
  trt_cancel_token_cancel(t);
  cancelled(trt_mul(x, x, &y));
  assert_ptr_equal(y, x);
  trt_status* s = trt_mul_(x, x);
  assert_string_equal(trt_status_op(s), "mul_");
  cancelled(s);
  // What is no computation goes on.
  assert_int_equal(trt_tensor_numel(x), 4);
  trt_cancel_token_set_current(NULL);
  ok(trt_sum(x, NULL, 0, false, TRT_DTYPE_NONE, &kept));
  assert_true(item(kept) == 8);
  trt_tensor_release(kept);
  trt_tensor_release(x);
  trt_cancel_token_release(t);
}

struct counting {
  trt_cancel_token* token;
  int calls, cancel_at;
};

static trt_status* cancel_in_hook(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)grad;
  (void)out;
  struct counting* c = data;
  if (++c->calls == c->cancel_at) trt_cancel_token_cancel(c->token);
  return NULL;
}

// A chain with a leaf at each step; the hook of step `cancel_at` cancels. Gives the leaves' gradients as they are after the pass.
static void pass(int cancel_at, bool expect_cancelled) {
  enum { kSteps = 6 };
  struct counting c = {new_token(), 0, cancel_at};
  trt_tensor *leaves[kSteps], *at[kSteps + 1], *retained = NULL;
  at[0] = ones(3, true);
  for (int i = 0; i < kSteps; ++i) {
    leaves[i] = ones(3, true);
    ok(trt_mul(at[i], leaves[i], &at[i + 1]));
    uint64_t id;
    ok(trt_tensor_add_hook(at[i + 1], cancel_in_hook, &c, NULL, &id));
    ok(trt_tensor_retain_grad(at[i + 1]));
  }
  trt_tensor* loss;
  ok(trt_sum(at[kSteps], NULL, 0, false, TRT_DTYPE_NONE, &loss));
  const trt_tensor* outputs[] = {loss};
  trt_cancel_token_set_current(c.token);
  trt_status* s = trt_backward(outputs, 1, NULL, 0, NULL, 0, true, false);
  trt_cancel_token_set_current(NULL);
  if (expect_cancelled) {
    cancelled(s);
    assert_int_equal(c.calls, cancel_at);
  } else {
    ok(s);
    assert_int_equal(c.calls, kSteps);
  }
  for (int i = 0; i <= kSteps; ++i) {
    trt_tensor* g;
    ok(trt_tensor_grad(at[i], &g));
    assert_int_equal(g != NULL, !expect_cancelled);
    trt_tensor_release(g);
    if (i == kSteps) break;
    ok(trt_tensor_grad(leaves[i], &g));
    assert_int_equal(g != NULL, !expect_cancelled);
    trt_tensor_release(g);
  }
  // The graph was retained: the pass can be run again, without the token.
  ok(trt_backward(outputs, 1, NULL, 0, NULL, 0, false, false));
  ok(trt_tensor_grad(leaves[0], &retained));
  trt_tensor* sum;
  ok(trt_sum(retained, NULL, 0, false, TRT_DTYPE_NONE, &sum));
  assert_true(item(sum) == (expect_cancelled ? 3 : 6));
  trt_tensor_release(sum);
  trt_tensor_release(retained);
  trt_tensor_release(loss);
  for (int i = 0; i < kSteps; ++i) trt_tensor_release(leaves[i]);
  for (int i = 0; i <= kSteps; ++i) trt_tensor_release(at[i]);
  trt_cancel_token_release(c.token);
}

static void test_backward(void** state) {
  (void)state;
  for (int at = 1; at <= 6; ++at) pass(at, true);
  pass(0, false);
}

static trt_status* cancel_in_leaf_hook(const trt_tensor* grad, trt_tensor** out, void* data) {
  struct counting* c = data;
  trt_cancel_token_cancel(c->token);
  return trt_mul_scalar(grad, trt_scalar_int(2), out);
}

// Once the first gradient of a leaf is accumulated, all are.
static void test_accumulation_is_finished(void** state) {
  (void)state;
  struct counting c = {new_token(), 0, 0};
  trt_tensor *a = ones(2, true), *b = ones(2, true), *y, *g, *loss, *sum;
  uint64_t id;
  ok(trt_tensor_add_hook(a, cancel_in_leaf_hook, &c, NULL, &id));
  ok(trt_tensor_add_hook(b, cancel_in_leaf_hook, &c, NULL, &id));
  ok(trt_mul(a, b, &y));
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &loss));
  trt_cancel_token_set_current(c.token);
  ok(trt_tensor_backward(loss));
  assert_ptr_equal(trt_cancel_token_set_current(NULL), c.token);
  trt_tensor* leaves[] = {a, b};
  for (int i = 0; i < 2; ++i) {
    ok(trt_tensor_grad(leaves[i], &g));
    ok(trt_sum(g, NULL, 0, false, TRT_DTYPE_NONE, &sum));
    assert_true(item(sum) == 4);
    trt_tensor_release(sum);
    trt_tensor_release(g);
  }
  trt_tensor* all[] = {a, b, y, loss};
  for (int i = 0; i < 4; ++i) trt_tensor_release(all[i]);
  trt_cancel_token_release(c.token);
}

static trt_status* forward_counted(trt_module* self, const trt_tensor* input, trt_tensor** out, void* data) {
  (void)self;
  struct counting* c = data;
  if (++c->calls == c->cancel_at) trt_cancel_token_cancel(c->token);
  *out = trt_tensor_retain(input);
  return NULL;
}

static void test_modules_and_optimizers(void** state) {
  (void)state;
  struct counting c = {new_token(), 0, 2};
  trt_module *step, *net;
  ok(trt_custom_module_create("Step", forward_counted, &c, NULL, &step));
  trt_module* steps[] = {step, step, step, step};
  ok(trt_sequential_create(steps, 4, &net));
  trt_tensor *x = ones(2, true), *y = x, *g = ones(2, false);
  trt_cancel_token_set_current(c.token);
  cancelled(trt_module_forward(net, x, &y));
  assert_int_equal(c.calls, 2);
  assert_ptr_equal(y, x);
  trt_cancel_token_set_current(NULL);
  ok(trt_module_forward(net, x, &y));
  assert_int_equal(c.calls, 6);
  trt_tensor_release(y);

  ok(trt_tensor_set_grad(x, g));
  const trt_tensor* parameters[] = {x};
  trt_optimizer* sgd;
  ok(trt_sgd_create(parameters, 1, NULL, &sgd));
  trt_cancel_token_set_current(c.token);
  cancelled(trt_optimizer_step(sgd));
  trt_cancel_token_set_current(NULL);
  trt_tensor* sum;
  ok(trt_sum(x, NULL, 0, false, TRT_DTYPE_NONE, &sum));
  assert_true(item(sum) == 2);
  trt_tensor_release(sum);
  trt_optimizer_release(sgd);
  trt_tensor_release(x);
  trt_tensor_release(g);
  trt_module_release(net);
  trt_module_release(step);
  trt_cancel_token_release(c.token);
}

/* --- loaders --- */

static atomic_int gate;  // samples wait while it is 0

static trt_status* slow_sample(int64_t index, trt_tensor** out, size_t fields, void* data) {
  (void)fields;
  (void)data;
  while (!atomic_load(&gate)) usleep(200);
  return trt_tensor_from_scalar(trt_scalar_int(index), TRT_INT64, &out[0]);
}

static void* cancel_later(void* token) {
  usleep(20000);
  trt_cancel_token_cancel(token);
  return NULL;
}

static void test_loader(void** state) {
  (void)state;
  trt_dataset* d;
  ok(trt_dataset_from_callback(6, 1, slow_sample, NULL, NULL, &d));
  for (int workers = 0; workers <= 2; ++workers) {
    atomic_store(&gate, workers == 0);
    trt_data_loader_options o;
    trt_data_loader_options_init(&o);
    o.num_workers = workers;
    trt_data_loader* l;
    ok(trt_data_loader_create(d, &o, &l));
    trt_cancel_token* t = new_token();
    trt_cancel_token_set_current(t);
    trt_tensor_list* batch = (trt_tensor_list*)&o;
    bool more = true;
    pthread_t other;
    if (workers) {
      // Waits for a sample that does not come.
      assert_int_equal(pthread_create(&other, NULL, cancel_later, t), 0);
    } else {
      trt_cancel_token_cancel(t);
    }
    cancelled(trt_data_loader_next(l, &batch, &more));
    if (workers) pthread_join(other, NULL);
    assert_ptr_equal(batch, (trt_tensor_list*)&o);
    assert_true(more);
    trt_cancel_token_set_current(NULL);
    atomic_store(&gate, 1);
    for (int i = 0; i < 6; ++i) {
      ok(trt_data_loader_next(l, &batch, &more));
      assert_true(more);
      trt_tensor* x;
      ok(trt_tensor_list_get(batch, 0, &x));
      assert_true(item(x) == i);
      trt_tensor_release(x);
      trt_tensor_list_release(batch);
    }
    ok(trt_data_loader_next(l, &batch, &more));
    assert_false(more);
    trt_cancel_token_release(t);
    trt_data_loader_release(l);
  }
  trt_dataset_release(d);
}

/* --- from another thread --- */

struct worker {
  trt_cancel_token* token;
  atomic_int steps;
  trt_code code;
};

static void* train(void* data) {
  struct worker* w = data;
  trt_cancel_token_set_current(w->token);
  trt_tensor* x = ones(64, true);
  trt_status* s = NULL;
  while (!s) {
    trt_tensor *y = NULL, *loss = NULL;
    s = trt_mul(x, x, &y);
    if (!s) s = trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &loss);
    if (!s) s = trt_tensor_backward(loss);
    trt_tensor_release(y);
    trt_tensor_release(loss);
    atomic_fetch_add(&w->steps, 1);
  }
  w->code = trt_status_code(s);
  trt_status_release(s);
  trt_tensor_release(x);
  trt_cancel_token_set_current(NULL);
  return NULL;
}

static void test_threads(void** state) {
  (void)state;
  enum { kThreads = 4 };
  trt_cancel_token* shared = new_token();
  struct worker w[kThreads] = {0};
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    w[i].token = shared;
    assert_int_equal(pthread_create(&threads[i], NULL, train, &w[i]), 0);
  }
  for (int i = 0; i < kThreads; ++i)
    while (atomic_load(&w[i].steps) < 3) usleep(200);
  trt_cancel_token_cancel(shared);
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(w[i].code, TRT_CANCELLED);
  }
  // This thread has no token.
  trt_tensor_release(ones(2, false));
  trt_cancel_token_release(shared);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_token),    cmocka_unit_test(test_operators),
      cmocka_unit_test(test_backward), cmocka_unit_test(test_accumulation_is_finished),
      cmocka_unit_test(test_loader),   cmocka_unit_test(test_modules_and_optimizers),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
