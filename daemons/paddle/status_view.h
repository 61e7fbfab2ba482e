// The state of a job's shards for people; obs/shard_status.h has it for programs.
#pragma once

#include <span>
#include <string>

#include "paddle/shard_status.h"

namespace paddle {

// Tables of shards, trainers and slices, then waits, snapshots and errors. `before` is an earlier
// look at the same shards, `seconds` ago, for rates and for what a step moves; empty: rates since
// the shards started.
std::string status_tables(std::span<const ShardStatus> shards, std::span<const ShardStatus> before,
                          double seconds);

}  // namespace paddle
