#include "pserver/snapshot_chain.h"

namespace paddle {

bool dump_changes(const TableChain& chain, uint64_t expected, const ChangesLimits& limits) {
  if (chain.mark == 0 || chain.dumps >= limits.most) return false;
  return static_cast<double>(chain.changes) + static_cast<double>(expected) <=
         limits.share * static_cast<double>(chain.whole);
}

TableChain extended(const TableChain& chain, bool changes, uint64_t step, uint64_t mark,
                    uint64_t bytes) {
  if (!changes) return {.step = step, .mark = mark, .whole = bytes};
  return {.step = step,
          .mark = mark,
          .whole = chain.whole,
          .changes = chain.changes + bytes,
          .dumps = chain.dumps + 1};
}

}  // namespace paddle
