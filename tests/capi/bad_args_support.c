#include "bad_args_support.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message_form.h"

/* Seconds: with a sanitizer on a busy machine the slowest function needs a few. */
enum { kSecondsPerFunction = 30, kFunctionsPerProcess = 40, kMaxReports = 200 };

/* Shared with the children: where they are, and what they found. */
static struct {
  int function;
  int failures;
  int64_t calls;
  int64_t refused;
  char text[2048];
}* shared;

static uint64_t next(struct trial* t) {
  /* splitmix64 */
  uint64_t z = (t->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

size_t below(struct trial* t, size_t n) { return (size_t)(next(t) % n); }

/* Whether the next parameter shall be a bad one; moves on to the one after. */
static bool bad(struct trial* t) {
  const int i = t->index++;
  if (t->focus >= 0) return i == t->focus;
  return below(t, 10) < 3;
}

__attribute__((format(printf, 2, 3))) static void note(struct trial* t, const char* format, ...) {
  const size_t used = strlen(t->text);
  va_list list;
  va_start(list, format);
  vsnprintf(t->text + used, sizeof t->text - used, format, list);
  va_end(list);
}

static void invalid(struct trial* t, const char* why) {
  if (!t->must_fail) t->must_fail = why;
}

void complain(struct trial* t, const char* what) {
  /* One function often fails in one way again and again. */
  static const char* last_function;
  static char last_what[64];
  const bool again = last_function == t->function && strncmp(last_what, what, sizeof last_what - 1) == 0;
  last_function = t->function;
  snprintf(last_what, sizeof last_what, "%s", what);
  if (!again && shared->failures < kMaxReports) {
    printf("%s(%s): %s\n", t->function, t->text, what);
    fflush(stdout);
  }
  shared->failures++;
}

void must(trt_status* s) {
  if (!s) return;
  printf("making an argument failed: %s\n", trt_status_message(s));
  fflush(stdout);
  _exit(3);
}

/* Content, shape and version of a tensor. */
static uint64_t hash_tensor(const trt_tensor* tensor) {
  uint64_t h = 1469598103934665603u;
  const size_t ndim = trt_tensor_ndim(tensor);
  const int64_t* sizes = trt_tensor_sizes(tensor);
  unsigned char data[4096];
  const int64_t numel = trt_tensor_numel(tensor);
  const size_t bytes = (size_t)numel * trt_dtype_size(trt_tensor_dtype(tensor));
  for (size_t i = 0; i < ndim; ++i) h = (h ^ (uint64_t)sizes[i]) * 1099511628211u;
  h = (h ^ (uint64_t)trt_tensor_dtype(tensor)) * 1099511628211u;
  if (trt_tensor_device(tensor).type == TRT_CPU && bytes <= sizeof data) {
    must(trt_tensor_copy_to_host(tensor, data, trt_tensor_dtype(tensor), numel));
    for (size_t i = 0; i < bytes; ++i) h = (h ^ data[i]) * 1099511628211u;
  }
  return h;
}

static trt_tensor* remember(struct trial* t, trt_tensor* tensor) {
  if (t->tensor_count == kMaxTensors) {
    printf("too many tensors in one call\n");
    _exit(3);
  }
  t->tensors[t->tensor_count].tensor = tensor;
  t->tensors[t->tensor_count].checked = true;
  t->tensors[t->tensor_count++].hash = hash_tensor(tensor);
  return tensor;
}

static trt_tensor* floats(const int64_t* sizes, size_t ndim, trt_dtype dtype) {
  double data[256];
  float data32[256];
  int64_t n = 1;
  trt_tensor *a = NULL, *out = NULL;
  for (size_t i = 0; i < ndim; ++i) n *= sizes[i];
  for (int i = 0; i < 256; ++i) data32[i] = (float)(data[i] = 0.25 + 0.5 * (i % 7));
  if (dtype == TRT_FLOAT32) {
    must(trt_tensor_from_data(data32, sizes, ndim, dtype, &out));
  } else if (dtype == TRT_FLOAT64) {
    must(trt_tensor_from_data(data, sizes, ndim, dtype, &out));
  } else {
    must(trt_tensor_from_data(data32, sizes, ndim, TRT_FLOAT32, &a));
    must(trt_to(a, dtype, &out));
    trt_tensor_release(a);
    (void)n;
  }
  return out;
}

#define SHAPE(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static trt_tensor* make_tensor(int which) {
  trt_tensor *a = NULL, *b = NULL;
  const trt_device meta = {TRT_META, 0};
  switch (which) {
    case 0: return floats(SHAPE(2, 3), TRT_FLOAT32);
    case 1: return floats(SHAPE(3, 3), TRT_FLOAT32);
    case 2: return floats(SHAPE(2, 3, 4, 5), TRT_FLOAT32);
    case 3: {
      const int64_t data[3] = {0, 1, 2};
      must(trt_tensor_from_data(data, SHAPE(3), TRT_INT64, &a));
      return a;
    }
    case 4: return floats(NULL, 0, TRT_FLOAT32);
    case 5:
      a = floats(SHAPE(3, 3), TRT_FLOAT64);
      must(trt_tensor_set_requires_grad(a, true));
      return a;
    case 6: return floats(SHAPE(3), TRT_FLOAT32);
    case 7: {
      const bool data[6] = {true, false, true, true, false, false};
      must(trt_tensor_from_data(data, SHAPE(2, 3), TRT_BOOL, &a));
      return a;
    }
    case 8: must(trt_tensor_from_data(NULL, SHAPE(0, 3), TRT_FLOAT32, &a)); return a;
    case 9: return floats(SHAPE(2, 3), TRT_BFLOAT16);
    case 10: return floats(SHAPE(2, 3), TRT_FLOAT16);
    case 11:
      a = floats(SHAPE(3, 2), TRT_FLOAT32);
      must(trt_transpose(a, 0, 1, &b));
      trt_tensor_release(a);
      return b;
    case 12:
      a = floats(SHAPE(1, 3), TRT_FLOAT32);
      must(trt_expand(a, SHAPE(2, 3), &b));
      trt_tensor_release(a);
      return b;
    case 13: {
      const int64_t data[3] = {-100, INT64_MAX, INT64_MIN};
      must(trt_tensor_from_data(data, SHAPE(3), TRT_INT64, &a));
      return a;
    }
    case 14: must(trt_empty(SHAPE(1 << 20, 1 << 20), TRT_FLOAT32, &meta, &a)); return a;
    case 15: must(trt_empty(SHAPE(2, 3), TRT_FLOAT32, &meta, &a)); return a;
    case 16: return floats(SHAPE(1, 1, 2, 1, 1, 2, 1), TRT_FLOAT32);
    case 17: {
      const int32_t data[6] = {5, -3, 0, 7, INT32_MIN, INT32_MAX};
      must(trt_tensor_from_data(data, SHAPE(2, 3), TRT_INT32, &a));
      return a;
    }
    case 18: {
      const uint8_t data[3] = {0, 7, 255};
      must(trt_tensor_from_data(data, SHAPE(3), TRT_UINT8, &a));
      return a;
    }
    default: must(trt_tensor_from_data(NULL, SHAPE(1 << 20, 0), TRT_INT64, &a)); return a;
  }
}
enum { kPlausibleTensors = 8, kTensors = 20 };

trt_tensor* arg_tensor(struct trial* t, bool required) {
  if (bad(t)) {
    const size_t which = below(t, kTensors + 4);
    if (which >= kTensors || t->focus >= 0) {
      note(t, "NULL, ");
      if (required) invalid(t, "a tensor is NULL");
      return NULL;
    }
    note(t, "tensor %zu, ", which);
    return remember(t, make_tensor((int)which));
  }
  const size_t which = below(t, kPlausibleTensors);
  note(t, "tensor %zu, ", which);
  return remember(t, make_tensor((int)which));
}

void arg_tensor_list(struct trial* t, struct tensor_list* out, bool optional_elements) {
  const bool b = bad(t);
  out->count = 1 + below(t, 3);
  out->data = out->items;
  const size_t same = below(t, kPlausibleTensors);
  for (size_t i = 0; i < out->count; ++i) out->items[i] = remember(t, make_tensor((int)(b ? below(t, kTensors) : same)));
  if (!b) {
    note(t, "%zu of tensor %zu, ", out->count, same);
    return;
  }
  switch (below(t, 5)) {
    case 0:
      out->data = NULL;
      note(t, "NULL of 3, ");
      out->count = 3;
      invalid(t, "a list is NULL but has a count");
      break;
    case 1:
      out->items[out->count - 1] = NULL;
      note(t, "list with NULL, ");
      if (!optional_elements) invalid(t, "a list has a NULL element");
      break;
    case 2:
      out->count = 0;
      note(t, "empty list, ");
      break;
    case 3:
      out->count = SIZE_MAX / 2;
      note(t, "list of impossible length, ");
      invalid(t, "a list is impossibly long");
      break;
    default: note(t, "mixed list, ");
  }
}

static const struct {
  int64_t items[10];
  size_t count;
} kIntLists[] = {{{2, 3}, 2},
                 {{1}, 1},
                 {{3}, 1},
                 {{0}, 1},
                 {{-1}, 1},
                 {{3, 2}, 2},
                 {{1, 0}, 2},
                 {{0}, 0},
                 {{-1, -1}, 2},
                 {{INT64_MAX}, 1},
                 {{INT64_MIN}, 1},
                 {{INT64_MAX, INT64_MAX}, 2},
                 {{INT64_MIN, 2}, 2},
                 {{(int64_t)1 << 40, (int64_t)1 << 40}, 2},
                 {{(int64_t)1 << 32, (int64_t)1 << 32}, 2},
                 {{3, -7}, 2},
                 {{0, INT64_MAX}, 2},
                 {{INT64_MAX, 0, 3}, 3},
                 {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10},
                 {{-5, 100}, 2},
                 {{0, 0}, 2},
                 {{2, 2, 2, 2, 2}, 5}};
enum { kPlausibleIntLists = 7, kIntListCount = sizeof kIntLists / sizeof kIntLists[0] };

void arg_int_list(struct trial* t, struct int_list* out) {
  const bool b = bad(t);
  const size_t which = below(t, b ? kIntListCount + 4 : kPlausibleIntLists);
  out->data = out->items;
  if (which < kIntListCount) {
    memcpy(out->items, kIntLists[which].items, sizeof kIntLists[which].items);
    out->count = kIntLists[which].count;
    note(t, "list %zu, ", which);
  } else if (which == kIntListCount) {
    out->data = NULL;
    out->count = 5;
    note(t, "NULL of 5, ");
    invalid(t, "a list is NULL but has a count");
  } else if (which == kIntListCount + 1) {
    out->data = NULL;
    out->count = 0;
    note(t, "no list, ");
  } else if (which == kIntListCount + 2) {
    for (int i = 0; i < 128; ++i) out->items[i] = 1;
    out->count = 128;
    note(t, "128 ones, ");
  } else {
    out->items[0] = 1;
    out->count = SIZE_MAX / 2;
    note(t, "list of impossible length, ");
    invalid(t, "a list is impossibly long");
  }
}

void arg_double_list(struct trial* t, struct double_list* out) {
  const bool b = bad(t);
  const double bads[4] = {NAN, INFINITY, -1e308, 0};
  out->count = 1 + below(t, 4);
  for (int i = 0; i < 4; ++i) out->items[i] = b ? bads[below(t, 4)] : 0.5 * i;
  out->data = out->items;
  if (b && below(t, 3) == 0) {
    out->data = NULL;
    invalid(t, "a list is NULL but has a count");
  }
  note(t, "%zu numbers, ", out->count);
}

int64_t arg_int(struct trial* t) {
  static const int64_t good[] = {0, 1, 2, -1, 3};
  static const int64_t bads[] = {-2, -100, 100, 4, INT64_MAX, INT64_MIN, (int64_t)1 << 40, (int64_t)INT32_MAX + 1, INT64_MAX - 1, -((int64_t)1 << 40)};
  const int64_t v = bad(t) ? bads[below(t, sizeof bads / sizeof bads[0])] : good[below(t, sizeof good / sizeof good[0])];
  note(t, "%lld, ", (long long)v);
  return v;
}

const int64_t* arg_optional_int(struct trial* t, int64_t* storage) {
  if (below(t, 3) == 0) {
    t->index++;
    note(t, "none, ");
    return NULL;
  }
  *storage = arg_int(t);
  return storage;
}

double arg_double(struct trial* t) {
  static const double good[] = {0.5, 0.0, 1.0, 0.1};
  static const double bads[] = {-1.0, 2.0, 1e308, 1e-320, -0.0};
  double v = good[below(t, 4)];
  if (bad(t)) {
    const size_t which = below(t, 8);
    v = which < 5 ? bads[which] : which == 5 ? (double)NAN : which == 6 ? (double)INFINITY : (double)-INFINITY;
  }
  note(t, "%g, ", v);
  return v;
}

const double* arg_optional_double(struct trial* t, double* storage) {
  if (below(t, 3) == 0) {
    t->index++;
    note(t, "none, ");
    return NULL;
  }
  *storage = arg_double(t);
  return storage;
}

bool arg_bool(struct trial* t) {
  t->index++;
  const bool v = below(t, 2);
  note(t, v ? "true, " : "false, ");
  return v;
}

const bool* arg_optional_bool(struct trial* t, bool* storage) {
  *storage = arg_bool(t);
  return below(t, 3) == 0 ? NULL : storage;
}

trt_scalar arg_scalar(struct trial* t) {
  const bool b = bad(t);
  trt_scalar s;
  const size_t which = below(t, b ? 12 : 4);
  switch (which) {
    case 0: s = trt_scalar_int(1); break;
    case 1: s = trt_scalar_double(0.5); break;
    case 2: s = trt_scalar_int(0); break;
    case 3: s = trt_scalar_bool(true); break;
    case 4: s = trt_scalar_double(NAN); break;
    case 5: s = trt_scalar_double(INFINITY); break;
    case 6: s = trt_scalar_int(INT64_MIN); break;
    case 7: s = trt_scalar_int(INT64_MAX); break;
    case 8: s = trt_scalar_double(-1e300); break;
    case 9: s = below(t, 2) ? trt_scalar_int(-3) : trt_scalar_complex(0.5, -2); break;
    default:
      s = trt_scalar_int(1);
      s.kind = which == 10 ? 77 : -1;
      invalid(t, "a number has an unknown kind");
  }
  note(t, "scalar %zu, ", which);
  return s;
}

const trt_scalar* arg_optional_scalar(struct trial* t, trt_scalar* storage) {
  if (below(t, 3) == 0) {
    t->index++;
    note(t, "none, ");
    return NULL;
  }
  *storage = arg_scalar(t);
  return storage;
}

trt_dtype arg_dtype(struct trial* t, bool required) {
  static const int good[] = {TRT_FLOAT32, TRT_FLOAT64, TRT_INT64, TRT_BOOL};
  static const int bads[] = {TRT_DTYPE_NONE, TRT_BFLOAT16, TRT_FLOAT16, TRT_UINT8, TRT_INT8, TRT_INT16, TRT_INT32, 8, 9, 12, 16, 99, -7, INT32_MAX};
  const int v = bad(t) ? bads[below(t, sizeof bads / sizeof bads[0])] : required ? good[below(t, 4)] : below(t, 2) ? TRT_DTYPE_NONE : good[below(t, 4)];
  note(t, "dtype %d, ", v);
  if (v == TRT_DTYPE_NONE ? required : trt_dtype_size((trt_dtype)v) == 0) invalid(t, "a dtype is unknown");
  return (trt_dtype)v;
}

trt_device arg_device(struct trial* t) {
  static const trt_device devices[] = {{TRT_CPU, 0}, {TRT_META, 0}, {TRT_CUDA, 0}, {99, 0}, {-1, 0}, {TRT_CPU, -1}, {TRT_CPU, 100000}, {TRT_PRIVATEUSE1, 0}};
  const size_t which = bad(t) ? below(t, 8) : 0;
  note(t, "device %zu, ", which);
  if (which >= 3 && which < 7) invalid(t, "a device is unknown");
  return devices[which];
}

const trt_device* arg_optional_device(struct trial* t, trt_device* storage) {
  if (below(t, 3) == 0) {
    t->index++;
    note(t, "none, ");
    return NULL;
  }
  *storage = arg_device(t);
  return storage;
}

const char* arg_string(struct trial* t, bool required) {
  static const char* const texts[] = {"mean", "sum", "none", "add", "", "no such thing", "\xff\xfe not UTF-8", "a/b/c/../\n\t%s%n"};
  if (bad(t)) {
    const size_t which = below(t, 10);
    if (which >= 8 || t->focus >= 0) {
      note(t, "NULL, ");
      if (required) invalid(t, "a string is NULL");
      return NULL;
    }
    note(t, "text %zu, ", which);
    return texts[which];
  }
  note(t, "text, ");
  return texts[below(t, 4)];
}

trt_generator* arg_generator(struct trial* t) {
  static trt_generator* generator;
  if (!generator) must(trt_generator_create(1, &generator));
  if (bad(t)) {
    note(t, "NULL, ");
    return NULL;
  }
  note(t, "generator, ");
  return generator;
}

int arg_enum(struct trial* t) {
  static const int bads[] = {-1, 14, 99, INT32_MAX, INT32_MIN};
  const int v = bad(t) ? bads[below(t, 5)] : (int)below(t, 3);
  note(t, "%d, ", v);
  return v;
}

size_t arg_index(struct trial* t) {
  static const size_t bads[] = {SIZE_MAX, SIZE_MAX / 2, 1000};
  const size_t v = bad(t) ? bads[below(t, 3)] : below(t, 3);
  note(t, "%zu, ", v);
  return v;
}

bool arg_null(struct trial* t, bool required, const char* what) {
  /* By chance rarely: with a NULL output a call says nothing about its other arguments. */
  const int i = t->index++;
  if (t->focus >= 0 ? i != t->focus : below(t, 20) != 0) return false;
  note(t, "%s=NULL, ", what);
  if (required) invalid(t, "an output or handle is NULL");
  return true;
}

bool arg_null_handle(struct trial* t, bool required, const char* what) {
  const bool null = bad(t);
  note(t, "%s%s, ", what, null ? " NULL" : "");
  if (null && required) invalid(t, "a handle is NULL");
  return null;
}

void arg_string_list(struct trial* t, struct string_list* out, bool own_count) {
  static const char* const texts[8] = {"mean", "sum", "lr", "weight", "", "bias", "momentum", "a.b"};
  const bool b = bad(t);
  for (int i = 0; i < 8; ++i) out->items[i] = b && below(t, 4) == 0 ? NULL : texts[(i + (b ? below(t, 8) : 0)) % 8];
  out->data = out->items;
  out->count = own_count ? below(t, 4) : 8;
  if (b && below(t, 3) == 0) {
    out->data = NULL;
    if (own_count && out->count > 0) invalid(t, "a list is NULL but has a count");
  } else if (b && own_count && below(t, 3) == 0) {
    out->count = SIZE_MAX / 2;
    invalid(t, "a list is impossibly long");
  }
  note(t, "%zu texts, ", out->data ? out->count : 0);
}

bool end_trial(struct trial* t, trt_status* status) {
  shared->calls++;
  const int code = status ? (int)trt_status_code(status) : 0;
  if (status) {
    shared->refused++;
    if (code <= TRT_OK || code > TRT_END_OF_DATA) complain(t, "the status has no valid code");
    const char* message = trt_status_message(status);
    if (!message || !*message) complain(t, "the status has no message");
    const char* form = message_form(status);
    if (form) complain(t, form);
    const char* op = trt_status_op(status); /* the operator, or this very function */
    if (strncmp(op, "trt_", 4) == 0 && strcmp(op, t->function) != 0) {
      char text[200];
      snprintf(text, sizeof text, "the status is that of %s", op);
      complain(t, text);
    }
    if (code == TRT_INTERNAL) {
      char text[600];
      snprintf(text, sizeof text, "an internal error: %s", message);
      complain(t, text);
    }
    for (int i = 0; i < t->tensor_count; ++i)
      if (code != TRT_OUT_OF_MEMORY && hash_tensor(t->tensors[i].tensor) != t->tensors[i].hash) complain(t, "failed but changed a tensor");
  } else if (t->must_fail) {
    char text[200];
    snprintf(text, sizeof text, "succeeded although %s", t->must_fail);
    complain(t, text);
  }
  trt_status_release(status);
  return code == 0;
}

void check_out(struct trial* t, bool success, bool changed, const char* name) {
  char text[200];
  if (success == changed) return;
  snprintf(text, sizeof text, success ? "succeeded but left '%s' untouched" : "failed but wrote '%s'", name);
  complain(t, text);
}

void release_inputs(struct trial* t) {
  for (int i = 0; i < t->tensor_count; ++i) trt_tensor_release(t->tensors[i].tensor);
  release_handles(t);
}

static void begin_trial(struct trial* t, const char* function, int focus) {
  t->function = function;
  t->focus = focus;
  t->index = 0;
  t->must_fail = NULL;
  t->text[0] = 0;
  t->tensor_count = 0;
}

void raw_memory_trials(struct trial* t) {
  static double buffer[64];
  for (int round = 0; round < 300; ++round) {
    struct int_list sizes, strides;
    begin_trial(t, round % 2 ? "trt_tensor_from_blob" : "trt_tensor_from_data", -1);
    /* Sizes that the buffer can hold, or such that nobody can. */
    arg_int_list(t, &sizes);
    const char* size_fault = t->must_fail;
    arg_int_list(t, &strides);
    t->must_fail = size_fault; /* the call may not use the strides; they are judged below */
    const trt_dtype dtype = arg_dtype(t, true);
    int64_t numel = 1;
    bool fits = sizes.data != NULL && sizes.count <= 128;
    for (size_t i = 0; fits && i < sizes.count; ++i)
      if (sizes.items[i] < 0 || __builtin_mul_overflow(numel, sizes.items[i], &numel)) fits = false;
    const bool small = fits && numel <= 64;
    for (size_t i = 0; fits && i < sizes.count; ++i)
      if (sizes.items[i] < 0) fits = false;
    if (fits && !small && numel < ((int64_t)1 << 40)) continue; /* a promise about memory that the caller did not keep */
    if (fits && !small && round % 2 == 0) continue;
    trt_tensor* out = SENTINEL(trt_tensor*);
    void* data = below(t, 8) == 0 ? NULL : buffer;
    const bool null_out = below(t, 10) == 0;
    if (null_out) invalid(t, "out is NULL");
    if (!data && small && numel > 0) invalid(t, "data is NULL");
    if (!fits && sizes.count <= 128 && sizes.data)
      for (size_t i = 0; i < sizes.count; ++i)
        if (sizes.items[i] < 0) invalid(t, "a size is negative");
    trt_status* s;
    if (round % 2) {
      const trt_device device = arg_device(t);
      /* Strides: as many as sizes, possibly negative or overflowing. */
      const bool with_strides = below(t, 2) && sizes.count <= 10 && sizes.data;
      int64_t reach = 0;
      bool negative = false, safe = true;
      for (size_t i = 0; with_strides && i < sizes.count; ++i) {
        if (i >= strides.count || !strides.data || strides.count > 128) strides.items[i] = (int64_t)i;
        int64_t step;
        negative |= strides.items[i] < 0;
        if (__builtin_mul_overflow(sizes.items[i] > 0 ? sizes.items[i] - 1 : 0, strides.items[i], &step) || __builtin_add_overflow(reach, step, &reach)) safe = false;
      }
      if (with_strides && small && negative && numel > 0) invalid(t, "a stride is negative");
      (void)safe;
      s = trt_tensor_from_blob(data, sizes.data, with_strides ? strides.items : NULL, sizes.count, dtype, device, NULL, NULL, null_out ? NULL : &out);
    } else {
      s = trt_tensor_from_data(data, sizes.data, sizes.count, dtype, null_out ? NULL : &out);
    }
    const bool success = end_trial(t, s);
    if (!null_out) check_out(t, success, out != SENTINEL(trt_tensor*), "out");
    if (success && !null_out) trt_tensor_release(out);
    release_inputs(t);
  }
  for (int round = 0; round < 200; ++round) {
    begin_trial(t, "trt_tensor_copy_to_host", -1);
    const trt_tensor* x = arg_tensor(t, true);
    const trt_dtype dtype = arg_dtype(t, true);
    static double room[256];
    int64_t count = trt_tensor_numel(x);
    if (below(t, 4) == 0) {
      count = arg_int(t);
      if (x && count != trt_tensor_numel(x)) invalid(t, "the count is wrong");
    }
    void* data = below(t, 6) == 0 ? NULL : room;
    if (x && !data && count > 0) invalid(t, "data is NULL");
    if (x && trt_tensor_device(x).type == TRT_META && trt_tensor_numel(x) > 0) invalid(t, "a tensor on the Meta device has no data");
    end_trial(t, trt_tensor_copy_to_host(x, data, dtype, count));
    release_inputs(t);
  }
}

/* Every operator of the table with boxed values of all kinds. */
void op_call_trials(struct trial* t) {
  const size_t count = trt_op_count();
  for (size_t op = 0; op < count; ++op) {
    const char* name = trt_op_name(op);
    for (int round = 0; round < 12; ++round) {
      begin_trial(t, name, -1);
      trt_value args[6];
      const char* names[6] = {NULL, NULL, NULL, NULL, NULL, NULL};
      struct int_list ints[6];
      struct tensor_list lists[6];
      struct double_list doubles[6];
      const size_t n = below(t, 7);
      for (size_t i = 0; i < n; ++i) {
        memset(&args[i], 0, sizeof args[i]);
        args[i].kind = (int32_t)below(t, 14);
        if (i < 2 && below(t, 3)) args[i].kind = TRT_VALUE_TENSOR;
        switch (args[i].kind) {
          case TRT_VALUE_TENSOR: args[i].v.tensor = arg_tensor(t, true); break;
          case TRT_VALUE_BOOL: args[i].v.i = arg_bool(t); break;
          case TRT_VALUE_INT: args[i].v.i = arg_int(t); break;
          case TRT_VALUE_DOUBLE: args[i].v.d = arg_double(t); break;
          case TRT_VALUE_STRING: args[i].v.string = arg_string(t, true); break;
          case TRT_VALUE_DTYPE: args[i].v.i = arg_dtype(t, true); break;
          case TRT_VALUE_DEVICE: args[i].v.device = arg_device(t); break;
          case TRT_VALUE_GENERATOR: args[i].v.generator = arg_generator(t); break;
          case TRT_VALUE_TENSOR_LIST:
            arg_tensor_list(t, &lists[i], true);
            args[i].v.tensors = (trt_tensor**)(uintptr_t)lists[i].data;
            args[i].count = lists[i].count;
            break;
          case TRT_VALUE_INT_LIST:
            arg_int_list(t, &ints[i]);
            args[i].v.ints = ints[i].data;
            args[i].count = ints[i].count;
            break;
          case TRT_VALUE_DOUBLE_LIST:
            arg_double_list(t, &doubles[i]);
            args[i].v.doubles = doubles[i].data;
            args[i].count = doubles[i].count;
            break;
          case TRT_VALUE_COMPLEX: args[i].v.c[0] = arg_double(t), args[i].v.c[1] = arg_double(t); break;
          case 13: invalid(t, "a value has an unknown kind"); break;
          default: break;
        }
        if (below(t, 8) == 0) names[i] = below(t, 2) ? "self" : "no_such_argument";
      }
      trt_value* out = SENTINEL(trt_value*);
      size_t out_count = 12345;
      announce(t);
      const bool success = end_trial(t, trt_op_call(name, args, names, n, &out, &out_count));
      check_out(t, success, out != SENTINEL(trt_value*), "out");
      if (success) trt_values_release(out, out_count);
      release_inputs(t);
    }
  }
  begin_trial(t, "trt_op_call", -1);
  trt_value* out = NULL;
  size_t out_count = 0;
  invalid(t, "the name or an output is NULL");
  end_trial(t, trt_op_call(NULL, NULL, NULL, 0, &out, &out_count));
  invalid(t, "an output is NULL");
  end_trial(t, trt_op_call("add", NULL, NULL, 0, NULL, &out_count));
  end_trial(t, trt_op_call("add", NULL, NULL, 0, &out, NULL));
  end_trial(t, trt_op_call("add", NULL, NULL, 3, &out, &out_count));
  end_trial(t, trt_op_call("no such operator", NULL, NULL, 0, &out, &out_count));
}

static void reset_modes(void) {
  trt_set_grad_mode(true);
  trt_set_inference_mode(false);
  must(trt_set_default_dtype(TRT_FLOAT32));
  must(trt_set_num_threads(2));
  must(trt_memory_set_limit((trt_device){TRT_CPU, 0}, (int64_t)1 << 29));
}

static void run_function(int index, int rounds) {
  struct trial t;
  memset(&t, 0, sizeof t);
  /* By name: a new function elsewhere does not change what this one is given. */
  for (const char* c = index < kFunctionCount ? kFunctions[index].name : "by hand"; *c; ++c) t.random = (t.random ^ (unsigned char)*c) * 1099511628211u;
  alarm(kSecondsPerFunction);
  if (index >= kFunctionCount) {
    if (index == kFunctionCount) raw_memory_trials(&t);
    else op_call_trials(&t);
    alarm(0);
    return;
  }
  const struct bad_args_function* f = &kFunctions[index];
  /* Each parameter bad in turn, several times, then everything by chance. */
  for (int focus = 0; focus < f->parameters; ++focus)
    for (int i = 0; i < 3; ++i) {
      begin_trial(&t, f->name, focus);
      f->call(&t);
      reset_modes();
    }
  for (int i = 0; i < rounds; ++i) {
    begin_trial(&t, f->name, -1);
    f->call(&t);
    reset_modes();
  }
  alarm(0);
}

void announce(struct trial* t) { snprintf(shared->text, sizeof shared->text, "%s(%s)", t->function, t->text); }

int main(int argc, char** argv) {
  const char* text = getenv("TRT_BAD_ARGS_ROUNDS");
  const int rounds = text ? atoi(text) : 40;
  const int total = kFunctionCount + 2;
  char directory[] = "/tmp/bad_args.XXXXXX";
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  /* Files that a function writes under a name like "mean" go away with the directory. */
  if (!mkdtemp(directory) || chdir(directory)) return 2;
  if (argc > 1) { /* only the functions named, in this process */
    for (int i = 0; i < kFunctionCount; ++i)
      if (strcmp(kFunctions[i].name, argv[1]) == 0) {
        reset_modes();
        run_function(i, rounds);
      }
    printf("%lld calls, %lld refused, %d failures; last: %s\n", (long long)shared->calls, (long long)shared->refused, shared->failures, shared->text);
    return shared->failures != 0;
  }
  int crashes = 0, first = 0;
  while (first < total) {
    const int end = first + kFunctionsPerProcess < total ? first + kFunctionsPerProcess : total;
    shared->function = first;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      reset_modes();
      for (int i = first; i < end; ++i) {
        shared->function = i;
        run_function(i, rounds);
      }
      exit(0); /* not _exit: a leak checker runs at exit */
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      first = end;
      continue;
    }
    ++crashes;
    if (WIFSIGNALED(status)) {
      printf("%s %s\n", shared->text, WTERMSIG(status) == SIGALRM ? "did not come back" : strsignal(WTERMSIG(status)));
    } else {
      printf("%s: the process ended with status %d\n", shared->text, WEXITSTATUS(status));
    }
    first = shared->function + 1;
  }
  if (chdir("/")) return 2;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  if (system(command)) return 2;
  printf("%d functions, %lld calls, %lld refused, %d failures, %d crashes\n", kFunctionCount, (long long)shared->calls, (long long)shared->refused,
         shared->failures, crashes);
  return crashes || shared->failures;
}
