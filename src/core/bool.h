// An element of a bool tensor. Its memory may hold any byte, since hosts write it and fresh memory is not initialized: zero is false, every
// other byte true. A C++ bool must never be read there.
#pragma once

#include <cstdint>

namespace trt {

struct Bool {
  uint8_t byte;

  Bool() = default;
  constexpr Bool(bool v) : byte(v) {}
  constexpr operator bool() const { return byte != 0; }
};
static_assert(sizeof(Bool) == 1);

}  // namespace trt
