/**
 * @file autograd.h
 * Gradients: requires_grad, backward, grad, hooks, and the thread's modes.
 *
 * Many host threads may run backward at once, also over shared leaves: accumulation into a leaf is synchronized. Changing
 * requires_grad, hooks or the gradient of one tensor needs external synchronization with its use elsewhere. Modes are the calling
 * thread's.
 */
#ifndef TENSORRT_AUTOGRAD_H
#define TENSORRT_AUTOGRAD_H

#include "tensorrt/base.h"
#include "tensorrt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether operators on this thread record gradients (true at first). @since 0.1 */
TRT_API bool trt_grad_mode(void);
/** Switches recording on this thread: false is PyTorch's no_grad, true enable_grad. Returns the previous mode. @since 0.1 */
TRT_API bool trt_set_grad_mode(bool enabled);
/** Whether inference mode is on. @since 0.1 */
TRT_API bool trt_inference_mode(void);
/**
 * Switches inference mode on this thread: nothing is recorded, which saves bookkeeping. Tensors made in it, and views of these, are inference
 * tensors for ever: outside of inference mode, changing them in place (also as `out`, as a gradient or as running statistics) and saving them
 * for backward is TRT_FAILED_PRECONDITION; a clone is a normal tensor. Views made in it of normal tensors are normal, but must not be changed in
 * place where that would be recorded. Returns the previous mode. @since 0.1
 */
TRT_API bool trt_set_inference_mode(bool enabled);

/** Whether gradients flow to this tensor. false for NULL. @since 0.1 */
TRT_API bool trt_tensor_requires_grad(const trt_tensor* tensor);
/**
 * Asks for gradients of a leaf of floating dtype, or no longer: backward then leaves its grad alone, also in graphs made before. A tensor with a
 * history requires gradients: to ask for them again changes nothing, to ask for none is TRT_FAILED_PRECONDITION. A tensor made in inference
 * mode can be asked for gradients in inference mode only. @since 0.1
 */
TRT_API trt_status* trt_tensor_set_requires_grad(trt_tensor* tensor, bool requires_grad);
/** Whether no operator of the graph made it. true for NULL. @since 0.1 */
TRT_API bool trt_tensor_is_leaf(const trt_tensor* tensor);
/**
 * The name of the node that made the tensor ("AddBackward0"), freed with trt_string_release; NULL in *out for a leaf. @since 0.1
 */
TRT_API trt_status* trt_tensor_grad_fn_name(const trt_tensor* tensor, char** out);
/**
 * A node of the graph that a backward pass goes through: it takes the gradients of an operator's results to its arguments. Counted, immutable, and
 * keeps alive what lies behind it.
 */
typedef struct trt_node trt_node;
/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_node* trt_node_retain(trt_node* node);
/** Releases one reference; NULL is allowed; any thread. @since 0.1 */
TRT_API void trt_node_release(trt_node* node);
/** The node that made the tensor: a new handle, or NULL in *out for a leaf. @since 0.1 */
TRT_API trt_status* trt_tensor_grad_fn(const trt_tensor* tensor, trt_node** out);
/** "AddBackward0", borrowed from the node; "AccumulateGrad" where a leaf's gradient arrives; NULL for NULL. @since 0.1 */
TRT_API const char* trt_node_name(const trt_node* node);
/** Number of the node's edges (PyTorch's next_functions), one for each argument that could need a gradient; 0 for NULL. @since 0.1 */
TRT_API size_t trt_node_next_count(const trt_node* node);
/** Where edge `index` leads: a new handle, or NULL in *out where no gradient is needed. TRT_OUT_OF_RANGE beyond the end. @since 0.1 */
TRT_API trt_status* trt_node_next(const trt_node* node, size_t index, trt_node** out);
/** Which of that node's results the edge belongs to; 0 where it leads nowhere, beyond the end, and for NULL. @since 0.1 */
TRT_API size_t trt_node_next_input(const trt_node* node, size_t index);
/** The leaf of an AccumulateGrad node: a new handle; NULL in *out for another node. @since 0.1 */
TRT_API trt_status* trt_node_variable(const trt_node* node, trt_tensor** out);
/** The accumulated gradient: a new handle, or NULL in *out when there is none. @since 0.1 */
TRT_API trt_status* trt_tensor_grad(const trt_tensor* tensor, trt_tensor** out);
/**
 * Sets the gradient (of the same shape, dtype and device), or drops it with NULL. TRT_INVALID_ARGUMENT for the tensor itself and for a gradient that
 * keeps it alive (a view of it, or one whose history reaches it), since neither would ever be freed. @since 0.1
 */
TRT_API trt_status* trt_tensor_set_grad(trt_tensor* tensor, const trt_tensor* grad);
/**
 * Keeps the gradient of a tensor that is not a leaf: of the tensor as it is when the pass uses it. When it is changed in place, or a base or view
 * that shares its memory is, the gradient of the new value is kept. @since 0.1
 */
TRT_API trt_status* trt_tensor_retain_grad(trt_tensor* tensor);
/** Whether trt_tensor_retain_grad was called for this tensor, which is no leaf; false for NULL. @since 0.1 */
TRT_API bool trt_tensor_retains_grad(const trt_tensor* tensor);
/**
 * Gives a tensor the elements of another one: memory (which they share from now on), sizes, strides, dtype and device. The tensor keeps its identity,
 * requires_grad, hooks and gradient (PyTorch's `tensor.data = data`); all handles to it see the change, which counts in its version (not in that of
 * `data`): a graph that saved the tensor itself cannot run backward any more. Not for views that take part in recording, and
 * not for a dtype without gradients where gradients are asked for: TRT_INVALID_ARGUMENT. Needs external synchronization with every use of the
 * tensor. @since 0.1
 */
TRT_API trt_status* trt_tensor_set_data(trt_tensor* tensor, const trt_tensor* data);
/** The same elements without history; shares memory and version counter. @since 0.1 */
TRT_API trt_status* trt_tensor_detach(const trt_tensor* tensor, trt_tensor** out);
/**
 * Drops the history of the tensor itself and makes it a leaf that requires no gradients; views made of it before keep theirs. TRT_FAILED_PRECONDITION
 * for a view, whose history is that of its base. Needs external synchronization with every use of the tensor. @since 0.1
 */
TRT_API trt_status* trt_tensor_detach_(trt_tensor* tensor);

/**
 * Backward from outputs: gradients accumulate in the leaves. `grads`: one for each output, NULL elements (or grads NULL) stand for 1 where
 * the output has one element. `inputs` (may be empty) limits accumulation to these tensors. `retain_graph` keeps what the graph saved, for
 * another pass; `create_graph` records the backward pass itself, for higher derivatives; the leaves' gradients then keep the graph alive and
 * the graph the leaves, until the gradients are dropped (trt_tensor_set_grad with NULL) or detached. trt_grad has no such cycle. @since 0.1
 */
TRT_API trt_status* trt_backward(const trt_tensor* const* outputs, size_t outputs_count, const trt_tensor* const* grads, size_t grads_count,
                                 const trt_tensor* const* inputs, size_t inputs_count, bool retain_graph, bool create_graph);
/** trt_backward of one output with one element, freeing the graph. @since 0.1 */
TRT_API trt_status* trt_tensor_backward(const trt_tensor* tensor);
/**
 * The gradients of `inputs`; changes no tensor's grad. `out` receives inputs_count new handles; with allow_unused an input that does not reach
 * the outputs gives NULL, without it that is an error. @since 0.1
 */
TRT_API trt_status* trt_grad(const trt_tensor* const* outputs, size_t outputs_count, const trt_tensor* const* inputs, size_t inputs_count,
                             const trt_tensor* const* grads, size_t grads_count, bool retain_graph, bool create_graph, bool allow_unused,
                             trt_tensor** out);

/**
 * A tensor hook: sees the gradient (borrowed) of the value that the tensor has when the hook is added, in every backward pass; may give a replacement
 * of the same shape, dtype and device in *out (ownership goes to the library); another one fails the backward call with TRT_INVALID_ARGUMENT.
 * Returns NULL, or a status that fails the backward call and reaches its caller unchanged.
 */
typedef trt_status* (*trt_hook_fn)(const trt_tensor* grad, trt_tensor** out, void* user_data);
/** Adds a hook; `destroy` runs exactly once, also when this fails. *out_id identifies it for removal. @since 0.1 */
TRT_API trt_status* trt_tensor_add_hook(trt_tensor* tensor, trt_hook_fn fn, void* user_data, trt_destroy_fn destroy, uint64_t* out_id);
/** Removes a hook. TRT_NOT_FOUND when there is none of this id. @since 0.1 */
TRT_API trt_status* trt_tensor_remove_hook(trt_tensor* tensor, uint64_t id);
/**
 * For collectors of garbage, which must know who keeps a hook's user_data alive: true when this handle alone keeps the tensor, and the tensor
 * alone the hook, so that to release the handle would run `destroy`; false also when that cannot be told at once, without such a hook, and
 * for NULL. Waits for nothing, calls nothing. The answer may be out of date at once where another thread has the handle, too. @since 0.1
 */
TRT_API bool trt_tensor_owns_hook(const trt_tensor* tensor, uint64_t id);

/**
 * The gradient of a function of the host's own: `grads` are the gradients of its outputs (borrowed; NULL where none arrived); out[i] may be set to the
 * gradient of input i (ownership goes to the library), or left NULL when there is none. A gradient is summed to its input's shape where that was
 * broadcast, and converted to its dtype. Operators that it calls are recorded where the pass is (create_graph). Returns NULL, or a status
 * that fails the backward call and reaches its caller unchanged. Called on the thread that runs the pass, on several at once when several
 * threads run backward over a retained graph.
 */
typedef trt_status* (*trt_backward_fn)(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* user_data);
/**
 * Makes a function of the host differentiable (PyTorch's autograd.Function). The host has computed `outputs` from `inputs` with recording off; `out`
 * receives outputs_count new handles on the same memory (on a copy, for an output that shares memory with an input), whose gradients go to the inputs through a node `name` that calls `fn`. When no input requires
 * gradients, or none are recorded on this thread, they have no history and `fn` is never called. Outputs of integer dtypes get none
 * either. `destroy` (may be NULL) runs exactly once: when the graph is freed (by a pass without retain_graph, or with the last
 * output), or before this function returns when nothing is recorded or it fails. `user_data` must not own the new handles; tensors that it keeps
 * for the gradient must not be changed in place meanwhile (compare trt_tensor_version). TRT_FAILED_PRECONDITION for an output that
 * has a history of its own. @since 0.1
 */
TRT_API trt_status* trt_custom_function(const char* name, const trt_tensor* const* inputs, size_t inputs_count, const trt_tensor* const* outputs,
                                        size_t outputs_count, trt_backward_fn fn, void* user_data, trt_destroy_fn destroy, trt_tensor** out);
/**
 * For a trt_backward_fn whose gradient needs an output of its function: a new handle on the memory of `saved`, which is outputs[index] as it was given to
 * trt_custom_function and is kept in `user_data`, with the history of the function's result. The kept tensor itself has none, and the gradient of a gradient
 * (create_graph) that is computed from it lacks a part. (A kept result would own its history, which owns `user_data`, and never be freed.) TRT_FAILED_PRECONDITION
 * outside of a trt_backward_fn; TRT_INVALID_ARGUMENT when there is no such output or its shape, dtype or device differ. @since 0.1
 */
TRT_API trt_status* trt_custom_function_saved_output(const trt_tensor* saved, size_t index, trt_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
