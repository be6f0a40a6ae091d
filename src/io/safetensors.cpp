#include "io/safetensors.h"

#include <bit>
#include <numeric>

#include "base/parallel.h"
#include "io/safetensors_header.h"
#include "iter/copy.h"

namespace trt::io {

static_assert(std::endian::native == std::endian::little, "the data of a safetensors file is little-endian");

namespace {

constexpr uint64_t kPrefixBytes = 8;
// The data begins at a multiple of this, so that the first tensors of a mapping suit vector loads. The format asks for 8.
constexpr uint64_t kDataAlignment = 64;
constexpr int64_t kReadGrain = int64_t{4} << 20;

// A byte other than 0 and 1 must never be read as a bool.
void check_bools(const Tensor& t, const SafetensorsEntry& e, const std::string& path) {
  const uint8_t* p = static_cast<const uint8_t*>(t.data());
  for (int64_t i = 0; i < t.numel(); ++i)
    TRT_CHECK_CODE(p[i] <= 1, Code::kData, "'", path, "': tensor '", e.name, "' of type BOOL has the value ", int{p[i]}, " at position ", i);
}

}  // namespace

intrusive_ptr<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  auto file = InputFile::open(path);
  const uint64_t size = file->size();
  auto invalid = [&](const auto&... why) { throw_error(Code::kData, str_cat("'", path, "': not a valid safetensors file: ", why...)); };
  if (size < kPrefixBytes) invalid("it has ", size, " bytes, at least ", kPrefixBytes, " are needed");
  uint64_t header_bytes;
  file->read_at(0, &header_bytes, kPrefixBytes);
  if (header_bytes > kMaxSafetensorsHeader) invalid("the header's length ", header_bytes, " is above the limit of ", kMaxSafetensorsHeader);
  if (header_bytes > size - kPrefixBytes) invalid("the header's length is ", header_bytes, ", but only ", size - kPrefixBytes, " bytes follow");
  std::string json(static_cast<size_t>(header_bytes), '\0');
  file->read_at(kPrefixBytes, json.data(), json.size());
  SafetensorsHeader header = parse_safetensors_header(json, size - kPrefixBytes - header_bytes, path);

  auto result = intrusive_ptr<SafetensorsFile>::adopt(new SafetensorsFile(std::move(file)));
  result->data_begin_ = kPrefixBytes + header_bytes;
  result->entries_ = std::move(header.entries);
  result->metadata_ = std::move(header.metadata);
  result->by_name_.reserve(result->entries_.size());
  for (size_t i = 0; i < result->entries_.size(); ++i) result->by_name_.emplace(result->entries_[i].name, i);
  return result;
}

int64_t SafetensorsFile::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? -1 : static_cast<int64_t>(at->second);
}

Tensor SafetensorsFile::mapped(size_t index, uint64_t offset) const {
  const SafetensorsEntry& e = entries_[index];
  std::lock_guard lock(mutex_);
  if (!mapping_) mapping_ = MappedFile::map(*file_);
  storages_.resize(entries_.size());
  if (storages_[index]) return Tensor::adopt(TensorImpl::create_contiguous(storages_[index], e.dtype, e.sizes));
  Tensor t = mapping_->tensor(offset, e.sizes, e.dtype);
  storages_[index] = t.impl()->storage();
  return t;
}

Tensor SafetensorsFile::tensor(size_t index, Mode mode) const {
  TRT_CHECK_CODE(index < entries_.size(), Code::kOutOfRange, "'", path(), "': index ", index, " is out of range for ", entries_.size(), " tensors");
  const SafetensorsEntry& e = entries_[index];
  TRT_CHECK_CODE(e.dtype != DType::Undefined, Code::kNotSupported, "'", path(), "': tensor '", e.name, "' has the dtype ", e.dtype_text, ", which is not supported");
  TRT_CHECK_CODE(e.sizes.size() <= TensorImpl::kMaxDims, Code::kNotSupported, "'", path(), "': tensor '", e.name, "' has ", e.sizes.size(),
                 " dimensions, at most ", int{TensorImpl::kMaxDims}, " are supported");
  const uint64_t offset = data_begin_ + e.begin;
  Tensor t;
  if (mode == Mode::kMap && offset % element_size(e.dtype) == 0) {
    t = mapped(index, offset);
  } else {
    t = empty_tensor(e.sizes, e.dtype);
    char* const out = static_cast<char*>(t.data());
    parallel_for(0, static_cast<int64_t>(e.end - e.begin), kReadGrain, [&](int64_t b, int64_t end) {
      file_->read_at(offset + static_cast<uint64_t>(b), out + b, static_cast<size_t>(end - b));
    });
  }
  if (e.dtype == DType::Bool) check_bools(t, e, path());
  return t;
}

Tensor SafetensorsFile::tensor(std::string_view name, Mode mode) const {
  const int64_t i = find(name);
  TRT_CHECK_CODE(i >= 0, Code::kNotFound, "'", path(), "': there is no tensor named '", name, "'");
  return tensor(static_cast<size_t>(i), mode);
}

NamedTensors SafetensorsFile::tensors(Mode mode) const {
  NamedTensors all;
  all.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) all.emplace_back(entries_[i].name, tensor(i, mode));
  return all;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  header.entries.reserve(tensors.size());
  for (const auto& [name, t] : tensors) {
    TRT_CHECK(t.defined(), "safetensors: tensor '", name, "' is undefined");
    TRT_CHECK(t.device().is_cpu(), "safetensors: only CPU tensors can be saved, '", name, "' is ", t);
    SafetensorsEntry e;
    e.name = name;
    const char* dtype_text = safetensors_dtype_text(t.dtype());
    TRT_CHECK_CODE(dtype_text, Code::kNotSupported, "safetensors: tensor '", name, "' is ", t, ", a dtype for which the format has no name",
                   is_complex(t.dtype()) ? "; save view_as_real of it" : "");
    e.dtype_text = dtype_text;
    e.dtype = t.dtype();
    e.sizes = t.sizes().vec();
    header.entries.push_back(std::move(e));
  }
  // Wide elements first: since the data begins aligned, every tensor then is.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return tensors[a].second.itemsize() > tensors[b].second.itemsize(); });
  uint64_t offset = 0;
  for (const size_t i : order) {
    const Tensor& t = tensors[i].second;
    header.entries[i].begin = offset;
    // An expanded tensor may stand for more bytes than there are.
    TRT_CHECK(!__builtin_add_overflow(offset, static_cast<uint64_t>(t.numel()) * t.itemsize(), &offset) && offset <= INT64_MAX / 2,
              "safetensors: the tensors are too large");
    header.entries[i].end = offset;
  }
  std::string text = safetensors_header_text(header);
  text.append((kDataAlignment - (kPrefixBytes + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  TRT_CHECK(text.size() <= kMaxSafetensorsHeader, "safetensors: the header would have ", text.size(), " bytes, more than the limit of ", kMaxSafetensorsHeader);

  AtomicFile file(path);
  const uint64_t header_bytes = text.size();
  file.write(&header_bytes, sizeof header_bytes);
  file.write(text.data(), text.size());
  for (const size_t i : order) {
    // A bool is 0 or 1 in the file, whatever byte stands for true in memory.
    const Tensor& given = tensors[i].second;
    const Tensor t = contiguous_tensor(given, given.dtype() == DType::Bool ? DType::UInt8 : given.dtype());
    file.write(t.data(), static_cast<size_t>(t.numel()) * t.itemsize());
  }
  file.commit();
}

}  // namespace trt::io
