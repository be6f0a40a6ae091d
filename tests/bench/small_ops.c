/*
 * What a call costs when the tensors are tiny.
 *
 *   small_ops                      nanoseconds per call of every workload: the median of several rounds
 *   small_ops NAME CALLS           makes CALLS calls of one workload inside of run_measured(), for instructions.sh
 *
 * Add a workload: a function with the body of one call, and a line in kWorkloads.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensorrt/autograd.h"
#include "tensorrt/ops.h"
#include "tensorrt/tensor.h"

static trt_tensor *plain_a, *plain_b, *grad_a, *grad_b, *matrix;
static trt_scalar one;

static void check(trt_status* s) {
  if (!s) return;
  fprintf(stderr, "%s: %s\n", trt_code_name(trt_status_code(s)), trt_status_message(s));
  exit(1);
}

static void setup(void) {
  const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t four = 4, shape[2] = {2, 4};
  one = trt_scalar_int(1);
  check(trt_set_num_threads(1));
  check(trt_tensor_from_data(data, &four, 1, TRT_FLOAT32, &plain_a));
  check(trt_tensor_from_data(data + 4, &four, 1, TRT_FLOAT32, &plain_b));
  check(trt_tensor_from_data(data, &four, 1, TRT_FLOAT32, &grad_a));
  check(trt_tensor_from_data(data + 4, &four, 1, TRT_FLOAT32, &grad_b));
  check(trt_tensor_set_requires_grad(grad_a, true));
  check(trt_tensor_set_requires_grad(grad_b, true));
  check(trt_tensor_from_data(data, shape, 2, TRT_FLOAT32, &matrix));
}

static void add(void) {
  trt_tensor* out = NULL;
  check(trt_add(plain_a, plain_b, one, &out));
  trt_tensor_release(out);
}

static void add_grad(void) {
  trt_tensor* out = NULL;
  check(trt_add(grad_a, grad_b, one, &out));
  trt_tensor_release(out);
}

static void view(void) {
  const int64_t shape[2] = {4, 2};
  trt_tensor* out = NULL;
  check(trt_view(matrix, shape, 2, &out));
  trt_tensor_release(out);
}

/* Ten products in a row and their sum, forward and backward. */
static void chain(void) {
  trt_tensor* x = trt_tensor_retain(grad_a);
  trt_tensor* total = NULL;
  for (int i = 0; i < 10; ++i) {
    trt_tensor* y = NULL;
    check(trt_mul(x, grad_b, &y));
    trt_tensor_release(x);
    x = y;
  }
  check(trt_sum(x, NULL, 0, false, TRT_DTYPE_NONE, &total));
  check(trt_tensor_backward(total));
  trt_tensor_release(total);
  trt_tensor_release(x);
  check(trt_tensor_set_grad(grad_a, NULL));
  check(trt_tensor_set_grad(grad_b, NULL));
}

static const struct {
  const char* name;
  void (*call)(void);
  int calls; /* of a round */
} kWorkloads[] = {{"add", add, 20000}, {"add_grad", add_grad, 20000}, {"view", view, 20000}, {"chain", chain, 1000}};
enum { kCount = sizeof kWorkloads / sizeof kWorkloads[0], kRounds = 31 };

/* instructions.sh collects what happens inside of this function. */
__attribute__((noinline)) void run_measured(void (*call)(void), int calls);
void run_measured(void (*call)(void), int calls) {
  for (int i = 0; i < calls; ++i) call();
  __asm__ volatile("" ::: "memory");
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  setup();
  for (int w = 0; w < kCount; ++w) {
    void (*call)(void) = kWorkloads[w].call;
    for (int i = 0; i < 100; ++i) call(); /* caches of the allocator and the like */
    if (argc > 2) {
      if (strcmp(argv[1], kWorkloads[w].name) == 0) {
        run_measured(call, atoi(argv[2]));
        return 0;
      }
      continue;
    }
    double times[kRounds];
    for (int r = 0; r < kRounds; ++r) {
      const double begin = now();
      run_measured(call, kWorkloads[w].calls);
      times[r] = (now() - begin) / kWorkloads[w].calls;
    }
    qsort(times, kRounds, sizeof times[0], compare);
    printf("%-10s %8.1f ns   (best %.1f)\n", kWorkloads[w].name, times[kRounds / 2], times[0]);
  }
  return argc > 2 ? 1 : 0;
}
