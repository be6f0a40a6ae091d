// The caching allocator's policy over a pretended device, and the memory of CPU tensors.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/allocator.h"

#include "expect.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A device with `capacity` bytes of address space that nobody ever touches. Events are done when the test says so.
class FakeDevice final : public trt::RawMemory {
 public:
  explicit FakeDevice(size_t capacity) : capacity_(capacity) {}
  const char* name() const override { return "fake"; }
  size_t total_bytes() const override { return capacity_; }
  void* allocate(size_t bytes) override {
    if (used + bytes > capacity_) return nullptr;
    used += bytes;
    ++calls;
    void* p = reinterpret_cast<void*>(next_);
    next_ += bytes + 512 - bytes % 512;
    segments[p] = bytes;
    return p;
  }
  void release(void* ptr, size_t bytes) override {
    assert_true(segments.count(ptr) == 1 && segments[ptr] == bytes);
    segments.erase(ptr);
    used -= bytes;
  }
  void* record_event(int64_t stream) override {
    if (!asynchronous) return nullptr;
    ++events;
    return new int64_t(stream);
  }
  bool event_done(void* event) override { return done.count(*static_cast<int64_t*>(event)) > 0; }
  void wait_event(void* event) override {
    ++waits;
    done.insert(*static_cast<int64_t*>(event));
  }
  void release_event(void* event) override {
    --events;
    delete static_cast<int64_t*>(event);
  }

  size_t used = 0;
  int calls = 0, waits = 0, events = 0;
  bool asynchronous = false;
  std::set<int64_t> done;  // streams whose work is done
  std::map<void*, size_t> segments;

 private:
  size_t capacity_;
  uintptr_t next_ = uintptr_t{1} << 40;
};

char* take(trt::CachingAllocator& a, size_t bytes, int64_t stream = 0) {
  return static_cast<char*>(a.allocate(bytes, stream));
}

template <typename F>
std::string failure(trt::Code code, F&& f) {
  try {
    f();
  } catch (const trt::Error& e) {
    assert_int_equal(static_cast<int>(e.code()), static_cast<int>(code));
    return e.message();
  }
  fail_msg("expected an error");
  return {};
}

void rounds_splits_and_merges(void**) {
  FakeDevice device(100 * kMiB);
  trt::CachingAllocator a(device);
  assert_null(a.allocate(0));
  assert_true(a.free(nullptr));
  char* x = take(a, 1);
  char* y = take(a, 513);
  char* z = take(a, 512);
  assert_ptr_equal(y, x + 512);
  assert_ptr_equal(z, y + 1024);
  assert_int_equal(a.stats().allocated_bytes.current, 2048);
  assert_int_equal(a.stats().requested_bytes.current, 1026);
  assert_int_equal(a.stats().reserved_bytes.current, 2 * kMiB);
  a.verify();
  assert_true(a.free(y));
  assert_false(a.free(y));
  assert_false(a.free(z + 512));
  a.verify();
  assert_ptr_equal(take(a, 1000), y);  // the hole fits exactly
  a.free(y);
  a.free(x);
  assert_int_equal(a.snapshot()[0].blocks.size(), 3);  // the two holes became one; then z and the rest
  assert_ptr_equal(take(a, 1536), x);
  a.free(x);
  a.free(z);
  assert_int_equal(a.snapshot()[0].blocks.size(), 1);
  assert_int_equal(device.calls, 1);
  assert_int_equal(a.stats().allocations.allocated, 5);
  assert_int_equal(a.stats().allocated_bytes.current, 0);
  a.verify();
  assert_int_equal(a.empty_cache(), 2 * kMiB);
  assert_int_equal(device.used, 0);
  a.verify();
}

void best_fit_wins(void**) {
  FakeDevice device(1000 * kMiB);
  trt::CachingAllocator a(device);
  char* big = take(a, 64 * kMiB);
  char* middle = take(a, 32 * kMiB);
  char* small = take(a, 16 * kMiB);
  a.free(small);
  a.free(big);
  a.free(middle);
  assert_ptr_equal(take(a, 30 * kMiB), middle);
  assert_ptr_equal(take(a, 15 * kMiB), small);
  assert_ptr_equal(take(a, 40 * kMiB), big);
  assert_int_equal(device.calls, 3);
  a.verify();
  for (char* p : {big, middle, small}) a.free(p);
}

void segment_sizes(void**) {
  FakeDevice device(1000 * kMiB);
  trt::CachingAllocator a(device);
  char* p[4] = {take(a, 100), take(a, 33 * kMiB), take(a, 10 * kMiB), take(a, kMiB + 1)};
  std::multiset<size_t> sizes;
  for (const auto& s : device.segments) sizes.insert(s.second);
  assert_true((sizes == std::multiset<size_t>{2 * kMiB, 20 * kMiB, 10 * kMiB, 34 * kMiB}));
  assert_int_equal(a.stats().segments.current, 4);
  for (char* q : p) a.free(q);
  a.verify();
}

void streams_have_their_own_pools(void**) {
  FakeDevice device(100 * kMiB);
  trt::CachingAllocator a(device);
  char* x = take(a, 4096, 1);
  a.free(x);
  char* y = take(a, 4096, 2);
  assert_true(x != y);
  assert_ptr_equal(take(a, 4096, 1), x);
  a.verify();
  a.free(x);
  a.free(y);
}

void recorded_streams_delay_reuse(void**) {
  FakeDevice device(100 * kMiB);
  device.asynchronous = true;
  {
    trt::CachingAllocator a(device);
    char* x = take(a, 4096, 1);
    a.record_stream(x, 1);  // its own stream: nothing to wait for
    a.record_stream(x, 2);
    a.record_stream(x, 2);
    a.record_stream(x, 3);
    failure(trt::Code::kInvalidArgument, [&] { a.record_stream(x + 512, 2); });
    a.free(x);
    assert_int_equal(device.events, 2);
    assert_int_equal(a.stats().allocated_bytes.current, 0);
    assert_int_equal(a.stats().active_bytes.current, 4096);
    assert_true(a.snapshot()[0].blocks[0].state == trt::BlockState::kPending);
    a.verify();
    char* y = take(a, 4096, 1);
    assert_true(x != y);
    device.done.insert(3);
    char* z = take(a, 4096, 1);
    assert_true(x != z);
    a.verify();
    device.done.insert(2);
    assert_ptr_equal(take(a, 4096, 1), x);
    assert_int_equal(device.events, 0);
    a.verify();
    device.done.clear();
    for (char* p : {x, y, z}) {
      a.record_stream(p, 2);
      a.free(p);
    }
    assert_int_equal(a.empty_cache(), 0);
    a.verify();
  }
  assert_int_equal(device.waits, 3);  // the destructor waited
  assert_int_equal(device.events, 0);
  assert_int_equal(device.used, 0);
}

void out_of_memory(void**) {
  FakeDevice device(64 * kMiB);
  device.asynchronous = true;
  trt::CachingAllocator a(device);
  char* x = take(a, 40 * kMiB);
  const std::string message = failure(trt::Code::kOutOfMemory, [&] { a.allocate(30 * kMiB); });
  assert_string_equal(
      message.c_str(),
      "fake: out of memory: 31457280 bytes requested, 41943040 allocated, 41943040 reserved, limit none, "
      "device total 67108864");
  assert_int_equal(a.stats().ooms, 1);
  a.verify();
  a.free(x);
  char* y = take(a, 50 * kMiB);  // only after the cached 40 MiB went back
  assert_int_equal(a.stats().retries, 2);
  char* z = take(a, 9 * kMiB);  // no room for a segment of 20 MiB, but for the request
  assert_int_equal(device.segments[z], 9 * kMiB);
  a.verify();
  // Memory that another stream still uses is waited for.
  a.record_stream(y, 7);
  a.free(y);
  assert_ptr_equal(take(a, 50 * kMiB), y);
  assert_int_equal(device.waits, 1);
  failure(trt::Code::kOutOfMemory, [&] { a.allocate(~size_t{0}); });
  failure(trt::Code::kOutOfMemory, [&] { a.allocate(size_t{1} << 62); });
  a.free(y);
  a.free(z);
  a.verify();
}

void limit_is_kept(void**) {
  FakeDevice device(1000 * kMiB);
  trt::CachingAllocator a(device);
  a.set_limit(32 * kMiB);
  char* x = take(a, 16 * kMiB);
  const std::string message = failure(trt::Code::kOutOfMemory, [&] { a.allocate(17 * kMiB); });
  assert_non_null(std::strstr(message.c_str(), "limit 33554432"));
  a.free(x);
  x = take(a, 32 * kMiB);
  a.free(x);
  a.set_limit(8 * kMiB);  // releases what is above
  assert_int_equal(device.used, 0);
  failure(trt::Code::kOutOfMemory, [&] { a.allocate(9 * kMiB); });
  a.set_limit(0);
  a.free(take(a, 9 * kMiB));
  a.verify();
}

// What one pool has free serves the other when there is nothing else.
void pools_share_under_a_limit(void**) {
  FakeDevice device(1000 * kMiB);
  trt::CachingAllocator a(device);
  a.set_limit(20 * kMiB);
  char* large = take(a, 2 * kMiB);  // its segment is the whole limit
  assert_int_equal(a.stats().reserved_bytes.current, 20 * kMiB);
  std::vector<char*> small;
  for (int i = 0; i < 18; ++i) small.push_back(take(a, kMiB));
  small.push_back(nullptr);
  failure(trt::Code::kOutOfMemory, [&] { a.allocate(kMiB); });
  a.verify();
  for (char* p : small) a.free(p);
  for (size_t bytes : {size_t{1}, size_t{700}, size_t{5000}, size_t{70000}}) a.free(take(a, bytes));
  a.verify();
  a.free(large);
  a.empty_cache();
  assert_int_equal(a.stats().reserved_bytes.current, 0);
  // The other way round: more than a MiB from what the small pool's segment has left.
  a.set_limit(2 * kMiB);
  small = {take(a, 256 << 10), take(a, 256 << 10)};
  a.free(take(a, (1 << 20) + 4096));
  failure(trt::Code::kOutOfMemory, [&] { a.allocate(1600 << 10); });
  for (char* p : small) a.free(p);
  a.verify();
}

void slabs_share_limit_and_statistics(void**) {
  FakeDevice device(100 * kMiB);
  trt::CachingAllocator a(device);
  char* x = take(a, 10 * kMiB);
  void* slab = a.take_slab(kMiB);
  assert_int_equal(a.stats().reserved_bytes.current, 11 * kMiB);
  assert_int_equal(a.stats().segments.current, 2);
  a.count_in_slabs(3000, 3);
  assert_int_equal(a.stats().allocated_bytes.current, 10 * kMiB + 3000);
  assert_int_equal(a.stats().allocated_bytes.peak, 10 * kMiB + 3000);
  assert_int_equal(a.stats().allocated_bytes.allocated, 10 * kMiB);
  assert_int_equal(a.stats().allocations.current, 4);
  a.verify();
  a.free(x);
  a.set_limit(11 * kMiB);
  void* other = a.take_slab(kMiB);  // in the place of the free segment
  assert_int_equal(device.used, 2 * kMiB);
  a.verify();
  assert_null(a.take_slab(10 * kMiB));
  assert_int_equal(a.stats().ooms, 0);
  assert_null(a.try_allocate(10 * kMiB));
  assert_int_equal(a.stats().ooms, 0);
  failure(trt::Code::kOutOfMemory, [&] { a.allocate(10 * kMiB); });
  failure(trt::Code::kOutOfMemory, [&] { a.throw_out_of_memory(7); });
  assert_int_equal(a.stats().ooms, 2);
  a.count_in_slabs(-3000, -3);
  a.give_slab(slab, kMiB);
  x = take(a, 10 * kMiB);
  assert_int_equal(a.stats().reserved_bytes.current, 11 * kMiB);
  a.verify();
  a.free(x);
  a.give_slab(other, kMiB);
  assert_int_equal(a.stats().allocated_bytes.current, 0);
  a.verify();
}

void growth_is_bounded(void**) {
  FakeDevice device(100000 * kMiB);
  trt::CachingAllocator::Options options;
  options.keep_bytes = 64 * kMiB;
  options.window = 100;
  trt::CachingAllocator a(device, options);
  std::vector<char*> phase;
  for (size_t i = 0; i < 20; ++i) phase.push_back(take(a, (20 + i) * kMiB));
  const int64_t reserved = a.stats().reserved_bytes.current;
  for (char* p : phase) a.free(p);
  assert_int_equal(a.stats().reserved_bytes.current, reserved);  // the next step will need it again
  for (int i = 0; i < 300; ++i) a.free(take(a, 20 * kMiB));
  assert_true(device.used <= 64 * kMiB + 25 * kMiB);
  a.verify();
}

void without_cache(void**) {
  FakeDevice device(100 * kMiB);
  trt::CachingAllocator::Options options;
  options.cache = false;
  trt::CachingAllocator a(device, options);
  char* x = take(a, 33);
  char* y = take(a, 5 * kMiB);
  assert_int_equal(device.used, 5 * kMiB + 33);
  a.verify();
  a.free(x);
  a.free(y);
  assert_int_equal(device.used, 0);
  assert_int_equal(a.stats().reserved_bytes.peak, 5 * kMiB + 33);
  a.verify();
}

void peaks_can_be_reset(void**) {
  FakeDevice device(100 * kMiB);
  trt::CachingAllocator a(device);
  a.free(take(a, 4 * kMiB));
  assert_int_equal(a.stats().allocated_bytes.peak, 4 * kMiB);
  a.reset_peak();
  assert_int_equal(a.stats().allocated_bytes.peak, 0);
  assert_int_equal(a.stats().reserved_bytes.peak, 20 * kMiB);
  assert_non_null(std::strstr(a.dump().c_str(), "segment of 20971520 large, stream 0: 0 blocks with 0, 1 free"));
}

size_t random_size(std::mt19937& random) {
  const unsigned e = random() % 26;
  return 1 + random() % (size_t{1} << e);
}

// Blocks never overlap, and every invariant holds all the time, with streams, events, failures and releases mixed in.
void random_replay(void**) {
  for (const bool asynchronous : {false, true}) {
    FakeDevice device(300 * kMiB);
    device.asynchronous = asynchronous;
    trt::CachingAllocator::Options options;
    options.keep_bytes = 40 * kMiB;
    options.window = 50;
    trt::CachingAllocator a(device, options);
    std::mt19937 random(42);
    std::map<char*, size_t> live;
    for (int i = 0; i < 6000; ++i) {
      const unsigned what = random() % 100;
      if (what < 50) {
        const size_t bytes = random_size(random);
        try {
          char* p = take(a, bytes, random() % 3);
          const auto after = live.lower_bound(p);
          assert_true(after == live.end() || p + bytes <= after->first);
          if (after != live.begin()) assert_true(std::prev(after)->first + std::prev(after)->second <= p);
          live[p] = bytes;
        } catch (const trt::Error& e) {
          assert_int_equal(static_cast<int>(e.code()), static_cast<int>(trt::Code::kOutOfMemory));
        }
      } else if (what < 96 && !live.empty()) {
        auto it = live.begin();
        std::advance(it, random() % live.size());
        if (random() % 3 == 0) a.record_stream(it->first, random() % 5);
        assert_true(a.free(it->first));
        live.erase(it);
      } else if (what < 98) {
        device.done = {static_cast<int64_t>(random() % 5), static_cast<int64_t>(random() % 5)};
      } else if (what == 98) {
        a.empty_cache();
      } else {
        a.set_limit(random() % 2 ? 0 : (100 + random() % 200) * kMiB);
      }
      if (i % 16 == 0) a.verify();
    }
    for (const auto& [p, bytes] : live) a.free(p);
    a.verify();
    assert_int_equal(a.stats().allocated_bytes.current, 0);
  }
}

// Small blocks that several threads take and free for each other, while slabs go back to the system: contents stay, the statistics end
// where they began, and so does the reserved memory.
void small_slabs_come_and_go(void**) {
  trt::cpu_empty_cache();
  const trt::MemoryStats before = trt::cpu_memory_stats();
  constexpr int kBlocks = 20000;
  std::vector<std::pair<char*, size_t>> blocks[3];
  std::atomic<int> wrong{0}, arrived{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < kBlocks; ++i) {
        const size_t bytes = 1 + random() % trt::kMaxSmall;
        auto* p = static_cast<char*>(trt::cpu_allocate(bytes));
        std::memset(p, static_cast<int>(bytes), bytes);
        blocks[t].emplace_back(p, bytes);
        if (i % 5000 == 4999) trt::cpu_empty_cache();
      }
      arrived.fetch_add(1);
      while (arrived.load() < 3) std::this_thread::yield();
      const auto& theirs = blocks[(t + 1) % 3];
      for (size_t k = 0; k < theirs.size(); ++k) {
        const auto [p, bytes] = theirs[k];
        for (size_t j = 0; j < bytes; ++j) {
          if (p[j] != static_cast<char>(bytes)) wrong.fetch_add(1);
        }
        trt::cpu_free(p, bytes);
        if (k % 5000 == 4999) trt::cpu_empty_cache();
      }
      trt::cpu_verify();
    });
  }
  for (auto& t : threads) t.join();
  assert_int_equal(wrong.load(), 0);
  const trt::MemoryStats after = trt::cpu_memory_stats();
  assert_true(after.allocated_bytes.peak >= before.allocated_bytes.current + 3 * kBlocks * 500);
  assert_int_equal(after.allocated_bytes.current, before.allocated_bytes.current);
  assert_int_equal(after.allocations.current, before.allocations.current);
  assert_int_equal(after.allocations.allocated - before.allocations.allocated, 3 * kBlocks);
  trt::cpu_verify();
  trt::cpu_empty_cache();
  assert_true(trt::cpu_memory_stats().reserved_bytes.current <= before.reserved_bytes.current);
  trt::cpu_verify();
}

// Another thread's lists, which cpu_empty_cache cannot reach, come back when one of them next runs empty.
void small_lists_of_other_threads(void**) {
  std::atomic<int> step{0};
  const auto wait_for = [&](int s) {
    while (step.load() < s) std::this_thread::yield();
  };
  std::thread other([&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 40; ++i) blocks.push_back(trt::cpu_allocate(900));
    for (void* p : blocks) trt::cpu_free(p, 900);
    step.store(1);
    wait_for(2);
    void* p = trt::small_alloc(trt::kMaxSmall);  // the first of its size
    step.store(3);
    wait_for(4);
    trt::small_free(p, trt::kMaxSmall);
  });
  wait_for(1);
  trt::cpu_empty_cache();
  const int64_t held = trt::cpu_allocator().stats().allocated_bytes.current;
  if (trt::cpu_allocator().caching()) assert_true(held >= 16 * 960);
  assert_int_equal(trt::cpu_memory_stats().allocated_bytes.current, 0);
  step.store(2);
  wait_for(3);
  assert_int_equal(trt::cpu_allocator().stats().allocated_bytes.current, 0);
  step.store(4);
  other.join();
}

struct Item {
  unsigned char* ptr;
  size_t bytes;
  unsigned char value;
};

void check_and_free(const Item& item, std::atomic<int>& wrong) {
  for (size_t i = 0; i < item.bytes; i += 61) {
    if (item.ptr[i] != item.value) wrong.fetch_add(1);
  }
  trt::cpu_free(item.ptr, item.bytes);
}

void cpu_blocks(void**) {
  assert_null(trt::cpu_allocate(0));
  trt::cpu_free(nullptr, 0);
  trt::cpu_free(nullptr, 100);
  trt::cpu_free(nullptr, 100000);
  const trt::MemoryStats before = trt::cpu_memory_stats();
  std::vector<trt::Allocation> live;
  size_t requested = 0;
  for (const size_t bytes : {1, 63, 64, 1024, 1025, 4096, 8192, 8193, 65536, 65537, 1 << 20, (1 << 20) + 1, 40 << 20}) {
    auto* p = static_cast<unsigned char*>(trt::cpu_allocate(bytes));
    assert_int_equal(reinterpret_cast<uintptr_t>(p) % trt::kCpuAlignment, 0);
    p[0] = p[bytes - 1] = 1;
    live.push_back({p, bytes});
    requested += bytes;
  }
  const trt::MemoryStats during = trt::cpu_memory_stats();
  assert_int_equal(during.allocations.current - before.allocations.current, live.size());
  const auto grown = static_cast<size_t>(during.allocated_bytes.current - before.allocated_bytes.current);
  assert_true(grown >= requested && grown < requested + requested / 50);
  assert_true(during.allocated_bytes.peak >= during.allocated_bytes.current);
  trt::cpu_verify();
  for (const auto& a : live) trt::cpu_free(a.ptr, a.bytes);
  const trt::MemoryStats after = trt::cpu_memory_stats();
  assert_int_equal(after.allocated_bytes.current, before.allocated_bytes.current);
  assert_int_equal(after.allocations.current, before.allocations.current);
  assert_int_equal(after.allocations.allocated - before.allocations.allocated, live.size());
  assert_int_equal(after.allocations.freed - before.allocations.freed, live.size());
  trt::cpu_verify();
  trt::cpu_empty_cache();
  trt::cpu_verify();
  assert_int_equal(trt::cpu_allocator().stats().allocated_bytes.current, 0);
  failure(trt::Code::kOutOfMemory, [] { trt::cpu_allocate(size_t{1} << 60); });
}

void cpu_threads(void**) {
  const trt::MemoryStats before = trt::cpu_memory_stats();
  std::vector<std::thread> threads;
  std::vector<Item> left[4];
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      auto& live = left[t];
      for (int i = 0; i < 6000; ++i) {
        if (live.size() < 200 && random() % 2) {
          const size_t bytes = 1 + random() % (size_t{1} << (random() % 19));
          const auto value = static_cast<unsigned char>(random());
          auto* p = static_cast<unsigned char*>(trt::cpu_allocate(bytes));
          for (size_t j = 0; j < bytes; j += 61) p[j] = value;
          live.push_back({p, bytes, value});
        } else if (!live.empty()) {
          const size_t k = random() % live.size();
          check_and_free(live[k], wrong);
          live[k] = live.back();
          live.pop_back();
        }
        if (t == 0 && i % 1000 == 999) trt::cpu_empty_cache();
      }
      trt::cpu_verify();
    });
  }
  for (auto& t : threads) t.join();
  for (auto& live : left) {
    for (const Item& item : live) check_and_free(item, wrong);
  }
  assert_int_equal(wrong.load(), 0);
  trt::cpu_verify();
  assert_int_equal(trt::cpu_memory_stats().allocated_bytes.current, before.allocated_bytes.current);
  // The ended threads gave their lists back, so that everything can go.
  trt::cpu_empty_cache();
  assert_int_equal(trt::cpu_allocator().stats().allocated_bytes.current, 0);
  assert_int_equal(trt::cpu_allocator().stats().segments.current, 0);
}

// Blocks freed by the destructors of a thread's other keys, before and after the allocator's own.
void cpu_free_at_thread_exit(void**) {
  static pthread_key_t keys[2];
  const trt::MemoryStats before = trt::cpu_memory_stats();
  for (auto& key : keys) {
    pthread_key_create(&key, [](void* p) {
      auto* items = static_cast<std::vector<trt::Allocation>*>(p);
      for (const auto& a : *items) {
        trt::cpu_free(a.ptr, a.bytes);
        void* again = trt::cpu_allocate(a.bytes);
        trt::cpu_free(again, a.bytes);
      }
      delete items;
    });
  }
  std::thread([] {
    for (auto& key : keys) {
      auto* items = new std::vector<trt::Allocation>;
      for (const size_t bytes : {8, 64, 1000, 2000, 60000, 100000}) items->push_back({trt::cpu_allocate(bytes), bytes});
      pthread_setspecific(key, items);
    }
  }).join();
  for (auto& key : keys) pthread_key_delete(key);
  assert_int_equal(trt::cpu_memory_stats().allocated_bytes.current, before.allocated_bytes.current);
  trt::cpu_verify();
}

void cpu_limit(void**) {
  trt::cpu_empty_cache();
  trt::cpu_set_limit(8 * kMiB);
  std::vector<void*> medium;
  failure(trt::Code::kOutOfMemory, [&] {
    for (int i = 0; i < 1000; ++i) medium.push_back(trt::cpu_allocate(60000));
  });
  for (void* p : medium) trt::cpu_free(p, 60000);
  // What is left in this thread's list must not keep the segments from serving a larger request.
  void* p = trt::cpu_allocate(7 * kMiB);
  trt::cpu_free(p, 7 * kMiB);
  std::vector<void*> small;
  failure(trt::Code::kOutOfMemory, [&] {
    for (int i = 0; i < 20000; ++i) small.push_back(trt::cpu_allocate(500));
  });
  assert_true(small.size() > 15000 && trt::cpu_memory_stats().reserved_bytes.current <= static_cast<int64_t>(8 * kMiB));
  for (void* q : small) trt::cpu_free(q, 500);
  // Nor must free slabs, those of the limit's new place included.
  trt::cpu_free(trt::cpu_allocate(7 * kMiB), 7 * kMiB);
  trt::cpu_set_limit(kMiB);
  assert_true(trt::cpu_memory_stats().reserved_bytes.current <= static_cast<int64_t>(kMiB));
  trt::cpu_set_limit(0);
  trt::cpu_verify();
}

void cpu_after_fork(void**) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      for (const size_t bytes : {64, 5000, 200000}) trt::cpu_free(trt::cpu_allocate(bytes), bytes);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (const size_t bytes : {64, 5000, 200000, 30 << 20}) {
        void* p = trt::cpu_allocate(bytes);
        std::memset(p, 1, bytes);
        trt::cpu_free(p, bytes);
      }
      trt::cpu_memory_stats();
      trt::cpu_empty_cache();
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop.store(true);
  busy.join();
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(rounds_splits_and_merges),
      cmocka_unit_test(best_fit_wins),
      cmocka_unit_test(segment_sizes),
      cmocka_unit_test(streams_have_their_own_pools),
      cmocka_unit_test(recorded_streams_delay_reuse),
      cmocka_unit_test(out_of_memory),
      cmocka_unit_test(limit_is_kept),
      cmocka_unit_test(pools_share_under_a_limit),
      cmocka_unit_test(slabs_share_limit_and_statistics),
      cmocka_unit_test(growth_is_bounded),
      cmocka_unit_test(without_cache),
      cmocka_unit_test(peaks_can_be_reset),
      cmocka_unit_test(random_replay),
      cmocka_unit_test(small_slabs_come_and_go),
      cmocka_unit_test(small_lists_of_other_threads),
      cmocka_unit_test(cpu_blocks),
      cmocka_unit_test(cpu_threads),
      cmocka_unit_test(cpu_free_at_thread_exit),
      cmocka_unit_test(cpu_limit),
      cmocka_unit_test(cpu_after_fork),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
