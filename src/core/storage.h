// StorageImpl: a block of memory on one device, shared by the tensors that view it.
//
// It also carries the version counter: every in-place change of any tensor on the storage raises it, and a tensor saved
// for backward remembers the value it saw (Note [Version counter] in autograd/saved_tensor.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/intrusive_ptr.h"
#include "core/device.h"

namespace trt {

class StorageImpl final : public RefCounted<StorageImpl> {
 public:
  using Deleter = void (*)(void* ctx);

  // Memory of the library's allocator for `device`, not initialized. On Meta there is none: data() is null.
  static intrusive_ptr<StorageImpl> allocate(size_t bytes, Device device);
  // Memory of the host: deleter(ctx) runs once when the last tensor lets go (deleter may be null).
  static intrusive_ptr<StorageImpl> wrap(void* data, size_t bytes, Device device, Deleter deleter, void* ctx);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool is_host_memory() const { return kind_ == Kind::Host; }

  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  static void destroy(StorageImpl* self);

 private:
  friend class RefCounted<StorageImpl>;
  enum class Kind : uint8_t { Inline, Cached, Host, None, Backend };
  StorageImpl(void* data, size_t bytes, Device device, Kind kind) : kind_(kind), device_(device), bytes_(bytes), data_(data) {}
  ~StorageImpl() = default;
  // For memory that lies apart from the header.
  [[gnu::noinline]] static intrusive_ptr<StorageImpl> allocate_apart(size_t bytes, Device device);
  [[gnu::noinline]] static void destroy_apart(StorageImpl* self);

  std::atomic<uint32_t> version_{0};
  Kind kind_;
  Device device_;
  size_t bytes_;
  void* data_;
  Deleter deleter_ = nullptr;
  void* ctx_ = nullptr;
};

// Note [Backend memory]
// A backend other than the CPU registers how its memory is had; StorageImpl::allocate looks the functions up by device
// type. A device type without them is a clear kUnavailable error.
struct BackendMemory {
  void* (*allocate)(size_t bytes, int8_t device_index);
  void (*release)(void* data, size_t bytes, int8_t device_index);
};
void register_backend_memory(DeviceType type, BackendMemory memory);

}  // namespace trt
