#include "paddle/compare_tables.h"

#include <algorithm>

#include "exec/table_file.h"
#include "paddle/table_stats.h"

namespace paddle {
namespace {

void add_all_numbers(const std::vector<float>& a, const std::vector<float>& b,
                     NumberDifference& out) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    out.add(static_cast<double>(a[i]), static_cast<double>(b[i]));
}

}  // namespace

RowsDifference compare_tables(const std::string& path_a, const std::string& path_b) {
  const TableFile a(path_a), b(path_b);
  RowsDifference out{.rows_a = a.rows(), .rows_b = b.rows()};
  const RowLayout la = a.layout(), lb = b.layout();
  if (la.width != lb.width || la.bf16 != lb.bf16 || la.state_numbers != lb.state_numbers) {
    out.other_shape = text("rows of ", la.width, " values and ", la.state_numbers,
                           " numbers of state, and of ", lb.width, " and ", lb.state_numbers,
                           la.bf16 == lb.bf16 ? "" : "; one of them has values of 16 bits");
    return out;
  }
  std::vector<RowText> rows;
  rows.reserve(a.rows());
  a.each_row([&](const std::byte* row) { rows.push_back(read_row(row, la)); });
  std::sort(rows.begin(), rows.end(),
            [](const RowText& x, const RowText& y) { return x.id < y.id; });
  uint64_t both = 0;
  b.each_row([&](const std::byte* bytes) {
    const RowText row = read_row(bytes, lb);
    const auto at = std::lower_bound(rows.begin(), rows.end(), row.id,
                                     [](const RowText& x, uint64_t id) { return x.id < id; });
    if (at == rows.end() || at->id != row.id) {
      ++out.only_b;
      return;
    }
    ++both;
    add_all_numbers(at->values, row.values, out.values);
    add_all_numbers(at->states, row.states, out.states);
  });
  out.only_a = rows.size() - both;
  return out;
}

}  // namespace paddle
