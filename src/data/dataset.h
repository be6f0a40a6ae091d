// Datasets: where samples come from. A sample is a list of tensors; a batch is the same list with a new first dimension.
//
// Thread safety: datasets are immutable, and size, get and batch are called from several threads at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/intrusive_ptr.h"
#include "core/tensor.h"

namespace trt::data {

// How many datasets may be stacked on one another: each is a few frames of the stack in get() and at the end.
constexpr int kMaxDatasetDepth = 1000;

class Dataset : public RefCounted<Dataset> {
 public:
  // `base`: the dataset that this one is made of, if any; throws kInvalidArgument when that is stacked too deep.
  explicit Dataset(const Dataset* base = nullptr);
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // Sample `index`, 0 <= index < size(); throws kOutOfRange. The tensors may share memory with the dataset.
  virtual std::vector<Tensor> get(int64_t index) const = 0;
  // The samples `indices`, stacked: new memory, without history. By default get() and stack(); a dataset whose samples lie in memory
  // side by side copies rows instead.
  virtual std::vector<Tensor> batch(IntArrayRef indices) const;

 protected:
  void check_index(int64_t index) const;

 private:
  int depth_;
};
using DatasetPtr = intrusive_ptr<Dataset>;

// Stacks samples along a new first dimension. Every sample must have as many tensors, and those the same dtype and sizes, as the first;
// throws kInvalidArgument naming the sample (by its entry in `indices`) that differs. `samples` is not empty.
std::vector<Tensor> stack_samples(const std::vector<std::vector<Tensor>>& samples, IntArrayRef indices);

// Row i of every tensor is sample i. All tensors are on the CPU and have the same first dimension.
class TensorDataset final : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> tensors);
  int64_t size() const override { return size_; }
  std::vector<Tensor> get(int64_t index) const override;
  std::vector<Tensor> batch(IntArrayRef indices) const override;

 private:
  std::vector<Tensor> tensors_;
  int64_t size_;
};

// How ImageDataset gives its images.
struct ImageOptions {
  bool normalize = true;  // to float32: (pixel / 255 - mean) / std; else uint8 as they are
  float mean = 0, std = 1;
  bool add_channel = true;  // [H, W] becomes [1, H, W]
};

// uint8 images [N, H, W] (or any sizes after N) and integer labels [N], which become int64. The sample is (image, label); without labels
// (undefined) it is (image).
class ImageDataset final : public Dataset {
 public:
  ImageDataset(Tensor images, const Tensor& labels, const ImageOptions& options);
  int64_t size() const override { return images_.size(0); }
  std::vector<Tensor> get(int64_t index) const override;
  std::vector<Tensor> batch(IntArrayRef indices) const override;

 private:
  void fill(Tensor& out, IntArrayRef indices) const;
  Tensor images_;  // contiguous
  Tensor labels_;  // contiguous int64, or undefined
  ImageOptions options_;
  DimVector sample_sizes_;
  std::vector<float> table_;  // the float of each pixel value
};

// Samples made by a function, which is called from several threads at once.
class FunctionDataset final : public Dataset {
 public:
  using Get = std::function<std::vector<Tensor>(int64_t index)>;
  FunctionDataset(int64_t size, Get get);
  int64_t size() const override { return size_; }
  std::vector<Tensor> get(int64_t index) const override;

 private:
  int64_t size_;
  Get get_;
};

// The samples of another dataset, changed by a function, which is called from several threads at once.
class MapDataset final : public Dataset {
 public:
  using Map = std::function<std::vector<Tensor>(std::vector<Tensor> sample)>;
  MapDataset(DatasetPtr base, Map map) : Dataset(base.get()), base_(std::move(base)), map_(std::move(map)) {}
  int64_t size() const override { return base_->size(); }
  std::vector<Tensor> get(int64_t index) const override { return map_(base_->get(index)); }

 private:
  DatasetPtr base_;
  Map map_;
};

// Some samples of another dataset, in a given order; repetitions are allowed.
class Subset final : public Dataset {
 public:
  Subset(DatasetPtr base, std::vector<int64_t> indices);
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  std::vector<Tensor> get(int64_t index) const override;
  std::vector<Tensor> batch(IntArrayRef indices) const override;

 private:
  DatasetPtr base_;
  std::vector<int64_t> indices_;
};

}  // namespace trt::data
