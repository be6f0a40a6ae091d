// GeneratorImpl: the state of a random stream: a seed and a position. Numbers are Philox4x32-10 of (seed, position, element
// index), so they do not depend on the number of threads and any backend can make the same ones (core/philox.h).
//
// Thread safety: internally synchronized; two threads that draw from one generator get disjoint parts of its stream.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/intrusive_ptr.h"

namespace trt {

class GeneratorImpl final : public RefCounted<GeneratorImpl> {
 public:
  explicit GeneratorImpl(uint64_t seed) : seed_(seed) {}
  struct State {
    uint64_t seed;
    uint64_t offset;  // in 128-bit counters
  };
  // Takes `counters` positions of the stream and returns where they begin.
  State reserve(uint64_t counters);
  void set_seed(uint64_t seed);
  State state() const;
  void set_state(State s);

  // For pthread_atfork: the child must find the lock free.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

// The process-wide default generator (seed 0 until set).
GeneratorImpl& default_generator();

}  // namespace trt
