// What evaluators have counted so far in variables of the scope (histograms of auc), kept while
// something else is counted there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/scope.h"
#include "trainer/model.h"

namespace paddle {

class EvaluatorStates {
 public:
  EvaluatorStates() = default;
  EvaluatorStates(const std::vector<Evaluator>& evaluators, const Scope& scope);
  void put_back(const Scope& scope) const;

 private:
  std::vector<std::pair<std::string, Tensor>> kept_;
};

}  // namespace paddle
