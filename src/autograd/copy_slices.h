// CopySlices: the history of a base tensor after one of its views was changed in place.
#pragma once

#include "autograd/node.h"

namespace trt::autograd {

class CopySlices final : public Node {
 public:
  // `fn` computed the new value of `view`; the base's old history is `base_edge`.
  CopySlices(const Tensor& base, Edge base_edge, const Tensor& view, NodePtr fn);
  const char* name() const override { return "CopySlices"; }
  void apply(const GradVec& grads, GradVec& out) override;
  void release_saved() override { fn_->release_saved(); }
  void visit_saved(const std::function<void(const Tensor&)>& f) const override { fn_->visit_saved(f); }

  // The node whose gradient this thread computes as part of a CopySlices, or null.
  static CopySlices* around(const Node& fn);
  // The changed view, whose memory `data` has, with its history: that of a part of the base.
  Tensor view_of(const Tensor& data);

 private:
  NodePtr fn_;
  DimVector base_sizes_, base_strides_;
  DimVector view_sizes_, view_strides_;
  int64_t offset_;
};

}  // namespace trt::autograd
