// What a job is watched for once a second: how long it waits, and how fast it is.
#pragma once

#include <string>

#include "pserver/context.h"

namespace paddle {

class JobWatch {
 public:
  // The job is at `step` from now on.
  void restart(uint64_t step, Time now);
  // `waiting` is what the job waits for, "" for nothing. Logs it every few seconds; returns for how
  // many seconds the job waits for the same step.
  double wait(const Context& context, const std::string& waiting, uint64_t step);
  // Steps per second since the last call, where enough time has passed; else `before`.
  double rate(const Context& context, uint64_t step, double before);

 private:
  Time waiting_since_{}, next_wait_line_{};
  uint64_t waiting_step_ = 0;  // lowest version then: a step ends a wait
  uint64_t rate_step_ = 0, logged_step_ = 0;
  Time rate_time_{};
};

}  // namespace paddle
