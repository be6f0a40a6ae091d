// Lookup tables, one-hot vectors, padding and distances.
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "gen/all_ops.h"
#include "gen/nn_embedding_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "ops/window.h"

namespace trt {

namespace {

void check_index_dtype(const Tensor& indices, const char* op) {
  TRT_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32, op,
            ": indices must be int64 or int32, got ", indices);
}

void check_indices(const int64_t* p, int64_t n, int64_t rows, const char* op) {
  for (int64_t i = 0; i < n; ++i)
    TRT_CHECK_CODE(p[i] >= 0 && p[i] < rows, Code::kOutOfRange, op, ": index ", p[i], " is out of range for ", rows,
                   " rows");
}

DimVector with_last(IntArrayRef sizes, int64_t last) {
  DimVector out(sizes.data(), sizes.size());
  out.push_back(last);
  return out;
}

}  // namespace

namespace meta {

TensorSpec embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool) {
  TRT_CHECK(weight.dim() == 2, "embedding: weight must have two dimensions, got ", weight);
  check_index_dtype(indices, "embedding");
  TRT_CHECK(padding_idx >= -1 && padding_idx < std::max<int64_t>(weight.sizes()[0], 1), "embedding: padding_idx ",
            padding_idx, " is out of range for weight ", weight);
  return TensorSpec(with_last(indices.sizes(), weight.sizes()[1]), weight.dtype(), weight.device());
}

TensorSpec embedding_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef weight_size, int64_t,
                              bool) {
  check_index_dtype(indices, "embedding_backward");
  TRT_CHECK_CODE(is_floating(grad_output.dtype()), Code::kNotSupported, "embedding_backward: not supported for dtype ",
                 grad_output.dtype());
  TRT_CHECK(weight_size.size() == 2 && grad_output.sizes() == IntArrayRef(with_last(indices.sizes(), weight_size[1])),
            "embedding_backward: gradient ", grad_output, " does not fit indices ", indices, " and weight of shape ",
            weight_size);
  return TensorSpec(weight_size, grad_output.dtype(), grad_output.device());
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TRT_CHECK(self.dtype() == DType::Int64, "one_hot: classes must be int64, got ", self);
  TRT_CHECK(num_classes >= 1, "one_hot: without data num_classes must be given, got ", num_classes);
  return empty_tensor(with_last(self.sizes(), num_classes), DType::Int64, self.device());
}

}  // namespace meta

namespace native {

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, Tensor& out) {
  const Tensor at = contiguous_tensor(indices, DType::Int64), table = contiguous_tensor(weight);
  const int64_t n = at.numel(), d = weight.sizes()[1];
  const int64_t* p = at.data_ptr<int64_t>();
  check_indices(p, n, weight.sizes()[0], "embedding");
  if (out.numel() == 0) return;
  const size_t bytes = static_cast<size_t>(d) * weight.itemsize();
  const char* from = static_cast<const char*>(table.data());
  char* to = static_cast<char*>(out.data());
  parallel_for(0, n, std::max<int64_t>(1, 32768 / d), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(p[i]) * bytes, bytes);
  });
}

void embedding_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef weight_size, int64_t padding_idx,
                        bool scale_grad_by_freq, Tensor& out) {
  const DType dtype = compute_dtype(out.dtype());
  const Tensor at = contiguous_tensor(indices, DType::Int64), g = contiguous_tensor(grad_output, dtype);
  const int64_t n = at.numel(), rows = weight_size[0], d = weight_size[1];
  const int64_t* p = at.data_ptr<int64_t>();
  check_indices(p, n, rows, "embedding_backward");
  std::vector<int64_t> counts;
  if (scale_grad_by_freq) {
    counts.assign(static_cast<size_t>(rows), 0);
    for (int64_t i = 0; i < n; ++i) ++counts[static_cast<size_t>(p[i])];
  }
  if (out.numel() == 0) return;
  Computed gw(out, dtype);
  dispatch_float(dtype, "embedding_backward", [&]<typename T>() {
    const T* from = g.data_ptr<T>();
    T* to = gw.data<T>();
    // Each chunk owns a range of rows and walks all indices, so that every row is summed in the order of the indices.
    const int64_t grain = std::max<int64_t>(rows / 8 + 1, 32768 / d + 1);
    parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
      std::fill(to + begin * d, to + end * d, T(0));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t row = p[i];
        if (row < begin || row >= end || row == padding_idx) continue;
        const T scale = counts.empty() ? T(1) : T(1) / static_cast<T>(counts[static_cast<size_t>(row)]);
        T* sum = to + row * d;
        const T* add = from + i * d;
        for (int64_t j = 0; j < d; ++j) sum[j] += add[j] * scale;
      }
    });
  });
  gw.finish();
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TRT_CHECK(self.dtype() == DType::Int64, "one_hot: classes must be int64, got ", self);
  TRT_CHECK(num_classes >= 1 || num_classes == -1, "one_hot: num_classes must be positive (or -1), got ", num_classes);
  const Tensor classes = contiguous_tensor(self);
  const int64_t n = classes.numel();
  const int64_t* p = classes.data_ptr<int64_t>();
  int64_t largest = -1;
  for (int64_t i = 0; i < n; ++i) {
    TRT_CHECK_CODE(p[i] >= 0, Code::kOutOfRange, "one_hot: class ", p[i], " is negative");
    largest = std::max(largest, p[i]);
  }
  TRT_CHECK(num_classes != -1 || n > 0, "one_hot: num_classes must be given for a tensor without elements");
  TRT_CHECK(largest < std::numeric_limits<int64_t>::max(), "one_hot: class ", largest, " is too large");
  const int64_t count = num_classes == -1 ? largest + 1 : num_classes;
  TRT_CHECK_CODE(largest < count, Code::kOutOfRange, "one_hot: class ", largest, " is out of range, num_classes is ",
                 count);
  Tensor out = empty_tensor(with_last(self.sizes(), count), DType::Int64, self.device());
  int64_t* to = out.data_ptr<int64_t>();
  std::fill_n(to, out.numel(), 0);
  for (int64_t i = 0; i < n; ++i) to[i * count + p[i]] = 1;
  return out;
}

}  // namespace native

namespace composite {

Tensor pad(const Tensor& input, IntArrayRef pad, std::string_view mode, const std::optional<Scalar>& value) {
  if (mode == "constant") return op::constant_pad_nd(input, pad, value.value_or(Scalar(0)));
  TRT_CHECK(mode == "reflect" || mode == "replicate" || mode == "circular",
            "pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got '", mode, "'");
  TRT_CHECK(!value || value->equals(0), "pad: mode '", mode, "' takes no value");
  const int64_t dims = static_cast<int64_t>(pad.size() / 2);
  TRT_CHECK(pad.size() % 2 == 0 && dims >= 1 && dims <= 3 && (input.dim() == dims + 1 || input.dim() == dims + 2),
            "pad: mode '", mode, "' pads the last ", dims, " of ", dims + 1, " or ", dims + 2, " dimensions, got pad ",
            pad, " for input ", input);
  Tensor out = input;
  for (int64_t k = 0; k < dims; ++k) {
    const int64_t before = pad[static_cast<size_t>(2 * k)], after = pad[static_cast<size_t>(2 * k + 1)],
                  dim = input.dim() - 1 - k, n = input.size(dim);
    if (before == 0 && after == 0) continue;
    const int64_t limit = mode == "reflect" ? n - 1 : n;
    constexpr int64_t kFar = int64_t{1} << 40;
    const bool bounded = before > -kFar && after > -kFar && before < kFar && after < kFar;
    TRT_CHECK(bounded && n > 0 && (mode == "replicate" || (before <= limit && after <= limit)), "pad: mode '", mode,
              "' cannot pad dimension ", dim, " of size ", n, " by ", before, " and ", after);
    TRT_CHECK(n + before + after >= (mode == "circular" ? 0 : 1), "pad: mode '", mode, "' leaves nothing of dimension ", dim, " of size ", n,
              " with the pads ", before, " and ", after);
    // What negative pads leave is what goes around.
    const int64_t cut = std::max<int64_t>(-before, 0), kept = n - cut - std::max<int64_t>(-after, 0);
    TRT_CHECK(mode != "circular" || (kept >= 0 && std::max(before, after) <= kept), "pad: mode '", mode, "' cannot pad dimension ", dim, " of size ", n,
              " by ", before, " and ", after);
    // The source of every position along the dimension.
    Tensor at = empty_tensor({n + before + after}, DType::Int64);
    int64_t* p = at.data_ptr<int64_t>();
    for (int64_t i = 0; i < at.numel(); ++i) {
      int64_t j = i - before;
      if (mode == "replicate")
        j = std::clamp<int64_t>(j, 0, n - 1);
      else if (mode == "circular")
        j = cut + ((j - cut) % kept + kept) % kept;
      else
        j = j < 0 ? -j : j >= n ? 2 * (n - 1) - j : j;
      p[i] = j;
    }
    if (input.is_meta()) at = empty_tensor(at.sizes(), DType::Int64, input.device());
    out = op::index_select(out, dim, at);
  }
  return out.is_same(input) ? op::clone(input) : out;
}

Tensor normalize(const Tensor& input, double p, int64_t dim, double eps) {
  return op::div(input, op::clamp_min(op::norm(input, Scalar(p), IntArrayRef{dim}, true), eps));
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  TRT_CHECK(is_floating(x1.dtype()) || is_floating(x2.dtype()), "cosine_similarity: needs floating-point tensors, got ",
            x1, " and ", x2);
  const DimVector shape = broadcast_shapes(x1.sizes(), x2.sizes(), "cosine_similarity");
  const DType dtype = promote_types(x1.dtype(), x2.dtype());
  auto unit = [&](const Tensor& x) {
    const Tensor t = op::expand(op::to(x, dtype), shape);
    // The lower bound does not stop the gradient of the norm.
    Tensor length = op::clone(op::norm(t, Scalar(2), IntArrayRef{dim}, true));
    {
      const GradModeGuard no_grad(false);
      op::clamp_min_(length, eps);
    }
    return op::div(t, length);
  };
  return op::sum(op::mul(unit(x1), unit(x2)), IntArrayRef{dim});
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return op::norm(op::add(op::sub(x1, x2), eps), Scalar(p), IntArrayRef{int64_t{-1}}, keepdim);
}

}  // namespace composite

}  // namespace trt
