// Rows of words under a head, for terminals.
#pragma once

#include <string>
#include <vector>

namespace paddle {

using TextRow = std::vector<std::string>;

// Columns as wide as their widest cell, two blanks apart, with an empty line behind them; "" for a
// table without rows. The last cell of a row that is shorter than the head may run on.
std::string text_table(const TextRow& head, const std::vector<TextRow>& rows);

}  // namespace paddle
