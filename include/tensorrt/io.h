/**
 * @file io.h
 * Files: safetensors (named tensors with a map of strings) and IDX (the arrays of MNIST and its relatives).
 *
 * Errors that every function here may give: TRT_NOT_FOUND when there is no such file, TRT_IO with the system's reason when reading or
 * writing failed, TRT_DATA when a file's content is not what its format demands, TRT_INVALID_ARGUMENT for a NULL argument or a path that is
 * no regular file. Every message names the file and what is wrong.
 */
#ifndef TENSORRT_IO_H
#define TENSORRT_IO_H

#include "tensorrt/base.h"
#include "tensorrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * An open safetensors file. Its header was validated completely: exact JSON, unique names, dtypes and shapes that agree with the offsets,
 * data without hole or overlap that ends with the file. Thread class: counted, immutable.
 */
typedef struct trt_safetensors trt_safetensors;

/** How tensors come out of a file; the numbers are pinned. */
typedef enum trt_load_mode {
  /**
   * On a private mapping of the file, without copying, where the data is aligned (copied otherwise). The mapping stays until the last tensor
   * on it is released, also after the reader. Writing to such a tensor never changes the file; asking a reader twice for a name gives two
   * tensors on the same memory, with one version counter. The file must not be shortened meanwhile (replacing it, as trt_safetensors_save does, is safe).
   */
  TRT_LOAD_MAP = 0,
  TRT_LOAD_COPY = 1 /**< in memory of the library */
} trt_load_mode;

/**
 * Opens and validates a file. `out` receives a reader that the caller releases. TRT_DATA when anything about the header is wrong; a tensor
 * of a dtype that the library lacks is an error only when it is asked for. @since 0.1
 */
TRT_API trt_status* trt_safetensors_open(const char* path, trt_safetensors** out);
/** Another reference (returns its argument). NULL gives NULL. Any thread. @since 0.1 */
TRT_API trt_safetensors* trt_safetensors_retain(trt_safetensors* file);
/** Releases; NULL is allowed. Tensors that were taken from it stay valid. Any thread. @since 0.1 */
TRT_API void trt_safetensors_release(trt_safetensors* file);

/** Number of tensors; 0 for NULL. @since 0.1 */
TRT_API size_t trt_safetensors_size(const trt_safetensors* file);
/** The name of tensor `index` in the order of the file's header, borrowed from the reader; NULL beyond the end. @since 0.1 */
TRT_API const char* trt_safetensors_name(const trt_safetensors* file, size_t index);
/** The position of a name. TRT_NOT_FOUND when there is none. @since 0.1 */
TRT_API trt_status* trt_safetensors_find(const trt_safetensors* file, const char* name, size_t* out);
/** The dtype of tensor `index`; TRT_DTYPE_NONE beyond the end and for a dtype that the library lacks. @since 0.1 */
TRT_API trt_dtype trt_safetensors_dtype(const trt_safetensors* file, size_t index);
/** The dtype as the file says it ("F32"), borrowed from the reader; NULL beyond the end. @since 0.1 */
TRT_API const char* trt_safetensors_dtype_text(const trt_safetensors* file, size_t index);
/** Number of dimensions of tensor `index`; 0 beyond the end. @since 0.1 */
TRT_API size_t trt_safetensors_ndim(const trt_safetensors* file, size_t index);
/** The sizes of tensor `index`, borrowed from the reader; NULL beyond the end, and possibly without dimensions. @since 0.1 */
TRT_API const int64_t* trt_safetensors_sizes(const trt_safetensors* file, size_t index);

/**
 * The tensor of a name: a new handle. TRT_NOT_FOUND when there is none, TRT_NOT_SUPPORTED for a dtype that the library lacks, TRT_DATA for a
 * bool tensor with bytes other than 0 and 1. @since 0.1
 */
TRT_API trt_status* trt_safetensors_tensor(const trt_safetensors* file, const char* name, trt_load_mode mode, trt_tensor** out);
/** All tensors, in the order of the names; the caller releases the list. @since 0.1 */
TRT_API trt_status* trt_safetensors_tensors(const trt_safetensors* file, trt_load_mode mode, trt_tensor_list** out);

/** Number of metadata entries; 0 for NULL. @since 0.1 */
TRT_API size_t trt_safetensors_metadata_size(const trt_safetensors* file);
/** Key of entry `index` in the file's order, borrowed from the reader; NULL beyond the end. @since 0.1 */
TRT_API const char* trt_safetensors_metadata_key(const trt_safetensors* file, size_t index);
/** Value of entry `index`, borrowed from the reader; NULL beyond the end. @since 0.1 */
TRT_API const char* trt_safetensors_metadata_value(const trt_safetensors* file, size_t index);
/** The value of a key, borrowed from the reader; NULL when there is none. @since 0.1 */
TRT_API const char* trt_safetensors_metadata(const trt_safetensors* file, const char* key);

/**
 * Saves `count` CPU tensors (any strides) under their names, with `metadata_count` strings under their keys, in the order given. Atomic: the
 * content is written to a temporary file in the same directory and takes the place of `path` only when it is complete and on the disk; on
 * any error (a full disk, say) the temporary is removed and what was at `path` is untouched. TRT_INVALID_ARGUMENT, before anything is
 * written, for names or keys that are not unique or not UTF-8 and for the name "__metadata__"; TRT_NOT_SUPPORTED, likewise, for complex128, which the
 * format cannot name (trt_view_as_real gives what it can). The tensors must not be written meanwhile.
 * @since 0.1
 */
TRT_API trt_status* trt_safetensors_save(const char* path, const char* const* names, const trt_tensor* const* tensors, size_t count,
                                         const char* const* metadata_keys, const char* const* metadata_values, size_t metadata_count);

/**
 * Loads an IDX file, plain or compressed with gzip: a contiguous tensor of the file's dtype (uint8, int8, int16, int32, float32, float64)
 * and sizes. TRT_DATA when the content is not exactly one array: wrong magic, unknown dtype, too short, too long, damaged or truncated
 * compression. @since 0.1
 */
TRT_API trt_status* trt_idx_load(const char* path, trt_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
