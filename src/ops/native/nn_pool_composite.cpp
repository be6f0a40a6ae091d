// The 1-d forms of pooling, as 2-d pooling of images of height 1, and the forms without indices.
#include "gen/all_ops.h"
#include "gen/nn_pool_native.h"
#include "gen/nn_volume_native.h"

namespace trt::composite {

namespace {

int64_t single(IntArrayRef v, const char* op, const char* name) {
  TRT_CHECK(v.size() == 1, op, ": ", name, " must be one number, got ", v);
  return v[0];
}

Tensor as_image(const Tensor& t, const char* op) {
  TRT_CHECK(t.dim() == 2 || t.dim() == 3, op, ": input must have 2 or 3 dimensions, got ", t);
  return op::unsqueeze(t, -2);
}

struct Window1d {
  int64_t kernel, stride, padding;
};

Window1d window(IntArrayRef kernel, std::optional<IntArrayRef> stride, IntArrayRef padding, const char* op) {
  const int64_t k = single(kernel, op, "kernel_size");
  return {k, stride && !stride->empty() ? single(*stride, op, "stride") : k, single(padding, op, "padding")};
}

}  // namespace

Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  if (!grad_enabled() || !requires_grad_now(self))
    return op::max_pool2d_values(self, kernel_size, stride, padding, dilation, ceil_mode);
  return std::get<0>(op::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  const Window1d w = window(kernel_size, stride, padding, "max_pool1d");
  return op::squeeze(op::max_pool2d(as_image(self, "max_pool1d"), {1, w.kernel}, IntArrayRef{1, w.stride},
                                    {0, w.padding}, {1, single(dilation, "max_pool1d", "dilation")}, ceil_mode),
                     -2);
}

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   std::optional<IntArrayRef> stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  const Window1d w = window(kernel_size, stride, padding, "max_pool1d");
  auto [y, at] =
      op::max_pool2d_with_indices(as_image(self, "max_pool1d"), {1, w.kernel}, IntArrayRef{1, w.stride}, {0, w.padding},
                                  {1, single(dilation, "max_pool1d", "dilation")}, ceil_mode);
  return {op::squeeze(y, -2), op::squeeze(at, -2)};
}

Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad) {
  const Window1d w = window(kernel_size, stride, padding, "avg_pool1d");
  return op::squeeze(op::avg_pool2d(as_image(self, "avg_pool1d"), {1, w.kernel}, IntArrayRef{1, w.stride},
                                    {0, w.padding}, ceil_mode, count_include_pad),
                     -2);
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  return op::squeeze(op::adaptive_avg_pool2d(as_image(self, "adaptive_avg_pool1d"),
                                             {1, single(output_size, "adaptive_avg_pool1d", "output_size")}),
                     -2);
}

Tensor adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size) {
  return std::get<0>(op::adaptive_max_pool2d_with_indices(self, output_size));
}

Tensor adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  return std::get<0>(op::adaptive_max_pool1d_with_indices(self, output_size));
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& self, IntArrayRef output_size) {
  auto [y, at] = op::adaptive_max_pool2d_with_indices(as_image(self, "adaptive_max_pool1d"),
                                                      {1, single(output_size, "adaptive_max_pool1d", "output_size")});
  return {op::squeeze(y, -2), op::squeeze(at, -2)};
}

namespace {

// The mean of the powers, times the number of elements, to the inverse power.
template <typename Mean>
Tensor power_mean(const Tensor& self, double norm_type, IntArrayRef kernel, const char* op, const Mean& mean) {
  TRT_CHECK(norm_type != 0, op, ": norm_type must not be 0");
  TRT_CHECK(is_floating(self.dtype()), op, ": a floating-point input is needed, got ", self);
  double count = 1;
  for (int64_t k : kernel) count *= double(k);
  const Tensor sum = op::mul(mean(op::pow(self, Scalar(norm_type))), Scalar(count));
  return op::pow(sum, Scalar(1 / norm_type));
}

}  // namespace

Tensor lp_pool1d(const Tensor& self, double norm_type, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, bool ceil_mode) {
  return power_mean(self, norm_type, kernel_size, "lp_pool1d",
                    [&](const Tensor& powers) { return op::avg_pool1d(powers, kernel_size, stride, IntArrayRef{0}, ceil_mode); });
}

Tensor lp_pool2d(const Tensor& self, double norm_type, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, bool ceil_mode) {
  return power_mean(self, norm_type, kernel_size, "lp_pool2d",
                    [&](const Tensor& powers) { return op::avg_pool2d(powers, kernel_size, stride, IntArrayRef{0, 0}, ceil_mode); });
}

Tensor lp_pool3d(const Tensor& self, double norm_type, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, bool ceil_mode) {
  return power_mean(self, norm_type, kernel_size, "lp_pool3d",
                    [&](const Tensor& powers) { return op::avg_pool3d(powers, kernel_size, stride, IntArrayRef{0, 0, 0}, ceil_mode); });
}

}  // namespace trt::composite
