// UTF-8, as every string that crosses the C API must be.
#pragma once

#include <string>
#include <string_view>

namespace trt {

// Shortest forms only, no surrogates, at most U+10FFFF.
bool is_utf8(std::string_view s);
// `s` with U+FFFD in place of each byte that is no part of a character.
std::string to_utf8(std::string s);
// Throws kInvalidArgument: "<what> is not valid UTF-8".
void check_utf8(std::string_view s, const char* what);

}  // namespace trt
