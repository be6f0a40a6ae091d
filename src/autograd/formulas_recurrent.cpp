// Gradients of recurrent layers.
#include "autograd/formulas_sequence.h"
#include "gen/all_ops.h"

namespace trt::formulas {

namespace {

constexpr int64_t kTanh = 0, kLstm = 2, kGru = 3;

Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : op::add(a, b); }
Tensor transposed(const Tensor& t) { return op::transpose(t, 0, 1); }
// The derivatives of y = sigmoid(x) and y = tanh(x), times g.
Tensor by_sigmoid(const Tensor& g, const Tensor& y) { return op::mul(g, op::sub(y, op::mul(y, y))); }
Tensor by_tanh(const Tensor& g, const Tensor& y) { return op::sub(g, op::mul(g, op::mul(y, y))); }

// One step as it was, in the order of time.
struct Step {
  Tensor h0, c0, h, c;
  Tensor i, f, g, o;      // LSTM
  Tensor tanh_c, m;       // LSTM: the output before the projection
  Tensor r, z, n, state;  // GRU
};

struct Layer {
  Tensor weight, bias, projection;
  int64_t kind, size;

  Tensor gate(const Tensor& a, int64_t k) const { return op::slice(a, 1, k * size, (k + 1) * size, 1); }

  Step forward(const Tensor& x, const Tensor& h0, const Tensor& c0) const {
    Step s;
    s.h0 = h0;
    s.c0 = c0;
    Tensor share = op::mm(h0, transposed(weight));
    if (kind == kGru) {
      if (bias.defined()) share = op::add(share, bias);
      s.r = op::sigmoid(op::add(gate(x, 0), gate(share, 0)));
      s.z = op::sigmoid(op::add(gate(x, 1), gate(share, 1)));
      s.state = gate(share, 2);
      s.n = op::tanh(op::add(gate(x, 2), op::mul(s.r, s.state)));
      s.h = op::add(s.n, op::mul(s.z, op::sub(h0, s.n)));
      return s;
    }
    const Tensor a = op::add(x, share);
    if (kind != kLstm) {
      s.h = kind == kTanh ? op::tanh(a) : op::relu(a);
      return s;
    }
    s.i = op::sigmoid(gate(a, 0));
    s.f = op::sigmoid(gate(a, 1));
    s.g = op::tanh(gate(a, 2));
    s.o = op::sigmoid(gate(a, 3));
    s.c = op::add(op::mul(s.f, c0), op::mul(s.i, s.g));
    s.tanh_c = op::tanh(s.c);
    s.m = op::mul(s.o, s.tanh_c);
    s.h = projection.defined() ? op::mm(s.m, transposed(projection)) : s.m;
    return s;
  }

  // The gradients of the gates' input and state's shares; dh (and dc) become those of h0 and c0, the sums grow.
  Tensor backward(const Step& s, Tensor& dh, Tensor& dc, Tensor& by_weight, Tensor& by_bias, Tensor& by_projection) const {
    Tensor dx, share, direct;
    if (kind == kGru) {
      const Tensor dn = by_tanh(op::sub(dh, op::mul(dh, s.z)), s.n), dz = by_sigmoid(op::mul(dh, op::sub(s.h0, s.n)), s.z),
                   dr = by_sigmoid(op::mul(dn, s.state), s.r);
      dx = op::cat({dr, dz, dn}, 1);
      share = op::cat({dr, dz, op::mul(dn, s.r)}, 1);
      direct = op::mul(dh, s.z);
      if (bias.defined()) by_bias = plus(by_bias, op::sum(share, IntArrayRef{int64_t{0}}));
    } else if (kind == kLstm) {
      if (projection.defined()) by_projection = plus(by_projection, op::mm(transposed(dh), s.m));
      const Tensor dm = projection.defined() ? op::mm(dh, projection) : dh, by_c = plus(dc, by_tanh(op::mul(dm, s.o), s.tanh_c));
      dx = op::cat({by_sigmoid(op::mul(by_c, s.g), s.i), by_sigmoid(op::mul(by_c, s.c0), s.f), by_tanh(op::mul(by_c, s.i), s.g),
                    by_sigmoid(op::mul(dm, s.tanh_c), s.o)},
                   1);
      dc = op::mul(by_c, s.f);
      share = dx;
    } else {
      dx = kind == kTanh ? by_tanh(dh, s.h) : op::mul(dh, op::to(op::gt(s.h, Scalar(0)), dh.dtype()));
      share = dx;
    }
    by_weight = plus(by_weight, op::mm(transposed(share), s.h0));
    dh = plus(op::mm(share, weight), direct);
    return dx;
  }
};

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> recurrent_gradients(const Tensor& grad_output, const Tensor& grad_cells, const Tensor& gates,
                                                                               const Tensor& hidden, const Tensor& cell, const Tensor& weight,
                                                                               const Tensor& bias, const Tensor& projection, const Tensor& output,
                                                                               const Tensor& cells, const Tensor& kept, int64_t kind, bool reverse,
                                                                               const std::array<bool, 6>& mask) {
  auto chosen = [&](const Tensor& g, const Tensor& h, const Tensor& c, const Tensor& w, const Tensor& b, const Tensor& p) {
    auto pick = [&](size_t i, const Tensor& t) { return mask[i] ? t : Tensor(); };
    return std::tuple(pick(0, g), pick(1, h), pick(2, c), pick(3, w), pick(4, b), pick(5, p));
  };
  if (!grad_enabled()) {
    const auto [g, h, c, w, b, p] = op::recurrent_layer_backward(grad_output, cell.defined() ? grad_cells : Tensor(), gates, hidden, cell, weight, bias,
                                                                 projection, output, cells, kept, kind, reverse);
    return chosen(g, h, c, w, b, p);
  }
  const Layer layer{weight, bias, projection, kind, gates.size(2) / (kind == kLstm ? 4 : kind == kGru ? 3 : 1)};
  const int64_t count = gates.size(0);
  if (count == 0) {
    auto zeros = [](const Tensor& t) { return t.defined() ? op::zeros_like(t) : t; };
    return chosen(zeros(gates), zeros(hidden), zeros(cell), zeros(weight), zeros(bias), zeros(projection));
  }
  auto place = [&](int64_t n) { return reverse ? count - 1 - n : n; };
  std::vector<Step> steps;
  for (int64_t n = 0; n < count; ++n)
    steps.push_back(layer.forward(op::select(gates, 0, place(n)), n > 0 ? steps.back().h : hidden, n > 0 ? steps.back().c : cell));
  std::vector<Tensor> by_gates(static_cast<size_t>(count));
  Tensor dh = op::zeros_like(hidden), dc = cell.defined() ? op::zeros_like(cell) : Tensor(), by_weight, by_bias, by_projection;
  for (int64_t n = count - 1; n >= 0; --n) {
    if (grad_output.defined()) dh = op::add(dh, op::select(grad_output, 0, place(n)));
    if (cell.defined() && grad_cells.defined()) dc = op::add(dc, op::select(grad_cells, 0, place(n)));
    by_gates[static_cast<size_t>(place(n))] = layer.backward(steps[static_cast<size_t>(n)], dh, dc, by_weight, by_bias, by_projection);
  }
  return chosen(op::stack(by_gates, 0), dh, dc, by_weight, by_bias, by_projection);
}

std::tuple<Tensor, Tensor> embedding_bag_gradients(const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& bags, const Tensor& sizes,
                                                   const Tensor& per_sample_weights, const Tensor& max_indices, int64_t mode, int64_t padding_idx,
                                                   bool scale_grad_by_freq, const std::array<bool, 2>& mask) {
  std::tuple<Tensor, Tensor> out;
  if (mode == 2) {
    // Columns of empty bags name row 0, with a gradient of zero.
    const Tensor g = op::masked_fill(grad, op::unsqueeze(op::eq(sizes, Scalar(0)), 1), Scalar(0));
    std::get<0>(out) = op::scatter_add(op::zeros(weight.sizes(), grad.dtype(), grad.device()), 0, max_indices, g);
    return out;
  }
  Tensor g = grad;
  if (mode == 1) g = op::div(g, op::unsqueeze(op::to(op::clamp_min(sizes, Scalar(1)), grad.dtype()), 1));
  const Tensor each = op::index_select(g, 0, bags);
  if (mask[0]) {
    const Tensor rows = per_sample_weights.defined() ? op::mul(each, op::unsqueeze(per_sample_weights, 1)) : each;
    std::get<0>(out) = op::embedding_backward(rows, indices, weight.sizes(), padding_idx, scale_grad_by_freq);
  }
  if (mask[1]) {
    Tensor by_factor = op::sum(op::mul(each, op::embedding(weight, indices, -1, false)), IntArrayRef{int64_t{1}});
    if (padding_idx >= 0) by_factor = op::masked_fill(by_factor, op::eq(indices, Scalar(padding_idx)), Scalar(0));
    std::get<1>(out) = by_factor;
  }
  return out;
}

}  // namespace trt::formulas
