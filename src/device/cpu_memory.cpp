// Memory of the CPU: segments from the system, and the threads' lists of medium blocks.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>

#include "base/env.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/lazy.h"
#include "device/allocator.h"

namespace trt {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMaxMedium = size_t{64} << 10;

size_t physical_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : 0;
}

// Segments are mapped at huge-page boundaries and ask for huge pages: first touch of 40 MB costs a third then. Smaller pieces are
// aligned as slabs must be.
class MappedMemory final : public RawMemory {
 public:
  const char* name() const override { return "cpu"; }
  size_t total_bytes() const override { return physical_bytes(); }

  void* allocate(size_t bytes) override {
    const size_t alignment = bytes >= kHugePage ? kHugePage : detail::kSmallSlabBytes;
    void* p = map(bytes);
    if (p == MAP_FAILED) return nullptr;
    if (reinterpret_cast<uintptr_t>(p) % alignment != 0) {
      munmap(p, bytes);
      p = map(bytes + alignment);
      if (p == MAP_FAILED) return nullptr;
      const auto start = reinterpret_cast<uintptr_t>(p);
      const uintptr_t aligned = (start + alignment - 1) & ~(alignment - 1);
      const size_t before = aligned - start, after = alignment - before;
      if (before) munmap(p, before);
      if (after) munmap(reinterpret_cast<void*>(aligned + bytes), after);
      p = reinterpret_cast<void*>(aligned);
    }
    if (bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
    return p;
  }

  // A hole in a mapping needs one mapping more, of which the system has only so many. The address space is lost then, the memory is not.
  void release(void* ptr, size_t bytes) override {
    if (munmap(ptr, bytes) != 0) madvise(ptr, bytes, MADV_DONTNEED);
  }

 private:
  static void* map(size_t bytes) { return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
};

// One heap block per tensor, exactly as large as requested, so that tools see every access beyond it.
class HeapMemory final : public RawMemory {
 public:
  const char* name() const override { return "cpu"; }
  size_t total_bytes() const override { return physical_bytes(); }
  void* allocate(size_t bytes) override { return ::operator new(bytes, std::align_val_t(kCpuAlignment), std::nothrow); }
  void release(void* ptr, size_t) override { ::operator delete(ptr, std::align_val_t(kCpuAlignment)); }
};

bool cpu_caching() { return !TRT_ASAN && !env_bool("TRT_NO_CACHE", false); }

// Classes of medium blocks: multiples of 512 bytes up to 8 KiB, then eight per power of two.
constexpr int kClasses = 40;
constexpr int class_of(size_t bytes) {
  if (bytes <= 8192) return static_cast<int>((bytes + 511) / 512) - 1;  // 1 KiB: class 1
  const int e = std::bit_width(bytes - 1) - 1;                          // 13: 8 KiB < bytes <= 16 KiB
  return 16 + (e - 13) * 8 + static_cast<int>(((bytes - 1) >> (e - 3)) & 7);
}
constexpr size_t class_bytes(int c) {
  if (c < 16) return static_cast<size_t>(c + 1) * 512;
  return (size_t{8192} << ((c - 16) / 8)) / 8 * static_cast<size_t>((c - 16) % 8 + 9);
}
static_assert(class_of(kMaxMedium) == kClasses - 1 && class_bytes(kClasses - 1) == kMaxMedium);
static_assert(class_of(8193) == 16 && class_bytes(16) == 9216 && class_of(9216) == 16 && class_of(9217) == 17);

constexpr uint32_t max_blocks(int c) {
  return static_cast<uint32_t>(std::clamp<size_t>((size_t{256} << 10) / class_bytes(c), 4, 64));
}
constexpr int64_t kMaxFrontBytes = int64_t{4} << 20;  // per thread

struct FreeNode {
  FreeNode* next;
};

// A thread's lists. Used by that thread only, but for the counters, which others read.
struct Front {
  FreeNode* head[kClasses] = {};
  uint32_t count[kClasses] = {};
  uint64_t epoch = 0;
  std::atomic<int64_t> held_bytes{0};  // in the lists
  std::atomic<int64_t> held_blocks{0};
  std::atomic<int64_t> hits_bytes{0};  // taken from the lists so far
  std::atomic<int64_t> hits{0};
  Front* next = nullptr;
  Front* prev = nullptr;
};

struct Fronts {
  std::mutex mutex;
  Front* first = nullptr;
  int64_t ended_hits_bytes = 0;
  int64_t ended_hits = 0;
  pthread_key_t key{};
  bool has_key = false;
};

// Bumped by cpu_empty_cache: a thread whose lists are older gives them back first.
constinit std::atomic<uint64_t> g_epoch{1};
TRT_TLS constinit Front* t_front = nullptr;
TRT_TLS constinit bool t_front_ended = false;

struct Cpu {
  CachingAllocator allocator;
  Fronts fronts;
  explicit Cpu(RawMemory& raw, CachingAllocator::Options options) : allocator(raw, options) {}
};

Cpu& cpu();

void add(std::atomic<int64_t>& counter, int64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

void give_back(Front& f, int c, uint32_t blocks) noexcept {
  void* batch[64];
  uint32_t n = 0;
  for (; n < blocks && f.head[c]; ++n) {
    batch[n] = f.head[c];
    f.head[c] = f.head[c]->next;
  }
  f.count[c] -= n;
  add(f.held_bytes, -static_cast<int64_t>(n * class_bytes(c)));
  add(f.held_blocks, -static_cast<int64_t>(n));
  cpu().allocator.free_many(batch, n);
}

void give_back_all(Front& f) noexcept {
  for (int c = 0; c < kClasses; ++c) {
    if (f.count[c]) give_back(f, c, f.count[c]);
  }
}

void thread_exit(void* arg) {
  auto* const f = static_cast<Front*>(arg);
  t_front = nullptr;
  t_front_ended = true;
  give_back_all(*f);
  Fronts& fronts = cpu().fronts;
  {
    std::lock_guard<std::mutex> lock(fronts.mutex);
    fronts.ended_hits_bytes += f->hits_bytes.load(std::memory_order_relaxed);
    fronts.ended_hits += f->hits.load(std::memory_order_relaxed);
    (f->prev ? f->prev->next : fronts.first) = f->next;
    if (f->next) f->next->prev = f->prev;
  }
  delete f;
}

// A child process must find the locks free. The lists of threads that do not exist there stay as they are: their
// blocks count as held.
void before_fork() {
  cpu().fronts.mutex.lock();
  cpu().allocator.lock_for_fork();
}
void after_fork() {
  cpu().allocator.unlock_after_fork();
  cpu().fronts.mutex.unlock();
}

constinit Lazy<Cpu> g_cpu;

Cpu& cpu() {
  return g_cpu.get([] {
    CachingAllocator::Options options;
    options.cache = cpu_caching();
    RawMemory* raw = options.cache ? static_cast<RawMemory*>(new MappedMemory) : new HeapMemory;
    auto* const c = new Cpu(*raw, options);
    c->fronts.has_key = pthread_key_create(&c->fronts.key, thread_exit) == 0;
    // Handlers before fork() run in reverse order: those of small_alloc, whose locks are the inner ones, come first here.
    small_prepare();
    at_fork<before_fork, after_fork, after_fork>();
    return c;
  });
}

// Null when this thread cannot have lists: it is at its end, or caching is off.
TRT_NOINLINE Front* make_front() noexcept {
  if (t_front_ended || !cpu().allocator.caching()) return nullptr;
  Fronts& fronts = cpu().fronts;
  if (!fronts.has_key) return nullptr;
  auto* const f = new (std::nothrow) Front;
  if (!f) return nullptr;
  if (pthread_setspecific(fronts.key, f) != 0) {
    delete f;
    return nullptr;
  }
  f->epoch = g_epoch.load(std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(fronts.mutex);
  f->next = fronts.first;
  if (f->next) f->next->prev = f;
  fronts.first = f;
  return t_front = f;
}

TRT_NOINLINE void renew(Front& f) noexcept {
  f.epoch = g_epoch.load(std::memory_order_relaxed);
  give_back_all(f);
}

inline Front* front() noexcept {
  Front* f = t_front;
  if (TRT_UNLIKELY(!f) && !(f = make_front())) return nullptr;
  if (TRT_UNLIKELY(f->epoch != g_epoch.load(std::memory_order_relaxed))) renew(*f);
  return f;
}

// Blocks in this thread's lists may be what keeps a segment or slab from being released.
void* allocate_block(size_t bytes) {
  CachingAllocator& allocator = cpu().allocator;
  if (void* const p = allocator.try_allocate(bytes)) return p;
  cpu_empty_cache();
  return allocator.allocate(bytes);
}

}  // namespace

namespace detail {

void* cpu_allocate_large(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes <= kMaxMedium && !TRT_ASAN) {
    if (Front* const f = front()) {
      const int c = class_of(bytes);
      const size_t size = class_bytes(c);
      FreeNode* const node = f->head[c];
      if (TRT_UNLIKELY(!node)) return allocate_block(size);
      f->head[c] = node->next;
      --f->count[c];
      add(f->held_bytes, -static_cast<int64_t>(size));
      add(f->held_blocks, -1);
      add(f->hits_bytes, static_cast<int64_t>(size));
      add(f->hits, 1);
      return node;
    }
    if (cpu().allocator.caching()) bytes = class_bytes(class_of(bytes));  // the block may end up in a list
  }
  return allocate_block(bytes);
}

void cpu_free_large(void* ptr, size_t bytes) noexcept {
  if (!ptr) return;
  if (bytes <= kMaxMedium && !TRT_ASAN) {
    if (Front* const f = front()) {
      const int c = class_of(bytes);
      const auto size = static_cast<int64_t>(class_bytes(c));
      if (TRT_UNLIKELY(f->count[c] >= max_blocks(c))) give_back(*f, c, (f->count[c] + 1) / 2);
      if (TRT_UNLIKELY(f->held_bytes.load(std::memory_order_relaxed) + size > kMaxFrontBytes)) give_back_all(*f);
      auto* const node = static_cast<FreeNode*>(ptr);
      node->next = f->head[c];
      f->head[c] = node;
      ++f->count[c];
      add(f->held_bytes, size);
      add(f->held_blocks, 1);
      return;
    }
  }
  cpu().allocator.free(ptr);
}

}  // namespace detail

CachingAllocator& cpu_allocator() { return cpu().allocator; }

void* cpu_take_slab(size_t bytes, size_t requested) {
  CachingAllocator& allocator = cpu().allocator;
  if (void* const p = allocator.take_slab(bytes)) return p;
  cpu_empty_cache();
  if (void* const p = allocator.take_slab(bytes)) return p;
  allocator.throw_out_of_memory(requested);
}

MemoryStats cpu_memory_stats() {
  Fronts& fronts = cpu().fronts;
  std::lock_guard<std::mutex> lock(fronts.mutex);
  MemoryStats s = cpu().allocator.stats();
  int64_t held = 0, held_blocks = 0, hits_bytes = fronts.ended_hits_bytes, hits = fronts.ended_hits;
  for (const Front* f = fronts.first; f; f = f->next) {
    held += f->held_bytes.load(std::memory_order_relaxed);
    held_blocks += f->held_blocks.load(std::memory_order_relaxed);
    hits_bytes += f->hits_bytes.load(std::memory_order_relaxed);
    hits += f->hits.load(std::memory_order_relaxed);
  }
  const SmallCounters small = small_counters();
  // A block in a list was freed by its user, and each hit is one more block handed out.
  const auto merge = [](MemoryStat& stat, int64_t in_lists, int64_t handed_out) {
    stat.current -= in_lists;
    stat.allocated += handed_out;
    stat.freed = stat.allocated - stat.current;
  };
  for (MemoryStat* stat : {&s.allocated_bytes, &s.requested_bytes, &s.active_bytes}) {
    merge(*stat, held + small.listed_bytes, hits_bytes + small.taken_bytes);
  }
  merge(s.allocations, held_blocks + small.listed_blocks, hits + small.taken_blocks);
  return s;
}

void cpu_reset_peak() { cpu().allocator.reset_peak(); }

void cpu_set_limit(size_t bytes) {
  CachingAllocator& allocator = cpu().allocator;
  allocator.set_limit(bytes);
  if (bytes && static_cast<size_t>(allocator.stats().reserved_bytes.current) > bytes) cpu_empty_cache();
}

size_t cpu_empty_cache() noexcept {
  g_epoch.fetch_add(1, std::memory_order_relaxed);
  const auto before = cpu().allocator.stats().reserved_bytes.freed;
  if (Front* const f = t_front) renew(*f);
  small_release_slabs();
  cpu().allocator.empty_cache();
  return static_cast<size_t>(cpu().allocator.stats().reserved_bytes.freed - before);
}

void cpu_verify() {
  if (const Front* const f = t_front) {
    int64_t bytes = 0, blocks = 0;
    for (int c = 0; c < kClasses; ++c) {
      uint32_t n = 0;
      for (const FreeNode* node = f->head[c]; node && n <= f->count[c]; node = node->next) ++n;
      TRT_INTERNAL(n == f->count[c] && n <= max_blocks(c), "list of ", class_bytes(c), "-byte blocks");
      bytes += static_cast<int64_t>(n * class_bytes(c));
      blocks += n;
    }
    TRT_INTERNAL(bytes == f->held_bytes.load() && blocks == f->held_blocks.load(), "bytes in the thread's lists");
    TRT_INTERNAL(bytes <= kMaxFrontBytes, "the thread's lists are too long");
  }
  small_verify();
  cpu().allocator.verify();
}

}  // namespace trt
