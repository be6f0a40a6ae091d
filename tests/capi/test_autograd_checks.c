/* What autograd refuses, and where it must not interfere: inference tensors, converted parameters, cyclic gradients, hooks, integer targets. */
#include <math.h>

#include "expect.h"

#include "tensorrt/autograd.h"
#include "tensorrt/nn.h"
#include "tensorrt/ops.h"
#include "tensorrt/optim.h"

static const int64_t kThree = 3;
static const double kX[] = {1, 2, 3};

static trt_tensor* vec(bool grad) {
  trt_tensor* t;
  ok(trt_tensor_from_data(kX, &kThree, 1, TRT_FLOAT64, &t));
  if (grad) ok(trt_tensor_set_requires_grad(t, true));
  return t;
}

static trt_tensor* inference_vec(void) {
  trt_set_inference_mode(true);
  trt_tensor* t = vec(false);
  trt_set_inference_mode(false);
  return t;
}

static void equals(const trt_tensor* t, double a, double b, double c) {
  const double want[] = {a, b, c};
  double got[3];
  assert_non_null(t);
  ok(trt_tensor_copy_to_host(t, got, TRT_FLOAT64, 3));
  for (int i = 0; i < 3; ++i) assert_true(fabs(got[i] - want[i]) < 1e-9);
}

static trt_tensor* grad_of(const trt_tensor* t) {
  trt_tensor* g;
  ok(trt_tensor_grad(t, &g));
  return g;
}

static trt_tensor* doubled(const trt_tensor* t) {
  trt_tensor* r;
  ok(trt_mul_scalar(t, trt_scalar_int(2), &r));
  return r;
}

static trt_tensor* sum(const trt_tensor* t) {
  trt_tensor* s;
  ok(trt_sum(t, NULL, 0, false, TRT_DTYPE_NONE, &s));
  return s;
}

static trt_tensor* first_two(const trt_tensor* t) {
  trt_tensor* v;
  const int64_t begin = 0, end = 2;
  ok(trt_slice(t, 0, &begin, &end, 1, &v));
  return v;
}

static trt_status* backward_sum(const trt_tensor* t) {
  trt_tensor* s = sum(t);
  trt_status* status = trt_tensor_backward(s);
  trt_tensor_release(s);
  return status;
}

/* Every way in which an operator changes a tensor in place. */
static void refuses_changes(trt_tensor* t, const trt_tensor* like) {
  const uint32_t version = trt_tensor_version(t);
  fails(trt_add_(t, like, trt_scalar_int(1)), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_mul_(t, like), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_zero_(t), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_fill_(t, trt_scalar_int(1)), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_copy_(t, like), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_uniform_(t, 0, 1, NULL), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_add_out(like, like, trt_scalar_int(1), t), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_init_normal(t, 0, 1, NULL), TRT_FAILED_PRECONDITION, "inference mode");
  assert_int_equal(trt_tensor_version(t), version);
}

static void test_inference_tensors_stay(void** state) {
  (void)state;
  trt_tensor *a = inference_vec(), *b = inference_vec(), *normal = vec(false), *flat, *detached;
  ok(trt_view(a, &kThree, 1, &flat));
  ok(trt_tensor_detach(a, &detached));
  for (int recording = 0; recording < 2; ++recording) {
    trt_set_grad_mode(recording == 1);
    refuses_changes(a, b);
    refuses_changes(a, normal);
    refuses_changes(flat, normal);
    refuses_changes(detached, normal);
  }
  equals(a, 1, 2, 3);
  /* In inference mode they change, and normal tensors do, too; those note it. */
  trt_set_inference_mode(true);
  ok(trt_add_(a, b, trt_scalar_int(1)));
  ok(trt_add_(normal, b, trt_scalar_int(1)));
  trt_set_inference_mode(false);
  equals(flat, 2, 4, 6);
  assert_int_equal(trt_tensor_version(normal), 1);
  /* A clone is a normal tensor. */
  trt_tensor* clone;
  ok(trt_clone(a, &clone));
  ok(trt_zero_(clone));
  ok(trt_tensor_set_requires_grad(clone, true));
  trt_tensor* all[] = {a, b, normal, flat, detached, clone};
  for (size_t i = 0; i < 6; ++i) trt_tensor_release(all[i]);
}

static void test_inference_tensors_in_other_places(void** state) {
  (void)state;
  trt_tensor *a = inference_vec(), *grad = vec(false), *held = inference_vec(), *plain = vec(false);
  /* A parameter, and a gradient. */
  const trt_tensor *as_parameter = a, *with_grad = plain;
  trt_optimizer* sgd;
  ok(trt_sgd_create(&as_parameter, 1, NULL, &sgd));
  ok(trt_tensor_set_grad(a, grad));
  fails(trt_optimizer_step(sgd), TRT_FAILED_PRECONDITION, "inference mode");
  equals(a, 1, 2, 3);
  ok(trt_tensor_set_grad(a, held));
  fails(trt_optimizer_zero_grad(sgd, false), TRT_FAILED_PRECONDITION, "inference mode");
  ok(trt_optimizer_zero_grad(sgd, true));
  trt_optimizer_release(sgd);
  ok(trt_tensor_set_grad(plain, held));
  double norm = -1;
  fails(trt_clip_grad_norm(&with_grad, 1, 0.5, 2, false, &norm), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_clip_grad_value(&with_grad, 1, 0.5), TRT_FAILED_PRECONDITION, "inference mode");
  assert_true(norm == -1);
  equals(held, 1, 2, 3);
  /* A gradient that backward would add to. */
  trt_tensor* w = vec(true);
  ok(trt_tensor_set_grad(w, held));
  trt_tensor* y = doubled(w);
  fails(backward_sum(y), TRT_FAILED_PRECONDITION, "inference mode");
  equals(held, 1, 2, 3);
  trt_tensor_release(y);
  /* Running statistics. */
  const int64_t sizes[] = {4, 3};
  trt_tensor *input, *out = NULL;
  ok(trt_ones(sizes, 2, TRT_FLOAT64, NULL, &input));
  fails(trt_batch_norm(input, a, plain, NULL, NULL, true, 0.1, 1e-5, &out), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_batch_norm(input, plain, a, NULL, NULL, true, 0.1, 1e-5, &out), TRT_FAILED_PRECONDITION, "inference mode");
  equals(plain, 1, 2, 3);
  ok(trt_batch_norm(input, a, plain, NULL, NULL, false, 0.1, 1e-5, &out));
  trt_tensor_release(out);
  trt_tensor* all[] = {a, grad, held, plain, w, input};
  for (size_t i = 0; i < 6; ++i) trt_tensor_release(all[i]);
}

/* Views of normal tensors that are made in inference mode are normal; changing them where gradients are recorded would go unnoticed by the base. */
static void test_views_made_in_inference_mode(void** state) {
  (void)state;
  trt_tensor *w = vec(true), *h = doubled(w), *factor = vec(true), *two = first_two(factor), *plain = vec(false);
  trt_set_inference_mode(true);
  trt_tensor *v = first_two(h), *again = first_two(v), *of_leaf = first_two(w), *of_plain = first_two(plain);
  trt_set_inference_mode(false);
  fails(trt_mul_(v, two), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_mul_scalar_(v, trt_scalar_int(3)), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_mul_scalar_(again, trt_scalar_int(3)), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_mul_scalar_(of_leaf, trt_scalar_int(3)), TRT_FAILED_PRECONDITION, "leaf");
  fails(trt_mul_(of_plain, two), TRT_FAILED_PRECONDITION, "inference mode");
  equals(h, 2, 4, 6);
  /* Where nothing has to be recorded they may change, and the base's saved uses notice. */
  ok(trt_mul_scalar_(of_plain, trt_scalar_int(3)));
  equals(plain, 3, 6, 3);
  trt_tensor *square, *exponent;
  ok(trt_mul(h, h, &square));
  ok(trt_exp(plain, &exponent));
  trt_set_grad_mode(false);
  ok(trt_mul_scalar_(v, trt_scalar_int(3)));
  trt_set_grad_mode(true);
  fails(backward_sum(square), TRT_FAILED_PRECONDITION, "in-place");
  /* The base changed with recording: the view's value has a gradient, also seen from inference mode. */
  ok(trt_mul_(h, factor));
  trt_set_inference_mode(true);
  assert_false(trt_tensor_is_leaf(v));
  trt_set_inference_mode(false);
  ok(backward_sum(v));
  trt_tensor* g = grad_of(w);
  equals(g, 2, 4, 0);
  trt_tensor* all[] = {w, h, factor, two, plain, v, again, of_leaf, of_plain, square, exponent, g};
  for (size_t i = 0; i < 12; ++i) trt_tensor_release(all[i]);
}

static void test_inference_tensors_are_not_saved(void** state) {
  (void)state;
  trt_tensor *a = inference_vec(), *w = vec(true), *y = NULL;
  fails(trt_mul(w, a, &y), TRT_FAILED_PRECONDITION, "saved for backward");
  fails(trt_div(w, a, &y), TRT_FAILED_PRECONDITION, "saved for backward");
  const trt_tensor* list[] = {w, a};
  ok(trt_cat(list, 2, 0, &y)); /* saves nothing */
  ok(backward_sum(y));
  trt_tensor* g = grad_of(w);
  equals(g, 1, 1, 1);
  trt_tensor_release(y);
  ok(trt_add(w, a, trt_scalar_int(1), &y));
  ok(backward_sum(y));
  trt_tensor* all[] = {a, w, y, g};
  for (size_t i = 0; i < 4; ++i) trt_tensor_release(all[i]);
}

static void test_conversion_with_a_graph(void** state) {
  (void)state;
  trt_module* m;
  trt_tensor *x, *weight, *y, *hidden, *g;
  const int64_t sizes[] = {1, 3};
  ok(trt_linear_create(3, 3, NULL, &m));
  ok(trt_module_parameter(m, "weight", &weight));
  ok(trt_ones(sizes, 2, TRT_FLOAT32, NULL, &x));
  ok(trt_module_forward(m, x, &hidden));
  ok(trt_module_forward(m, hidden, &y)); /* saves the weight, too */
  ok(trt_module_to_dtype(m, TRT_FLOAT64));
  fails(backward_sum(y), TRT_FAILED_PRECONDITION, "float32[3, 3]");
  fails(backward_sum(hidden), TRT_FAILED_PRECONDITION, "float64[3, 3]");
  g = grad_of(weight);
  assert_null(g);
  /* A new graph is of the new dtype, while the old one still is there. */
  trt_tensor *wide, *fresh;
  ok(trt_to(x, TRT_FLOAT64, &wide));
  ok(trt_module_forward(m, wide, &fresh));
  ok(backward_sum(fresh));
  g = grad_of(weight);
  assert_int_equal(trt_tensor_dtype(g), TRT_FLOAT64);
  trt_tensor_release(g);
  /* The gradient follows a conversion; the old graph still gives none. */
  ok(trt_module_to_dtype(m, TRT_FLOAT32));
  g = grad_of(weight);
  assert_int_equal(trt_tensor_dtype(g), TRT_FLOAT32);
  trt_tensor_release(g);
  trt_tensor_release(fresh);
  ok(trt_module_forward(m, x, &fresh));
  ok(backward_sum(fresh));
  /* Converted there and back: what was saved is another tensor's memory by now. */
  fails(backward_sum(y), TRT_FAILED_PRECONDITION, "in-place");
  trt_tensor* all[] = {x, weight, y, hidden, wide, fresh};
  for (size_t i = 0; i < 6; ++i) trt_tensor_release(all[i]);
  trt_module_release(m);
}

static void test_resized_parameter(void** state) {
  (void)state;
  const int64_t five = 5;
  trt_tensor *w = vec(true), *ones;
  ok(trt_ones(&five, 1, TRT_FLOAT64, NULL, &ones));
  trt_set_grad_mode(false);
  fails(trt_add_out(ones, ones, trt_scalar_int(1), w), TRT_INVALID_ARGUMENT, "requires gradients");
  trt_set_grad_mode(true);
  equals(w, 1, 2, 3);
  trt_tensor_release(ones);
  trt_tensor_release(w);
}

/* A resized output has new memory: what was saved of the old must not be taken for it, whatever the counters were. */
static void test_resized_saved_tensor(void** state) {
  (void)state;
  const int64_t five = 5;
  trt_tensor *w = vec(true), *x = vec(false), *y, *ones;
  ok(trt_ones(&five, 1, TRT_FLOAT64, NULL, &ones));
  ok(trt_zero_(x)); /* version 1, as that of fresh memory after the resize */
  ok(trt_mul(w, x, &y));
  ok(trt_add_out(ones, ones, trt_scalar_int(1), x));
  fails(backward_sum(y), TRT_FAILED_PRECONDITION, "in-place");
  trt_tensor* all[] = {w, x, y, ones};
  for (size_t i = 0; i < 4; ++i) trt_tensor_release(all[i]);
}

static int64_t allocations(void) {
  trt_memory_stats stats;
  trt_memory_stats_init(&stats);
  ok(trt_memory_get_stats((trt_device){TRT_CPU, 0}, &stats));
  return stats.allocated_current;
}

static void test_cyclic_gradients(void** state) {
  (void)state;
  const int64_t before = allocations();
  for (int leaf = 0; leaf < 2; ++leaf) {
    trt_tensor *a = vec(leaf == 1), *w = vec(true), *b = vec(false), *view, *graph, *saved;
    fails(trt_tensor_set_grad(a, a), TRT_INVALID_ARGUMENT, "set_grad");
    ok(trt_view(a, &kThree, 1, &view));
    fails(trt_tensor_set_grad(a, view), TRT_INVALID_ARGUMENT, "keeps it alive");
    graph = doubled(view);
    if (leaf) fails(trt_tensor_set_grad(a, graph), TRT_INVALID_ARGUMENT, "keeps it alive");
    else ok(trt_tensor_set_grad(a, graph)); /* nothing was recorded */
    ok(trt_mul(w, a, &saved)); /* its node keeps `a` for w's gradient */
    fails(trt_tensor_set_grad(a, saved), TRT_INVALID_ARGUMENT, "keeps it alive");
    ok(trt_tensor_set_grad(a, b)); /* of its own, then through another's gradient */
    fails(trt_tensor_set_grad(b, a), TRT_INVALID_ARGUMENT, "keeps it alive");
    trt_tensor* kept = grad_of(a);
    assert_ptr_equal(kept, b);
    /* Detached, or the history of others, it is a gradient like any. */
    trt_tensor *detached, *other = doubled(w);
    ok(trt_tensor_detach(a, &detached));
    ok(trt_tensor_set_grad(a, detached));
    ok(trt_tensor_set_grad(a, other));
    trt_tensor* all[] = {a, w, b, view, graph, saved, kept, detached, other};
    for (size_t i = 0; i < 9; ++i) trt_tensor_release(all[i]);
  }
  assert_int_equal(allocations(), before);
}

static void test_frozen_after_forward(void** state) {
  (void)state;
  trt_tensor *w = vec(true), *u = vec(true), *y;
  ok(trt_mul(w, u, &y));
  ok(trt_tensor_set_requires_grad(w, false));
  ok(backward_sum(y));
  assert_null(grad_of(w));
  trt_tensor* g = grad_of(u);
  equals(g, 1, 2, 3);
  trt_tensor* all[] = {w, u, y, g};
  for (size_t i = 0; i < 4; ++i) trt_tensor_release(all[i]);
}

static trt_status* to_float(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)data;
  return trt_to(grad, TRT_FLOAT32, out);
}
static trt_status* to_int(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)data;
  return trt_to(grad, TRT_INT64, out);
}
static trt_status* to_meta(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)data;
  const trt_device meta = {TRT_META, 0};
  return trt_empty(trt_tensor_sizes(grad), trt_tensor_ndim(grad), trt_tensor_dtype(grad), &meta, out);
}
static trt_status* shorter(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)data;
  const int64_t begin = 0, end = 2;
  return trt_slice(grad, 0, &begin, &end, 1, out);
}
static trt_status* more_dimensions(const trt_tensor* grad, trt_tensor** out, void* data) {
  (void)data;
  return trt_unsqueeze(grad, 0, out);
}

static void test_hooks_keep_the_form(void** state) {
  (void)state;
  const struct {
    trt_hook_fn fn;
    const char* made;
  } cases[] = {{to_float, "float32[3]"}, {to_int, "int64[3]"}, {to_meta, "float64[3]@meta"}, {shorter, "float64[2]"}, {more_dimensions, "float64[1, 3]"}};
  for (size_t i = 0; i < 5; ++i)
    for (int leaf = 0; leaf < 2; ++leaf) {
      trt_tensor *w = vec(true), *y = doubled(w);
      uint64_t id;
      ok(trt_tensor_add_hook(leaf ? w : y, cases[i].fn, NULL, NULL, &id));
      trt_tensor* s = sum(y);
      trt_status* status = trt_tensor_backward(s);
      assert_non_null(status);
      assert_non_null(strstr(trt_status_message(status), leaf ? "AccumulateGrad" : "MulBackward0"));
      assert_non_null(strstr(trt_status_message(status), "of float64[3];"));
      fails(status, TRT_INVALID_ARGUMENT, cases[i].made);
      assert_null(grad_of(w));
      trt_tensor_release(s);
      trt_tensor_release(y);
      trt_tensor_release(w);
    }
}

/* An integer result has no gradient, so that nothing is recorded and nothing refused. */
static void test_integer_targets(void** state) {
  (void)state;
  trt_tensor *w = vec(true), *i, *b, *part, *two = first_two(w);
  ok(trt_zeros(&kThree, 1, TRT_INT64, NULL, &i));
  ok(trt_zeros(&kThree, 1, TRT_BOOL, NULL, &b));
  ok(trt_copy_(i, w));
  equals(i, 1, 2, 3);
  ok(trt_copy_(b, w));
  ok(trt_logical_and_(b, w));
  part = first_two(i);
  ok(trt_copy_(part, two));
  fails(trt_add_(i, w, trt_scalar_int(1)), TRT_INVALID_ARGUMENT, "int64");
  assert_false(trt_tensor_requires_grad(i));
  assert_false(trt_tensor_requires_grad(b));
  assert_true(trt_tensor_is_leaf(i));
  trt_tensor* all[] = {w, i, b, part, two};
  for (size_t k = 0; k < 5; ++k) trt_tensor_release(all[k]);
}

/* What retain_grad keeps is the gradient of the tensor as it is at last, whichever of its base and views was changed; as in PyTorch. */
static void test_retained_gradients_follow(void** state) {
  (void)state;
  enum { kBaseKeptBaseChanged, kBaseKeptViewChanged, kViewKeptBaseChanged, kViewKeptViewChanged, kViewKeptSiblingChanged, kCount };
  for (int c = 0; c < kCount; ++c) {
    trt_tensor *x = vec(true), *base = doubled(x), *view = first_two(base), *sibling = first_two(base);
    trt_tensor* kept = c <= kBaseKeptViewChanged ? base : view;
    ok(trt_tensor_retain_grad(kept));
    trt_tensor *seven, *five, *s7, *s5, *all;
    ok(trt_mul_scalar(kept, trt_scalar_int(7), &seven));
    s7 = sum(seven);
    trt_tensor* changed = c == kBaseKeptBaseChanged || c == kViewKeptBaseChanged ? base : c == kViewKeptSiblingChanged ? sibling : view;
    for (int i = 0; i < 2; ++i) ok(trt_mul_scalar_(changed, trt_scalar_int(3)));
    ok(trt_mul_scalar(kept, trt_scalar_int(5), &five));
    s5 = sum(five);
    ok(trt_add(s7, s5, trt_scalar_int(1), &all));
    ok(trt_tensor_backward(all));
    trt_tensor *g = grad_of(kept), *gx = grad_of(x);
    assert_non_null(g);
    double got[3];
    const int64_t n = trt_tensor_numel(kept);
    ok(trt_tensor_copy_to_host(g, got, TRT_FLOAT64, n));
    for (int64_t i = 0; i < n; ++i) assert_true(got[i] == 5);
    /* (7 + 5 * 9) * 2 where it was changed. */
    equals(gx, 104, 104, c == kBaseKeptBaseChanged ? 104 : c == kBaseKeptViewChanged ? 24 : 0);
    trt_tensor* list[] = {x, base, view, sibling, seven, five, s7, s5, all, g, gx};
    for (size_t i = 0; i < 11; ++i) trt_tensor_release(list[i]);
  }
  /* The gradient is kept once, also where it is asked for. */
  trt_tensor *x = vec(true), *y = doubled(x), *s = sum(y);
  ok(trt_tensor_retain_grad(y));
  ok(trt_backward((const trt_tensor* const[]){s}, 1, NULL, 0, (const trt_tensor* const[]){y, x}, 2, false, false));
  trt_tensor *g = grad_of(y), *gx = grad_of(x);
  equals(g, 1, 1, 1);
  equals(gx, 2, 2, 2);
  trt_tensor* list[] = {x, y, s, g, gx};
  for (size_t i = 0; i < 5; ++i) trt_tensor_release(list[i]);
}

struct seen {
  int calls, destroyed;
  double first;
};
static trt_status* look(const trt_tensor* grad, trt_tensor** out, void* user_data) {
  (void)out;
  struct seen* s = user_data;
  double got[3];
  ++s->calls;
  trt_status* status = trt_tensor_copy_to_host(grad, got, TRT_FLOAT64, trt_tensor_numel(grad));
  s->first = got[0];
  return status;
}
static void look_destroy(void* user_data) { ++((struct seen*)user_data)->destroyed; }

/* A hook stays with the value that it was added to, and can be removed through the tensor all the same. */
static void test_hooks_stay_with_their_value(void** state) {
  (void)state;
  for (int removed = 0; removed < 2; ++removed)
    for (int c = 0; c < 3; ++c) {
      struct seen h = {0, 0, 0};
      trt_tensor *x = vec(true), *base = doubled(x), *view = first_two(base);
      trt_tensor* hooked = c == 2 ? view : base;
      uint64_t id;
      ok(trt_tensor_add_hook(hooked, look, &h, look_destroy, &id));
      trt_tensor *old = doubled(hooked), *olds = sum(old), *after, *s, *all;
      assert_false(trt_tensor_owns_hook(hooked, id)); /* the node of `old` has it, too */
      ok(trt_mul_scalar_(c == 0 ? base : view, trt_scalar_int(3)));
      after = doubled(hooked);
      s = sum(after);
      ok(trt_add(olds, s, trt_scalar_int(1), &all));
      if (removed) {
        ok(trt_tensor_remove_hook(hooked, id));
        assert_int_equal(h.destroyed, 1);
        fails(trt_tensor_remove_hook(hooked, id), TRT_NOT_FOUND, "no hook");
      }
      ok(trt_tensor_backward(all));
      assert_int_equal(h.calls, removed ? 0 : 1);
      /* 2, and 2 * 3 through the change; that of a view reaches the old base only. */
      if (!removed) assert_true(h.first == (c == 2 ? 2 : 8));
      trt_tensor* list[] = {x, base, view, old, olds, after, s, all};
      for (size_t i = 0; i < 8; ++i) trt_tensor_release(list[i]);
      assert_int_equal(h.destroyed, 1);
    }
}

static void test_owned_hooks(void** state) {
  (void)state;
  struct seen h = {0, 0, 0};
  uint64_t on_leaf, on_y;
  trt_tensor *x = vec(true), *y = doubled(x);
  ok(trt_tensor_add_hook(y, look, &h, look_destroy, &on_y));
  assert_true(trt_tensor_owns_hook(y, on_y));
  assert_false(trt_tensor_owns_hook(y, on_y + 1000));
  assert_false(trt_tensor_owns_hook(NULL, on_y));
  trt_tensor* again = trt_tensor_retain(y);
  assert_false(trt_tensor_owns_hook(y, on_y));
  trt_tensor_release(again);
  assert_true(trt_tensor_owns_hook(y, on_y));
  trt_tensor_release(y);
  assert_int_equal(h.destroyed, 1);
  ok(trt_tensor_add_hook(x, look, &h, look_destroy, &on_leaf));
  assert_true(trt_tensor_owns_hook(x, on_leaf));
  y = doubled(x); /* whose node has the leaf */
  assert_false(trt_tensor_owns_hook(x, on_leaf));
  trt_tensor_release(y);
  assert_true(trt_tensor_owns_hook(x, on_leaf));
  trt_tensor_release(x);
  assert_int_equal(h.destroyed, 2);
}

static void test_requires_grad_again(void** state) {
  (void)state;
  trt_tensor *x = vec(true), *y = doubled(x);
  ok(trt_tensor_set_requires_grad(y, true));
  assert_false(trt_tensor_is_leaf(y));
  fails(trt_tensor_set_requires_grad(y, false), TRT_FAILED_PRECONDITION, "leaf");
  trt_tensor_release(x);
  trt_tensor_release(y);
}

static void test_detach_in_place(void** state) {
  (void)state;
  trt_tensor *x = vec(true), *y = doubled(x), *view = first_two(y), *after, *s;
  ok(trt_tensor_retain_grad(y));
  trt_tensor* old = sum(y);
  fails(trt_tensor_detach_(view), TRT_FAILED_PRECONDITION, "view");
  const uint32_t version = trt_tensor_version(y);
  ok(trt_tensor_detach_(y));
  assert_true(trt_tensor_is_leaf(y) && !trt_tensor_requires_grad(y) && trt_tensor_version(y) == version);
  assert_true(trt_tensor_requires_grad(view));
  ok(trt_tensor_backward(old)); /* what was computed from it before is untouched */
  assert_null(grad_of(y));
  ok(trt_tensor_set_requires_grad(y, true));
  after = doubled(y);
  s = sum(after);
  ok(trt_tensor_backward(s));
  trt_tensor *g = grad_of(y), *gx = grad_of(x);
  equals(g, 2, 2, 2);
  equals(gx, 2, 2, 2);
  trt_tensor* plain = vec(false);
  ok(trt_tensor_detach_(plain));
  ok(trt_tensor_detach_(x));
  assert_false(trt_tensor_requires_grad(x));
  fails(trt_tensor_detach_(NULL), TRT_INVALID_ARGUMENT, "tensor");
  trt_tensor* list[] = {x, y, view, after, s, old, g, gx, plain};
  for (size_t i = 0; i < 9; ++i) trt_tensor_release(list[i]);
}

/* Modules and tensors that require gradients can be made in inference mode; nothing is recorded there, and nothing saved outside. */
static void test_gradients_in_inference_mode(void** state) {
  (void)state;
  trt_set_inference_mode(true);
  trt_tensor *t = vec(true), *y, *out, *weight, *in;
  trt_module *linear, *norm;
  trt_linear_options o;
  trt_linear_options_init(&o);
  o.dtype = TRT_FLOAT64;
  ok(trt_linear_create(3, 2, &o, &linear));
  ok(trt_batch_norm1d_create(3, NULL, &norm));
  assert_true(trt_tensor_requires_grad(t) && trt_tensor_is_leaf(t));
  y = doubled(t);
  assert_false(trt_tensor_requires_grad(y));
  ok(trt_add_(t, y, trt_scalar_int(1)));
  ok(trt_module_parameter(linear, "weight", &weight));
  assert_true(trt_tensor_requires_grad(weight));
  ok(trt_module_forward(linear, y, &out));
  assert_false(trt_tensor_requires_grad(out));
  trt_set_inference_mode(false);
  trt_tensor_release(out);
  in = vec(true);
  fails(trt_module_forward(linear, in, &out), TRT_FAILED_PRECONDITION, "inference mode");
  trt_set_grad_mode(false);
  ok(trt_module_forward(linear, in, &out));
  trt_set_grad_mode(true);
  ok(trt_tensor_set_requires_grad(t, false));
  fails(trt_tensor_set_requires_grad(t, true), TRT_FAILED_PRECONDITION, "inference mode");
  fails(trt_mul_scalar_(weight, trt_scalar_int(2)), TRT_FAILED_PRECONDITION, "inference mode");
  trt_tensor* list[] = {t, y, out, weight, in};
  for (size_t i = 0; i < 5; ++i) trt_tensor_release(list[i]);
  trt_module_release(linear);
  trt_module_release(norm);
}

/* set_data is a change of the tensor, not of the data: graphs that saved the data run, those that saved the tensor do not. */
static void test_set_data_versions(void** state) {
  (void)state;
  trt_tensor *x = vec(true), *data = vec(false), *w = vec(true), *of_x, *of_data;
  trt_set_grad_mode(false);
  for (int i = 0; i < 3; ++i) ok(trt_mul_scalar_(x, trt_scalar_int(2)));
  trt_set_grad_mode(true);
  ok(trt_mul(x, x, &of_x));
  ok(trt_mul(w, data, &of_data));
  const uint32_t before = trt_tensor_version(x), of_given = trt_tensor_version(data);
  ok(trt_tensor_set_data(x, data));
  assert_int_equal(trt_tensor_version(data), of_given);
  assert_true(trt_tensor_version(x) > before);
  trt_tensor *s = sum(of_data), *t = sum(of_x);
  ok(trt_tensor_backward(s));
  trt_tensor* g = grad_of(w);
  equals(g, 1, 2, 3);
  fails(trt_tensor_backward(t), TRT_FAILED_PRECONDITION, "changed");
  /* Each change through either counts for both. */
  const uint32_t now = trt_tensor_version(x);
  ok(trt_mul_scalar_(data, trt_scalar_int(2)));
  assert_int_equal(trt_tensor_version(x), now + 1);
  equals(x, 2, 4, 6);
  /* A view of the old memory has no part in the new one. */
  trt_tensor *y = doubled(w), *view = first_two(y), *three = vec(false);
  ok(trt_tensor_set_data(y, three));
  fails(trt_mul_scalar_(view, trt_scalar_int(2)), TRT_FAILED_PRECONDITION, "other data");
  trt_tensor* list[] = {x, data, w, of_x, of_data, s, t, g, y, view, three};
  for (size_t i = 0; i < 11; ++i) trt_tensor_release(list[i]);
}

/* Gradients of gradients, made from the far end: cheap to make, and no recursion when they go. */
static void test_long_chain_of_gradients(void** state) {
  (void)state;
  const int64_t before = allocations();
  trt_tensor* head = vec(false);
  for (int i = 0; i < 300000; ++i) {
    trt_tensor* t = vec(false);
    ok(trt_tensor_set_grad(t, head));
    trt_tensor_release(head);
    head = t;
  }
  trt_tensor* g = grad_of(head);
  fails(trt_tensor_set_grad(g, head), TRT_INVALID_ARGUMENT, "keeps it alive");
  trt_tensor_release(g);
  trt_tensor_release(head);
  assert_int_equal(allocations(), before);
}

static trt_status* no_change(const trt_tensor* grad, trt_tensor** out, void* user_data) {
  (void)grad;
  (void)out;
  (void)user_data;
  return NULL;
}
static void release_tensor(void* user_data) { trt_tensor_release(user_data); }

/* Hooks that own tensors with hooks that own ...: no recursion either. */
static void test_long_chain_of_hooks(void** state) {
  (void)state;
  const int64_t before = allocations();
  trt_tensor* head = vec(true);
  for (int i = 0; i < 200000; ++i) {
    trt_tensor* t = vec(true);
    uint64_t id;
    ok(trt_tensor_add_hook(t, no_change, head, release_tensor, &id));
    head = t;
  }
  trt_tensor_release(head);
  assert_int_equal(allocations(), before);
  /* The same with memory of the host. */
  static double memory[3];
  head = vec(false);
  for (int i = 0; i < 200000; ++i) {
    trt_tensor* t;
    ok(trt_tensor_from_blob(memory, &kThree, NULL, 1, TRT_FLOAT64, (trt_device){TRT_CPU, 0}, release_tensor, head, &t));
    head = t;
  }
  trt_tensor_release(head);
  assert_int_equal(allocations(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inference_tensors_stay),
      cmocka_unit_test(test_inference_tensors_in_other_places),
      cmocka_unit_test(test_views_made_in_inference_mode),
      cmocka_unit_test(test_inference_tensors_are_not_saved),
      cmocka_unit_test(test_conversion_with_a_graph),
      cmocka_unit_test(test_resized_parameter),
      cmocka_unit_test(test_resized_saved_tensor),
      cmocka_unit_test(test_cyclic_gradients),
      cmocka_unit_test(test_frozen_after_forward),
      cmocka_unit_test(test_hooks_keep_the_form),
      cmocka_unit_test(test_integer_targets),
      cmocka_unit_test(test_retained_gradients_follow),
      cmocka_unit_test(test_hooks_stay_with_their_value),
      cmocka_unit_test(test_owned_hooks),
      cmocka_unit_test(test_requires_grad_again),
      cmocka_unit_test(test_detach_in_place),
      cmocka_unit_test(test_gradients_in_inference_mode),
      cmocka_unit_test(test_set_data_versions),
      cmocka_unit_test(test_long_chain_of_gradients),
      cmocka_unit_test(test_long_chain_of_hooks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
