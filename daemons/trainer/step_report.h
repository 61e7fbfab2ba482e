// The `progress` events of a trainer whose batches come from outside: it knows its steps and what
// it is fed, and of the results what the script asks for. Passes are the script's own.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include "obs/event.h"
#include "obs/progress.h"

namespace paddle {

// What a step came to, as far as the script fetches it.
struct StepFigures {
  double cost = NAN;  // not known
  event::Evaluators others;
};

class StepReport {
 public:
  // From here on samples are counted.
  void begin() { time_ = pace_.now(); }
  // After each step; `step` is the next one. `figures` is asked where an event is due.
  void step_done(uint32_t trainer, uint64_t step, int64_t samples,
                 const std::function<StepFigures()>& figures);
  // One event at once, with the last figures.
  void report(uint32_t trainer, uint64_t step);

 private:
  Pace pace_{0.2};
  int64_t samples_ = 0, reported_ = 0;
  double time_ = 0;  // of the last event
  StepFigures figures_;
};

}  // namespace paddle
