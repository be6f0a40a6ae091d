// Handles of nn.h and optim.h, and option structs.
//
// Note [Option structs]
// The host's struct may be older (shorter) than the library's: what it lacks has its default. A longer one comes from a newer
// header and is refused, since its options cannot be honoured. A field must never be put into the padding behind an older
// struct's last field, so structs end without padding.
#pragma once

#include <cstring>
#include <type_traits>

#include "capi/convert.h"
#include "nn/module.h"
#include "tensorrt/nn.h"

namespace trt::capi {

inline trt_module* handle(nn::Module* m) { return reinterpret_cast<trt_module*>(m); }
inline trt_state_dict* handle(StateDict* d) { return reinterpret_cast<trt_state_dict*>(d); }
inline nn::Module* impl(trt_module* m) { return reinterpret_cast<nn::Module*>(m); }
inline StateDict* impl(trt_state_dict* d) { return reinterpret_cast<StateDict*>(d); }

// Both with a reference of their own: the host may release its handle in a callback that the call makes.
inline nn::ModulePtr checked(const trt_module* m, const char* name = "module") {
  if (!m) throw_null_argument(name);
  return nn::ModulePtr(reinterpret_cast<nn::Module*>(const_cast<trt_module*>(m)));
}
inline StateDictPtr checked(const trt_state_dict* d, const char* name = "dict") {
  if (!d) throw_null_argument(name);
  return StateDictPtr(reinterpret_cast<StateDict*>(const_cast<trt_state_dict*>(d)));
}
inline Tensor checked(const trt_tensor* t, const char* name) {
  if (!t) throw_null_argument(name);
  return Tensor(intrusive_ptr<TensorImpl>(const_cast<TensorImpl*>(impl(t))));
}

template <typename T>
T read_options(const T* options, void (*init)(T*)) {
  static_assert(std::is_trivially_copyable_v<T>);
  T result;
  init(&result);
  if (!options) return result;
  size_t size;
  std::memcpy(&size, options, sizeof size);
  TRT_CHECK(size >= sizeof(size_t), "options->struct_size is ", size, ": call the _init function of the options first");
  TRT_CHECK(size <= sizeof(T), "options->struct_size is ", size, ", this library knows ", sizeof(T), ": the header is newer than the library, or the options were "
            "not set up with their _init function");
  std::memcpy(&result, options, size);
  result.struct_size = sizeof(T);
  return result;
}

}  // namespace trt::capi
