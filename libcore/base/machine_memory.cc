#include "base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "base/file.h"

namespace paddle {
namespace {

std::string read_small_file(const std::string& path) {
  try {
    return is_file(path) ? read_file(path, 64u << 10) : "";
  } catch (const Error&) {  // not ours to read: then there is no limit that we know of
    return "";
  }
}

// "max", or nothing, is no limit.
uint64_t limit_in(const std::string& path) {
  const std::string text = read_small_file(path);
  uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return problem == std::errc() && end != text.data() && bytes > 0 ? bytes : ~uint64_t{0};
}

// The lowest limit of the group and of those above it. In a container the group's path may not be
// there: its own group is then the root of what it sees.
uint64_t group_limit(const std::string& root, std::string group, const std::string& file) {
  uint64_t least = ~uint64_t{0};
  for (;;) {
    least = std::min(least, limit_in(root + group + "/" + file));
    const size_t cut = group.rfind('/');
    if (group.empty() || cut == std::string::npos) return least;
    group.resize(cut);
  }
}

}  // namespace

uint64_t machine_memory(const std::string& proc, const std::string& sys) {
  uint64_t least = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                   static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::istringstream groups(read_small_file(proc + "/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers == ",,")
      least = std::min(least, group_limit(sys + "/fs/cgroup", group, "memory.max"));
    else if (controllers.find(",memory,") != std::string::npos)
      least =
          std::min(least, group_limit(sys + "/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

std::optional<uint64_t> parse_memory(const std::string& text, uint64_t whole) {
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, number, std::chars_format::fixed);
  const std::string suffix(end, last);
  if (problem != std::errc() || suffix.size() > 1 || !std::isfinite(number)) return {};
  static constexpr std::string_view units = "kmgt";
  if (suffix == "%") {
    number *= static_cast<double>(whole) / 100;
  } else if (!suffix.empty()) {
    const size_t unit = units.find(static_cast<char>(suffix[0] | 0x20));
    if (unit == std::string_view::npos) return {};
    number *= std::pow(1024.0, static_cast<double>(unit + 1));
  }
  if (number < 1 || number > 0x1p62) return {};
  return static_cast<uint64_t>(number);
}

std::string memory_text(uint64_t bytes) {
  static constexpr const char* units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit < 4; ++unit) number /= 1024;
  char out[32];
  std::snprintf(out, sizeof out, unit == 0 || number >= 100 ? "%.0f" : "%.1f", number);
  return std::string(out) + units[unit];
}

}  // namespace paddle
