#include "paddle/table_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/random.h"

namespace paddle {
namespace {

std::string number(double x) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", x);
  return out;
}

std::string spread(const NumberStats& s) {
  if (s.count == 0) return "none";
  return text("min ", number(s.low), ", max ", number(s.high), ", mean ", number(s.mean()),
              ", root mean square ", number(s.root_mean_square()));
}

// "4 to 7" for the bucket 3.
std::string count_range(size_t bucket, size_t last) {
  if (bucket < 2) return std::to_string(bucket);
  const uint64_t from = uint64_t{1} << (bucket - 1);
  return bucket == last ? text(from, " and more") : text(from, " to ", 2 * from - 1);
}

std::string row_line(const RowText& row, size_t most) {
  std::string out = text("  id ", row.id, ", step ", row.step, ", ", row.count, " updates:");
  for (size_t j = 0; j < std::min(most, row.values.size()); ++j)
    out += " " + number(static_cast<double>(row.values[j]));
  return row.values.size() > most ? out + " …\n" : out + "\n";
}

}  // namespace

void NumberStats::add(double x) {
  if (!std::isfinite(x)) {
    ++not_finite;
    return;
  }
  ++count;
  sum += x;
  squares += x * x;
  low = std::min(low, x);
  high = std::max(high, x);
}

double NumberStats::root_mean_square() const {
  return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
}

RowText read_row(const std::byte* row, const RowLayout& layout) {
  const RowHead& head = *head_of(row);
  RowText out{.id = head.id,
              .step = head.step > 0 ? head.step - uint64_t{1} : 0,
              .count = head.count,
              .values = std::vector<float>(static_cast<size_t>(layout.width)),
              .states = {}};
  layout.read(row, out.values.data());
  out.states.assign(layout.states(row), layout.states(row) + layout.state_numbers);
  return out;
}

TableStats::TableStats(const RowLayout& layout, size_t samples, std::vector<uint64_t> ids)
    : layout_(layout), samples_(samples), wanted_ids_(std::move(ids)) {
  std::sort(wanted_ids_.begin(), wanted_ids_.end());
  // Arrays as wide as the row, or one number per row.
  const int64_t n = layout.state_numbers;
  states.resize(static_cast<size_t>(n % layout.width == 0 ? n / layout.width : n));
}

void TableStats::add(const std::byte* at) {
  const RowText row = read_row(at, layout_);
  ++rows;
  double squares = 0;
  const uint64_t before = values.not_finite;
  for (const float v : row.values) {
    values.add(static_cast<double>(v));
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  bool bad = values.not_finite > before;
  if (!bad) {
    const double norm = std::sqrt(squares);
    if (norms.count == 0 || norm > norms.high) longest_id = row.id;
    norms.add(norm);
    zero_rows += squares == 0;
  }
  for (size_t k = 0; k < row.states.size(); ++k) {
    states[k * states.size() / row.states.size()].add(static_cast<double>(row.states[k]));
    bad |= !std::isfinite(row.states[k]);
  }
  bad_rows += bad;
  counts.add(row.count);
  steps.add(static_cast<double>(row.step));
  ++by_count[std::min<size_t>(by_count.size() - 1, std::bit_width(row.count))];
  if (std::binary_search(wanted_ids_.begin(), wanted_ids_.end(), row.id)) wanted[row.id] = row;
  if (samples_ == 0) return;
  const uint64_t key = mix64(row.id ^ golden);
  if (chosen_.size() < samples_ || key < chosen_.rbegin()->first) {
    chosen_[key] = row;
    if (chosen_.size() > samples_) chosen_.erase(std::prev(chosen_.end()));
  }
}

std::vector<RowText> TableStats::samples() const {
  std::vector<RowText> out;
  for (const auto& [key, row] : chosen_) out.push_back(row);
  std::sort(out.begin(), out.end(), [](const RowText& a, const RowText& b) { return a.id < b.id; });
  return out;
}

std::string stats_text(const TableStats& s, const std::vector<std::string>& state_names) {
  std::string out = "values        " + spread(s.values) + "\n";
  if (s.norms.count > 0)
    out += text("norms         mean ", number(s.norms.mean()), ", greatest ", number(s.norms.high),
                " (id ", s.longest_id, "); rows of zeros: ", s.zero_rows, "\n");
  for (size_t k = 0; k < s.states.size(); ++k) {
    const std::string name = k < state_names.size() ? state_names[k] : text("state ", k + 1);
    out += name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + spread(s.states[k]);
    out += "\n";
  }
  out += text("not finite    ", s.bad_rows, s.bad_rows == 1 ? " row" : " rows",
              " with NaN or Inf in values or state\n");
  if (s.rows == 0) return out;
  out += text("last updates  step ", number(s.steps.low), " to ", number(s.steps.high), "\n");
  out +=
      text("updates       of a row: mean ", number(s.counts.mean()), ", most ",
           number(s.counts.high), s.counts.high == 65535 ? " (the count stops there)" : "", "\n");
  for (size_t k = 0; k < s.by_count.size(); ++k)
    if (s.by_count[k] > 0) {
      char line[96];
      std::snprintf(line, sizeof line, "  %-16s %12llu rows %6.2f %%\n",
                    count_range(k, s.by_count.size() - 1).c_str(),
                    static_cast<unsigned long long>(s.by_count[k]),
                    100.0 * static_cast<double>(s.by_count[k]) / static_cast<double>(s.rows));
      out += line;
    }
  if (const std::vector<RowText> rows = s.samples(); !rows.empty()) {
    out += "samples\n";
    for (const RowText& row : rows) out += row_line(row, 8);
  }
  return out;
}

}  // namespace paddle
