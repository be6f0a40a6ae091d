#include "autograd/function_util.h"

#include "autograd/copy_slices.h"
#include "gen/all_ops.h"
#include "iter/copy.h"

namespace trt::autograd {

namespace {

// The gradient of an operator whose result does not depend on what was there before.
class ZeroBackward final : public Node {
 public:
  explicit ZeroBackward(const char* name) : name_(name) {}
  const char* name() const override { return name_; }
  void apply(const GradVec& grads, GradVec& out) override { out[0] = op::zeros_like(grads[0]); }

 private:
  const char* name_;
};

}  // namespace

bool precise(const Tensor& t) { return t.defined() && requires_grad(t); }
bool precise(TensorList list) {
  for (const Tensor& t : list)
    if (precise(t)) return true;
  return false;
}

void set_history(Tensor& t, const NodePtr& node, bool differentiable) {
  const uint32_t number = node->add_output(t);
  if (!t.defined() || !differentiable || !is_differentiable(t.dtype())) return;
  AutogradMeta& m = ensure_meta(t);
  m.grad_fn = node;
  m.output_nr = number;
  m.requires_grad = true;
}

void set_history(std::vector<Tensor>& list, const NodePtr& node) {
  for (Tensor& t : list) set_history(t, node);
}

void mark_view(const Tensor& self, Tensor& result) {
  if (!is_differentiable(self.dtype()) || result.is_same(self) || !result.shares_storage(self)) return;
  AutogradMeta& m = ensure_meta(result);
  const AutogradMeta* of = meta_of(self);
  m.view = std::make_unique<ViewInfo>();
  m.view->base = of && of->view ? of->view->base : self;
  m.view->version = self.impl()->storage()->version();
  m.view->without_grad = !thread_state.grad_enabled || thread_state.inference || (of && of->view && of->view->without_grad);
  m.is_view = true;
}

void mark_view(const Tensor& self, std::vector<Tensor>& results) {
  for (Tensor& t : results) mark_view(self, t);
}

void check_inplace(const Tensor& self, bool needs_grad, const char* op) {
  if (!thread_state.grad_enabled) return;
  const AutogradMeta* m = meta_of(self);
  TRT_CHECK_CODE(!(m && m->view && m->view->base.dtype() != self.dtype() && (needs_grad || requires_grad(m->view->base))), Code::kNotSupported, op,
                 ": a view (", self, ") of a tensor of dtype ", m->view->base.dtype(), " is changed in place where gradients are recorded");
  if (m && m->requires_grad && is_leaf(self))
    throw_error(Code::kFailedPrecondition, str_cat(op, ": a leaf tensor that requires gradients (", self, ") is changed in place; do it under no_grad"));
  if (m && m->view && requires_grad(m->view->base) && is_leaf(m->view->base))
    throw_error(Code::kFailedPrecondition, str_cat(op, ": a view of a leaf tensor that requires gradients (", self, ") is changed in place; do it under no_grad"));
  TRT_CHECK_CODE(!(m && m->view && !self.shares_storage(m->view->base) && (needs_grad || requires_grad(m->view->base))), Code::kFailedPrecondition, op,
                 ": a view (", self, ") whose base was given other data since is changed in place where gradients are recorded");
  TRT_CHECK_CODE(!(m && m->view && m->view->without_grad && (needs_grad || requires_grad(m->view->base))), Code::kFailedPrecondition, op,
                 ": a view (", self, ") that was made under no_grad or in inference mode is changed in place where gradients are recorded; make the view where they are");
}

void rebase_history(Tensor& self, const NodePtr& node) {
  AutogradMeta& m = ensure_meta(self);
  node->add_output(self);
  if (!m.view) {
    m.replace_history(node, 0);
    m.requires_grad = true;
    return;
  }
  const Tensor base = m.view->base;
  AutogradMeta& b = ensure_meta(base);
  NodePtr slices = NodePtr::adopt(new CopySlices(base, gradient_edge(base), self, node));
  slices->add_output(base);
  b.replace_history(std::move(slices), 0);
  b.requires_grad = true;
  // The view's own history is the base's from now on; grad_fn() makes it when asked, since the version moved.
  m.requires_grad = true;
  m.view->version = self.impl()->storage()->version() - 1;
  grad_fn(self);
}

NodePtr make_zero_node(const Tensor& self, const char* name) {
  auto node = NodePtr::adopt(new ZeroBackward(name));
  node->add_edge(self);
  return node;
}

void reject_out_gradient(const char* op, bool needs_grad) {
  TRT_CHECK_CODE(!needs_grad, Code::kFailedPrecondition, op, ": the out variant records no gradients, but an argument requires them; use the functional form or no_grad");
}

Tensor clone_detached(const Tensor& t) {
  // With its history, for second derivatives: a copy whose gradient is t's.
  Tensor copy = empty_tensor(t.sizes(), t.dtype(), t.device());
  if (!t.is_meta()) copy_tensor(copy, t);
  const Edge edge = gradient_edge(t);
  if (edge.node) {
    AutogradMeta& m = ensure_meta(copy);
    m.grad_fn = edge.node;
    m.output_nr = edge.input;
    m.requires_grad = true;
  }
  return copy;
}

Tensor grad_or_zeros_of(const Node& node, const GradVec& grads, size_t i) {
  if (grads[i].defined()) return grads[i];
  const InputMeta& m = node.output_meta(i);
  return op::zeros(m.sizes, m.dtype, m.device);
}

CopySlices::CopySlices(const Tensor& base, Edge base_edge, const Tensor& view, NodePtr fn)
    : fn_(std::move(fn)),
      base_sizes_(base.sizes().data(), base.sizes().size()),
      base_strides_(base.strides().data(), base.strides().size()),
      view_sizes_(view.sizes().data(), view.sizes().size()),
      view_strides_(view.strides().data(), view.strides().size()),
      offset_(view.storage_offset() - base.storage_offset()) {
  add_edge(std::move(base_edge));
  for (size_t i = 1; i < fn_->edge_count(); ++i) add_edge(fn_->edge(i));
}

namespace {
constinit thread_local CopySlices* applied = nullptr;
}

CopySlices* CopySlices::around(const Node& fn) { return applied && applied->fn_.get() == &fn ? applied : nullptr; }

Tensor CopySlices::view_of(const Tensor& data) {
  Tensor base = alias_tensor(data, base_sizes_, base_strides_, data.storage_offset() - offset_);
  AutogradMeta& m = ensure_meta(base);
  m.grad_fn = NodePtr(this);
  m.requires_grad = true;
  return op::as_strided(base, view_sizes_, view_strides_, data.storage_offset());
}

void CopySlices::apply(const GradVec& grads, GradVec& out) {
  Tensor result = op::empty_strided(base_sizes_, base_strides_, grads[0].dtype(), grads[0].device());
  op::copy_(result, grads[0]);
  Tensor slice = op::as_strided(result, view_sizes_, view_strides_, offset_);
  GradVec in(1), parts(fn_->edge_count());
  in[0] = op::clone(slice);
  {
    std::lock_guard lock(fn_->mutex());
    struct Within {
      CopySlices* const before = applied;
      explicit Within(CopySlices* now) { applied = now; }
      ~Within() { applied = before; }
    } within(this);
    fn_->apply_conjugating(in, parts);
  }
  if (wants(0)) {
    if (parts[0].defined()) op::copy_(slice, parts[0]);
    else op::zero_(slice);
    out[0] = result;
  }
  for (size_t i = 1; i < parts.size(); ++i) out[i] = std::move(parts[i]);
}

}  // namespace trt::autograd
