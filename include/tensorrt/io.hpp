// Files in C++17, over io.h (which documents formats and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_IO_HPP
#define TENSORRT_IO_HPP

#include "tensorrt/nn.hpp"

namespace trt {

/** An open safetensors file; empty after default construction. */
class Safetensors : public detail::Handle<trt_safetensors, trt_safetensors_retain, trt_safetensors_release> {
 public:
  Safetensors() = default;
  explicit Safetensors(const std::string& path) : Handle(detail::create(trt_safetensors_open, path.c_str())) {}
  std::size_t size() const { return trt_safetensors_size(get()); }
  std::string name(std::size_t i) const { return text(trt_safetensors_name(get(), i)); }
  std::vector<std::string> keys() const {
    std::vector<std::string> k;
    for (std::size_t i = 0; i < size(); ++i) k.push_back(name(i));
    return k;
  }
  /** The position of a name. */
  std::size_t find(const std::string& name) const { return detail::create(trt_safetensors_find, get(), name.c_str()); }
  /** Nothing for a dtype that the library lacks. */
  std::optional<DType> dtype(std::size_t i) const {
    const trt_dtype d = trt_safetensors_dtype(get(), i);
    return d == TRT_DTYPE_NONE ? std::nullopt : std::optional<DType>(static_cast<DType>(d));
  }
  /** The dtype as the file says it: "F32". */
  std::string dtype_text(std::size_t i) const { return text(trt_safetensors_dtype_text(get(), i)); }
  std::vector<std::int64_t> sizes(std::size_t i) const {
    const std::int64_t* s = trt_safetensors_sizes(get(), i);
    return s ? std::vector<std::int64_t>(s, s + trt_safetensors_ndim(get(), i)) : std::vector<std::int64_t>();
  }
  Tensor tensor(const std::string& name, trt_load_mode mode = TRT_LOAD_COPY) const {
    return Tensor::adopt(detail::create(trt_safetensors_tensor, get(), name.c_str(), mode));
  }
  Tensor operator[](const std::string& name) const { return tensor(name); }
  /** All tensors, in the order of the names. */
  std::vector<Tensor> tensors(trt_load_mode mode = TRT_LOAD_COPY) const {
    return detail::take(detail::create(trt_safetensors_tensors, get(), mode));
  }
  /** The value of a metadata key, if there is one. */
  std::optional<std::string> metadata(const std::string& key) const {
    const char* v = trt_safetensors_metadata(get(), key.c_str());
    return v ? std::optional<std::string>(v) : std::nullopt;
  }
  /** All metadata, in the file's order. */
  std::vector<std::pair<std::string, std::string>> metadata() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t i = 0; i < trt_safetensors_metadata_size(get()); ++i)
      all.emplace_back(text(trt_safetensors_metadata_key(get(), i)), text(trt_safetensors_metadata_value(get(), i)));
    return all;
  }

 private:
  static std::string text(const char* s) { return s ? s : ""; }
};

/** Saves named tensors with metadata strings, atomically. */
inline void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                             const std::vector<std::pair<std::string, std::string>>& metadata = {}) {
  std::vector<const char*> names;
  std::vector<const trt_tensor*> raw;
  for (const auto& [name, t] : tensors) {
    names.push_back(name.c_str());
    raw.push_back(t.get());
  }
  const detail::StringPairs m(metadata);
  check(trt_safetensors_save(path.c_str(), names.data(), raw.data(), raw.size(), m.keys(), m.values(), m.size()));
}

/** Saves what has a state dict (a module, an optimizer, a scheduler) as a safetensors file. */
template <typename T>
auto save(const T& object, const std::string& path) -> decltype(object.state_dict().save(path)) {
  object.state_dict().save(path);
}
template <typename T>
void save(const std::shared_ptr<T>& object, const std::string& path) {
  save(*object, path);
}
inline void save(const StateDict& dict, const std::string& path) { dict.save(path); }
/** Saves tensors under the names "0", "1", ... */
inline void save(const std::vector<Tensor>& tensors, const std::string& path) {
  std::vector<std::pair<std::string, Tensor>> named;
  for (const Tensor& t : tensors) named.emplace_back(std::to_string(named.size()), t);
  save_safetensors(path, named);
}
inline void save(const Tensor& tensor, const std::string& path) { save(std::vector<Tensor>{tensor}, path); }

/** Loads a file into what has a state dict; one that does not fit is an error that names every difference. */
template <typename T>
auto load(T& object, const std::string& path) -> decltype(object.load_state_dict(StateDict::load(path))) {
  object.load_state_dict(StateDict::load(path));
}
template <typename T>
void load(const std::shared_ptr<T>& object, const std::string& path) {
  load(*object, path);
}
inline void load(StateDict& dict, const std::string& path) { dict = StateDict::load(path); }
/** The tensors of a file that save wrote, in their order. */
inline void load(std::vector<Tensor>& tensors, const std::string& path) {
  const Safetensors file(path);
  std::vector<Tensor> loaded;
  for (std::size_t i = 0; i < file.size(); ++i) loaded.push_back(file[std::to_string(i)]);
  tensors = std::move(loaded);
}
/** The tensor of a file with one, of any name. */
inline void load(Tensor& tensor, const std::string& path) {
  const Safetensors file(path);
  if (file.size() != 1)
    throw Error(TRT_INVALID_ARGUMENT, "load: one tensor is wanted, '" + path + "' has " + std::to_string(file.size()));
  tensor = file[file.name(0)];
}

/** The array of an IDX file, plain or gzip. */
inline Tensor load_idx(const std::string& path) { return Tensor::adopt(detail::create(trt_idx_load, path.c_str())); }

}  // namespace trt

#endif
