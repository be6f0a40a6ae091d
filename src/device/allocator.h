// The memory of CPU tensors.
//
// Three tiers behind one pair of functions: up to 1 KiB from small_alloc (device/small_alloc.h), up to 64 KiB from lists
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
#include "device/small_alloc.h"
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
  return small_alloc<SmallUse::kData>(bytes);
}

// `bytes` is what cpu_allocate was asked for. Null is allowed.
inline void cpu_free(void* ptr, size_t bytes) noexcept {
  if (TRT_ASAN || bytes - 1 >= kMaxSmall) return detail::cpu_free_large(ptr, bytes);
  if (!ptr) return;
  small_free<SmallUse::kData>(ptr, bytes);
}

// The allocator behind: for snapshot, verify and dump. In its statistics, blocks in a thread's list count as allocated,
// and its totals do not count small blocks; cpu_memory_stats() knows better.
CachingAllocator& cpu_allocator();

// A slab for small_alloc; `requested` is for the message. Throws Error kOutOfMemory when there is none although all
// memory that is not in use was given back.
void* cpu_take_slab(size_t bytes, size_t requested);

// All three tiers together: the memory of tensors, and in reserved_bytes also that of the objects which small_alloc
// serves. Current values and totals are exact when no other thread allocates meanwhile. Peaks of the allocated bytes and
// blocks count also what waits in threads' lists, at most 4 MiB of medium blocks and 32 KiB of each size of small ones per
// thread; peaks of the reserved bytes are exact.
MemoryStats cpu_memory_stats();
void cpu_reset_peak();

// Limits reserved_bytes; 0 for no limit. Memory above it is given back as far as it is not in use.
void cpu_set_limit(size_t bytes);

// Gives back all memory that is not in use: the calling thread's lists, free slabs and the segments of the caching
// allocator at once, other threads' lists when those threads next allocate or free between 1 and 64 KiB, or when their list
// of small blocks is empty or full. Returns the bytes released.
size_t cpu_empty_cache() noexcept;

// Checks all tiers (the lists: of the calling thread); throws Error kInternal.
void cpu_verify();

}  // namespace trt
