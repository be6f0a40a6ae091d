/**
 * @file dispatcher.h
 * The operator table: listing, schemas, and calls by name with boxed values. For generic hosts (language bindings, test drivers, tracing);
 * the typed functions of ops.h are faster.
 *
 * Thread class: the table is internally synchronized, calls are as those of ops.h.
 */
#ifndef TENSORRT_DISPATCHER_H
#define TENSORRT_DISPATCHER_H

#include "tensorrt/base.h"
#include "tensorrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds of a boxed value; the numbers are pinned. */
typedef enum trt_value_kind {
  TRT_VALUE_NONE = 0,
  TRT_VALUE_TENSOR = 1,
  TRT_VALUE_BOOL = 2,
  TRT_VALUE_INT = 3,
  TRT_VALUE_DOUBLE = 4,
  TRT_VALUE_STRING = 5,
  TRT_VALUE_DTYPE = 6,
  TRT_VALUE_DEVICE = 7,
  TRT_VALUE_GENERATOR = 8,
  TRT_VALUE_TENSOR_LIST = 9, /**< count handles; NULL elements where the schema says Tensor?[] */
  TRT_VALUE_INT_LIST = 10,
  TRT_VALUE_DOUBLE_LIST = 11,
  TRT_VALUE_COMPLEX = 12
} trt_value_kind;

/**
 * A boxed value. As an argument everything it points to is borrowed. As a result: a tensor is a new handle, a tensor list an array of
 * new handles, and all of it is released together by trt_values_release.
 */
typedef struct trt_value {
  int32_t kind;   /**< a trt_value_kind */
  int32_t reserved;
  size_t count;   /**< of a list */
  union {
    int64_t i;    /**< BOOL, INT, DTYPE */
    double d;
    double c[2];  /**< COMPLEX: real and imaginary part */
    trt_device device;
    trt_tensor* tensor;
    trt_generator* generator;
    const char* string;
    trt_tensor** tensors;
    const int64_t* ints;
    const double* doubles;
  } v;
} trt_value;

/**
 * Calls operator `name` (with overload: "add.Scalar"). `args` fill the schema's arguments from the left; `names[i]` (may be NULL, as may `names`)
 * makes args[i] a keyword argument. Missing arguments take their defaults; numbers are converted as the schema asks. *out receives
 * *out_count results, released with trt_values_release. @since 0.1
 */
TRT_API trt_status* trt_op_call(const char* name, const trt_value* args, const char* const* names, size_t count, trt_value** out, size_t* out_count);
/** Releases results of trt_op_call and the array; NULL is allowed. @since 0.1 */
TRT_API void trt_values_release(trt_value* values, size_t count);

/** Number of operator variants in the table. @since 0.1 */
TRT_API size_t trt_op_count(void);
/** Name (with overload) of entry `index`, a constant; NULL beyond the end. Sorted; indices change when operators are added. @since 0.1 */
TRT_API const char* trt_op_name(size_t index);
/** The schema of an operator in PyTorch's grammar; freed with trt_string_release. @since 0.1 */
TRT_API trt_status* trt_op_schema(const char* name, char** out);
/** The dispatch table of an operator, one line a key; freed with trt_string_release. @since 0.1 */
TRT_API trt_status* trt_dispatcher_dump(const char* name, char** out);

#ifdef __cplusplus
}
#endif

#endif
