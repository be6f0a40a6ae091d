// Recurrent layers. The operators over several layers are composed of one over a layer in one direction.
#include "gen/all_ops.h"
#include "gen/nn_sequence_native.h"
#include "iter/copy.h"
#include "kernels/cpu/recurrent.h"
#include "ops/window.h"

namespace trt {

namespace {

using cpu::Recurrence;

constexpr int64_t kTanh = 0, kRelu = 1, kLstm = 2, kGru = 3;

Recurrence kind_of(int64_t kind) {
  TRT_CHECK(kind >= kTanh && kind <= kGru, "recurrent_layer: kind must be 0 to 3, got ", kind);
  return static_cast<Recurrence>(kind);
}

struct Layer {
  int64_t steps, batch, size, out_size, width;
};

// Checks the arguments of both directions of the layer operator.
Layer check_layer(const Tensor& gates, const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias, const Tensor& projection,
                  int64_t kind, const char* op) {
  const Recurrence k = kind_of(kind);
  TRT_CHECK_CODE(is_floating(gates.dtype()), Code::kNotSupported, op, ": not supported for dtype ", gates.dtype());
  TRT_CHECK(gates.dim() == 3 && hidden.dim() == 2 && weight.dim() == 2, op, ": gates [t, n, g], a state [n, h] and a weight [g, h] are needed, got ",
            gates, ", ", hidden, " and ", weight);
  const int64_t count = cpu::recurrent_gates(k), width = gates.size(2);
  const Layer r{gates.size(0), gates.size(1), width / count, weight.size(1), width};
  TRT_CHECK(width % count == 0 && weight.size(0) == width, op, ": weight ", weight, " does not fit gates ", gates);
  TRT_CHECK(hidden.size(0) == r.batch && hidden.size(1) == r.out_size, op, ": state ", hidden, " does not fit gates ", gates, " and weight ", weight);
  TRT_CHECK((k == Recurrence::kLstm) == cell.defined(), op, ": an LSTM, and nothing else, has a cell, got ", cell);
  TRT_CHECK(!cell.defined() || (cell.dim() == 2 && cell.size(0) == r.batch && cell.size(1) == r.size), op, ": cell ", cell, " does not fit gates ", gates);
  TRT_CHECK(!bias.defined() || (k == Recurrence::kGru && bias.dim() == 1 && bias.size(0) == width), op, ": bias ", bias, " does not fit gates ", gates);
  TRT_CHECK(!projection.defined() || (k == Recurrence::kLstm && projection.dim() == 2 && projection.size(0) == r.out_size && projection.size(1) == r.size),
            op, ": projection ", projection, " does not fit gates ", gates, " and weight ", weight);
  TRT_CHECK(projection.defined() || r.out_size == r.size, op, ": weight ", weight, " does not fit gates ", gates);
  for (const Tensor* t : {&hidden, &cell, &weight, &bias, &projection})
    TRT_CHECK(!t->defined() || t->dtype() == gates.dtype(), op, ": all tensors must have one dtype, got ", gates, " and ", *t);
  return r;
}

std::array<TensorSpec, 3> layer_specs(const Layer& r, Recurrence kind, const Tensor& gates) {
  const DType t = gates.dtype();
  const bool lstm = kind == Recurrence::kLstm;
  return {TensorSpec({r.steps, r.batch, r.out_size}, t, gates.device()),
          lstm ? TensorSpec({r.steps, r.batch, r.size}, t, gates.device()) : TensorSpec({0}, t, gates.device()),
          TensorSpec({r.steps, r.batch, cpu::recurrent_kept(kind) * r.size}, compute_dtype(t), gates.device())};
}

// The arguments as kernels read them.
template <typename T>
struct LayerData {
  Tensor gates, hidden, cell, weight, bias, projection;
  cpu::Recurrent<T> r;

  LayerData(const Tensor& gates_, const Tensor& hidden_, const Tensor& cell_, const Tensor& weight_, const Tensor& bias_, const Tensor& projection_,
            int64_t kind, bool reverse, DType dtype)
      : gates(contiguous_tensor(gates_, dtype)),
        hidden(contiguous_tensor(hidden_, dtype)),
        cell(optional_contiguous(cell_, dtype)),
        weight(contiguous_tensor(weight_, dtype)),
        bias(optional_contiguous(bias_, dtype)),
        projection(optional_contiguous(projection_, dtype)) {
    r.kind = kind_of(kind);
    r.reverse = reverse;
    r.steps = gates.size(0);
    r.batch = gates.size(1);
    r.size = gates.size(2) / cpu::recurrent_gates(r.kind);
    r.out_size = weight.size(1);
    r.gates = gates.data_ptr<T>();
    r.hidden = hidden.data_ptr<T>();
    r.cell = optional_data<T>(cell);
    r.weight = weight.data_ptr<T>();
    r.bias = optional_data<T>(bias);
    r.projection = optional_data<T>(projection);
  }
};

}  // namespace

namespace meta {

std::array<TensorSpec, 3> recurrent_layer(const Tensor& gates, const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias,
                                          const Tensor& projection, int64_t kind, bool) {
  return layer_specs(check_layer(gates, hidden, cell, weight, bias, projection, kind, "recurrent_layer"), kind_of(kind), gates);
}

std::array<TensorSpec, 6> recurrent_layer_backward(const Tensor& grad_output, const Tensor& grad_cells, const Tensor& gates, const Tensor& hidden,
                                                   const Tensor& cell, const Tensor& weight, const Tensor& bias, const Tensor& projection,
                                                   const Tensor& output, const Tensor& cells, const Tensor& kept, int64_t kind, bool) {
  constexpr const char* kName = "recurrent_layer_backward";
  const auto specs = layer_specs(check_layer(gates, hidden, cell, weight, bias, projection, kind, kName), kind_of(kind), gates);
  const Tensor* results[] = {&output, &cells, &kept, &grad_output, &grad_cells};
  for (size_t i = 0; i < 5; ++i) {
    const TensorSpec& s = specs[i % 3];
    if (i >= 3 && (!results[i]->defined() || (i == 4 && !cell.defined()))) continue;
    TRT_CHECK(results[i]->sizes() == IntArrayRef(s.sizes) && results[i]->dtype() == s.dtype, kName, ": ", *results[i], " does not fit gates ", gates);
  }
  auto like = [&](const Tensor& t) { return t.defined() ? TensorSpec(t.sizes(), t.dtype(), t.device()) : TensorSpec({0}, gates.dtype(), gates.device()); };
  return {like(gates), like(hidden), like(cell), like(weight), like(bias), like(projection)};
}

}  // namespace meta

namespace native {

void recurrent_layer(const Tensor& gates, const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias, const Tensor& projection,
                     int64_t kind, bool reverse, Tensor& output, Tensor& cells, Tensor& kept) {
  const DType dtype = compute_dtype(gates.dtype());
  Computed y(output, dtype), c(cells, dtype);
  dispatch_float(dtype, "recurrent_layer", [&]<typename T>() {
    const LayerData<T> data(gates, hidden, cell, weight, bias, projection, kind, reverse, dtype);
    cpu::recurrent_forward(data.r, y.data<T>(), c.data<T>(), kept.data_ptr<T>());
  });
  y.finish();
  c.finish();
}

void recurrent_layer_backward(const Tensor& grad_output, const Tensor& grad_cells, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                              const Tensor& weight, const Tensor& bias, const Tensor& projection, const Tensor& output, const Tensor& cells,
                              const Tensor& kept, int64_t kind, bool reverse, Tensor& grad_gates, Tensor& grad_hidden, Tensor& grad_cell,
                              Tensor& grad_weight, Tensor& grad_bias, Tensor& grad_projection) {
  const DType dtype = compute_dtype(gates.dtype());
  const Tensor y = contiguous_tensor(output, dtype), c = contiguous_tensor(cells, dtype), k = contiguous_tensor(kept),
               gy = optional_contiguous(grad_output, dtype), gc = cell.defined() ? optional_contiguous(grad_cells, dtype) : Tensor();
  Computed to_gates(grad_gates, dtype), to_hidden(grad_hidden, dtype), to_cell(grad_cell, dtype), to_weight(grad_weight, dtype), to_bias(grad_bias, dtype),
      to_projection(grad_projection, dtype);
  dispatch_float(dtype, "recurrent_layer_backward", [&]<typename T>() {
    const LayerData<T> data(gates, hidden, cell, weight, bias, projection, kind, reverse, dtype);
    cpu::recurrent_backward<T>(data.r, y.data_ptr<T>(), c.data_ptr<T>(), k.data_ptr<T>(), optional_data<T>(gy), optional_data<T>(gc),
                               {to_gates.data<T>(), to_hidden.data<T>(), to_cell.data<T>(), to_weight.data<T>(), bias.defined() ? to_bias.data<T>() : nullptr,
                                to_projection.data<T>()});
  });
  for (Computed* t : {&to_gates, &to_hidden, &to_cell, &to_weight, &to_bias, &to_projection}) t->finish();
}

}  // namespace native

namespace composite {

namespace {

constexpr const char* kNames[] = {"rnn_tanh", "rnn_relu", "lstm", "gru"};

// The input's share of the gates: with both biases, but for a GRU with the input's only.
Tensor input_gates(const Tensor& input, const Tensor& weight, const Tensor& b_ih, const Tensor& b_hh, int64_t kind) {
  const bool both = kind != kGru && b_ih.defined() && b_hh.defined();
  return op::linear(input, weight, both ? op::add(b_ih, b_hh) : kind == kGru || b_ih.defined() ? b_ih : b_hh);
}

struct Sequence {
  Tensor output, hidden, cell;  // cell: LSTM only
};

Sequence recurrent(const Tensor& input, TensorList hx, TensorList params, bool has_biases, int64_t num_layers, double dropout, bool train,
                   bool bidirectional, bool batch_first, int64_t kind) {
  const char* name = kNames[kind];
  const bool lstm = kind == kLstm;
  TRT_CHECK(input.dim() == 3, name, ": the input must have 3 dimensions, got ", input);
  TRT_CHECK(hx.size() == (lstm ? 2 : 1), name, ": a hidden state", lstm ? " and a cell are" : " is", " needed, got ", hx.size(), " tensors");
  TRT_CHECK(num_layers > 0, name, ": num_layers must be positive, got ", num_layers);
  TRT_CHECK(num_layers <= static_cast<int64_t>(params.size()), name, ": ", num_layers, " layers take more parameters than the ", params.size(), " given");
  TRT_CHECK(dropout >= 0 && dropout <= 1, name, ": a probability must lie in [0, 1], got ", dropout);
  const int64_t directions = bidirectional ? 2 : 1, layers = num_layers * directions, plain = has_biases ? 4 : 2;
  const int64_t given = static_cast<int64_t>(params.size());
  const bool projected = lstm && given == layers * (plain + 1);
  const int64_t each = plain + (projected ? 1 : 0);
  TRT_CHECK(given == layers * each, name, ": ", layers, " layers and directions take ", layers * each, " parameters, got ", given);
  Tensor x = batch_first ? op::transpose(input, 0, 1) : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  TRT_CHECK(steps > 0, name, ": the sequence must have at least one step, got input ", input);
  for (const Tensor& t : hx)
    TRT_CHECK(t.dim() == 3 && t.size(0) == layers && t.size(1) == batch, name, ": states must be [", layers, ", ", batch, ", size] for input ", input,
              ", got ", t);
  std::vector<Tensor> hidden, cells;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t at = layer * directions + direction, last = direction == 0 ? steps - 1 : 0;
      const Tensor* p = params.data() + at * each;
      TRT_CHECK(p[0].dim() == 2 && p[0].size(1) == x.size(2), name, ": weight ", p[0], " does not fit the input ", x, " of layer ", layer);
      const Tensor gates = input_gates(x, p[0], has_biases ? p[2] : Tensor(), has_biases ? p[3] : Tensor(), kind);
      const auto [y, c, kept] =
          op::recurrent_layer(gates, op::select(hx[0], 0, at), lstm ? op::select(hx[1], 0, at) : Tensor(), p[1],
                              kind == kGru && has_biases ? p[3] : Tensor(), projected ? p[each - 1] : Tensor(), kind, direction == 1);
      outputs.push_back(y);
      hidden.push_back(op::select(y, 0, last));
      if (lstm) cells.push_back(op::select(c, 0, last));
    }
    x = directions == 1 ? outputs[0] : op::cat(outputs, 2);
    if (train && dropout > 0 && layer + 1 < num_layers) x = op::dropout(x, dropout, true, nullptr);
  }
  return {batch_first ? op::transpose(x, 0, 1) : x, op::stack(hidden, 0), lstm ? op::stack(cells, 0) : Tensor()};
}

std::tuple<Tensor, Tensor> plain_recurrent(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                           bool train, bool bidirectional, bool batch_first, int64_t kind) {
  const Sequence s = recurrent(input, TensorList(&hx, 1), params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kind);
  return {s.output, s.hidden};
}

// One step: the new state, and the new cell of an LSTM.
std::tuple<Tensor, Tensor> step(const Tensor& input, const Tensor& h, const Tensor& c, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                const Tensor& b_hh, int64_t kind, const char* name) {
  TRT_CHECK((input.dim() == 1 || input.dim() == 2) && h.dim() == input.dim() && (!c.defined() || c.dim() == input.dim()), name,
            ": input and states must have one dimension or two each, got ", input, " and ", h);
  const bool single = input.dim() == 1;
  auto rows = [&](const Tensor& t) { return single && t.defined() ? op::unsqueeze(t, 0) : t; };
  const Tensor gates = op::unsqueeze(input_gates(rows(input), w_ih, b_ih, b_hh, kind), 0);
  const auto [y, cells, kept] = op::recurrent_layer(gates, rows(h), rows(c), w_hh, kind == kGru ? b_hh : Tensor(), Tensor(), kind, false);
  auto result = [&](const Tensor& t) { return single ? op::select(op::select(t, 0, 0), 0, 0) : op::select(t, 0, 0); };
  return {result(y), c.defined() ? result(cells) : Tensor()};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                        bool train, bool bidirectional, bool batch_first) {
  const Sequence s = recurrent(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kLstm);
  return {s.output, s.hidden, s.cell};
}

std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout, bool train,
                               bool bidirectional, bool batch_first) {
  return plain_recurrent(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kGru);
}

std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                    bool train, bool bidirectional, bool batch_first) {
  return plain_recurrent(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kTanh);
}

std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                    bool train, bool bidirectional, bool batch_first) {
  return plain_recurrent(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kRelu);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  TRT_CHECK(hx.size() == 2, "lstm_cell: a hidden state and a cell are needed, got ", hx.size(), " tensors");
  return step(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh, kLstm, "lstm_cell");
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(step(input, hx, Tensor(), w_ih, w_hh, b_ih, b_hh, kGru, "gru_cell"));
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(step(input, hx, Tensor(), w_ih, w_hh, b_ih, b_hh, kTanh, "rnn_tanh_cell"));
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return std::get<0>(step(input, hx, Tensor(), w_ih, w_hh, b_ih, b_hh, kRelu, "rnn_relu_cell"));
}

Tensor rotary_embedding(const Tensor& input, const Tensor& cos, const Tensor& sin, bool interleaved) {
  TRT_CHECK_CODE(is_floating(input.dtype()), Code::kNotSupported, "rotary_embedding: not supported for dtype ", input.dtype());
  TRT_CHECK(input.dim() >= 1 && cos.dim() >= 1 && cos.sizes() == sin.sizes(), "rotary_embedding: cos ", cos, " and sin ", sin,
            " must have one shape, for input ", input);
  const int64_t half = cos.size(-1), size = input.size(-1);
  TRT_CHECK(2 * half <= size, "rotary_embedding: cos ", cos, " turns more elements than input ", input, " has");
  DimVector lead(input.sizes().data(), input.sizes().size() - 1);
  const Tensor x = op::slice(input, -1, 0, 2 * half, 1);
  Tensor a, b;
  if (interleaved) {
    a = op::slice(x, -1, 0, 2 * half, 2);
    b = op::slice(x, -1, 1, 2 * half, 2);
  } else {
    a = op::slice(x, -1, 0, half, 1);
    b = op::slice(x, -1, half, 2 * half, 1);
  }
  const Tensor first = op::sub(op::mul(a, cos), op::mul(b, sin)), second = op::add(op::mul(b, cos), op::mul(a, sin));
  TRT_CHECK(first.sizes() == a.sizes(), "rotary_embedding: cos ", cos, " does not broadcast to the pairs of input ", input);
  Tensor turned;
  if (interleaved) {
    lead.push_back(2 * half);
    turned = op::reshape(op::stack({first, second}, -1), lead);
  } else {
    turned = op::cat({first, second}, -1);
  }
  turned = op::to(turned, input.dtype());
  return 2 * half == size ? turned : op::cat({turned, op::slice(input, -1, 2 * half, size, 1)}, -1);
}

}  // namespace composite

}  // namespace trt
