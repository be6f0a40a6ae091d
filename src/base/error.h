// Errors inside the library are exceptions of type Error; the C API turns each into a trt_status at its edge.
//
// A user error (TRT_CHECK) names what the caller passed: operator, shapes, dtypes, devices. An internal error
// (TRT_INTERNAL) names the invariant that broke. Codes are pinned: they are the numbers of trt_code in the C header.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/macros.h"
#include "base/str.h"

namespace trt {

enum class Code : int {
  kOk = 0,
  kInvalidArgument = 1,   // wrong shape, rank, dtype, device, option value or NULL
  kOutOfRange = 2,        // an index or a dimension outside its range
  kOutOfMemory = 3,       // the allocator, or the limit set by the host, refused
  kNotSupported = 4,      // the operator has no kernel for this dtype or device
  kNotFound = 5,          // no such operator, file, key or plug-in
  kIo = 6,                // reading or writing failed; the message carries the system's reason
  kData = 7,              // a file's content is not what its format demands
  kFailedPrecondition = 8,  // the object's state forbids the call (a freed graph, a changed saved tensor)
  kCancelled = 9,
  kCallback = 10,  // a callback of the host failed without a status of its own
  kInternal = 11,
  kUnavailable = 12,  // a resource of the system (thread, plug-in, library) cannot be had now
  kEndOfData = 13,    // an iterator has no further item
};

class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }
  void append(std::string_view text) { message_ += text; }

 private:
  Code code_;
  std::string message_;
};

// An error that a callback of the host returned, on its way to the caller of the outer function.
class HostError : public std::exception {
 public:
  virtual std::string_view message() const noexcept = 0;
  virtual void append(std::string_view text) = 0;
};

// What is not UTF-8 in the message (a name that the host passed) is replaced.
[[noreturn]] TRT_NOINLINE void throw_error(Code code, std::string message);

}  // namespace trt
