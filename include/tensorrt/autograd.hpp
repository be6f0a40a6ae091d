// Modes, backward passes and functions with gradients of the host's own in C++17, over autograd.h (which documents
// behaviour and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_AUTOGRAD_HPP
#define TENSORRT_AUTOGRAD_HPP

#include <any>
#include <map>

#include "tensorrt/tensor.hpp"

namespace trt {

/** Grad mode of this thread for the life of the object. */
class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(trt_set_grad_mode(enabled)) {}
  ~GradMode() { trt_set_grad_mode(previous_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  /** Whether operators on this thread record gradients. */
  static bool is_enabled() { return trt_grad_mode(); }

 private:
  bool previous_;
};
using AutoGradMode = GradMode;
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};
using NoGradGuard = NoGrad;
struct EnableGrad : GradMode {
  EnableGrad() : GradMode(true) {}
};
/** Inference mode of this thread for the life of the object. */
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : previous_(trt_set_inference_mode(enabled)) {}
  ~InferenceMode() { trt_set_inference_mode(previous_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return trt_inference_mode(); }

 private:
  bool previous_;
};

namespace autograd {

/** A node of the graph that a backward pass goes through; empty after default construction. Copying copies the
 * reference. */
class Node : public detail::Handle<trt_node, trt_node_retain, trt_node_release> {
 public:
  Node() = default;
  /** Takes over a handle. */
  explicit Node(trt_node* owned) : Handle(owned) {}
  /** "AddBackward0". */
  std::string name() const { return get() ? trt_node_name(get()) : ""; }
  /** An edge: the node that it leads to (empty where no gradient is needed), and which of that node's results. */
  struct Edge;
  inline std::vector<Edge> next_functions() const;
  /** The leaf of an AccumulateGrad node; else an empty tensor. */
  Tensor variable() const { return Tensor::adopt(detail::create(trt_node_variable, get())); }
  friend bool operator==(const Node& a, const Node& b) { return a.get() == b.get(); }
  friend bool operator!=(const Node& a, const Node& b) { return a.get() != b.get(); }
};
struct Node::Edge {
  Node node;
  std::size_t input = 0;
};
inline std::vector<Node::Edge> Node::next_functions() const {
  std::vector<Edge> out(trt_node_next_count(get()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = {Node(detail::create(trt_node_next, get(), i)), trt_node_next_input(get(), i)};
  return out;
}

/**
 * Backward from `outputs`: gradients accumulate in the leaves, or only in `inputs`. `gradients` may be left out, or
 * have empty elements, where outputs have one element.
 */
inline void backward(TensorList outputs, TensorList gradients = {}, bool retain_graph = false,
                     bool create_graph = false, TensorList inputs = {}) {
  const auto out = detail::handles(outputs), g = detail::handles(gradients), in = detail::handles(inputs);
  check(trt_backward(out.data(), out.size(), g.data(), g.size(), in.data(), in.size(), retain_graph, create_graph));
}

/**
 * The gradients of `outputs` (weighted by `gradients`) with respect to `inputs`; changes no tensor's grad. With
 * create_graph they can be differentiated again. An input that does not reach the outputs gives an empty tensor if
 * allow_unused, else an error.
 */
inline std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList gradients = {},
                                bool retain_graph = false, bool create_graph = false, bool allow_unused = false) {
  const auto out = detail::handles(outputs), g = detail::handles(gradients), in = detail::handles(inputs);
  std::vector<trt_tensor*> results(inputs.size(), nullptr);
  check(trt_grad(out.data(), out.size(), in.data(), in.size(), g.data(), g.size(), retain_graph, create_graph,
                 allow_unused, results.data()));
  std::vector<Tensor> grads;
  grads.reserve(results.size());
  for (trt_tensor* r : results) grads.push_back(Tensor::adopt(r));
  return grads;
}

/** The gradients of a function of the host's own: one for each input from those of the outputs; an empty tensor is
 * none, on either side. */
using BackwardFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& grads)>;

/**
 * Makes `outputs`, which were computed from `inputs` with recording off, differentiable through `backward`
 * (trt_custom_function tells the rules). What `backward` throws reaches the caller of the backward pass.
 */
inline std::vector<Tensor> custom_function(const std::string& name, TensorList inputs, TensorList outputs,
                                           BackwardFunction backward) {
  const auto call = [](const trt_tensor* const* grads, std::size_t grads_count, trt_tensor** out, std::size_t out_count,
                       void* user_data) {
    return detail::guarded([&] {
      detail::give((*static_cast<BackwardFunction*>(user_data))(detail::borrow(grads, grads_count)), out, out_count);
    });
  };
  const auto in = detail::handles(inputs), made = detail::handles(outputs);
  std::vector<trt_tensor*> results(outputs.size(), nullptr);
  check(trt_custom_function(name.c_str(), in.data(), in.size(), made.data(), made.size(), call,
                            new BackwardFunction(std::move(backward)), detail::destroy<BackwardFunction>,
                            results.data()));
  std::vector<Tensor> out;
  out.reserve(results.size());
  for (trt_tensor* r : results) out.push_back(Tensor::adopt(r));
  return out;
}

/** Carries what forward keeps for backward. */
class AutogradContext {
 public:
  /** Keeps tensors; that one was changed in place since is an error of the backward pass. */
  void save_for_backward(TensorList tensors) {
    saved_ = tensors.vec();
    versions_.clear();
    for (const Tensor& t : saved_) versions_.push_back(t.version());
  }
  /** The kept tensors, for use in backward; an output of the function has the function's history. */
  std::vector<Tensor> get_saved_variables() const {
    for (std::size_t i = 0; i < saved_.size(); ++i)
      if (saved_[i].version() != versions_[i])
        throw Error(TRT_FAILED_PRECONDITION, "custom function: tensor " + std::to_string(i) +
                                                 " that was saved for the gradient has been changed in place");
    std::vector<Tensor> found = saved_;
    for (const auto& o : outputs_)
      found[o.first] = Tensor::adopt(detail::create(trt_custom_function_saved_output, saved_[o.first].get(), o.second));
    return found;
  }
  /** Anything else. */
  std::map<std::string, std::any> saved_data;
  /** Whether argument `i` (tensors counted) needs a gradient. */
  bool needs_input_grad(std::size_t i) const { return i < needs_.size() && needs_[i]; }

 private:
  template <typename>
  friend class Function;
  void find_outputs(const std::vector<Tensor>& inputs, const std::vector<Tensor>& made) {
    const auto in = [](const std::vector<Tensor>& list, const Tensor& t) {
      std::size_t i = 0;
      while (i < list.size() && list[i].get() != t.get()) ++i;
      return i;
    };
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      const std::size_t k = in(made, saved_[i]);
      if (k < made.size() && saved_[i].defined() && in(inputs, saved_[i]) == inputs.size()) outputs_.emplace_back(i, k);
    }
  }
  std::vector<Tensor> saved_;
  std::vector<std::uint32_t> versions_;
  std::vector<std::pair<std::size_t, std::size_t>> outputs_;  // places in saved_, and which outputs these are
  std::vector<bool> needs_;
};

/**
 * A function with a gradient of the host's own:
 *
 *     struct Cube : trt::autograd::Function<Cube> {
 *       static Tensor forward(AutogradContext* ctx, const Tensor& x) { ctx->save_for_backward({x}); return x * x * x; }
 *       static std::vector<Tensor> backward(AutogradContext* ctx, const std::vector<Tensor>& grads) {
 *         return {3 * ctx->get_saved_variables()[0].square() * grads[0]};
 *       }
 *     };
 *     Tensor y = Cube::apply(x);
 *
 * forward runs with recording off and gives a tensor or a vector of them; backward gives one gradient for each tensor
 * among the arguments.
 */
template <typename Derived>
class Function {
 public:
  template <typename... Arguments>
  static auto apply(const Arguments&... arguments) {
    auto ctx = std::make_shared<AutogradContext>();
    std::vector<Tensor> inputs;
    const auto collect = [&](const auto& a) {
      if constexpr (std::is_same_v<std::decay_t<decltype(a)>, Tensor>) inputs.push_back(a);
    };
    (collect(arguments), ...);
    for (const Tensor& t : inputs) ctx->needs_.push_back(t.requires_grad());
    const auto result = [&] {
      const NoGrad off;
      return Derived::forward(ctx.get(), arguments...);
    }();
    constexpr bool single = std::is_same_v<std::decay_t<decltype(result)>, Tensor>;
    std::vector<Tensor> outputs;
    if constexpr (single)
      outputs.push_back(result);
    else
      outputs = result;
    ctx->find_outputs(inputs, outputs);
    auto made = custom_function(Derived::name(), inputs, outputs, [ctx](const std::vector<Tensor>& grads) {
      return Derived::backward(ctx.get(), grads);
    });
    if constexpr (single)
      return Tensor(std::move(made[0]));
    else
      return made;
  }
  /** The name of the node; a Derived may have its own. */
  static std::string name() { return "CustomFunctionBackward"; }
};

}  // namespace autograd

inline autograd::Node Tensor::grad_fn() const { return autograd::Node(detail::create(trt_tensor_grad_fn, handle_)); }

/** autograd::grad of one output. */
inline std::vector<Tensor> grad(const Tensor& output, TensorList inputs, const Tensor& gradient = {},
                                bool retain_graph = false, bool create_graph = false, bool allow_unused = false) {
  return autograd::grad({output}, inputs, {gradient}, retain_graph, create_graph, allow_unused);
}

inline void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph, TensorList inputs) const {
  if (!gradient.defined() && !retain_graph && !create_graph && inputs.empty())
    check(trt_tensor_backward(handle_));
  else
    autograd::backward({*this}, {gradient}, retain_graph, create_graph, inputs);
}

}  // namespace trt

#endif
