// What there is to say about the rows of a table, collected row by row.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "table/row_layout.h"

namespace paddle {

// Of many numbers; those that are not finite are counted apart.
struct NumberStats {
  uint64_t count = 0, not_finite = 0;
  double sum = 0, squares = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double x);
  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  double root_mean_square() const;
};

// One row as people read it. `step` is that of its last update.
struct RowText {
  uint64_t id = 0, step = 0;
  uint32_t count = 0;
  std::vector<float> values, states;
};
RowText read_row(const std::byte* row, const RowLayout& layout);

class TableStats {
 public:
  // Keeps `samples` rows: the same ones each time, chosen by a hash of the id, in order of ids.
  TableStats(const RowLayout& layout, size_t samples, std::vector<uint64_t> wanted);
  void add(const std::byte* row);

  uint64_t rows = 0;
  uint64_t zero_rows = 0;  // rows all of whose values are 0
  uint64_t bad_rows = 0;   // with a value or state that is not finite
  NumberStats values, norms, counts, steps;
  uint64_t longest_id = 0;          // of the row with the greatest norm
  std::vector<NumberStats> states;  // one per array of state; see add()
  // Rows by their number of updates: 0, 1, 2 to 3, 4 to 7, …, 32768 and more.
  std::array<uint64_t, 17> by_count{};
  std::map<uint64_t, RowText> wanted;  // rows with the ids that were asked for

  std::vector<RowText> samples() const;

 private:
  const RowLayout layout_;
  size_t samples_;
  std::vector<uint64_t> wanted_ids_;
  std::map<uint64_t, RowText> chosen_;  // by the hash
};

// All of it as lines of text, with the names of the arrays of state.
std::string stats_text(const TableStats& stats, const std::vector<std::string>& state_names);

}  // namespace paddle
