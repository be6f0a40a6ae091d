// The backward engine.
//
// Note [Engine]
// A backward pass is a graph task run by the thread that asked for it: count how many gradients each reachable node will
// receive, start at the roots, and always run the ready node with the highest sequence number (the youngest), so that
// gradients add up in one fixed order and results do not depend on threads. Parallelism comes from inside the operators.
// Many host threads may run graph tasks at once, also over shared leaves (accumulation is locked per leaf) and retained graphs.
// A hook or custom function may start a backward pass of its own inside one (reentrant): it is a nested call.
//
// Note [Complex gradients]
// The gradient of a real loss L with respect to z = x + iy is dL/dx + i dL/dy (PyTorch's convention, the conjugate of Wirtinger's dL/dz times two). For
// a holomorphic function with Jacobian J it is J^H g = conj(J^T conj(g)). The formulas of operators are written for real numbers and compute
// J^T g, so Node::apply_conjugating conjugates complex gradients before and after them, and no formula needs to mention conj. Functions that are
// not holomorphic (abs, angle, conj, ...) have the tag complex_direct: their formula gets the gradient as it is.
#pragma once

#include "autograd/meta.h"

namespace trt::autograd {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;      // grad(): an input that does not reach an output gives an undefined gradient
  bool accumulate_all = true;     // backward() without inputs: every leaf accumulates
};

// outputs[i] with gradient grads[i] (undefined: ones, only for a single element). Accumulates into the leaves' grad; with `inputs`
// given, only into those.
void backward(TensorList outputs, TensorList grads, TensorList inputs, bool retain_graph, bool create_graph);
// Returns the gradients of `inputs` and changes no grad.
std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grads, bool retain_graph, bool create_graph, bool allow_unused);

}  // namespace trt::autograd
