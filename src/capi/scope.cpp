// Scopes: tensor handles that are released together.
#include <pthread.h>

#include <algorithm>

#include "base/lazy.h"
#include "capi/convert.h"
#include "capi/handles.h"

namespace trt::capi {

struct Scope {
  Scope* outer;
  std::vector<TensorImpl*> handles;
};

constinit TRT_TLS Scope* current_scope = nullptr;

void scope_add(TensorImpl* t) { current_scope->handles.push_back(t); }

namespace {

constinit TRT_TLS bool watched = false;  // end_thread will run

void end_scope() {
  Scope* scope = current_scope;
  current_scope = scope->outer;
  for (TensorImpl* t : scope->handles) t->release();
  delete scope;
}

// Scopes that a thread leaves open end with it. What they release may open others.
void end_thread(void*) {
  watched = false;
  while (current_scope) end_scope();
}

struct Key {
  pthread_key_t key{};
  bool made = false;
};
constinit Lazy<Key> end_key;

void watch() {
  const Key& k = end_key.get([] {
    auto* made = new Key;
    made->made = pthread_key_create(&made->key, end_thread) == 0;
    return made;
  });
  watched = k.made && pthread_setspecific(k.key, &watched) == 0;
}

}  // namespace

}  // namespace trt::capi

using namespace trt;
using namespace trt::capi;

extern "C" {

TRT_EXPORT trt_status* trt_scope_begin(void) {
  return guard("trt_scope_begin", [&] {
    if (!watched) watch();
    current_scope = new Scope{current_scope, {}};
  });
}

TRT_EXPORT trt_status* trt_scope_end(void) {
  return guard("trt_scope_end", [&] {
    TRT_CHECK_CODE(current_scope, Code::kFailedPrecondition, "no scope is open on this thread");
    end_scope();
  });
}

TRT_EXPORT trt_status* trt_scope_keep(trt_tensor* tensor) {
  return guard("trt_scope_keep", [&] {
    if (!tensor) throw_null_argument("tensor");
    for (Scope* s = current_scope; s; s = s->outer) {
      // The handle made last is the likeliest.
      auto at = std::find(s->handles.rbegin(), s->handles.rend(), impl(tensor));
      if (at != s->handles.rend()) {
        s->handles.erase(std::next(at).base());
        return;
      }
    }
    throw_error(Code::kNotFound, "the tensor is in no scope of this thread");
  });
}

}  // extern "C"
