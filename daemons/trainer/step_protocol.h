// A step with pservers, whoever brings the batches (train.cc, step_client.h): what the step changes
// besides parameters is kept, the client is told where the data lies, the step is computed and
// ended. Where the pservers lead back to a step, what was kept returns.
#pragma once

#include "graph/program.h"
#include "trainer/local_state.h"
#include "trainer/ps_client.h"

namespace paddle {

class StepProtocol {
 public:
  // All outlive it.
  StepProtocol(PsClient& client, const std::vector<ParamGrad>& params, Scope& scope)
      : client_(client), params_(params), scope_(scope) {}

  // One step of `program`: compute() runs its plan. May throw Rewind.
  template <class Compute>
  void run(const Program& program, const StepRange& range, const Compute& compute) {
    local_.keep(program, params_, scope_);
    step_ = range.step;
    computed_ = false;
    client_.begin_step(range.step, range.begin, range.end);
    compute();
    computed_ = true;
    client_.end_step();
  }

  // The pservers go on with another step than the next one. True where the last step counts all the
  // same: it was computed, and they go on behind it. Else what it changed here is undone.
  bool rewind(const Rewind& to) {
    if (computed_ && to.step == step_ + 1) return true;
    local_.restore(scope_);
    return false;
  }

 private:
  PsClient& client_;
  const std::vector<ParamGrad>& params_;
  Scope& scope_;
  LocalState local_;
  uint64_t step_ = 0;
  bool computed_ = false;
};

}  // namespace paddle
