#include "iter/promotion.h"

#include "core/modes.h"

namespace trt {

namespace {

int kind_of(DType t) { return t == DType::Bool ? 0 : is_complex(t) ? 3 : is_floating(t) ? 2 : 1; }

// The stronger category decides unless the weaker one is of a higher kind.
DType combine(DType strong, DType weak) {
  if (strong == DType::Undefined) return weak;
  if (weak == DType::Undefined || kind_of(strong) >= kind_of(weak)) return strong;
  return promote_types(strong, weak);
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Undefined) return b;
  if (b == DType::Undefined) return a;
  const int ka = kind_of(a), kb = kind_of(b);
  if (ka == 3 || kb == 3) {
    // Complex parts as wide as the wider operand; integers and bool give way.
    const DType x = ka >= 2 ? real_dtype(a) : DType::Float32, y = kb >= 2 ? real_dtype(b) : DType::Float32;
    return complex_dtype(x == DType::Float64 || y == DType::Float64 ? DType::Float64 : DType::Float32);
  }
  if (ka != kb) return ka > kb ? a : b;
  if (ka == 2) {
    // The two 16-bit types meet in float32; otherwise the wider one.
    const size_t sa = element_size(a), sb = element_size(b);
    if (sa == sb) return DType::Float32;
    return sa > sb ? a : b;
  }
  // Integers: the wider one; uint8 with int8 needs int16.
  if (element_size(a) == element_size(b)) return DType::Int16;
  return element_size(a) > element_size(b) ? a : b;
}

DType PromotionState::scalar_kind_dtype(DType t) {
  return is_floating(t) ? thread_state.default_dtype : is_complex(t) ? complex_dtype(thread_state.default_dtype) : t;
}

void PromotionState::add(const Scalar& s) { add(s.natural_dtype(thread_state.default_dtype), &number_); }

DType PromotionState::result() const { return combine(dim_, combine(zero_, number_)); }

bool can_cast(DType from, DType to) { return kind_of(from) <= kind_of(to); }

DimVector broadcast_shapes(IntArrayRef a, IntArrayRef b, const char* op) {
  const size_t n = std::max(a.size(), b.size());
  DimVector out(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TRT_CHECK(x == y || x == 1 || y == 1, op, ": shapes ", a, " and ", b, " cannot be broadcast together");
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace trt
