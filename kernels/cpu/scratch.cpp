#include "kernels/cpu/scratch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace trt::cpu {

namespace {

struct Buffer {
  void* data = nullptr;
  size_t capacity = 0;
};

struct Cache {
  Buffer slots[Scratch::kSlots];
  ~Cache() {
    for (auto& s : slots) {
      std::free(s.data);
      s = {};
    }
  }
};

Cache& cache() {
  static thread_local Cache c;
  return c;
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
  Cache& c = cache();
  Buffer* best = nullptr;     // the smallest that is large enough
  Buffer* largest = nullptr;  // otherwise the largest one is replaced
  for (auto& s : c.slots) {
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
  Buffer* smallest = nullptr;
  for (auto& s : cache().slots) {
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
