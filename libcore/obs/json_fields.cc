#include "obs/json_fields.h"

#include <cctype>
#include <charconv>

namespace paddle {
namespace {

// Every function returns false for what it cannot read; the caller then gives up.
class LineParser {
 public:
  explicit LineParser(std::string_view line) : s_(line) {}

  bool whole(JsonField& out) { return object(out, 0) && (skip(), at_ == s_.size()); }

 private:
  void skip() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool object(JsonField& out, int depth) {
    if (depth >= 4 || !take('{')) return false;
    out.kind = JsonField::Kind::object;
    if (take('}')) return true;
    do {
      auto& [name, value] = out.members.emplace_back(std::string(), JsonField());
      if (!string(name) || !take(':') || !field(value, depth)) return false;
    } while (take(','));
    return take('}');
  }

  bool field(JsonField& out, int depth) {
    skip();
    if (at_ >= s_.size()) return false;
    if (s_[at_] == '{') return object(out, depth + 1);
    if (s_[at_] == '"') {
      out.kind = JsonField::Kind::text;
      return string(out.text);
    }
    return word(out);
  }

  bool word(JsonField& out) {
    const size_t begin = at_;
    while (at_ < s_.size() && std::string_view(" ,}").find(s_[at_]) == std::string_view::npos)
      ++at_;
    out.text = s_.substr(begin, at_ - begin);
    if (out.text == "null") return true;
    out.kind = JsonField::Kind::boolean;
    if (out.text == "true" || out.text == "false") return true;
    out.kind = JsonField::Kind::number;
    double number = 0;
    const char* last = out.text.data() + out.text.size();
    const auto [end, failure] = std::from_chars(out.text.data(), last, number);
    return end == last && failure == std::errc() && !out.text.empty();
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    for (; at_ < s_.size() && s_[at_] != '"'; ++at_) {
      if (s_[at_] != '\\') {
        out += s_[at_];
      } else if (!escape(out)) {
        return false;
      }
    }
    return take('"');
  }

  bool escape(std::string& out) {
    static constexpr std::string_view from = "\"\\/nrtbf", to = "\"\\/\n\r\t\b\f";
    if (++at_ >= s_.size()) return false;
    if (const size_t k = from.find(s_[at_]); k != std::string_view::npos) {
      out += to[k];
      return true;
    }
    unsigned code = 0;
    if (s_[at_] != 'u' || s_.size() - at_ < 5) return false;
    const char* begin = s_.data() + at_ + 1;
    const auto [end, failure] = std::from_chars(begin, begin + 4, code, 16);
    if (failure != std::errc() || end != begin + 4) return false;
    at_ += 4;
    append_utf8(code, out);
    return true;
  }

  static void append_utf8(unsigned code, std::string& out) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    if (code < 0x800) {
      out += static_cast<char>(0xC0 | code >> 6);
    } else {
      out += static_cast<char>(0xE0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    }
    out += static_cast<char>(0x80 | (code & 0x3F));
  }

  std::string_view s_;
  size_t at_ = 0;
};

}  // namespace

const JsonField* JsonField::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

std::optional<JsonField> read_json_object(std::string_view line) {
  JsonField out;
  if (!LineParser(line).whole(out)) return std::nullopt;
  return out;
}

}  // namespace paddle
