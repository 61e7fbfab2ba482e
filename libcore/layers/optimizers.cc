#include "layers/optimizers.h"

#include <algorithm>

#include "layers/layers.h"

namespace paddle {
namespace {

// A variable that an update keeps for each parameter.
struct StateVar {
  std::string name;     // "moment1" makes "fc_0.w_0_moment1_0"
  std::string in, out;  // slots; out is "" where the op only reads it
  float first = 0;
  float factor = 0;  // not 0: a number (shape [1]) that is multiplied by this after the updates
};

std::vector<StateVar> state_of(const Optimizer& o) {
  std::vector<StateVar> out;
  for (const optim::State& s : o.rule->states)
    out.push_back({s.name, s.in, s.out, s.first_key.empty() ? 0 : o.first_values.at(s.first_key)});
  for (const optim::Power& p : o.rule->powers) {
    const float factor = o.attrs.get<float>(p.setting);
    out.push_back({p.name, p.slot, "", factor, factor});
  }
  return out;
}

// One pass of updates over the sorted parameters.
class Updates {
 public:
  Updates(const Builder& b, const Optimizer& o, const std::vector<ParamGrad>& pairs)
      : b_(b), optimizer_(o), kept_(state_of(o)), pairs_(pairs) {}

  void create_states() {
    const std::string& prefix = optimizer_.name;
    for (const ParamGrad& pg : pairs_) {
      Names names;
      for (const StateVar& s : kept_) {
        const Var& param = b_.var(pg.param);
        const std::string key = pg.param + "_" + (prefix.empty() ? "" : prefix + "_") + s.name;
        names.push_back(b_.global_var({.name = b_.new_name(key),
                                       .dtype = param.dtype,
                                       .shape = s.factor != 0 ? Shape{1} : param.shape,
                                       .persistable = true,
                                       .stop_gradient = true,
                                       .table = param.table},
                                      init::Constant{s.first}));
      }
      states_.push_back(std::move(names));
    }
  }

  void create_rate() {
    const LearningRate& rate = optimizer_.learning_rate;
    if (!rate.var.empty()) {
      const Shape& shape = b_.var(rate.var).shape;
      require(shape == Shape{1}, Error::Kind::config, "the learning rate '", rate.var,
              "' must have shape [1], found ", shape);
      rate_ = rate.var;
      return;
    }
    require(rate.value > 0 || !optimizer_.rule->takes_rate, Error::Kind::config, "the optimizer ",
            optimizer_.rule->type, " needs a positive learning_rate, found ", rate.value);
    rate_ = create_global_var(b_, {1}, rate.value, DType::f32,
                              {.persistable = true, .name = b_.new_name("learning_rate")});
  }

  void append() {
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const OpRoleGuard guard(b_.main(), role::optimize, {pairs_[i].param, pairs_[i].grad});
      update(pairs_[i], states_[i]);
    }
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const OpRoleGuard guard(b_.main(), role::optimize, {pairs_[i].param, pairs_[i].grad});
      for (size_t k = 0; k < kept_.size(); ++k) {
        if (kept_[k].factor == 0) continue;
        b_.op({.type = "scale",
               .in = {{"X", {states_[i][k]}}},
               .out = {{"Out", {states_[i][k]}}},
               .attrs = {{"scale", kept_[k].factor}}});
      }
    }
  }

 private:
  void update(const ParamGrad& pg, const Names& states) {
    Op op{.type = optimizer_.rule->type, .attrs = optimizer_.attrs};
    op.in = {{"Param", {pg.param}}, {"Grad", {pg.grad}}};
    op.out = {{"ParamOut", {pg.param}}};
    if (optimizer_.rule->takes_rate) op.in.set("LearningRate", {rate_of(pg.param)});
    for (size_t k = 0; k < states.size(); ++k) {
      op.in.set(kept_[k].in, {states[k]});
      if (!kept_[k].out.empty()) op.out.set(kept_[k].out, {states[k]});
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
  const Optimizer& optimizer_;
  const std::vector<StateVar> kept_;
  const std::vector<ParamGrad>& pairs_;
  std::vector<Names> states_;  // per pair
  std::string rate_;
};

}  // namespace

std::vector<Op*> apply_gradients(const Builder& b, const Optimizer& optimizer,
                                 std::vector<ParamGrad> params_grads) {
  std::sort(params_grads.begin(), params_grads.end(),
            [](const ParamGrad& x, const ParamGrad& y) { return x.param < y.param; });
  params_grads = append_clip(b, params_grads);
  params_grads = append_regularization(b, params_grads, optimizer.regularization);
  const size_t first = b.block().ops().size();
  Updates updates(b, optimizer, params_grads);
  updates.create_states();
  updates.create_rate();
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
