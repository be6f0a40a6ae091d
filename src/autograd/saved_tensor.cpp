#include "autograd/saved_tensor.h"

#include "autograd/copy_slices.h"
#include "autograd/meta.h"

namespace trt::autograd {

void SavedTensor::save(const Tensor& t) {
  if (!t.defined()) return;
  TRT_CHECK_CODE(t.impl()->keys().has(Key::Autograd), Code::kFailedPrecondition,
                 "a tensor made in inference mode (", t, ") cannot be saved for backward; clone it outside of inference mode");
  was_defined_ = true;
  const Edge edge = is_leaf(t) ? Edge() : gradient_edge(t);
  if (edge.node) {
    // Not the tensor itself: if it is changed in place later, its new history may lead to the node that saves it.
    data_ = detach(t);
    AutogradMeta& m = ensure_meta(data_);
    m.grad_fn = edge.node;
    m.output_nr = edge.input;
    m.requires_grad = true;
  } else {
    data_ = t;
  }
  version_ = data_.impl()->version();
}

void SavedTensor::save_output(const Tensor& t, Node&, size_t number) {
  if (!t.defined()) return;
  was_defined_ = true;
  is_output_ = true;
  output_nr_ = static_cast<uint32_t>(number);
  data_ = detach(t);
  version_ = data_.impl()->version();
}

Tensor SavedTensor::unpack(Node& owner) const {
  if (!was_defined_) return {};
  TRT_CHECK_CODE(data_.defined(), Code::kFailedPrecondition, owner.name(),
                 ": backward through the graph a second time: the saved tensors were freed by the first pass; pass retain_graph there");
  const uint32_t now = data_.impl()->version();
  TRT_CHECK_CODE(now == version_, Code::kFailedPrecondition, owner.name(), ": a tensor needed for the gradient (", data_,
                 ") was changed by an in-place operation: it is at version ", now, ", expected ", version_);
  if (!is_output_ || !is_differentiable(data_.dtype())) return data_;
  // The result of an in-place change of a view: what leads on is the base's history, not the node inside of it.
  if (CopySlices* slices = CopySlices::around(owner)) return grad_enabled() ? slices->view_of(data_) : data_;
  Tensor t = detach(data_);
  AutogradMeta& m = ensure_meta(t);
  m.grad_fn = NodePtr(&owner);
  m.output_nr = output_nr_;
  m.requires_grad = true;
  return t;
}

std::vector<SavedTensor> save_list(TensorList list) {
  std::vector<SavedTensor> out(list.size());
  for (size_t i = 0; i < list.size(); ++i) out[i].save(list[i]);
  return out;
}

std::vector<Tensor> unpack_list(const std::vector<SavedTensor>& list, Node& owner) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const auto& s : list) out.push_back(s.unpack(owner));
  return out;
}

}  // namespace trt::autograd
