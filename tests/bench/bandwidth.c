/*
 * Adding two arrays of 1e7 floats into a fresh output, against the machine's bandwidth in the same run.
 *
 *   bandwidth [ROUNDS]      fails when the operator reaches less than 0.9 of the bandwidth
 *
 * The measure is a loop like STREAM's (c = a + b on arrays of the same size that exist and are warm) on as many threads as the library uses,
 * with ordinary and with non-temporal stores; the better of the two counts. Rounds of both alternate, and medians are compared.
 */
#include <emmintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensorrt/ops.h"
#include "tensorrt/tensor.h"

enum { kElements = 10000000, kMaxThreads = 64, kMaxRounds = 1001 };

static float *a, *b, *c;
static int threads;
static int streaming;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void* x, const void* y) {
  const double p = *(const double*)x, q = *(const double*)y;
  return p < q ? -1 : p > q;
}

static double median(double* values, int n) {
  qsort(values, (size_t)n, sizeof *values, compare);
  return values[n / 2];
}

static void* part(void* arg) {
  const intptr_t i = (intptr_t)arg;
  const int64_t begin = kElements * (int64_t)i / threads / 16 * 16;
  const int64_t end = i + 1 == threads ? kElements : kElements * (int64_t)(i + 1) / threads / 16 * 16;
  if (streaming) {
    for (int64_t k = begin; k < end; k += 4) _mm_stream_ps(c + k, _mm_add_ps(_mm_load_ps(a + k), _mm_load_ps(b + k)));
    _mm_sfence();
  } else {
    for (int64_t k = begin; k < end; k += 4) _mm_store_ps(c + k, _mm_add_ps(_mm_load_ps(a + k), _mm_load_ps(b + k)));
  }
  return NULL;
}

static double triad(int stream) {
  pthread_t others[kMaxThreads];
  streaming = stream;
  const double begin = now();
  for (intptr_t i = 1; i < threads; ++i) pthread_create(&others[i], NULL, part, (void*)i);
  part(NULL);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  return now() - begin;
}

static float* array(void) {
  void* p = NULL;
  if (posix_memalign(&p, 64, kElements * sizeof(float))) exit(2);
  for (int i = 0; i < kElements; ++i) ((float*)p)[i] = (float)(i % 7);
  return p;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) <= kMaxRounds ? atoi(argv[1]) : 61;
  static double plain[kMaxRounds], stream[kMaxRounds], ours[kMaxRounds];
  const int64_t size = kElements;
  const trt_device cpu = {TRT_CPU, 0};
  trt_tensor *x = NULL, *y = NULL;
  a = array(), b = array(), c = array();
  threads = trt_get_num_threads();
  if (threads > kMaxThreads) threads = kMaxThreads;
  if (trt_tensor_from_blob(a, &size, NULL, 1, TRT_FLOAT32, cpu, NULL, NULL, &x) || trt_tensor_from_blob(b, &size, NULL, 1, TRT_FLOAT32, cpu, NULL, NULL, &y))
    return 2;
  for (int r = -3; r < rounds; ++r) {
    trt_tensor* out = NULL;
    const double t0 = triad(0), t1 = triad(1), begin = now();
    if (trt_add(x, y, trt_scalar_int(1), &out)) return 2;
    const double t2 = now() - begin;
    trt_tensor_release(out);
    if (r >= 0) plain[r] = t0, stream[r] = t1, ours[r] = t2;
  }
  const double bytes = 3.0 * kElements * sizeof(float), p = median(plain, rounds), s = median(stream, rounds), o = median(ours, rounds);
  const double ratio = (p < s ? p : s) / o;
  printf("%d threads: loop %.1f GB/s, streaming loop %.1f GB/s, trt_add into a fresh output %.1f GB/s: %.2f of the better loop\n", threads,
         bytes / p * 1e-9, bytes / s * 1e-9, bytes / o * 1e-9, ratio);
  trt_tensor_release(x);
  trt_tensor_release(y);
  return ratio >= 0.9 ? 0 : 1;
}
