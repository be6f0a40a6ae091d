// Temporary memory of CPU kernels: 64-byte aligned buffers that a thread keeps for its next kernel call.
//
// A Scratch object borrows a buffer from a small cache of the calling thread (growing it when it is too short) and
// gives it back at the end of its scope. Contents are undefined at first. Several may be alive at once on a thread, in
// any order, which also covers a thread that picks up another kernel's task while it waits. A buffer may be read and
// written by other threads while its owner lives. The cache holds at most kSlots buffers per thread and is freed at
// thread exit. Throws kOutOfMemory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trt::cpu {

class Scratch {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr int kSlots = 6;

  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  size_t capacity_;
};

}  // namespace trt::cpu
