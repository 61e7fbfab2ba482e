// Which steps of this trainer were begun and computed, and where their data lies: what it goes on
// with after it has joined anew. Pure logic.
#pragma once

#include <array>
#include <optional>

#include "trainer/exchange.h"
#include "trainer/rewind.h"

namespace paddle {

class StepTrack {
 public:
  // The step at hand.
  const StepRange& range() const { return range_; }
  // A step was begun, or computed, by this process.
  bool any() const { return next_place_.has_value(); }

  void begin(const StepRange& range) {
    range_ = {range.step, range.begin, range.end};
    begun_ = {range_, begun_[0]};
    next_step_ = range.step;
    next_place_ = range.begin;
  }
  void end() {
    next_step_ = range_.step + 1;
    next_place_ = range_.end;
  }
  // All steps before `step` were computed, and the data ends there.
  void end_of_data(uint64_t step) { range_ = {step, range_.end, range_.end}; }
  // The job goes on with `step`. What this process pushes before its first step, or instead of one,
  // belongs there.
  void join(uint64_t step, const std::optional<wire::Position>& place) {
    range_.step = step;
    if (!any()) range_.begin = range_.end = place.value_or(wire::Position{});
  }
  // Where this trainer goes on after it has joined anew. `repeats`: it computes the job's step
  // again where it knows its data; else it goes on behind all that it has computed. `counts_own`:
  // rounds do not count its steps.
  void place(Rewind& to, bool repeats, bool counts_own, uint64_t first_step) const {
    for (const StepRange& r : begun_)
      if (!to.place && r.step == to.step) to.place = r.begin;
    if (!any() || (repeats && (to.place || to.step == first_step))) return;
    if (counts_own) to.step = next_step_;
    to.place = next_place_;
  }

 private:
  StepRange range_;
  std::array<StepRange, 2> begun_;  // the steps that were begun last
  uint64_t next_step_ = 0;  // what comes after all that was computed, and where its data begins
  std::optional<wire::Position> next_place_;
};

}  // namespace paddle
