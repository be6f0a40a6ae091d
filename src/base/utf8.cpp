#include "base/utf8.h"

#include <algorithm>

#include "base/error.h"

namespace trt {

namespace {

// The bytes of the character at the beginning of `s` (not empty); 0 when there is none.
size_t character_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t n = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (n == 0 || s.size() < n) return 0;
  // The second byte's range keeps out longer forms than needed, surrogates, and what lies above U+10FFFF.
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80, high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return n;
}

}  // namespace

bool is_utf8(std::string_view s) {
  while (!s.empty()) {
    const size_t n = character_length(s);
    if (n == 0) return false;
    s.remove_prefix(n);
  }
  return true;
}

std::string to_utf8(std::string s) {
  if (is_utf8(s)) return s;
  std::string out;
  for (std::string_view rest = s; !rest.empty();) {
    const size_t n = character_length(rest);
    if (n == 0) out += "\xef\xbf\xbd";
    else out += rest.substr(0, n);
    rest.remove_prefix(std::max<size_t>(n, 1));
  }
  return out;
}

void check_utf8(std::string_view s, const char* what) { TRT_CHECK(is_utf8(s), what, " is not valid UTF-8"); }

}  // namespace trt
