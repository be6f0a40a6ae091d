#include "core/storage.h"

#include <array>
#include <new>

#include "base/error.h"
#include "base/unwind.h"
#include "device/allocator.h"
#include "device/small_alloc.h"

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
  if (TRT_UNLIKELY(!device.is_cpu() || bytes > kInlineBytes)) return allocate_apart(bytes, device);
  char* block = static_cast<char*>(small_alloc<SmallUse::kData>(kHeader + bytes));
  return intrusive_ptr<StorageImpl>::adopt(new (block) StorageImpl(block + kHeader, bytes, device, Kind::Inline));
}

// The block of the header is had first: without it there is nothing to undo.
intrusive_ptr<StorageImpl> StorageImpl::allocate_apart(size_t bytes, Device device) {
  BackendMemory backend{};
  if (!device.is_cpu() && !device.is_meta()) {
    const BackendSlot& slot = backend_memory[static_cast<size_t>(device.type)];
    backend.allocate = slot.allocate.load();
    TRT_CHECK_CODE(backend.allocate, Code::kUnavailable, "no backend is loaded for device ", device);
  }
  void* const block = small_alloc(sizeof(StorageImpl));
  try {
    void* const data = backend.allocate ? backend.allocate(bytes, device.index) : device.is_cpu() ? cpu_allocate(bytes) : nullptr;
    const Kind kind = backend.allocate ? Kind::Backend : device.is_cpu() ? Kind::Cached : Kind::None;
    return intrusive_ptr<StorageImpl>::adopt(new (block) StorageImpl(data, bytes, device, kind));
  } catch (...) {
    small_free(block, sizeof(StorageImpl));
    throw;
  }
}

intrusive_ptr<StorageImpl> StorageImpl::wrap(void* data, size_t bytes, Device device, Deleter deleter, void* ctx) {
  auto* s = new (small_alloc(sizeof(StorageImpl))) StorageImpl(data, bytes, device, Kind::Host);
  s->deleter_ = deleter;
  s->ctx_ = ctx;
  return intrusive_ptr<StorageImpl>::adopt(s);
}

void StorageImpl::destroy(StorageImpl* self) {
  if (TRT_UNLIKELY(self->kind_ != Kind::Inline)) return destroy_apart(self);
  const size_t bytes = kHeader + self->bytes_;
  self->~StorageImpl();
  small_free<SmallUse::kData>(self, bytes);
}

void StorageImpl::destroy_apart(StorageImpl* self) {
  switch (self->kind_) {
    case Kind::Cached: cpu_free(self->data_, self->bytes_); break;
    case Kind::Host:
      if (self->deleter_) unwind(self->deleter_, self->ctx_);
      break;
    case Kind::Inline:
    case Kind::None: break;
    case Kind::Backend:
      backend_memory[static_cast<size_t>(self->device_.type)].release.load()(self->data_, self->bytes_, self->device_.index);
      break;
  }
  self->~StorageImpl();
  small_free(self, sizeof(StorageImpl));
}

}  // namespace trt
