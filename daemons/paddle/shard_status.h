// The state of a shard, and how to ask for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "options/cluster.h"
#include "wire/credentials.h"
#include "wire/messages.h"

namespace paddle {

using wire::MemberStatus;
using wire::SliceStatus;

// What a shard reports; only endpoint, sparse and problem where it did not answer.
struct ShardStatus : wire::Status {
  std::string endpoint;
  std::string problem;  // why there is no answer; "" where there is one

  bool answered() const { return problem.empty(); }
};

// Connects to all shards at once as an observer and asks each. Those that do not answer within
// `seconds` have a problem. Dense ones first.
std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds,
                                    const wire::Credentials& credentials = {});

}  // namespace paddle
