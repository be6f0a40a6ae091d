#include "kernels/cpu/distributions.h"

#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "core/philox.h"

namespace trt::cpu {

namespace {

class Draws {
 public:
  Draws(uint64_t seed, uint64_t subsequence, uint64_t offset) : seed_(seed), subsequence_(subsequence), offset_(offset) {}
  // Uniform in (0, 1): an odd multiple of 2^-54.
  double uniform() {
    if (next_ == 4) {
      block_ = philox4x32(seed_, subsequence_, offset_++);
      next_ = 0;
    }
    const uint64_t word = static_cast<uint64_t>(block_[next_ + 1]) << 32 | block_[next_];
    next_ += 2;
    return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
  }

 private:
  uint64_t seed_, subsequence_, offset_;
  PhiloxBlock block_{};
  size_t next_ = 4;
};

double log_factorial(double k) {
  int sign;  // std::lgamma would write to a variable of the process
  return ::lgamma_r(k + 1, &sign);
}

double poisson(double rate, Draws& draws) {
  if (rate == 0 || std::isinf(rate)) return rate;
  if (rate < 10) {
    double u = draws.uniform(), p = std::exp(-rate), k = 0;
    while (u > p && p > 0) {
      u -= p;
      k += 1;
      p *= rate / k;
    }
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2), log_rate = std::log(rate);
  for (;;) {
    const double u = draws.uniform() - 0.5, v = draws.uniform(), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_rate - rate - log_factorial(k)) return k;
  }
}

// log(k!) less Stirling's (k + 1/2) log k - k + log(2 pi) / 2, for k of at least 10.
double stirling_rest(double k) {
  const double r = 1 / k, r2 = r * r;
  return r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 / 1680)));
}

// log of C(n, k) odds^k over C(n, mode) odds^mode.
double log_ratio(double n, double k, double mode, double odds) {
  const double d = k - mode, rest = n - mode;
  if (k < 10 || n - k < 10 || mode < 10 || rest < 10)
    return log_factorial(mode) + log_factorial(rest) - log_factorial(k) - log_factorial(n - k) + d * std::log(odds);
  // Differences of Stirling's formula, in which nothing of the size of n log n cancels.
  return -(k + 0.5) * std::log1p(d / mode) - (n - k + 0.5) * std::log1p(-d / rest) + d * std::log(rest / mode * odds) + stirling_rest(mode) +
         stirling_rest(rest) - stirling_rest(k) - stirling_rest(n - k);
}

// p in (0, 0.5], n at least 1.
double binomial(double n, double p, Draws& draws) {
  const double odds = p / (1 - p);
  if (n * p < 10) {
    double u = draws.uniform(), f = std::exp(n * std::log1p(-p)), k = 0;
    while (u > f && k < n && f > 0) {
      u -= f;
      f *= odds * (n - k) / (k + 1);
      k += 1;
    }
    return k;
  }
  const double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double center = n * p + 0.5, accept = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p);
  for (;;) {
    const double u = draws.uniform() - 0.5, v = draws.uniform(), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + center);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= accept) return k;
    if (std::log(v * alpha / (a / (us * us) + b)) <= log_ratio(n, k, mode, odds)) return k;
  }
}

}  // namespace

void fill_poisson(const double* rate, double* y, int64_t n, uint64_t seed, uint64_t offset) {
  parallel_for(0, n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Draws draws(seed, static_cast<uint64_t>(i) + 1, offset);
      y[i] = poisson(rate[i], draws);
    }
  });
}

void fill_binomial(const double* count, const double* prob, double* y, int64_t n, uint64_t seed, uint64_t offset) {
  parallel_for(0, n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double trials = std::floor(count[i]), p = prob[i];
      if (std::isnan(trials) || std::isnan(p) || trials == HUGE_VAL) {
        y[i] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      Draws draws(seed, static_cast<uint64_t>(i) + 1, offset);
      if (trials <= 0 || p <= 0)
        y[i] = 0;
      else if (p >= 1)
        y[i] = trials;
      else
        y[i] = p <= 0.5 ? binomial(trials, p, draws) : trials - binomial(trials, 1 - p, draws);
    }
  });
}

}  // namespace trt::cpu
