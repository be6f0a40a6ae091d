#include "autograd/engine.h"

#include <algorithm>
#include <optional>

#include "autograd/accumulate_grad.h"
#include "base/cancel.h"
#include "gen/all_ops.h"

namespace trt::autograd {

namespace {

struct State {
  Node* node = nullptr;
  uint64_t priority = 0;    // among the nodes that are ready
  uint32_t first_edge = 0;  // where its edges begin in GraphTask::next_
  uint32_t waiting = 0;     // gradients still to come
  bool needed = true;       // leads to something that was asked for
  bool capture = false;     // a gradient arriving here was asked for by grad()
  bool queued = false;
  GradVec grads;
};

// Leaves go first: their gradient is complete and its memory can be reused. Under a cancel token they go last: as long as the pass can be cancelled it
// has changed none.
uint64_t priority(Node* n) {
  if (n->edge_count() != 0) return n->sequence();
  return TRT_UNLIKELY(current_cancel_token != nullptr) ? 0 : ~uint64_t{0};
}

// Node -> index into a vector of states: open addressing, a few bytes per node.
class StateMap {
 public:
  StateMap() : table_(64, kEmpty) { states.reserve(16); }
  std::vector<State> states;

  uint32_t* find(Node* n) {
    for (size_t i = hash(n);; ++i) {
      uint32_t& slot = table_[i & (table_.size() - 1)];
      if (slot == kEmpty) return nullptr;
      if (states[slot].node == n) return &slot;
    }
  }
  // The index of n, and whether it is new.
  std::pair<uint32_t, bool> insert(Node* n) {
    if (uint32_t* at = find(n)) return {*at, false};
    if ((states.size() + 1) * 2 > table_.size()) grow();
    const auto index = static_cast<uint32_t>(states.size());
    State& s = states.emplace_back();
    s.node = n;
    s.priority = priority(n);
    s.grads = GradVec(n->output_count());
    place(n, index);
    return {index, true};
  }

 private:
  static constexpr uint32_t kEmpty = ~0u;
  static size_t hash(Node* n) { return static_cast<size_t>((reinterpret_cast<uintptr_t>(n) >> 6) * 0x9e3779b97f4a7c15ull >> 20); }
  void place(Node* n, uint32_t index) {
    for (size_t i = hash(n);; ++i) {
      uint32_t& slot = table_[i & (table_.size() - 1)];
      if (slot == kEmpty) {
        slot = index;
        return;
      }
    }
  }
  void grow() {
    table_.assign(table_.size() * 4, kEmpty);
    for (uint32_t i = 0; i < states.size(); ++i) place(states[i].node, i);
  }
  std::vector<uint32_t> table_;
};

// `g` is what `from` gave as the gradient of its input `index`.
Tensor fit_gradient(Tensor g, const InputMeta& m, const Node& from, size_t index) {
  if (!(g.sizes() == IntArrayRef(m.sizes))) {
    bool expandable = g.dim() >= static_cast<int64_t>(m.sizes.size());
    const size_t lead = expandable ? static_cast<size_t>(g.dim()) - m.sizes.size() : 0;
    for (size_t i = 0; expandable && i < m.sizes.size(); ++i) expandable = m.sizes[i] == 1 || m.sizes[i] == g.sizes()[lead + i];
    TRT_CHECK_CODE(expandable, Code::kInvalidArgument, from.name(), ": the gradient of input ", index, " has shape ", g.sizes(), ", the input has shape ", m.sizes);
    g = op::sum_to_size(g, m.sizes);
  }
  if (is_complex(g.dtype()) && !is_complex(m.dtype)) g = op::real(g);  // what it is with respect to a real number
  if (g.dtype() != m.dtype) g = op::to(g, m.dtype);
  return g;
}

void accumulate(Tensor& into, Tensor g) {
  if (!into.defined()) {
    into = std::move(g);
  } else if (!grad_enabled() && into.impl()->use_count() == 1 && into.impl()->storage()->use_count() == 1 && into.dtype() == g.dtype() &&
             into.is_contiguous() && may_change(into)) {
    op::add_(into, g);
  } else {
    into = op::add(into, g);
  }
}

class GraphTask {
 public:
  GraphTask(bool retain_graph, bool create_graph) : retain_graph_(retain_graph || create_graph), create_graph_(create_graph) {}

  std::vector<Tensor> run(TensorList outputs, TensorList grads, TensorList inputs, bool accumulate_inputs, bool allow_unused) {
    GradModeGuard mode(create_graph_);
    std::vector<Edge> roots;
    std::vector<Tensor> root_grads;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& out = outputs[i];
      TRT_CHECK(out.defined(), "output ", i, " is NULL");
      Edge e = gradient_edge(out);
      TRT_CHECK_CODE(e.node, Code::kFailedPrecondition, "output ", i, " (", out, ") does not require gradients and has no grad_fn");
      Tensor g = i < grads.size() ? grads[i] : Tensor();
      if (!g.defined()) {
        TRT_CHECK(!is_complex(out.dtype()), "output ", i, " is ", out, ": the gradient to begin with is implicit (1) for a single real element only, give one");
        TRT_CHECK(out.numel() == 1, "output ", i, " is ", out, ": the gradient to begin with is implicit (1) for a single element only, give one");
        g = op::ones_like(out);
      } else {
        TRT_CHECK(g.sizes() == out.sizes(), "gradient ", i, " has shape ", g.sizes(), ", the output ", out.sizes());
        if (g.dtype() != out.dtype()) g = op::to(g, out.dtype());
      }
      root_grads.push_back(std::move(g));
      roots.push_back(std::move(e));
    }
    std::vector<Edge> targets;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TRT_CHECK(inputs[i].defined(), "input ", i, " is NULL");
      Edge e = gradient_edge(inputs[i]);
      TRT_CHECK_CODE(e.node, Code::kFailedPrecondition, "input ", i, " (", inputs[i], ") does not require gradients");
      targets.push_back(std::move(e));
    }
    collect(roots);
    std::vector<Tensor> captured(inputs.size());
    if (!inputs.empty()) mark_needed(targets);
    for (const State& s : map_.states)
      if (s.needed) s.node->check_target();
    for (size_t i = 0; i < roots.size(); ++i) {
      State& s = map_.states[*map_.find(roots[i].node.get())];
      accumulate(s.grads[roots[i].input], std::move(root_grads[i]));
    }
    for (auto& root : roots) {
      const uint32_t index = *map_.find(root.node.get());
      if (map_.states[index].waiting == 0) push_once(index);
    }
    std::optional<UncancelledGuard> finish;
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), Later{this});
      const uint32_t index = ready_.back();
      ready_.pop_back();
      if (TRT_UNLIKELY(current_cancel_token != nullptr)) {
        check_cancelled();
        if (map_.states[index].node->edge_count() == 0) {
          finish.emplace();
          finish_retained();
        }
      }
      run_node(index, targets, captured);
    }
    if (TRT_UNLIKELY(current_cancel_token != nullptr)) {
      check_cancelled();
      finish.emplace();
    }
    finish_retained();
    for (size_t i = 0; i < inputs.size(); ++i) {
      TRT_CHECK_CODE(captured[i].defined() || allow_unused || accumulate_inputs, Code::kFailedPrecondition, "grad: input ", i, " (", inputs[i],
                     ") does not reach any output; pass allow_unused to get no gradient for it");
      if (accumulate_inputs && captured[i].defined()) accumulate_into(inputs[i], captured[i]);
    }
    return captured;
  }

 private:
  struct Later {
    GraphTask* task;
    bool operator()(uint32_t a, uint32_t b) const {
      const uint64_t pa = task->map_.states[a].priority, pb = task->map_.states[b].priority;
      return pa != pb ? pa < pb : a > b;
    }
  };

  // Reaches every node and counts the gradients it will receive.
  void collect(const std::vector<Edge>& roots) {
    std::vector<uint32_t> stack;
    auto visit = [&](Node* n) {
      const auto [index, fresh] = map_.insert(n);
      if (fresh) stack.push_back(index);
      return index;
    };
    next_.reserve(32);
    for (const Edge& r : roots) visit(r.node.get());
    while (!stack.empty()) {
      State& s = map_.states[stack.back()];
      Node* n = s.node;
      stack.pop_back();
      s.first_edge = static_cast<uint32_t>(next_.size());
      for (size_t i = 0; i < n->edge_count(); ++i) {
        Node* next = n->edge(i).node.get();
        const uint32_t index = next ? visit(next) : kNone;
        if (next) ++map_.states[index].waiting;
        next_.push_back(index);
      }
    }
  }

  // With inputs given, only nodes that lead to one of them run.
  void mark_needed(const std::vector<Edge>& targets) {
    for (State& s : map_.states) s.needed = false;
    std::vector<std::vector<uint32_t>> users(map_.states.size());
    for (uint32_t i = 0; i < map_.states.size(); ++i) {
      const State& s = map_.states[i];
      for (size_t k = 0; k < s.node->edge_count(); ++k)
        if (const uint32_t next = next_[s.first_edge + k]; next != kNone) users[next].push_back(i);
    }
    std::vector<uint32_t> stack;
    for (const Edge& t : targets)
      if (uint32_t* at = map_.find(t.node.get())) {
        map_.states[*at].capture = true;
        stack.push_back(*at);
      }
    // A node is needed when one of its edges leads to a capture; the captured node itself runs only if needed for another.
    while (!stack.empty()) {
      const uint32_t i = stack.back();
      stack.pop_back();
      for (uint32_t u : users[i])
        if (!map_.states[u].needed) {
          map_.states[u].needed = true;
          stack.push_back(u);
        }
    }
  }

  void push_once(uint32_t index) {
    if (map_.states[index].queued) return;
    map_.states[index].queued = true;
    ready_.push_back(index);
    std::push_heap(ready_.begin(), ready_.end(), Later{this});
  }

  static void run_hooks(const std::vector<Node::Hook>& hooks, const char* node_name, GradVec& grads) {
    for (const auto& h : hooks) {
      if (h.output == Node::kFormerOutput || !grads[h.output].defined()) continue;
      const intrusive_ptr<NodeHook> hook = h.slot->get();
      if (!hook) continue;
      Tensor replaced = hook->call(grads[h.output]);
      if (!replaced.defined()) continue;
      const Tensor& given = grads[h.output];
      TRT_CHECK(replaced.sizes() == given.sizes() && replaced.dtype() == given.dtype() && replaced.device() == given.device(), "hook ", h.id, " on ",
                node_name, " made a gradient ", replaced, " of ", given, "; shape, dtype and device must stay");
      grads[h.output] = std::move(replaced);
    }
  }

  void run_node(uint32_t index, const std::vector<Edge>& targets, std::vector<Tensor>& captured) {
    Node* node = map_.states[index].node;
    GradVec grads = std::move(map_.states[index].grads);
    bool any = false;
    for (size_t i = 0; i < grads.size(); ++i) any |= grads[i].defined();
    auto* leaf = node->edge_count() == 0 ? dynamic_cast<AccumulateGrad*>(node) : nullptr;
    if (any) {
      if (leaf) {
        AutogradMeta* m = meta_of(leaf->leaf());
        if (!m->leaf_hooks.empty()) {
          std::vector<Node::Hook> hooks;
          {
            std::lock_guard lock(m->mutex);
            hooks = m->leaf_hooks;
          }
          run_hooks(hooks, node->name(), grads);
        }
      } else {
        std::vector<Node::Hook> hooks;
        if (!node->hooks.empty()) {
          std::lock_guard lock(node->mutex());
          hooks = node->hooks;
        }
        run_hooks(hooks, node->name(), grads);
        if (!node->retained.empty()) {
          if (current_cancel_token) retained_.emplace_back(node, grads);
          else keep_retained(node, grads);
        }
      }
    }
    if (map_.states[index].capture)
      for (size_t i = 0; i < targets.size(); ++i)
        if (targets[i].node.get() == node) captured[i] = grads[targets[i].input];
    GradVec out(node->edge_count());
    if (any && map_.states[index].needed) {
      std::vector<Tensor> dropped;  // on memory of the host's, whose deleter must not run under the lock
      std::unique_lock lock(node->mutex(), std::defer_lock);
      if (!node->locks_itself()) lock.lock();
      node->apply_conjugating(grads, out);
      if (!retain_graph_) {
        node->visit_saved([&](const Tensor& t) {
          if (t.impl()->storage()->is_host_memory()) dropped.push_back(t);
        });
        node->release_saved();
      }
    }
    grads = GradVec();
    const uint32_t* next = next_.data() + map_.states[index].first_edge;
    for (size_t i = 0; i < node->edge_count(); ++i) {
      if (next[i] == kNone) continue;
      const Edge& e = node->edge(i);
      State& s = map_.states[next[i]];
      if (out[i].defined() && (s.needed || s.capture))
        accumulate(s.grads[e.input], fit_gradient(std::move(out[i]), e.node->output_meta(e.input), *node, i));
      if (--s.waiting == 0) push_once(next[i]);
    }
  }

  // Under a cancel token: when the pass cannot be cancelled any more.
  void finish_retained() {
    for (const auto& [node, grads] : retained_) keep_retained(node, grads);
    retained_.clear();
  }

  static void keep_retained(Node* node, const GradVec& grads) {
    std::vector<Tensor> dropped;  // freed after the locks are gone
    std::lock_guard lock(node->mutex());
    for (const auto& [output, meta] : node->retained) {
      if (!grads[output].defined()) continue;
      std::lock_guard meta_lock(meta->mutex);
      dropped.push_back(meta->grad);
      meta->grad = meta->grad.defined() ? op::add(meta->grad, grads[output]) : op::clone(grads[output]);
    }
  }

  static void accumulate_into(const Tensor& input, const Tensor& g) {
    AutogradMeta* m = meta_of(input);
    if (m->retains_grad) return;  // keep_retained did it
    Tensor dropped;  // freed after the lock is gone
    std::lock_guard lock(m->mutex);
    dropped = m->grad;
    m->grad = m->grad.defined() ? op::add(m->grad, g) : op::clone(g);
  }

  const bool retain_graph_;
  const bool create_graph_;
  StateMap map_;
  static constexpr uint32_t kNone = ~0u;
  std::vector<uint32_t> next_;  // the state that each edge of each node leads to, kNone where no gradient is wanted
  std::vector<uint32_t> ready_;
  std::vector<std::pair<Node*, GradVec>> retained_;
};

void check_counts(TensorList outputs, TensorList grads) {
  TRT_CHECK(!outputs.empty(), "no outputs given");
  TRT_CHECK(grads.empty() || grads.size() == outputs.size(), outputs.size(), " outputs but ", grads.size(), " gradients");
}

}  // namespace

void backward(TensorList outputs, TensorList grads, TensorList inputs, bool retain_graph, bool create_graph) {
  check_counts(outputs, grads);
  GraphTask(retain_graph, create_graph).run(outputs, grads, inputs, true, true);
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grads, bool retain_graph, bool create_graph, bool allow_unused) {
  check_counts(outputs, grads);
  TRT_CHECK(!inputs.empty(), "grad: no inputs given");
  return GraphTask(retain_graph, create_graph).run(outputs, grads, inputs, false, allow_unused);
}

}  // namespace trt::autograd
