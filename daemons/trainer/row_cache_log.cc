#include "trainer/row_cache_log.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/machine_memory.h"
#include "obs/exchange_times.h"
#include "trainer/meter.h"

namespace paddle {

void RowCacheLog::log() {
  const RowCacheCounts& counts = exchange_times().row_cache;
  if (counts.bytes == 0) return;
  const uint64_t hits = counts.hits, misses = counts.misses;
  const uint64_t found = hits - std::exchange(hits_, hits),
                 all = found + misses - std::exchange(misses_, misses);
  const auto share = static_cast<double>(found) / static_cast<double>(std::max<uint64_t>(all, 1));
  log_info(text(" RowCache: ", number_text(100 * share, 3), " % of ", all,
                " rows were there; it has ", counts.rows, " rows and may use ",
                memory_text(static_cast<uint64_t>(counts.bytes))));
}

}  // namespace paddle
