// The Fashion-MNIST example of examples/c in C++17, through the header-only wrapper: the same network, order of images and losses, and the same
// checkpoints.
//
//   fashion_mnist_cpp [--data DIR] [--epochs N] [--batch-size N] [--lr X] [--threads N] [--seed N] [--save FILE] [--resume FILE] [--stop-after N]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

#include "tensorrt/tensorrt.hpp"

namespace {

const std::string kFormat = "libtensorrt fashion_mnist 1";

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist", save, resume;
  long epochs = 5, batch_size = 128, threads = 0, seed = 1, stop_after = 0;
  double lr = 5e-3;
};

Options parse(int argc, char** argv) {
  Options o;
  const std::map<std::string, std::string*> texts = {{"--data", &o.data}, {"--save", &o.save}, {"--resume", &o.resume}};
  const std::map<std::string, long*> numbers = {
      {"--epochs", &o.epochs}, {"--batch-size", &o.batch_size}, {"--threads", &o.threads}, {"--seed", &o.seed}, {"--stop-after", &o.stop_after}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    const std::string value = argv[i + 1];
    std::size_t used = value.size();
    if (texts.count(name)) *texts.at(name) = value;
    else if (numbers.count(name)) *numbers.at(name) = std::stol(value, &used);
    else if (name == "--lr") o.lr = std::stod(value, &used);
    else throw std::invalid_argument("unknown option " + name);
    if (used != value.size()) throw std::invalid_argument(name + " needs a number, got " + value);
  }
  return o;
}

trt::Dataset load(const std::string& directory, const std::string& part) {
  const std::string prefix = directory + "/" + part;
  return trt::Dataset::from_idx(prefix + "-images-idx3-ubyte.gz", prefix + "-labels-idx1-ubyte.gz", trt::ImageOptions().mean(0.2860f).std_dev(0.3530f));
}

trt::nn::Sequential build_network() {
  using namespace trt::nn;
  const auto conv = [](int in, int out) { return Conv2dOptions(in, out, 3).padding(1).bias(false); };
  // Braces evaluate the layers in order, which fixes the initial weights.
  return Sequential{Conv2d(conv(1, 32)),  BatchNorm2d(32),              ReLU(), MaxPool2d(2), Conv2d(conv(32, 64)),
                    BatchNorm2d(64),      ReLU(),                       MaxPool2d(2), Flatten(), Dropout(0.25),
                    Linear(64 * 7 * 7, 128, false), BatchNorm1d(128), ReLU(), Linear(128, 10)};
}

struct Run {
  trt::nn::Sequential network;
  trt::optim::AdamW optimizer;
  trt::optim::OneCycleLR scheduler;
  long epoch = 0;
};

void save(const Run& r, const Options& o) {
  std::vector<std::pair<std::string, trt::Tensor>> tensors;
  const auto add = [&](const std::string& prefix, const trt::StateDict& d) {
    for (const auto& [name, tensor] : d) tensors.emplace_back(prefix + "." + name, tensor);
  };
  add("network", r.network.state_dict());
  add("optimizer", r.optimizer.state_dict());
  add("scheduler", r.scheduler.state_dict());
  const auto generator = trt::Generator().state();
  trt::save_safetensors(o.save, tensors,
                        {{"format", kFormat},
                         {"epoch", std::to_string(r.epoch)},
                         {"epochs", std::to_string(o.epochs)},
                         {"batch_size", std::to_string(o.batch_size)},
                         {"seed", std::to_string(o.seed)},
                         {"generator_seed", std::to_string(generator.seed)},
                         {"generator_offset", std::to_string(generator.offset)}});
}

void resume(Run& r, const Options& o) {
  const trt::Safetensors file(o.resume);
  if (file.metadata("format") != kFormat) throw std::runtime_error(o.resume + " is no checkpoint of this program");
  const auto number = [&](const std::string& key) {
    const auto text = file.metadata(key);
    if (!text) throw std::runtime_error(o.resume + ": the entry '" + key + "' is missing");
    return std::stoull(*text);
  };
  for (const auto& [key, value] : std::map<std::string, long>{{"epochs", o.epochs}, {"batch_size", o.batch_size}, {"seed", o.seed}})
    if (number(key) != static_cast<unsigned long long>(value)) throw std::runtime_error(o.resume + " was trained with another value of " + key);
  const auto section = [&](const std::string& prefix) {
    trt::StateDict d;
    for (const std::string& name : file.keys())
      if (name.rfind(prefix + ".", 0) == 0) d.set(name.substr(prefix.size() + 1), file[name]);
    return d;
  };
  r.network.load_state_dict(section("network"));
  r.optimizer.load_state_dict(section("optimizer"));
  r.scheduler.load_state_dict(section("scheduler"));
  r.epoch = static_cast<long>(number("epoch"));
  trt::Generator().set_state({number("generator_seed"), number("generator_offset")});
  std::printf("resumed %s after epoch %ld\n", o.resume.c_str(), r.epoch);
}

double train_epoch(Run& r, trt::DataLoader& loader) {
  r.network.train();
  loader.set_epoch(r.epoch);
  double total = 0;
  long steps = 0;
  for (auto& [images, labels] : loader) {
    const trt::Tensor loss = trt::cross_entropy(r.network(images), labels);
    r.optimizer.zero_grad();
    loss.backward();
    r.optimizer.step();
    r.scheduler.step();
    total += loss.item<double>();
    ++steps;
  }
  if (!std::isfinite(total)) throw std::runtime_error("the loss is no longer finite; try a smaller --lr");
  return total / static_cast<double>(steps ? steps : 1);
}

double evaluate(Run& r, trt::DataLoader& loader) {
  const trt::NoGradGuard no_grad;
  r.network.eval();
  double right = 0, seen = 0;
  for (auto& [images, labels] : loader) {
    right += (r.network(images).argmax(1) == labels).sum().item<double>();
    seen += static_cast<double>(labels.numel());
  }
  return 100 * right / seen;
}

int run(int argc, char** argv) {
  const Options o = parse(argc, argv);
  if (o.threads) trt::set_num_threads(static_cast<int>(o.threads));
  trt::manual_seed(static_cast<std::uint64_t>(o.seed));
  const std::string folder = std::filesystem::path(o.save).parent_path().string();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) throw std::runtime_error("saving the checkpoint: there is no folder " + folder);
  const trt::Dataset train = load(o.data, "train"), test = load(o.data, "t10k");
  trt::DataLoader train_loader(train, trt::DataLoaderOptions(o.batch_size).shuffle().drop_last().seed(o.seed));
  trt::DataLoader test_loader(test, trt::DataLoaderOptions(500).seed(o.seed));

  const auto network = build_network();
  trt::optim::AdamW optimizer(network->parameters(), o.lr);
  Run r{network, optimizer, trt::optim::OneCycleLR(optimizer, o.lr, std::max<std::int64_t>(1, train_loader.batches() * o.epochs))};
  std::printf("%s\n%lld parameters\n", network.to_string().c_str(), static_cast<long long>(network.parameter_count()));
  if (!o.resume.empty()) resume(r, o);
  const long last = o.stop_after ? std::min(o.stop_after, o.epochs) : o.epochs;
  while (r.epoch < last) {
    const auto begin = std::chrono::steady_clock::now();
    const double loss = train_epoch(r, train_loader);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double accuracy = evaluate(r, test_loader);
    ++r.epoch;
    std::printf("epoch %ld/%ld  loss %.9g  test accuracy %.2f %%  %.0f images/s\n", r.epoch, o.epochs, loss, accuracy,
                static_cast<double>(train_loader.batches() * o.batch_size) / took.count());
    std::fflush(stdout);
    if (!o.save.empty()) save(r, o);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "fashion_mnist_cpp: " << e.what() << "\n";
    return 1;
  }
}
