// The output of several processes in the order of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paddle {

// The microseconds since the beginning of the year at the beginning of a log line:
// `I1116 09:10:17.123121 …`. Nothing for other lines.
std::optional<int64_t> log_stamp(std::string_view line);

// A stamp has no year: what would be more than a day after `now` is of the year before, and its
// stamp then less than those of this year.
int64_t not_after(int64_t stamp, int64_t now);

// `trainer.0 | I1116 …`, as paddle launch shows the lines of its processes: whose it is, and what
// that one wrote. `process` is "" for other lines.
struct NamedLine {
  std::string_view process, line;
};
NamedLine without_name(std::string_view line);

struct LoggedLine {
  std::string process;
  int64_t stamp = 0;  // of the line, or of the last one of its process that has one
  std::string text;
};

// Lines of processes, each in its own order, in the order of their stamps. Lines without one stay
// behind the line before them.
std::vector<LoggedLine> merged(std::vector<std::vector<LoggedLine>> processes);

// "90", "90s", "15m", "2h", "1d" in seconds; nothing for what is no such time.
std::optional<double> parse_duration(const std::string& word);

}  // namespace paddle
