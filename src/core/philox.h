// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A block of four 32-bit words is a pure function of a 64-bit key and a 128-bit counter, so any
// element of a random tensor can be computed by any thread, lane or device, in any order.
//
// Note [Random streams]
// The key is the seed. Words 0 and 1 of the counter are the low and high half of `offset`, words 2 and 3 those of
// `subsequence`. Tensor fills use subsequence 0 and the counters offset, offset + 1, ...; a fill reports how many
// counters it consumed and the generator object adds that number to its offset. Which word of which counter makes which
// element is documented at each fill (kernels/cpu/random.h) and is part of the contract between devices.
#pragma once

#include <array>
#include <cstdint>

namespace trt {

using PhiloxBlock = std::array<uint32_t, 4>;

inline constexpr uint32_t kPhiloxMul0 = 0xD2511F53u;   // multiplies word 0
inline constexpr uint32_t kPhiloxMul1 = 0xCD9E8D57u;   // multiplies word 2
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9u;  // added to key word 0 after each round
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85u;  // added to key word 1 after each round
inline constexpr int kPhiloxRounds = 10;

constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kPhiloxMul0) * counter[0];
    const uint64_t p1 = static_cast<uint64_t>(kPhiloxMul1) * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += kPhiloxWeyl0;
    key[1] += kPhiloxWeyl1;
  }
  return counter;
}

constexpr PhiloxBlock philox4x32(uint64_t seed, uint64_t subsequence, uint64_t offset) {
  return philox4x32({static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32),
                     static_cast<uint32_t>(subsequence), static_cast<uint32_t>(subsequence >> 32)},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

}  // namespace trt
