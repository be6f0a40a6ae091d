// What the tests of the C++ wrapper share.
#ifndef TESTS_CAPI_WRAPPER_SUPPORT_H
#define TESTS_CAPI_WRAPPER_SUPPORT_H

#include "tensorrt/tensorrt.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

namespace {

using trt::DType;
using trt::Tensor;
using Ints = std::vector<std::int64_t>;

inline Tensor vec(std::vector<float> v) { return Tensor::from(v); }
inline bool is(const Tensor& t, const std::vector<double>& want) {
  const auto got = t.to_vector<double>();
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(std::abs(got[i] - want[i]) <= 1e-5 * (1 + std::abs(want[i])))) {
      print_error("element %zu is %g instead of %g\n", i, got[i], want[i]);
      return false;
    }
  return true;
}

template <typename F>
void throws(trt_code code, const char* part, F&& f) {
  try {
    f();
  } catch (const trt::Error& e) {
    if (e.code() == code && std::strstr(e.what(), part)) return;
    print_error("expected %s with \"%s\", got %s: %s\n", trt_code_name(code), part, trt_code_name(e.code()), e.what());
    fail();
    return;
  }
  print_error("nothing was thrown, \"%s\" was expected\n", part);
  fail();
}

/** An exception of the host's own type comes through the library. */
template <typename E, typename F>
void passes(const char* what, F&& f) {
  try {
    f();
  } catch (const E& e) {
    if (typeid(e) == typeid(E) && std::strcmp(e.what(), what) == 0) return;
    print_error("expected \"%s\", got \"%s\"\n", what, e.what());
    fail();
    return;
  }
  print_error("nothing was thrown, \"%s\" was expected\n", what);
  fail();
}

}  // namespace

#endif
