/* base.h and tensor.h: statuses, memory limits and statistics, shutdown, scopes, releasing on other threads. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "tensorrt/tensorrt.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* Where no freed memory is kept: nothing is there to be given back, and to fill a limit takes more than single blocks. */
#define UNCACHED (SANITIZED || getenv("TRT_NO_CACHE"))

static const trt_device kCpu = {TRT_CPU, 0};

static trt_tensor* floats(int64_t n, double value) {
  trt_tensor* t;
  ok(trt_full(&n, 1, trt_scalar_double(value), TRT_FLOAT32, NULL, &t));
  return t;
}
static trt_memory_stats stats(void) {
  trt_memory_stats s;
  trt_memory_stats_init(&s);
  ok(trt_memory_get_stats(kCpu, &s));
  return s;
}

static void test_statuses(void** state) {
  (void)state;
  assert_int_equal(trt_status_code(NULL), TRT_OK);
  assert_string_equal(trt_status_message(NULL), "");
  assert_string_equal(trt_status_op(NULL), "");
  trt_status_release(NULL);
  static const char* const names[] = {"OK",   "INVALID_ARGUMENT",    "OUT_OF_RANGE", "OUT_OF_MEMORY", "NOT_SUPPORTED", "NOT_FOUND",   "IO",
                                      "DATA", "FAILED_PRECONDITION", "CANCELLED",    "CALLBACK",      "INTERNAL",      "UNAVAILABLE", "END_OF_DATA"};
  for (int i = 0; i < 14; ++i) assert_string_equal(trt_code_name((trt_code)i), names[i]);
  assert_string_equal(trt_code_name((trt_code)14), "UNKNOWN");
  assert_string_equal(trt_code_name((trt_code)-1), "UNKNOWN");
  char text[] = "das \xc3\xa4ndert sich";
  trt_status* own = trt_status_create(TRT_DATA, text);
  text[0] = 'x'; /* it was copied */
  assert_string_equal(trt_status_message(own), "das \xc3\xa4ndert sich");
  assert_int_equal(trt_status_code(own), TRT_DATA);
  trt_status_release(own);
  own = trt_status_create(TRT_OK, NULL); /* a failure must not look like success */
  assert_int_not_equal(trt_status_code(own), TRT_OK);
  assert_string_equal(trt_status_message(own), "");
  trt_status_release(own);
}

static void count_up(void* n) { ++*(int*)n; }
static void other_destroy(void* n) { (void)n; }
static trt_status* hook_with_payload(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)grad, (void)out;
  return trt_status_create_with(TRT_CALLBACK, "with an object", data, count_up);
}
/* A status takes an object of the host along: to the caller of the outer function, and to its end. */
static void test_payloads(void** state) {
  (void)state;
  int ends = 0;
  trt_status* own = trt_status_create_with(TRT_DATA, "text", &ends, count_up);
  assert_int_equal(trt_status_code(own), TRT_DATA);
  assert_string_equal(trt_status_message(own), "text");
  assert_ptr_equal(trt_status_payload(own, count_up), &ends);
  assert_null(trt_status_payload(own, other_destroy));
  assert_null(trt_status_payload(own, NULL));
  assert_null(trt_status_payload(NULL, count_up));
  assert_int_equal(ends, 0);
  trt_status_release(own);
  assert_int_equal(ends, 1);
  own = trt_status_create_with(TRT_OK, NULL, &ends, NULL); /* nothing to call at its end: not kept */
  assert_int_not_equal(trt_status_code(own), TRT_OK);
  assert_null(trt_status_payload(own, NULL));
  trt_status_release(own);
  own = trt_status_create(TRT_DATA, "text");
  assert_null(trt_status_payload(own, NULL));
  trt_status_release(own);

  trt_tensor *x = floats(4, 1), *y, *s;
  ok(trt_tensor_set_requires_grad(x, true));
  ok(trt_mul(x, x, &y));
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &s));
  uint64_t id;
  ok(trt_tensor_add_hook(y, hook_with_payload, &ends, NULL, &id));
  own = trt_tensor_backward(s);
  assert_ptr_equal(trt_status_payload(own, count_up), &ends);
  assert_int_equal(ends, 1);
  trt_status_release(own);
  assert_int_equal(ends, 2);
  trt_tensor_release(s);
  trt_tensor_release(y);
  trt_tensor_release(x);
}

/* What a message has to say: the operator, the shapes, the dtypes. */
static void test_messages(void** state) {
  (void)state;
  const int64_t ab[] = {2, 3}, cd[] = {4, 5};
  trt_tensor *a, *b, *i, *out = (trt_tensor*)0x10;
  ok(trt_ones(ab, 2, TRT_FLOAT32, NULL, &a));
  ok(trt_ones(cd, 2, TRT_FLOAT64, NULL, &b));
  ok(trt_ones(ab, 2, TRT_INT16, NULL, &i));
  trt_status* s = trt_mul(a, b, &out);
  assert_string_equal(trt_status_op(s), "mul");
  assert_non_null(strstr(trt_status_message(s), "mul"));
  assert_non_null(strstr(trt_status_message(s), "[2, 3]"));
  assert_non_null(strstr(trt_status_message(s), "[4, 5]"));
  trt_status_release(s);
  fails(trt_matmul(a, b, &out), TRT_INVALID_ARGUMENT, "[4, 5]");
  s = trt_bitwise_and(a, i, &out);
  assert_int_equal(trt_status_code(s), TRT_NOT_SUPPORTED);
  assert_non_null(strstr(trt_status_message(s), "bitwise_and"));
  assert_non_null(strstr(trt_status_message(s), "float32[2, 3]"));
  assert_non_null(strstr(trt_status_message(s), "int16[2, 3]"));
  trt_status_release(s);
  fails(trt_add_(i, a, trt_scalar_int(1)), TRT_INVALID_ARGUMENT, "int16");
  fails(trt_add(a, NULL, trt_scalar_int(1), &out), TRT_INVALID_ARGUMENT, "'other'");
  fails(trt_add(a, a, trt_scalar_int(1), NULL), TRT_INVALID_ARGUMENT, "'out'");
  trt_scalar strange = trt_scalar_int(1);
  strange.kind = 77;
  fails(trt_add(a, a, strange, &out), TRT_INVALID_ARGUMENT, "77");
  fails(trt_zeros(ab, 2, (trt_dtype)8, NULL, &out), TRT_INVALID_ARGUMENT, "8");
  fails(trt_zeros(NULL, 2, TRT_FLOAT32, NULL, &out), TRT_INVALID_ARGUMENT, "size");
  const trt_device nowhere = {99, 0}, cuda = {TRT_CUDA, 0};
  fails(trt_zeros(ab, 2, TRT_FLOAT32, &nowhere, &out), TRT_INVALID_ARGUMENT, "99");
  fails(trt_zeros(ab, 2, TRT_FLOAT32, &cuda, &out), TRT_UNAVAILABLE, "cuda");
  fails(trt_set_num_threads(0), TRT_INVALID_ARGUMENT, "0");
  assert_ptr_equal(out, (trt_tensor*)0x10); /* untouched by all of that */
  trt_tensor_release(a);
  trt_tensor_release(b);
  trt_tensor_release(i);
}

static void test_memory_limit(void** state) {
  (void)state;
  ok(trt_memory_empty_cache(kCpu));
  trt_tensor *kept = floats(1 << 20, 3), *out = NULL;
  const trt_memory_stats before = stats();
  assert_int_equal(before.limit, 0);
  ok(trt_memory_set_limit(kCpu, before.reserved_current + (8 << 20)));
  for (int i = 0; i < 3; ++i) {
    const int64_t n = INT64_C(64) << 20;
    trt_status* s = trt_zeros(&n, 1, TRT_FLOAT32, NULL, &out);
    assert_int_equal(trt_status_code(s), TRT_OUT_OF_MEMORY);
    assert_non_null(strstr(trt_status_message(s), "268435456"));
    trt_status_release(s);
    assert_null(out);
  }
  /* In the middle of an operator with several results, and of backward. */
  trt_tensor *x = floats(1 << 20, 2), *tall, *y = NULL, *square = NULL, *loss = NULL;
  ok(trt_tensor_set_requires_grad(x, true));
  ok(trt_unsqueeze(x, 1, &tall));
  const int64_t wide[] = {1 << 20, 64};
  trt_tensor* expanded;
  ok(trt_expand(tall, wide, 2, &expanded));
  fails(trt_mul(expanded, expanded, &y), TRT_OUT_OF_MEMORY, "");
  assert_null(y);
  const trt_memory_stats during = stats();
  assert_int_equal(during.limit, before.reserved_current + (8 << 20));
  assert_true(during.out_of_memory_count > before.out_of_memory_count);
  assert_true(during.reserved_current <= during.limit);
  fails(trt_memory_set_limit(kCpu, -1), TRT_INVALID_ARGUMENT, "negative");
  /* Raised again, everything works, and what was alive is unharmed. */
  ok(trt_memory_set_limit(kCpu, 0));
  const int64_t n = 16 << 20;
  ok(trt_zeros(&n, 1, TRT_FLOAT32, NULL, &out));
  ok(trt_mul(x, kept, &square));
  ok(trt_sum(square, NULL, 0, false, TRT_DTYPE_NONE, &loss));
  ok(trt_tensor_backward(loss));
  trt_tensor* g;
  ok(trt_tensor_grad(x, &g));
  assert_true(((const float*)trt_tensor_data(g))[12345] == 3);
  assert_true(((const float*)trt_tensor_data(kept))[777] == 3);
  trt_tensor* all[] = {x, tall, expanded, out, square, loss, g};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) trt_tensor_release(all[i]);
  /* Nothing was lost on the way. */
  assert_int_equal(stats().allocated_current, before.allocated_current);
  trt_tensor_release(kept);
}

/* Tensors of 16 bytes: few bytes each, counted and limited like large ones. */
static void test_many_small_tensors(void** state) {
  (void)state;
  enum { kCount = SANITIZED ? 50000 : 1000000 };
  trt_tensor** tensors = malloc(kCount * sizeof *tensors);
  assert_non_null(tensors);
  const int64_t n = 4;
  trt_tensor_release(floats(4, 1));
  ok(trt_memory_empty_cache(kCpu));
  ok(trt_memory_reset_peak(kCpu));
  const trt_memory_stats before = stats();
  for (int i = 0; i < kCount; ++i) ok(trt_full(&n, 1, trt_scalar_int(i), TRT_FLOAT32, NULL, &tensors[i]));
  const trt_memory_stats with = stats();
  assert_int_equal(with.allocations - before.allocations, kCount);
  assert_true(with.allocated_current - before.allocated_current >= INT64_C(16) * kCount);
  assert_true(with.allocated_current - before.allocated_current <= INT64_C(128) * kCount);
  assert_true(with.allocated_total - before.allocated_total >= with.allocated_current - before.allocated_current);
  assert_true(with.allocated_peak >= with.allocated_current && with.reserved_peak >= with.reserved_current);
  assert_true(with.reserved_current >= before.reserved_current + (with.allocated_current - before.allocated_current));
  for (int i = 0; i < kCount; i += 997) assert_true(((const float*)trt_tensor_data(tensors[i]))[3] == (float)i);
  for (int i = 0; i < kCount; ++i) trt_tensor_release(tensors[i]);
  trt_memory_stats after = stats();
  assert_int_equal(after.allocated_current, before.allocated_current);
  assert_int_equal(after.allocations, before.allocations);
  assert_int_equal(after.freed_total - before.freed_total, after.allocated_total - before.allocated_total);
  ok(trt_memory_empty_cache(kCpu));
  after = stats();
  assert_true(after.reserved_current <= before.reserved_current);
  assert_true(after.segments <= before.segments);
  /* A limit is kept, and the tensor too many is an error like any other. */
  ok(trt_memory_set_limit(kCpu, after.reserved_current + INT64_C(32) * kCount));
  int made = 0;
  trt_status* refused = NULL;
  while (made < kCount && !(refused = trt_full(&n, 1, trt_scalar_int(made), TRT_FLOAT32, NULL, &tensors[made]))) ++made;
  assert_int_equal(trt_status_code(refused), TRT_OUT_OF_MEMORY);
  assert_non_null(strstr(trt_status_message(refused), "limit"));
  trt_status_release(refused);
  assert_true(made > kCount / 20);
  const trt_memory_stats full = stats();
  assert_true(full.reserved_current <= full.limit);
  assert_true(full.out_of_memory_count > after.out_of_memory_count);
  /* The room of released ones serves again, for large tensors as well. */
  const int64_t some = INT64_C(2) * kCount;
  trt_tensor* large = NULL;
  fails(trt_zeros(&some, 1, TRT_FLOAT32, NULL, &large), TRT_OUT_OF_MEMORY, "");
  for (int i = 0; i < made; ++i) trt_tensor_release(tensors[i]);
  ok(trt_zeros(&some, 1, TRT_FLOAT32, NULL, &large));
  trt_tensor_release(large);
  assert_true(stats().reserved_current <= full.limit);
  ok(trt_memory_set_limit(kCpu, 0));
  ok(trt_memory_empty_cache(kCpu));
  assert_int_equal(stats().allocated_current, before.allocated_current);
  assert_true(stats().reserved_current <= before.reserved_current);
  free(tensors);
}

/* A step of training by hand; stops at the first failure, with everything released. */
static trt_status* small_step(void) {
  trt_tensor* t[8];
  trt_module* linear = NULL;
  int n = 0;
  const int64_t sizes[] = {3, 5}, one = 1;
  trt_status* s = trt_rand(sizes, 2, NULL, TRT_FLOAT32, NULL, &t[n]);
  if (s) return s;
  s = trt_tensor_set_requires_grad(t[n++], true);
  if (!s) s = trt_linear_create(5, 70, NULL, &linear);
  if (!s && !(s = trt_module_forward(linear, t[0], &t[n]))) ++n;
  if (!s && !(s = trt_transpose(t[1], 0, 1, &t[n]))) ++n;
  if (!s && !(s = trt_mul(t[2], t[2], &t[n]))) ++n;
  if (!s && !(s = trt_softmax(t[3], 0, TRT_DTYPE_NONE, &t[n]))) ++n;
  if (!s && !(s = trt_sum(t[4], &one, 1, false, TRT_FLOAT64, &t[n]))) ++n;
  if (!s && !(s = trt_std(t[5], true, &t[n]))) ++n;
  if (!s) s = trt_tensor_backward(t[n - 1]);
  for (int i = 0; i < n; ++i) trt_tensor_release(t[i]);
  trt_module_release(linear);
  return s;
}

static void* small_steps_under_limits(void* arg) {
  ok(trt_memory_empty_cache(kCpu));
  const trt_memory_stats before = stats();
  int failures = 0;
  for (int64_t room = 1;; ++room) {
    ok(trt_memory_set_limit(kCpu, before.reserved_current + (room << 14)));
    trt_status* s = small_step();
    const trt_code code = trt_status_code(s);
    trt_status_release(s);
    assert_true(stats().reserved_current <= stats().limit);
    assert_int_equal(stats().allocated_current, before.allocated_current);
    ok(trt_memory_set_limit(kCpu, 0));
    ok(trt_memory_empty_cache(kCpu));
    if (code == TRT_OK) break;
    assert_int_equal(code, TRT_OUT_OF_MEMORY);
    ++failures;
  }
  *(int*)arg = failures;
  return NULL;
}

/* Every slab that a step needs refused once: each failure is a status, and nothing is lost. */
static void test_limit_at_every_point(void** state) {
  (void)state;
  ok(small_step());
  int failures = 0;
  small_steps_under_limits(&failures);
  assert_true(UNCACHED || failures > 20);
  pthread_t thread; /* whose lists are empty */
  assert_int_equal(pthread_create(&thread, NULL, small_steps_under_limits, &failures), 0);
  pthread_join(thread, NULL);
  assert_true(UNCACHED || failures > 20);
  ok(small_step());
}

/* With the address space used up, statuses still come: a preallocated one where there is no memory for another. */
static void test_no_memory_for_a_status(void** state) {
  (void)state;
  if (SANITIZED) skip();
  trt_tensor_release(floats(100, 1));
  trt_tensor* kept = floats(4, 1); /* which leaves room for another beside it */
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    const size_t length = (size_t)64 << 20;
    char* text = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) _exit(10);
    memset(text, 'x', length - 1);
    const struct rlimit none = {16 << 20, 16 << 20};
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(11);
    trt_status* first = trt_status_create(TRT_DATA, text);
    trt_status* second = trt_status_create(TRT_DATA, text);
    if (trt_status_code(first) != TRT_OUT_OF_MEMORY || trt_status_code(second) != TRT_OUT_OF_MEMORY) _exit(12);
    if (!strstr(trt_status_message(first), "memory") || trt_status_op(first)[0]) _exit(13);
    trt_status_release(first);
    trt_status_release(first); /* it is shared: nobody's release takes it from the others */
    if (!strstr(trt_status_message(second), "memory")) _exit(14);
    const int64_t n = 1 << 26;
    trt_tensor* t = NULL;
    trt_status* s = trt_zeros(&n, 1, TRT_FLOAT32, NULL, &t);
    if (trt_status_code(s) != TRT_OUT_OF_MEMORY || t) _exit(15);
    trt_status_release(s);
    const int64_t small = 4;
    if (trt_zeros(&small, 1, TRT_FLOAT32, NULL, &t)) _exit(16);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  trt_tensor_release(kept);
}

static void test_shutdown(void** state) {
  (void)state;
  trt_tensor *a = floats(1 << 20, 1), *b;
  trt_tensor_release(floats(8 << 20, 1));
  const int64_t before = stats().reserved_current;
  trt_shutdown();
  assert_true(UNCACHED || stats().reserved_current < before);
  trt_shutdown();
  ok(trt_add(a, a, trt_scalar_int(1), &b));
  assert_true(((const float*)trt_tensor_data(b))[1 << 19] == 2);
  trt_tensor_release(a);
  trt_tensor_release(b);
  trt_shutdown();
}

/* A tensor whose end is seen. */
static void count_call(void* count) { __atomic_add_fetch((int*)count, 1, __ATOMIC_RELAXED); }
static trt_tensor* watched(int* ended) {
  static float memory[4];
  const int64_t n = 4;
  trt_tensor* t;
  ok(trt_tensor_from_blob(memory, &n, NULL, 1, TRT_FLOAT32, kCpu, count_call, ended, &t));
  return t;
}

static void* scope_on_another_thread(void* ended) {
  trt_status* none = trt_scope_end();
  const bool right = trt_status_code(none) == TRT_FAILED_PRECONDITION;
  trt_status_release(none);
  ok(trt_scope_begin());
  watched(ended);
  ok(trt_scope_end());
  return right ? ended : NULL;
}

static void* scopes_left_open(void* ended) {
  ok(trt_scope_begin());
  watched(ended);
  ok(trt_scope_begin());
  watched(ended);
  return NULL;
}

/* A thread's scopes end with it. */
static void test_scopes_of_a_thread_that_ends(void** state) {
  (void)state;
  int ended = 0;
  for (int i = 1; i <= 3; ++i) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, scopes_left_open, &ended), 0);
    pthread_join(thread, NULL);
    assert_int_equal(ended, 2 * i);
  }
}

static void test_scopes(void** state) {
  (void)state;
  int outer = 0, inner = 0, kept = 0, outside = 0, other = 0;
  fails(trt_scope_end(), TRT_FAILED_PRECONDITION, "scope");
  trt_tensor* before = watched(&outside);
  ok(trt_scope_begin());
  trt_tensor* a = watched(&outer);
  ok(trt_scope_begin());
  trt_tensor *b = watched(&inner), *k = watched(&kept), *bad = NULL, *view;
  ok(trt_scope_keep(k));
  fails(trt_scope_keep(k), TRT_NOT_FOUND, "scope");
  fails(trt_scope_keep(before), TRT_NOT_FOUND, "scope");
  fails(trt_scope_keep(NULL), TRT_INVALID_ARGUMENT, "NULL");
  ok(trt_unsqueeze(b, 0, &view));
  trt_tensor_list* list;
  ok(trt_unbind(k, 0, &list)); /* a list is not a tensor: it stays the caller's */
  ok(trt_tensor_list_get(list, 0, &view));
  /* A failure inside changes nothing of the scopes. */
  fails(trt_squeeze_dim(a, 9, &bad), TRT_OUT_OF_RANGE, "squeeze");
  pthread_t thread;
  void* right;
  assert_int_equal(pthread_create(&thread, NULL, scope_on_another_thread, &other), 0);
  pthread_join(thread, &right);
  assert_non_null(right);
  assert_int_equal(other, 1);
  assert_int_equal(inner + outer + kept, 0);
  ok(trt_scope_end());
  assert_int_equal(inner, 1);
  assert_int_equal(outer + kept, 0);
  ok(trt_scope_begin());
  ok(trt_scope_keep(a)); /* of an outer scope */
  ok(trt_scope_end());
  ok(trt_scope_end());
  assert_int_equal(outer, 0);
  trt_tensor_release(a);
  assert_int_equal(outer, 1);
  trt_tensor_release(k);
  assert_int_equal(kept, 0); /* the list still has views of it */
  trt_tensor_list_release(list);
  assert_int_equal(kept, 1);
  trt_tensor_release(before);
  assert_int_equal(outside, 1);
  fails(trt_scope_end(), TRT_FAILED_PRECONDITION, "scope");
}

static trt_status* failing_hook(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)grad, (void)out, (void)data;
  return trt_status_create(TRT_CANCELLED, "stop here");
}
/* Callbacks that fail or make tensors, inside of a scope. */
static void test_scopes_and_callbacks(void** state) {
  (void)state;
  const int64_t before = stats().allocations;
  ok(trt_scope_begin());
  trt_tensor *x = floats(4, 1), *y, *s;
  ok(trt_tensor_set_requires_grad(x, true));
  ok(trt_mul(x, x, &y));
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &s));
  uint64_t id;
  ok(trt_tensor_add_hook(y, failing_hook, NULL, NULL, &id));
  fails(trt_tensor_backward(s), TRT_CANCELLED, "stop here");
  ok(trt_scope_end());
  assert_int_equal(stats().allocations, before);
}

/* Keys made before the library's first use are destroyed first at a thread's end, later ones after: tensors may be freed in either. */
static pthread_key_t g_keys[40];
static void release_value(void* t) { trt_tensor_release(t); }
static void* leaves_tensors(void* arg) {
  for (int i = 0; i < 40; ++i) pthread_setspecific(g_keys[i], floats(i % 2 ? 100 : 5000, 1));
  return arg;
}
static void* releases(void* list) {
  trt_tensor** t = list;
  for (int i = 0; i < 200; ++i) trt_tensor_release(t[i]);
  return NULL;
}
static void* makes(void* list) {
  trt_tensor** t = list;
  for (int i = 0; i < 200; ++i) t[i] = floats(1 + i * i * 7, i);
  return NULL;
}

static void test_release_on_other_threads(void** state) {
  (void)state;
  const trt_memory_stats before = stats();
  for (int round = 0; round < 5; ++round) {
    trt_tensor* lists[4][200];
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, makes, lists[i]), 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    /* Their makers are gone. */
    for (int i = 0; i < 4; ++i) assert_true(((const float*)trt_tensor_data(lists[i][150]))[3] == 150);
    for (int i = 0; i < 3; ++i) assert_int_equal(pthread_create(&threads[i], NULL, releases, lists[i]), 0);
    releases(lists[3]);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < 40; ++i) assert_int_equal(pthread_key_create(&g_keys[i], release_value), 0);
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, leaves_tensors, NULL), 0);
    pthread_join(thread, NULL);
  }
  for (int i = 0; i < 40; ++i) pthread_key_delete(g_keys[i]);
  const trt_memory_stats after = stats();
  assert_int_equal(after.allocations, before.allocations);
  assert_int_equal(after.allocated_current, before.allocated_current);
}

static void test_statistics(void** state) {
  (void)state;
  const trt_memory_stats before = stats();
  trt_tensor* t = floats(1 << 20, 1);
  const trt_memory_stats with = stats();
  assert_true(with.allocated_current >= before.allocated_current + (4 << 20));
  assert_true(with.allocated_peak >= with.allocated_current && with.reserved_current >= with.allocated_current - (1 << 20));
  trt_tensor_release(t);
  const trt_memory_stats after = stats();
  assert_int_equal(after.allocated_current, before.allocated_current);
  assert_int_equal(after.allocated_total - after.freed_total, after.allocated_current);
  ok(trt_memory_reset_peak(kCpu));
  assert_true(stats().allocated_peak < with.allocated_peak);
  trt_memory_stats bad = {0};
  fails(trt_memory_get_stats(kCpu, &bad), TRT_INVALID_ARGUMENT, "struct_size");
  /* An older host with a shorter struct gets what it knows, and no byte more. */
  unsigned char shorter[sizeof(trt_memory_stats)];
  memset(shorter, 0xab, sizeof shorter);
  const size_t known = offsetof(trt_memory_stats, allocated_total);
  memcpy(shorter, &known, sizeof known);
  ok(trt_memory_get_stats(kCpu, (trt_memory_stats*)(void*)shorter));
  assert_int_equal(shorter[known], 0xab);
  assert_int_not_equal(shorter[known - 1], 0xab);
  const trt_device cuda = {TRT_CUDA, 0};
  trt_memory_stats_init(&bad);
  fails(trt_memory_get_stats(cuda, &bad), TRT_UNAVAILABLE, "cuda");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_statuses),
      cmocka_unit_test(test_payloads),
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_many_small_tensors),
      cmocka_unit_test(test_limit_at_every_point),
      cmocka_unit_test(test_no_memory_for_a_status),
      cmocka_unit_test(test_shutdown),
      cmocka_unit_test(test_scopes),
      cmocka_unit_test(test_scopes_of_a_thread_that_ends),
      cmocka_unit_test(test_scopes_and_callbacks),
      cmocka_unit_test(test_release_on_other_threads),
      cmocka_unit_test(test_statistics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
