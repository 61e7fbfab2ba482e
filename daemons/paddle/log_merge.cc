#include "paddle/log_merge.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace paddle {

std::optional<int64_t> log_stamp(std::string_view line) {
  // Every 0 is a digit, the others stand for themselves.
  constexpr std::string_view shape = "?0000 00:00:00.000000";
  if (line.size() < shape.size() || std::string_view("IWEF").find(line[0]) == std::string::npos)
    return {};
  for (size_t i = 1; i < shape.size(); ++i)
    if (shape[i] == '0' ? std::isdigit(static_cast<unsigned char>(line[i])) == 0
                        : line[i] != shape[i])
      return {};
  const auto number = [&](size_t at, size_t digits) {
    int64_t value = 0;
    std::from_chars(line.data() + at, line.data() + at + digits, value);
    return value;
  };
  const int64_t day = number(1, 2) * 31 + number(3, 2);  // rises, which is all that is needed
  return (((day * 24 + number(6, 2)) * 60 + number(9, 2)) * 60 + number(12, 2)) * 1'000'000 +
         number(15, 6);
}

int64_t not_after(int64_t stamp, int64_t now) {
  constexpr int64_t day = int64_t{86400} * 1'000'000, year = 12 * 31 * day;
  return stamp > now + day ? stamp - year : stamp;
}

NamedLine without_name(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  const size_t bar = line.find_first_not_of(' ', word.size());
  if (bar == std::string_view::npos || !line.substr(bar).starts_with("| ")) return {"", line};
  for (const std::string_view role : {"pserver", "trainer"}) {
    if (!word.starts_with(role)) continue;
    const std::string_view number = word.substr(role.size());
    if (number.empty() ||
        (number[0] == '.' && number.find_first_not_of("0123456789", 1) == std::string_view::npos))
      return {word, line.substr(bar + 2)};
  }
  return {"", line};
}

std::vector<LoggedLine> merged(std::vector<std::vector<LoggedLine>> processes) {
  std::vector<LoggedLine> out;
  for (std::vector<LoggedLine>& lines : processes)
    out.insert(out.end(), std::make_move_iterator(lines.begin()),
               std::make_move_iterator(lines.end()));
  std::stable_sort(out.begin(), out.end(),
                   [](const LoggedLine& a, const LoggedLine& b) { return a.stamp < b.stamp; });
  return out;
}

std::optional<double> parse_duration(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string unit(end, word.data() + word.size());
  if (error != std::errc() || value < 0) return {};
  if (unit.empty() || unit == "s") return value;
  if (unit == "m") return value * 60;
  if (unit == "h") return value * 3600;
  if (unit == "d") return value * 86400;
  return {};
}

}  // namespace paddle
