// The memory of CPU tensors.
//
// Three tiers behind one pair of functions: up to 1 KiB from small_alloc (base/small_alloc.h), up to 64 KiB from lists
// that each thread keeps, the rest from the caching allocator (caching_allocator.h), which also feeds the lists.
// The first two take no lock when they hit. TRT_NO_CACHE=1 and AddressSanitizer send everything to the C++ heap.
//
// Thread safety: every function may be called from any thread, a block may be freed by another thread than the one that
// took it, also while a thread ends and after main() returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/macros.h"
#include "base/small_alloc.h"
#include "device/caching_allocator.h"

namespace trt {

constexpr size_t kCpuAlignment = 64;  // of every block

// What a storage keeps of its memory.
struct Allocation {
  void* ptr = nullptr;
  size_t bytes = 0;  // as requested; cpu_free needs it
};

namespace detail {
void* cpu_allocate_large(size_t bytes);
void cpu_free_large(void* ptr, size_t bytes) noexcept;
}  // namespace detail

// Null for zero bytes; not initialized; aligned to kCpuAlignment. Throws Error kOutOfMemory.
inline void* cpu_allocate(size_t bytes) {
  if (TRT_ASAN || bytes - 1 >= kMaxSmall) return detail::cpu_allocate_large(bytes);  // zero wraps around
  count_small_alloc(bytes);
  return small_alloc(bytes);
}

// `bytes` is what cpu_allocate was asked for. Null is allowed.
inline void cpu_free(void* ptr, size_t bytes) noexcept {
  if (TRT_ASAN || bytes - 1 >= kMaxSmall) return detail::cpu_free_large(ptr, bytes);
  if (!ptr) return;
  count_small_free(bytes);
  small_free(ptr, bytes);
}

// The allocator behind: for set_limit, snapshot, verify and dump. Its statistics know neither small blocks nor which
// medium blocks are in a thread's list; cpu_memory_stats() does.
CachingAllocator& cpu_allocator();

// All three tiers together. Current values and totals are exact when no other thread allocates meanwhile. Peaks are
// exact for blocks above 64 KiB; medium blocks count as allocated while they wait in a thread's list, and small ones
// with what they have when this is called. reserved_bytes includes the slabs of small_alloc, the limit does not.
MemoryStats cpu_memory_stats();
void cpu_reset_peak();

// Gives back all memory that is not in use: the calling thread's lists and the segments of the caching allocator at
// once, other threads' lists when those threads next allocate or free between 1 and 64 KiB. Returns the bytes released.
size_t cpu_empty_cache() noexcept;

// Checks all tiers (the lists: of the calling thread); throws Error kInternal.
void cpu_verify();

}  // namespace trt
