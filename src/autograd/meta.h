// AutogradMeta: what autograd knows of one tensor.
//
// Note [Views and in-place]
// A differentiable view remembers its base. An in-place change of a view rebases the base's history: base.grad_fn becomes a
// CopySlices node that routes the gradient of the written region through the operator and the rest to the old history;
// every other view of the base finds that the storage's version moved on since its own history was made, and makes it
// anew as an as_strided of the base. As in PyTorch, a leaf that requires grad cannot be changed in place while grad mode is on.
//
// Note [Inference tensors]
// A tensor made in inference mode lacks the Autograd key, and so do its views. Nothing counts on its version, so it is changed in place in
// inference mode only (check_may_change, in every operator's wrapper) and never saved. A normal tensor keeps its key in inference mode, where
// dispatch passes over it, but for views: they are normal tensors later, and then must know their base.
//
// Note [Converted leaves]
// Module::to gives a leaf other memory, of another dtype, under the same identity. Its AccumulateGrad then no longer fits: new graphs get a new
// one (gradient_edge), and a pass that reaches the old one fails before anything runs (Node::check_target).
#pragma once

#include <memory>
#include <mutex>

#include "autograd/node.h"

namespace trt::autograd {

struct ViewInfo {
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);

  Tensor base;               // never itself a view
  uint32_t version = 0;      // of the storage when grad_fn was made
  bool without_grad = false; // made where nothing was recorded (no_grad, inference mode): its history does not lead to the base
};

class AutogradMeta final : public AutogradMetaBase {
 public:
  ~AutogradMeta() override;
  bool requires_grad_now(const Tensor& t) const override;
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);

  NodePtr grad_fn;        // null on a leaf
  uint32_t output_nr = 0;
  bool retains_grad = false;
  Tensor grad;            // accumulated gradient of a leaf (or of a tensor with retain_grad)
  Node* accumulator = nullptr;  // weak: the AccumulateGrad node of this leaf, if alive
  std::unique_ptr<ViewInfo> view;
  std::mutex mutex;       // guards grad, accumulator and leaf_hooks
  std::vector<Node::Hook> leaf_hooks;  // hooks on a leaf's gradient, and former ones
  // Gives the tensor another history (or none). As in PyTorch, a retained gradient is that of the tensor as it is now, while hooks stay with
  // the value that they were added to.
  void replace_history(NodePtr fn, uint32_t number);

 private:
  TRT_NOINLINE void let_go() noexcept;
};

inline AutogradMeta* meta_of(const Tensor& t) { return static_cast<AutogradMeta*>(t.impl()->autograd()); }
AutogradMeta& ensure_meta(const Tensor& t);

// The current history of t (made anew for a view whose base changed); null node for a tensor that needs no gradient.
Edge gradient_edge(const Tensor& t);
NodePtr grad_fn(const Tensor& t);
bool requires_grad(const Tensor& t);
bool is_leaf(const Tensor& t);
// Throws unless t is a leaf of a floating dtype (or requires is false).
void set_requires_grad(const Tensor& t, bool required);
void retain_grad(const Tensor& t);
// Makes t a leaf that requires no gradients. Throws for a view, whose history is its base's.
void detach_(const Tensor& t);
// The accumulated gradient, or undefined.
Tensor grad_of(const Tensor& t);
// Throws for a gradient unlike t, and for one that keeps t alive.
void set_grad(const Tensor& t, const Tensor& grad);
// Whether this reference to t is all that keeps it and the hook alive.
bool owns_hook(const Tensor& t, uint64_t id);
// Whether `from` is `target` or holds it through its gradient, its view's base or its history.
bool keeps_alive(const Tensor& from, const Tensor& target);
// A tensor hook; returns an id for remove_hook. The hook sees (and may replace) the gradient of t in every backward pass.
uint64_t add_hook(const Tensor& t, intrusive_ptr<NodeHook> hook);
bool remove_hook(const Tensor& t, uint64_t id);
// A tensor on the same storage without history. Shares the version counter.
Tensor detach(const Tensor& t);
// "requires_grad=True" or "grad_fn=<AddBackward0>", as PyTorch prints it; empty when neither holds.
std::string print_suffix(const Tensor& t);

}  // namespace trt::autograd
