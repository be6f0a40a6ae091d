#include "base/error.h"

#include "base/utf8.h"

namespace trt {

void throw_error(Code code, std::string message) { throw Error(code, to_utf8(std::move(message))); }

}  // namespace trt
