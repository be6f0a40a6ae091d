// The layers in C++17, over nn.h (which documents shapes, parameters and errors). Included by tensorrt.hpp.
//
// A layer is made of what it needs, nn::Linear(784, 10), or of its options, nn::Conv2d(nn::Conv2dOptions(3, 16,
// 3).stride(2).padding(1)). A layer that needs nothing is made by its default constructor; nn::Linear() and
// nn::ReLU(nullptr) are empty handles.
//
// Layers of three dimensions, padding and resizing are in layers_nd.hpp; those of several inputs in attention.hpp.
#ifndef TENSORRT_LAYERS_HPP
#define TENSORRT_LAYERS_HPP

#include "tensorrt/nn.hpp"

namespace trt {
namespace nn {

/** One number or two as an argument: for both directions, or for height and width. */
class Pair {
 public:
  template <typename T, std::enable_if_t<detail::is_number<T> && std::is_integral_v<T>, int> = 0>
  Pair(T both) : h_(static_cast<std::int64_t>(both)), w_(h_) {}
  template <typename T, typename U>
  Pair(T h, U w) : h_(static_cast<std::int64_t>(h)), w_(static_cast<std::int64_t>(w)) {}
  std::int64_t h() const { return h_; }
  std::int64_t w() const { return w_; }
  void store(std::int64_t (&to)[2]) const {
    to[0] = h_;
    to[1] = w_;
  }

 private:
  std::int64_t h_, w_;
};

/** Base of the layers: -> reaches the layer itself. */
template <typename Self>
class Layer : public Module {
 public:
  using Module::Module;
  Layer() = default;
  Self* operator->() { return static_cast<Self*>(this); }
  const Self* operator->() const { return static_cast<const Self*>(this); }
};

/** What the options of layers with parameters have in common: the dtype, and the generator of the initial values. */
template <typename Self, typename C>
class ParameterOptions {
 public:
  Self& dtype(DType v) {
    c_.dtype = static_cast<std::int32_t>(v);
    return self();
  }
  Self& generator(const Generator& v) {
    generator_ = v;
    c_.generator = generator_.get();
    return self();
  }
  /** The options of the C function. */
  const C* c() const { return &c_; }

 protected:
  explicit ParameterOptions(void (*init)(C*)) : c_(detail::defaults(init)) {}
  Self& self() { return static_cast<Self&>(*this); }
  C c_;
  Generator generator_;
};

/** Options of Linear. */
class LinearOptions : public ParameterOptions<LinearOptions, trt_linear_options> {
 public:
  LinearOptions(std::int64_t in_features, std::int64_t out_features)
      : ParameterOptions(trt_linear_options_init), in_features_(in_features), out_features_(out_features) {}
  LinearOptions& bias(bool v) {
    c_.bias = v;
    return *this;
  }
  std::int64_t in_features() const { return in_features_; }
  std::int64_t out_features() const { return out_features_; }

 private:
  std::int64_t in_features_, out_features_;
};
/** y = x W^T + b. */
class Linear : public Layer<Linear> {
 public:
  using Layer::Layer;
  Linear() = default;
  explicit Linear(const LinearOptions& o)
      : Layer(detail::create(trt_linear_create, o.in_features(), o.out_features(), o.c())) {}
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true)
      : Linear(LinearOptions(in_features, out_features).bias(bias)) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};

/** Options of Embedding. */
class EmbeddingOptions : public ParameterOptions<EmbeddingOptions, trt_embedding_options> {
 public:
  EmbeddingOptions(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : ParameterOptions(trt_embedding_options_init), num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  /** A row that is zero at first and gets no gradient. */
  EmbeddingOptions& padding_idx(std::int64_t v) {
    c_.has_padding_idx = true;
    c_.padding_idx = v;
    return *this;
  }
  std::int64_t num_embeddings() const { return num_embeddings_; }
  std::int64_t embedding_dim() const { return embedding_dim_; }

 private:
  std::int64_t num_embeddings_, embedding_dim_;
};
/** Rows of a table by integer indices. */
class Embedding : public Layer<Embedding> {
 public:
  using Layer::Layer;
  Embedding() = default;
  explicit Embedding(const EmbeddingOptions& o)
      : Layer(detail::create(trt_embedding_create, o.num_embeddings(), o.embedding_dim(), o.c())) {}
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : Embedding(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  Tensor weight() const { return parameter("weight"); }
};

/** Options of the convolutions. */
class ConvOptions : public ParameterOptions<ConvOptions, trt_conv_options> {
 public:
  ConvOptions(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size)
      : ParameterOptions(trt_conv_options_init),
        in_channels_(in_channels),
        out_channels_(out_channels),
        kernel_size_(kernel_size) {}
  ConvOptions& stride(Pair v) {
    v.store(c_.stride);
    return *this;
  }
  ConvOptions& padding(Pair v) {
    v.store(c_.padding);
    c_.padding_same = false;
    return *this;
  }
  /** "same": the output is as large as the input; "valid": no padding. A template, so that {1, 2} and 0 are numbers. */
  template <typename S, std::enable_if_t<std::is_convertible_v<const S&, std::string>, int> = 0>
  ConvOptions& padding(const S& text) {
    const std::string v = text;
    if (v != "same" && v != "valid")
      throw Error(TRT_INVALID_ARGUMENT,
                  "ConvOptions: padding is a number, two, \"same\" or \"valid\", got \"" + v + "\"");
    padding(Pair(0));
    c_.padding_same = v == "same";
    return *this;
  }
  ConvOptions& dilation(Pair v) {
    v.store(c_.dilation);
    return *this;
  }
  ConvOptions& groups(std::int64_t v) {
    c_.groups = v;
    return *this;
  }
  ConvOptions& bias(bool v) {
    c_.bias = v;
    return *this;
  }
  std::int64_t in_channels() const { return in_channels_; }
  std::int64_t out_channels() const { return out_channels_; }
  Pair kernel_size() const { return kernel_size_; }

 private:
  std::int64_t in_channels_, out_channels_;
  Pair kernel_size_;
};
using Conv1dOptions = ConvOptions;
using Conv2dOptions = ConvOptions;
/** Convolution of [n, in, l]; of pairs in the options the first number counts. */
class Conv1d : public Layer<Conv1d> {
 public:
  using Layer::Layer;
  Conv1d() = default;
  explicit Conv1d(const Conv1dOptions& o)
      : Layer(detail::create(trt_conv1d_create, o.in_channels(), o.out_channels(), o.kernel_size().h(), o.c())) {}
  Conv1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size)
      : Conv1d(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};
/** Convolution of [n, in, h, w]. */
class Conv2d : public Layer<Conv2d> {
 public:
  using Layer::Layer;
  Conv2d() = default;
  explicit Conv2d(const Conv2dOptions& o)
      : Layer(detail::create(trt_conv2d_create, o.in_channels(), o.out_channels(), o.kernel_size().h(),
                             o.kernel_size().w(), o.c())) {}
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, Pair kernel_size)
      : Conv2d(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  Tensor weight() const { return parameter("weight"); }
  /** Empty without. */
  Tensor bias() const { return optional_parameter("bias"); }
};

/** Options of the normalizations; Self is the class of the options. */
template <typename Self>
class NormOptions {
 public:
  Self& eps(double v) {
    c_.eps = v;
    return self();
  }
  /** Whether there are parameters "weight" and "bias". */
  Self& affine(bool v) {
    c_.affine = v;
    return self();
  }
  Self& elementwise_affine(bool v) { return affine(v); }
  /** Whether there is a "bias" beside "weight". */
  Self& bias(bool v) {
    c_.bias = v;
    return self();
  }
  Self& dtype(DType v) {
    c_.dtype = static_cast<std::int32_t>(v);
    return self();
  }
  const trt_norm_options* c() const { return &c_; }

 protected:
  NormOptions() : c_(detail::defaults(trt_norm_options_init)) {}
  Self& self() { return static_cast<Self&>(*this); }
  trt_norm_options c_;
};
/** Options of BatchNorm1d and BatchNorm2d. */
class BatchNormOptions : public NormOptions<BatchNormOptions> {
 public:
  BatchNormOptions(std::int64_t num_features) : num_features_(num_features) {}
  /** std::nullopt: a cumulative average. */
  BatchNormOptions& momentum(std::optional<double> v) {
    c_.momentum = v.value_or(-1);
    return *this;
  }
  BatchNormOptions& track_running_stats(bool v) {
    c_.track_running_stats = v;
    return *this;
  }
  std::int64_t num_features() const { return num_features_; }

 private:
  std::int64_t num_features_;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
/** Normalizes [n, c] or [n, c, l] over all but the channels. */
class BatchNorm1d : public Layer<BatchNorm1d> {
 public:
  using Layer::Layer;
  BatchNorm1d() = default;
  explicit BatchNorm1d(const BatchNorm1dOptions& o)
      : Layer(detail::create(trt_batch_norm1d_create, o.num_features(), o.c())) {}
};
/** Normalizes [n, c, h, w] over all but the channels. */
class BatchNorm2d : public Layer<BatchNorm2d> {
 public:
  using Layer::Layer;
  BatchNorm2d() = default;
  explicit BatchNorm2d(const BatchNorm2dOptions& o)
      : Layer(detail::create(trt_batch_norm2d_create, o.num_features(), o.c())) {}
};
/** Options of LayerNorm. */
class LayerNormOptions : public NormOptions<LayerNormOptions> {
 public:
  LayerNormOptions(IntArrayRef normalized_shape) : normalized_shape_(normalized_shape.vec()) {}
  LayerNormOptions(std::initializer_list<std::int64_t> normalized_shape) : normalized_shape_(normalized_shape) {}
  const std::vector<std::int64_t>& normalized_shape() const { return normalized_shape_; }

 private:
  std::vector<std::int64_t> normalized_shape_;
};
/** Normalizes over the last dimensions, whose sizes are given. */
class LayerNorm : public Layer<LayerNorm> {
 public:
  using Layer::Layer;
  LayerNorm() = default;
  explicit LayerNorm(const LayerNormOptions& o)
      : Layer(detail::create(trt_layer_norm_create, o.normalized_shape().data(), o.normalized_shape().size(), o.c())) {}
  explicit LayerNorm(IntArrayRef normalized_shape) : LayerNorm(LayerNormOptions(normalized_shape)) {}
  LayerNorm(std::initializer_list<std::int64_t> normalized_shape) : LayerNorm(LayerNormOptions(normalized_shape)) {}
};
/** Options of GroupNorm. */
class GroupNormOptions : public NormOptions<GroupNormOptions> {
 public:
  GroupNormOptions(std::int64_t num_groups, std::int64_t num_channels)
      : num_groups_(num_groups), num_channels_(num_channels) {}
  std::int64_t num_groups() const { return num_groups_; }
  std::int64_t num_channels() const { return num_channels_; }

 private:
  std::int64_t num_groups_, num_channels_;
};
/** Normalizes [n, c, ...] over groups of channels. */
class GroupNorm : public Layer<GroupNorm> {
 public:
  using Layer::Layer;
  GroupNorm() = default;
  explicit GroupNorm(const GroupNormOptions& o)
      : Layer(detail::create(trt_group_norm_create, o.num_groups(), o.num_channels(), o.c())) {}
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels)
      : GroupNorm(GroupNormOptions(num_groups, num_channels)) {}
};

/** Options of LSTM, GRU, RNN and their cells; cells take the sizes, `bias` and `relu` only. */
class RecurrentOptions : public ParameterOptions<RecurrentOptions, trt_recurrent_options> {
 public:
  RecurrentOptions(std::int64_t input_size, std::int64_t hidden_size)
      : ParameterOptions(trt_recurrent_options_init), input_size_(input_size), hidden_size_(hidden_size) {}
  RecurrentOptions& num_layers(std::int64_t v) {
    c_.num_layers = v;
    return *this;
  }
  /** LSTM only: the size that hidden states are projected to. */
  RecurrentOptions& proj_size(std::int64_t v) {
    c_.proj_size = v;
    return *this;
  }
  /** Between layers, in training mode. */
  RecurrentOptions& dropout(double v) {
    c_.dropout = v;
    return *this;
  }
  RecurrentOptions& bias(bool v) {
    c_.bias = v;
    return *this;
  }
  RecurrentOptions& batch_first(bool v) {
    c_.batch_first = v;
    return *this;
  }
  RecurrentOptions& bidirectional(bool v) {
    c_.bidirectional = v;
    return *this;
  }
  /** RNN and RNNCell: instead of tanh. */
  RecurrentOptions& relu(bool v) {
    c_.relu = v;
    return *this;
  }
  std::int64_t input_size() const { return input_size_; }
  std::int64_t hidden_size() const { return hidden_size_; }

 private:
  std::int64_t input_size_, hidden_size_;
};
using LSTMOptions = RecurrentOptions;
using GRUOptions = RecurrentOptions;
using RNNOptions = RecurrentOptions;
using LSTMCellOptions = RecurrentOptions;
using GRUCellOptions = RecurrentOptions;
using RNNCellOptions = RecurrentOptions;

namespace detail {
using namespace trt::detail;
/** Output, hidden states and cells (empty where there are none). */
inline std::tuple<Tensor, Tensor, Tensor> run_recurrent(const Module& m, const Tensor& x, const Tensor& h, const Tensor& c) {
  trt_tensor *out, *hidden, *cell;
  check(trt_recurrent_forward(m.get(), x.get(), h.get(), c.get(), &out, &hidden, &cell));
  return {Tensor::adopt(out), Tensor::adopt(hidden), Tensor::adopt(cell)};
}
}  // namespace detail

/** A long short-term memory. Called with input and states (zeros without), it gives the output and the last states. */
class LSTM : public Layer<LSTM> {
 public:
  using Layer::Layer;
  LSTM() = default;
  explicit LSTM(const LSTMOptions& o) : Layer(detail::create(trt_lstm_create, o.input_size(), o.hidden_size(), o.c())) {}
  LSTM(std::int64_t input_size, std::int64_t hidden_size) : LSTM(LSTMOptions(input_size, hidden_size)) {}
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) const {
    auto [y, hidden, last] = detail::run_recurrent(*this, x, h, c);
    return {y, std::tuple(hidden, last)};
  }
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) const { return forward(x, h, c); }
};
/** One step of an LSTM: the new hidden state and cell. */
class LSTMCell : public Layer<LSTMCell> {
 public:
  using Layer::Layer;
  LSTMCell() = default;
  explicit LSTMCell(const LSTMCellOptions& o) : Layer(detail::create(trt_lstm_cell_create, o.input_size(), o.hidden_size(), o.c())) {}
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size) : LSTMCell(LSTMCellOptions(input_size, hidden_size)) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) const {
    auto [y, hidden, last] = detail::run_recurrent(*this, x, h, c);
    return {hidden, last};
  }
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) const { return forward(x, h, c); }
};
/** Gated recurrent units; as LSTM, with one state. */
class GRU : public Layer<GRU> {
 public:
  using Layer::Layer;
  GRU() = default;
  explicit GRU(const GRUOptions& o) : Layer(detail::create(trt_gru_create, o.input_size(), o.hidden_size(), o.c())) {}
  GRU(std::int64_t input_size, std::int64_t hidden_size) : GRU(GRUOptions(input_size, hidden_size)) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& h = {}) const {
    auto [y, hidden, none] = detail::run_recurrent(*this, x, h, Tensor());
    return {y, hidden};
  }
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const Tensor& h = {}) const { return forward(x, h); }
};
/** Elman layers; as GRU. */
class RNN : public Layer<RNN> {
 public:
  using Layer::Layer;
  RNN() = default;
  explicit RNN(const RNNOptions& o) : Layer(detail::create(trt_rnn_create, o.input_size(), o.hidden_size(), o.c())) {}
  RNN(std::int64_t input_size, std::int64_t hidden_size) : RNN(RNNOptions(input_size, hidden_size)) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& h = {}) const {
    auto [y, hidden, none] = detail::run_recurrent(*this, x, h, Tensor());
    return {y, hidden};
  }
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const Tensor& h = {}) const { return forward(x, h); }
};
/** One step of a GRU: the new state. */
class GRUCell : public Layer<GRUCell> {
 public:
  using Layer::Layer;
  GRUCell() = default;
  explicit GRUCell(const GRUCellOptions& o) : Layer(detail::create(trt_gru_cell_create, o.input_size(), o.hidden_size(), o.c())) {}
  GRUCell(std::int64_t input_size, std::int64_t hidden_size) : GRUCell(GRUCellOptions(input_size, hidden_size)) {}
  Tensor forward(const Tensor& x, const Tensor& h = {}) const {
    return std::get<1>(detail::run_recurrent(*this, x, h, Tensor()));
  }
  Tensor operator()(const Tensor& x, const Tensor& h = {}) const { return forward(x, h); }
};
/** One step of an Elman layer: the new state. */
class RNNCell : public Layer<RNNCell> {
 public:
  using Layer::Layer;
  RNNCell() = default;
  explicit RNNCell(const RNNCellOptions& o) : Layer(detail::create(trt_rnn_cell_create, o.input_size(), o.hidden_size(), o.c())) {}
  RNNCell(std::int64_t input_size, std::int64_t hidden_size) : RNNCell(RNNCellOptions(input_size, hidden_size)) {}
  Tensor forward(const Tensor& x, const Tensor& h = {}) const {
    return std::get<1>(detail::run_recurrent(*this, x, h, Tensor()));
  }
  Tensor operator()(const Tensor& x, const Tensor& h = {}) const { return forward(x, h); }
};

/** Gives its input. */
class Identity : public Layer<Identity> {
 public:
  using Layer::Layer;
  Identity() : Layer(detail::create(trt_identity_create)) {}
};
/** In training mode zeroes elements with probability p and scales the others. */
class Dropout : public Layer<Dropout> {
 public:
  using Layer::Layer;
  explicit Dropout(double p = 0.5) : Layer(detail::create(trt_dropout_create, p)) {}
};
/** Joins the dimensions start_dim to end_dim. */
class Flatten : public Layer<Flatten> {
 public:
  using Layer::Layer;
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1)
      : Layer(detail::create(trt_flatten_create, start_dim, end_dim)) {}
};
/** Splits a dimension. */
class Unflatten : public Layer<Unflatten> {
 public:
  using Layer::Layer;
  Unflatten() = default;
  Unflatten(std::int64_t dim, IntArrayRef sizes)
      : Layer(detail::create(trt_unflatten_create, dim, sizes.data(), sizes.size())) {}
};

/** max(x, 0). */
class ReLU : public Layer<ReLU> {
 public:
  using Layer::Layer;
  ReLU() : Layer(detail::create(trt_relu_create)) {}
};
/** min(max(x, 0), 6). */
class ReLU6 : public Layer<ReLU6> {
 public:
  using Layer::Layer;
  ReLU6() : Layer(detail::create(trt_relu6_create)) {}
};
/** x, or negative_slope x below zero. */
class LeakyReLU : public Layer<LeakyReLU> {
 public:
  using Layer::Layer;
  explicit LeakyReLU(double negative_slope = 0.01) : Layer(detail::create(trt_leaky_relu_create, negative_slope)) {}
};
/** x, or below zero x times a slope: in training mode drawn for each element, uniform from lower to upper, else their mean. */
class RReLU : public Layer<RReLU> {
 public:
  using Layer::Layer;
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : Layer(detail::create(trt_rrelu_create, lower, upper)) {}
};
/** x, or alpha (exp(x) - 1) below zero. */
class ELU : public Layer<ELU> {
 public:
  using Layer::Layer;
  explicit ELU(double alpha = 1) : Layer(detail::create(trt_elu_create, alpha)) {}
};
/** x times the normal distribution function; approximate: "none" or "tanh". */
class GELU : public Layer<GELU> {
 public:
  using Layer::Layer;
  explicit GELU(const std::string& approximate = "none")
      : Layer(detail::create(trt_gelu_create, by_tanh(approximate))) {}

 private:
  static bool by_tanh(const std::string& approximate) {
    if (approximate != "none" && approximate != "tanh")
      throw Error(TRT_INVALID_ARGUMENT, "GELU: approximate is \"none\" or \"tanh\", got \"" + approximate + "\"");
    return approximate == "tanh";
  }
};
/** x sigmoid(x). */
class SiLU : public Layer<SiLU> {
 public:
  using Layer::Layer;
  SiLU() : Layer(detail::create(trt_silu_create)) {}
};
/** x tanh(softplus(x)). */
class Mish : public Layer<Mish> {
 public:
  using Layer::Layer;
  Mish() : Layer(detail::create(trt_mish_create)) {}
};
/** 1 / (1 + exp(-x)). */
class Sigmoid : public Layer<Sigmoid> {
 public:
  using Layer::Layer;
  Sigmoid() : Layer(detail::create(trt_sigmoid_create)) {}
};
/** tanh(x). */
class Tanh : public Layer<Tanh> {
 public:
  using Layer::Layer;
  Tanh() : Layer(detail::create(trt_tanh_create)) {}
};
/** log(1 + exp(beta x)) / beta, x where beta x > threshold. */
class Softplus : public Layer<Softplus> {
 public:
  using Layer::Layer;
  explicit Softplus(double beta = 1, double threshold = 20)
      : Layer(detail::create(trt_softplus_create, beta, threshold)) {}
};
/** x relu6(x + 3) / 6. */
class Hardswish : public Layer<Hardswish> {
 public:
  using Layer::Layer;
  Hardswish() : Layer(detail::create(trt_hardswish_create)) {}
};
/** Softmax along a dimension. */
class Softmax : public Layer<Softmax> {
 public:
  using Layer::Layer;
  Softmax() = default;
  explicit Softmax(std::int64_t dim) : Layer(detail::create(trt_softmax_create, dim)) {}
};
/** Softmax over the channels of x [n, c, h, w] or [c, h, w]. */
class Softmax2d : public Layer<Softmax2d> {
 public:
  using Layer::Layer;
  Softmax2d() : Layer(detail::create(trt_softmax2d_create)) {}
};
/** The logarithm of softmax along a dimension. */
class LogSoftmax : public Layer<LogSoftmax> {
 public:
  using Layer::Layer;
  LogSoftmax() = default;
  explicit LogSoftmax(std::int64_t dim) : Layer(detail::create(trt_log_softmax_create, dim)) {}
};

/** elu with fixed factors that keep mean and variance. */
class SELU : public Layer<SELU> {
 public:
  using Layer::Layer;
  SELU() : Layer(detail::create(trt_selu_create)) {}
};
/** max(x, 0) + min(alpha (exp(x / alpha) - 1), 0). */
class CELU : public Layer<CELU> {
 public:
  using Layer::Layer;
  explicit CELU(double alpha = 1) : Layer(detail::create(trt_celu_create, alpha)) {}
};
/** x limited to [min_val, max_val]. */
class Hardtanh : public Layer<Hardtanh> {
 public:
  using Layer::Layer;
  explicit Hardtanh(double min_val = -1, double max_val = 1) : Layer(detail::create(trt_hardtanh_create, min_val, max_val)) {}
};
/** relu6(x + 3) / 6. */
class Hardsigmoid : public Layer<Hardsigmoid> {
 public:
  using Layer::Layer;
  Hardsigmoid() : Layer(detail::create(trt_hardsigmoid_create)) {}
};
/** The logarithm of the sigmoid. */
class LogSigmoid : public Layer<LogSigmoid> {
 public:
  using Layer::Layer;
  LogSigmoid() : Layer(detail::create(trt_log_sigmoid_create)) {}
};
/** x / (1 + |x|). */
class Softsign : public Layer<Softsign> {
 public:
  using Layer::Layer;
  Softsign() : Layer(detail::create(trt_softsign_create)) {}
};
/** x - tanh(x). */
class Tanhshrink : public Layer<Tanhshrink> {
 public:
  using Layer::Layer;
  Tanhshrink() : Layer(detail::create(trt_tanhshrink_create)) {}
};
/** x moved towards zero by lambd, zero within. */
class Softshrink : public Layer<Softshrink> {
 public:
  using Layer::Layer;
  explicit Softshrink(double lambd = 0.5) : Layer(detail::create(trt_softshrink_create, lambd)) {}
};
/** x, or zero within [-lambd, lambd]. */
class Hardshrink : public Layer<Hardshrink> {
 public:
  using Layer::Layer;
  explicit Hardshrink(double lambd = 0.5) : Layer(detail::create(trt_hardshrink_create, lambd)) {}
};
/** x, or value where x <= threshold. */
class Threshold : public Layer<Threshold> {
 public:
  using Layer::Layer;
  Threshold() = default;
  explicit Threshold(double threshold, double value) : Layer(detail::create(trt_threshold_create, threshold, value)) {}
};
/** The first half along `dim` times the sigmoid of the second. */
class GLU : public Layer<GLU> {
 public:
  using Layer::Layer;
  explicit GLU(std::int64_t dim = -1) : Layer(detail::create(trt_glu_create, dim)) {}
};
/** Softmax of -x along `dim`. */
class Softmin : public Layer<Softmin> {
 public:
  using Layer::Layer;
  Softmin() = default;
  explicit Softmin(std::int64_t dim) : Layer(detail::create(trt_softmin_create, dim)) {}
};
/** x [..., c r r, h, w] -> [..., c, h r, w r] for the factor r. */
class PixelShuffle : public Layer<PixelShuffle> {
 public:
  using Layer::Layer;
  PixelShuffle() = default;
  explicit PixelShuffle(std::int64_t upscale_factor) : Layer(detail::create(trt_pixel_shuffle_create, upscale_factor)) {}
};
/** x [..., c, h r, w r] -> [..., c r r, h, w] for the factor r. */
class PixelUnshuffle : public Layer<PixelUnshuffle> {
 public:
  using Layer::Layer;
  PixelUnshuffle() = default;
  explicit PixelUnshuffle(std::int64_t downscale_factor) : Layer(detail::create(trt_pixel_unshuffle_create, downscale_factor)) {}
};
/** Interleaves groups of the channels (dimension 1). */
class ChannelShuffle : public Layer<ChannelShuffle> {
 public:
  using Layer::Layer;
  ChannelShuffle() = default;
  explicit ChannelShuffle(std::int64_t groups) : Layer(detail::create(trt_channel_shuffle_create, groups)) {}
};
/** Means of windows such that the output is [.., output_size]. */
class AdaptiveAvgPool1d : public Layer<AdaptiveAvgPool1d> {
 public:
  using Layer::Layer;
  AdaptiveAvgPool1d() = default;
  explicit AdaptiveAvgPool1d(std::int64_t output_size) : Layer(detail::create(trt_adaptive_avg_pool1d_create, output_size)) {}
};
/** Maxima of windows such that the output is [.., output_size]. */
class AdaptiveMaxPool1d : public Layer<AdaptiveMaxPool1d> {
 public:
  using Layer::Layer;
  AdaptiveMaxPool1d() = default;
  explicit AdaptiveMaxPool1d(std::int64_t output_size) : Layer(detail::create(trt_adaptive_max_pool1d_create, output_size)) {}
};

/** Options of MaxPool2d and AvgPool2d. */
class PoolOptions {
 public:
  PoolOptions(Pair kernel_size) : kernel_size_(kernel_size), c_(detail::defaults(trt_pool_options_init)) {}
  /** The kernel's size without. */
  PoolOptions& stride(Pair v) {
    if (v.h() == 0 || v.w() == 0) throw Error(TRT_INVALID_ARGUMENT, "PoolOptions: the stride must be positive");
    v.store(c_.stride);
    return *this;
  }
  PoolOptions& padding(Pair v) {
    v.store(c_.padding);
    return *this;
  }
  /** Maximum only. */
  PoolOptions& dilation(Pair v) {
    v.store(c_.dilation);
    return *this;
  }
  PoolOptions& ceil_mode(bool v) {
    c_.ceil_mode = v;
    return *this;
  }
  /** Average only. */
  PoolOptions& count_include_pad(bool v) {
    c_.count_include_pad = v;
    return *this;
  }
  /** Average only; 0: the window's size. */
  PoolOptions& divisor_override(std::int64_t v) {
    c_.divisor_override = v;
    return *this;
  }
  Pair kernel_size() const { return kernel_size_; }
  const trt_pool_options* c() const { return &c_; }

 private:
  Pair kernel_size_;
  trt_pool_options c_;
};
using MaxPool2dOptions = PoolOptions;
using AvgPool2dOptions = PoolOptions;
/** Maxima of windows. */
class MaxPool2d : public Layer<MaxPool2d> {
 public:
  using Layer::Layer;
  MaxPool2d() = default;
  explicit MaxPool2d(Pair kernel_size) : MaxPool2d(MaxPool2dOptions(kernel_size)) {}
  explicit MaxPool2d(const MaxPool2dOptions& o)
      : Layer(detail::create(trt_max_pool2d_create, o.kernel_size().h(), o.kernel_size().w(), o.c())) {}
};
/** Means of windows. */
class AvgPool2d : public Layer<AvgPool2d> {
 public:
  using Layer::Layer;
  AvgPool2d() = default;
  explicit AvgPool2d(Pair kernel_size) : AvgPool2d(AvgPool2dOptions(kernel_size)) {}
  explicit AvgPool2d(const AvgPool2dOptions& o)
      : Layer(detail::create(trt_avg_pool2d_create, o.kernel_size().h(), o.kernel_size().w(), o.c())) {}
};
/** Means of windows that give the output this size. */
class AdaptiveAvgPool2d : public Layer<AdaptiveAvgPool2d> {
 public:
  using Layer::Layer;
  AdaptiveAvgPool2d() = default;
  explicit AdaptiveAvgPool2d(Pair output)
      : Layer(detail::create(trt_adaptive_avg_pool2d_create, output.h(), output.w())) {}
  AdaptiveAvgPool2d(std::int64_t h, std::int64_t w) : AdaptiveAvgPool2d(Pair(h, w)) {}
};
/** Maxima of windows that give the output this size. */
class AdaptiveMaxPool2d : public Layer<AdaptiveMaxPool2d> {
 public:
  using Layer::Layer;
  AdaptiveMaxPool2d() = default;
  explicit AdaptiveMaxPool2d(Pair output)
      : Layer(detail::create(trt_adaptive_max_pool2d_create, output.h(), output.w())) {}
  AdaptiveMaxPool2d(std::int64_t h, std::int64_t w) : AdaptiveMaxPool2d(Pair(h, w)) {}
};

}  // namespace nn
}  // namespace trt

#endif
