// Creation of tensors, copies and fills.
#include <cmath>

#include "base/log.h"
#include "core/modes.h"
#include "gen/factory_native.h"
#include "gen/factory_ops.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "iter/tensor_iterator.h"

namespace trt {

namespace {

void warn_of_imaginary_parts(const Tensor& src, DType dtype, const char* op) {
  if (is_complex(src.dtype()) && !is_complex(dtype))
    log(LogLevel::kWarning, op, ": the imaginary parts of a ", src.dtype(), " tensor are discarded by the conversion to ", dtype, "; real() says so");
}

// Writes f(i) for element i of a fresh contiguous tensor; f works in double or int64, as the dtype asks.
template <typename F>
void fill_by_index(Tensor& t, F&& f) {
  if (t.is_meta()) return;
  dispatch_dtype(t.dtype(), "fill", [&]<typename T>() {
    T* p = t.data_ptr<T>();
    parallel_for(0, t.numel(), 32768, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) p[i] = f.template operator()<T>(i);
    });
  });
}

}  // namespace

namespace native {

Tensor empty(IntArrayRef size, std::optional<DType> dtype, std::optional<Device> device) {
  return empty_tensor(size, dtype.value_or(thread_state.default_dtype), device.value_or(kCPU));
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<DType> dtype, std::optional<Device> device) {
  return empty_strided_tensor(size, stride, dtype.value_or(thread_state.default_dtype), device.value_or(kCPU));
}

Tensor full(IntArrayRef size, const Scalar& fill_value, std::optional<DType> dtype, std::optional<Device> device) {
  Tensor t = empty_tensor(size, dtype.value_or(fill_value.natural_dtype(thread_state.default_dtype)), device.value_or(kCPU));
  check_fits(fill_value, t.dtype(), "full");
  if (t.device().is_cpu()) fill_tensor(t, fill_value);
  else op::fill_(t, fill_value);
  return t;
}

Tensor zeros(IntArrayRef size, std::optional<DType> dtype, std::optional<Device> device) {
  return full(size, 0, dtype.value_or(thread_state.default_dtype), device);
}

Tensor scalar_tensor(const Scalar& s, std::optional<DType> dtype, std::optional<Device> device) { return full({}, s, dtype, device); }

// What arange and range ask of their bounds s and e and their step d, which were given as numbers.
static void check_steps(const char* op, const Scalar& start, const Scalar& end, const Scalar& step, std::optional<DType> dtype, double s, double e, double d) {
  TRT_CHECK(!start.is_complex() && !end.is_complex() && !step.is_complex() && !(dtype && is_complex(*dtype)), op, ": not for complex numbers, got ", start, ", ", end,
            " and ", step);
  TRT_CHECK(d != 0 && !std::isnan(d), op, ": step must not be zero, got ", step);
  TRT_CHECK(std::isfinite(s) && std::isfinite(e), op, ": bounds must be finite, got ", start, " and ", end);
  TRT_CHECK((d > 0) == (e >= s) || e == s, op, ": a step of ", step, " does not lead from ", start, " to ", end);
}

// `count` numbers from `start` on.
static Tensor counted_up(const Scalar& start, const Scalar& step, int64_t count, DType type, std::optional<Device> device) {
  Tensor t = empty_tensor({count}, type, device.value_or(kCPU));
  // Integer elements begin at `start` and go by `step` without their fractions, however many the bounds ask for: PyTorch's rule.
  const double s = start.to_double(), d = step.to_double();
  const int64_t si = start.to_int(), di = step.to_int();
  fill_by_index(t, [&]<typename T>(int64_t i) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(si) + static_cast<uint64_t>(di) * static_cast<uint64_t>(i));
    } else {
      return static_cast<T>(static_cast<opmath_t<T>>(s + d * static_cast<double>(i)));
    }
  });
  return t;
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, std::optional<DType> dtype, std::optional<Device> device) {
  const bool integral = !start.is_double() && !end.is_double() && !step.is_double();
  const DType type = dtype.value_or(integral ? DType::Int64 : thread_state.default_dtype);
  const double s = start.to_double(), e = end.to_double(), d = step.to_double();
  check_steps("arange", start, end, step, dtype, s, e, d);
  double count;
  if (integral) {
    // Exact for numbers that a double cannot hold.
    const __int128 span = static_cast<__int128>(end.to_int()) - start.to_int(), by = step.to_int();
    count = static_cast<double>((span + by + (by > 0 ? -1 : 1)) / by);
  } else {
    count = std::ceil((e - s) / d);
  }
  TRT_CHECK(count >= 0 && count < 9.2e18, "arange: from ", start, " to ", end, " by ", step, " has too many elements");
  return counted_up(start, step, static_cast<int64_t>(count), type, device);
}

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, std::optional<DType> dtype, std::optional<Device> device) {
  const DType type = dtype.value_or(thread_state.default_dtype);
  const auto bound = [&](const Scalar& v) { return is_floating(type) || !std::isfinite(v.to_double()) ? v.to_double() : std::trunc(v.to_double()); };
  const double s = bound(start), e = bound(end), d = bound(step);
  check_steps("range", start, end, step, dtype, s, e, d);
  const double count = std::floor((e - s) / d) + 1;
  TRT_CHECK(count >= 0 && count < 9.2e18, "range: from ", start, " to ", end, " by ", step, " has too many elements");
  return counted_up(start, step, static_cast<int64_t>(count), type, device);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType> dtype, std::optional<Device> device) {
  TRT_CHECK(steps >= 0, "linspace: steps must not be negative, got ", steps);
  const DType natural = start.is_complex() || end.is_complex() ? complex_dtype(thread_state.default_dtype) : thread_state.default_dtype;
  Tensor t = empty_tensor({steps}, dtype.value_or(natural), device.value_or(kCPU));
  if (is_complex(t.dtype())) {
    if (t.is_meta()) return t;
    const DType part = real_dtype(t.dtype());
    for (int64_t k = 0; k < 2; ++k) {
      const Tensor line = linspace(k ? start.imag() : start.to_double(), k ? end.imag() : end.to_double(), steps, part, std::nullopt);
      Tensor target = alias_tensor(t, {steps}, {2}, k, part);
      copy_tensor(target, line);
    }
    return t;
  }
  TRT_CHECK(!start.is_complex() && !end.is_complex(), "linspace: complex bounds ", start, " and ", end, " need a complex dtype, got ", t.dtype());
  // The bounds of integer tensors are integers.
  const bool whole = is_integral(t.dtype(), true);
  const double s = whole ? static_cast<double>(start.to_int()) : start.to_double(), e = whole ? static_cast<double>(end.to_int()) : end.to_double();
  const double d = steps > 1 ? (e - s) / static_cast<double>(steps - 1) : 0;
  fill_by_index(t, [&]<typename T>(int64_t i) {
    // From both ends, so that the last number is exactly `end`.
    const double v = i < steps / 2 || steps == 1 ? s + d * static_cast<double>(i) : e - d * static_cast<double>(steps - 1 - i);
    if constexpr (std::is_integral_v<T>) return Scalar(v).to<T>();
    else return static_cast<T>(static_cast<opmath_t<T>>(v));
  });
  return t;
}

Tensor eye(int64_t n, std::optional<int64_t> m, std::optional<DType> dtype, std::optional<Device> device) {
  const int64_t cols = m.value_or(n);
  TRT_CHECK(n >= 0 && cols >= 0, "eye: sizes must not be negative, got ", n, " and ", cols);
  Tensor t = empty_tensor({n, cols}, dtype.value_or(thread_state.default_dtype), device.value_or(kCPU));
  if (t.is_meta()) return t;
  fill_tensor(t, 0);
  Tensor diagonal = alias_tensor(t, {std::min(n, cols)}, {cols + 1}, 0);
  fill_tensor(diagonal, 1);
  return t;
}

Tensor clone(const Tensor& self) {
  Tensor out = empty_in_order_of(self, self.dtype(), self.device());
  if (!self.is_meta()) copy_tensor(out, self);
  return out;
}

Tensor& copy_(Tensor& self, const Tensor& src) {
  warn_of_imaginary_parts(src, self.dtype(), "copy_");
  TRT_CHECK(broadcast_shapes(self.sizes(), src.sizes(), "copy_") == DimVector(self.sizes().data(), self.sizes().size()), "copy_: source of shape ",
            src.sizes(), " does not broadcast to ", self.sizes());
  TRT_CHECK_CODE(src.device() == self.device(), Code::kNotSupported, "copy_: no copy from ", src.device(), " to ", self.device());
  check_no_internal_overlap(self, "copy_");
  copy_tensor(self, src);
  self.impl()->storage()->bump_version();
  return self;
}

Tensor& fill_(Tensor& self, const Scalar& value) {
  check_no_internal_overlap(self, "fill_");
  check_fits(value, self.dtype(), "fill_");
  fill_tensor(self, value);
  self.impl()->storage()->bump_version();
  return self;
}

Tensor& zero_(Tensor& self) { return fill_(self, 0); }

Tensor to_copy(const Tensor& self, DType dtype, Device device) {
  TRT_CHECK_CODE(device == self.device() || device.is_meta(), Code::kNotSupported, "to: no copy from ", self.device(), " to ", device);
  Tensor out = empty_in_order_of(self, dtype, device);
  if (!out.is_meta()) copy_tensor(out, self);
  return out;
}

Tensor copy_contiguous(const Tensor& self) {
  Tensor out = empty_like_tensor(self);
  if (!self.is_meta()) copy_tensor(out, self);
  return out;
}

}  // namespace native

namespace meta {

Tensor copy_contiguous(const Tensor& self) { return native::copy_contiguous(self); }

Tensor clone(const Tensor& self) { return native::clone(self); }
Tensor& copy_(Tensor& self, const Tensor& src) {
  TRT_CHECK_CODE(src.device() == self.device(), Code::kNotSupported, "copy_: no copy from ", src.device(), " to ", self.device());
  TRT_CHECK(broadcast_shapes(self.sizes(), src.sizes(), "copy_") == DimVector(self.sizes().data(), self.sizes().size()), "copy_: source of shape ",
            src.sizes(), " does not broadcast to ", self.sizes());
  check_no_internal_overlap(self, "copy_");
  self.impl()->storage()->bump_version();
  return self;
}
Tensor& fill_(Tensor& self, const Scalar&) {
  check_no_internal_overlap(self, "fill_");
  self.impl()->storage()->bump_version();
  return self;
}
Tensor& zero_(Tensor& self) { return fill_(self, 0); }
Tensor to_copy(const Tensor& self, DType dtype, Device device) {
  TRT_CHECK_CODE(device.is_meta(), Code::kNotSupported, "to: a meta tensor has no data to copy to ", device);
  return empty_in_order_of(self, dtype, device);
}

}  // namespace meta

namespace composite {

Tensor& fill__Tensor(Tensor& self, const Tensor& value) {
  TRT_CHECK(value.dim() == 0, "fill_: the value must be a 0-d tensor, got ", value);
  return op::copy_(self, value);
}

Tensor to(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  warn_of_imaginary_parts(self, dtype, "to");
  return op::to_copy(self, dtype, self.device());
}

Tensor to_device(const Tensor& self, Device device, std::optional<DType> dtype) {
  const DType type = dtype.value_or(self.dtype());
  if (self.dtype() == type && self.device() == device) return self;
  warn_of_imaginary_parts(self, type, "to");
  return op::to_copy(self, type, device);
}

Tensor contiguous(const Tensor& self) {
  if (self.is_contiguous()) return self;
  return op::copy_contiguous(self);
}

}  // namespace composite

}  // namespace trt
