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
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

}  // namespace trt::autograd
