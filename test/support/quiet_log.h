// While it lives, the log goes nowhere: for tests of what logs much, or shall not write to stderr.
#pragma once

#include "base/log.h"
#include "support/pseudo_terminal.h"

namespace paddle {

struct QuietLog {
  Pipe pipe;
  explicit QuietLog(int level = 3) { start_log({.min_level = level, .descriptor = pipe.device()}); }
  ~QuietLog() { start_log({}); }
};

}  // namespace paddle
