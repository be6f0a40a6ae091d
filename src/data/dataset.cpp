#include "data/dataset.h"

#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "iter/copy.h"

namespace trt::data {

namespace {

// Bytes that one thread should copy at least.
constexpr int64_t kCopyGrain = 1 << 16;

int64_t row_grain(int64_t row_bytes) { return std::max<int64_t>(1, kCopyGrain / std::max<int64_t>(1, row_bytes)); }

Tensor row_of(const Tensor& t, int64_t index) {
  return alias_tensor(t, t.sizes().slice(1, t.sizes().size() - 1), t.strides().slice(1, t.strides().size() - 1),
                      t.storage_offset() + index * t.stride(0));
}

DimVector with_first(int64_t n, IntArrayRef rest) {
  DimVector sizes{n};
  for (const int64_t s : rest) sizes.push_back(s);
  return sizes;
}

// out[i] = t[indices[i]].
Tensor gather_rows(const Tensor& t, IntArrayRef indices) {
  const IntArrayRef rest = t.sizes().slice(1, t.sizes().size() - 1);
  const int64_t n = static_cast<int64_t>(indices.size());
  Tensor out = empty_tensor(with_first(n, rest), t.dtype());
  if (out.numel() == 0) return out;
  const int64_t row_bytes = out.numel() / n * static_cast<int64_t>(t.itemsize());
  const bool rows_contiguous = strides_are_contiguous(rest, t.strides().slice(1, rest.size()));
  const int64_t step = t.stride(0) * static_cast<int64_t>(t.itemsize());
  const char* const from = static_cast<const char*>(t.data());
  char* const to = static_cast<char*>(out.data());
  parallel_for(0, n, row_grain(row_bytes), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t row = indices[static_cast<size_t>(i)];
      if (rows_contiguous) {
        std::memcpy(to + i * row_bytes, from + row * step, static_cast<size_t>(row_bytes));
      } else {
        Tensor target = row_of(out, i);
        copy_tensor(target, row_of(t, row));
      }
    }
  });
  return out;
}

}  // namespace

Dataset::Dataset(const Dataset* base) : depth_(base ? base->depth_ + 1 : 0) {
  TRT_CHECK(depth_ <= kMaxDatasetDepth, "dataset: a map or subset on top of ", kMaxDatasetDepth, " others; no deeper nesting is possible");
}

void Dataset::check_index(int64_t index) const {
  TRT_CHECK_CODE(index >= 0 && index < size(), Code::kOutOfRange, "dataset: index ", index, " is out of range for ", size(), " samples");
}

std::vector<Tensor> Dataset::batch(IntArrayRef indices) const {
  std::vector<std::vector<Tensor>> samples;
  samples.reserve(indices.size());
  for (const int64_t i : indices) samples.push_back(get(i));
  return stack_samples(samples, indices);
}

std::vector<Tensor> stack_samples(const std::vector<std::vector<Tensor>>& samples, IntArrayRef indices) {
  TRT_CHECK(!samples.empty(), "a batch needs at least one sample");
  const std::vector<Tensor>& first = samples[0];
  const int64_t n = static_cast<int64_t>(samples.size());
  std::vector<Tensor> result;
  for (const std::vector<Tensor>& s : samples) {
    const int64_t index = indices[static_cast<size_t>(&s - samples.data())];
    TRT_CHECK(s.size() == first.size(), "batch: sample ", index, " has ", s.size(), " tensors, sample ", indices[0], " has ", first.size());
    for (size_t f = 0; f < s.size(); ++f) {
      TRT_CHECK(s[f].defined() && s[f].device().is_cpu(), "batch: tensor ", f, " of sample ", index, " is ", s[f], "; a CPU tensor is needed");
      TRT_CHECK(s[f].dtype() == first[f].dtype() && s[f].sizes() == first[f].sizes(), "batch: tensor ", f, " of sample ", index, " is ", s[f],
                ", of sample ", indices[0], " it is ", first[f], "; they cannot be stacked");
    }
  }
  for (size_t f = 0; f < first.size(); ++f) {
    Tensor out = empty_tensor(with_first(n, first[f].sizes()), first[f].dtype());
    const int64_t row_bytes = first[f].numel() * static_cast<int64_t>(first[f].itemsize());
    char* const to = static_cast<char*>(out.data());
    if (row_bytes > 0) {
      parallel_for(0, n, row_grain(row_bytes), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) {
          const Tensor& from = samples[static_cast<size_t>(i)][f];
          if (from.is_contiguous()) {
            std::memcpy(to + i * row_bytes, from.data(), static_cast<size_t>(row_bytes));
          } else {
            Tensor target = row_of(out, i);
            copy_tensor(target, from);
          }
        }
      });
    }
    result.push_back(std::move(out));
  }
  return result;
}

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)), size_(0) {
  TRT_CHECK(!tensors_.empty(), "a tensor dataset needs at least one tensor");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& t = tensors_[i];
    TRT_CHECK(t.defined() && t.device().is_cpu(), "tensor dataset: tensor ", i, " is ", t, "; a CPU tensor is needed");
    TRT_CHECK(t.dim() >= 1, "tensor dataset: tensor ", i, " has no dimension to take samples from");
    TRT_CHECK(t.size(0) == tensors_[0].size(0), "tensor dataset: the first dimensions differ: tensor 0 is ", tensors_[0], ", tensor ", i, " is ", t);
  }
  size_ = tensors_[0].size(0);
}

std::vector<Tensor> TensorDataset::get(int64_t index) const {
  check_index(index);
  std::vector<Tensor> sample;
  for (const Tensor& t : tensors_) sample.push_back(row_of(t, index));
  return sample;
}

std::vector<Tensor> TensorDataset::batch(IntArrayRef indices) const {
  for (const int64_t i : indices) check_index(i);
  TRT_CHECK(!indices.empty(), "a batch needs at least one sample");
  std::vector<Tensor> result;
  for (const Tensor& t : tensors_) result.push_back(gather_rows(t, indices));
  return result;
}

ImageDataset::ImageDataset(Tensor images, const Tensor& labels, const ImageOptions& options) : options_(options) {
  TRT_CHECK(images.defined() && images.device().is_cpu() && images.dtype() == DType::UInt8 && images.dim() >= 2,
            "image dataset: images must be a uint8 CPU tensor [N, ...] of at least two dimensions, got ", images);
  TRT_CHECK(!options.normalize || (std::isfinite(options.mean) && std::isfinite(options.std) && options.std != 0),
            "image dataset: mean must be finite, and std finite and not zero, got ", options.mean, " and ", options.std);
  TRT_CHECK(!options.add_channel || images.dim() < TensorImpl::kMaxDims, "image dataset: no room for another dimension in ", images);
  images_ = contiguous_tensor(images);
  if (labels.defined()) {
    TRT_CHECK(labels.device().is_cpu() && is_integral(labels.dtype(), false) && labels.dim() == 1, "image dataset: labels must be an integer CPU tensor [N], got ", labels);
    TRT_CHECK(labels.size(0) == images.size(0), "image dataset: there are ", images.size(0), " images but ", labels.size(0), " labels");
    labels_ = contiguous_tensor(labels, DType::Int64);
  }
  if (options.add_channel) sample_sizes_.push_back(1);
  for (int64_t d = 1; d < images.dim(); ++d) sample_sizes_.push_back(images.size(d));
  // The same float operations, in the same order, as torchvision's ToTensor and Normalize.
  if (options.normalize)
    for (int v = 0; v < 256; ++v) table_.push_back((static_cast<float>(v) / 255.0f - options.mean) / options.std);
}

void ImageDataset::fill(Tensor& out, IntArrayRef indices) const {
  const int64_t n = static_cast<int64_t>(indices.size());
  const int64_t pixels = n ? out.numel() / n : 0;
  if (pixels == 0) return;
  const uint8_t* const from = images_.data_ptr<uint8_t>();
  parallel_for(0, n, row_grain(pixels * 2), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const uint8_t* const image = from + indices[static_cast<size_t>(i)] * pixels;
      if (!options_.normalize) {
        std::memcpy(out.data_ptr<uint8_t>() + i * pixels, image, static_cast<size_t>(pixels));
        continue;
      }
      float* const to = out.data_ptr<float>() + i * pixels;
      const float* const table = table_.data();
      for (int64_t p = 0; p < pixels; ++p) to[p] = table[image[p]];
    }
  });
}

std::vector<Tensor> ImageDataset::get(int64_t index) const {
  check_index(index);
  std::vector<Tensor> sample;
  if (options_.normalize) {
    sample.push_back(empty_tensor(sample_sizes_, DType::Float32));
    fill(sample[0], index);
  } else {
    sample.push_back(alias_tensor(images_, sample_sizes_, contiguous_strides(sample_sizes_), images_.storage_offset() + index * images_.stride(0)));
  }
  if (labels_.defined()) sample.push_back(row_of(labels_, index));
  return sample;
}

std::vector<Tensor> ImageDataset::batch(IntArrayRef indices) const {
  for (const int64_t i : indices) check_index(i);
  TRT_CHECK(!indices.empty(), "a batch needs at least one sample");
  std::vector<Tensor> result;
  result.push_back(empty_tensor(with_first(static_cast<int64_t>(indices.size()), sample_sizes_), options_.normalize ? DType::Float32 : DType::UInt8));
  fill(result[0], indices);
  if (labels_.defined()) result.push_back(gather_rows(labels_, indices));
  return result;
}

FunctionDataset::FunctionDataset(int64_t size, Get get) : size_(size), get_(std::move(get)) {
  TRT_CHECK(size >= 0, "the size of a dataset must not be negative, got ", size);
}

std::vector<Tensor> FunctionDataset::get(int64_t index) const {
  check_index(index);
  return get_(index);
}

Subset::Subset(DatasetPtr base, std::vector<int64_t> indices) : Dataset(base.get()), base_(std::move(base)), indices_(std::move(indices)) {
  const int64_t n = base_->size();
  for (const int64_t i : indices_) TRT_CHECK_CODE(i >= 0 && i < n, Code::kOutOfRange, "subset: index ", i, " is out of range for ", n, " samples");
}

std::vector<Tensor> Subset::get(int64_t index) const {
  check_index(index);
  return base_->get(indices_[static_cast<size_t>(index)]);
}

std::vector<Tensor> Subset::batch(IntArrayRef indices) const {
  std::vector<int64_t> mapped;
  mapped.reserve(indices.size());
  for (const int64_t i : indices) {
    check_index(i);
    mapped.push_back(indices_[static_cast<size_t>(i)]);
  }
  return base_->batch(mapped);
}

}  // namespace trt::data
