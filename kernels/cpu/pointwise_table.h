// The signature of a pointwise kernel, and the functions of one operator for one instruction set.
#pragma once

#include <cstdint>

namespace trt {

union ScalarValue {
  float f;
  double d;
  int64_t i;
  float cf[2];   // real and imaginary part
  double cd[2];
};

// in and out are contiguous arrays of the compute type (float, double, int64 or std::complex of the two floating-point ones); an output may be one of the inputs but not
// shifted against it. Scalars are already of the compute type.
using PointwiseFn = void (*)(const void* const* in, void* const* out, int64_t n, const ScalarValue* scalars);

// The slots of real types: float, double, int64, and int64 with the expression for bool where that differs. Null: not supported.
struct PointwiseRow {
  PointwiseFn slots[4];
};
// The slots of complex types, which have no instruction sets of their own.
struct PointwiseComplexRow {
  PointwiseFn slots[2];
};
enum { kSlotFloat = 0, kSlotDouble = 1, kSlotInt = 2, kSlotBool = 3, kSlotComplexFloat = 4, kSlotComplexDouble = 5, kSlots = 6 };

}  // namespace trt
