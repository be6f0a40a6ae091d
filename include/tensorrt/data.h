/**
 * @file data.h
 * Datasets and the loader that makes batches of them.
 *
 * A dataset has a fixed number of samples; a sample is a list of CPU tensors. A batch is the same list, each tensor with a new first
 * dimension. Batches are new memory and carry no gradient history.
 */
#ifndef TENSORRT_DATA_H
#define TENSORRT_DATA_H

#include "tensorrt/base.h"
#include "tensorrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where samples come from. Thread class: counted, immutable; all calls from any thread. */
typedef struct trt_dataset trt_dataset;
/**
 * Iterates over a dataset in batches. Thread class: counted (retain and release on any thread); next, reset and get functions need external
 * synchronization.
 */
typedef struct trt_data_loader trt_data_loader;

/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_dataset* trt_dataset_retain(trt_dataset* dataset);
/** Releases; NULL is allowed. Subsets, maps and loaders hold references of their own. @since 0.1 */
TRT_API void trt_dataset_release(trt_dataset* dataset);

/**
 * Row i of every tensor is sample i. The CPU tensors ([N, ...], one N, any strides, at least one tensor) are held, not copied. @since 0.1
 */
TRT_API trt_status* trt_dataset_from_tensors(const trt_tensor* const* tensors, size_t count, trt_dataset** out);

/** How images are given. Set it up with trt_image_options_init. */
typedef struct trt_image_options {
  size_t struct_size;
  bool normalize;   /**< to float32, (pixel / 255 - mean) / std; false gives the uint8 as they are. At first true */
  bool add_channel; /**< [H, W] becomes [1, H, W]. At first true */
  float mean;       /**< at first 0 */
  float std;        /**< not 0; at first 1 */
} trt_image_options;
/** The values above. @since 0.1 */
TRT_API void trt_image_options_init(trt_image_options* options);
/**
 * uint8 images [N, H, W] (or other sizes after N) and integer labels [N], which become int64: samples (image, label). `labels` may be NULL:
 * samples (image). `options` may be NULL for the initial values. Contiguous images are held, others copied. @since 0.1
 */
TRT_API trt_status* trt_dataset_from_images(const trt_tensor* images, const trt_tensor* labels, const trt_image_options* options, trt_dataset** out);
/**
 * The same from two IDX files, plain or gzip (`labels_path` may be NULL). Errors are those of trt_idx_load; files that do not fit together are
 * TRT_INVALID_ARGUMENT. @since 0.1
 */
TRT_API trt_status* trt_dataset_from_idx(const char* images_path, const char* labels_path, const trt_image_options* options, trt_dataset** out);

/**
 * Makes sample `index`: sets out[0..fields), NULL at first, to `fields` CPU tensor handles, whose ownership goes to the library. Called on any thread, on several at
 * once when a loader has more than one worker, and never inside a trt_scope. Returns NULL, or a status, which fails the call that needed
 * the sample and reaches its caller unchanged; handles in `out` are released by the library then too.
 */
typedef trt_status* (*trt_dataset_get_fn)(int64_t index, trt_tensor** out, size_t fields, void* user_data);
/**
 * A dataset of the host: `size` samples of `fields` tensors each (at least 1). `destroy` (may be NULL) runs exactly once: when the last
 * reference to the dataset goes, or before this function returns if it fails. @since 0.1
 */
TRT_API trt_status* trt_dataset_from_callback(int64_t size, size_t fields, trt_dataset_get_fn fn, void* user_data, trt_destroy_fn destroy, trt_dataset** out);

/**
 * Changes a sample: `in` are its `in_count` tensors (borrowed), out[0..fields) takes the new ones, as with trt_dataset_get_fn. A tensor of `in` is passed
 * on with trt_tensor_retain.
 */
typedef trt_status* (*trt_dataset_map_fn)(const trt_tensor* const* in, size_t in_count, trt_tensor** out, size_t fields, void* user_data);
/**
 * The samples of `dataset`, each changed by `fn` when it is needed. `destroy` as with trt_dataset_from_callback. A thousand maps and subsets may be
 * stacked on one another; more are TRT_INVALID_ARGUMENT. @since 0.1
 */
TRT_API trt_status* trt_dataset_map(trt_dataset* dataset, size_t fields, trt_dataset_map_fn fn, void* user_data, trt_destroy_fn destroy,
                                    trt_dataset** out);
/** The samples `indices` of `dataset`, in this order; repetitions are allowed. TRT_OUT_OF_RANGE for a wrong index. @since 0.1 */
TRT_API trt_status* trt_dataset_subset(trt_dataset* dataset, const int64_t* indices, size_t count, trt_dataset** out);

/** Number of samples; 0 for NULL. @since 0.1 */
TRT_API int64_t trt_dataset_size(const trt_dataset* dataset);
/** Sample `index`, a list that the caller releases; its tensors may share memory with the dataset. TRT_OUT_OF_RANGE. @since 0.1 */
TRT_API trt_status* trt_dataset_get(const trt_dataset* dataset, int64_t index, trt_tensor_list** out);
/**
 * The samples `indices` (at least one) stacked along a new first dimension. TRT_INVALID_ARGUMENT when the samples differ in dtype, sizes or
 * number of tensors. @since 0.1
 */
TRT_API trt_status* trt_dataset_batch(const trt_dataset* dataset, const int64_t* indices, size_t count, trt_tensor_list** out);

/** Options of a loader. Set it up with trt_data_loader_options_init. */
typedef struct trt_data_loader_options {
  size_t struct_size;
  int64_t batch_size;      /**< at least 1; at first 1 */
  bool shuffle;            /**< a new permutation each epoch; at first false */
  bool replacement;        /**< independent draws instead, repetitions included; at first false */
  bool drop_last;          /**< leave out an incomplete last batch; at first false */
  int32_t num_workers;     /**< threads that make batches ahead, 0 to 1024; 0 (at first): the thread that calls next does it */
  int32_t prefetch_factor; /**< batches made ahead for each worker, 1 to 1024; at first 2 */
  int64_t seed;            /**< of the order, which is a function of (seed, epoch); -1 (at first): drawn from `generator` at creation */
  const trt_generator* generator; /**< only used when seed is -1; NULL: the default generator, so that trt_manual_seed applies */
  int64_t num_samples;     /**< samples in an epoch, for random orders; -1 (at first): as many as the dataset has */
  const double* weights;   /**< NULL, or one weight for each sample: independent draws with these probabilities (copied) */
  size_t weights_count;    /**< the dataset's size, or 0 */
} trt_data_loader_options;
/** The values above. @since 0.1 */
TRT_API void trt_data_loader_options_init(trt_data_loader_options* options);

/**
 * A loader over `dataset` (which it holds), at the beginning of epoch 0. `options` may be NULL. Starts no thread: workers start with the first
 * trt_data_loader_next. @since 0.1
 */
TRT_API trt_status* trt_data_loader_create(trt_dataset* dataset, const trt_data_loader_options* options, trt_data_loader** out);
/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_data_loader* trt_data_loader_retain(trt_data_loader* loader);
/**
 * Releases; NULL is allowed, at any time. The last release stops the workers and waits for callbacks that are running. In a child after
 * fork it leaves the parent's threads alone. @since 0.1
 */
TRT_API void trt_data_loader_release(trt_data_loader* loader);

/**
 * The next batch: *out receives a list that the caller releases, and *has_batch true. At the end of the epoch *out is NULL and *has_batch
 * false, until trt_data_loader_reset. Batches and their order do not depend on the number of workers. An error while a batch is made is
 * returned in that batch's turn, a callback's status unchanged; the next call gives the batch after it. TRT_FAILED_PRECONDITION in a child
 * after fork when the parent had started workers. @since 0.1
 */
TRT_API trt_status* trt_data_loader_next(trt_data_loader* loader, trt_tensor_list** out, bool* has_batch);
/** Begins the next epoch, abandoning what is left of this one. TRT_OUT_OF_RANGE after epoch INT64_MAX. @since 0.1 */
TRT_API trt_status* trt_data_loader_reset(trt_data_loader* loader);
/** Begins epoch `epoch` (not negative): a resumed training sees the order that it would have seen. @since 0.1 */
TRT_API trt_status* trt_data_loader_set_epoch(trt_data_loader* loader, int64_t epoch);
/** The number of the current epoch; 0 for NULL. @since 0.1 */
TRT_API int64_t trt_data_loader_epoch(const trt_data_loader* loader);
/** Batches in an epoch; 0 for NULL. @since 0.1 */
TRT_API int64_t trt_data_loader_batches(const trt_data_loader* loader);

#ifdef __cplusplus
}
#endif

#endif
