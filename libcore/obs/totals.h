// Numbers over all trainers of a job (pserver/job_totals.h), as an event and as a sentence.
#pragma once

#include <string>

#include "obs/event.h"
#include "wire/messages.h"

namespace paddle {

event::Totals totals_event(const wire::Totals& totals);

// "pass 1 of all trainers: 200000 samples, cost 0.468852, auc 0.80769", or in the middle of a pass
// "pass 1, batch 200 of all trainers: …; since batch 100: cost 0.459, auc 0.81".
std::string totals_text(const event::Totals& totals);

}  // namespace paddle
