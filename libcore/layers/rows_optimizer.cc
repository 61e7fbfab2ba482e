#include "layers/rows.h"
#include "layers/schedules.h"

namespace paddle {
namespace {

// What all optimizers share. Ftrl has l1 and l2 of its own, which mean something else: there the
// decay has other names.
template <class O>
void declare_common(Arguments& a, O& o) {
  a.optional("learning_rate", o.learning_rate.value,
             "positive, unless a schedule gives the rate alone");
  a.optional("name", o.name, "stands in front of the names of the optimizer's state");
  constexpr bool own = requires { o.l1; };
  const char *name1 = own ? "l1_decay" : "l1", *name2 = own ? "l2_decay" : "l2";
  float l1 = 0, l2 = 0;
  a.optional(name1, l1, "adds this times sign(parameter) to the gradient");
  a.optional(name2, l2, "adds this times the parameter to the gradient");
  if (l1 != 0 && l2 != 0) a.problem(text("give ", name1, " or ", name2, ", not both"));
  o.regularization = l1 != 0 ? l1_decay(l1) : l2 != 0 ? l2_decay(l2) : Regularizer{};
}

template <class O>
Optimizer declare_optimizer(Arguments& a) {
  O o;
  declare_common(a, o);
  if constexpr (requires { o.momentum; }) a.optional("momentum", o.momentum, "share that is kept");
  if constexpr (requires { o.use_nesterov; })
    a.optional("use_nesterov", o.use_nesterov, "look ahead");
  if constexpr (requires { o.beta1; }) {
    a.optional("beta1", o.beta1, "decay of the mean of gradients");
    a.optional("beta2", o.beta2, "decay of the mean of their squares");
  }
  if constexpr (requires { o.epsilon; }) a.optional("epsilon", o.epsilon, "keeps from 0 / 0");
  if constexpr (requires { o.lazy_mode; })
    a.optional("lazy_mode", o.lazy_mode, "sparse gradients touch only their own rows");
  if constexpr (requires { o.initial_accumulator_value; })
    a.optional("initial_accumulator_value", o.initial_accumulator_value, "first sum of squares");
  if constexpr (requires { o.decay; }) a.optional("decay", o.decay, "decay of the squares");
  if constexpr (requires { o.rho; }) a.optional("rho", o.rho, "decay of the squares");
  if constexpr (requires { o.centered; })
    a.optional("centered", o.centered, "subtract the squared mean");
  if constexpr (requires { o.l1; }) {
    a.optional("l1", o.l1, "of the rule");
    a.optional("l2", o.l2, "of the rule");
    a.optional("lr_power", o.lr_power, "power of the rate's decay");
  }
  return o;
}

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

std::span<const OptimizerRow> optimizer_rows() {
  static constexpr OptimizerRow rows[] = {
      {"sgd", "p -= lr * g", declare_optimizer<Sgd>},
      {"momentum", "v = mu * v + g; p -= lr * v", declare_optimizer<Momentum>},
      {"adagrad", "rates fall with the sum of squared gradients", declare_optimizer<Adagrad>},
      {"adam", "means of gradients and of their squares", declare_optimizer<Adam>},
      {"adamax", "adam with the largest gradient", declare_optimizer<Adamax>},
      {"decayed_adagrad", "adagrad that forgets", declare_optimizer<DecayedAdagrad>},
      {"rmsprop", "divides by the root of the mean square", declare_optimizer<RmsProp>},
      {"adadelta", "rates from the parameters' own changes", declare_optimizer<Adadelta>},
      {"ftrl", "follow the regularised leader", declare_optimizer<Ftrl>},
  };
  return rows;
}

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
