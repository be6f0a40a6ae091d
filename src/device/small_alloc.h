// Memory of at most 1024 bytes: thread-local free lists in front of central ones.
//
// A hit is a handful of instructions and takes no lock. Sizes are rounded up to multiples of 64 bytes, every block is aligned to 64
// bytes. A block may be freed by any thread; it goes to the list of the thread that frees it. Lists are bounded: surplus moves to the
// central list in batches. Blocks may be freed while a thread ends and after main() returned.
//
// The memory comes from slabs of 64 KiB, which the CPU's caching allocator counts as reserved and to which its limit applies. A slab
// goes back to the system when all its blocks are in central lists and small_release_slabs() is called.
//
// There are two sets of lists: kData for the memory of tensors, whose blocks count in the memory statistics, and kObject for the
// library's own objects (headers of tensors, nodes of graphs), which count only with their slabs.
//
// Under AddressSanitizer, and with TRT_NO_CACHE=1, every block is one of the C++ heap, so that errors are found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/macros.h"

namespace trt {

constexpr size_t kMaxSmall = 1024;
constexpr size_t kSmallAlignment = 64;

enum class SmallUse : uint8_t { kObject = 0, kData = 1 };

namespace detail {

constexpr size_t kSmallSlots = kMaxSmall / 64 + 1;  // slot 0 stays empty: zero bytes take the slow path
constexpr size_t kSmallSlabBytes = size_t{64} << 10;

struct SmallNode {
  SmallNode* next;
};

// All zeroes is a valid state: no block to take and no room to give back, so both ways lead to the slow path, which
// sets the thread up. Trivially destructible; a pthread key's destructor gives the lists back.
struct SmallCache {
  SmallNode* head[2][kSmallSlots];  // by use
  // kData: the low 16 bits tell how many more blocks the list may hold, the others how many were taken so far. Written by the owner
  // only, read by whoever asks for the sums.
  std::atomic<uint64_t> data_word[kSmallSlots];
  uint16_t object_room[kSmallSlots];  // kObject: how many more blocks the list may hold
  SmallCache* registry_next;
  SmallCache* registry_prev;
  uint32_t epoch;
  uint8_t state;
};

constexpr uint64_t kSmallTaken = uint64_t{1} << 16;
constexpr uint64_t kSmallRoom = kSmallTaken - 1;

extern TRT_TLS constinit SmallCache small_cache;

void* small_alloc_slow(SmallUse use, size_t slot);
void small_free_slow(SmallUse use, void* ptr, size_t slot) noexcept;
void* small_alloc_direct(SmallUse use, size_t bytes);
void small_free_direct(SmallUse use, void* ptr, size_t bytes) noexcept;

}  // namespace detail

// REQUIRES bytes <= kMaxSmall. Never null; not initialized. Throws Error kOutOfMemory when the system or the limit refuses a slab.
template <SmallUse use = SmallUse::kObject>
TRT_INLINE void* small_alloc(size_t bytes) {
#if TRT_ASAN
  return detail::small_alloc_direct(use, bytes);
#else
  const size_t slot = (bytes + 63) / 64;
  detail::SmallCache& cache = detail::small_cache;
  detail::SmallNode* const node = cache.head[static_cast<size_t>(use)][slot];
  if (TRT_UNLIKELY(!node)) return detail::small_alloc_slow(use, slot);
  cache.head[static_cast<size_t>(use)][slot] = node->next;
  if constexpr (use == SmallUse::kData) {
    std::atomic<uint64_t>& word = cache.data_word[slot];
    word.store(word.load(std::memory_order_relaxed) + detail::kSmallTaken + 1, std::memory_order_relaxed);
  } else {
    ++cache.object_room[slot];
  }
  return node;
#endif
}

// `use` and `bytes` are those of the call of small_alloc. Null is allowed.
template <SmallUse use = SmallUse::kObject>
TRT_INLINE void small_free(void* ptr, size_t bytes) noexcept {
#if TRT_ASAN
  detail::small_free_direct(use, ptr, bytes);
#else
  if (TRT_UNLIKELY(!ptr)) return;
  const size_t slot = (bytes + 63) / 64;
  detail::SmallCache& cache = detail::small_cache;
  if constexpr (use == SmallUse::kData) {
    std::atomic<uint64_t>& word = cache.data_word[slot];
    const uint64_t now = word.load(std::memory_order_relaxed);
    if (TRT_UNLIKELY((now & detail::kSmallRoom) == 0)) return detail::small_free_slow(use, ptr, slot);
    word.store(now - 1, std::memory_order_relaxed);
  } else {
    if (TRT_UNLIKELY(cache.object_room[slot] == 0)) return detail::small_free_slow(use, ptr, slot);
    --cache.object_room[slot];
  }
  auto* const node = static_cast<detail::SmallNode*>(ptr);
  node->next = cache.head[static_cast<size_t>(use)][slot];
  cache.head[static_cast<size_t>(use)][slot] = node;
#endif
}

// Of the kData blocks, with their whole size. Exact when no other thread allocates or frees meanwhile.
struct SmallCounters {
  int64_t listed_bytes = 0;  // free, in the lists of threads; the allocator behind counts them as allocated
  int64_t listed_blocks = 0;
  int64_t taken_bytes = 0;  // ever returned by small_alloc
  int64_t taken_blocks = 0;
};
SmallCounters small_counters();

// Gives the calling thread's lists back to the central ones, and then to the system all slabs whose blocks are all there. Other threads
// give their lists back when one of them next runs empty or full.
void small_release_slabs() noexcept;

// Makes the state of the process, so that its handlers for fork() are registered.
void small_prepare();

// Checks the central lists and the calling thread's own; throws Error kInternal when an invariant is broken.
void small_verify();

}  // namespace trt
