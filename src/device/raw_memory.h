// What the caching allocator needs from a device: whole segments of memory, and events that tell when the work that
// was queued on a stream is done. The policy above it (caching_allocator.h) is the same for every device.
//
// Ownership: the allocator borrows a RawMemory, which must outlive it. Thread safety: the allocator calls all functions
// under its own lock; none may call back into it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trt {

class RawMemory {
 public:
  virtual ~RawMemory() = default;

  // The device's name for messages: "cpu", "cuda:0".
  virtual const char* name() const = 0;

  // At least `bytes` bytes, aligned to 512 bytes or better (64 when the allocator does not cache), or null when the
  // device has no more. Must not throw.
  virtual void* allocate(size_t bytes) = 0;
  // Gives back what allocate(bytes) returned.
  virtual void release(void* ptr, size_t bytes) = 0;

  // All the memory of the device, for messages; 0 when it is not known.
  virtual size_t total_bytes() const { return 0; }

  // Marks the present end of the work queued on `stream`. Null means that the work is done already, which is always so
  // on the CPU.
  virtual void* record_event(int64_t stream) {
    static_cast<void>(stream);
    return nullptr;
  }
  virtual bool event_done(void* event) {
    static_cast<void>(event);
    return true;
  }
  // Blocks until the event is done. Called only when memory ran out.
  virtual void wait_event(void* event) { static_cast<void>(event); }
  virtual void release_event(void* event) { static_cast<void>(event); }
};

}  // namespace trt
