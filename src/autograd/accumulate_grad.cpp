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

void AccumulateGrad::apply(const GradVec& grads, GradVec&) {
  const Tensor& fresh = grads[0];
  if (!fresh.defined()) return;
  AutogradMeta* m = meta_of(leaf_);
  std::lock_guard lock(m->mutex);
  const bool record = grad_enabled();
  if (!m->grad.defined()) {
    // A gradient that nobody else holds is taken as it is.
    const bool own = fresh.impl()->use_count() == 1 && fresh.impl()->storage()->use_count() == 1 && fresh.is_contiguous();
    m->grad = !own || record ? op::clone(fresh) : fresh.impl()->autograd() ? detach(fresh) : fresh;
  } else if (record) {
    m->grad = op::add(m->grad, fresh);
  } else {
    op::add_(m->grad, fresh);
  }
}

}  // namespace trt::autograd
