// Devices: a type and an index. The numbers of the types are pinned (trt_device_type in the C header).
#pragma once

#include <cstdint>
#include <string>

#include "base/str.h"

namespace trt {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 2, PrivateUse1 = 3, PrivateUse2 = 4, PrivateUse3 = 5 };
constexpr int kNumDeviceTypes = 6;

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = 0;
  constexpr Device() = default;
  constexpr Device(DeviceType t, int8_t i = 0) : type(t), index(i) {}
  friend constexpr bool operator==(Device, Device) = default;
  bool is_cpu() const { return type == DeviceType::CPU; }
  bool is_meta() const { return type == DeviceType::Meta; }
};

constexpr Device kCPU{DeviceType::CPU, 0};
constexpr Device kMeta{DeviceType::Meta, 0};

const char* device_type_name(DeviceType t);
// "cpu", "meta", "cuda:1".
void append(std::string& s, Device d);
// Parses such a name; throws kInvalidArgument when it is none.
Device device_from_string(std::string_view text);

}  // namespace trt
