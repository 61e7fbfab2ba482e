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
  ModelEvents(Session& session, double period) : s_(session), period_(period) {}

  void begin();       // before the first batch
  void pass_ended();  // `session.at` is behind its last batch

 private:
  void network() const;
  void parameters();

  Session& s_;
  const double period_;
  double looked_ = 0, took_ = 0;  // when it last looked at the parameters, and for how long
};

}  // namespace paddle
