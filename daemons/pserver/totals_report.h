// The counts of the trainers of a job as they arrive, and the numbers over all of them
// (job_totals.h): kept for the status, handed to whoever writes events, and logged once a second.
#pragma once

#include <string>

#include "pserver/context.h"
#include "pserver/job_state.h"
#include "pserver/job_totals.h"

namespace paddle {

class TotalsReport {
 public:
  // Both outlive it.
  TotalsReport(const Context& context, JobState& state) : context_(context), state_(state) {}
  ~TotalsReport() { log(); }

  // Throws Error(protocol) for counts that nobody can have.
  void take(uint32_t trainer, wire::Tally tally);
  // Trainers were lost or have come.
  void members_changed();
  // The newest numbers, where they were not logged.
  void log();

 private:
  bool needed(uint32_t trainer) const;
  void publish(const std::vector<wire::Totals>& complete);

  const Context& context_;
  JobState& state_;
  JobTotals totals_;
  std::string line_;  // that was not logged
};

}  // namespace paddle
