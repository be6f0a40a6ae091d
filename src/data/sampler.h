// Samplers: the order in which an epoch visits the samples. The order is a pure function of (seed, epoch, sizes), so it depends neither on
// threads nor on what else draws random numbers.
//
// Thread safety: externally synchronized.
#pragma once

#include <memory>
#include <vector>

#include "core/philox.h"

namespace trt::data {

// Random 64-bit numbers for one epoch: Philox with the seed as key. Bit 63 of the subsequence keeps them apart from tensor fills
// (Note [Random streams] in core/philox.h).
class EpochStream {
 public:
  EpochStream(uint64_t seed, uint64_t epoch) : seed_(seed), subsequence_(epoch | uint64_t{1} << 63) {}
  uint64_t next();
  uint64_t below(uint64_t bound);  // uniform in [0, bound), bound > 0
  double unit();                   // uniform in [0, 1), 53 bits

 private:
  uint64_t seed_, subsequence_, counter_ = 0;
  PhiloxBlock block_{};
  bool half_ = false;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;  // samples in an epoch
  // Must come before take().
  virtual void start(uint64_t seed, uint64_t epoch) = 0;
  // Appends up to `count` further indices to `out`, fewer only at the end of the epoch.
  virtual void take(int64_t count, std::vector<int64_t>& out) = 0;
};

std::unique_ptr<Sampler> sequential_sampler(int64_t size);
// A permutation of [0, size), or its first `count` entries.
std::unique_ptr<Sampler> random_sampler(int64_t size, int64_t count);
// `count` independent draws from [0, size); size > 0 unless count is 0.
std::unique_ptr<Sampler> replacement_sampler(int64_t size, int64_t count);
// `count` independent draws, index i with probability weights[i] / sum. Throws kInvalidArgument for negative, infinite or NaN weights,
// or when their sum is zero or infinite.
std::unique_ptr<Sampler> weighted_sampler(const std::vector<double>& weights, int64_t count);

// Cuts the sampler's order into batches.
class BatchSampler {
 public:
  BatchSampler(std::unique_ptr<Sampler> sampler, int64_t batch_size, bool drop_last);
  int64_t batches() const;  // in an epoch
  void start(uint64_t seed, uint64_t epoch) { sampler_->start(seed, epoch); }
  // False at the end of the epoch.
  bool next(std::vector<int64_t>& indices);

 private:
  std::unique_ptr<Sampler> sampler_;
  int64_t batch_size_;
  bool drop_last_;
};

}  // namespace trt::data
