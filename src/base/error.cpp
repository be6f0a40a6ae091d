#include "base/error.h"

namespace trt {

void throw_error(Code code, std::string message) { throw Error(code, std::move(message)); }

}  // namespace trt
