// The safetensors format: named tensors and a map of strings in one file.
//
// Layout: N, the header's length, as 8 little-endian bytes; N bytes of JSON (an object that maps each name to "dtype", "shape" and
// "data_offsets" [begin, end), relative to the end of the header; "__metadata__" maps strings to strings), padded with spaces; the data,
// row-major, little-endian, without holes.
//
// Errors: kData for a file that breaks the format (the message names file and reason), those of io/file.h, kNotFound for an unknown name.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/file.h"

namespace trt::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Metadata = std::vector<std::pair<std::string, std::string>>;

// The largest header that is read or written.
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  std::string dtype_text;  // as the file says: "F32"
  DType dtype = DType::Undefined;  // Undefined when the library has no such type
  std::vector<int64_t> sizes;
  uint64_t begin = 0, end = 0;  // relative to the data
};

// An open file whose header was checked completely: types and sizes agree with the offsets, the tensors cover the data without hole or
// overlap, and the file ends where the last one does. Immutable; any thread.
class SafetensorsFile final : public RefCounted<SafetensorsFile> {
 public:
  static intrusive_ptr<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return file_->path(); }
  // In the order of the header.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const Metadata& metadata() const { return metadata_; }
  // The position in entries(), or -1.
  int64_t find(std::string_view name) const;

  enum class Mode { kMap, kCopy };
  // kMap: a tensor on a private mapping of the file, which stays until the last tensor on it is gone; writing to the tensor changes
  // neither the file nor other mappings, and asking twice gives two tensors on the same memory. A tensor that is not aligned in the file
  // is copied. kCopy: memory of the library's own. Throws kNotSupported for a dtype that the library lacks.
  Tensor tensor(size_t index, Mode mode) const;
  Tensor tensor(std::string_view name, Mode mode) const;  // throws kNotFound
  NamedTensors tensors(Mode mode) const;

 private:
  explicit SafetensorsFile(intrusive_ptr<InputFile> file) : file_(std::move(file)) {}
  Tensor mapped(size_t index, uint64_t offset) const;

  intrusive_ptr<InputFile> file_;
  uint64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;
  Metadata metadata_;
  mutable std::mutex mutex_;
  mutable intrusive_ptr<MappedFile> mapping_;
  // By entry: the storages of the mapping that were given out, so that all tensors of one entry share a version counter. An entry has a storage
  // of its own, since a change of one tensor is none of the others.
  mutable std::vector<intrusive_ptr<StorageImpl>> storages_;
};

// Replaces `path` atomically (AtomicFile). CPU tensors of any strides; history is not saved. Tensors and metadata keep their order in the
// header. Throws kInvalidArgument for names that are not unique, not UTF-8, hold a NUL or are "__metadata__", before anything is written.
void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

}  // namespace trt::io
