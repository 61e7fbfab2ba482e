#include "layers/optimizers.h"

#include <algorithm>

#include "layers/layers.h"

namespace paddle {
namespace {

// A variable that an update keeps for each parameter.
struct State {
  std::string name;     // "moment1" makes "fc_0.w_0_moment1_0"
  std::string in, out;  // slots; out is "" where the op only reads it
  float first = 0;
  float factor = 0;  // not 0: a number (shape [1]) that is multiplied by this after the updates
};

// An optimizer as data: the op, its state, its attributes.
struct Rule {
  std::string op;
  std::vector<State> states;
  Attrs attrs;
  bool takes_rate = true;
};

Rule rule(const Sgd&) { return {.op = "sgd"}; }

Rule rule(const Momentum& o) {
  return {.op = "momentum",
          .states = {{"velocity", "Velocity", "VelocityOut"}},
          .attrs = {{"mu", o.momentum}, {"use_nesterov", o.use_nesterov}}};
}

Rule rule(const Adagrad& o) {
  return {.op = "adagrad",
          .states = {{"moment", "Moment", "MomentOut", o.initial_accumulator_value}},
          .attrs = {{"epsilon", o.epsilon}}};
}

Rule rule(const Adam& o) {
  return {.op = "adam",
          .states = {{"moment1", "Moment1", "Moment1Out"},
                     {"moment2", "Moment2", "Moment2Out"},
                     {"beta1_pow_acc", "Beta1Pow", "", o.beta1, o.beta1},
                     {"beta2_pow_acc", "Beta2Pow", "", o.beta2, o.beta2}},
          .attrs = {{"beta1", o.beta1},
                    {"beta2", o.beta2},
                    {"epsilon", o.epsilon},
                    {"lazy_mode", o.lazy_mode}}};
}

Rule rule(const Adamax& o) {
  return {.op = "adamax",
          .states = {{"moment", "Moment", "MomentOut"},
                     {"inf_norm", "InfNorm", "InfNormOut"},
                     {"beta1_pow_acc", "Beta1Pow", "", o.beta1, o.beta1}},
          .attrs = {{"beta1", o.beta1}, {"beta2", o.beta2}, {"epsilon", o.epsilon}}};
}

Rule rule(const DecayedAdagrad& o) {
  return {.op = "decayed_adagrad",
          .states = {{"moment", "Moment", "MomentOut"}},
          .attrs = {{"decay", o.decay}, {"epsilon", o.epsilon}}};
}

Rule rule(const RmsProp& o) {
  return {.op = "rmsprop",
          .states = {{"momentum", "Moment", "MomentOut"},
                     {"mean_square", "MeanSquare", "MeanSquareOut"},
                     {"mean_grad", "MeanGrad", "MeanGradOut"}},
          .attrs = {{"epsilon", o.epsilon},
                    {"decay", o.rho},
                    {"momentum", o.momentum},
                    {"centered", o.centered}}};
}

Rule rule(const Adadelta& o) {
  return {.op = "adadelta",
          .states = {{"_avg_squared_grad", "AvgSquaredGrad", "AvgSquaredGradOut"},
                     {"_avg_squared_update", "AvgSquaredUpdate", "AvgSquaredUpdateOut"}},
          .attrs = {{"epsilon", o.epsilon}, {"rho", o.rho}},
          .takes_rate = false};
}

Rule rule(const Ftrl& o) {
  return {.op = "ftrl",
          .states = {{"squared", "SquaredAccumulator", "SquaredAccumOut"},
                     {"linear", "LinearAccumulator", "LinearAccumOut"}},
          .attrs = {{"l1", o.l1}, {"l2", o.l2}, {"lr_power", o.lr_power}}};
}

// One pass of updates over the sorted parameters.
class Updates {
 public:
  Updates(const Builder& b, const Rule& r, const std::vector<ParamGrad>& pairs)
      : b_(b), rule_(r), pairs_(pairs) {}

  void create_states(const std::string& prefix) {
    for (const ParamGrad& pg : pairs_) {
      Names names;
      for (const State& s : rule_.states) {
        const Var& param = b_.var(pg.param);
        const std::string key = pg.param + "_" + (prefix.empty() ? "" : prefix + "_") + s.name;
        names.push_back(b_.global_var({.name = b_.names().next(key),
                                       .dtype = param.dtype,
                                       .shape = s.factor != 0 ? Shape{1} : param.shape,
                                       .persistable = true,
                                       .stop_gradient = true},
                                      init::Constant{s.first}));
      }
      states_.push_back(std::move(names));
    }
  }

  void create_rate(const LearningRate& rate) {
    if (!rate.var.empty()) {
      const Shape& shape = b_.var(rate.var).shape;
      require(shape == Shape{1}, Error::Kind::config, "the learning rate '", rate.var,
              "' must have shape [1], found ", shape);
      rate_ = rate.var;
      return;
    }
    require(rate.value > 0 || !rule_.takes_rate, Error::Kind::config, "the optimizer ", rule_.op,
            " needs a positive learning_rate, found ", rate.value);
    rate_ = create_global_var(b_, {1}, rate.value, DType::f32,
                              {.persistable = true, .name = b_.names().next("learning_rate")});
  }

  void append() {
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const OpRoleGuard guard(b_.main(), role::optimize, {pairs_[i].param, pairs_[i].grad});
      update(pairs_[i], states_[i]);
    }
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const OpRoleGuard guard(b_.main(), role::optimize, {pairs_[i].param, pairs_[i].grad});
      for (size_t k = 0; k < rule_.states.size(); ++k) {
        if (rule_.states[k].factor == 0) continue;
        b_.op({.type = "scale",
               .in = {{"X", {states_[i][k]}}},
               .out = {{"Out", {states_[i][k]}}},
               .attrs = {{"scale", rule_.states[k].factor}}});
      }
    }
  }

 private:
  void update(const ParamGrad& pg, const Names& states) {
    Op op{.type = rule_.op, .attrs = rule_.attrs};
    op.in = {{"Param", {pg.param}}, {"Grad", {pg.grad}}};
    op.out = {{"ParamOut", {pg.param}}};
    if (rule_.takes_rate) op.in.set("LearningRate", {rate_of(pg.param)});
    for (size_t k = 0; k < states.size(); ++k) {
      op.in.set(rule_.states[k].in, {states[k]});
      if (!rule_.states[k].out.empty()) op.out.set(rule_.states[k].out, {states[k]});
    }
    b_.op(std::move(op));
  }

  // The rate, times the parameter's own factor.
  std::string rate_of(const std::string& param) {
    const float factor = b_.var(param).param.value_or(ParamInfo{}).learning_rate;
    if (factor == 1) return rate_;
    const OpRoleGuard guard(b_.main(), role::lr_sched | role::optimize);
    return scale(b_, rate_, {.scale = factor});
  }

  const Builder& b_;
  const Rule& rule_;
  const std::vector<ParamGrad>& pairs_;
  std::vector<Names> states_;  // per pair
  std::string rate_;
};

}  // namespace

std::vector<Op*> apply_gradients(const Builder& b, const Optimizer& optimizer,
                                 std::vector<ParamGrad> params_grads) {
  std::sort(params_grads.begin(), params_grads.end(),
            [](const ParamGrad& x, const ParamGrad& y) { return x.param < y.param; });
  const auto regularization = std::visit([](const auto& o) { return o.regularization; }, optimizer);
  params_grads = append_clip(b, params_grads);
  params_grads = append_regularization(b, params_grads, regularization);
  const size_t first = b.block().ops().size();
  const Rule r = std::visit([](const auto& o) { return rule(o); }, optimizer);
  Updates updates(b, r, params_grads);
  updates.create_states(std::visit([](const auto& o) { return o.name; }, optimizer));
  updates.create_rate(std::visit([](const auto& o) { return o.learning_rate; }, optimizer));
  updates.append();
  std::vector<Op*> ops;
  for (size_t i = first; i < b.block().ops().size(); ++i) ops.push_back(b.block().ops()[i].get());
  return ops;
}

Minimized minimize(const Builder& b, const std::string& loss, const Optimizer& optimizer,
                   const MinimizeOptions& options) {
  for (const std::string& name : options.parameter_list) b.var(name);  // a clear error for a typo
  Minimized r;
  r.params_grads = append_backward(b.main(), loss, options.parameter_list, options.no_grad_set);
  require(!r.params_grads.empty(), Error::Kind::config, "the loss '", loss,
          "' depends on no trainable parameter, so there is nothing to optimize");
  const Builder into(b.main(), options.startup ? *options.startup : b.startup(), b.names());
  r.optimize_ops = apply_gradients(into, optimizer, r.params_grads);
  return r;
}

void set_gradient_clip(Program& program, const GradientClip& clip, const Names& parameters) {
  if (parameters.empty()) {
    for (Var* v : program.parameters()) v->param->clip = clip;
    return;
  }
  for (const std::string& name : parameters) {
    Var& v = program.global().var(name);
    require(v.param.has_value(), Error::Kind::config, "cannot clip '", name,
            "': it is no parameter");
    v.param->clip = clip;
  }
}

}  // namespace paddle
