#include "trainer/evaluator_states.h"

#include <cstring>

namespace paddle {

EvaluatorStates::EvaluatorStates(const std::vector<Evaluator>& evaluators, const Scope& scope) {
  for (const Evaluator& e : evaluators)
    for (const std::string& name : e.states) kept_.emplace_back(name, scope.tensor(name).clone());
}

void EvaluatorStates::put_back(const Scope& scope) const {
  for (const auto& [name, copy] : kept_)
    std::memcpy(scope.tensor(name).raw(), copy.raw(), copy.bytes());
}

}  // namespace paddle
