// CMocka for the programs in this folder, and what they expect of errors. Include it last: CMocka defines macros with common names.
#pragma once

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

#include "base/error.h"

// f() must throw an Error with this code and a message that contains `part`.
template <typename F>
void throws(trt::Code code, const char* part, F&& f) {
  try {
    f();
  } catch (const trt::Error& e) {
    if (e.code() == code && e.message().find(part) != std::string::npos) return;
    print_error("expected code %d with \"%s\", got %d: %s\n", static_cast<int>(code), part, static_cast<int>(e.code()), e.message().c_str());
    fail();
    return;
  }
  print_error("nothing was thrown, \"%s\" was expected\n", part);
  fail();
}
