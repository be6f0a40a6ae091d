// Memory for small objects (at most 1024 bytes): thread-local free lists in front of a central one.
//
// A hit is a handful of instructions and takes no lock. Sizes are rounded up to multiples of 64 bytes, every block is
// aligned to 64 bytes. A block may be freed by any thread; it goes to the list of the thread that frees it. Lists are
// bounded: surplus moves to the central list in batches. The memory comes from slabs that are never returned to the
// system. Blocks may be freed while a thread ends and after main() returned.
//
// Under AddressSanitizer, and with TRT_NO_CACHE=1, every block is its own operator new, so that errors are found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/macros.h"

namespace trt {

constexpr size_t kMaxSmall = 1024;
constexpr size_t kSmallAlignment = 64;

// What one thread, or all threads together, took and gave back through count_small_alloc/count_small_free.
struct SmallCounters {
  uint64_t bytes_allocated = 0;
  uint64_t bytes_freed = 0;
  uint64_t allocs = 0;
  uint64_t frees = 0;
};

namespace detail {

constexpr size_t kSmallSlots = kMaxSmall / 64 + 1;  // slot 0 stays empty: zero bytes take the slow path

struct SmallNode {
  SmallNode* next;
};

// All zeroes is a valid state: no block to take and no room to give back, so both ways lead to the slow path, which
// sets the thread up. Trivially destructible; a pthread key's destructor gives the lists back.
struct SmallCache {
  SmallNode* head[kSmallSlots];
  uint16_t room[kSmallSlots];  // how many more blocks the list may hold
  // Written by the owner only, read by whoever asks for the sums.
  std::atomic<uint64_t> bytes_allocated, bytes_freed, allocs, frees;
  SmallCache* registry_next;
  SmallCache* registry_prev;
  uint8_t state;
};

extern TRT_TLS constinit SmallCache small_cache;

void* small_alloc_slow(size_t slot);
void small_free_slow(void* ptr, size_t slot) noexcept;

TRT_INLINE void bump(std::atomic<uint64_t>& counter, uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace detail

// REQUIRES bytes <= kMaxSmall. Never null; throws Error kOutOfMemory.
TRT_INLINE void* small_alloc(size_t bytes) {
#if TRT_ASAN
  return ::operator new(bytes, std::align_val_t(kSmallAlignment));
#else
  const size_t slot = (bytes + 63) / 64;
  detail::SmallCache& cache = detail::small_cache;
  detail::SmallNode* const node = cache.head[slot];
  if (TRT_UNLIKELY(!node)) return detail::small_alloc_slow(slot);
  cache.head[slot] = node->next;
  ++cache.room[slot];
  return node;
#endif
}

// `bytes` is what small_alloc was asked for. Null is allowed.
TRT_INLINE void small_free(void* ptr, size_t bytes) noexcept {
#if TRT_ASAN
  ::operator delete(ptr, bytes, std::align_val_t(kSmallAlignment));
#else
  if (TRT_UNLIKELY(!ptr)) return;
  const size_t slot = (bytes + 63) / 64;
  detail::SmallCache& cache = detail::small_cache;
  if (TRT_UNLIKELY(cache.room[slot] == 0)) return detail::small_free_slow(ptr, slot);
  --cache.room[slot];
  auto* const node = static_cast<detail::SmallNode*>(ptr);
  node->next = cache.head[slot];
  cache.head[slot] = node;
#endif
}

// Statistics for those callers whose blocks count as tensor memory. Count before the call that it belongs to: that
// call's slow path is where a thread becomes known to small_counters().
// Not for builds with AddressSanitizer, where small_alloc has no slow path.
TRT_INLINE void count_small_alloc(size_t bytes) {
  detail::bump(detail::small_cache.bytes_allocated, bytes);
  detail::bump(detail::small_cache.allocs, 1);
}
TRT_INLINE void count_small_free(size_t bytes) {
  detail::bump(detail::small_cache.bytes_freed, bytes);
  detail::bump(detail::small_cache.frees, 1);
}

// The sums over all threads, living and ended. A snapshot only when no other thread allocates meanwhile.
SmallCounters small_counters();

// Bytes of the slabs that were taken from the system so far.
uint64_t small_reserved_bytes();

// Gives the calling thread's lists back to the central list.
void small_flush_thread_cache() noexcept;

// Checks the central lists and the calling thread's own; throws Error kInternal when an invariant is broken.
void small_verify();

}  // namespace trt
