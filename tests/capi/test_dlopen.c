/*
 * A host that loads the library at run time: dlopen, use, dlclose, again and from several threads. This program calls nothing of the library by name,
 * so that it is not linked to it; TRT_LIBRARY says where it is.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"
#include "tensorrt/ops.h"
#include "tensorrt/tensor.h"

static const char* path(void) {
  const char* p = getenv("TRT_LIBRARY");
  if (!p) {
    print_message("TRT_LIBRARY is not set\n");
    skip();
  }
  return p;
}

static int count_threads(void) {
  char line[256];
  int n = 0;
  FILE* f = fopen("/proc/self/status", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "Threads: %d", &n) == 1) break;
  fclose(f);
  return n;
}

struct api {
  void* library;
  __typeof__(&trt_full) full;
  __typeof__(&trt_matmul) matmul;
  __typeof__(&trt_add) add;
  __typeof__(&trt_sum) sum;
  __typeof__(&trt_tensor_item_double) item;
  __typeof__(&trt_tensor_release) release;
  __typeof__(&trt_set_num_threads) set_num_threads;
  __typeof__(&trt_scalar_double) number;
  __typeof__(&trt_shutdown) shutdown;
};
#define GET(member, name)                                   \
  do {                                                      \
    void* symbol = dlsym(a.library, #name);                 \
    assert_non_null(symbol);                                \
    memcpy(&a.member, &symbol, sizeof symbol);              \
  } while (0)
static struct api load(int flags) {
  struct api a;
  a.library = dlopen(path(), flags);
  if (!a.library) print_error("%s\n", dlerror());
  assert_non_null(a.library);
  GET(full, trt_full);
  GET(matmul, trt_matmul);
  GET(add, trt_add);
  GET(sum, trt_sum);
  GET(item, trt_tensor_item_double);
  GET(release, trt_tensor_release);
  GET(set_num_threads, trt_set_num_threads);
  GET(number, trt_scalar_double);
  GET(shutdown, trt_shutdown);
  return a;
}

/* Returns whether the numbers were right; usable on any thread. */
static bool use(const struct api* a) {
  const int64_t sizes[] = {300, 300};
  trt_tensor *x, *y, *z, *s;
  double total = 0;
  if (a->full(sizes, 2, a->number(2), TRT_FLOAT32, NULL, &x)) return false;
  if (a->matmul(x, x, &y)) return false;
  if (a->add(y, x, a->number(1), &z)) return false;
  if (a->sum(z, NULL, 0, false, TRT_FLOAT64, &s)) return false;
  if (a->item(s, &total)) return false;
  a->release(x);
  a->release(y);
  a->release(z);
  a->release(s);
  return total == 90000.0 * (300 * 4 + 2);
}

static void test_not_linked(void** state) {
  (void)state;
  assert_null(dlopen(path(), RTLD_NOW | RTLD_NOLOAD));
  dlerror();
}

static void test_loading_starts_nothing(void** state) {
  (void)state;
  const int before = count_threads();
  struct api a = load(RTLD_NOW | RTLD_LOCAL);
  assert_int_equal(count_threads(), before);
  assert_int_equal(dlclose(a.library), 0);
  assert_int_equal(count_threads(), before);
  /* Nothing of it, or of what it needs, is visible to others. */
  assert_null(dlsym(RTLD_DEFAULT, "trt_add"));
  assert_null(dlsym(RTLD_DEFAULT, "cblas_sgemm"));
}

static void* uses(void* arg) { return use(arg) ? arg : NULL; }

static void test_again_and_again(void** state) {
  (void)state;
  trt_tensor* kept = NULL;
  for (int i = 0; i < 5; ++i) {
    struct api a = load(i % 2 ? RTLD_NOW : RTLD_LAZY);
    assert_null(a.set_num_threads(1 + i % 3));
    assert_true(use(&a));
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t) assert_int_equal(pthread_create(&threads[t], NULL, uses, &a), 0);
    for (int t = 0; t < 4; ++t) {
      void* right;
      pthread_join(threads[t], &right);
      assert_non_null(right);
    }
    /* A handle may outlive the last dlclose. */
    if (kept) a.release(kept);
    const int64_t n = 10000;
    assert_null(a.full(&n, 1, a.number(1), TRT_FLOAT64, NULL, &kept));
    if (i % 2) a.shutdown();
    assert_int_equal(dlclose(a.library), 0);
  }
  struct api a = load(RTLD_NOW);
  a.release(kept);
  assert_int_equal(dlclose(a.library), 0);
}

/* Threads that ran library code end after dlclose: what they leave behind must still be there to clean up. */
static pthread_barrier_t g_closed;
static void* uses_and_waits(void* arg) {
  void* right = use(arg) ? arg : NULL;
  pthread_barrier_wait(&g_closed);
  pthread_barrier_wait(&g_closed);
  return right;
}
static void test_threads_end_after_dlclose(void** state) {
  (void)state;
  struct api a = load(RTLD_NOW);
  pthread_barrier_init(&g_closed, NULL, 4);
  pthread_t threads[3];
  for (int t = 0; t < 3; ++t) assert_int_equal(pthread_create(&threads[t], NULL, uses_and_waits, &a), 0);
  pthread_barrier_wait(&g_closed);
  assert_int_equal(dlclose(a.library), 0);
  pthread_barrier_wait(&g_closed);
  for (int t = 0; t < 3; ++t) {
    void* right;
    pthread_join(threads[t], &right);
    assert_non_null(right);
  }
  usleep(10000);
  struct api again = load(RTLD_NOW);
  assert_true(use(&again));
  dlclose(again.library);
}

static void* loads_and_uses(void* arg) {
  void* library = dlopen(arg, RTLD_NOW);
  if (!library) return NULL;
  __typeof__(&trt_version_string) version;
  void* symbol = dlsym(library, "trt_version_string");
  memcpy(&version, &symbol, sizeof symbol);
  const bool right = symbol && version()[0] == '0';
  return dlclose(library) == 0 && right ? arg : NULL;
}
static void test_loaded_by_many_threads(void** state) {
  (void)state;
  pthread_t threads[6];
  for (int t = 0; t < 6; ++t) assert_int_equal(pthread_create(&threads[t], NULL, loads_and_uses, (void*)path()), 0);
  for (int t = 0; t < 6; ++t) {
    void* right;
    pthread_join(threads[t], &right);
    assert_non_null(right);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_not_linked),
      cmocka_unit_test(test_loaded_by_many_threads),
      cmocka_unit_test(test_loading_starts_nothing),
      cmocka_unit_test(test_again_and_again),
      cmocka_unit_test(test_threads_end_after_dlclose),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
