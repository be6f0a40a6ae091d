// The pool behind parallel_for.
//
// Note [Thread pool]
// A region is a record on the stack of the thread that called parallel_for. It is put into the pool's list, as many
// sleeping workers are woken as there is work for, and the caller starts on the chunks itself. It never waits for a
// worker to arrive: a worker that comes too late finds the region gone. At the end the caller takes the region out of
// the list and waits only for the workers that are inside. So a small region costs a wake-up call at most, many host
// threads share one set of workers, and nothing depends on how many workers the system granted.
//
// The range is cut into one part per thread and each part into chunks. A thread starts with the part that belongs to
// its number, the caller with part 0, and helps with the others' afterwards: consecutive loops over the same arrays
// find their data in the same core's cache, and a thread that was held up costs nothing.
//
// A worker without work watches for the next region for kWatch, about the distance between two large operators, and
// then sleeps: waking a sleeping processor costs the caller some 8 us on a virtual machine. Workers are detached and
// the pool is never destroyed: the end of the process ends them, wherever they are.
//
// In a child made by fork() the workers do not exist. There the pool is forgotten and the number of threads is 1; the
// child may set another one, which makes a pool of its own.
#include "base/parallel.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/macros.h"

namespace trt {

namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxParts = 64;        // threads beyond this number share parts
constexpr int kChunksPerThread = 4;  // enough to even out a thread that was held up
constexpr int64_t kRoundChunk = 64;  // large chunks end on multiples of this, away from shared cache lines
constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kWatch = std::chrono::microseconds(200);

// 0 until the first question. Everything else about the pool hides behind its slow path.
constinit std::atomic<int> g_threads{0};
TRT_TLS constinit bool t_serial = false;  // inside a region or a SerialGuard
TRT_TLS constinit bool t_in_chunk = false;

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Calls done() until it is true or kWatch is over; returns the last answer. After kSpin other threads that want the
// processor get it.
template <typename F>
bool watch_until(F&& done) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      relax();
    }
    const auto elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed > kWatch) return done();
    if (elapsed > kSpin) sched_yield();
  }
}

// The caller's floating-point modes (rounding, flush to zero) hold on the workers too.
class FloatModes {
 public:
#if defined(__x86_64__)
  // Both units: long double and fegetround() go by the x87 control word.
  FloatModes() : csr_(_mm_getcsr() & ~0x3fu) { asm volatile("fnstcw %0" : "=m"(x87_)); }
  void apply() const {
    _mm_setcsr(csr_);
    asm volatile("fldcw %0" : : "m"(x87_));
  }

 private:
  unsigned csr_;
  unsigned short x87_;
#else
  FloatModes() { std::fegetenv(&env_); }
  void apply() const { std::fesetenv(&env_); }

 private:
  std::fenv_t env_;
#endif
};

struct alignas(64) Part {
  std::atomic<int64_t> next;
  int64_t end;
};

struct Region {
  detail::ChunkFn fn;
  void* ctx;
  int64_t chunk;
  int parts;
  FloatModes modes;
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written by the one that set `failed`
  // Guarded by the pool's mutex:
  int tickets;  // how many more workers may enter
  Region* next = nullptr;
  Region* prev = nullptr;
  // Workers inside. The top bit says that the owner sleeps on this word.
  std::atomic<uint32_t> inside{0};
  Part part[kMaxParts];  // the first `parts` of them are in use

  bool has_work() const {
    if (failed.load(std::memory_order_relaxed)) return false;
    for (int i = 0; i < parts; ++i) {
      if (part[i].next.load(std::memory_order_relaxed) < part[i].end) return true;
    }
    return false;
  }

  void run(int first_part) noexcept {
    const bool serial = t_serial, in_chunk = t_in_chunk;
    t_serial = t_in_chunk = true;
    for (int i = 0; i < parts; ++i) {
      Part& p = part[(first_part + i) % parts];
      while (!failed.load(std::memory_order_relaxed)) {
        if (p.next.load(std::memory_order_relaxed) >= p.end) break;
        const int64_t begin = p.next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= p.end) break;
        try {
          fn(ctx, begin, std::min(begin + chunk, p.end));
        } catch (...) {
          if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
        }
      }
    }
    t_serial = serial;
    t_in_chunk = in_chunk;
  }
};

constexpr uint32_t kOwnerSleeps = 1u << 31;

// The processors on which this process may run. The main thread's mask stands for the process: the host may have
// bound the calling thread to one processor for reasons of its own.
struct CpuMask {
  alignas(cpu_set_t) unsigned char bits[8192 / 8] = {};
  cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(bits); }
  int count = 0;
  CpuMask() {
    if (sched_getaffinity(getpid(), sizeof bits, set()) == 0) count = CPU_COUNT_S(sizeof bits, set());
  }
};

class Pool {
 public:
  Pool* abandoned_before = nullptr;  // see after_fork_in_child
  void run(Region& region) {
    int wake = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      start_workers(g_threads.load(std::memory_order_relaxed) - 1);
      region.next = regions_;
      if (regions_) regions_->prev = &region;
      regions_ = &region;
      wake = publish(region);
    }
    if (wake) futex_wake(epoch_, wake);
    region.run(0);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      (region.prev ? region.prev->next : regions_) = region.next;
      if (region.next) region.next->prev = region.prev;
    }
    wait_for_workers(region);
  }

  // Surplus workers wake up and end; missing ones start with the next region.
  void resize(int workers) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      wanted_ = workers;
      prepared_ = -1;
      epoch_.fetch_add(1, std::memory_order_relaxed);
    }
    futex_wake(epoch_, INT_MAX);
  }

 private:
  // REQUIRES mutex_. Tells that there is something to do; returns how many sleepers to wake. Each woken worker wakes
  // the next ones, so that on a machine with many processors the caller does not pay for all of them.
  int publish(const Region& region) {
    epoch_.fetch_add(1, std::memory_order_release);
    return std::min({region.tickets, sleeping_, 2});
  }

  // REQUIRES mutex_. A system that refuses a thread is not asked again until the number of threads changes.
  void start_workers(int workers) {
    if (TRT_LIKELY(workers == prepared_)) return;
    prepared_ = wanted_ = workers;
    if (static_cast<int>(alive_.size()) < workers) alive_.resize(static_cast<size_t>(workers), false);
    sigset_t all, before;
    sigfillset(&all);  // the host's signal handlers run on the host's threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    CpuMask mask;
    if (mask.count > 0) pthread_attr_setaffinity_np(&attr, sizeof mask.bits, mask.set());
    for (int i = 0; i < workers; ++i) {
      if (alive_[static_cast<size_t>(i)]) continue;
      auto* const start = new Start{this, i};
      pthread_t thread;
      if (pthread_create(&thread, &attr, thread_main, start) != 0) {
        delete start;
        break;
      }
      alive_[static_cast<size_t>(i)] = true;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  struct Start {
    Pool* pool;
    int index;
  };

  static void* thread_main(void* arg) {
    const Start start = *static_cast<Start*>(arg);
    delete static_cast<Start*>(arg);
    pthread_setname_np(pthread_self(), "trt-worker");
    start.pool->work(start.index);
    return nullptr;
  }

  // REQUIRES mutex_. The region with work that has the fewest helpers.
  Region* choose() const {
    Region* best = nullptr;
    uint32_t fewest = UINT32_MAX;
    for (Region* r = regions_; r; r = r->next) {
      const uint32_t helpers = r->inside.load(std::memory_order_relaxed);
      if (r->tickets > 0 && helpers < fewest && r->has_work()) {
        best = r;
        fewest = helpers;
      }
    }
    return best;
  }

  void work(int index) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (index < wanted_) {
      const uint32_t seen = epoch_.load(std::memory_order_relaxed);
      if (Region* region = choose()) {
        --region->tickets;
        region->inside.fetch_add(1, std::memory_order_relaxed);
        const int wake = region->tickets > 0 && sleeping_ > 0 ? std::min({region->tickets, sleeping_, 2}) : 0;
        lock.unlock();
        if (wake) futex_wake(epoch_, wake);
        region->modes.apply();
        region->run(index + 1);
        leave(*region);
        lock.lock();
        continue;
      }
      lock.unlock();
      const auto changed = [&] { return epoch_.load(std::memory_order_relaxed) != seen; };
      if (watch_until(changed)) {
        lock.lock();
        continue;
      }
      lock.lock();
      if (changed()) continue;
      ++sleeping_;
      lock.unlock();
      futex_wait(epoch_, seen);
      lock.lock();
      --sleeping_;
    }
    alive_[static_cast<size_t>(index)] = false;
  }

  // After the decrement the region may be gone. Its address is only used to wake: at worst some other waiter of this
  // process, which checks its own condition again.
  static void leave(Region& region) {
    if (region.inside.fetch_sub(1, std::memory_order_acq_rel) == (kOwnerSleeps | 1)) futex_wake(region.inside, 1);
  }

  static void wait_for_workers(Region& region) {
    auto& inside = region.inside;
    if (inside.load(std::memory_order_acquire) == 0) return;
    if (watch_until([&] { return inside.load(std::memory_order_acquire) == 0; })) return;
    uint32_t now = inside.fetch_or(kOwnerSleeps, std::memory_order_acq_rel) | kOwnerSleeps;
    while (now != kOwnerSleeps) {
      futex_wait(inside, now);
      now = inside.load(std::memory_order_acquire);
    }
  }

  std::mutex mutex_;
  Region* regions_ = nullptr;
  int sleeping_ = 0;
  int wanted_ = 0;                              // workers with a smaller index live on
  int prepared_ = -1;                           // start_workers was done for this number
  std::vector<bool> alive_;                     // by index
  alignas(64) std::atomic<uint32_t> epoch_{0};  // changes whenever a sleeping worker should look again
};

constinit std::atomic<Pool*> g_pool{nullptr};

// The parent's pool in a child process: its threads are not there, and its locks may be held, so it is left alone for good. Kept
// reachable, or leak checkers would report it.
constinit Pool* g_abandoned = nullptr;

void after_fork_in_child() {
  if (Pool* parents = g_pool.exchange(nullptr, std::memory_order_relaxed)) {
    parents->abandoned_before = g_abandoned;
    g_abandoned = parents;
    g_threads.store(1, std::memory_order_relaxed);
  }
}

// Registered twice by a child that was forked while its parent registered; the second run finds nothing to do.
constinit Lazy<bool> g_fork_handler;

Pool& pool() {
  Pool* p = g_pool.load(std::memory_order_acquire);
  if (TRT_LIKELY(p != nullptr)) return *p;
  g_fork_handler.get([] { return new bool(pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0); });
  auto* const fresh = new Pool;
  if (g_pool.compare_exchange_strong(p, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *p;
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// "<quota> <period>" in microseconds as processors, rounded up; INT_MAX for no limit.
int quota_to_cpus(const std::string& quota, const std::string& period) {
  const auto q = parse_int(quota), p = parse_int(period);
  if (!q || !p || *q <= 0 || *p <= 0) return INT_MAX;
  return static_cast<int>(std::clamp<int64_t>((*q + *p - 1) / *p, 1, INT_MAX));
}

// The smallest processor quota of this process's control group and its parents (version 2, then version 1). Inside a
// container the group's own path is often not visible; the root of the mount then is the container's group.
int cgroup_cpus() {
  int cpus = INT_MAX;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t a = line.find(':'), b = a == std::string::npos ? a : line.find(':', a + 1);
    if (b == std::string::npos) continue;
    const std::string controllers = line.substr(a + 1, b - a - 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    for (std::string path = line.substr(b + 1);;) {
      if (path == "/") path.clear();
      if (v2) {
        const std::string text = first_line("/sys/fs/cgroup" + path + "/cpu.max");
        const size_t blank = text.find(' ');
        if (blank != std::string::npos) {
          cpus = std::min(cpus, quota_to_cpus(text.substr(0, blank), text.substr(blank + 1)));
        }
      } else {
        const std::string dir = "/sys/fs/cgroup/cpu" + path;
        cpus = std::min(cpus,
                        quota_to_cpus(first_line(dir + "/cpu.cfs_quota_us"), first_line(dir + "/cpu.cfs_period_us")));
      }
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos) break;
      path.resize(slash);
    }
  }
  return cpus;
}

int default_threads() {
  const int64_t asked = env_int("TRT_NUM_THREADS", 0, 0, kMaxThreads);
  if (asked > 0) return static_cast<int>(asked);
  CpuMask mask;
  const int cpus = mask.count > 0 ? mask.count : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp(std::min(cpus, cgroup_cpus()), 1, kMaxThreads);
}

TRT_NOINLINE int init_threads() {
  int expected = 0;
  const int n = default_threads();
  return g_threads.compare_exchange_strong(expected, n, std::memory_order_relaxed) ? n : expected;
}

}  // namespace

int num_threads() {
  const int n = g_threads.load(std::memory_order_relaxed);
  return TRT_LIKELY(n > 0) ? n : init_threads();
}

void set_num_threads(int n) {
  TRT_CHECK(n >= 1 && n <= kMaxThreads, "set_num_threads: expected a number from 1 to ", kMaxThreads, ", got ", n);
  const int before = g_threads.exchange(n, std::memory_order_relaxed);
  Pool* const p = g_pool.load(std::memory_order_acquire);
  if (p && before != n) p->resize(n - 1);
}

bool in_parallel_region() { return t_in_chunk; }

SerialGuard::SerialGuard() : previous_(t_serial) { t_serial = true; }
SerialGuard::~SerialGuard() { t_serial = previous_; }

namespace detail {

// The number of threads, when not known yet (0), is found out by parallel_for_impl.
bool want_parallel(int64_t n, int64_t grain) {
  return n > grain && g_threads.load(std::memory_order_relaxed) != 1 && !t_serial;
}

void parallel_for_impl(int64_t begin, int64_t end, int64_t grain, ChunkFn fn, void* ctx) {
  const int threads = num_threads();
  const int64_t n = end - begin;
  grain = std::max<int64_t>(grain, 1);
  int64_t chunk = std::max(grain, (n - 1) / (int64_t{threads} * kChunksPerThread) + 1);
  if (chunk >= 16 * kRoundChunk) chunk = (chunk + kRoundChunk - 1) / kRoundChunk * kRoundChunk;
  // A rest smaller than the grain must be the last chunk of the whole range, so parts consist of whole chunks.
  const int64_t chunks = (n - 1) / chunk + 1;
  if (threads == 1 || chunks == 1) return fn(ctx, begin, end);

  Region region;
  region.fn = fn;
  region.ctx = ctx;
  region.chunk = chunk;
  region.parts = static_cast<int>(std::min<int64_t>({threads, kMaxParts, chunks}));
  region.tickets = static_cast<int>(std::min<int64_t>(threads, chunks)) - 1;
  for (int64_t i = 0; i < region.parts; ++i) {
    region.part[i].next.store(begin + chunks * i / region.parts * chunk, std::memory_order_relaxed);
    region.part[i].end = std::min(end, begin + chunks * (i + 1) / region.parts * chunk);
  }
  pool().run(region);
  if (region.failed.load(std::memory_order_relaxed)) std::rethrow_exception(region.error);
}

}  // namespace detail

}  // namespace trt
