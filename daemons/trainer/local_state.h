// What a step changes besides parameters (statistics of batch_norm, histograms of auc), kept before
// it, so that a step can be computed again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/backward.h"
#include "graph/program.h"
#include "tensor/scope.h"

namespace paddle {

class LocalState {
 public:
  // Persistable variables that ops of `program` write, but for `params`.
  void keep(const Program& program, const std::vector<ParamGrad>& params, const Scope& scope);
  // Puts back what was kept last. Nothing happens where nothing was.
  void restore(Scope& scope) const;

 private:
  uint64_t revision_ = 0;  // of the program that kept_ was made for; 0 is nobody's
  std::vector<std::pair<std::string, Tensor>> kept_;
};

}  // namespace paddle
