// Questions to the shards of a job, each with one answer: their state, or an admin's command.
#pragma once

#include <vector>

#include "base/clock.h"
#include "obs/shard_status.h"
#include "options/cluster.h"
#include "wire/credentials.h"

namespace paddle {

// The problem of a shard that said nothing within the time.
inline constexpr const char* no_answer_in_time = "no answer in time";

// When a shard did what; of what it did not do all is -1.
struct AnswerTimes {
  double opened = -1;    // seconds until it was connected and had proven who it is
  double answered = -1;  // seconds until the answer was there
  double asked_at = -1, answered_at = -1;  // seconds since 1970: the question itself
};

// Connects to all shards at once as an observer and asks each. Those that do not answer within
// `seconds` have a problem. Dense ones first. `times`, where it is not null, gets one row per
// shard.
std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds,
                                    const wire::Credentials& credentials = {},
                                    std::vector<AnswerTimes>* times = nullptr);

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
