// How long a trainer waited for the answers of shards, and what waits to be sent. Like the log
// there is one per process, and any thread may use it.
#pragma once

#include <atomic>
#include <cstdint>

#include "obs/time_histogram.h"

namespace paddle {

// Rows of tables that a trainer keeps for some steps (trainer/row_cache.h).
struct RowCacheCounts {
  std::atomic<uint64_t> hits = 0, misses = 0;  // rows that steps looked for in it
  std::atomic<int64_t> rows = 0, bytes = 0;    // that it holds; that it may come to hold, 0: off
};

struct ExchangeTimes {
  TimeHistogram push;  // from a gradient that was sent to the values of the next version
  TimeHistogram pull;  // from a pull to its values
  TimeHistogram push_rows, pull_rows;    // the same of rows of tables
  std::atomic<uint64_t> rows_ahead = 0;  // pulls of rows that had been sent before their step
  RowCacheCounts row_cache;
  std::atomic<int64_t> queued = 0;  // async: gradients of groups of slices that wait for an answer
};

ExchangeTimes& exchange_times();

}  // namespace paddle
