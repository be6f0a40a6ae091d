/* Datasets and loaders through the C API: orders that never depend on workers, errors in their turn, callbacks, stopping at any time, fork. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

#include "tensorrt/data.h"
#include "tensorrt/io.h"

/* x[i] = {2 i, 2 i + 1} as float32 and y[i] = i as int64. */
static trt_dataset* pairs(int64_t n) {
  float* x = malloc(sizeof(float) * (size_t)(2 * n + 1));
  int64_t* y = malloc(sizeof(int64_t) * (size_t)(n + 1));
  for (int64_t i = 0; i < n; ++i) {
    x[2 * i] = (float)(2 * i);
    x[2 * i + 1] = (float)(2 * i + 1);
    y[i] = i;
  }
  const int64_t xs[] = {n, 2};
  trt_tensor* t[2];
  ok(trt_tensor_from_data(x, xs, 2, TRT_FLOAT32, &t[0]));
  ok(trt_tensor_from_data(y, xs, 1, TRT_INT64, &t[1]));
  free(x);
  free(y);
  trt_dataset* d;
  ok(trt_dataset_from_tensors((const trt_tensor* const*)t, 2, &d));
  trt_tensor_release(t[0]);
  trt_tensor_release(t[1]);
  return d;
}

/* Runs an epoch; writes the labels of all samples, and -1 behind each batch. Checks that x belongs to y. Returns how many were written. */
static size_t run_epoch(trt_data_loader* l, int64_t* order) {
  size_t n = 0;
  for (;;) {
    trt_tensor_list* batch = (trt_tensor_list*)&n;
    bool more = false;
    ok(trt_data_loader_next(l, &batch, &more));
    if (!more) {
      assert_null(batch);
      return n;
    }
    trt_tensor *x, *y;
    assert_int_equal(trt_tensor_list_size(batch), 2);
    ok(trt_tensor_list_get(batch, 0, &x));
    ok(trt_tensor_list_get(batch, 1, &y));
    trt_tensor_list_release(batch);
    const int64_t rows = trt_tensor_numel(y);
    assert_int_equal(trt_tensor_ndim(y), 1);
    assert_int_equal(trt_tensor_numel(x), 2 * rows);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t label = ((const int64_t*)trt_tensor_data(y))[i];
      assert_true(((const float*)trt_tensor_data(x))[2 * i] == (float)(2 * label));
      assert_true(((const float*)trt_tensor_data(x))[2 * i + 1] == (float)(2 * label + 1));
      order[n++] = label;
    }
    order[n++] = -1;
    trt_tensor_release(x);
    trt_tensor_release(y);
  }
}

static trt_data_loader_options defaults(void) {
  trt_data_loader_options o;
  trt_data_loader_options_init(&o);
  o.batch_size = 8;
  o.seed = 7;
  return o;
}

static trt_data_loader* loader(trt_dataset* d, const trt_data_loader_options* o) {
  trt_data_loader* l;
  ok(trt_data_loader_create(d, o, &l));
  return l;
}

static void test_sequential(void** state) {
  (void)state;
  trt_dataset* d = pairs(20);
  assert_int_equal(trt_dataset_size(d), 20);
  trt_data_loader_options o = defaults();
  for (int drop = 0; drop < 2; ++drop) {
    o.drop_last = drop;
    trt_data_loader* l = loader(d, &o);
    assert_int_equal(trt_data_loader_batches(l), drop ? 2 : 3);
    int64_t order[64];
    for (int epoch = 0; epoch < 2; ++epoch) {
      assert_int_equal(trt_data_loader_epoch(l), epoch);
      const size_t n = run_epoch(l, order);
      assert_int_equal(n, drop ? 18 : 23);
      for (size_t i = 0, label = 0; i < n; ++i)
        if (order[i] >= 0) assert_int_equal(order[i], label++);
      assert_int_equal(run_epoch(l, order), 0); /* the end stays the end */
      ok(trt_data_loader_reset(l));
    }
    trt_data_loader_release(l);
  }
  trt_dataset_release(d);
}

/* All kinds of orders, for 0 to 3 workers and several prefetch factors: the same batches. */
static void test_workers_change_nothing(void** state) {
  (void)state;
  enum { N = 203 };
  trt_dataset* d = pairs(N);
  double weights[N];
  for (int i = 0; i < N; ++i) weights[i] = i % 3;
  for (int kind = 0; kind < 4; ++kind) {
    static int64_t want[3][2 * N], got[2 * N];
    size_t want_n[3] = {0};
    for (int workers = 0; workers < 4; ++workers) {
      trt_data_loader_options o = defaults();
      o.num_workers = workers;
      o.prefetch_factor = workers == 2 ? 1 : 3;
      o.shuffle = kind == 1;
      o.replacement = kind == 2;
      if (kind == 3) {
        o.weights = weights;
        o.weights_count = N;
      }
      trt_data_loader* l = loader(d, &o);
      for (int epoch = 0; epoch < 3; ++epoch) {
        const size_t n = run_epoch(l, got);
        if (workers == 0) {
          want_n[epoch] = n;
          memcpy(want[epoch], got, sizeof got);
        }
        assert_int_equal(n, want_n[epoch]);
        assert_memory_equal(got, want[epoch], n * sizeof *got);
        ok(trt_data_loader_reset(l));
      }
      trt_data_loader_release(l);
    }
    if (kind) assert_memory_not_equal(want[0], want[1], sizeof want[0]);
    if (kind == 1)
      for (int epoch = 0; epoch < 3; ++epoch) {
        int seen[N] = {0};
        for (size_t i = 0; i < want_n[epoch]; ++i)
          if (want[epoch][i] >= 0) ++seen[want[epoch][i]];
        for (int i = 0; i < N; ++i) assert_int_equal(seen[i], 1);
      }
    if (kind == 3)
      for (size_t i = 0; i < want_n[0]; ++i) assert_true(want[0][i] < 0 || want[0][i] % 3 != 0);
  }
  trt_dataset_release(d);
}

static void test_seed_and_epoch(void** state) {
  (void)state;
  enum { N = 50 };
  trt_dataset* d = pairs(N);
  trt_data_loader_options o = defaults();
  o.shuffle = true;
  int64_t a[2 * N], b[2 * N];
  trt_data_loader* l = loader(d, &o);
  run_epoch(l, a);
  ok(trt_data_loader_reset(l));
  ok(trt_data_loader_reset(l));
  size_t n = run_epoch(l, a); /* epoch 2 */
  trt_data_loader* resumed = loader(d, &o);
  ok(trt_data_loader_set_epoch(resumed, 2));
  assert_int_equal(run_epoch(resumed, b), n);
  assert_memory_equal(a, b, n * sizeof *a);
  trt_data_loader_release(resumed);
  o.seed = 8;
  resumed = loader(d, &o);
  ok(trt_data_loader_set_epoch(resumed, 2));
  run_epoch(resumed, b);
  assert_memory_not_equal(a, b, n * sizeof *a);
  trt_data_loader_release(resumed);
  trt_data_loader_release(l);

  /* Without a seed it comes from a generator: the default one, after trt_manual_seed, or the given one. */
  o.seed = -1;
  int64_t orders[4][2 * N];
  trt_generator* g;
  ok(trt_generator_create(3, &g));
  for (int i = 0; i < 4; ++i) {
    if (i < 2) ok(trt_manual_seed(5));
    if (i >= 2) {
      o.generator = g;
      ok(trt_generator_seed(g, 5));
    }
    l = loader(d, &o);
    run_epoch(l, orders[i]);
    trt_data_loader_release(l);
    assert_memory_equal(orders[i], orders[0], n * sizeof *a);
  }
  l = loader(d, &o);
  run_epoch(l, a);
  assert_memory_not_equal(a, orders[0], n * sizeof *a);
  trt_data_loader_release(l);
  /* A call that fails draws nothing. */
  uint64_t seed, before, after;
  ok(trt_generator_get_state(g, &seed, &before));
  o.num_workers = -1;
  fails(trt_data_loader_create(d, &o, &l), TRT_INVALID_ARGUMENT, "workers");
  ok(trt_generator_get_state(g, &seed, &after));
  assert_int_equal(before, after);
  trt_generator_release(g);
  trt_dataset_release(d);
}

static void test_draws_are_uniform(void** state) {
  (void)state;
  trt_dataset* d = pairs(4);
  trt_data_loader_options o = defaults();
  o.replacement = true;
  o.num_samples = 40000;
  o.batch_size = 1000;
  double weights[] = {1, 0, 2, 5};
  for (int weighted = 0; weighted < 2; ++weighted) {
    if (weighted) {
      o.weights = weights;
      o.weights_count = 4;
    }
    trt_data_loader* l = loader(d, &o);
    int64_t* order = malloc(sizeof *order * 50000);
    const size_t n = run_epoch(l, order);
    assert_int_equal(n, 40040);
    int count[4] = {0};
    for (size_t i = 0; i < n; ++i)
      if (order[i] >= 0) ++count[order[i]];
    for (int i = 0; i < 4; ++i) {
      const double p = weighted ? weights[i] / 8 : 0.25;
      assert_true(fabs(count[i] - 40000 * p) <= 5 * sqrt(40000 * p * (1 - p)));
    }
    free(order);
    trt_data_loader_release(l);
  }
  trt_dataset_release(d);
}

/* A dataset of the host: sample i is (i, i * i); sample `bad` fails. */
struct host {
  int64_t bad;
  atomic_int calls, destroyed;
  int slow_us;
};

static trt_status* host_get(int64_t index, trt_tensor** out, size_t fields, void* user_data) {
  struct host* h = user_data;
  atomic_fetch_add(&h->calls, 1);
  if (h->slow_us) usleep((useconds_t)((index * 7919) % h->slow_us));
  for (size_t f = 0; f < fields; ++f) {
    if (index == h->bad && f == 1) return trt_status_create(TRT_CANCELLED, "sample refused: na\xc3\xafve");
    trt_status* s = trt_tensor_from_scalar(trt_scalar_int(f ? index * index : index), TRT_DTYPE_NONE, &out[f]);
    if (s) return s;
  }
  trt_tensor* other;
  trt_status* s = trt_tensor_from_scalar(trt_scalar_int(1), TRT_DTYPE_NONE, &other);
  trt_tensor_release(other);
  return s;
}

static void host_destroy(void* user_data) { atomic_fetch_add(&((struct host*)user_data)->destroyed, 1); }

static void test_host_dataset(void** state) {
  (void)state;
  for (int workers = 0; workers < 4; ++workers) {
    struct host h = {.bad = 21, .slow_us = 300};
    trt_dataset* d;
    ok(trt_dataset_from_callback(40, 2, host_get, &h, host_destroy, &d));
    trt_data_loader_options o = defaults();
    o.num_workers = workers;
    trt_data_loader* l = loader(d, &o);
    trt_dataset_release(d);
    assert_int_equal(h.calls, 0);
    /* In a scope of the calling thread: the handles that the callback makes are not the scope's. */
    ok(trt_scope_begin());
    for (int64_t b = 0; b < 5; ++b) {
      trt_tensor_list* batch = NULL;
      bool more = false;
      if (b == 2) {
        trt_status* s = trt_data_loader_next(l, &batch, &more);
        assert_string_equal(trt_status_message(s), "sample refused: na\xc3\xafve");
        fails(s, TRT_CANCELLED, "refused");
        assert_null(batch);
        assert_false(more);
        continue;
      }
      ok(trt_data_loader_next(l, &batch, &more));
      assert_true(more);
      trt_tensor* squares;
      ok(trt_tensor_list_get(batch, 1, &squares));
      for (int64_t i = 0; i < 8; ++i) assert_int_equal(((const int64_t*)trt_tensor_data(squares))[i], (b * 8 + i) * (b * 8 + i));
      trt_tensor_list_release(batch);
    }
    ok(trt_scope_end());
    bool more = true;
    trt_tensor_list* batch;
    ok(trt_data_loader_next(l, &batch, &more));
    assert_false(more);
    assert_int_equal(h.destroyed, 0);
    trt_data_loader_release(l);
    assert_int_equal(h.destroyed, 1);
  }
  /* destroy runs once when creation fails. */
  struct host h = {.bad = -1};
  trt_dataset* d = NULL;
  fails(trt_dataset_from_callback(-1, 2, host_get, &h, host_destroy, &d), TRT_INVALID_ARGUMENT, "size");
  fails(trt_dataset_from_callback(5, 0, host_get, &h, host_destroy, &d), TRT_INVALID_ARGUMENT, "number of tensors");
  fails(trt_dataset_from_callback(5, 2, NULL, &h, host_destroy, &d), TRT_INVALID_ARGUMENT, "fn");
  fails(trt_dataset_from_callback(5, 2, host_get, &h, host_destroy, NULL), TRT_INVALID_ARGUMENT, "out");
  assert_int_equal(h.destroyed, 4);
  assert_null(d);
}

static trt_status* bad_get(int64_t index, trt_tensor** out, size_t fields, void* user_data) {
  (void)user_data;
  (void)fields;
  if (index == 0) return NULL; /* nothing set */
  int64_t sizes[] = {index};
  float v[16] = {0};
  return trt_tensor_from_data(v, sizes, 1, index == 3 ? TRT_INT32 : TRT_FLOAT32, &out[0]);
}

static trt_status* map_swap(const trt_tensor* const* in, size_t in_count, trt_tensor** out, size_t fields, void* user_data) {
  if (in_count != 2 || fields != 3) return trt_status_create(TRT_INVALID_ARGUMENT, "wrong counts");
  atomic_fetch_add(&((struct host*)user_data)->calls, 1);
  out[0] = trt_tensor_retain(in[1]);
  out[1] = trt_tensor_retain(in[0]);
  out[2] = trt_tensor_retain(in[1]);
  return NULL;
}

static trt_status* map_same(const trt_tensor* const* in, size_t in_count, trt_tensor** out, size_t fields, void* user_data) {
  atomic_fetch_add(&((struct host*)user_data)->calls, 1);
  for (size_t i = 0; i < fields && i < in_count; ++i) out[i] = trt_tensor_retain(in[i]);
  return NULL;
}

static void test_samples_subset_map(void** state) {
  (void)state;
  trt_dataset *bad, *d = pairs(10), *sub, *map;
  ok(trt_dataset_from_callback(5, 1, bad_get, NULL, NULL, &bad));
  trt_tensor_list* list = NULL;
  fails(trt_dataset_get(bad, 0, &list), TRT_CALLBACK, "NULL");
  fails(trt_dataset_get(bad, 5, &list), TRT_OUT_OF_RANGE, "5");
  fails(trt_dataset_get(bad, -1, &list), TRT_OUT_OF_RANGE, "-1");
  const int64_t differing[] = {1, 2};
  const int64_t types[] = {3, 3, 4};
  fails(trt_dataset_batch(bad, differing, 2, &list), TRT_INVALID_ARGUMENT, "sample 2");
  fails(trt_dataset_batch(bad, types, 3, &list), TRT_INVALID_ARGUMENT, "sample 4");
  fails(trt_dataset_batch(bad, types, 0, &list), TRT_INVALID_ARGUMENT, "at least one");
  fails(trt_dataset_batch(d, types, 0, &list), TRT_INVALID_ARGUMENT, "at least one");
  assert_null(list);
  trt_dataset_release(bad);

  const int64_t chosen[] = {9, 0, 9, 4};
  const int64_t wrong[] = {0, 10};
  fails(trt_dataset_subset(d, wrong, 2, &sub), TRT_OUT_OF_RANGE, "10");
  ok(trt_dataset_subset(d, chosen, 4, &sub));
  assert_int_equal(trt_dataset_size(sub), 4);
  struct host h = {0};
  ok(trt_dataset_map(sub, 3, map_swap, &h, host_destroy, &map));
  trt_dataset_release(d);
  trt_dataset_release(sub);
  trt_data_loader_options o = defaults();
  o.batch_size = 4;
  trt_data_loader* l = loader(map, &o);
  trt_dataset_release(map);
  bool more;
  ok(trt_data_loader_next(l, &list, &more));
  assert_int_equal(trt_tensor_list_size(list), 3);
  for (size_t f = 0; f < 3; f += 2) {
    trt_tensor* t;
    ok(trt_tensor_list_get(list, f, &t));
    assert_memory_equal(trt_tensor_data(t), chosen, sizeof chosen);
    trt_tensor_release(t);
  }
  trt_tensor_list_release(list);
  trt_data_loader_release(l);
  assert_int_equal(h.calls, 4);
  assert_int_equal(h.destroyed, 1);
  /* A map that fails to be made destroys its data. */
  fails(trt_dataset_map(NULL, 3, map_swap, &h, host_destroy, &map), TRT_INVALID_ARGUMENT, "dataset");
  assert_int_equal(h.destroyed, 2);
}

/* Datasets stacked on one another: a clear error before the stack overflows, and the rest works. */
static void test_depth(void** state) {
  (void)state;
  for (int map = 0; map < 2; ++map) {
    struct host h = {0};
    trt_dataset *d = pairs(10), *next;
    const int64_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    int depth = 0;
    for (;; ++depth) {
      trt_status* s = map ? trt_dataset_map(d, 2, map_same, &h, host_destroy, &next) : trt_dataset_subset(d, all, 10, &next);
      if (s) {
        fails(s, TRT_INVALID_ARGUMENT, "1000");
        break;
      }
      trt_dataset_release(d);
      d = next;
    }
    assert_int_equal(depth, 1000);
    trt_tensor_list* list;
    ok(trt_dataset_get(d, 7, &list));
    assert_int_equal(trt_tensor_list_size(list), 2);
    trt_tensor_list_release(list);
    ok(trt_dataset_batch(d, all, 3, &list));
    trt_tensor_list_release(list);
    trt_dataset_release(d);
    assert_int_equal(h.destroyed, map ? depth + 1 : 0); /* also that of the map that could not be made */
  }
}

static void test_strided_and_empty_tensors(void** state) {
  (void)state;
  float v[12];
  for (int i = 0; i < 12; ++i) v[i] = (float)i;
  const int64_t sizes[] = {3, 2, 2}, strides[] = {1, 3, 6}, empty[] = {3, 0};
  trt_tensor *t[2], *other;
  ok(trt_tensor_from_blob(v, sizes, strides, 3, TRT_FLOAT32, (trt_device){TRT_CPU, 0}, NULL, NULL, &t[0]));
  ok(trt_tensor_from_data(NULL, empty, 2, TRT_INT8, &t[1]));
  ok(trt_tensor_from_data(v, sizes + 1, 2, TRT_FLOAT32, &other));
  trt_dataset* d;
  ok(trt_dataset_from_tensors((const trt_tensor* const*)t, 2, &d));
  const int64_t indices[] = {2, 0, 2};
  trt_tensor_list* list;
  ok(trt_dataset_batch(d, indices, 3, &list));
  trt_tensor* b;
  ok(trt_tensor_list_get(list, 0, &b));
  const float want[] = {2, 8, 5, 11, 0, 6, 3, 9, 2, 8, 5, 11};
  assert_memory_equal(trt_tensor_data(b), want, sizeof want);
  trt_tensor_release(b);
  ok(trt_tensor_list_get(list, 1, &b));
  assert_int_equal(trt_tensor_ndim(b), 2);
  assert_int_equal(trt_tensor_numel(b), 0);
  trt_tensor_release(b);
  trt_tensor_list_release(list);
  trt_dataset_release(d);
  const trt_tensor* unlike[] = {t[0], other};
  fails(trt_dataset_from_tensors(unlike, 2, &d), TRT_INVALID_ARGUMENT, "first dimensions differ");
  fails(trt_dataset_from_tensors(unlike, 0, &d), TRT_INVALID_ARGUMENT, "at least one");
  trt_tensor* scalar;
  ok(trt_tensor_from_scalar(trt_scalar_int(1), TRT_DTYPE_NONE, &scalar));
  fails(trt_dataset_from_tensors((const trt_tensor* const*)&scalar, 1, &d), TRT_INVALID_ARGUMENT, "no dimension");
  trt_tensor_release(scalar);
  trt_tensor_release(other);
  trt_tensor_release(t[0]);
  trt_tensor_release(t[1]);
  /* No samples, no batches. */
  d = pairs(0);
  for (int workers = 0; workers < 2; ++workers) {
    trt_data_loader_options o = defaults();
    o.num_workers = workers;
    o.shuffle = true;
    trt_data_loader* l = loader(d, &o);
    int64_t order[1];
    assert_int_equal(trt_data_loader_batches(l), 0);
    assert_int_equal(run_epoch(l, order), 0);
    trt_data_loader_release(l);
  }
  trt_dataset_release(d);
}

static void test_images(void** state) {
  (void)state;
  const uint8_t pixels[] = {0, 255, 51, 102, 1, 2, 3, 4};
  const uint8_t labels[] = {7, 9};
  const int64_t sizes[] = {2, 2, 2};
  trt_tensor *im, *la, *t;
  ok(trt_tensor_from_data(pixels, sizes, 3, TRT_UINT8, &im));
  ok(trt_tensor_from_data(labels, sizes, 1, TRT_UINT8, &la));
  trt_image_options o;
  trt_image_options_init(&o);
  o.mean = 0.5f;
  o.std = 0.25f;
  trt_dataset* d;
  ok(trt_dataset_from_images(im, la, &o, &d));
  const int64_t indices[] = {1, 0};
  trt_tensor_list* list;
  ok(trt_dataset_batch(d, indices, 2, &list));
  ok(trt_tensor_list_get(list, 0, &t));
  assert_int_equal(trt_tensor_ndim(t), 4);
  assert_int_equal(trt_tensor_sizes(t)[1], 1);
  for (int i = 0; i < 4; ++i) {
    const float want = ((float)pixels[i] / 255.0f - 0.5f) / 0.25f;
    assert_true(((const float*)trt_tensor_data(t))[4 + i] == want);
  }
  trt_tensor_release(t);
  ok(trt_tensor_list_get(list, 1, &t));
  assert_int_equal(trt_tensor_dtype(t), TRT_INT64);
  assert_int_equal(((const int64_t*)trt_tensor_data(t))[0], 9);
  trt_tensor_release(t);
  trt_tensor_list_release(list);
  ok(trt_dataset_get(d, 1, &list)); /* one sample */
  ok(trt_tensor_list_get(list, 0, &t));
  assert_int_equal(trt_tensor_ndim(t), 3);
  assert_true(((const float*)trt_tensor_data(t))[3] == ((float)4 / 255.0f - 0.5f) / 0.25f);
  trt_tensor_release(t);
  trt_tensor_list_release(list);
  trt_dataset_release(d);

  o.normalize = o.add_channel = false;
  ok(trt_dataset_from_images(im, NULL, &o, &d));
  for (int one = 0; one < 2; ++one) {
    if (one) ok(trt_dataset_get(d, 1, &list));
    else ok(trt_dataset_batch(d, indices, 1, &list));
    assert_int_equal(trt_tensor_list_size(list), 1);
    ok(trt_tensor_list_get(list, 0, &t));
    assert_int_equal(trt_tensor_dtype(t), TRT_UINT8);
    assert_int_equal(trt_tensor_ndim(t), one ? 2 : 3);
    assert_memory_equal(trt_tensor_data(t), pixels + 4, 4);
    trt_tensor_release(t);
    trt_tensor_list_release(list);
  }
  trt_dataset_release(d);
  o.normalize = true;
  o.std = 0;
  fails(trt_dataset_from_images(im, la, &o, &d), TRT_INVALID_ARGUMENT, "std");
  fails(trt_dataset_from_images(la, la, NULL, &d), TRT_INVALID_ARGUMENT, "images");
  fails(trt_dataset_from_images(im, im, NULL, &d), TRT_INVALID_ARGUMENT, "labels");
  fails(trt_dataset_from_idx("/no/such/file", NULL, NULL, &d), TRT_NOT_FOUND, "/no/such/file");
  o.struct_size = 3;
  fails(trt_dataset_from_images(im, la, &o, &d), TRT_INVALID_ARGUMENT, "struct_size");
  trt_tensor_release(im);
  trt_tensor_release(la);

  static const char images_path[] = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  static const char labels_path[] = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";
  static const char other_labels[] = "/usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz";
  if (access(images_path, R_OK) == 0) { /* the Debian package dataset-fashion-mnist */
    ok(trt_dataset_from_idx(images_path, labels_path, NULL, &d));
    assert_int_equal(trt_dataset_size(d), 10000);
    trt_dataset_release(d);
    fails(trt_dataset_from_idx(images_path, other_labels, NULL, &d), TRT_INVALID_ARGUMENT, "60000 labels");
  }
}

static void test_bad_options(void** state) {
  (void)state;
  trt_dataset* d = pairs(5);
  trt_data_loader* l = NULL;
  double weights[] = {1, 2, 3, 4, 5}, negative[] = {1, -1, 1, 1, 1}, zero[5] = {0}, nan[] = {1, NAN, 1, 1, 1};
#define BAD(change, part)                                                            \
  do {                                                                               \
    trt_data_loader_options o = defaults();                                          \
    change;                                                                          \
    fails(trt_data_loader_create(d, &o, &l), TRT_INVALID_ARGUMENT, part);            \
  } while (0)
  BAD(o.batch_size = 0, "batch size");
  BAD(o.batch_size = -4, "batch size");
  BAD(o.num_workers = -1, "workers");
  BAD(o.num_workers = 100000, "workers");
  BAD(o.prefetch_factor = 0, "prefetch");
  BAD(o.seed = -2, "seed");
  BAD(o.num_samples = 3, "num_samples");
  BAD(o.num_samples = -3, "num_samples");
  BAD((o.shuffle = true, o.num_samples = 6), "without replacement");
  BAD((o.weights = weights, o.weights_count = 4), "weights");
  BAD(o.weights_count = 5, "weights");
  BAD((o.weights = negative, o.weights_count = 5), "weight 1");
  BAD((o.weights = zero, o.weights_count = 5), "sum");
  BAD((o.weights = nan, o.weights_count = 5), "weight 1");
  BAD(o.struct_size = 0, "struct_size");
  fails(trt_data_loader_create(NULL, NULL, &l), TRT_INVALID_ARGUMENT, "dataset");
  fails(trt_data_loader_create(d, NULL, NULL), TRT_INVALID_ARGUMENT, "out");
  assert_null(l);
  struct {
    trt_data_loader_options o;
    int64_t later;
  } newer = {.o = defaults(), .later = 0};
  newer.o.struct_size = sizeof newer;
  ok(trt_data_loader_create(d, &newer.o, &l)); /* a field that is not used does no harm */
  trt_data_loader_release(l);
  newer.later = 1;
  l = NULL;
  fails(trt_data_loader_create(d, &newer.o, &l), TRT_NOT_SUPPORTED, "fields");
  trt_data_loader_options older = defaults();
  older.struct_size = offsetof(trt_data_loader_options, shuffle);
  older.prefetch_factor = 0; /* beyond its size: not read */
  ok(trt_data_loader_create(d, &older, &l));
  trt_tensor_list* list = NULL;
  bool more;
  fails(trt_data_loader_next(NULL, &list, &more), TRT_INVALID_ARGUMENT, "loader");
  fails(trt_data_loader_next(l, NULL, &more), TRT_INVALID_ARGUMENT, "out");
  fails(trt_data_loader_next(l, &list, NULL), TRT_INVALID_ARGUMENT, "has_batch");
  fails(trt_data_loader_reset(NULL), TRT_INVALID_ARGUMENT, "loader");
  fails(trt_data_loader_set_epoch(l, -1), TRT_INVALID_ARGUMENT, "epoch");
  /* The last epoch that can be counted has no successor. */
  ok(trt_data_loader_set_epoch(l, INT64_MAX));
  fails(trt_data_loader_reset(l), TRT_OUT_OF_RANGE, "9223372036854775807");
  assert_true(trt_data_loader_epoch(l) == INT64_MAX);
  ok(trt_data_loader_set_epoch(l, 0));
  trt_data_loader_release(l);
  trt_data_loader_release(NULL);
  trt_dataset_release(NULL);
  trt_dataset_release(d);
}

/* Release and reset at any moment, with batches on their way. */
static void test_stop_at_any_time(void** state) {
  (void)state;
  for (int round = 0; round < 60; ++round) {
    struct host h = {.bad = round % 3 ? -1 : 5, .slow_us = 100};
    trt_dataset* d;
    ok(trt_dataset_from_callback(64, 2, host_get, &h, host_destroy, &d));
    trt_data_loader_options o = defaults();
    o.batch_size = 2;
    o.num_workers = 1 + round % 4;
    o.shuffle = true;
    trt_data_loader* l = loader(d, &o);
    trt_dataset_release(d);
    for (int i = 0; i < round % 9; ++i) {
      trt_tensor_list* list = NULL;
      bool more = false;
      trt_status_release(trt_data_loader_next(l, &list, &more));
      trt_tensor_list_release(list);
      if (i == 4) ok(trt_data_loader_reset(l));
    }
    /* Bounded: made or in the making is at most workers * prefetch ahead, each counted twice at most when an epoch was abandoned. */
    assert_true(h.calls <= 2 * (9 + 2 * 2 * o.num_workers * 2 + o.num_workers * 2));
    trt_data_loader_release(l);
    assert_int_equal(h.destroyed, 1);
  }
}

/* The last reference goes on a worker, inside the callback. */
struct suicide {
  _Atomic(trt_data_loader*) loader;
  atomic_int destroyed;
};
static trt_status* suicide_get(int64_t index, trt_tensor** out, size_t fields, void* user_data) {
  (void)fields;
  struct suicide* s = user_data;
  if (index == 3) {
    trt_data_loader* l;
    while (!(l = atomic_exchange(&s->loader, NULL))) usleep(100);
    trt_data_loader_release(l);
  }
  return trt_tensor_from_scalar(trt_scalar_int(index), TRT_DTYPE_NONE, &out[0]);
}
static void suicide_destroy(void* user_data) { atomic_store(&((struct suicide*)user_data)->destroyed, 1); }

static void test_release_on_a_worker(void** state) {
  (void)state;
  struct suicide s = {0};
  trt_dataset* d;
  ok(trt_dataset_from_callback(10, 1, suicide_get, &s, suicide_destroy, &d));
  trt_data_loader_options o = defaults();
  o.batch_size = 1;
  o.num_workers = 1;
  trt_data_loader* l = loader(d, &o);
  trt_dataset_release(d);
  trt_tensor_list* list;
  bool more;
  ok(trt_data_loader_next(l, &list, &more));
  trt_tensor_list_release(list);
  ok(trt_data_loader_next(l, &list, &more));
  trt_tensor_list_release(list);
  atomic_store(&s.loader, l);
  for (int i = 0; i < 20000 && !atomic_load(&s.destroyed); ++i) usleep(1000);
  assert_int_equal(s.destroyed, 1);
}

static trt_status* dtype_get(int64_t index, trt_tensor** out, size_t fields, void* user_data) {
  (void)fields;
  (void)user_data;
  return trt_tensor_from_scalar(trt_scalar_double((double)index), TRT_DTYPE_NONE, &out[0]);
}

/* The modes of the thread that began the epoch hold in the workers too. */
static void test_modes_in_workers(void** state) {
  (void)state;
  trt_dataset* d;
  ok(trt_dataset_from_callback(4, 1, dtype_get, NULL, NULL, &d));
  for (int workers = 0; workers < 2; ++workers) {
    trt_data_loader_options o = defaults();
    o.num_workers = workers;
    trt_data_loader* l = loader(d, &o);
    ok(trt_set_default_dtype(TRT_FLOAT64));
    trt_tensor_list* list;
    bool more;
    ok(trt_data_loader_next(l, &list, &more));
    ok(trt_set_default_dtype(TRT_FLOAT32));
    trt_tensor* t;
    ok(trt_tensor_list_get(list, 0, &t));
    assert_int_equal(trt_tensor_dtype(t), TRT_FLOAT64);
    trt_tensor_release(t);
    trt_tensor_list_release(list);
    trt_data_loader_release(l);
  }
  trt_dataset_release(d);
}

static int in_child(trt_data_loader* l, trt_dataset* d) {
  trt_tensor_list* list = NULL;
  bool more = false;
  trt_status* s = trt_data_loader_next(l, &list, &more);
  if (trt_status_code(s) != TRT_FAILED_PRECONDITION) return 2;
  trt_status_release(s);
  s = trt_data_loader_reset(l);
  if (trt_status_code(s) != TRT_FAILED_PRECONDITION) return 3;
  trt_status_release(s);
  trt_data_loader_release(l);
  trt_data_loader_options o = defaults();
  trt_data_loader* own = NULL;
  if (trt_data_loader_create(d, &o, &own)) return 4;
  if (trt_data_loader_next(own, &list, &more) || !more) return 5;
  trt_tensor_list_release(list);
  trt_data_loader_release(own);
  return 0;
}

static void test_fork(void** state) {
  (void)state;
  trt_dataset* d = pairs(1000);
  trt_data_loader_options o = defaults();
  o.num_workers = 2;
  trt_data_loader* l = loader(d, &o);
  trt_tensor_list* list;
  bool more;
  ok(trt_data_loader_next(l, &list, &more));
  trt_tensor_list_release(list);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(in_child(l, d));
  int result = 1, waited = 0;
  for (; waited < 3000 && waitpid(child, &result, WNOHANG) != child; ++waited) usleep(10000);
  if (waited == 3000) kill(child, 9);
  assert_int_equal(result, 0);
  int64_t order[2000];
  assert_true(run_epoch(l, order) > 900); /* the parent's go on */
  trt_data_loader_release(l);
  trt_dataset_release(d);
}

/* A process may end with a loader in the middle of its work. */
static void test_exit_with_running_workers(void** state) {
  (void)state;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    /* Static, so that a leak checker sees that they are still held. */
    static struct host h = {.bad = -1, .slow_us = 2000};
    static trt_dataset* volatile kept;
    trt_dataset* d;
    if (trt_dataset_from_callback(1000, 2, host_get, &h, host_destroy, &d)) _exit(2);
    trt_data_loader_options o = defaults();
    o.num_workers = 3;
    static trt_data_loader* volatile l;
    static trt_tensor_list* list;
    bool more;
    kept = d;
    (void)kept;
    l = loader(d, &o);
    if (trt_data_loader_next(l, &list, &more)) _exit(3);
    trt_shutdown();
    exit(0);
  }
  int result;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exit_with_running_workers),
      cmocka_unit_test(test_sequential),
      cmocka_unit_test(test_workers_change_nothing),
      cmocka_unit_test(test_seed_and_epoch),
      cmocka_unit_test(test_draws_are_uniform),
      cmocka_unit_test(test_host_dataset),
      cmocka_unit_test(test_samples_subset_map),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_strided_and_empty_tensors),
      cmocka_unit_test(test_images),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_stop_at_any_time),
      cmocka_unit_test(test_release_on_a_worker),
      cmocka_unit_test(test_modes_in_workers),
      cmocka_unit_test(test_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
