// How a trainer is, as its own events say: for its /metrics and /status.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "obs/event.h"

namespace paddle {

struct TrainerReport {
  std::string version, job, config;
  std::string state = "starting";  // then joined, training, finished
  std::string waiting;             // for whom and since when; "" while it does not
  int64_t trainer = 0, trainers = 1;
  bool script = false;        // whose passes nobody knows
  bool fetches_cost = false;  // a finite cost was seen: from then on NaN is one too
  event::Progress progress;
  event::TestResult test;
  bool tested = false;
  event::Saved saved;  // path "": nothing was saved
  uint64_t joins = 0, rollbacks = 0, saves = 0, warnings = 0, errors = 0;
  std::string last_warning, last_error;
};

// The report after this event.
void take_event(TrainerReport& report, const event::Any& event);

// One JSON object in one line, with a newline.
std::string trainer_json(const TrainerReport& report);

// The report of this process, for any thread.
class TrainerBoard {
 public:
  void take(const event::Any& event) {
    const std::scoped_lock lock(mutex_);
    take_event(report_, event);
  }
  TrainerReport report() const {
    const std::scoped_lock lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  TrainerReport report_;
};

}  // namespace paddle
