// What a host gives with a callback: user_data and the function that frees it.
#pragma once

#include <utility>

#include "base/unwind.h"
#include "capi/handles.h"
#include "tensorrt/base.h"

namespace trt::capi {

// Owns user_data: destroy runs exactly once, when the last holder goes, also on the way out of a function that fails.
class HostData {
 public:
  HostData(void* data, trt_destroy_fn destroy) : data_(data), destroy_(destroy) {}
  HostData(HostData&& o) noexcept : data_(o.data_), destroy_(std::exchange(o.destroy_, nullptr)) {}
  HostData& operator=(HostData&&) = delete;
  ~HostData() {
    if (destroy_) unwind(destroy_, data_);
  }
  void* get() const { return data_; }

 private:
  void* data_;
  trt_destroy_fn destroy_;
};

// While a callback of the host runs: handles that it makes and gives to the library must not also be released by a scope that is open on this
// thread.
class NoScope {
 public:
  NoScope() : previous_(current_scope) { current_scope = nullptr; }
  ~NoScope() { current_scope = previous_; }
  NoScope(const NoScope&) = delete;
  NoScope& operator=(const NoScope&) = delete;

 private:
  Scope* previous_;
};

}  // namespace trt::capi
