#include "pserver/job_state.h"

namespace paddle {

uint64_t JobState::lowest_version() const {
  if (!exchange || store->parts().empty()) return base_step;
  return exchange->rounds().lowest_version();
}

bool JobState::same_version() const {
  return !exchange || store->parts().empty() ||
         exchange->rounds().lowest_version() == exchange->rounds().highest_version();
}

void JobState::fail(Context& context, const std::string& why) {
  if (!failure.empty()) return;
  failure = why;
  context.error(why);
  if (!exchange) return;
  exchange->fail_waiting(wire::FailureCode::job_failed, why);
  exchange->resume_held();  // they learn it as well
}

}  // namespace paddle
