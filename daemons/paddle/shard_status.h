// The state of a shard, and how to ask for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "options/cluster.h"
#include "wire/messages.h"

namespace paddle {

using wire::MemberStatus;
using wire::SliceStatus;

struct ShardStatus {
  std::string endpoint;
  bool sparse = false;
  std::string problem;  // why there is no answer; "" where there is one, and the rest is filled in

  uint64_t instance = 0, epoch = 0, step = 0, bytes_in = 0, bytes_out = 0;
  uint64_t messages_in = 0, messages_out = 0;
  uint64_t memory = 0, memory_held = 0, memory_limit = 0;  // as in wire::Status
  std::string build, job, mode, state, waiting;
  double uptime = 0, steps_per_second = 0, cpu_seconds = 0;
  std::vector<MemberStatus> trainers;
  std::vector<SliceStatus> slices;
  std::vector<uint64_t> snapshots;
  std::vector<std::string> last_errors;

  bool answered() const { return problem.empty(); }
};

// Takes over what the message says; endpoint and sparse stay.
void read_status(wire::Status& from, ShardStatus& out);

// Connects to all shards at once as an observer and asks each. Those that do not answer within
// `seconds` have a problem. Dense ones first.
std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds);

}  // namespace paddle
