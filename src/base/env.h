// The TRT_* environment variables. The environment is copied once, at the first question, so that a host that calls
// setenv() later races with nothing and every part of the library sees the same values. Parsing ignores the locale.
// Thread safety: all functions may be called from any thread. The strings live for the whole process.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trt {

// The value of `name` (which starts with "TRT_"), or nothing when it is not set.
std::optional<std::string_view> env_string(std::string_view name);

// The integer value clamped to [lo, hi]; `fallback` when the variable is not set or is not a decimal integer.
int64_t env_int(std::string_view name, int64_t fallback, int64_t lo, int64_t hi);

// 1, true, yes, on and 0, false, no, off in any case; `fallback` when not set, empty or something else.
bool env_bool(std::string_view name, bool fallback);

// The parsers themselves: surrounding blanks are allowed, trailing characters are not.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<bool> parse_bool(std::string_view text);

}  // namespace trt
