// Datasets, loaders and files in C++17, over data.h and io.h (which document behaviour and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_DATA_HPP
#define TENSORRT_DATA_HPP

#include "tensorrt/tensorrt.hpp"

namespace trt {

class Dataset : public detail::Handle<trt_dataset, trt_dataset_retain, trt_dataset_release> {
 public:
  explicit Dataset(trt_dataset* owned) : Handle(owned) {}
  /** Row i of every tensor is sample i. */
  static Dataset from(const std::vector<Tensor>& tensors) {
    const auto raw = detail::handles(tensors);
    return Dataset(detail::create(trt_dataset_from_tensors, raw.data(), raw.size()));
  }
  static Dataset from_idx(const std::string& images, const std::string& labels, const trt_image_options& o) {
    return Dataset(detail::create(trt_dataset_from_idx, images.c_str(), labels.c_str(), &o));
  }
  std::int64_t size() const { return trt_dataset_size(get()); }
  std::vector<Tensor> operator[](std::int64_t i) const { return detail::take(detail::create(trt_dataset_get, get(), i)); }
};

/** Options of a loader with their defaults. */
inline trt_data_loader_options loader_options() {
  trt_data_loader_options o;
  trt_data_loader_options_init(&o);
  return o;
}

class DataLoader : public detail::Handle<trt_data_loader, trt_data_loader_retain, trt_data_loader_release> {
 public:
  DataLoader(const Dataset& d, const trt_data_loader_options& o) : Handle(detail::create(trt_data_loader_create, d.get(), &o)) {}
  /** The next batch, or nothing at the end of the epoch. */
  std::optional<std::vector<Tensor>> next() {
    trt_tensor_list* batch = nullptr;
    bool more = false;
    check(trt_data_loader_next(get(), &batch, &more));
    if (!more) return std::nullopt;
    return detail::take(batch);
  }
  void reset() { check(trt_data_loader_reset(get())); }
  void set_epoch(std::int64_t epoch) { check(trt_data_loader_set_epoch(get(), epoch)); }
  std::int64_t batches() const { return trt_data_loader_batches(get()); }
};

/** An open safetensors file. */
class Safetensors : public detail::Handle<trt_safetensors, trt_safetensors_retain, trt_safetensors_release> {
 public:
  explicit Safetensors(const std::string& path) : Handle(detail::create(trt_safetensors_open, path.c_str())) {}
  std::size_t size() const { return trt_safetensors_size(get()); }
  std::string name(std::size_t i) const { return trt_safetensors_name(get(), i); }
  Tensor tensor(const std::string& name, trt_load_mode mode = TRT_LOAD_COPY) const {
    return Tensor::adopt(detail::create(trt_safetensors_tensor, get(), name.c_str(), mode));
  }
  /** The value of a metadata key, if there is one. */
  std::optional<std::string> metadata(const std::string& key) const {
    const char* v = trt_safetensors_metadata(get(), key.c_str());
    return v ? std::optional<std::string>(v) : std::nullopt;
  }
};

/** Saves named tensors with metadata strings, atomically. */
inline void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                             const std::vector<std::pair<std::string, std::string>>& metadata = {}) {
  std::vector<const char*> names, keys, values;
  std::vector<const trt_tensor*> raw;
  for (const auto& [name, t] : tensors) {
    names.push_back(name.c_str());
    raw.push_back(t.get());
  }
  for (const auto& [key, value] : metadata) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  check(trt_safetensors_save(path.c_str(), names.data(), raw.data(), raw.size(), keys.data(), values.data(), keys.size()));
}

}  // namespace trt

#endif
