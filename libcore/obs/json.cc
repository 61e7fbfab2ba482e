#include "obs/json.h"

#include <cmath>
#include <cstdio>

namespace paddle {
namespace {

// Bytes of the UTF-8 character at `at`; 0 where there is none.
size_t utf8_length(std::string_view s, size_t at) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0,
               surrogate = first == 0xED && second > 0x9F;
    return tail(at + 1) && tail(at + 2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool outside = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return tail(at + 1) && tail(at + 2) && tail(at + 3) && !outside ? 4 : 0;
  }
  return 0;
}

// The character at `at`, of `length` bytes, as JSON writes it.
std::string escaped(std::string_view s, size_t at, size_t length) {
  const auto c = static_cast<unsigned char>(s[at]);
  if (length == 0) return "\xEF\xBF\xBD";
  if (c == '"' || c == '\\') return {'\\', s[at]};
  if (c >= 0x20) return std::string(s.substr(at, length));
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", c);
  return escape;
}

}  // namespace

std::string json_value(std::string_view text, size_t limit) {
  constexpr std::string_view more = "…";
  std::string out = "\"";
  size_t cut = 1;  // where "…" still fits
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    out += escaped(text, i, length);
    if (out.size() + 1 > limit) return out.substr(0, cut).append(more) + "\"";
    if (out.size() + more.size() + 1 <= limit) cut = out.size();
    i += length == 0 ? 1 : length;
  }
  return out + "\"";
}

std::string json_value(bool value) { return value ? "true" : "false"; }
std::string json_value(uint64_t value) { return std::to_string(value); }
std::string json_value(uint32_t value) { return std::to_string(value); }
std::string json_value(int64_t value) { return std::to_string(value); }

std::string json_value(double value) {
  if (!std::isfinite(value)) return "null";
  char out[32];
  std::snprintf(out, sizeof out, "%.9g", value);
  return out;
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  out_ += out_.size() == 1 ? "\"" : ", \"";
  out_.append(key).append("\": ").append(json);
  return *this;
}

}  // namespace paddle
