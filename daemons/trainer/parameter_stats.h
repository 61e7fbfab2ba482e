#pragma once

#include "obs/event.h"
#include "trainer/session.h"

namespace paddle {

// "name  avg_abs_val=… max_val=…": logs how large the values of each parameter are.
void log_parameter_stats(Session& session);

// What events tell of a parameter.
event::Parameter parameter_event(const std::string& name, const Tensor& values, int64_t step);

// The network and its parameters as events of trainer 0: the ops once, the parameters now and then.
class ModelEvents {
 public:
  // `period` as --parameter_period has it.
  explicit ModelEvents(double period) : period_(period) {}

  // Before the first batch: the ops of `network` that compute its results, and the parameters.
  void begin(const Program& network, const std::vector<ParamGrad>& params, Scope& scope,
             uint64_t step);
  // Between two batches: the parameters, if a look at them is due.
  void look(const std::vector<ParamGrad>& params, Scope& scope, uint64_t step);

 private:
  void parameters(const std::vector<ParamGrad>& params, Scope& scope, uint64_t step);

  const double period_;
  double looked_ = 0, took_ = 0;  // when it last looked at the parameters, and for how long
};

}  // namespace paddle
