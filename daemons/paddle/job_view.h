// How far a job is, from the events of its trainers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obs/event.h"
#include "obs/progress.h"

namespace paddle {

class JobView {
 public:
  // `script`: the trainers are Python scripts, of which steps are known instead of passes.
  JobView(size_t trainers, int64_t passes, bool script = false)
      : passes_(passes), script_(script), trainers_(trainers) {}

  // An event of trainer `index`.
  void take(size_t index, const event::Any& event);

  // "pass 3/100  batch 120/938  cost 0.123  error 0.0200  12 k samples/s  1:02 left": the pass and
  // batch that all trainers have reached, the mean of their costs, the samples of all of them. What
  // a trainer waits for, while one says so. "" while no trainer has begun. `time` in seconds,
  // rising.
  std::string progress(double time, int columns);
  // Of all trainers, when progress() was last called; -1: not known.
  double samples_per_second() const { return estimate_.samples_per_second(); }

  const std::vector<double>& costs() const { return costs_; }    // trainer 0's, pass by pass
  int64_t first_pass() const { return first_pass_; }             // of costs()
  const std::string& model() const { return model_; }            // of a job that finished; "": none
  const std::string& last_saved() const { return last_saved_; }  // "": none

 private:
  struct Trainer {
    bool begun = false;
    int64_t first_samples = 0;  // a resumed job has some from the beginning
    std::string waits;          // for whom, and since when; "" while it does not
    event::Progress last;
  };

  void take_pass(const event::PassEnded& e);
  std::string waiting(int columns) const;

  int64_t passes_, first_pass_ = 0;
  bool script_;
  std::vector<Trainer> trainers_;
  std::vector<double> costs_;
  std::string model_, last_saved_;
  Estimate estimate_;
};

}  // namespace paddle
