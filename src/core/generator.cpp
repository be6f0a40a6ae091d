#include "core/generator.h"

#include "base/fork.h"
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

static void lock_default() { default_generator().lock_for_fork(); }
static void unlock_default() { default_generator().unlock_after_fork(); }

GeneratorImpl& default_generator() {
  static constinit Lazy<GeneratorImpl> generator;
  return generator.get([] {
    at_fork<lock_default, unlock_default, unlock_default>();
    return new GeneratorImpl(0);
  });
}

}  // namespace trt
