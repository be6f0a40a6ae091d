#include "io/idx.h"

#include <zlib.h>

#include <algorithm>

#include "io/file.h"

namespace trt::io {

namespace {

// The content of a file in order, decompressed when it is gzip.
class ByteSource {
 public:
  explicit ByteSource(const InputFile& file) : file_(file) {
    fill();
    gzip_ = stream_.avail_in >= 2 && in_[0] == 0x1f && in_[1] == 0x8b;
    if (!gzip_) return;
    const int r = inflateInit2(&stream_, 15 + 16);  // 16: a gzip wrapper
    TRT_CHECK_CODE(r == Z_OK, Code::kOutOfMemory, "'", file_.path(), "': the decompression cannot be set up");
  }
  ~ByteSource() {
    if (gzip_) inflateEnd(&stream_);
  }
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The most bytes that the file can hold: deflate cannot do better than 1032 to 1.
  uint64_t most_bytes() const { return gzip_ ? file_.size() * 1032 + 1024 : file_.size(); }

  // Reads up to `bytes`; less only at the end of the content.
  size_t read(void* out, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
      const size_t n = gzip_ ? inflate_some(static_cast<uint8_t*>(out) + done, bytes - done) : copy_some(static_cast<uint8_t*>(out) + done, bytes - done);
      if (n == 0) break;
      done += n;
    }
    return done;
  }

 private:
  // False at the end of the file.
  bool fill() {
    if (stream_.avail_in > 0) return true;
    const size_t n = static_cast<size_t>(std::min<uint64_t>(sizeof in_, file_.size() - position_));
    file_.read_at(position_, in_, n);
    position_ += n;
    stream_.next_in = in_;
    stream_.avail_in = static_cast<uInt>(n);
    return n > 0;
  }

  size_t copy_some(uint8_t* out, size_t bytes) {
    if (!fill()) return 0;
    const size_t n = std::min<size_t>(bytes, stream_.avail_in);
    std::copy_n(stream_.next_in, n, out);
    stream_.next_in += n;
    stream_.avail_in -= static_cast<uInt>(n);
    return n;
  }

  size_t inflate_some(uint8_t* out, size_t bytes) {
    const uInt room = static_cast<uInt>(std::min<size_t>(bytes, size_t{1} << 30));
    for (;;) {
      const bool more = fill();
      if (at_end_of_member_) {
        if (!more) return 0;
        // Another member may follow; whatever else follows is refused below as a wrong header.
        inflateReset(&stream_);
        at_end_of_member_ = false;
      }
      TRT_CHECK_CODE(more, Code::kData, "'", file_.path(), "': the gzip data is truncated");
      stream_.next_out = out;
      stream_.avail_out = room;
      const int r = inflate(&stream_, Z_NO_FLUSH);
      TRT_CHECK_CODE(r != Z_MEM_ERROR, Code::kOutOfMemory, "'", file_.path(), "': no memory for the decompression");
      TRT_CHECK_CODE(r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR, Code::kData, "'", file_.path(), "': the gzip data is damaged (",
                     stream_.msg ? stream_.msg : "unexpected content", ")");
      at_end_of_member_ = r == Z_STREAM_END;
      if (stream_.avail_out < room) return room - stream_.avail_out;
    }
  }

  const InputFile& file_;
  uint64_t position_ = 0;
  bool gzip_ = false;
  bool at_end_of_member_ = false;
  z_stream stream_{};
  uint8_t in_[1 << 16];
};

DType type_of_code(uint8_t code) {
  switch (code) {
    case 0x08: return DType::UInt8;
    case 0x09: return DType::Int8;
    case 0x0b: return DType::Int16;
    case 0x0c: return DType::Int32;
    case 0x0d: return DType::Float32;
    case 0x0e: return DType::Float64;
    default: return DType::Undefined;
  }
}

void swap_bytes(uint8_t* p, size_t bytes, size_t item) {
  if (item == 1) return;
  for (size_t i = 0; i < bytes; i += item) std::reverse(p + i, p + i + item);
}

}  // namespace

Tensor load_idx(const std::string& path) {
  const auto file = InputFile::open(path);
  ByteSource source(*file);
  auto invalid = [&](const auto&... why) { throw_error(Code::kData, str_cat("'", path, "': not a valid IDX file: ", why...)); };

  uint8_t magic[4];
  if (source.read(magic, 4) != 4) invalid("it is too short for a header");
  if (magic[0] != 0 || magic[1] != 0) invalid("it does not begin with two zero bytes");
  const DType dtype = type_of_code(magic[2]);
  if (dtype == DType::Undefined) invalid("unknown dtype code ", int{magic[2]});
  const size_t rank = magic[3];
  if (rank < 1 || rank > TensorImpl::kMaxDims) invalid("the rank ", rank, " is not between 1 and ", int{TensorImpl::kMaxDims});
  DimVector sizes;
  for (size_t i = 0; i < rank; ++i) {
    uint8_t b[4];
    if (source.read(b, 4) != 4) invalid("it is too short for its ", rank, " sizes");
    sizes.push_back(int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | int64_t{b[3]});
  }
  // Checked before memory is taken, so that a few bytes cannot ask for terabytes.
  uint64_t bytes = element_size(dtype);
  bool zero = false, overflow = false;
  for (const int64_t s : sizes) {
    zero |= s == 0;
    if (s != 0) overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(s), &bytes);
  }
  if (overflow || bytes > static_cast<uint64_t>(INT64_MAX)) invalid("the sizes ", sizes, " are too large");
  if (zero) bytes = 0;
  if (bytes > source.most_bytes()) invalid("it is too short for the sizes ", sizes, " of ", dtype);

  Tensor t = empty_tensor(sizes, dtype);
  uint8_t* const data = static_cast<uint8_t*>(t.data());
  const size_t got = source.read(data, static_cast<size_t>(bytes));
  if (got != bytes) invalid("the sizes ", sizes, " of ", dtype, " need ", bytes, " bytes, there are ", got);
  uint8_t extra;
  if (source.read(&extra, 1) != 0) invalid("there are bytes behind the ", bytes, " that the sizes ", sizes, " of ", dtype, " need");
  swap_bytes(data, static_cast<size_t>(bytes), element_size(dtype));
  return t;
}

}  // namespace trt::io
