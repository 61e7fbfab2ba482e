// What a training says about itself: log lines as the v2 trainer wrote them, events, and on a
// terminal a progress line, one line per pass and the end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "obs/events.h"
#include "obs/pass_lines.h"
#include "obs/progress.h"
#include "trainer/parameter_stats.h"
#include "trainer/session.h"

namespace paddle {

class TrainReport {
 public:
  explicit TrainReport(Session& session);

  // Training begins, at session.at; `batches` of a pass, 0 where that is not known.
  void begin(int64_t batches);
  // After every batch.
  void batch_done(const PassMeters& meters);
  // Every log_period batches; begins the next period.
  void log_period(PassMeters& meters);
  // At the end of a pass, before session.at moves on.
  void pass_ended(const Meter& meter);
  // What this trainer has counted of the pass, for the numbers of all trainers.
  wire::Tally tally(const PassMeters& meters, bool pass_ended) const;
  // The test of that pass is done, where there is one.
  void pass_complete();
  void tested(const Meter& meter);
  void saved(const std::string& path, uint64_t step);
  // All trainers go back to `step`, in `pass`.
  void rolled_back(uint64_t step, uint64_t pass);
  // Training is over: finished, or stopped by a signal.
  void ended();

  int64_t batches() const { return batches_; }
  const std::string& last_saved() const { return saved_; }  // "": none

 private:
  void report(const event::Any& event);
  void report_progress(const Meter& meter);
  void draw(const Meter& meter);
  void draw_curve() const;
  void log_end() const;
  std::string how_to_go_on() const;
  int64_t trainer_id() const;

  using Clock = std::chrono::steady_clock;

  Session& s_;
  const Options& o_;
  const int64_t passes_;
  int64_t batches_ = 0;
  SampleRate event_rate_;
  Pace event_pace_{0.2};
  Progress progress_;
  PassLines lines_;
  ModelEvents model_;
  double pass_rate_ = -1;  // samples per second of the last pass
  const Clock::time_point start_ = Clock::now();
  Clock::time_point pass_start_ = start_;
  uint64_t first_pass_ = 0;  // of costs_
  std::vector<double> costs_;
  std::string saved_;
};

}  // namespace paddle
