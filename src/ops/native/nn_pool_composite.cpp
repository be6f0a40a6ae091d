// The 1-d forms of pooling, as 2-d pooling of images of height 1, and the forms without indices.
#include "gen/all_ops.h"
#include "gen/nn_pool_native.h"

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
  if (!grad_enabled() || !requires_grad_quick(self))
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

}  // namespace trt::composite
