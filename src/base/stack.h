// What is left of the calling thread's stack.
#pragma once

#include <cstddef>

namespace trt {

// Bytes between here and the end of the stack that this thread may still use, less a reserve for what hosts keep there (the JVM's guard zones, the
// handling of errors). The end is looked up once per thread. Any thread.
size_t stack_left();

}  // namespace trt
