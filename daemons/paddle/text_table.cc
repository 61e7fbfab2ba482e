#include "paddle/text_table.h"

#include <algorithm>

#include "base/wrap.h"

namespace paddle {

std::string text_table(const TextRow& head, std::vector<TextRow> rows) {
  if (rows.empty()) return "";
  for (TextRow& row : rows)
    for (std::string& cell : row) cell = one_line(cell);
  std::vector<size_t> width(head.size());
  const auto measure = [&](const TextRow& row) {
    // The last cell of a short row is a sentence, which may run on.
    const size_t cells = row.size() < head.size() ? row.size() - 1 : row.size();
    for (size_t i = 0; i < cells; ++i) width[i] = std::max(width[i], row[i].size());
  };
  measure(head);
  for (const TextRow& row : rows) measure(row);
  std::string out;
  const auto add = [&](const TextRow& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += (i == 0 ? "" : "  ") + row[i];
      if (i < width.size() && row[i].size() < width[i])
        line += std::string(width[i] - row[i].size(), ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(head);
  for (const TextRow& row : rows) add(row);
  return out + "\n";
}

}  // namespace paddle
