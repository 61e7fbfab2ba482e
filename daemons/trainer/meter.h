// Averages of the cost and the evaluators over batches, how they are written, and rates.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/plan.h"
#include "trainer/model.h"

namespace paddle {

// As log lines show it.
std::string number_text(double value, int digits = 6);

class Meter {
 public:
  explicit Meter(const std::vector<Evaluator>& evaluators);

  // Adds one batch: its size, its cost, and the numbers of the evaluators, one after the other.
  void add(int64_t samples, double cost, std::span<const double> values);
  void clear();

  int64_t samples() const { return samples_; }
  double cost() const { return samples_ ? cost_ / static_cast<double>(samples_) : 0; }
  double value(size_t i) const;
  // Of a ratio: what is divided, and by what.
  std::pair<double, double> ratio(size_t i) const { return {sums_[at_[i]], sums_[at_[i] + 1]}; }
  double cost_sum() const { return cost_; }
  // Of a mean: the sum over samples.
  double sum(size_t i) const;
  // Names of the evaluators with their values.
  std::vector<std::pair<std::string, double>> evaluators() const;
  // "accuracy=0.97  auc=0.9"
  std::string evaluators_text(int digits = 6) const;

 private:
  const std::vector<Evaluator>* evaluators_;
  int64_t samples_ = 0;
  double cost_ = 0;
  std::vector<size_t> at_;    // where the numbers of each evaluator begin
  std::vector<double> sums_;  // of averaged ones: sum over samples; of running ones: the last value
};

// The meters of a pass and of the log period within it. A step that is computed again after a
// recovery counts once.
class PassMeters {
 public:
  explicit PassMeters(const std::vector<Evaluator>& evaluators)
      : whole(evaluators), period(evaluators) {}

  // Training goes on with `step` of a pass, after this many batches of it; `from_start`: with the
  // first record of it. True where the meters begin anew in the middle of a pass that was left.
  bool enter(uint64_t pass, uint64_t step, uint64_t batch, bool from_start);
  // Whether add() will count this step.
  bool counts(uint64_t step) const { return step >= next_step_; }
  // Batches of the pass that were done before the meters began.
  uint64_t first_batch() const { return first_batch_; }
  void add(uint64_t step, int64_t samples, double cost, std::span<const double> values);

  Meter whole, period;

 private:
  uint64_t pass_ = ~uint64_t{0};
  uint64_t next_step_ = 0;  // the first that was not counted yet
  uint64_t first_batch_ = 0;
};

// Samples per second between two looks, at most five looks a second.
class SampleRate {
 public:
  using Clock = std::chrono::steady_clock;
  bool due() const { return Clock::now() - last_ > std::chrono::milliseconds(200); }
  // `samples` is how many there are by now.
  double per_second(uint64_t samples);

 private:
  Clock::time_point last_ = Clock::now();
  uint64_t samples_ = 0;
  double rate_ = 0;
};

}  // namespace paddle
