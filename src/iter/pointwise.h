// Pointwise operators: one description per operator, one driver for all of them.
//
// Note [Pointwise kernels]
// A pointwise operator is an expression, compiled once per compute type (float, double, int64, complex ones) over contiguous arrays. The driver
// brings every operand into that form: where an operand already is a contiguous array of the compute type the kernel
// runs on it directly; otherwise blocks of it are gathered and converted into a scratch block in the first-level cache
// (other dtypes, strides, broadcasting, numbers), and results are converted back. So 16-bit floats compute in float32,
// integers and bool in int64 (wrapping on the way back, which gives the same bits as arithmetic in their own width),
// and mixed dtypes need no copies in memory.
#pragma once

#include <atomic>

#include "core/tensor.h"
#include "kernels/cpu/pointwise_table.h"

namespace trt {

enum class Promotion : uint8_t {
  Default,     // compute and return the promoted dtype
  IntToFloat,  // integers become the default floating dtype
  Compare,     // compute in the promoted dtype, return bool
  IntToFloatCompare,  // as IntToFloat, return bool
  FirstInput,  // compute in and return the dtype of the first input, whatever the others are
  BoolToInt,   // as Default, but bool becomes int64
  SkipFirst,   // the first input is a condition: converted to the compute type, no part in promotion (where)
};

// Which kinds of compute dtype the operator takes.
enum PointwiseKinds : uint8_t { kTakesFloat = 1, kTakesInt = 2, kTakesBool = 4, kTakesComplex = 8, kRealResult = 16 /* complex operands give a real result */,
                                kNoBoolOperand = 32 /* no operand is bool, also where the others make the common dtype another one */ };

struct PointwiseOp {
  const char* name;
  uint8_t inputs;
  uint8_t scalars;
  Promotion promotion;
  uint8_t kinds;
  bool promote_scalars;  // Scalar arguments take part in promotion as numbers
  bool keeps_float;      // operands of one floating dtype give that dtype, whatever the scalars are
  bool truncate_scalars; // with integer tensors a floating-point scalar argument is truncated (else it is an error)
  int8_t divisor;        // the input that must hold no zero when the operator computes in int64, or -1
  int8_t exponent;       // the input that must be no negative number (tensors may be) when it computes in int64, or -1
  int8_t unrounded;      // the input that, as a number or 0-d tensor, is not rounded to a 16-bit common dtype, or -1
  // By slot (kernels/cpu/pointwise_table.h), registered by each backend.
  std::atomic<PointwiseFn> cpu[kSlots] = {};
};
inline void set_row(PointwiseOp& op, const PointwiseRow& row) {
  for (int i = 0; i < 4; ++i) op.cpu[i].store(row.slots[i], std::memory_order_relaxed);
}
inline void set_row(PointwiseOp& op, const PointwiseComplexRow& row) {
  for (int i = 0; i < 2; ++i) op.cpu[kSlotComplexFloat + i].store(row.slots[i], std::memory_order_relaxed);
}

struct PointwiseInput {
  PointwiseInput() = default;
  PointwiseInput(const Tensor& t) : tensor(&t) {}
  PointwiseInput(const Scalar& s) : scalar(&s) {}
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
};

// Computes into a new tensor (on Meta: shape and dtype only).
Tensor pointwise(const PointwiseOp& op, ArrayRef<PointwiseInput> in, ArrayRef<Scalar> scalars);
// Computes into `out`: an in-place call (in[0] is out) or an out variant (resize = true: an out tensor of another shape is
// resized, as PyTorch does). Raises the version of out.
void pointwise_into(const PointwiseOp& op, ArrayRef<PointwiseInput> in, ArrayRef<Scalar> scalars, Tensor& out, bool resize);

// Throws unless a result of these sizes, dtype and device may be stored in `out`, which is replaced where its shape differs (a view, and the
// host's memory, cannot be). Changes nothing.
void check_output(const Tensor& out, IntArrayRef sizes, DType dtype, Device device, const char* op);
inline void check_output(const Tensor& out, const Tensor& result, const char* op) {
  check_output(out, result.sizes(), result.dtype(), result.device(), op);
}
// `out` takes over the memory and shape of `fresh`, which has its dtype.
void replace_output(Tensor& out, const Tensor& fresh);

}  // namespace trt
