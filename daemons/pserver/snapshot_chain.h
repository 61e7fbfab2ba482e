// Whether a snapshot of a table holds all of its rows or what has changed since an earlier one.
// Plain values; no disk, no table.
#pragma once

#include <cstdint>

namespace paddle {

// What snapshots of a table may be, beside whole.
struct ChangesLimits {
  uint32_t most = 16;  // dumps of changes after a whole one; 0: all are whole
  double share = 0.5;  // bytes of all of them together, of those of the whole one
};

// The dumps that lie on the disk in the newest snapshot of a table: a whole one, and changes.
struct TableChain {
  uint64_t step = 0;                // of the snapshot
  uint64_t mark = 0;                // of the last dump (Table::begin_dump); 0: there is none
  uint64_t whole = 0, changes = 0;  // bytes
  uint32_t dumps = 0;               // of changes

  bool operator==(const TableChain&) const = default;
};

// Whether the next dump, of about `expected` bytes where it holds changes alone, may do so. The
// bounds are those of a restart, which reads all of a chain, and of the disk.
bool dump_changes(const TableChain& chain, uint64_t expected, const ChangesLimits& limits);

// The chain after a dump of `bytes` bytes, of changes or whole, with this mark in a snapshot of
// this step.
TableChain extended(const TableChain& chain, bool changes, uint64_t step, uint64_t mark,
                    uint64_t bytes);

}  // namespace paddle
