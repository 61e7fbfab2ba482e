// The numbers of a pass over all trainers of a job, from their events: means weighted by samples,
// ratios and AUCs from the sums and counts behind them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "obs/event.h"
#include "obs/tally.h"

namespace paddle {

struct PassTotal {
  int64_t pass = 0, samples = 0;
  double cost = 0;
  event::Evaluators evaluators;
  std::vector<std::string> unknown;  // evaluators whose counts did not all arrive
};
// "pass 1 of all trainers: 200000 samples, cost 0.468852, auc 0.80769"
std::string total_text(const PassTotal& total);

class JobTotals {
 public:
  explicit JobTotals(size_t trainers) : trainers_(trainers) {}

  // An event of trainer `index`. The total of a pass once all trainers have ended it; a pass that
  // is done again after a rollback gives its total again.
  std::optional<PassTotal> take(size_t index, const event::Any& event);

 private:
  // What one trainer has said of one pass.
  struct Share {
    std::optional<event::PassEnded> ended;
    std::map<std::string, std::vector<event::Tally>> tallies;  // by evaluator
  };
  PassTotal total(const std::vector<Share>& shares) const;

  size_t trainers_;
  std::map<int64_t, std::vector<Share>> passes_;
};

}  // namespace paddle
