#include "trainer/json_tree.h"

#include <cctype>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/suggest.h"

namespace paddle {
namespace {

constexpr int max_depth = 32;

// True for what JSON calls a number: "-1.5e3", not "nan", "0x10" or "1.".
bool reads_as_number(std::string_view s) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < s.size() && std::isdigit(static_cast<unsigned char>(s[i]))) ++i;
    return i > start;
  };
  if (i < s.size() && s[i] == '-') ++i;
  if (!digits()) return false;
  if (i < s.size() && s[i] == '.' && (++i, !digits())) return false;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == s.size();
}

class Parser {
 public:
  Parser(std::string_view source, const std::string& file, const JsonArguments& arguments)
      : s_(source), file_(file), arguments_(arguments) {}

  JsonValue document() {
    JsonValue v = value(0);
    skip();
    if (at_ < s_.size()) fail("expected the end of the file, found '", s_[at_], "'");
    const std::vector<std::string> names(placeholders_.begin(), placeholders_.end());
    for (const auto& [name, given] : arguments_)
      if (!placeholders_.count(name))
        throw Error(Error::Kind::config, "--config_args gives '", name, "', but ", file_,
                    " has no placeholder ${", name, "}", did_you_mean(name, names));
    return v;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw Error(Error::Kind::config, file_, ":", line_, ": ", parts...);
  }

  void skip() {
    while (at_ < s_.size()) {
      if (s_[at_] == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(s_[at_]))) {
        ++at_;
      } else if (s_.substr(at_, 2) == "//") {
        while (at_ < s_.size() && s_[at_] != '\n') ++at_;
      } else if (s_.substr(at_, 2) == "/*") {
        const int start = line_;
        while (at_ < s_.size() && s_.substr(at_, 2) != "*/") line_ += s_[at_++] == '\n';
        if (at_ >= s_.size()) fail("the comment that starts in line ", start, " has no end");
        at_ += 2;
      } else {
        return;
      }
    }
  }

  bool take(char c) {
    skip();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }

  JsonValue value(int depth) {
    if (depth > max_depth) fail("more than ", max_depth, " levels of nesting");
    skip();
    if (at_ >= s_.size()) fail("the file ends where a value should be");
    if (s_[at_] == '{') return object(depth);
    if (s_[at_] == '[') return list(depth);
    if (s_[at_] != '"') return word();
    JsonValue v;
    v.kind = JsonValue::Kind::text;
    v.line = line_;
    v.text = string();
    substitute(v);
    return v;
  }

  JsonValue object(int depth) {
    JsonValue v;
    v.kind = JsonValue::Kind::object;
    v.line = line_;
    ++at_;
    while (!take('}')) {
      if (!v.members.empty() && !take(',')) fail("expected ',' or '}', ", found());
      if (take('}')) break;  // a comma after the last member does no harm
      skip();
      JsonMember m;
      m.line = line_;
      m.key = key();
      for (const JsonMember& other : v.members)
        if (other.key == m.key)
          fail("'", m.key, "' stands here again; it was given in line ", other.line);
      if (!take(':')) fail("expected ':' after \"", m.key, "\", ", found());
      m.value = value(depth + 1);
      v.members.push_back(std::move(m));
    }
    return v;
  }

  JsonValue list(int depth) {
    JsonValue v;
    v.kind = JsonValue::Kind::list;
    v.line = line_;
    ++at_;
    while (!take(']')) {
      if (!v.items.empty() && !take(',')) fail("expected ',' or ']', ", found());
      if (take(']')) break;
      v.items.push_back(value(depth + 1));
    }
    return v;
  }

  std::string key() {
    if (at_ < s_.size() && s_[at_] == '"') return string();
    const size_t start = at_;
    while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '_'))
      ++at_;
    if (at_ == start) fail("expected a name in quotes, ", found());
    return std::string(s_.substr(start, at_ - start));
  }

  std::string string() {
    std::string out;
    for (++at_; at_ < s_.size() && s_[at_] != '"'; ++at_) {
      if (s_[at_] == '\n') fail("the text has no closing quote on its line");
      if (s_[at_] != '\\') {
        out += s_[at_];
        continue;
      }
      static constexpr std::string_view from = "\"\\/nrtbf", to = "\"\\/\n\r\t\b\f";
      const size_t k = ++at_ < s_.size() ? from.find(s_[at_]) : std::string_view::npos;
      if (k == std::string_view::npos)
        fail("an escape in a text must be one of \\\" \\\\ \\/ \\n \\r \\t \\b \\f");
      out += to[k];
    }
    if (at_ >= s_.size()) fail("the text has no closing quote");
    ++at_;
    return out;
  }

  JsonValue word() {
    const size_t start = at_;
    while (at_ < s_.size() && !std::isspace(static_cast<unsigned char>(s_[at_])) &&
           std::string_view(",:]}[{\"/").find(s_[at_]) == std::string_view::npos)
      ++at_;
    JsonValue v = typed(std::string(s_.substr(start, at_ - start)));
    if (v.kind == JsonValue::Kind::text) {
      if (v.text.empty()) fail("expected a value, ", found());
      fail("expected a value, found '", v.text, "': texts stand in quotes");
    }
    return v;
  }

  // A bare word as the value it reads as; anything else is a text.
  JsonValue typed(std::string w) const {
    JsonValue v;
    v.line = line_;
    if (w == "null") return v;
    v.kind = w == "true" || w == "false" ? JsonValue::Kind::boolean
             : reads_as_number(w)        ? JsonValue::Kind::number
                                         : JsonValue::Kind::text;
    v.text = std::move(w);
    return v;
  }

  void substitute(JsonValue& v) {
    if (!v.text.starts_with("${") || !v.text.ends_with("}")) return;
    const std::string inside = v.text.substr(2, v.text.size() - 3);
    const size_t colon = inside.find(':');
    const std::string name = inside.substr(0, colon);
    placeholders_.insert(name);
    const auto it = arguments_.find(name);
    if (it == arguments_.end() && colon == std::string::npos)
      fail("${", name, "} has no value: give --config_args=", name, "=VALUE, or a default as ${",
           name, ":VALUE}");
    v = typed(it != arguments_.end() ? it->second : inside.substr(colon + 1));
  }

  std::string found() const {
    return at_ < s_.size() ? text("found '", s_[at_], "'")
                           : std::string("found the end of the file");
  }

  std::string_view s_;
  const std::string& file_;
  const JsonArguments& arguments_;
  std::set<std::string> placeholders_;
  size_t at_ = 0;
  int line_ = 1;
};

std::string json_quoted(std::string_view s) {
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

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const JsonMember& m : members)
    if (m.key == key) return &m.value;
  return nullptr;
}

std::string JsonValue::told() const {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::boolean: return text;
    case Kind::number: return "the number " + text;
    case Kind::text: return "the text '" + text + "'";
    case Kind::list: return "a list";
    case Kind::object: return "an object";
  }
  return "";
}

JsonValue parse_json(std::string_view source, const std::string& file,
                     const JsonArguments& arguments) {
  return Parser(source, file, arguments).document();
}

std::string json_text(const JsonValue& v) {
  std::string out;
  switch (v.kind) {
    case JsonValue::Kind::null: return "null";
    case JsonValue::Kind::boolean:
    case JsonValue::Kind::number: return v.text;
    case JsonValue::Kind::text: return json_quoted(v.text);
    case JsonValue::Kind::list:
      for (const JsonValue& i : v.items) out += (out.empty() ? "" : ", ") + json_text(i);
      return "[" + out + "]";
    case JsonValue::Kind::object:
      for (const JsonMember& m : v.members)
        out += (out.empty() ? "" : ", ") + json_quoted(m.key) + ": " + json_text(m.value);
      return "{" + out + "}";
  }
  return out;
}

}  // namespace paddle
