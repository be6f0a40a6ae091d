// Normalizations made of layer_norm and batch_norm.
#include "gen/all_ops.h"
#include "gen/nn_norm_native.h"

namespace trt::composite {

namespace {

Tensor to_optional(const Tensor& t, DType dtype) { return t.defined() ? op::to(t, dtype) : t; }

// [c] as [c, 1, 1...], so that it broadcasts along dimension 1 of a tensor of `dim` dimensions.
Tensor per_channel(const Tensor& t, int64_t dim) {
  DimVector shape(static_cast<size_t>(dim - 1), 1);
  shape[0] = t.size(0);
  return op::reshape(t, shape);
}

}  // namespace

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return std::get<0>(op::native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  if (training) {
    const int64_t c = input.dim() >= 2 ? input.size(1) : input.numel();
    TRT_CHECK(input.numel() != c || c == 0, "batch_norm: training needs more than one value per channel, got input ",
              input);
  }
  return std::get<0>(op::batch_norm_stats(input, weight, bias, running_mean, running_var, training, momentum, eps));
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     bool training, double momentum, double eps) {
  auto [y, mean, invstd] =
      op::batch_norm_stats(input, weight, bias, running_mean, running_var, training, momentum, eps);
  const DType type = weight.defined() ? weight.dtype() : input.dtype();
  if (!training) return {y, op::empty({0}, type, input.device()), op::empty({0}, type, input.device())};
  return {y, op::to(mean, type), op::to(invstd, type)};
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  TRT_CHECK(input.dim() >= 2, "group_norm: input needs at least 2 dimensions, got ", input);
  const int64_t n = input.size(0), c = input.size(1);
  TRT_CHECK(num_groups > 0 && c % num_groups == 0, "group_norm: ", c, " channels cannot be divided into ", num_groups,
            " groups");
  for (const Tensor* t : {&weight, &bias})
    TRT_CHECK(!t->defined() || (t->dim() == 1 && t->size(0) == c), "group_norm: weight and bias must have shape [", c,
              "], got ", *t);
  int64_t each = c / num_groups;
  for (int64_t d = 2; d < input.dim(); ++d)
    TRT_CHECK(!__builtin_mul_overflow(each, input.size(d), &each), "group_norm: input ", input, " is too large");
  TRT_CHECK(n != 1 || each != 1, "group_norm: needs more than one value per group, got input ", input);
  const Tensor groups = op::reshape(input, {n, num_groups, each});
  Tensor y = op::reshape(std::get<0>(op::native_layer_norm(groups, {each}, Tensor(), Tensor(), eps)), input.sizes());
  if (weight.defined() && bias.defined() && weight.dtype() == input.dtype() && bias.dtype() == input.dtype())
    return op::addcmul(per_channel(bias, input.dim()), y, per_channel(weight, input.dim()));
  if (weight.defined()) y = op::mul(y, per_channel(to_optional(weight, input.dtype()), input.dim()));
  if (bias.defined()) y = op::add(y, per_channel(to_optional(bias, input.dtype()), input.dim()));
  return y;
}

Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, bool use_input_stats, double momentum, double eps) {
  TRT_CHECK(input.dim() >= 2, "instance_norm: input needs at least 2 dimensions, got ", input);
  TRT_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
            "instance_norm: running_mean and running_var are needed when use_input_stats is false");
  for (const Tensor* t : {&running_mean, &running_var})
    if (use_input_stats && t->defined()) check_may_change(*t, "instance_norm");
  const int64_t n = input.size(0), c = input.size(1);
  DimVector shape(input.sizes().data(), input.sizes().size());
  shape[0] = 1;
  TRT_CHECK(!__builtin_mul_overflow(n, c, &shape[1]), "instance_norm: input ", input, " is too large");
  TRT_CHECK(!use_input_stats || input.numel() != shape[1] || shape[1] == 0,
            "instance_norm: needs more than one value per channel, got input ", input);
  // One channel for every channel of every sample.
  auto spread = [&](const Tensor& t, const char* name) {
    if (!t.defined()) return t;
    TRT_CHECK(t.dim() == 1 && t.size(0) == c, "instance_norm: ", name, " must have shape [", c, "], got ", t);
    return op::reshape(op::expand(op::unsqueeze(t, 0), {n, c}), {n * c});
  };
  auto own = [&](const Tensor& t, const char* name) { return t.defined() ? op::clone(spread(t, name)) : t; };
  const Tensor mean = own(running_mean, "running_mean"), var = own(running_var, "running_var");
  const Tensor y = std::get<0>(op::batch_norm_stats(op::reshape(input, shape), spread(weight, "weight"),
                                                    spread(bias, "bias"), mean, var, use_input_stats, momentum, eps));
  if (use_input_stats && n > 0) {
    const GradModeGuard no_grad(false);
    for (auto [running, moved] : {std::pair{&running_mean, &mean}, std::pair{&running_var, &var}}) {
      if (!running->defined()) continue;
      Tensor target = *running;
      op::copy_(target, op::mean(op::reshape(*moved, {n, c}), IntArrayRef{int64_t{0}}));
    }
  }
  return op::reshape(y, input.sizes());
}

Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k) {
  TRT_CHECK(input.dim() >= 3, "local_response_norm: input needs at least 3 dimensions, got ", input);
  TRT_CHECK(size > 0 && size < (int64_t{1} << 31), "local_response_norm: size must be positive, got ", size);
  if (input.numel() == 0) return input;
  const Tensor squares = op::mul(input, input);
  // Zeros around the channels; each window of `size` of them is averaged (integers truncate, as an average pooling of
  // them).
  DimVector pad(static_cast<size_t>(2 * (input.dim() - 1)), 0);
  pad[pad.size() - 2] = size / 2;
  pad[pad.size() - 1] = (size - 1) / 2;
  const Tensor windows = op::unfold(op::constant_pad_nd(squares, pad, 0), 1, size, 1);
  const Tensor mean = is_floating(input.dtype()) ? op::mean(windows, IntArrayRef{int64_t{-1}})
                                                 : op::trunc_divide(op::sum(windows, IntArrayRef{int64_t{-1}}), size);
  return op::div(input, op::pow(op::add(op::mul(mean, alpha), k), beta));
}

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, std::optional<double> eps) {
  TRT_CHECK_CODE(is_floating(input.dtype()), Code::kNotSupported, "rms_norm: not supported for dtype ", input.dtype());
  const size_t n = normalized_shape.size(), have = input.sizes().size();
  TRT_CHECK(n > 0 && n <= have && input.sizes().slice(have - n, n) == normalized_shape, "rms_norm: input of shape ", input.sizes(),
            " does not end in normalized_shape ", normalized_shape);
  TRT_CHECK(!weight.defined() || weight.sizes() == normalized_shape, "rms_norm: weight must have shape ", normalized_shape, ", got ", weight);
  const DType compute = is_reduced_floating(input.dtype()) ? DType::Float32 : input.dtype();
  const double added = eps.value_or(compute == DType::Float64 ? 0x1p-52 : 0x1p-23);
  DimVector dims;
  for (size_t d = 1; d <= n; ++d) dims.push_back(-static_cast<int64_t>(d));
  const Tensor x = compute == input.dtype() ? input : op::to(input, compute);
  Tensor y = op::mul(x, op::rsqrt(op::add(op::mean(op::mul(x, x), dims, true), Scalar(added))));
  if (weight.defined()) y = op::mul(y, weight);
  return y.dtype() == input.dtype() ? y : op::to(y, input.dtype());
}

}  // namespace trt::composite
