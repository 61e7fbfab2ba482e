// What differs between two saved sparse tables.
#pragma once

#include <string>

#include "paddle/compare_models.h"

namespace paddle {

struct RowsDifference {
  uint64_t rows_a = 0, rows_b = 0, only_a = 0, only_b = 0;
  NumberDifference values, states;  // of rows that both have
  std::string other_shape;          // width or kind differ: nothing else was compared
};

// Takes memory for the rows of one of them. Throws Error(io or data).
RowsDifference compare_tables(const std::string& a, const std::string& b);

}  // namespace paddle
