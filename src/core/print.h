// Tensors as text, in PyTorch's format (precision 4, 1000 elements before summarizing, 3 at each edge, lines of 80).
#pragma once

#include <string>

#include "core/tensor.h"

namespace trt {

// `suffix` is put before the closing parenthesis: "requires_grad=True", "grad_fn=<AddBackward0>". CPU and Meta tensors only.
std::string tensor_to_string(const Tensor& t, std::string_view suffix = {});

}  // namespace trt
