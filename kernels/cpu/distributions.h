// Random numbers whose making takes a varying number of words: Poisson and binomial numbers. Element i draws from a Philox stream of its own,
// subsequence i + 1 with the counters offset, offset + 1, ... (Note [Random streams] in core/philox.h; each counter makes two uniform numbers
// in (0, 1)), so results depend on (seed, offset, i) and the parameters only, not on the number of threads. A fill takes kDrawCounters counters
// of its generator: no element needs as many but with negligible probability. Pointers are to contiguous elements that the caller owns; n may
// be zero. Safe to call from many threads at once on distinct outputs.
#pragma once

#include <cstdint>

namespace trt::cpu {

inline constexpr uint64_t kDrawCounters = uint64_t{1} << 20;

// y[i] is Poisson with mean rate[i], which must not be negative or NaN (not checked); an infinite rate gives infinity. Below 10 by inversion, above by
// Hoermann's transformed rejection (PTRS: "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics
// and Economics 12, 1993).
void fill_poisson(const double* rate, double* y, int64_t n, uint64_t seed, uint64_t offset);

// y[i] is the number of successes in count[i] (rounded down; 0 where negative) trials of probability prob[i] (limited to [0, 1]). NaN where one of
// them is NaN or count is infinite. By inversion where fewer than 10 successes are expected (of the rarer outcome), otherwise by Hoermann's
// BTRS ("The generation of binomial random variates", Journal of Statistical Computation and Simulation 46, 1993).
void fill_binomial(const double* count, const double* prob, double* y, int64_t n, uint64_t seed, uint64_t offset);

}  // namespace trt::cpu
