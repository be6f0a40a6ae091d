// Handlers of fork() that run once per fork, in the forking thread.
//
// What is made at first use (lazy.h) registers its handlers while it is made. A child forked in the middle of that makes it again and
// registers them again: a lock taken by both would never be had.
#pragma once

#include <pthread.h>

#include <utility>

#include "base/macros.h"

namespace trt {

// False when there is no memory for the registration.
template <void (*before)(), void (*in_parent)(), void (*in_child)()>
bool at_fork() {
  static TRT_TLS constinit bool t_inside = false;
  return pthread_atfork([] { if (!std::exchange(t_inside, true)) before(); }, [] { if (std::exchange(t_inside, false)) in_parent(); },
                        [] { if (std::exchange(t_inside, false)) in_child(); }) == 0;
}

}  // namespace trt
