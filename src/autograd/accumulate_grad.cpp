#include "autograd/accumulate_grad.h"

#include "autograd/function_util.h"
#include "gen/all_ops.h"

namespace trt::autograd {

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : leaf_(leaf) { add_output(leaf); }

AccumulateGrad::~AccumulateGrad() {
  AutogradMeta* m = meta_of(leaf_);
  std::lock_guard lock(m->mutex);
  if (m->accumulator == this) m->accumulator = nullptr;
}

void AccumulateGrad::check_target() const {
  const InputMeta& m = output_meta(0);
  TRT_CHECK_CODE(fits(m, leaf_) || !meta_of(leaf_)->requires_grad, Code::kFailedPrecondition, "backward: a leaf that was ", m.dtype, m.sizes,
                 " when the graph was made is ", leaf_, " now; run the forward pass again");
}

void AccumulateGrad::apply(const GradVec& grads, GradVec&) {
  const Tensor& fresh = grads[0];
  AutogradMeta* m = meta_of(leaf_);
  // As in PyTorch, a leaf that requires no gradients any more gets none.
  if (!fresh.defined() || !m->requires_grad) return;
  check_target();  // again: a hook may have changed the leaf
  Tensor dropped;  // the old gradient, freed after the lock is gone: its memory may be the host's
  std::lock_guard lock(m->mutex);
  const bool record = grad_enabled();
  if (!m->grad.defined()) {
    // A gradient that nobody else holds is taken as it is.
    const bool own = fresh.impl()->use_count() == 1 && fresh.impl()->storage()->use_count() == 1 && fresh.is_contiguous();
    // In the leaf's order in memory, as PyTorch: p.grad.view(-1) works where p.view(-1) does.
    m->grad = leaf_.is_contiguous() && !fresh.is_contiguous() ? op::contiguous(fresh) : !own || record ? op::clone(fresh) : fresh.impl()->autograd() ? detach(fresh) : fresh;
  } else if (record) {
    dropped = std::exchange(m->grad, op::add(m->grad, fresh));
  } else {
    op::add_(m->grad, fresh);
  }
}

}  // namespace trt::autograd
