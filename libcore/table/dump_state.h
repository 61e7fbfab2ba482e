// A dump of a table that is under way.
#pragma once

#include "table/table.h"

namespace paddle {

struct Table::DumpState {
  DumpState(size_t row_bytes, MemoryLimit& budget) : saved(row_bytes, budget) {}
  uint32_t clock = 0;   // of the last update that it holds
  uint32_t since = 0;   // it holds what changed after this clock; 0 = all
  uint64_t from = 0;    // rows with a lower hash are written
  uint32_t row = 0;     // and those in front of this one in its segment, where no row has moved
  uint64_t places = 0;  // RowStore::places() then
  bool walked = false;  // all of them are
  bool ended = false;   // the last part is written
  uint32_t part = 0;
  uint64_t saved_from = 0;  // how far the walk over `saved` is
  uint32_t saved_row = 0;
  RowStore saved;  // rows as they were, which have changed before they were written
};

}  // namespace paddle
