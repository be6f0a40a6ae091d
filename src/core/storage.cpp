#include "core/storage.h"

#include <array>
#include <new>

#include "base/error.h"
#include "base/small_alloc.h"
#include "device/allocator.h"

namespace trt {

namespace {

// Small tensors: header and data in one block.
constexpr size_t kHeader = (sizeof(StorageImpl) + 63) / 64 * 64;
constexpr size_t kInlineBytes = 1024 - kHeader;

struct BackendSlot {
  std::atomic<void* (*)(size_t, int8_t)> allocate{nullptr};
  std::atomic<void (*)(void*, size_t, int8_t)> release{nullptr};
};
std::array<BackendSlot, kNumDeviceTypes> backend_memory;

}  // namespace

void register_backend_memory(DeviceType type, BackendMemory memory) {
  auto& slot = backend_memory[static_cast<size_t>(type)];
  slot.release.store(memory.release);
  slot.allocate.store(memory.allocate);
}

intrusive_ptr<StorageImpl> StorageImpl::allocate(size_t bytes, Device device) {
  if (TRT_LIKELY(device.is_cpu())) {
    if (bytes <= kInlineBytes) {
      char* block = static_cast<char*>(small_alloc(kHeader + bytes));
      return intrusive_ptr<StorageImpl>::adopt(new (block) StorageImpl(block + kHeader, bytes, device, Kind::Inline));
    }
    void* data = cpu_allocate(bytes);
    void* block;
    try {
      block = small_alloc(sizeof(StorageImpl));
    } catch (...) {
      cpu_free(data, bytes);
      throw;
    }
    return intrusive_ptr<StorageImpl>::adopt(new (block) StorageImpl(data, bytes, device, Kind::Cached));
  }
  if (device.is_meta())
    return intrusive_ptr<StorageImpl>::adopt(new (small_alloc(sizeof(StorageImpl))) StorageImpl(nullptr, bytes, device, Kind::None));
  auto* allocate_fn = backend_memory[static_cast<size_t>(device.type)].allocate.load();
  TRT_CHECK_CODE(allocate_fn, Code::kUnavailable, "no backend is loaded for device ", device);
  void* data = allocate_fn(bytes, device.index);
  void* block = small_alloc(sizeof(StorageImpl));
  return intrusive_ptr<StorageImpl>::adopt(new (block) StorageImpl(data, bytes, device, Kind::Backend));
}

intrusive_ptr<StorageImpl> StorageImpl::wrap(void* data, size_t bytes, Device device, Deleter deleter, void* ctx) {
  auto* s = new (small_alloc(sizeof(StorageImpl))) StorageImpl(data, bytes, device, Kind::Host);
  s->deleter_ = deleter;
  s->ctx_ = ctx;
  return intrusive_ptr<StorageImpl>::adopt(s);
}

void StorageImpl::destroy(StorageImpl* self) {
  switch (self->kind_) {
    case Kind::Inline: {
      const size_t bytes = kHeader + self->bytes_;
      self->~StorageImpl();
      small_free(self, bytes);
      return;
    }
    case Kind::Cached: cpu_free(self->data_, self->bytes_); break;
    case Kind::Host:
      if (self->deleter_) self->deleter_(self->ctx_);
      break;
    case Kind::None: break;
    case Kind::Backend:
      backend_memory[static_cast<size_t>(self->device_.type)].release.load()(self->data_, self->bytes_, self->device_.index);
      break;
  }
  self->~StorageImpl();
  small_free(self, sizeof(StorageImpl));
}

}  // namespace trt
