// Rows of words under a head, for terminals.
#pragma once

#include <string>
#include <vector>

namespace paddle {

using TextRow = std::vector<std::string>;

// Columns as wide as their widest cell, two blanks apart, with an empty line behind them; "" for a
// table without rows. The last cell of a row that is shorter than the head may run on. Cells may be
// words of other processes: none of their control characters reaches the terminal.
std::string text_table(const TextRow& head, std::vector<TextRow> rows);

}  // namespace paddle
