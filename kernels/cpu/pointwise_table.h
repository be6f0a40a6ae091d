// The signature of a pointwise kernel, and the functions of one operator for one instruction set.
#pragma once

#include <cstdint>

namespace trt {

union ScalarValue {
  float f;
  double d;
  int64_t i;
};

// in and out are contiguous arrays of the compute type (float, double or int64); an output may be one of the inputs but not
// shifted against it. Scalars are already of the compute type.
using PointwiseFn = void (*)(const void* const* in, void* const* out, int64_t n, const ScalarValue* scalars);

// Slots: float, double, int64, and int64 with the expression for bool where that differs. Null: not supported.
struct PointwiseRow {
  PointwiseFn slots[4];
};
enum { kSlotFloat = 0, kSlotDouble = 1, kSlotInt = 2, kSlotBool = 3 };

}  // namespace trt
