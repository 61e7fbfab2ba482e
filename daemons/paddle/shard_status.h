// Questions to the shards of a job, each with one answer: their state, or an admin's command.
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

struct CommandAnswer {
  std::string endpoint;
  std::string problem;  // why it was not done; "" where it was
  bool again = false;   // it could be done if it were asked for again
  uint64_t step = 0;    // of a snapshot that is on the disk
};

// The same as an admin, with a command; the answers in the order of the endpoints.
std::vector<CommandAnswer> command_shards(const Endpoints& endpoints, const wire::Command& command,
                                          double seconds, const wire::Credentials& credentials);

}  // namespace paddle
