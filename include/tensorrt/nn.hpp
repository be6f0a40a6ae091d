// Modules, optimizers and schedulers in C++17, over nn.h and optim.h (which document behaviour, shapes and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_NN_HPP
#define TENSORRT_NN_HPP

#include "tensorrt/tensorrt.hpp"

namespace trt {

/** An ordered map from names to tensors. Copying copies the reference. */
class StateDict : public detail::Handle<trt_state_dict, trt_state_dict_retain, trt_state_dict_release> {
 public:
  StateDict() : Handle(detail::create(trt_state_dict_create)) {}
  explicit StateDict(trt_state_dict* owned) : Handle(owned) {}
  std::size_t size() const { return trt_state_dict_size(get()); }
  std::string name(std::size_t i) const { return trt_state_dict_name(get(), i); }
  Tensor tensor(std::size_t i) const { return Tensor::adopt(detail::create(trt_state_dict_tensor, get(), i)); }
  Tensor operator[](const std::string& name) const { return Tensor::adopt(detail::create(trt_state_dict_get, get(), name.c_str())); }
  bool contains(const std::string& name) const { return trt_state_dict_contains(get(), name.c_str()); }
  /** The tensors of a safetensors file. */
  static StateDict load(const std::string& path) { return StateDict(detail::create(trt_state_dict_load, path.c_str())); }
  /** Saves as a safetensors file, atomically. */
  void save(const std::string& path) const { check(trt_state_dict_save(get(), path.c_str(), nullptr, nullptr, 0)); }
  void set(const std::string& name, const Tensor& t) { check(trt_state_dict_set(get(), name.c_str(), t.get())); }
};

/** A layer or network. Copying copies the reference. */
class Module : public detail::Handle<trt_module, trt_module_retain, trt_module_release> {
 public:
  explicit Module(trt_module* owned) : Handle(owned) {}
  Tensor operator()(const Tensor& x) const { return Tensor::adopt(detail::create(trt_module_forward, get(), x.get())); }
  void train(bool mode = true) { check(trt_module_train(get(), mode)); }
  void eval() { train(false); }
  bool is_training() const { return trt_module_is_training(get()); }
  std::string to_string() const { return detail::take_string(detail::create(trt_module_to_string, get())); }
  std::int64_t parameter_count() const { return trt_module_parameter_count(get()); }
  std::vector<Tensor> parameters() const { return detail::take(detail::create(trt_module_parameters, get())); }
  StateDict named_parameters() const { return StateDict(detail::create(trt_module_named_parameters, get())); }
  StateDict state_dict() const { return StateDict(detail::create(trt_module_state_dict, get())); }
  void load_state_dict(const StateDict& d, bool strict = true) { check(trt_module_load_state_dict(get(), d.get(), strict)); }
  void zero_grad(bool set_to_none = true) { check(trt_module_zero_grad(get(), set_to_none)); }
  void requires_grad(bool v) { check(trt_module_set_requires_grad(get(), v)); }
  void to(DType dtype) { check(trt_module_to_dtype(get(), static_cast<trt_dtype>(dtype))); }
};

/** Makers of the layers; options structs are those of nn.h. */
namespace nn {

/** An options struct with its defaults set: auto o = nn::defaults(trt_conv_options_init); */
template <typename T>
T defaults(void (*init)(T*)) {
  T o;
  init(&o);
  return o;
}

inline Module Sequential(const std::vector<Module>& modules) {
  std::vector<trt_module*> raw;
  for (const Module& m : modules) raw.push_back(m.get());
  return Module(detail::create(trt_sequential_create, raw.data(), raw.size()));
}
inline Module Linear(std::int64_t in, std::int64_t out, bool bias = true) {
  auto o = defaults(trt_linear_options_init);
  o.bias = bias;
  return Module(detail::create(trt_linear_create, in, out, static_cast<const trt_linear_options*>(&o)));
}
inline Module Embedding(std::int64_t count, std::int64_t dim) { return Module(detail::create(trt_embedding_create, count, dim, nullptr)); }
inline Module Conv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, const trt_conv_options& o) {
  return Module(detail::create(trt_conv2d_create, in, out, kernel, kernel, &o));
}
inline Module BatchNorm1d(std::int64_t features) { return Module(detail::create(trt_batch_norm1d_create, features, nullptr)); }
inline Module BatchNorm2d(std::int64_t features) { return Module(detail::create(trt_batch_norm2d_create, features, nullptr)); }
inline Module LayerNorm(const std::vector<std::int64_t>& shape) { return Module(detail::create(trt_layer_norm_create, shape.data(), shape.size(), nullptr)); }
inline Module Dropout(double p = 0.5) { return Module(detail::create(trt_dropout_create, p)); }
inline Module Flatten(std::int64_t start = 1, std::int64_t end = -1) { return Module(detail::create(trt_flatten_create, start, end)); }
inline Module ReLU() { return Module(detail::create(trt_relu_create)); }
inline Module GELU(bool tanh = false) { return Module(detail::create(trt_gelu_create, tanh)); }
inline Module SiLU() { return Module(detail::create(trt_silu_create)); }
inline Module Tanh() { return Module(detail::create(trt_tanh_create)); }
inline Module Sigmoid() { return Module(detail::create(trt_sigmoid_create)); }
inline Module MaxPool2d(std::int64_t kernel) { return Module(detail::create(trt_max_pool2d_create, kernel, kernel, nullptr)); }
inline Module AvgPool2d(std::int64_t kernel) { return Module(detail::create(trt_avg_pool2d_create, kernel, kernel, nullptr)); }
inline Module AdaptiveAvgPool2d(std::int64_t h, std::int64_t w) { return Module(detail::create(trt_adaptive_avg_pool2d_create, h, w)); }

}  // namespace nn

class Optimizer : public detail::Handle<trt_optimizer, trt_optimizer_retain, trt_optimizer_release> {
 public:
  explicit Optimizer(trt_optimizer* owned) : Handle(owned) {}
  void step() { check(trt_optimizer_step(get())); }
  void zero_grad(bool set_to_none = true) { check(trt_optimizer_zero_grad(get(), set_to_none)); }
  double lr(std::size_t group = 0) const { return detail::create(trt_optimizer_get_lr, get(), group); }
  void set_lr(double lr) { check(trt_optimizer_set_lr(get(), lr)); }
  StateDict state_dict() const { return StateDict(detail::create(trt_optimizer_state_dict, get())); }
  void load_state_dict(const StateDict& d) { check(trt_optimizer_load_state_dict(get(), d.get())); }
};

class Scheduler : public detail::Handle<trt_scheduler, trt_scheduler_retain, trt_scheduler_release> {
 public:
  explicit Scheduler(trt_scheduler* owned) : Handle(owned) {}
  void step() { check(trt_scheduler_step(get())); }
  StateDict state_dict() const { return StateDict(detail::create(trt_scheduler_state_dict, get())); }
  void load_state_dict(const StateDict& d) { check(trt_scheduler_load_state_dict(get(), d.get())); }
};

/** Makers of optimizers and schedulers; options structs are those of optim.h. */
namespace optim {

inline Optimizer SGD(const std::vector<Tensor>& params, const trt_sgd_options& o) {
  const auto raw = detail::handles(params);
  return Optimizer(detail::create(trt_sgd_create, raw.data(), raw.size(), &o));
}
inline Optimizer AdamW(const std::vector<Tensor>& params, const trt_adam_options& o) {
  const auto raw = detail::handles(params);
  return Optimizer(detail::create(trt_adamw_create, raw.data(), raw.size(), &o));
}
inline Optimizer AdamW(const std::vector<Tensor>& params, double lr) {
  auto o = nn::defaults(trt_adamw_options_init);
  o.lr = lr;
  return AdamW(params, o);
}
inline Scheduler OneCycleLR(const Optimizer& optimizer, double max_lr, std::int64_t total_steps) {
  auto o = nn::defaults(trt_one_cycle_options_init);
  o.max_lr = max_lr;
  o.total_steps = total_steps;
  return Scheduler(detail::create(trt_one_cycle_lr_create, optimizer.get(), static_cast<const trt_one_cycle_options*>(&o)));
}
inline Scheduler CosineAnnealingLR(const Optimizer& optimizer, std::int64_t t_max, double eta_min = 0) {
  return Scheduler(detail::create(trt_cosine_annealing_lr_create, optimizer.get(), t_max, eta_min));
}

}  // namespace optim

}  // namespace trt

#endif
