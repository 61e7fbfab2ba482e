#pragma once

#include "pserver/job.h"

namespace paddle {

// Answers with bytes of a variable of the job's store, and the lowest version of its slices.
void fetch(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Fetch& fetch);

}  // namespace paddle
