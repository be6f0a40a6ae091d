// The thread-local state of the library, one small struct: dispatch include/exclude sets, grad mode, inference mode, default
// dtype. Every mode is a property of the calling thread, and guards restore it in any order of exit.
#pragma once

#include "base/macros.h"
#include "core/dtype.h"
#include "core/key_set.h"

namespace trt {

struct ThreadState {
  KeySet include;
  KeySet exclude;
  bool grad_enabled = true;
  bool inference = false;
  DType default_dtype = DType::Float32;
};

extern constinit TRT_TLS ThreadState thread_state;

inline bool grad_enabled() { return thread_state.grad_enabled; }

class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : previous_(thread_state.grad_enabled) { thread_state.grad_enabled = enabled; }
  ~GradModeGuard() { thread_state.grad_enabled = previous_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool previous_;
};

class ExcludeKeysGuard {
 public:
  explicit ExcludeKeysGuard(KeySet keys) : previous_(thread_state.exclude) { thread_state.exclude = previous_ | keys; }
  ~ExcludeKeysGuard() { thread_state.exclude = previous_; }
  ExcludeKeysGuard(const ExcludeKeysGuard&) = delete;
  ExcludeKeysGuard& operator=(const ExcludeKeysGuard&) = delete;

 private:
  KeySet previous_;
};

class IncludeKeysGuard {
 public:
  explicit IncludeKeysGuard(KeySet keys) : previous_(thread_state.include) { thread_state.include = previous_ | keys; }
  ~IncludeKeysGuard() { thread_state.include = previous_; }
  IncludeKeysGuard(const IncludeKeysGuard&) = delete;
  IncludeKeysGuard& operator=(const IncludeKeysGuard&) = delete;

 private:
  KeySet previous_;
};

// Below autograd: operators called inside run on the backend and record nothing.
struct BelowAutogradGuard : ExcludeKeysGuard {
  BelowAutogradGuard() : ExcludeKeysGuard(KeySet(Key::Autograd)) {}
};

// Inference mode: no gradients, and tensors made inside never carry the Autograd key.
void set_inference_mode(bool enabled);

}  // namespace trt
