/* Safetensors and IDX files through the C API: round trips, atomic saving, files that are wrong in every way, random damage. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

#include "expect.h"

#include "tensorrt/autograd.h"
#include "tensorrt/io.h"
#include "tensorrt/ops.h"

static char dir[256];

static const char* in_dir(const char* name) {
  static char path[4][512];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
  return path[turn];
}

static void write_file(const char* path, const void* data, size_t bytes) {
  unlink(path); /* truncating an old file makes some file systems wait for the disk */
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, bytes, f), bytes);
  fclose(f);
}

static size_t read_file(const char* path, char* data, size_t room) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(data, 1, room, f);
  fclose(f);
  return n;
}

static int files_in_dir(void) {
  DIR* d = opendir(dir);
  int n = 0;
  for (struct dirent* e; (e = readdir(d));) n += e->d_name[0] != '.' || strncmp(e->d_name, ".tmp", 4) == 0;
  closedir(d);
  return n;
}

/* A safetensors file from its JSON text and a number of data bytes. */
static const char* make_of(const char* json, uint64_t n, size_t data_bytes) {
  static char buffer[1 << 16];
  memcpy(buffer, &n, 8);
  memcpy(buffer + 8, json, n);
  memset(buffer + 8 + n, 1, data_bytes);
  const char* path = in_dir("made.safetensors");
  write_file(path, buffer, 8 + n + data_bytes);
  return path;
}
static const char* make(const char* json, size_t data_bytes) { return make_of(json, strlen(json), data_bytes); }

static void invalid_file(const char* path, const char* part) {
  trt_safetensors* f = NULL;
  trt_status* s = trt_safetensors_open(path, &f);
  assert_null(f);
  if (s && !strstr(trt_status_message(s), path)) fail_msg("the message does not name the file: %s", trt_status_message(s));
  fails(s, TRT_DATA, part);
}
static void invalid(const char* json, size_t data_bytes, const char* part) { invalid_file(make(json, data_bytes), part); }

static trt_tensor* floats(int64_t rows, int64_t cols) {
  float v[64];
  for (int i = 0; i < 64; ++i) v[i] = (float)i * 0.5f;
  int64_t sizes[] = {rows, cols};
  trt_tensor* t;
  ok(trt_tensor_from_data(v, sizes, 2, TRT_FLOAT32, &t));
  return t;
}

static void test_round_trip(void** state) {
  (void)state;
  static const trt_dtype types[] = {TRT_BOOL, TRT_UINT8, TRT_FLOAT64, TRT_FLOAT16, TRT_INT64, TRT_BFLOAT16, TRT_INT8, TRT_INT32, TRT_INT16, TRT_FLOAT32, TRT_COMPLEX64};
  enum { N = sizeof types / sizeof *types + 3 };
  uint8_t bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = i % 2;
  trt_tensor* tensors[N];
  const char* names[N];
  char text[N][32];
  int64_t sizes[] = {2, 3}, strides[] = {1, 2};
  for (int i = 0; i < N - 3; ++i) ok(trt_tensor_from_data(bytes, sizes, 2, types[i], &tensors[i]));
  float v[] = {0, 1, 2, 3, 4, 5};
  ok(trt_tensor_from_blob(v, sizes, strides, 2, TRT_FLOAT32, (trt_device){TRT_CPU, 0}, NULL, NULL, &tensors[N - 3])); /* transposed */
  int64_t none[] = {0, 5};
  ok(trt_tensor_from_data(NULL, none, 2, TRT_INT32, &tensors[N - 2]));
  ok(trt_tensor_from_scalar(trt_scalar_double(2.5), TRT_FLOAT32, &tensors[N - 1]));
  for (int i = 0; i < N; ++i) {
    snprintf(text[i], sizeof text[i], "layer.%d \"\\\xc3\xa9\n", N - i);
    names[i] = text[i];
  }
  const char* keys[] = {"zeta", "alpha", "format"};
  const char* values[] = {"1", "", "pt\xe2\x82\xac"};
  const char* path = in_dir("all.safetensors");
  ok(trt_safetensors_save(path, names, (const trt_tensor* const*)tensors, N, keys, values, 3));

  trt_safetensors* f;
  ok(trt_safetensors_open(path, &f));
  assert_int_equal(trt_safetensors_size(f), N);
  assert_int_equal(trt_safetensors_metadata_size(f), 3);
  for (size_t i = 0; i < 3; ++i) {
    assert_string_equal(trt_safetensors_metadata_key(f, i), keys[i]);
    assert_string_equal(trt_safetensors_metadata_value(f, i), values[i]);
  }
  assert_string_equal(trt_safetensors_metadata(f, "format"), values[2]);
  assert_null(trt_safetensors_metadata(f, "other"));
  for (int mode = TRT_LOAD_MAP; mode <= TRT_LOAD_COPY; ++mode) {
    trt_tensor_list* list;
    ok(trt_safetensors_tensors(f, (trt_load_mode)mode, &list));
    assert_int_equal(trt_tensor_list_size(list), N);
    for (size_t i = 0; i < N; ++i) {
      assert_string_equal(trt_safetensors_name(f, i), names[i]);
      size_t at = 99;
      ok(trt_safetensors_find(f, names[i], &at));
      assert_int_equal(at, i);
      trt_tensor* t;
      ok(trt_tensor_list_get(list, i, &t));
      assert_int_equal(trt_tensor_dtype(t), trt_tensor_dtype(tensors[i]));
      assert_int_equal(trt_tensor_dtype(t), trt_safetensors_dtype(f, i));
      assert_int_equal(trt_tensor_ndim(t), trt_tensor_ndim(tensors[i]));
      assert_int_equal(trt_tensor_ndim(t), trt_safetensors_ndim(f, i));
      if (trt_tensor_ndim(t)) assert_memory_equal(trt_tensor_sizes(t), trt_tensor_sizes(tensors[i]), 8 * trt_tensor_ndim(t));
      assert_true(trt_tensor_is_contiguous(t));
      assert_int_equal((uintptr_t)trt_tensor_data(t) % trt_dtype_size(trt_tensor_dtype(t)), 0);
      double a[12], b[12]; /* real and imaginary parts */
      ok(trt_tensor_copy_to_host(t, a, TRT_COMPLEX128, trt_tensor_numel(t)));
      ok(trt_tensor_copy_to_host(tensors[i], b, TRT_COMPLEX128, trt_tensor_numel(t)));
      assert_memory_equal(a, b, 2 * sizeof(double) * (size_t)trt_tensor_numel(t));
      trt_tensor_release(t);
    }
    trt_tensor_list_release(list);
  }
  assert_null(trt_safetensors_name(f, N));
  assert_int_equal(trt_safetensors_dtype(f, N), TRT_DTYPE_NONE);
  trt_tensor* t = NULL;
  fails(trt_safetensors_tensor(f, "missing", TRT_LOAD_MAP, &t), TRT_NOT_FOUND, "missing");
  fails(trt_safetensors_tensor(f, names[0], (trt_load_mode)7, &t), TRT_INVALID_ARGUMENT, "load mode");
  assert_null(t);
  trt_safetensors_release(f);
  for (int i = 0; i < N; ++i) trt_tensor_release(tensors[i]);

  /* Nothing at all is a file too. */
  ok(trt_safetensors_save(path, NULL, NULL, 0, NULL, NULL, 0));
  ok(trt_safetensors_open(path, &f));
  assert_int_equal(trt_safetensors_size(f), 0);
  trt_safetensors_release(f);
}

static void test_mapping_is_private_and_stays(void** state) {
  (void)state;
  const char* path = in_dir("map.safetensors");
  trt_tensor* t = floats(2, 4);
  const char* name = "w";
  ok(trt_safetensors_save(path, &name, (const trt_tensor* const*)&t, 1, NULL, NULL, 0));
  static char before[4096], after[4096];
  size_t bytes = read_file(path, before, sizeof before);
  trt_safetensors* f;
  ok(trt_safetensors_open(path, &f));
  trt_tensor *m, *c;
  ok(trt_safetensors_tensor(f, "w", TRT_LOAD_MAP, &m));
  ok(trt_safetensors_tensor(f, "w", TRT_LOAD_COPY, &c));
  assert_int_equal((uintptr_t)trt_tensor_data(m) % 64, 0);
  trt_safetensors_release(f);
  ((float*)trt_tensor_data(m))[3] = 99;
  assert_int_equal(read_file(path, after, sizeof after), bytes);
  assert_memory_equal(before, after, bytes);
  /* Replacing the file under the mapping does not disturb it, and a mapped tensor can be saved over its own file. */
  ok(trt_safetensors_save(path, &name, (const trt_tensor* const*)&m, 1, NULL, NULL, 0));
  assert_true(((float*)trt_tensor_data(m))[3] == 99 && ((float*)trt_tensor_data(m))[4] == 2);
  assert_true(((float*)trt_tensor_data(c))[3] == 1.5f);
  trt_tensor_release(m);
  trt_tensor_release(c);
  ok(trt_safetensors_open(path, &f));
  ok(trt_safetensors_tensor(f, "w", TRT_LOAD_COPY, &c));
  assert_true(((float*)trt_tensor_data(c))[3] == 99);
  trt_tensor_release(c);
  trt_safetensors_release(f);
  trt_tensor_release(t);
}

static void test_invalid_headers(void** state) {
  (void)state;
#define T "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"
  invalid("", 0, "'{'");
  invalid(" {}", 0, "'{'");
  invalid("[]", 0, "'{'");
  invalid("{", 0, "JSON");
  invalid("{}x", 0, "JSON");
  invalid("{} {}", 0, "JSON");
  invalid_file(make_of("{}\0}", 4, 0), "NUL");
  invalid_file(make_of("{}\0", 3, 0), "NUL");
  invalid("{\"a\":}", 0, "JSON");
  invalid("{\"a\":{" T "},}", 8, "JSON");
  invalid("{\"a\xff\":{" T "}}", 8, "JSON");
  invalid("{\"a\\u0000b\":{" T "}}", 8, "NUL");
  invalid("{\"a\":{" T "},\"a\":{" T "}}", 8, "twice");
  invalid("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice");
  invalid("{\"__metadata__\":{\"k\":\"a\",\"k\":\"b\"}}", 0, "twice");
  invalid("{\"__metadata__\":{\"k\":1}}", 0, "instead of a string");
  invalid("{\"__metadata__\":{\"k\":{}}}", 0, "instead of a string");
  invalid("{\"__metadata__\":[]}", 0, "instead of an object");
  invalid("{\"a\":3}", 0, "number");
  invalid("{\"a\":null}", 0, "null");
  invalid("{\"a\":[]}", 0, "list");
  invalid("{\"a\":{}}", 0, "dtype");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "data_offsets");
  invalid("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "shape");
  invalid("{\"a\":{" T ",\"extra\":1}}", 8, "unknown field");
  invalid("{\"a\":{" T ",\"shape\":[2]}}", 8, "twice");
  invalid("{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "number");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, "fraction");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "negative");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[[2]],\"data_offsets\":[0,8]}}", 8, "list");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808],\"data_offsets\":[0,8]}}", 8, "too large");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[36893488147419103232],\"data_offsets\":[0,8]}}", 8, "fraction");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", 8, "too large");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "too large");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "needs 12 bytes");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, "two data_offsets");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", 8, "two data_offsets");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "data_offsets");
  invalid("{\"a\":{" T "}}", 7, "7 bytes of data");
  invalid("{\"a\":{" T "}}", 9, "there are 9 bytes");
  invalid("{}", 1, "there are 1 bytes");
  invalid("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12, "hole");
  invalid("{\"a\":{" T "},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "overlap");
  invalid("{\"a\":{" T "},\"b\":{" T "}}", 8, "overlap");

  trt_safetensors* f = NULL;
  char raw[16] = {0};
  write_file(in_dir("raw"), raw, 7);
  fails(trt_safetensors_open(in_dir("raw"), &f), TRT_DATA, "7 bytes");
  write_file(in_dir("raw"), raw, 0);
  fails(trt_safetensors_open(in_dir("raw"), &f), TRT_DATA, "0 bytes");
  memset(raw, 0xff, 8);
  write_file(in_dir("raw"), raw, 16);
  fails(trt_safetensors_open(in_dir("raw"), &f), TRT_DATA, "limit");
  uint64_t n = 9;
  memcpy(raw, &n, 8);
  write_file(in_dir("raw"), raw, 16);
  fails(trt_safetensors_open(in_dir("raw"), &f), TRT_DATA, "only 8 bytes follow");
  fails(trt_safetensors_open(in_dir("nothing"), &f), TRT_NOT_FOUND, "nothing");
  fails(trt_safetensors_open(dir, &f), TRT_INVALID_ARGUMENT, "regular");
  fails(trt_safetensors_open("/dev/null", &f), TRT_INVALID_ARGUMENT, "regular");
  fails(trt_safetensors_open(NULL, &f), TRT_INVALID_ARGUMENT, "path");
  assert_null(f);
}

static void test_foreign_files(void** state) {
  (void)state;
  trt_safetensors* f;
  trt_tensor* t = NULL;
  /* Unknown types do no harm until they are asked for; order and spaces are free; an unaligned tensor is copied. */
  ok(trt_safetensors_open(make("{ \"x\" : {\"shape\":[], \"data_offsets\":[1,5], \"dtype\":\"F32\"}, \"b\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
                               "\"q\":{\"dtype\":\"Q9\",\"shape\":[3],\"data_offsets\":[5,8]},\"u\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[8,10]} }   ",
                               10), &f));
  assert_int_equal(trt_safetensors_size(f), 4);
  assert_string_equal(trt_safetensors_name(f, 0), "x");
  assert_string_equal(trt_safetensors_dtype_text(f, 2), "Q9");
  assert_int_equal(trt_safetensors_dtype(f, 2), TRT_DTYPE_NONE);
  fails(trt_safetensors_tensor(f, "q", TRT_LOAD_MAP, &t), TRT_NOT_SUPPORTED, "Q9");
  fails(trt_safetensors_tensor(f, "u", TRT_LOAD_COPY, &t), TRT_NOT_SUPPORTED, "U16");
  trt_tensor_list* list = NULL;
  fails(trt_safetensors_tensors(f, TRT_LOAD_MAP, &list), TRT_NOT_SUPPORTED, "Q9");
  ok(trt_safetensors_tensor(f, "x", TRT_LOAD_MAP, &t));
  assert_int_equal(*(const uint32_t*)trt_tensor_data(t), 0x01010101);
  trt_tensor_release(t);
  ok(trt_safetensors_tensor(f, "b", TRT_LOAD_MAP, &t));
  assert_int_equal(*(const uint8_t*)trt_tensor_data(t), 1);
  trt_tensor_release(t);
  trt_safetensors_release(f);

  /* The format names one complex dtype. */
  ok(trt_safetensors_open(make("{\"z\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]}}", 16), &f));
  ok(trt_safetensors_tensor(f, "z", TRT_LOAD_COPY, &t));
  assert_int_equal(trt_tensor_dtype(t), TRT_COMPLEX64);
  assert_string_equal(trt_safetensors_dtype_text(f, 0), "C64");
  trt_tensor_release(t);
  trt_safetensors_release(f);
  const char* z = "z";
  int64_t two = 2;
  ok(trt_zeros(&two, 1, TRT_COMPLEX128, NULL, &t));
  fails(trt_safetensors_save(in_dir("complex128"), &z, (const trt_tensor* const*)&t, 1, NULL, NULL, 0), TRT_NOT_SUPPORTED, "'z' is complex128[2]");
  trt_tensor_release(t);
  fails(trt_safetensors_open(in_dir("complex128"), &f), TRT_NOT_FOUND, "complex128");

  /* A bool that is neither 0 nor 1. */
  char data[256];
  const char* path = make("{\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
  size_t n = read_file(path, data, sizeof data);
  data[n - 1] = 2;
  write_file(path, data, n);
  ok(trt_safetensors_open(path, &f));
  t = NULL;
  fails(trt_safetensors_tensor(f, "b", TRT_LOAD_MAP, &t), TRT_DATA, "value 2");
  /* The file becomes shorter after it was opened: an error where it is read. */
  assert_int_equal(truncate(path, (off_t)n - 1), 0);
  fails(trt_safetensors_tensor(f, "b", TRT_LOAD_COPY, &t), TRT_DATA, "the file ends");
  assert_null(t);
  trt_safetensors_release(f);
}

/* Tensors on one part of a mapping share a version counter: what one's history saved notices a change of the other. Other names do not. */
static void test_mapped_twice(void** state) {
  (void)state;
  const char* path = in_dir("twice.safetensors");
  trt_tensor* t = floats(2, 4);
  const char* names[] = {"a", "b"};
  const trt_tensor* both[] = {t, t};
  ok(trt_safetensors_save(path, names, both, 2, NULL, NULL, 0));
  trt_tensor_release(t);
  trt_safetensors* f;
  ok(trt_safetensors_open(path, &f));
  trt_tensor *first, *second, *other, *w, *y, *z, *sum;
  trt_tensor_list* list;
  ok(trt_safetensors_tensor(f, "a", TRT_LOAD_MAP, &first));
  ok(trt_safetensors_tensor(f, "b", TRT_LOAD_MAP, &other));
  ok(trt_safetensors_tensors(f, TRT_LOAD_MAP, &list));
  ok(trt_tensor_list_get(list, 0, &second));
  trt_tensor_list_release(list);
  trt_safetensors_release(f);
  assert_true(trt_tensor_shares_storage(first, second));
  assert_false(trt_tensor_shares_storage(first, other));
  ok(trt_ones_like(first, TRT_DTYPE_NONE, NULL, &w));
  ok(trt_tensor_set_requires_grad(w, true));
  ok(trt_mul(w, first, &y));
  ok(trt_mul(w, other, &z));
  ok(trt_zero_(second));
  assert_true(((float*)trt_tensor_data(first))[5] == 0);
  ok(trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &sum));
  fails(trt_tensor_backward(sum), TRT_FAILED_PRECONDITION, "in-place");
  trt_tensor_release(sum);
  ok(trt_sum(z, NULL, 0, false, TRT_DTYPE_NONE, &sum));
  ok(trt_tensor_backward(sum));
  trt_tensor* all[] = {first, second, other, w, y, z, sum};
  for (size_t i = 0; i < 7; ++i) trt_tensor_release(all[i]);
}

/* Whatever byte stands for true in memory, 1 does in the file. */
static void test_bools_are_saved_as_one(void** state) {
  (void)state;
  static unsigned char bytes[4] = {0, 2, 255, 1};
  const int64_t n = 4;
  const char *path = in_dir("bools.safetensors"), *name = "b";
  trt_tensor *t, *loaded;
  ok(trt_tensor_from_blob(bytes, &n, NULL, 1, TRT_BOOL, (trt_device){TRT_CPU, 0}, NULL, NULL, &t));
  ok(trt_safetensors_save(path, &name, (const trt_tensor* const*)&t, 1, NULL, NULL, 0));
  trt_safetensors* f;
  ok(trt_safetensors_open(path, &f));
  ok(trt_safetensors_tensor(f, name, TRT_LOAD_COPY, &loaded));
  assert_memory_equal(trt_tensor_data(loaded), "\0\1\1\1", 4);
  trt_safetensors_release(f);
  trt_tensor_release(loaded);
  trt_tensor_release(t);
}

static void test_save_arguments(void** state) {
  (void)state;
  trt_tensor* t = floats(2, 2);
  const trt_tensor* two[] = {t, t};
  const trt_tensor* with_null[] = {t, NULL};
  const char* same[] = {"a", "a"};
  const char* names[] = {"a", "b"};
  const char* null_name[] = {"a", NULL};
  const char* reserved[] = {"a", "__metadata__"};
  const char* bad[] = {"a", "\xff\xfe"};
  const char* path = in_dir("arguments.safetensors");
  const int before = files_in_dir();
  fails(trt_safetensors_save(path, same, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "twice");
  fails(trt_safetensors_save(path, null_name, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "names");
  fails(trt_safetensors_save(path, reserved, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "__metadata__");
  fails(trt_safetensors_save(path, bad, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "UTF-8");
  fails(trt_safetensors_save(path, names, with_null, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "tensors");
  fails(trt_safetensors_save(path, NULL, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "names");
  fails(trt_safetensors_save(path, names, NULL, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "tensors");
  fails(trt_safetensors_save(path, names, two, 2, same, names, 2), TRT_INVALID_ARGUMENT, "twice");
  fails(trt_safetensors_save(path, names, two, 2, names, NULL, 2), TRT_INVALID_ARGUMENT, "metadata_values");
  fails(trt_safetensors_save(path, names, two, 2, names, bad, 2), TRT_INVALID_ARGUMENT, "UTF-8");
  fails(trt_safetensors_save(NULL, names, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "path");
  fails(trt_safetensors_save("", names, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "path");
  fails(trt_safetensors_save(dir, names, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "regular");
  fails(trt_safetensors_save("/dev/full", names, two, 2, NULL, NULL, 0), TRT_INVALID_ARGUMENT, "'/dev/full' is not a regular file");
  fails(trt_safetensors_save(in_dir("no/such/dir"), names, two, 2, NULL, NULL, 0), TRT_NOT_FOUND, "no/such/dir");
  assert_int_equal(files_in_dir(), before);
  assert_int_not_equal(access(path, F_OK), 0);
  trt_tensor_release(t);
}

/* A limit on the size of files fails a write in the middle, as a full disk does. */
static void test_failed_save_leaves_the_old_file(void** state) {
  (void)state;
  const char* path = in_dir("kept.safetensors");
  trt_tensor* small = floats(2, 2);
  const char* name = "w";
  ok(trt_safetensors_save(path, &name, (const trt_tensor* const*)&small, 1, NULL, NULL, 0));
  static char before[4096], after[4096];
  const size_t bytes = read_file(path, before, sizeof before);
  const int files = files_in_dir();
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {8192, 8192};
    if (setrlimit(RLIMIT_FSIZE, &limit)) _exit(2);
    int64_t n = 100000;
    trt_tensor* big = NULL;
    static float zeros[100000];
    if (trt_tensor_from_data(zeros, &n, 1, TRT_FLOAT32, &big)) _exit(3);
    trt_status* s = trt_safetensors_save(path, &name, (const trt_tensor* const*)&big, 1, NULL, NULL, 0);
    _exit(trt_status_code(s) == TRT_IO && strstr(trt_status_message(s), path) ? 0 : 4);
  }
  int result;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  assert_int_equal(read_file(path, after, sizeof after), bytes);
  assert_memory_equal(before, after, bytes);
  assert_int_equal(files_in_dir(), files);
  trt_tensor_release(small);
}

static void test_save_through_a_link_keeps_link_and_mode(void** state) {
  (void)state;
  const char* target = in_dir("target.safetensors");
  const char* link = in_dir("link.safetensors");
  trt_tensor* t = floats(2, 2);
  const char* name = "w";
  write_file(target, "old", 3);
  chmod(target, 0640);
  assert_int_equal(symlink("target.safetensors", link), 0);
  ok(trt_safetensors_save(link, &name, (const trt_tensor* const*)&t, 1, NULL, NULL, 0));
  struct stat st;
  assert_int_equal(lstat(link, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(target, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
  trt_safetensors* f;
  ok(trt_safetensors_open(target, &f));
  trt_safetensors_release(f);
  trt_tensor_release(t);
}

/* Damaged copies of a good file: whatever opens must give only tensors that can be read to the end. */
static void test_random_damage(void** state) {
  (void)state;
  const char* path = in_dir("good.safetensors");
  trt_tensor* t[3] = {floats(2, 3), floats(1, 4), floats(0, 4)};
  const char* names[] = {"first", "second", "empty"};
  const char* keys[] = {"k"};
  ok(trt_safetensors_save(path, names, (const trt_tensor* const*)t, 3, keys, keys, 1));
  static char good[4096], bad[4096 + 64];
  const size_t n = read_file(path, good, sizeof good);
  const char* damaged = in_dir("damaged.safetensors");
  static const char alphabet[] = "{}[]\",:0123456789-.eE\\u nulltrueF32BOOL_";
  uint64_t random = 88172645463325252u;
  int opened = 0, loaded = 0;
  for (int round = 0; round < 4000; ++round) {
    size_t size = n;
    memcpy(bad, good, n);
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int changes = 1 + (int)(random >> 33) % 3;
    for (int c = 0; c < changes; ++c) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const size_t at = (size_t)(random >> 20) % (c ? 300 : n);
      const uint32_t r = (uint32_t)(random >> 40);
      switch (r % 6) {
        case 0: bad[at] ^= (char)(1 << (r / 8 % 8)); break;
        case 1: bad[at] = (char)(r >> 8); break;
        case 2: bad[at] = alphabet[(r >> 8) % (sizeof alphabet - 1)]; break;
        case 3: size = at; break;
        case 4: memmove(bad + at + 1, bad + at, size - (at < size ? at : size)); size += 1; break;
        default: bad[at % 8] = (char)(r >> 8); break;
      }
    }
    write_file(damaged, bad, size);
    trt_safetensors* f = NULL;
    trt_status* s = trt_safetensors_open(damaged, &f);
    if (s) {
      assert_true(trt_status_code(s) == TRT_DATA);
      assert_null(f);
      trt_status_release(s);
      continue;
    }
    ++opened;
    for (size_t i = 0; i < trt_safetensors_size(f); ++i) {
      for (int mode = 0; mode < 2; ++mode) {
        trt_tensor* got = NULL;
        s = trt_safetensors_tensor(f, trt_safetensors_name(f, i), (trt_load_mode)mode, &got);
        if (!s) {
          double values[64];
          assert_true(trt_tensor_numel(got) <= 64);
          ok(trt_tensor_copy_to_host(got, values, TRT_FLOAT64, trt_tensor_numel(got)));
          ++loaded;
        }
        trt_status_release(s);
        trt_tensor_release(got);
      }
    }
    trt_safetensors_release(f);
  }
  assert_true(opened > 100 && loaded > opened);
  for (int i = 0; i < 3; ++i) trt_tensor_release(t[i]);
}

static void idx_fails(const void* data, size_t bytes, const char* part) {
  trt_tensor* t = NULL;
  const char* path = in_dir("bad.idx");
  write_file(path, data, bytes);
  trt_status* s = trt_idx_load(path, &t);
  if (s && !strstr(trt_status_message(s), path)) fail_msg("the message does not name the file: %s", trt_status_message(s));
  fails(s, TRT_DATA, part);
  assert_null(t);
}

static void test_idx(void** state) {
  (void)state;
  static const uint8_t shorts[] = {0, 0, 0x0b, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0x01, 0x02, 0xff, 0xfe};
  trt_tensor* t;
  write_file(in_dir("shorts.idx"), shorts, sizeof shorts);
  ok(trt_idx_load(in_dir("shorts.idx"), &t));
  assert_int_equal(trt_tensor_dtype(t), TRT_INT16);
  assert_int_equal(trt_tensor_ndim(t), 2);
  assert_int_equal(((const int16_t*)trt_tensor_data(t))[0], 0x0102);
  assert_int_equal(((const int16_t*)trt_tensor_data(t))[1], -2);
  trt_tensor_release(t);
  static const uint8_t reals[] = {0, 0, 0x0d, 1, 0, 0, 0, 1, 0x40, 0x20, 0, 0};
  write_file(in_dir("reals.idx"), reals, sizeof reals);
  ok(trt_idx_load(in_dir("reals.idx"), &t));
  assert_true(*(const float*)trt_tensor_data(t) == 2.5f);
  trt_tensor_release(t);

  uint8_t bad[64];
  for (size_t n = 0; n < sizeof shorts; ++n) idx_fails(shorts, n, n < 4 ? "too short for a header" : n < 12 ? "too short for its 2 sizes" : "");
  memcpy(bad, shorts, sizeof shorts);
  idx_fails(bad, sizeof shorts + 1, "bytes behind");
  bad[0] = 1;
  idx_fails(bad, sizeof shorts, "two zero bytes");
  bad[0] = 0;
  bad[2] = 7;
  idx_fails(bad, sizeof shorts, "dtype code 7");
  bad[2] = 8;
  bad[3] = 0;
  idx_fails(bad, sizeof shorts, "rank");
  bad[3] = 200;
  idx_fails(bad, sizeof shorts, "rank");
  bad[3] = 2;
  memset(bad + 4, 0xff, 8);
  idx_fails(bad, sizeof shorts, "too");
  fails(trt_idx_load(in_dir("none.idx"), &t), TRT_NOT_FOUND, "none.idx");
  fails(trt_idx_load(dir, &t), TRT_INVALID_ARGUMENT, "regular");
}

/* 0 0 8 1, size 5, "abcde", compressed with gzip. */
static const uint8_t gz[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x63, 0x60, 0xe0, 0x60, 0x64, 0x60, 0x60,
                             0x60, 0x4d, 0x4c, 0x4a, 0x4e, 0x49, 0x05, 0x00, 0x32, 0x72, 0x1d, 0x49, 0x0d, 0x00, 0x00, 0x00};

static void test_idx_gzip(void** state) {
  (void)state;
  trt_tensor* t;
  write_file(in_dir("a.idx.gz"), gz, sizeof gz);
  ok(trt_idx_load(in_dir("a.idx.gz"), &t));
  assert_int_equal(trt_tensor_numel(t), 5);
  assert_memory_equal(trt_tensor_data(t), "abcde", 5);
  trt_tensor_release(t);
  uint8_t bad[2 * sizeof gz];
  for (size_t n = 2; n < sizeof gz; ++n) idx_fails(gz, n, "truncated");
  memcpy(bad, gz, sizeof gz);
  memcpy(bad + sizeof gz, gz, sizeof gz);
  idx_fails(bad, 2 * sizeof gz, "bytes behind");
  bad[sizeof gz] = 'x';
  idx_fails(bad, sizeof gz + 2, "damaged");
  for (size_t i = sizeof gz - 8; i < sizeof gz; ++i) { /* checksum and length */
    memcpy(bad, gz, sizeof gz);
    bad[i] ^= 0x10;
    idx_fails(bad, sizeof gz, "damaged");
  }
  for (size_t i = 2; i < sizeof gz; ++i)
    for (int bit = 0; bit < 8; ++bit) {
      memcpy(bad, gz, sizeof gz);
      bad[i] ^= (uint8_t)(1 << bit);
      write_file(in_dir("bits.idx.gz"), bad, sizeof gz);
      trt_tensor* got = NULL;
      trt_status* s = trt_idx_load(in_dir("bits.idx.gz"), &got);
      if (s) assert_int_equal(trt_status_code(s), TRT_DATA);
      else assert_memory_equal(trt_tensor_data(got), "abcde", 5); /* time stamp and the like */
      trt_status_release(s);
      trt_tensor_release(got);
    }
}

static void test_fashion_mnist(void** state) {
  (void)state;
  static const char* const base = "/usr/share/datasets/fashion-mnist/";
  char path[256];
  snprintf(path, sizeof path, "%st10k-images-idx3-ubyte.gz", base);
  if (access(path, R_OK) != 0) skip(); /* the Debian package dataset-fashion-mnist is not installed */
  trt_tensor* t;
  ok(trt_idx_load(path, &t));
  assert_int_equal(trt_tensor_dtype(t), TRT_UINT8);
  assert_int_equal(trt_tensor_ndim(t), 3);
  assert_int_equal(trt_tensor_sizes(t)[0], 10000);
  assert_int_equal(trt_tensor_sizes(t)[1], 28);
  const uint8_t* p = trt_tensor_data(t);
  uint64_t sum = 0;
  for (int64_t i = 0; i < trt_tensor_numel(t); ++i) sum += p[i];
  assert_true(sum > 500000000 && sum < 650000000); /* the mean pixel is about 73 */
  trt_tensor_release(t);
  snprintf(path, sizeof path, "%st10k-labels-idx1-ubyte.gz", base);
  ok(trt_idx_load(path, &t));
  int count[10] = {0};
  for (int64_t i = 0; i < 10000; ++i) ++count[((const uint8_t*)trt_tensor_data(t))[i]];
  for (int i = 0; i < 10; ++i) assert_int_equal(count[i], 1000);
  trt_tensor_release(t);
}

int main(void) {
  snprintf(dir, sizeof dir, "%s/trt_io_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  if (!mkdtemp(dir)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_mapping_is_private_and_stays),
      cmocka_unit_test(test_invalid_headers),
      cmocka_unit_test(test_foreign_files),
      cmocka_unit_test(test_mapped_twice),
      cmocka_unit_test(test_bools_are_saved_as_one),
      cmocka_unit_test(test_save_arguments),
      cmocka_unit_test(test_failed_save_leaves_the_old_file),
      cmocka_unit_test(test_save_through_a_link_keeps_link_and_mode),
      cmocka_unit_test(test_random_damage),
      cmocka_unit_test(test_idx),
      cmocka_unit_test(test_idx_gzip),
      cmocka_unit_test(test_fashion_mnist),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  DIR* d = opendir(dir);
  for (struct dirent* e; d && (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlink(in_dir(e->d_name));
  if (d) closedir(d);
  rmdir(dir);
  return failed;
}
