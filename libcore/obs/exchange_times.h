// How long a trainer waited for the answers of shards. Like the log there is one per process, and
// any thread may use it.
#pragma once

#include "obs/time_histogram.h"

namespace paddle {

struct ExchangeTimes {
  TimeHistogram push;  // from a gradient that was sent to the values of the next version
  TimeHistogram pull;  // from a pull to its values
  TimeHistogram push_rows, pull_rows;  // the same of rows of tables
};

ExchangeTimes& exchange_times();

}  // namespace paddle
