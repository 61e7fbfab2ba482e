// What users see in saved files and what the transpiler cuts by: names, op lists, roles.
#include "layers/schedules.h"
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// fit_a_line: 13 features, one fully connected layer, square error.
std::string fit_a_line(const Builder& b) {
  const std::string x = data(b, "x", {13}), y = data(b, "y", {1});
  return mean(b, square_error_cost(b, fc(b, x, 1), y));
}

// The basic net of the transpiler's tests.
std::string basic_net(const Builder& b, const ParamAttr& w = {}, const ParamAttr& bias = {}) {
  const std::string x = data(b, "x", {1000});
  ParamAttr weight = w, offset = bias;
  weight.name = "fc_w";
  offset.name = "fc_b";
  const std::string predict = fc(b, x, 1000, {.param_attr = weight, .bias_attr = offset});
  return mean(b, square_error_cost(b, predict, data(b, "y", {1000})));
}

}  // namespace

TEST_CASE("fit_a_line has the names of saved models", "[layers]") {
  NetCase c;
  const std::string loss = fit_a_line(c.b);
  CHECK(loss == "mean_0.tmp_0");
  CHECK(parameter_names(c.net.main) == Names{"fc_0.w_0", "fc_0.b_0"});
  const auto& ops = c.net.main.global().ops();
  CHECK(op_types(c.net.main) ==
        Names{"mul", "elementwise_add", "elementwise_sub", "square", "mean"});
  CHECK(ops[0]->out["Out"] == Names{"fc_0.tmp_0"});
  CHECK(ops[1]->out["Out"] == Names{"fc_0.tmp_1"});
  CHECK(ops[1]->attrs.get<int32_t>("axis") == 1);
  CHECK(ops[2]->out["Out"] == Names{"square_error_cost_0.tmp_0"});
  CHECK(ops[3]->out["Out"] == Names{"square_error_cost_0.tmp_1"});
  CHECK(c.b.var("x").shape == Shape{-1, 13});
  CHECK(c.b.var("x").stop_gradient);
  CHECK(c.b.var(loss).shape == Shape{1});
  CHECK(c.b.var("fc_0.w_0").shape == Shape{13, 1});

  minimize(c.b, loss, Optimizer("sgd", 0.01));
  CHECK(c.net.main.global().find("learning_rate_0") != nullptr);
  CHECK(op_types(c.net.startup) == Names{"fill_constant", "fill_constant", "uniform_random"});
  CHECK(c.net.startup.global().ops()[0]->out["Out"] == Names{"learning_rate_0"});
  CHECK(c.net.startup.global().ops()[2]->out["Out"] == Names{"fc_0.w_0"});
}

TEST_CASE("the basic net has the ops that the transpiler expects", "[layers]") {
  NetCase c;
  const std::string loss = basic_net(c.b);
  const Minimized m = minimize(c.b, loss, Optimizer("sgd", 0.1));
  CHECK(op_types(c.net.main) == Names{"mul", "elementwise_add", "elementwise_sub", "square", "mean",
                                      "fill_constant", "mean_grad", "square_grad",
                                      "elementwise_sub_grad", "elementwise_add_grad", "mul_grad",
                                      "sgd", "sgd"});
  REQUIRE(m.optimize_ops.size() == 2);
  CHECK(m.optimize_ops[0]->in["Param"] == Names{"fc_b"});  // sorted by name
  CHECK(m.optimize_ops[1]->in["Param"] == Names{"fc_w"});
  CHECK(m.optimize_ops[0]->role() == role::optimize);
  CHECK(m.optimize_ops[0]->attrs.get<Strings>(role::var_attr) == Strings{"fc_b", "fc_b@GRAD"});
  CHECK(c.net.main.global().ops()[4]->role() == (role::forward | role::loss));
  CHECK(c.net.main.global().ops()[9]->attrs.get<Strings>(role::var_attr) ==
        Strings{"fc_b", "fc_b@GRAD"});
  REQUIRE(m.params_grads.size() == 2);
  CHECK(m.params_grads[0].param == "fc_w");
}

TEST_CASE("learning rate decay is the list of ops that a pserver runs first", "[layers]") {
  NetCase c;
  const std::string loss = basic_net(c.b);
  minimize(c.b, loss, Optimizer("sgd", exponential_decay(c.b, 1.0f, 2100, 0.1f, true)));
  CHECK(ops_with_role(c.net.main, role::lr_sched) ==
        Names{"increment", "cast", "fill_constant", "elementwise_div", "floor", "fill_constant",
              "elementwise_pow", "fill_constant", "elementwise_mul"});
  CHECK(c.net.main.global().ops()[0]->type == "increment");  // in front of everything
  const Var& counter = c.b.var("@LR_DECAY_COUNTER@");
  CHECK(counter.dtype == DType::i64);
  CHECK(counter.persistable);
}

TEST_CASE("clip and decay belong to the parameter that asked for them", "[layers]") {
  NetCase c;
  const std::string loss =
      basic_net(c.b, {.regularizer = l2_decay(0.1f), .gradient_clip = clip_by_value(10)}, {});
  minimize(c.b, loss, Optimizer("sgd", 0.1));
  Names for_b, for_w;
  for (const auto& op : c.net.main.global().ops()) {
    if (op->role() != role::optimize) continue;
    const auto vars = op->attrs.get<Strings>(role::var_attr);
    REQUIRE(vars.size() == 2);
    (vars[0] == "fc_b" ? for_b : for_w).push_back(op->type);
  }
  CHECK(for_b == Names{"sgd"});
  CHECK(for_w == Names{"clip", "scale", "sum", "sgd"});
}

TEST_CASE("adam keeps its state under the parameter's name", "[layers]") {
  NetCase c;
  const std::string loss = basic_net(c.b);
  minimize(c.b, loss, Optimizer("adam", 0.1));
  CHECK(ops_with_role(c.net.main, role::optimize) ==
        Names{"adam", "adam", "scale", "scale", "scale", "scale"});
  for (const char* state : {"moment1_0", "moment2_0", "beta1_pow_acc_0", "beta2_pow_acc_0"}) {
    const Var* v = c.net.main.global().find(text("fc_w_", state));
    INFO(state);
    REQUIRE(v != nullptr);
    CHECK(v->persistable);
    CHECK(c.net.startup.global().find(text("fc_b_", state)) != nullptr);
  }
  CHECK(c.b.var("fc_w_moment1_0").shape == Shape{1000, 1000});
  CHECK(c.b.var("fc_w_beta1_pow_acc_0").shape == Shape{1});
  // Prepended one by one: the last that was made comes first.
  const auto& init = c.net.startup.global().ops();
  CHECK(init[0]->out["Out"] == Names{"learning_rate_0"});
  CHECK(init[1]->out["Out"] == Names{"fc_w_beta2_pow_acc_0"});
  CHECK(init[1]->attrs.get<float>("value") == 0.999f);
  CHECK(init.back()->out["Out"] == Names{"fc_w"});
}

TEST_CASE("every optimizer names its state as saved checkpoints do", "[layers]") {
  const auto states = [](const Optimizer& o) {
    NetCase c;
    const std::string x = data(c.b, "x", {2});
    const std::string loss =
        mean(c.b, fc(c.b, x, 1, {.param_attr = {.name = "w"}, .bias_attr = ParamAttr::none()}));
    minimize(c.b, loss, o);
    Names out;
    for (const auto& v : c.net.main.global().vars())
      if (v->name.starts_with("w_")) out.push_back(v->name);
    return out;
  };
  CHECK(states(Optimizer("sgd", 1)).empty());
  CHECK(states(Optimizer("momentum", 1)) == Names{"w_velocity_0"});
  CHECK(states(Optimizer("adagrad", 1)) == Names{"w_moment_0"});
  CHECK(states(Optimizer("decayed_adagrad", 1)) == Names{"w_moment_0"});
  CHECK(states(Optimizer("adamax", 1)) == Names{"w_moment_0", "w_inf_norm_0", "w_beta1_pow_acc_0"});
  CHECK(states(Optimizer("rmsprop", 1)) ==
        Names{"w_momentum_0", "w_mean_square_0", "w_mean_grad_0"});
  CHECK(states(Optimizer("adadelta", 1)) ==
        Names{"w__avg_squared_grad_0", "w__avg_squared_update_0"});
  CHECK(states(Optimizer("ftrl", 1)) == Names{"w_squared_0", "w_linear_0"});
  CHECK(states(Optimizer("momentum", 1, {{"name", "opt"}})) == Names{"w_opt_velocity_0"});
}

TEST_CASE("a parameter's own rate is a scale of the schedule", "[layers]") {
  NetCase c;
  minimize(c.b, basic_net(c.b, {.learning_rate = 2}), Optimizer("sgd", 0.1));
  CHECK(ops_with_role(c.net.main, role::lr_sched | role::optimize) == Names{"scale"});
  const Op& update = *c.net.main.global().ops().back();
  CHECK(update.in["Param"] == Names{"fc_w"});
  CHECK(update.in["LearningRate"] == Names{"scale_0.tmp_0"});
}

TEST_CASE("a second fc, several inputs and a given name", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {4}), y = data(c.b, "y", {3});
  CHECK(fc(c.b, {x, y}, 2, {.act = "relu"}) == "fc_0.tmp_4");
  CHECK(op_types(c.net.main) == Names{"mul", "mul", "sum", "elementwise_add", "relu"});
  fc(c.b, x, 2, {.bias_attr = ParamAttr::none(), .name = "head"});
  CHECK(parameter_names(c.net.main) == Names{"fc_0.w_0", "fc_0.w_1", "fc_0.b_0", "head.w_0"});
}

TEST_CASE("parameters may be shared by name", "[layers]") {
  NetCase c;
  const std::string ids = data(c.b, "ids", {1}, {.dtype = DType::i64});
  const EmbeddingOptions shared{.is_sparse = true, .param_attr = {.name = "table"}};
  embedding(c.b, ids, {10, 4}, shared);
  embedding(c.b, ids, {10, 4}, shared);
  CHECK(parameter_names(c.net.main) == Names{"table"});
  CHECK(c.net.startup.global().ops().size() == 1);
  const Op& op = *c.net.main.global().ops()[0];
  CHECK(op.attrs.get<bool>("remote_prefetch"));
  CHECK(op.attrs.get<int64_t>("padding_idx") == -1);
  CHECK_THROWS_WITH(embedding(c.b, ids, {11, 4}, shared),
                    Catch::Matchers::Contains("'table' is used twice with different types"));
}

TEST_CASE("auc is two ops over persistent counts", "[layers]") {
  NetCase c;
  const std::string p = data(c.b, "p", {2}), label = data(c.b, "label", {1}, {.dtype = DType::i64});
  const Auc r = auc(c.b, p, label, {.slide_steps = 20});
  CHECK(r.auc == "auc_0.tmp_0");
  CHECK(r.batch_auc == "auc_0.tmp_1");
  CHECK(op_types(c.net.main) == Names{"auc", "auc"});
  CHECK(r.states ==
        Names{"_generated_var_0", "_generated_var_1", "_generated_var_2", "_generated_var_3"});
  CHECK(c.b.var(r.states[0]).shape == Shape{21 * 4096 + 1});
  CHECK(c.b.var(r.states[2]).shape == Shape{1, 4096});
  CHECK(c.net.main.global().ops()[0]->attrs.get<int32_t>("slide_steps") == 20);
  CHECK(c.net.main.global().ops()[1]->attrs.get<int32_t>("slide_steps") == 0);
}

TEST_CASE("two makers of names in one program do not name one variable twice", "[layers]") {
  NetCase c;
  NameMaker other;
  const Builder second(c.net.main, c.net.startup, other);
  const std::string x = data(c.b, "x", {2});
  const std::string doubled = scale(c.b, x, {.scale = 2}),
                    total = scale(second, mean(c.b, x), {.scale = 10});
  CHECK(doubled == "scale_0.tmp_0");
  CHECK(total == "scale_0.tmp_1");
  const auto out = c.run({{"x", Tensor::of<float>({1, 2}, {1, 2})}}, {doubled, total});
  CHECK(values_of(out[0]) == std::vector<double>{2, 4});
  CHECK(values_of(out[1]) == std::vector<double>{15});

  // Rates and momenta as well: the second optimizer would go on with those of the first.
  const std::string w = fc(c.b, x, 1), loss = mean(c.b, w);
  minimize(c.b, loss, Optimizer("momentum", 0.1));
  minimize(second, loss, Optimizer("momentum", 0.5));
  for (const char* name : {"learning_rate_0", "learning_rate_1", "fc_0.w_0_velocity_1"})
    CHECK(c.net.startup.global().find(name) != nullptr);
}
