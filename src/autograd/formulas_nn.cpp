#include "autograd/formulas_nn.h"

#include "gen/all_ops.h"

namespace trt::formulas {

std::tuple<Tensor, Tensor, Tensor> conv2d_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                                   int64_t groups, const std::array<bool, 3>& mask) {
  std::tuple<Tensor, Tensor, Tensor> out;
  const Tensor g = op::contiguous(grad);
  if (mask[0])
    std::get<0>(out) = op::conv2d_backward_input(g, weight, input.sizes(), stride, padding, dilation, groups);
  if (mask[1]) {
    auto [gw, gb] = op::conv2d_backward_weight(g, input, weight.sizes(), stride, padding, dilation, groups, mask[2]);
    std::get<1>(out) = gw;
    if (mask[2]) std::get<2>(out) = gb;
  } else if (mask[2]) {
    std::get<2>(out) = input.dim() == 4 ? op::sum(g, IntArrayRef{int64_t{0}, int64_t{2}, int64_t{3}})
                                        : op::sum(g, IntArrayRef{int64_t{1}, int64_t{2}});
  }
  return out;
}

Tensor conv2d_weight_gradient(const Tensor& grad, const Tensor& input, IntArrayRef weight_size, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return std::get<0>(op::conv2d_backward_weight(grad, input, weight_size, stride, padding, dilation, groups, false));
}

Tensor gather_planes(const Tensor& planes, const Tensor& indices) {
  DimVector flat_in(planes.sizes().data(), planes.sizes().size() - 2), flat_out = flat_in;
  flat_in.push_back(planes.size(-2) * planes.size(-1));
  flat_out.push_back(indices.size(-2) * indices.size(-1));
  return op::reshape(op::gather(op::reshape(planes, flat_in), -1, op::reshape(indices, flat_out)), indices.sizes());
}

Tensor adaptive_avg_pool2d_of(const Tensor& input, IntArrayRef sizes) {
  return op::adaptive_avg_pool2d(input, {sizes[sizes.size() - 2], sizes[sizes.size() - 1]});
}

Tensor gather_volumes(const Tensor& volumes, const Tensor& indices) {
  DimVector flat_in(volumes.sizes().data(), volumes.sizes().size() - 3), flat_out = flat_in;
  flat_in.push_back(volumes.size(-3) * volumes.size(-2) * volumes.size(-1));
  flat_out.push_back(indices.size(-3) * indices.size(-2) * indices.size(-1));
  return op::reshape(op::gather(op::reshape(volumes, flat_in), -1, op::reshape(indices, flat_out)), indices.sizes());
}

Tensor adaptive_avg_pool3d_of(const Tensor& input, IntArrayRef sizes) {
  return op::adaptive_avg_pool3d(input, sizes.slice(sizes.size() - 3, 3));
}

Tensor col2im_like(const Tensor& columns, IntArrayRef sizes, IntArrayRef kernel_size, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride) {
  return op::col2im(columns, sizes.slice(sizes.size() - 2, 2), kernel_size, dilation, padding, stride);
}

int64_t size_at(IntArrayRef sizes, int64_t dim) {
  return sizes[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size()), "resample"))];
}
Tensor resample_of(const Tensor& input, IntArrayRef sizes, int64_t dim, int64_t kind, bool align_corners, double scale) {
  return op::resample(input, dim, size_at(sizes, dim), kind, align_corners, scale);
}

namespace {
Tensor sum_over(const Tensor& t, int64_t dim) { return op::sum(t, IntArrayRef{dim}, true); }
}  // namespace

// The backward of softmax is y (g - s) with s = sum(g y).
Tensor softmax_double_backward(const Tensor& v, const Tensor& g, const Tensor& output, int64_t dim) {
  const Tensor s = sum_over(op::mul(g, output), dim), t = sum_over(op::mul(v, output), dim);
  return op::sub(op::mul(v, op::sub(g, s)), op::mul(g, t));
}

// The backward of log_softmax is g - exp(y) sum(g).
Tensor log_softmax_adjoint(const Tensor& v, const Tensor& output, int64_t dim) {
  return op::sub(v, sum_over(op::mul(v, op::exp(output)), dim));
}
Tensor log_softmax_double_backward(const Tensor& v, const Tensor& g, const Tensor& output, int64_t dim) {
  return op::neg(op::mul(op::mul(v, op::exp(output)), sum_over(g, dim)));
}

double dropout_scale(double p, bool train) { return !train ? 1.0 : p < 1 ? 1.0 / (1.0 - p) : 0.0; }

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& grad, const Tensor& input,
                                                       IntArrayRef normalized_shape, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& rstd, double eps,
                                                       const std::array<bool, 3>& mask) {
  auto [gx, gw, gb] =
      op::native_layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, eps, mask[0], mask[1], mask[2]);
  return {mask[0] ? gx : Tensor(), mask[1] ? gw : Tensor(), mask[2] ? gb : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& invstd, bool training,
                                                       double eps, const std::array<bool, 3>& mask) {
  auto [gx, gw, gb] =
      op::native_batch_norm_backward(grad, input, weight, mean, invstd, training, eps, mask[0], mask[1], mask[2]);
  return {mask[0] ? gx : Tensor(), mask[1] ? gw : Tensor(), mask[2] ? gb : Tensor()};
}

namespace {

// Note [Second derivative of a normalization]
// With h = (x - mean) r normalized, r = 1 / sqrt(var + eps), g = gy w, and averages over the normalized elements, the
// backward is
//   gx = r P(g),  P(g) = g - avg(g) - h avg(g h),   gw = sum(gy h),   gb = sum(gy).
// P is symmetric for a fixed h. For the gradients v, vw, vb of the three results:
//   by gy: w r P(v) + vw h + vb
//   by w:  sum(gy r P(v))
//   by h:  t = vw gy - r (v avg(g h) + g avg(v h)), and through h and r to x: r P(t) - r^2 h avg(v P(g))
// Without statistics of the batch (training false) P is the identity and r and the mean are constants.
struct Norm {
  Tensor h, r;
  IntArrayRef dims;  // what the averages run over
  bool training;

  Tensor avg(const Tensor& t) const { return op::mean(t, dims, true); }
  Tensor p(const Tensor& g) const {
    if (!training) return g;
    return op::sub(op::sub(g, avg(g)), op::mul(h, avg(op::mul(g, h))));
  }
};

// v, vw, vb undefined: zero. w undefined: 1. w, vw, vb broadcast against gy.
std::tuple<Tensor, Tensor, Tensor> norm_double_backward(const Norm& n, const Tensor& v, const Tensor& vw,
                                                        const Tensor& vb, const Tensor& gy, const Tensor& w,
                                                        const std::array<bool, 3>& mask) {
  std::tuple<Tensor, Tensor, Tensor> out;
  auto plus = [](const Tensor& a, const Tensor& b) { return a.defined() ? op::add(a, b) : b; };
  const Tensor g = w.defined() ? op::mul(gy, w) : gy;
  const Tensor rpv = v.defined() ? op::mul(n.r, n.p(v)) : Tensor();
  if (mask[0]) {
    Tensor d;
    if (v.defined()) d = w.defined() ? op::mul(rpv, w) : rpv;
    if (vw.defined()) d = plus(d, op::mul(n.h, vw));
    if (vb.defined()) d = plus(d, op::expand(vb, gy.sizes()));
    std::get<0>(out) = d;
  }
  if (mask[1]) {
    Tensor t = vw.defined() ? op::mul(gy, vw) : Tensor();
    if (v.defined() && n.training) {
      const Tensor u = op::mul(n.r, op::add(op::mul(v, n.avg(op::mul(g, n.h))), op::mul(g, n.avg(op::mul(v, n.h)))));
      t = t.defined() ? op::sub(t, u) : op::neg(u);
    }
    Tensor d = t.defined() ? op::mul(n.r, n.p(t)) : Tensor();
    if (v.defined() && n.training) {
      const Tensor u = op::mul(op::mul(op::mul(n.r, n.r), n.h), n.avg(op::mul(v, n.p(g))));
      d = d.defined() ? op::sub(d, u) : op::neg(u);
    }
    std::get<1>(out) = d;
  }
  if (mask[2] && v.defined()) std::get<2>(out) = op::mul(gy, rpv);
  return out;
}

Tensor normalized(const Tensor& input, IntArrayRef dims, double eps, Tensor& r) {
  const Tensor centred = op::sub(input, op::mean(input, dims, true));
  r = op::rsqrt(op::add(op::mean(op::mul(centred, centred), dims, true), eps));
  return op::mul(centred, r);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> layer_norm_double_backward(const Tensor& v, const Tensor& vw, const Tensor& vb,
                                                              const Tensor& grad_output, const Tensor& input,
                                                              IntArrayRef normalized_shape, const Tensor& weight,
                                                              double eps, bool for_input, bool for_weight,
                                                              bool for_bias, const std::array<bool, 3>& mask) {
  DimVector dims, lead;
  const int64_t first = input.dim() - static_cast<int64_t>(normalized_shape.size());
  for (int64_t d = 0; d < input.dim(); ++d) (d < first ? lead : dims).push_back(d);
  // The statistics are computed again from the input, so that this derivative can be differentiated too.
  Tensor r;
  const Tensor h = normalized(input, dims, eps, r);
  auto out = norm_double_backward({h, r, dims, true}, for_input ? v : Tensor(), for_weight ? vw : Tensor(),
                                  for_bias ? vb : Tensor(), grad_output, weight, mask);
  Tensor& gw = std::get<2>(out);
  if (gw.defined()) gw = op::sum_to_size(gw, weight.sizes());
  return out;
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_double_backward(const Tensor& v, const Tensor& vw, const Tensor& vb,
                                                              const Tensor& grad_output, const Tensor& input,
                                                              const Tensor& weight, const Tensor& mean,
                                                              const Tensor& invstd, bool training, double eps,
                                                              bool for_input, bool for_weight, bool for_bias,
                                                              const std::array<bool, 3>& mask) {
  DimVector dims, shape;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) dims.push_back(d);
    shape.push_back(d == 1 ? input.size(1) : 1);
  }
  auto spread = [&](const Tensor& t, bool wanted) { return wanted && t.defined() ? op::reshape(t, shape) : Tensor(); };
  Tensor r, h;
  if (training) {
    h = normalized(input, dims, eps, r);
  } else {
    r = spread(invstd, true);
    h = op::mul(op::sub(input, spread(mean, true)), r);
  }
  auto out = norm_double_backward({h, r, dims, training}, for_input ? v : Tensor(), spread(vw, for_weight),
                                  spread(vb, for_bias), grad_output, spread(weight, true), mask);
  Tensor& gw = std::get<2>(out);
  if (gw.defined()) gw = op::reshape(op::sum(gw, dims), {input.size(1)});
  return out;
}

Tensor nll_loss_value(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index) {
  return std::get<0>(op::nll_loss_forward(input, target, weight, reduction, ignore_index));
}

// The backward is q - p sum(q), p being the softmax of the input and q = nll_loss_backward(grad_output), linear in it.
std::tuple<Tensor, Tensor> cross_entropy_double_backward(const Tensor& v, const Tensor& grad_output,
                                                         const Tensor& input, const Tensor& target,
                                                         const Tensor& weight, const Tensor& total_weight,
                                                         int64_t reduction, int64_t ignore_index,
                                                         const std::array<bool, 2>& mask) {
  std::tuple<Tensor, Tensor> out;
  const int64_t dim = input.dim() == 1 ? 0 : 1;
  const Tensor p = op::softmax(input, dim);
  if (mask[0]) {
    const Tensor u = op::sub(v, sum_over(op::mul(v, p), dim));
    std::get<0>(out) = nll_loss_value(u, target, weight, reduction, ignore_index);
  }
  if (mask[1]) {
    const Tensor q =
        op::nll_loss_backward(grad_output, target, weight, total_weight, input.sizes(), reduction, ignore_index);
    std::get<1>(out) = op::neg(op::mul(op::softmax_backward(v, p, dim), sum_over(q, dim)));
  }
  return out;
}

Tensor embedding_double_backward(const Tensor& v, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq) {
  TRT_CHECK_CODE(!scale_grad_by_freq, Code::kNotSupported, "embedding: no second derivative with scale_grad_by_freq");
  const Tensor rows = op::embedding(v, indices, padding_idx);
  if (padding_idx < 0) return rows;
  return op::masked_fill(rows, op::unsqueeze(op::eq(indices, padding_idx), -1), 0);
}

}  // namespace trt::formulas
