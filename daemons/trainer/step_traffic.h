// What one step moves between a trainer and the shards, worked out from the cut before anything
// runs. `paddle dump_config --role` prints it, `paddle status` shows what was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/slice_layout.h"

namespace paddle {

struct StepTraffic {
  uint64_t messages = 0;                        // each way
  uint64_t bytes_pushed = 0, bytes_pulled = 0;  // whole frames: headers, heads and values
};

// By shard, of one trainer in a mode that pushes every gradient once per step (sync, half-async).
std::vector<StepTraffic> step_traffic(const SliceLayout& layout);

// A line for people: all shards together.
std::string traffic_line(const std::vector<StepTraffic>& shards);

}  // namespace paddle
