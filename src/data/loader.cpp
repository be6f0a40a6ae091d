#include "data/loader.h"

#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "base/parallel.h"
#include "core/modes.h"

namespace trt::data {

namespace {

// Puts a thread's modes in place for a while.
class ThreadStateGuard {
 public:
  explicit ThreadStateGuard(const ThreadState& state) : previous_(thread_state) { thread_state = state; }
  ~ThreadStateGuard() { thread_state = previous_; }
  ThreadStateGuard(const ThreadStateGuard&) = delete;
  ThreadStateGuard& operator=(const ThreadStateGuard&) = delete;

 private:
  ThreadState previous_;
};

// One batch on its way. The ring of slots is indexed by the batch's number.
struct Slot {
  bool ready = false;
  std::vector<Tensor> batch;
  std::exception_ptr error;
};

}  // namespace

struct DataLoader::State {
  State(DatasetPtr d, BatchSampler s, const LoaderOptions& o) : dataset(std::move(d)), sampler(std::move(s)), options(o) {}

  DatasetPtr dataset;
  BatchSampler sampler;
  const LoaderOptions options;
  ThreadState modes;       // of the thread that began the epoch
  bool begun = false;      // modes were taken
  std::vector<int64_t> indices;  // of the batch being made, without workers

  // All below, and with workers all above but dataset and options, is guarded by the mutex.
  std::mutex mutex;
  std::condition_variable work;   // an index list may be drawn, or stop
  std::condition_variable ready;  // a slot became ready, or the end of the epoch was met
  std::vector<Slot> slots;
  uint64_t generation = 0;  // raised by reset: batches of an older one are dropped
  uint64_t drawn = 0;       // batches whose indices were drawn in this epoch
  uint64_t delivered = 0;
  bool exhausted = false;   // the sampler has no further batch
  bool stop = false;

  std::vector<std::thread> threads;
  pid_t owner = 0;  // the process that has the threads; 0 before they start

  void run_worker();
  void begin(uint64_t seed, uint64_t epoch);
};

DataLoader::DataLoader(DatasetPtr dataset, std::unique_ptr<Sampler> sampler, const LoaderOptions& options) {
  TRT_CHECK(options.num_workers >= 0 && options.num_workers <= kMaxWorkers, "the number of workers must be between 0 and ", kMaxWorkers, ", got ",
            options.num_workers);
  TRT_CHECK(options.prefetch_factor >= 1 && options.prefetch_factor <= 1024, "the prefetch factor must be between 1 and 1024, got ", options.prefetch_factor);
  BatchSampler batch_sampler(std::move(sampler), options.batch_size, options.drop_last);
  batches_ = batch_sampler.batches();
  state_ = std::make_shared<State>(std::move(dataset), std::move(batch_sampler), options);
  state_->sampler.start(seed_, epoch_);
}

DataLoader::~DataLoader() {
  State& s = *state_;
  if (s.owner == 0) return;
  if (s.owner != ::getpid()) {
    // Note [Threads of a loader]: nothing of the state may be touched, so it is left where it is.
    new std::shared_ptr<State>(std::move(state_));
    return;
  }
  {
    std::lock_guard lock(s.mutex);
    s.stop = true;
  }
  s.work.notify_all();
  for (std::thread& t : s.threads) {
    if (t.get_id() == std::this_thread::get_id()) t.detach();
    else t.join();
  }
}

void DataLoader::State::begin(uint64_t seed, uint64_t epoch) {
  modes = thread_state;
  begun = true;
  sampler.start(seed, epoch);
  for (Slot& slot : slots) slot = Slot{};
  ++generation;
  drawn = delivered = 0;
  exhausted = false;
}

void DataLoader::State::run_worker() {
  SerialGuard serial;
  std::vector<int64_t> list;
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [&] { return stop || (!exhausted && drawn < delivered + slots.size()); });
    if (stop) return;
    const uint64_t number = drawn, mine = generation;
    Slot result;
    bool drew = false;
    try {
      drew = sampler.next(list);
    } catch (...) {
      result.error = std::current_exception();
      exhausted = true;
      drew = true;
      list.clear();
    }
    if (!drew) {
      exhausted = true;
      ready.notify_all();
      continue;
    }
    ++drawn;
    const ThreadState epoch_modes = modes;
    lock.unlock();
    if (!result.error) {
      try {
        ThreadStateGuard guard(epoch_modes);
        result.batch = dataset->batch(list);
      } catch (...) {
        result.error = std::current_exception();
      }
    }
    result.ready = true;
    lock.lock();
    if (mine == generation && !stop) {
      std::swap(slots[number % slots.size()], result);
      ready.notify_all();
    }
    // Whatever was dropped may run the host's code when it is freed, so not under the lock.
    lock.unlock();
    result = Slot{};
    lock.lock();
  }
}

void DataLoader::start_workers() {
  State& s = *state_;
  const int n = s.options.num_workers;
  s.slots.resize(static_cast<size_t>(n) * static_cast<size_t>(s.options.prefetch_factor));
  s.threads.reserve(static_cast<size_t>(n));
  s.owner = ::getpid();
  for (int i = 0; i < n; ++i) {
    try {
      s.threads.emplace_back([state = state_] { state->run_worker(); });
    } catch (const std::system_error& e) {
      // Fewer workers make the same batches; without any the loader cannot go on.
      if (!s.threads.empty()) break;
      s.owner = 0;
      throw_error(Code::kUnavailable, str_cat("data loader: no worker thread can be started: ", e.code().message()));
    }
  }
}

bool DataLoader::next_inline(std::vector<Tensor>* out) {
  State& s = *state_;
  if (s.exhausted || !s.sampler.next(s.indices)) {
    s.exhausted = true;
    return false;
  }
  // The dataset may be the host's and use this loader again; the list in use must stay as it is.
  std::vector<int64_t> list = std::move(s.indices);
  ThreadStateGuard guard(s.modes);
  UncancelledGuard finish;  // a batch that was begun and is given up would be lost
  std::vector<Tensor> batch = s.dataset->batch(list);
  s.indices = std::move(list);
  *out = std::move(batch);
  return true;
}

bool DataLoader::next(std::vector<Tensor>* out) {
  State& s = *state_;
  if (s.owner != 0)
    TRT_CHECK_CODE(s.owner == ::getpid(), Code::kFailedPrecondition,
                   "data loader: its worker threads belong to the process before fork(); create a new loader in the child");
  check_cancelled();
  if (!s.begun) {
    s.modes = thread_state;
    s.begun = true;
  }
  if (s.options.num_workers == 0) return next_inline(out);
  if (s.owner == 0) start_workers();

  Slot slot;
  {
    CancelWait woken(s.mutex, s.ready);
    std::unique_lock lock(s.mutex);
    Slot* at = nullptr;
    s.ready.wait(lock, [&] {
      at = &s.slots[s.delivered % s.slots.size()];
      return at->ready || (s.exhausted && s.delivered == s.drawn) || cancelled();
    });
    if (!at->ready) {
      if (!(s.exhausted && s.delivered == s.drawn)) throw_cancelled();
      return false;
    }
    std::swap(slot, *at);
    ++s.delivered;
  }
  s.work.notify_one();
  if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
  *out = std::move(slot.batch);
  return true;
}

void DataLoader::set_seed(uint64_t seed) {
  seed_ = seed;
  state_->sampler.start(seed_, epoch_);
}

void DataLoader::reset(uint64_t epoch) {
  State& s = *state_;
  epoch_ = epoch;
  if (s.owner == 0) {
    s.begin(seed_, epoch);
    return;
  }
  TRT_CHECK_CODE(s.owner == ::getpid(), Code::kFailedPrecondition,
                 "data loader: its worker threads belong to the process before fork(); create a new loader in the child");
  std::vector<Slot> dropped;
  {
    std::lock_guard lock(s.mutex);
    dropped.resize(s.slots.size());
    dropped.swap(s.slots);
    s.begin(seed_, epoch);
  }
  s.work.notify_all();
}

}  // namespace trt::data
