// mvlgamma, nextafter, frexp and ldexp; the other special functions are pointwise loops (special.yaml).
#include <cmath>

#include "base/parallel.h"
#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/special_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"

namespace trt {

namespace {

constexpr int64_t kGrain = 32768;

// The next number in the direction of y by the bits, which are ordered as the numbers are within a sign.
template <typename T>
T next_16(T x, T y) {
  const float a = static_cast<float>(x), b = static_cast<float>(y);
  if (a != a) return x;
  if (b != b) return y;
  if (a == b) return y;
  T out = x;
  if (a == 0) out.bits = static_cast<uint16_t>((std::signbit(b) ? 0x8000u : 0u) | 1u);
  else out.bits = static_cast<uint16_t>((a < b) == (a > 0) ? x.bits + 1 : x.bits - 1);
  return out;
}

template <typename T>
T next(T x, T y) {
  if constexpr (sizeof(T) == 2) return next_16(x, y);
  else return std::nextafter(x, y);
}

}  // namespace

TensorSpec meta::nextafter_equal(const Tensor& self, const Tensor& other) {
  TRT_CHECK_CODE(is_floating(self.dtype()), Code::kNotSupported, "nextafter: not supported for dtype ", self.dtype());
  TRT_CHECK(self.sizes() == other.sizes() && self.dtype() == other.dtype(), "nextafter: ", self, " and ", other, " are of different kinds");
  return TensorSpec(self.sizes(), self.dtype(), self.device());
}
void native::nextafter_equal(const Tensor& self, const Tensor& other, Tensor& out) {
  const Tensor x = contiguous_tensor(self), y = contiguous_tensor(other);
  dispatch_floating(x.dtype(), "nextafter", [&]<typename T>() {
    const T *p = x.data_ptr<T>(), *q = y.data_ptr<T>();
    T* o = out.data_ptr<T>();
    parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) o[i] = next(p[i], q[i]);
    });
  });
}

std::array<TensorSpec, 2> meta::frexp(const Tensor& self) {
  TRT_CHECK_CODE(is_floating(self.dtype()), Code::kNotSupported, "frexp: not supported for dtype ", self.dtype());
  return {TensorSpec(self.sizes(), self.dtype(), self.device()), TensorSpec(self.sizes(), DType::Int32, self.device())};
}
void native::frexp(const Tensor& self, Tensor& mantissa, Tensor& exponent) {
  const Tensor x = contiguous_tensor(self);
  int32_t* e = exponent.data_ptr<int32_t>();
  dispatch_floating(x.dtype(), "frexp", [&]<typename T>() {
    const T* p = x.data_ptr<T>();
    T* m = mantissa.data_ptr<T>();
    parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int power = 0;
        const opmath_t<T> v = static_cast<opmath_t<T>>(p[i]);
        m[i] = static_cast<T>(std::frexp(v, &power));
        e[i] = std::isfinite(v) ? power : 0;
      }
    });
  });
}

namespace composite {

Tensor nextafter(const Tensor& self, const Tensor& other) {
  PromotionState state;
  state.add(self);
  state.add(other);
  const DType type = state.result();
  TRT_CHECK_CODE(is_floating(type), Code::kNotSupported, "nextafter: not supported for dtype ", type);
  const DimVector shape = broadcast_shapes(self.sizes(), other.sizes(), "nextafter");
  return op::nextafter_equal(op::expand(op::to(self, type), shape), op::expand(op::to(other, type), shape));
}

Tensor ldexp(const Tensor& self, const Tensor& other) {
  // The gradient of `other` needs the factor as it was, which the in-place form writes over.
  const bool keep = grad_enabled() && requires_grad_quick(other);
  return op::mul(keep ? op::clone(self) : self, op::pow(Scalar(2.0), other));
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  TRT_CHECK(self.dtype() != DType::Bool && !is_complex(self.dtype()), "mvlgamma: a tensor of real numbers is needed, got ", self);
  TRT_CHECK(p >= 1, "mvlgamma: p must be at least 1, got ", p);
  // The sum over j of lgamma(self + (1 - j) / 2), and a constant; 16-bit floats are summed in float.
  const DType result = is_floating(self.dtype()) ? self.dtype() : thread_state.default_dtype;
  const DType type = result == DType::Float64 ? result : DType::Float32;
  const double half = static_cast<double>(p) / 2;
  const Tensor shifts = op::arange(Scalar(0.5 - half), Scalar(0.5), Scalar(0.5), type, self.device());
  const Tensor terms = op::lgamma(op::add(op::unsqueeze(op::to(self, type), -1), shifts));
  const int64_t last = -1;
  const Tensor sum = op::sum(terms, IntArrayRef(&last, 1), false, std::nullopt);
  const double constant = static_cast<double>(p) * static_cast<double>(p - 1) * (std::log(M_PI) / 4);
  return op::to(op::add(sum, Scalar(constant)), result);
}

}  // namespace composite
}  // namespace trt
