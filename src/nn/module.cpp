#include "nn/module.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "autograd/meta.h"
#include "base/stack.h"
#include "base/utf8.h"
#include "gen/all_ops.h"

namespace trt::nn {

namespace {

constinit TRT_TLS int forward_depth = 0;

using Visited = std::unordered_set<const void*>;

// Calls f(module, prefix) for the tree below `m`, parents first. With `visited`, each module once.
template <typename M, typename F>
void walk(M& m, const std::string& prefix, Visited* visited, const F& f, int depth = 0) {
  TRT_CHECK(depth < kMaxModuleDepth, "module: nested deeper than ", kMaxModuleDepth);
  if (visited && !visited->insert(&m).second) return;
  f(m, prefix);
  for (const auto& child : m.children()) walk(static_cast<M&>(*child.module), str_cat(prefix, child.name, "."), visited, f, depth + 1);
}

template <typename F>
void walk_children_first(Module& m, Visited& visited, const F& f, int depth = 0) {
  TRT_CHECK(depth < kMaxModuleDepth, "module: nested deeper than ", kMaxModuleDepth);
  if (!visited.insert(&m).second) return;
  // f may be the host's and add children meanwhile.
  for (size_t i = 0; i < m.children().size(); ++i) {
    const ModulePtr child = m.children()[i].module;
    walk_children_first(*child, visited, f, depth + 1);
  }
  f(m);
}

// The module and the name in it that "a.b.weight" stands for; throws kNotFound.
std::pair<ModulePtr, std::string> place_of(const Module& root, const std::string& path) {
  Module& m = const_cast<Module&>(root);
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {ModulePtr(&m), path};
  TRT_CHECK_CODE(dot > 0, Code::kNotFound, "module: ", m.type_name(), " has no '", path, "'");
  return {m.submodule(path.substr(0, dot)), path.substr(dot + 1)};
}

void check_parameter(const std::string& name, const Tensor& t) {
  TRT_CHECK(is_floating(t.dtype()), "module: the parameter '", name, "' must have a floating-point dtype, got ", t);
  TRT_CHECK(autograd::is_leaf(t), "module: the parameter '", name, "' must be a leaf of the graph; detach it first");
}

void print(const Module& m, const std::string& indent, std::string& out, int depth);

// The children of a list, neighbours of the same text once: "(0-2): 3 x ReLU()".
void print_list(const Module& m, const std::string& indent, std::string& out, int depth) {
  std::vector<std::string> texts;
  for (const auto& child : m.children()) print(*child.module, indent, texts.emplace_back(), depth + 1);
  for (size_t i = 0, end; i < texts.size(); i = end) {
    for (end = i + 1; end < texts.size() && texts[end] == texts[i];) ++end;
    const std::string& name = m.children()[i].name;
    if (end == i + 1) out += str_cat('\n', indent, '(', name, "): ", texts[i]);
    else out += str_cat('\n', indent, '(', name, '-', m.children()[end - 1].name, "): ", end - i, " x ", texts[i]);
  }
}

void print(const Module& m, const std::string& indent, std::string& out, int depth) {
  TRT_CHECK(depth < kMaxModuleDepth, "module: nested deeper than ", kMaxModuleDepth);
  out += m.type_name();
  out += '(';
  const std::string extra = m.extra_repr();
  if (m.children().empty()) {
    out += extra;
  } else {
    const std::string inner = indent + "  ";
    if (!extra.empty()) out += str_cat('\n', inner, extra);
    if (m.type_name() == "ModuleList") {
      print_list(m, inner, out, depth);
    } else {
      for (const auto& child : m.children()) {
        out += str_cat('\n', inner, '(', child.name, "): ");
        print(*child.module, inner, out, depth + 1);
      }
    }
    out += str_cat('\n', indent);
  }
  out += ')';
}

void append_names(std::string& text, const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text += str_cat("\n  ", title, ": ");
  for (size_t i = 0; i < names.size(); ++i) text += str_cat(i ? ", " : "", names[i]);
}

// A call of a module, and the one that it is a part of.
struct Call {
  Call(const Module& m, Module::Several* several);
  ~Call();
  Call(const Call&) = delete;
  const Module& module;
  Module::Several* const several;
  const Call* const outer;
};
constinit TRT_TLS const Call* current_call = nullptr;
Call::Call(const Module& m, Module::Several* s) : module(m), several(s), outer(current_call) { current_call = this; }
Call::~Call() { current_call = outer; }

constexpr std::string_view kPlace = " (in module '";

// The name that `m` has in the tree below `outer`; its type in angle brackets where it is no part of it. The nearest are looked at first: nearly always
// `m` is a child, and the tree below may be deep.
std::string name_in(const Module& outer, const Module& m) {
  if (&outer == &m) return {};
  struct Place {
    const Module* module;
    size_t parent;
    const std::string* name;
  };
  std::vector<Place> places{{&outer, 0, nullptr}};
  Visited visited{&outer};
  for (size_t at = 0; at < places.size(); ++at) {
    for (const auto& child : places[at].module->children()) {
      if (child.module.get() == &m) {
        std::string name = child.name;
        for (size_t i = at; i != 0; i = places[i].parent) name = str_cat(*places[i].name, '.', name);
        return name;
      }
      if (visited.insert(child.module.get()).second) places.push_back({child.module.get(), at, &child.name});
    }
  }
  return str_cat('<', m.type_name(), '>');
}

std::string path_of(const Call& call) {
  constexpr int kMost = 32;  // of calls inside of each other, the innermost
  std::string path;
  int names = 0;
  for (const Call* c = &call; c->outer; c = c->outer) {
    if (names++ == kMost) return str_cat("...", path);
    const std::string name = name_in(c->outer->module, c->module);
    if (!name.empty()) path = path.empty() ? name : str_cat(name, '.', path);
  }
  return path;
}

template <typename E>
TRT_NOINLINE void add_place(E& error, const Call& call) noexcept {
  if (!call.outer || error.message().find(kPlace) != std::string_view::npos) return;
  try {
    error.append(str_cat(kPlace, path_of(call), "', ", call.module.type_name(), ')'));
  } catch (...) {  // the error goes on without its place
  }
}

}  // namespace

Tensor Module::call(const Tensor& input, Several* several) {
  check_cancelled();
  // A module of the host, or a hook, that calls itself must not end the process.
  TRT_CHECK_CODE(stack_left() > 0, Code::kFailedPrecondition, "forward: ", type_name_, " is called in too many others, the thread's stack is used up");
  const Call call(*this, several);
  try {
    return TRT_LIKELY(hooks_.empty()) ? forward(input) : forward_with_hooks(input);
  } catch (Error& e) {
    add_place(e, call);
    throw;
  } catch (HostError& e) {
    add_place(e, call);
    throw;
  }
}

Module::Several* Module::several_of_call() { return current_call->several; }

Tensor MultiInput::forward(const Tensor& input) {
  const Signature s = signature();
  Several* several = several_of_call();
  if (!several) TRT_CHECK(s.required == 1, type_name(), ": the input '", s.inputs[1], "' is needed as well, got only '", s.inputs[0], "', ", input);
  std::vector<Tensor> inputs(s.inputs.size());
  for (size_t i = 1; several && i < several->inputs.size(); ++i) inputs[i] = several->inputs[i];
  inputs[0] = input;  // a hook may have replaced it
  std::vector<Tensor> results = run(inputs, several ? several->outputs : 1);
  Tensor first = results[0];
  if (several) several->results = std::move(results);
  return first;
}

std::vector<Tensor> call_with(Module& module, TensorList inputs, size_t outputs) {
  auto* multi = dynamic_cast<MultiInput*>(&module);
  const MultiInput::Signature s = multi ? multi->signature() : MultiInput::Signature{{"input"}, 1, 1};
  TRT_CHECK(inputs.size() >= s.required && inputs.size() <= s.inputs.size(), module.type_name(), ": the number of inputs must lie in [", s.required, ", ",
            s.inputs.size(), "], got ", inputs.size());
  TRT_CHECK(outputs > 0 && outputs <= s.outputs, module.type_name(), ": the number of outputs must lie in [1, ", s.outputs, "], got ", outputs);
  for (size_t i = 0; i < s.required; ++i) TRT_CHECK(inputs[i].defined(), module.type_name(), ": the input '", s.inputs[i], "' is needed");
  if (!multi) return {module(inputs[0])};
  Module::Several several{inputs, outputs, {}};
  Tensor first = module.call(inputs[0], &several);
  several.results.resize(outputs);
  several.results[0] = std::move(first);
  return std::move(several.results);
}

ForwardDepth::ForwardDepth(const Module& m) {
  TRT_CHECK(forward_depth < kMaxModuleDepth, "forward: ", m.type_name(), " is nested deeper than ", kMaxModuleDepth);
  // A module of the host, or a hook, that calls itself must not end the process: their frames are larger than the library's.
  TRT_CHECK_CODE(stack_left() > 0, Code::kFailedPrecondition, "forward: ", m.type_name(), " is nested ", forward_depth, " deep, and the thread's stack is used up");
  ++forward_depth;
}
ForwardDepth::~ForwardDepth() { --forward_depth; }

Module::Module(std::string type_name) : type_name_(std::move(type_name)) {
  TRT_CHECK(!type_name_.empty(), "module: the type name must not be empty");
  check_utf8(type_name_, "module: the type name");
}

// Takes the tree below apart without recursion: a host may have nested modules deeper than the stack reaches.
Module::~Module() {
  std::vector<Child> pending = std::move(children_);
  while (!pending.empty()) {
    const ModulePtr m = std::move(pending.back().module);
    pending.pop_back();
    if (m->use_count() != 1) continue;
    try {
      pending.insert(pending.end(), std::make_move_iterator(m->children_.begin()), std::make_move_iterator(m->children_.end()));
      m->children_.clear();
    } catch (...) {
      // Without memory for the list, m's own destructor does it.
    }
  }
}

void Module::check_new_name(const std::string& name, const char* what) const {
  check_utf8(name, "module: the name");
  TRT_CHECK(!name.empty() && name.find('.') == std::string::npos, "module: the name '", name, "' of a ", what,
            " must not be empty and must not contain a dot");
  const auto same = [&](const auto& e) { return e.name == name; };
  TRT_CHECK(std::none_of(parameters_.begin(), parameters_.end(), same) && std::none_of(buffers_.begin(), buffers_.end(), same) &&
                std::none_of(children_.begin(), children_.end(), same),
            "module: ", type_name_, " already has something of the name '", name, "'");
}

void Module::register_parameter(const std::string& name, const Tensor& tensor) {
  check_new_name(name, "parameter");
  if (tensor.defined()) check_parameter(name, tensor);
  parameters_.push_back({name, tensor});
  try {
    if (tensor.defined()) autograd::set_requires_grad(tensor, true);
  } catch (...) {
    parameters_.pop_back();
    throw;
  }
}

void Module::register_buffer(const std::string& name, const Tensor& tensor, bool persistent) {
  check_new_name(name, "buffer");
  buffers_.push_back({name, tensor, persistent});
}

void Module::register_child(const std::string& name, ModulePtr child) {
  check_new_name(name, "child");
  TRT_CHECK(child, "module: the child '", name, "' is none");
  Visited visited;
  const auto check = [&](const Module& m, const std::string&) {
    TRT_CHECK(&m != this, "module: '", name, "' would make ", type_name_, " a part of itself");
  };
  walk(*child, {}, &visited, check, 1);
  children_.push_back({name, std::move(child)});
}

ModulePtr Module::submodule(const std::string& path) {
  Module* at = this;
  if (path.empty()) return ModulePtr(at);
  // A part between dots may be empty, and then finds nothing.
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view name(path.data() + begin, end - begin);
    const auto found = std::find_if(at->children_.begin(), at->children_.end(), [&](const Child& c) { return c.name == name; });
    TRT_CHECK_CODE(found != at->children_.end(), Code::kNotFound, "module: ", type_name_, " has no submodule '", path, "'");
    at = found->module.get();
    begin = end + 1;
  }
  return ModulePtr(at);
}

namespace {
// Tells what there is instead of what was asked for.
template <typename Entries>
[[noreturn]] void throw_missing(const Module& root, const Module& owner, const char* kind, const std::string& path, const Entries& entries) {
  std::string there;
  for (const auto& e : entries)
    if (e.tensor.defined()) there += str_cat(there.empty() ? "" : ", ", "'", e.name, "'");
  throw_error(Code::kNotFound, str_cat("module: ", root.type_name(), " has no ", kind, " '", path, "'; ", owner.type_name(), " has ", there.empty() ? "none" : there));
}
}  // namespace

Tensor Module::parameter(const std::string& path) const {
  const auto [m, name] = place_of(*this, path);
  for (const auto& p : m->parameters_)
    if (p.name == name && p.tensor.defined()) return p.tensor;
  throw_missing(*this, *m, "parameter", path, m->parameters_);
}

Tensor Module::buffer(const std::string& path) const {
  const auto [m, name] = place_of(*this, path);
  for (const auto& b : m->buffers_)
    if (b.name == name && b.tensor.defined()) return b.tensor;
  throw_missing(*this, *m, "buffer", path, m->buffers_);
}

void Module::set_parameter(const std::string& path, const Tensor& tensor) {
  const auto [m, name] = place_of(*this, path);
  for (auto& p : m->parameters_) {
    if (p.name != name || !p.tensor.defined()) continue;
    check_parameter(path, tensor);
    TRT_CHECK(tensor.sizes() == p.tensor.sizes() && tensor.dtype() == p.tensor.dtype(), "module: the parameter '", path, "' is ", p.tensor,
              ", its replacement ", tensor);
    autograd::set_requires_grad(tensor, true);
    p.tensor = tensor;
    return;
  }
  throw_missing(*this, *m, "parameter", path, m->parameters_);
}

uint64_t Module::add_hook(bool before, intrusive_ptr<Hook> hook) {
  hooks_.push_back({next_hook_, before, std::move(hook)});
  return next_hook_++;
}

bool Module::remove_hook(uint64_t id) {
  const auto at = std::find_if(hooks_.begin(), hooks_.end(), [id](const NumberedHook& h) { return h.id == id; });
  if (at == hooks_.end()) return false;
  const intrusive_ptr<Hook> gone = std::move(at->hook);  // may run the host's code, so after the list is in order
  hooks_.erase(at);
  return true;
}

Tensor Module::forward_with_hooks(const Tensor& input) {
  // A hook may add or remove hooks: they count from the next call on.
  const std::vector<NumberedHook> hooks = hooks_;
  Tensor x = input;
  for (const auto& h : hooks)
    if (h.before)
      if (Tensor given = h.hook->call(*this, x, Tensor()); given.defined()) x = std::move(given);
  Tensor y = forward(x);
  for (const auto& h : hooks)
    if (!h.before)
      if (Tensor given = h.hook->call(*this, x, y); given.defined()) y = std::move(given);
  return y;
}

void Module::apply(const std::function<void(Module&)>& f) {
  Visited visited;
  walk_children_first(*this, visited, f);
}

void Module::train(bool mode) {
  apply([mode](Module& m) { m.training_ = mode; });
}

std::vector<Module::Parameter> Module::named_parameters() const {
  std::vector<Parameter> result;
  Visited modules, tensors;
  walk(*this, {}, &modules, [&](const Module& m, const std::string& prefix) {
    for (const auto& p : m.parameters_)
      if (p.tensor.defined() && tensors.insert(p.tensor.impl()).second) result.push_back({prefix + p.name, p.tensor});
  });
  return result;
}

std::vector<Module::Parameter> Module::named_buffers() const {
  std::vector<Parameter> result;
  Visited modules, tensors;
  walk(*this, {}, &modules, [&](const Module& m, const std::string& prefix) {
    for (const auto& b : m.buffers_)
      if (b.tensor.defined() && tensors.insert(b.tensor.impl()).second) result.push_back({prefix + b.name, b.tensor});
  });
  return result;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (auto& p : named_parameters()) result.push_back(std::move(p.tensor));
  return result;
}

int64_t Module::parameter_count(bool trainable_only) const {
  int64_t count = 0;
  for (const auto& p : named_parameters())
    if (!trainable_only || autograd::requires_grad(p.tensor)) count += p.tensor.numel();
  return count;
}

void Module::zero_grad(bool set_to_none) {
  const GradModeGuard no_grad(false);
  for (const auto& p : named_parameters()) {
    Tensor grad = autograd::grad_of(p.tensor);
    if (!grad.defined()) continue;
    if (set_to_none) {
      autograd::set_grad(p.tensor, Tensor());
      continue;
    }
    if (grad.impl()->autograd()) {
      grad = autograd::detach(grad);
      autograd::set_grad(p.tensor, grad);
    }
    op::zero_(grad);
  }
}

void Module::requires_grad(bool required) {
  for (const auto& p : named_parameters()) autograd::set_requires_grad(p.tensor, required);
}

void Module::to(DType dtype) {
  TRT_CHECK(is_floating(dtype), "module: parameters can be converted to floating-point dtypes only, got ", dtype);
  const GradModeGuard no_grad(false);
  struct Change {
    Tensor tensor, value, grad;
  };
  // Everything is converted before anything is replaced: a failure changes nothing.
  std::vector<Change> changes;
  for (const auto& list : {named_parameters(), named_buffers()})
    for (const auto& p : list) {
      if (!is_floating(p.tensor.dtype()) || p.tensor.dtype() == dtype) continue;
      const Tensor grad = autograd::grad_of(p.tensor);
      changes.push_back({p.tensor, op::to(p.tensor, dtype), grad.defined() ? op::to(grad, dtype) : Tensor()});
    }
  for (auto& c : changes) {
    const TensorImpl& v = *c.value.impl();
    c.tensor.impl()->set_storage(v.storage(), dtype, v.sizes(), v.strides(), v.storage_offset());
    if (c.grad.defined()) autograd::set_grad(c.tensor, c.grad);
  }
}

void Module::reset_all(GeneratorImpl* generator) {
  apply([generator](Module& m) { m.reset_parameters(generator); });
}

std::vector<StateDict::Entry> Module::state_entries() const {
  std::vector<StateDict::Entry> result;
  walk(*this, {}, nullptr, [&](const Module& m, const std::string& prefix) {
    for (const auto& p : m.parameters_)
      if (p.tensor.defined()) result.push_back({prefix + p.name, p.tensor});
    for (const auto& b : m.buffers_)
      if (b.tensor.defined() && b.persistent) result.push_back({prefix + b.name, b.tensor});
  });
  return result;
}

StateDictPtr Module::state_dict() const {
  auto dict = make_intrusive<StateDict>();
  for (auto& e : state_entries()) dict->set(e.name, e.tensor.impl()->autograd() ? autograd::detach(e.tensor) : std::move(e.tensor));
  return dict;
}

std::string Module::compare(const StateDict& dict, bool strict) const {
  std::vector<std::string> missing, unexpected, wrong;
  std::unordered_set<std::string> known;
  for (const auto& e : state_entries()) {
    known.insert(e.name);
    const Tensor* t = dict.find(e.name);
    if (!t) {
      missing.push_back(e.name);
    } else if (t->sizes() != e.tensor.sizes()) {
      wrong.push_back(str_cat(e.name, " is ", t->sizes(), " in the state dict and ", e.tensor.sizes(), " in the module"));
    } else if (t->device() != e.tensor.device()) {
      wrong.push_back(str_cat(e.name, " is on ", t->device(), " in the state dict and on ", e.tensor.device(), " in the module"));
    }
  }
  for (const auto& e : dict.entries())
    if (!known.count(e.name)) unexpected.push_back(e.name);
  std::string text;
  if (strict) {
    append_names(text, "missing", missing);
    append_names(text, "unexpected", unexpected);
  }
  append_names(text, "not fitting", wrong);
  return text.empty() ? text : str_cat("the state dict does not fit ", type_name_, ":", text);
}

void Module::load_state_dict(const StateDict& dict, bool strict) {
  const std::string differences = compare(dict, strict);
  TRT_CHECK(differences.empty(), "load_state_dict: ", differences);
  const GradModeGuard no_grad(false);
  const auto entries = state_entries();
  std::unordered_set<const StorageImpl*> written;
  for (const auto& e : entries) written.insert(e.tensor.impl()->storage().get());
  // Sources are converted first, and copied where the module's own memory is behind them: the copies into the module then cannot
  // fail and cannot disturb each other.
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& e : entries) {
    const Tensor* source = dict.find(e.name);
    if (!source || source->is_same(e.tensor)) continue;
    Tensor ready = op::contiguous(op::to(*source, e.tensor.dtype()));
    if (written.count(ready.impl()->storage().get())) ready = op::clone(ready);
    copies.emplace_back(e.tensor, std::move(ready));
  }
  for (auto& [target, source] : copies) op::copy_(target, source);
}

std::string Module::to_string() const {
  std::string out;
  print(*this, {}, out, 0);
  return out;
}

}  // namespace trt::nn
