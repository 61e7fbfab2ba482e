#include "trainer/json_tree.h"

#include <cctype>
#include <charconv>
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

  Value document() {
    Value v = value(0);
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
  [[noreturn]] void fail_at(SourcePlace at, const Parts&... parts) const {
    throw Error(Error::Kind::config, file_, ":", at.line, ":", at.column, ": ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_at(here(), parts...);
  }

  SourcePlace here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
  // Passes over one character.
  void step() {
    if (s_[at_++] != '\n') return;
    ++line_;
    line_start_ = at_;
  }

  void skip() {
    while (at_ < s_.size()) {
      if (std::isspace(static_cast<unsigned char>(s_[at_]))) {
        step();
      } else if (s_.substr(at_, 2) == "//") {
        while (at_ < s_.size() && s_[at_] != '\n') ++at_;
      } else if (s_.substr(at_, 2) == "/*") {
        const int start = line_;
        while (at_ < s_.size() && s_.substr(at_, 2) != "*/") step();
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

  Value value(int depth) {
    if (depth > max_depth) fail("more than ", max_depth, " levels of nesting");
    skip();
    if (at_ >= s_.size()) fail("the file ends where a value should be");
    if (s_[at_] == '{') return object(depth);
    if (s_[at_] == '[') return list(depth);
    if (s_[at_] != '"') return word();
    const SourcePlace at = here();
    Value v = substituted(string(), at);
    v.at = at;
    return v;
  }

  Value object(int depth) {
    const SourcePlace at = here();
    Dict members;
    ++at_;
    while (!take('}')) {
      if (!members.empty() && !take(',')) fail("expected ',' or '}', ", found());
      if (take('}')) break;  // a comma after the last member does no harm
      skip();
      const SourcePlace key_at = here();
      std::string name = key();
      if (const Value* other = find(members, name))
        fail_at(key_at, "'", name, "' stands here again; it was given in line ", other->key.line);
      if (!take(':')) fail("expected ':' after \"", name, "\", ", found());
      Value member = value(depth + 1);
      member.key = key_at;
      members.emplace_back(std::move(name), std::move(member));
    }
    Value v(std::move(members));
    v.at = at;
    return v;
  }

  Value list(int depth) {
    const SourcePlace at = here();
    List items;
    ++at_;
    while (!take(']')) {
      if (!items.empty() && !take(',')) fail("expected ',' or ']', ", found());
      if (take(']')) break;
      items.push_back(value(depth + 1));
    }
    Value v(std::move(items));
    v.at = at;
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

  Value word() {
    const SourcePlace at = here();
    const size_t start = at_;
    while (at_ < s_.size() && !std::isspace(static_cast<unsigned char>(s_[at_])) &&
           std::string_view(",:]}[{\"/").find(s_[at_]) == std::string_view::npos)
      ++at_;
    Value v = typed(std::string(s_.substr(start, at_ - start)));
    if (const std::string* word = v.as<std::string>()) {
      if (word->empty()) fail("expected a value, ", found());
      fail("expected a value, found '", *word, "': texts stand in quotes");
    }
    v.at = at;
    return v;
  }

  // A bare word as the value it reads as; anything else is a text.
  static Value typed(std::string w) {
    if (w == "null") return {};
    if (w == "true" || w == "false") return w == "true";
    if (!reads_as_number(w)) return w;
    Value v = std::strtod(w.c_str(), nullptr);
    int64_t whole = 0;
    const char* end = w.data() + w.size();
    if (std::from_chars(w.data(), end, whole) == std::from_chars_result{end, std::errc{}})
      v = whole;
    v.written = std::move(w);
    return v;
  }

  Value substituted(std::string s, SourcePlace at) {
    if (!s.starts_with("${") || !s.ends_with("}")) return s;
    const std::string inside = s.substr(2, s.size() - 3);
    const size_t colon = inside.find(':');
    const std::string name = inside.substr(0, colon);
    placeholders_.insert(name);
    const auto it = arguments_.find(name);
    if (it == arguments_.end() && colon == std::string::npos)
      fail_at(at, "${", name, "} has no value: give --config_args=", name,
              "=VALUE, or a default as ${", name, ":VALUE}");
    return typed(it != arguments_.end() ? it->second : inside.substr(colon + 1));
  }

  std::string found() const {
    return at_ < s_.size() ? text("found '", s_[at_], "'")
                           : std::string("found the end of the file");
  }

  std::string_view s_;
  const std::string& file_;
  const JsonArguments& arguments_;
  std::set<std::string> placeholders_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Value parse_json(std::string_view source, const std::string& file, const JsonArguments& arguments) {
  return Parser(source, file, arguments).document();
}

}  // namespace paddle
