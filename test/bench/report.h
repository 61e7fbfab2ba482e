// Lines of a measurement: one JSON object each.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace paddle::bench {

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

inline double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

using Numbers = std::vector<std::pair<const char*, double>>;

// {"row": "…", "unit": "…", "name": number, …}
inline void print_row(const std::string& row, const std::string& unit, const Numbers& numbers) {
  std::printf("{\"row\": \"%s\", \"unit\": \"%s\"", row.c_str(), unit.c_str());
  for (const auto& [name, value] : numbers) std::printf(", \"%s\": %.4g", name, value);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace paddle::bench
