// State dicts, modules and the host's own modules in C++17, over nn.h (which documents behaviour, shapes and errors);
// the layers are in layers.hpp. Included by tensorrt.hpp.
#ifndef TENSORRT_NN_HPP
#define TENSORRT_NN_HPP

#include "tensorrt/indexing.hpp"

namespace trt {

namespace detail {
/** Strings for a C function: keys, values and how many. */
class StringPairs {
 public:
  explicit StringPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
    for (const auto& [key, value] : pairs) {
      keys_.push_back(key.c_str());
      values_.push_back(value.c_str());
    }
  }
  const char* const* keys() const { return keys_.data(); }
  const char* const* values() const { return values_.data(); }
  std::size_t size() const { return keys_.size(); }

 private:
  std::vector<const char*> keys_, values_;
};
}  // namespace detail

/**
 * An ordered map from names to tensors. Copying copies the reference. for (auto& [name, tensor] : dict) goes through
 * it; it must not change meanwhile.
 */
class StateDict : public detail::Handle<trt_state_dict, trt_state_dict_retain, trt_state_dict_release> {
 public:
  /** An empty dict. */
  StateDict() : Handle(detail::create(trt_state_dict_create)) {}
  /** Takes over a handle. */
  explicit StateDict(trt_state_dict* owned) : Handle(owned) {}
  StateDict(std::initializer_list<std::pair<std::string, Tensor>> entries) : StateDict() {
    for (const auto& [name, tensor] : entries) set(name, tensor);
  }
  std::size_t size() const { return trt_state_dict_size(get()); }
  bool empty() const { return size() == 0; }
  std::string name(std::size_t i) const {
    const char* n = trt_state_dict_name(get(), i);
    if (!n) throw Error(TRT_OUT_OF_RANGE, "StateDict: there is no entry " + std::to_string(i));
    return n;
  }
  Tensor tensor(std::size_t i) const { return Tensor::adopt(detail::create(trt_state_dict_tensor, get(), i)); }
  /** The tensor of a name: dict["weight"] = x writes its elements, set() puts another tensor there. */
  Tensor operator[](const std::string& name) const {
    return Tensor::adopt(detail::create(trt_state_dict_get, get(), name.c_str()));
  }
  bool contains(const std::string& name) const { return trt_state_dict_contains(get(), name.c_str()); }
  void set(const std::string& name, const Tensor& t) { check(trt_state_dict_set(get(), name.c_str(), t.get())); }
  void remove(const std::string& name) { check(trt_state_dict_remove(get(), name.c_str())); }
  std::vector<std::string> keys() const {
    std::vector<std::string> k;
    for (std::size_t i = 0; i < size(); ++i) k.push_back(name(i));
    return k;
  }
  std::vector<Tensor> values() const {
    std::vector<Tensor> v;
    for (std::size_t i = 0; i < size(); ++i) v.push_back(tensor(i));
    return v;
  }
  /** The tensors of a safetensors file. */
  static StateDict load(const std::string& path) {
    return StateDict(detail::create(trt_state_dict_load, path.c_str()));
  }
  /** Saves as a safetensors file with metadata strings, atomically. */
  void save(const std::string& path, const std::vector<std::pair<std::string, std::string>>& metadata = {}) const {
    const detail::StringPairs m(metadata);
    check(trt_state_dict_save(get(), path.c_str(), m.keys(), m.values(), m.size()));
  }

  /** An input iterator over (name, tensor). */
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::pair<std::string, Tensor>;
    using difference_type = std::ptrdiff_t;
    using pointer = value_type*;
    using reference = value_type&;
    Iterator(const StateDict* dict, std::size_t i) : dict_(dict), i_(i) {}
    reference operator*() {
      if (read_ != i_) {
        at_ = value_type(dict_->name(i_), dict_->tensor(i_));
        read_ = i_;
      }
      return at_;
    }
    pointer operator->() { return &**this; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i_ == b.i_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return a.i_ != b.i_; }

   private:
    const StateDict* dict_;
    std::size_t i_, read_ = static_cast<std::size_t>(-1);
    value_type at_;
  };
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size()); }
};

namespace nn {

/** A layer or network; empty after default construction. Copying copies the reference: both are one module. */
class Module : public detail::Handle<trt_module, trt_module_retain, trt_module_release> {
 public:
  Module() = default;
  // Templates, because 0 would convert to both, and these constructors are those of the layers, too.
  template <typename T, std::enable_if_t<std::is_same_v<T, std::nullptr_t>, int> = 0>
  Module(T) {}
  /** Takes over a handle. */
  template <typename T, std::enable_if_t<std::is_same_v<T, trt_module*>, int> = 0>
  explicit Module(T owned) : Handle(owned) {}
  /** Another reference to a handle that somebody else owns. */
  static Module borrow(trt_module* m) { return Module(trt_module_retain(m)); }
  /** As in net->forward(x). */
  Module* operator->() { return this; }
  const Module* operator->() const { return this; }

  Tensor forward(const Tensor& x) const { return Tensor::adopt(detail::create(trt_module_forward, get(), x.get())); }
  Tensor operator()(const Tensor& x) const { return forward(x); }
  /**
   * Runs a module of several inputs or outputs; empty tensors are optional inputs left out. Gives its first `outputs` outputs, or fewer where it has
   * none.
   */
  std::vector<Tensor> forward_with(TensorList inputs, std::size_t outputs = 1) const {
    const auto in = detail::handles(inputs);
    return detail::take(detail::create(trt_module_forward_with, get(), in.data(), in.size(), outputs));
  }
  void train(bool mode = true) const { check(trt_module_train(get(), mode)); }
  void eval() const { train(false); }
  bool is_training() const { return trt_module_is_training(get()); }
  /** "Conv2d". */
  std::string type_name() const { return text(trt_module_type_name(get())); }
  /** As PyTorch prints it. */
  std::string to_string() const { return detail::take_string(detail::create(trt_module_to_string, get())); }

  std::int64_t parameter_count() const { return trt_module_parameter_count(get()); }
  std::int64_t trainable_parameter_count() const { return trt_module_trainable_parameter_count(get()); }
  std::vector<Tensor> parameters() const { return detail::take(detail::create(trt_module_parameters, get())); }
  StateDict named_parameters() const { return StateDict(detail::create(trt_module_named_parameters, get())); }
  std::vector<Tensor> buffers() const { return named_buffers().values(); }
  StateDict named_buffers() const { return StateDict(detail::create(trt_module_named_buffers, get())); }
  /** A parameter of the tree: "0.weight". */
  Tensor parameter(const std::string& name) const {
    return Tensor::adopt(detail::create(trt_module_parameter, get(), name.c_str()));
  }
  Tensor buffer(const std::string& name) const {
    return Tensor::adopt(detail::create(trt_module_buffer, get(), name.c_str()));
  }
  Module submodule(const std::string& name) const {
    return Module(detail::create(trt_module_submodule, get(), name.c_str()));
  }
  std::vector<std::pair<std::string, Module>> named_children() const {
    std::vector<std::pair<std::string, Module>> out;
    for (std::size_t i = 0; i < trt_module_child_count(get()); ++i)
      out.emplace_back(text(trt_module_child_name(get(), i)), borrow(trt_module_child(get(), i)));
    return out;
  }
  std::vector<Module> children() const {
    std::vector<Module> out;
    for (auto& [name, child] : named_children()) out.push_back(std::move(child));
    return out;
  }
  /** Calls `fn(module)` for every module of the tree, each once, children before their parents. */
  template <typename F>
  const Module& apply(F fn) const {
    const auto call = [](trt_module* m, void* user_data) {
      return detail::guarded([&] { (*static_cast<F*>(user_data))(borrow(m)); });
    };
    check(trt_module_apply(get(), call, &fn, nullptr));
    return *this;
  }
  /** Every module of the tree, each once, children before their parents. */
  std::vector<Module> modules() const {
    std::vector<Module> out;
    apply([&](const Module& m) { out.push_back(m); });
    return out;
  }

  /**
   * Calls fn(module, input) before each forward; fn may return a Tensor, which takes the input's place (an empty one does not). What it throws
   * reaches the caller. Gives a number for remove_hook.
   */
  template <typename F>
  std::uint64_t register_forward_pre_hook(F fn) const {
    const auto call = [](trt_module* m, const trt_tensor* input, trt_tensor** out, void* user_data) {
      return detail::guarded([&] { give(out, *static_cast<F*>(user_data), borrow(m), Tensor::borrow(input)); });
    };
    std::uint64_t id = 0;
    check(trt_module_add_forward_pre_hook(get(), call, new F(std::move(fn)), detail::destroy<F>, &id));
    return id;
  }
  /** Calls fn(module, input, output) after it; a Tensor that fn returns takes the output's place. */
  template <typename F>
  std::uint64_t register_forward_hook(F fn) const {
    const auto call = [](trt_module* m, const trt_tensor* input, const trt_tensor* output, trt_tensor** out,
                         void* user_data) {
      return detail::guarded([&] {
        give(out, *static_cast<F*>(user_data), borrow(m), Tensor::borrow(input), Tensor::borrow(output));
      });
    };
    std::uint64_t id = 0;
    check(trt_module_add_forward_hook(get(), call, new F(std::move(fn)), detail::destroy<F>, &id));
    return id;
  }
  void remove_hook(std::uint64_t id) const { check(trt_module_remove_hook(get(), id)); }

  /** Adds a parameter, a buffer, a child; gives what was added. */
  Tensor register_parameter(const std::string& name, const Tensor& t) const {
    check(trt_module_register_parameter(get(), name.c_str(), t.get()));
    return t;
  }
  Tensor register_buffer(const std::string& name, const Tensor& t, bool persistent = true) const {
    check(trt_module_register_buffer(get(), name.c_str(), t.get(), persistent));
    return t;
  }
  template <typename M>
  std::conditional_t<std::is_copy_constructible_v<M>, M, const M&> register_module(const std::string& name,
                                                                                   const M& child) const {
    static_assert(std::is_base_of_v<Module, M>, "a child is a Module");
    if (!get()) throw Error(TRT_FAILED_PRECONDITION, "register_module: this Module is empty; derive networks from trt::nn::CustomModule");
    check(trt_module_register_child(get(), name.c_str(), child.get()));
    return child;
  }
  void set_parameter(const std::string& name, const Tensor& t) const {
    check(trt_module_set_parameter(get(), name.c_str(), t.get()));
  }

  StateDict state_dict() const { return StateDict(detail::create(trt_module_state_dict, get())); }
  void load_state_dict(const StateDict& d, bool strict = true) const {
    check(trt_module_load_state_dict(get(), d.get(), strict));
  }
  /** What a strict load_state_dict would complain about; "" if nothing. */
  std::string compare_state_dict(const StateDict& d) const {
    return detail::take_string(detail::create(trt_module_compare_state_dict, get(), d.get()));
  }
  void zero_grad(bool set_to_none = true) const { check(trt_module_zero_grad(get(), set_to_none)); }
  void requires_grad_(bool v = true) const { check(trt_module_set_requires_grad(get(), v)); }
  void to(DType dtype) const { check(trt_module_to_dtype(get(), static_cast<trt_dtype>(dtype))); }
  void reset_parameters(const Generator& generator = {}) const {
    check(trt_module_reset_parameters(get(), generator.get()));
  }

 protected:
  /** A parameter that may be missing: then an empty tensor. */
  Tensor optional_parameter(const char* name) const {
    trt_tensor* t = nullptr;
    trt_status* s = trt_module_parameter(get(), name, &t);
    if (!s) return Tensor::adopt(t);
    if (trt_status_code(s) != TRT_NOT_FOUND) throw Error(s);
    trt_status_release(s);
    return {};
  }

 private:
  static std::string text(const char* s) { return s ? s : ""; }
  template <typename F, typename... A>
  static void give(trt_tensor** out, F& fn, A&&... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>)
      fn(std::forward<A>(arguments)...);
    else
      *out = Tensor(fn(std::forward<A>(arguments)...)).release();
  }
};
inline std::ostream& operator<<(std::ostream& out, const Module& m) {
  return m ? out << m.to_string() : out << "[ Module (empty) ]";
}

/**
 * A module of the host's own: derive, register what it is made of in the constructor, and say what forward does.
 *
 *     struct Net : trt::nn::CustomModule {
 *       trt::nn::Linear first, second;
 *       Net() : CustomModule("Net") {
 *         first = register_module("first", trt::nn::Linear(784, 64));
 *         second = register_module("second", trt::nn::Linear(64, 10));
 *       }
 *       Tensor forward(const Tensor& x) override { return second(first(x).relu()); }
 *     };
 *     auto net = trt::nn::make_module<Net>();    // or a Net, or std::make_shared<Net>()
 *     net->parameters();
 *     Sequential{net, trt::nn::Softmax(1)};
 *
 * The C++ object lives as long as the module if make_module made it. Otherwise its owner decides; a module whose object
 * is gone fails with TRT_FAILED_PRECONDITION. forward is called from every thread that runs the module; what it throws
 * reaches the caller.
 */
class CustomModule : public Module {
 public:
  CustomModule(const CustomModule&) = delete;
  CustomModule& operator=(const CustomModule&) = delete;
  virtual ~CustomModule() {
    if (link_) link_->object = nullptr;
    if (!owner_) forget();
  }
  virtual Tensor forward(const Tensor& x) = 0;
  /** forward with the hooks of the module; errors tell the place of the modules inside. */
  Tensor operator()(const Tensor& x) const { return Module::forward(x); }

 protected:
  explicit CustomModule(const std::string& type_name = "Module") : CustomModule(type_name, new Link) {}

 private:
  template <typename T>
  friend class ModuleHolder;
  /** What the library keeps: the object while there is one. */
  struct Link {
    CustomModule* object = nullptr;
    bool owns = false;
    ~Link() {
      if (!object) return;
      object->link_ = nullptr;
      if (owns) delete object;
    }
  };
  CustomModule(const std::string& type_name, Link* link)
      : Module(detail::create(trt_custom_module_create, type_name.c_str(), &CustomModule::call,
                              static_cast<void*>(link), &detail::destroy<Link>)),
        link_(link) {
    link->object = this;
  }
  static trt_status* call(trt_module*, const trt_tensor* input, trt_tensor** out, void* user_data) {
    return detail::guarded([&] {
      CustomModule* const object = static_cast<Link*>(user_data)->object;
      if (!object) throw Error(TRT_FAILED_PRECONDITION, "module: the C++ object with its forward function is gone");
      Tensor result = object->forward(Tensor::borrow(input));
      if (!result.defined()) throw Error(TRT_CALLBACK, "module: forward gave an empty tensor");
      *out = result.release();
    });
  }
  Link* link_;
  bool owner_ = true;
};

/** A module that owns its C++ object, reached with ->; see make_module. */
template <typename T>
class ModuleHolder : public Module {
 public:
  ModuleHolder() = default;
  ModuleHolder(std::nullptr_t) {}
  explicit ModuleHolder(std::unique_ptr<T> made) : ModuleHolder(made.release()) {}
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

 private:
  // The reference that the object had becomes this one's; from now on the module owns the object.
  explicit ModuleHolder(T* object) : Module(static_cast<CustomModule*>(object)->get()), object_(object) {
    CustomModule* const custom = object;
    custom->owner_ = false;
    custom->link_->owns = true;
  }
  T* object_ = nullptr;
};
/** Makes a T, derived from CustomModule, that lives as long as its module. */
template <typename T, typename... A>
ModuleHolder<T> make_module(A&&... arguments) {
  return ModuleHolder<T>(std::make_unique<T>(std::forward<A>(arguments)...));
}

/** A module without parameters from a function: trt::nn::Lambda([](const Tensor& x) { return x * 2; }). */
class Lambda : public Module {
 public:
  using Module::Module;
  explicit Lambda(std::function<Tensor(const Tensor&)> fn, const std::string& type_name = "Lambda") {
    using F = std::function<Tensor(const Tensor&)>;
    if (!fn) throw Error(TRT_INVALID_ARGUMENT, "Lambda: the function is empty");
    const auto call = [](trt_module*, const trt_tensor* input, trt_tensor** out, void* user_data) {
      return detail::guarded([&] {
        Tensor result = (*static_cast<F*>(user_data))(Tensor::borrow(input));
        if (!result.defined()) throw Error(TRT_CALLBACK, "Lambda: the function gave an empty tensor");
        *out = result.release();
      });
    };
    trt_module* m = nullptr;
    check(trt_custom_module_create(type_name.c_str(), call, new F(std::move(fn)), detail::destroy<F>, &m));
    static_cast<Module&>(*this) = Module(m);
  }
};

/** Runs modules in order. Braces evaluate the layers, and so draw their initial values, in order: Sequential{Linear(2,
 * 3), ReLU()}. */
class Sequential : public Module {
 public:
  using Module::Module;
  Sequential() : Sequential(std::vector<Module>()) {}
  explicit Sequential(const std::vector<Module>& modules) : Module(make(modules)) {}
  Sequential(std::initializer_list<Module> modules) : Module(make(std::vector<Module>(modules))) {}
  /** With names for the modules: Sequential{{"fc", Linear(2, 3)}, {"act", ReLU()}}. */
  Sequential(std::initializer_list<std::pair<std::string, Module>> modules) : Sequential() {
    for (const auto& [name, m] : modules) register_module(name, m);
  }
  template <typename... M, std::enable_if_t<(sizeof...(M) > 1) && (std::is_base_of_v<Module, M> && ...), int> = 0>
  explicit Sequential(const M&... modules) : Sequential(std::vector<Module>{modules...}) {}
  Sequential* operator->() { return this; }
  const Sequential* operator->() const { return this; }
  std::size_t size() const { return trt_module_child_count(get()); }
  Module operator[](std::size_t i) const { return submodule(std::to_string(i)); }
  /** Appends a module under its number. */
  void push_back(const Module& m) const { register_module(std::to_string(size()), m); }

 private:
  static trt_module* make(const std::vector<Module>& modules) {
    std::vector<trt_module*> raw;
    for (const Module& m : modules) raw.push_back(m.get());
    return detail::create(trt_sequential_create, raw.data(), raw.size());
  }
};

/** Initializers: fill a tensor in place, recording nothing, and give it back. An empty generator is the default one. */
namespace init {
enum class FanMode { FanIn = TRT_FAN_IN, FanOut = TRT_FAN_OUT };
inline constexpr FanMode kFanIn = FanMode::FanIn, kFanOut = FanMode::FanOut;

inline Tensor uniform_(const Tensor& t, double low = 0, double high = 1, const Generator& generator = {}) {
  check(trt_init_uniform(t.get(), low, high, generator.get()));
  return t;
}
inline Tensor normal_(const Tensor& t, double mean = 0, double std = 1, const Generator& generator = {}) {
  check(trt_init_normal(t.get(), mean, std, generator.get()));
  return t;
}
inline Tensor trunc_normal_(const Tensor& t, double mean = 0, double std = 1, double low = -2, double high = 2,
                            const Generator& generator = {}) {
  check(trt_init_trunc_normal(t.get(), mean, std, low, high, generator.get()));
  return t;
}
inline Tensor constant_(const Tensor& t, double value) {
  check(trt_init_constant(t.get(), value));
  return t;
}
inline Tensor zeros_(const Tensor& t) {
  check(trt_init_zeros(t.get()));
  return t;
}
inline Tensor ones_(const Tensor& t) {
  check(trt_init_ones(t.get()));
  return t;
}
inline Tensor eye_(const Tensor& t) {
  check(trt_init_eye(t.get()));
  return t;
}
inline Tensor xavier_uniform_(const Tensor& t, double gain = 1, const Generator& generator = {}) {
  check(trt_init_xavier_uniform(t.get(), gain, generator.get()));
  return t;
}
inline Tensor xavier_normal_(const Tensor& t, double gain = 1, const Generator& generator = {}) {
  check(trt_init_xavier_normal(t.get(), gain, generator.get()));
  return t;
}
inline Tensor kaiming_uniform_(const Tensor& t, double a = 0, FanMode mode = kFanIn,
                               const std::string& nonlinearity = "leaky_relu", const Generator& generator = {}) {
  check(trt_init_kaiming_uniform(t.get(), a, static_cast<std::int32_t>(mode), nonlinearity.c_str(), generator.get()));
  return t;
}
inline Tensor kaiming_normal_(const Tensor& t, double a = 0, FanMode mode = kFanIn,
                              const std::string& nonlinearity = "leaky_relu", const Generator& generator = {}) {
  check(trt_init_kaiming_normal(t.get(), a, static_cast<std::int32_t>(mode), nonlinearity.c_str(), generator.get()));
  return t;
}
inline Tensor orthogonal_(const Tensor& t, double gain = 1, const Generator& generator = {}) {
  check(trt_init_orthogonal(t.get(), gain, generator.get()));
  return t;
}
}  // namespace init

}  // namespace nn

using nn::Module;

}  // namespace trt

#endif
