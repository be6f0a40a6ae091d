/**
 * @file nn.h
 * Modules (layers and networks), state dicts, initializers.
 *
 * A trt_module has a type name, named parameters, buffers and children, a train/eval mode, and a forward function from one tensor to one. Some
 * take several tensors, or give several: trt_module_forward_with.
 * Layers, their defaults, initial values and printed forms are PyTorch's. Handles are counted.
 *
 * Conventions of this header:
 * - Functions that make a module give a new handle in *out (trt_module_release). A module keeps references to its children: the host may
 *   release its own handles to them.
 * - `options` arguments may be NULL for the defaults. Set a struct up with its _init function, then change fields.
 * - Names of tensors and modules deep in a tree are joined with dots: "0.weight", "encoder.2.bias". A name of one level is not empty and has
 *   no dot. Names, type names too, are UTF-8.
 * - Errors are TRT_INVALID_ARGUMENT for NULL, bad options, shapes and dtypes; TRT_NOT_FOUND for unknown names; others where noted.
 *
 * Thread class: trt_module_forward of one module from many threads at once is safe in eval mode, and so are the functions that only read.
 * Training (forward in training mode changes the buffers of batch normalization), loading, and changes of a module need external
 * synchronization. State dicts are externally synchronized. Counting references is safe from any thread.
 */
#ifndef TENSORRT_NN_H
#define TENSORRT_NN_H

#include "tensorrt/base.h"
#include "tensorrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A module. Counted. */
typedef struct trt_module trt_module;
/** An ordered map from names to tensors. Counted. */
typedef struct trt_state_dict trt_state_dict;

/* --- state dicts --- */

/** An empty state dict. @since 0.1 */
TRT_API trt_status* trt_state_dict_create(trt_state_dict** out);
/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_state_dict* trt_state_dict_retain(trt_state_dict* dict);
/** Releases one reference; NULL is allowed; any thread. @since 0.1 */
TRT_API void trt_state_dict_release(trt_state_dict* dict);
/** Number of entries; 0 for NULL. @since 0.1 */
TRT_API size_t trt_state_dict_size(const trt_state_dict* dict);
/** The name of entry `index`, borrowed from the dict until it changes; NULL beyond the end and for NULL. @since 0.1 */
TRT_API const char* trt_state_dict_name(const trt_state_dict* dict, size_t index);
/** A new handle to the tensor of entry `index`. TRT_OUT_OF_RANGE beyond the end. @since 0.1 */
TRT_API trt_status* trt_state_dict_tensor(const trt_state_dict* dict, size_t index, trt_tensor** out);
/** Whether there is an entry of this name. @since 0.1 */
TRT_API bool trt_state_dict_contains(const trt_state_dict* dict, const char* name);
/** A new handle to the tensor of this name. TRT_NOT_FOUND when there is none. @since 0.1 */
TRT_API trt_status* trt_state_dict_get(const trt_state_dict* dict, const char* name, trt_tensor** out);
/** Appends an entry, or replaces the tensor of an existing one. The dict keeps a reference to the tensor. @since 0.1 */
TRT_API trt_status* trt_state_dict_set(trt_state_dict* dict, const char* name, const trt_tensor* tensor);
/** Removes an entry. TRT_NOT_FOUND when there is none. @since 0.1 */
TRT_API trt_status* trt_state_dict_remove(trt_state_dict* dict, const char* name);

/**
 * Saves the entries as a safetensors file, atomically, with `metadata_count` strings under their keys (trt_safetensors_save tells the errors). The
 * tensors must not be written meanwhile. @since 0.1
 */
TRT_API trt_status* trt_state_dict_save(const trt_state_dict* dict, const char* path, const char* const* metadata_keys,
                                        const char* const* metadata_values, size_t metadata_count);
/**
 * All tensors of a safetensors file, copied into memory (trt_safetensors_open tells the errors, and gives the strings that the file may hold besides): a
 * new dict. @since 0.1
 */
TRT_API trt_status* trt_state_dict_load(const char* path, trt_state_dict** out);

/* --- modules --- */

/** Another reference to the same module (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_module* trt_module_retain(trt_module* module);
/** Releases one reference; NULL is allowed; any thread. @since 0.1 */
TRT_API void trt_module_release(trt_module* module);

/**
 * Runs the module: *out receives a new handle (of the input itself, where the module changes nothing). The message of an error inside of a part of
 * the module ends with the part's path and type: "... (in module 'encoder.2', Linear)". A part that is run but not registered stands in the path
 * as its type in angle brackets. @since 0.1
 */
TRT_API trt_status* trt_module_forward(trt_module* module, const trt_tensor* input, trt_tensor** out);
/**
 * Runs a module, hooks included, of several inputs or outputs. `inputs` are those of the layer in the order that its function tells; optional ones may be
 * NULL, or be missing at the end. *out receives a list of the layer's first `output_count` outputs, at least one (an output that is not asked for need not be
 * computed), or of fewer where it has none. Every module can be run so; most have one input and one output, recurrent layers those of
 * trt_recurrent_forward. Hooks see the first input and the first output. TRT_INVALID_ARGUMENT for wrong numbers of inputs or outputs and for needed inputs
 * that are NULL. @since 0.1
 */
TRT_API trt_status* trt_module_forward_with(trt_module* module, const trt_tensor* const* inputs, size_t input_count, size_t output_count,
                                            trt_tensor_list** out);
/** Sets training mode (true, the mode of a new module) or eval mode (false) in the whole tree. @since 0.1 */
TRT_API trt_status* trt_module_train(trt_module* module, bool mode);
/** Whether the module is in training mode; false for NULL. @since 0.1 */
TRT_API bool trt_module_is_training(const trt_module* module);
/** "Conv2d", borrowed from the module; NULL for NULL. @since 0.1 */
TRT_API const char* trt_module_type_name(const trt_module* module);
/** The tree as PyTorch prints it. `out` is freed with trt_string_release. @since 0.1 */
TRT_API trt_status* trt_module_to_string(const trt_module* module, char** out);

/** Number of elements of all parameters, each tensor counted once; 0 for NULL. @since 0.1 */
TRT_API int64_t trt_module_parameter_count(const trt_module* module);
/** The same of the parameters that require gradients. @since 0.1 */
TRT_API int64_t trt_module_trainable_parameter_count(const trt_module* module);
/** The parameters of the tree, each once: the module's own tensors, as an optimizer takes them. @since 0.1 */
TRT_API trt_status* trt_module_parameters(const trt_module* module, trt_tensor_list** out);
/** The parameters with their names, each tensor once. @since 0.1 */
TRT_API trt_status* trt_module_named_parameters(const trt_module* module, trt_state_dict** out);
/** The buffers with their names, each tensor once. @since 0.1 */
TRT_API trt_status* trt_module_named_buffers(const trt_module* module, trt_state_dict** out);
/** A new handle to a parameter ("0.weight"). @since 0.1 */
TRT_API trt_status* trt_module_parameter(const trt_module* module, const char* name, trt_tensor** out);
/** A new handle to a buffer ("1.running_mean"). @since 0.1 */
TRT_API trt_status* trt_module_buffer(const trt_module* module, const char* name, trt_tensor** out);
/** A new handle to a module of the tree ("features.0"); "" is the module itself. @since 0.1 */
TRT_API trt_status* trt_module_submodule(trt_module* module, const char* name, trt_module** out);
/** Number of children; 0 for NULL. @since 0.1 */
TRT_API size_t trt_module_child_count(const trt_module* module);
/** Child `index`, borrowed from the module; NULL beyond the end. @since 0.1 */
TRT_API trt_module* trt_module_child(const trt_module* module, size_t index);
/** Its name, borrowed from the module until its children change; NULL beyond the end. @since 0.1 */
TRT_API const char* trt_module_child_name(const trt_module* module, size_t index);

/**
 * Adds a parameter: a leaf of a floating dtype, which from now on requires gradients. The module keeps a reference. The name must be new in
 * the module. @since 0.1
 */
TRT_API trt_status* trt_module_register_parameter(trt_module* module, const char* name, trt_tensor* tensor);
/** Adds a buffer; only persistent ones are part of the state dict. @since 0.1 */
TRT_API trt_status* trt_module_register_buffer(trt_module* module, const char* name, const trt_tensor* tensor, bool persistent);
/** Adds a child. A module cannot become a part of itself. @since 0.1 */
TRT_API trt_status* trt_module_register_child(trt_module* module, const char* name, trt_module* child);
/** Replaces a parameter ("0.weight") by a tensor of the same shape and dtype; the same tensor in two places ties weights. @since 0.1 */
TRT_API trt_status* trt_module_set_parameter(trt_module* module, const char* name, trt_tensor* tensor);

/** Drops the gradients of all parameters (set_to_none), or fills them with zeros. @since 0.1 */
TRT_API trt_status* trt_module_zero_grad(trt_module* module, bool set_to_none);
/** Sets requires_grad of all parameters: false freezes the tree. @since 0.1 */
TRT_API trt_status* trt_module_set_requires_grad(trt_module* module, bool requires_grad);
/**
 * Converts floating-point parameters (with their gradients) and buffers to a floating dtype. The tensors keep their identity: handles to
 * them, also an optimizer's, see the new dtype. Graphs made before must not be run backward into them: that is TRT_FAILED_PRECONDITION. @since 0.1
 */
TRT_API trt_status* trt_module_to_dtype(trt_module* module, trt_dtype dtype);
/** Draws all parameters of the tree anew (generator NULL: the default one) and resets running statistics. @since 0.1 */
TRT_API trt_status* trt_module_reset_parameters(trt_module* module, trt_generator* generator);

/**
 * A hook before a module's forward: sees the input (borrowed); may give another input in *out (ownership goes to the library). Returns NULL, or a status
 * that fails the call of the module and reaches its caller unchanged. Called on the thread that runs the module, on several at once when several do.
 */
typedef trt_status* (*trt_module_pre_hook_fn)(trt_module* module, const trt_tensor* input, trt_tensor** out, void* user_data);
/** A hook after it: sees input and output (borrowed), and may give another output in *out. Else as trt_module_pre_hook_fn. */
typedef trt_status* (*trt_module_hook_fn)(trt_module* module, const trt_tensor* input, const trt_tensor* output, trt_tensor** out, void* user_data);
/**
 * Adds a hook that runs whenever the module is run, by trt_module_forward or as a part of another module; hooks run in the order in which they were
 * added. `destroy` (may be NULL) runs exactly once: when the hook was removed or the module goes, also when this fails. user_data must not own the
 * module. *out_id identifies the hook for removal. Adding and removing need external synchronization with every use of the module, but a hook
 * itself may do both: it counts from the next call on. @since 0.1
 */
TRT_API trt_status* trt_module_add_forward_pre_hook(trt_module* module, trt_module_pre_hook_fn fn, void* user_data, trt_destroy_fn destroy, uint64_t* out_id);
/** The same for a hook after forward. @since 0.1 */
TRT_API trt_status* trt_module_add_forward_hook(trt_module* module, trt_module_hook_fn fn, void* user_data, trt_destroy_fn destroy, uint64_t* out_id);
/** Removes a hook of either kind. TRT_NOT_FOUND when there is none of this id. @since 0.1 */
TRT_API trt_status* trt_module_remove_hook(trt_module* module, uint64_t id);

/** Visits a module (borrowed for the call). A status that it returns ends the walk and reaches the caller of trt_module_apply. */
typedef trt_status* (*trt_module_visit_fn)(trt_module* module, void* user_data);
/**
 * Calls `fn` for every module of the tree, each once, children before their parents. `destroy` (may be NULL) runs exactly once before this
 * function returns, also when it fails. @since 0.1
 */
TRT_API trt_status* trt_module_apply(trt_module* module, trt_module_visit_fn fn, void* user_data, trt_destroy_fn destroy);

/** Parameters and persistent buffers, in the tree's order. The tensors share the module's memory and have no history. @since 0.1 */
TRT_API trt_status* trt_module_state_dict(const trt_module* module, trt_state_dict** out);
/**
 * Copies the values of a state dict into the module, converting dtypes. When names are missing or unexpected (strict only) or shapes differ,
 * TRT_INVALID_ARGUMENT tells all of them in one message and nothing has changed. @since 0.1
 */
TRT_API trt_status* trt_module_load_state_dict(trt_module* module, const trt_state_dict* dict, bool strict);
/** The text of that message, or NULL in *out when a strict load would succeed. `out` is freed with trt_string_release. @since 0.1 */
TRT_API trt_status* trt_module_compare_state_dict(const trt_module* module, const trt_state_dict* dict, char** out);

/* --- containers and custom modules --- */

/** Runs modules in order; children are named "0", "1", ... `modules` may be NULL when count is 0. @since 0.1 */
TRT_API trt_status* trt_sequential_create(trt_module* const* modules, size_t count, trt_module** out);

/**
 * The forward function of a custom module. `self` and `input` are borrowed; *out receives a new handle that the library takes over (inside a
 * trt_scope: after trt_scope_keep). Called from every thread that calls trt_module_forward. A status that it returns reaches the caller of
 * trt_module_forward with its code, operator and payload; its message may get a place (see there).
 */
typedef trt_status* (*trt_forward_fn)(trt_module* self, const trt_tensor* input, trt_tensor** out, void* user_data);
/**
 * A module of the host's own; parameters, buffers and children are registered with it. `destroy` (may be NULL) runs exactly once: when the
 * module goes, or before this function returns when it fails. `user_data` must not own the module itself. @since 0.1
 */
TRT_API trt_status* trt_custom_module_create(const char* type_name, trt_forward_fn fn, void* user_data, trt_destroy_fn destroy, trt_module** out);

/* --- layers with parameters --- */

/** Options of Linear. */
typedef struct trt_linear_options {
  size_t struct_size;
  bool bias;                /**< true */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_linear_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_linear_options_init(trt_linear_options* options);
/**
 * y = x W^T + b: x [..., in_features] -> [..., out_features]. Parameters: "weight" [out, in] and "bias" [out], uniform in
 * +-1/sqrt(in_features). @since 0.1
 */
TRT_API trt_status* trt_linear_create(int64_t in_features, int64_t out_features, const trt_linear_options* options, trt_module** out);

/** Options of Embedding. */
typedef struct trt_embedding_options {
  size_t struct_size;
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  bool has_padding_idx;     /**< false */
  int64_t padding_idx;      /**< a row that is zero at first and gets no gradient; negative counts from the end */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_embedding_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_embedding_options_init(trt_embedding_options* options);
/**
 * Rows of a table: integer indices [...] -> [..., embedding_dim]. Parameter: "weight" [num_embeddings, embedding_dim], normal. @since 0.1
 */
TRT_API trt_status* trt_embedding_create(int64_t num_embeddings, int64_t embedding_dim, const trt_embedding_options* options, trt_module** out);

/** What an EmbeddingBag gives of the rows of a bag. The numbers are pinned. */
typedef enum trt_bag_mode { TRT_BAG_SUM = 0, TRT_BAG_MEAN = 1, TRT_BAG_MAX = 2 } trt_bag_mode;
/** Options of EmbeddingBag. */
typedef struct trt_embedding_bag_options {
  size_t struct_size;
  int32_t mode;             /**< a trt_bag_mode (0 sum, 1 mean, 2 maximum); TRT_BAG_MEAN */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  bool scale_grad_by_freq;  /**< false; true: a row's gradient is divided by how often it stands in the input. Not for TRT_BAG_MAX */
  bool include_last_offset; /**< false; true: offsets end with the number of indices */
  bool has_padding_idx;     /**< false */
  int64_t padding_idx;      /**< a row that is zero at first and takes no part; negative counts from the end */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_embedding_bag_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_embedding_bag_options_init(trt_embedding_bag_options* options);
/**
 * The sum, mean or maximum of the rows of a table that each bag names -> [bags, embedding_dim]. Inputs (trt_module_forward_with): integer indices
 * [bags, n], or [n] with integer offsets [bags] where bags begin; offsets; weights of the indices' shape, for TRT_BAG_SUM. Parameter: "weight"
 * [num_embeddings, embedding_dim], normal. @since 0.1
 */
TRT_API trt_status* trt_embedding_bag_create(int64_t num_embeddings, int64_t embedding_dim, const trt_embedding_bag_options* options, trt_module** out);
/**
 * x1 W x2 + b. Inputs (trt_module_forward_with): x1 [..., in1_features] and x2 [..., in2_features] -> [..., out_features]. Parameters: "weight"
 * [out, in1, in2] and "bias" [out], uniform in +-1/sqrt(in1_features). @since 0.1
 */
TRT_API trt_status* trt_bilinear_create(int64_t in1_features, int64_t in2_features, int64_t out_features, const trt_linear_options* options, trt_module** out);
/**
 * x, or weight x below zero. Parameter: "weight" [num_parameters], one for all channels or one for each of dimension 1, `init` at first (PyTorch's
 * defaults: 1 and 0.25); dtype is a trt_dtype, TRT_DTYPE_NONE the default dtype. @since 0.1
 */
TRT_API trt_status* trt_prelu_create(int64_t num_parameters, double init, int32_t dtype, trt_module** out);

/** Options of convolutions. One-dimensional ones use the first element of each pair. */
typedef struct trt_conv_options {
  size_t struct_size;
  int64_t stride[2];        /**< 1 */
  int64_t padding[2];       /**< 0, zeros on both sides */
  int64_t dilation[2];      /**< 1 */
  int64_t groups;           /**< 1; divides both numbers of channels */
  bool bias;                /**< true */
  bool padding_same;        /**< false; true: pads so that the output is as large as the input, instead of `padding`; stride 1 only */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_conv_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_conv_options_init(trt_conv_options* options);
/**
 * x [n, in, l] or [in, l] -> [n, out, l'] or [out, l'], l' = (l + 2 padding - dilation (kernel - 1) - 1) / stride + 1. Parameters: "weight"
 * [out, in / groups, kernel] and "bias" [out], uniform in +-1/sqrt(in / groups * kernel). @since 0.1
 */
TRT_API trt_status* trt_conv1d_create(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const trt_conv_options* options, trt_module** out);
/**
 * x [n, in, h, w] or [in, h, w] -> [n, out, h', w'] or [out, h', w']. Parameters: "weight" [out, in / groups, kernel_h, kernel_w] and "bias"
 * [out], as those of Conv1d. @since 0.1
 */
TRT_API trt_status* trt_conv2d_create(int64_t in_channels, int64_t out_channels, int64_t kernel_h, int64_t kernel_w, const trt_conv_options* options,
                                      trt_module** out);

/** What stands beside an image that is padded. The numbers are pinned. */
typedef enum trt_padding_mode {
  TRT_PADDING_ZEROS = 0,
  TRT_PADDING_REFLECT = 1,
  TRT_PADDING_REPLICATE = 2,
  TRT_PADDING_CIRCULAR = 3
} trt_padding_mode;
/** Options of convolutions of one to three dimensions; of each list as many elements count. */
typedef struct trt_convnd_options {
  size_t struct_size;
  int64_t stride[3];         /**< 1 */
  int64_t padding[3];        /**< 0, on both sides */
  int64_t output_padding[3]; /**< 0; transposed convolutions only: what one side of the output has more */
  int64_t dilation[3];       /**< 1 */
  int64_t groups;            /**< 1; divides both numbers of channels */
  bool bias;                 /**< true */
  bool padding_same;         /**< false; as that of trt_conv_options. Not for transposed convolutions */
  int32_t padding_mode;      /**< a trt_padding_mode (0 zeros, 1 reflect, 2 replicate, 3 circular); TRT_PADDING_ZEROS, which transposed convolutions need */
  int32_t dtype;             /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  trt_generator* generator;  /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_convnd_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_convnd_options_init(trt_convnd_options* options);
/**
 * Conv1d, Conv2d or Conv3d, by the `ndim` sizes of the kernel: x [n, in, ...] or [in, ...] -> [n, out, ...] or [out, ...]. Parameters: "weight"
 * [out, in / groups, kernel...] and "bias" [out], as those of trt_conv1d_create. @since 0.1
 */
TRT_API trt_status* trt_convnd_create(int64_t in_channels, int64_t out_channels, const int64_t* kernel_size, size_t ndim, const trt_convnd_options* options,
                                      trt_module** out);
/**
 * ConvTranspose1d, 2d or 3d, the gradient of a convolution as a layer: x [n, in, ...] or [in, ...] -> [n, out, ...] or [out, ...], a size becoming
 * (l - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1. Parameters: "weight" [in, out / groups, kernel...] and "bias" [out]. @since 0.1
 */
TRT_API trt_status* trt_conv_transpose_create(int64_t in_channels, int64_t out_channels, const int64_t* kernel_size, size_t ndim,
                                              const trt_convnd_options* options, trt_module** out);

/** Options of normalizations. */
typedef struct trt_norm_options {
  size_t struct_size;
  double eps;               /**< 1e-5, added to the variance */
  double momentum;          /**< 0.1; negative: a cumulative average. Batch normalization only */
  bool affine;              /**< true: parameters "weight" (ones) and "bias" (zeros) */
  bool bias;                /**< true; false: no "bias" */
  bool track_running_stats; /**< true: buffers "running_mean", "running_var", "num_batches_tracked". Batch normalization only */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
} trt_norm_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_norm_options_init(trt_norm_options* options);
/** x [n, num_features] or [n, num_features, l], normalized over all but the channels; in eval mode with the running statistics. @since 0.1 */
TRT_API trt_status* trt_batch_norm1d_create(int64_t num_features, const trt_norm_options* options, trt_module** out);
/** x [n, num_features, h, w], normalized over all but the channels; in eval mode with the running statistics. @since 0.1 */
TRT_API trt_status* trt_batch_norm2d_create(int64_t num_features, const trt_norm_options* options, trt_module** out);
/** x [n, num_features, d, h, w], normalized over all but the channels; in eval mode with the running statistics. @since 0.1 */
TRT_API trt_status* trt_batch_norm3d_create(int64_t num_features, const trt_norm_options* options, trt_module** out);
/** Sets the defaults of instance normalization: those of trt_norm_options_init, but without affine and track_running_stats. @since 0.1 */
TRT_API void trt_instance_norm_options_init(trt_norm_options* options);
/**
 * InstanceNorm1d, 2d or 3d by `ndim`: x [n, num_features, ...] or [num_features, ...] with ndim dimensions behind, each channel of each sample normalized.
 * Options NULL: those of trt_instance_norm_options_init. @since 0.1
 */
TRT_API trt_status* trt_instance_norm_create(int32_t ndim, int64_t num_features, const trt_norm_options* options, trt_module** out);
/**
 * x [..., normalized_shape], divided by its root mean square over the last dimensions; eps is added to the mean square, NULL: the epsilon of the input's
 * dtype. Parameter: "weight" (ones) [normalized_shape], where elementwise_affine; dtype is a trt_dtype, TRT_DTYPE_NONE the default dtype. @since 0.1
 */
TRT_API trt_status* trt_rms_norm_create(const int64_t* normalized_shape, size_t ndim, const double* eps, bool elementwise_affine, int32_t dtype,
                                        trt_module** out);
/** x [n, c, ...], divided by (k + alpha times the mean of squares over `size` neighbouring channels)^beta (PyTorch: 1e-4, 0.75, 1). @since 0.1 */
TRT_API trt_status* trt_local_response_norm_create(int64_t size, double alpha, double beta, double k, trt_module** out);
/** x [..., normalized_shape], normalized over the last dimensions. @since 0.1 */
TRT_API trt_status* trt_layer_norm_create(const int64_t* normalized_shape, size_t ndim, const trt_norm_options* options, trt_module** out);
/** x [n, num_channels, ...], normalized over groups of channels. @since 0.1 */
TRT_API trt_status* trt_group_norm_create(int64_t num_groups, int64_t num_channels, const trt_norm_options* options, trt_module** out);

/** Options of recurrent layers and cells. Cells take `bias`, `relu`, `dtype` and `generator` only. */
typedef struct trt_recurrent_options {
  size_t struct_size;
  int64_t num_layers;       /**< 1; at most 65536 */
  int64_t proj_size;        /**< 0; otherwise the size that hidden states are projected to. LSTM only */
  double dropout;           /**< 0; between layers, in training mode */
  bool bias;                /**< true */
  bool batch_first;         /**< false; true: input and output begin with the batch */
  bool bidirectional;       /**< false; true: a second direction, whose output stands behind the first one's */
  bool relu;                /**< false: tanh. RNN and its cell only */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_recurrent_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_recurrent_options_init(trt_recurrent_options* options);
/**
 * A long short-term memory: x [t, n, input_size] or [t, input_size] -> [t, n, directions * size]. trt_module_forward begins with states of zeros and
 * gives the output alone; trt_recurrent_forward takes and gives states. Parameters of layer k: "weight_ih_lk" [4 hidden_size, inputs], "weight_hh_lk"
 * [4 hidden_size, size], "bias_ih_lk" and "bias_hh_lk" [4 hidden_size], "weight_hr_lk" [proj_size, hidden_size]; those of the second direction end in
 * "_reverse". All uniform in +-1/sqrt(hidden_size). @since 0.1
 */
TRT_API trt_status* trt_lstm_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out);
/** Gated recurrent units; as trt_lstm_create, with 3 hidden_size rows. @since 0.1 */
TRT_API trt_status* trt_gru_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out);
/** Elman layers with tanh or relu; as trt_lstm_create, with hidden_size rows. @since 0.1 */
TRT_API trt_status* trt_rnn_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out);
/** One step of an LSTM: x [n, input_size] or [input_size] -> the new hidden state. Parameters "weight_ih", "weight_hh", "bias_ih", "bias_hh". @since 0.1 */
TRT_API trt_status* trt_lstm_cell_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out);
/** One step of a GRU; as trt_lstm_cell_create. @since 0.1 */
TRT_API trt_status* trt_gru_cell_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out);
/** One step of an Elman layer; as trt_lstm_cell_create. @since 0.1 */
TRT_API trt_status* trt_rnn_cell_create(int64_t input_size, int64_t hidden_size, const trt_recurrent_options* options, trt_module** out);
/**
 * Runs a recurrent layer or cell, hooks included, from given states: `hidden` [layers * directions, n, size] and for an LSTM `cell` [layers * directions, n,
 * hidden_size], without n for a single sample; [n, hidden_size] or [hidden_size] for cells. NULL: zeros. *out receives the output (a cell's new hidden
 * state), *out_hidden the last hidden states, *out_cell the last cells, NULL where there is none; out_cell may itself be NULL. The handles are the
 * caller's. TRT_INVALID_ARGUMENT for other modules. @since 0.1
 */
TRT_API trt_status* trt_recurrent_forward(trt_module* module, const trt_tensor* input, const trt_tensor* hidden, const trt_tensor* cell, trt_tensor** out,
                                          trt_tensor** out_hidden, trt_tensor** out_cell);

/* --- attention --- */

/** Options of MultiheadAttention. */
typedef struct trt_attention_options {
  size_t struct_size;
  int64_t kdim;             /**< 0: embed_dim; the number of the keys' features */
  int64_t vdim;             /**< 0: embed_dim; the number of the values' features */
  double dropout;           /**< 0; of the probabilities, in training mode */
  bool bias;                /**< true */
  bool add_bias_kv;         /**< false; true: a key and a value, "bias_k" and "bias_v", behind the others */
  bool add_zero_attn;       /**< false; true: a key and a value of zeros behind the others */
  bool batch_first;         /**< false; true: inputs and output begin with the batch */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_attention_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_attention_options_init(trt_attention_options* options);
/**
 * Attention of several heads over projections of its inputs (trt_module_forward_with): query [l, n, embed_dim], key [s, n, kdim], value [s, n, vdim]
 * ([n, l, ...] with batch_first; [l, ...] without a batch), key_padding_mask [n, s] or NULL, attn_mask [l, s], [n * num_heads, l, s] or NULL. A mask of
 * bool forbids where it is true, another one is added to the scores. Outputs: as query; the probabilities [n, l, s], means over the heads; those of every
 * head [n, num_heads, l, s]. Parameters: "in_proj_weight" [3 embed_dim, embed_dim], or with other kdim or vdim "q_proj_weight", "k_proj_weight" and
 * "v_proj_weight" [embed_dim, features]; "in_proj_bias" [3 embed_dim]; "bias_k" and "bias_v" [1, 1, embed_dim]; those of the Linear "out_proj". @since 0.1
 */
TRT_API trt_status* trt_multihead_attention_create(int64_t embed_dim, int64_t num_heads, const trt_attention_options* options, trt_module** out);

/** Options of the layers of transformers. */
typedef struct trt_transformer_options {
  size_t struct_size;
  int64_t dim_feedforward;  /**< 2048; features between the two linear layers */
  double dropout;           /**< 0.1; in training mode */
  double layer_norm_eps;    /**< 1e-5 */
  bool bias;                /**< true; false: no "bias" in any part */
  bool batch_first;         /**< false; true: inputs and output begin with the batch */
  bool norm_first;          /**< false; true: normalizes before each part instead of after it */
  bool gelu;                /**< false: relu between the two linear layers */
  int32_t dtype;            /**< a trt_dtype; TRT_DTYPE_NONE: the default dtype */
  trt_generator* generator; /**< for the initial values; NULL: the default generator; borrowed for the call */
} trt_transformer_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_transformer_options_init(trt_transformer_options* options);
/**
 * Self-attention and two linear layers, each with a residual connection and layer_norm. Inputs: src [l, n, d_model], src_mask and src_key_padding_mask (as
 * those of trt_multihead_attention_create; each may be NULL) -> as src. @since 0.1
 */
TRT_API trt_status* trt_transformer_encoder_layer_create(int64_t d_model, int64_t nhead, const trt_transformer_options* options, trt_module** out);
/**
 * The same with attention to `memory` in between. Inputs (trt_module_forward_with): tgt [l, n, d_model], memory [s, n, d_model], tgt_mask [l, l],
 * memory_mask [l, s], tgt_key_padding_mask [n, l], memory_key_padding_mask [n, s] (each mask may be NULL) -> as tgt. @since 0.1
 */
TRT_API trt_status* trt_transformer_decoder_layer_create(int64_t d_model, int64_t nhead, const trt_transformer_options* options, trt_module** out);
/**
 * `num_layers` (at most 65536) copies of `layer`, which is a TransformerEncoderLayer, and `norm` (NULL: none) after them; inputs as those of the layer.
 * The copies have the layer's values, not its hooks, and are the children of "layers"; the module keeps no reference to `layer`. @since 0.1
 */
TRT_API trt_status* trt_transformer_encoder_create(const trt_module* layer, int64_t num_layers, trt_module* norm, trt_module** out);
/** The same of a TransformerDecoderLayer; `norm` may be NULL. @since 0.1 */
TRT_API trt_status* trt_transformer_decoder_create(const trt_module* layer, int64_t num_layers, trt_module* norm, trt_module** out);
/**
 * A TransformerEncoder "encoder" and a TransformerDecoder "decoder" that attends to what it gives, of the given numbers of layers (PyTorch's defaults: 6 each,
 * with 512 features and 8 heads; at most 65536), each with a LayerNorm. Inputs (trt_module_forward_with): src [s, n, d_model], tgt [l, n, d_model] ([n, s, d_model]
 * with batch_first, [s, d_model] without a batch), src_mask [s, s], tgt_mask [l, l], memory_mask [l, s], src_key_padding_mask [n, s], tgt_key_padding_mask [n, l],
 * memory_key_padding_mask [n, s] (each mask may be NULL) -> as tgt. Matrices are uniform in +-sqrt(6 / (rows + columns)). @since 0.1
 */
TRT_API trt_status* trt_transformer_create(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers,
                                           const trt_transformer_options* options, trt_module** out);

/* --- layers without parameters --- */

/** Gives its input. @since 0.1 */
TRT_API trt_status* trt_identity_create(trt_module** out);
/** In training mode zeroes elements with probability p in [0, 1] and scales the others by 1 / (1 - p). @since 0.1 */
TRT_API trt_status* trt_dropout_create(double p, trt_module** out);
/**
 * Dropout1d, 2d or 3d by `ndim`: in training mode zeroes whole channels of x [n, c, ...] or [c, ...] with ndim dimensions behind, with probability p, and
 * scales the others by 1 / (1 - p). Dropout2d reads three dimensions as [n, c, l] and two as [n, c], as PyTorch does. @since 0.1
 */
TRT_API trt_status* trt_feature_dropout_create(int32_t ndim, double p, trt_module** out);
/**
 * Dropout for networks with SELU: in training mode sets elements, with probability p in [0, 1], to the value that SELU takes far below zero, and shifts and
 * scales all such that mean 0 and variance 1 stay. @since 0.1
 */
TRT_API trt_status* trt_alpha_dropout_create(double p, trt_module** out);
/** trt_alpha_dropout_create of whole channels of x [n, c, ...]. @since 0.1 */
TRT_API trt_status* trt_feature_alpha_dropout_create(double p, trt_module** out);
/**
 * Pads the last one to three dimensions by the `padding_count` (2, 4 or 6) numbers of `padding`: before and after the last dimension, then the one before
 * it; negative ones cut. `mode`: "constant" (ConstantPad1d, ...), "zeros" (ZeroPad1d), "reflect" (ReflectionPad1d), "replicate" (ReplicationPad1d),
 * "circular" (CircularPad1d). `value` is for "constant", otherwise 0. @since 0.1
 */
TRT_API trt_status* trt_pad_create(const int64_t* padding, size_t padding_count, const char* mode, double value, trt_module** out);
/**
 * Upsample: resizes the dimensions behind the second one as trt_interpolate does, to `size` or by `scale_factor`, of which one is NULL and the other has one
 * number for all dimensions or one for each. `mode` as that of trt_interpolate; PyTorch's default is "nearest". align_corners and recompute_scale_factor
 * may be NULL. @since 0.1
 */
TRT_API trt_status* trt_upsample_create(const int64_t* size, size_t size_count, const double* scale_factor, size_t scale_factor_count, const char* mode,
                                        const bool* align_corners, const bool* recompute_scale_factor, trt_module** out);
/**
 * UpsamplingNearest2d, or with `bilinear` UpsamplingBilinear2d, which aligns the corners: as Upsample of x [n, c, h, w], with one of size and scale_factor
 * and the other one NULL. @since 0.1
 */
TRT_API trt_status* trt_upsampling2d_create(const int64_t* size, size_t size_count, const double* scale_factor, size_t scale_factor_count, bool bilinear,
                                            trt_module** out);

/** Options of Unfold and Fold. */
typedef struct trt_window_options {
  size_t struct_size;
  int64_t dilation[2]; /**< 1 */
  int64_t padding[2];  /**< 0 */
  int64_t stride[2];   /**< 1 */
} trt_window_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_window_options_init(trt_window_options* options);
/** The windows of images as columns: x [n, c, h, w] or [c, h, w] -> [n, c kernel_h kernel_w, windows] or without n. @since 0.1 */
TRT_API trt_status* trt_unfold_create(int64_t kernel_h, int64_t kernel_w, const trt_window_options* options, trt_module** out);
/** The sum of windows, given as columns, in images: x as Unfold gives it -> [n, c, output_h, output_w] or [c, output_h, output_w]. @since 0.1 */
TRT_API trt_status* trt_fold_create(int64_t output_h, int64_t output_w, int64_t kernel_h, int64_t kernel_w, const trt_window_options* options,
                                           trt_module** out);

/** Joins the dimensions start_dim to end_dim (PyTorch's defaults: 1 and -1). @since 0.1 */
TRT_API trt_status* trt_flatten_create(int64_t start_dim, int64_t end_dim, trt_module** out);
/** Splits dimension `dim` into `sizes`, one of which may be -1. @since 0.1 */
TRT_API trt_status* trt_unflatten_create(int64_t dim, const int64_t* sizes, size_t ndim, trt_module** out);

/** max(x, 0). @since 0.1 */
TRT_API trt_status* trt_relu_create(trt_module** out);
/** min(max(x, 0), 6). @since 0.1 */
TRT_API trt_status* trt_relu6_create(trt_module** out);
/** x, or negative_slope x below zero (PyTorch's default: 0.01). @since 0.1 */
TRT_API trt_status* trt_leaky_relu_create(double negative_slope, trt_module** out);
/**
 * x, or below zero x times a slope: in training mode drawn for each element, uniform from lower to upper (PyTorch's defaults: 1/8 and 1/3), else their
 * mean. @since 0.1
 */
TRT_API trt_status* trt_rrelu_create(double lower, double upper, trt_module** out);
/** x, or alpha (exp(x) - 1) below zero (PyTorch's default: 1). @since 0.1 */
TRT_API trt_status* trt_elu_create(double alpha, trt_module** out);
/** x times the normal distribution function; `tanh`: by its tanh approximation. @since 0.1 */
TRT_API trt_status* trt_gelu_create(bool tanh, trt_module** out);
/** x sigmoid(x). @since 0.1 */
TRT_API trt_status* trt_silu_create(trt_module** out);
/** x tanh(softplus(x)). @since 0.1 */
TRT_API trt_status* trt_mish_create(trt_module** out);
/** 1 / (1 + exp(-x)). @since 0.1 */
TRT_API trt_status* trt_sigmoid_create(trt_module** out);
/** tanh(x). @since 0.1 */
TRT_API trt_status* trt_tanh_create(trt_module** out);
/** log(1 + exp(beta x)) / beta, x where beta x > threshold (PyTorch's defaults: 1 and 20). @since 0.1 */
TRT_API trt_status* trt_softplus_create(double beta, double threshold, trt_module** out);
/** x relu6(x + 3) / 6. @since 0.1 */
TRT_API trt_status* trt_hardswish_create(trt_module** out);
/** Softmax along `dim`. @since 0.1 */
TRT_API trt_status* trt_softmax_create(int64_t dim, trt_module** out);
/** Softmax over the channels of x [n, c, h, w] or [c, h, w]. @since 0.1 */
TRT_API trt_status* trt_softmax2d_create(trt_module** out);
/** The logarithm of softmax along `dim`. @since 0.1 */
TRT_API trt_status* trt_log_softmax_create(int64_t dim, trt_module** out);

/** elu with fixed factors that keep mean and variance. @since 0.1 */
TRT_API trt_status* trt_selu_create(trt_module** out);
/** max(x, 0) + min(alpha (exp(x / alpha) - 1), 0) (PyTorch's default: 1). @since 0.1 */
TRT_API trt_status* trt_celu_create(double alpha, trt_module** out);
/** x limited to [min_val, max_val] (PyTorch's defaults: -1 and 1). @since 0.1 */
TRT_API trt_status* trt_hardtanh_create(double min_val, double max_val, trt_module** out);
/** relu6(x + 3) / 6. @since 0.1 */
TRT_API trt_status* trt_hardsigmoid_create(trt_module** out);
/** The logarithm of the sigmoid. @since 0.1 */
TRT_API trt_status* trt_log_sigmoid_create(trt_module** out);
/** x / (1 + |x|). @since 0.1 */
TRT_API trt_status* trt_softsign_create(trt_module** out);
/** x - tanh(x). @since 0.1 */
TRT_API trt_status* trt_tanhshrink_create(trt_module** out);
/** x moved towards zero by lambd, zero within (PyTorch's default: 0.5). @since 0.1 */
TRT_API trt_status* trt_softshrink_create(double lambd, trt_module** out);
/** x, or zero within [-lambd, lambd] (PyTorch's default: 0.5). @since 0.1 */
TRT_API trt_status* trt_hardshrink_create(double lambd, trt_module** out);
/** x, or value where x <= threshold. @since 0.1 */
TRT_API trt_status* trt_threshold_create(double threshold, double value, trt_module** out);
/** The first half along dim times the sigmoid of the second (PyTorch's default: -1). @since 0.1 */
TRT_API trt_status* trt_glu_create(int64_t dim, trt_module** out);
/** Softmax of -x along dim. @since 0.1 */
TRT_API trt_status* trt_softmin_create(int64_t dim, trt_module** out);
/** x [..., c r r, h, w] -> [..., c, h r, w r] for the factor r. @since 0.1 */
TRT_API trt_status* trt_pixel_shuffle_create(int64_t upscale_factor, trt_module** out);
/** x [..., c, h r, w r] -> [..., c r r, h, w] for the factor r. @since 0.1 */
TRT_API trt_status* trt_pixel_unshuffle_create(int64_t downscale_factor, trt_module** out);
/** Interleaves groups of the channels (dimension 1). @since 0.1 */
TRT_API trt_status* trt_channel_shuffle_create(int64_t groups, trt_module** out);
/** Means of windows such that the output is [.., output_size]. @since 0.1 */
TRT_API trt_status* trt_adaptive_avg_pool1d_create(int64_t output_size, trt_module** out);
/** Maxima of windows such that the output is [.., output_size]. @since 0.1 */
TRT_API trt_status* trt_adaptive_max_pool1d_create(int64_t output_size, trt_module** out);

/** Options of pooling. */
typedef struct trt_pool_options {
  size_t struct_size;
  int64_t stride[2];        /**< 0: the kernel's size */
  int64_t padding[2];       /**< 0; at most half the kernel */
  int64_t dilation[2];      /**< 1; maximum only */
  bool ceil_mode;           /**< false; true: windows may begin inside and end outside */
  bool count_include_pad;   /**< true; average only */
  int64_t divisor_override; /**< 0: the window's size; average only */
} trt_pool_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_pool_options_init(trt_pool_options* options);
/** Maxima of windows: x [n, c, h, w] or [c, h, w]. @since 0.1 */
TRT_API trt_status* trt_max_pool2d_create(int64_t kernel_h, int64_t kernel_w, const trt_pool_options* options, trt_module** out);
/** Means of windows: x [n, c, h, w] or [c, h, w]. @since 0.1 */
TRT_API trt_status* trt_avg_pool2d_create(int64_t kernel_h, int64_t kernel_w, const trt_pool_options* options, trt_module** out);
/** Means of windows such that the output is [.., output_h, output_w]. @since 0.1 */
TRT_API trt_status* trt_adaptive_avg_pool2d_create(int64_t output_h, int64_t output_w, trt_module** out);
/** Maxima of windows such that the output is [.., output_h, output_w]. @since 0.1 */
TRT_API trt_status* trt_adaptive_max_pool2d_create(int64_t output_h, int64_t output_w, trt_module** out);

/** Options of pooling of one to three dimensions; of each list as many elements count. */
typedef struct trt_poolnd_options {
  size_t struct_size;
  int64_t stride[3];        /**< 0: the kernel's size */
  int64_t padding[3];       /**< 0; at most half the kernel */
  int64_t dilation[3];      /**< 1; maximum only */
  bool ceil_mode;           /**< false; true: windows may begin inside and end outside */
  bool count_include_pad;   /**< true; average only */
  int64_t divisor_override; /**< 0: the window's size; average of two or three dimensions only */
} trt_poolnd_options;
/** Sets the defaults. @since 0.1 */
TRT_API void trt_poolnd_options_init(trt_poolnd_options* options);
/** MaxPool1d, 2d or 3d, by the `ndim` sizes of the kernel: maxima of windows of x [n, c, ...] or [c, ...]. @since 0.1 */
TRT_API trt_status* trt_max_poolnd_create(const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out);
/** AvgPool1d, 2d or 3d, by the `ndim` sizes of the kernel: means of windows of x [n, c, ...] or [c, ...]. @since 0.1 */
TRT_API trt_status* trt_avg_poolnd_create(const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out);
/**
 * LPPool1d, 2d or 3d, by the `ndim` sizes of the kernel: of each window of x [n, c, ...] or [c, ...] the sum of x^norm_type to the power 1 / norm_type, which
 * is not zero. Of the options stride and ceil_mode count. @since 0.1
 */
TRT_API trt_status* trt_lp_poolnd_create(double norm_type, const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out);
/**
 * MaxUnpool1d, 2d or 3d, by the `ndim` sizes of the kernel: the inverse of MaxPool, with zeros where no maximum was. Inputs (trt_module_forward_with): x
 * [n, c, ...] or [c, ...], and int64 indices of its shape as trt_max_pool2d_with_indices gives them. Of the options stride and padding count. @since 0.1
 */
TRT_API trt_status* trt_max_unpoolnd_create(const int64_t* kernel_size, size_t ndim, const trt_poolnd_options* options, trt_module** out);
/**
 * FractionalMaxPool2d or 3d, by the `ndim` sizes of the kernel: maxima of windows of x [n, c, ...] or [c, ...] at places that are drawn for each sample and
 * channel from the process's generator. Either `output_size` or `output_ratio` (of the input's extents, in (0, 1)) is given, one number for all dimensions or
 * one for each; the other one is NULL. @since 0.1
 */
TRT_API trt_status* trt_fractional_max_poolnd_create(const int64_t* kernel_size, size_t ndim, const int64_t* output_size, size_t output_size_count,
                                                     const double* output_ratio, size_t output_ratio_count, trt_module** out);
/** AdaptiveAvgPool1d, 2d or 3d, by the `ndim` sizes of the output: means of windows such that the output has these. @since 0.1 */
TRT_API trt_status* trt_adaptive_avg_poolnd_create(const int64_t* output_size, size_t ndim, trt_module** out);
/** AdaptiveMaxPool1d, 2d or 3d; as trt_adaptive_avg_poolnd_create, with maxima. @since 0.1 */
TRT_API trt_status* trt_adaptive_max_poolnd_create(const int64_t* output_size, size_t ndim, trt_module** out);

/**
 * The cosine of the angle between the vectors along dimension `dim` of two inputs (trt_module_forward_with) that broadcast, lengths being at least eps
 * (PyTorch's defaults: 1 and 1e-8). @since 0.1
 */
TRT_API trt_status* trt_cosine_similarity_create(int64_t dim, double eps, trt_module** out);
/**
 * The p-norm of the difference of two inputs (trt_module_forward_with) along the last dimension, which stays with size 1 where keepdim; eps is added to the
 * difference (PyTorch's defaults: 2 and 1e-6). @since 0.1
 */
TRT_API trt_status* trt_pairwise_distance_create(double p, double eps, bool keepdim, trt_module** out);

/* --- initializers: fill a floating-point tensor in place, recording nothing. generator NULL: the default one. --- */

/** Which side of a weight [out, in, ...] counts. The numbers are pinned. */
typedef enum trt_fan_mode { TRT_FAN_IN = 0, TRT_FAN_OUT = 1 } trt_fan_mode;

/** Uniform in [low, high). @since 0.1 */
TRT_API trt_status* trt_init_uniform(trt_tensor* tensor, double low, double high, trt_generator* generator);
/** Normal. @since 0.1 */
TRT_API trt_status* trt_init_normal(trt_tensor* tensor, double mean, double std, trt_generator* generator);
/** Normal, limited to [low, high]. @since 0.1 */
TRT_API trt_status* trt_init_trunc_normal(trt_tensor* tensor, double mean, double std, double low, double high, trt_generator* generator);
/** One value; any dtype. @since 0.1 */
TRT_API trt_status* trt_init_constant(trt_tensor* tensor, double value);
/** Zeros; any dtype. @since 0.1 */
TRT_API trt_status* trt_init_zeros(trt_tensor* tensor);
/** Ones; any dtype. @since 0.1 */
TRT_API trt_status* trt_init_ones(trt_tensor* tensor);
/** The identity matrix; two dimensions, any dtype. @since 0.1 */
TRT_API trt_status* trt_init_eye(trt_tensor* tensor);
/** Uniform in +-gain sqrt(6 / (fan_in + fan_out)); at least two dimensions. @since 0.1 */
TRT_API trt_status* trt_init_xavier_uniform(trt_tensor* tensor, double gain, trt_generator* generator);
/** Normal with deviation gain sqrt(2 / (fan_in + fan_out)); at least two dimensions. @since 0.1 */
TRT_API trt_status* trt_init_xavier_normal(trt_tensor* tensor, double gain, trt_generator* generator);
/**
 * Uniform in +-gain sqrt(3 / fan), gain being that of `nonlinearity` (NULL: "leaky_relu"): "linear", "sigmoid", "tanh", "relu", "leaky_relu"
 * (negative slope `a`), "selu". `mode` is a trt_fan_mode. At least two dimensions. @since 0.1
 */
TRT_API trt_status* trt_init_kaiming_uniform(trt_tensor* tensor, double a, int32_t mode, const char* nonlinearity, trt_generator* generator);
/** Normal with deviation gain / sqrt(fan); nonlinearity NULL: "leaky_relu". @since 0.1 */
TRT_API trt_status* trt_init_kaiming_normal(trt_tensor* tensor, double a, int32_t mode, const char* nonlinearity, trt_generator* generator);
/** Orthonormal rows (or columns, where there are fewer), times gain; at least two dimensions, the trailing ones count as one. @since 0.1 */
TRT_API trt_status* trt_init_orthogonal(trt_tensor* tensor, double gain, trt_generator* generator);

#ifdef __cplusplus
}
#endif

#endif
