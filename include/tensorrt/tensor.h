/**
 * @file tensor.h
 * Tensors: creation from the host's memory, metadata, element access, lists, scopes.
 *
 * A trt_tensor is a strided, typed view of a storage (PyTorch's model). Handles are counted. Metadata is immutable, so any number of
 * threads may read a tensor at once; writing its elements needs external synchronization.
 */
#ifndef TENSORRT_TENSOR_H
#define TENSORRT_TENSOR_H

#include "tensorrt/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor handle. Thread class: counted, immutable metadata. */
typedef struct trt_tensor trt_tensor;
/** A list of tensors that an operator returned. Thread class: immutable. */
typedef struct trt_tensor_list trt_tensor_list;

/** Another reference to the same tensor: returns its argument, also a borrowed one, as a handle of yours. NULL gives NULL. @since 0.1 */
TRT_API trt_tensor* trt_tensor_retain(const trt_tensor* tensor);
/** Releases one reference; NULL is allowed; any thread, also while the process exits. @since 0.1 */
TRT_API void trt_tensor_release(trt_tensor* tensor);

/**
 * A contiguous tensor with a copy of `data` (row-major, as many elements as the sizes say). `data` may be NULL when there are no
 * elements, `sizes` when ndim is 0 (one element). @since 0.1
 */
TRT_API trt_status* trt_tensor_from_data(const void* data, const int64_t* sizes, size_t ndim, trt_dtype dtype, trt_tensor** out);
/**
 * A tensor on the host's own memory, without copying. `strides` in elements (non-negative), NULL for row-major. The memory must stay
 * valid until `deleter(ctx)` runs, once, when the last tensor on it is released (deleter may be NULL); when this function fails the
 * deleter is not called. @since 0.1
 */
TRT_API trt_status* trt_tensor_from_blob(void* data, const int64_t* sizes, const int64_t* strides, size_t ndim, trt_dtype dtype, trt_device device,
                                         trt_destroy_fn deleter, void* ctx, trt_tensor** out);
/** A 0-d tensor from a number; dtype TRT_DTYPE_NONE takes the number's own. @since 0.1 */
TRT_API trt_status* trt_tensor_from_scalar(trt_scalar value, trt_dtype dtype, trt_tensor** out);

/** Number of dimensions; 0 for NULL. @since 0.1 */
TRT_API size_t trt_tensor_ndim(const trt_tensor* tensor);
/** The sizes, borrowed from the tensor (ndim of them); NULL for NULL. @since 0.1 */
TRT_API const int64_t* trt_tensor_sizes(const trt_tensor* tensor);
/** The strides in elements, borrowed from the tensor; NULL for NULL. @since 0.1 */
TRT_API const int64_t* trt_tensor_strides(const trt_tensor* tensor);
/** Size of one dimension (negative counts from the end). @since 0.1 */
TRT_API trt_status* trt_tensor_size(const trt_tensor* tensor, int64_t dim, int64_t* out);
/** Number of elements; 0 for NULL. @since 0.1 */
TRT_API int64_t trt_tensor_numel(const trt_tensor* tensor);
/** The dtype; TRT_DTYPE_NONE for NULL. @since 0.1 */
TRT_API trt_dtype trt_tensor_dtype(const trt_tensor* tensor);
/** The device; the CPU for NULL. @since 0.1 */
TRT_API trt_device trt_tensor_device(const trt_tensor* tensor);
/** Offset of the first element in its storage, in elements. @since 0.1 */
TRT_API int64_t trt_tensor_storage_offset(const trt_tensor* tensor);
/** Whether the elements lie row-major without gaps. @since 0.1 */
TRT_API bool trt_tensor_is_contiguous(const trt_tensor* tensor);
/** Whether two tensors share one storage. @since 0.1 */
TRT_API bool trt_tensor_shares_storage(const trt_tensor* a, const trt_tensor* b);
/** How often tensors of its storage were changed in place. @since 0.1 */
TRT_API uint32_t trt_tensor_version(const trt_tensor* tensor);
/**
 * The first element, borrowed from the tensor; NULL for NULL, on the Meta device, and possibly without elements. Who writes through it
 * goes past autograd and the version counter. @since 0.1
 */
TRT_API void* trt_tensor_data(const trt_tensor* tensor);

/** The only element of a one-element tensor, as a number. @since 0.1 */
TRT_API trt_status* trt_tensor_item(const trt_tensor* tensor, trt_scalar* out);
/** The only element as a double. @since 0.1 */
TRT_API trt_status* trt_tensor_item_double(const trt_tensor* tensor, double* out);
/** The only element as an integer (floating-point numbers are truncated). @since 0.1 */
TRT_API trt_status* trt_tensor_item_int(const trt_tensor* tensor, int64_t* out);
/**
 * Copies all elements, row-major and converted to `dtype`, into `data`, which has room for `count` elements; `count` must be the number of
 * elements. @since 0.1
 */
TRT_API trt_status* trt_tensor_copy_to_host(const trt_tensor* tensor, void* data, trt_dtype dtype, int64_t count);
/**
 * The text that PyTorch prints with its default options: numbers, alignment and line breaks, the summary of more than 1,000 elements, and what
 * follows them (device, size, dtype, requires_grad, grad_fn) are the same. Only the name in grad_fn can be another one, where PyTorch computes
 * an operator through others: a linear layer shows LinearBackward0 here, AddmmBackward0 there. `out` is freed with trt_string_release. @since 0.1
 */
TRT_API trt_status* trt_tensor_to_string(const trt_tensor* tensor, char** out);

/** Number of tensors in a list; 0 for NULL. @since 0.1 */
TRT_API size_t trt_tensor_list_size(const trt_tensor_list* list);
/**
 * The handles of a list, in the form in which trt_sgd_create, trt_clip_grad_norm and other functions take tensors. Array and handles are borrowed
 * from the list; NULL for NULL and possibly for an empty list. @since 0.1
 */
TRT_API const trt_tensor* const* trt_tensor_list_data(const trt_tensor_list* list);
/** A new handle to element `index`, which the caller owns. @since 0.1 */
TRT_API trt_status* trt_tensor_list_get(const trt_tensor_list* list, size_t index, trt_tensor** out);
/** Releases the list and its references; NULL is allowed. @since 0.1 */
TRT_API void trt_tensor_list_release(trt_tensor_list* list);

/**
 * Begins a scope on this thread: every tensor handle that the library makes on it until the matching trt_scope_end is released by that
 * call, unless kept with trt_scope_keep. Scopes nest; those that are open when the thread ends, end with it. For languages whose collector does not
 * see native memory. @since 0.1
 */
TRT_API trt_status* trt_scope_begin(void);
/** Ends the innermost scope of this thread. @since 0.1 */
TRT_API trt_status* trt_scope_end(void);
/** Takes a handle out of this thread's scopes: the caller releases it. @since 0.1 */
TRT_API trt_status* trt_scope_keep(trt_tensor* tensor);

/** The thread's default floating dtype (float32 at first). @since 0.1 */
TRT_API trt_dtype trt_get_default_dtype(void);
/** Sets it: float32, float64, float16 or bfloat16. @since 0.1 */
TRT_API trt_status* trt_set_default_dtype(trt_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
