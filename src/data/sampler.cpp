#include "data/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trt::data {

uint64_t EpochStream::next() {
  half_ = !half_;
  if (half_) block_ = philox4x32(seed_, subsequence_, counter_++);
  return half_ ? block_[0] | static_cast<uint64_t>(block_[1]) << 32 : block_[2] | static_cast<uint64_t>(block_[3]) << 32;
}

// Multiplication instead of division, after Lemire, "Fast random integer generation in an interval" (2019); the few values that would
// make some results likelier than others are drawn again.
uint64_t EpochStream::below(uint64_t bound) {
  const uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

double EpochStream::unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

namespace {

class Sequential final : public Sampler {
 public:
  explicit Sequential(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void start(uint64_t, uint64_t) override { next_ = 0; }
  void take(int64_t count, std::vector<int64_t>& out) override {
    for (const int64_t end = next_ + std::min(count, size_ - next_); next_ < end; ++next_) out.push_back(next_);
  }

 private:
  int64_t size_;
  int64_t next_ = 0;
};

// Fisher and Yates's shuffle, as far as it is asked for.
class Permutation final : public Sampler {
 public:
  Permutation(int64_t size, int64_t count) : count_(count), order_(static_cast<size_t>(size)) {}
  int64_t size() const override { return count_; }
  void start(uint64_t seed, uint64_t epoch) override {
    stream_ = EpochStream(seed, epoch);
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int64_t>(i);
    next_ = 0;
  }
  void take(int64_t count, std::vector<int64_t>& out) override {
    for (const int64_t end = next_ + std::min(count, count_ - next_); next_ < end; ++next_) {
      const size_t at = static_cast<size_t>(next_);
      std::swap(order_[at], order_[at + stream_.below(order_.size() - at)]);
      out.push_back(order_[at]);
    }
  }

 private:
  int64_t count_;
  EpochStream stream_{0, 0};
  std::vector<int64_t> order_;
  int64_t next_ = 0;
};

class Independent final : public Sampler {
 public:
  // `cumulative` is empty for uniform draws.
  Independent(int64_t size, int64_t count, std::vector<double> cumulative)
      : size_(size), count_(count), cumulative_(std::move(cumulative)) {}
  int64_t size() const override { return count_; }
  void start(uint64_t seed, uint64_t epoch) override {
    stream_ = EpochStream(seed, epoch);
    next_ = 0;
  }
  void take(int64_t count, std::vector<int64_t>& out) override {
    for (const int64_t end = next_ + std::min(count, count_ - next_); next_ < end; ++next_) out.push_back(draw());
  }

 private:
  int64_t draw() {
    if (cumulative_.empty()) return static_cast<int64_t>(stream_.below(static_cast<uint64_t>(size_)));
    // The first sum above the draw: an entry of weight zero equals its predecessor and is never the first. Rounding may lift the
    // product to the total itself, which then stands for the last entry that has weight.
    const double total = cumulative_.back();
    const double x = std::min(stream_.unit() * total, std::nextafter(total, 0.0));
    return std::upper_bound(cumulative_.begin(), cumulative_.end(), x) - cumulative_.begin();
  }

  int64_t size_, count_;
  EpochStream stream_{0, 0};
  std::vector<double> cumulative_;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Sampler> sequential_sampler(int64_t size) { return std::make_unique<Sequential>(size); }

std::unique_ptr<Sampler> random_sampler(int64_t size, int64_t count) {
  TRT_CHECK(count >= 0 && count <= size, "sampler: ", count, " samples without replacement cannot be drawn from ", size);
  return std::make_unique<Permutation>(size, count);
}

std::unique_ptr<Sampler> replacement_sampler(int64_t size, int64_t count) {
  TRT_CHECK(count >= 0 && (size > 0 || count == 0), "sampler: ", count, " samples cannot be drawn from ", size);
  return std::make_unique<Independent>(size, count, std::vector<double>());
}

std::unique_ptr<Sampler> weighted_sampler(const std::vector<double>& weights, int64_t count) {
  TRT_CHECK(count >= 0, "sampler: the number of samples must not be negative, got ", count);
  std::vector<double> cumulative;
  cumulative.reserve(weights.size());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    TRT_CHECK(weights[i] >= 0 && std::isfinite(weights[i]), "sampler: weight ", i, " is ", weights[i], "; weights must be finite and not negative");
    cumulative.push_back(sum += weights[i]);
  }
  TRT_CHECK(sum > 0 && std::isfinite(sum), "sampler: the sum of the weights must be positive and finite, got ", sum);
  return std::make_unique<Independent>(static_cast<int64_t>(weights.size()), count, std::move(cumulative));
}

BatchSampler::BatchSampler(std::unique_ptr<Sampler> sampler, int64_t batch_size, bool drop_last)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  TRT_CHECK(batch_size >= 1, "the batch size must be at least 1, got ", batch_size);
}

int64_t BatchSampler::batches() const {
  const int64_t n = sampler_->size();
  return n / batch_size_ + (!drop_last_ && n % batch_size_ != 0);
}

bool BatchSampler::next(std::vector<int64_t>& indices) {
  indices.clear();
  sampler_->take(batch_size_, indices);
  if (indices.empty()) return false;
  return !drop_last_ || static_cast<int64_t>(indices.size()) == batch_size_;
}

}  // namespace trt::data
