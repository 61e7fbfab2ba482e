// The line about the cache of rows (row_cache.h) in a trainer's log.
#pragma once

#include <cstdint>

namespace paddle {

class RowCacheLog {
 public:
  // Of the rows that were looked for since the line before; nothing where there is no cache.
  void log();

 private:
  uint64_t hits_ = 0, misses_ = 0;  // that were logged
};

}  // namespace paddle
