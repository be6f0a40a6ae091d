// A node whose gradient the host computes.
#pragma once

#include "autograd/function_util.h"

namespace trt::autograd {

// Computes the gradients of the inputs from those of the outputs (undefined: none). Shared by the passes that run it at once.
class BackwardCallback : public RefCounted<BackwardCallback> {
 public:
  virtual ~BackwardCallback() = default;
  virtual void call(const GradVec& grads, GradVec& out) = 0;
};

// Aliases of `outputs`, which the host computed from `inputs` unrecorded; their history is a node `name` over `callback`. Without an
// input that requires gradients (or where none are recorded) just the aliases.
std::vector<Tensor> custom_function(std::string name, TensorList inputs, TensorList outputs, intrusive_ptr<BackwardCallback> callback);

// Output `index` of the function whose gradient the host computes on this thread: an alias of `saved`, the output as the host made and kept it, with the
// history that the function's own result has. (The host cannot keep the result: its history owns what the host keeps.)
Tensor saved_output(const Tensor& saved, size_t index);

}  // namespace trt::autograd
