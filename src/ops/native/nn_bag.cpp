// Bags of embeddings: sums, means and maxima of rows of a table.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "gen/all_ops.h"
#include "gen/nn_embedding_native.h"
#include "iter/copy.h"
#include "ops/window.h"

namespace trt {

namespace {

constexpr int64_t kSum = 0, kMean = 1, kMax = 2;

bool is_index(DType t) { return t == DType::Int64 || t == DType::Int32; }

}  // namespace

namespace meta {

std::array<TensorSpec, 2> embedding_bag_forward(const Tensor& weight, const Tensor& indices, const Tensor& bags, const Tensor& sizes,
                                                const Tensor& per_sample_weights, int64_t mode, int64_t, bool) {
  constexpr const char* kName = "embedding_bag_forward";
  TRT_CHECK_CODE(is_floating(weight.dtype()), Code::kNotSupported, kName, ": not supported for dtype ", weight.dtype());
  TRT_CHECK(weight.dim() == 2 && indices.dim() == 1 && is_index(indices.dtype()), kName, ": a weight [n, d] and indices [m] are needed, got ", weight,
            " and ", indices);
  TRT_CHECK(bags.sizes() == indices.sizes() && bags.dtype() == DType::Int64 && sizes.dim() == 1 && sizes.dtype() == DType::Int64, kName, ": bags ", bags,
            " and sizes ", sizes, " do not fit indices ", indices);
  TRT_CHECK(!per_sample_weights.defined() || (per_sample_weights.sizes() == indices.sizes() && per_sample_weights.dtype() == weight.dtype()), kName,
            ": per_sample_weights ", per_sample_weights, " do not fit indices ", indices, " and weight ", weight);
  TRT_CHECK(mode >= kSum && mode <= kMax, kName, ": mode must be 0, 1 or 2, got ", mode);
  const int64_t count = sizes.size(0), d = weight.size(1);
  return {TensorSpec({count, d}, weight.dtype(), weight.device()),
          mode == kMax ? TensorSpec({count, d}, DType::Int64, weight.device()) : TensorSpec({0}, DType::Int64, weight.device())};
}

}  // namespace meta

namespace native {

void embedding_bag_forward(const Tensor& weight, const Tensor& indices, const Tensor& bags, const Tensor& sizes, const Tensor& per_sample_weights,
                           int64_t mode, int64_t padding_idx, bool, Tensor& output, Tensor& max_indices) {
  const DType dtype = compute_dtype(weight.dtype());
  const Tensor at = contiguous_tensor(indices, DType::Int64), bag = contiguous_tensor(bags), size = contiguous_tensor(sizes),
               table = contiguous_tensor(weight), factors = optional_contiguous(per_sample_weights, dtype);
  const int64_t n = at.numel(), count = size.numel(), rows = weight.size(0), d = weight.size(1);
  const int64_t* p = at.data_ptr<int64_t>();
  const int64_t* b = bag.data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    TRT_CHECK_CODE(p[i] >= 0 && p[i] < rows, Code::kOutOfRange, "embedding_bag: index ", p[i], " is out of range for ", rows, " rows");
    TRT_CHECK(b[i] >= (i > 0 ? b[i - 1] : 0) && b[i] < count, "embedding_bag_forward: bags must ascend and lie below ", count, ", got ", b[i]);
  }
  Computed out(output, dtype);
  dispatch_floating(weight.dtype(), "embedding_bag", [&]<typename W>() {
    using T = opmath_t<W>;
    const W* from = table.data_ptr<W>();
    const T* factor = optional_data<T>(factors);
    int64_t* largest = mode == kMax ? max_indices.data_ptr<int64_t>() : nullptr;
    T* to = out.data<T>();
    const int64_t grain = std::max<int64_t>(1, 16384 * count / std::max<int64_t>(1, n * d));
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      std::fill(to + begin * d, to + end * d, mode == kMax ? -std::numeric_limits<T>::infinity() : T(0));
      if (largest) std::fill(largest + begin * d, largest + end * d, int64_t{0});
      const int64_t first = std::lower_bound(b, b + n, begin) - b;
      int64_t before = -1;
      for (int64_t i = first; i < n && b[i] < end; ++i) {
        if (p[i] == padding_idx) continue;
        const W* x = from + p[i] * d;
        T* y = to + b[i] * d;
        if (mode == kMax) {
          // The first row of a bag counts whatever it holds, as NaN does.
          for (int64_t j = 0; j < d; ++j) {
            const T v = static_cast<T>(x[j]);
            if (b[i] != before || v > y[j] || (v != v && y[j] == y[j])) {
              y[j] = v;
              largest[b[i] * d + j] = p[i];
            }
          }
          before = b[i];
        } else {
          const T f = factor ? factor[i] : T(1);
          for (int64_t j = 0; j < d; ++j) y[j] += f * static_cast<T>(x[j]);
        }
      }
      for (int64_t k = begin; k < end; ++k) {
        const int64_t s = size.data_ptr<int64_t>()[k];
        if (mode == kMax && s == 0) std::fill_n(to + k * d, d, T(0));
        if (mode != kMean || s < 2) continue;
        for (int64_t j = 0; j < d; ++j) to[k * d + j] /= static_cast<T>(s);
      }
    });
  });
  out.finish();
}

}  // namespace native

namespace composite {

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq,
                                                         int64_t mode, bool sparse, const Tensor& per_sample_weights, bool include_last_offset,
                                                         std::optional<int64_t> padding_idx) {
  constexpr const char* kName = "embedding_bag";
  TRT_CHECK(mode >= kSum && mode <= kMax, kName, ": mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  TRT_CHECK(mode != kMax || (!sparse && !scale_grad_by_freq), kName, ": mode 2 (max) takes neither sparse nor scale_grad_by_freq");
  TRT_CHECK(weight.dim() == 2, kName, ": weight must have two dimensions, got ", weight);
  TRT_CHECK(indices.dim() == 1 && is_index(indices.dtype()), kName, ": indices must be int64 or int32 of one dimension, got ", indices);
  TRT_CHECK(offsets.dim() == 1 && is_index(offsets.dtype()), kName, ": offsets must be int64 or int32 of one dimension, got ", offsets);
  TRT_CHECK(!per_sample_weights.defined() || mode == kSum, kName, ": per_sample_weights are for mode 0 (sum), got ", mode);
  TRT_CHECK(!per_sample_weights.defined() || (per_sample_weights.sizes() == indices.sizes() && per_sample_weights.dtype() == weight.dtype()), kName,
            ": per_sample_weights ", per_sample_weights, " do not fit indices ", indices, " and weight ", weight);
  const int64_t rows = weight.size(0);
  TRT_CHECK_CODE(!padding_idx || (*padding_idx >= -rows && *padding_idx < rows), Code::kOutOfRange, kName, ": padding_idx ", padding_idx.value_or(0),
                 " is out of range for ", rows, " rows");
  const int64_t padding = !padding_idx ? -1 : *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  TRT_CHECK(!include_last_offset || offsets.numel() > 0, kName, ": with include_last_offset offsets must not be empty");
  TRT_CHECK_CODE(!offsets.is_meta() && !indices.is_meta(), Code::kNotSupported, kName, ": offsets on the meta device have no data");
  const int64_t bags = offsets.numel() - (include_last_offset ? 1 : 0);

  const Tensor starts = contiguous_tensor(offsets, DType::Int64), at = contiguous_tensor(indices, DType::Int64);
  const int64_t* s = starts.data_ptr<int64_t>();
  for (int64_t i = 0; i < offsets.numel(); ++i)
    TRT_CHECK(i == 0 ? s[0] == 0 : s[i] >= s[i - 1] && s[i] <= at.numel(), kName, ": offsets must begin with 0 and ascend to at most ", at.numel(),
              ", got ", s[i], " at position ", i);
  const int64_t n = include_last_offset ? s[bags] : bags == 0 ? 0 : at.numel();
  Tensor bag = empty_tensor({n}, DType::Int64), sizes = empty_tensor({bags}, DType::Int64);
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t end = b + 1 < offsets.numel() ? s[b + 1] : n;
    int64_t counted = end - s[b];
    for (int64_t i = s[b]; i < end; ++i) {
      bag.data_ptr<int64_t>()[i] = b;
      counted -= at.data_ptr<int64_t>()[i] == padding;
    }
    sizes.data_ptr<int64_t>()[b] = counted;
  }
  auto used = [&](const Tensor& t) { return t.defined() && n < at.numel() ? op::slice(t, 0, 0, n, 1) : t; };
  const auto [y, largest] =
      op::embedding_bag_forward(weight, used(at), bag, sizes, used(per_sample_weights), mode, padding, scale_grad_by_freq);
  return {y, bag, sizes, largest};
}

}  // namespace composite

}  // namespace trt
