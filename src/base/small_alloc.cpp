#include "base/small_alloc.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "base/env.h"
#include "base/error.h"
#include "base/lazy.h"

namespace trt {

namespace detail {

TRT_TLS constinit SmallCache small_cache = {};

namespace {

constexpr size_t kSlabBytes = 64 << 10;
constexpr size_t kChunkBytes = 1 << 20;  // slabs are cut from chunks of this size

enum State : uint8_t { kNew = 0, kLive = 1, kDirect = 2, kDead = 3 };

// A chain of free blocks. The first block of a batch links to the next batch of the central list.
struct Batch {
  SmallNode node;
  Batch* next_batch;
  size_t count;
};

constexpr size_t max_blocks(size_t slot) { return std::clamp<size_t>(32768 / (slot * 64), 32, 256); }
constexpr size_t batch_blocks(size_t slot) { return max_blocks(slot) / 2; }

struct alignas(64) CentralList {
  std::mutex mutex;
  Batch* batches = nullptr;
  char* slab = nullptr;  // the part of the current slab that was never handed out
  char* slab_end = nullptr;
};

struct Central {
  CentralList lists[kSmallSlots];
  std::mutex registry_mutex;  // also guards the chunk
  SmallCache* registry = nullptr;
  char* chunk = nullptr;
  char* chunk_end = nullptr;
  uint64_t reserved = 0;
  SmallCounters retired;
  pthread_key_t key;
  bool has_key = false;
  bool direct = false;
};

void thread_exit(void* arg);

// Never destroyed: blocks are freed after static destructors ran.
Central& central();

void move_counters(SmallCache& cache, SmallCounters& to) {
  const auto take = [](std::atomic<uint64_t>& from) { return from.exchange(0, std::memory_order_relaxed); };
  to.bytes_allocated += take(cache.bytes_allocated);
  to.bytes_freed += take(cache.bytes_freed);
  to.allocs += take(cache.allocs);
  to.frees += take(cache.frees);
}

// A child process must find the locks free, whichever thread held them when it was forked.
void before_fork() {
  Central& c = central();
  for (CentralList& list : c.lists) list.mutex.lock();
  c.registry_mutex.lock();
}
void after_fork_in_parent() {
  Central& c = central();
  c.registry_mutex.unlock();
  for (CentralList& list : c.lists) list.mutex.unlock();
}
// The other threads do not exist in the child and the C library reuses their thread-local memory: their counters are
// kept, the blocks in their lists are lost.
void after_fork_in_child() {
  Central& c = central();
  SmallCache* own = nullptr;
  for (SmallCache* t = c.registry; t; t = t->registry_next) {
    if (t == &small_cache) {
      own = t;
    } else {
      move_counters(*t, c.retired);
    }
  }
  c.registry = own;
  if (own) own->registry_next = own->registry_prev = nullptr;
  after_fork_in_parent();
}

constinit Lazy<Central> g_central;

Central& central() {
  return g_central.get([] {
    auto* c = new Central;
    c->has_key = pthread_key_create(&c->key, thread_exit) == 0;
    c->direct = TRT_ASAN || env_bool("TRT_NO_CACHE", false);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return c;
  });
}

char* take_slab(Central& c) {
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  if (c.chunk == c.chunk_end) {
    void* p = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
      throw_error(Code::kOutOfMemory, str_cat("small_alloc: the system refused ", kChunkBytes, " bytes; ", c.reserved,
                                              " bytes are in slabs"));
    }
    c.chunk = static_cast<char*>(p);
    c.chunk_end = c.chunk + kChunkBytes;
  }
  char* slab = c.chunk;
  c.chunk += kSlabBytes;
  c.reserved += kSlabBytes;
  return slab;
}

// At least one block, at most one batch.
Batch* take_batch(Central& c, size_t slot, size_t want) {
  CentralList& list = c.lists[slot];
  const size_t size = slot * 64;
  std::lock_guard<std::mutex> lock(list.mutex);
  if (Batch* batch = list.batches; batch && want > 1) {
    list.batches = batch->next_batch;
    return batch;
  }
  if (Batch* batch = list.batches) {  // a thread that ends takes a single block
    auto* rest = reinterpret_cast<Batch*>(batch->node.next);
    if (rest) {
      rest->next_batch = batch->next_batch;
      rest->count = batch->count - 1;
      list.batches = rest;
    } else {
      list.batches = batch->next_batch;
    }
    batch->node.next = nullptr;
    batch->count = 1;
    return batch;
  }
  if (list.slab == nullptr || static_cast<size_t>(list.slab_end - list.slab) < size) {
    list.slab = take_slab(c);
    list.slab_end = list.slab + kSlabBytes;
  }
  const size_t count = std::min(want, static_cast<size_t>(list.slab_end - list.slab) / size);
  auto* batch = reinterpret_cast<Batch*>(list.slab);
  for (size_t i = 0; i < count; ++i) {
    auto* node = reinterpret_cast<SmallNode*>(list.slab);
    list.slab += size;
    node->next = i + 1 < count ? reinterpret_cast<SmallNode*>(list.slab) : nullptr;
  }
  batch->count = count;
  return batch;
}

void give_batch(Central& c, size_t slot, SmallNode* first, size_t count) {
  auto* batch = reinterpret_cast<Batch*>(first);
  CentralList& list = c.lists[slot];
  std::lock_guard<std::mutex> lock(list.mutex);
  batch->count = count;
  batch->next_batch = list.batches;
  list.batches = batch;
}

// Cuts `count` blocks off the thread's list and gives them away.
void give_from_cache(Central& c, SmallCache& cache, size_t slot, size_t count) {
  SmallNode* const first = cache.head[slot];
  SmallNode* last = first;
  for (size_t i = 1; i < count; ++i) last = last->next;
  cache.head[slot] = last->next;
  last->next = nullptr;
  cache.room[slot] = static_cast<uint16_t>(cache.room[slot] + count);
  give_batch(c, slot, first, count);
}

void flush_lists(Central& c, SmallCache& cache) {
  for (size_t slot = 1; slot < kSmallSlots; ++slot) {
    const size_t held = max_blocks(slot) - cache.room[slot];
    if (held) give_from_cache(c, cache, slot, held);
  }
}

void enter_thread(Central& c, SmallCache& cache) {
  // Without a key nobody would give the lists back at the thread's end: such a thread uses the central list only.
  const bool live = !c.direct && c.has_key && pthread_setspecific(c.key, &cache) == 0;
  if (live) {
    for (size_t slot = 1; slot < kSmallSlots; ++slot) cache.room[slot] = static_cast<uint16_t>(max_blocks(slot));
    std::lock_guard<std::mutex> lock(c.registry_mutex);
    cache.registry_prev = nullptr;
    cache.registry_next = c.registry;
    if (c.registry) c.registry->registry_prev = &cache;
    c.registry = &cache;
  }
  cache.state = c.direct ? kDirect : live ? kLive : kDead;
}

// Destructors of other keys may run after this one and free blocks: those go to the central list one by one.
void thread_exit(void* arg) {
  auto& cache = *static_cast<SmallCache*>(arg);
  Central& c = central();
  flush_lists(c, cache);
  std::fill(std::begin(cache.room), std::end(cache.room), uint16_t{0});
  cache.state = kDead;
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  move_counters(cache, c.retired);
  (cache.registry_prev ? cache.registry_prev->registry_next : c.registry) = cache.registry_next;
  if (cache.registry_next) cache.registry_next->registry_prev = cache.registry_prev;
}

// A thread that is not in the registry hands its counters over at once.
void retire_counters(Central& c, SmallCache& cache) {
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  move_counters(cache, c.retired);
}

}  // namespace

void* small_alloc_slow(size_t slot) {
  Central& c = central();
  SmallCache& cache = small_cache;
  if (slot == 0) slot = 1;
  if (cache.state == kNew) enter_thread(c, cache);
  if (cache.state != kLive) {
    retire_counters(c, cache);
    if (cache.state == kDead) return take_batch(c, slot, 1);
    void* p = ::operator new(slot * 64, std::align_val_t(kSmallAlignment), std::nothrow);
    if (!p) throw_error(Code::kOutOfMemory, str_cat("small_alloc: the system refused ", slot * 64, " bytes"));
    return p;
  }
  if (SmallNode* node = cache.head[slot]) {  // zero bytes, served as one
    cache.head[slot] = node->next;
    ++cache.room[slot];
    return node;
  }
  Batch* const batch = take_batch(c, slot, batch_blocks(slot));
  cache.head[slot] = batch->node.next;
  cache.room[slot] = static_cast<uint16_t>(cache.room[slot] - (batch->count - 1));
  return batch;
}

void small_free_slow(void* ptr, size_t slot) noexcept {
  Central& c = central();
  SmallCache& cache = small_cache;
  if (slot == 0) slot = 1;
  if (cache.state == kNew) enter_thread(c, cache);
  auto* const node = static_cast<SmallNode*>(ptr);
  if (cache.state != kLive) {
    retire_counters(c, cache);
    if (cache.state == kDirect) {
      ::operator delete(ptr, std::align_val_t(kSmallAlignment));
    } else {
      node->next = nullptr;
      give_batch(c, slot, node, 1);
    }
    return;
  }
  if (cache.room[slot] == 0) give_from_cache(c, cache, slot, batch_blocks(slot));
  --cache.room[slot];
  node->next = cache.head[slot];
  cache.head[slot] = node;
}

}  // namespace detail

SmallCounters small_counters() {
  using namespace detail;
  Central& c = central();
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  if (small_cache.state != kLive) move_counters(small_cache, c.retired);
  SmallCounters sum = c.retired;
  for (SmallCache* t = c.registry; t; t = t->registry_next) {
    sum.bytes_allocated += t->bytes_allocated.load(std::memory_order_relaxed);
    sum.bytes_freed += t->bytes_freed.load(std::memory_order_relaxed);
    sum.allocs += t->allocs.load(std::memory_order_relaxed);
    sum.frees += t->frees.load(std::memory_order_relaxed);
  }
  return sum;
}

uint64_t small_reserved_bytes() {
  detail::Central& c = detail::central();
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  return c.reserved;
}

void small_flush_thread_cache() noexcept {
  if (detail::small_cache.state == detail::kLive) detail::flush_lists(detail::central(), detail::small_cache);
}

void small_verify() {
  using namespace detail;
  Central& c = central();
  const auto check_chain = [](const SmallNode* node, size_t count, size_t slot, const char* where) {
    size_t n = 0;
    for (; node && n <= count; node = node->next, ++n) {
      TRT_INTERNAL(reinterpret_cast<uintptr_t>(node) % kSmallAlignment == 0, where, ": block of ", slot * 64,
                   " bytes is misaligned");
    }
    TRT_INTERNAL(n == count && !node, where, ": list of ", slot * 64, "-byte blocks has ", n, " blocks, not ", count);
  };
  for (size_t slot = 1; slot < kSmallSlots; ++slot) {
    if (small_cache.state == kLive) {
      TRT_INTERNAL(small_cache.room[slot] <= max_blocks(slot), "room of slot ", slot);
      check_chain(small_cache.head[slot], max_blocks(slot) - small_cache.room[slot], slot, "thread");
    }
    std::lock_guard<std::mutex> lock(c.lists[slot].mutex);
    for (const Batch* b = c.lists[slot].batches; b; b = b->next_batch) check_chain(&b->node, b->count, slot, "central");
  }
}

}  // namespace trt
