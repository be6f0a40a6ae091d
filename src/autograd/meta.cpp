#include "autograd/meta.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "autograd/accumulate_grad.h"
#include "base/unwind.h"
#include "device/small_alloc.h"
#include "gen/shape_ops.h"

namespace trt::autograd {

namespace {

std::atomic<uint64_t> next_hook_id{1};

// Whether the memory of a view was changed in place since its history was made. A base that was given other memory (set_data) has nothing to do
// with the view any more.
bool is_stale(const Tensor& t, const AutogradMeta& m) {
  return m.view->version != t.impl()->storage()->version() && t.shares_storage(m.view->base);
}

// A view's history is stale when its base was changed in place since: make it anew as a strided view of the base.
void refresh_view(const Tensor& t, AutogradMeta& m) {
  if (!is_stale(t, m)) return;
  const uint32_t version = t.impl()->storage()->version();
  const Tensor& base = m.view->base;
  if (!requires_grad(base) || is_leaf(base)) return;
  GradModeGuard record(true);
  // Also when asked for below autograd or in inference mode.
  struct Above {
    const ThreadState before = thread_state;
    Above() { set_inference_mode(false); }
    ~Above() {
      thread_state.exclude = before.exclude;
      thread_state.inference = before.inference;
    }
  } above;
  // The geometry of view_as_real and what was made of it counts in parts.
  TRT_CHECK_CODE(base.dtype() == t.dtype() || is_complex(base.dtype()), Code::kNotSupported, "the history of a view (", t, ") of a tensor of dtype ", base.dtype(),
                 ", which was changed in place, cannot be recorded");
  const Tensor again = op::as_strided(base.dtype() == t.dtype() ? base : op::view_as_real(base), t.sizes(), t.strides(), t.storage_offset());
  AutogradMeta* fresh = meta_of(again);
  m.replace_history(fresh->grad_fn, fresh->output_nr);
  m.requires_grad = true;
  m.view->version = version;
}

}  // namespace

void* ViewInfo::operator new(size_t bytes) { return small_alloc(bytes); }
void ViewInfo::operator delete(void* p, size_t bytes) { small_free(p, bytes); }
void* AutogradMeta::operator new(size_t bytes) { return small_alloc(bytes); }
void AutogradMeta::operator delete(void* p, size_t bytes) { small_free(p, bytes); }

AutogradMeta::~AutogradMeta() {
  if (TRT_UNLIKELY(grad.defined() || retains_grad)) let_go();
}

void AutogradMeta::let_go() noexcept {
  // Gradients may have gradients (Note [Long chains]).
  if (grad.defined()) unwind([](void* g) { static_cast<TensorImpl*>(g)->release(); }, grad.release_impl());
  if (retains_grad && grad_fn) {
    std::lock_guard lock(grad_fn->mutex());
    std::erase_if(grad_fn->retained, [&](const auto& r) { return r.second == this; });
  }
}

void AutogradMeta::replace_history(NodePtr fn, uint32_t number) {
  if (grad_fn) {
    std::lock_guard lock(grad_fn->mutex());
    if (retains_grad) std::erase_if(grad_fn->retained, [&](const auto& r) { return r.second == this; });
    std::lock_guard own(mutex);
    for (const Node::Hook& h : grad_fn->hooks)
      if (h.output == output_nr) leaf_hooks.push_back({Node::kFormerOutput, h.id, h.slot});
  }
  if (retains_grad && fn) {
    std::lock_guard lock(fn->mutex());
    fn->retained.emplace_back(number, this);
  }
  std::lock_guard lock(mutex);
  std::swap(grad_fn, fn);  // the old one goes after the lock
  output_nr = number;
}

AutogradMeta& ensure_meta(const Tensor& t) {
  if (!t.impl()->autograd()) t.impl()->set_autograd(std::unique_ptr<AutogradMetaBase>(new AutogradMeta));
  return *meta_of(t);
}

bool requires_grad(const Tensor& t) {
  const AutogradMeta* m = meta_of(t);
  if (!m) return false;
  if (m->requires_grad) return true;
  return m->view && is_stale(t, *m) && !is_leaf(m->view->base) && requires_grad(m->view->base);
}

bool AutogradMeta::requires_grad_now(const Tensor& t) const { return autograd::requires_grad(t); }

NodePtr grad_fn(const Tensor& t) {
  AutogradMeta* m = meta_of(t);
  if (!m) return nullptr;
  if (m->view) refresh_view(t, *m);
  return m->grad_fn;
}

bool is_leaf(const Tensor& t) { return !grad_fn(t); }

Edge gradient_edge(const Tensor& t) {
  if (!t.defined()) return {};
  AutogradMeta* m = meta_of(t);
  if (!m) return {};
  if (m->view) refresh_view(t, *m);
  if (m->grad_fn) return {m->grad_fn, m->output_nr};
  if (!m->requires_grad) return {};
  std::lock_guard lock(m->mutex);
  // One that was made before the leaf was converted is not for new graphs.
  if (m->accumulator && m->accumulator->try_retain())
    if (Edge edge{NodePtr::adopt(m->accumulator), 0}; fits(edge.node->output_meta(0), t)) return edge;
  auto node = NodePtr::adopt(new AccumulateGrad(t));
  m->accumulator = node.get();
  return {std::move(node), 0};
}

void set_requires_grad(const Tensor& t, bool required) {
  if (!required && !t.impl()->autograd()) return;
  TRT_CHECK_CODE(!required || is_differentiable(t.dtype()), Code::kInvalidArgument, "requires_grad: only floating-point tensors can require gradients, got ", t);
  if (required && requires_grad(t)) return;
  TRT_CHECK_CODE(!required || !is_inference(t) || thread_state.inference, Code::kFailedPrecondition, "requires_grad: a tensor made in inference mode (", t,
                 ") cannot be asked for gradients outside of it; clone it");
  AutogradMeta& m = ensure_meta(t);
  TRT_CHECK_CODE(is_leaf(t), Code::kFailedPrecondition, "requires_grad: can be changed on leaf tensors only; use detach to get one");
  m.requires_grad = required;
}

void retain_grad(const Tensor& t) {
  TRT_CHECK_CODE(requires_grad(t), Code::kFailedPrecondition, "retain_grad: the tensor does not require gradients");
  const NodePtr node = grad_fn(t);
  AutogradMeta& m = *meta_of(t);
  if (!node || m.retains_grad) return;
  std::lock_guard lock(node->mutex());
  node->retained.emplace_back(m.output_nr, &m);
  m.retains_grad = true;
}

void detach_(const Tensor& t) {
  AutogradMeta* m = meta_of(t);
  if (!m) return;
  TRT_CHECK_CODE(!m->view, Code::kFailedPrecondition, "detach_: ", t, " is a view, whose history is that of its base, and cannot be detached in place; use detach");
  m->replace_history(nullptr, 0);
  m->retains_grad = m->requires_grad = false;
}

Tensor grad_of(const Tensor& t) {
  AutogradMeta* m = meta_of(t);
  if (!m) return {};
  std::lock_guard lock(m->mutex);
  return m->grad;
}

bool keeps_alive(const Tensor& from, const Tensor& target) {
  if (!from.impl()->autograd()) return from.is_same(target);
  std::vector<Tensor> tensors{from};
  std::vector<NodePtr> nodes;
  std::unordered_set<const void*> seen;
  while (!tensors.empty() || !nodes.empty()) {
    if (!tensors.empty()) {
      const Tensor t = std::move(tensors.back());
      tensors.pop_back();
      if (t.is_same(target)) return true;
      AutogradMeta* m = meta_of(t);
      if (!m || !seen.insert(m).second) continue;
      std::lock_guard lock(m->mutex);
      if (m->grad.defined()) tensors.push_back(m->grad);
      if (m->view) tensors.push_back(m->view->base);
      if (m->grad_fn) nodes.push_back(m->grad_fn);
      continue;
    }
    const NodePtr n = std::move(nodes.back());
    nodes.pop_back();
    if (!seen.insert(n.get()).second) continue;
    std::lock_guard lock(n->mutex());
    n->visit_saved([&](const Tensor& t) { tensors.push_back(t); });
    for (size_t i = 0; i < n->edge_count(); ++i)
      if (n->edge(i).node) nodes.push_back(n->edge(i).node);
  }
  return false;
}

void set_grad(const Tensor& t, const Tensor& grad) {
  if (!grad.defined() && !t.impl()->autograd()) return;
  TRT_CHECK(!grad.defined() || (grad.sizes() == t.sizes() && grad.dtype() == t.dtype() && grad.device() == t.device()),
            "set_grad: a gradient of a ", t, " must be like it, got ", grad);
  // A tensor that nothing but the caller's handle refers to is not reached from anywhere.
  const bool reachable = grad.defined() && (grad.is_same(t) || t.impl()->use_count() > 1);
  TRT_CHECK(!reachable || !keeps_alive(grad, t), "set_grad: the gradient ", grad, " is the tensor itself or keeps it alive, and neither would ever be freed; "
            "detach or clone the gradient");
  AutogradMeta& m = ensure_meta(t);
  Tensor fresh = grad;  // then the old gradient, freed after the lock is gone: its memory may be the host's
  std::lock_guard lock(m.mutex);
  std::swap(m.grad, fresh);
}

uint64_t add_hook(const Tensor& t, intrusive_ptr<NodeHook> hook) {
  TRT_CHECK_CODE(requires_grad(t), Code::kFailedPrecondition, "add_hook: the tensor does not require gradients");
  const uint64_t id = next_hook_id.fetch_add(1, std::memory_order_relaxed);
  const NodePtr node = grad_fn(t);
  AutogradMeta& m = *meta_of(t);
  auto slot = make_intrusive<HookSlot>(std::move(hook));
  if (node) {
    std::lock_guard lock(node->mutex());
    node->hooks.push_back({m.output_nr, id, std::move(slot)});
  } else {
    std::lock_guard lock(m.mutex);
    m.leaf_hooks.push_back({0, id, std::move(slot)});
  }
  return id;
}

namespace {

// Calls f(hooks, at) under the lock of the list that has the hook, the node's or the tensor's; false when none has it.
template <typename F>
bool with_hook(const Tensor& t, uint64_t id, const F& f) {
  AutogradMeta* m = meta_of(t);
  if (!m) return false;
  const auto look = [&](std::vector<Node::Hook>& hooks, std::mutex& mutex) {
    std::lock_guard lock(mutex);
    const auto at = std::find_if(hooks.begin(), hooks.end(), [id](const Node::Hook& h) { return h.id == id; });
    if (at == hooks.end()) return false;
    f(hooks, at);
    return true;
  };
  if (const NodePtr node = grad_fn(t))
    if (look(node->hooks, node->mutex())) return true;
  return look(m->leaf_hooks, m->mutex);
}

}  // namespace

// A collector asks while other threads compute: nothing is waited for, and no reference is taken that might be the last.
bool owns_hook(const Tensor& t, uint64_t id) {
  AutogradMeta* m = meta_of(t);
  if (!m || t.impl()->use_count() != 1) return false;
  const auto has = [id](const std::vector<Node::Hook>& hooks) {
    return std::any_of(hooks.begin(), hooks.end(), [id](const Node::Hook& h) { return h.id == id && h.output != Node::kFormerOutput && h.slot->use_count() == 1; });
  };
  std::unique_lock lock(m->mutex, std::try_to_lock);
  if (!lock) return false;
  if (has(m->leaf_hooks)) return true;
  if (!m->grad_fn || m->grad_fn->use_count() != 1) return false;
  std::unique_lock node_lock(m->grad_fn->mutex(), std::try_to_lock);
  return node_lock && has(m->grad_fn->hooks);
}

bool remove_hook(const Tensor& t, uint64_t id) {
  intrusive_ptr<NodeHook> removed;  // freed after the locks are gone: that runs the host's code
  return with_hook(t, id, [&](std::vector<Node::Hook>& hooks, std::vector<Node::Hook>::iterator at) {
    removed = at->slot->take();
    hooks.erase(at);
  });
}

Tensor detach(const Tensor& t) { return alias_tensor(t, t.sizes(), t.strides(), t.storage_offset()); }

std::string print_suffix(const Tensor& t) {
  if (!requires_grad(t)) return {};
  const NodePtr fn = grad_fn(t);
  return fn ? str_cat("grad_fn=<", fn->name(), ">") : "requires_grad=True";
}

}  // namespace trt::autograd
