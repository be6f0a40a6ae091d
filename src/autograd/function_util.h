// What the generated Autograd kernels call.
#pragma once

#include "autograd/meta.h"
#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "dispatch/operator.h"

namespace trt::autograd {

inline bool quick(const Tensor& t) { return requires_grad_quick(t); }
inline bool quick(TensorList list) {
  for (const Tensor& t : list)
    if (requires_grad_quick(t)) return true;
  return false;
}
bool precise(const Tensor& t);
bool precise(TensorList list);

// Whether an operator on these arguments must record a node.
template <typename... T>
TRT_INLINE bool any_requires_grad(const T&... tensors) {
  if (!thread_state.grad_enabled || !(quick(tensors) || ...)) return false;
  return (precise(tensors) || ...);
}

template <typename N>
intrusive_ptr<N> make_node() {
  return intrusive_ptr<N>::adopt(new N);
}

// Sets grad_fn of fresh outputs. A list, or an output of a non-floating dtype, takes its number all the same.
void set_history(Tensor& t, const NodePtr& node, bool differentiable = true);
void set_history(std::vector<Tensor>& list, const NodePtr& node);
// `result` views `self`'s storage.
void mark_view(const Tensor& self, Tensor& result);
void mark_view(const Tensor& self, std::vector<Tensor>& results);
// May `self` be changed in place? Throws kFailedPrecondition for a leaf that requires grad.
void check_inplace(const Tensor& self, bool needs_grad, const char* op);
// self was changed in place by the operator of `node`.
void rebase_history(Tensor& self, const NodePtr& node);
// Node of an in-place operator whose result does not depend on its inputs (fill_): all gradients end there. `name` is not copied.
NodePtr make_zero_node(const Tensor& self, const char* name);
void reject_out_gradient(const char* op, bool needs_grad);
Tensor clone_detached(const Tensor& t);
// grads[i], or zeros of the output's shape.
Tensor grad_or_zeros_of(const Node& node, const GradVec& grads, size_t i);

}  // namespace trt::autograd

// Inside a node's apply.
#define grad_or_zeros(grads, i) ::trt::autograd::grad_or_zeros_of(*this, grads, i)
