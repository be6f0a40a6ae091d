#include "io/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace trt::io {

namespace {

using Json = nlohmann::json;

// Types that the format defines; those without a DType are only carried along.
struct TypeName {
  const char* text;
  uint64_t bytes;
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"F32", 4, DType::Float32},   {"F16", 2, DType::Float16},   {"BF16", 2, DType::BFloat16}, {"I64", 8, DType::Int64},
    {"U8", 1, DType::UInt8},      {"BOOL", 1, DType::Bool},     {"F64", 8, DType::Float64},   {"I32", 4, DType::Int32},
    {"I16", 2, DType::Int16},     {"I8", 1, DType::Int8},       {"U16", 2, DType::Undefined}, {"U32", 4, DType::Undefined},
    {"U64", 8, DType::Undefined}, {"C64", 8, DType::Complex64}, {"F8_E4M3", 1, DType::Undefined}, {"F8_E5M2", 1, DType::Undefined},
    {"F8_E8M0", 1, DType::Undefined},
};

const TypeName* find_type(std::string_view text) {
  for (const TypeName& t : kTypes)
    if (text == t.text) return &t;
  return nullptr;
}

std::string in_quotes(std::string_view name) {
  // Names come from the file: a message shows a readable part of them only.
  constexpr size_t kShown = 200;
  std::string s(1, '\'');
  s.append(name.substr(0, kShown));
  s += name.size() > kShown ? "...'" : "'";
  return s;
}

// Receives the parser's events and accepts exactly the shape of a safetensors header. Each handler returns false to stop the parser; the
// reason is in `problem`. No tree is built, so memory stays in proportion to the header and depth costs nothing.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(SafetensorsHeader& out) : out_(out) {}
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a bool"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t v) override {
    if (state_ == State::kShape) {
      if (v > static_cast<uint64_t>(INT64_MAX)) return fail("has a size that is too large");
      entry_.sizes.push_back(static_cast<int64_t>(v));
      return true;
    }
    if (state_ == State::kOffsets) {
      if (offsets_ == 2) return fail("has more than two data_offsets");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = v;
      return true;
    }
    return unexpected("a number");
  }

  bool string(string_t& v) override {
    if (state_ == State::kMetadataValue) {
      if (v.find('\0') != std::string::npos) return stop("a value of __metadata__ contains a NUL character");
      out_.metadata.back().second = std::move(v);
      state_ = State::kMetadata;
      return true;
    }
    if (state_ == State::kDtype) {
      if (v.empty() || v.find('\0') != std::string::npos) return fail("has an invalid dtype");
      entry_.dtype_text = std::move(v);
      state_ = State::kEntry;
      return true;
    }
    return unexpected("a string");
  }

  bool start_object(size_t) override {
    switch (state_) {
      case State::kStart: state_ = State::kTop; return true;
      case State::kMetadataStart: state_ = State::kMetadata; return true;
      case State::kEntryStart: state_ = State::kEntry; return true;
      default: return unexpected("an object");
    }
  }

  bool key(string_t& k) override {
    if (k.find('\0') != std::string::npos) return stop("a name contains a NUL character");
    if (state_ == State::kTop) {
      if (!names_.insert(k).second) return stop(str_cat("the name ", in_quotes(k), " appears twice"));
      if (k == "__metadata__") {
        state_ = State::kMetadataStart;
        return true;
      }
      entry_ = SafetensorsEntry{};
      entry_.name = std::move(k);
      seen_ = 0;
      offsets_ = 0;
      state_ = State::kEntryStart;
      return true;
    }
    if (state_ == State::kMetadata) {
      if (!metadata_names_.insert(k).second) return stop(str_cat("the key ", in_quotes(k), " of __metadata__ appears twice"));
      out_.metadata.emplace_back(std::move(k), std::string());
      state_ = State::kMetadataValue;
      return true;
    }
    const unsigned field = k == "dtype" ? 1u : k == "shape" ? 2u : k == "data_offsets" ? 4u : 0u;
    if (!field) return fail(str_cat("has the unknown field ", in_quotes(k)));
    if (seen_ & field) return fail(str_cat("has the field ", in_quotes(k), " twice"));
    seen_ |= field;
    state_ = field == 1 ? State::kDtype : field == 2 ? State::kShapeStart : State::kOffsetsStart;
    return true;
  }

  bool end_object() override {
    if (state_ == State::kEntry) {
      if (seen_ != 7) return fail(str_cat("has no ", seen_ & 1 ? seen_ & 2 ? "data_offsets" : "shape" : "dtype"));
      out_.entries.push_back(std::move(entry_));
      state_ = State::kTop;
    } else if (state_ == State::kMetadata) {
      state_ = State::kTop;
    } else {
      state_ = State::kDone;
    }
    return true;
  }

  bool start_array(size_t) override {
    if (state_ == State::kShapeStart) state_ = State::kShape;
    else if (state_ == State::kOffsetsStart) state_ = State::kOffsets;
    else return unexpected("a list");
    return true;
  }

  bool end_array() override {
    if (state_ == State::kOffsets && offsets_ != 2) return fail("does not have two data_offsets");
    state_ = State::kEntry;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    return stop(str_cat("the header is not valid JSON (near its byte ", position, ")"));
  }

 private:
  enum class State {
    kStart, kTop, kMetadataStart, kMetadata, kMetadataValue, kEntryStart, kEntry, kDtype, kShapeStart, kShape, kOffsetsStart, kOffsets, kDone
  };

  bool stop(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }
  bool fail(std::string_view why) { return stop(str_cat("tensor ", in_quotes(entry_.name), " ", why)); }
  bool unexpected(const char* what) {
    switch (state_) {
      case State::kStart: return stop(str_cat("the header is ", what, " instead of an object"));
      case State::kMetadataStart: return stop(str_cat("__metadata__ is ", what, " instead of an object"));
      case State::kMetadataValue: return stop(str_cat("__metadata__ maps ", in_quotes(out_.metadata.back().first), " to ", what, " instead of a string"));
      default: return fail(str_cat("has ", what, " where none is allowed"));
    }
  }

  SafetensorsHeader& out_;
  State state_ = State::kStart;
  SafetensorsEntry entry_;
  unsigned seen_ = 0;
  int offsets_ = 0;
  std::unordered_set<std::string> names_, metadata_names_;
};

// The bytes of a tensor; false on overflow. Sizes of 0 count as 1 on the way, so that strides cannot overflow either.
bool byte_count(const std::vector<int64_t>& sizes, uint64_t item, uint64_t* out) {
  uint64_t n = item;
  bool zero = false;
  for (const int64_t s : sizes) {
    if (s == 0) zero = true;
    else if (__builtin_mul_overflow(n, static_cast<uint64_t>(s), &n)) return false;
  }
  if (n > static_cast<uint64_t>(INT64_MAX)) return false;
  *out = zero ? 0 : n;
  return true;
}

std::string json_string(const std::string& s, const char* what) {
  TRT_CHECK(s.find('\0') == std::string::npos, what, " ", in_quotes(s), " contains a NUL character");
  try {
    return Json(s).dump();
  } catch (const Json::exception&) {
    throw_error(Code::kInvalidArgument, str_cat(what, " is not valid UTF-8"));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& path) {
  auto invalid = [&](const std::string& why) { throw_error(Code::kData, str_cat("'", path, "': not a valid safetensors file: ", why)); };
  if (json.empty() || json[0] != '{') invalid("the header does not begin with '{'");
  // The parser takes it for the end.
  if (json.find('\0') != json.npos) invalid("the header contains a NUL byte");
  SafetensorsHeader header;
  HeaderReader reader(header);
  bool complete = false;
  try {
    complete = Json::sax_parse(json.data(), json.data() + json.size(), &reader, Json::input_format_t::json, true);
  } catch (const Json::exception&) {
    reader.problem = "the header is not valid JSON";
  }
  if (!complete) invalid(reader.problem.empty() ? "the header is not valid JSON" : reader.problem);

  for (SafetensorsEntry& e : header.entries) {
    if (e.end < e.begin || e.end > data_bytes)
      invalid(str_cat("tensor ", in_quotes(e.name), " has the data_offsets [", e.begin, ", ", e.end, "], but there are ", data_bytes, " bytes of data"));
    const TypeName* type = find_type(e.dtype_text);
    uint64_t bytes = 0;
    if (!byte_count(e.sizes, type ? type->bytes : 1, &bytes)) invalid(str_cat("tensor ", in_quotes(e.name), " has sizes whose product is too large"));
    if (!type) continue;  // of unknown size: an error only for whoever asks for it
    e.dtype = type->dtype;
    if (bytes != e.end - e.begin)
      invalid(str_cat("tensor ", in_quotes(e.name), " needs ", bytes, " bytes for its dtype and shape, its data_offsets hold ", e.end - e.begin));
  }
  std::vector<const SafetensorsEntry*> order;
  order.reserve(header.entries.size());
  for (const SafetensorsEntry& e : header.entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  uint64_t covered = 0;
  for (const SafetensorsEntry* e : order) {
    if (e->begin != covered)
      invalid(str_cat("tensor ", in_quotes(e->name), " begins at byte ", e->begin, " of the data, ", covered, " was expected (a hole or an overlap)"));
    covered = e->end;
  }
  if (covered != data_bytes) invalid(str_cat("the tensors end at byte ", covered, " of the data, but there are ", data_bytes, " bytes"));
  return header;
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
  std::unordered_set<std::string_view> names;
  std::string text(1, '{');
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) {
      TRT_CHECK(names.insert(key).second, "the metadata key ", in_quotes(key), " is given twice");
      if (names.size() > 1) text += ',';
      text += json_string(key, "the metadata key");
      text += ':';
      text += json_string(value, "a metadata value");
    }
    text += '}';
    names.clear();
  }
  for (const SafetensorsEntry& e : header.entries) {
    TRT_CHECK(e.name != "__metadata__", "a tensor cannot have the name '__metadata__'");
    TRT_CHECK(names.insert(e.name).second, "the tensor name ", in_quotes(e.name), " is given twice");
    if (text.size() > 1) text += ',';
    text += json_string(e.name, "the tensor name");
    text += str_cat(":{\"dtype\":\"", e.dtype_text, "\",\"shape\":[");
    for (size_t i = 0; i < e.sizes.size(); ++i) {
      if (i) text += ',';
      append(text, e.sizes[i]);
    }
    text += str_cat("],\"data_offsets\":[", e.begin, ",", e.end, "]}");
  }
  text += '}';
  return text;
}

const char* safetensors_dtype_text(DType dtype) {
  for (const TypeName& t : kTypes)
    if (t.dtype == dtype) return t.text;
  return nullptr;
}

}  // namespace trt::io
