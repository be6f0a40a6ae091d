#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <system_error>

namespace trt::io {

namespace {

// One call never moves more than this, which keeps below the limits of every system.
constexpr size_t kMaxTransfer = size_t{1} << 30;

Code code_of(int error_number) {
  if (error_number == ENOENT || error_number == ENOTDIR) return Code::kNotFound;
  if (error_number == ENOMEM) return Code::kOutOfMemory;
  return Code::kIo;
}

}  // namespace

void throw_system_error(int error_number, const std::string& path, const char* what) {
  throw_error(code_of(error_number), str_cat("'", path, "' ", what, ": ", std::generic_category().message(error_number)));
}

intrusive_ptr<InputFile> InputFile::open(const std::string& path) {
  // Without O_NONBLOCK the opening of a pipe would wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw_system_error(errno, path, "cannot be opened");
  struct stat st;
  if (::fstat(fd, &st) != 0) {
    const int e = errno;
    ::close(fd);
    throw_system_error(e, path, "cannot be examined");
  }
  if (!S_ISREG(st.st_mode)) {
    ::close(fd);
    throw_error(Code::kInvalidArgument, str_cat("'", path, "' is not a regular file"));
  }
  try {
    return intrusive_ptr<InputFile>::adopt(new InputFile(path, fd, static_cast<uint64_t>(st.st_size)));
  } catch (...) {
    ::close(fd);
    throw;
  }
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read_at(uint64_t offset, void* out, size_t bytes) const {
  char* p = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_, p, std::min(bytes, kMaxTransfer), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      throw_system_error(errno, path_, "cannot be read");
    }
    TRT_CHECK_CODE(n > 0, Code::kData, "'", path_, "': the file ends at byte ", offset, ", ", bytes, " more bytes are needed");
    p += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

intrusive_ptr<MappedFile> MappedFile::map(const InputFile& file) {
  TRT_CHECK_CODE(file.size() <= SIZE_MAX, Code::kOutOfMemory, "'", file.path(), "' is too large to be mapped");
  const size_t bytes = static_cast<size_t>(file.size());
  TRT_INTERNAL(bytes > 0, "an empty file cannot be mapped");
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
  if (p == MAP_FAILED) throw_system_error(errno, file.path(), "cannot be mapped");
  try {
    return intrusive_ptr<MappedFile>::adopt(new MappedFile(static_cast<char*>(p), bytes));
  } catch (...) {
    ::munmap(p, bytes);
    throw;
  }
}

MappedFile::~MappedFile() { ::munmap(data_, size_); }

Tensor MappedFile::tensor(uint64_t offset, IntArrayRef sizes, DType dtype) const {
  const size_t bytes = static_cast<size_t>(checked_numel(sizes, dtype)) * element_size(dtype);
  if (bytes == 0) return empty_tensor(sizes, dtype);
  TRT_INTERNAL(offset <= size_ && bytes <= size_ - offset && offset % element_size(dtype) == 0, "mapped tensor at ", offset);
  // The storage's deleter gives this reference back; wrap takes over before anything else may fail.
  auto storage = StorageImpl::wrap(
      data_ + offset, bytes, kCPU, [](void* ctx) { static_cast<const MappedFile*>(ctx)->release(); },
      const_cast<void*>(static_cast<const void*>(this)));
  retain();
  return Tensor::adopt(TensorImpl::create_contiguous(std::move(storage), dtype, sizes));
}

AtomicFile::AtomicFile(std::string path) : shown_(std::move(path)), path_(shown_) {
  TRT_CHECK(!shown_.empty(), "the path of a file to write is empty");
  struct stat old;
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) throw_system_error(errno, shown_, "cannot be written");
  // Renaming over a device or a pipe would replace it.
  TRT_CHECK(!exists || S_ISREG(old.st_mode), "'", shown_, "' is not a regular file, so it cannot be replaced");
  if (exists) {
    char* resolved = ::realpath(path_.c_str(), nullptr);
    if (!resolved) throw_system_error(errno, shown_, "cannot be resolved");
    try {
      path_ = resolved;
    } catch (...) {
      std::free(resolved);
      throw;
    }
    std::free(resolved);
  }
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? std::string() : path_.substr(0, slash + 1);
  static std::atomic<uint64_t> counter{0};
  for (int attempt = 0;; ++attempt) {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    temporary_ = str_cat(directory, ".tmp-", static_cast<int64_t>(::getpid()), "-", static_cast<int64_t>(now.tv_nsec), "-", counter.fetch_add(1));
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ >= 0) break;
    if (errno != EEXIST || attempt == 100) throw_system_error(errno, shown_, "cannot be written (no temporary file beside it)");
  }
  // A file system without permissions may refuse; the content matters more.
  if (exists) (void)!::fchmod(fd_, old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, p, std::min(bytes, kMaxTransfer));
    if (n < 0) {
      if (errno == EINTR) continue;
      throw_system_error(errno, shown_, "cannot be written");
    }
    p += n;
    bytes -= static_cast<size_t>(n);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) throw_system_error(errno, shown_, "cannot be written to the disk");
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0 && errno != EINTR) throw_system_error(errno, shown_, "cannot be written to the disk");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_system_error(errno, shown_, "cannot be replaced");
  temporary_.clear();
  // Makes the new name durable. The content is in place already, so a file system that cannot do this is no error.
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int dir = ::open(directory.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (dir >= 0) {
    (void)::fsync(dir);
    ::close(dir);
  }
}

}  // namespace trt::io
