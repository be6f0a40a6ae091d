#include "autograd/meta.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "autograd/accumulate_grad.h"
#include "device/small_alloc.h"
#include "gen/shape_ops.h"

namespace trt::autograd {

namespace {

std::atomic<uint64_t> next_hook_id{1};

// A view's history is stale when its base was changed in place since: make it anew as a strided view of the base.
void refresh_view(const Tensor& t, AutogradMeta& m) {
  const uint32_t version = t.impl()->storage()->version();
  if (m.view->version == version) return;
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
  const Tensor again = op::as_strided(base, t.sizes(), t.strides(), t.storage_offset());
  AutogradMeta* fresh = meta_of(again);
  std::lock_guard lock(m.mutex);
  m.grad_fn = fresh->grad_fn;
  m.output_nr = fresh->output_nr;
  m.requires_grad = true;
  m.view->version = version;
}

}  // namespace

void* AutogradMeta::operator new(size_t bytes) { return small_alloc(bytes); }
void AutogradMeta::operator delete(void* p, size_t bytes) { small_free(p, bytes); }

AutogradMeta::~AutogradMeta() {
  if (retains_grad && grad_fn) {
    std::lock_guard lock(grad_fn->mutex());
    std::erase_if(grad_fn->retained, [&](const auto& r) { return r.second == this; });
  }
}

AutogradMeta& ensure_meta(const Tensor& t) {
  if (!t.impl()->autograd()) t.impl()->set_autograd(std::unique_ptr<AutogradMetaBase>(new AutogradMeta));
  return *meta_of(t);
}

bool requires_grad(const Tensor& t) {
  const AutogradMeta* m = meta_of(t);
  if (!m) return false;
  if (m->requires_grad) return true;
  return m->view && m->view->version != t.impl()->storage()->version() && !is_leaf(m->view->base) && requires_grad(m->view->base);
}

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
  TRT_CHECK_CODE(!required || t.impl()->keys().has(Key::Autograd), Code::kFailedPrecondition,
                 "requires_grad: a tensor made in inference mode cannot require gradients; clone it outside of inference mode");
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
  TRT_CHECK(!grad.defined() || !keeps_alive(grad, t), "set_grad: the gradient ", grad, " is the tensor itself or keeps it alive, and neither would ever be freed; "
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
  if (node) {
    std::lock_guard lock(node->mutex());
    node->hooks.push_back({m.output_nr, id, std::move(hook)});
  } else {
    std::lock_guard lock(m.mutex);
    m.leaf_hooks.push_back({0, id, std::move(hook)});
  }
  return id;
}

bool remove_hook(const Tensor& t, uint64_t id) {
  AutogradMeta* m = meta_of(t);
  if (!m) return false;
  intrusive_ptr<NodeHook> removed;  // freed after the locks are gone: that runs the host's code
  const auto take = [&](std::vector<Node::Hook>& hooks) {
    const auto at = std::find_if(hooks.begin(), hooks.end(), [id](const Node::Hook& h) { return h.id == id; });
    if (at == hooks.end()) return false;
    removed = std::move(at->hook);
    hooks.erase(at);
    return true;
  };
  if (const NodePtr node = grad_fn(t)) {
    std::lock_guard lock(node->mutex());
    if (take(node->hooks)) return true;
  }
  std::lock_guard lock(m->mutex);
  return take(m->leaf_hooks);
}

Tensor detach(const Tensor& t) { return alias_tensor(t, t.sizes(), t.strides(), t.storage_offset()); }

std::string print_suffix(const Tensor& t) {
  if (!requires_grad(t)) return {};
  const NodePtr fn = grad_fn(t);
  return fn ? str_cat("grad_fn=<", fn->name(), ">") : "requires_grad=True";
}

}  // namespace trt::autograd
