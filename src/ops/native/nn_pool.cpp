// Pooling in two dimensions: maxima and averages over fixed or adaptive windows, and their gradients.
#include "base/parallel.h"
#include "gen/nn_pool_native.h"
#include "iter/copy.h"
#include "kernels/cpu/pool.h"
#include "ops/native/pool_util.h"
#include "ops/window.h"

namespace trt {

namespace {

struct PoolArgs {
  IntArrayRef kernel;
  std::optional<IntArrayRef> stride;  // none or empty: the kernel's size
  IntArrayRef padding, dilation;
  bool ceil_mode;
};

int64_t planes_of(IntArrayRef input) { return input.size() == 4 ? input[0] * input[1] : input[0]; }

// Only the batch may be empty, and with `no_channels` they may.
void check_pool_input(IntArrayRef input, const char* op, bool no_channels = false) {
  TRT_CHECK(input.size() == 3 || input.size() == 4, op, ": input must have 3 or 4 dimensions, got shape ", input);
  for (size_t i = input.size() - (no_channels ? 2 : 3); i < input.size(); ++i)
    TRT_CHECK(input[i] > 0, op, ": dimension ", i, " must not be empty, got shape ", input);
  TRT_CHECK(input[0] >= 0, op, ": sizes must not be negative, got ", input);
}

cpu::Pool2d pool_geometry(IntArrayRef input, const PoolArgs& a, const char* op) {
  check_pool_input(input, op);
  const Pair k = pair_of(a.kernel, op, "kernel_size"),
             s = a.stride && !a.stride->empty() ? pair_of(*a.stride, op, "stride") : k,
             p = pair_of(a.padding, op, "padding"), d = pair_of(a.dilation, op, "dilation");
  TRT_CHECK(k.h > 0 && k.w > 0, op, ": kernel_size must be positive, got ", a.kernel);
  TRT_CHECK(s.h > 0 && s.w > 0, op, ": stride must be positive, got ", s.h, " and ", s.w);
  TRT_CHECK(d.h > 0 && d.w > 0, op, ": dilation must be positive, got ", a.dilation);
  TRT_CHECK(p.h >= 0 && p.w >= 0 && p.h <= k.h / 2 && p.w <= k.w / 2, op,
            ": padding must be between 0 and half the kernel, got padding ", a.padding, " for kernel_size ", a.kernel);
  cpu::Pool2d g;
  g.ih = input[input.size() - 2];
  g.iw = input.back();
  g.kh = k.h;
  g.kw = k.w;
  g.sh = s.h;
  g.sw = s.w;
  g.ph = p.h;
  g.pw = p.w;
  g.dh = d.h;
  g.dw = d.w;
  g.oh = pooled_extent(g.ih, k.h, s.h, p.h, d.h, a.ceil_mode, op);
  g.ow = pooled_extent(g.iw, k.w, s.w, p.w, d.w, a.ceil_mode, op);
  TRT_CHECK(g.oh > 0 && g.ow > 0, op, ": the output of input shape ", input, " would be empty (", g.oh, " by ", g.ow,
            ")");
  return g;
}

DimVector with_plane(IntArrayRef input, int64_t h, int64_t w) {
  DimVector out(input.data(), input.size());
  out[out.size() - 2] = h;
  out[out.size() - 1] = w;
  return out;
}

void check_floating(DType t, const char* op) {
  TRT_CHECK_CODE(is_floating(t), Code::kNotSupported, op, ": not supported for dtype ", t);
}

Window3d volume_window(const cpu::Pool2d& g) {
  return {{{1, g.kh, g.kw}}, {{1, g.sh, g.sw}}, {{0, g.ph, g.pw}}, {{1, g.dh, g.dw}}, {{1, g.oh, g.ow}}};
}

void check_gradient(const Tensor& grad, const DimVector& sizes, const char* op) {
  TRT_CHECK(grad.sizes() == IntArrayRef(sizes), op, ": gradient ", grad, " does not fit the output's shape ", sizes);
}

void check_indices(const Tensor& indices, const Tensor& grad, const char* op) {
  TRT_CHECK(indices.dtype() == DType::Int64 && indices.sizes() == grad.sizes(), op, ": indices must be int64 of shape ",
            grad.sizes(), ", got ", indices);
}

Pair adaptive_size(IntArrayRef output_size, const char* op) {
  const Pair p = pair_of(output_size, op, "output_size");
  TRT_CHECK(p.h >= 0 && p.w >= 0, op, ": output_size must not be negative, got ", output_size);
  return p;
}

// Averages of integers, truncated as C++ divides; the sums wrap.
void avg_pool2d_int(const int64_t* x, int64_t* y, int64_t planes, const cpu::Pool2d& g, bool include_pad,
                    int64_t divisor) {
  parallel_for(0, planes, 16, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t* in = x + plane * g.ih * g.iw;
      for (int64_t r = 0; r < g.oh; ++r) {
        for (int64_t q = 0; q < g.ow; ++q) {
          int64_t h0 = r * g.sh - g.ph, w0 = q * g.sw - g.pw;
          int64_t h1 = std::min(h0 + g.kh, g.ih + g.ph), w1 = std::min(w0 + g.kw, g.iw + g.pw);
          const int64_t padded = (h1 - h0) * (w1 - w0);
          h0 = std::max<int64_t>(h0, 0);
          w0 = std::max<int64_t>(w0, 0);
          h1 = std::min(h1, g.ih);
          w1 = std::min(w1, g.iw);
          uint64_t sum = 0;
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) sum += static_cast<uint64_t>(in[h * g.iw + w]);
          const int64_t count = divisor       ? divisor
                                : include_pad ? padded
                                              : std::max<int64_t>(0, h1 - h0) * std::max<int64_t>(0, w1 - w0);
          const int64_t s = static_cast<int64_t>(sum);
          // -1 apart, because the smallest integer divided by it would trap.
          y[(plane * g.oh + r) * g.ow + q] = count == 0 ? 0 : count == -1 ? static_cast<int64_t>(0 - sum) : s / count;
        }
      }
    }
  });
}

void check_divisor(std::optional<int64_t> divisor, const char* op) {
  TRT_CHECK(!divisor || *divisor != 0, op, ": divisor_override must not be 0");
}

constexpr int64_t kOne = 1;
const IntArrayRef kNoDilation(&kOne, 1);

}  // namespace

namespace meta {

std::array<TensorSpec, 2> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                  std::optional<IntArrayRef> stride, IntArrayRef padding,
                                                  IntArrayRef dilation, bool ceil_mode) {
  TRT_CHECK_CODE(is_floating(self.dtype()) || is_integral(self.dtype(), false), Code::kNotSupported,
                 "max_pool2d: not supported for dtype ", self.dtype());
  const cpu::Pool2d g = pool_geometry(self.sizes(), {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool2d");
  const DimVector sizes = with_plane(self.sizes(), g.oh, g.ow);
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

TensorSpec max_pool2d_values(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0];
}

TensorSpec max_pool2d_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef input_size,
                               IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                               IntArrayRef dilation, bool ceil_mode) {
  const cpu::Pool2d g =
      pool_geometry(input_size, {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool2d_backward");
  check_gradient(grad_output, with_plane(input_size, g.oh, g.ow), "max_pool2d_backward");
  check_indices(indices, grad_output, "max_pool2d_backward");
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

TensorSpec avg_pool2d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride,
                      IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  TRT_CHECK_CODE(is_floating(self.dtype()) || self.dtype() == DType::Int64, Code::kNotSupported,
                 "avg_pool2d: not supported for dtype ", self.dtype());
  check_divisor(divisor_override, "avg_pool2d");
  const cpu::Pool2d g =
      pool_geometry(self.sizes(), {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool2d");
  return TensorSpec(with_plane(self.sizes(), g.oh, g.ow), self.dtype(), self.device());
}

TensorSpec avg_pool2d_backward(const Tensor& grad_output, IntArrayRef input_size, IntArrayRef kernel_size,
                               std::optional<IntArrayRef> stride, IntArrayRef padding, bool ceil_mode, bool,
                               std::optional<int64_t> divisor_override) {
  check_divisor(divisor_override, "avg_pool2d_backward");
  const cpu::Pool2d g =
      pool_geometry(input_size, {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool2d_backward");
  check_gradient(grad_output, with_plane(input_size, g.oh, g.ow), "avg_pool2d_backward");
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

TensorSpec adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size) {
  check_floating(self.dtype(), "adaptive_avg_pool2d");
  check_pool_input(self.sizes(), "adaptive_avg_pool2d", true);
  const Pair p = adaptive_size(output_size, "adaptive_avg_pool2d");
  return TensorSpec(with_plane(self.sizes(), p.h, p.w), self.dtype(), self.device());
}

TensorSpec adaptive_avg_pool2d_backward(const Tensor& grad_output, IntArrayRef input_size) {
  check_pool_input(input_size, "adaptive_avg_pool2d_backward", true);
  TRT_CHECK(grad_output.sizes().size() == input_size.size(), "adaptive_avg_pool2d_backward: gradient ", grad_output,
            " does not fit input shape ", input_size);
  check_gradient(grad_output, with_plane(input_size, grad_output.size(-2), grad_output.size(-1)),
                 "adaptive_avg_pool2d_backward");
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

std::array<TensorSpec, 2> adaptive_max_pool2d_with_indices(const Tensor& self, IntArrayRef output_size) {
  check_floating(self.dtype(), "adaptive_max_pool2d");
  check_pool_input(self.sizes(), "adaptive_max_pool2d");
  const Pair p = adaptive_size(output_size, "adaptive_max_pool2d");
  const DimVector sizes = with_plane(self.sizes(), p.h, p.w);
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

TensorSpec adaptive_max_pool2d_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef input_size) {
  check_pool_input(input_size, "adaptive_max_pool2d_backward");
  TRT_CHECK(grad_output.sizes().size() == input_size.size(), "adaptive_max_pool2d_backward: gradient ", grad_output,
            " does not fit input shape ", input_size);
  check_gradient(grad_output, with_plane(input_size, grad_output.size(-2), grad_output.size(-1)),
                 "adaptive_max_pool2d_backward");
  check_indices(indices, grad_output, "adaptive_max_pool2d_backward");
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

}  // namespace meta

namespace {

// Runs f<T>(x, y, planes) on `input` as contiguous data of the compute dtype, with the result going to `out`.
template <typename F>
void on_planes(const Tensor& input, Tensor& out, const char* op, F&& f) {
  const DType dtype = compute_dtype(out.dtype());
  const Tensor x = contiguous_tensor(input, dtype);
  Computed y(out, dtype);
  dispatch_float(dtype, op, [&]<typename T>() { f(x.data_ptr<T>(), y.data<T>(), planes_of(input.sizes())); });
  y.finish();
}

}  // namespace

namespace native {

void max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& output,
                             Tensor& indices) {
  const cpu::Pool2d g = pool_geometry(self.sizes(), {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool2d");
  if (!is_floating(self.dtype())) return max_pool_integers(self, {{1, g.ih, g.iw}}, volume_window(g), output, &indices);
  on_planes(self, output, "max_pool2d", [&](auto* x, auto* y, int64_t planes) {
    cpu::max_pool2d_forward(x, y, indices.data_ptr<int64_t>(), planes, g);
  });
}

void max_pool2d_values(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride,
                       IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& out) {
  const cpu::Pool2d g = pool_geometry(self.sizes(), {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool2d");
  if (!is_floating(self.dtype())) return max_pool_integers(self, {{1, g.ih, g.iw}}, volume_window(g), out, nullptr);
  on_planes(self, out, "max_pool2d",
            [&](auto* x, auto* y, int64_t planes) { cpu::max_pool2d_forward(x, y, nullptr, planes, g); });
}

void max_pool2d_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef input_size,
                         IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                         IntArrayRef dilation, bool ceil_mode, Tensor& out) {
  const cpu::Pool2d g =
      pool_geometry(input_size, {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool2d_backward");
  const Tensor at = contiguous_tensor(indices);
  on_planes(grad_output, out, "max_pool2d_backward", [&](auto* gy, auto* gx, int64_t planes) {
    cpu::max_pool2d_backward(gy, at.data_ptr<int64_t>(), gx, planes, g);
  });
}

void avg_pool2d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  const cpu::Pool2d g =
      pool_geometry(self.sizes(), {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool2d");
  const int64_t divisor = divisor_override.value_or(0);
  if (out.dtype() == DType::Int64) {
    const Tensor x = contiguous_tensor(self);
    return avg_pool2d_int(x.data_ptr<int64_t>(), out.data_ptr<int64_t>(), planes_of(self.sizes()), g, count_include_pad,
                          divisor);
  }
  on_planes(self, out, "avg_pool2d", [&](auto* x, auto* y, int64_t planes) {
    cpu::avg_pool2d_forward(x, y, planes, g, count_include_pad, divisor);
  });
}

void avg_pool2d_backward(const Tensor& grad_output, IntArrayRef input_size, IntArrayRef kernel_size,
                         std::optional<IntArrayRef> stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override, Tensor& out) {
  const cpu::Pool2d g =
      pool_geometry(input_size, {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool2d_backward");
  on_planes(grad_output, out, "avg_pool2d_backward", [&](auto* gy, auto* gx, int64_t planes) {
    cpu::avg_pool2d_backward(gy, gx, planes, g, count_include_pad, divisor_override.value_or(0));
  });
}

void adaptive_avg_pool2d(const Tensor& self, IntArrayRef, Tensor& out) {
  if (out.numel() == 0) return;
  on_planes(self, out, "adaptive_avg_pool2d", [&](auto* x, auto* y, int64_t planes) {
    cpu::adaptive_avg_pool2d_forward(x, y, planes, self.size(-2), self.size(-1), out.size(-2), out.size(-1));
  });
}

void adaptive_avg_pool2d_backward(const Tensor& grad_output, IntArrayRef, Tensor& out) {
  if (grad_output.numel() == 0) return fill_tensor(out, 0);
  on_planes(grad_output, out, "adaptive_avg_pool2d_backward", [&](auto* gy, auto* gx, int64_t planes) {
    cpu::adaptive_avg_pool2d_backward(gy, gx, planes, out.size(-2), out.size(-1), grad_output.size(-2),
                                      grad_output.size(-1));
  });
}

void adaptive_max_pool2d_with_indices(const Tensor& self, IntArrayRef, Tensor& output, Tensor& indices) {
  if (output.numel() == 0) return;
  on_planes(self, output, "adaptive_max_pool2d", [&](auto* x, auto* y, int64_t planes) {
    cpu::adaptive_max_pool2d_forward(x, y, indices.data_ptr<int64_t>(), planes, self.size(-2), self.size(-1),
                                     output.size(-2), output.size(-1));
  });
}

void adaptive_max_pool2d_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef, Tensor& out) {
  if (grad_output.numel() == 0) return fill_tensor(out, 0);
  const Tensor at = contiguous_tensor(indices);
  on_planes(grad_output, out, "adaptive_max_pool2d_backward", [&](auto* gy, auto* gx, int64_t planes) {
    cpu::adaptive_max_pool2d_backward(gy, at.data_ptr<int64_t>(), gx, planes, out.size(-2), out.size(-1),
                                      grad_output.size(-2), grad_output.size(-1));
  });
}

}  // namespace native

}  // namespace trt
