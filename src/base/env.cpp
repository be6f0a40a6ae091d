#include "base/env.h"

#include <unistd.h>

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/lazy.h"

namespace trt {

namespace {

using Snapshot = std::vector<std::pair<std::string, std::string>>;

constinit Lazy<Snapshot> g_snapshot;

const Snapshot& snapshot() {
  return g_snapshot.get([] {
    auto* v = new Snapshot;
    for (char** p = environ; p && *p; ++p) {
      const std::string_view entry(*p);
      const size_t eq = entry.find('=');
      if (eq == std::string_view::npos || entry.substr(0, 4) != "TRT_") continue;
      v->emplace_back(std::string(entry.substr(0, eq)), std::string(entry.substr(eq + 1)));
    }
    return v;
  });
}

std::string_view trim(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

bool equals_ignoring_case(std::string_view s, std::string_view lower) {
  if (s.size() != lower.size()) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i] >= 'A' && s[i] <= 'Z' ? static_cast<char>(s[i] + ('a' - 'A')) : s[i];
    if (c != lower[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<int64_t> parse_int(std::string_view text) {
  text = trim(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  text = trim(text);
  for (const char* s : {"1", "true", "yes", "on"}) {
    if (equals_ignoring_case(text, s)) return true;
  }
  for (const char* s : {"0", "false", "no", "off"}) {
    if (equals_ignoring_case(text, s)) return false;
  }
  return std::nullopt;
}

std::optional<std::string_view> env_string(std::string_view name) {
  for (const auto& [key, value] : snapshot()) {
    if (key == name) return value;
  }
  return std::nullopt;
}

int64_t env_int(std::string_view name, int64_t fallback, int64_t lo, int64_t hi) {
  const auto text = env_string(name);
  const auto value = text ? parse_int(*text) : std::nullopt;
  if (!value) return fallback;
  return *value < lo ? lo : *value > hi ? hi : *value;
}

bool env_bool(std::string_view name, bool fallback) {
  const auto text = env_string(name);
  return text ? parse_bool(*text).value_or(fallback) : fallback;
}

}  // namespace trt
