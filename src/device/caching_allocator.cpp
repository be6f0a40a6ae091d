#include "device/caching_allocator.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace trt {

namespace {

constexpr size_t kUnit = 512;
constexpr size_t kPage = 4096;
constexpr size_t kSmallLimit = size_t{1} << 20;  // largest request of the small pool
constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kLargeSegment = size_t{20} << 20;
constexpr size_t kOwnSegment = size_t{10} << 20;  // from here on a request gets a segment of its own
constexpr size_t kSegmentUnit = size_t{2} << 20;
constexpr size_t kLargeRest = size_t{64} << 10;  // smallest rest that is split off in the large pool
constexpr size_t kMaxRequest = size_t{1} << 47;

constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Bins of free blocks: one per unit up to 16 units, then 16 per power of two.
constexpr int kBins = 640;
int bin_of(size_t bytes) {
  const size_t units = bytes / kUnit;
  if (units < 16) return static_cast<int>(units);
  const int e = std::bit_width(units) - 1;
  return std::min(kBins - 1, (e - 3) * 16 + static_cast<int>((units >> (e - 4)) & 15));
}
constexpr int kMaxScan = 64;  // blocks looked at per bin

}  // namespace

struct CachingAllocator::Block {
  char* ptr;
  size_t bytes;
  size_t requested;
  Segment* segment;
  Block* prev;  // neighbours in the segment, by address
  Block* next;
  Block* free_prev;  // neighbours in the bin; free_next also links spare blocks
  Block* free_next;
  StreamUse* uses;
  int pending;  // events that are not done
  BlockState state;
};

struct CachingAllocator::Segment {
  char* ptr;
  size_t bytes;
  int64_t stream;
  StreamPools* pools;
  Block* first;
  Segment* prev;
  Segment* next;
  Segment* idle_prev;
  Segment* idle_next;
  bool large;
  bool idle;
};

// Made by record_stream, so that free() needs no memory; then it carries the event until that is done.
struct CachingAllocator::StreamUse {
  int64_t stream;
  StreamUse* next;
  Block* block;
  void* event;
};

struct CachingAllocator::FreeIndex {
  std::array<Block*, kBins> bins{};
  std::array<uint64_t, kBins / 64> used{};

  void insert(Block* b) noexcept {
    const int bin = bin_of(b->bytes);
    b->free_prev = nullptr;
    b->free_next = bins[bin];
    if (b->free_next) b->free_next->free_prev = b;
    bins[bin] = b;
    used[bin / 64] |= uint64_t{1} << (bin % 64);
  }

  void remove(Block* b) noexcept {
    const int bin = bin_of(b->bytes);
    (b->free_prev ? b->free_prev->free_next : bins[bin]) = b->free_next;
    if (b->free_next) b->free_next->free_prev = b->free_prev;
    if (!bins[bin]) used[bin / 64] &= ~(uint64_t{1} << (bin % 64));
  }

  Block* best_in_bin(int bin, size_t bytes) const noexcept {
    Block* best = nullptr;
    int left = kMaxScan;
    for (Block* b = bins[bin]; b && left > 0; b = b->free_next, --left) {
      if (b->bytes < bytes || (best && b->bytes >= best->bytes)) continue;
      best = b;
      if (b->bytes == bytes) break;
    }
    return best;
  }

  int next_used(int bin) const noexcept {
    if (bin >= kBins) return kBins;
    size_t word = static_cast<size_t>(bin / 64);
    uint64_t bits = used[word] & (~uint64_t{0} << (bin % 64));
    while (!bits) {
      if (++word == used.size()) return kBins;
      bits = used[word];
    }
    return static_cast<int>(word * 64) + std::countr_zero(bits);
  }

  Block* find(size_t bytes) const noexcept {
    for (int bin = next_used(bin_of(bytes)); bin < kBins; bin = next_used(bin + 1)) {
      if (Block* b = best_in_bin(bin, bytes)) return b;
    }
    return nullptr;
  }
};

struct CachingAllocator::StreamPools {
  int64_t stream;
  FreeIndex small;
  FreeIndex large;
  FreeIndex& index(bool is_large) { return is_large ? large : small; }
};

// The allocated blocks by address: open addressing with linear probing. Room is made before a block is handed out, so
// that insertion cannot fail.
class CachingAllocator::BlockMap {
 public:
  size_t size() const { return size_; }

  void reserve_one() {
    if ((size_ + 1) * 2 <= slots_.size()) return;
    std::vector<Block*> old(std::max<size_t>(256, slots_.size() * 2), nullptr);
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots_.size());
    size_ = 0;
    for (Block* b : old) {
      if (b) insert(b);
    }
  }

  void insert(Block* b) noexcept {
    size_t i = home(b->ptr);
    while (slots_[i]) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = b;
    ++size_;
  }

  Block* find(const void* ptr) const noexcept {
    const size_t i = slot_of(ptr);
    return i == kNone ? nullptr : slots_[i];
  }

  Block* take(const void* ptr) noexcept {
    size_t hole = slot_of(ptr);
    if (hole == kNone) return nullptr;
    Block* const found = slots_[hole];
    // Moves later members of the probe sequence back, so that no tombstones are needed.
    const size_t mask = slots_.size() - 1;
    for (size_t i = (hole + 1) & mask; slots_[i]; i = (i + 1) & mask) {
      if (((i - home(slots_[i]->ptr)) & mask) >= ((i - hole) & mask)) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = nullptr;
    --size_;
    return found;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  size_t home(const void* ptr) const noexcept {
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(ptr) >> 4) * 0x9e3779b97f4a7c15u >> shift_);
  }
  size_t slot_of(const void* ptr) const noexcept {
    if (size_ == 0) return kNone;
    for (size_t i = home(ptr); slots_[i]; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i]->ptr == ptr) return i;
    }
    return kNone;
  }

  std::vector<Block*> slots_;
  size_t size_ = 0;
  int shift_ = 64;
};

CachingAllocator::CachingAllocator(RawMemory& raw) : CachingAllocator(raw, Options()) {}

CachingAllocator::CachingAllocator(RawMemory& raw, Options options)
    : raw_(raw), options_(options), allocated_(std::make_unique<BlockMap>()), window_left_(options.window) {}

CachingAllocator::~CachingAllocator() {
  process_events(true);
  release_idle(0);
}

size_t CachingAllocator::round_request(size_t bytes) const {
  if (!options_.cache) return bytes;
  return bytes <= kSmallLimit ? round_up(bytes, kUnit) : round_up(bytes, kPage);
}

CachingAllocator::StreamPools& CachingAllocator::pools_of(int64_t stream) {
  if (last_pools_ && last_pools_->stream == stream) return *last_pools_;
  std::unique_ptr<StreamPools>& pools = pools_[stream];
  if (!pools) {
    pools = std::make_unique<StreamPools>();
    pools->stream = stream;
  }
  return *(last_pools_ = pools.get());
}

CachingAllocator::Block* CachingAllocator::new_block() {
  if (!spare_blocks_) {
    constexpr size_t kSlab = 128;
    block_slabs_.push_back(std::make_unique<Block[]>(kSlab));
    for (size_t i = 0; i < kSlab; ++i) recycle_block(&block_slabs_.back()[i]);
  }
  Block* const b = spare_blocks_;
  spare_blocks_ = b->free_next;
  *b = Block{};
  return b;
}

void CachingAllocator::recycle_block(Block* block) noexcept {
  block->free_next = spare_blocks_;
  spare_blocks_ = block;
}

// Cuts `block` down to `bytes`; `rest` becomes its free successor.
void CachingAllocator::split(Block* block, size_t bytes, Block* rest) noexcept {
  rest->ptr = block->ptr + bytes;
  rest->bytes = block->bytes - bytes;
  rest->segment = block->segment;
  rest->prev = block;
  rest->next = block->next;
  rest->state = BlockState::kFree;
  if (rest->next) rest->next->prev = rest;
  block->next = rest;
  block->bytes = bytes;
  Segment& s = *block->segment;
  s.pools->index(s.large).insert(rest);
}

// A free block of at least `bytes`, out of its bin and cut to size; null when there is none.
CachingAllocator::Block* CachingAllocator::take_free(StreamPools& pools, bool large, size_t bytes) {
  FreeIndex& index = pools.index(large);
  Block* const b = index.find(bytes);
  if (!b) return nullptr;
  const bool cut = b->bytes - bytes >= (large ? kLargeRest : kUnit);
  Block* const rest = cut ? new_block() : nullptr;
  index.remove(b);
  Segment& s = *b->segment;
  if (s.idle) {
    s.idle = false;
    (s.idle_prev ? s.idle_prev->idle_next : idle_oldest_) = s.idle_next;
    (s.idle_next ? s.idle_next->idle_prev : idle_newest_) = s.idle_prev;
  }
  if (rest) split(b, bytes, rest);
  return b;
}

void* CachingAllocator::try_segment(size_t bytes) {
  const auto reserved = static_cast<size_t>(stats_.reserved_bytes.current);
  if (stats_.limit_bytes && (bytes > stats_.limit_bytes || reserved > stats_.limit_bytes - bytes)) return nullptr;
  return raw_.allocate(bytes);
}

void CachingAllocator::out_of_memory(size_t requested) {
  ++stats_.ooms;
  std::string message =
      str_cat(raw_.name(), ": out of memory: ", requested, " bytes requested, ", stats_.allocated_bytes.current,
              " allocated, ", stats_.reserved_bytes.current, " reserved, limit ");
  append(message, stats_.limit_bytes ? str_cat(stats_.limit_bytes) : "none");
  if (const size_t total = raw_.total_bytes()) append(message, str_cat(", device total ", total));
  throw_error(Code::kOutOfMemory, std::move(message));
}

// A new segment whose first block has `bytes`; null when there is no memory.
CachingAllocator::Block* CachingAllocator::grow(StreamPools& pools, bool large, size_t bytes) {
  const size_t least = options_.cache ? round_up(bytes, kPage) : bytes;
  size_t segment_bytes = least;
  if (options_.cache) {
    segment_bytes = !large ? kSmallSegment : bytes < kOwnSegment ? kLargeSegment : round_up(bytes, kSegmentUnit);
  }
  auto segment = std::make_unique<Segment>();
  Block* const b = new_block();
  Block* const rest = new_block();
  void* ptr = try_segment(segment_bytes);
  if (!ptr) {
    ++stats_.retries;
    process_events(true);
    // The events may have freed what is needed.
    Block* const freed = options_.cache ? take_free(pools, large, bytes) : nullptr;
    if (freed) {
      recycle_block(b);
      recycle_block(rest);
      return freed;
    }
    release_idle(0);
    ptr = try_segment(segment_bytes);
  }
  if (!ptr && least < segment_bytes) ptr = try_segment(segment_bytes = least);
  if (!ptr) {
    recycle_block(b);
    recycle_block(rest);
    return nullptr;
  }
  Segment* const s = segment.release();
  *s = Segment{static_cast<char*>(ptr),
               segment_bytes,
               pools.stream,
               &pools,
               b,
               nullptr,
               segments_,
               nullptr,
               nullptr,
               large,
               false};
  if (segments_) segments_->prev = s;
  segments_ = s;
  stats_.reserved_bytes.add(static_cast<int64_t>(segment_bytes));
  stats_.segments.add(1);
  b->ptr = s->ptr;
  b->bytes = segment_bytes;
  b->segment = s;
  if (options_.cache && segment_bytes - bytes >= (large ? kLargeRest : kUnit)) {
    split(b, bytes, rest);
  } else {
    recycle_block(rest);
  }
  return b;
}

void CachingAllocator::note_peak() {
  const int64_t in_segments = stats_.allocated_bytes.current - used_in_slabs_;
  window_peak_ = std::max(window_peak_, in_segments);
  if (--window_left_ > 0) return;
  previous_peak_ = window_peak_;
  window_peak_ = in_segments;
  window_left_ = options_.window;
}

void* CachingAllocator::allocate(size_t bytes, int64_t stream) {
  if (bytes == 0) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  void* const ptr = allocate_locked(bytes, stream);
  if (!ptr) out_of_memory(bytes);
  return ptr;
}

void* CachingAllocator::try_allocate(size_t bytes, int64_t stream) {
  if (bytes == 0) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  return allocate_locked(bytes, stream);
}

void* CachingAllocator::allocate_locked(size_t bytes, int64_t stream) {
  if (bytes > kMaxRequest) return nullptr;
  allocated_->reserve_one();
  if (pending_) process_events(false);
  StreamPools& pools = pools_of(stream);
  const size_t rounded = round_request(bytes);
  const bool large = rounded > kSmallLimit;
  Block* b = options_.cache ? take_free(pools, large, rounded) : nullptr;
  if (!b) b = grow(pools, large, rounded);
  // What the segments of the other pool have free is better than nothing.
  if (!b && options_.cache) b = take_free(pools, !large, large ? rounded : round_up(rounded, kPage));
  if (!b) return nullptr;
  b->state = BlockState::kAllocated;
  b->requested = bytes;
  allocated_->insert(b);
  const auto size = static_cast<int64_t>(b->bytes);
  stats_.allocated_bytes.add(size);
  stats_.active_bytes.add(size);
  stats_.requested_bytes.add(static_cast<int64_t>(bytes));
  stats_.allocations.add(1);
  note_peak();
  return b->ptr;
}

bool CachingAllocator::free(void* ptr) noexcept {
  if (!ptr) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  return free_locked(ptr);
}

size_t CachingAllocator::free_many(void* const* ptrs, size_t count) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t known = 0;
  for (size_t i = 0; i < count; ++i) known += free_locked(ptrs[i]);
  return known;
}

bool CachingAllocator::free_locked(void* ptr) noexcept {
  Block* const b = allocated_->take(ptr);
  if (!b) return false;
  stats_.allocated_bytes.sub(static_cast<int64_t>(b->bytes));
  stats_.requested_bytes.sub(static_cast<int64_t>(b->requested));
  stats_.allocations.sub(1);
  for (StreamUse* use = b->uses; use;) {
    StreamUse* const next = use->next;
    use->event = raw_.record_event(use->stream);
    if (use->event) {
      use->next = nullptr;
      (pending_last_ ? pending_last_->next : pending_) = use;
      pending_last_ = use;
      ++b->pending;
    } else {
      delete use;
    }
    use = next;
  }
  b->uses = nullptr;
  if (b->pending) {
    b->state = BlockState::kPending;
  } else {
    make_free(b);
  }
  return true;
}

// An active block becomes free: merged with its neighbours and put into its bin, or released without caching.
void CachingAllocator::make_free(Block* b) noexcept {
  stats_.active_bytes.sub(static_cast<int64_t>(b->bytes));
  Segment* const s = b->segment;
  FreeIndex& index = s->pools->index(s->large);
  b->state = BlockState::kFree;
  b->requested = 0;
  if (Block* p = b->prev; p && p->state == BlockState::kFree) {
    index.remove(p);
    p->bytes += b->bytes;
    p->next = b->next;
    if (b->next) b->next->prev = p;
    recycle_block(b);
    b = p;
  }
  if (Block* n = b->next; n && n->state == BlockState::kFree) {
    index.remove(n);
    b->bytes += n->bytes;
    b->next = n->next;
    if (n->next) n->next->prev = b;
    recycle_block(n);
  }
  index.insert(b);
  if (b->prev || b->next) return;
  s->idle = true;
  s->idle_prev = idle_newest_;
  s->idle_next = nullptr;
  (idle_newest_ ? idle_newest_->idle_next : idle_oldest_) = s;
  idle_newest_ = s;
  if (options_.cache) {
    trim();
  } else {
    release_segment(s);
  }
}

void CachingAllocator::trim() noexcept {
  const auto peak = static_cast<size_t>(std::max(previous_peak_, window_peak_));
  size_t keep = options_.keep_bytes + peak + peak / 4 + static_cast<size_t>(slab_bytes_);
  if (stats_.limit_bytes) keep = std::min(keep, stats_.limit_bytes);
  if (static_cast<size_t>(stats_.reserved_bytes.current) > keep) release_idle(keep);
}

// Events of one stream end in order, but those of several streams do not: the whole list is looked through.
void CachingAllocator::process_events(bool wait) noexcept {
  StreamUse* last = nullptr;
  for (StreamUse** link = &pending_; *link;) {
    StreamUse* const use = *link;
    if (wait) raw_.wait_event(use->event);
    if (!wait && !raw_.event_done(use->event)) {
      last = use;
      link = &use->next;
      continue;
    }
    *link = use->next;
    raw_.release_event(use->event);
    if (--use->block->pending == 0) make_free(use->block);
    delete use;
  }
  pending_last_ = last;
}

// REQUIRES an idle segment.
void CachingAllocator::release_segment(Segment* s) noexcept {
  s->pools->index(s->large).remove(s->first);
  recycle_block(s->first);
  (s->idle_prev ? s->idle_prev->idle_next : idle_oldest_) = s->idle_next;
  (s->idle_next ? s->idle_next->idle_prev : idle_newest_) = s->idle_prev;
  (s->prev ? s->prev->next : segments_) = s->next;
  if (s->next) s->next->prev = s->prev;
  stats_.reserved_bytes.sub(static_cast<int64_t>(s->bytes));
  stats_.segments.sub(1);
  raw_.release(s->ptr, s->bytes);
  delete s;
}

size_t CachingAllocator::release_idle(size_t keep_reserved) noexcept {
  size_t released = 0;
  while (idle_oldest_ && static_cast<size_t>(stats_.reserved_bytes.current) > keep_reserved) {
    released += idle_oldest_->bytes;
    release_segment(idle_oldest_);
  }
  return released;
}

void CachingAllocator::record_stream(void* ptr, int64_t stream) {
  if (!ptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  Block* const b = allocated_->find(ptr);
  TRT_CHECK(b, raw_.name(), ": record_stream: not the start of an allocated block");
  if (b->segment->stream == stream) return;
  for (const StreamUse* use = b->uses; use; use = use->next) {
    if (use->stream == stream) return;
  }
  b->uses = new StreamUse{stream, b->uses, b, nullptr};
}

void* CachingAllocator::take_slab(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  void* ptr = try_segment(bytes);
  if (!ptr) {
    ++stats_.retries;
    process_events(true);
    release_idle(0);
    ptr = try_segment(bytes);
  }
  if (!ptr) return nullptr;
  stats_.reserved_bytes.add(static_cast<int64_t>(bytes));
  stats_.segments.add(1);
  slab_bytes_ += static_cast<int64_t>(bytes);
  ++slabs_;
  return ptr;
}

void CachingAllocator::give_slab(void* ptr, size_t bytes) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.reserved_bytes.sub(static_cast<int64_t>(bytes));
  stats_.segments.sub(1);
  slab_bytes_ -= static_cast<int64_t>(bytes);
  --slabs_;
  raw_.release(ptr, bytes);
}

void CachingAllocator::count_in_slabs(int64_t bytes, int64_t blocks) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  for (MemoryStat* s : {&stats_.allocated_bytes, &stats_.active_bytes, &stats_.requested_bytes}) s->move(bytes);
  stats_.allocations.move(blocks);
  used_in_slabs_ += bytes;
  blocks_in_slabs_ += blocks;
}

void CachingAllocator::throw_out_of_memory(size_t requested) {
  std::lock_guard<std::mutex> lock(mutex_);
  out_of_memory(requested);
}

size_t CachingAllocator::empty_cache() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  process_events(false);
  return release_idle(0);
}

void CachingAllocator::set_limit(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.limit_bytes = bytes;
  if (bytes) release_idle(bytes);
}

MemoryStats CachingAllocator::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (MemoryStat* s : {&stats_.allocated_bytes, &stats_.requested_bytes, &stats_.active_bytes, &stats_.reserved_bytes,
                        &stats_.allocations, &stats_.segments}) {
    s->peak = s->current;
  }
}

std::vector<SegmentInfo> CachingAllocator::snapshot() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<SegmentInfo> out;
  for (const Segment* s = segments_; s; s = s->next) {
    SegmentInfo info{s->ptr, s->bytes, s->stream, s->large, {}};
    for (const Block* b = s->first; b; b = b->next) info.blocks.push_back({b->ptr, b->bytes, b->requested, b->state});
    out.push_back(std::move(info));
  }
  return out;
}

void CachingAllocator::verify() const {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t reserved = 0, allocated = 0, active = 0, requested = 0, held = 0, segments = 0, idle = 0, free_blocks = 0;
  size_t pending = 0;
  for (const Segment* s = segments_; s; s = s->next, ++segments) {
    TRT_INTERNAL(!s->next || s->next->prev == s, "segment list");
    const char* at = s->ptr;
    const Block* before = nullptr;
    for (const Block* b = s->first; b; before = b, b = b->next) {
      TRT_INTERNAL(b->segment == s && b->prev == before && b->ptr == at && b->bytes > 0, "blocks do not tile segment");
      TRT_INTERNAL(!options_.cache || b->bytes % kUnit == 0, "block of ", b->bytes, " bytes");
      at += b->bytes;
      if (b->state == BlockState::kFree) {
        TRT_INTERNAL(!before || before->state != BlockState::kFree, "two free neighbours");
        TRT_INTERNAL(!b->uses && b->pending == 0, "free block in use");
        const FreeIndex& index = s->pools->index(s->large);
        const Block* in_bin = index.bins[static_cast<size_t>(bin_of(b->bytes))];
        while (in_bin && in_bin != b) in_bin = in_bin->free_next;
        TRT_INTERNAL(in_bin, "free block of ", b->bytes, " bytes is in no bin");
        ++free_blocks;
        continue;
      }
      active += b->bytes;
      pending += static_cast<size_t>(b->pending);
      TRT_INTERNAL((b->state == BlockState::kPending) == (b->pending > 0), "pending events of a block");
      TRT_INTERNAL((allocated_->find(b->ptr) == b) == (b->state == BlockState::kAllocated), "map of allocated blocks");
      if (b->state != BlockState::kAllocated) continue;
      TRT_INTERNAL(b->requested > 0 && b->requested <= b->bytes, "block smaller than its request");
      allocated += b->bytes;
      requested += b->requested;
      ++held;
    }
    TRT_INTERNAL(at == s->ptr + s->bytes, "blocks do not fill segment");
    const bool is_idle = !s->first->next && s->first->state == BlockState::kFree;
    TRT_INTERNAL(s->idle == is_idle, "idle mark of a segment");
    idle += is_idle;
    reserved += s->bytes;
  }
  for (const Segment* s = idle_oldest_; s; s = s->idle_next, --idle) {
    TRT_INTERNAL(s->idle && idle > 0, "idle list");
    TRT_INTERNAL(s->idle_next ? s->idle_next->idle_prev == s : s == idle_newest_, "links of the idle list");
  }
  TRT_INTERNAL(idle == 0, "idle segment missing in list");
  for (const auto& [stream, pools] : pools_) {
    for (const FreeIndex* index : {&pools->small, &pools->large}) {
      for (int bin = 0; bin < kBins; ++bin) {
        const auto i = static_cast<size_t>(bin);
        TRT_INTERNAL((index->bins[i] != nullptr) == ((index->used[i / 64] >> (i % 64)) & 1), "bitmap of bins");
        for (const Block* b = index->bins[i]; b; b = b->free_next, --free_blocks) {
          TRT_INTERNAL(bin_of(b->bytes) == bin && b->state == BlockState::kFree, "block in a wrong bin");
          TRT_INTERNAL(b->segment->stream == stream && free_blocks > 0, "block in a wrong pool");
        }
      }
    }
  }
  TRT_INTERNAL(free_blocks == 0, "free blocks in no bin");
  for (const StreamUse* use = pending_; use; use = use->next, --pending) TRT_INTERNAL(pending > 0, "pending events");
  TRT_INTERNAL(pending == 0, "pending event missing in list");
  const auto same = [](const MemoryStat& s, size_t n, int64_t moved) {
    return s.current == static_cast<int64_t>(n) + moved && s.allocated - s.freed == static_cast<int64_t>(n) && s.peak >= s.current;
  };
  TRT_INTERNAL(same(stats_.reserved_bytes, reserved + static_cast<size_t>(slab_bytes_), 0), "reserved bytes");
  TRT_INTERNAL(same(stats_.allocated_bytes, allocated, used_in_slabs_), "allocated bytes");
  TRT_INTERNAL(same(stats_.active_bytes, active, used_in_slabs_), "active bytes");
  TRT_INTERNAL(same(stats_.requested_bytes, requested, used_in_slabs_), "requested bytes");
  TRT_INTERNAL(same(stats_.allocations, held, blocks_in_slabs_) && allocated_->size() == held, "number of allocated blocks");
  TRT_INTERNAL(same(stats_.segments, segments + static_cast<size_t>(slabs_), 0), "number of segments");
  TRT_INTERNAL(used_in_slabs_ >= 0 && used_in_slabs_ <= slab_bytes_ && blocks_in_slabs_ >= 0, "blocks in slabs");
}

std::string CachingAllocator::dump() const {
  const MemoryStats s = stats();
  std::string out =
      str_cat(raw_.name(), " memory, bytes: allocated ", s.allocated_bytes.current, " (peak ", s.allocated_bytes.peak,
              "), reserved ", s.reserved_bytes.current, " (peak ", s.reserved_bytes.peak, "), active ",
              s.active_bytes.current, ", limit ", s.limit_bytes, "; blocks ", s.allocations.current, ", segments ",
              s.segments.current, ", retries ", s.retries, ", out of memory ", s.ooms, "\n");
  for (const SegmentInfo& segment : snapshot()) {
    size_t used = 0, pieces = 0, largest = 0;
    for (const BlockInfo& b : segment.blocks) {
      if (b.state != BlockState::kFree) {
        used += b.bytes;
      } else {
        ++pieces;
        largest = std::max(largest, b.bytes);
      }
    }
    append(out, str_cat("  segment of ", segment.bytes, segment.large ? " large" : " small", ", stream ",
                        segment.stream, ": ", segment.blocks.size() - pieces, " blocks with ", used, ", ", pieces,
                        " free, the largest ", largest, "\n"));
  }
  return out;
}

}  // namespace trt
