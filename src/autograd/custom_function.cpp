#include "autograd/custom_function.h"

#include <algorithm>

#include "gen/all_ops.h"

namespace trt::autograd {

namespace {

// The function whose callback runs on this thread.
class CustomFunction;
constinit TRT_TLS CustomFunction* running = nullptr;

class CustomFunction final : public Node {
 public:
  CustomFunction(std::string name, intrusive_ptr<BackwardCallback> callback) : name_(std::move(name)), callback_(std::move(callback)) {}
  const char* name() const override { return name_.c_str(); }
  // The callback may run a backward pass of its own over this very node.
  bool locks_itself() const override { return true; }
  void apply(const GradVec& grads, GradVec& out) override {
    intrusive_ptr<BackwardCallback> callback;
    {
      std::lock_guard lock(mutex());
      callback = callback_;
    }
    TRT_CHECK_CODE(callback, Code::kFailedPrecondition, name_,
                   ": backward through the graph a second time: what it saved was freed by the first pass; pass retain_graph there");
    {
      struct Running {
        explicit Running(CustomFunction* f) : before(running) { running = f; }
        ~Running() { running = before; }
        CustomFunction* const before;
      } now(this);
      callback->call(grads, out);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out[i].defined() || !wants(i)) continue;
      const InputMeta& m = edge(i).node->output_meta(edge(i).input);
      TRT_CHECK(out[i].device() == m.device, name_, ": the gradient of input ", i, " is ", out[i], ", the input was on ", m.device);
    }
  }
  void release_saved() override {
    intrusive_ptr<BackwardCallback> dropped;  // the host's destructor runs after the lock is gone
    std::lock_guard lock(mutex());
    dropped = std::move(callback_);
  }

 private:
  const std::string name_;
  intrusive_ptr<BackwardCallback> callback_;
};

}  // namespace

std::vector<Tensor> custom_function(std::string name, TensorList inputs, TensorList outputs, intrusive_ptr<BackwardCallback> callback) {
  TRT_CHECK(!outputs.empty(), name, ": outputs is empty; a function has at least one output");
  const bool record = !thread_state.inference && any_requires_grad(inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    TRT_CHECK_CODE(!record || inputs[i].impl()->keys().has(Key::Autograd), Code::kFailedPrecondition, name, ": input ", i, " (", inputs[i],
                   ") was made in inference mode; clone it outside of inference mode");
  std::vector<Tensor> results;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& t = outputs[k];
    TRT_CHECK_CODE(!requires_grad(t) || std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& i) { return i.is_same(t); }), Code::kFailedPrecondition, name,
                   ": output ", k, " (", t, ") has a history of its own; compute it where no gradients are recorded");
    // One that shared an input's memory could be changed in place behind the input's back.
    const bool shared = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& i) { return i.shares_storage(t); });
    GradModeGuard unrecorded(false);
    results.push_back(shared ? op::clone(t) : detach(t));
  }
  if (!record) return results;
  NodePtr node = NodePtr::adopt(new CustomFunction(std::move(name), std::move(callback)));
  node->add_edges(inputs);
  set_history(results, node);
  return results;
}

Tensor saved_output(const Tensor& saved, size_t index) {
  TRT_CHECK_CODE(running, Code::kFailedPrecondition, "saved output: no gradient of a function of the host is computed on this thread");
  TRT_CHECK(index < running->output_count(), "saved output: ", running->name(), " has ", running->output_count(), " outputs, got index ", index);
  TRT_CHECK(fits(running->output_meta(index), saved), "saved output: ", saved, " is not output ", index, " of ", running->name());
  Tensor t = detach(saved);
  if (!is_differentiable(t.dtype())) return t;
  AutogradMeta& m = ensure_meta(t);
  m.grad_fn = NodePtr(running);
  m.output_nr = static_cast<uint32_t>(index);
  m.requires_grad = true;
  return t;
}

}  // namespace trt::autograd
