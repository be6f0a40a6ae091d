// Between handles and objects.
//
// Note [Handles]
// A trt_tensor* is a TensorImpl*: making a handle costs nothing beyond the reference it holds. Other handle types are the
// objects themselves in the same way, or small structs defined here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/unwind.h"
#include "core/generator.h"
#include "core/tensor.h"
#include "tensorrt/base.h"
#include "tensorrt/tensor.h"

struct trt_status {
  // An object of the host.
  struct Payload {
    Payload(void* p, trt_destroy_fn d) : object(p), destroy(d) {}
    Payload(const Payload&) = delete;
    ~Payload() { trt::unwind(destroy, object); }
    void* object;
    trt_destroy_fn destroy;
  };

  int code;
  bool shared;  // preallocated: never freed
  std::string message;
  std::string op;
  std::shared_ptr<const Payload> payload;  // copies share it
};

struct trt_tensor_list {
  std::vector<trt::Tensor> tensors;
};

namespace trt::capi {

inline TensorImpl* impl(trt_tensor* t) { return reinterpret_cast<TensorImpl*>(t); }
inline const TensorImpl* impl(const trt_tensor* t) { return reinterpret_cast<const TensorImpl*>(t); }
inline trt_tensor* handle(TensorImpl* t) { return reinterpret_cast<trt_tensor*>(t); }

// The innermost scope of this thread (null: none); see scope.cpp.
struct Scope;
extern constinit TRT_TLS Scope* current_scope;
void scope_add(TensorImpl* t);

// Hands a tensor to the caller: one reference, noted in the thread's scope.
inline trt_tensor* to_handle(Tensor&& t) {
  TensorImpl* p = t.release_impl();
  if (TRT_UNLIKELY(current_scope != nullptr) && p) scope_add(p);
  return handle(p);
}

inline GeneratorImpl* generator(trt_generator* g) { return reinterpret_cast<GeneratorImpl*>(g); }

// The status of the exception being handled.
TRT_NOINLINE trt_status* status_of_exception(const char* op) noexcept;

// A status that a callback of the host returned, on its way to the caller of the outer function.
class StatusError : public HostError {
 public:
  explicit StatusError(trt_status* status) : status_(status) {}
  StatusError(const StatusError& o);
  ~StatusError() override { trt_status_release(status_); }
  trt_status* take() {
    trt_status* s = status_;
    status_ = nullptr;
    return s;
  }
  const char* what() const noexcept override { return "a callback failed"; }
  std::string_view message() const noexcept override { return status_ ? std::string_view(status_->message) : std::string_view(); }
  void append(std::string_view text) override {
    if (status_ && !status_->shared) status_->message += text;
  }

 private:
  trt_status* status_;
};

// Runs f; whatever it throws becomes a status.
template <typename F>
TRT_INLINE trt_status* guard(const char* op, F&& f) noexcept {
  try {
    f();
    return nullptr;
  } catch (...) {
    return status_of_exception(op);
  }
}

}  // namespace trt::capi
