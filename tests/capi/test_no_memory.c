/* The library where malloc gives nothing: calls fail with TRT_OUT_OF_MEMORY or succeed, letting go of things always works. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"
#include "tensorrt/tensorrt.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void) {
  puts("a sanitizer has a malloc of its own");
  return 77;
}
#else

void* __libc_malloc(size_t bytes);
/* Of this thread's calls: how many still succeed (negative: all), and whether only one fails then. */
static _Thread_local long left = -1;
static _Thread_local bool once;
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  if (left < 0) return __libc_malloc(bytes);
  if (left > 0) {
    --left;
    return __libc_malloc(bytes);
  }
  if (once) left = -1;
  return NULL;
}

static trt_tensor* number(float v) {
  trt_tensor* t;
  ok(trt_tensor_from_data(&v, NULL, 0, TRT_FLOAT32, &t));
  return t;
}

static void test_release_graph(void** state) {
  (void)state;
  enum { kNodes = 20000 };
  static trt_tensor* parts[kNodes];
  trt_tensor* x = number(0.5f);
  ok(trt_tensor_set_requires_grad(x, true));
  trt_tensor *chain = trt_tensor_retain(x), *wide, *next;
  for (int i = 0; i < kNodes; ++i) {
    ok(trt_sin(chain, &next));
    trt_tensor_release(chain);
    chain = next;
    ok(trt_reshape(x, (const int64_t[]){1}, 1, &next));
    ok(trt_cos(next, &parts[i]));
    trt_tensor_release(next);
  }
  ok(trt_cat((const trt_tensor* const*)parts, kNodes, 0, &wide));
  for (int i = 0; i < kNodes; ++i) trt_tensor_release(parts[i]);
  left = 0;
  trt_tensor_release(chain);
  trt_tensor_release(wide);
  left = -1;
  trt_tensor_release(x);
}

static void test_release_gradients_of_gradients(void** state) {
  (void)state;
  trt_tensor* outer = number(0);
  for (int i = 0; i < 100000; ++i) {
    trt_tensor* t = number(1);
    ok(trt_tensor_set_requires_grad(t, true));
    ok(trt_tensor_set_grad(t, outer));
    trt_tensor_release(outer);
    outer = t;
  }
  left = 0;
  trt_tensor_release(outer);
  left = -1;
}

/* Makes a network and trains it for two steps; the first status that is not OK. */
static trt_status* train(void) {
  trt_module *parts[3] = {NULL, NULL, NULL}, *model = NULL;
  trt_tensor_list* list = NULL;
  trt_optimizer* optimizer = NULL;
  trt_tensor *x = NULL, *y = NULL;
  trt_status* s = trt_linear_create(3, 4, NULL, &parts[0]);
  if (!s) s = trt_relu_create(&parts[1]);
  if (!s) s = trt_linear_create(4, 2, NULL, &parts[2]);
  if (!s) s = trt_sequential_create(parts, 3, &model);
  if (!s) s = trt_module_parameters(model, &list);
  if (!s) s = trt_adamw_create(trt_tensor_list_data(list), trt_tensor_list_size(list), NULL, &optimizer);
  if (!s) s = trt_ones((const int64_t[]){5, 3}, 2, TRT_FLOAT32, NULL, &x);
  if (!s) s = trt_ones((const int64_t[]){5, 2}, 2, TRT_FLOAT32, NULL, &y);
  for (int i = 0; !s && i < 2; ++i) {
    trt_tensor *predicted = NULL, *loss = NULL;
    s = trt_optimizer_zero_grad(optimizer, true);
    if (!s) s = trt_module_forward(model, x, &predicted);
    if (!s) s = trt_mse_loss(predicted, y, "mean", &loss);
    if (!s) s = trt_tensor_backward(loss);
    if (!s) s = trt_optimizer_step(optimizer);
    trt_tensor_release(loss);
    trt_tensor_release(predicted);
  }
  trt_tensor_release(x);
  trt_tensor_release(y);
  trt_tensor_list_release(list);
  trt_optimizer_release(optimizer);
  for (int i = 0; i < 3; ++i) trt_module_release(parts[i]);
  trt_module_release(model);
  return s;
}

/* Every call of malloc fails in its turn, alone or with all that follow. */
static void test_training(void** state) {
  (void)state;
  ok(trt_set_num_threads(1));
  ok(train());
  for (int kind = 0; kind < 2; ++kind) {
    int failed = 0;
    bool finished = false;
    for (long n = 0; !finished && n < 5000; ++n) {
      once = kind == 1;
      left = n;
      trt_status* s = train();
      finished = left > 0; /* it needed no more than n */
      left = -1;
      if (s) {
        ++failed;
        if (trt_status_code(s) != TRT_OUT_OF_MEMORY) print_error("malloc %ld: %s\n", n, trt_status_message(s));
        assert_int_equal(trt_status_code(s), TRT_OUT_OF_MEMORY);
      }
      trt_status_release(s);
    }
    assert_true(finished && failed > 0);
  }
  ok(train());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_release_graph),
      cmocka_unit_test(test_release_gradients_of_gradients),
      cmocka_unit_test(test_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
