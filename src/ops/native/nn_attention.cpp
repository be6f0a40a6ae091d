// Scaled dot-product attention. 16-bit floats compute in float.
#include <cmath>
#include <vector>

#include "core/generator.h"
#include "gen/all_ops.h"
#include "gen/nn_sequence_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "kernels/cpu/attention.h"
#include "ops/sizes.h"
#include "ops/window.h"

namespace trt {

namespace {

IntArrayRef lead_of(const Tensor& t, int64_t kept) { return t.sizes().slice(0, static_cast<size_t>(t.dim() - kept)); }

// What both directions demand of query, key and value beyond their batch dimensions.
void check_matrices(const Tensor& q, const Tensor& k, const Tensor& v, const char* op) {
  for (const Tensor* t : {&q, &k, &v}) {
    TRT_CHECK_CODE(is_floating(t->dtype()), Code::kNotSupported, op, ": not supported for dtype ", t->dtype());
    TRT_CHECK(t->dim() >= 2, op, ": query, key and value need at least 2 dimensions, got ", q, ", ", k, " and ", v);
    TRT_CHECK(t->dtype() == q.dtype(), op, ": query, key and value must have one dtype, got ", q, ", ", k, " and ", v);
  }
  TRT_CHECK(q.size(-1) == k.size(-1), op, ": the last dimensions of query and key differ: ", q, " and ", k);
  TRT_CHECK(k.size(-2) == v.size(-2), op, ": key and value must hold as many keys as each other, got ", k, " and ", v);
}

void check_mask(const Tensor& mask, const Tensor& q, IntArrayRef scores, const char* op) {
  TRT_CHECK(mask.dtype() == DType::Bool || is_floating(mask.dtype()), op, ": attn_mask must be bool or floating-point, got ", mask);
  bool fits = mask.dim() <= static_cast<int64_t>(scores.size());
  for (int64_t d = 1; fits && d <= mask.dim(); ++d) {
    const int64_t n = mask.size(-d);
    fits = n == 1 || n == scores[scores.size() - static_cast<size_t>(d)];
  }
  TRT_CHECK(fits, op, ": attn_mask ", mask, " does not broadcast to the scores' shape ", scores, " for query ", q);
}

void check_call(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout, const char* op) {
  check_matrices(q, k, v, op);
  const IntArrayRef lead = lead_of(q, 2), source = lead_of(k, 2);
  TRT_CHECK(source == lead_of(v, 2) && lead.size() == source.size(), op, ": batch dimensions differ: ", q, ", ", k, " and ", v);
  for (size_t d = 0; d < lead.size(); ++d)
    TRT_CHECK(lead[d] == source[d] || (d + 1 == lead.size() && source[d] > 0 && lead[d] % source[d] == 0), op, ": batch dimensions differ: ", q, ", ", k,
              " and ", v);
  TRT_CHECK(dropout >= 0 && dropout <= 1, op, ": a probability must lie in [0, 1], got ", dropout);
  if (mask.defined()) check_mask(mask, q, joined(lead, {q.size(-2), k.size(-2)}), op);
}

// The offsets of the batches of `sizes` in memory with these strides (0 where a dimension is spread).
std::vector<int64_t> offsets_of(IntArrayRef sizes, IntArrayRef strides) {
  const int64_t n = count_of(sizes);
  std::vector<int64_t> at(static_cast<size_t>(n), 0);
  int64_t inner = 1;
  for (size_t d = sizes.size(); d-- > 0; inner *= sizes[d])
    for (int64_t i = 0; i < n; ++i) at[static_cast<size_t>(i)] += i / inner % sizes[d] * strides[d];
  return at;
}

// A batch of matrices as kernels read it: rows dense, at least their length apart. Batch dimensions lie anywhere.
struct Rows {
  Tensor memory;
  std::vector<int64_t> at;
  int64_t ld = 0;

  Rows(const Tensor& t, DType dtype) : memory(t) {
    const int64_t rows = t.size(-2), cols = t.size(-1);
    const bool dense = (cols <= 1 || t.stride(-1) == 1) && (rows <= 1 || t.stride(-2) >= std::max<int64_t>(cols, 1));
    if (t.dtype() != dtype || !dense) memory = contiguous_tensor(t, dtype);
    at = offsets_of(lead_of(memory, 2), memory.strides().slice(0, static_cast<size_t>(t.dim() - 2)));
    ld = rows <= 1 ? std::max<int64_t>(cols, 1) : memory.stride(-2);
  }
  template <typename T>
  cpu::Matrices<T> matrices() const {
    return {memory.data_ptr<T>(), ld, at.data()};
  }
};

// The mask in its own shape, with the place of each batch in it.
struct Mask {
  Tensor memory;
  std::vector<int64_t> at;
  int64_t rows = 1, cols = 1;  // 1 where it is spread

  Mask(const Tensor& mask, IntArrayRef lead, DType dtype) {
    if (!mask.defined()) return;
    memory = mask.dtype() == DType::Bool ? contiguous_tensor(mask) : contiguous_tensor(mask, dtype);
    rows = mask.dim() >= 2 ? mask.size(-2) : 1;
    cols = mask.dim() >= 1 ? mask.size(-1) : 1;
    DimVector strides(lead.size(), 0);
    for (int64_t d = 3; d <= mask.dim(); ++d)
      if (mask.size(-d) != 1) strides[lead.size() + 2 - static_cast<size_t>(d)] = memory.stride(-d);
    at = offsets_of(lead, strides);
  }
};

template <typename T>
struct AttentionCall {
  Rows q, k, v;
  Mask mask;
  cpu::Attention<T> a;

  AttentionCall(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask, DType dtype, double dropout, bool causal, double scale,
       int64_t seed, int64_t offset)
      : q(query, dtype), k(key, dtype), v(value, dtype), mask(attn_mask, lead_of(query, 2), dtype) {
    a.batches = static_cast<int64_t>(q.at.size());
    a.group = k.at.empty() ? 1 : a.batches / static_cast<int64_t>(k.at.size());
    a.queries = query.size(-2);
    a.keys = key.size(-2);
    a.dim = query.size(-1);
    a.value_dim = value.size(-1);
    a.q = q.template matrices<T>();
    a.k = k.template matrices<T>();
    a.v = v.template matrices<T>();
    if (attn_mask.defined()) {
      if (attn_mask.dtype() == DType::Bool) a.kept = mask.memory.template data_ptr<uint8_t>();
      else a.added = mask.memory.template data_ptr<T>();
      a.mask_at = mask.at.data();
      a.mask_row = mask.rows == 1 ? 0 : mask.cols;
      a.mask_col = mask.cols == 1 ? 0 : 1;
    }
    a.causal = causal;
    a.scale = scale;
    a.dropout = dropout;
    a.seed = static_cast<uint64_t>(seed);
    a.offset = static_cast<uint64_t>(offset);
  }
};

}  // namespace

namespace meta {

std::array<TensorSpec, 2> attention_forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask, double dropout_p, bool,
                                            double, int64_t, int64_t) {
  check_call(query, key, value, attn_mask, dropout_p, "attention_forward");
  const IntArrayRef lead = lead_of(query, 2);
  return {TensorSpec(joined(lead, {query.size(-2), value.size(-1)}), query.dtype(), query.device()),
          TensorSpec(joined(lead, {query.size(-2)}), compute_dtype(query.dtype()), query.device())};
}

std::array<TensorSpec, 4> attention_backward(const Tensor& grad_output, const Tensor& query, const Tensor& key, const Tensor& value,
                                             const Tensor& attn_mask, const Tensor& output, const Tensor& logsumexp, double dropout_p, bool, double, int64_t,
                                             int64_t, bool for_query, bool for_key, bool for_value, bool for_mask) {
  constexpr const char* kName = "attention_backward";
  check_call(query, key, value, attn_mask, dropout_p, kName);
  const IntArrayRef lead = lead_of(query, 2);
  const DimVector out = joined(lead, {query.size(-2), value.size(-1)}), sums = joined(lead, {query.size(-2)});
  for (const Tensor* t : {&grad_output, &output})
    TRT_CHECK(t->sizes() == IntArrayRef(out) && t->dtype() == query.dtype(), kName, ": output ", output, " and gradient ", grad_output, " do not fit query ",
              query, " and value ", value);
  TRT_CHECK(logsumexp.sizes() == IntArrayRef(sums) && logsumexp.dtype() == compute_dtype(query.dtype()), kName, ": logsumexp ", logsumexp,
            " does not fit query ", query);
  TRT_CHECK(!for_mask || (attn_mask.defined() && is_floating(attn_mask.dtype())), kName, ": there is no gradient of attn_mask ", attn_mask);
  auto spec = [](const Tensor& t, bool wanted) { return wanted ? TensorSpec(t.sizes(), t.dtype(), t.device()) : TensorSpec({0}, t.dtype(), t.device()); };
  return {spec(query, for_query), spec(key, for_key), spec(value, for_value), spec(for_mask ? attn_mask : query, for_mask)};
}

TensorSpec attention_dropout(const Tensor& query, int64_t keys, double dropout_p, int64_t, int64_t) {
  TRT_CHECK_CODE(is_floating(query.dtype()), Code::kNotSupported, "attention_dropout: not supported for dtype ", query.dtype());
  TRT_CHECK(query.dim() >= 2 && keys >= 0, "attention_dropout: a query of at least 2 dimensions and a number of keys are needed, got ", query, " and ",
            keys);
  TRT_CHECK(dropout_p >= 0 && dropout_p <= 1, "attention_dropout: a probability must lie in [0, 1], got ", dropout_p);
  return TensorSpec(joined(lead_of(query, 1), {keys}), query.dtype(), query.device());
}

}  // namespace meta

namespace native {

void attention_forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask, double dropout_p, bool is_causal, double scale,
                       int64_t seed, int64_t offset, Tensor& output, Tensor& logsumexp) {
  const DType dtype = compute_dtype(query.dtype());
  Computed out(output, dtype);
  dispatch_float(dtype, "scaled_dot_product_attention", [&]<typename T>() {
    const AttentionCall<T> call(query, key, value, attn_mask, dtype, dropout_p, is_causal, scale, seed, offset);
    cpu::attention_forward(call.a, out.data<T>(), logsumexp.data_ptr<T>());
  });
  out.finish();
}

void attention_backward(const Tensor& grad_output, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                        const Tensor& output, const Tensor& logsumexp, double dropout_p, bool is_causal, double scale, int64_t seed, int64_t offset,
                        bool for_query, bool for_key, bool for_value, bool for_mask, Tensor& grad_query, Tensor& grad_key, Tensor& grad_value,
                        Tensor& grad_mask) {
  const DType dtype = compute_dtype(query.dtype());
  const Tensor go = contiguous_tensor(grad_output, dtype), o = contiguous_tensor(output, dtype), lse = contiguous_tensor(logsumexp);
  Computed gq(grad_query, dtype), gk(grad_key, dtype), gv(grad_value, dtype), gm(grad_mask, dtype);
  dispatch_float(dtype, "scaled_dot_product_attention", [&]<typename T>() {
    const AttentionCall<T> call(query, key, value, attn_mask, dtype, dropout_p, is_causal, scale, seed, offset);
    const cpu::Attention<T>& a = call.a;
    if (for_query || for_key || for_value) {
      const int64_t parts = cpu::attention_parts(a.batches / a.group, a.keys);
      const Tensor workspace = empty_tensor({for_query && parts > 1 ? parts * query.numel() : 0}, dtype);
      cpu::attention_backward<T>(a, go.data_ptr<T>(), o.data_ptr<T>(), lse.data_ptr<T>(), workspace.data_ptr<T>(),
                                 {for_query ? gq.data<T>() : nullptr, for_key ? gk.data<T>() : nullptr, for_value ? gv.data<T>() : nullptr});
    }
    if (!for_mask || attn_mask.numel() == 0) return;
    const int64_t each = call.mask.rows * call.mask.cols, masks = attn_mask.numel() / each;
    std::vector<int64_t> begin(static_cast<size_t>(masks) + 1, 0), order(call.mask.at.size());
    for (int64_t at : call.mask.at) ++begin[static_cast<size_t>(at / each) + 1];
    for (size_t m = 0; m < static_cast<size_t>(masks); ++m) begin[m + 1] += begin[m];
    std::vector<int64_t> next(begin);
    for (size_t b = 0; b < order.size(); ++b) order[static_cast<size_t>(next[static_cast<size_t>(call.mask.at[b] / each)]++)] = static_cast<int64_t>(b);
    cpu::attention_mask_gradient<T>(a, go.data_ptr<T>(), o.data_ptr<T>(), lse.data_ptr<T>(), masks, begin.data(), order.data(), call.mask.rows,
                                    call.mask.cols, gm.data<T>());
  });
  gq.finish();
  gk.finish();
  gv.finish();
  gm.finish();
}

void attention_dropout(const Tensor& query, int64_t keys, double dropout_p, int64_t seed, int64_t offset, Tensor& out) {
  const DType dtype = compute_dtype(query.dtype());
  Computed factors(out, dtype);
  dispatch_float(dtype, "attention_dropout", [&]<typename T>() {
    cpu::attention_dropout_factors(count_of(lead_of(query, 2)), query.size(-2), keys, dropout_p, static_cast<uint64_t>(seed), static_cast<uint64_t>(offset),
                                   factors.data<T>());
  });
  factors.finish();
}

}  // namespace native

namespace composite {

namespace {

// The batch dimensions of t become `lead`.
Tensor spread(const Tensor& t, IntArrayRef lead) {
  return lead_of(t, 2) == lead ? t : op::expand(t, joined(lead, {t.size(-2), t.size(-1)}));
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  constexpr const char* kName = "scaled_dot_product_attention";
  check_matrices(query, key, value, kName);
  TRT_CHECK(!(is_causal && attn_mask.defined()), kName, ": attn_mask and is_causal exclude each other");
  TRT_CHECK(dropout_p >= 0 && dropout_p <= 1, kName, ": a probability must lie in [0, 1], got ", dropout_p);
  Tensor k = key, v = value;
  DimVector lead(lead_of(query, 2).data(), lead_of(query, 2).size()), source;
  if (enable_gqa) {
    TRT_CHECK(query.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3, kName, ": enable_gqa needs a dimension of heads, got ", query, ", ", k, " and ", v);
    const int64_t heads = query.size(-3);
    for (Tensor* t : {&k, &v}) {
      TRT_CHECK(t->size(-3) > 0 && heads % t->size(-3) == 0, kName, ": ", heads, " heads of query ", query, " cannot share those of ", *t);
      // Different numbers of heads of key and value: each query gets its own of the fewer ones.
      if (k.size(-3) != v.size(-3)) *t = op::repeat_interleave(*t, heads / t->size(-3), -3);
    }
    lead = broadcast_shapes(broadcast_shapes(lead_of(query, 3), lead_of(k, 3), kName), lead_of(v, 3), kName);
    source = joined(lead, {k.size(-3)});
    lead.push_back(heads);
  } else {
    lead = broadcast_shapes(broadcast_shapes(lead, lead_of(k, 2), kName), lead_of(v, 2), kName);
    source = lead;
  }
  const Tensor q = spread(query, lead);
  k = spread(k, source);
  v = spread(v, source);
  if (attn_mask.defined()) check_mask(attn_mask, query, joined(lead, {q.size(-2), k.size(-2)}), kName);
  GeneratorImpl::State at{0, 0};
  if (dropout_p > 0 && !q.is_meta()) at = default_generator().reserve(static_cast<uint64_t>(count_of(lead) * q.size(-2)) * cpu::dropout_counters(k.size(-2)));
  return std::get<0>(op::attention_forward(q, k, v, attn_mask, dropout_p, is_causal, scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1)))),
                                           static_cast<int64_t>(at.seed), static_cast<int64_t>(at.offset)));
}

}  // namespace composite

}  // namespace trt
