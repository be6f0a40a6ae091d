// Interpolation in several dimensions, shuffles of channels and pixels, the inverse of maximum pooling.
#include <cmath>

#include "gen/all_ops.h"
#include "gen/nn_resample_native.h"
#include "ops/window.h"

namespace trt::composite {

namespace {

// The input's position for every output of mode nearest. PyTorch computes it in float, which decides where it falls
// between two elements.
int64_t nearest(int64_t o, int64_t in, float step, bool exact) {
  const float at = (static_cast<float>(o) + (exact ? 0.5F : 0.0F)) * step;
  return std::min(static_cast<int64_t>(std::floor(std::min(at, static_cast<float>(in)))), in - 1);
}

Tensor resize_nearest(const Tensor& input, int64_t dim, int64_t out, double scale, bool exact) {
  const int64_t in = input.size(dim);
  Tensor at = empty_tensor({out}, DType::Int64, input.device());
  if (!input.is_meta()) {
    const float step = scale > 0 ? static_cast<float>(scale) : static_cast<float>(in) / static_cast<float>(out);
    for (int64_t o = 0; o < out; ++o) at.data_ptr<int64_t>()[o] = nearest(o, in, step, exact);
  }
  return op::index_select(input, dim, at);
}

struct Target {
  DimVector size;
  std::vector<double> step;  // the input's extent over the output's, 0 to take it from the sizes
};

Target target_of(const Tensor& input, std::optional<IntArrayRef> size, std::optional<ArrayRef<double>> scale_factor,
                 bool recompute) {
  const size_t dims = static_cast<size_t>(input.dim() - 2);
  TRT_CHECK(size.has_value() != scale_factor.has_value(),
            "interpolate: exactly one of size and scale_factor must be given");
  Target t{DimVector(dims, 0), std::vector<double>(dims, 0)};
  if (size) {
    TRT_CHECK(!recompute, "interpolate: recompute_scale_factor needs a scale_factor");
    TRT_CHECK(size->size() == 1 || size->size() == dims, "interpolate: size must be one number or ", dims, ", got ",
              *size);
    for (size_t i = 0; i < dims; ++i) t.size[i] = (*size)[size->size() == 1 ? 0 : i];
  } else {
    TRT_CHECK(scale_factor->size() == 1 || scale_factor->size() == dims,
              "interpolate: scale_factor must be one number or ", dims, ", got ", scale_factor->size());
    for (size_t i = 0; i < dims; ++i) {
      const double f = (*scale_factor)[scale_factor->size() == 1 ? 0 : i];
      const double extent = std::floor(static_cast<double>(input.sizes()[i + 2]) * f);
      TRT_CHECK(f > 0 && extent < 0x1p48, "interpolate: scale_factor ", f, " does not fit input ", input);
      t.size[i] = static_cast<int64_t>(extent);
      if (!recompute) t.step[i] = 1 / f;
    }
  }
  for (size_t i = 0; i < dims; ++i)
    TRT_CHECK(t.size[i] > 0 && t.size[i] < (int64_t{1} << 48) && input.sizes()[i + 2] > 0,
              "interpolate: input and output must not be empty, got input ", input, " and output size ", t.size);
  return t;
}

Tensor area(const Tensor& input, const DimVector& size) {
  switch (size.size()) {
    case 1:
      return op::adaptive_avg_pool1d(input, size);
    case 2:
      return op::adaptive_avg_pool2d(input, size);
    default:
      return op::adaptive_avg_pool3d(input, size);
  }
}

}  // namespace

Tensor interpolate(const Tensor& input, std::optional<IntArrayRef> size, std::optional<ArrayRef<double>> scale_factor,
                   std::string_view mode, std::optional<bool> align_corners, std::optional<bool> recompute_scale_factor,
                   bool antialias) {
  TRT_CHECK(input.dim() >= 3 && input.dim() <= 5, "interpolate: input must have 3 to 5 dimensions, got ", input);
  const Target t = target_of(input, size, scale_factor, recompute_scale_factor.value_or(false));
  const int64_t dims = input.dim() - 2;
  TRT_CHECK(!antialias || mode == "bilinear" || mode == "bicubic",
            "interpolate: antialias is for the modes bilinear and bicubic, got ", mode);
  const bool is_nearest = mode == "nearest" || mode == "nearest-exact";
  if (is_nearest || mode == "area") {
    TRT_CHECK(!align_corners, "interpolate: mode ", mode, " takes no align_corners");
    if (mode == "area") return area(input, t.size);
    Tensor out = input;
    for (int64_t i = 0; i < dims; ++i) {
      const int64_t n = t.size[static_cast<size_t>(i)];
      // As in PyTorch, an image whose extent stays keeps its elements whatever the scale is; lines and volumes do not.
      if (dims == 2 && mode == "nearest" && n == out.size(i + 2)) continue;
      out = resize_nearest(out, i + 2, n, t.step[static_cast<size_t>(i)], mode == "nearest-exact");
    }
    return out.is_same(input) ? op::clone(input) : out;
  }
  const bool is_cubic = mode == "bicubic";
  const int64_t wanted = mode == "linear" ? 1 : mode == "bilinear" || is_cubic ? 2 : mode == "trilinear" ? 3 : 0;
  TRT_CHECK(wanted != 0, "interpolate: mode must be nearest, nearest-exact, area, linear, bilinear, bicubic or "
                         "trilinear, got '", mode, "'");
  TRT_CHECK(wanted == dims, "interpolate: mode ", mode, " is for ", wanted + 2, " dimensions, got input ", input);
  const DType dtype = input.dtype();
  TRT_CHECK_CODE(is_floating(dtype) || dtype == DType::UInt8, Code::kNotSupported, "interpolate: mode ", mode,
                 " is not supported for dtype ", dtype);
  // Narrow dtypes are rounded once, at the end.
  const bool narrow = dtype == DType::UInt8 || is_reduced_floating(dtype);
  Tensor out = narrow ? op::to(input, DType::Float32) : input;
  for (int64_t i = 0; i < dims; ++i)
    out = op::resample(out, i + 2, t.size[static_cast<size_t>(i)], (is_cubic ? 1 : 0) + (antialias ? 2 : 0),
                       align_corners.value_or(false), t.step[static_cast<size_t>(i)]);
  if (!narrow) return out;
  return op::to(dtype == DType::UInt8 ? op::clamp(op::round(out), Scalar(0), Scalar(255)) : out, dtype);
}

Tensor upsample(const Tensor& input, std::optional<IntArrayRef> size, std::optional<ArrayRef<double>> scale_factor,
                std::string_view mode, std::optional<bool> align_corners) {
  return op::interpolate(input, size, scale_factor, mode, align_corners);
}

Tensor upsample_nearest(const Tensor& input, std::optional<IntArrayRef> size,
                        std::optional<ArrayRef<double>> scale_factor) {
  return op::interpolate(input, size, scale_factor, "nearest");
}

Tensor upsample_bilinear(const Tensor& input, std::optional<IntArrayRef> size,
                         std::optional<ArrayRef<double>> scale_factor) {
  return op::interpolate(input, size, scale_factor, "bilinear", true);
}

Tensor pixel_shuffle(const Tensor& self, int64_t r) {
  TRT_CHECK(self.dim() >= 3, "pixel_shuffle: input needs at least 3 dimensions, got ", self);
  TRT_CHECK(r > 0 && r < (int64_t{1} << 31), "pixel_shuffle: upscale_factor must be positive, got ", r);
  const int64_t channels = self.size(-3), h = self.size(-2), w = self.size(-1);
  TRT_CHECK(channels % (r * r) == 0, "pixel_shuffle: the ", channels, " channels of ", self,
            " are no multiple of the square of upscale_factor = ", r);
  if (r == 1) return op::clone(self);
  const size_t lead = self.sizes().size() - 3;
  DimVector split(self.sizes().data(), lead), order, joined = split;
  for (int64_t d : {channels / (r * r), r, r, h, w}) split.push_back(d);
  for (int64_t d : {channels / (r * r), h * r, w * r}) joined.push_back(d);
  for (size_t d = 0; d < lead; ++d) order.push_back(static_cast<int64_t>(d));
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(static_cast<int64_t>(lead) + d);
  return op::reshape(op::permute(op::reshape(self, split), order), joined);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t r) {
  TRT_CHECK(self.dim() >= 3, "pixel_unshuffle: input needs at least 3 dimensions, got ", self);
  TRT_CHECK(r > 0 && r < (int64_t{1} << 31), "pixel_unshuffle: downscale_factor must be positive, got ", r);
  const int64_t channels = self.size(-3), h = self.size(-2), w = self.size(-1);
  TRT_CHECK(h % r == 0 && w % r == 0, "pixel_unshuffle: height and width of ", self,
            " are no multiples of downscale_factor = ", r);
  if (r == 1) return op::clone(self);
  const size_t lead = self.sizes().size() - 3;
  DimVector split(self.sizes().data(), lead), order, joined = split;
  int64_t more = 0;
  TRT_CHECK(!__builtin_mul_overflow(channels, r * r, &more), "pixel_unshuffle: ", self, " has too many channels");
  for (int64_t d : {channels, h / r, r, w / r, r}) split.push_back(d);
  for (int64_t d : {more, h / r, w / r}) joined.push_back(d);
  for (size_t d = 0; d < lead; ++d) order.push_back(static_cast<int64_t>(d));
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(static_cast<int64_t>(lead) + d);
  return op::reshape(op::permute(op::reshape(self, split), order), joined);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  TRT_CHECK(self.dim() >= 3, "channel_shuffle: input needs at least 3 dimensions, got ", self);
  TRT_CHECK(groups > 0 && self.size(1) % groups == 0, "channel_shuffle: the channels of ", self,
            " are no multiple of groups = ", groups);
  if (groups == 1) return op::clone(self);
  DimVector split{self.size(0), groups, self.size(1) / groups};
  for (size_t d = 2; d < self.sizes().size(); ++d) split.push_back(self.sizes()[d]);
  return op::clone(op::reshape(op::transpose(op::reshape(self, split), 1, 2), self.sizes()));
}

namespace {

Tensor max_unpool(const Tensor& input, const Tensor& indices, IntArrayRef kernel_size,
                  std::optional<IntArrayRef> stride, IntArrayRef padding, std::optional<IntArrayRef> output_size,
                  size_t dims, const char* op) {
  const size_t rank = input.sizes().size();
  TRT_CHECK(rank == dims + 1 || rank == dims + 2, op, ": input must have ", dims + 1, " or ", dims + 2,
            " dimensions, got ", input);
  TRT_CHECK(indices.dtype() == DType::Int64 && indices.sizes() == input.sizes(), op,
            ": indices must be int64 of shape ", input.sizes(), ", got ", indices);
  const IntArrayRef steps = stride && !stride->empty() ? *stride : kernel_size;
  auto each = [&](IntArrayRef v, size_t i, const char* name) {
    TRT_CHECK(v.size() == 1 || v.size() == dims, op, ": ", name, " must be one number or ", dims, ", got ", v);
    const int64_t x = v[v.size() == 1 ? 0 : i];
    TRT_CHECK(x > -(int64_t{1} << 31) && x < (int64_t{1} << 31), op, ": ", name, " is out of range: ", v);
    return x;
  };
  DimVector size(input.sizes().data(), rank), flat(input.sizes().data(), rank - dims), flat_in = flat;
  if (output_size)
    TRT_CHECK(output_size->size() == dims || output_size->size() == dims + 2 || output_size->size() == rank, op,
              ": output_size must have ", dims, " or ", dims + 2, " numbers, got ", *output_size);
  int64_t outputs = 1, inputs = 1;
  for (size_t i = 0; i < dims; ++i) {
    const int64_t n = input.sizes()[rank - dims + i], k = each(kernel_size, i, "kernel_size"),
                  s = each(steps, i, "stride"), p = each(padding, i, "padding");
    TRT_CHECK(k > 0 && s > 0 && p >= 0, op, ": kernel_size and stride must be positive and padding not negative, got ",
              k, ", ", s, " and ", p);
    TRT_CHECK(n > 0 && n < (int64_t{1} << 31), op, ": only the batch may be empty, got ", input);
    const int64_t plain = (n - 1) * s + k - 2 * p;
    int64_t extent = plain;
    if (output_size) {
      extent = (*output_size)[output_size->size() - dims + i];
      TRT_CHECK(extent > plain - s && extent < plain + s, op, ": output_size ", *output_size, " must be between ",
                plain - s, " and ", plain + s, " (both excluded) in dimension ", i);
    }
    TRT_CHECK(extent > 0, op, ": the output of input ", input, " would be empty");
    size[rank - dims + i] = extent;
    TRT_CHECK(!__builtin_mul_overflow(outputs, extent, &outputs) && !__builtin_mul_overflow(inputs, n, &inputs), op,
              ": the output is too large");
  }
  flat.push_back(outputs);
  flat_in.push_back(inputs);
  const Tensor zeros = op::zeros(flat, input.dtype(), input.device());
  return op::reshape(op::scatter(zeros, -1, op::reshape(indices, flat_in), op::reshape(input, flat_in)), size);
}

}  // namespace

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, IntArrayRef kernel_size,
                    std::optional<IntArrayRef> stride, IntArrayRef padding, std::optional<IntArrayRef> output_size) {
  return max_unpool(input, indices, kernel_size, stride, padding, output_size, 1, "max_unpool1d");
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, IntArrayRef kernel_size,
                    std::optional<IntArrayRef> stride, IntArrayRef padding, std::optional<IntArrayRef> output_size) {
  return max_unpool(input, indices, kernel_size, stride, padding, output_size, 2, "max_unpool2d");
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, IntArrayRef kernel_size,
                    std::optional<IntArrayRef> stride, IntArrayRef padding, std::optional<IntArrayRef> output_size) {
  return max_unpool(input, indices, kernel_size, stride, padding, output_size, 3, "max_unpool3d");
}

}  // namespace trt::composite
