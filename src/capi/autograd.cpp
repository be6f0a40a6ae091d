// autograd.h: gradients, hooks, modes.
#include "tensorrt/autograd.h"

#include "autograd/accumulate_grad.h"
#include "autograd/custom_function.h"
#include "autograd/engine.h"
#include "autograd/meta.h"
#include "capi/convert.h"
#include "capi/host_callback.h"

using namespace trt;
using namespace trt::capi;

namespace {

// A hook of the host.
class HostHook final : public autograd::NodeHook {
 public:
  HostHook(trt_hook_fn fn, HostData data) : fn_(fn), data_(std::move(data)) {}
  Tensor call(const Tensor& grad) override {
    trt_tensor* replaced = nullptr;
    trt_status* status;
    {
      NoScope no_scope;
      status = fn_(handle(grad.impl()), &replaced, data_.get());
    }
    Tensor result = Tensor::adopt(impl(replaced));
    if (status) throw StatusError(status);
    return result;
  }

 private:
  trt_hook_fn fn_;
  HostData data_;
};

// The gradient of a function of the host.
class HostBackward final : public autograd::BackwardCallback {
 public:
  HostBackward(trt_backward_fn fn, HostData data) : fn_(fn), data_(std::move(data)) {}
  void call(const autograd::GradVec& grads, autograd::GradVec& out) override {
    std::vector<const trt_tensor*> given(grads.size());
    for (size_t i = 0; i < grads.size(); ++i) given[i] = handle(grads[i].impl());
    std::vector<trt_tensor*> made(out.size(), nullptr);
    trt_status* status;
    {
      NoScope no_scope;
      status = fn_(given.data(), given.size(), made.data(), made.size(), data_.get());
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] = Tensor::adopt(impl(made[i]));
    if (status) throw StatusError(status);
  }

 private:
  trt_backward_fn fn_;
  HostData data_;
};

autograd::Node* impl(trt_node* n) { return reinterpret_cast<autograd::Node*>(n); }
const autograd::Node* impl(const trt_node* n) { return reinterpret_cast<const autograd::Node*>(n); }
trt_node* handle(autograd::Node* n) { return reinterpret_cast<trt_node*>(n); }
using capi::handle;
using capi::impl;

const Tensor& checked(const BorrowedTensor& t, const char* name) {
  if (!t.get().defined()) throw_null_argument(name);
  return t.get();
}

}  // namespace

extern "C" {

TRT_EXPORT bool trt_grad_mode(void) { return thread_state.grad_enabled; }
TRT_EXPORT bool trt_set_grad_mode(bool enabled) { return std::exchange(thread_state.grad_enabled, enabled); }
TRT_EXPORT bool trt_inference_mode(void) { return thread_state.inference; }
TRT_EXPORT bool trt_set_inference_mode(bool enabled) {
  const bool previous = thread_state.inference;
  set_inference_mode(enabled);
  return previous;
}

TRT_EXPORT bool trt_tensor_requires_grad(const trt_tensor* tensor) { return tensor && autograd::requires_grad(BorrowedTensor(impl(tensor))); }
TRT_EXPORT trt_status* trt_tensor_set_requires_grad(trt_tensor* tensor, bool requires_grad) {
  return guard("trt_tensor_set_requires_grad", [&] { autograd::set_requires_grad(MutableArg(tensor, "tensor"), requires_grad); });
}
TRT_EXPORT bool trt_tensor_is_leaf(const trt_tensor* tensor) {
  if (!tensor) return true;
  bool leaf = true;
  trt_status_release(guard("trt_tensor_is_leaf", [&] { leaf = autograd::is_leaf(BorrowedTensor(impl(tensor))); }));
  return leaf;
}
TRT_EXPORT trt_status* trt_tensor_grad_fn_name(const trt_tensor* tensor, char** out) {
  return guard("trt_tensor_grad_fn_name", [&] {
    require_out(out, "out");
    BorrowedTensor t(impl(tensor));
    const auto node = autograd::grad_fn(checked(t, "tensor"));
    *out = node ? copy_string(node->name()) : nullptr;
  });
}
TRT_EXPORT trt_node* trt_node_retain(trt_node* node) {
  if (node) impl(node)->retain();
  return node;
}
TRT_EXPORT void trt_node_release(trt_node* node) {
  if (node) impl(node)->release();
}
TRT_EXPORT trt_status* trt_tensor_grad_fn(const trt_tensor* tensor, trt_node** out) {
  return guard("trt_tensor_grad_fn", [&] {
    require_out(out, "out");
    BorrowedTensor t(impl(tensor));
    *out = handle(autograd::grad_fn(checked(t, "tensor")).detach());
  });
}
TRT_EXPORT const char* trt_node_name(const trt_node* node) { return node ? impl(node)->name() : nullptr; }
TRT_EXPORT size_t trt_node_next_count(const trt_node* node) { return node ? impl(node)->edge_count() : 0; }
TRT_EXPORT trt_status* trt_node_next(const trt_node* node, size_t index, trt_node** out) {
  return guard("trt_node_next", [&] {
    require_out(out, "out");
    if (!node) throw_null_argument("node");
    const size_t count = impl(node)->edge_count();
    TRT_CHECK_CODE(index < count, Code::kOutOfRange, "index ", index, " is out of range for ", impl(node)->name(), " with ", count, " edges");
    *out = handle(autograd::NodePtr(impl(node)->edge(index).node).detach());
  });
}
TRT_EXPORT size_t trt_node_next_input(const trt_node* node, size_t index) {
  return index < trt_node_next_count(node) ? impl(node)->edge(index).input : 0;
}
TRT_EXPORT trt_status* trt_node_variable(const trt_node* node, trt_tensor** out) {
  return guard("trt_node_variable", [&] {
    require_out(out, "out");
    if (!node) throw_null_argument("node");
    const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(impl(node));
    give(leaf ? Tensor(leaf->leaf()) : Tensor(), out);
  });
}
TRT_EXPORT trt_status* trt_tensor_grad(const trt_tensor* tensor, trt_tensor** out) {
  return guard("trt_tensor_grad", [&] {
    require_out(out, "out");
    BorrowedTensor t(impl(tensor));
    give(autograd::grad_of(checked(t, "tensor")), out);
  });
}
TRT_EXPORT trt_status* trt_tensor_set_grad(trt_tensor* tensor, const trt_tensor* grad) {
  return guard("trt_tensor_set_grad", [&] { autograd::set_grad(MutableArg(tensor, "tensor"), BorrowedTensor(impl(grad))); });
}
TRT_EXPORT trt_status* trt_tensor_retain_grad(trt_tensor* tensor) {
  return guard("trt_tensor_retain_grad", [&] { autograd::retain_grad(MutableArg(tensor, "tensor")); });
}
TRT_EXPORT bool trt_tensor_retains_grad(const trt_tensor* tensor) {
  const auto* meta = tensor ? autograd::meta_of(BorrowedTensor(impl(tensor))) : nullptr;
  return meta && meta->retains_grad;
}
TRT_EXPORT trt_status* trt_tensor_set_data(trt_tensor* tensor, const trt_tensor* data) {
  return guard("trt_tensor_set_data", [&] {
    MutableArg written(tensor, "tensor");
    const Tensor& t = written;
    BorrowedTensor given(impl(data));
    const Tensor& d = checked(given, "data");
    const auto* meta = t.impl()->autograd();
    TRT_CHECK(!meta || !meta->is_view, "set_data: the tensor ", t, " is a view that takes part in recording");
    TRT_CHECK(is_floating(d.dtype()) || !autograd::requires_grad(t), "set_data: a tensor that requires gradients needs a floating-point dtype, got ", d);
    if (t.impl() == d.impl()) return;
    t.impl()->set_storage(d.impl()->storage(), d.dtype(), d.sizes(), d.strides(), d.storage_offset());
  });
}
TRT_EXPORT trt_status* trt_tensor_detach(const trt_tensor* tensor, trt_tensor** out) {
  return guard("trt_tensor_detach", [&] {
    require_out(out, "out");
    BorrowedTensor t(impl(tensor));
    give(autograd::detach(checked(t, "tensor")), out);
  });
}

TRT_EXPORT trt_status* trt_tensor_detach_(trt_tensor* tensor) {
  return guard("trt_tensor_detach_", [&] { autograd::detach_(MutableArg(tensor, "tensor")); });
}

TRT_EXPORT trt_status* trt_backward(const trt_tensor* const* outputs, size_t outputs_count, const trt_tensor* const* grads, size_t grads_count,
                                    const trt_tensor* const* inputs, size_t inputs_count, bool retain_graph, bool create_graph) {
  return guard("trt_backward", [&] {
    autograd::backward(TensorListArg(outputs, outputs_count, "outputs", false), TensorListArg(grads, grads_count, "grads", true),
                       TensorListArg(inputs, inputs_count, "inputs", false), retain_graph, create_graph);
  });
}
TRT_EXPORT trt_status* trt_tensor_backward(const trt_tensor* tensor) {
  return guard("trt_tensor_backward", [&] {
    BorrowedTensor t(impl(tensor));
    checked(t, "tensor");
    autograd::backward(TensorListArg(&tensor, 1, "outputs", false), TensorListArg(nullptr, 0, "grads", true), TensorListArg(nullptr, 0, "inputs", false), false, false);
  });
}

TRT_EXPORT trt_status* trt_grad(const trt_tensor* const* outputs, size_t outputs_count, const trt_tensor* const* inputs, size_t inputs_count,
                                const trt_tensor* const* grads, size_t grads_count, bool retain_graph, bool create_graph, bool allow_unused,
                                trt_tensor** out) {
  return guard("trt_grad", [&] {
    require_out(out, "out");
    auto result = autograd::grad(TensorListArg(outputs, outputs_count, "outputs", false), TensorListArg(inputs, inputs_count, "inputs", false),
                                 TensorListArg(grads, grads_count, "grads", true), retain_graph, create_graph, allow_unused);
    for (size_t i = 0; i < result.size(); ++i) give(std::move(result[i]), out + i);
  });
}

TRT_EXPORT trt_status* trt_tensor_add_hook(trt_tensor* tensor, trt_hook_fn fn, void* user_data, trt_destroy_fn destroy, uint64_t* out_id) {
  HostData data(user_data, destroy);
  return guard("trt_tensor_add_hook", [&] {
    require_out(out_id, "out_id");
    if (!fn) throw_null_argument("fn");
    *out_id = autograd::add_hook(MutableArg(tensor, "tensor"), make_intrusive<HostHook>(fn, std::move(data)));
  });
}
TRT_EXPORT trt_status* trt_tensor_remove_hook(trt_tensor* tensor, uint64_t id) {
  return guard("trt_tensor_remove_hook", [&] {
    TRT_CHECK_CODE(autograd::remove_hook(MutableArg(tensor, "tensor"), id), Code::kNotFound, "there is no hook ", id);
  });
}
TRT_EXPORT bool trt_tensor_owns_hook(const trt_tensor* tensor, uint64_t id) { return tensor && autograd::owns_hook(BorrowedTensor(impl(tensor)), id); }

TRT_EXPORT trt_status* trt_custom_function(const char* name, const trt_tensor* const* inputs, size_t inputs_count, const trt_tensor* const* outputs,
                                           size_t outputs_count, trt_backward_fn fn, void* user_data, trt_destroy_fn destroy, trt_tensor** out) {
  HostData data(user_data, destroy);
  return guard("trt_custom_function", [&] {
    require_out(out, "out");
    if (!fn) throw_null_argument("fn");
    auto results = autograd::custom_function(std::string(string(name, "name")), TensorListArg(inputs, inputs_count, "inputs", false),
                                             TensorListArg(outputs, outputs_count, "outputs", false), make_intrusive<HostBackward>(fn, std::move(data)));
    for (size_t i = 0; i < results.size(); ++i) give(std::move(results[i]), out + i);
  });
}

TRT_EXPORT trt_status* trt_custom_function_saved_output(const trt_tensor* saved, size_t index, trt_tensor** out) {
  return guard("trt_custom_function_saved_output", [&] {
    require_out(out, "out");
    BorrowedTensor t(impl(saved));
    give(autograd::saved_output(checked(t, "saved"), index), out);
  });
}

}  // extern "C"
