#include "pserver/job_watch.h"

#include <algorithm>

namespace paddle {

void JobWatch::restart(uint64_t step, Time now) {
  rate_step_ = logged_step_ = step;
  rate_time_ = now;
  waiting_since_ = {};
}

double JobWatch::wait(const Context& context, const std::string& waiting, uint64_t step) {
  const Time now = context.now;
  if (waiting.empty()) {
    waiting_since_ = {};
    return 0;
  }
  if (waiting_since_ == Time{} || waiting_step_ != step) {
    waiting_since_ = now;
    waiting_step_ = step;
    next_wait_line_ = now + std::chrono::seconds(5);
  }
  const double waited = seconds(waiting_since_, now);
  if (now >= next_wait_line_) {
    context.info(waiting);
    next_wait_line_ = now + std::chrono::seconds(waited < 60 ? 5 : 60);
  }
  return waited;
}

double JobWatch::rate(const Context& context, uint64_t step, double before) {
  const double passed = seconds(rate_time_, context.now);
  if (passed < 0.5) return before;
  const double rate = static_cast<double>(step - std::min(step, rate_step_)) / passed;
  rate_step_ = step;
  rate_time_ = context.now;
  const uint64_t period = context.options.log_period;
  if (period == 0 || step / period == logged_step_ / period) return rate;
  logged_step_ = step;
  context.info(text("step ", step, ", ", static_cast<int64_t>(rate + 0.5), " steps/s"));
  return rate;
}

}  // namespace paddle
