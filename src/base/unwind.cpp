#include "base/unwind.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <new>

namespace trt {

namespace {

constexpr int kMaxDepth = 32;

struct Waiting {
  void (*end)(void*);
  void* data;
  Waiting* next;
};

constinit TRT_TLS int depth = 0;
constinit TRT_TLS Waiting* first = nullptr;
constinit TRT_TLS Waiting* last = nullptr;

// Notes for when there is no memory, of all threads: thread-local memory is scarce. A chain, where each end leads to one more, needs one at a time.
constexpr int kSpare = 32;
constinit Waiting spare[kSpare] = {};
constinit std::atomic<uint32_t> spare_used = 0;

Waiting* take() noexcept {
  if (auto* w = new (std::nothrow) Waiting) return w;
  for (uint32_t used = spare_used.load(std::memory_order_relaxed);;) {
    const int i = std::countr_one(used);
    if (i >= kSpare) return nullptr;
    if (spare_used.compare_exchange_weak(used, used | uint32_t{1} << i, std::memory_order_acquire, std::memory_order_relaxed)) return &spare[i];
  }
}

void give_back(Waiting* w) noexcept {
  if (w >= spare && w < spare + kSpare) spare_used.fetch_and(~(uint32_t{1} << (w - spare)), std::memory_order_release);
  else delete w;
}

}  // namespace

void unwind(void (*end)(void*), void* data) noexcept {
  if (depth >= kMaxDepth) {
    // Without a note there is still the stack.
    if (Waiting* w = take()) {
      *w = {end, data, nullptr};
      (first ? last->next : first) = w;
      last = w;
      return;
    }
  }
  ++depth;
  end(data);
  while (depth == kMaxDepth && first) {
    const Waiting w = *first;
    give_back(first);
    first = w.next;
    w.end(w.data);
  }
  --depth;
}

}  // namespace trt
