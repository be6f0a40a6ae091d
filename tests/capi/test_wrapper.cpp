// The header-only C++ wrapper, compiled as C++17 against the shared library: ownership, exceptions, operators, optional
// arguments, lists, tuples, modules, optimizers, loaders, files.
#include "wrapper_support.h"

#include <unistd.h>

#include <thread>

static_assert(__cplusplus == 201703L, "this program shows that C++17 is enough");

namespace {

std::int64_t live_tensors() {
  trt_memory_stats s;
  trt_memory_stats_init(&s);
  trt::check(trt_memory_get_stats(trt::Device().c(), &s));
  return s.allocations;
}

void ownership(void**) {
  std::string trace;
  int freed = 0;
  {
    float memory[] = {1, 2, 3};
    const std::int64_t n = 3;
    trt_tensor* raw = nullptr;
    trt::check(trt_tensor_from_blob(
        memory, &n, nullptr, 1, TRT_FLOAT32, trt::Device().c(), [](void* p) { ++*static_cast<int*>(p); }, &freed,
        &raw));
    Tensor a = Tensor::adopt(raw), b = a, c(std::move(a)), d;
    assert_false(a.defined());
    assert_true(b.get() == c.get());
    d = b;
    auto& self = d;
    d = self;
    assert_true(d.get() == raw);
    b = Tensor();
    c = Tensor();
    assert_int_equal(freed, 0);
    raw = d.release();
    assert_false(d.defined());
    assert_int_equal(freed, 0);
    const Tensor last = Tensor::adopt(raw);
    assert_true(last.data() == memory);
  }
  assert_int_equal(freed, 1);
  const std::int64_t before = live_tensors();
  for (int i = 0; i < 100; ++i) {
    try {
      const Tensor x = trt::randn({300, 300}), y = trt::randn({7});
      const Tensor kept = x + 1.0;
      trt::matmul(kept, y);
      fail();
    } catch (const trt::Error&) {
    }
  }
  assert_int_equal(live_tensors(), before);
  std::thread([t = trt::ones({500, 500})]() mutable { t = trt::neg(t); }).join();
  assert_int_equal(live_tensors(), before);
}

void exceptions(void**) {
  throws(TRT_INVALID_ARGUMENT, "[2, 3]", [] { trt::add(trt::ones({2, 3}), trt::ones({4})); });
  throws(TRT_INVALID_ARGUMENT, "number of values", [] { Tensor::from(std::vector<float>{1, 2, 3}, {2, 2}); });
  throws(TRT_INVALID_ARGUMENT, "negative", [] { Tensor::from(std::vector<float>{1}, {-1}); });
  throws(TRT_INVALID_ARGUMENT, "NULL", [] { trt::neg(Tensor()); });
  throws(TRT_OUT_OF_RANGE, "dimension", [] { trt::ones({2}).size(5); });
  throws(TRT_NOT_FOUND, "no/such/file", [] { trt::Safetensors f("no/such/file"); });
  throws(TRT_INVALID_ARGUMENT, "element", [] { trt::ones({2}).item(); });
  try {
    trt::matmul(trt::ones({2, 3}), trt::ones({2, 3}));
    fail();
  } catch (const std::exception& e) {  // as hosts catch it
    const auto* error = dynamic_cast<const trt::Error*>(&e);
    assert_non_null(error);
    assert_non_null(std::strstr(error->op().c_str(), "matmul"));
    const trt::Error copy = *error;
    assert_string_equal(copy.what(), e.what());
  }
}

void operators(void**) {
  Tensor a = vec({1, 2, 4}), b = vec({4, 3, 2});
  assert_true(is(a + b, {5, 5, 6}) && is(a - b, {-3, -1, 2}) && is(a * b, {4, 6, 8}) && is(a / b, {0.25, 2.0 / 3, 2}) &&
              is(-a, {-1, -2, -4}));
  assert_true(is(a + 1, {2, 3, 5}) && is(a - 0.5, {0.5, 1.5, 3.5}) && is(a * 2.0f, {2, 4, 8}) &&
              is(a / 4, {0.25, 0.5, 1}));
  assert_true(is(1 + a, {2, 3, 5}) && is(1 - a, {0, -1, -3}) && is(2 * a, {2, 4, 8}) && is(8 / a, {8, 4, 2}));
  const void* memory = a.data();
  a += b;
  a -= 1;
  a *= vec({1, 0, 2});
  a /= 2;
  assert_true(is(a, {2, 0, 5}) && a.data() == memory);
  // A number's kind takes part in promotion.
  const Tensor i = Tensor::from(std::vector<std::int32_t>{1, 2});
  assert_true((i + 1).dtype() == DType::Int32 && (i + 1.0).dtype() == DType::Float32 &&
              (i * true).dtype() == DType::Int32 && (i / 2).dtype() == DType::Float32);
  assert_true(i.to_vector<std::int64_t>() == Ints({1, 2}) && i.to_vector<double>() == std::vector<double>({1, 2}));
  assert_true(trt::gt(i, 1).to_vector<std::uint8_t>() == std::vector<std::uint8_t>({0, 1}));
  assert_non_null(std::strstr(i.to_string().c_str(), "[1, 2]"));
  assert_true(Tensor::from(std::vector<double>{7}, Ints{}).item() == 7 && i.dim() == 1 && i.sizes() == Ints{2} &&
              i.numel() == 2);
}

void optional_arguments(void**) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  assert_true(is(trt::sum(x), {21}) && is(trt::sum(x, Ints{0}), {5, 7, 9}) && is(trt::sum(x, {1}, true), {6, 15}));
  assert_true(trt::sum(x, Ints{1}, true).sizes() == Ints({2, 1}));
  assert_true(trt::sum(x, std::nullopt, false, DType::Float64).dtype() == DType::Float64);
  assert_true(is(trt::clamp(x, 2.0), {2, 2, 3, 4, 5, 6}) && is(trt::clamp(x, std::nullopt, 3), {1, 2, 3, 3, 3, 3}) &&
              is(trt::clamp(x, vec({2, 3, 4})), {2, 3, 4, 4, 5, 6}));
  assert_true(is(trt::div(x, Tensor::from(std::vector<float>{2}), "floor"), {0, 1, 1, 2, 2, 3}));
  assert_true(is(trt::norm(x, "fro"), {std::sqrt(91.0)}) && is(trt::norm(x, 1), {21}) &&
              is(trt::norm(x), {std::sqrt(91.0)}));
  assert_true(is(trt::var(x, false), {35.0 / 12}) && is(trt::var(x), {3.5}));
  assert_true(is(trt::slice(x, 1, 1), {2, 3, 5, 6}) && is(trt::slice(x, 1, std::nullopt, -1), {1, 2, 4, 5}));
  assert_true(trt::zeros({2, 2}, DType::Int8).dtype() == DType::Int8 &&
              trt::zeros({2}, std::nullopt, trt::Device(TRT_META)).device().c().type == TRT_META);
  assert_true(is(trt::linear(x, trt::ones({2, 3})), {6, 6, 15, 15}) &&
              is(trt::linear(x, trt::ones({2, 3}), vec({1, 2})), {7, 8, 16, 17}));
  const Tensor image = trt::ones({1, 1, 3, 3}), kernel = trt::ones({1, 1, 3, 3});
  assert_true(is(trt::conv2d(image, kernel), {9}));
  assert_true(is(trt::conv2d(image, kernel, {}, {1, 1}, "same"), {4, 6, 4, 6, 9, 6, 4, 6, 4}));
  assert_true(is(trt::conv2d(image, kernel, {}, {2, 2}, Ints{1, 1}), {4, 4, 4, 4}));
  trt::Generator g(3), h(3);
  const Tensor r = trt::randn({5}, g), s = trt::randn({5}, h), t = trt::randn({5}, g);
  assert_true(trt::equal(r, s) && !trt::equal(r, t));
  trt::check(trt_manual_seed(3));
  assert_true(trt::equal(trt::randn({5}), r));
}

void lists_and_tuples(void**) {
  const Tensor x = Tensor::from(std::vector<float>{3, 1, 2, 6, 5, 4}, {2, 3});
  auto [values, indices] = trt::sort(x);
  assert_true(is(values, {1, 2, 3, 4, 5, 6}) && indices.to_vector<std::int64_t>() == Ints({1, 2, 0, 2, 1, 0}));
  auto [top, at] = trt::topk(x, 1);
  assert_true(is(top, {3, 6}) && is(at, {0, 0}));
  const auto largest = trt::max(x, 0, true);
  assert_true(is(std::get<0>(largest), {6, 5, 4}) && std::get<1>(largest).sizes() == Ints({1, 3}));
  assert_true(is(trt::max(x), {6}) && is(trt::max(x, trt::full({3}, 3.5)), {3.5, 3.5, 3.5, 6, 5, 4}));
  std::vector<Tensor> rows = trt::unbind(x), parts = trt::split(x, 2, 1), sized = trt::split(x, Ints{1, 2}, 1);
  assert_true(rows.size() == 2 && parts.size() == 2 && sized.size() == 2);
  assert_true(is(rows[1], {6, 5, 4}) && is(parts[1], {2, 4}) && is(sized[1], {1, 2, 5, 4}));
  assert_true(is(trt::cat(rows), {3, 1, 2, 6, 5, 4}) && trt::stack(rows, 1).sizes() == Ints({3, 2}));
  throws(TRT_INVALID_ARGUMENT, "cat", [] { trt::cat({}); });
  throws(TRT_INVALID_ARGUMENT, "NULL", [&] { trt::cat({x, Tensor()}); });
  // An empty element of an index list is a full slice.
  const Tensor i = Tensor::from(std::vector<std::int64_t>{0, 2});
  assert_true(is(trt::index_put(x, {Tensor(), i}, trt::zeros({1})), {0, 1, 0, 0, 5, 0}));
}

void gradients(void**) {
  Tensor x = vec({1, 2, 3});
  x.set_requires_grad();
  Tensor loss = trt::sum(x * x);
  loss.backward();
  assert_true(is(x.grad(), {2, 4, 6}) && !loss.detach().requires_grad());
  x.zero_grad();
  assert_false(x.grad().defined());
  {
    trt::NoGrad off;
    assert_false((x * x).requires_grad());
    {
      trt::GradMode on(true);
      assert_true((x * x).requires_grad());
    }
    assert_false((x * x).requires_grad());
  }
  assert_true((x * x).requires_grad());
  try {
    trt::NoGrad off;
    trt::matmul(x, trt::ones({2}));
  } catch (const trt::Error&) {
  }
  assert_true(trt_grad_mode());
  throws(TRT_FAILED_PRECONDITION, "backward", [&] { loss.backward(); });
}

struct TemporaryFile {
  char path[64] = "/tmp/trt-wrapper-XXXXXX";
  TemporaryFile() { close(mkstemp(path)); }
  ~TemporaryFile() { unlink(path); }
};

trt::Module network() {
  using namespace trt::nn;
  return Sequential({Linear(2, 16), Tanh(), LayerNorm({16}), Linear(16, 2)});
}

// Learns the sign of x * y from batches, saves, loads into a fresh network, and goes on exactly as the first.
void training(void**) {
  trt::check(trt_manual_seed(1));
  const Tensor points = trt::randn({256, 2});
  const Tensor product = trt::mul(points.select(1, 0), points.select(1, 1));
  const Tensor labels = trt::to(trt::gt(product, 0), DType::Int64);
  const trt::Dataset data = trt::Dataset::from({points, labels});
  assert_int_equal(data.size(), 256);
  assert_true(data[3].size() == 2 && data[3][0].sizes() == Ints{2});
  trt::DataLoader loader(data, trt::DataLoaderOptions(60).shuffle().seed(5).workers(2));
  assert_int_equal(loader.batches(), 5);
  trt::Module net = network();
  assert_int_equal(net.parameter_count(), 2 * 16 + 16 + 32 + 16 * 2 + 2);
  assert_non_null(std::strstr(net.to_string().c_str(), "Linear(in_features=2, out_features=16"));
  trt::Optimizer optimizer = trt::optim::AdamW(net.parameters(), 0.02);
  trt::Scheduler scheduler = trt::optim::CosineAnnealingLR(optimizer, 40);
  const auto epoch = [&](trt::Module& m, trt::Optimizer& o) {
    double total = 0;
    int samples = 0;
    while (const auto batch = loader.next()) {
      o.zero_grad();
      const Tensor loss = trt::cross_entropy(m((*batch)[0]), (*batch)[1]);
      loss.backward();
      o.step();
      total += loss.item() * static_cast<double>((*batch)[0].size(0));
      samples += static_cast<int>((*batch)[0].size(0));
    }
    assert_int_equal(samples, 256);
    loader.reset();
    return total / samples;
  };
  const double first = epoch(net, optimizer);
  double last = first;
  for (int i = 0; i < 20; ++i) {
    last = epoch(net, optimizer);
    scheduler.step();
  }
  assert_true(last < 0.5 * first && optimizer.lr() < 0.02);

  const TemporaryFile file;
  std::vector<std::pair<std::string, Tensor>> tensors;
  const auto put = [&](const std::string& prefix, const trt::StateDict& d) {
    for (std::size_t i = 0; i < d.size(); ++i) tensors.emplace_back(prefix + d.name(i), d.tensor(i));
  };
  put("net.", net.state_dict());
  put("optimizer.", optimizer.state_dict());
  trt::save_safetensors(file.path, tensors, {{"epoch", "21"}, {"who", "äöü"}});
  const trt::Safetensors saved(file.path);
  assert_int_equal(saved.size(), tensors.size());
  assert_true(saved.metadata("epoch") == std::optional<std::string>("21") &&
              saved.metadata("who") == std::optional<std::string>("äöü") && !saved.metadata("none"));
  trt::StateDict weights, state;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::string name = saved.name(i);
    if (name.rfind("net.", 0) == 0)
      weights.set(name.substr(4), saved.tensor(name, TRT_LOAD_MAP));
    else
      state.set(name.substr(10), saved.tensor(name));
  }
  trt::Module copy = network();
  copy.load_state_dict(weights);
  trt::Optimizer other = trt::optim::AdamW(copy.parameters(), 0.02);
  other.load_state_dict(state);
  net.eval();
  copy.eval();
  assert_false(copy.is_training());
  {
    trt::NoGrad off;
    assert_true(trt::equal(net(points), copy(points)));
  }
  net.train();
  copy.train();
  other.set_lr(optimizer.lr());
  loader.set_epoch(100);
  const double a = epoch(net, optimizer);
  loader.set_epoch(100);
  assert_true(a == epoch(copy, other));
  trt::StateDict wrong;
  wrong.set("0.weight", trt::zeros({3, 3}));
  assert_true(wrong.contains("0.weight") && !wrong.contains("1"));
  const std::vector<float> before = copy.parameters()[0].to_vector<float>();
  throws(TRT_INVALID_ARGUMENT, "0.weight", [&] { copy.load_state_dict(wrong); });
  assert_true(copy.parameters()[0].to_vector<float>() == before);
  Tensor p = vec({1, 2});
  p.set_requires_grad();
  trt::Optimizer plain = trt::optim::SGD({p}, 0.5);
  trt::sum(p * p).backward();
  plain.step();
  assert_true(is(p, {0, 0}));
}

void higher_gradients(void**) {
  Tensor x = vec({1, 2, 3});
  x.set_requires_grad();
  // The second derivative of x^3 is 6 x.
  const Tensor first = trt::grad(trt::sum(x * x * x), {x}, {}, false, true)[0];
  assert_true(is(first, {3, 12, 27}));
  assert_true(is(trt::grad(trt::sum(first), {x})[0], {6, 12, 18}));
  assert_false(x.grad().defined());
  const Tensor square = x * x;
  square.backward(vec({1, 0, 2}), true);
  square.backward(vec({1, 0, 2}));
  assert_true(is(x.grad(), {4, 0, 24}));
  Tensor other = vec({1});
  other.set_requires_grad();
  const Tensor total = trt::sum(x);
  throws(TRT_FAILED_PRECONDITION, "does not reach", [&] { trt::grad(total, {other}); });
  const trt::InferenceMode inference;
  assert_true(!(x * x).requires_grad());
}

void saved_state(void**) {
  char path[64] = "/tmp/trt-state-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  trt::StateDict d;
  d.set("a.weight", vec({1, 2}));
  d.set("b", trt::zeros({2, 0}));
  d.save(path);
  const trt::StateDict back = trt::StateDict::load(path);
  assert_true(back.size() == 2 && back.name(0) == "a.weight" && is(back["a.weight"], {1, 2}) &&
              back["b"].sizes() == d["b"].sizes());
  std::remove(path);
  throws(TRT_NOT_FOUND, path, [&] { trt::StateDict::load(path); });
  throws(TRT_INVALID_ARGUMENT, "NULL", [] { Tensor().to_string(); });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(ownership),          cmocka_unit_test(exceptions),       cmocka_unit_test(operators),
      cmocka_unit_test(optional_arguments), cmocka_unit_test(lists_and_tuples), cmocka_unit_test(gradients),
      cmocka_unit_test(training),           cmocka_unit_test(higher_gradients), cmocka_unit_test(saved_state),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
