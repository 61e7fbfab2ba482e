// The state of a job's shards for people (tables) and for programs (JSON).
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

// One JSON object in one line, with a newline.
std::string status_json(std::span<const ShardStatus> shards);

// The trainers over all shards: numbers added up or the largest, states that differ joined by '/'.
std::vector<MemberStatus> trainers_of(std::span<const ShardStatus> shards);

}  // namespace paddle
