/* What calls cost in C, for comparison with a binding: prints "name nanoseconds" for each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tensorrt/tensorrt.h"

enum { kRounds = 10, kCalls = 200000 };

static void check(trt_status* s) {
  if (!s) return;
  fprintf(stderr, "%s\n", trt_status_message(s));
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  const float values[4] = {1, 2, 3, 4};
  const int64_t n = 4;
  trt_tensor *a, *b, *c;
  check(trt_tensor_from_data(values, &n, 1, TRT_FLOAT32, &a));
  check(trt_tensor_from_data(values, &n, 1, TRT_FLOAT32, &b));
  double add = 1e9, sum = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    double start = now();
    for (int i = 0; i < kCalls; ++i) {
      check(trt_add(a, b, trt_scalar_int(1), &c));
      trt_tensor_release(c);
    }
    double each = (now() - start) / kCalls;
    if (each < add) add = each;
    start = now();
    for (int i = 0; i < kCalls; ++i) {
      check(trt_sum(a, &(int64_t){0}, 1, false, TRT_DTYPE_NONE, &c));
      trt_tensor_release(c);
    }
    each = (now() - start) / kCalls;
    if (each < sum) sum = each;
  }
  printf("add %.1f\nsum %.1f\n", add, sum);
  trt_tensor_release(b);
  trt_tensor_release(a);
  return 0;
}
