// The JSON header of a safetensors file: parsing into entries, and the text for writing. Internal to io/.
#pragma once

#include "io/safetensors.h"

namespace trt::io {

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  Metadata metadata;
};

// Checks everything that can be known without the data: exact JSON, fields, unique names, sizes against offsets, and that the entries
// cover [0, data_bytes) without hole or overlap. Throws kData naming `path`.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& path);

// The text, without padding. Throws kInvalidArgument for strings that cannot be written.
std::string safetensors_header_text(const SafetensorsHeader& header);

// "F32"; NULL for a type that the format has no name for (complex128).
const char* safetensors_dtype_text(DType dtype);

}  // namespace trt::io
