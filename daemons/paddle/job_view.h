// How far a job is, read from what its trainers log and from what they tell the pservers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "obs/progress.h"
#include "paddle/shard_status.h"

namespace paddle {

class JobView {
 public:
  JobView(size_t trainers, int64_t passes) : passes_(passes), trainers_(trainers) {}

  // One line of a trainer's output, at this time in seconds.
  void take(size_t trainer, std::string_view line, double time);
  // What a trainer told its pservers: fresher than its log, which speaks every log_period batches.
  void take(const TrainerStatus& status, double time);

  // "pass 3/100  batch 120  cost 0.1234  12.3k samples/s  1:02 left": the pass that all trainers
  // are in, their mean cost, samples of all of them. "" while no trainer has told anything.
  std::string progress(int columns) const;

  const std::vector<double>& costs() const { return costs_; }    // trainer 0's, pass by pass
  int64_t first_pass() const { return first_pass_; }             // of costs()
  const std::string& model() const { return model_; }            // "" where none was saved
  const std::string& last_saved() const { return last_saved_; }  // also where the job did not end

 private:
  struct Trainer {
    bool told = false;
    int64_t pass = 0, batch = 0;
    int64_t whole = 0, samples = 0;  // of passes that are over, and all
    int64_t first_samples = 0;       // when it told for the first time
    double cost = 0;
  };

  void told(Trainer& trainer, double time);

  int64_t passes_, first_pass_ = 0;
  std::vector<Trainer> trainers_;
  std::vector<double> costs_;
  std::string model_, last_saved_;
  double start_ = -1, last_ = -1;  // when a trainer told something, first and last
  int64_t start_pass_ = 0;
};

// The number after ` name=`, e.g. AvgCost, in a line of the trainer's log; `otherwise` where there
// is none.
double number_in(std::string_view line, std::string_view name, double otherwise);

}  // namespace paddle
