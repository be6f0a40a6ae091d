/* Autograd through the C API: graphs, accumulation, in-place changes and views, modes, hooks, threads, error messages. */
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
#include "tensorrt/ops.h"

static trt_tensor* vec(const double* v, int64_t n, bool grad) {
  trt_tensor* t;
  ok(trt_tensor_from_data(v, &n, 1, TRT_FLOAT64, &t));
  if (grad) ok(trt_tensor_set_requires_grad(t, true));
  return t;
}

static void equals(const trt_tensor* t, const double* want, int64_t n) {
  assert_non_null(t);
  assert_int_equal(trt_tensor_numel(t), n);
  double got[64];
  ok(trt_tensor_copy_to_host(t, got, TRT_FLOAT64, n));
  for (int64_t i = 0; i < n; ++i)
    if (fabs(got[i] - want[i]) > 1e-9 * (1 + fabs(want[i]))) {
      print_error("element %d: %g instead of %g\n", (int)i, got[i], want[i]);
      fail();
    }
}

static void grad_equals(const trt_tensor* t, const double* want, int64_t n) {
  trt_tensor* g;
  ok(trt_tensor_grad(t, &g));
  equals(g, want, n);
  trt_tensor_release(g);
}

static trt_tensor* sum(const trt_tensor* t) {
  trt_tensor* s;
  ok(trt_sum(t, NULL, 0, false, TRT_DTYPE_NONE, &s));
  return s;
}

static trt_tensor* mul(const trt_tensor* a, const trt_tensor* b) {
  trt_tensor* r;
  ok(trt_mul(a, b, &r));
  return r;
}

static void backward_sum(const trt_tensor* t) {
  trt_tensor* s = sum(t);
  ok(trt_tensor_backward(s));
  trt_tensor_release(s);
}

static const double kX[] = {1, 2, 3}, kY[] = {4, 5, 6};

static void test_leaf_and_accumulation(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *y = vec(kY, 3, false);
  assert_true(trt_tensor_is_leaf(x));
  assert_true(trt_tensor_requires_grad(x));
  trt_tensor* z = mul(x, y);
  assert_false(trt_tensor_is_leaf(z));
  assert_true(trt_tensor_requires_grad(z));
  char* name;
  ok(trt_tensor_grad_fn_name(z, &name));
  assert_string_equal(name, "MulBackward0");
  trt_string_release(name);
  backward_sum(z);
  grad_equals(x, kY, 3);
  trt_tensor* none;
  ok(trt_tensor_grad(y, &none));
  assert_null(none);
  trt_tensor* again = mul(x, y);
  backward_sum(again);
  const double twice[] = {8, 10, 12};
  grad_equals(x, twice, 3);
  ok(trt_tensor_set_grad(x, NULL));
  ok(trt_tensor_grad(x, &none));
  assert_null(none);
  trt_tensor_release(again);
  trt_tensor_release(z);
  trt_tensor_release(x);
  trt_tensor_release(y);
}

static void test_diamond_and_broadcast(void** state) {
  (void)state;
  /* s = sum(x * c + x), c a 0-d tensor: its gradient is summed over the broadcast. */
  trt_tensor *x = vec(kX, 3, true), *c;
  ok(trt_tensor_from_scalar(trt_scalar_double(2), TRT_FLOAT64, &c));
  ok(trt_tensor_set_requires_grad(c, true));
  trt_tensor *m = mul(x, c), *a;
  ok(trt_add(m, x, trt_scalar_int(1), &a));
  backward_sum(a);
  const double gx[] = {3, 3, 3}, gc[] = {6};
  grad_equals(x, gx, 3);
  grad_equals(c, gc, 1);
  trt_tensor_release(a);
  trt_tensor_release(m);
  trt_tensor_release(x);
  trt_tensor_release(c);
}

static void test_freed_graph(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *z = mul(x, x), *s = sum(z);
  ok(trt_backward((const trt_tensor* const[]){s}, 1, NULL, 0, NULL, 0, true, false));
  ok(trt_tensor_backward(s));
  const double want[] = {4, 8, 12};
  grad_equals(x, want, 3);
  fails(trt_tensor_backward(s), TRT_FAILED_PRECONDITION, "second time");
  grad_equals(x, want, 3);
  trt_tensor_release(s);
  trt_tensor_release(z);
  trt_tensor_release(x);
}

static void test_grad_and_higher_derivatives(void** state) {
  (void)state;
  /* y = x^3: y' = 3x^2, y'' = 6x, y''' = 6, through create_graph. */
  trt_tensor *x = vec(kX, 3, true), *y;
  ok(trt_pow_scalar(x, trt_scalar_int(3), &y));
  const trt_tensor* in[] = {x};
  trt_tensor* current = y;
  const double want[3][3] = {{3, 12, 27}, {6, 12, 18}, {6, 6, 6}};
  for (int order = 0; order < 3; ++order) {
    trt_tensor *s = sum(current), *g;
    ok(trt_grad((const trt_tensor* const[]){s}, 1, in, 1, NULL, 0, false, true, false, &g));
    equals(g, want[order], 3);
    trt_tensor_release(s);
    trt_tensor_release(current);
    current = g;
  }
  trt_tensor* none;
  ok(trt_tensor_grad(x, &none));
  assert_null(none); /* grad() changes no .grad */
  trt_tensor_release(current);
  trt_tensor_release(x);
}

static void test_unused_and_wrong_arguments(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *u = vec(kY, 3, true), *z = mul(x, x), *s = sum(z), *out[2] = {NULL, NULL};
  const trt_tensor *roots[] = {s}, *in[] = {x, u};
  fails(trt_grad(roots, 1, in, 2, NULL, 0, true, false, false, out), TRT_FAILED_PRECONDITION, "does not reach");
  assert_null(out[0]);
  ok(trt_grad(roots, 1, in, 2, NULL, 0, true, false, true, out));
  assert_non_null(out[0]);
  assert_null(out[1]);
  trt_tensor_release(out[0]);
  fails(trt_tensor_backward(z), TRT_INVALID_ARGUMENT, "single element");
  fails(trt_backward((const trt_tensor* const[]){z}, 1, (const trt_tensor* const[]){s}, 1, NULL, 0, false, false), TRT_INVALID_ARGUMENT, "shape");
  fails(trt_tensor_backward(NULL), TRT_INVALID_ARGUMENT, "trt_tensor_backward: argument 'tensor' is NULL");
  trt_tensor* plain = vec(kX, 3, false);
  fails(trt_tensor_backward(plain), TRT_FAILED_PRECONDITION, "does not require");
  trt_tensor* ints;
  ok(trt_arange_end(trt_scalar_int(3), TRT_DTYPE_NONE, NULL, &ints));
  fails(trt_tensor_set_requires_grad(ints, true), TRT_INVALID_ARGUMENT, "floating");
  fails(trt_tensor_set_requires_grad(z, false), TRT_FAILED_PRECONDITION, "leaf");
  trt_tensor_release(ints);
  trt_tensor_release(plain);
  trt_tensor_release(s);
  trt_tensor_release(z);
  trt_tensor_release(u);
  trt_tensor_release(x);
}

static void test_saved_tensor_changed(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *y;
  ok(trt_mul_scalar(x, trt_scalar_int(1), &y));
  trt_tensor* z = mul(y, y); /* saves y */
  ok(trt_add_scalar_(y, trt_scalar_int(1), trt_scalar_int(1)));
  trt_tensor* s = sum(z);
  fails(trt_tensor_backward(s), TRT_FAILED_PRECONDITION, "in-place");
  trt_tensor_release(s);
  trt_tensor_release(z);
  trt_tensor_release(y);
  trt_tensor_release(x);
}

static void test_inplace(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *y;
  fails(trt_mul_scalar_(x, trt_scalar_int(2)), TRT_FAILED_PRECONDITION, "leaf");
  equals(x, kX, 3);
  ok(trt_mul_scalar(x, trt_scalar_int(2), &y));
  ok(trt_mul_(y, x)); /* y = 2x * x; the old value of y is needed for x's gradient */
  backward_sum(y);
  const double want[] = {4, 8, 12};
  grad_equals(x, want, 3);
  const bool before = trt_set_grad_mode(false);
  assert_true(before);
  ok(trt_mul_scalar_(x, trt_scalar_int(2)));
  trt_set_grad_mode(true);
  const double doubled[] = {2, 4, 6};
  equals(x, doubled, 3);
  trt_tensor_release(y);
  trt_tensor_release(x);
}

static void test_inplace_on_views(void** state) {
  (void)state;
  /* b = 2x; b[1] *= w; every view of b made before sees the new history. */
  trt_tensor *x = vec(kX, 3, true), *w, *b, *v, *other;
  ok(trt_tensor_from_scalar(trt_scalar_double(10), TRT_FLOAT64, &w));
  ok(trt_tensor_set_requires_grad(w, true));
  ok(trt_mul_scalar(x, trt_scalar_int(2), &b));
  ok(trt_slice(b, 0, &(int64_t){1}, &(int64_t){3}, 1, &other));
  ok(trt_select(b, 0, 1, &v));
  assert_true(trt_tensor_shares_storage(v, b));
  ok(trt_mul_(v, w));
  const double values[] = {2, 40, 6};
  equals(b, values, 3);
  char* name;
  ok(trt_tensor_grad_fn_name(b, &name));
  assert_string_equal(name, "CopySlices");
  trt_string_release(name);
  trt_tensor* total;
  trt_tensor *sb = sum(b), *so = sum(other);
  ok(trt_add(sb, so, trt_scalar_int(1), &total));
  ok(trt_tensor_backward(total));
  const double gx[] = {2, 40, 4}, gw[] = {8};
  grad_equals(x, gx, 3);
  grad_equals(w, gw, 1);
  trt_tensor_release(total);
  trt_tensor_release(so);
  trt_tensor_release(sb);
  trt_tensor_release(other);
  trt_tensor_release(v);
  trt_tensor_release(b);
  trt_tensor_release(w);
  trt_tensor_release(x);
}

static void test_fill_view_of_plain_base(void** state) {
  (void)state;
  /* A buffer that needs no gradient until a row is written with something that does. */
  trt_tensor *x = vec(kX, 3, true), *buffer, *row;
  ok(trt_zeros((const int64_t[]){2, 3}, 2, TRT_FLOAT64, NULL, &buffer));
  ok(trt_select(buffer, 0, 1, &row));
  ok(trt_copy_(row, x));
  assert_true(trt_tensor_requires_grad(buffer));
  trt_tensor* sq = mul(buffer, buffer);
  backward_sum(sq);
  const double want[] = {2, 4, 6};
  grad_equals(x, want, 3);
  trt_tensor_release(sq);
  trt_tensor_release(row);
  trt_tensor_release(buffer);
  trt_tensor_release(x);
}

static void test_overwritten_views(void** state) {
  (void)state;
  /* b = 2x; b[1] = 0: no gradient reaches x through the element that was overwritten. */
  trt_tensor *x = vec(kX, 3, true), *b, *v;
  ok(trt_mul_scalar(x, trt_scalar_int(2), &b));
  ok(trt_select(b, 0, 1, &v));
  ok(trt_zero_(v));
  backward_sum(b);
  const double want[] = {2, 0, 2};
  grad_equals(x, want, 3);
  trt_tensor_release(v);
  /* A view made under no_grad has no history that leads to b: changing it where gradients are recorded would be a wrong gradient. */
  trt_set_grad_mode(false);
  ok(trt_select(b, 0, 0, &v));
  trt_set_grad_mode(true);
  fails(trt_mul_scalar_(v, trt_scalar_int(3)), TRT_FAILED_PRECONDITION, "no_grad");
  trt_set_grad_mode(false);
  ok(trt_mul_scalar_(v, trt_scalar_int(3)));
  trt_set_grad_mode(true);
  trt_tensor_release(v);
  trt_tensor_release(b);
  trt_tensor_release(x);
}

static void test_modes(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true);
  trt_set_grad_mode(false);
  trt_tensor* a = mul(x, x);
  trt_set_grad_mode(true);
  assert_false(trt_tensor_requires_grad(a));
  trt_set_inference_mode(true);
  trt_tensor* b = mul(x, x);
  trt_set_inference_mode(false);
  assert_false(trt_tensor_requires_grad(b));
  fails(trt_tensor_set_requires_grad(b, true), TRT_FAILED_PRECONDITION, "inference");
  trt_tensor* c;
  fails(trt_mul(x, b, &c), TRT_FAILED_PRECONDITION, "inference");
  trt_tensor* d;
  ok(trt_tensor_detach(x, &d));
  assert_false(trt_tensor_requires_grad(d));
  assert_true(trt_tensor_shares_storage(d, x));
  trt_tensor_release(d);
  trt_tensor_release(b);
  trt_tensor_release(a);
  trt_tensor_release(x);
}

static void test_set_data(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *y = vec(kY, 2, false), *integers, *view;
  trt_tensor* other = trt_tensor_retain(x);
  backward_sum(x);
  ok(trt_tensor_set_grad(x, NULL));
  ok(trt_tensor_set_data(x, y));
  assert_true(trt_tensor_shares_storage(other, y) && trt_tensor_requires_grad(other) && trt_tensor_is_leaf(other));
  equals(other, kY, 2);
  trt_tensor* z = mul(x, x);
  backward_sum(z);
  grad_equals(x, (const double[]){8, 10}, 2);
  ok(trt_to(y, TRT_INT64, &integers));
  fails(trt_tensor_set_data(x, integers), TRT_INVALID_ARGUMENT, "int64[2]");
  fails(trt_tensor_set_data(x, NULL), TRT_INVALID_ARGUMENT, "data");
  ok(trt_select(z, 0, 0, &view));
  fails(trt_tensor_set_data(view, y), TRT_INVALID_ARGUMENT, "view");
  equals(x, kY, 2);
  trt_tensor* all[] = {x, y, z, other, integers, view};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) trt_tensor_release(all[i]);
}

static int hook_calls, destroyed;
static trt_status* double_it(const trt_tensor* grad, trt_tensor** out, void* user_data) {
  (void)user_data;
  ++hook_calls;
  return trt_mul_scalar(grad, trt_scalar_int(2), out);
}
static trt_status* refuse(const trt_tensor* grad, trt_tensor** out, void* user_data) {
  (void)grad;
  (void)out;
  (void)user_data;
  return trt_status_create(TRT_CANCELLED, "the hook refused");
}
static void count_destroy(void* user_data) {
  (void)user_data;
  ++destroyed;
}

static void test_hooks(void** state) {
  (void)state;
  hook_calls = destroyed = 0;
  trt_tensor *x = vec(kX, 3, true), *y = mul(x, x);
  uint64_t on_leaf, on_y, id;
  ok(trt_tensor_add_hook(x, double_it, NULL, count_destroy, &on_leaf));
  ok(trt_tensor_add_hook(y, double_it, NULL, count_destroy, &on_y));
  ok(trt_tensor_retain_grad(y));
  trt_tensor* s = sum(y);
  ok(trt_backward((const trt_tensor* const[]){s}, 1, NULL, 0, NULL, 0, true, false));
  assert_int_equal(hook_calls, 2);
  const double gx[] = {8, 16, 24}, gy[] = {2, 2, 2};
  grad_equals(x, gx, 3);
  grad_equals(y, gy, 3);
  ok(trt_tensor_remove_hook(x, on_leaf));
  assert_int_equal(destroyed, 1);
  fails(trt_tensor_remove_hook(x, on_leaf), TRT_NOT_FOUND, "no hook");
  ok(trt_tensor_add_hook(y, refuse, NULL, count_destroy, &id));
  fails(trt_tensor_backward(s), TRT_CANCELLED, "the hook refused");
  trt_tensor* plain = vec(kX, 3, false);
  fails(trt_tensor_add_hook(plain, double_it, NULL, count_destroy, &id), TRT_FAILED_PRECONDITION, "require");
  assert_int_equal(destroyed, 2);
  trt_tensor_release(plain);
  trt_tensor_release(s);
  trt_tensor_release(y);
  trt_tensor_release(x);
  assert_int_equal(destroyed, 4);
}

static void test_hook_inside_scope(void** state) {
  (void)state;
  /* What a hook makes goes to the library, also while a scope is open on the thread. */
  trt_tensor* x = vec(kX, 3, true);
  uint64_t id;
  ok(trt_tensor_add_hook(x, double_it, NULL, NULL, &id));
  ok(trt_scope_begin());
  trt_tensor *y = mul(x, x), *s = sum(y);
  ok(trt_tensor_backward(s));
  ok(trt_scope_end());
  const double want[] = {4, 8, 12};
  grad_equals(x, want, 3);
  trt_tensor_release(x);
}

static void test_backward_inputs(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *y = vec(kY, 3, true), *z = mul(x, y), *s = sum(z);
  ok(trt_backward((const trt_tensor* const[]){s}, 1, NULL, 0, (const trt_tensor* const[]){x}, 1, false, false));
  grad_equals(x, kY, 3);
  trt_tensor* none;
  ok(trt_tensor_grad(y, &none));
  assert_null(none);
  trt_tensor_release(s);
  trt_tensor_release(z);
  trt_tensor_release(y);
  trt_tensor_release(x);
}

static void test_long_chain(void** state) {
  (void)state;
  /* Neither backward nor the release of a long graph may recurse. */
  trt_tensor *x = vec(kX, 3, true), *y = trt_tensor_retain(x);
  for (int i = 0; i < 200000; ++i) {
    trt_tensor* next;
    ok(trt_neg(y, &next));
    trt_tensor_release(y);
    y = next;
  }
  backward_sum(y);
  const double want[] = {1, 1, 1};
  grad_equals(x, want, 3);
  trt_tensor_release(y);
  trt_tensor_release(x);
}

enum { kThreads = 4, kRounds = 200 };
static void* backward_thread(void* shared) {
  for (int i = 0; i < kRounds; ++i) {
    trt_tensor* z = mul(shared, shared);
    backward_sum(z);
    trt_tensor_release(z);
  }
  return NULL;
}

static void test_threads_share_a_leaf(void** state) {
  (void)state;
  trt_tensor* x = vec(kX, 3, true);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, backward_thread, x);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  const double n = 2.0 * kThreads * kRounds, want[] = {n, 2 * n, 3 * n};
  grad_equals(x, want, 3);
  trt_tensor_release(x);
}

static void test_nothing_leaks(void** state) {
  (void)state;
  trt_memory_stats before, after;
  trt_memory_stats_init(&before);
  trt_memory_stats_init(&after);
  const trt_device cpu = {TRT_CPU, 0};
  ok(trt_memory_get_stats(cpu, &before));
  for (int i = 0; i < 3; ++i) {
    test_grad_and_higher_derivatives(state);
    test_inplace_on_views(state);
    test_fill_view_of_plain_base(state);
    test_hooks(state);
  }
  ok(trt_memory_get_stats(cpu, &after));
  assert_int_equal(before.allocated_current, after.allocated_current);
}

/* --- functions of the host --- */

struct square {
  trt_tensor* x; /* kept for the gradient */
  int calls, destroyed;
  int fail;
};

static trt_status* square_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* data) {
  struct square* s = data;
  ++s->calls;
  if (s->fail) return trt_status_create(TRT_CALLBACK, "no gradient today");
  if (grads_count != 1 || out_count != 1) return trt_status_create(TRT_CALLBACK, "wrong counts");
  trt_tensor* twice;
  trt_status* status = trt_mul_scalar(s->x, trt_scalar_double(2), &twice);
  if (!status) {
    status = trt_mul(grads[0], twice, out);
    trt_tensor_release(twice);
  }
  return status;
}
static void square_destroy(void* data) {
  struct square* s = data;
  ++s->destroyed;
  trt_tensor_release(s->x);
  s->x = NULL;
}

/* x^2 with a gradient of our own. */
static trt_tensor* square(trt_tensor* x, struct square* s) {
  const bool before = trt_set_grad_mode(false);
  trt_tensor* y = mul(x, x);
  trt_set_grad_mode(before);
  s->x = trt_tensor_retain(x);
  trt_tensor* out;
  const trt_tensor *in = x, *computed = y;
  ok(trt_custom_function("SquareBackward", &in, 1, &computed, 1, square_backward, s, square_destroy, &out));
  assert_true(trt_tensor_shares_storage(y, out));
  trt_tensor_release(y);
  return out;
}

/* A gradient that does not fit is told with the function and the input that it is for. */
static trt_status* unfitting_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* data) {
  const int64_t five = 5;
  const trt_device meta = {TRT_META, 0};
  (void)grads, (void)grads_count, (void)out_count;
  return trt_full(&five, 1, trt_scalar_double(1), TRT_FLOAT64, *(bool*)data ? &meta : NULL, &out[1]);
}
static void test_custom_function_unfitting(void** state) {
  (void)state;
  for (int meta = 0; meta < 2; ++meta) {
    bool flag = meta;
    const double ones[] = {1, 1, 1};
    trt_tensor *a = vec(ones, 3, true), *b = vec(ones, 3, true), *y, *computed = vec(ones, 3, false);
    const trt_tensor *in[] = {a, b}, *made = computed;
    ok(trt_custom_function("Blend", in, 2, &made, 1, unfitting_backward, &flag, NULL, &y));
    trt_tensor* s = sum(y);
    fails(trt_tensor_backward(s), TRT_INVALID_ARGUMENT,
          meta ? "Blend: the gradient of input 1 is float64[5]@meta, the input was on cpu" : "Blend: the gradient of input 1 has shape [5], the input has shape [3]");
    trt_tensor* grad;
    ok(trt_tensor_grad(a, &grad));
    assert_null(grad);
    trt_tensor* all[] = {a, b, y, computed, s};
    for (size_t i = 0; i < 5; ++i) trt_tensor_release(all[i]);
  }
}

static void test_custom_function(void** state) {
  (void)state;
  struct square s = {0};
  trt_tensor *x = vec(kX, 3, true), *y = square(x, &s);
  char* name;
  ok(trt_tensor_grad_fn_name(y, &name));
  assert_string_equal(name, "SquareBackward");
  trt_string_release(name);
  trt_tensor* z = mul(y, y); /* x^4 */
  backward_sum(z);
  grad_equals(x, (double[]){4, 32, 108}, 3);
  assert_int_equal(s.calls, 1);
  assert_int_equal(s.destroyed, 1); /* the pass freed the graph */
  trt_tensor* t = sum(y);
  fails(trt_tensor_backward(t), TRT_FAILED_PRECONDITION, "second time");
  trt_tensor_release(t);
  trt_tensor_release(z);
  trt_tensor_release(y);
  assert_int_equal(s.destroyed, 1);

  /* Second derivatives: the callback's operators are recorded. */
  struct square s2 = {0};
  y = square(x, &s2);
  t = sum(y);
  trt_tensor *g, *gg;
  const trt_tensor *out = t, *in = x;
  ok(trt_grad(&out, 1, &in, 1, NULL, 0, true, true, false, &g));
  trt_tensor* gs = sum(g);
  out = gs;
  ok(trt_grad(&out, 1, &in, 1, NULL, 0, false, false, false, &gg));
  equals(gg, (double[]){2, 2, 2}, 3);
  trt_tensor* all[] = {y, t, g, gs, gg};
  for (size_t i = 0; i < 5; ++i) trt_tensor_release(all[i]);
  assert_int_equal(s2.destroyed, 1);

  /* An error arrives unchanged, and the graph is still there. */
  struct square s3 = {.fail = 1};
  y = square(x, &s3);
  t = sum(y);
  fails(trt_tensor_backward(t), TRT_CALLBACK, "no gradient today");
  s3.fail = 0;
  trt_tensor_release(t);
  t = sum(y);
  ok(trt_tensor_set_grad(x, NULL));
  ok(trt_tensor_backward(t));
  grad_equals(x, (double[]){2, 4, 6}, 3);
  trt_tensor_release(t);
  trt_tensor_release(y);
  assert_int_equal(s3.destroyed, 1);

  /* Nothing recorded: destroyed at once. */
  struct square s4 = {0};
  const bool before = trt_set_grad_mode(false);
  y = square(x, &s4);
  trt_set_grad_mode(before);
  assert_int_equal(s4.destroyed, 1);
  assert_false(trt_tensor_requires_grad(y));
  trt_tensor_release(y);

  /* Outputs with a history of their own. */
  struct square s5 = {0};
  y = mul(x, x);
  s5.x = trt_tensor_retain(x);
  trt_tensor* never = NULL;
  const trt_tensor* given = y;
  in = x;
  fails(trt_custom_function("Wrong", &in, 1, &given, 1, square_backward, &s5, square_destroy, &never), TRT_FAILED_PRECONDITION, "history of its own");
  assert_null(never);
  assert_int_equal(s5.destroyed, 1);
  trt_tensor_release(y);
  trt_tensor_release(x);
}

/* Two outputs, of which one gets no gradient; two inputs, of which one gets none; a gradient to be summed and converted. */
static trt_status* partial_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* data) {
  int* calls = data;
  ++*calls;
  if (grads_count != 2 || out_count != 2 || !grads[0] || grads[1]) return trt_status_create(TRT_CALLBACK, "unexpected gradients");
  const int64_t size[] = {4, 3};
  return trt_full(size, 2, trt_scalar_double(*calls), TRT_FLOAT32, NULL, &out[0]);
}
static void test_custom_function_partial(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *w = vec(kY, 3, true);
  const bool before = trt_set_grad_mode(false);
  trt_tensor *a = mul(x, w), *b = mul(x, x);
  trt_set_grad_mode(before);
  int calls = 0;
  const trt_tensor *in[] = {x, w}, *computed[] = {a, b};
  trt_tensor* out[2];
  ok(trt_custom_function("Partial", in, 2, computed, 2, partial_backward, &calls, NULL, out));
  trt_tensor* t = sum(out[0]);
  const trt_tensor* root = t;
  ok(trt_backward(&root, 1, NULL, 0, NULL, 0, true, false));
  grad_equals(x, (double[]){4, 4, 4}, 3);
  trt_tensor* g;
  ok(trt_tensor_grad(w, &g));
  assert_null(g);
  ok(trt_backward(&root, 1, NULL, 0, NULL, 0, false, false));
  grad_equals(x, (double[]){12, 12, 12}, 3);
  trt_tensor* all[] = {t, out[0], out[1], a, b, x, w};
  for (size_t i = 0; i < 7; ++i) trt_tensor_release(all[i]);
}

/* An output on its input's memory is a copy: changing it changes neither the input nor the input's gradient. */
static trt_status* triple_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* data) {
  (void)grads_count;
  (void)out_count;
  (void)data;
  return trt_mul_scalar(grads[0], trt_scalar_int(3), out);
}
static void test_custom_function_on_its_input(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *seen, *y;
  ok(trt_tensor_detach(x, &seen));
  const trt_tensor *in = x, *computed = seen;
  ok(trt_custom_function("Triple", &in, 1, &computed, 1, triple_backward, NULL, NULL, &y));
  ok(trt_mul_scalar_(y, trt_scalar_double(2)));
  equals(y, (double[]){2, 4, 6}, 3);
  equals(x, kX, 3);
  backward_sum(y);
  grad_equals(x, (double[]){6, 6, 6}, 3);
  trt_tensor_release(y);
  trt_tensor_release(seen);
  trt_tensor_release(x);
}

/* exp, whose gradient is its output: kept as it was computed, and with its history in the gradient of the gradient. */
static trt_status* exp_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* kept) {
  (void)grads_count;
  (void)out_count;
  trt_tensor *y, *wrong = NULL, *other;
  const int64_t two = 2;
  fails(trt_custom_function_saved_output(kept, 1, &wrong), TRT_INVALID_ARGUMENT, "Exp has 1 outputs");
  ok(trt_ones(&two, 1, TRT_FLOAT64, NULL, &other));
  fails(trt_custom_function_saved_output(other, 0, &wrong), TRT_INVALID_ARGUMENT, "is not output 0 of Exp");
  trt_tensor_release(other);
  assert_null(wrong);
  ok(trt_custom_function_saved_output(kept, 0, &y));
  assert_true(trt_tensor_shares_storage(y, kept));
  trt_status* s = trt_mul(grads[0], y, out);
  trt_tensor_release(y);
  return s;
}
static void release_tensor(void* t) { trt_tensor_release(t); }
static void test_saved_output(void** state) {
  (void)state;
  const int64_t one = 1;
  trt_tensor *x, *seen, *computed, *y, *wrong = NULL;
  ok(trt_zeros(&one, 1, TRT_FLOAT64, NULL, &x));
  ok(trt_tensor_detach(x, &seen));
  ok(trt_tensor_set_requires_grad(x, true));
  ok(trt_exp(seen, &computed));
  const trt_tensor *in = x, *given = computed;
  ok(trt_custom_function("Exp", &in, 1, &given, 1, exp_backward, computed, release_tensor, &y));
  fails(trt_custom_function_saved_output(y, 0, &wrong), TRT_FAILED_PRECONDITION, "no gradient");
  fails(trt_custom_function_saved_output(NULL, 0, &wrong), TRT_INVALID_ARGUMENT, "saved");
  trt_tensor* at;
  ok(trt_mul(y, y, &at));
  for (double expected = 2; expected <= 8; expected *= 2) {
    trt_tensor* g;
    ok(trt_grad((const trt_tensor* const*)&at, 1, &in, 1, NULL, 0, true, true, false, &g));
    equals(g, &expected, 1);
    trt_tensor_release(at);
    at = g;
  }
  trt_tensor_release(at);
  trt_tensor_release(y);
  trt_tensor_release(seen);
  trt_tensor_release(x);
}

/* The callback runs a backward pass over its own node. */
static trt_tensor* g_reentered;
static trt_status* reentrant_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* data) {
  (void)grads_count;
  (void)out_count;
  int* depth = data;
  if (++*depth < 3) {
    trt_status* s = trt_backward((const trt_tensor* const*)&g_reentered, 1, NULL, 0, NULL, 0, true, false);
    if (s) return s;
  }
  out[0] = trt_tensor_retain((trt_tensor*)grads[0]);
  return NULL;
}
static void test_custom_function_reentrant(void** state) {
  (void)state;
  const double one = 1;
  trt_tensor *x = vec(&one, 1, true), *y;
  trt_tensor* computed;
  ok(trt_tensor_detach(x, &computed));
  const trt_tensor *in = x, *c = computed;
  int depth = 0;
  ok(trt_custom_function("Reentrant", &in, 1, &c, 1, reentrant_backward, &depth, NULL, &y));
  g_reentered = y;
  const trt_tensor* root = y;
  ok(trt_backward(&root, 1, NULL, 0, NULL, 0, true, false));
  grad_equals(x, (double[]){3}, 1);
  trt_tensor_release(y);
  trt_tensor_release(computed);
  trt_tensor_release(x);
}

static trt_status* no_gradient(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* user_data) {
  (void)grads;
  (void)grads_count;
  (void)out;
  (void)out_count;
  (void)user_data;
  return NULL;
}

static void test_graph_can_be_walked(void** state) {
  (void)state;
  trt_tensor *x = vec(kX, 3, true), *y = vec(kY, 3, false), *z, *s, *leaf;
  ok(trt_mul(x, y, &z));
  s = sum(z);
  trt_node *node, *next, *accumulate, *nothing = (trt_node*)x;
  ok(trt_tensor_grad_fn(s, &node));
  assert_string_equal(trt_node_name(node), "SumBackward0");
  assert_int_equal(trt_node_next_count(node), 1);
  ok(trt_node_next(node, 0, &next));
  trt_tensor_release(s);
  trt_tensor_release(z);
  trt_node_release(node);
  // The node keeps what lies behind it.
  assert_string_equal(trt_node_name(next), "MulBackward0");
  assert_int_equal(trt_node_next_count(next), 2);
  ok(trt_node_next(next, 0, &accumulate));
  assert_int_equal(trt_node_next_input(next, 0), 0);
  assert_string_equal(trt_node_name(accumulate), "AccumulateGrad");
  assert_int_equal(trt_node_next_count(accumulate), 0);
  ok(trt_node_variable(accumulate, &leaf));
  assert_ptr_equal(leaf, x);
  trt_tensor_release(leaf);
  leaf = x;
  ok(trt_node_variable(next, &leaf));
  assert_null(leaf);
  ok(trt_node_next(next, 1, &nothing));
  assert_null(nothing);
  ok(trt_tensor_grad_fn(x, &nothing));
  assert_null(nothing);
  fails(trt_node_next(next, 2, &nothing), TRT_OUT_OF_RANGE, "MulBackward0 with 2 edges");
  fails(trt_node_next(NULL, 0, &nothing), TRT_INVALID_ARGUMENT, "node");
  fails(trt_node_variable(NULL, &leaf), TRT_INVALID_ARGUMENT, "node");
  fails(trt_tensor_grad_fn(NULL, &nothing), TRT_INVALID_ARGUMENT, "tensor");
  assert_null(trt_node_name(NULL));
  assert_int_equal(trt_node_next_count(NULL), 0);
  assert_int_equal(trt_node_next_input(NULL, 0), 0);
  assert_int_equal(trt_node_next_input(next, 5), 0);
  assert_ptr_equal(trt_node_retain(next), next);
  trt_node_release(next);
  trt_node_release(next);
  trt_node_release(accumulate);

  // Which of a node's results an edge belongs to.
  trt_tensor *computed[2] = {vec(kX, 3, false), vec(kY, 3, false)}, *made[2], *product;
  ok(trt_custom_function("Pair", (const trt_tensor* const*)&x, 1, (const trt_tensor* const*)computed, 2, no_gradient, NULL, NULL, made));
  ok(trt_mul(made[1], made[0], &product));
  ok(trt_tensor_grad_fn(product, &node));
  assert_int_equal(trt_node_next_input(node, 0), 1);
  assert_int_equal(trt_node_next_input(node, 1), 0);
  trt_node_release(node);
  trt_tensor_release(product);
  for (int i = 0; i < 2; ++i) {
    trt_tensor_release(made[i]);
    trt_tensor_release(computed[i]);
  }
  trt_tensor_release(x);
  trt_tensor_release(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_leaf_and_accumulation),
      cmocka_unit_test(test_diamond_and_broadcast),
      cmocka_unit_test(test_freed_graph),
      cmocka_unit_test(test_grad_and_higher_derivatives),
      cmocka_unit_test(test_unused_and_wrong_arguments),
      cmocka_unit_test(test_saved_tensor_changed),
      cmocka_unit_test(test_inplace),
      cmocka_unit_test(test_inplace_on_views),
      cmocka_unit_test(test_fill_view_of_plain_base),
      cmocka_unit_test(test_overwritten_views),
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_hooks),
      cmocka_unit_test(test_hook_inside_scope),
      cmocka_unit_test(test_custom_function),
      cmocka_unit_test(test_custom_function_unfitting),
      cmocka_unit_test(test_custom_function_partial),
      cmocka_unit_test(test_custom_function_on_its_input), cmocka_unit_test(test_saved_output),
      cmocka_unit_test(test_custom_function_reentrant),
      cmocka_unit_test(test_backward_inputs),
      cmocka_unit_test(test_set_data),
      cmocka_unit_test(test_long_chain),
      cmocka_unit_test(test_threads_share_a_leaf),
      cmocka_unit_test(test_graph_can_be_walked),
      cmocka_unit_test(test_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
