// IDX files, the format of MNIST and its relatives: two zero bytes, a dtype code, the rank, the sizes as 32-bit numbers, the elements; all
// big-endian, row-major. Plain or compressed with gzip (told by content, not by name).
#pragma once

#include <string>

#include "core/tensor.h"

namespace trt::io {

// A contiguous tensor of the file's type: uint8, int8, int16, int32, float32 or float64. Throws kData, naming the file and what is wrong
// with it, when the content is not exactly one array: wrong magic, too short, too long, or a broken or truncated compression. Errors of
// the file itself are those of io/file.h.
Tensor load_idx(const std::string& path);

}  // namespace trt::io
