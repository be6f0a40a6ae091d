// AccumulateGrad: the node at the end of every path: adds the gradient that arrives to the leaf's grad.
#pragma once

#include "autograd/meta.h"

namespace trt::autograd {

class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;
  const char* name() const override { return "AccumulateGrad"; }
  void apply(const GradVec& grads, GradVec& out) override;
  void visit_saved(const std::function<void(const Tensor&)>& f) const override { f(leaf_); }
  // A leaf that was given another dtype or shape since the graph was made (Module::to) gets no gradient of the old one.
  void check_target() const override;
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

}  // namespace trt::autograd
