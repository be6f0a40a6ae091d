// Two-dimensional convolution and its gradients.
//
// The 16-bit floats compute in float; integers (which have no gradient) in int64 by a plain loop.
#include "base/parallel.h"
#include "gen/nn_conv_native.h"
#include "iter/copy.h"
#include "kernels/cpu/conv.h"
#include "ops/window.h"

namespace trt {

namespace {

struct ConvArgs {
  IntArrayRef stride, padding, dilation;
  int64_t groups;
};

// Checks everything but the gradient's own shape, and fills the kernel's description. `input` is [n, c, h, w] or [c, h,
// w].
cpu::Conv2dShape conv_shape(IntArrayRef input, IntArrayRef weight, const ConvArgs& a, const char* op) {
  TRT_CHECK(input.size() == 3 || input.size() == 4, op, ": input must have 3 or 4 dimensions, got shape ", input);
  TRT_CHECK(weight.size() == 4, op, ": weight must have 4 dimensions, got shape ", weight);
  for (int64_t d : weight) TRT_CHECK(d >= 0, op, ": sizes must not be negative, got ", weight);
  for (int64_t d : input) TRT_CHECK(d >= 0, op, ": sizes must not be negative, got ", input);
  const size_t lead = input.size() - 3;
  const Pair stride = pair_of(a.stride, op, "stride"), padding = pair_of(a.padding, op, "padding"),
             dilation = pair_of(a.dilation, op, "dilation");
  cpu::Conv2dShape s;
  s.n = lead ? input[0] : 1;
  s.c = input[lead];
  s.h = input[lead + 1];
  s.w = input[lead + 2];
  s.o = weight[0];
  s.kh = weight[2];
  s.kw = weight[3];
  s.stride_h = stride.h;
  s.stride_w = stride.w;
  s.pad_h = padding.h;
  s.pad_w = padding.w;
  s.dil_h = dilation.h;
  s.dil_w = dilation.w;
  s.groups = a.groups;
  TRT_CHECK(s.groups > 0, op, ": groups must be positive, got ", s.groups);
  TRT_CHECK(s.kh > 0 && s.kw > 0, op, ": the kernel must not be empty, got weight ", weight);
  TRT_CHECK(s.stride_h > 0 && s.stride_w > 0, op, ": stride must be positive, got ", a.stride);
  TRT_CHECK(s.dil_h > 0 && s.dil_w > 0, op, ": dilation must be positive, got ", a.dilation);
  TRT_CHECK(s.pad_h >= 0 && s.pad_w >= 0, op, ": padding must not be negative, got ", a.padding);
  TRT_CHECK(s.o > 0 && s.o % s.groups == 0, op, ": the ", s.o, " output channels of weight ", weight,
            " must be a positive multiple of groups = ", s.groups);
  TRT_CHECK(s.c % s.groups == 0 && weight[1] == s.c / s.groups, op, ": input ", input, " with ", s.c,
            " channels does not fit weight ", weight, " and groups = ", s.groups);
  s.oh = window_count(s.h, s.kh, s.stride_h, s.pad_h, s.dil_h, op);
  s.ow = window_count(s.w, s.kw, s.stride_w, s.pad_w, s.dil_w, op);
  TRT_CHECK(s.oh > 0 && s.ow > 0, op, ": the padded input of shape ", input, " is smaller than the kernel of shape ",
            weight);
  return s;
}

DimVector output_sizes(const cpu::Conv2dShape& s, size_t rank) {
  return rank == 3 ? DimVector{s.o, s.oh, s.ow} : DimVector{s.n, s.o, s.oh, s.ow};
}

void check_operands(const Tensor& a, const Tensor& b, const char* op) {
  TRT_CHECK(a.dtype() == b.dtype(), op, ": operands must have the same dtype, got ", a, " and ", b);
  TRT_CHECK(a.device() == b.device(), op, ": operands must be on the same device, got ", a, " and ", b);
}

// Calls f(image index, kernel index, output index) for every product of a convolution, group by group; for the integer
// kernels, whose wrapping arithmetic on uint64 has the result of every narrower type in its low bits. Images are
// independent of each other.
template <typename F>
void for_each_product(const cpu::Conv2dShape& s, F&& f) {
  const int64_t cg = s.c / s.groups, og = s.o / s.groups;
  parallel_for(0, s.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t o = 0; o < s.o; ++o)
        for (int64_t r = 0; r < s.oh; ++r)
          for (int64_t q = 0; q < s.ow; ++q)
            for (int64_t c = 0; c < cg; ++c)
              for (int64_t i = 0; i < s.kh; ++i) {
                const int64_t h = r * s.stride_h - s.pad_h + i * s.dil_h;
                if (h < 0 || h >= s.h) continue;
                for (int64_t j = 0; j < s.kw; ++j) {
                  const int64_t v = q * s.stride_w - s.pad_w + j * s.dil_w;
                  if (v < 0 || v >= s.w) continue;
                  f(((n * s.c + o / og * cg + c) * s.h + h) * s.w + v, ((o * cg + c) * s.kh + i) * s.kw + j,
                    ((n * s.o + o) * s.oh + r) * s.ow + q);
                }
              }
  });
}

void conv2d_int(const cpu::Conv2dShape& s, const uint64_t* x, const uint64_t* w, const uint64_t* bias, uint64_t* y) {
  const int64_t plane = s.oh * s.ow;
  for (int64_t i = 0; i < s.n * s.o; ++i) std::fill_n(y + i * plane, plane, bias ? bias[i % s.o] : 0);
  for_each_product(s, [&](int64_t xi, int64_t wi, int64_t yi) { y[yi] += x[xi] * w[wi]; });
}

void conv2d_int_backward_input(const cpu::Conv2dShape& s, const uint64_t* gy, const uint64_t* w, uint64_t* gx) {
  std::fill_n(gx, s.n * s.c * s.h * s.w, 0);
  for_each_product(s, [&](int64_t xi, int64_t wi, int64_t yi) { gx[xi] += gy[yi] * w[wi]; });
}

DType conv_dtype(DType t) { return is_integral(t, true) ? DType::Int64 : compute_dtype(t); }

}  // namespace

namespace meta {

TensorSpec conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  check_operands(input, weight, "conv2d");
  TRT_CHECK_CODE(input.dtype() != DType::Bool, Code::kNotSupported, "conv2d: not supported for dtype bool");
  const cpu::Conv2dShape s = conv_shape(input.sizes(), weight.sizes(), {stride, padding, dilation, groups}, "conv2d");
  if (bias.defined()) {
    check_operands(input, bias, "conv2d");
    TRT_CHECK(bias.dim() == 1 && bias.sizes()[0] == s.o, "conv2d: bias must have shape [", s.o, "], got ", bias);
  }
  return TensorSpec(output_sizes(s, input.sizes().size()), input.dtype(), input.device());
}

TensorSpec conv2d_backward_input(const Tensor& grad_output, const Tensor& weight, IntArrayRef input_size,
                                 IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  check_operands(grad_output, weight, "conv2d_backward_input");
  TRT_CHECK_CODE(grad_output.dtype() != DType::Bool, Code::kNotSupported,
                 "conv2d_backward_input: not supported for dtype bool");
  const cpu::Conv2dShape s =
      conv_shape(input_size, weight.sizes(), {stride, padding, dilation, groups}, "conv2d_backward_input");
  TRT_CHECK(grad_output.sizes() == IntArrayRef(output_sizes(s, input_size.size())), "conv2d_backward_input: gradient ",
            grad_output, " does not fit the output's shape ", output_sizes(s, input_size.size()));
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

std::array<TensorSpec, 2> conv2d_backward_weight(const Tensor& grad_output, const Tensor& input,
                                                 IntArrayRef weight_size, IntArrayRef stride, IntArrayRef padding,
                                                 IntArrayRef dilation, int64_t groups, bool with_bias) {
  check_operands(grad_output, input, "conv2d_backward_weight");
  const cpu::Conv2dShape s =
      conv_shape(input.sizes(), weight_size, {stride, padding, dilation, groups}, "conv2d_backward_weight");
  TRT_CHECK(grad_output.sizes() == IntArrayRef(output_sizes(s, input.sizes().size())),
            "conv2d_backward_weight: gradient ", grad_output, " does not fit the output's shape ",
            output_sizes(s, input.sizes().size()));
  return {TensorSpec(weight_size, input.dtype(), input.device()),
          TensorSpec({with_bias ? s.o : 0}, input.dtype(), input.device())};
}

}  // namespace meta

namespace native {

void conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
            IntArrayRef dilation, int64_t groups, Tensor& out) {
  if (out.numel() == 0) return;
  const cpu::Conv2dShape s = conv_shape(input.sizes(), weight.sizes(), {stride, padding, dilation, groups}, "conv2d");
  const DType dtype = conv_dtype(out.dtype());
  const Tensor x = contiguous_tensor(input, dtype), w = contiguous_tensor(weight, dtype),
               b = optional_contiguous(bias, dtype);
  Computed y(out, dtype);
  if (dtype == DType::Int64) {
    conv2d_int(s, x.data_ptr<uint64_t>(), w.data_ptr<uint64_t>(), optional_data<uint64_t>(b), y.data<uint64_t>());
  } else {
    dispatch_float(dtype, "conv2d", [&]<typename T>() {
      cpu::conv2d_forward(s, x.data_ptr<T>(), w.data_ptr<T>(), optional_data<T>(b), y.data<T>());
    });
  }
  y.finish();
}

void conv2d_backward_input(const Tensor& grad_output, const Tensor& weight, IntArrayRef input_size, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef dilation, int64_t groups, Tensor& out) {
  if (out.numel() == 0) return;
  const cpu::Conv2dShape s =
      conv_shape(input_size, weight.sizes(), {stride, padding, dilation, groups}, "conv2d_backward_input");
  const DType dtype = conv_dtype(out.dtype());
  const Tensor gy = contiguous_tensor(grad_output, dtype), w = contiguous_tensor(weight, dtype);
  Computed gx(out, dtype);
  if (dtype == DType::Int64)
    conv2d_int_backward_input(s, gy.data_ptr<uint64_t>(), w.data_ptr<uint64_t>(), gx.data<uint64_t>());
  else
    dispatch_float(dtype, "conv2d_backward_input", [&]<typename T>() {
      cpu::conv2d_backward_input(s, gy.data_ptr<T>(), w.data_ptr<T>(), gx.data<T>());
    });
  gx.finish();
}

void conv2d_backward_weight(const Tensor& grad_output, const Tensor& input, IntArrayRef weight_size, IntArrayRef stride,
                            IntArrayRef padding, IntArrayRef dilation, int64_t groups, bool with_bias,
                            Tensor& grad_weight, Tensor& grad_bias) {
  const cpu::Conv2dShape s =
      conv_shape(input.sizes(), weight_size, {stride, padding, dilation, groups}, "conv2d_backward_weight");
  const DType dtype = compute_dtype(grad_weight.dtype());
  const Tensor gy = contiguous_tensor(grad_output, dtype), x = contiguous_tensor(input, dtype);
  Computed gw(grad_weight, dtype), gb(grad_bias, dtype);
  dispatch_float(dtype, "conv2d_backward_weight", [&]<typename T>() {
    cpu::conv2d_backward_weight(s, x.data_ptr<T>(), gy.data_ptr<T>(), gw.data<T>(), with_bias ? gb.data<T>() : nullptr);
  });
  gw.finish();
  gb.finish();
}

}  // namespace native

}  // namespace trt
