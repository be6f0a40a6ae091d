// Lazy<T>: an object of the process that is made at the first question and never destroyed (code that runs after the static destructors
// may still ask).
//
// Unlike a function-local static it survives fork() in another thread: if the making thread does not exist in the child, the child
// makes the object itself. Thread-safe; constant-initialized.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>

#include "base/macros.h"

namespace trt {

template <typename T>
class Lazy {
 public:
  constexpr Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  // `make` returns a new T*; it may throw, and then the next call tries again. It must not ask for the same object.
  template <typename Make>
  T& get(Make&& make) {
    T* p = object_.load(std::memory_order_acquire);
    return TRT_LIKELY(p != nullptr) ? *p : slow(make);
  }

 private:
  template <typename Make>
  TRT_NOINLINE T& slow(Make& make) {
    const pid_t process = getpid();
    pid_t maker = 0;
    // A maker of another process is one that fork() left behind.
    while (!maker_.compare_exchange_weak(maker, process, std::memory_order_acquire)) {
      if (maker != process) continue;
      sched_yield();
      maker = 0;
    }
    struct Release {
      std::atomic<pid_t>& maker;
      ~Release() { maker.store(0, std::memory_order_release); }
    } release{maker_};
    T* p = object_.load(std::memory_order_relaxed);
    if (!p) object_.store(p = make(), std::memory_order_release);
    return *p;
  }

  std::atomic<T*> object_{nullptr};
  std::atomic<pid_t> maker_{0};
};

}  // namespace trt
