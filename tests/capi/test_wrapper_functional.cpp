// The C++ wrapper: trt::nn::functional, save and load, printed sizes, reductions in a dtype, and what must not compile.
#include "wrapper_support.h"

#include <sstream>

#include <unistd.h>

namespace {

namespace F = trt::nn::functional;
namespace nn = trt::nn;
namespace optim = trt::optim;

template <typename T>
std::string printed(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

// The options say the same as the arguments in order.
void functions(void**) {
  trt::manual_seed(1);
  const Tensor x = trt::randn({4, 6}), image = trt::randn({2, 3, 6, 6}), w = trt::randn({4, 3, 3, 3}), b = trt::randn({4});
  assert_true(F::relu(x).equal(x.relu()) && F::gelu(x, F::GELUFuncOptions().approximate("tanh")).equal(trt::gelu(x, "tanh")));
  assert_false(F::gelu(x).equal(trt::gelu(x, "tanh")));
  assert_true(F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.5)).equal(trt::leaky_relu(x, 0.5)));
  assert_true(F::elu(x, F::ELUFuncOptions().alpha(2)).equal(trt::elu(x, 2)) && F::celu(x, F::CELUFuncOptions().alpha(2)).equal(trt::celu(x, 2)));
  assert_true(F::logsigmoid(x).equal(trt::log_sigmoid(x)));
  const Tensor changed = x.clone();
  assert_true(F::relu(changed, F::ReLUFuncOptions().inplace(true)).is_same(changed) && changed.equal(x.relu()));
  assert_true(F::relu6(x, F::ReLU6FuncOptions()).equal(x.relu6()) && F::selu(x, F::SELUFuncOptions(false)).equal(x.selu()));
  for (const std::int64_t d : {0, 1}) {
    assert_true(F::softmax(x, d).equal(F::softmax(x, F::SoftmaxFuncOptions(d))) && F::softmax(x, d).equal(x.softmax(d)));
    assert_true(F::log_softmax(x, F::LogSoftmaxFuncOptions(d)).equal(x.log_softmax(d)));
    assert_true(F::softmin(x, F::SoftminFuncOptions(d)).equal((-x).softmax(d)));
  }
  assert_true(F::softmax(x, F::SoftmaxFuncOptions(1).dtype(trt::kFloat64)).dtype() == trt::kFloat64);

  assert_true(F::conv2d(image, w, F::Conv2dFuncOptions().bias(b).stride({2, 1}).padding(1)).equal(trt::conv2d(image, w, b, {2, 1}, {1, 1})));
  assert_true(F::conv2d(image, w, F::Conv2dFuncOptions().padding(trt::kSame)).sizes() == Ints({2, 4, 6, 6}));
  assert_true(F::conv2d(image, w, F::Conv2dFuncOptions().dilation(2).groups(1)).sizes() == Ints({2, 4, 2, 2}));
  assert_true(F::conv1d(trt::ones({1, 2, 5}), trt::ones({1, 2, 3}), F::Conv1dFuncOptions().padding(2)).sizes() == Ints({1, 1, 7}));
  assert_true(F::linear(x, trt::ones({2, 6}), trt::ones({2})).sizes() == Ints({4, 2}));
  const Tensor rows = trt::tensor({0, 2});
  assert_true(F::embedding(rows, x).equal(trt::embedding(x, rows)));
  const Tensor table = trt::ones({3, 2}).requires_grad_();
  F::embedding(rows, table, F::EmbeddingFuncOptions().padding_idx(2)).sum().backward();
  assert_true(is(table.grad(), {1, 1, 0, 0, 0, 0}) && F::one_hot(rows, 3).sizes() == Ints({2, 3}));

  const Tensor mean = trt::zeros({3}), var = trt::ones({3});
  assert_true(F::batch_norm(image, mean, var, F::BatchNormFuncOptions().training(true).momentum(0.5).eps(0.1))
                  .equal(trt::batch_norm(image, trt::zeros({3}), trt::ones({3}), {}, {}, true, 0.5, 0.1)));
  assert_false(mean.equal(trt::zeros({3})));
  assert_true(F::layer_norm(x, F::LayerNormFuncOptions({6}).weight(trt::full({6}, 2.0)).bias(trt::ones({6})))
                  .equal(trt::layer_norm(x, {6}, trt::full({6}, 2.0), trt::ones({6}))));
  assert_true(F::group_norm(image, F::GroupNormFuncOptions(3).eps(1)).equal(trt::group_norm(image, 3, {}, {}, 1)));
  assert_true(F::normalize(x, F::NormalizeFuncOptions().p(1).dim(0).eps(1e-3)).equal(trt::normalize(x, 1, 0, 1e-3)));

  assert_true(F::max_pool2d(image, F::MaxPool2dFuncOptions(3).stride(2)).equal(trt::max_pool2d(image, {3, 3}, {2, 2})));
  assert_true(F::avg_pool2d(image, F::AvgPool2dFuncOptions({2, 3})).equal(trt::avg_pool2d(image, {2, 3})));
  assert_true(F::adaptive_avg_pool2d(image, F::AdaptiveAvgPool2dFuncOptions({2, 1})).sizes() == Ints({2, 3, 2, 1}));
  assert_true(F::dropout(x, F::DropoutFuncOptions().p(0.5).training(false)).equal(x));
  assert_true(is(F::dropout(x, F::DropoutFuncOptions().p(1)), std::vector<double>(24, 0)));
  assert_true(F::pad(vec({1, 2}), F::PadFuncOptions({1, 2}).value(7)).equal(vec({7, 1, 2, 7, 7})));
  assert_true(F::pad(vec({1, 2, 3}).view({1, 1, 3}), F::PadFuncOptions({1, 1}).mode(trt::kReflect)).flatten().equal(vec({2, 1, 2, 3, 2})));
}

void losses(void**) {
  const Tensor x = trt::randn({4, 3}), y = trt::randn({4, 3}), p = x.sigmoid(), q = y.sigmoid(), classes = trt::tensor({0, 2, 1, 1});
  assert_true(F::cross_entropy(x, classes).equal(trt::cross_entropy(x, classes)));
  assert_true(F::cross_entropy(x, classes, F::CrossEntropyFuncOptions().reduction(trt::kSum).label_smoothing(0.1))
                  .equal(trt::cross_entropy(x, classes, {}, -100, "sum", 0.1)));
  assert_true(F::mse_loss(x, y, F::MSELossFuncOptions().reduction(trt::kNone)).equal(trt::mse_loss(x, y, "none")));
  assert_true(F::l1_loss(x, y, F::L1LossFuncOptions().reduction(trt::kSum)).equal(trt::l1_loss(x, y, "sum")));
  assert_true(F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions().beta(2)).equal(trt::smooth_l1_loss(x, y, "mean", 2)));
  assert_true(F::huber_loss(x, y, F::HuberLossFuncOptions().delta(2)).equal(trt::huber_loss(x, y, "mean", 2)));
  assert_true(F::nll_loss(x, classes, F::NLLLossFuncOptions().ignore_index(1)).equal(trt::nll_loss(x, classes, {}, 1)));
  assert_true(F::binary_cross_entropy(p, q, F::BinaryCrossEntropyFuncOptions().weight(q)).equal(trt::binary_cross_entropy(p, q, q)));
  assert_true(F::binary_cross_entropy_with_logits(x, q, F::BinaryCrossEntropyWithLogitsFuncOptions().pos_weight(q))
                  .equal(trt::binary_cross_entropy_with_logits(x, q, {}, "mean", q)));
  assert_true(F::kl_div(x, q, F::KLDivFuncOptions().reduction("batchmean")).equal(trt::kl_div(x, q, "batchmean")));
  const Tensor sign = vec({1, -1, 1, -1});
  assert_true(F::cosine_embedding_loss(x, y, sign, F::CosineEmbeddingLossFuncOptions().margin(0.2)).equal(trt::cosine_embedding_loss(x, y, sign, 0.2)));
  assert_true(F::hinge_embedding_loss(x, y.sign(), F::HingeEmbeddingLossFuncOptions().margin(2)).equal(trt::hinge_embedding_loss(x, y.sign(), 2)));
  assert_true(F::margin_ranking_loss(x, y, p.sign(), F::MarginRankingLossFuncOptions().margin(1)).equal(trt::margin_ranking_loss(x, y, p.sign(), 1)));
  assert_true(F::multi_margin_loss(x, classes, F::MultiMarginLossFuncOptions().p(2)).equal(trt::multi_margin_loss(x, classes, 2)));
  assert_true(F::multilabel_margin_loss(x, classes.view({4, 1}).expand({4, 3}), F::MultilabelMarginLossFuncOptions())
                  .equal(trt::multilabel_margin_loss(x, classes.view({4, 1}).expand({4, 3}))));
  assert_true(F::multilabel_soft_margin_loss(x, q, F::MultilabelSoftMarginLossFuncOptions().reduction(trt::kSum))
                  .equal(trt::multilabel_soft_margin_loss(x, q, {}, "sum")));
  assert_true(F::poisson_nll_loss(x, q, F::PoissonNLLLossFuncOptions().full(true)).equal(trt::poisson_nll_loss(x, q, true, true)));
  assert_true(F::gaussian_nll_loss(x, y, q, F::GaussianNLLLossFuncOptions().full(true)).equal(trt::gaussian_nll_loss(x, y, q, true)));
  assert_true(F::soft_margin_loss(x, y.sign(), F::SoftMarginLossFuncOptions().reduction(trt::kSum)).equal(trt::soft_margin_loss(x, y.sign(), "sum")));
  assert_true(F::triplet_margin_loss(x, y, p, F::TripletMarginLossFuncOptions().margin(3)).equal(trt::triplet_margin_loss(x, y, p, 3)));
}

struct File {
  std::string path = std::string("/tmp/trt_wrapper_") + std::to_string(::getpid()) + ".safetensors";
  ~File() { std::remove(path.c_str()); }
};

void files(void**) {
  const File file;
  const Tensor a = vec({1, 2, 3}), b = trt::ones({2, 2}, trt::kInt64);
  Tensor one = vec({9});
  trt::save(a, file.path);
  trt::load(one, file.path);
  assert_true(one.equal(a));
  std::vector<Tensor> many;
  for (int i = 0; i < 12; ++i) many.push_back(trt::full({1}, i));
  many[11] = b;
  trt::save(many, file.path);
  std::vector<Tensor> loaded{a};
  trt::load(loaded, file.path);
  assert_int_equal(loaded.size(), 12);
  assert_true(is(loaded[2], {2}) && is(loaded[10], {10}) && loaded[11].equal(b) && loaded[11].dtype() == trt::kInt64);
  throws(TRT_INVALID_ARGUMENT, "one tensor is wanted", [&] { trt::load(one, file.path); });
  assert_true(one.equal(a));
  nn::Sequential net{nn::Linear(3, 2), nn::ReLU()}, other{nn::Linear(3, 2), nn::ReLU()}, wrong{nn::Linear(2, 2)};
  trt::save(net, file.path);
  assert_false(net(a).equal(other(a)));
  trt::load(other, file.path);
  assert_true(other.parameter("0.weight").equal(net.parameter("0.weight")));
  throws(TRT_INVALID_ARGUMENT, "0.weight is [2, 3] in the state dict and [2, 2] in the module", [&] { trt::load(wrong, file.path); });
  // Names of a module's file are not those of a list.
  throws(TRT_NOT_FOUND, "'0'", [&] { trt::load(loaded, file.path); });
  assert_int_equal(loaded.size(), 12);
  trt::StateDict dict;
  trt::load(dict, file.path);
  assert_int_equal(dict.size(), 2);
  optim::SGD first(net.parameters(), optim::SGDOptions(0.1).momentum(0.9)), second(net.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  net(a).sum().backward();
  first.step();
  trt::save(first, file.path);
  trt::load(second, file.path);
  assert_int_equal(second.state_dict().size(), first.state_dict().size());
  throws(TRT_NOT_FOUND, "nowhere", [&] { trt::load(one, "nowhere"); });
}

// Whether x[i] compiles for an i of this type.
template <typename I, typename = void>
constexpr bool indexes = false;
template <typename I>
constexpr bool indexes<I, std::void_t<decltype(std::declval<const Tensor&>()[std::declval<I>()])>> = true;

void small_things(void**) {
  const Tensor x = trt::ones({2, 3}, trt::kFloat16);
  assert_string_equal(printed(x.sizes()).c_str(), "[2, 3]");
  assert_string_equal(printed(x.strides()).c_str(), "[3, 1]");
  assert_string_equal(printed(trt::tensor(1).sizes()).c_str(), "[]");
  assert_string_equal(printed(trt::IntArrayRef({4, -1})).c_str(), "[4, -1]");
  assert_true(trt::Sizes({2, 3}) == x.sizes() && x.sizes() != Ints({3, 2}) && trt::zeros(x.sizes()).sizes() == x.sizes());

  assert_true(x.sum(trt::kFloat64).dtype() == trt::kFloat64 && x.mean(trt::kFloat32).dtype() == trt::kFloat32);
  assert_true(trt::sum(x, trt::kInt32).dtype() == trt::kInt32 && trt::sum(x, trt::kInt32).item<int>() == 6);
  assert_true(trt::mean(x, trt::kFloat64).dtype() == trt::kFloat64 && trt::nansum(x, trt::kFloat64).dtype() == trt::kFloat64 &&
              trt::nanmean(x, trt::kFloat64).dtype() == trt::kFloat64);
  // An empty list stays one of dimensions.
  assert_true(x.sum({}).dtype() == trt::kFloat16 && x.sum({0, 1}).dim() == 0 && x.sum(0).sizes() == Ints({3}));

  static_assert(indexes<int> && indexes<std::size_t> && indexes<std::int8_t> && indexes<Tensor>);
  static_assert(!indexes<double> && !indexes<float> && !indexes<bool>);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(functions), cmocka_unit_test(losses), cmocka_unit_test(files),
                              cmocka_unit_test(small_things)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
