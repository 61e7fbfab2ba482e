#include "base/wrap.h"

#include <algorithm>

namespace paddle {
namespace {

// The last column stays free: many terminals wrap when it is written.
size_t usable(int columns) { return static_cast<size_t>(std::max(columns - 1, 20)); }

std::string wrap_line(std::string_view line, size_t width, size_t indent) {
  if (columns_of(line) <= width) return std::string(line);
  const size_t start = std::min(line.find_first_not_of(' '), line.size());
  const std::string margin(std::min(start + indent, width / 2), ' ');
  std::string out(line.substr(0, start));
  size_t used = start;
  bool first = true;  // in its line
  for (size_t at = start; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const size_t size = columns_of(word);
    if (!first && used + 1 + size > width) {
      out += "\n" + margin;
      used = margin.size();
      first = true;
    }
    if (!first) out += ' ';
    used += size + (first ? 0 : 1);
    out += word;
    first = false;
    at = end + 1;
  }
  return out;
}

}  // namespace

size_t columns_of(std::string_view line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not inside a character
  }));
}

std::string wrapped(std::string_view text, int columns, size_t indent) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += (at == 0 ? "" : "\n") + wrap_line(text.substr(at, end - at), usable(columns), indent);
    at = end + 1;
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  bool gap = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    const bool second_set = c == 0xC2 && next >= 0x80 && next < 0xA0;  // as UTF-8
    if (c < 0x20 || c == 0x7F || second_set) {
      gap = true;
      i += second_set ? 1 : 0;
    } else if (!gap || c != ' ') {
      if (gap) out += ' ';
      gap = false;
      out += text[i];
    }
  }
  return out;
}

std::string wrapped_command(const std::vector<std::string>& words, int columns) {
  std::string out;
  size_t used = 0;
  for (const std::string& word : words) {
    const size_t size = columns_of(word);
    if (used > 0 && used + 1 + size + 2 > usable(columns)) {  // " \" has to fit behind it
      out += " \\\n    ";
      used = 4;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += size;
  }
  return out;
}

std::string shell_word(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace paddle
