// A dump of a table that is under way.
#pragma once

#include "table/table.h"

namespace paddle {

struct Table::DumpState {
  DumpState(size_t row_bytes, MemoryLimit& budget) : saved(row_bytes, budget) {}
  uint32_t clock = 0;   // of the last update that it holds
  uint32_t since = 0;   // it holds what changed after this clock; 0 = all
  uint64_t from = 0;    // rows with a lower hash are written
  bool walked = false;  // all of them are
  bool ended = false;   // the last part is written
  uint32_t part = 0;
  RowStore saved;  // rows as they were, which have changed before they were written
};

}  // namespace paddle
