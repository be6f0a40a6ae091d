#include "kernels/cpu/scratch.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/lazy.h"
#include "base/macros.h"

namespace trt::cpu {

namespace {

struct Buffer {
  void* data = nullptr;
  size_t capacity = 0;
};

// Trivially destructible: a key's destructor frees the buffers. (That of a thread_local object does not run for a main thread that ends before the process.)
struct Cache {
  Buffer slots[Scratch::kSlots];
  bool watched;  // the destructor will run
};
constinit TRT_TLS Cache cache = {};

void end_thread(void* of_thread) {
  Cache& c = *static_cast<Cache*>(of_thread);
  for (auto& s : c.slots) std::free(std::exchange(s, {}).data);
  c.watched = false;  // another destructor of this thread may call a kernel: then once more
}

struct Key {
  pthread_key_t key;
  bool good = pthread_key_create(&key, end_thread) == 0;
};
constinit Lazy<Key> g_key;

// Whether the calling thread may keep buffers.
bool watch() noexcept {
  if (cache.watched) return true;
  try {
    const Key& k = g_key.get([] { return new Key; });
    cache.watched = k.good && pthread_setspecific(k.key, &cache) == 0;
  } catch (const std::bad_alloc&) {
  }
  return cache.watched;
}

constexpr size_t kHugePage = size_t(2) << 20;

Buffer allocate(size_t bytes) {
  // Powers of two and their halves between: a sequence of growing requests settles after few allocations.
  size_t capacity = 4096;
  while (capacity < bytes && capacity <= SIZE_MAX / 4) capacity *= 2;
  if (capacity >= bytes && capacity / 4 * 3 >= bytes) capacity = capacity / 4 * 3;
  TRT_CHECK_CODE(capacity >= bytes, Code::kOutOfMemory, "scratch memory: ", bytes, " bytes were asked for");
  const bool huge = capacity >= kHugePage;
  Buffer b;
  if (::posix_memalign(&b.data, huge ? kHugePage : Scratch::kAlignment, capacity) != 0)
    throw_error(Code::kOutOfMemory, str_cat("scratch memory: the system refused ", capacity, " bytes"));
  if (huge) ::madvise(b.data, capacity, MADV_HUGEPAGE);
  b.capacity = capacity;
  return b;
}

}  // namespace

Scratch::Scratch(size_t bytes) {
  Buffer* best = nullptr;     // the smallest that is large enough
  Buffer* largest = nullptr;  // otherwise the largest one is replaced
  for (auto& s : cache.slots) {
    if (!s.data) continue;
    if (s.capacity >= bytes && (!best || s.capacity < best->capacity)) best = &s;
    if (!largest || s.capacity > largest->capacity) largest = &s;
  }
  if (!best && largest) {
    std::free(largest->data);
    *largest = {};
  }
  Buffer taken = best ? std::exchange(*best, {}) : allocate(bytes);
  data_ = taken.data;
  capacity_ = taken.capacity;
}

Scratch::~Scratch() {
  Buffer mine{data_, capacity_};
  if (!watch()) {
    std::free(mine.data);
    return;
  }
  Buffer* smallest = nullptr;
  for (auto& s : cache.slots) {
    if (!s.data) {
      s = mine;
      return;
    }
    if (!smallest || s.capacity < smallest->capacity) smallest = &s;
  }
  if (smallest->capacity < mine.capacity) std::swap(*smallest, mine);
  std::free(mine.data);
}

}  // namespace trt::cpu
