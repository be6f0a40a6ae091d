// SavedTensor: a tensor kept for backward.
//
// Note [Version counter]
// save() notes the tensor's version; unpack() compares: if the memory was changed in place or replaced since, the gradient would be wrong,
// so it throws kFailedPrecondition and says which operator's tensor changed. An output saved by its own node is stored
// without its history (a node must not own itself) and gets it back on unpack.
#pragma once

#include "autograd/node.h"

namespace trt::autograd {

class SavedTensor {
 public:
  void save(const Tensor& t);
  // `t` is output `number` of `owner`.
  void save_output(const Tensor& t, Node& owner, size_t number);
  Tensor unpack(Node& owner) const;
  void release() { data_.reset(); }
  void visit(const std::function<void(const Tensor&)>& f) const {
    if (data_.defined()) f(data_);
  }

 private:
  Tensor data_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool was_defined_ = false;
};

std::vector<SavedTensor> save_list(TensorList list);
std::vector<Tensor> unpack_list(const std::vector<SavedTensor>& list, Node& owner);

}  // namespace trt::autograd
