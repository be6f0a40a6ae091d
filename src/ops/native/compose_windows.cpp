// Windows of signal processing. Formulas: F. J. Harris, On the use of windows for harmonic analysis with the discrete Fourier transform, 1978.
#include <numbers>

#include "gen/all_ops.h"
#include "gen/compose_native.h"

namespace trt::composite {

namespace {

// The window `f(x)` of `length` elements, x in float64 being 0 at the first element and 1 at the last; of a periodic window the element after the last.
template <typename F>
Tensor window(const char* op, int64_t length, bool periodic, std::optional<DType> dtype, std::optional<Device> device, const F& f) {
  const DType type = dtype.value_or(thread_state.default_dtype);
  TRT_CHECK(length >= 0, op, ": window_length must not be negative, got ", length);
  TRT_CHECK(is_floating(type), op, ": a window needs a floating-point dtype, got ", type);
  if (length <= 1) return op::ones({length}, type, device);
  const int64_t steps = periodic ? length : length - 1;
  const Tensor x = op::div(op::arange(Scalar(length), DType::Float64, device), Scalar(double(steps)));
  return op::to(f(x), type);
}

// a - b cos(2 pi x) + c cos(4 pi x).
Tensor cosines(const Tensor& x, double a, double b, double c = 0) {
  const Tensor turn = op::mul(x, Scalar(2 * std::numbers::pi));
  const Tensor sum = op::add(op::mul(op::cos(turn), Scalar(-b)), Scalar(a));
  return c == 0 ? sum : op::add(sum, op::mul(op::cos(op::mul(turn, Scalar(2.0))), Scalar(c)));
}

}  // namespace

Tensor bartlett_window(int64_t window_length, bool periodic, std::optional<DType> dtype, std::optional<Device> device) {
  return window("bartlett_window", window_length, periodic, dtype, device,
                [](const Tensor& x) { return op::rsub(op::abs(op::sub(op::mul(x, Scalar(2.0)), Scalar(1.0))), Scalar(1.0)); });
}

Tensor blackman_window(int64_t window_length, bool periodic, std::optional<DType> dtype, std::optional<Device> device) {
  return window("blackman_window", window_length, periodic, dtype, device, [](const Tensor& x) { return cosines(x, 0.42, 0.5, 0.08); });
}

Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta, std::optional<DType> dtype, std::optional<Device> device) {
  return window("hamming_window", window_length, periodic, dtype, device, [=](const Tensor& x) { return cosines(x, alpha, beta); });
}

Tensor hann_window(int64_t window_length, bool periodic, std::optional<DType> dtype, std::optional<Device> device) {
  return window("hann_window", window_length, periodic, dtype, device, [](const Tensor& x) { return cosines(x, 0.5, 0.5); });
}

Tensor kaiser_window(int64_t window_length, bool periodic, double beta, std::optional<DType> dtype, std::optional<Device> device) {
  return window("kaiser_window", window_length, periodic, dtype, device, [=](const Tensor& x) {
    const Tensor height = op::sqrt(op::clamp_min(op::rsub(op::square(op::sub(op::mul(x, Scalar(2.0)), Scalar(1.0))), Scalar(1.0)), Scalar(0.0)));
    const Tensor whole = op::full({}, Scalar(beta), DType::Float64, x.device());
    return op::div(op::i0(op::mul(height, Scalar(beta))), op::i0(whole));
  });
}

}  // namespace trt::composite
