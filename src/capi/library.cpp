// The library's one initializer: fills the operator table, layer by layer. It starts no thread and loads nothing.
#include "ops/register.h"

namespace trt::capi {
void prepare_statuses();
}

__attribute__((constructor)) static void initialize_library() {
  trt::capi::prepare_statuses();
  trt::register_operators();
  trt::register_autograd();
}
