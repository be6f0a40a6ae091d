#include "nn/layers_recurrent.h"

#include <cmath>

#include "base/repr.h"
#include "core/modes.h"
#include "gen/all_ops.h"
#include "nn/init.h"

namespace trt::nn {

namespace {

constexpr const char* kLayerNames[] = {"RNN", "RNN", "LSTM", "GRU"};
constexpr const char* kCellNames[] = {"RNNCell", "RNNCell", "LSTMCell", "GRUCell"};

class Recurrent : public MultiInput {
 public:
  Recurrent(const char* name, RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& o)
      : MultiInput(name), kind_(kind), input_size_(input_size), hidden_size_(hidden_size), o_(o) {
    TRT_CHECK(input_size >= 0 && hidden_size > 0, name, ": input_size must not be negative and hidden_size be positive, got ", input_size, " and ",
              hidden_size);
    // Far beyond any memory, and products of them do not overflow.
    constexpr int64_t kMaxSize = int64_t{1} << 40;
    TRT_CHECK(input_size <= kMaxSize && hidden_size <= kMaxSize, name, ": input_size ", input_size, " and hidden_size ", hidden_size, " are too large");
    o_.generator = nullptr;
    o_.dtype = o.dtype == DType::Undefined ? thread_state.default_dtype : o.dtype;
    TRT_CHECK(is_floating(o_.dtype), name, ": a floating-point dtype is needed, got ", o_.dtype);
  }
  // PyTorch's default: all uniform in +-1/sqrt(hidden_size).
  void reset_parameters(GeneratorImpl* generator) override {
    const double bound = 1 / std::sqrt(static_cast<double>(hidden_size_));
    for (const Parameter& p : own_parameters())
      if (p.tensor.defined()) init::uniform_(p.tensor, -bound, bound, generator);
  }
  // All have three places, so that one call serves all kinds; those without a cell refuse one and give none.
  Signature signature() const override { return {{"input", "hidden", "cell"}, 1, 3}; }
  std::vector<Tensor> run(TensorList inputs, size_t) override {
    RecurrentResult r = step(inputs[0], inputs[1], inputs[2]);
    return {std::move(r.output), std::move(r.hidden), std::move(r.cell)};
  }
  virtual RecurrentResult step(const Tensor& input, const Tensor& hidden, const Tensor& cell) = 0;

 protected:
  bool lstm() const { return kind_ == RecurrentKind::kLstm; }
  int64_t gates() const { return lstm() ? 4 : kind_ == RecurrentKind::kGru ? 3 : 1; }
  void add(const std::string& name, IntArrayRef sizes) {
    checked_numel(sizes, o_.dtype);
    register_parameter(name, op::empty(sizes, o_.dtype));
  }
  void check_input(const Tensor& input, int64_t fewest, const Tensor& hidden, const Tensor& cell) const {
    TRT_CHECK(input.dim() == fewest || input.dim() == fewest + 1, type_name(), ": the input must have ", fewest, " or ", fewest + 1,
              " dimensions, got ", input);
    TRT_CHECK(input.size(-1) == input_size_, type_name(), ": the input must have ", input_size_, " features, got ", input);
    TRT_CHECK(lstm() || !cell.defined(), type_name(), ": only an LSTM has a cell, got ", cell);
    TRT_CHECK(!lstm() || hidden.defined() == cell.defined(), type_name(), ": hidden state and cell go together, got ", hidden, " and ", cell);
  }

  RecurrentKind kind_;
  int64_t input_size_, hidden_size_;
  RecurrentOptions o_;
};

class RecurrentLayers final : public Recurrent {
  static constexpr int64_t kMaxLayers = 1 << 16;

 public:
  RecurrentLayers(RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& o)
      : Recurrent(kLayerNames[static_cast<int>(kind)], kind, input_size, hidden_size, o) {
    TRT_CHECK(o.num_layers > 0 && o.num_layers <= kMaxLayers, type_name(), ": num_layers must lie in [1, ", kMaxLayers, "], got ", o.num_layers);
    TRT_CHECK(o.dropout >= 0 && o.dropout <= 1, type_name(), ": a probability must lie in [0, 1], got ", o.dropout);
    TRT_CHECK(o.proj_size >= 0 && o.proj_size < hidden_size && (lstm() || o.proj_size == 0), type_name(),
              ": proj_size is for LSTM, not negative and smaller than hidden_size ", hidden_size, ", got ", o.proj_size);
    const int64_t width = gates() * hidden_size;
    for (int64_t layer = 0; layer < o.num_layers; ++layer) {
      for (int64_t d = 0; d < directions(); ++d) {
        const std::string suffix = str_cat("_l", layer, d == 1 ? "_reverse" : "");
        add("weight_ih" + suffix, {width, layer == 0 ? input_size : out_size() * directions()});
        add("weight_hh" + suffix, {width, out_size()});
        if (o.bias) add("bias_ih" + suffix, {width});
        if (o.bias) add("bias_hh" + suffix, {width});
        if (o.proj_size) add("weight_hr" + suffix, {o.proj_size, hidden_size});
      }
    }
    reset_parameters(o.generator);
  }
  RecurrentResult step(const Tensor& input, const Tensor& hidden, const Tensor& cell) override {
    check_input(input, 2, hidden, cell);
    const bool single = input.dim() == 2;
    const int64_t batch_dim = o_.batch_first ? 0 : 1, layers = o_.num_layers * directions();
    const Tensor x = single ? op::unsqueeze(input, batch_dim) : input;
    auto state = [&](const Tensor& t, int64_t size) {
      if (!t.defined()) return op::zeros({layers, x.size(batch_dim), size}, x.dtype(), x.device());
      TRT_CHECK(t.dim() == input.dim(), type_name(), ": for input ", input, " states must have as many dimensions, got ", t);
      return single ? op::unsqueeze(t, 1) : t;
    };
    const Tensor h = state(hidden, out_size());
    std::vector<Tensor> params;
    for (const Parameter& p : own_parameters()) params.push_back(p.tensor);
    RecurrentResult r;
    const auto& o = o_;
    switch (kind_) {
      case RecurrentKind::kLstm: {
        const Tensor hx[] = {h, state(cell, hidden_size_)};
        std::tie(r.output, r.hidden, r.cell) =
            op::lstm(x, TensorList(hx, 2), params, o.bias, o.num_layers, o.dropout, training(), o.bidirectional, o.batch_first);
        break;
      }
      case RecurrentKind::kGru:
        std::tie(r.output, r.hidden) = op::gru(x, h, params, o.bias, o.num_layers, o.dropout, training(), o.bidirectional, o.batch_first);
        break;
      case RecurrentKind::kTanh:
        std::tie(r.output, r.hidden) = op::rnn_tanh(x, h, params, o.bias, o.num_layers, o.dropout, training(), o.bidirectional, o.batch_first);
        break;
      case RecurrentKind::kRelu:
        std::tie(r.output, r.hidden) = op::rnn_relu(x, h, params, o.bias, o.num_layers, o.dropout, training(), o.bidirectional, o.batch_first);
        break;
    }
    if (!single) return r;
    return {op::squeeze(r.output, batch_dim), op::squeeze(r.hidden, 1), lstm() ? op::squeeze(r.cell, 1) : r.cell};
  }
  std::string extra_repr() const override {
    std::string s = str_cat(input_size_, ", ", hidden_size_);
    if (o_.proj_size) s += str_cat(", proj_size=", o_.proj_size);
    if (o_.num_layers != 1) s += str_cat(", num_layers=", o_.num_layers);
    if (!o_.bias) s += ", bias=False";
    if (o_.batch_first) s += ", batch_first=True";
    if (o_.dropout != 0) s += ", dropout=" + python_float(o_.dropout);
    if (o_.bidirectional) s += ", bidirectional=True";
    return s;
  }

 private:
  int64_t directions() const { return o_.bidirectional ? 2 : 1; }
  int64_t out_size() const { return o_.proj_size ? o_.proj_size : hidden_size_; }
};

class RecurrentCell final : public Recurrent {
 public:
  RecurrentCell(RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& o)
      : Recurrent(kCellNames[static_cast<int>(kind)], kind, input_size, hidden_size, o) {
    const int64_t width = gates() * hidden_size;
    add("weight_ih", {width, input_size});
    add("weight_hh", {width, hidden_size});
    if (o.bias) add("bias_ih", {width});
    else register_parameter("bias_ih", Tensor());
    if (o.bias) add("bias_hh", {width});
    else register_parameter("bias_hh", Tensor());
    reset_parameters(o.generator);
  }
  RecurrentResult step(const Tensor& input, const Tensor& hidden, const Tensor& cell) override {
    check_input(input, 1, hidden, cell);
    auto state = [&](const Tensor& t) {
      if (t.defined()) return t;
      DimVector sizes(input.sizes().data(), input.sizes().size());
      sizes.back() = hidden_size_;
      return op::zeros(sizes, input.dtype(), input.device());
    };
    const Tensor h = state(hidden);
    RecurrentResult r;
    switch (kind_) {
      case RecurrentKind::kLstm: {
        const Tensor hx[] = {h, state(cell)};
        std::tie(r.hidden, r.cell) = op::lstm_cell(input, TensorList(hx, 2), param(0), param(1), param(2), param(3));
        break;
      }
      case RecurrentKind::kGru:
        r.hidden = op::gru_cell(input, h, param(0), param(1), param(2), param(3));
        break;
      case RecurrentKind::kTanh:
        r.hidden = op::rnn_tanh_cell(input, h, param(0), param(1), param(2), param(3));
        break;
      case RecurrentKind::kRelu:
        r.hidden = op::rnn_relu_cell(input, h, param(0), param(1), param(2), param(3));
        break;
    }
    r.output = r.hidden;
    return r;
  }
  std::string extra_repr() const override {
    return str_cat(input_size_, ", ", hidden_size_, o_.bias ? "" : ", bias=False", kind_ == RecurrentKind::kRelu ? ", nonlinearity=relu" : "");
  }
};

}  // namespace

ModulePtr recurrent_layers(RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& options) {
  return make_intrusive<RecurrentLayers>(kind, input_size, hidden_size, options);
}
ModulePtr recurrent_cell(RecurrentKind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions& options) {
  return make_intrusive<RecurrentCell>(kind, input_size, hidden_size, options);
}

RecurrentResult run_recurrent(Module& module, const Tensor& input, const Tensor& hidden, const Tensor& cell) {
  TRT_CHECK(dynamic_cast<Recurrent*>(&module) != nullptr, "a recurrent layer or cell is needed, got ", module.type_name());
  const Tensor inputs[] = {input, hidden, cell};
  std::vector<Tensor> r = call_with(module, TensorList(inputs, 3), 3);
  return {std::move(r[0]), std::move(r[1]), std::move(r[2])};
}

}  // namespace trt::nn
