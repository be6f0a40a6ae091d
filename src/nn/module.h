// Module: a node of a network: named parameters, buffers and children, a train/eval mode, and a forward function.
//
// Note [Modules]
// A module owns its tensors by reference: the tensors that parameters() gives are the module's own, and what changes them in
// place (an optimizer, load_state_dict, to) changes the module. Parameters are leaves that require gradients. A module may be
// the child of several parents, and a tensor the parameter of several modules (tied weights); the lists that walk the tree
// give each once, the state dict gives each under all its names. The graph of modules has no cycles.
//
// Note [Places of errors]
// Each thread keeps the chain of the modules that it is running. The innermost module that an error leaves appends its path from the outermost
// one and its type: " (in module 'encoder.2', Linear)". Outer modules see that text and add nothing, also where the error travelled through the
// host's code in between; when that put an error of its own in its place, the module where it did so is named.
//
// Ownership: counted. Thread safety: forward of one module by many threads is safe in eval mode (nothing is written); training,
// loading and changes of the tree need external synchronization.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "core/generator.h"
#include "core/state_dict.h"

namespace trt::nn {

class Module;
using ModulePtr = intrusive_ptr<Module>;

class Module : public RefCounted<Module> {
 public:
  struct Parameter {
    std::string name;
    Tensor tensor;  // undefined where the module does without it (a Linear without bias)
  };
  struct Buffer {
    std::string name;
    Tensor tensor;  // undefined where the module does without it
    bool persistent;  // part of the state dict
  };
  struct Child {
    std::string name;
    ModulePtr module;
  };

  explicit Module(std::string type_name);
  virtual ~Module();

  // Runs forward and the hooks. An error that leaves a part of a larger module names its place there; see Note [Places of errors].
  Tensor operator()(const Tensor& input) { return call(input, nullptr); }

  // The inputs of a call with several, and room for what it gives beside the first output.
  struct Several {
    TensorList inputs;  // undefined: left out
    size_t outputs;
    std::vector<Tensor> results;
  };

  // Runs before forward (then `output` is undefined) and may give another input, or after it and may give another output; undefined keeps it.
  class Hook : public RefCounted<Hook> {
   public:
    virtual ~Hook() = default;
    virtual Tensor call(Module& module, const Tensor& input, const Tensor& output) = 0;
  };
  // In the order of their registration. The number is for removal. A module does not hand its hooks on to its children.
  uint64_t add_hook(bool before, intrusive_ptr<Hook> hook);
  bool remove_hook(uint64_t id);  // false when there is none

  // What stands in the parentheses of the printed form, before the children.
  virtual std::string extra_repr() const { return {}; }
  // Draws the module's own parameters anew (null: from the default generator) and resets its buffers.
  virtual void reset_parameters(GeneratorImpl*) {}

  const std::string& type_name() const { return type_name_; }
  bool training() const { return training_; }
  const std::vector<Parameter>& own_parameters() const { return parameters_; }
  const std::vector<Buffer>& own_buffers() const { return buffers_; }
  const std::vector<Child>& children() const { return children_; }

  // Names must be unique in the module, not empty, and without dots. A parameter must be a floating-point leaf; it is made to
  // require gradients. An undefined tensor registers the name for none.
  void register_parameter(const std::string& name, const Tensor& tensor);
  void register_buffer(const std::string& name, const Tensor& tensor, bool persistent = true);
  void register_child(const std::string& name, ModulePtr child);
  // Replaces a tensor by one of the same shape and dtype ("0.weight"; tied weights).
  void set_parameter(const std::string& path, const Tensor& tensor);

  // Each throws kNotFound.
  Tensor parameter(const std::string& path) const;
  Tensor buffer(const std::string& path) const;
  ModulePtr submodule(const std::string& path);

  // Children before their parents, each module once, this one last.
  void apply(const std::function<void(Module&)>& f);
  void train(bool mode);
  // Names with dots, in the order of the state dict, each tensor once.
  std::vector<Parameter> named_parameters() const;
  std::vector<Parameter> named_buffers() const;
  std::vector<Tensor> parameters() const;
  int64_t parameter_count(bool trainable_only) const;
  void zero_grad(bool set_to_none);
  void requires_grad(bool required);
  // Converts floating-point parameters (with their gradients) and buffers in place; the tensors keep their identity.
  void to(DType dtype);
  // reset_parameters of every module of the tree.
  void reset_all(GeneratorImpl* generator);

  // Parameters and persistent buffers, without history, on the module's own memory.
  StateDictPtr state_dict() const;
  // The differences that make a strict load fail, as text; empty when there are none.
  std::string compare(const StateDict& dict, bool strict) const;
  // Copies values (converting dtypes). Throws with all differences in one message and then changes nothing. Not strict: missing
  // and unexpected names are passed over, wrong shapes are not.
  void load_state_dict(const StateDict& dict, bool strict);

  std::string to_string() const;

 protected:
  // What the module computes.
  virtual Tensor forward(const Tensor& input) = 0;
  // In forward: those of the call that runs it, null for one of operator().
  static Several* several_of_call();
  const Tensor& param(size_t i) const { return parameters_[i].tensor; }
  const Tensor& buf(size_t i) const { return buffers_[i].tensor; }

 private:
  friend std::vector<Tensor> call_with(Module& module, TensorList inputs, size_t outputs);
  Tensor call(const Tensor& input, Several* several);
  void check_new_name(const std::string& name, const char* what) const;
  std::vector<StateDict::Entry> state_entries() const;

  std::string type_name_;
  bool training_ = true;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
  std::vector<Child> children_;

  struct NumberedHook {
    uint64_t id;
    bool before;
    intrusive_ptr<Hook> hook;
  };
  Tensor forward_with_hooks(const Tensor& input);
  std::vector<NumberedHook> hooks_;
  uint64_t next_hook_ = 1;
};

// A module of several inputs or outputs. Hooks see the first of each. operator() gives it one input, and gets its first output.
class MultiInput : public Module {
 public:
  using Module::Module;
  struct Signature {
    std::vector<const char*> inputs;
    size_t required;  // the inputs before this one cannot be left out
    size_t outputs;   // the most
  };
  virtual Signature signature() const = 0;

 protected:
  Tensor forward(const Tensor& input) final;
  // As many inputs as the signature has, and `outputs` results. Undefined results stand for none.
  virtual std::vector<Tensor> run(TensorList inputs, size_t outputs) = 0;
};

// Runs any module, hooks included, with the inputs in the order of its signature; those that were left out may be undefined or missing at the end.
// Throws kInvalidArgument for wrong numbers of either.
std::vector<Tensor> call_with(Module& module, TensorList inputs, size_t outputs);

// The deepest nesting of modules.
constexpr int kMaxModuleDepth = 1000;

// Around the forward of a module that calls others: throws kInvalidArgument below the deepest nesting, which a tree that grew at its leaves
// may exceed.
class ForwardDepth {
 public:
  explicit ForwardDepth(const Module& m);
  ~ForwardDepth();
  ForwardDepth(const ForwardDepth&) = delete;
  ForwardDepth& operator=(const ForwardDepth&) = delete;
};

}  // namespace trt::nn
