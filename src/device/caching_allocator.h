// The caching allocator: hands out blocks of segments that it keeps, because getting memory from the system or the
// device is slow (page faults on the CPU, a synchronization on a GPU). Independent of the device (raw_memory.h).
//
// Note [Allocator policy]
// - Requests are rounded up to 512 bytes, those above 1 MiB to 4 KiB. Up to 1 MiB they come from the small pool, whose
//   segments have 2 MiB; larger ones come from the large pool, whose segments have 20 MiB, or the request rounded up to
//   2 MiB when it is 10 MiB or more.
// - Every stream has its own pools: a block is reused at once by the stream that freed it, because the work there is
//   ordered. record_stream() tells that another stream uses a block too; when freed, it stays active until that
//   stream's work queued so far is done.
// - Best fit: the smallest free block that is large enough, exact up to the width of a bin (1/16 of the size) when a
//   bin holds very many blocks. Among equals the one freed last, whose memory is warm.
// - The rest of a block is split off from 512 bytes (small pool) or 64 KiB (large pool) on; a freed block is merged
//   with free neighbours of its segment.
// - Bounded growth: when a block is freed, segments that are wholly free go back to the system, the longest unused
//   first, while more is reserved than 256 MiB plus 5/4 of the recent peak of allocated bytes. "Recent" means the last
//   16,384 to 32,768 allocations. So a training loop keeps what its steps need, and a program that had one large phase
//   gives its memory back in the next.
// - When the device refuses, or the limit forbids, a new segment: wait for the pending events, release all free
//   segments, try once more, and then once with a segment of just the requested size; then take a free block of the stream's other pool; then
//   kOutOfMemory.
// - Without caching (TRT_NO_CACHE=1, AddressSanitizer) every block is a segment of exactly the requested size.
// - Another allocator of the same device (small_alloc) takes its slabs here, so that one limit, one peak and one set of
//   statistics hold for all memory; slabs are no segments otherwise.
//
// Thread safety: every function may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/macros.h"
#include "device/raw_memory.h"

namespace trt {

struct MemoryStat {
  int64_t current = 0;
  int64_t peak = 0;       // since the start or reset_peak()
  int64_t allocated = 0;  // total ever added
  int64_t freed = 0;      // total ever taken away

  void add(int64_t n) {
    current += n;
    allocated += n;
    if (current > peak) peak = current;
  }
  void sub(int64_t n) {
    current -= n;
    freed += n;
  }
  // Of what `allocated` and `freed` do not count.
  void move(int64_t n) {
    current += n;
    if (current > peak) peak = current;
  }
};

struct MemoryStats {
  MemoryStat allocated_bytes;  // in blocks that the caller holds, rounding included
  MemoryStat requested_bytes;  // what the caller asked for in those
  MemoryStat active_bytes;     // allocated, or freed but still in use by a recorded stream
  MemoryStat reserved_bytes;   // in segments and slabs
  MemoryStat allocations;      // number of blocks that the caller holds
  MemoryStat segments;         // number of segments and slabs
  int64_t retries = 0;         // how often the cache was emptied to get memory
  int64_t ooms = 0;            // allocations that failed
  size_t limit_bytes = 0;      // 0: none
};

enum class BlockState : uint8_t { kFree, kAllocated, kPending };

struct BlockInfo {
  const void* ptr;
  size_t bytes;
  size_t requested;  // 0 when free
  BlockState state;
};

struct SegmentInfo {
  const void* ptr;
  size_t bytes;
  int64_t stream;
  bool large;
  std::vector<BlockInfo> blocks;  // in address order; they cover the segment
};

class CachingAllocator {
 public:
  struct Options {
    bool cache = true;
    size_t keep_bytes = size_t{256} << 20;  // see "bounded growth" above
    int64_t window = 16384;                 // allocations per window of the recent peak
  };

  explicit CachingAllocator(RawMemory& raw);
  CachingAllocator(RawMemory& raw, Options options);
  // REQUIRES that all blocks were freed. Waits for pending events.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Null for zero bytes. Aligned to 512 bytes when caching, else as the device gives it. Throws kOutOfMemory.
  void* allocate(size_t bytes, int64_t stream = 0);
  // The same, but null, and no entry in the statistics, where that throws.
  void* try_allocate(size_t bytes, int64_t stream = 0);
  // Null is allowed. False when the pointer is not an allocated block of this allocator; nothing happens then.
  bool free(void* ptr) noexcept;
  // Frees `count` blocks under one lock; returns how many were known.
  size_t free_many(void* const* ptrs, size_t count) noexcept;
  // REQUIRES an allocated block. Throws kInvalidArgument otherwise.
  void record_stream(void* ptr, int64_t stream);

  // Memory as the device gives it, counted as reserved. Null when the device or the limit refuses it, although free
  // segments were released before.
  void* take_slab(size_t bytes);
  void give_slab(void* ptr, size_t bytes) noexcept;
  // Counts blocks of slabs as allocated, or, with negative numbers, no longer so. The totals do not count them.
  void count_in_slabs(int64_t bytes, int64_t blocks) noexcept;
  // Counts a failed allocation and throws kOutOfMemory.
  [[noreturn]] void throw_out_of_memory(size_t requested);

  // Gives all segments without active blocks back. Returns the number of bytes.
  size_t empty_cache() noexcept;
  // Bytes that may be reserved at most; 0 for no limit. Memory above it is released as far as it is free.
  void set_limit(size_t bytes);

  MemoryStats stats() const;
  void reset_peak();
  std::vector<SegmentInfo> snapshot() const;  // without slabs

  // Checks every invariant of the structure; throws kInternal with the one that broke.
  void verify() const;
  // Statistics and one line per segment, for people.
  std::string dump() const;

  bool caching() const { return options_.cache; }

  // For pthread_atfork: the child must find the lock free.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Block;
  struct Segment;
  struct StreamUse;
  struct FreeIndex;
  struct StreamPools;
  class BlockMap;

  size_t round_request(size_t bytes) const;
  StreamPools& pools_of(int64_t stream);
  Block* new_block();
  void recycle_block(Block* block) noexcept;
  Block* take_free(StreamPools& pools, bool large, size_t bytes);
  Block* grow(StreamPools& pools, bool large, size_t bytes);
  void* try_segment(size_t bytes);
  void* allocate_locked(size_t bytes, int64_t stream);
  void split(Block* block, size_t bytes, Block* rest) noexcept;
  bool free_locked(void* ptr) noexcept;
  void make_free(Block* block) noexcept;
  void process_events(bool wait) noexcept;
  void release_segment(Segment* segment) noexcept;
  size_t release_idle(size_t keep_reserved) noexcept;
  void note_peak();
  void trim() noexcept;
  [[noreturn]] void out_of_memory(size_t requested);

  RawMemory& raw_;
  const Options options_;
  mutable std::mutex mutex_;
  std::unordered_map<int64_t, std::unique_ptr<StreamPools>> pools_;
  StreamPools* last_pools_ = nullptr;
  std::unique_ptr<BlockMap> allocated_;
  std::vector<std::unique_ptr<Block[]>> block_slabs_;
  Block* spare_blocks_ = nullptr;
  Segment* segments_ = nullptr;
  Segment* idle_oldest_ = nullptr;  // wholly free segments in the order in which they became so
  Segment* idle_newest_ = nullptr;
  StreamUse* pending_ = nullptr;  // recorded events of freed blocks, oldest first
  StreamUse* pending_last_ = nullptr;
  MemoryStats stats_;
  int64_t slab_bytes_ = 0;  // what of stats_ is in slabs
  int64_t slabs_ = 0;
  int64_t used_in_slabs_ = 0;
  int64_t blocks_in_slabs_ = 0;
  int64_t window_peak_ = 0;
  int64_t previous_peak_ = 0;
  int64_t window_left_;
};

}  // namespace trt
