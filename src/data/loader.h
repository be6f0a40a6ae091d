// DataLoader: batches of a dataset in a sampler's order, made ahead of time by worker threads.
//
// Note [Order of batches]
// Indices are drawn from the sampler under a lock, batch after batch, and batches are delivered in that order: which worker makes a batch,
// and how many there are, changes nothing. A batch is made under the modes (default dtype, grad mode) that the thread had which began the
// epoch, also without workers. At most num_workers * prefetch_factor batches are made or waiting at any time.
//
// Note [Threads of a loader]
// They start with the first next() and end with the loader; they share its State, which the last of them frees. Each runs parallel_for
// serially. After a fork the child has none of them: there next() fails, and the destructor leaves the parent's objects alone (mutexes may
// be held for ever, threads cannot be joined).
//
// Thread safety: externally synchronized; destruction on any thread, also on a worker's.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"

namespace trt::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool drop_last = false;
  int num_workers = 0;  // 0: batches are made by the thread that calls next()
  int prefetch_factor = 2;
};

constexpr int kMaxWorkers = 1024;

class DataLoader final : public RefCounted<DataLoader> {
 public:
  DataLoader(DatasetPtr dataset, std::unique_ptr<Sampler> sampler, const LoaderOptions& options);
  ~DataLoader();

  int64_t batches() const { return batches_; }  // in an epoch
  uint64_t epoch() const { return epoch_; }
  // The next batch in *out; false at the end of the epoch, and from then on until reset(). What the dataset throws while a batch is made
  // is thrown here, unchanged, in that batch's turn; the call after it gives the batch that follows.
  bool next(std::vector<Tensor>* out);
  // The seed of random orders, 0 at first. Before the first next() only.
  void set_seed(uint64_t seed);
  // Abandons what is left of this epoch and begins epoch `epoch`; workers, if they run already, start on it at once.
  void reset(uint64_t epoch);

 private:
  struct State;
  bool next_inline(std::vector<Tensor>* out);
  void start_workers();

  std::shared_ptr<State> state_;
  int64_t batches_;
  uint64_t seed_ = 0, epoch_ = 0;
};

}  // namespace trt::data
