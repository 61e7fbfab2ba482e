// What a shard has to say about itself.
#pragma once

#include "pserver/job.h"

namespace paddle {

// "PaddlePaddle 0.1.0"
std::string build_text();

// All of it; `job` is null where there is none. Uptime, CPU time and the process's state
// are the caller's to add.
wire::Status report(const Context& context, const Job* job, const SnapshotMaker& maker);

// The answer to a greeting.
wire::Welcome welcome(const Context& context, const Job* job, const SnapshotMaker& maker,
                      const Peer& peer);

}  // namespace paddle
