#include "trainer/step_report.h"

#include "obs/events.h"

namespace paddle {

void StepReport::step_done(uint32_t trainer, uint64_t step, int64_t samples,
                           const std::function<StepFigures()>& figures) {
  samples_ += samples;
  if (!events_on() || !pace_.due()) return;
  if (figures) figures_ = figures();
  report(trainer, step);
}

void StepReport::report(uint32_t trainer, uint64_t step) {
  const double now = pace_.now(), passed = now - time_;
  const auto samples = static_cast<double>(samples_ - reported_);
  emit(event::Progress{.trainer = trainer,
                       .step = static_cast<int64_t>(step),
                       .samples = samples_,
                       .samples_per_second = passed > 0 ? samples / passed : 0,
                       .cost = figures_.cost,
                       .evaluators = figures_.others});
  reported_ = samples_;
  time_ = now;
}

}  // namespace paddle
