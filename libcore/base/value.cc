#include "base/value.h"

#include "base/error.h"

namespace paddle {
namespace {

std::string quoted_text(std::string_view s) {
  static constexpr std::string_view special = "\"\\\n\r\t\b\f", letter = "\"\\nrtbf";
  std::string out = "\"";
  for (const char c : s) {
    const size_t k = special.find(c);
    if (k == std::string_view::npos)
      out += c;
    else
      out += {'\\', letter[k]};
  }
  return out + '"';
}

std::string plain_text(std::monostate) { return "null"; }
std::string plain_text(bool b) { return b ? "true" : "false"; }
std::string plain_text(int64_t i) { return text(i); }
std::string plain_text(double d) { return text(d); }
std::string plain_text(const std::string& s) { return quoted_text(s); }
std::string plain_text(const List& list) {
  std::string out;
  for (const Value& item : list) out += (out.empty() ? "" : ", ") + value_text(item);
  return "[" + out + "]";
}
std::string plain_text(const Dict& dict) {
  std::string out;
  for (const auto& [key, item] : dict)
    out += (out.empty() ? "" : ", ") + quoted_text(key) + ": " + value_text(item);
  return "{" + out + "}";
}

constexpr size_t longest_shown = 60;

}  // namespace

std::string value_text(const Value& value) {
  if (!value.written.empty()) return value.written;
  return std::visit([](const auto& v) { return plain_text(v); }, value.held);
}

std::string describe_value(const Value& value) {
  if (const std::string* s = value.as<std::string>())
    return s->size() > longest_shown ? text("a text of ", s->size(), " bytes")
                                     : text("the text '", *s, "'");
  std::string shown = value_text(value);
  if (value.as<Dict>()) return "an object";
  if (value.as<List>()) return shown.size() > longest_shown ? "a list" : "the list " + shown;
  if (shown.size() > longest_shown) return text("a number of ", shown.size(), " digits");
  return (value.as<int64_t>() || value.as<double>() ? "the number " : "") + shown;
}

}  // namespace paddle
