// Nodes of the backward graph.
//
// A Node computes the gradients of an operator's inputs from those of its outputs. Its edges say where each input's gradient
// goes: (node, input number). Nodes are intrusively counted; tensors hold their grad_fn, nodes hold the next nodes, so that a
// graph lives as long as a tensor computed by it.
//
// Thread safety: a graph may be walked by several threads at once (retained graphs); a node's own state changes only in
// release_saved, under the node's mutex.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/modes.h"
#include "core/tensor.h"

namespace trt::autograd {

// A short list of tensors, the first few inline.
class GradVec {
 public:
  static constexpr size_t kInline = 4;
  GradVec() = default;
  explicit GradVec(size_t n) : size_(n) {
    if (n > kInline) heap_.resize(n);
  }
  size_t size() const { return size_; }
  Tensor* data() { return size_ > kInline ? heap_.data() : inline_; }
  const Tensor* data() const { return size_ > kInline ? heap_.data() : inline_; }
  Tensor& operator[](size_t i) { return data()[i]; }
  const Tensor& operator[](size_t i) const { return data()[i]; }

 private:
  size_t size_ = 0;
  Tensor inline_[kInline];
  std::vector<Tensor> heap_;
};

class Node;
using NodePtr = intrusive_ptr<Node>;

struct Edge {
  NodePtr node;  // null: no gradient is wanted
  uint32_t input = 0;
};

// What the gradient for one of a node's inputs must look like; the engine sums broadcast gradients down and casts them.
struct InputMeta {
  DimVector sizes;
  DType dtype = DType::Float32;
  Device device;
};

inline bool fits(const InputMeta& m, const Tensor& t) { return IntArrayRef(m.sizes) == t.sizes() && m.dtype == t.dtype() && m.device == t.device(); }

// Called around a node's apply by hooks of the host; may replace gradients.
class NodeHook : public RefCounted<NodeHook> {
 public:
  virtual ~NodeHook() = default;
  virtual Tensor call(const Tensor& grad) = 0;  // returns the new gradient, or undefined to keep it
};

// Where a hook is kept: removal empties it, whoever else holds it (a node, a tensor that once had that node, a pass that runs).
class HookSlot : public RefCounted<HookSlot> {
 public:
  explicit HookSlot(intrusive_ptr<NodeHook> hook) : hook_(std::move(hook)) {}
  intrusive_ptr<NodeHook> get() {
    std::lock_guard lock(mutex_);
    return hook_;
  }
  // To be dropped under no lock: that runs the host's code.
  intrusive_ptr<NodeHook> take() {
    std::lock_guard lock(mutex_);
    return std::move(hook_);
  }

 private:
  std::mutex mutex_;
  intrusive_ptr<NodeHook> hook_;
};

class Node : public RefCounted<Node> {
 public:
  virtual ~Node() {
    if (!hooks.empty()) drop_hooks();
  }
  virtual const char* name() const = 0;
  // grads[i]: gradient of output i, at least one defined. Fills out[k] for the edges that want one.
  virtual void apply(const GradVec& grads, GradVec& out) = 0;
  // Whether apply computes J^T grad of a holomorphic function, so that complex gradients pass through it conjugated (Note [Complex gradients] in
  // engine.h).
  virtual bool conjugates() const { return false; }
  // apply, with that done.
  void apply_conjugating(const GradVec& grads, GradVec& out);
  // Whether apply and release_saved take the mutex themselves; otherwise the engine holds it around them.
  virtual bool locks_itself() const { return false; }
  // Lets go of what was saved for backward.
  virtual void release_saved() {}
  // Calls f for every tensor that the node keeps alive.
  virtual void visit_saved(const std::function<void(const Tensor&)>&) const {}
  // Throws when a gradient can no longer be put where the node would put it.
  virtual void check_target() const {}
  static void destroy(Node* self);
  static constexpr bool kWeakReferences = true;  // a leaf's to its AccumulateGrad
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);

  uint64_t sequence() const { return sequence_; }
  size_t edge_count() const { return edge_count_; }
  const Edge& edge(size_t i) const { return i < kInlineEdges ? inline_edges_[i] : more_edges_[i - kInlineEdges]; }
  bool wants(size_t i) const { return edge(i).node.get() != nullptr; }
  bool wants_any(size_t from, size_t count) const {
    for (size_t i = from; i < from + count; ++i)
      if (wants(i)) return true;
    return false;
  }

  void add_edge(Edge e);
  // The edge along which `t` receives its gradient (none if it needs none).
  void add_edge(const Tensor& t);
  void add_edges(TensorList list) {
    for (const Tensor& t : list) add_edge(t);
  }
  void add_no_edge() { add_edge(Edge()); }

  // Registers `t` as the next output; returns its number.
  uint32_t add_output(const Tensor& t);
  size_t output_count() const { return outputs_.size(); }
  const InputMeta& output_meta(size_t i) const { return outputs_[i]; }

  // Hooks on the gradient of one output (tensor hooks), run in order before apply. In the list of a tensor also those that stayed with a node
  // which the tensor had before; they are no longer the tensor's, but it removes them.
  static constexpr uint32_t kFormerOutput = ~0u;
  struct Hook {
    uint32_t output;
    uint64_t id;
    intrusive_ptr<HookSlot> slot;
  };
  std::vector<Hook> hooks;
  // retain_grad: the tensors (weakly, by address of their metadata) that want their gradient kept.
  std::vector<std::pair<uint32_t, class AutogradMeta*>> retained;

  std::mutex& mutex() { return mutex_; }
  bool released = false;  // saved tensors were let go by a backward pass

 protected:
  Node();

 private:
  // Tensors that had this node may keep the slots, but not the hooks.
  void drop_hooks() {
    for (const Hook& h : hooks) h.slot->take();
  }
  static constexpr size_t kInlineEdges = 2;
  uint64_t sequence_;  // a link, once nothing refers to the node
  uint32_t edge_count_ = 0;
  Edge inline_edges_[kInlineEdges];
  std::vector<Edge> more_edges_;
  class OutputMetas {
   public:
    size_t size() const { return count_; }
    InputMeta& operator[](size_t i) { return i == 0 ? first_ : rest_[i - 1]; }
    const InputMeta& operator[](size_t i) const { return i == 0 ? first_ : rest_[i - 1]; }
    InputMeta& add() { return count_++ == 0 ? first_ : rest_.emplace_back(); }

   private:
    size_t count_ = 0;
    InputMeta first_;
    std::vector<InputMeta> rest_;
  } outputs_;
  std::mutex mutex_;
  friend void collect_released_edges(Node* node, std::vector<NodePtr>& out);
};

}  // namespace trt::autograd
