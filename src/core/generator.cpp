#include "core/generator.h"

#include <pthread.h>

#include "base/lazy.h"

namespace trt {

GeneratorImpl::State GeneratorImpl::reserve(uint64_t counters) {
  std::lock_guard lock(mutex_);
  State s{seed_, offset_};
  offset_ += counters;
  return s;
}

void GeneratorImpl::set_seed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
  offset_ = 0;
}

GeneratorImpl::State GeneratorImpl::state() const {
  std::lock_guard lock(mutex_);
  return {seed_, offset_};
}

void GeneratorImpl::set_state(State s) {
  std::lock_guard lock(mutex_);
  seed_ = s.seed;
  offset_ = s.offset;
}

GeneratorImpl& default_generator() {
  static constinit Lazy<GeneratorImpl> generator;
  return generator.get([] {
    pthread_atfork([] { default_generator().lock_for_fork(); }, [] { default_generator().unlock_after_fork(); },
                   [] { default_generator().unlock_after_fork(); });
    return new GeneratorImpl(0);
  });
}

}  // namespace trt
