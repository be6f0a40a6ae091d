// Intra-operator parallelism: one pool of threads for the whole process, started on first use. Idle workers watch for new work
// for at most 200 microseconds, then sleep.
//
// Note [Deterministic parallelism]
// Kernels may use any split for element-wise work. A reduction must cut its input into chunks whose bounds depend on
// the sizes only, never on num_threads(), and combine the partial results in index order. So results do not depend on
// the number of threads.
#pragma once

#include <cstdint>
#include <type_traits>

namespace trt {

// The number of threads that parallel_for may use, the calling one included. At first: the number of processors that
// the process may run on (affinity mask and cgroup quota respected), or TRT_NUM_THREADS.
int num_threads();
void set_num_threads(int n);  // throws kInvalidArgument unless 1 <= n <= 1024
bool in_parallel_region();    // true on a thread that runs a chunk of parallel_for

// A serial region on this thread: parallel_for inside runs on the calling thread only.
class SerialGuard {
 public:
  SerialGuard();
  ~SerialGuard();
  SerialGuard(const SerialGuard&) = delete;
  SerialGuard& operator=(const SerialGuard&) = delete;

 private:
  bool previous_;
};

namespace detail {
using ChunkFn = void (*)(void* ctx, int64_t begin, int64_t end);
void parallel_for_impl(int64_t begin, int64_t end, int64_t grain, ChunkFn fn, void* ctx);
bool want_parallel(int64_t n, int64_t grain);
}  // namespace detail

// Calls f(chunk_begin, chunk_end) over disjoint chunks that cover [begin, end). No chunk but the last is smaller than
// `grain`. Runs on the calling thread when the range is at most `grain`, when one thread is set, or inside another
// parallel_for. The first exception thrown by a chunk is rethrown here after all chunks ended.
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (!detail::want_parallel(end - begin, grain)) {
    f(begin, end);
    return;
  }
  using Fn = std::remove_reference_t<F>;
  detail::parallel_for_impl(
      begin, end, grain, [](void* ctx, int64_t b, int64_t e) { (*static_cast<Fn*>(ctx))(b, e); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace trt
