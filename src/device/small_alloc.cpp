#include "device/small_alloc.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "base/env.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/lazy.h"
#include "device/allocator.h"

namespace trt {

namespace detail {

TRT_TLS constinit SmallCache small_cache = {};

namespace {

constexpr size_t kLists = 2 * kSmallSlots;
constexpr size_t index_of(SmallUse use, size_t slot) { return static_cast<size_t>(use) * kSmallSlots + slot; }
constexpr SmallUse use_of(size_t index) { return index < kSmallSlots ? SmallUse::kObject : SmallUse::kData; }
constexpr size_t slot_of(size_t index) { return index % kSmallSlots; }
constexpr size_t size_of(size_t index) { return slot_of(index) * 64; }

constexpr size_t max_blocks(size_t index) { return std::clamp<size_t>(32768 / size_of(index), 32, 256); }
constexpr size_t batch_blocks(size_t index) { return max_blocks(index) / 2; }

enum State : uint8_t { kNew = 0, kLive = 1, kDirect = 2, kDead = 3 };

// A chain of free blocks. The first block of a batch links to the next batch of the central list.
struct Batch {
  SmallNode node;
  Batch* next_batch;
  size_t count;
};

// The head of a slab; its blocks follow. Slabs are aligned to their size.
struct alignas(64) Slab {
  uint32_t index;   // of the central list
  uint32_t carved;  // blocks made of it so far
  uint32_t free;    // of these, those seen in the central list while slabs are released
  Slab* next;       // of the list
  Slab* next_fresh;

  char* block(size_t i) { return reinterpret_cast<char*>(this) + sizeof(Slab) + i * size_of(index); }
  size_t capacity() const { return (kSmallSlabBytes - sizeof(Slab)) / size_of(index); }
};
Slab* slab_of(const void* block) { return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(block) & ~(kSmallSlabBytes - 1)); }

struct alignas(64) CentralList {
  std::mutex mutex;
  Batch* batches = nullptr;
  Slab* slabs = nullptr;
  Slab* fresh = nullptr;  // those that have room for more blocks
};

struct Central {
  CentralList lists[kLists];
  std::mutex registry_mutex;
  SmallCache* registry = nullptr;
  SmallCounters ended;  // of threads that are not in the registry
  pthread_key_t key;
  bool has_key = false;
  bool direct = false;
};

constinit std::atomic<uint32_t> g_epoch{0};  // raised by small_release_slabs: a thread with an older one gives its lists back

void thread_exit(void* arg);

// Never destroyed: blocks are freed after static destructors ran.
Central& central();

uint64_t room_of(const SmallCache& cache, size_t index) {
  const size_t slot = slot_of(index);
  return use_of(index) == SmallUse::kObject ? cache.object_room[slot] : cache.data_word[slot].load(std::memory_order_relaxed) & kSmallRoom;
}
void add_room(SmallCache& cache, size_t index, int64_t by) {
  const size_t slot = slot_of(index);
  if (use_of(index) == SmallUse::kObject) {
    cache.object_room[slot] = static_cast<uint16_t>(cache.object_room[slot] + by);
  } else {
    std::atomic<uint64_t>& word = cache.data_word[slot];
    word.store(word.load(std::memory_order_relaxed) + static_cast<uint64_t>(by), std::memory_order_relaxed);
  }
}
SmallNode*& head_of(SmallCache& cache, size_t index) { return cache.head[static_cast<size_t>(use_of(index))][slot_of(index)]; }

// What the data lists of a registered thread hold and gave.
void add_counters(const SmallCache& cache, SmallCounters& sum) {
  for (size_t slot = 1; slot < kSmallSlots; ++slot) {
    const size_t index = index_of(SmallUse::kData, slot);
    const uint64_t word = cache.data_word[slot].load(std::memory_order_relaxed);
    const auto listed = static_cast<int64_t>(max_blocks(index) - (word & kSmallRoom)), taken = static_cast<int64_t>(word / kSmallTaken);
    const auto size = static_cast<int64_t>(size_of(index));
    sum.listed_bytes += listed * size;
    sum.listed_blocks += listed;
    sum.taken_bytes += taken * size;
    sum.taken_blocks += taken;
  }
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
      add_counters(*t, c.ended);
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
    at_fork<before_fork, after_fork_in_parent, after_fork_in_child>();
    return c;
  });
}

// Data blocks that move between the central list and threads, those that move into one counting as allocated.
void count_moved(size_t index, int64_t blocks) noexcept {
  if (use_of(index) == SmallUse::kData) cpu_allocator().count_in_slabs(blocks * static_cast<int64_t>(size_of(index)), blocks);
}

// At most `want` new blocks of the list's fresh slabs; null when there is none.
Batch* carve(CentralList& list, size_t want) {
  Slab* const slab = list.fresh;
  if (!slab) return nullptr;
  const size_t capacity = slab->capacity(), count = std::min(want, capacity - slab->carved);
  auto* batch = reinterpret_cast<Batch*>(slab->block(slab->carved));
  for (size_t i = 0; i < count; ++i) {
    auto* node = reinterpret_cast<SmallNode*>(slab->block(slab->carved + i));
    node->next = i + 1 < count ? reinterpret_cast<SmallNode*>(slab->block(slab->carved + i + 1)) : nullptr;
  }
  slab->carved += static_cast<uint32_t>(count);
  if (slab->carved == capacity) list.fresh = slab->next_fresh;
  batch->count = count;
  return batch;
}

Batch* take_existing(CentralList& list, size_t want) {
  Batch* const batch = list.batches;
  if (!batch) return carve(list, want);
  auto* rest = reinterpret_cast<Batch*>(batch->node.next);
  if (want > 1 || !rest) {
    list.batches = batch->next_batch;
    return batch;
  }
  rest->next_batch = batch->next_batch;
  rest->count = batch->count - 1;
  list.batches = rest;
  batch->node.next = nullptr;
  batch->count = 1;
  return batch;
}

// At least one block, at most one batch. No lock of this file is held while the allocator behind is asked.
Batch* take_batch(Central& c, size_t index, size_t want) {
  CentralList& list = c.lists[index];
  Batch* batch;
  {
    std::lock_guard<std::mutex> lock(list.mutex);
    batch = take_existing(list, want);
  }
  if (!batch) {
    auto* const slab = new (cpu_take_slab(kSmallSlabBytes, size_of(index))) Slab{static_cast<uint32_t>(index), 0, 0, nullptr, nullptr};
    std::lock_guard<std::mutex> lock(list.mutex);
    slab->next = list.slabs;
    list.slabs = slab;
    slab->next_fresh = list.fresh;
    list.fresh = slab;
    batch = carve(list, want);
  }
  count_moved(index, static_cast<int64_t>(batch->count));
  return batch;
}

void give_batch(Central& c, size_t index, SmallNode* first, size_t count) noexcept {
  auto* batch = reinterpret_cast<Batch*>(first);
  CentralList& list = c.lists[index];
  {
    std::lock_guard<std::mutex> lock(list.mutex);
    batch->count = count;
    batch->next_batch = list.batches;
    list.batches = batch;
  }
  count_moved(index, -static_cast<int64_t>(count));
}

// Cuts `count` blocks off the thread's list and gives them away.
void give_from_cache(Central& c, SmallCache& cache, size_t index, size_t count) noexcept {
  SmallNode* const first = head_of(cache, index);
  SmallNode* last = first;
  for (size_t i = 1; i < count; ++i) last = last->next;
  head_of(cache, index) = last->next;
  last->next = nullptr;
  add_room(cache, index, static_cast<int64_t>(count));
  give_batch(c, index, first, count);
}

void flush_lists(Central& c, SmallCache& cache) noexcept {
  cache.epoch = g_epoch.load(std::memory_order_relaxed);
  for (size_t index = 0; index < kLists; ++index) {
    if (slot_of(index) == 0) continue;
    const size_t held = max_blocks(index) - room_of(cache, index);
    if (held) give_from_cache(c, cache, index, held);
  }
}

void enter_thread(Central& c, SmallCache& cache) {
  // Without a key nobody would give the lists back at the thread's end: such a thread uses the central list only.
  const bool live = !c.direct && c.has_key && pthread_setspecific(c.key, &cache) == 0;
  if (live) {
    for (size_t index = 0; index < kLists; ++index) {
      if (slot_of(index)) add_room(cache, index, static_cast<int64_t>(max_blocks(index)));
    }
    cache.epoch = g_epoch.load(std::memory_order_relaxed);
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
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  add_counters(cache, c.ended);
  for (auto& word : cache.data_word) word.store(0, std::memory_order_relaxed);
  std::fill(std::begin(cache.object_room), std::end(cache.object_room), uint16_t{0});
  cache.state = kDead;
  (cache.registry_prev ? cache.registry_prev->registry_next : c.registry) = cache.registry_next;
  if (cache.registry_next) cache.registry_next->registry_prev = cache.registry_prev;
}

void count_taken(Central& c, size_t bytes) {
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  c.ended.taken_bytes += static_cast<int64_t>(bytes);
  ++c.ended.taken_blocks;
}

// Sorts the list's free blocks by whether their slab has others in use. Returns the slabs that have none, unlinked.
Slab* detach_free_slabs(CentralList& list, size_t index) noexcept {
  std::lock_guard<std::mutex> lock(list.mutex);
  for (Slab* s = list.slabs; s; s = s->next) s->free = 0;
  for (const Batch* b = list.batches; b; b = b->next_batch) {
    for (const SmallNode* node = &b->node; node; node = node->next) ++slab_of(node)->free;
  }
  const auto in_use = [](const Slab* s) { return s->free != s->carved; };
  Slab* detached = nullptr;
  for (Slab** link = &list.fresh; *link;) {
    if (in_use(*link)) {
      link = &(*link)->next_fresh;
    } else {
      *link = (*link)->next_fresh;
    }
  }
  for (Slab** link = &list.slabs; *link;) {
    Slab* const s = *link;
    if (in_use(s)) {
      link = &s->next;
    } else {
      *link = s->next;
      s->next = detached;
      detached = s;
    }
  }
  if (!detached) return nullptr;
  Batch* old = list.batches;
  Batch* filling = nullptr;
  list.batches = nullptr;
  while (old) {
    SmallNode* node = &old->node;
    old = old->next_batch;
    while (node) {
      SmallNode* const next = node->next;
      if (in_use(slab_of(node))) {
        if (filling && filling->count < batch_blocks(index)) {
          node->next = filling->node.next;
          filling->node.next = node;
          ++filling->count;
        } else {
          filling = reinterpret_cast<Batch*>(node);
          filling->node.next = nullptr;
          filling->next_batch = list.batches;
          filling->count = 1;
          list.batches = filling;
        }
      }
      node = next;
    }
  }
  return detached;
}

}  // namespace

void* small_alloc_direct(SmallUse use, size_t bytes) {
  if (use == SmallUse::kData) {
    void* const p = cpu_take_slab(bytes, bytes);
    count_taken(central(), bytes);
    cpu_allocator().count_in_slabs(static_cast<int64_t>(bytes), 1);
    return p;
  }
  void* p = ::operator new(bytes, std::align_val_t(kSmallAlignment), std::nothrow);
  if (!p) throw_error(Code::kOutOfMemory, str_cat("small_alloc: the system refused ", bytes, " bytes"));
  return p;
}

void small_free_direct(SmallUse use, void* ptr, size_t bytes) noexcept {
  if (!ptr) return;
  if (use == SmallUse::kData) {
    cpu_allocator().count_in_slabs(-static_cast<int64_t>(bytes), -1);
    cpu_allocator().give_slab(ptr, bytes);
  } else {
    ::operator delete(ptr, std::align_val_t(kSmallAlignment));
  }
}

void* small_alloc_slow(SmallUse use, size_t slot) {
  Central& c = central();
  SmallCache& cache = small_cache;
  if (slot == 0) slot = 1;
  const size_t index = index_of(use, slot);
  if (cache.state == kNew) enter_thread(c, cache);
  if (cache.state == kDirect) return small_alloc_direct(use, size_of(index));
  if (cache.state == kDead) {
    Batch* const one = take_batch(c, index, 1);
    if (use == SmallUse::kData) count_taken(c, size_of(index));
    return one;
  }
  if (TRT_UNLIKELY(cache.epoch != g_epoch.load(std::memory_order_relaxed))) flush_lists(c, cache);
  SmallNode* node = head_of(cache, index);
  if (!node) {
    Batch* const batch = take_batch(c, index, batch_blocks(index));
    add_room(cache, index, -static_cast<int64_t>(batch->count));
    node = &batch->node;
  }
  head_of(cache, index) = node->next;
  add_room(cache, index, use == SmallUse::kData ? static_cast<int64_t>(kSmallTaken + 1) : 1);
  return node;
}

void small_free_slow(SmallUse use, void* ptr, size_t slot) noexcept {
  Central& c = central();
  SmallCache& cache = small_cache;
  if (slot == 0) slot = 1;
  const size_t index = index_of(use, slot);
  if (cache.state == kNew) enter_thread(c, cache);
  auto* const node = static_cast<SmallNode*>(ptr);
  if (cache.state == kDirect) return small_free_direct(use, ptr, size_of(index));
  if (cache.state == kDead) {
    node->next = nullptr;
    return give_batch(c, index, node, 1);
  }
  if (TRT_UNLIKELY(cache.epoch != g_epoch.load(std::memory_order_relaxed))) flush_lists(c, cache);
  if (room_of(cache, index) == 0) give_from_cache(c, cache, index, batch_blocks(index));
  add_room(cache, index, -1);
  node->next = head_of(cache, index);
  head_of(cache, index) = node;
}

}  // namespace detail

SmallCounters small_counters() {
  using namespace detail;
  Central& c = central();
  std::lock_guard<std::mutex> lock(c.registry_mutex);
  SmallCounters sum = c.ended;
  for (const SmallCache* t = c.registry; t; t = t->registry_next) add_counters(*t, sum);
  return sum;
}

void small_release_slabs() noexcept {
  using namespace detail;
  Central& c = central();
  g_epoch.fetch_add(1, std::memory_order_relaxed);
  if (small_cache.state == kLive) flush_lists(c, small_cache);
  for (size_t index = 0; index < kLists; ++index) {
    Slab* slab = detach_free_slabs(c.lists[index], index);
    while (slab) {
      Slab* const next = slab->next;
      cpu_allocator().give_slab(slab, kSmallSlabBytes);
      slab = next;
    }
  }
}

void small_prepare() { detail::central(); }

void small_verify() {
  using namespace detail;
  Central& c = central();
  const auto check_chain = [](const SmallNode* node, size_t count, size_t index, const char* where) {
    size_t n = 0;
    for (; node && n <= count; node = node->next, ++n) {
      Slab* const slab = slab_of(node);
      const auto offset = static_cast<size_t>(reinterpret_cast<const char*>(node) - slab->block(0));
      TRT_INTERNAL(slab->index == index && offset % size_of(index) == 0 && offset / size_of(index) < slab->carved, where,
                   ": not a block of ", size_of(index), " bytes in the list of such");
    }
    TRT_INTERNAL(n == count && !node, where, ": list of ", size_of(index), "-byte blocks has ", n, " blocks, not ", count);
  };
  for (size_t index = 0; index < kLists; ++index) {
    if (slot_of(index) == 0) continue;
    CentralList& list = c.lists[index];
    std::lock_guard<std::mutex> lock(list.mutex);  // for the slabs of the thread's own blocks, too
    if (small_cache.state == kLive) {
      const size_t room = room_of(small_cache, index);
      TRT_INTERNAL(room <= max_blocks(index), "room of the list of ", size_of(index), "-byte blocks");
      check_chain(head_of(small_cache, index), max_blocks(index) - room, index, "thread");
    }
    for (const Batch* b = list.batches; b; b = b->next_batch) check_chain(&b->node, b->count, index, "central");
    for (const Slab* s = list.fresh; s; s = s->next_fresh) TRT_INTERNAL(s->carved < s->capacity(), "a fresh slab without room");
  }
}

}  // namespace trt
