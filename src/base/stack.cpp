#include "base/stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>

#include "base/macros.h"

namespace trt {

namespace {

constexpr size_t kReserve = 256 << 10;

constinit TRT_TLS uintptr_t stack_end = 0;  // 0: not looked up; the lowest address that may be used

TRT_NOINLINE uintptr_t find_end(uintptr_t here) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
  void* low = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_destroy(&attributes);
  const auto bottom = reinterpret_cast<uintptr_t>(low);
  // A host may run its code on a stack of its own (coroutines): then nothing is known.
  if (!known || here < bottom || here > bottom + size) return 1;
  return bottom + std::min(kReserve, size / 4);
}

}  // namespace

size_t stack_left() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (TRT_UNLIKELY(stack_end == 0)) stack_end = find_end(here);
  return here > stack_end ? here - stack_end : 0;
}

}  // namespace trt
