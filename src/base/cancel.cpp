#include "base/cancel.h"

#include "base/error.h"

namespace trt {

constinit TRT_TLS CancelToken* current_cancel_token = nullptr;

void throw_cancelled() { throw_error(Code::kCancelled, "cancelled"); }

void CancelToken::cancel() noexcept {
  // The lock first: a wait that was not seen here sees the flag.
  std::lock_guard lock(mutex_);
  cancelled_.store(true, std::memory_order_release);
  for (CancelWait* w = waits_; w; w = w->next_) {
    // With the waiter's lock, or it might have looked at the flag before and begin to wait after the call.
    std::lock_guard waiter(w->mutex_);
    w->condition_.notify_all();
  }
}

CancelWait::CancelWait(std::mutex& mutex, std::condition_variable& condition) : token_(current_cancel_token), mutex_(mutex), condition_(condition) {
  if (!token_) return;
  std::lock_guard lock(token_->mutex_);
  next_ = token_->waits_;
  if (next_) next_->prev_ = this;
  token_->waits_ = this;
}

CancelWait::~CancelWait() {
  if (!token_) return;
  std::lock_guard lock(token_->mutex_);
  (prev_ ? prev_->next_ : token_->waits_) = next_;
  if (next_) next_->prev_ = prev_;
}

}  // namespace trt
