/* Views: which operators share storage, sizes, strides and offsets as PyTorch's documentation and behaviour have them, and what is refused. */
#include <stdlib.h>

#include "expect.h"
#include "tensorrt/ops.h"
#include "tensorrt/tensor.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define L(...) (const int64_t[]){__VA_ARGS__}, N(((const int64_t[]){__VA_ARGS__}))

/* 0, 1, 2, ... as int64 in the given shape. */
static trt_tensor* iota(const int64_t* sizes, size_t n) {
  trt_tensor *flat, *t;
  int64_t numel = 1;
  for (size_t i = 0; i < n; ++i) numel *= sizes[i];
  ok(trt_arange(trt_scalar_int(0), trt_scalar_int(numel), trt_scalar_int(1), TRT_INT64, NULL, &flat));
  ok(trt_reshape(flat, sizes, n, &t));
  trt_tensor_release(flat);
  return t;
}

static void list_equals(const char* what, const int64_t* got, const int64_t* want, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (got[i] != want[i]) {
      print_error("%s[%zu] is %lld instead of %lld\n", what, i, (long long)got[i], (long long)want[i]);
      fail();
    }
}

/* Expects sizes, strides, offset and, element by element, that the view reads base's memory where these say. Releases the view. */
static void view_is(trt_tensor* v, const trt_tensor* base, int64_t offset, const int64_t* sizes, const int64_t* strides, size_t n) {
  assert_int_equal(trt_tensor_ndim(v), n);
  list_equals("size", trt_tensor_sizes(v), sizes, n);
  list_equals("stride", trt_tensor_strides(v), strides, n);
  assert_int_equal(trt_tensor_storage_offset(v), offset);
  assert_true(trt_tensor_shares_storage(v, base));
  int64_t numel = 1, step = 1;
  bool contiguous = true;
  for (size_t i = n; i-- > 0;) {
    numel *= sizes[i];
    contiguous = contiguous && (sizes[i] == 1 || strides[i] == step);
    step *= sizes[i];
  }
  assert_int_equal(trt_tensor_numel(v), numel);
  assert_int_equal(trt_tensor_is_contiguous(v), contiguous || numel == 0);
  const int64_t* memory = (const int64_t*)trt_tensor_data(base) - trt_tensor_storage_offset(base);
  int64_t* elements = malloc((size_t)(numel ? numel : 1) * sizeof *elements);
  ok(trt_tensor_copy_to_host(v, elements, TRT_INT64, numel));
  for (int64_t i = 0; i < numel; ++i) {
    int64_t rest = i, at = offset;
    for (size_t d = n; d-- > 0; rest /= sizes[d]) at += rest % sizes[d] * strides[d];
    assert_int_equal(elements[i], memory[at]);
  }
  free(elements);
  trt_tensor_release(v);
}
#define S(...) (const int64_t[]){__VA_ARGS__}
#define VIEW_IS(v, base, offset, sizes, strides) view_is(v, base, offset, sizes, strides, sizeof(sizes) / sizeof(int64_t))

static trt_tensor* list_get(const trt_tensor_list* list, size_t i) {
  trt_tensor* t;
  ok(trt_tensor_list_get(list, i, &t));
  return t;
}

static void test_view_and_reshape(void** state) {
  (void)state;
  trt_tensor *x = iota(L(2, 3, 4)), *v, *t, *same = NULL;
  ok(trt_view(x, L(6, 4), &v));
  VIEW_IS(v, x, 0, S(6, 4), S(4, 1));
  ok(trt_view(x, L(-1), &v));
  VIEW_IS(v, x, 0, S(24), S(1));
  ok(trt_view(x, L(2, -1, 2), &v));
  VIEW_IS(v, x, 0, S(2, 6, 2), S(12, 2, 1));
  ok(trt_view(x, L(1, 24, 1, 1), &v));
  VIEW_IS(v, x, 0, S(1, 24, 1, 1), S(24, 1, 1, 1));
  fails(trt_view(x, L(5, 5), &same), TRT_INVALID_ARGUMENT, "[5, 5]");
  fails(trt_view(x, L(-1, -1), &same), TRT_INVALID_ARGUMENT, "view");
  fails(trt_view(x, L(7, -1), &same), TRT_INVALID_ARGUMENT, "[7, -1]");
  fails(trt_view(x, L(-2, 12), &same), TRT_INVALID_ARGUMENT, "-2");
  fails(trt_view(x, L(-1, 0), &same), TRT_INVALID_ARGUMENT, "view");
  /* Dimensions that lie together in memory merge; others do not. */
  ok(trt_transpose(x, 0, 1, &t)); /* sizes 3 2 4, strides 4 12 1 */
  fails(trt_view(t, L(6, 4), &same), TRT_INVALID_ARGUMENT, "[4, 12, 1]");
  fails(trt_view(t, L(3, 8), &same), TRT_INVALID_ARGUMENT, "reshape");
  ok(trt_view(t, L(3, 2, 2, 2), &v));
  VIEW_IS(v, x, 0, S(3, 2, 2, 2), S(4, 12, 2, 1));
  ok(trt_view(t, L(3, 1, 2, 1, 4), &v));
  VIEW_IS(v, x, 0, S(3, 1, 2, 1, 4), S(4, 24, 12, 4, 1));
  ok(trt_reshape(t, L(6, 4), &v));
  assert_false(trt_tensor_shares_storage(v, x));
  assert_int_equal(trt_tensor_strides(v)[0], 4);
  int64_t second_row;
  trt_tensor* row;
  ok(trt_select(v, 0, 1, &row));
  ok(trt_select(row, 0, 0, &same));
  ok(trt_tensor_item_int(same, &second_row));
  assert_int_equal(second_row, 12);
  trt_tensor_release(row);
  trt_tensor_release(same);
  trt_tensor_release(v);
  trt_tensor_release(t);
  ok(trt_reshape(x, L(4, 6), &v));
  VIEW_IS(v, x, 0, S(4, 6), S(6, 1));
  /* An expanded dimension merges with nothing but itself. */
  trt_tensor *e, *narrow = iota(L(3, 1));
  ok(trt_expand(narrow, L(3, 4), &e));
  fails(trt_view(e, L(12), &same), TRT_INVALID_ARGUMENT, "view");
  ok(trt_view(e, L(3, 2, 2), &v));
  VIEW_IS(v, narrow, 0, S(3, 2, 2), S(1, 0, 0));
  trt_tensor_release(e);
  trt_tensor_release(narrow);
  trt_tensor_release(x);
}

static void test_empty_and_scalars(void** state) {
  (void)state;
  trt_tensor *none, *v, *bad = NULL;
  ok(trt_zeros(L(0, 3), TRT_INT64, NULL, &none));
  ok(trt_view(none, L(3, 0, 5), &v));
  VIEW_IS(v, none, 0, S(3, 0, 5), S(5, 5, 1));
  ok(trt_view(none, L(-1, 3), &v));
  VIEW_IS(v, none, 0, S(0, 3), S(3, 1));
  fails(trt_view(none, L(-1, 0), &bad), TRT_INVALID_ARGUMENT, "ambiguous");
  fails(trt_view(none, L(1), &bad), TRT_INVALID_ARGUMENT, "[1]");
  ok(trt_transpose(none, 0, 1, &v));
  VIEW_IS(v, none, 0, S(3, 0), S(1, 3));
  ok(trt_slice(none, 0, NULL, NULL, 1, &v));
  VIEW_IS(v, none, 0, S(0, 3), S(3, 1));
  ok(trt_expand(none, L(2, 0, 3), &v));
  VIEW_IS(v, none, 0, S(2, 0, 3), S(0, 3, 1));
  fails(trt_expand(none, L(4, 3), &bad), TRT_INVALID_ARGUMENT, "expand");
  trt_tensor_release(none);

  trt_tensor* s;
  ok(trt_tensor_from_scalar(trt_scalar_int(7), TRT_INT64, &s));
  ok(trt_view(s, NULL, 0, &v));
  view_is(v, s, 0, NULL, NULL, 0);
  ok(trt_view(s, L(1, 1), &v));
  VIEW_IS(v, s, 0, S(1, 1), S(1, 1));
  ok(trt_expand(s, L(2, 3), &v));
  VIEW_IS(v, s, 0, S(2, 3), S(0, 0));
  ok(trt_unsqueeze(s, -1, &v));
  VIEW_IS(v, s, 0, S(1), S(1));
  ok(trt_transpose(s, 0, -1, &v));
  view_is(v, s, 0, NULL, NULL, 0);
  ok(trt_permute(s, NULL, 0, &v));
  view_is(v, s, 0, NULL, NULL, 0);
  ok(trt_squeeze(s, &v));
  view_is(v, s, 0, NULL, NULL, 0);
  ok(trt_squeeze_dim(s, 0, &v));
  view_is(v, s, 0, NULL, NULL, 0);
  ok(trt_flatten(s, 0, -1, &v));
  VIEW_IS(v, s, 0, S(1), S(1));
  ok(trt_unfold(s, 0, 1, 1, &v));
  VIEW_IS(v, s, 0, S(1), S(1));
  fails(trt_select(s, 0, 0, &bad), TRT_INVALID_ARGUMENT, "select");
  fails(trt_slice(s, 0, NULL, NULL, 1, &bad), TRT_INVALID_ARGUMENT, "slice");
  fails(trt_transpose(s, 0, 1, &bad), TRT_OUT_OF_RANGE, "transpose");
  trt_tensor_list* list = NULL;
  fails(trt_unbind(s, 0, &list), TRT_INVALID_ARGUMENT, "unbind");
  fails(trt_split(s, 1, 0, &list), TRT_INVALID_ARGUMENT, "split");
  fails(trt_chunk(s, 1, 0, &list), TRT_INVALID_ARGUMENT, "chunk");
  assert_null(list);
  assert_null(bad);
  trt_tensor_release(s);
}

static void test_order_of_dimensions(void** state) {
  (void)state;
  trt_tensor *x = iota(L(2, 3, 4)), *v, *w, *bad = NULL;
  ok(trt_transpose(x, -1, 0, &v));
  VIEW_IS(v, x, 0, S(4, 3, 2), S(1, 4, 12));
  ok(trt_permute(x, L(2, 0, -2), &v));
  VIEW_IS(v, x, 0, S(4, 2, 3), S(1, 12, 4));
  ok(trt_mT(x, &v));
  VIEW_IS(v, x, 0, S(2, 4, 3), S(12, 1, 4));
  ok(trt_movedim_int(x, 0, -1, &v));
  VIEW_IS(v, x, 0, S(3, 4, 2), S(4, 1, 12));
  ok(trt_movedim_intlist(x, L(0, 1), L(2, 0), &v));
  VIEW_IS(v, x, 0, S(3, 4, 2), S(4, 1, 12));
  ok(trt_swapaxes(x, 1, 2, &v));
  VIEW_IS(v, x, 0, S(2, 4, 3), S(12, 1, 4));
  fails(trt_t(x, &bad), TRT_INVALID_ARGUMENT, "t");
  fails(trt_permute(x, L(0, 1), &bad), TRT_INVALID_ARGUMENT, "permute");
  fails(trt_permute(x, L(0, 1, 1), &bad), TRT_INVALID_ARGUMENT, "twice");
  fails(trt_permute(x, L(0, 1, 3), &bad), TRT_OUT_OF_RANGE, "permute");
  fails(trt_transpose(x, 0, 3, &bad), TRT_OUT_OF_RANGE, "transpose");
  fails(trt_transpose(x, -4, 0, &bad), TRT_OUT_OF_RANGE, "transpose");
  trt_tensor* m = iota(L(2, 3));
  ok(trt_t(m, &v));
  ok(trt_t(v, &w));
  VIEW_IS(v, m, 0, S(3, 2), S(1, 3));
  VIEW_IS(w, m, 0, S(2, 3), S(3, 1));
  trt_tensor_release(m);
  trt_tensor_release(x);
}

static void test_sizes_of_one(void** state) {
  (void)state;
  trt_tensor *x = iota(L(1, 3, 1, 2)), *v, *bad = NULL;
  ok(trt_squeeze(x, &v));
  VIEW_IS(v, x, 0, S(3, 2), S(2, 1));
  ok(trt_squeeze_dim(x, 2, &v));
  VIEW_IS(v, x, 0, S(1, 3, 2), S(6, 2, 1));
  ok(trt_squeeze_dim(x, 1, &v));
  VIEW_IS(v, x, 0, S(1, 3, 1, 2), S(6, 2, 2, 1));
  fails(trt_squeeze_dim(x, 4, &bad), TRT_OUT_OF_RANGE, "squeeze");
  ok(trt_unsqueeze(x, 4, &v));
  VIEW_IS(v, x, 0, S(1, 3, 1, 2, 1), S(6, 2, 2, 1, 1));
  ok(trt_unsqueeze(x, -5, &v));
  VIEW_IS(v, x, 0, S(1, 1, 3, 1, 2), S(6, 6, 2, 2, 1));
  ok(trt_unsqueeze(x, 1, &v));
  VIEW_IS(v, x, 0, S(1, 1, 3, 1, 2), S(6, 6, 2, 2, 1));
  fails(trt_unsqueeze(x, 5, &bad), TRT_OUT_OF_RANGE, "unsqueeze");
  ok(trt_expand(x, L(4, 3, -1, 2), &v));
  VIEW_IS(v, x, 0, S(4, 3, 1, 2), S(0, 2, 2, 1));
  ok(trt_expand(x, L(5, -1, 3, 7, 2), &v));
  VIEW_IS(v, x, 0, S(5, 1, 3, 7, 2), S(0, 6, 2, 0, 1));
  ok(trt_expand(x, L(1, 1, 3, 1, 2), &v)); /* a new dimension of size 1 continues the strides */
  VIEW_IS(v, x, 0, S(1, 1, 3, 1, 2), S(6, 6, 2, 2, 1));
  ok(trt_broadcast_to(x, L(2, 3, 4, 2), &v));
  VIEW_IS(v, x, 0, S(2, 3, 4, 2), S(0, 2, 0, 1));
  fails(trt_expand(x, L(1, 4, 1, 2), &bad), TRT_INVALID_ARGUMENT, "[1, 3, 1, 2]");
  fails(trt_expand(x, L(3, 2), &bad), TRT_INVALID_ARGUMENT, "expand");
  fails(trt_expand(x, L(-1, 1, 3, 1, 2), &bad), TRT_INVALID_ARGUMENT, "expand");
  trt_tensor_release(x);
}

static void test_parts(void** state) {
  (void)state;
  trt_tensor *x = iota(L(4, 5)), *v, *w, *bad = NULL;
  const int64_t one = 1, three = 3, minus_two = -2, far = 100, minus_far = -100, huge = INT64_MAX, five = 5;
  ok(trt_slice(x, 1, &one, &five, 2, &v));
  VIEW_IS(v, x, 1, S(4, 2), S(5, 2));
  ok(trt_slice(x, 0, &minus_two, NULL, 1, &v));
  VIEW_IS(v, x, 10, S(2, 5), S(5, 1));
  ok(trt_slice(x, -1, &minus_far, &far, 3, &v));
  VIEW_IS(v, x, 0, S(4, 2), S(5, 3));
  ok(trt_slice(x, 0, &one, &huge, 1, &v));
  VIEW_IS(v, x, 5, S(3, 5), S(5, 1));
  ok(trt_slice(x, 1, &one, &three, 7, &v)); /* one position: the stride is still the step's */
  VIEW_IS(v, x, 1, S(4, 1), S(5, 7));
  ok(trt_slice(x, 1, NULL, NULL, INT64_MAX, &v));
  assert_int_equal(trt_tensor_sizes(v)[1], 1);
  trt_tensor_release(v);
  ok(trt_slice(x, 0, &three, &one, 1, &v));
  assert_int_equal(trt_tensor_numel(v), 0);
  assert_int_equal(trt_tensor_sizes(v)[0], 0);
  trt_tensor_release(v);
  fails(trt_slice(x, 0, NULL, NULL, 0, &bad), TRT_INVALID_ARGUMENT, "step");
  fails(trt_slice(x, 0, NULL, NULL, -1, &bad), TRT_INVALID_ARGUMENT, "step");
  fails(trt_slice(x, 2, NULL, NULL, 1, &bad), TRT_OUT_OF_RANGE, "slice");
  ok(trt_select(x, 1, -1, &v));
  ok(trt_select(v, 0, 2, &w));
  view_is(w, x, 14, NULL, NULL, 0);
  VIEW_IS(v, x, 4, S(4), S(5));
  fails(trt_select(x, 1, 5, &bad), TRT_OUT_OF_RANGE, "select");
  fails(trt_select(x, 1, -6, &bad), TRT_OUT_OF_RANGE, "select");
  ok(trt_narrow(x, 0, 1, 2, &v));
  VIEW_IS(v, x, 5, S(2, 5), S(5, 1));
  ok(trt_narrow(x, 1, -2, 2, &v));
  VIEW_IS(v, x, 3, S(4, 2), S(5, 1));
  ok(trt_narrow(x, 1, 5, 0, &v));
  assert_int_equal(trt_tensor_numel(v), 0);
  trt_tensor_release(v);
  fails(trt_narrow(x, 1, 4, 2, &bad), TRT_OUT_OF_RANGE, "narrow");
  fails(trt_narrow(x, 1, 0, -1, &bad), TRT_INVALID_ARGUMENT, "narrow");
  ok(trt_diagonal(x, 1, 0, 1, &v));
  VIEW_IS(v, x, 1, S(4), S(6));
  ok(trt_diagonal(x, -2, 1, 0, &v)); /* the diagonal of the transpose */
  VIEW_IS(v, x, 2, S(3), S(6));
  ok(trt_diagonal(x, 9, 0, 1, &v));
  assert_int_equal(trt_tensor_numel(v), 0);
  trt_tensor_release(v);
  fails(trt_diagonal(x, 0, 1, -1, &bad), TRT_INVALID_ARGUMENT, "differ");
  ok(trt_unfold(x, 1, 3, 2, &v));
  VIEW_IS(v, x, 0, S(4, 2, 3), S(5, 2, 1));
  ok(trt_unfold(x, 0, 2, 1, &v));
  VIEW_IS(v, x, 0, S(3, 5, 2), S(5, 1, 5));
  ok(trt_unfold(x, 0, 4, 3, &v)); /* one window */
  VIEW_IS(v, x, 0, S(1, 5, 4), S(15, 1, 5));
  fails(trt_unfold(x, 0, 5, 1, &bad), TRT_INVALID_ARGUMENT, "unfold");
  fails(trt_unfold(x, 0, 2, 0, &bad), TRT_INVALID_ARGUMENT, "step");
  ok(trt_as_strided(x, L(3, 2), L(1, 7), &three, &v));
  VIEW_IS(v, x, 3, S(3, 2), S(1, 7));
  fails(trt_as_strided(x, L(3, 6), L(1, 4), NULL, &bad), TRT_OUT_OF_RANGE, "as_strided");
  fails(trt_as_strided(x, L(2), L(-1), &three, &bad), TRT_INVALID_ARGUMENT, "as_strided");
  fails(trt_as_strided(x, L(2), L(1), &minus_two, &bad), TRT_INVALID_ARGUMENT, "as_strided");
  ok(trt_flatten(x, 0, -1, &v));
  VIEW_IS(v, x, 0, S(20), S(1));
  ok(trt_unflatten(x, 0, L(2, -1), &v));
  VIEW_IS(v, x, 0, S(2, 2, 5), S(10, 5, 1));
  fails(trt_unflatten(x, 1, L(2, 2), &bad), TRT_INVALID_ARGUMENT, "unflatten");
  ok(trt_ravel(x, &v));
  VIEW_IS(v, x, 0, S(20), S(1));
  /* flatten copies only where it must. */
  ok(trt_transpose(x, 0, 1, &w));
  ok(trt_flatten(w, 0, 1, &v));
  assert_false(trt_tensor_shares_storage(v, x));
  trt_tensor_release(v);
  trt_tensor_release(w);
  trt_tensor_release(x);
  assert_null(bad);
}

static void test_lists(void** state) {
  (void)state;
  trt_tensor* x = iota(L(2, 5));
  trt_tensor_list* list;
  ok(trt_split(x, 2, 1, &list));
  assert_int_equal(trt_tensor_list_size(list), 3);
  VIEW_IS(list_get(list, 1), x, 2, S(2, 2), S(5, 1));
  VIEW_IS(list_get(list, 2), x, 4, S(2, 1), S(5, 1));
  trt_tensor* beyond = NULL;
  fails(trt_tensor_list_get(list, 3, &beyond), TRT_OUT_OF_RANGE, "3");
  trt_tensor_list_release(list);
  ok(trt_split_sizes(x, L(1, 0, 4), -1, &list));
  VIEW_IS(list_get(list, 2), x, 1, S(2, 4), S(5, 1));
  trt_tensor_list_release(list);
  ok(trt_chunk(x, 4, 1, &list)); /* ceil(5 / 4) = 2 each: three chunks */
  assert_int_equal(trt_tensor_list_size(list), 3);
  VIEW_IS(list_get(list, 2), x, 4, S(2, 1), S(5, 1));
  trt_tensor_list_release(list);
  ok(trt_tensor_split_sections(x, 4, 1, &list)); /* 2 1 1 1 */
  assert_int_equal(trt_tensor_list_size(list), 4);
  VIEW_IS(list_get(list, 0), x, 0, S(2, 2), S(5, 1));
  VIEW_IS(list_get(list, 3), x, 4, S(2, 1), S(5, 1));
  trt_tensor_list_release(list);
  ok(trt_tensor_split_indices(x, L(1, -1), 1, &list));
  VIEW_IS(list_get(list, 1), x, 1, S(2, 3), S(5, 1));
  trt_tensor_list_release(list);
  ok(trt_unbind(x, 1, &list));
  assert_int_equal(trt_tensor_list_size(list), 5);
  trt_tensor* column = list_get(list, 3);
  trt_tensor_list_release(list);
  VIEW_IS(column, x, 3, S(2), S(5));
  list = NULL;
  fails(trt_split(x, 0, 0, &list), TRT_INVALID_ARGUMENT, "split");
  fails(trt_split(x, -1, 0, &list), TRT_INVALID_ARGUMENT, "split");
  fails(trt_split_sizes(x, L(1, 3), 1, &list), TRT_INVALID_ARGUMENT, "split");
  fails(trt_chunk(x, 0, 0, &list), TRT_INVALID_ARGUMENT, "chunk");
  assert_null(list);
  trt_tensor_release(x);
}

static int64_t first_of(const trt_tensor* t) { return *(const int64_t*)trt_tensor_data(t); }

static void test_writing_through_views(void** state) {
  (void)state;
  trt_tensor *x = iota(L(3, 4)), *v, *column, *e;
  const uint32_t version = trt_tensor_version(x);
  ok(trt_select(x, 0, 1, &v));
  ok(trt_fill_(v, trt_scalar_int(-1)));
  assert_int_equal(trt_tensor_version(x), version + 1);
  assert_int_equal(trt_tensor_version(v), version + 1);
  for (int64_t i = 0; i < 12; ++i) assert_int_equal(((const int64_t*)trt_tensor_data(x))[i], i / 4 == 1 ? -1 : i);
  trt_tensor_release(v);
  /* Overlapping copies read everything before they write: rows shifted down, and a transposition in place. */
  trt_tensor *upper, *lower, *square = iota(L(5, 5)), *t;
  ok(trt_narrow(x, 0, 0, 2, &upper));
  ok(trt_narrow(x, 0, 1, 2, &lower));
  ok(trt_copy_(lower, upper));
  for (int64_t i = 4; i < 12; ++i) assert_int_equal(((const int64_t*)trt_tensor_data(x))[i], i < 8 ? i - 4 : -1);
  ok(trt_t(square, &t));
  ok(trt_copy_(square, t));
  for (int64_t i = 0; i < 25; ++i) assert_int_equal(((const int64_t*)trt_tensor_data(square))[i], i % 5 * 5 + i / 5);
  /* Operators that compute would have to read what they wrote; and an expanded tensor has one place for many elements. */
  fails(trt_add_(lower, upper, trt_scalar_int(1)), TRT_INVALID_ARGUMENT, "share");
  fails(trt_add_(square, t, trt_scalar_int(1)), TRT_INVALID_ARGUMENT, "share");
  ok(trt_add_(upper, upper, trt_scalar_int(1)));
  ok(trt_narrow(x, 1, 0, 1, &column));
  ok(trt_expand(column, L(3, 4), &e));
  fails(trt_copy_(e, x), TRT_INVALID_ARGUMENT, "expanded");
  fails(trt_add_scalar_(e, trt_scalar_int(1), trt_scalar_int(1)), TRT_INVALID_ARGUMENT, "expanded");
  fails(trt_fill_(e, trt_scalar_int(3)), TRT_INVALID_ARGUMENT, "expanded");
  /* Dense tensors in another order of memory overlap as surely as contiguous ones. */
  trt_tensor *cube = iota(L(3, 3, 3)), *p, *q;
  ok(trt_permute(cube, L(1, 0, 2), &p));
  ok(trt_permute(cube, L(2, 1, 0), &q));
  fails(trt_add_(p, q, trt_scalar_int(1)), TRT_INVALID_ARGUMENT, "share");
  /* So do an output of cat and what goes into it. */
  trt_tensor *line = iota(L(4)), *head, *tail;
  ok(trt_narrow(line, 0, 0, 2, &head));
  ok(trt_narrow(line, 0, 2, 2, &tail));
  fails(trt_cat_out((const trt_tensor*[]){tail, head}, 2, 0, line), TRT_INVALID_ARGUMENT, "share memory");
  trt_tensor_release(line);
  trt_tensor_release(head);
  trt_tensor_release(tail);
  trt_tensor* all[] = {x, upper, lower, square, t, column, e, cube, p, q};
  for (size_t i = 0; i < N(all); ++i) trt_tensor_release(all[i]);
}

/* A view is a tensor of its own, also where it looks the same. */
static void test_views_that_change_nothing(void** state) {
  (void)state;
  trt_tensor *vector = iota(L(3)), *number, *v;
  ok(trt_tensor_from_scalar(trt_scalar_double(1), TRT_FLOAT32, &number));
  ok(trt_t(vector, &v));
  assert_ptr_not_equal(v, vector);
  assert_true(trt_tensor_shares_storage(v, vector));
  trt_tensor_release(v);
  ok(trt_t(number, &v));
  assert_ptr_not_equal(v, number);
  trt_tensor_release(v);
  ok(trt_movedim_int(number, 0, -1, &v));
  assert_ptr_not_equal(v, number);
  trt_tensor_release(v);
  trt_tensor_release(number);
  trt_tensor_release(vector);
}

static void test_copies(void** state) {
  (void)state;
  trt_tensor *x = iota(L(3, 4)), *t, *c, *same;
  ok(trt_contiguous(x, &c));
  assert_true(trt_tensor_shares_storage(c, x));
  trt_tensor_release(c);
  ok(trt_transpose(x, 0, 1, &t));
  ok(trt_contiguous(t, &c));
  assert_false(trt_tensor_shares_storage(c, x));
  assert_true(trt_tensor_is_contiguous(c));
  assert_int_equal(((const int64_t*)trt_tensor_data(c))[1], 4);
  trt_tensor_release(c);
  /* clone and to keep the order in memory of a dense tensor; gaps go. */
  ok(trt_clone(t, &c));
  assert_false(trt_tensor_shares_storage(c, x));
  VIEW_IS(c, c, 0, S(4, 3), S(1, 4));
  ok(trt_to(t, TRT_FLOAT32, &c));
  assert_int_equal(trt_tensor_strides(c)[0], 1);
  assert_int_equal(trt_tensor_strides(c)[1], 4);
  assert_int_equal(trt_tensor_dtype(c), TRT_FLOAT32);
  trt_tensor_release(c);
  ok(trt_to(x, TRT_INT64, &same));
  assert_true(trt_tensor_shares_storage(same, x));
  trt_tensor_release(same);
  trt_tensor *gaps, *expanded, *one;
  ok(trt_slice(x, 1, NULL, NULL, 2, &gaps));
  ok(trt_clone(gaps, &c));
  VIEW_IS(c, c, 0, S(3, 2), S(2, 1));
  ok(trt_narrow(x, 1, 1, 1, &one));
  ok(trt_expand(one, L(3, 5), &expanded));
  ok(trt_clone(expanded, &c));
  assert_int_equal(first_of(c), 1);
  VIEW_IS(c, c, 0, S(3, 5), S(5, 1));
  trt_tensor* all[] = {x, t, gaps, expanded, one};
  for (size_t i = 0; i < N(all); ++i) trt_tensor_release(all[i]);
}

static void count_call(void* count) { ++*(int*)count; }

static void test_memory_of_the_host(void** state) {
  (void)state;
  const trt_device cpu = {TRT_CPU, 0};
  int64_t memory[12];
  for (int i = 0; i < 12; ++i) memory[i] = i;
  int calls = 0;
  trt_tensor *x, *v, *bad = NULL;
  ok(trt_tensor_from_blob(memory, S(2, 3), S(1, 4), 2, TRT_INT64, cpu, count_call, &calls, &x));
  assert_ptr_equal(trt_tensor_data(x), memory);
  assert_false(trt_tensor_is_contiguous(x));
  ok(trt_transpose(x, 0, 1, &v));
  trt_tensor_release(x);
  assert_int_equal(calls, 0); /* a view keeps it */
  int64_t elements[6];
  ok(trt_tensor_copy_to_host(v, elements, TRT_INT64, 6));
  assert_memory_equal(elements, S(0, 1, 4, 5, 8, 9), sizeof elements);
  ok(trt_fill_(v, trt_scalar_int(50)));
  assert_int_equal(memory[8], 50);
  assert_int_equal(memory[2], 2);
  trt_tensor_retain(v);
  trt_tensor_release(v);
  assert_int_equal(calls, 0);
  trt_tensor_release(v);
  assert_int_equal(calls, 1);
  /* Nothing is called when it fails. */
  fails(trt_tensor_from_blob(memory, S(2, 3), S(1, -4), 2, TRT_INT64, cpu, count_call, &calls, &bad), TRT_INVALID_ARGUMENT, "stride");
  fails(trt_tensor_from_blob(memory, S(2, -3), NULL, 2, TRT_INT64, cpu, count_call, &calls, &bad), TRT_INVALID_ARGUMENT, "size");
  fails(trt_tensor_from_blob(NULL, S(2, 3), NULL, 2, TRT_INT64, cpu, count_call, &calls, &bad), TRT_INVALID_ARGUMENT, "data");
  assert_int_equal(calls, 1);
  assert_null(bad);
  ok(trt_tensor_from_blob(NULL, S(0, 3), NULL, 2, TRT_INT64, cpu, count_call, &calls, &x));
  trt_tensor_release(x);
  assert_int_equal(calls, 2);
  ok(trt_tensor_from_blob(memory, NULL, NULL, 0, TRT_INT64, cpu, NULL, NULL, &x));
  assert_int_equal(first_of(x), 50);
  trt_tensor_release(x);
}

/* The memory of a bool tensor may hold any byte; what comes out of it is 0 or 1. */
static void test_bool_bytes(void** state) {
  (void)state;
  static unsigned char bytes[3] = {0, 1, 200};
  const int64_t n = 3;
  trt_tensor *t, *last;
  ok(trt_tensor_from_blob(bytes, &n, NULL, 1, TRT_BOOL, (trt_device){TRT_CPU, 0}, NULL, NULL, &t));
  unsigned char got[3];
  ok(trt_tensor_copy_to_host(t, got, TRT_BOOL, 3));
  assert_memory_equal(got, "\0\1\1", 3);
  ok(trt_select(t, 0, 2, &last));
  int64_t i;
  double d;
  trt_scalar s;
  ok(trt_tensor_item_int(last, &i));
  ok(trt_tensor_item_double(last, &d));
  ok(trt_tensor_item(last, &s));
  assert_true(i == 1 && d == 1 && s.kind == TRT_SCALAR_BOOL && s.value.i == 1);
  char* text;
  ok(trt_tensor_to_string(t, &text));
  assert_string_equal(text, "tensor([False,  True,  True])");
  trt_string_release(text);
  trt_tensor_release(last);
  trt_tensor_release(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_view_and_reshape),   cmocka_unit_test(test_empty_and_scalars),
      cmocka_unit_test(test_order_of_dimensions), cmocka_unit_test(test_sizes_of_one),
      cmocka_unit_test(test_parts),              cmocka_unit_test(test_lists),
      cmocka_unit_test(test_writing_through_views), cmocka_unit_test(test_views_that_change_nothing), cmocka_unit_test(test_copies),
      cmocka_unit_test(test_memory_of_the_host),
      cmocka_unit_test(test_bool_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
