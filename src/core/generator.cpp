#include "core/generator.h"

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
  // Never destroyed: operators may run while the process exits.
  static GeneratorImpl* generator = new GeneratorImpl(0);
  return *generator;
}

}  // namespace trt
