// The memory that a pserver may hold, shared by its shards (--memory_limit).
#pragma once

#include <algorithm>

#include "base/byte_budget.h"

namespace paddle {

struct PserverMemory {
  explicit PserverMemory(uint64_t limit)
      : whole(limit), messages(std::min<uint64_t>(limit / 4, 256u << 20), &whole) {}

  ByteBudget whole;     // stores, messages
  ByteBudget messages;  // long heads that are coming in, answers that were not read yet
};

}  // namespace paddle
