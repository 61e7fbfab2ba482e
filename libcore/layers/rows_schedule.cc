#include "layers/rows.h"
#include "layers/schedules.h"

namespace paddle {
namespace {

using Rate = std::function<std::string(const Builder&)>;

template <std::string (*decay)(const Builder&, float, float, float, bool)>
Rate declare_decay(Arguments& a, const LearningRate& rate) {
  float decay_steps = 0, decay_rate = 0;
  bool staircase = false;
  a.required("decay_steps", decay_steps, "length of a period");
  a.required("decay_rate", decay_rate, "of the rule");
  a.optional("staircase", staircase, "whole periods only");
  return [=](const Builder& b) { return decay(b, rate.value, decay_steps, decay_rate, staircase); };
}

Rate declare_polynomial(Arguments& a, const LearningRate& rate) {
  float decay_steps = 0;
  PolynomialOptions o;
  a.required("decay_steps", decay_steps, "steps until the end");
  a.optional("end_learning_rate", o.end_learning_rate, "the rate at the end");
  a.optional("power", o.power, "1 = a line");
  a.optional("cycle", o.cycle, "start again after the end");
  return [=](const Builder& b) { return polynomial_decay(b, rate.value, decay_steps, o); };
}

Rate declare_piecewise(Arguments& a, const LearningRate&) {
  Longs boundaries;
  Floats values;
  a.required("boundaries", boundaries, "steps at which the rate changes");
  a.required("values", values, "one more than boundaries");
  return [=](const Builder& b) { return piecewise_decay(b, boundaries, values); };
}

Rate declare_noam(Arguments& a, const LearningRate&) {
  float d_model = 0, warmup_steps = 0;
  a.required("d_model", d_model, "width of the model");
  a.required("warmup_steps", warmup_steps, "steps of rise");
  return [=](const Builder& b) { return noam_decay(b, d_model, warmup_steps); };
}

Rate declare_cosine(Arguments& a, const LearningRate& rate) {
  float step_each_epoch = 0, epochs = 0;
  a.required("step_each_epoch", step_each_epoch, "steps of one pass over the data");
  a.required("epochs", epochs, "passes until 0");
  return [=](const Builder& b) { return cosine_decay(b, rate.value, step_each_epoch, epochs); };
}

Rate declare_warmup(Arguments& a, const LearningRate& rate) {
  float warmup_steps = 0, start_lr = 0;
  std::optional<float> end_lr;
  a.required("warmup_steps", warmup_steps, "steps of rise");
  a.optional("start_lr", start_lr, "the first rate");
  a.optional("end_lr", end_lr, "the rate at the end of the rise; without it learning_rate");
  if (!rate.var.empty() && !end_lr)
    a.problem("'end_lr' is missing: learning_rate is a variable, whose value is not known yet");
  return [=](const Builder& b) {
    return linear_lr_warmup(b, rate, warmup_steps, start_lr, end_lr.value_or(rate.value));
  };
}

}  // namespace

std::span<const ScheduleRow> schedule_rows() {
  static const ScheduleRow rows[] = {
      {"exponential_decay", "rate * decay_rate ^ (step / decay_steps)",
       declare_decay<exponential_decay>},
      {"natural_exp_decay", "rate * e ^ (-decay_rate * step / decay_steps)",
       declare_decay<natural_exp_decay>},
      {"inverse_time_decay", "rate / (1 + decay_rate * step / decay_steps)",
       declare_decay<inverse_time_decay>},
      {"polynomial_decay", "falls to the end rate over decay_steps", declare_polynomial},
      {"piecewise_decay", "given values between given steps", declare_piecewise},
      {"noam_decay", "rises, then falls with the root of the step", declare_noam},
      {"cosine_decay", "half a cosine over the epochs", declare_cosine},
      {"linear_lr_warmup", "rises, then stays at learning_rate", declare_warmup},
  };
  return rows;
}

}  // namespace paddle
