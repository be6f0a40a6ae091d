#include "autograd/node.h"

#include "autograd/meta.h"
#include "device/small_alloc.h"
#include "gen/pointwise_ops.h"

namespace trt::autograd {

namespace {

// Younger nodes have higher numbers. Per thread: a graph is nearly always built by one thread, and the order among threads
// only has to be some fixed one within a pass.
constinit TRT_TLS uint64_t next_sequence = 1;

// Nodes waiting to be deleted on this thread: deleting one may drop the last reference to the next, and a chain of a million
// nodes must not recurse. They are linked through their sequence numbers, because this must work without memory.
constinit TRT_TLS bool burying = false;
constinit TRT_TLS Node* waiting = nullptr;

}  // namespace

Node::Node() : sequence_(next_sequence++) {}

void Node::apply_conjugating(const GradVec& grads, GradVec& out) {
  bool complex = false;
  for (size_t i = 0; i < grads.size(); ++i) complex |= grads[i].defined() && is_complex(grads[i].dtype());
  if (TRT_LIKELY(!complex) || !conjugates()) return apply(grads, out);
  GradVec conjugated(grads.size());
  for (size_t i = 0; i < grads.size(); ++i)
    if (grads[i].defined()) conjugated[i] = op::conj_physical(grads[i]);
  apply(conjugated, out);
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].defined() && is_complex(out[i].dtype())) out[i] = op::conj_physical(out[i]);
}

void* Node::operator new(size_t bytes) { return bytes <= kMaxSmall ? small_alloc(bytes) : ::operator new(bytes); }
void Node::operator delete(void* p, size_t bytes) {
  if (bytes <= kMaxSmall) small_free(p, bytes);
  else ::operator delete(p);
}

void Node::destroy(Node* self) {
  if (burying) {
    self->sequence_ = reinterpret_cast<uintptr_t>(waiting);
    waiting = self;
    return;
  }
  burying = true;
  delete self;
  while (Node* n = waiting) {
    waiting = reinterpret_cast<Node*>(static_cast<uintptr_t>(n->sequence_));
    delete n;
  }
  burying = false;
}

void Node::add_edge(Edge e) {
  if (edge_count_ < kInlineEdges) inline_edges_[edge_count_] = std::move(e);
  else more_edges_.push_back(std::move(e));
  ++edge_count_;
}

void Node::add_edge(const Tensor& t) { add_edge(gradient_edge(t)); }

uint32_t Node::add_output(const Tensor& t) {
  const auto number = static_cast<uint32_t>(outputs_.size());
  InputMeta& m = outputs_.add();
  if (t.defined()) {
    m.sizes.assign(t.sizes().data(), t.sizes().size());
    m.dtype = t.dtype();
    m.device = t.device();
  }
  return number;
}

}  // namespace trt::autograd
