/* Handles other than tensors, and structures of options, for the trials of bad arguments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bad_args_support.h"

static void keep(struct trial* t, void* handle, void (*release)(void*)) {
  if (t->handle_count == kMaxHandles) {
    printf("too many handles in one call\n");
    _exit(3);
  }
  t->handles[t->handle_count].handle = handle;
  t->handles[t->handle_count++].release = release;
}

static trt_tensor* parameter(void) {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[2] = {2, 3};
  trt_tensor* p = NULL;
  must(trt_tensor_from_data(data, sizes, 2, TRT_FLOAT32, &p));
  must(trt_tensor_set_requires_grad(p, true));
  return p;
}

static trt_module* make_module(struct trial* t) {
  trt_module *a = NULL, *b = NULL, *out = NULL;
  switch (below(t, 5)) {
    case 0: must(trt_linear_create(3, 2, NULL, &out)); break;
    case 1: must(trt_batch_norm1d_create(3, NULL, &out)); break;
    case 2: must(trt_relu_create(&out)); break;
    case 3: must(trt_conv2d_create(3, 2, 3, 3, NULL, &out)); break;
    default:
      must(trt_linear_create(3, 4, NULL, &a));
      must(trt_relu_create(&b));
      must(trt_sequential_create((trt_module* const[]){a, b}, 2, &out));
      trt_module_release(a);
      trt_module_release(b);
  }
  return out;
}

static trt_state_dict* make_state_dict(struct trial* t) {
  trt_state_dict* out = NULL;
  if (below(t, 2)) {
    trt_module* m = make_module(t);
    must(trt_module_state_dict(m, &out));
    trt_module_release(m);
    return out;
  }
  trt_tensor* p = parameter();
  must(trt_state_dict_create(&out));
  must(trt_state_dict_set(out, "mean", p));
  trt_tensor_release(p);
  return out;
}

static trt_optimizer* make_optimizer(struct trial* t) {
  trt_optimizer* out = NULL;
  trt_tensor* p = parameter();
  const trt_tensor* list[1] = {p};
  must(below(t, 2) ? trt_sgd_create(list, 1, NULL, &out) : trt_adamw_create(list, 1, NULL, &out));
  trt_tensor_release(p);
  return out;
}

static trt_scheduler* make_scheduler(struct trial* t) {
  trt_scheduler* out = NULL;
  trt_optimizer* o = make_optimizer(t);
  must(trt_step_lr_create(o, 2, 0.5, &out));
  trt_optimizer_release(o);
  return out;
}

static trt_safetensors* make_safetensors(struct trial* t) {
  trt_safetensors* out = NULL;
  trt_tensor* p = parameter();
  const trt_tensor* list[1] = {p};
  const char* name[1] = {"mean"};
  (void)t;
  must(trt_safetensors_save("file.safetensors", name, list, 1, NULL, NULL, 0));
  must(trt_safetensors_open("file.safetensors", &out));
  trt_tensor_release(p);
  return out;
}

static trt_dataset* make_dataset(struct trial* t) {
  trt_dataset* out = NULL;
  trt_tensor* p = parameter();
  const trt_tensor* list[2] = {p, p};
  must(trt_dataset_from_tensors(list, 1 + below(t, 2), &out));
  trt_tensor_release(p);
  return out;
}

static trt_data_loader* make_data_loader(struct trial* t) {
  trt_data_loader* out = NULL;
  trt_data_loader_options options;
  trt_dataset* d = make_dataset(t);
  trt_data_loader_options_init(&options);
  options.num_workers = (int32_t)below(t, 2);
  options.seed = 1;
  must(trt_data_loader_create(d, &options, &out));
  trt_dataset_release(d);
  return out;
}

static trt_tensor_list* make_tensor_list(struct trial* t) {
  trt_tensor_list* out = NULL;
  trt_tensor* p = parameter();
  must(trt_split(p, 1 + (int64_t)below(t, 2), 0, &out));
  trt_tensor_release(p);
  return out;
}

static trt_status* make_status(struct trial* t) { return trt_status_create((trt_code)(1 + below(t, 13)), "a message"); }

#define HANDLE(type)                                                             \
  static void release_##type(void* handle) { type##_release((type*)handle); }   \
  type* arg_##type(struct trial* t, bool required) {                             \
    if (arg_null_handle(t, required, #type)) return NULL;                        \
    type* handle = make_##type(t);                                               \
    keep(t, handle, release_##type);                                             \
    return handle;                                                               \
  }
#define make_trt_module make_module
#define make_trt_state_dict make_state_dict
#define make_trt_optimizer make_optimizer
#define make_trt_scheduler make_scheduler
#define make_trt_safetensors make_safetensors
#define make_trt_dataset make_dataset
#define make_trt_data_loader make_data_loader
#define make_trt_tensor_list make_tensor_list
#define make_trt_status make_status
HANDLE(trt_module)
HANDLE(trt_state_dict)
HANDLE(trt_optimizer)
HANDLE(trt_scheduler)
HANDLE(trt_safetensors)
HANDLE(trt_dataset)
HANDLE(trt_data_loader)
HANDLE(trt_tensor_list)
HANDLE(trt_status)

/* A list of handles: made one by one, some NULL. */
#define HANDLE_LIST(type)                                                                   \
  void arg_list_##type(struct trial* t, struct handle_list* out) {                          \
    const int index = t->index;                                                             \
    out->count = 1 + below(t, 3);                                                           \
    for (size_t i = 0; i < out->count; ++i) {                                               \
      t->index = index;                                                                     \
      out->items[i] = arg_##type(t, true);                                                  \
    }                                                                                       \
    if (below(t, 20) == 0) {                                                                \
      out->count = SIZE_MAX / 2;                                                            \
      if (!t->must_fail) t->must_fail = "a list is impossibly long";                        \
    }                                                                                       \
  }
HANDLE_LIST(trt_module)
HANDLE_LIST(trt_scheduler)

void release_handles(struct trial* t) {
  for (int i = t->handle_count; i-- > 0;) t->handles[i].release(t->handles[i].handle);
  t->handle_count = 0;
}

void odd_int64(struct trial* t, int64_t* field) {
  static const int64_t values[] = {0, -1, -100, 1, 2, INT64_MAX, INT64_MIN, (int64_t)1 << 40};
  if (below(t, 6) == 0) *field = values[below(t, 8)];
}
void odd_int32(struct trial* t, int32_t* field) {
  static const int32_t values[] = {0, -1, 1, 99, INT32_MAX, INT32_MIN};
  if (below(t, 6) == 0) *field = values[below(t, 6)];
}
void odd_double(struct trial* t, double* field) {
  static const double values[] = {0, -1, 1, 0.5, 1e308, 1e-320};
  if (below(t, 6) != 0) return;
  const size_t which = below(t, 9);
  *field = which < 6 ? values[which] : which == 6 ? (double)NAN : which == 7 ? (double)INFINITY : (double)-INFINITY;
}
void odd_float(struct trial* t, float* field) {
  double d = (double)*field;
  odd_double(t, &d);
  *field = (float)d;
}
void odd_bool(struct trial* t, bool* field) {
  if (below(t, 4) == 0) *field = !*field;
}
void odd_size(struct trial* t, size_t* struct_size) {
  static const size_t values[] = {0, 1, 7, 8, 9};
  if (below(t, 20) == 0) *struct_size = values[below(t, 5)];
}
