// Cancel tokens: another thread asks this one to give up what it computes.
//
// Note [Cancelling]
// A thread has at most one token, which it only borrows. Calls look at it where nothing is half done: an operator before it begins, a module before its
// forward, a backward pass between nodes, a loader while it waits for a batch. What has begun to change tensors is finished: a single operator, an
// optimizer's step, a batch, the accumulation of a pass's gradients (with a token it comes last, see engine.cpp). Without a token a check is one load.
//
// Threads of the pool and of loaders have no token: they finish their piece.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/intrusive_ptr.h"
#include "base/macros.h"

namespace trt {

class CancelWait;

class CancelToken : public RefCounted<CancelToken> {
 public:
  // For ever. Any thread.
  void cancel() noexcept;
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }

 private:
  friend class CancelWait;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  CancelWait* waits_ = nullptr;  // guarded by the mutex
};

// The token of this thread; null: none.
extern constinit TRT_TLS CancelToken* current_cancel_token;

[[noreturn]] TRT_NOINLINE void throw_cancelled();

inline bool cancelled() { return TRT_UNLIKELY(current_cancel_token != nullptr) && current_cancel_token->cancelled(); }
inline void check_cancelled() {
  if (TRT_UNLIKELY(current_cancel_token != nullptr) && current_cancel_token->cancelled()) throw_cancelled();
}

// This thread without its token: what must be finished once it has begun.
class UncancelledGuard {
 public:
  UncancelledGuard() : previous_(std::exchange(current_cancel_token, nullptr)) {}
  ~UncancelledGuard() { current_cancel_token = previous_; }
  UncancelledGuard(const UncancelledGuard&) = delete;
  UncancelledGuard& operator=(const UncancelledGuard&) = delete;

 private:
  CancelToken* previous_;
};

// For the life of the object, cancelling this thread's token wakes all who wait for `condition` with `mutex`, which must not be held when this is made or
// destroyed. The waiting thread's predicate asks cancelled().
class CancelWait {
 public:
  CancelWait(std::mutex& mutex, std::condition_variable& condition);
  ~CancelWait();
  CancelWait(const CancelWait&) = delete;
  CancelWait& operator=(const CancelWait&) = delete;

 private:
  friend class CancelToken;
  CancelToken* const token_;
  std::mutex& mutex_;
  std::condition_variable& condition_;
  CancelWait* next_ = nullptr;
  CancelWait* prev_ = nullptr;
};

}  // namespace trt
