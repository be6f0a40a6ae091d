// Convolutions made of conv2d and its gradients.
#include "gen/all_ops.h"
#include "gen/nn_conv_native.h"
#include "ops/window.h"

namespace trt::composite {

namespace {

// 'valid' or 'same' as padding of the last `dims` dimensions. Where 'same' needs one more element at the end than at
// the begin, the input is padded there first.
struct NamedPadding {
  Tensor input;
  DimVector each;
};

NamedPadding named_padding(const Tensor& input, const Tensor& weight, IntArrayRef stride, std::string_view name,
                           IntArrayRef dilation, size_t dims, const char* op) {
  NamedPadding out{input, DimVector(dims, 0)};
  TRT_CHECK(name == "valid" || name == "same", op, ": padding must be 'valid' or 'same', got '", name, "'");
  if (name == "valid") return out;
  TRT_CHECK(weight.sizes().size() == dims + 2, op, ": weight must have ", dims + 2, " dimensions, got ", weight);
  TRT_CHECK(stride.size() == 1 || stride.size() == dims, op, ": stride must be one number or ", dims, ", got ", stride);
  TRT_CHECK(dilation.size() == 1 || dilation.size() == dims, op, ": dilation must be one number or ", dims, ", got ",
            dilation);
  for (int64_t s : stride) TRT_CHECK(s == 1, op, ": padding 'same' needs stride 1, got ", stride);
  DimVector extra(2 * dims, 0);
  bool uneven = false;
  for (size_t i = 0; i < dims; ++i) {
    const int64_t d = dilation[dilation.size() == 1 ? 0 : i], k = weight.sizes()[i + 2];
    TRT_CHECK(d > 0 && d < (int64_t{1} << 31) && k < (int64_t{1} << 31), op, ": dilation is out of range: ", dilation);
    const int64_t total = d * std::max<int64_t>(k - 1, 0);
    out.each[i] = total / 2;
    // constant_pad_nd counts from the last dimension.
    extra[2 * (dims - 1 - i) + 1] = total % 2;
    uneven |= total % 2 != 0;
  }
  if (uneven) out.input = op::constant_pad_nd(input, extra, 0);
  return out;
}

int64_t single(IntArrayRef v, const char* op, const char* name) {
  TRT_CHECK(v.size() == 1, op, ": ", name, " must be one number, got ", v);
  return v[0];
}

}  // namespace

Tensor conv2d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  const NamedPadding p = named_padding(input, weight, stride, padding, dilation, 2, "conv2d");
  return op::conv2d(p.input, weight, bias, stride, p.each, dilation, groups);
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  TRT_CHECK((input.dim() == 2 || input.dim() == 3) && weight.dim() == 3,
            "conv1d: needs an input of 2 or 3 and a weight of 3 dimensions, got ", input, " and ", weight);
  const int64_t s = single(stride, "conv1d", "stride"), p = single(padding, "conv1d", "padding"),
                d = single(dilation, "conv1d", "dilation");
  return op::squeeze(op::conv2d(op::unsqueeze(input, -2), op::unsqueeze(weight, -2), bias, IntArrayRef{1, s},
                                IntArrayRef{0, p}, IntArrayRef{1, d}, groups),
                     -2);
}

Tensor conv1d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  const NamedPadding p = named_padding(input, weight, stride, padding, dilation, 1, "conv1d");
  return op::conv1d(p.input, weight, bias, stride, p.each, dilation, groups);
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  constexpr const char* kName = "conv_transpose2d";
  TRT_CHECK((input.dim() == 3 || input.dim() == 4) && weight.dim() == 4, kName,
            ": needs an input of 3 or 4 and a weight of 4 dimensions, got ", input, " and ", weight);
  const Pair s = pair_of(stride, kName, "stride"), p = pair_of(padding, kName, "padding"),
             extra = pair_of(output_padding, kName, "output_padding"), d = pair_of(dilation, kName, "dilation");
  TRT_CHECK(groups > 0 && weight.size(0) == input.size(-3) && weight.size(0) % groups == 0, kName, ": input ", input,
            " does not fit weight ", weight, " and groups = ", groups);
  TRT_CHECK(extra.h >= 0 && extra.w >= 0 && (extra.h < s.h || extra.h < d.h) && (extra.w < s.w || extra.w < d.w), kName,
            ": output_padding must be smaller than stride or dilation, got ", output_padding);
  auto extent = [&](int64_t in, int64_t k, int64_t stride1, int64_t pad, int64_t dil, int64_t more) {
    int64_t out = 0;
    const bool overflow =
        __builtin_mul_overflow(in - 1, stride1, &out) ||
        __builtin_add_overflow(out, dil * (std::min<int64_t>(k, int64_t{1} << 31) - 1) + more + 1 - 2 * pad, &out);
    TRT_CHECK(!overflow && out > 0, kName, ": the output of input ", input, " and weight ", weight,
              " is empty or too large");
    return out;
  };
  int64_t channels = 0;
  TRT_CHECK(!__builtin_mul_overflow(weight.size(1), groups, &channels), kName, ": too many output channels");
  DimVector size(input.sizes().data(), input.sizes().size());
  const size_t n = size.size();
  size[n - 3] = channels;
  size[n - 2] = extent(input.size(-2), weight.size(2), s.h, p.h, d.h, extra.h);
  size[n - 1] = extent(input.size(-1), weight.size(3), s.w, p.w, d.w, extra.w);
  // An output padding of a stride or more reaches places that the input's end does not: zeros behind it stand for them.
  const int64_t behind_h = extra.h / s.h, behind_w = extra.w / s.w;
  const Tensor x = behind_h || behind_w ? op::constant_pad_nd(input, {0, behind_w, 0, behind_h}, 0) : input;
  const Tensor y = op::conv2d_backward_input(x, weight, size, stride, padding, dilation, groups);
  if (!bias.defined()) return y;
  TRT_CHECK(bias.dim() == 1 && bias.size(0) == channels, kName, ": bias must have shape [", channels, "], got ", bias);
  return op::add(y, op::reshape(bias, {channels, 1, 1}));
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  constexpr const char* kName = "conv_transpose1d";
  TRT_CHECK((input.dim() == 2 || input.dim() == 3) && weight.dim() == 3, kName,
            ": needs an input of 2 or 3 and a weight of 3 dimensions, got ", input, " and ", weight);
  const int64_t s = single(stride, kName, "stride"), p = single(padding, kName, "padding"),
                e = single(output_padding, kName, "output_padding"), d = single(dilation, kName, "dilation");
  return op::squeeze(op::conv_transpose2d(op::unsqueeze(input, -2), op::unsqueeze(weight, -2), bias, {1, s}, {0, p},
                                          {0, e}, groups, {1, d}),
                     -2);
}

// Three dimensions are convolved as two: the taps along the depth become channels of the frames (im2col over the depth,
// with a frame as one row), and the result of a transposed convolution is summed from such channels (col2im).
namespace {

struct Depth {
  Tensor input;  // [n, c, d, h, w]
  bool batched;
};

Depth volumes(const Tensor& input, const Tensor& weight, const char* op) {
  TRT_CHECK((input.dim() == 4 || input.dim() == 5) && weight.dim() == 5, op,
            ": needs an input of 4 or 5 and a weight of 5 dimensions, got ", input, " and ", weight);
  TRT_CHECK(input.dtype() == weight.dtype(), op, ": operands must have the same dtype, got ", input, " and ", weight);
  for (size_t i = 2; i < 5; ++i)
    TRT_CHECK(weight.sizes()[i] > 0, op, ": the kernel must not be empty, got weight ", weight);
  return {input.dim() == 5 ? input : op::unsqueeze(input, 0), input.dim() == 5};
}

void check_steps(const Triple& stride, const Triple& padding, const Triple& dilation, const char* op) {
  for (size_t i = 0; i < 3; ++i) {
    TRT_CHECK(stride[i] > 0 && dilation[i] > 0, op, ": stride and dilation must be positive, got ", stride[i], " and ",
              dilation[i]);
    TRT_CHECK(padding[i] >= 0, op, ": padding must not be negative, got ", padding[i]);
  }
}

// Weight with the depth's taps as channels: [a, b, kd, kh, kw] as [a, b * kd, kh, kw].
Tensor flat_weight(const Tensor& weight) { return op::flatten(weight, 1, 2); }

}  // namespace

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  constexpr const char* kName = "conv3d";
  const auto [x, batched] = volumes(input, weight, kName);
  const Triple s = triple_of(stride, kName, "stride"), p = triple_of(padding, kName, "padding"),
               d = triple_of(dilation, kName, "dilation");
  check_steps(s, p, d, kName);
  TRT_CHECK(groups > 0 && x.size(1) % groups == 0 && weight.size(1) == x.size(1) / groups && weight.size(0) > 0 &&
                weight.size(0) % groups == 0,
            kName, ": input ", input, " does not fit weight ", weight, " and groups = ", groups);
  TRT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)), kName, ": bias must have shape [",
            weight.size(0), "], got ", bias);
  for (size_t i = 0; i < 3; ++i)
    TRT_CHECK(window_count(x.sizes()[i + 2], weight.sizes()[i + 2], s[i], p[i], d[i], kName) > 0, kName,
              ": the padded input of shape ", input.sizes(), " is smaller than the kernel of shape ", weight.sizes());
  const int64_t n = x.size(0), c = x.size(1), h = x.size(3), w = x.size(4), kd = weight.size(2),
                od = window_count(x.size(2), kd, s[0], p[0], d[0], kName);
  Tensor frames = x;
  if (kd > 1 || s[0] > 1 || p[0] > 0)
    frames = op::im2col(op::flatten(x, 3, 4), {kd, 1}, {d[0], 1}, {p[0], 0}, {s[0], 1});
  frames = op::permute(op::reshape(frames, {n, c * kd, od, h, w}), {0, 2, 1, 3, 4});
  const Tensor y = op::conv2d(op::flatten(frames, 0, 1), flat_weight(weight), bias, IntArrayRef{s[1], s[2]},
                              IntArrayRef{p[1], p[2]}, IntArrayRef{d[1], d[2]}, groups);
  const Tensor out =
      op::contiguous(op::permute(op::reshape(y, {n, od, y.size(1), y.size(2), y.size(3)}), {0, 2, 1, 3, 4}));
  return batched ? out : op::squeeze(out, 0);
}

Tensor conv3d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  const NamedPadding p = named_padding(input, weight, stride, padding, dilation, 3, "conv3d");
  return op::conv3d(p.input, weight, bias, stride, p.each, dilation, groups);
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  constexpr const char* kName = "conv_transpose3d";
  auto [x, batched] = volumes(input, weight, kName);
  const Triple s = triple_of(stride, kName, "stride"), p = triple_of(padding, kName, "padding"),
               e = triple_of(output_padding, kName, "output_padding"), d = triple_of(dilation, kName, "dilation");
  check_steps(s, p, d, kName);
  TRT_CHECK(groups > 0 && weight.size(0) == x.size(1) && weight.size(0) % groups == 0, kName, ": input ", input,
            " does not fit weight ", weight, " and groups = ", groups);
  for (size_t i = 0; i < 3; ++i)
    TRT_CHECK(e[i] >= 0 && (e[i] < s[i] || e[i] < d[i]), kName,
              ": output_padding must be smaller than stride or dilation, got ", output_padding);
  int64_t channels = 0;
  TRT_CHECK(!__builtin_mul_overflow(weight.size(1), groups, &channels), kName, ": too many output channels");
  TRT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == channels), kName, ": bias must have shape [",
            channels, "], got ", bias);
  constexpr int64_t kLimit = int64_t{1} << 31;
  const int64_t kd = weight.size(2);
  TRT_CHECK(x.size(2) < kLimit && kd < kLimit, kName, ": input ", input, " or weight ", weight, " is too large");
  int64_t od = 0;
  const bool overflow = __builtin_mul_overflow(d[0], kd - 1, &od) ||
                        __builtin_add_overflow(od, (x.size(2) - 1) * s[0], &od) ||
                        __builtin_add_overflow(od, e[0] + 1 - 2 * p[0], &od);
  TRT_CHECK(!overflow && od > 0, kName, ": the output of input ", input, " and weight ", weight,
            " is empty or too large");
  // An output padding of a stride or more reaches places that the input's end does not: zeros behind it stand for them.
  if (e[0] >= s[0]) x = op::constant_pad_nd(x, {0, 0, 0, 0, 0, e[0] / s[0]}, 0);
  const int64_t n = x.size(0), depth = x.size(2);
  const Tensor frames = op::flatten(op::permute(x, {0, 2, 1, 3, 4}), 0, 1);
  const Tensor y = op::conv_transpose2d(frames, flat_weight(weight), Tensor(), {s[1], s[2]}, {p[1], p[2]},
                                        {e[1], e[2]}, groups, {d[1], d[2]});
  const int64_t oh = y.size(2), ow = y.size(3);
  const Tensor columns = op::flatten(
      op::permute(op::reshape(y, {n, depth, y.size(1), oh * ow}), {0, 2, 1, 3}), 2, 3);
  Tensor out = op::reshape(op::col2im(columns, {od, oh * ow}, {kd, 1}, {d[0], 1}, {p[0], 0}, {s[0], 1}),
                           {n, channels, od, oh, ow});
  if (bias.defined()) out = op::add(out, op::reshape(bias, {channels, 1, 1, 1}));
  return batched ? out : op::squeeze(out, 0);
}

}  // namespace trt::composite
