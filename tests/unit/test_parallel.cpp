// parallel_for, the thread count and its neighbours in base/: environment parsing, small objects, logging.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "device/small_alloc.h"

#include "expect.h"

namespace {

// Every index exactly once, and no chunk but the last smaller than the grain.
void check_cover(int64_t begin, int64_t end, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(end - begin));
  std::atomic<int> small_chunks{0};
  trt::parallel_for(begin, end, grain, [&](int64_t b, int64_t e) {
    if (e - b < grain && e != end) small_chunks.fetch_add(1);
    for (int64_t i = b; i < e; ++i) seen[static_cast<size_t>(i - begin)].fetch_add(1, std::memory_order_relaxed);
  });
  assert_int_equal(small_chunks.load(), 0);
  for (const auto& s : seen) assert_int_equal(s.load(), 1);
}

void covers_every_index(void**) {
  for (const int threads : {1, 2, 3, 8, 70}) {
    trt::set_num_threads(threads);
    assert_int_equal(trt::num_threads(), threads);
    for (const int64_t n : {1, 2, 7, 8, 9, 63, 1000, 4097, 100003}) {
      for (const int64_t grain : {1, 3, 64, 1000}) check_cover(-5, n - 5, grain);
    }
  }
  trt::parallel_for(3, 3, 1, [](int64_t, int64_t) { fail(); });
  trt::parallel_for(3, 2, 1, [](int64_t, int64_t) { fail(); });
}

void several_threads_take_part(void**) {
  trt::set_num_threads(4);
  std::atomic<int> waiting{0};
  // Each chunk waits for a second one, which only another thread can start.
  trt::parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    waiting.fetch_add(1);
    while (waiting.load() < 2) std::this_thread::yield();
  });
  assert_int_equal(waiting.load(), 2);
}

void nested_and_guarded_calls_are_serial(void**) {
  trt::set_num_threads(4);
  assert_false(trt::in_parallel_region());
  std::atomic<int> inner{0}, outer{0}, regions{0};
  trt::parallel_for(0, 8, 1, [&](int64_t b, int64_t e) {
    outer.fetch_add(static_cast<int>(e - b));
    regions.fetch_add(trt::in_parallel_region());
    trt::parallel_for(0, 1000, 1, [&](int64_t nb, int64_t ne) {
      if (nb == 0 && ne == 1000) inner.fetch_add(1);
    });
  });
  assert_int_equal(outer.load(), 8);
  assert_int_equal(inner.load(), regions.load());
  assert_false(trt::in_parallel_region());
  trt::SerialGuard guard;
  int calls = 0;
  trt::parallel_for(0, 1000, 1, [&](int64_t, int64_t) { ++calls; });
  assert_int_equal(calls, 1);
}

void exceptions_arrive_once(void**) {
  trt::set_num_threads(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running{0};
    bool caught = false;
    try {
      trt::parallel_for(0, 1000, 1, [&](int64_t b, int64_t) {
        running.fetch_add(1);
        if (b >= 0) {
          running.fetch_sub(1);
          throw std::runtime_error("chunk");
        }
      });
    } catch (const std::runtime_error& e) {
      caught = std::strcmp(e.what(), "chunk") == 0;
    }
    assert_true(caught);
    assert_int_equal(running.load(), 0);
  }
  check_cover(0, 1000, 1);
}

void wrong_thread_counts_are_errors(void**) {
  for (const int n : {0, -1, 1025}) {
    bool thrown = false;
    try {
      trt::set_num_threads(n);
    } catch (const trt::Error& e) {
      thrown = e.code() == trt::Code::kInvalidArgument;
    }
    assert_true(thrown);
  }
}

void many_hosts_share_the_pool(void**) {
  trt::set_num_threads(3);
  std::vector<std::thread> hosts;
  std::atomic<int64_t> total{0};
  for (int h = 0; h < 8; ++h) {
    hosts.emplace_back([&, h] {
      for (int i = 0; i < 200; ++i) {
        if (h == 0 && i % 20 == 0) trt::set_num_threads(1 + i / 20 % 4);
        trt::parallel_for(0, 100, 1, [&](int64_t b, int64_t e) { total.fetch_add(e - b); });
      }
    });
  }
  for (auto& t : hosts) t.join();
  assert_int_equal(total.load(), 8 * 200 * 100);
}

void rounding_mode_of_the_caller_holds(void**) {
  trt::set_num_threads(4);
  std::atomic<int> wrong{0};
  const auto check = [&](int mode) {
    std::fesetround(mode);
    trt::parallel_for(0, 64, 1, [&](int64_t, int64_t) {
      // The two floating-point units have a mode each; upward, 1/3 + 2/3 exceeds 1 in both.
      volatile double one = 1, two = 2, three = 3;
      volatile long double long_one = 1, long_two = 2, long_three = 3;
      const bool up = one / three + two / three > one;
      const bool long_up = long_one / long_three + long_two / long_three > long_one;
      if (std::fegetround() != mode || up != (mode == FE_UPWARD) || long_up != (mode == FE_UPWARD)) wrong.fetch_add(1);
      std::this_thread::yield();  // so that workers get their share
    });
  };
  for (int i = 0; i < 50; ++i) {
    check(FE_UPWARD);
    check(FE_TONEAREST);
  }
  assert_int_equal(wrong.load(), 0);
}

void forked_child_runs_serially(void**) {
  trt::set_num_threads(4);
  check_cover(0, 1000, 1);
  const pid_t child = fork();
  if (child == 0) {
    int calls = 0;
    trt::parallel_for(0, 1000, 1, [&](int64_t, int64_t) { ++calls; });
    int status = trt::num_threads() == 1 && calls == 1 ? 0 : 1;
    for (int i = 0; i < 1000; ++i) {
      void* p = trt::small_alloc(64);
      trt::small_free(p, 64);
    }
#if !TRT_TSAN
    // A thread count set by the child makes a pool of its own. (ThreadSanitizer knows no threads after a fork.)
    trt::set_num_threads(3);
    std::atomic<int64_t> sum{0};
    trt::parallel_for(0, 1000, 1, [&](int64_t b, int64_t e) { sum.fetch_add(e - b); });
    if (sum.load() != 1000) status = 2;
#endif
    _exit(status);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(trt::num_threads(), 4);
  check_cover(0, 1000, 1);
}

void environment_parsing(void**) {
  assert_int_equal(trt::parse_int(" 42 ").value(), 42);
  assert_int_equal(trt::parse_int("-7").value(), -7);
  assert_int_equal(trt::parse_int("+7").value(), 7);
  for (const char* bad : {"", " ", "4x", "1.5", "+-3", "0x10", "99999999999999999999"}) {
    assert_false(trt::parse_int(bad).has_value());
  }
  assert_true(trt::parse_bool("On").value());
  assert_false(trt::parse_bool(" FALSE").value());
  assert_false(trt::parse_bool("2").has_value());
  assert_int_equal(trt::env_int("TRT_NOT_SET_ANYWHERE", 5, 0, 10), 5);
  assert_true(trt::env_bool("TRT_NOT_SET_ANYWHERE", true));
  assert_false(trt::env_string("TRT_NOT_SET_ANYWHERE").has_value());
}

void small_objects(void**) {
  std::vector<std::thread> threads;
  std::vector<std::pair<char*, size_t>> left[4];
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      auto& live = left[t];
      for (int i = 0; i < 40000; ++i) {
        if (live.size() < 2000 && (random() % 2 || live.empty())) {
          const size_t bytes = random() % (trt::kMaxSmall + 1);
          auto* p = static_cast<char*>(trt::small_alloc(bytes));
          if (reinterpret_cast<uintptr_t>(p) % 64) wrong.fetch_add(1);
          std::memset(p, t, bytes);
          live.emplace_back(p, bytes);
        } else {
          const size_t k = random() % live.size();
          const auto [p, bytes] = live[k];
          for (size_t j = 0; j < bytes; ++j) {
            if (p[j] != t) wrong.fetch_add(1);
          }
          trt::small_free(p, bytes);
          live[k] = live.back();
          live.pop_back();
        }
      }
      trt::small_verify();
    });
  }
  for (auto& t : threads) t.join();
  // What ended threads left over is freed here.
  for (auto& live : left) {
    for (const auto& [p, bytes] : live) trt::small_free(p, bytes);
  }
  trt::small_verify();
  trt::small_release_slabs();
  trt::small_verify();
  assert_int_equal(wrong.load(), 0);
}

struct LogState {
  std::atomic<int> calls{0}, destroyed{0};
  std::string last;
};

void on_log(int level, const char* text, void* user_data) {
  auto* state = static_cast<LogState*>(user_data);
  state->calls.fetch_add(1);
  state->last = trt::str_cat(level, ":", text);
}
void on_destroy(void* user_data) { static_cast<LogState*>(user_data)->destroyed.fetch_add(1); }

void log_callback(void**) {
  LogState a, b;
  trt::log(trt::LogLevel::kError, "nobody listens");
  trt::set_log_callback(on_log, &a, on_destroy);
  trt::log(trt::LogLevel::kWarning, "one");
  trt::log(trt::LogLevel::kDebug, "below the level");
  assert_int_equal(a.calls.load(), 1);
  assert_string_equal(a.last.c_str(), "2:one");
  trt::set_log_level(trt::LogLevel::kDebug);
  assert_true(trt::log_enabled(trt::LogLevel::kDebug));
  trt::log(trt::LogLevel::kDebug, "two");
  assert_int_equal(a.calls.load(), 2);
  trt::set_log_callback(on_log, &b, on_destroy);
  assert_int_equal(a.destroyed.load(), 1);
  trt::set_log_callback(nullptr, nullptr, nullptr);
  assert_int_equal(a.destroyed.load(), 1);
  assert_int_equal(b.destroyed.load(), 1);
  assert_false(trt::log_enabled(trt::LogLevel::kError));
  trt::set_log_level(trt::LogLevel::kWarning);

  // Callbacks change while other threads log: each is destroyed once and never called afterwards.
  std::atomic<bool> stop{false};
  std::vector<std::thread> loggers;
  for (int t = 0; t < 3; ++t) {
    loggers.emplace_back([&] {
      while (!stop.load()) trt::log(trt::LogLevel::kError, "busy");
    });
  }
  struct Counted {
    std::atomic<int> calls{0}, after{0};
    std::atomic<bool> gone{false};
  };
  std::vector<Counted> states(200);
  for (auto& s : states) {
    trt::set_log_callback(
        [](int, const char*, void* u) {
          auto* c = static_cast<Counted*>(u);
          (c->gone.load() ? c->after : c->calls).fetch_add(1);
        },
        &s, [](void* u) { static_cast<Counted*>(u)->gone.store(true); });
  }
  trt::set_log_callback(nullptr, nullptr, nullptr);
  stop.store(true);
  for (auto& t : loggers) t.join();
  for (auto& s : states) {
    assert_true(s.gone.load());
    assert_int_equal(s.after.load(), 0);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(covers_every_index),
      cmocka_unit_test(several_threads_take_part),
      cmocka_unit_test(nested_and_guarded_calls_are_serial),
      cmocka_unit_test(exceptions_arrive_once),
      cmocka_unit_test(wrong_thread_counts_are_errors),
      cmocka_unit_test(many_hosts_share_the_pool),
      cmocka_unit_test(rounding_mode_of_the_caller_holds),
      cmocka_unit_test(forked_child_runs_serially),
      cmocka_unit_test(environment_parsing),
      cmocka_unit_test(small_objects),
      cmocka_unit_test(log_callback),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
