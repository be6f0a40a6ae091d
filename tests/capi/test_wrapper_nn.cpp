// Modules, losses, optimizers, schedulers, datasets, hooks, functions of the host's own, the operator table and the
// library's settings in the C++ wrapper.
#include "wrapper_support.h"

#include <unistd.h>

#include <atomic>
#include <sstream>
#include <stdexcept>

namespace {

namespace nn = trt::nn;
namespace optim = trt::optim;

struct TemporaryFile {
  char path[64] = "/tmp/trt-wrapper-XXXXXX";
  TemporaryFile() { close(mkstemp(path)); }
  ~TemporaryFile() { unlink(path); }
};
bool says(const nn::Module& m, const char* text) {
  if (m.to_string() == text) return true;
  print_error("%s instead of %s\n", m.to_string().c_str(), text);
  return false;
}

void more_layers(void**) {
  assert_true(!nn::Conv3d() && !nn::ConvTranspose2d() && !nn::MultiheadAttention() && !nn::TransformerDecoder() && !nn::MaxPool3d() && !nn::ZeroPad2d());
  assert_true(says(nn::Conv3d(nn::Conv3dOptions(2, 4, {1, 2, 2}).stride({1, 2, 1}).groups(2).bias(false)),
                   "Conv3d(2, 4, kernel_size=(1, 2, 2), stride=(1, 2, 1), groups=2, bias=False)"));
  assert_true(says(nn::conv_nd(1, nn::ConvNdOptions(2, 3, 3).padding(2).padding_mode(TRT_PADDING_CIRCULAR)),
                   "Conv1d(2, 3, kernel_size=(3,), stride=(1,), padding=(2,), padding_mode=circular)"));
  assert_true(says(nn::conv_nd(2, nn::ConvNdOptions(2, 3, {3, 5}).padding_same(true)), "Conv2d(2, 3, kernel_size=(3, 5), stride=(1, 1), padding=same)"));
  throws(TRT_INVALID_ARGUMENT, "one number or 3", [] { nn::Conv3d(2, 3, {3, 5}); });
  assert_true(nn::ConvTranspose1d(nn::ConvTranspose1dOptions(2, 4, 3).stride(2).output_padding(1).dilation(2))(trt::ones({1, 2, 4})).sizes() ==
                  Ints({1, 4, 12}) &&
              nn::ConvTranspose2d(2, 3, {2, 3})(trt::ones({2, 4, 4})).sizes() == Ints({3, 5, 6}) &&
              nn::ConvTranspose3d(1, 2, 2)(trt::ones({1, 1, 2, 2, 2})).sizes() == Ints({1, 2, 3, 3, 3}));
  assert_true(says(nn::BatchNorm3d(2), "BatchNorm3d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"));
  assert_true(says(nn::InstanceNorm1d(2), "InstanceNorm1d(2, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)"));
  assert_true(says(nn::InstanceNorm2d(nn::InstanceNormOptions(2).affine(true).track_running_stats(true).momentum(0.5)),
                   "InstanceNorm2d(2, eps=1e-05, momentum=0.5, affine=True, bias=True, track_running_stats=True)"));
  assert_true(nn::InstanceNorm3d(2)(trt::ones({2, 2, 2, 2})).sizes() == Ints({2, 2, 2, 2}));
  assert_true(says(nn::RMSNorm({4}, 1e-3, false), "RMSNorm((4,), eps=0.001, elementwise_affine=False)"));
  assert_true(says(nn::LocalResponseNorm(2), "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)"));
  assert_true(says(nn::PReLU(), "PReLU(num_parameters=1)") && says(nn::Dropout1d(), "Dropout1d(p=0.5, inplace=False)") &&
              says(nn::Dropout2d(0.1), "Dropout2d(p=0.1, inplace=False)") && says(nn::Dropout3d(), "Dropout3d(p=0.5, inplace=False)"));
  assert_true(says(nn::ConstantPad1d(1, 2), "ConstantPad1d(padding=(1, 1), value=2.0)") && says(nn::ZeroPad2d({1, 2, 3, 4}), "ZeroPad2d((1, 2, 3, 4))") &&
              says(nn::ReflectionPad1d(1), "ReflectionPad1d((1, 1))") && says(nn::ReplicationPad3d(1), "ReplicationPad3d((1, 1, 1, 1, 1, 1))") &&
              says(nn::CircularPad2d(1), "CircularPad2d((1, 1, 1, 1))"));
  throws(TRT_INVALID_ARGUMENT, "one number or 4", [] { nn::ZeroPad2d({1, 2}); });
  assert_true(says(nn::Upsample(nn::UpsampleOptions().scale_factor({2}).mode("bilinear").align_corners(false)), "Upsample(scale_factor=2.0, mode='bilinear')"));
  assert_true(says(nn::Unfold(nn::UnfoldOptions({2, 3}).padding(1).stride(2)), "Unfold(kernel_size=(2, 3), dilation=1, padding=1, stride=2)"));
  assert_true(nn::Fold({4, 4}, nn::FoldOptions(2).stride(2))(trt::ones({1, 8, 4})).sizes() == Ints({1, 2, 4, 4}));
  assert_true(says(nn::MaxPool1d(nn::MaxPool1dOptions(3).stride(2).padding(1)), "MaxPool1d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)") &&
              says(nn::AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"));
  const Tensor cube = trt::ones({1, 2, 4, 4, 4});
  assert_true(nn::MaxPool3d({1, 2, 4})(cube).sizes() == Ints({1, 2, 4, 2, 1}) && nn::AvgPool3d(2)(cube).sizes() == Ints({1, 2, 2, 2, 2}) &&
              nn::AdaptiveAvgPool3d({1, 2, 3})(cube).sizes() == Ints({1, 2, 1, 2, 3}) && nn::AdaptiveMaxPool3d(2)(cube).sizes() == Ints({1, 2, 2, 2, 2}));

  assert_true(says(nn::RReLU(), "RReLU(lower=0.125, upper=0.3333333333333333)") && says(nn::AlphaDropout(), "AlphaDropout(p=0.5, inplace=False)") &&
              says(nn::FeatureAlphaDropout(0.25), "FeatureAlphaDropout(p=0.25, inplace=False)") && says(nn::Softmax2d(), "Softmax2d()"));
  assert_true(says(nn::LPPool1d(2, nn::LPPool1dOptions(3).stride(2)), "LPPool1d(norm_type=2.0, kernel_size=3, stride=2, ceil_mode=False)") &&
              nn::LPPool2d(2, nn::LPPool2dOptions({2, 4}))(cube.squeeze(0)).sizes() == Ints({2, 4, 2, 1}) && nn::LPPool3d(1, 2)(cube).sum().item<double>() == 128);
  {
    const auto [top1, at1] = trt::max_pool1d_with_indices(trt::arange(8).to(trt::kFloat32).reshape({1, 2, 4}), 2);
    assert_true(trt::equal(nn::MaxUnpool1d(2)(top1, at1), trt::tensor({0.f, 1.f, 0.f, 3.f, 0.f, 5.f, 0.f, 7.f}).reshape({1, 2, 4})));
    const auto [top2, at2] = trt::max_pool2d_with_indices(cube.squeeze(0), {2, 2});
    assert_true(nn::MaxUnpool2d(2).forward(top2, at2).sum().item<double>() == 32);
    assert_true(says(nn::MaxUnpool3d(nn::MaxUnpool3dOptions(2).stride(1)), "MaxUnpool3d(kernel_size=(2, 2, 2), stride=(1, 1, 1), padding=(0, 0, 0))"));
  }
  assert_true(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio({0.5}))(trt::ones({2, 3, 6, 8})).sizes() == Ints({2, 3, 3, 4}) &&
              nn::FractionalMaxPool3d(nn::FractionalMaxPool3dOptions({2, 2, 1}).output_size({2}))(trt::ones({3, 4, 4, 4})).sizes() == Ints({3, 2, 2, 2}));
  assert_true(says(nn::UpsamplingNearest2d(nn::UpsampleOptions().size({3})), "UpsamplingNearest2d(size=3, mode='nearest')") &&
              says(nn::UpsamplingBilinear2d(nn::UpsampleOptions().scale_factor({2})), "UpsamplingBilinear2d(scale_factor=2.0, mode='bilinear')"));
  assert_true(nn::CosineSimilarity()(trt::ones({2, 3}), trt::ones({2, 3})).sizes() == Ints({2}) &&
              nn::PairwiseDistance(1, 0, true)(trt::ones({2, 3}), trt::zeros({2, 3})).sum().item<double>() == 6);
  const Tensor scores = trt::log_softmax(trt::ones({4, 1, 3}), 2);
  assert_true(trt::allclose(nn::CTCLoss().blank(2).reduction(trt::kSum)(scores, trt::tensor({{0, 1}}), {4}, {2}),
                            trt::ctc_loss(scores, trt::tensor({{0, 1}}), trt::tensor({4}), trt::tensor({2}), 2, "sum")));
  assert_true(nn::Bilinear(2, 3, 4)(trt::ones({5, 2}), trt::ones({5, 3})).sizes() == Ints({5, 4}));
  const nn::EmbeddingBag bag(nn::EmbeddingBagOptions(4, 3).mode(TRT_BAG_SUM).padding_idx(0).include_last_offset(true));
  assert_true(bag(trt::zeros({2, 3}, trt::kInt64)).sum().item<double>() == 0);
  const nn::MultiheadAttention attention(nn::MultiheadAttentionOptions(4, 2).batch_first(true).bias(false));
  const Tensor x = trt::randn({2, 3, 4});
  const auto [y, mean] = attention(x, x, x);
  const auto [y2, each] = attention(x, x, x, {}, true, {}, false);
  const auto [y3, none] = attention(x, x, x, {}, false);
  assert_true(y.sizes() == x.sizes() && mean.sizes() == Ints({2, 3, 3}) && each.sizes() == Ints({2, 2, 3, 3}) && !none.defined() && trt::allclose(y, y2) &&
              trt::allclose(y, y3, 1e-4, 1e-5));
  const nn::TransformerEncoderLayer layer(nn::TransformerOptions(4, 2).dim_feedforward(6).dropout(0).batch_first(true).gelu(true));
  const nn::TransformerEncoder encoder(layer, 2, nn::LayerNorm(4));
  const nn::TransformerDecoder decoder(nn::TransformerDecoderLayer(nn::TransformerOptions(4, 2).dim_feedforward(6).batch_first(true)), 1);
  assert_true(encoder(x).sizes() == x.sizes() && decoder(x, encoder(x)).sizes() == x.sizes() && layer(x).sizes() == x.sizes());
  assert_true(encoder.forward_with({x}).size() == 1);
  const nn::Transformer both(nn::TransformerOptions(4, 2).dim_feedforward(6).dropout(0).batch_first(true), 1, 2);
  assert_true(both(x, trt::ones({2, 5, 4})).sizes() == Ints({2, 5, 4}) && nn::Transformer(4, 2, 0, 0).forward(x, x).sizes() == x.sizes());
  throws(TRT_INVALID_ARGUMENT, "batch number", [&] { both(x, trt::ones({3, 5, 4})); });
  throws(TRT_INVALID_ARGUMENT, "number of inputs", [&] { decoder.forward_with({x}); });
}

void layers(void**) {
  // Empty handles.
  assert_true(!nn::Linear() && !nn::Conv1d() && !nn::Conv2d() && !nn::Embedding() && !nn::BatchNorm1d() &&
              !nn::BatchNorm2d() && !nn::LayerNorm() && !nn::GroupNorm());
  assert_true(!nn::Module() && !nn::ReLU(nullptr) && !nn::MaxPool2d() && !nn::Softmax() && !nn::Unflatten() &&
              !trt::Optimizer() && !trt::Scheduler() && !optim::SGD());
  throws(TRT_INVALID_ARGUMENT, "NULL", [] { nn::Linear()(vec({1})); });
  throws(TRT_FAILED_PRECONDITION, "CustomModule", [] { nn::Module().register_module("a", nn::ReLU()); });
  throws(TRT_NOT_FOUND, "'weight', 'bias'", [] { nn::Linear(2, 3).parameter("wieght"); });

  assert_true(
      says(nn::Linear(3, 2), "Linear(in_features=3, out_features=2, bias=True)") &&
      says(nn::Linear(nn::LinearOptions(3, 2).bias(false)), "Linear(in_features=3, out_features=2, bias=False)"));
  assert_true(says(nn::Conv2d(3, 16, 3), "Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1))"));
  assert_true(
      says(nn::Conv2d(nn::Conv2dOptions(4, 8, {3, 5}).stride(2).padding({1, 2}).dilation(2).groups(2).bias(false)),
           "Conv2d(4, 8, kernel_size=(3, 5), stride=(2, 2), padding=(1, 2), dilation=(2, 2), groups=2, bias=False)"));
  assert_true(says(nn::Conv2d(nn::Conv2dOptions(4, 8, 3).padding("same")),
                   "Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1), padding=same)"));
  assert_true(says(nn::Conv1d(nn::Conv1dOptions(2, 4, 3).stride(2)), "Conv1d(2, 4, kernel_size=(3,), stride=(2,))"));
  assert_true(says(nn::BatchNorm2d(nn::BatchNorm2dOptions(4).eps(1e-3).momentum(0.2).affine(false)),
                   "BatchNorm2d(4, eps=0.001, momentum=0.2, affine=False, bias=False, track_running_stats=True)"));
  assert_true(says(nn::BatchNorm1d(4),
                   "BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"));
  assert_true(says(nn::LayerNorm({2, 3}), "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=True)"));
  assert_true(nn::LayerNorm(8)(trt::ones({2, 8})).sizes() == Ints({2, 8}) &&
              nn::GroupNorm(2, 4)(trt::ones({1, 4, 3})).sizes() == Ints({1, 4, 3}));
  assert_true(says(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)),
                   "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)"));
  const Tensor image = trt::ones({1, 2, 4, 4});
  assert_true(nn::MaxPool2d(2)(image).sizes() == Ints({1, 2, 2, 2}) &&
              nn::AvgPool2d({2, 4})(image).sizes() == Ints({1, 2, 2, 1}));
  assert_true(nn::AvgPool2d(nn::AvgPool2dOptions(2).count_include_pad(false).ceil_mode(true).divisor_override(2))(image)
                  .max()
                  .item<float>() == 2);
  assert_true(nn::AdaptiveAvgPool2d(1)(image).sizes() == Ints({1, 2, 1, 1}) &&
              nn::AdaptiveMaxPool2d(1, 2)(image).sizes() == Ints({1, 2, 1, 2}));
  assert_true(nn::Flatten()(image).sizes() == Ints({1, 32}) && nn::Flatten(0)(image).sizes() == Ints{32} &&
              nn::Unflatten(1, {1, 2})(image).sizes() == Ints({1, 1, 2, 4, 4}));

  const Tensor x = vec({-2, 0, 3});
  assert_true(is(nn::ReLU()(x), {0, 0, 3}) && is(nn::ReLU6()(x * 3), {0, 0, 6}) &&
              is(nn::LeakyReLU(0.5)(x), {-1, 0, 3}) && is(nn::ELU(2)(x), {2 * std::expm1(-2), 0, 3}));
  assert_true(nn::GELU("tanh")(x).equal(trt::gelu(x, "tanh")) && nn::GELU()(x).equal(trt::gelu(x)) &&
              nn::SiLU()(x).equal(x.silu()) && nn::Mish()(x).equal(x.mish()));
  assert_true(nn::Sigmoid()(x).equal(x.sigmoid()) && nn::Tanh()(x).equal(x.tanh()) &&
              nn::Softplus(2)(x).equal(trt::softplus(x, 2)) && nn::Hardswish()(x).equal(x.hardswish()));
  assert_true(nn::Softmax(0)(x).equal(x.softmax(0)) && nn::LogSoftmax(-1)(x).equal(x.log_softmax(-1)) &&
              nn::Identity()(x).equal(x) && nn::Dropout(0)(x).equal(x));
  throws(TRT_INVALID_ARGUMENT, "GELU", [] { nn::GELU("erf"); });
  throws(TRT_INVALID_ARGUMENT, "padding", [] { nn::Conv2dOptions(1, 1, 1).padding("full"); });

  const nn::Embedding table(
      nn::EmbeddingOptions(4, 2).padding_idx(-1).generator(trt::Generator(5)).dtype(trt::kFloat64));
  assert_true(table.weight().dtype() == DType::Float64 && is(table.weight()[3], {0, 0}) &&
              table(trt::tensor({0, 3})).sizes() == Ints({2, 2}));
  nn::Linear a(nn::LinearOptions(3, 2).generator(trt::Generator(7))),
      b(nn::LinearOptions(3, 2).generator(trt::Generator(7)));
  assert_true(a.weight().equal(b.weight()) && a->weight().equal(a.weight()) && a.bias().sizes() == Ints{2} &&
              !nn::Linear(3, 2, false).bias().defined());
  assert_true(a->forward(trt::ones({1, 3})).equal(a(trt::ones({1, 3}))));
}

struct Net : nn::CustomModule {
  nn::Linear first, second;
  Tensor scale;
  bool* gone;
  explicit Net(bool* gone_flag = nullptr)
      : CustomModule("Net"),
        first(register_module("first", nn::Linear(2, 4))),
        second(register_module("second", nn::Linear(4, 1))),
        scale(register_parameter("scale", trt::ones({1}))),
        gone(gone_flag) {
    register_buffer("seen", trt::zeros({1}));
  }
  ~Net() override {
    if (gone) *gone = true;
  }
  Tensor forward(const Tensor& x) override {
    if (x.size(-1) != 2) throw std::invalid_argument("two features are needed");
    return second(first(x).relu()) * scale;
  }
};
struct Failing : nn::CustomModule {
  Failing() : CustomModule("Failing") {
    register_parameter("p", trt::ones({1}));
    throw std::runtime_error("no");
  }
  Tensor forward(const Tensor& x) override { return x; }
};

void custom_modules(void**) {
  const Tensor x = trt::ones({3, 2});
  bool gone = false;
  {
    nn::Module kept;
    {
      auto net = nn::make_module<Net>(&gone);
      assert_true(net->parameter_count() == 8 + 4 + 4 + 1 + 1 && net(x).equal(net->forward(x)) &&
                  net->type_name() == "Net");
      assert_true(net->first.weight().is_same(net.parameter("first.weight")) && net.buffer("seen").numel() == 1);
      kept = nn::Sequential{net, nn::Sigmoid()};
      assert_true(kept(x).equal(net(x).sigmoid()));
    }
    assert_false(gone);
    assert_true(kept(x).sizes() == Ints({3, 1}));
    passes<std::invalid_argument>("two features are needed", [&] { kept(trt::ones({3, 3})); });
  }
  assert_true(gone);
  // An object with an owner of its own.
  nn::Module left;
  gone = false;
  {
    const auto net = std::make_shared<Net>(&gone);
    left = *net;
    assert_true(left(x).equal(net->forward(x)) && net->parameters().size() == 5);
    optim::SGD(net->parameters(), 0.1).zero_grad();
  }
  assert_true(gone);
  throws(TRT_FAILED_PRECONDITION, "gone", [&] { left(x); });
  {
    Net local;
    assert_true(local(x).sizes() == Ints({3, 1}));
  }
  for (int i = 0; i < 2; ++i) try {
      if (i)
        nn::make_module<Failing>();
      else
        Failing f;
      fail();
    } catch (const std::runtime_error&) {
    }
  const nn::Lambda twice([](const Tensor& t) { return t * 2; }, "Twice");
  assert_true(is(twice(vec({1, 2})), {2, 4}) && says(twice, "Twice()"));
  throws(TRT_CALLBACK, "empty", [] { nn::Lambda([](const Tensor&) { return Tensor(); })(vec({1})); });
  // Errors tell the place, also those of forward's own, and of modules that are called as objects.
  struct Block : nn::CustomModule {
    nn::Linear fc;
    Block() : CustomModule("Block"), fc(register_module("fc", nn::Linear(2, 3))) {}
    Tensor forward(const Tensor& t) override { return fc(t.sum(-1, true).matmul(trt::ones({1, 2}))).matmul(t); }
  };
  struct Outer : nn::CustomModule {
    Block block;
    Outer() : CustomModule("Outer") { register_module("block", block); }
    Tensor forward(const Tensor& t) override { return block(t); }
  } outside;
  throws(TRT_INVALID_ARGUMENT, "(in module 'block', Block)", [&] { outside(trt::ones({2, 2})); });
  throws(TRT_INVALID_ARGUMENT, "matmul: ", [&] { outside(trt::ones({2, 2})); });
  throws(TRT_INVALID_ARGUMENT, "(in module '0.block.fc', Linear)", [&] {
    outside.block.fc.set_parameter("bias", trt::ones({3}));
    outside.block.to(trt::kFloat64);
    nn::Sequential{outside}(trt::ones({2, 2}));
  });
  throws(TRT_INVALID_ARGUMENT, "the child 'encoder' for Block is NULL (an empty module)",
         [&] { outside.block.register_module("encoder", nn::Linear(nullptr)); });
  // What is thrown inside comes out as it was.
  try {
    nn::Sequential{nn::ReLU(), nn::Lambda([](const Tensor& t) { return t.sum(7); })}(vec({1}));
    fail();
  } catch (const trt::Error& e) {
    assert_true(e.code() == TRT_OUT_OF_RANGE && e.op() == "sum");
  }
  try {
    nn::Lambda([](const Tensor&) -> Tensor { throw 7; })(vec({1}));
    fail();
  } catch (int i) {
    assert_int_equal(i, 7);
  }
}

void trees(void**) {
  nn::Sequential net{nn::Linear(2, 3), nn::ReLU()};
  net->push_back(nn::Linear(3, 1, false));
  assert_true(net.size() == 3 && net[1].type_name() == "ReLU" && nn::Sequential(nn::ReLU(), nn::Tanh()).size() == 2 &&
              nn::Sequential().size() == 0);
  std::string names;
  for (auto& [name, p] : net.named_parameters()) {
    names += name + " ";
    nn::init::constant_(p, 0.5);
    p.detach().add_(0);
  }
  assert_string_equal(names.c_str(), "0.weight 0.bias 2.weight ");
  assert_true(is(net.parameter("2.weight"), {0.5, 0.5, 0.5}) && net->parameters().size() == 3);
  nn::Sequential named{{"in", nn::Linear(2, 3)}, {"act", nn::Tanh()}};
  named.register_module("norm", nn::BatchNorm1d(3));
  names.clear();
  for (auto& [name, child] : named.named_children()) names += name + "=" + child.type_name() + " ";
  for (const auto& [name, buffer] : named.named_buffers()) names += name + " ";
  for (const nn::Module& m : named.modules()) names += m.type_name() + " ";
  assert_string_equal(names.c_str(),
                      "in=Linear act=Tanh norm=BatchNorm1d norm.running_mean norm.running_var norm.num_batches_tracked "
                      "Linear Tanh BatchNorm1d Sequential ");
  assert_true(named.children().size() == 3 && named.buffers().size() == 3 &&
              named.submodule("norm").type_name() == "BatchNorm1d");
  net.push_back(nn::Tanh());
  assert_true(net.size() == 4 && net[3].type_name() == "Tanh");
  passes<std::runtime_error>("stop", [&] { net.apply([](const nn::Module&) { throw std::runtime_error("stop"); }); });
  std::ostringstream out;
  out << net[0] << nn::Module();
  assert_string_equal(out.str().c_str(), "Linear(in_features=2, out_features=3, bias=True)[ Module (empty) ]");

  net.eval();
  assert_false(net.is_training());
  net.train();
  net.requires_grad_(false);
  assert_true(net.trainable_parameter_count() == 0 && net.parameter_count() == 12);
  net.requires_grad_();
  net(trt::ones({1, 2})).sum().backward();
  assert_true(net.parameter("0.bias").grad().defined());
  net.zero_grad();
  assert_false(net.parameter("0.bias").grad().defined());
  net.to(trt::kFloat64);
  assert_true(net.parameter("0.bias").dtype() == DType::Float64);
  net.reset_parameters(trt::Generator(1));
  net.set_parameter("2.weight", trt::zeros({1, 3}, trt::kFloat64));
  assert_true(is(net.parameter("2.weight"), {0, 0, 0}));
  trt::StateDict d = net.state_dict();
  assert_true(net.compare_state_dict(d).empty() &&
              d.keys() == std::vector<std::string>({"0.weight", "0.bias", "2.weight"}) && d.values().size() == 3);
  d.remove("0.bias");
  assert_non_null(std::strstr(net.compare_state_dict(d).c_str(), "0.bias"));
  const trt::StateDict own = {{"a", vec({1})}, {"b", vec({2})}};
  own["a"] = 5;
  assert_true(own.size() == 2 && own["a"].item<int>() == 5 && !own.empty() && trt::StateDict().empty());
  throws(TRT_OUT_OF_RANGE, "2", [&] { own.name(2); });
}

void initializers(void**) {
  const Tensor t = trt::zeros({20, 30});
  const trt::Generator g(3);
  namespace init = nn::init;
  assert_true(is(init::ones_(t).sum(), {600}) && is(init::zeros_(t).sum(), {0}) && is(init::eye_(t).sum(), {20}) &&
              is(init::constant_(t, 2).sum(), {1200}));
  assert_true(init::uniform_(t, 2, 3, g).min().item<float>() >= 2 &&
              init::normal_(t, 5, 0.01, g).mean().item<double>() > 4.9 &&
              init::trunc_normal_(t, 0, 1, -0.5, 0.5, g).max().item<float>() <= 0.5f);
  const double bound = std::sqrt(6.0 / 50);
  assert_true(init::xavier_uniform_(t, 1, g).abs().max().item<double>() <= bound &&
              init::xavier_normal_(t, 1, g).std().item<double>() < 0.25);
  assert_true(init::kaiming_uniform_(t, 0, init::kFanOut, "relu", g).abs().max().item<double>() <=
                  std::sqrt(6.0 / 20) &&
              init::kaiming_normal_(t, 0, init::kFanIn, "relu", g).std().item<double>() < 0.3);
  const Tensor q = init::orthogonal_(t, 1, g);
  assert_true(q.matmul(q.t()).allclose(trt::eye(20), 1e-4, 1e-4));
  const nn::Linear layer(2, 2);
  init::zeros_(layer.weight());
  assert_true(is(layer.weight(), {0, 0, 0, 0}) && layer.weight().requires_grad());
}

void losses(void**) {
  const Tensor x = vec({0.2f, 0.9f, -1}), y = vec({0, 1, 0}), rows = trt::tensor({{1., 2., 3.}, {0., 0., 0.}}),
               classes = trt::tensor({2, 0}), sign = vec({1, -1, 1});
  assert_true(is(nn::MSELoss()(x, y), {(0.04 + 0.01 + 1) / 3}) &&
              is(nn::MSELoss().reduction(trt::kSum)(x, y), {1.05}) &&
              is(nn::L1Loss().reduction(trt::kNone)(x, y), {0.2, 0.1, 1}));
  assert_true(is(nn::SmoothL1Loss()(x, y), {(0.02 + 0.005 + 0.5) / 3}) &&
              nn::HuberLoss().delta(0.1)(x, y).equal(trt::huber_loss(x, y, "mean", 0.1)));
  const double ce0 = std::log(1 + std::exp(-1) + std::exp(-2)), ce1 = std::log(3.0);
  assert_true(is(nn::CrossEntropyLoss()(rows, classes), {(ce0 + ce1) / 2}) &&
              is(nn::CrossEntropyLoss().ignore_index(0)(rows, classes), {ce0}));
  nn::CrossEntropyLoss smooth(nn::CrossEntropyLossOptions().label_smoothing(0.5).weight(vec({1, 2, 3})));
  assert_true(
      smooth->forward(rows, classes).equal(trt::cross_entropy(rows, classes, vec({1, 2, 3}), -100, "mean", 0.5)));
  assert_true(is(nn::NLLLoss().reduction(trt::kSum)(rows.log_softmax(1), classes), {ce0 + ce1}));
  const Tensor p = x.sigmoid();
  assert_true(nn::BCELoss()(p, y).allclose(nn::BCEWithLogitsLoss()(x, y)) &&
              nn::BCEWithLogitsLoss().pos_weight(vec({2, 2, 2}))(x, y).item<double>() >
                  nn::BCEWithLogitsLoss()(x, y).item<double>());
  assert_true(is(nn::KLDivLoss().reduction("batchmean").log_target(true)(rows, rows), {0}) &&
              is(nn::HingeEmbeddingLoss().margin(2)(vec({1, 1}), vec({1, -1})), {1}));
  assert_true(
      nn::SoftMarginLoss()(x, sign).equal(trt::soft_margin_loss(x, sign)) &&
      nn::MultiMarginLoss().p(2).margin(0.5)(rows, classes).equal(trt::multi_margin_loss(rows, classes, 2, 0.5)));
  const Tensor many = trt::tensor({{2, -1, -1}, {0, 1, -1}});
  assert_true(nn::MultiLabelMarginLoss()(rows, many).equal(trt::multilabel_margin_loss(rows, many)) &&
              nn::MultiLabelSoftMarginLoss()(rows, rows > 1).defined());
  assert_true(nn::PoissonNLLLoss().log_input(false).full(true).eps(1e-6)(vec({2}), vec({3})).defined() &&
              nn::GaussianNLLLoss()(x, y, trt::ones({3})).equal(trt::gaussian_nll_loss(x, y, trt::ones({3}))));
  const Tensor label = trt::tensor({1., -1.});
  assert_true(nn::CosineEmbeddingLoss().margin(0.1)(rows, rows, label).defined() &&
              is(nn::MarginRankingLoss().margin(1)(vec({1}), vec({3}), vec({1})), {3}));
  assert_true(nn::TripletMarginLoss().margin(2).p(1).swap(true)(rows, rows, rows).item<double>() > 1.9);
}

void optimizers(void**) {
  const auto train = [](auto make) {
    const Tensor w = vec({3, -2}).requires_grad_();
    trt::Optimizer o = make(w);
    for (int i = 0; i < 50; ++i) {
      const Tensor loss = o.step([&] {
        o.zero_grad();
        Tensor l = (w * w).sum();
        l.backward();
        return l;
      });
      if (i == 0 && loss.item<double>() != 13) fail();
    }
    return w.abs().max().item<double>();
  };
  assert_true(train([](const Tensor& w) { return optim::SGD({w}, 0.1); }) < 0.01 &&
              train([](const Tensor& w) {
                return optim::SGD({w}, optim::SGDOptions(0.05).momentum(0.9).nesterov(true));
              }) < 0.5);
  assert_true(train([](const Tensor& w) { return optim::Adam({w}, 0.2); }) < 0.5 &&
              train([](const Tensor& w) {
                return optim::AdamW({w}, optim::AdamWOptions(0.2).betas({0.8, 0.9}).weight_decay(0));
              }) < 0.5);

  const Tensor a = vec({1}).requires_grad_(), b = vec({2}).requires_grad_();
  optim::AdamW o({a});
  assert_true(o.lr() == 1e-3 && o.option("weight_decay") == 0.01 && optim::Adam({a}).option("weight_decay") == 0 &&
              optim::SGD({a}).lr() == 1e-3);
  o.add_param_group({b}, {{"lr", 0.5}, {"amsgrad", 1}});
  assert_true(o.group_count() == 2 && o.lr(1) == 0.5 && o.option("amsgrad", 1) == 1 &&
              o.group_parameters(1)[0].is_same(b) && o.type_name() == "AdamW");
  o.set_option("eps", 1e-4, 1);
  o.set_lr(0.25);
  assert_true(o.option("eps", 1) == 1e-4 && o.lr(1) == 0.25 && o.to_string().find("AdamW") != std::string::npos);

  a.set_grad(vec({3}));
  b.set_grad(vec({4}));
  assert_true(nn::clip_grad_norm_({a, b}, 1) == 5 && std::abs(a.grad().item<double>() - 0.6) < 1e-5);
  nn::utils::clip_grad_value_({a, b}, 0.1);
  assert_true(is(b.grad(), {0.1}));

  const auto rates = [](auto make, int steps) {
    const Tensor w = vec({1}).requires_grad_();
    optim::SGD sgd({w}, optim::SGDOptions(1).momentum(0.9));
    trt::Scheduler s = make(sgd);
    std::vector<double> lr = {sgd.lr()};
    for (int i = 0; i < steps; ++i) {
      sgd.step();
      s.step();
      lr.push_back(s.last_lr());
    }
    if (s.last_epoch() != steps || s.state_dict().empty()) fail();
    return lr;
  };
  using Rates = std::vector<double>;
  const auto near = [](const Rates& x, const Rates& y) { return is(Tensor::from(x), y); };
  assert_true(near(rates([](auto& s) { return optim::StepLR(s, 2, 0.5); }, 3), {1, 1, 0.5, 0.5}) &&
              near(rates(
                       [](auto& s) {
                         return optim::MultiStepLR(s, {1, 3});
                       },
                       3),
                   {1, 0.1, 0.1, 0.01}));
  assert_true(near(rates([](auto& s) { return optim::ExponentialLR(s, 0.5); }, 2), {1, 0.5, 0.25}) &&
              near(rates([](auto& s) { return optim::ConstantLR(s, 0.5, 1); }, 2), {0.5, 1, 1}));
  assert_true(near(rates([](auto& s) { return optim::LinearLR(s, 0.5, 1, 2); }, 2), {0.5, 0.75, 1}) &&
              near(rates([](auto& s) { return optim::PolynomialLR(s, 2); }, 2), {1, 0.5, 0}));
  assert_true(near(rates([](auto& s) { return optim::CosineAnnealingLR(s, 2, 0.2); }, 2), {1, 0.6, 0.2}));
  assert_true(near(rates(
                       [](auto& s) {
                         return optim::LambdaLR(
                             s, [](std::int64_t epoch) { return 1.0 / static_cast<double>(1 + epoch); });
                       },
                       2),
                   {1, 0.5, 1.0 / 3}));
  assert_true(near(rates(
                       [](auto& s) {
                         return optim::LambdaLR(
                             s, [](std::int64_t, std::size_t group) { return static_cast<int>(group) + 2; });
                       },
                       1),
                   {2, 2}));
  assert_true(near(rates(
                       [](auto& s) {
                         return optim::OneCycleLR(s, optim::OneCycleLROptions(2, 4)
                                                         .pct_start(0.5)
                                                         .anneal_strategy("linear")
                                                         .div_factor(2)
                                                         .final_div_factor(1));
                       },
                       2),
                   {1, 2, 1.5}) ||
              rates([](auto& s) { return optim::OneCycleLR(s, 2, 4); }, 2)[0] == 2.0 / 25);
  assert_true(
      near(rates(
               [](auto& s) {
                 return optim::SequentialLR(s, {optim::ConstantLR(s, 0.5, 5), optim::ExponentialLR(s, 0.5)}, {2});
               },
               3),
           {0.5, 0.5, 1, 0.5}));
  passes<std::runtime_error>("no rate", [] {
    const Tensor w = vec({1}).requires_grad_();
    optim::LambdaLR(optim::SGD({w}), [](std::int64_t) -> double { throw std::runtime_error("no rate"); });
  });
}

void datasets(void**) {
  const Tensor numbers = trt::arange(10, trt::kFloat32), labels = trt::arange(10);
  const trt::Dataset data = trt::Dataset::from({numbers, labels});
  assert_true(data.size() == 10 && data[3].target().item<int>() == 3 && data.batch({1, 4})[0].equal(vec({1, 4})) &&
              !trt::Dataset());
  throws(TRT_OUT_OF_RANGE, "2", [&] { data[0][2]; });
  const trt::Dataset squares =
      data.map(1, [](const std::vector<Tensor>& s) { return std::vector<Tensor>{s[0] * s[0]}; }).subset({3, 2, 2});
  assert_true(squares.size() == 3 && is(squares.batch({0, 1, 2}).data(), {9, 4, 4}));
  std::atomic<int> made{0};
  const trt::Dataset lazy = trt::Dataset::from_function(5, 2, [&](std::int64_t i) {
    ++made;
    if (i == 4) throw std::runtime_error("sample four is broken");
    return std::vector<Tensor>{trt::full({2}, i), trt::tensor(i)};
  });
  assert_true(is(lazy[3].data(), {3, 3}) && made == 1);
  passes<std::runtime_error>("sample four is broken", [&] { lazy[4]; });
  trt::DataLoader broken(lazy, trt::DataLoaderOptions(2).workers(2));
  assert_true(broken.next() && broken.next());
  passes<std::runtime_error>("sample four is broken", [&] { broken.next(); });
  throws(TRT_CALLBACK, "1 tensors instead of 2", [] {
    trt::Dataset::from_function(1, 2, [](std::int64_t) { return std::vector<Tensor>{trt::ones({1})}; })[0];
  });
  const Tensor images = trt::full({4, 2, 2}, 255, trt::kUInt8);
  assert_true(
      is(trt::Dataset::from_images(images, trt::arange(4), trt::ImageOptions().mean(0.5f).std_dev(0.5f))[0].data(),
         {1, 1, 1, 1}));
  assert_true(trt::Dataset::from_images(images, {}, trt::ImageOptions().normalize(false).add_channel(false))[0]
                  .data()
                  .dtype() == DType::UInt8);

  trt::DataLoader loader(data, trt::DataLoaderOptions(4).shuffle().seed(3).workers(1).prefetch_factor(1));
  std::vector<double> seen;
  for (auto& [x, y] : loader) {
    assert_true(x.equal(y.to(trt::kFloat32)));
    for (const double v : x.to_vector<double>()) seen.push_back(v);
  }
  const std::vector<double> first = seen;
  assert_true(loader.epoch() == 0 && seen.size() == 10);
  seen.clear();
  int batches = 0;
  for (auto& batch : loader) {
    for (const double v : batch[0].to_vector<double>()) seen.push_back(v);
    ++batches;
  }
  assert_true(loader.epoch() == 1 && seen != first && batches == 3 && loader.batches() == 3);
  // Leaving early begins the next epoch as well; set_epoch is respected; copies share the position.
  for (auto& batch : loader) {
    assert_int_equal(batch.size(), 2);
    break;
  }
  assert_int_equal(loader.epoch(), 2);
  loader.set_epoch(0);
  seen.clear();
  trt::DataLoader copy = loader;
  for (auto& batch : copy)
    for (const double v : batch.data().to_vector<double>()) seen.push_back(v);
  assert_true(seen == first && loader.epoch() == 0);
  for (auto& batch : loader) static_cast<void>(batch);
  assert_int_equal(loader.epoch(), 1);
  trt::DataLoader weighted(data, trt::DataLoaderOptions(5)
                                     .weights({0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
                                     .num_samples(5)
                                     .replacement()
                                     .generator(trt::Generator(1)));
  assert_true(is(weighted.next()->data(), {9, 9, 9, 9, 9}) && !weighted.next() &&
              trt::DataLoader(data).batches() == 10 &&
              trt::DataLoader(data, trt::DataLoaderOptions(4).drop_last()).batches() == 2);

  const TemporaryFile file;
  trt::save_safetensors(file.path, {{"a", vec({1, 2})}, {"b", trt::zeros({2, 3}, trt::kInt64)}},
                        {{"k", "v"}, {"w", "x"}});
  const trt::Safetensors saved(file.path);
  assert_true(saved.keys() == std::vector<std::string>({"a", "b"}) && saved.find("b") == 1 &&
              saved.dtype(1) == trt::kInt64 && saved.dtype_text(0) == "F32");
  assert_true(saved.sizes(1) == Ints({2, 3}) && saved.tensors().size() == 2 && is(saved["a"], {1, 2}) &&
              saved.metadata().size() == 2 && saved.metadata("k") == std::string("v") && !saved.dtype(9));
  trt::StateDict({{"a", vec({1})}}).save(file.path, {{"m", "n"}});
  assert_true(trt::Safetensors(file.path).metadata("m") == std::string("n"));
  throws(TRT_DATA, file.path, [&] { trt::load_idx(file.path); });
  throws(TRT_NOT_FOUND, "nowhere", [] { trt::Dataset::from_idx("nowhere"); });
}

struct Cube : trt::autograd::Function<Cube> {
  static Tensor forward(trt::autograd::AutogradContext* ctx, const Tensor& x, double factor) {
    assert_false(trt::GradMode::is_enabled());
    ctx->save_for_backward({x});
    ctx->saved_data["factor"] = factor;
    return x * x * x * factor;
  }
  static std::vector<Tensor> backward(trt::autograd::AutogradContext* ctx, const std::vector<Tensor>& grads) {
    return {3 * std::any_cast<double>(ctx->saved_data["factor"]) * ctx->get_saved_variables()[0].square() * grads[0]};
  }
};
struct Exp : trt::autograd::Function<Exp> {
  static Tensor forward(trt::autograd::AutogradContext* ctx, const Tensor& x) {
    Tensor y = x.exp();
    ctx->save_for_backward({y});
    return y;
  }
  static std::vector<Tensor> backward(trt::autograd::AutogradContext* ctx, const std::vector<Tensor>& grads) {
    return {grads[0] * ctx->get_saved_variables()[0]};
  }
};
struct SumAndDifference : trt::autograd::Function<SumAndDifference> {
  static std::vector<Tensor> forward(trt::autograd::AutogradContext*, const Tensor& a, const Tensor& b) {
    return {a + b, a - b};
  }
  static std::vector<Tensor> backward(trt::autograd::AutogradContext* ctx, const std::vector<Tensor>& grads) {
    assert_true(ctx->needs_input_grad(0) && !ctx->needs_input_grad(1));
    return {grads[0] + grads[1], Tensor()};
  }
  static std::string name() { return "SumAndDifferenceBackward"; }
};

void gradients(void**) {
  const Tensor x = vec({1, 2}).requires_grad_();
  int calls = 0;
  const auto id = x.register_hook([&](const Tensor& g) { return g * 10; });
  const auto watching = x.register_hook([&](const Tensor&) { ++calls; });
  (x * x).sum().backward();
  assert_true(is(x.grad(), {20, 40}) && calls == 1);
  x.remove_hook(id);
  x.remove_hook(watching);
  x.zero_grad();
  (x * x).sum().backward();
  assert_true(is(x.grad(), {2, 4}) && calls == 1);
  throws(TRT_NOT_FOUND, "", [&] { x.remove_hook(id); });
  x.register_hook([](const Tensor&) { throw trt::Error(TRT_CANCELLED, "that is enough"); });
  throws(TRT_CANCELLED, "that is enough", [&] { x.sum().backward(); });

  const Tensor y = vec({1, 2}).requires_grad_(), middle = y * 3, z = middle * middle;
  middle.retain_grad();
  assert_true(!z.is_leaf() && y.is_leaf() && z.grad_fn_name() == "MulBackward0" && y.grad_fn_name().empty());
  trt::autograd::backward({z}, {vec({1, 1})}, true);
  assert_true(is(middle.grad(), {6, 12}) && is(y.grad(), {18, 36}));
  y.zero_grad();
  z.sum().backward({}, false, false, {middle});
  assert_true(!y.grad().defined() && is(middle.grad(), {12, 24}));  // kept once
  const Tensor a = vec({2}).requires_grad_(), b = vec({3}).requires_grad_();
  const auto grads = trt::autograd::grad({a * b, b}, {a, b}, {vec({1}), vec({10})});
  assert_true(is(grads[0], {3}) && is(grads[1], {12}));
  assert_false(trt::autograd::grad({a * 1}, {b}, {}, false, false, true)[0].defined());
  {
    const trt::NoGradGuard off;
    const trt::EnableGrad on;
    assert_true(trt::GradMode::is_enabled());
  }
  {
    const trt::InferenceMode mode;
    assert_true(trt::InferenceMode::is_enabled());
  }
  assert_false(trt::InferenceMode::is_enabled());

  const Tensor w = vec({1, 2}).requires_grad_();
  Tensor cubes = Cube::apply(w, 2.0);
  assert_true(is(cubes, {2, 16}) && cubes.grad_fn_name() == "CustomFunctionBackward");
  const Tensor first = trt::grad(cubes.sum(), {w}, {}, true, true)[0];
  assert_true(is(first, {6, 24}) && is(trt::grad(first.sum(), {w})[0], {12, 24}));
  // An output that was saved takes part in the gradient of the gradient.
  const Tensor zero = vec({0}).requires_grad_();
  Tensor power = Exp::apply(zero).square();
  for (const double expected : {2.0, 4.0, 8.0}) {
    power = trt::grad(power.sum(), {zero}, {}, true, true)[0];
    assert_true(is(power, {expected}));
  }
  const auto both = SumAndDifference::apply(w, vec({5, 5}));
  assert_true(both[1].grad_fn_name() == "SumAndDifferenceBackward");
  (both[0] + both[1] * 3).sum().backward();
  assert_true(is(w.grad(), {4, 4}));
  const Tensor u = vec({1, 1}).requires_grad_();
  const Tensor v = u.clone();
  cubes = Cube::apply(v, 1.0);
  {
    const trt::NoGrad off;
    v.add_(1);
  }
  throws(TRT_FAILED_PRECONDITION, "changed in place", [&] { cubes.sum().backward(); });
  Tensor doubled;
  {
    const trt::NoGrad off;
    doubled = u * 2;
  }
  doubled = trt::autograd::custom_function(
      "Doubled", {u}, {doubled}, [](const std::vector<Tensor>& g) { return std::vector<Tensor>{g[0] * 2}; })[0];
  doubled.sum().backward();
  assert_true(is(u.grad(), {2, 2}));
}

void library(void**) {
  trt::Generator g(5), same = g;
  const auto begin = g.state();
  const Tensor r = trt::randn({3}, g);
  assert_true(begin.seed == 5 && !trt::randn({3}, same).equal(r));
  g.set_state(begin);
  assert_true(trt::randn({3}, g).equal(r));
  g.set_seed(5);
  assert_true(trt::randn({3}, g).equal(r) && static_cast<bool>(g) && !trt::Generator());
  trt::manual_seed(5);
  assert_true(trt::rand({2}).equal(trt::rand({2}, trt::Generator(5))) && trt::Generator().state().seed == 5);

  const int threads = trt::get_num_threads();
  trt::set_num_threads(threads == 1 ? 2 : 1);
  assert_true(trt::get_num_threads() != threads);
  trt::set_num_threads(threads);
  throws(TRT_INVALID_ARGUMENT, "", [] { trt::set_num_threads(0); });

  const auto before = trt::memory::stats();
  {
    const Tensor big = trt::zeros({1 << 20});
    assert_true(trt::memory::stats().allocated_current >= before.allocated_current + (4 << 20));
    throws(TRT_OUT_OF_MEMORY, "", [] {
      struct Limit {
        Limit() { trt::memory::set_limit(8 << 20); }
        ~Limit() { trt::memory::set_limit(0); }
      } const limit;
      trt::zeros({1 << 24});
    });
  }
  trt::memory::empty_cache();
  trt::memory::reset_peak();
  assert_true(trt::memory::stats().allocated_peak == trt::memory::stats().allocated_current);
  assert_true(trt::version() == trt_version_string() && trt::build_info().find(trt::version()) != std::string::npos);

  auto alive = std::make_shared<int>(0);
  trt::set_log_level(TRT_LOG_DEBUG);
  trt::set_log_callback([alive](trt_log_level, const std::string&) { throw std::runtime_error("dropped"); });
  assert_int_equal(alive.use_count(), 2);
  trt::set_log_callback(nullptr);
  trt::set_log_level(TRT_LOG_WARNING);
  assert_int_equal(alive.use_count(), 1);
  trt::shutdown();
  assert_true(is(vec({1}) + 1, {2}));
  assert_true(trt::Device() == trt::kCPU && trt::kMeta != trt::kCPU && trt::Device(TRT_CUDA, 1).index() == 1);
}

void dispatcher(void**) {
  namespace table = trt::dispatcher;
  const auto names = table::names();
  assert_true(names.size() > 300 && table::schema("add").find("Scalar alpha=1") != std::string::npos &&
              !table::dump(names[0]).empty());
  const Tensor x = trt::tensor({{3, 1}, {2, 4}});
  const auto sum = table::call("sum", {x}, {{"dim", Ints{0}}, {"dtype", trt::kFloat64}});
  assert_true(sum.size() == 1 && is(sum[0].get<Tensor>(), {5, 5}) && sum[0].get<Tensor>().dtype() == DType::Float64);
  const auto sorted = table::call("sort", {x, 1, true});
  assert_true(sorted.size() == 2 && is(sorted[0].get<Tensor>(), {3, 1, 4, 2}));
  assert_true(table::call("equal", {x, x})[0].get<bool>() &&
              table::call("unbind", {x})[0].get<std::vector<Tensor>>().size() == 2);
  assert_true(is(table::call("cat", {std::vector<Tensor>{x, x}, 1})[0].get<Tensor>().sum(), {20}) &&
              is(table::call("div.Tensor_mode", {x, x}, {{"rounding_mode", "floor"}})[0].get<Tensor>(), {1, 1, 1, 1}));
  assert_true(table::call("full", {Ints{2}, 7}, {{"device", trt::kMeta}})[0].get<Tensor>().device().is_meta() &&
              table::call("rand", {Ints{2}}, {{"generator", trt::Generator(1)}})[0].get<Tensor>().numel() == 2);
  assert_true(table::Value().is_none() && table::Value(trt::Scalar(2)).get<std::int64_t>() == 2 &&
              table::Value(0.5).get<double>() == 0.5 && !table::Value("a").is_none());
  throws(TRT_INVALID_ARGUMENT, "type", [] { table::Value(1).get<double>(); });
  throws(TRT_NOT_FOUND, "nothing", [] { table::call("nothing", {}); });
}

void hooks(void**) {
  struct Twice : nn::CustomModule {
    Twice() : CustomModule("Twice") {}
    Tensor forward(const Tensor& x) override { return x * 2; }
  };
  auto twice = nn::make_module<Twice>();
  nn::Sequential net{twice};
  std::string seen;
  const auto before = twice->register_forward_pre_hook([&](const nn::Module& m, const Tensor& x) {
    seen += m.type_name() + std::to_string(x.numel());
    return x + 1;
  });
  const auto watching = twice->register_forward_hook([&](const nn::Module&, const Tensor& x, const Tensor& y) {
    seen += is(y, {x.item<double>() * 2}) ? "!" : "?";
  });
  const auto after = twice->register_forward_hook([](const nn::Module&, const Tensor&, const Tensor& y) { return -y; });
  // As a part, as a handle, and as the object itself.
  assert_true(is(net(vec({3})), {-8}) && is(twice.forward(vec({3})), {-8}) && is((*twice)(vec({3})), {-8}));
  assert_string_equal(seen.c_str(), "Twice1!Twice1!Twice1!");
  twice->remove_hook(before);
  twice->remove_hook(after);
  assert_true(is(net(vec({3})), {6}));
  twice->remove_hook(watching);
  throws(TRT_NOT_FOUND, "no hook", [&] { twice->remove_hook(watching); });
  net.register_forward_hook([](const nn::Module&, const Tensor&, const Tensor&) { throw std::logic_error("mine"); });
  bool caught = false;
  try {
    net(vec({1}));
  } catch (const std::logic_error& e) {
    caught = std::string(e.what()) == "mine";
  }
  assert_true(caught);
}

void graphs_and_tokens(void**) {
  const Tensor x = vec({1, 2}).requires_grad_(), y = vec({3, 4});
  const Tensor loss = (x * y).sum();
  assert_true(!x.grad_fn() && loss.grad_fn().name() == "SumBackward0" && loss.grad_fn() == loss.grad_fn());
  const auto mul = loss.grad_fn().next_functions()[0];
  assert_true(mul.node.name() == "MulBackward0" && mul.input == 0 && mul.node != loss.grad_fn());
  const auto next = mul.node.next_functions();
  assert_true(next.size() == 2 && !next[1].node && next[0].node.variable().is_same(x) && !mul.node.variable().defined());

  const trt::CancelToken token, other;
  {
    const trt::CancelScope scope(token);
    assert_true(!token.is_cancelled());
    token.cancel();
    throws(TRT_CANCELLED, "cancelled", [&] { loss.backward(); });
    {
      const trt::CancelScope inner(other);
      assert_true(is(x + x, {2, 4}));
    }
    throws(TRT_CANCELLED, "cancelled", [&] { x + x; });
  }
  assert_true(token.is_cancelled() && !x.grad().defined());
  loss.backward();
  assert_true(is(x.grad(), {3, 4}));
}

void plain_layers(void**) {
  namespace nn = trt::nn;
  const Tensor x = trt::randn({2, 4, 6, 6}), line = trt::randn({2, 4, 6});
  assert_true(trt::equal(nn::SELU()(x), x.selu()) && trt::equal(nn::CELU(0.5)(x), trt::celu(x, 0.5)));
  assert_true(trt::equal(nn::Hardtanh()(x), x.clamp(-1, 1)) && trt::equal(nn::Hardsigmoid()(x), trt::hardsigmoid(x)));
  assert_true(trt::equal(nn::LogSigmoid()(x), trt::log_sigmoid(x)) && trt::equal(nn::Softsign()(x), trt::softsign(x)));
  assert_true(trt::equal(nn::Tanhshrink()(x), trt::tanhshrink(x)) && trt::equal(nn::Softshrink()(x), trt::softshrink(x)));
  assert_true(trt::equal(nn::Hardshrink()(x), trt::hardshrink(x)) && trt::equal(nn::Threshold(0.1, 7)(x), trt::threshold(x, 0.1, 7)));
  assert_true(trt::equal(nn::GLU()(x), trt::glu(x)) && trt::equal(nn::Softmin(1)(x), trt::softmin(x, 1)));
  assert_true(trt::equal(nn::PixelUnshuffle(2)(nn::PixelShuffle(2)(x)), x) && trt::equal(nn::ChannelShuffle(2)(x), trt::channel_shuffle(x, 2)));
  assert_true(nn::AdaptiveAvgPool1d(3)(line).size(2) == 3 && trt::equal(nn::AdaptiveMaxPool1d(6)(line), line));
  assert_true(nn::Hardtanh(-1, 2).to_string() == "Hardtanh(min_val=-1.0, max_val=2.0)");
  assert_true(nn::Threshold(0.5, 2).to_string() == "Threshold(threshold=0.5, value=2.0)");
  assert_true(nn::PixelShuffle(2).to_string() == "PixelShuffle(upscale_factor=2)");
  assert_true(nn::GLU().to_string() == "GLU(dim=-1)" && nn::Hardshrink().to_string() == "Hardshrink(0.5)");
  throws(TRT_INVALID_ARGUMENT, "positive", [] { nn::PixelShuffle(0); });
  throws(TRT_INVALID_ARGUMENT, "negative", [] { nn::AdaptiveAvgPool1d(-1); });
}

void recurrent(void**) {
  const Tensor x = trt::randn({5, 3, 2}), one = x[0];
  trt::nn::LSTM lstm(trt::nn::LSTMOptions(2, 4).num_layers(2).proj_size(3).dropout(0.5).bias(true).batch_first(false).bidirectional(true));
  lstm->train(false);
  auto [y, states] = lstm(x);
  auto [h, c] = states;
  assert_true(y.sizes() == std::vector<std::int64_t>({5, 3, 6}) && h.sizes() == std::vector<std::int64_t>({4, 3, 3}) &&
              c.sizes() == std::vector<std::int64_t>({4, 3, 4}));
  assert_true(!trt::equal(y, std::get<0>(lstm(x, h, c))));
  trt::nn::GRU gru(2, 4);
  trt::nn::RNN rnn(trt::nn::RNNOptions(2, 4).relu(true));
  assert_true(std::get<1>(gru(x)).sizes() == std::get<1>(rnn->forward(x)).sizes());
  trt::nn::LSTMCell lstm_cell(2, 4);
  trt::nn::GRUCell gru_cell(2, 4);
  trt::nn::RNNCell rnn_cell(2, 4);
  assert_true(std::get<1>(lstm_cell(one)).size(1) == 4 && gru_cell(one).size(1) == 4 && rnn_cell(one, gru_cell(one)).size(0) == 3);
  throws(TRT_INVALID_ARGUMENT, "features", [&] { gru(trt::ones({5, 3, 3})); });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(more_layers), cmocka_unit_test(layers),       cmocka_unit_test(custom_modules), cmocka_unit_test(trees),
      cmocka_unit_test(initializers), cmocka_unit_test(losses),         cmocka_unit_test(optimizers),
      cmocka_unit_test(datasets),     cmocka_unit_test(gradients),      cmocka_unit_test(library),
      cmocka_unit_test(dispatcher),   cmocka_unit_test(hooks),          cmocka_unit_test(graphs_and_tokens),
      cmocka_unit_test(plain_layers),   cmocka_unit_test(recurrent),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
