// Callbacks: the library calls a function here, which calls trtgoCallback, the one exported function of Go.
#include "trtgo.h"

#include "_cgo_export.h"

__thread uintptr_t trtgo_scope;

void trtgo_release(const uintptr_t* tensors, size_t count) {
  for (size_t i = 0; i < count; ++i) trt_tensor_release((trt_tensor*)tensors[i]);
}

static trt_status* call(trtgo_call* c, int kind, void* user_data) {
  c->kind = kind;
  c->handle = (uintptr_t)user_data;
  return (trt_status*)trtgoCallback(c);
}

static void on_destroy(void* user_data) {
  trtgo_call c = {0};
  call(&c, TRTGO_DESTROY, user_data);
}

// Of its own: so the payloads of statuses are told from those of others.
static void on_status_destroy(void* user_data) { on_destroy(user_data); }
trt_status* trtgo_status(int code, const char* message, size_t length, uintptr_t handle) {
  trtgo_text text;
  char* copy = trtgo_text_in(&text, message, (ptrdiff_t)length);
  trt_status* status = trt_status_create_with((trt_code)code, copy ? copy : "", (void*)handle, on_status_destroy);
  trtgo_text_free(&text);
  return status;
}
uintptr_t trtgo_status_handle(uintptr_t status) { return (uintptr_t)trt_status_payload((const trt_status*)status, on_status_destroy); }

static void on_log(int level, const char* message, void* user_data) {
  trtgo_call c = {.index = level, .message = message};
  call(&c, TRTGO_LOG, user_data);
}
trt_status* trtgo_set_log_callback(uintptr_t handle) {
  return handle ? trt_set_log_callback(on_log, (void*)handle, on_destroy) : trt_set_log_callback(NULL, NULL, NULL);
}

static trt_status* on_hook(const trt_tensor* grad, trt_tensor** out, void* user_data) {
  uintptr_t in = (uintptr_t)grad;
  trtgo_call c = {.in = &in, .in_count = 1, .out = (uintptr_t*)out, .out_count = 1};
  return call(&c, TRTGO_HOOK, user_data);
}
trt_status* trtgo_tensor_add_hook(uintptr_t tensor, uintptr_t handle, uint64_t* out_id) {
  return trt_tensor_add_hook((trt_tensor*)tensor, on_hook, (void*)handle, on_destroy, out_id);
}

// A hook before the forward function sees the input alone.
static trt_status* on_module_pre_hook(trt_module* module, const trt_tensor* input, trt_tensor** out, void* user_data) {
  uintptr_t in = (uintptr_t)input;
  trtgo_call c = {.in = &in, .in_count = 1, .out = (uintptr_t*)out, .out_count = 1, .module = (uintptr_t)module};
  return call(&c, TRTGO_MODULE_HOOK, user_data);
}
static trt_status* on_module_hook(trt_module* module, const trt_tensor* input, const trt_tensor* output, trt_tensor** out, void* user_data) {
  const uintptr_t in[2] = {(uintptr_t)input, (uintptr_t)output};
  trtgo_call c = {.in = in, .in_count = 2, .out = (uintptr_t*)out, .out_count = 1, .module = (uintptr_t)module};
  return call(&c, TRTGO_MODULE_HOOK, user_data);
}
trt_status* trtgo_module_add_hook(uintptr_t module, bool before, uintptr_t handle, uint64_t* out_id) {
  return before ? trt_module_add_forward_pre_hook((trt_module*)module, on_module_pre_hook, (void*)handle, on_destroy, out_id)
                : trt_module_add_forward_hook((trt_module*)module, on_module_hook, (void*)handle, on_destroy, out_id);
}

static trt_status* on_visit(trt_module* module, void* user_data) {
  trtgo_call c = {.module = (uintptr_t)module};
  return call(&c, TRTGO_VISIT, user_data);
}
trt_status* trtgo_module_apply(uintptr_t module, uintptr_t handle) {
  return trt_module_apply((trt_module*)module, on_visit, (void*)handle, on_destroy);
}

static trt_status* on_forward(trt_module* self, const trt_tensor* input, trt_tensor** out, void* user_data) {
  uintptr_t in = (uintptr_t)input;
  trtgo_call c = {.in = &in, .in_count = 1, .out = (uintptr_t*)out, .out_count = 1, .module = (uintptr_t)self};
  return call(&c, TRTGO_FORWARD, user_data);
}
trt_status* trtgo_custom_module_create(const char* type_name, uintptr_t handle, uintptr_t* out) {
  return trt_custom_module_create(type_name, on_forward, (void*)handle, on_destroy, (trt_module**)out);
}

static trt_status* on_get(int64_t index, trt_tensor** out, size_t fields, void* user_data) {
  trtgo_call c = {.out = (uintptr_t*)out, .out_count = fields, .index = index};
  return call(&c, TRTGO_GET, user_data);
}
trt_status* trtgo_dataset_from_callback(int64_t size, size_t fields, uintptr_t handle, uintptr_t* out) {
  return trt_dataset_from_callback(size, fields, on_get, (void*)handle, on_destroy, (trt_dataset**)out);
}

static trt_status* on_map(const trt_tensor* const* in, size_t in_count, trt_tensor** out, size_t fields, void* user_data) {
  trtgo_call c = {.in = (const uintptr_t*)in, .in_count = in_count, .out = (uintptr_t*)out, .out_count = fields};
  return call(&c, TRTGO_MAP, user_data);
}
trt_status* trtgo_dataset_map(uintptr_t dataset, size_t fields, uintptr_t handle, uintptr_t* out) {
  return trt_dataset_map((trt_dataset*)dataset, fields, on_map, (void*)handle, on_destroy, (trt_dataset**)out);
}

static trt_status* on_lr(int64_t epoch, size_t group, double* out_factor, void* user_data) {
  trtgo_call c = {.index = epoch, .group = (int64_t)group};
  trt_status* status = call(&c, TRTGO_LR, user_data);
  *out_factor = c.factor;
  return status;
}
trt_status* trtgo_lambda_lr_create(uintptr_t optimizer, uintptr_t handle, uintptr_t* out) {
  return trt_lambda_lr_create((trt_optimizer*)optimizer, on_lr, (void*)handle, on_destroy, (trt_scheduler**)out);
}

static trt_status* on_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* user_data) {
  trtgo_call c = {.in = (const uintptr_t*)grads, .in_count = grads_count, .out = (uintptr_t*)out, .out_count = out_count};
  return call(&c, TRTGO_BACKWARD, user_data);
}
trt_status* trtgo_custom_function(const char* name, const uintptr_t* inputs, size_t inputs_count, const uintptr_t* outputs, size_t outputs_count,
                                  uintptr_t handle, uintptr_t* out) {
  return trt_custom_function(name, (const trt_tensor* const*)inputs, inputs_count, (const trt_tensor* const*)outputs, outputs_count, on_backward, (void*)handle,
                             on_destroy, (trt_tensor**)out);
}

uintptr_t trtgo_tensor_from_data(const void* data, const int64_t* sizes, size_t ndim, int dtype) {
  trt_tensor* out = NULL;
  trt_status* status = trt_tensor_from_data(data, sizes, ndim, (trt_dtype)dtype, &out);
  return (uintptr_t)trtgo_result(status, out);
}

uintptr_t trtgo_tensor_from_malloc(uintptr_t data, const int64_t* sizes, size_t ndim, int dtype) {
  const trt_device cpu = {TRT_CPU, 0};
  trt_tensor* out = NULL;
  trt_status* status = trt_tensor_from_blob((void*)data, sizes, NULL, ndim, (trt_dtype)dtype, cpu, free, (void*)data, &out);
  if (status) free((void*)data);
  return (uintptr_t)trtgo_result(status, out);
}

uintptr_t trtgo_malloc(size_t bytes) { return (uintptr_t)calloc(bytes ? bytes : 1, 1); }
void trtgo_free(uintptr_t p) { free((void*)p); }

void trtgo_describe(uintptr_t* tensors, size_t count) {
  for (size_t i = 0; i < count; ++i) tensors[i] = (uintptr_t)trtgo_result(NULL, (const trt_tensor*)tensors[i]);
}

uintptr_t trtgo_retain(uintptr_t tensor) { return (uintptr_t)trt_tensor_retain((trt_tensor*)tensor); }
uintptr_t trtgo_retain_module(uintptr_t module) { return (uintptr_t)trt_module_retain((trt_module*)module); }

size_t trtgo_list_size(uintptr_t list) { return trt_tensor_list_size((const trt_tensor_list*)list); }
void trtgo_list_take(uintptr_t list, uintptr_t* words) {
  const size_t count = trtgo_list_size(list);
  const trt_tensor* const* tensors = trt_tensor_list_data((const trt_tensor_list*)list);
  for (size_t i = 0; i < count; ++i) words[i] = (uintptr_t)trtgo_result(NULL, trt_tensor_retain(tensors[i]));
  trt_tensor_list_release((trt_tensor_list*)list);
}

size_t trtgo_shape(uintptr_t tensor, int what, int64_t* out, int64_t room) {
  const trt_tensor* t = (const trt_tensor*)tensor;
  const size_t ndim = trt_tensor_ndim(t);
  const int64_t* from = what ? trt_tensor_strides(t) : trt_tensor_sizes(t);
  for (size_t i = 0; i < ndim && (int64_t)i < room; ++i) out[i] = from[i];
  return ndim;
}

void trtgo_file_sizes(uintptr_t file, size_t index, int64_t* out) {
  const trt_safetensors* f = (const trt_safetensors*)file;
  const size_t ndim = trt_safetensors_ndim(f, index);
  const int64_t* sizes = trt_safetensors_sizes(f, index);
  for (size_t i = 0; i < ndim; ++i) out[i] = sizes[i];
}

uintptr_t trtgo_set_scope(uintptr_t number) {
  const uintptr_t before = trtgo_scope;
  trtgo_scope = number;
  return before;
}

trt_status* trtgo_grad(const uintptr_t* outputs, size_t outputs_count, const uintptr_t* inputs, size_t inputs_count, const uintptr_t* grads, size_t grads_count,
                       bool retain_graph, bool create_graph, bool allow_unused, uintptr_t* out) {
  return trt_grad((const trt_tensor* const*)outputs, outputs_count, (const trt_tensor* const*)inputs, inputs_count, (const trt_tensor* const*)grads, grads_count,
                  retain_graph, create_graph, allow_unused, (trt_tensor**)out);
}

trt_status* trtgo_state_dict_save(uintptr_t dict, const char* path, const uintptr_t* keys, const uintptr_t* values, size_t count) {
  return trt_state_dict_save((const trt_state_dict*)dict, path, (const char* const*)keys, (const char* const*)values, count);
}

trt_status* trtgo_optimizer_add_group(uintptr_t optimizer, const uintptr_t* params, size_t count, const uintptr_t* names, const double* values, size_t option_count) {
  return trt_optimizer_add_group((trt_optimizer*)optimizer, (const trt_tensor* const*)params, count, (const char* const*)names, values, option_count);
}

trt_status* trtgo_op_call(uintptr_t name, const int64_t* kinds, const uint64_t* words, const int64_t* counts, const uintptr_t* names, size_t count, trtgo_values* out) {
  trt_value* args = (trt_value*)calloc(count ? count : 1, sizeof *args);
  if (!args) return trt_status_create(TRT_OUT_OF_MEMORY, "trt_op_call: no memory");
  for (size_t i = 0; i < count; ++i) {
    args[i].kind = (int32_t)kinds[i];
    args[i].count = (size_t)counts[i];
    memcpy(&args[i].v, &words[i], sizeof words[i]);
  }
  trt_status* status = trt_op_call((const char*)name, args, (const char* const*)names, count, &out->values, &out->count);
  free(args);
  return status;
}

uintptr_t trtgo_value_tensor(const trt_value* values, size_t index, size_t element) {
  const trt_value* v = &values[index];
  trt_tensor* t = v->kind == TRT_VALUE_TENSOR_LIST ? v->v.tensors[element] : v->v.tensor;
  return (uintptr_t)trtgo_result(NULL, trt_tensor_retain(t));
}
