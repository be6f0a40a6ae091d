// Dispatch keys: sixteen flat bits. The highest key of a call's set decides which kernel runs (Note [Dispatch] in
// dispatch/operator.h).
#pragma once

#include <bit>
#include <cstdint>

#include "core/device.h"

namespace trt {

enum class Key : uint8_t {
  CPU = 0,
  CUDA = 1,
  Meta = 2,
  PrivateUse1 = 3,
  PrivateUse2 = 4,
  PrivateUse3 = 5,
  // 6..7: room for further backends
  Autograd = 8,
  Autocast = 9,
  Functionalize = 10,
  Trace = 11,
  // 12..15: room for further wrapper keys
};
constexpr int kNumKeys = 16;
constexpr int kNoKey = -1;

const char* key_name(Key k);

class KeySet {
 public:
  constexpr KeySet() = default;
  constexpr explicit KeySet(uint64_t bits) : bits_(bits) {}
  constexpr KeySet(Key k) : bits_(uint64_t{1} << static_cast<int>(k)) {}
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool has(Key k) const { return (bits_ >> static_cast<int>(k)) & 1; }
  constexpr bool empty() const { return bits_ == 0; }
  // The highest key, or kNoKey.
  constexpr int highest() const { return 63 - std::countl_zero(bits_); }
  // The keys below k.
  constexpr KeySet below(Key k) const { return KeySet(bits_ & ((uint64_t{1} << static_cast<int>(k)) - 1)); }
  friend constexpr KeySet operator|(KeySet a, KeySet b) { return KeySet(a.bits_ | b.bits_); }
  friend constexpr KeySet operator&(KeySet a, KeySet b) { return KeySet(a.bits_ & b.bits_); }
  friend constexpr KeySet operator-(KeySet a, KeySet b) { return KeySet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(KeySet, KeySet) = default;

 private:
  uint64_t bits_ = 0;
};

constexpr KeySet kBackendKeys(0xff);
constexpr KeySet kWrapperKeys(0xff00);

constexpr Key backend_key(DeviceType t) { return static_cast<Key>(static_cast<uint8_t>(t)); }
constexpr DeviceType device_type_of(Key k) { return static_cast<DeviceType>(static_cast<uint8_t>(k)); }

}  // namespace trt
