// How to ask shards for their state.
#pragma once

#include <vector>

#include "obs/shard_status.h"
#include "options/cluster.h"
#include "wire/credentials.h"

namespace paddle {

// Connects to all shards at once as an observer and asks each. Those that do not answer within
// `seconds` have a problem. Dense ones first.
std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds,
                                    const wire::Credentials& credentials = {});

}  // namespace paddle
