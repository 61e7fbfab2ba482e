// Messages that the values of a job answer.
#pragma once

#include "pserver/job.h"

namespace paddle {

void push(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Push& push,
          uint64_t bulk);
void pull(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Pull& pull);
void pull_rows(Context& context, Job& job, PeerId peer, uint64_t id, const wire::PullRows& pull,
               uint64_t bulk);
// Answers with bytes of a variable of the job's store, as trainer 0 asks for when it saves, and the
// lowest version of its slices.
void fetch(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Fetch& fetch);
void fetch_rows(Context& context, Job& job, PeerId peer, uint64_t id, const wire::FetchRows& fetch);

}  // namespace paddle
