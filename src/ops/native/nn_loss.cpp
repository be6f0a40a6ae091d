// Losses of class indices: nll_loss and cross_entropy with their gradients.
//
// Note [Fused cross entropy]
// cross_entropy_forward takes the logarithm of the softmax block by block in a scratch buffer that stays in the cache
// and keeps only the loss; the backward pass computes the softmax again, straight into the gradient. So no array of
// log-probabilities is ever written to memory, and what is saved for backward is the input itself.
#include <cmath>

#include "base/parallel.h"
#include "gen/nn_loss_native.h"
#include "iter/copy.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/softmax.h"
#include "ops/window.h"

namespace trt {

namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// The input seen as [n, c, s].
struct Classes {
  int64_t n = 1, c = 0, s = 1;
};
Classes classes_of(IntArrayRef input) {
  Classes k;
  k.c = input.size() == 1 ? input[0] : input[1];
  if (input.size() > 1) k.n = input[0];
  for (size_t i = 2; i < input.size(); ++i) k.s *= input[i];
  return k;
}

void check_targets(IntArrayRef input, const Tensor& target, const Tensor& weight, DType dtype, int64_t reduction,
                   const char* op) {
  TRT_CHECK_CODE(is_floating(dtype), Code::kNotSupported, op, ": not supported for dtype ", dtype);
  TRT_CHECK(!input.empty(), op, ": input needs at least one dimension");
  TRT_CHECK(target.dtype() == DType::Int64, op, ": class indices must be int64, got target ", target);
  TRT_CHECK(reduction >= kNone && reduction <= kSum, op, ": unknown reduction ", reduction);
  bool fits = static_cast<size_t>(target.dim()) + 1 == input.size() ||
              (input.size() == 1 && target.dim() == 1 && target.sizes()[0] == 1);
  for (size_t i = 0; fits && i < target.sizes().size() && input.size() > 1; ++i)
    fits = target.sizes()[i] == input[i == 0 ? 0 : i + 1];
  TRT_CHECK(fits, op, ": target of shape ", target.sizes(), " does not fit input of shape ", input);
  const int64_t c = classes_of(input).c;
  if (!weight.defined()) return;
  TRT_CHECK(weight.dim() == 1 && weight.sizes()[0] == c, op, ": weight must have shape [", c, "], got ", weight);
  TRT_CHECK(weight.dtype() == dtype || weight.dtype() == compute_dtype(dtype), op, ": weight ", weight,
            " does not fit the dtype ", dtype, " of the input");
}

std::array<TensorSpec, 2> loss_specs(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                                     const char* op) {
  check_targets(self.sizes(), target, weight, self.dtype(), reduction, op);
  const TensorSpec scalar({}, self.dtype(), self.device());
  return {reduction == kNone ? TensorSpec(target.sizes(), self.dtype(), self.device()) : scalar,
          TensorSpec({}, compute_dtype(self.dtype()), self.device())};
}

void check_loss_gradient(const Tensor& grad, const Tensor& target, const Tensor& total_weight, int64_t reduction,
                         const char* op) {
  TRT_CHECK(reduction == kNone ? grad.sizes() == target.sizes() : grad.numel() == 1, op, ": gradient ", grad,
            " does not fit the loss of target ", target);
  TRT_CHECK(total_weight.numel() == 1, op, ": total_weight must be one number, got ", total_weight);
}

// The class of a target, or -1 where it is ignored.
inline int64_t class_of(int64_t t, int64_t ignore_index, int64_t c, const char* op) {
  if (t == ignore_index) return -1;
  TRT_CHECK_CODE(t >= 0 && t < c, Code::kOutOfRange, op, ": target ", t, " is out of range for ", c, " classes");
  return t;
}

// What forward sums over blocks; the blocks are cut by the sizes only and added in order.
struct Partial {
  double loss = 0, weight = 0;
};

template <typename T>
void finish_loss(const std::vector<Partial>& partial, int64_t reduction, T* loss, T* total) {
  Partial sum;
  for (const Partial& p : partial) {
    sum.loss += p.loss;
    sum.weight += p.weight;
  }
  *total = static_cast<T>(sum.weight);
  if (reduction != kNone) *loss = static_cast<T>(reduction == kMean ? sum.loss / sum.weight : sum.loss);
}

// Backward: the factor of the gradient of position i (of n * s), for a target of weight w.
template <typename T>
struct LossScale {
  const T* grad;
  const T* weight;
  bool each;
  T divisor;
  T operator()(int64_t i, int64_t t) const { return (each ? grad[i] : *grad) / divisor * (weight ? weight[t] : T(1)); }
};

template <typename T>
LossScale<T> loss_scale(const Tensor& grad, const Tensor& weight, const Tensor& total, int64_t reduction) {
  return {grad.data_ptr<T>(), optional_data<T>(weight), reduction == kNone,
          reduction == kMean ? *total.data_ptr<T>() : T(1)};
}

constexpr int64_t kBlockElements = 16384;

// In runs of a fixed length, which the compiler turns into vector code at every optimization level.
template <typename T>
void scale_row(T* row, int64_t n, T factor) {
  constexpr int64_t kRun = 16;
  int64_t i = 0;
  for (; i + kRun <= n; i += kRun)
    for (int64_t k = 0; k < kRun; ++k) row[i + k] *= factor;
  for (; i < n; ++i) row[i] *= factor;
}

}  // namespace

namespace meta {

std::array<TensorSpec, 2> nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                           int64_t reduction, int64_t) {
  return loss_specs(self, target, weight, reduction, "nll_loss");
}

TensorSpec nll_loss_backward(const Tensor& grad_output, const Tensor& target, const Tensor& weight,
                             const Tensor& total_weight, IntArrayRef input_size, int64_t reduction, int64_t) {
  check_targets(input_size, target, weight, grad_output.dtype(), reduction, "nll_loss_backward");
  check_loss_gradient(grad_output, target, total_weight, reduction, "nll_loss_backward");
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

std::array<TensorSpec, 2> cross_entropy_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                                int64_t reduction, int64_t) {
  return loss_specs(self, target, weight, reduction, "cross_entropy");
}

TensorSpec cross_entropy_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                  const Tensor& weight, const Tensor& total_weight, int64_t reduction, int64_t) {
  check_targets(self.sizes(), target, weight, self.dtype(), reduction, "cross_entropy_backward");
  check_loss_gradient(grad_output, target, total_weight, reduction, "cross_entropy_backward");
  return TensorSpec(self.sizes(), self.dtype(), self.device());
}

}  // namespace meta

namespace native {

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index, Tensor& output, Tensor& total_weight) {
  const Classes k = classes_of(self.sizes());
  const DType dtype = compute_dtype(self.dtype());
  const Tensor x = contiguous_tensor(self, dtype), t = contiguous_tensor(target),
               w = optional_contiguous(weight, dtype);
  Computed y(output, dtype);
  const int64_t count = k.n * k.s, blocks = (count + kBlockElements - 1) / kBlockElements;
  std::vector<Partial> partial(static_cast<size_t>(blocks));
  dispatch_float(dtype, "nll_loss", [&]<typename T>() {
    const T* in = x.data_ptr<T>();
    const T* wt = optional_data<T>(w);
    const int64_t* classes = t.data_ptr<int64_t>();
    T* out = y.data<T>();
    parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        Partial& p = partial[static_cast<size_t>(b)];
        for (int64_t i = b * kBlockElements; i < std::min(count, (b + 1) * kBlockElements); ++i) {
          const int64_t c = class_of(classes[i], ignore_index, k.c, "nll_loss");
          const T scale = c < 0 ? T(0) : wt ? wt[c] : T(1);
          const T loss = c < 0 ? T(0) : -scale * in[(i / k.s * k.c + c) * k.s + i % k.s];
          if (reduction == kNone) out[i] = loss;
          p.loss += static_cast<double>(loss);
          p.weight += static_cast<double>(scale);
        }
      }
    });
    finish_loss(partial, reduction, out, total_weight.data_ptr<T>());
  });
  y.finish();
}

void nll_loss_backward(const Tensor& grad_output, const Tensor& target, const Tensor& weight,
                       const Tensor& total_weight, IntArrayRef input_size, int64_t reduction, int64_t ignore_index,
                       Tensor& out) {
  const Classes k = classes_of(input_size);
  const DType dtype = compute_dtype(out.dtype());
  const Tensor g = contiguous_tensor(grad_output, dtype), t = contiguous_tensor(target),
               w = optional_contiguous(weight, dtype), total = contiguous_tensor(total_weight, dtype);
  fill_tensor(out, 0);
  Tensor gx = dtype == out.dtype() ? out : contiguous_tensor(out, dtype);
  dispatch_float(dtype, "nll_loss_backward", [&]<typename T>() {
    const LossScale<T> scale = loss_scale<T>(g, w, total, reduction);
    const int64_t* classes = t.data_ptr<int64_t>();
    T* to = gx.data_ptr<T>();
    parallel_for(0, k.n * k.s, kBlockElements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = class_of(classes[i], ignore_index, k.c, "nll_loss_backward");
        if (c >= 0) to[(i / k.s * k.c + c) * k.s + i % k.s] = -scale(i, c);
      }
    });
  });
  if (!gx.is_same(out)) copy_tensor(out, gx);
}

// Note [Fused cross entropy]. A block is a run of samples; positions of one sample (s > 1) stay together.
void cross_entropy_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                           int64_t ignore_index, Tensor& output, Tensor& total_weight) {
  const Classes k = classes_of(self.sizes());
  const DType dtype = compute_dtype(self.dtype());
  const Tensor x = contiguous_tensor(self), t = contiguous_tensor(target), w = optional_contiguous(weight, dtype);
  Computed y(output, dtype);
  const int64_t sample = k.c * k.s, per_block = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, sample)),
                blocks = (k.n + per_block - 1) / per_block;
  std::vector<Partial> partial(static_cast<size_t>(blocks));
  dispatch_float(dtype, "cross_entropy", [&]<typename T>() {
    const char* in = static_cast<const char*>(x.data());
    const T* wt = optional_data<T>(w);
    const int64_t* classes = t.data_ptr<int64_t>();
    T* out = y.data<T>();
    parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      const cpu::Scratch scratch(static_cast<size_t>(std::min(per_block, k.n) * sample) * sizeof(T));
      T* logs = scratch.as<T>();
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * per_block, samples = std::min(per_block, k.n - first);
        const char* block = in + static_cast<size_t>(first * sample) * x.itemsize();
        if (x.dtype() != dtype) {
          cpu::convert(block, x.dtype(), logs, dtype, samples * sample);
          block = reinterpret_cast<const char*>(logs);
        }
        cpu::log_softmax_forward(reinterpret_cast<const T*>(block), logs, samples, k.c, k.s);
        Partial& p = partial[static_cast<size_t>(b)];
        for (int64_t i = 0; i < samples * k.s; ++i) {
          const int64_t at = first * k.s + i, c = class_of(classes[at], ignore_index, k.c, "cross_entropy");
          const T scale = c < 0 ? T(0) : wt ? wt[c] : T(1);
          const T loss = c < 0 ? T(0) : -scale * logs[(i / k.s * k.c + c) * k.s + i % k.s];
          if (reduction == kNone) out[at] = loss;
          p.loss += static_cast<double>(loss);
          p.weight += static_cast<double>(scale);
        }
      }
    });
    finish_loss(partial, reduction, out, total_weight.data_ptr<T>());
  });
  y.finish();
}

void cross_entropy_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
                            const Tensor& total_weight, int64_t reduction, int64_t ignore_index, Tensor& out) {
  if (out.numel() == 0) return;
  const Classes k = classes_of(self.sizes());
  const DType dtype = compute_dtype(out.dtype());
  const Tensor g = contiguous_tensor(grad_output, dtype), x = contiguous_tensor(self, dtype),
               t = contiguous_tensor(target), w = optional_contiguous(weight, dtype),
               total = contiguous_tensor(total_weight, dtype);
  Computed gx(out, dtype);
  const int64_t sample = k.c * k.s, per_block = std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, sample)),
                blocks = (k.n + per_block - 1) / per_block;
  dispatch_float(dtype, "cross_entropy_backward", [&]<typename T>() {
    const LossScale<T> scale = loss_scale<T>(g, w, total, reduction);
    const T* in = x.data_ptr<T>();
    const int64_t* classes = t.data_ptr<int64_t>();
    T* to = gx.data<T>();
    parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      const cpu::Scratch scratch(static_cast<size_t>(k.s) * sizeof(T));
      T* factors = scratch.as<T>();
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * per_block, samples = std::min(per_block, k.n - first);
        cpu::softmax_forward(in + first * sample, to + first * sample, samples, k.c, k.s);
        for (int64_t n = first; n < first + samples; ++n) {
          T* rows = to + n * sample;
          for (int64_t i = 0; i < k.s; ++i) {
            const int64_t c = class_of(classes[n * k.s + i], ignore_index, k.c, "cross_entropy_backward");
            factors[i] = c < 0 ? T(0) : scale(n * k.s + i, c);
          }
          if (k.s == 1) {
            // An ignored sample gives zeros even where its softmax is NaN.
            if (factors[0] == T(0))
              std::fill_n(rows, k.c, T(0));
            else
              scale_row(rows, k.c, factors[0]);
          } else {
            for (int64_t c = 0; c < k.c; ++c)
              for (int64_t i = 0; i < k.s; ++i)
                rows[c * k.s + i] = factors[i] == T(0) ? T(0) : rows[c * k.s + i] * factors[i];
          }
          for (int64_t i = 0; i < k.s; ++i) {
            const int64_t c = classes[n * k.s + i];
            if (c != ignore_index) rows[c * k.s + i] -= factors[i];
          }
        }
      }
    });
  });
  gx.finish();
}

}  // namespace native

}  // namespace trt
