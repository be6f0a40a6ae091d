// Files as the readers and writers of this layer need them: exact reads, private mappings, atomic replacement.
//
// Errors: kNotFound when there is no such file, kInvalidArgument for a path that is no regular file, kIo with the system's reason
// otherwise. Every message names the path.
#pragma once

#include <string>

#include "base/intrusive_ptr.h"
#include "core/tensor.h"

namespace trt::io {

// "'path' what: No space left on device"
[[noreturn]] TRT_NOINLINE void throw_system_error(int error_number, const std::string& path, const char* what);

// A regular file opened for reading. Movable by reference count only; read_at may be called from any thread.
class InputFile final : public RefCounted<InputFile> {
 public:
  static intrusive_ptr<InputFile> open(const std::string& path);
  ~InputFile();
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Reads exactly `bytes` bytes; throws kData when the file has become shorter.
  void read_at(uint64_t offset, void* out, size_t bytes) const;
  int descriptor() const { return fd_; }

 private:
  InputFile(std::string path, int fd, uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_;
  uint64_t size_;
};

// The whole file in memory, copy-on-write: what is written there never reaches the file. Somebody who shortens the file meanwhile
// makes access to the lost pages fatal (SIGBUS), which no mapping can prevent; files replaced by renaming are safe.
class MappedFile final : public RefCounted<MappedFile> {
 public:
  static intrusive_ptr<MappedFile> map(const InputFile& file);
  ~MappedFile();
  char* data() const { return data_; }
  // A contiguous tensor on the mapping, which it keeps alive. `offset` is a multiple of the element size and all bytes lie inside.
  Tensor tensor(uint64_t offset, IntArrayRef sizes, DType dtype) const;

 private:
  MappedFile(char* data, size_t size) : data_(data), size_(size) {}
  char* data_;
  size_t size_;
};

// Writes a temporary file beside `path` and puts it in its place in commit(). Destroyed without commit, it removes the temporary, and
// whatever was at `path` is untouched.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(const void* data, size_t bytes);
  // After this the new content is on the disk and under its name, or an error was thrown and the old one still is.
  void commit();

 private:
  std::string shown_;      // as the caller wrote it, for messages
  std::string path_;       // with symbolic links resolved: the link stays, its target is replaced
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace trt::io
