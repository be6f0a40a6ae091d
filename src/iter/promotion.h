// Type promotion.
//
// Note [Type promotion]
// The rule is PyTorch's (documentation of torch.result_type). Operands fall into three categories: tensors with dimensions,
// 0-d tensors, and numbers. Within a category dtypes join in the lattice of promote_types. A weaker category changes the
// result only if its kind (bool < integer < floating < complex) is higher than that of the stronger ones; a number of floating kind
// counts as the default dtype, an integer as int64.
#pragma once

#include "core/tensor.h"

namespace trt {

DType promote_types(DType a, DType b);

// Collects operands and gives the result dtype.
class PromotionState {
 public:
  void add(const Tensor& t) {
    if (t.impl()->is_wrapped_number()) add(scalar_kind_dtype(t.dtype()), &number_);
    else add(t.dtype(), t.dim() > 0 ? &dim_ : &zero_);
  }
  void add(const Scalar& s);
  DType result() const;

 private:
  static DType scalar_kind_dtype(DType t);
  static void add(DType t, DType* slot) { *slot = *slot == DType::Undefined ? t : *slot == t ? t : promote_types(*slot, t); }
  DType dim_ = DType::Undefined;
  DType zero_ = DType::Undefined;
  DType number_ = DType::Undefined;
};

// Whether a result of `from` may be written into a tensor of `to` without losing its kind (float into int loses it).
bool can_cast(DType from, DType to);

// The shape that a and b broadcast to; throws kInvalidArgument naming `op` and both shapes.
DimVector broadcast_shapes(IntArrayRef a, IntArrayRef b, const char* op);

}  // namespace trt
