// The blocks of a shard's program that belong to no slice: the learning rate of an update. They are
// a function of the update's number: whoever restarts, repeats or reorders updates sees the same
// rates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exec/plan.h"

namespace paddle {

class Schedule {
 public:
  // `blocks` run in this order. What slices read of their results must be in the scope already.
  Schedule(const Program& program, const std::vector<int32_t>& blocks, Scope& scope,
           ThreadPool& pool, const PlanOptions& plan);

  // The counters in the scope are as they were before update number `version`.
  void start(uint64_t version);
  // The scope holds the results for update number `version`. Costs nothing for the same number
  // again.
  void run(uint64_t version);
  // What a snapshot of `version` must hold for a counter, or none for another variable.
  std::optional<double> counter_at(const std::string& name, uint64_t version) const;

 private:
  struct Counter {
    std::string name;
    Variable* variable;
    double step, base = 0;  // base + step * version is its value before that update
  };
  void set_counters(uint64_t version);

  std::vector<std::unique_ptr<Plan>> plans_;
  std::vector<Counter> counters_;
  std::optional<uint64_t> done_;
};

// Writes the single number of a float or integer variable.
void write_number(const Tensor& t, double value);

}  // namespace paddle
