#include "base/unwind.h"

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

}  // namespace

void unwind(void (*end)(void*), void* data) noexcept {
  if (depth >= kMaxDepth) {
    // Without memory for the note there is still the stack.
    if (auto* w = new (std::nothrow) Waiting{end, data, nullptr}) {
      (first ? last->next : first) = w;
      last = w;
      return;
    }
  }
  ++depth;
  end(data);
  while (depth == kMaxDepth && first) {
    const Waiting w = *first;
    delete first;
    first = w.next;
    w.end(w.data);
  }
  --depth;
}

}  // namespace trt
