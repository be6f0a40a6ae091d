// The C side of the Go binding: what SWIG's wrappers and native.go stand on.
#ifndef TRTGO_H
#define TRTGO_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tensorrt/tensorrt.h"

typedef const char* trtgo_borrowed;

// The scope that is open on this thread, a number from 1 to 1023; 0 for none.
extern __thread uintptr_t trtgo_scope;

// What a call that makes a tensor returns, in one word. Failure: the status + 1. Success: the handle (0 for none), and
//   bit 1        the tensor may hold much: more than 256 bytes, or a graph
//   bits 48..53  the binary logarithm of its bytes
//   bits 54..63  the scope of this thread
// Objects are aligned to 8 bytes, and addresses of the host's memory have 47 bits.
static inline trt_status* trtgo_result(trt_status* status, const trt_tensor* tensor) {
  if (status) return (trt_status*)((uintptr_t)status | 1);
  if (!tensor) return NULL;
  const uint64_t bytes = (uint64_t)trt_tensor_numel(tensor) * trt_dtype_size(trt_tensor_dtype(tensor));
  uintptr_t word = (uintptr_t)tensor | trtgo_scope << 54;
  if (bytes > 256 || trt_tensor_requires_grad(tensor)) word |= 2;
  if (bytes) word |= (uintptr_t)(63 - __builtin_clzll(bytes)) << 48;
  return (trt_status*)word;
}

// A text of Go, made NUL-terminated for a call.
typedef struct trtgo_text {
  char* heap;
  char inside[64];
} trtgo_text;
static inline char* trtgo_text_in(trtgo_text* text, const char* p, ptrdiff_t n) {
  text->heap = NULL;
  if (n == 1 && !*p) return NULL;
  char* to = text->inside;
  if (n >= (ptrdiff_t)sizeof text->inside) {
    to = text->heap = (char*)malloc((size_t)n + 1);
    if (!to) return NULL;
  }
  if (n) memcpy(to, p, (size_t)n);
  to[n] = 0;
  return to;
}
static inline void trtgo_text_free(trtgo_text* text) { free(text->heap); }

// Releases many tensors in one call.
void trtgo_release(const uintptr_t* tensors, size_t count);
// The status of an error of Go, which goes back into the library; it carries a cgo.Handle.
trt_status* trtgo_status(int code, const char* message, size_t length, uintptr_t handle);
// That handle; 0 for a status of another origin.
uintptr_t trtgo_status_handle(uintptr_t status);

// What the library asks of Go. `kind` is one of the numbers below; other fields are used by some of them.
enum { TRTGO_DESTROY, TRTGO_HOOK, TRTGO_BACKWARD, TRTGO_FORWARD, TRTGO_VISIT, TRTGO_GET, TRTGO_MAP, TRTGO_LR, TRTGO_LOG, TRTGO_MODULE_HOOK };
typedef struct trtgo_call {
  uintptr_t handle; // a cgo.Handle
  int64_t kind;
  const uintptr_t* in; // handles, borrowed
  size_t in_count;
  uintptr_t* out; // handles, the library's
  size_t out_count;
  int64_t index;     // of a sample; the epoch; the log level
  int64_t group;     // of an optimizer
  double factor;     // of a learning rate: the result
  uintptr_t module;  // borrowed
  const char* message;
} trtgo_call;

// The functions of the C API that take a callback: `handle` is a cgo.Handle, deleted when the library lets go of it.
trt_status* trtgo_set_log_callback(uintptr_t handle);
trt_status* trtgo_tensor_add_hook(uintptr_t tensor, uintptr_t handle, uint64_t* out_id);
trt_status* trtgo_module_add_hook(uintptr_t module, bool before, uintptr_t handle, uint64_t* out_id);
trt_status* trtgo_module_apply(uintptr_t module, uintptr_t handle);
trt_status* trtgo_custom_module_create(const char* type_name, uintptr_t handle, uintptr_t* out);
trt_status* trtgo_dataset_from_callback(int64_t size, size_t fields, uintptr_t handle, uintptr_t* out);
trt_status* trtgo_dataset_map(uintptr_t dataset, size_t fields, uintptr_t handle, uintptr_t* out);
trt_status* trtgo_lambda_lr_create(uintptr_t optimizer, uintptr_t handle, uintptr_t* out);
trt_status* trtgo_custom_function(const char* name, const uintptr_t* inputs, size_t inputs_count, const uintptr_t* outputs, size_t outputs_count,
                                  uintptr_t handle, uintptr_t* out);

// The rest of what SWIG does not wrap. Tensors made come as words.
uintptr_t trtgo_tensor_from_data(const void* data, const int64_t* sizes, size_t ndim, int dtype);
// On memory from trtgo_malloc, which is freed with the tensor; also when this fails.
uintptr_t trtgo_tensor_from_malloc(uintptr_t data, const int64_t* sizes, size_t ndim, int dtype);
uintptr_t trtgo_malloc(size_t bytes);
void trtgo_free(uintptr_t p);
void trtgo_describe(uintptr_t* tensors, size_t count);
uintptr_t trtgo_retain(uintptr_t tensor);
uintptr_t trtgo_retain_module(uintptr_t module);
size_t trtgo_list_size(uintptr_t list);
void trtgo_list_take(uintptr_t list, uintptr_t* words);
// Sizes (0) or strides (1) into `out`, at most `room` of them; the number of dimensions.
size_t trtgo_shape(uintptr_t tensor, int what, int64_t* out, int64_t room);
void trtgo_file_sizes(uintptr_t file, size_t index, int64_t* out);
// The scope before.
uintptr_t trtgo_set_scope(uintptr_t number);
trt_status* trtgo_grad(const uintptr_t* outputs, size_t outputs_count, const uintptr_t* inputs, size_t inputs_count, const uintptr_t* grads, size_t grads_count,
                       bool retain_graph, bool create_graph, bool allow_unused, uintptr_t* out);
trt_status* trtgo_state_dict_save(uintptr_t dict, const char* path, const uintptr_t* keys, const uintptr_t* values, size_t count);
trt_status* trtgo_optimizer_add_group(uintptr_t optimizer, const uintptr_t* params, size_t count, const uintptr_t* names, const double* values, size_t option_count);
// trt_op_call with its arguments in columns: kinds, words (what a value is or points to), counts, names (0: none).
typedef struct trtgo_values {
  trt_value* values;
  size_t count;
} trtgo_values;
trt_status* trtgo_op_call(uintptr_t name, const int64_t* kinds, const uint64_t* words, const int64_t* counts, const uintptr_t* names, size_t count, trtgo_values* out);
uintptr_t trtgo_value_tensor(const trt_value* values, size_t index, size_t element);

// For the check of structs.go.
enum {
  offsetof_linear_dtype = offsetof(trt_linear_options, dtype),
  offsetof_embedding_padding_idx = offsetof(trt_embedding_options, padding_idx),
  offsetof_conv_padding_same = offsetof(trt_conv_options, padding_same),
  offsetof_conv_dtype = offsetof(trt_conv_options, dtype),
  offsetof_norm_track = offsetof(trt_norm_options, track_running_stats),
  offsetof_norm_dtype = offsetof(trt_norm_options, dtype),
  offsetof_recurrent_relu = offsetof(trt_recurrent_options, relu),
  offsetof_pool_count_include_pad = offsetof(trt_pool_options, count_include_pad),
  offsetof_convnd_padding_same = offsetof(trt_convnd_options, padding_same),
  offsetof_convnd_padding_mode = offsetof(trt_convnd_options, padding_mode),
  offsetof_convnd_dtype = offsetof(trt_convnd_options, dtype),
  offsetof_poolnd_count_include_pad = offsetof(trt_poolnd_options, count_include_pad),
  offsetof_embedding_bag_has_padding_idx = offsetof(trt_embedding_bag_options, has_padding_idx),
  offsetof_embedding_bag_padding_idx = offsetof(trt_embedding_bag_options, padding_idx),
  offsetof_attention_batch_first = offsetof(trt_attention_options, batch_first),
  offsetof_attention_dtype = offsetof(trt_attention_options, dtype),
  offsetof_transformer_gelu = offsetof(trt_transformer_options, gelu),
  offsetof_transformer_dtype = offsetof(trt_transformer_options, dtype),
  offsetof_sgd_weight_decay = offsetof(trt_sgd_options, weight_decay),
  offsetof_adam_maximize = offsetof(trt_adam_options, maximize),
  offsetof_one_cycle_pct_start = offsetof(trt_one_cycle_options, pct_start),
  offsetof_image_mean = offsetof(trt_image_options, mean),
  offsetof_loader_num_workers = offsetof(trt_data_loader_options, num_workers),
  offsetof_loader_seed = offsetof(trt_data_loader_options, seed)
};

#endif
