// Ends long chains of owners.
//
// Note [Long chains]
// What an object's end ends may end another one, and so on for as long as the host made the chain: gradients of gradients, hooks that hold
// tensors with hooks. unwind() calls directly down to a certain depth; what comes below waits until that depth is free again, so that
// the stack does not grow with the chain. Everything has ended when the outermost call returns.
//
// Thread safety: each thread unwinds for itself.
#pragma once

#include "base/macros.h"

namespace trt {

// Calls end(data). `end` may call unwind, and must not throw.
void unwind(void (*end)(void*), void* data) noexcept;

}  // namespace trt
