// Writes JSON: one object at a time, in one line. Whatever bytes a text holds, the result is JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paddle {

// The text in quotation marks; bytes that are not UTF-8 become U+FFFD. A text whose written form
// would be longer than `limit` bytes is cut between two characters and ends with "…".
std::string json_value(std::string_view text, size_t limit = std::string::npos);
inline std::string json_value(const std::string& text) {
  return json_value(std::string_view(text));
}
inline std::string json_value(const char* text) { return json_value(std::string_view(text)); }
std::string json_value(bool value);
std::string json_value(uint64_t value);
std::string json_value(uint32_t value);
std::string json_value(int64_t value);
// null for NaN and the infinities.
std::string json_value(double value);

class JsonObject {
 public:
  template <class T>
  JsonObject& add(std::string_view key, const T& value) {
    return raw(key, json_value(value));
  }
  // `json` is written as it is.
  JsonObject& raw(std::string_view key, std::string_view json);
  std::string done() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

// "[a, b]" of what each(value) makes of the values.
template <class Values, class Each>
std::string json_list(const Values& values, const Each& each) {
  std::string out = "[";
  for (const auto& v : values) out += (out.size() == 1 ? "" : ", ") + each(v);
  return out + "]";
}

}  // namespace paddle
