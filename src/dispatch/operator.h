// The operator table and the dispatcher.
//
// Note [Dispatch]
// Every operator variant (functional, in place, out, overload) has one OperatorEntry: a dense array with a typed function per
// key. A call ORs the key sets of its tensor arguments with the thread's include set, removes the exclude set, keeps the
// keys for which the entry has something to run (its mask), and jumps through the slot of the highest one. Wrapper keys
// (Autograd, Trace ...) do their work and redispatch with the keys below their own. An unfilled backend slot holds the
// boxing thunk, which runs a boxed kernel or fallback if one is registered, and otherwise throws kNotSupported.
//
// Typed kernels take a Call (keys and entry) and then the operator's arguments; boxed ones take a Stack.
//
// Thread safety: calls are lock-free; registration takes a lock, publishes with release stores and may happen at any time.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/key_set.h"
#include "core/modes.h"
#include "dispatch/schema.h"
#include "dispatch/value.h"

namespace trt {

struct OperatorEntry;

struct Call {
  KeySet keys;
  const OperatorEntry* op;
  Call below(Key k) const { return {keys.below(k), op}; }
};

using AnyFn = void (*)();
// Takes the arguments off the stack and puts the results there.
using BoxedFn = void (*)(Call call, Stack& stack);

// A boxed kernel with state of its own (custom operators, callbacks of other languages).
class BoxedKernel : public RefCounted<BoxedKernel> {
 public:
  virtual ~BoxedKernel() = default;
  virtual void run(Call call, Stack& stack) = 0;
};

struct OperatorEntry {
  // Entries of the table are constant-initialized, so that registration may run at any time while the library is loaded.
  constexpr OperatorEntry(const char* name_, const char* schema_, BoxedFn call_stack_) : name(name_), schema_text(schema_), call_stack(call_stack_) {}
  OperatorEntry(const OperatorEntry&) = delete;

  const char* name;  // with overload: "add.Scalar"
  const char* schema_text;
  BoxedFn call_stack;  // unboxes the arguments and makes the typed, dispatched call; null for boxed-only operators
  AnyFn thunk = nullptr;  // typed: boxes the arguments and calls run_boxed; null for operators without a typed form
  std::atomic<AnyFn> kernels[kNumKeys] = {};
  std::atomic<BoxedKernel*> boxed[kNumKeys] = {};
  std::atomic<uint64_t> mask{kBackendKeys.bits()};

  // The parsed schema; made on first use.
  const FunctionSchema& schema() const;
  mutable std::atomic<const FunctionSchema*> parsed{nullptr};

  template <typename Fn>
  Fn* kernel(int key) const {
    return reinterpret_cast<Fn*>(kernels[key].load(std::memory_order_acquire));
  }
};

// Registration. Names are unique; a second entry of one name is kInvalidArgument. `thunk` goes into all slots.
void register_operator(OperatorEntry& entry, AnyFn thunk);
void register_kernel(OperatorEntry& entry, Key key, AnyFn fn);
// Fills the slots of all backends (composites and views).
void register_all_backends(OperatorEntry& entry, AnyFn fn);
void register_boxed(OperatorEntry& entry, Key key, intrusive_ptr<BoxedKernel> kernel);
// A boxed kernel for every operator without one of its own under `key`.
void register_fallback(Key key, intrusive_ptr<BoxedKernel> kernel);
// A new operator from a schema (custom operators); lives until the process ends. It has boxed kernels only.
OperatorEntry& define_operator(std::string_view schema_text);

OperatorEntry* find_operator(std::string_view name);  // null when there is none
std::vector<const OperatorEntry*> all_operators();    // sorted by name
// The table of one operator: a line per key with what runs there.
std::string dump_operator(const OperatorEntry& entry);

// Dispatches a boxed call: the stack holds exactly the schema's arguments, already coerced.
void call_boxed(const OperatorEntry& entry, Stack& stack);
// Runs the boxed kernel or fallback of the highest key of `call`, or throws kNotSupported.
void run_boxed(Call call, Stack& stack);
[[noreturn]] TRT_NOINLINE void throw_missing_argument(const char* op, const char* arg);

inline KeySet effective_keys(KeySet keys) { return (keys | thread_state.include) - thread_state.exclude; }
inline KeySet keys_of(const Tensor& t) { return t.defined() ? t.impl()->keys() : KeySet(); }
inline KeySet keys_of(TensorList list) {
  KeySet k;
  for (const Tensor& t : list) k = k | keys_of(t);
  return k;
}
inline KeySet keys_of(Device d) { return KeySet(backend_key(d.type)); }

template <typename R, typename... A>
TRT_INLINE R dispatch_call(const OperatorEntry& entry, KeySet keys, A... args) {
  keys = effective_keys(keys) & KeySet(entry.mask.load(std::memory_order_relaxed));
  int k = keys.highest();
  if (TRT_UNLIKELY(k < 0)) k = 0;  // no tensor argument: the CPU's
  return entry.kernel<R(Call, A...)>(k)(Call{keys, &entry}, args...);
}

// For operators that make views: in inference mode the Autograd kernel of a normal tensor runs, too. It records nothing there, but the view
// remembers its base.
template <typename R, typename... A>
TRT_INLINE R dispatch_view_call(const OperatorEntry& entry, KeySet keys, A... args) {
  if (TRT_LIKELY(!thread_state.inference)) return dispatch_call<R, A...>(entry, keys, args...);
  const KeySet excluded = thread_state.exclude - KeySet(Key::Autograd);
  keys = ((keys | thread_state.include) - excluded) & KeySet(entry.mask.load(std::memory_order_relaxed));
  return entry.kernel<R(Call, A...)>(keys.highest())(Call{keys, &entry}, args...);
}

// `call` is already below the caller's key.
template <typename R, typename... A>
TRT_INLINE R redispatch_call(Call call, A... args) {
  int k = (call.keys & KeySet(call.op->mask.load(std::memory_order_relaxed))).highest();
  if (TRT_UNLIKELY(k < 0)) k = 0;
  return call.op->kernel<R(Call, A...)>(k)(call, args...);
}

}  // namespace trt
