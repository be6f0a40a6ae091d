// Messages for the host. The library prints nothing: what it has to say goes to a callback, by default to nobody.
//
// Thread safety: every function may be called from any thread. The callback may be called from several threads at
// once, and must not call set_log_callback or
// set_log_level (kFailedPrecondition). It may use the rest of the library; what it logs itself is dropped.
#pragma once

#include <atomic>
#include <string>

#include "base/str.h"

namespace trt {

// The numbers are those of trt_log_level in the C header.
enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kOff = 4 };

using LogFn = void (*)(int level, const char* message, void* user_data);
using LogDestroyFn = void (*)(void* user_data);

// Replaces the callback; null stands for none. When this returns, the previous callback is not running on any other
// thread, will not be called again, and its `destroy` (may be null) was called exactly once. When this throws (out of
// memory), the arguments still belong to the caller.
void set_log_callback(LogFn fn, void* user_data, LogDestroyFn destroy);

// Messages below the level are dropped. At first kWarning, or TRT_LOG_LEVEL (debug, info, warning, error, off or 0-4).
void set_log_level(LogLevel level);
LogLevel log_level();

namespace detail {
// The lowest level that anybody listens to; kOff when there is no callback.
extern constinit std::atomic<int> log_threshold;
void log_write(LogLevel level, const std::string& message) noexcept;
}  // namespace detail

inline bool log_enabled(LogLevel level) {
  return static_cast<int>(level) >= detail::log_threshold.load(std::memory_order_relaxed);
}

// The message is the concatenation of the parts (base/str.h); nothing is built when nobody listens. Never throws.
template <typename... Parts>
void log(LogLevel level, const Parts&... parts) noexcept {
  if (!log_enabled(level)) return;
  try {
    detail::log_write(level, str_cat(parts...));
  } catch (...) {  // no memory for the message
  }
}

}  // namespace trt
