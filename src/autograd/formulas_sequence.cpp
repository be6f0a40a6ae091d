#include "autograd/formulas_sequence.h"

#include <limits>

#include "autograd/meta.h"
#include "gen/all_ops.h"

namespace trt::formulas {

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_gradients(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                                                               const Tensor& attn_mask, const Tensor& output, const Tensor& logsumexp, double dropout_p,
                                                               bool is_causal, double scale, int64_t seed, int64_t offset,
                                                               const std::array<bool, 4>& mask) {
  // The output counts as a function of the other arguments, through which its derivative goes.
  auto [gq, gk, gv, gm] = op::attention_backward(grad, query, key, value, attn_mask, autograd::detach(output), logsumexp, dropout_p, is_causal, scale, seed,
                                                 offset, mask[0], mask[1], mask[2], mask[3]);
  return {mask[0] ? gq : Tensor(), mask[1] ? gk : Tensor(), mask[2] ? gv : Tensor(), mask[3] ? gm : Tensor()};
}

namespace {

Tensor transposed(const Tensor& t) { return op::transpose(t, -2, -1); }
Tensor row_sums(const Tensor& t) { return op::sum(t, IntArrayRef{int64_t{-1}}, true); }
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : op::add(a, b); }

// Keys for each query's batch: [..., heads, s, e] from [..., shared heads, s, e], and the sums that lead back.
Tensor shared_out(const Tensor& t, int64_t group) { return group == 1 || !t.defined() ? t : op::repeat_interleave(t, group, -3); }
Tensor shared_in(const Tensor& t, const Tensor& like, int64_t group) {
  if (group == 1) return t;
  DimVector sizes(like.sizes().data(), like.sizes().size() - 2);
  sizes.push_back(group);
  sizes.push_back(like.size(-2));
  sizes.push_back(like.size(-1));
  return op::sum(op::reshape(t, sizes), IntArrayRef{int64_t{-3}});
}

// The softmax of the scores; zeros where a query has no keys.
Tensor probabilities(const Tensor& query, const Tensor& key, const Tensor& attn_mask, bool is_causal, double scale) {
  Tensor s = op::mul(op::matmul(query, transposed(key)), Scalar(scale));
  const Scalar lowest(-std::numeric_limits<double>::infinity());
  if (is_causal) s = op::masked_fill(s, op::logical_not(op::tril(op::ones({query.size(-2), key.size(-2)}, DType::Bool, query.device()))), lowest);
  if (!attn_mask.defined()) return op::softmax(s, -1);
  s = attn_mask.dtype() == DType::Bool ? op::masked_fill(s, op::logical_not(attn_mask), lowest) : op::add(s, attn_mask);
  if (key.size(-2) == 0) return op::softmax(s, -1);
  const Tensor none = op::eq(op::amax(autograd::detach(s), IntArrayRef{int64_t{-1}}, true), lowest);
  return op::masked_fill(op::softmax(op::masked_fill(s, none, Scalar(0)), -1), none, Scalar(0));
}

}  // namespace

// Note [Second derivative of attention]
// With scores S = scale Q K' + M, probabilities P, dropout factors Z, go = gradient of the output, backward is
//   U = (go V') Z,  D = rowsum(P U),  W = P (U - D),   gq = scale W K,  gk = scale W' Q,  gv = (P Z)' go,  gm = W.
// For gradients vq, vk, vv, vm of those results:
//   by W:    A = scale (vq K' + Q vk') + vm
//   by U:    E = P (A - rowsum(P A));        it leads to go: (E Z) V, and to V: (E Z)' go
//   by P:    G = A (U - D) - U rowsum(P A) + (go vv') Z
//   by S:    H = P (G - rowsum(P G));        it leads to Q: scale H K, to K: scale H' Q, to M: H
// and directly  by Q: scale W vk,  by K: scale W' vq,  by go: (P Z) vv.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> attention_second_gradients(const Tensor& vq, const Tensor& vk, const Tensor& vv, const Tensor& vm,
                                                                              const Tensor& grad_output, const Tensor& query, const Tensor& key,
                                                                              const Tensor& value, const Tensor& attn_mask, double dropout_p,
                                                                              bool is_causal, double scale, int64_t seed, int64_t offset, bool for_query,
                                                                              bool for_key, bool for_value, bool for_mask,
                                                                              const std::array<bool, 5>& mask) {
  const int64_t group = query.dim() >= 3 && key.size(-3) > 0 ? query.size(-3) / key.size(-3) : 1;
  const bool has_q = for_query && vq.defined(), has_k = for_key && vk.defined(), has_v = for_value && vv.defined(), has_m = for_mask && vm.defined();
  const Tensor k = shared_out(key, group), v = shared_out(value, group), nk = has_k ? shared_out(vk, group) : Tensor(),
               nv = has_v ? shared_out(vv, group) : Tensor();
  const Tensor z = dropout_p > 0 ? op::attention_dropout(query, key.size(-2), dropout_p, seed, offset) : Tensor();
  auto dropped = [&](const Tensor& t) { return z.defined() && t.defined() ? op::mul(t, z) : t; };
  auto scaled = [&](const Tensor& t) { return op::mul(t, Scalar(scale)); };

  const Tensor p = probabilities(query, k, attn_mask, is_causal, scale);
  const Tensor u = dropped(op::matmul(grad_output, transposed(v)));
  const Tensor centred = op::sub(u, row_sums(op::mul(p, u)));
  Tensor a;
  if (has_q) a = scaled(op::matmul(vq, transposed(k)));
  if (has_k) a = plus(a, scaled(op::matmul(query, transposed(nk))));
  if (has_m) a = plus(a, op::expand(op::to(vm, query.dtype()), p.sizes()));
  Tensor e, g = has_v ? dropped(op::matmul(grad_output, transposed(nv))) : Tensor();
  if (a.defined()) {
    const Tensor sums = row_sums(op::mul(p, a));
    e = dropped(op::mul(p, op::sub(a, sums)));
    g = plus(op::sub(op::mul(a, centred), op::mul(u, sums)), g);
  }
  std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> out;
  if (!g.defined()) return out;
  const Tensor h = op::mul(p, op::sub(g, row_sums(op::mul(p, g)))), w = op::mul(p, centred);
  if (mask[0]) std::get<0>(out) = plus(e.defined() ? op::matmul(e, v) : Tensor(), has_v ? op::matmul(dropped(p), nv) : Tensor());
  if (mask[1]) std::get<1>(out) = scaled(plus(op::matmul(h, k), has_k ? op::matmul(w, nk) : Tensor()));
  if (mask[2]) std::get<2>(out) = shared_in(scaled(plus(op::matmul(transposed(h), query), has_q ? op::matmul(transposed(w), vq) : Tensor())), key, group);
  if (mask[3] && e.defined()) std::get<3>(out) = shared_in(op::matmul(transposed(e), grad_output), value, group);
  if (mask[4]) std::get<4>(out) = op::to(op::sum_to_size(h, attn_mask.sizes()), attn_mask.dtype());
  return out;
}

}  // namespace trt::formulas
