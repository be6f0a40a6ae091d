/*
 * Arguments for the generated program bad_args.c: plausible ones, and everything that a careless host may pass.
 *
 * One trial is one call. Its arguments come from the arg_* functions, which note in the trial what makes the call invalid (then it must
 * fail), and remember the tensors, so that end_trial can see whether a failed call changed one.
 */
#ifndef BAD_ARGS_SUPPORT_H
#define BAD_ARGS_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tensorrt/autograd.h"
#include "tensorrt/base.h"
#include "tensorrt/data.h"
#include "tensorrt/dispatcher.h"
#include "tensorrt/io.h"
#include "tensorrt/nn.h"
#include "tensorrt/ops.h"
#include "tensorrt/optim.h"
#include "tensorrt/tensor.h"

enum { kMaxTensors = 24, kMaxOuts = 8, kMaxHandles = 8 };

struct trial {
  const char* function;
  uint64_t random;
  int focus;            /* the parameter that must be bad in this trial; -1: any may be */
  int index;            /* of the parameter that is made next */
  const char* must_fail; /* why the call is invalid, or NULL */
  char text[1024];      /* the arguments, for messages */
  int tensor_count;
  struct {
    trt_tensor* tensor;
    bool checked;
    uint64_t hash;
  } tensors[kMaxTensors];
  int handle_count;
  struct {
    void* handle;
    void (*release)(void*);
  } handles[kMaxHandles];
};

/* What an out-parameter holds before the call. */
#define SENTINEL(type) ((type)(uintptr_t)0x5A5A5A5A5A5A5A50u)

/* A number from 0 to n - 1. */
size_t below(struct trial* t, size_t n);
/* Making an argument must not fail. */
void must(trt_status* s);

trt_tensor* arg_tensor(struct trial* t, bool required);
struct tensor_list {
  const trt_tensor* items[4];
  const trt_tensor* const* data;
  size_t count;
};
void arg_tensor_list(struct trial* t, struct tensor_list* out, bool optional_elements);
struct int_list {
  int64_t items[128];
  const int64_t* data;
  size_t count;
};
void arg_int_list(struct trial* t, struct int_list* out);
struct double_list {
  double items[4];
  const double* data;
  size_t count;
};
void arg_double_list(struct trial* t, struct double_list* out);
struct string_list {
  const char* items[8];
  const char* const* data;
  size_t count;
};
/* Texts; without a count of their own eight of them, enough for every other list. */
void arg_string_list(struct trial* t, struct string_list* out, bool own_count);
struct handle_list {
  void* items[4];
  size_t count;
};
int64_t arg_int(struct trial* t);
const int64_t* arg_optional_int(struct trial* t, int64_t* storage);
double arg_double(struct trial* t);
const double* arg_optional_double(struct trial* t, double* storage);
bool arg_bool(struct trial* t);
const bool* arg_optional_bool(struct trial* t, bool* storage);
trt_scalar arg_scalar(struct trial* t);
const trt_scalar* arg_optional_scalar(struct trial* t, trt_scalar* storage);
/* An unknown dtype is always invalid, TRT_DTYPE_NONE where one is required. */
trt_dtype arg_dtype(struct trial* t, bool required);
trt_device arg_device(struct trial* t);
const trt_device* arg_optional_device(struct trial* t, trt_device* storage);
const char* arg_string(struct trial* t, bool required);
trt_generator* arg_generator(struct trial* t);
int arg_enum(struct trial* t);
size_t arg_index(struct trial* t);
/* Whether a pointer parameter (an output, a structure, a handle of another type) shall be NULL. */
bool arg_null(struct trial* t, bool required, const char* what);

bool arg_null_handle(struct trial* t, bool required, const char* what);
trt_module* arg_trt_module(struct trial* t, bool required);
trt_state_dict* arg_trt_state_dict(struct trial* t, bool required);
trt_optimizer* arg_trt_optimizer(struct trial* t, bool required);
trt_scheduler* arg_trt_scheduler(struct trial* t, bool required);
trt_safetensors* arg_trt_safetensors(struct trial* t, bool required);
trt_dataset* arg_trt_dataset(struct trial* t, bool required);
trt_data_loader* arg_trt_data_loader(struct trial* t, bool required);
trt_tensor_list* arg_trt_tensor_list(struct trial* t, bool required);
trt_status* arg_trt_status(struct trial* t, bool required);
void arg_list_trt_module(struct trial* t, struct handle_list* out);
void arg_list_trt_scheduler(struct trial* t, struct handle_list* out);
void release_handles(struct trial* t);

/* A field of a structure of options: now and then an odd value. */
void odd_int64(struct trial* t, int64_t* field);
void odd_int32(struct trial* t, int32_t* field);
void odd_double(struct trial* t, double* field);
void odd_float(struct trial* t, float* field);
void odd_bool(struct trial* t, bool* field);
void odd_size(struct trial* t, size_t* struct_size);

/* Judges what the call returned and releases the status; true when it succeeded. */
bool end_trial(struct trial* t, trt_status* status);
/* An out-parameter after the call. */
void check_out(struct trial* t, bool success, bool changed, const char* name);
/* A fault of the library in this trial. */
void complain(struct trial* t, const char* what);
void release_inputs(struct trial* t);
/* Right before the call: where we are, should it not come back. */
void announce(struct trial* t);

/* By hand: functions that take raw memory or boxed values. */
void raw_memory_trials(struct trial* t);
void op_call_trials(struct trial* t);

struct bad_args_function {
  const char* name;
  int parameters;
  void (*call)(struct trial*);
};
extern const struct bad_args_function kFunctions[];
extern const int kFunctionCount;

#endif
