// nn.h: state dicts, modules, custom modules, initializers.
#include "tensorrt/nn.h"

#include "capi/host_callback.h"
#include "capi/nn_handles.h"
#include "nn/init.h"
#include "nn/layers.h"

using namespace trt;
using namespace trt::capi;

namespace {

// A module whose forward is the host's.
class HostModule final : public nn::Module {
 public:
  HostModule(std::string type_name, trt_forward_fn fn, HostData data) : Module(std::move(type_name)), fn_(fn), data_(std::move(data)) {}
  Tensor forward(const Tensor& input) override {
    const nn::ForwardDepth depth(*this);
    trt_tensor* out = nullptr;
    trt_status* status;
    {
      NoScope no_scope;
      status = fn_(handle(static_cast<nn::Module*>(this)), capi::handle(input.impl()), &out, data_.get());
    }
    Tensor result = Tensor::adopt(impl(out));
    if (status) throw StatusError(status);
    TRT_CHECK_CODE(result.defined(), Code::kCallback, type_name(), ": the forward function gave no tensor");
    return result;
  }

 private:
  trt_forward_fn fn_;
  HostData data_;
};

// A hook of the host: one of the functions.
class HostHook final : public nn::Module::Hook {
 public:
  HostHook(trt_module_pre_hook_fn before, trt_module_hook_fn after, HostData data) : before_(before), after_(after), data_(std::move(data)) {}
  Tensor call(nn::Module& module, const Tensor& input, const Tensor& output) override {
    trt_tensor* given = nullptr;
    trt_status* status;
    {
      NoScope no_scope;
      status = before_ ? before_(handle(&module), capi::handle(input.impl()), &given, data_.get())
                       : after_(handle(&module), capi::handle(input.impl()), capi::handle(output.impl()), &given, data_.get());
    }
    Tensor result = Tensor::adopt(impl(given));
    if (status) throw StatusError(status);
    return result;
  }

 private:
  trt_module_pre_hook_fn before_;
  trt_module_hook_fn after_;
  HostData data_;
};

void give(StateDictPtr dict, trt_state_dict** out) { *out = handle(dict.detach()); }

StateDictPtr to_dict(const std::vector<nn::Module::Parameter>& list) {
  auto dict = make_intrusive<StateDict>();
  for (const auto& p : list) dict->set(p.name, p.tensor);
  return dict;
}

// What is registered under a name; an empty handle is told with the parent and the name.
template <typename T>
auto checked_part(const trt_module* parent, const char* name, const T* part, const char* kind) {
  if (!part) {
    const nn::ModulePtr m = checked(parent);
    throw_error(Code::kInvalidArgument, str_cat("the ", kind, " '", string(name, "name"), "' for ", m->type_name(), " is NULL (an empty ",
                                                std::is_same_v<T, trt_module> ? "module" : "tensor", ')'));
  }
  return checked(part, kind);
}

std::string name_of(const char* s, const char* argument = "name") { return std::string(string(s, argument)); }

int64_t count_parameters(const trt_module* module, bool trainable_only) {
  if (!module) return 0;
  int64_t count = 0;
  trt_status_release(guard("trt_module_parameter_count", [&] { count = checked(module)->parameter_count(trainable_only); }));
  return count;
}

nn::init::FanMode fan_mode(int32_t mode) {
  TRT_CHECK(mode == TRT_FAN_IN || mode == TRT_FAN_OUT, "unknown fan mode ", mode);
  return static_cast<nn::init::FanMode>(mode);
}

// An initializer of a tensor argument.
template <typename F>
trt_status* initialize(const char* name, trt_tensor* tensor, const F& f) {
  return guard(name, [&] { f(checked(tensor, "tensor")); });
}

}  // namespace

extern "C" {

TRT_EXPORT trt_status* trt_state_dict_create(trt_state_dict** out) {
  return guard("trt_state_dict_create", [&] {
    require_out(out, "out");
    give(make_intrusive<StateDict>(), out);
  });
}
TRT_EXPORT trt_state_dict* trt_state_dict_retain(trt_state_dict* dict) {
  if (dict) impl(dict)->retain();
  return dict;
}
TRT_EXPORT void trt_state_dict_release(trt_state_dict* dict) {
  if (dict) impl(dict)->release();
}
TRT_EXPORT size_t trt_state_dict_size(const trt_state_dict* dict) { return dict ? checked(dict)->size() : 0; }
TRT_EXPORT const char* trt_state_dict_name(const trt_state_dict* dict, size_t index) {
  return dict && index < checked(dict)->size() ? checked(dict)->entries()[index].name.c_str() : nullptr;
}
TRT_EXPORT trt_status* trt_state_dict_tensor(const trt_state_dict* dict, size_t index, trt_tensor** out) {
  return guard("trt_state_dict_tensor", [&] {
    require_out(out, "out");
    const StateDictPtr d = checked(dict);
    const auto& entries = d->entries();
    TRT_CHECK_CODE(index < entries.size(), Code::kOutOfRange, "index ", index, " is out of range for a state dict of ", entries.size());
    give(Tensor(entries[index].tensor), out);
  });
}
TRT_EXPORT bool trt_state_dict_contains(const trt_state_dict* dict, const char* name) {
  bool found = false;
  if (dict && name) trt_status_release(guard("trt_state_dict_contains", [&] { found = checked(dict)->find(name) != nullptr; }));
  return found;
}
TRT_EXPORT trt_status* trt_state_dict_get(const trt_state_dict* dict, const char* name, trt_tensor** out) {
  return guard("trt_state_dict_get", [&] {
    require_out(out, "out");
    give(Tensor(checked(dict)->at(name_of(name))), out);
  });
}
TRT_EXPORT trt_status* trt_state_dict_set(trt_state_dict* dict, const char* name, const trt_tensor* tensor) {
  return guard("trt_state_dict_set", [&] {
    const StateDictPtr d = checked(dict);
    std::string key = name_of(name);
    TRT_CHECK(tensor, "the tensor of the entry '", key, "' is NULL");
    d->set(std::move(key), checked(tensor, "tensor"));
  });
}
TRT_EXPORT trt_status* trt_state_dict_remove(trt_state_dict* dict, const char* name) {
  return guard("trt_state_dict_remove", [&] {
    const StateDictPtr d = checked(dict);
    const std::string key = name_of(name);
    TRT_CHECK_CODE(d->remove(key), Code::kNotFound, "state dict: there is no entry '", key, "'");
  });
}

TRT_EXPORT trt_module* trt_module_retain(trt_module* module) {
  if (module) impl(module)->retain();
  return module;
}
TRT_EXPORT void trt_module_release(trt_module* module) {
  if (module) impl(module)->release();
}
TRT_EXPORT trt_status* trt_module_forward(trt_module* module, const trt_tensor* input, trt_tensor** out) {
  return guard("trt_module_forward", [&] {
    require_out(out, "out");
    capi::give((*checked(module))(checked(input, "input")), out);
  });
}
TRT_EXPORT trt_status* trt_module_forward_with(trt_module* module, const trt_tensor* const* inputs, size_t input_count, size_t output_count,
                                               trt_tensor_list** out) {
  return guard("trt_module_forward_with", [&] {
    require_out(out, "out");
    const nn::ModulePtr m = checked(module);
    std::vector<Tensor> results = nn::call_with(*m, TensorListArg(inputs, input_count, "inputs", true), output_count);
    while (!results.back().defined()) results.pop_back();  // the first one is defined
    capi::give(std::move(results), out);
  });
}
TRT_EXPORT trt_status* trt_module_train(trt_module* module, bool mode) {
  return guard("trt_module_train", [&] { checked(module)->train(mode); });
}
TRT_EXPORT bool trt_module_is_training(const trt_module* module) { return module && checked(module)->training(); }
TRT_EXPORT const char* trt_module_type_name(const trt_module* module) { return module ? checked(module)->type_name().c_str() : nullptr; }
TRT_EXPORT trt_status* trt_module_to_string(const trt_module* module, char** out) {
  return guard("trt_module_to_string", [&] {
    require_out(out, "out");
    *out = copy_string(checked(module)->to_string());
  });
}

TRT_EXPORT int64_t trt_module_parameter_count(const trt_module* module) { return count_parameters(module, false); }
TRT_EXPORT int64_t trt_module_trainable_parameter_count(const trt_module* module) { return count_parameters(module, true); }
TRT_EXPORT trt_status* trt_module_parameters(const trt_module* module, trt_tensor_list** out) {
  return guard("trt_module_parameters", [&] {
    require_out(out, "out");
    capi::give(checked(module)->parameters(), out);
  });
}
TRT_EXPORT trt_status* trt_module_named_parameters(const trt_module* module, trt_state_dict** out) {
  return guard("trt_module_named_parameters", [&] {
    require_out(out, "out");
    give(to_dict(checked(module)->named_parameters()), out);
  });
}
TRT_EXPORT trt_status* trt_module_named_buffers(const trt_module* module, trt_state_dict** out) {
  return guard("trt_module_named_buffers", [&] {
    require_out(out, "out");
    give(to_dict(checked(module)->named_buffers()), out);
  });
}
TRT_EXPORT trt_status* trt_module_parameter(const trt_module* module, const char* name, trt_tensor** out) {
  return guard("trt_module_parameter", [&] {
    require_out(out, "out");
    capi::give(checked(module)->parameter(name_of(name)), out);
  });
}
TRT_EXPORT trt_status* trt_module_buffer(const trt_module* module, const char* name, trt_tensor** out) {
  return guard("trt_module_buffer", [&] {
    require_out(out, "out");
    capi::give(checked(module)->buffer(name_of(name)), out);
  });
}
TRT_EXPORT trt_status* trt_module_submodule(trt_module* module, const char* name, trt_module** out) {
  return guard("trt_module_submodule", [&] {
    require_out(out, "out");
    *out = handle(checked(module)->submodule(name_of(name)).detach());
  });
}
TRT_EXPORT size_t trt_module_child_count(const trt_module* module) { return module ? checked(module)->children().size() : 0; }
TRT_EXPORT trt_module* trt_module_child(const trt_module* module, size_t index) {
  return index < trt_module_child_count(module) ? handle(checked(module)->children()[index].module.get()) : nullptr;
}
TRT_EXPORT const char* trt_module_child_name(const trt_module* module, size_t index) {
  return index < trt_module_child_count(module) ? checked(module)->children()[index].name.c_str() : nullptr;
}

TRT_EXPORT trt_status* trt_module_register_parameter(trt_module* module, const char* name, trt_tensor* tensor) {
  return guard("trt_module_register_parameter", [&] { checked(module)->register_parameter(name_of(name), checked_part(module, name, tensor, "parameter")); });
}
TRT_EXPORT trt_status* trt_module_register_buffer(trt_module* module, const char* name, const trt_tensor* tensor, bool persistent) {
  return guard("trt_module_register_buffer", [&] { checked(module)->register_buffer(name_of(name), checked_part(module, name, tensor, "buffer"), persistent); });
}
TRT_EXPORT trt_status* trt_module_register_child(trt_module* module, const char* name, trt_module* child) {
  return guard("trt_module_register_child", [&] { checked(module)->register_child(name_of(name), checked_part(module, name, child, "child")); });
}
TRT_EXPORT trt_status* trt_module_set_parameter(trt_module* module, const char* name, trt_tensor* tensor) {
  return guard("trt_module_set_parameter", [&] { checked(module)->set_parameter(name_of(name), checked_part(module, name, tensor, "parameter")); });
}
TRT_EXPORT trt_status* trt_module_zero_grad(trt_module* module, bool set_to_none) {
  return guard("trt_module_zero_grad", [&] { checked(module)->zero_grad(set_to_none); });
}
TRT_EXPORT trt_status* trt_module_set_requires_grad(trt_module* module, bool requires_grad) {
  return guard("trt_module_set_requires_grad", [&] { checked(module)->requires_grad(requires_grad); });
}
TRT_EXPORT trt_status* trt_module_to_dtype(trt_module* module, trt_dtype dtype) {
  return guard("trt_module_to_dtype", [&] { checked(module)->to(to_dtype(dtype)); });
}
TRT_EXPORT trt_status* trt_module_reset_parameters(trt_module* module, trt_generator* g) {
  return guard("trt_module_reset_parameters", [&] { checked(module)->reset_all(generator(g)); });
}
TRT_EXPORT trt_status* trt_module_apply(trt_module* module, trt_module_visit_fn fn, void* user_data, trt_destroy_fn destroy) {
  const HostData data(user_data, destroy);
  return guard("trt_module_apply", [&] {
    if (!fn) throw_null_argument("fn");
    checked(module)->apply([&](nn::Module& m) {
      if (trt_status* status = fn(handle(&m), data.get())) throw StatusError(status);
    });
  });
}

TRT_EXPORT trt_status* trt_module_add_forward_pre_hook(trt_module* module, trt_module_pre_hook_fn fn, void* user_data, trt_destroy_fn destroy,
                                                       uint64_t* out_id) {
  HostData data(user_data, destroy);
  return guard("trt_module_add_forward_pre_hook", [&] {
    require_out(out_id, "out_id");
    if (!fn) throw_null_argument("fn");
    *out_id = checked(module)->add_hook(true, make_intrusive<HostHook>(fn, nullptr, std::move(data)));
  });
}
TRT_EXPORT trt_status* trt_module_add_forward_hook(trt_module* module, trt_module_hook_fn fn, void* user_data, trt_destroy_fn destroy, uint64_t* out_id) {
  HostData data(user_data, destroy);
  return guard("trt_module_add_forward_hook", [&] {
    require_out(out_id, "out_id");
    if (!fn) throw_null_argument("fn");
    *out_id = checked(module)->add_hook(false, make_intrusive<HostHook>(nullptr, fn, std::move(data)));
  });
}
TRT_EXPORT trt_status* trt_module_remove_hook(trt_module* module, uint64_t id) {
  return guard("trt_module_remove_hook", [&] { TRT_CHECK_CODE(checked(module)->remove_hook(id), Code::kNotFound, "there is no hook ", id); });
}

TRT_EXPORT trt_status* trt_module_state_dict(const trt_module* module, trt_state_dict** out) {
  return guard("trt_module_state_dict", [&] {
    require_out(out, "out");
    give(checked(module)->state_dict(), out);
  });
}
TRT_EXPORT trt_status* trt_module_load_state_dict(trt_module* module, const trt_state_dict* dict, bool strict) {
  return guard("trt_module_load_state_dict", [&] { checked(module)->load_state_dict(*checked(dict), strict); });
}
TRT_EXPORT trt_status* trt_module_compare_state_dict(const trt_module* module, const trt_state_dict* dict, char** out) {
  return guard("trt_module_compare_state_dict", [&] {
    require_out(out, "out");
    const std::string text = checked(module)->compare(*checked(dict), true);
    *out = text.empty() ? nullptr : copy_string(text);
  });
}

TRT_EXPORT trt_status* trt_custom_module_create(const char* type_name, trt_forward_fn fn, void* user_data, trt_destroy_fn destroy, trt_module** out) {
  HostData data(user_data, destroy);
  return guard("trt_custom_module_create", [&] {
    require_out(out, "out");
    if (!fn) throw_null_argument("fn");
    std::string name = name_of(type_name, "type_name");
    *out = handle(static_cast<nn::Module*>(new HostModule(std::move(name), fn, std::move(data))));
  });
}

TRT_EXPORT trt_status* trt_init_uniform(trt_tensor* tensor, double low, double high, trt_generator* g) {
  return initialize("trt_init_uniform", tensor, [&](const Tensor& t) { nn::init::uniform_(t, low, high, generator(g)); });
}
TRT_EXPORT trt_status* trt_init_normal(trt_tensor* tensor, double mean, double std, trt_generator* g) {
  return initialize("trt_init_normal", tensor, [&](const Tensor& t) { nn::init::normal_(t, mean, std, generator(g)); });
}
TRT_EXPORT trt_status* trt_init_trunc_normal(trt_tensor* tensor, double mean, double std, double low, double high, trt_generator* g) {
  return initialize("trt_init_trunc_normal", tensor, [&](const Tensor& t) { nn::init::trunc_normal_(t, mean, std, low, high, generator(g)); });
}
TRT_EXPORT trt_status* trt_init_constant(trt_tensor* tensor, double value) {
  return initialize("trt_init_constant", tensor, [&](const Tensor& t) { nn::init::constant_(t, value); });
}
TRT_EXPORT trt_status* trt_init_zeros(trt_tensor* tensor) {
  return initialize("trt_init_zeros", tensor, [&](const Tensor& t) { nn::init::constant_(t, 0); });
}
TRT_EXPORT trt_status* trt_init_ones(trt_tensor* tensor) {
  return initialize("trt_init_ones", tensor, [&](const Tensor& t) { nn::init::constant_(t, 1); });
}
TRT_EXPORT trt_status* trt_init_eye(trt_tensor* tensor) {
  return initialize("trt_init_eye", tensor, [&](const Tensor& t) { nn::init::eye_(t); });
}
TRT_EXPORT trt_status* trt_init_xavier_uniform(trt_tensor* tensor, double gain, trt_generator* g) {
  return initialize("trt_init_xavier_uniform", tensor, [&](const Tensor& t) { nn::init::xavier_uniform_(t, gain, generator(g)); });
}
TRT_EXPORT trt_status* trt_init_xavier_normal(trt_tensor* tensor, double gain, trt_generator* g) {
  return initialize("trt_init_xavier_normal", tensor, [&](const Tensor& t) { nn::init::xavier_normal_(t, gain, generator(g)); });
}
TRT_EXPORT trt_status* trt_init_kaiming_uniform(trt_tensor* tensor, double a, int32_t mode, const char* nonlinearity, trt_generator* g) {
  return initialize("trt_init_kaiming_uniform", tensor, [&](const Tensor& t) {
    nn::init::kaiming_uniform_(t, a, fan_mode(mode), nonlinearity ? nonlinearity : "leaky_relu", generator(g));
  });
}
TRT_EXPORT trt_status* trt_init_kaiming_normal(trt_tensor* tensor, double a, int32_t mode, const char* nonlinearity, trt_generator* g) {
  return initialize("trt_init_kaiming_normal", tensor, [&](const Tensor& t) {
    nn::init::kaiming_normal_(t, a, fan_mode(mode), nonlinearity ? nonlinearity : "leaky_relu", generator(g));
  });
}
TRT_EXPORT trt_status* trt_init_orthogonal(trt_tensor* tensor, double gain, trt_generator* g) {
  return initialize("trt_init_orthogonal", tensor, [&](const Tensor& t) { nn::init::orthogonal_(t, gain, generator(g)); });
}

}  // extern "C"
