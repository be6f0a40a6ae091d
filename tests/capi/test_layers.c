/*
 * Layers of three dimensions, padding, pooling, attention and transformers, and modules of several inputs. The expected sums are PyTorch's: parameters are
 * filled with (i % 7) / 10 - 0.25, inputs with (i % 11) / 5 - 0.9, in float64 and eval mode; the second sum weighs element i with i % 5 + 1.
 */
#include "tensorrt/tensorrt.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

static int64_t count_of(const int64_t* sizes, size_t ndim) {
  int64_t n = 1;
  for (size_t i = 0; i < ndim; ++i) n *= sizes[i];
  return n;
}

static trt_tensor* filled(const int64_t* sizes, size_t ndim, int period, double step, double first) {
  const int64_t n = count_of(sizes, ndim);
  double* data = malloc(sizeof *data * (size_t)(n + 1));
  trt_tensor* t;
  for (int64_t i = 0; i < n; ++i) data[i] = (double)(i % period) * step + first;
  ok(trt_tensor_from_data(data, sizes, ndim, TRT_FLOAT64, &t));
  free(data);
  return t;
}
/* An input of up to five sizes, which end at 0. */
static trt_tensor* ramp(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
  const int64_t sizes[] = {a, b, c, d, e};
  size_t ndim = 0;
  while (ndim < 5 && sizes[ndim]) ++ndim;
  return filled(sizes, ndim, 11, 0.2, -0.9);
}
static trt_tensor* indices(const int64_t* data, int64_t rows, int64_t columns) {
  trt_tensor* t;
  ok(trt_tensor_from_data(data, (int64_t[]){rows ? rows : columns, columns}, rows ? 2 : 1, TRT_INT64, &t));
  return t;
}
/* true where column - row >= diagonal. */
static trt_tensor* above(int64_t rows, int64_t columns, int64_t diagonal) {
  bool data[64];
  trt_tensor* t;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) data[i * columns + j] = j - i >= diagonal;
  ok(trt_tensor_from_data(data, (int64_t[]){rows, columns}, 2, TRT_BOOL, &t));
  return t;
}
/* [2, 4], the last key of the first sample being no key. */
static trt_tensor* padding_mask(void) {
  trt_tensor* t;
  ok(trt_tensor_from_data((bool[]){false, false, false, true, false, false, false, false}, (int64_t[]){2, 4}, 2, TRT_BOOL, &t));
  return t;
}

static void fill_parameters(trt_module* m) {
  trt_state_dict *dict, *values;
  ok(trt_module_named_parameters(m, &dict));
  ok(trt_module_state_dict(m, &values));
  for (size_t i = 0; i < trt_state_dict_size(dict); ++i) {
    trt_tensor* p;
    int64_t sizes[5];
    ok(trt_state_dict_tensor(dict, i, &p));
    for (size_t d = 0; d < trt_tensor_ndim(p); ++d) sizes[d] = trt_tensor_sizes(p)[d];
    trt_tensor* v = filled(sizes, trt_tensor_ndim(p), 7, 0.1, -0.25);
    ok(trt_state_dict_set(values, trt_state_dict_name(dict, i), v));
    trt_tensor_release(v);
    trt_tensor_release(p);
  }
  ok(trt_module_load_state_dict(m, values, true));
  trt_state_dict_release(values);
  trt_state_dict_release(dict);
}

static void prints(const trt_module* m, const char* text) {
  char* found;
  ok(trt_module_to_string(m, &found));
  assert_string_equal(found, text);
  trt_string_release(found);
}

static void has_values(const trt_tensor* y, const int64_t* sizes, size_t ndim, double sum, double weighed) {
  assert_int_equal(trt_tensor_ndim(y), ndim);
  for (size_t d = 0; d < ndim; ++d) assert_int_equal(trt_tensor_sizes(y)[d], sizes[d]);
  const int64_t n = count_of(sizes, ndim);
  double* data = malloc(sizeof *data * (size_t)(n + 1));
  ok(trt_tensor_copy_to_host(y, data, TRT_FLOAT64, n));
  double a = 0, b = 0;
  for (int64_t i = 0; i < n; ++i) {
    a += data[i];
    b += data[i] * (double)(i % 5 + 1);
  }
  free(data);
  if (fabs(a - sum) > 1e-8 || fabs(b - weighed) > 1e-8 * (1 + fabs(weighed))) {
    print_error("sums %.10g and %.10g instead of %.10g and %.10g\n", a, b, sum, weighed);
    fail();
  }
}

struct output {
  int64_t sizes[5]; /* ends at 0 */
  double sum, weighed;
};
/* Runs m with the inputs (which end at `end`; the others may be NULL) and compares the outputs; releases everything. */
static trt_tensor* const end = (trt_tensor*)1;
static void check(trt_module* m, const char* text, trt_tensor** inputs, const struct output* outputs, size_t output_count) {
  size_t count = 0;
  trt_tensor_list* list;
  while (inputs[count] != end) ++count;
  if (text) prints(m, text);
  fill_parameters(m);
  ok(trt_module_train(m, false));
  ok(trt_module_forward_with(m, (const trt_tensor* const*)inputs, count, output_count, &list));
  assert_int_equal(trt_tensor_list_size(list), output_count);
  for (size_t i = 0; i < output_count; ++i) {
    size_t ndim = 0;
    while (ndim < 5 && outputs[i].sizes[ndim]) ++ndim;
    has_values(trt_tensor_list_data(list)[i], outputs[i].sizes, ndim, outputs[i].sum, outputs[i].weighed);
  }
  /* With one input the plain function gives the same. */
  if (count == 1 && output_count == 1) {
    trt_tensor* y;
    bool same;
    ok(trt_module_forward(m, inputs[0], &y));
    ok(trt_equal(y, trt_tensor_list_data(list)[0], &same));
    assert_true(same);
    trt_tensor_release(y);
  }
  trt_tensor_list_release(list);
  for (size_t i = 0; i < count; ++i) trt_tensor_release(inputs[i]);
  trt_module_release(m);
}
#define CHECK(m, text, inputs, ...) \
  check(m, text, inputs, (const struct output[]){__VA_ARGS__}, sizeof((const struct output[]){__VA_ARGS__}) / sizeof(struct output))
#define IN(...) ((trt_tensor*[]){__VA_ARGS__, end})
#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static int setup(void** state) {
  (void)state;
  ok(trt_set_default_dtype(TRT_FLOAT64));
  return 0;
}
static int teardown(void** state) {
  (void)state;
  ok(trt_set_default_dtype(TRT_FLOAT32));
  return 0;
}

static void test_convolutions(void** state) {
  (void)state;
  trt_module* m = NULL;
  trt_convnd_options o;
  trt_convnd_options_init(&o);
  o.stride[1] = 2;
  o.padding[1] = o.padding[2] = 1;
  o.groups = 2;
  ok(trt_convnd_create(2, 4, LIST(1, 2, 2), 3, &o, &m));
  CHECK(m, "Conv3d(2, 4, kernel_size=(1, 2, 2), stride=(1, 2, 1), padding=(0, 1, 1), groups=2)", IN(ramp(1, 2, 2, 3, 3)), {{1, 4, 2, 2, 4}, -5.44, -16.72});
  trt_convnd_options_init(&o);
  o.padding[0] = 2;
  o.padding_mode = TRT_PADDING_CIRCULAR;
  ok(trt_convnd_create(2, 3, LIST(3), 1, &o, &m));
  CHECK(m, "Conv1d(2, 3, kernel_size=(3,), stride=(1,), padding=(2,), padding_mode=circular)", IN(ramp(1, 2, 5, 0, 0)), {{1, 3, 7}, -0.93, -0.96});
  trt_convnd_options_init(&o);
  o.padding_same = true;
  o.padding_mode = TRT_PADDING_REFLECT;
  ok(trt_convnd_create(1, 2, LIST(2, 3), 2, &o, &m));
  CHECK(m, "Conv2d(1, 2, kernel_size=(2, 3), stride=(1, 1), padding=same, padding_mode=reflect)", IN(ramp(1, 1, 4, 4, 0)), {{1, 2, 4, 4}, -3.64, -10.85});

  trt_convnd_options_init(&o);
  o.stride[0] = o.dilation[0] = o.groups = 2;
  o.padding[0] = o.output_padding[0] = 1;
  ok(trt_conv_transpose_create(2, 4, LIST(3), 1, &o, &m));
  CHECK(m, "ConvTranspose1d(2, 4, kernel_size=(3,), stride=(2,), padding=(1,), dilation=(2,), output_padding=(1,), groups=2)", IN(ramp(1, 2, 4, 0, 0)),
        {{1, 4, 10}, -4.07, -12.55});
  trt_convnd_options_init(&o);
  o.stride[0] = 2;
  o.bias = false;
  ok(trt_conv_transpose_create(2, 3, LIST(2, 3), 2, &o, &m));
  CHECK(m, "ConvTranspose2d(2, 3, kernel_size=(2, 3), stride=(2, 1), bias=False)", IN(ramp(2, 2, 3, 0, 0)), {{3, 4, 5}, 2.4, 5.72});
  trt_convnd_options_init(&o);
  o.stride[0] = o.stride[1] = o.stride[2] = 2;
  o.output_padding[0] = o.output_padding[2] = 1;
  ok(trt_conv_transpose_create(1, 2, LIST(2, 2, 2), 3, &o, &m));
  CHECK(m, "ConvTranspose3d(1, 2, kernel_size=(2, 2, 2), stride=(2, 2, 2), output_padding=(1, 0, 1))", IN(ramp(1, 1, 2, 2, 2)),
        {{1, 2, 5, 4, 5}, -40.48, -121.04});

  m = NULL;
  fails(trt_convnd_create(2, 2, NULL, 0, NULL, &m), TRT_INVALID_ARGUMENT, "one to three");
  fails(trt_convnd_create(2, 2, LIST(1, 1, 1, 1), 4, NULL, &m), TRT_INVALID_ARGUMENT, "one to three");
  fails(trt_convnd_create(4, 6, LIST(INT64_MAX, INT64_MAX, INT64_MAX), 3, NULL, &m), TRT_INVALID_ARGUMENT, "too many");
  trt_convnd_options_init(&o);
  o.padding_mode = TRT_PADDING_REPLICATE;
  fails(trt_conv_transpose_create(2, 2, LIST(2), 1, &o, &m), TRT_INVALID_ARGUMENT, "ConvTranspose1d");
  o.dilation[0] = INT64_MAX;
  fails(trt_convnd_create(2, 2, LIST(3), 1, &o, &m), TRT_INVALID_ARGUMENT, "too large");
  o.padding_mode = 4;
  fails(trt_convnd_create(2, 2, LIST(3), 1, &o, &m), TRT_INVALID_ARGUMENT, "padding_mode");
  trt_convnd_options_init(&o);
  o.output_padding[0] = 1;
  fails(trt_convnd_create(2, 2, LIST(3), 1, &o, &m), TRT_INVALID_ARGUMENT, "output_padding");
  assert_null(m);
}

static void test_norms(void** state) {
  (void)state;
  trt_module* m = NULL;
  trt_norm_options o;
  trt_instance_norm_options_init(&o);
  o.affine = true;
  ok(trt_instance_norm_create(1, 3, &o, &m));
  CHECK(m, "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)", IN(ramp(2, 3, 4, 0, 0)),
        {{2, 3, 4}, -3.6, -11.38234804});
  ok(trt_instance_norm_create(2, 3, NULL, &m));
  CHECK(m, "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)", IN(ramp(3, 4, 3, 0, 0)),
        {{3, 4, 3}, 0, -4.249870287});
  ok(trt_rms_norm_create(LIST(4), 1, NULL, true, TRT_DTYPE_NONE, &m));
  CHECK(m, "RMSNorm((4,), eps=None, elementwise_affine=True)", IN(ramp(2, 4, 0, 0, 0)), {{2, 4}, 0.5976574571, 1.219448595});
  ok(trt_local_response_norm_create(3, 0.1, 0.5, 2, &m));
  CHECK(m, "LocalResponseNorm(3, alpha=0.1, beta=0.5, k=2.0)", IN(ramp(1, 4, 3, 0, 0)), {{1, 4, 3}, 0.1321549694, 2.296420208});
  /* Batch normalization of five dimensions is that of three, folded together. */
  trt_module* flat;
  trt_tensor *x = ramp(2, 3, 2, 2, 2), *lines, *a, *b, *folded;
  bool same;
  ok(trt_batch_norm3d_create(3, NULL, &m));
  ok(trt_batch_norm1d_create(3, NULL, &flat));
  prints(m, "BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)");
  ok(trt_reshape(x, LIST(2, 3, 8), 3, &lines));
  ok(trt_module_forward(m, x, &a));
  ok(trt_module_forward(flat, lines, &b));
  ok(trt_reshape(a, LIST(2, 3, 8), 3, &folded));
  ok(trt_allclose(folded, b, 1e-9, 1e-9, false, &same));
  assert_true(same);
  trt_tensor* out = NULL;
  fails(trt_module_forward(m, lines, &out), TRT_INVALID_ARGUMENT, "[2, 3, 8]");
  trt_tensor* all[] = {x, lines, a, b, folded};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) trt_tensor_release(all[i]);
  trt_module_release(flat);
  trt_module_release(m);

  /* Running statistics, and a sample without a batch. */
  trt_norm_options_init(&o);
  ok(trt_instance_norm_create(3, 2, &o, &m));
  prints(m, "InstanceNorm3d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)");
  x = ramp(2, 1, 2, 2, 0);
  ok(trt_module_forward(m, x, &a));
  ok(trt_module_buffer(m, "running_mean", &b));
  has_values(b, LIST(2), 1, 0.1 * (-0.6 + 0.2), 0.1 * (-0.6 + 2 * 0.2));
  trt_tensor_release(a);
  trt_tensor_release(b);
  trt_tensor_release(x);
  trt_module_release(m);
  m = NULL;
  fails(trt_instance_norm_create(4, 3, NULL, &m), TRT_INVALID_ARGUMENT, "ndim");
  fails(trt_batch_norm3d_create(INT64_MAX, NULL, &m), TRT_INVALID_ARGUMENT, "too many");
  fails(trt_rms_norm_create(LIST(INT64_MAX, 8), 2, NULL, true, TRT_DTYPE_NONE, &m), TRT_INVALID_ARGUMENT, "too many");
  fails(trt_rms_norm_create(LIST(8), 1, &(double){-1}, true, TRT_DTYPE_NONE, &m), TRT_INVALID_ARGUMENT, "eps");
  assert_null(m);
}

static void test_pools(void** state) {
  (void)state;
  trt_module* m = NULL;
  trt_poolnd_options o;
  trt_poolnd_options_init(&o);
  o.stride[0] = 2;
  o.padding[0] = 1;
  ok(trt_max_poolnd_create(LIST(3), 1, &o, &m));
  CHECK(m, "MaxPool1d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)", IN(ramp(1, 2, 6, 0, 0)), {{1, 2, 3}, 1.6, 6.6});
  o.count_include_pad = false;
  ok(trt_avg_poolnd_create(LIST(3), 1, &o, &m));
  CHECK(m, "AvgPool1d(kernel_size=(3,), stride=(2,), padding=(1,))", IN(ramp(1, 2, 6, 0, 0)), {{1, 2, 3}, 0.0666666666667, 3.36666666667});
  o.divisor_override = 2;
  trt_module* none = NULL;
  fails(trt_avg_poolnd_create(LIST(3), 1, &o, &none), TRT_INVALID_ARGUMENT, "divisor_override");
  ok(trt_max_poolnd_create(LIST(1, 2, 2), 3, NULL, &m));
  CHECK(m, "MaxPool3d(kernel_size=(1, 2, 2), stride=(1, 2, 2), padding=0, dilation=1, ceil_mode=False)", IN(ramp(1, 2, 4, 4, 0)), {{1, 2, 2, 2}, 5.8, 18.1});
  trt_poolnd_options_init(&o);
  o.divisor_override = 3;
  ok(trt_avg_poolnd_create(LIST(2, 2, 2), 3, &o, &m));
  CHECK(m, "AvgPool3d(kernel_size=2, stride=2, padding=0)", IN(ramp(1, 2, 4, 4, 0)), {{1, 1, 2, 2}, 0.733333333333, 2.26666666667});
  ok(trt_adaptive_avg_poolnd_create(LIST(1, 2, 3), 3, &m));
  CHECK(m, "AdaptiveAvgPool3d(output_size=(1, 2, 3))", IN(ramp(1, 3, 4, 5, 0)), {{1, 1, 2, 3}, 0.3, 0.65});
  ok(trt_adaptive_max_poolnd_create(LIST(1, 2, 3), 3, &m));
  CHECK(m, "AdaptiveMaxPool3d(output_size=(1, 2, 3))", IN(ramp(1, 3, 4, 5, 0)), {{1, 1, 2, 3}, 6.6, 17.6});
  fails(trt_max_poolnd_create(LIST(1, 1, 1, 1), 4, NULL, &none), TRT_INVALID_ARGUMENT, "one to three");
  fails(trt_adaptive_avg_poolnd_create(NULL, 0, &none), TRT_INVALID_ARGUMENT, "one to three");
  fails(trt_avg_poolnd_create(LIST(2, 0), 2, NULL, &none), TRT_INVALID_ARGUMENT, "AvgPool2d");
  assert_null(none);
}

static void test_padding_and_resizing(void** state) {
  (void)state;
  trt_module *m = NULL, *none = NULL;
  ok(trt_pad_create(LIST(1, 0, 2, 1), 4, "constant", 0.5, &m));
  CHECK(m, "ConstantPad2d(padding=(1, 0, 2, 1), value=0.5)", IN(ramp(1, 2, 3, 0, 0)), {{1, 5, 4}, 4.6, 13.2});
  ok(trt_pad_create(LIST(2, 1), 2, "reflect", 0, &m));
  CHECK(m, "ReflectionPad1d((2, 1))", IN(ramp(1, 2, 4, 0, 0)), {{1, 2, 7}, -2.6, -7});
  ok(trt_pad_create(LIST(1, 1, 1, 1, 1, 1), 6, "replicate", 0, &m));
  CHECK(m, "ReplicationPad3d((1, 1, 1, 1, 1, 1))", IN(ramp(1, 2, 2, 2, 0)), {{1, 4, 4, 4}, -12.8, -36.8});
  ok(trt_pad_create(LIST(1, 2), 2, "zeros", 0, &m));
  CHECK(m, "ZeroPad1d((1, 2))", IN(ramp(2, 3, 0, 0, 0)), {{2, 6}, -2.4, -6.7});
  ok(trt_pad_create(LIST(1, 1, 1, 1), 4, "circular", 0, &m));
  CHECK(m, "CircularPad2d((1, 1, 1, 1))", IN(ramp(1, 3, 3, 0, 0)), {{1, 5, 5}, -2.5, -9.5});
  fails(trt_pad_create(LIST(1, 1, 1), 3, "zeros", 0, &none), TRT_INVALID_ARGUMENT, "ZeroPad");
  fails(trt_pad_create(LIST(1, 1), 2, "mirror", 0, &none), TRT_INVALID_ARGUMENT, "mirror");
  fails(trt_pad_create(LIST(1, 1), 2, "reflect", 1, &none), TRT_INVALID_ARGUMENT, "ReflectionPad");

  const double two = 2;
  const bool yes = true;
  ok(trt_upsample_create(NULL, 0, &two, 1, "bilinear", &yes, NULL, &m));
  CHECK(m, "Upsample(scale_factor=2.0, mode='bilinear')", IN(ramp(1, 1, 3, 4, 0)), {{1, 1, 6, 8}, 2.811428571, 8.328571429});
  ok(trt_upsample_create(LIST(4, 5), 2, NULL, 0, "nearest", NULL, NULL, &m));
  CHECK(m, "Upsample(size=(4, 5), mode='nearest')", IN(ramp(1, 1, 3, 4, 0)), {{1, 1, 4, 5}, -3.4, -8.2});
  ok(trt_upsample_create(LIST(7), 1, NULL, 0, "nearest", NULL, NULL, &m));
  CHECK(m, "Upsample(size=7, mode='nearest')", IN(ramp(1, 2, 3, 0, 0)), {{1, 2, 7}, -6, -16.4});
  fails(trt_upsample_create(NULL, 0, NULL, 0, "nearest", NULL, NULL, &none), TRT_INVALID_ARGUMENT, "scale_factor");
  fails(trt_upsample_create(LIST(7), 1, &two, 1, "nearest", NULL, NULL, &none), TRT_INVALID_ARGUMENT, "scale_factor");
  fails(trt_upsample_create(LIST(7), 1, NULL, 0, "best", NULL, NULL, &none), TRT_INVALID_ARGUMENT, "best");

  trt_window_options w;
  trt_window_options_init(&w);
  w.padding[0] = w.padding[1] = 1;
  w.stride[0] = 2;
  ok(trt_unfold_create(2, 3, &w, &m));
  CHECK(m, "Unfold(kernel_size=(2, 3), dilation=1, padding=1, stride=(2, 1))", IN(ramp(1, 2, 4, 4, 0)), {{1, 12, 12}, 6.6, 30.4});
  trt_window_options_init(&w);
  w.stride[0] = w.stride[1] = 2;
  ok(trt_fold_create(4, 4, 2, 2, &w, &m));
  CHECK(m, "Fold(output_size=4, kernel_size=2, dilation=1, padding=0, stride=2)", IN(ramp(1, 8, 4, 0, 0)), {{1, 2, 4, 4}, 2.2, 14.7});
  fails(trt_unfold_create(0, 3, NULL, &none), TRT_INVALID_ARGUMENT, "Unfold");
  fails(trt_fold_create(0, 3, 1, 1, NULL, &none), TRT_INVALID_ARGUMENT, "Fold");
  assert_null(none);
}

static void test_dropout_of_channels(void** state) {
  (void)state;
  static const struct {
    int32_t ndim;
    int64_t sizes[5];
    size_t rank, leading;
  } kCases[] = {{1, {40, 5}, 2, 1}, {1, {8, 10, 5}, 3, 2}, {2, {8, 10, 5}, 3, 2}, {2, {8, 10, 2, 3}, 4, 2}, {3, {60, 2, 2, 3}, 4, 1},
                {3, {8, 10, 2, 2, 3}, 5, 2}};
  for (size_t k = 0; k < sizeof kCases / sizeof *kCases; ++k) {
    const int64_t* sizes = kCases[k].sizes;
    const int64_t channels = count_of(sizes, kCases[k].leading), each = count_of(sizes + kCases[k].leading, kCases[k].rank - kCases[k].leading);
    trt_module* m;
    trt_tensor *x, *y;
    double data[2000];
    ok(trt_feature_dropout_create(kCases[k].ndim, 0.25, &m));
    ok(trt_ones(sizes, kCases[k].rank, TRT_FLOAT64, NULL, &x));
    ok(trt_module_forward(m, x, &y));
    ok(trt_tensor_copy_to_host(y, data, TRT_FLOAT64, channels * each));
    int64_t zeros = 0;
    for (int64_t c = 0; c < channels; ++c) {
      zeros += data[c * each] == 0;
      for (int64_t i = 0; i < each; ++i) {
        assert_true(data[c * each] == 0 || fabs(data[c * each] - 1 / 0.75) < 1e-12);
        assert_true(data[c * each + i] == data[c * each]);
      }
    }
    assert_true(zeros > 0 && zeros < channels);
    trt_tensor_release(y);
    ok(trt_module_train(m, false));
    ok(trt_module_forward(m, x, &y));
    has_values(y, sizes, kCases[k].rank, (double)(channels * each), 3.0 * (double)(channels * each));
    trt_tensor_release(y);
    trt_tensor_release(x);
    trt_module_release(m);
  }
  trt_module* m = NULL;
  ok(trt_feature_dropout_create(3, 0.5, &m));
  prints(m, "Dropout3d(p=0.5, inplace=False)");
  trt_tensor *x = ramp(2, 3, 0, 0, 0), *y = NULL;
  fails(trt_module_forward(m, x, &y), TRT_INVALID_ARGUMENT, "Dropout3d");
  trt_tensor_release(x);
  trt_module_release(m);
  m = NULL;
  fails(trt_feature_dropout_create(0, 0.5, &m), TRT_INVALID_ARGUMENT, "ndim");
  fails(trt_feature_dropout_create(2, 1.5, &m), TRT_INVALID_ARGUMENT, "Dropout2d");
}

static void test_several_inputs(void** state) {
  (void)state;
  trt_module *m = NULL, *none = NULL;
  ok(trt_prelu_create(3, 0.25, TRT_DTYPE_NONE, &m));
  CHECK(m, "PReLU(num_parameters=3)", IN(ramp(2, 3, 2, 0, 0)), {{2, 3, 2}, 4.17, 11.695});
  ok(trt_bilinear_create(2, 3, 4, NULL, &m));
  CHECK(m, "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)", IN(ramp(5, 2, 0, 0, 0), ramp(5, 3, 0, 0, 0)), {{5, 4}, -1.868, -4.86});
  trt_embedding_bag_options o;
  trt_embedding_bag_options_init(&o);
  o.has_padding_idx = true;
  o.padding_idx = -2;
  const int64_t data[] = {0, 2, 1, 3, 0, 2};
  ok(trt_embedding_bag_create(4, 3, &o, &m));
  CHECK(m, "EmbeddingBag(4, 3, mode='mean', padding_idx=2)", IN(indices(data, 0, 6), indices(LIST(0, 2, 2), 0, 3)), {{3, 3}, -0.4, -0.35});
  trt_embedding_bag_options_init(&o);
  o.mode = TRT_BAG_SUM;
  ok(trt_embedding_bag_create(4, 3, &o, &m));
  CHECK(m, "EmbeddingBag(4, 3, mode='sum')", IN(indices(data, 2, 3), NULL, ramp(2, 3, 0, 0, 0)), {{2, 3}, 0.21, 0.62});
  o.mode = TRT_BAG_MAX;
  o.include_last_offset = true;
  ok(trt_embedding_bag_create(4, 3, &o, &m));
  CHECK(m, "EmbeddingBag(4, 3, mode='max')", IN(indices(data, 0, 6), indices(LIST(0, 3, 6), 0, 3)), {{2, 3}, 1.3, 3.2});
  o.mode = 3;
  fails(trt_embedding_bag_create(4, 3, &o, &none), TRT_INVALID_ARGUMENT, "mode");
  fails(trt_embedding_bag_create(INT64_MAX, 3, NULL, &none), TRT_INVALID_ARGUMENT, "too many");
  fails(trt_bilinear_create(INT64_MAX / 2, 3, 4, NULL, &none), TRT_INVALID_ARGUMENT, "too many");
  fails(trt_prelu_create(0, 0.25, TRT_DTYPE_NONE, &none), TRT_INVALID_ARGUMENT, "PReLU");
  assert_null(none);

  /* Numbers of inputs and outputs; places of errors in a tree. */
  trt_tensor *x = ramp(5, 2, 0, 0, 0), *out = NULL;
  const trt_tensor* both[] = {x, NULL, x};
  trt_tensor_list* list = NULL;
  ok(trt_bilinear_create(2, 3, 4, NULL, &m));
  fails(trt_module_forward(m, x, &out), TRT_INVALID_ARGUMENT, "input2");
  fails(trt_module_forward_with(m, both, 2, 1, &list), TRT_INVALID_ARGUMENT, "'input2' is needed");
  fails(trt_module_forward_with(m, both, 3, 1, &list), TRT_INVALID_ARGUMENT, "number of inputs");
  fails(trt_module_forward_with(m, NULL, 0, 1, &list), TRT_INVALID_ARGUMENT, "number of inputs");
  both[1] = x;
  fails(trt_module_forward_with(m, both, 2, 2, &list), TRT_INVALID_ARGUMENT, "number of outputs");
  fails(trt_module_forward_with(m, both, 2, 0, &list), TRT_INVALID_ARGUMENT, "number of outputs");
  trt_module* outer;
  ok(trt_sequential_create(&m, 1, &outer));
  fails(trt_module_forward(outer, x, &out), TRT_INVALID_ARGUMENT, "(in module '0', Bilinear)");
  fails(trt_module_forward_with(outer, both, 2, 1, &list), TRT_INVALID_ARGUMENT, "Sequential");
  trt_module_release(outer);
  trt_module_release(m);

  /* Recurrent layers give what they have. */
  trt_tensor* sequence = ramp(4, 3, 2, 0, 0);
  for (int lstm = 0; lstm < 2; ++lstm) {
    trt_tensor *y, *hidden, *cell;
    bool same;
    ok(lstm ? trt_lstm_create(2, 3, NULL, &m) : trt_gru_create(2, 3, NULL, &m));
    ok(trt_module_forward_with(m, (const trt_tensor* const[]){sequence}, 1, 3, &list));
    assert_int_equal(trt_tensor_list_size(list), lstm ? 3 : 2);
    ok(trt_recurrent_forward(m, sequence, NULL, NULL, &y, &hidden, &cell));
    ok(trt_equal(hidden, trt_tensor_list_data(list)[1], &same));
    assert_true(same);
    trt_tensor_release(y);
    trt_tensor_release(hidden);
    trt_tensor_release(cell);
    trt_tensor_list_release(list);
    trt_module_release(m);
  }
  trt_tensor_release(sequence);
  trt_tensor_release(x);
}

static void test_pairs_and_activations(void** state) {
  (void)state;
  trt_module *m = NULL, *none = NULL;
  ok(trt_rrelu_create(1.0 / 8, 1.0 / 3, &m));
  CHECK(m, "RReLU(lower=0.125, upper=0.3333333333333333)", IN(ramp(2, 3, 4, 0, 0)), {{2, 3, 4}, 5.6875, 16.06041667});
  ok(trt_alpha_dropout_create(0.3, &m));
  CHECK(m, "AlphaDropout(p=0.3, inplace=False)", IN(ramp(2, 3, 0, 0, 0)), {{2, 3}, -2.4, -5.4});
  ok(trt_feature_alpha_dropout_create(0.3, &m));
  CHECK(m, "FeatureAlphaDropout(p=0.3, inplace=False)", IN(ramp(2, 3, 2, 0, 0)), {{2, 3, 2}, 0.2, 3.3});
  ok(trt_softmax2d_create(&m));
  CHECK(m, "Softmax2d()", IN(ramp(2, 3, 2, 2, 0)), {{2, 3, 2, 2}, 8, 24.03389128});
  trt_poolnd_options o;
  trt_poolnd_options_init(&o);
  o.stride[0] = 2;
  ok(trt_lp_poolnd_create(2, LIST(3), 1, &o, &m));
  CHECK(m, "LPPool1d(norm_type=2.0, kernel_size=3, stride=2, ceil_mode=False)", IN(ramp(1, 2, 7, 0, 0)), {{1, 2, 3}, 6.340500721, 18.05944507});
  trt_poolnd_options_init(&o);
  o.ceil_mode = true;
  ok(trt_lp_poolnd_create(2, LIST(2, 3), 2, &o, &m));
  CHECK(m, "LPPool2d(norm_type=2.0, kernel_size=(2, 3), stride=None, ceil_mode=True)", IN(ramp(1, 2, 5, 6, 0)), {{1, 2, 3, 2}, 17.58798363, 47.44621956});
  ok(trt_lp_poolnd_create(2, LIST(2, 2, 2), 3, NULL, &m));
  CHECK(m, "LPPool3d(norm_type=2.0, kernel_size=2, stride=None, ceil_mode=False)", IN(ramp(1, 1, 4, 4, 4)), {{1, 1, 2, 2, 2}, 14.13742064, 37.34297832});

  /* Maxima where PyTorch's max_pool finds them in ramps. */
  const int64_t at1[] = {1, 3, 5, 1, 3, 4}, at2[] = {7, 9, 10, 19, 21, 17, 7, 8, 5, 19, 15, 17};
  trt_tensor *x = ramp(1, 2, 6, 0, 0), *y = NULL, *indices2 = NULL;
  ok(trt_max_pool1d(x, LIST(2), 1, NULL, 0, LIST(0), 1, LIST(1), 1, false, &y));
  ok(trt_max_unpoolnd_create(LIST(2), 1, NULL, &m));
  trt_tensor* places;
  ok(trt_tensor_from_data(at1, (int64_t[]){1, 2, 3}, 3, TRT_INT64, &places));
  CHECK(m, "MaxUnpool1d(kernel_size=(2,), stride=(2,), padding=(0,))", IN(y, places), {{1, 2, 6}, 1.6, 4.6});
  trt_tensor_release(x);
  x = ramp(1, 2, 4, 6, 0);
  ok(trt_max_pool2d_with_indices(x, LIST(2, 2), 2, NULL, 0, LIST(0, 0), 2, LIST(1, 1), 2, false, &y, &indices2));
  int64_t found[12];
  ok(trt_tensor_copy_to_host(indices2, found, TRT_INT64, 12));
  assert_memory_equal(found, at2, sizeof at2);
  ok(trt_max_unpoolnd_create(LIST(2, 2), 2, NULL, &m));
  CHECK(m, "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))", IN(y, indices2), {{1, 2, 4, 6}, 9.2, 28.6});
  trt_tensor_release(x);
  ok(trt_max_unpoolnd_create(LIST(2, 2, 2), 3, NULL, &m));
  prints(m, "MaxUnpool3d(kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0))");
  trt_module_release(m);

  ok(trt_cosine_similarity_create(1, 1e-8, &m));
  x = ramp(3, 4, 0, 0, 0);
  trt_tensor* flipped;
  ok(trt_flip(x, LIST(0), 1, &flipped));
  CHECK(m, "CosineSimilarity()", IN(x, flipped), {{3}, -0.3199569001, -0.6399138001});
  x = ramp(3, 4, 0, 0, 0);
  ok(trt_flip(x, LIST(0), 1, &flipped));
  ok(trt_pairwise_distance_create(2, 1e-6, true, &m));
  CHECK(m, "PairwiseDistance()", IN(x, flipped), {{3, 1}, 5.670980752, 11.34196447});
  const double two = 2;
  // One window over all leaves nothing to draw.
  ok(trt_fractional_max_poolnd_create(LIST(3, 4), 2, LIST(1), 1, NULL, 0, &m));
  CHECK(m, "FractionalMaxPool2d()", IN(ramp(1, 1, 3, 4, 0)), {{1, 1, 1, 1}, 1.1, 1.1});
  ok(trt_upsampling2d_create(NULL, 0, &two, 1, false, &m));
  CHECK(m, "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')", IN(ramp(1, 1, 3, 4, 0)), {{1, 1, 6, 8}, 0.8, -0.5});
  ok(trt_upsampling2d_create(LIST(4, 5), 2, NULL, 0, true, &m));
  CHECK(m, "UpsamplingBilinear2d(size=(4, 5), mode='bilinear')", IN(ramp(1, 1, 3, 4, 0)), {{1, 1, 4, 5}, 0.3333333333, 0.4});

  m = NULL;
  fails(trt_rrelu_create(0.5, 0.25, &m), TRT_INVALID_ARGUMENT, "RReLU: lower must not be above upper");
  fails(trt_alpha_dropout_create(1.5, &m), TRT_INVALID_ARGUMENT, "AlphaDropout: the probability");
  fails(trt_feature_alpha_dropout_create(NAN, &m), TRT_INVALID_ARGUMENT, "FeatureAlphaDropout: the probability");
  fails(trt_lp_poolnd_create(0, LIST(2), 1, NULL, &m), TRT_INVALID_ARGUMENT, "norm_type");
  fails(trt_lp_poolnd_create(2, LIST(2, 2, 2, 2), 4, NULL, &m), TRT_INVALID_ARGUMENT, "LPPool: one to three");
  fails(trt_max_unpoolnd_create(LIST(0), 1, NULL, &m), TRT_INVALID_ARGUMENT, "MaxUnpool1d: kernel size");
  fails(trt_upsampling2d_create(NULL, 0, NULL, 0, true, &m), TRT_INVALID_ARGUMENT, "UpsamplingBilinear2d: either size");
  const double ratio = 0.5, whole = 1;
  fails(trt_fractional_max_poolnd_create(LIST(2), 1, LIST(2), 1, NULL, 0, &m), TRT_INVALID_ARGUMENT, "FractionalMaxPool1d: two or three");
  fails(trt_fractional_max_poolnd_create(LIST(2, 2), 2, NULL, 0, NULL, 0, &m), TRT_INVALID_ARGUMENT, "FractionalMaxPool2d: either output_size");
  fails(trt_fractional_max_poolnd_create(LIST(2, 2), 2, LIST(2), 1, &ratio, 1, &m), TRT_INVALID_ARGUMENT, "FractionalMaxPool2d: either output_size");
  fails(trt_fractional_max_poolnd_create(LIST(2, 2), 2, LIST(2, 2, 2), 3, NULL, 0, &m), TRT_INVALID_ARGUMENT, "one number or 2");
  fails(trt_fractional_max_poolnd_create(LIST(2, 2), 2, NULL, 0, &whole, 1, &m), TRT_INVALID_ARGUMENT, "output_ratio must lie in (0, 1)");
  assert_null(m);
  ok(trt_softmax2d_create(&m));
  x = ramp(2, 3, 0, 0, 0);
  y = NULL;
  fails(trt_module_forward(m, x, &y), TRT_INVALID_ARGUMENT, "Softmax2d: the input must have 3 or 4");
  assert_null(y);
  trt_module_release(m);
  ok(trt_pairwise_distance_create(2, 1e-6, false, &m));
  fails(trt_module_forward(m, x, &y), TRT_INVALID_ARGUMENT, "x2");
  trt_module_release(m);
  trt_tensor_release(x);
  assert_null(none);
}

static void has_names(const trt_module* m, const char* names) {
  trt_state_dict* dict;
  char text[2000] = "";
  ok(trt_module_state_dict(m, &dict));
  for (size_t i = 0; i < trt_state_dict_size(dict); ++i) {
    strcat(text, i ? " " : "");
    strcat(text, trt_state_dict_name(dict, i));
  }
  assert_string_equal(text, names);
  trt_state_dict_release(dict);
}

static void test_attention(void** state) {
  (void)state;
  trt_module *m = NULL, *none = NULL;
  trt_attention_options o;
  trt_attention_options_init(&o);
  o.kdim = 3;
  o.vdim = 5;
  o.add_bias_kv = o.add_zero_attn = true;
  ok(trt_multihead_attention_create(4, 2, &o, &m));
  has_names(m, "q_proj_weight k_proj_weight v_proj_weight in_proj_bias bias_k bias_v out_proj.weight out_proj.bias");
  CHECK(m, "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)\n)",
        IN(ramp(3, 2, 4, 0, 0), ramp(4, 2, 3, 0, 0), ramp(4, 2, 5, 0, 0), padding_mask(), above(3, 4, 2)), {{3, 2, 4}, -2.710485624, -7.127164201},
        {{2, 3, 6}, 6, 18.10594051});
  trt_attention_options_init(&o);
  o.batch_first = true;
  ok(trt_multihead_attention_create(4, 2, &o, &m));
  has_names(m, "in_proj_weight in_proj_bias out_proj.weight out_proj.bias");
  trt_tensor* x = ramp(2, 3, 4, 0, 0);
  const trt_tensor* same[] = {x, x, x};
  trt_tensor_list* list = NULL;
  fill_parameters(m);
  ok(trt_module_forward_with(m, same, 3, 3, &list));
  has_values(trt_tensor_list_data(list)[0], LIST(2, 3, 4), 3, -2.679972359, -7.453549938);
  has_values(trt_tensor_list_data(list)[2], LIST(2, 2, 3, 3), 4, 12, 35.4443496);
  trt_tensor_list_release(list);
  list = NULL;
  fails(trt_module_forward_with(m, (const trt_tensor* const[]){x, x, x, x}, 4, 1, &list), TRT_INVALID_ARGUMENT, "key_padding_mask");
  fails(trt_module_forward_with(m, (const trt_tensor* const[]){x, x, x, NULL, x}, 5, 1, &list), TRT_INVALID_ARGUMENT, "attn_mask");
  fails(trt_module_forward_with(m, (const trt_tensor* const[]){x, x}, 2, 1, &list), TRT_INVALID_ARGUMENT, "number of inputs");
  trt_tensor_release(x);
  /* Without the probabilities the numbers are the same, also from separate tensors; and of one head's masks. */
  CHECK(m, NULL, IN(ramp(2, 3, 4, 0, 0), ramp(2, 3, 4, 0, 0), ramp(2, 3, 4, 0, 0)), {{2, 3, 4}, -2.679972359, -7.453549938});
  o.batch_first = o.bias = false;
  ok(trt_multihead_attention_create(4, 2, &o, &m));
  CHECK(m, NULL, IN(ramp(3, 4, 0, 0, 0), ramp(2, 4, 0, 0, 0), ramp(2, 4, 0, 0, 0)), {{3, 4}, 0.04191430642, 0.2132754669}, {{3, 2}, 3, 8.201110247});

  fails(trt_multihead_attention_create(4, 3, NULL, &none), TRT_INVALID_ARGUMENT, "multiple");
  fails(trt_multihead_attention_create(INT64_MAX, 1, NULL, &none), TRT_INVALID_ARGUMENT, "too large");
  o.kdim = INT64_MAX;
  fails(trt_multihead_attention_create(4, 2, &o, &none), TRT_INVALID_ARGUMENT, "too large");
  o.kdim = -1;
  fails(trt_multihead_attention_create(4, 2, &o, &none), TRT_INVALID_ARGUMENT, "negative");
  o.kdim = 0;
  o.dropout = 2;
  fails(trt_multihead_attention_create(4, 2, &o, &none), TRT_INVALID_ARGUMENT, "probability");
  assert_null(none);
}

static void test_transformers(void** state) {
  (void)state;
  trt_module *m = NULL, *layer, *norm, *none = NULL;
  trt_transformer_options o;
  trt_transformer_options_init(&o);
  o.dim_feedforward = 6;
  o.gelu = o.norm_first = true;
  ok(trt_transformer_encoder_layer_create(4, 2, &o, &m));
  CHECK(m, NULL, IN(ramp(3, 2, 4, 0, 0), above(3, 3, 1)), {{3, 2, 4}, -4.448731195, -12.3307949});
  trt_transformer_options_init(&o);
  o.dim_feedforward = 6;
  o.batch_first = true;
  ok(trt_transformer_encoder_layer_create(4, 2, &o, &layer));
  ok(trt_layer_norm_create(LIST(4), 1, NULL, &norm));
  ok(trt_transformer_encoder_create(layer, 2, norm, &m));
  /* Copies: the same values in other tensors. */
  trt_tensor *w0, *w1;
  bool same;
  ok(trt_module_parameter(m, "layers.0.linear1.weight", &w0));
  ok(trt_module_parameter(m, "layers.1.linear1.weight", &w1));
  ok(trt_equal(w0, w1, &same));
  assert_true(same && trt_tensor_data(w0) != trt_tensor_data(w1));
  trt_tensor_release(w0);
  trt_tensor_release(w1);
  has_names(m,
            "layers.0.self_attn.in_proj_weight layers.0.self_attn.in_proj_bias layers.0.self_attn.out_proj.weight layers.0.self_attn.out_proj.bias "
            "layers.0.linear1.weight layers.0.linear1.bias layers.0.linear2.weight layers.0.linear2.bias layers.0.norm1.weight layers.0.norm1.bias "
            "layers.0.norm2.weight layers.0.norm2.bias layers.1.self_attn.in_proj_weight layers.1.self_attn.in_proj_bias "
            "layers.1.self_attn.out_proj.weight layers.1.self_attn.out_proj.bias layers.1.linear1.weight layers.1.linear1.bias layers.1.linear2.weight "
            "layers.1.linear2.bias layers.1.norm1.weight layers.1.norm1.bias layers.1.norm2.weight layers.1.norm2.bias norm.weight norm.bias");
  trt_tensor *wide = ramp(2, 3, 5, 0, 0), *out = NULL;
  fails(trt_module_forward(m, wide, &out), TRT_INVALID_ARGUMENT, "(in module 'layers.0.self_attn', MultiheadAttention)");
  trt_tensor_release(wide);
  CHECK(m,
        "TransformerEncoder(\n  (layers): ModuleList(\n    (0-1): 2 x TransformerEncoderLayer(\n      (self_attn): MultiheadAttention(\n"
        "        (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)\n      )\n"
        "      (linear1): Linear(in_features=4, out_features=6, bias=True)\n      (dropout): Dropout(p=0.1, inplace=False)\n"
        "      (linear2): Linear(in_features=6, out_features=4, bias=True)\n"
        "      (norm1): LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)\n"
        "      (norm2): LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)\n      (dropout1): Dropout(p=0.1, inplace=False)\n"
        "      (dropout2): Dropout(p=0.1, inplace=False)\n    )\n  )\n  (norm): LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)\n)",
        IN(ramp(2, 3, 4, 0, 0), above(3, 3, 1)), {{2, 3, 4}, -1.467343175, -3.371304882});
  fails(trt_transformer_decoder_create(layer, 2, NULL, &none), TRT_INVALID_ARGUMENT, "TransformerDecoderLayer");
  fails(trt_transformer_encoder_create(norm, 2, NULL, &none), TRT_INVALID_ARGUMENT, "LayerNorm");
  fails(trt_transformer_encoder_create(layer, INT64_MAX, NULL, &none), TRT_INVALID_ARGUMENT, "num_layers");
  trt_module_release(norm);
  trt_module_release(layer);

  trt_transformer_options_init(&o);
  o.dim_feedforward = 6;
  o.bias = false;
  ok(trt_transformer_decoder_layer_create(4, 2, &o, &m));
  has_names(m,
            "self_attn.in_proj_weight self_attn.out_proj.weight multihead_attn.in_proj_weight multihead_attn.out_proj.weight linear1.weight linear2.weight "
            "norm1.weight norm2.weight norm3.weight");
  CHECK(m, NULL, IN(ramp(3, 2, 4, 0, 0), ramp(4, 2, 4, 0, 0), above(3, 3, 1), NULL, NULL, padding_mask()), {{3, 2, 4}, 0.7022912906, 2.213017681});
  o.bias = o.norm_first = true;
  ok(trt_transformer_decoder_layer_create(4, 2, &o, &layer));
  ok(trt_module_set_requires_grad(layer, false));
  ok(trt_transformer_decoder_create(layer, 2, NULL, &m));
  assert_int_equal(trt_module_trainable_parameter_count(m), 0);
  trt_module_release(layer);
  CHECK(m, NULL, IN(ramp(3, 2, 4, 0, 0), ramp(4, 2, 4, 0, 0), above(3, 3, 1), above(3, 4, 2)), {{3, 2, 4}, -13.81050037, -37.17033796});

  trt_transformer_options_init(&o);
  o.dim_feedforward = 6;
  o.batch_first = o.gelu = true;
  ok(trt_transformer_create(4, 2, 1, 2, &o, &m));
  assert_int_equal(trt_module_child_count(m), 2);
  CHECK(m, NULL, IN(ramp(2, 5, 4, 0, 0), ramp(2, 3, 4, 0, 0), NULL, above(3, 3, 1)), {{2, 3, 4}, -0.5678196733, -0.7486783176});
  trt_transformer_options_init(&o);
  o.dim_feedforward = 6;
  o.bias = false;
  o.norm_first = true;
  ok(trt_transformer_create(4, 2, 1, 1, &o, &m));
  CHECK(m, NULL, IN(ramp(5, 4, 0, 0, 0), ramp(3, 4, 0, 0, 0)), {{3, 4}, 0.5985132807, 1.662648454});
  ok(trt_transformer_create(4, 2, 1, 1, &o, &m));
  const trt_tensor* pair[] = {ramp(5, 2, 3, 0, 0), ramp(3, 2, 3, 0, 0)};
  trt_tensor_list* list = NULL;
  fails(trt_module_forward_with(m, pair, 2, 1, &list), TRT_INVALID_ARGUMENT, "Transformer: the feature number of src and tgt");
  assert_null(list);
  trt_tensor_release((trt_tensor*)pair[0]);
  trt_tensor_release((trt_tensor*)pair[1]);
  trt_module_release(m);
  fails(trt_transformer_create(4, 2, 1, INT64_MAX, &o, &none), TRT_INVALID_ARGUMENT, "Transformer: the numbers of layers");

  o.dim_feedforward = INT64_MAX;
  fails(trt_transformer_encoder_layer_create(4, 2, &o, &none), TRT_INVALID_ARGUMENT, "dim_feedforward");
  fails(trt_transformer_decoder_layer_create(INT64_MAX - 1, 2, NULL, &none), TRT_INVALID_ARGUMENT, "too large");
  fails(trt_transformer_decoder_layer_create(5, 2, NULL, &none), TRT_INVALID_ARGUMENT, "multiple of nhead");
  assert_null(none);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_convolutions), cmocka_unit_test(test_norms),    cmocka_unit_test(test_pools),        cmocka_unit_test(test_padding_and_resizing),
      cmocka_unit_test(test_dropout_of_channels), cmocka_unit_test(test_several_inputs), cmocka_unit_test(test_pairs_and_activations), cmocka_unit_test(test_attention), cmocka_unit_test(test_transformers),
  };
  return cmocka_run_group_tests_name("layers", tests, setup, teardown);
}
