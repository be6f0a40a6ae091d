#include "dispatch/operator.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/fork.h"
#include "base/lazy.h"
#include "dispatch/operator_names.h"

namespace trt {

namespace {

// Registration state; leaked, since operators may be called while the process exits.
struct Registry {
  std::mutex mutex;
  std::map<std::string, OperatorEntry*, std::less<>> by_name;
  std::atomic<BoxedKernel*> fallback[kNumKeys] = {};
};
Registry& registry();
void lock_registry() { registry().mutex.lock(); }
void unlock_registry() { registry().mutex.unlock(); }
Registry& registry() {
  static constinit Lazy<Registry> r;
  return r.get([] {
    // A child process must find the lock free, whichever thread held it when it was forked.
    at_fork<lock_registry, unlock_registry, unlock_registry>();
    return new Registry;
  });
}

constexpr const char* kKeyNames[kNumKeys] = {"CPU",      "CUDA",     "Meta",          "PrivateUse1", "PrivateUse2", "PrivateUse3", nullptr, nullptr,
                                             "Autograd", "Autocast", "Functionalize", "Trace",       nullptr,       nullptr,       nullptr, nullptr};

std::string describe_stack(const Stack& stack) {
  std::string s;
  for (const Value& v : stack) {
    if (v.is<Tensor>()) s += (s.empty() ? "" : ", ") + describe(v.get<Tensor>());
    if (v.is<std::vector<Tensor>>()) s += (s.empty() ? "" : ", ") + describe(v.get<std::vector<Tensor>>());
  }
  return s;
}

}  // namespace

const char* key_name(Key k) {
  const char* n = kKeyNames[static_cast<int>(k)];
  return n ? n : "(unused key)";
}

const FunctionSchema& OperatorEntry::schema() const {
  if (const FunctionSchema* p = parsed.load(std::memory_order_acquire)) return *p;
  auto* fresh = new FunctionSchema(parse_schema(schema_text));
  const FunctionSchema* expected = nullptr;
  if (parsed.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *expected;
}

void register_operator(OperatorEntry& entry, AnyFn thunk) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  entry.thunk = thunk;
  for (auto& k : entry.kernels) k.store(thunk, std::memory_order_release);
  const bool inserted = r.by_name.emplace(entry.name, &entry).second;
  TRT_CHECK(inserted, "an operator named ", entry.name, " is registered already");
  for (int k = 0; k < kNumKeys; ++k)
    if (r.fallback[k].load()) entry.mask.fetch_or(KeySet(static_cast<Key>(k)).bits());
}

void register_kernel(OperatorEntry& entry, Key key, AnyFn fn) {
  entry.kernels[static_cast<int>(key)].store(fn, std::memory_order_release);
  entry.mask.fetch_or(KeySet(key).bits(), std::memory_order_release);
}

void register_all_backends(OperatorEntry& entry, AnyFn fn) {
  for (int k = 0; k < kNumKeys; ++k)
    if (kBackendKeys.has(static_cast<Key>(k))) entry.kernels[k].store(fn, std::memory_order_release);
}

void register_boxed(OperatorEntry& entry, Key key, intrusive_ptr<BoxedKernel> kernel) {
  std::lock_guard lock(registry().mutex);
  const int k = static_cast<int>(key);
  // The typed slot is set to the thunk, which finds the boxed kernel. A replaced kernel stays alive: a call may be in it.
  entry.boxed[k].store(kernel.detach(), std::memory_order_release);
  entry.kernels[k].store(entry.thunk, std::memory_order_release);
  entry.mask.fetch_or(KeySet(key).bits(), std::memory_order_release);
}

void register_fallback(Key key, intrusive_ptr<BoxedKernel> kernel) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.fallback[static_cast<int>(key)].store(kernel.detach(), std::memory_order_release);
  for (auto& [name, entry] : r.by_name) entry->mask.fetch_or(KeySet(key).bits(), std::memory_order_release);
}

OperatorEntry& define_operator(std::string_view schema_text) {
  auto schema = std::make_unique<FunctionSchema>(parse_schema(schema_text));
  struct Texts {
    std::string name, schema;
  };
  auto texts = std::make_unique<Texts>(Texts{schema->full_name(), std::string(schema_text)});
  auto entry = std::make_unique<OperatorEntry>(texts->name.c_str(), texts->schema.c_str(), nullptr);
  entry->parsed.store(schema.get());
  register_operator(*entry, nullptr);
  schema.release();
  texts.release();
  return *entry.release();
}

OperatorEntry* find_operator(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.by_name.find(name);
  return it == r.by_name.end() ? nullptr : it->second;
}

std::vector<const OperatorEntry*> all_operators() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::vector<const OperatorEntry*> out;
  for (auto& [name, entry] : r.by_name) out.push_back(entry);
  return out;
}

bool is_operator_name(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto it = r.by_name.lower_bound(name);
  if (it == r.by_name.end() || !std::string_view(it->first).starts_with(name)) return false;
  return it->first.size() == name.size() || it->first[name.size()] == '.';
}

std::string dump_operator(const OperatorEntry& entry) {
  std::string s = str_cat(entry.schema().text(), "\n");
  Registry& r = registry();
  for (int k = kNumKeys; k-- > 0;) {
    if (!kKeyNames[k]) continue;
    const bool typed = entry.kernels[k].load() != entry.thunk;
    const char* what = typed                       ? "kernel"
                       : entry.boxed[k].load()     ? "boxed kernel"
                       : r.fallback[k].load()      ? "fallback"
                       : kBackendKeys.has(Key(k)) ? "none"
                                                   : "falls through";
    append(s, str_cat("  ", kKeyNames[k], ": ", what, "\n"));
  }
  return s;
}

void run_boxed(Call call, Stack& stack) {
  KeySet keys = call.keys & KeySet(call.op->mask.load(std::memory_order_acquire));
  int k = keys.highest();
  if (k < 0) k = 0;
  BoxedKernel* kernel = call.op->boxed[k].load(std::memory_order_acquire);
  if (!kernel) kernel = registry().fallback[k].load(std::memory_order_acquire);
  TRT_CHECK_CODE(kernel, Code::kNotSupported, call.op->name, ": no kernel for ", key_name(static_cast<Key>(k)), " (arguments ",
                 describe_stack(stack), ")");
  kernel->run(Call{keys, call.op}, stack);
}

void call_boxed(const OperatorEntry& entry, Stack& stack) {
  if (entry.call_stack) {
    entry.call_stack(Call{KeySet(), &entry}, stack);
    return;
  }
  KeySet keys;
  for (const Value& v : stack) {
    if (v.is<Tensor>()) keys = keys | keys_of(v.get<Tensor>());
    else if (v.is<std::vector<Tensor>>()) keys = keys | keys_of(v.get<std::vector<Tensor>>());
    else if (v.is<Device>()) keys = keys | keys_of(v.get<Device>());
  }
  run_boxed(Call{effective_keys(keys), &entry}, stack);
}

void throw_missing_argument(const char* op, const char* arg) {
  throw_error(Code::kInvalidArgument, str_cat(op, ": argument '", arg, "' is NULL, a tensor is required"));
}

}  // namespace trt
