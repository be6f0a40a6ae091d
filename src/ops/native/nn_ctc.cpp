// Connectionist temporal classification (Graves et al., "Connectionist temporal classification: labelling unsegmented sequence data with recurrent
// neural networks", ICML 2006), in logarithms. A target l of s labels becomes l' of 2 s + 1 with blanks around every label; alpha[t][i] is the
// probability of all ways to have gone through l'[0..i] after step t, beta[t][i] that of finishing from there.
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "gen/all_ops.h"
#include "gen/nn_loss_native.h"
#include "iter/copy.h"
#include "ops/window.h"

namespace trt {

namespace {

int64_t longest(IntArrayRef lengths) {
  int64_t n = 0;
  for (int64_t s : lengths) n = std::max(n, s);
  return n;
}

void check_ctc(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths, int64_t blank) {
  constexpr const char* kName = "ctc_loss";
  TRT_CHECK_CODE(is_floating(log_probs.dtype()), Code::kNotSupported, kName, ": not supported for dtype ", log_probs.dtype());
  TRT_CHECK(log_probs.dim() == 3, kName, ": log_probs must be [t, n, c] or [t, c], got ", log_probs);
  TRT_CHECK(targets.dtype() == DType::Int64 || targets.dtype() == DType::Int32, kName, ": targets must be int64 or int32, got ", targets);
  TRT_CHECK(targets.dim() == 1 || targets.dim() == 2, kName, ": targets must be [n, s] or all labels in one dimension, got ", targets);
  const int64_t steps = log_probs.size(0), batch = log_probs.size(1);
  TRT_CHECK(blank >= 0 && blank < log_probs.size(2), kName, ": blank ", blank, " is not a class of log_probs ", log_probs);
  TRT_CHECK(static_cast<int64_t>(input_lengths.size()) == batch && static_cast<int64_t>(target_lengths.size()) == batch, kName, ": ", batch,
            " input and target lengths are needed, got ", input_lengths, " and ", target_lengths);
  int64_t total = 0;
  for (size_t i = 0; i < input_lengths.size(); ++i) {
    TRT_CHECK(input_lengths[i] >= 0 && input_lengths[i] <= steps, kName, ": input length ", input_lengths[i], " is out of range for log_probs ", log_probs);
    TRT_CHECK(target_lengths[i] >= 0 && target_lengths[i] <= targets.numel() - (targets.dim() == 1 ? total : 0), kName, ": target length ",
              target_lengths[i], " is out of range for targets ", targets);
    total += target_lengths[i];
  }
  if (targets.dim() == 1) {
    TRT_CHECK(total == targets.numel(), kName, ": the target lengths add up to ", total, ", but targets are ", targets);
  } else {
    TRT_CHECK(targets.size(0) == batch && longest(target_lengths) <= targets.size(1), kName, ": targets ", targets, " do not fit target lengths ",
              target_lengths);
  }
}

// A sum of probabilities given by their logarithms.
template <typename T>
T log_sum(T a, T b, T c) {
  const T m = std::max(a, std::max(b, c));
  if (m == -std::numeric_limits<T>::infinity()) return m;
  return m + std::log(std::exp(a - m) + std::exp(b - m) + std::exp(c - m));
}

// The targets of a call, and the labels of sample n with blanks around them.
struct Targets {
  Tensor memory;
  std::vector<int64_t> first;
  IntArrayRef lengths;
  int64_t blank;

  Targets(const Tensor& targets, IntArrayRef target_lengths, int64_t blank_, int64_t classes)
      : memory(contiguous_tensor(targets, DType::Int64)), lengths(target_lengths), blank(blank_) {
    int64_t at = 0;
    for (size_t n = 0; n < lengths.size(); ++n) {
      first.push_back(targets.dim() == 2 ? static_cast<int64_t>(n) * targets.size(1) : at);
      at += lengths[n];
      for (int64_t i = 0; i < lengths[n]; ++i) {
        const int64_t label = memory.data_ptr<int64_t>()[first[n] + i];
        TRT_CHECK_CODE(label >= 0 && label < classes, Code::kOutOfRange, "ctc_loss: label ", label, " is out of range for ", classes, " classes");
      }
    }
  }
  // The labels of a sample; l'[i] is label(i) below.
  const int64_t* of(int64_t n) const { return memory.data_ptr<int64_t>() + first[static_cast<size_t>(n)]; }
  int64_t label(const int64_t* labels, int64_t i) const { return i % 2 == 0 ? blank : labels[i / 2]; }
  // Whether l'[i - 2] may be followed by l'[i]: a label that differs from the one before.
  bool may_skip(const int64_t* labels, int64_t i) const { return i % 2 == 1 && i >= 3 && labels[i / 2] != labels[i / 2 - 1]; }
};

int64_t batch_grain(int64_t steps, int64_t states) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, steps * states)); }

}  // namespace

namespace meta {

std::array<TensorSpec, 2> ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                                           int64_t blank) {
  check_ctc(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t batch = log_probs.size(1);
  return {TensorSpec({batch}, log_probs.dtype(), log_probs.device()),
          TensorSpec({batch, log_probs.size(0), 2 * longest(target_lengths) + 1}, compute_dtype(log_probs.dtype()), log_probs.device())};
}

TensorSpec ctc_loss_backward(const Tensor& grad_losses, const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                             IntArrayRef target_lengths, const Tensor& losses, const Tensor& log_alpha, int64_t blank) {
  const auto specs = ctc_loss_forward(log_probs, targets, input_lengths, target_lengths, blank);
  TRT_CHECK(grad_losses.sizes() == IntArrayRef(specs[0].sizes) && losses.sizes() == IntArrayRef(specs[0].sizes) &&
                log_alpha.sizes() == IntArrayRef(specs[1].sizes) && log_alpha.dtype() == specs[1].dtype,
            "ctc_loss_backward: losses ", losses, ", their gradient ", grad_losses, " and log_alpha ", log_alpha, " do not fit log_probs ", log_probs);
  return TensorSpec(log_probs.sizes(), log_probs.dtype(), log_probs.device());
}

}  // namespace meta

namespace native {

void ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths, int64_t blank, Tensor& losses,
                      Tensor& log_alpha) {
  const DType dtype = compute_dtype(log_probs.dtype());
  const Tensor x = contiguous_tensor(log_probs, dtype);
  const int64_t steps = x.size(0), batch = x.size(1), classes = x.size(2), states = log_alpha.size(2);
  const Targets to(targets, target_lengths, blank, classes);
  Computed out(losses, dtype);
  dispatch_float(dtype, "ctc_loss", [&]<typename T>() {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    std::fill_n(log_alpha.data_ptr<T>(), log_alpha.numel(), kNone);
    parallel_for(0, batch, batch_grain(steps, states), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t length = input_lengths[static_cast<size_t>(n)], size = 2 * target_lengths[static_cast<size_t>(n)] + 1;
        const int64_t* labels = to.of(n);
        T* alpha = log_alpha.data_ptr<T>() + n * steps * states;
        for (int64_t t = 0; t < length; ++t, alpha += states) {
          const T* p = x.data_ptr<T>() + (t * batch + n) * classes;
          const T* before = alpha - states;
          for (int64_t i = 0; i < size; ++i) {
            const T reached = t == 0 ? (i < 2 ? T(0) : kNone)
                                     : log_sum(before[i], i > 0 ? before[i - 1] : kNone, to.may_skip(labels, i) ? before[i - 2] : kNone);
            alpha[i] = reached + p[to.label(labels, i)];
          }
        }
        const T* last = alpha - states;
        // Without a step only the empty target is possible.
        out.data<T>()[n] = length == 0 ? (size == 1 ? T(0) : -kNone) : -log_sum(last[size - 1], size > 1 ? last[size - 2] : kNone, kNone);
      }
    });
  });
  out.finish();
}

void ctc_loss_backward(const Tensor& grad_losses, const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                       const Tensor& losses, const Tensor& log_alpha, int64_t blank, Tensor& out) {
  const DType dtype = compute_dtype(log_probs.dtype());
  const Tensor x = contiguous_tensor(log_probs, dtype), g = contiguous_tensor(grad_losses, dtype), loss = contiguous_tensor(losses, dtype),
               a = contiguous_tensor(log_alpha);
  const int64_t steps = x.size(0), batch = x.size(1), classes = x.size(2), states = a.size(2);
  const Targets to(targets, target_lengths, blank, classes);
  Computed result(out, dtype);
  dispatch_float(dtype, "ctc_loss_backward", [&]<typename T>() {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    std::fill_n(result.data<T>(), out.numel(), T(0));
    parallel_for(0, batch, batch_grain(steps, states), [&](int64_t begin, int64_t end) {
      std::vector<T> beta(static_cast<size_t>(states)), next(static_cast<size_t>(states)), sums(static_cast<size_t>(classes));
      for (int64_t n = begin; n < end; ++n) {
        const T by_loss = g.data_ptr<T>()[n], nll = loss.data_ptr<T>()[n];
        if (by_loss == T(0)) continue;  // also where zero_infinity took an infinite loss out
        const int64_t length = input_lengths[static_cast<size_t>(n)], size = 2 * target_lengths[static_cast<size_t>(n)] + 1;
        const int64_t* labels = to.of(n);
        for (int64_t t = length - 1; t >= 0; --t) {
          const T* p = x.data_ptr<T>() + (t * batch + n) * classes;
          const T* alpha = a.data_ptr<T>() + (n * steps + t) * states;
          std::swap(beta, next);
          std::fill(sums.begin(), sums.end(), kNone);
          for (int64_t i = 0; i < size; ++i) {
            const size_t u = static_cast<size_t>(i);
            const T left = t == length - 1 ? (i >= size - 2 ? T(0) : kNone)
                                           : log_sum(next[u], i + 1 < size ? next[u + 1] : kNone,
                                                     i + 2 < size && to.may_skip(labels, i + 2) ? next[u + 2] : kNone);
            const int64_t label = to.label(labels, i);
            beta[u] = left + p[label];
            T& sum = sums[static_cast<size_t>(label)];
            sum = log_sum(sum, alpha[i] + left, kNone);
          }
          // By log_probs: minus the share of all ways that go through the class at this step.
          T* to_step = result.data<T>() + (t * batch + n) * classes;
          for (int64_t c = 0; c < classes; ++c) to_step[c] = (std::exp(p[c]) - std::exp(sums[static_cast<size_t>(c)] + nll)) * by_loss;
        }
      }
    });
  });
  result.finish();
}

}  // namespace native

namespace composite {

Tensor ctc_loss_IntList(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths, int64_t blank,
                        std::string_view reduction, bool zero_infinity) {
  TRT_CHECK(reduction == "none" || reduction == "mean" || reduction == "sum", "ctc_loss: reduction must be 'none', 'mean' or 'sum', got '", reduction, "'");
  const bool single = log_probs.dim() == 2;
  Tensor loss = std::get<0>(op::ctc_loss_forward(single ? op::unsqueeze(log_probs, 1) : log_probs, targets, input_lengths, target_lengths, blank));
  if (zero_infinity) loss = op::where(op::eq(loss, Scalar(std::numeric_limits<double>::infinity())), op::zeros({}, loss.dtype(), loss.device()), loss);
  if (reduction == "sum") return op::sum(loss);
  if (reduction == "mean") {
    Tensor lengths = empty_tensor(loss.sizes(), DType::Float64);
    for (size_t i = 0; i < target_lengths.size(); ++i) lengths.data_ptr<double>()[i] = static_cast<double>(std::max<int64_t>(1, target_lengths[i]));
    return op::mean(op::div(loss, op::to(op::to(lengths, loss.dtype()), loss.device())));
  }
  return single ? op::squeeze(loss, 0) : loss;
}

Tensor ctc_loss_Tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank,
                       std::string_view reduction, bool zero_infinity) {
  DimVector lengths[2];
  const Tensor* given[] = {&input_lengths, &target_lengths};
  for (size_t k = 0; k < 2; ++k) {
    const Tensor& t = *given[k];
    TRT_CHECK(is_integral(t.dtype(), false) && t.dim() <= 1, "ctc_loss: lengths must be integers [n], got ", t);
    TRT_CHECK_CODE(!t.is_meta(), Code::kNotSupported, "ctc_loss: lengths on the meta device have no data");
    const Tensor values = contiguous_tensor(t, DType::Int64);
    lengths[k] = DimVector(values.data_ptr<int64_t>(), static_cast<size_t>(values.numel()));
  }
  return op::ctc_loss(log_probs, targets, IntArrayRef(lengths[0]), IntArrayRef(lengths[1]), blank, reduction, zero_infinity);
}

}  // namespace composite

}  // namespace trt
