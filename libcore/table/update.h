// An update rule (optim/rule.h) on rows of a table: its numbers for a step, and the decay of L2.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "optim/rule.h"

namespace paddle {

using NamedNumbers = std::vector<std::pair<std::string, float>>;

class RowUpdate {
 public:
  // `settings` by the names that the rule's description has; first values of states too, by theirs.
  // Throws Error(config) for a rule or a setting that does not exist.
  RowUpdate(const std::string& rule, const NamedNumbers& settings, float l2, int64_t width);

  const optim::Rule& rule() const { return rule_; }
  // Numbers of state that a row needs.
  int64_t state_numbers() const { return static_cast<int64_t>(first_.size()); }
  // What they are at first.
  const std::vector<float>& first_state() const { return first_; }

  // `step` counts updates from 0; it sets the powers of adam's betas. Distinct rows may come in any
  // order and in any number of calls: the bits are the same.
  void run(const optim::RowsAt<float>& rows, float learning_rate, uint64_t step);

 private:
  // A setting to the power of step + 1, multiplied up as the optimizer ops do it.
  struct RunningPower {
    size_t place;  // among the numbers
    float base, value;
    uint64_t step = 0;
    float at(uint64_t wanted);
  };

  const optim::Rule& rule_;
  float l2_;
  int64_t width_;
  std::vector<float> numbers_, first_, decayed_;
  std::vector<const float*> decayed_at_;
  std::vector<RunningPower> powers_;
};

}  // namespace paddle
