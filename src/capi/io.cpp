// io.h: safetensors and IDX files.
#include "tensorrt/io.h"

#include "capi/convert.h"
#include "capi/nn_handles.h"
#include "io/idx.h"
#include "io/safetensors.h"

using namespace trt;
using namespace trt::capi;

namespace {

io::SafetensorsFile* impl(trt_safetensors* f) { return reinterpret_cast<io::SafetensorsFile*>(f); }
const io::SafetensorsFile* impl(const trt_safetensors* f) { return reinterpret_cast<const io::SafetensorsFile*>(f); }

const io::SafetensorsFile& checked(const trt_safetensors* f) {
  if (!f) throw_null_argument("file");
  return *impl(f);
}

const io::SafetensorsEntry* entry(const trt_safetensors* f, size_t index) {
  return f && index < impl(f)->entries().size() ? &impl(f)->entries()[index] : nullptr;
}

const std::pair<std::string, std::string>* metadata(const trt_safetensors* f, size_t index) {
  return f && index < impl(f)->metadata().size() ? &impl(f)->metadata()[index] : nullptr;
}

io::SafetensorsFile::Mode to_mode(int mode) {
  TRT_CHECK(mode == TRT_LOAD_MAP || mode == TRT_LOAD_COPY, "unknown load mode ", mode);
  return mode == TRT_LOAD_MAP ? io::SafetensorsFile::Mode::kMap : io::SafetensorsFile::Mode::kCopy;
}

const char* element(const char* const* list, size_t index, const char* name) {
  check_element(list[index], name, index);
  return list[index];
}

io::Metadata metadata(const char* const* keys, const char* const* values, size_t count) {
  list_argument(keys, count, "metadata_keys");
  list_argument(values, count, "metadata_values");
  io::Metadata out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(element(keys, i, "metadata_keys"), element(values, i, "metadata_values"));
  return out;
}

}  // namespace

extern "C" {

TRT_EXPORT trt_status* trt_safetensors_open(const char* path, trt_safetensors** out) {
  return guard("trt_safetensors_open", [&] {
    require_out(out, "out");
    *out = reinterpret_cast<trt_safetensors*>(io::SafetensorsFile::open(std::string(string(path, "path"))).detach());
  });
}
TRT_EXPORT trt_safetensors* trt_safetensors_retain(trt_safetensors* file) {
  if (file) impl(file)->retain();
  return file;
}
TRT_EXPORT void trt_safetensors_release(trt_safetensors* file) {
  if (file) impl(file)->release();
}

TRT_EXPORT size_t trt_safetensors_size(const trt_safetensors* file) { return file ? impl(file)->entries().size() : 0; }
TRT_EXPORT const char* trt_safetensors_name(const trt_safetensors* file, size_t index) {
  const auto* e = entry(file, index);
  return e ? e->name.c_str() : nullptr;
}
TRT_EXPORT trt_status* trt_safetensors_find(const trt_safetensors* file, const char* name, size_t* out) {
  return guard("trt_safetensors_find", [&] {
    require_out(out, "out");
    const int64_t i = checked(file).find(string(name, "name"));
    TRT_CHECK_CODE(i >= 0, Code::kNotFound, "'", impl(file)->path(), "': there is no tensor named '", name, "'");
    *out = static_cast<size_t>(i);
  });
}
TRT_EXPORT trt_dtype trt_safetensors_dtype(const trt_safetensors* file, size_t index) {
  const auto* e = entry(file, index);
  return e && e->dtype != DType::Undefined ? static_cast<trt_dtype>(e->dtype) : TRT_DTYPE_NONE;
}
TRT_EXPORT const char* trt_safetensors_dtype_text(const trt_safetensors* file, size_t index) {
  const auto* e = entry(file, index);
  return e ? e->dtype_text.c_str() : nullptr;
}
TRT_EXPORT size_t trt_safetensors_ndim(const trt_safetensors* file, size_t index) {
  const auto* e = entry(file, index);
  return e ? e->sizes.size() : 0;
}
TRT_EXPORT const int64_t* trt_safetensors_sizes(const trt_safetensors* file, size_t index) {
  const auto* e = entry(file, index);
  return e ? e->sizes.data() : nullptr;
}

TRT_EXPORT trt_status* trt_safetensors_tensor(const trt_safetensors* file, const char* name, trt_load_mode mode, trt_tensor** out) {
  return guard("trt_safetensors_tensor", [&] {
    require_out(out, "out");
    give(checked(file).tensor(string(name, "name"), to_mode(mode)), out);
  });
}
TRT_EXPORT trt_status* trt_safetensors_tensors(const trt_safetensors* file, trt_load_mode mode, trt_tensor_list** out) {
  return guard("trt_safetensors_tensors", [&] {
    require_out(out, "out");
    std::vector<Tensor> tensors;
    for (auto& [name, t] : checked(file).tensors(to_mode(mode))) tensors.push_back(std::move(t));
    give(std::move(tensors), out);
  });
}

TRT_EXPORT size_t trt_safetensors_metadata_size(const trt_safetensors* file) { return file ? impl(file)->metadata().size() : 0; }
TRT_EXPORT const char* trt_safetensors_metadata_key(const trt_safetensors* file, size_t index) {
  const auto* m = metadata(file, index);
  return m ? m->first.c_str() : nullptr;
}
TRT_EXPORT const char* trt_safetensors_metadata_value(const trt_safetensors* file, size_t index) {
  const auto* m = metadata(file, index);
  return m ? m->second.c_str() : nullptr;
}
TRT_EXPORT const char* trt_safetensors_metadata(const trt_safetensors* file, const char* key) {
  if (!file || !key) return nullptr;
  for (const auto& [k, v] : impl(file)->metadata())
    if (k == key) return v.c_str();
  return nullptr;
}

TRT_EXPORT trt_status* trt_safetensors_save(const char* path, const char* const* names, const trt_tensor* const* tensors, size_t count,
                                            const char* const* metadata_keys, const char* const* metadata_values, size_t metadata_count) {
  return guard("trt_safetensors_save", [&] {
    const std::string target(string(path, "path"));
    list_argument(names, count, "names");
    const TensorListArg list(tensors, count, "tensors", false);
    io::NamedTensors named;
    for (size_t i = 0; i < count; ++i) named.emplace_back(element(names, i, "names"), TensorList(list)[i]);
    io::save_safetensors(target, named, metadata(metadata_keys, metadata_values, metadata_count));
  });
}

TRT_EXPORT trt_status* trt_state_dict_save(const trt_state_dict* dict, const char* path, const char* const* metadata_keys,
                                           const char* const* metadata_values, size_t metadata_count) {
  return guard("trt_state_dict_save", [&] {
    const std::string target(string(path, "path"));
    io::NamedTensors named;
    const StateDictPtr held = checked(dict);
    for (const auto& e : held->entries()) named.emplace_back(e.name, e.tensor);
    io::save_safetensors(target, named, metadata(metadata_keys, metadata_values, metadata_count));
  });
}

TRT_EXPORT trt_status* trt_state_dict_load(const char* path, trt_state_dict** out) {
  return guard("trt_state_dict_load", [&] {
    require_out(out, "out");
    const auto file = io::SafetensorsFile::open(std::string(string(path, "path")));
    auto dict = make_intrusive<StateDict>();
    for (auto& [name, tensor] : file->tensors(io::SafetensorsFile::Mode::kCopy)) dict->set(name, std::move(tensor));
    *out = handle(dict.detach());
  });
}

TRT_EXPORT trt_status* trt_idx_load(const char* path, trt_tensor** out) {
  return guard("trt_idx_load", [&] {
    require_out(out, "out");
    give(io::load_idx(std::string(string(path, "path"))), out);
  });
}

}  // extern "C"
