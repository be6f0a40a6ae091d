#include "base/log.h"

#include <pthread.h>

#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>

#include "base/env.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/macros.h"

namespace trt {

namespace detail {
constinit std::atomic<int> log_threshold{static_cast<int>(LogLevel::kOff)};
}  // namespace detail

namespace {

struct Logger {
  // The lock prefers readers, so steady logging would keep a writer out for ever: everybody passes the gate first, and
  // a writer keeps it closed while it waits.
  std::mutex gate;
  std::shared_mutex mutex;  // shared while the callback runs
  LogFn fn = nullptr;
  void* user_data = nullptr;
  LogDestroyFn destroy = nullptr;
  LogLevel level = LogLevel::kWarning;

  // REQUIRES the mutex.
  void publish() {
    detail::log_threshold.store(static_cast<int>(fn ? level : LogLevel::kOff), std::memory_order_relaxed);
  }
};

LogLevel level_from_environment() {
  const auto text = env_string("TRT_LOG_LEVEL");
  if (!text) return LogLevel::kWarning;
  if (const auto number = parse_int(*text); number && *number >= 0 && *number <= 4) {
    return static_cast<LogLevel>(*number);
  }
  const std::string_view names[] = {"debug", "info", "warning", "error", "off"};
  for (int i = 0; i < 5; ++i) {
    if (*text == names[i]) return static_cast<LogLevel>(i);
  }
  return LogLevel::kWarning;
}

// A thread that runs the callback already holds the lock.
TRT_TLS constinit bool t_in_callback = false;

Logger& logger();

// The locks are made anew in a child process: other threads, which may have held them, do not exist there, and taking them before
// fork() would wait for the host's callbacks. A callback that forks comes back to its caller in the child, which unlocks.
void renew_locks_in_child() {
  Logger& l = logger();
  new (&l.gate) std::mutex;
  new (&l.mutex) std::shared_mutex;
  if (t_in_callback) l.mutex.lock_shared();
}

constinit Lazy<Logger> g_logger;

Logger& logger() {
  return g_logger.get([] {
    auto* l = new Logger;
    l->level = level_from_environment();
    pthread_atfork(nullptr, nullptr, renew_locks_in_child);
    return l;
  });
}

}  // namespace

void set_log_callback(LogFn fn, void* user_data, LogDestroyFn destroy) {
  TRT_CHECK_CODE(!t_in_callback, Code::kFailedPrecondition,
                 "set_log_callback: must not be called from the log callback");
  Logger& l = logger();
  void* old_data = nullptr;
  LogDestroyFn old_destroy = nullptr;
  {
    std::lock_guard<std::mutex> gate(l.gate);
    std::unique_lock<std::shared_mutex> lock(l.mutex);
    old_data = l.user_data;
    old_destroy = l.destroy;
    l.fn = fn;
    l.user_data = user_data;
    l.destroy = destroy;
    l.publish();
  }
  if (old_destroy) old_destroy(old_data);
}

void set_log_level(LogLevel level) {
  TRT_CHECK(level >= LogLevel::kDebug && level <= LogLevel::kOff, "set_log_level: expected a level from 0 to 4, got ",
            static_cast<int>(level));
  TRT_CHECK_CODE(!t_in_callback, Code::kFailedPrecondition, "set_log_level: must not be called from the log callback");
  Logger& l = logger();
  std::lock_guard<std::mutex> gate(l.gate);
  std::unique_lock<std::shared_mutex> lock(l.mutex);
  l.level = level;
  l.publish();
}

LogLevel log_level() {
  Logger& l = logger();
  if (t_in_callback) return l.level;
  std::shared_lock<std::shared_mutex> lock(l.mutex);
  return l.level;
}

void detail::log_write(LogLevel level, const std::string& message) noexcept {
  if (t_in_callback) return;
  Logger& l = logger();
  std::shared_lock<std::shared_mutex> lock(l.mutex, std::defer_lock);
  {
    std::lock_guard<std::mutex> gate(l.gate);
    lock.lock();
  }
  if (!l.fn || level < l.level || level == LogLevel::kOff) return;
  t_in_callback = true;
  l.fn(static_cast<int>(level), message.c_str(), l.user_data);
  t_in_callback = false;
}

}  // namespace trt
