// Each optimizer trains a small linear model as a loop in double does.
#include <cmath>
#include <functional>

#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

constexpr int features = 3, rows = 4, steps = 10;
constexpr double inputs[rows][features] = {
    {1, 0.5, -1}, {0.2, -0.7, 0.4}, {-0.3, 1.1, 0.8}, {0.6, -0.2, 0.1}};
constexpr double targets[rows] = {1.2, -0.4, 0.3, 0.9};

// Updates one number: (parameter, gradient, step from 1, four numbers of state).
using Reference = std::function<void(double& p, double g, int step, std::vector<double>& state)>;

using Change = std::function<double(double p, double g)>;  // of a gradient, before the update

std::vector<double> train_in_double(const Reference& update, const Change& change) {
  std::vector<double> w = {0.3, -0.2, 0.5};
  std::vector<std::vector<double>> state(features, std::vector<double>(4, 0.0));
  for (int step = 1; step <= steps; ++step) {
    std::vector<double> grad(features, 0.0);
    for (int r = 0; r < rows; ++r) {
      double d = -targets[r];
      for (int k = 0; k < features; ++k) d += inputs[r][k] * w[static_cast<size_t>(k)];
      for (int k = 0; k < features; ++k)
        grad[static_cast<size_t>(k)] += 2 * d * inputs[r][k] / rows;
    }
    for (size_t k = 0; k < features; ++k)
      update(w[k], change ? change(w[k], grad[k]) : grad[k], step, state[k]);
  }
  return w;
}

Tensor input_tensor() {
  Tensor t(DType::f32, {rows, features});
  for (int i = 0; i < rows * features; ++i)
    t.data<float>()[i] = static_cast<float>(inputs[i / features][i % features]);
  return t;
}

Tensor target_tensor() {
  Tensor t(DType::f32, {rows, 1});
  for (int i = 0; i < rows; ++i) t.data<float>()[i] = static_cast<float>(targets[i]);
  return t;
}

std::vector<double> train(const Optimizer& optimizer, const ParamAttr& attr = {}) {
  NetCase c;
  const std::string x = data(c.b, "x", {features}), y = data(c.b, "y", {1});
  ParamAttr w = attr;
  w.name = "w";
  w.initializer = init::Values{{0.3f, -0.2f, 0.5f}};
  const std::string predict = fc(c.b, x, 1, {.param_attr = w, .bias_attr = ParamAttr::none()});
  minimize(c.b, mean(c.b, square_error_cost(c.b, predict, y)), optimizer);
  c.start();
  for (int step = 0; step < steps; ++step)
    c.run({{"x", input_tensor()}, {"y", target_tensor()}}, {});
  return c.values("w");
}

void check_close(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    CHECK(got[i] == Approx(want[i]).margin(1e-5));
  }
}

void check(const Optimizer& optimizer, const Reference& reference, const Change& change = {},
           const ParamAttr& attr = {}) {
  check_close(train(optimizer, attr), train_in_double(reference, change));
}

const Reference sgd_reference = [](double& p, double g, int, std::vector<double>&) {
  p -= 0.1 * g;
};

}  // namespace

TEST_CASE("sgd", "[layers]") {
  check(Optimizer("sgd", 0.1), sgd_reference);
  check(Optimizer("sgd", 0.05), sgd_reference, {}, {.learning_rate = 2});
}

TEST_CASE("momentum", "[layers]") {
  for (const bool nesterov : {false, true})
    check(Optimizer("momentum", 0.1, {{"momentum", 0.8}, {"use_nesterov", nesterov}}),
          [=](double& p, double g, int, std::vector<double>& s) {
            s[0] = 0.8 * s[0] + g;
            p -= nesterov ? 0.1 * (g + 0.8 * s[0]) : 0.1 * s[0];
          });
}

TEST_CASE("adagrad", "[layers]") {
  check(Optimizer("adagrad", 0.1, {{"initial_accumulator_value", 0.25}}),
        [](double& p, double g, int step, std::vector<double>& s) {
          if (step == 1) s[0] = 0.25;
          s[0] += g * g;
          p -= 0.1 * g / (std::sqrt(s[0]) + 1e-6);
        });
}

TEST_CASE("decayed adagrad", "[layers]") {
  check(Optimizer("decayed_adagrad", 0.1), [](double& p, double g, int, std::vector<double>& s) {
    s[0] = 0.95 * s[0] + 0.05 * g * g;
    p -= 0.1 * g / (std::sqrt(s[0]) + 1e-6);
  });
}

TEST_CASE("adam", "[layers]") {
  check(Optimizer("adam", 0.1), [](double& p, double g, int step, std::vector<double>& s) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = 0.999 * s[1] + 0.001 * g * g;
    const double rate = 0.1 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
    p -= rate * s[0] / (std::sqrt(s[1]) + 1e-8);
  });
}

TEST_CASE("adamax", "[layers]") {
  check(Optimizer("adamax", 0.1), [](double& p, double g, int step, std::vector<double>& s) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = std::max(std::abs(g), 0.999 * s[1] + 1e-8);
    p -= 0.1 / (1 - std::pow(0.9, step)) * s[0] / s[1];
  });
}

TEST_CASE("rmsprop", "[layers]") {
  for (const bool centered : {false, true})
    check(Optimizer("rmsprop", 0.05, {{"momentum", 0.5}, {"centered", centered}}),
          [=](double& p, double g, int, std::vector<double>& s) {
            s[0] = 0.95 * s[0] + 0.05 * g * g;
            s[1] = 0.95 * s[1] + 0.05 * g;
            s[2] = 0.5 * s[2] + 0.05 * g / std::sqrt(s[0] - (centered ? s[1] * s[1] : 0) + 1e-6);
            p -= s[2];
          });
}

TEST_CASE("adadelta", "[layers]") {
  check(Optimizer("adadelta", 1), [](double& p, double g, int, std::vector<double>& s) {
    s[0] = 0.95 * s[0] + 0.05 * g * g;
    const double change = -std::sqrt((s[1] + 1e-6) / (s[0] + 1e-6)) * g;
    s[1] = 0.95 * s[1] + 0.05 * change * change;
    p += change;
  });
}

TEST_CASE("ftrl", "[layers]") {
  check(Optimizer("ftrl", 0.1, {{"l1", 0.01}, {"l2", 0.02}}),
        [](double& p, double g, int, std::vector<double>& s) {
          const double next = s[0] + g * g;
          s[1] += g - (std::sqrt(next) - std::sqrt(s[0])) / 0.1 * p;
          s[0] = next;
          const double x = 0.01 * (s[1] > 0 ? 1 : -1) - s[1];
          p = std::abs(s[1]) > 0.01 ? x / (std::sqrt(next) / 0.1 + 2 * 0.02) : 0;
        });
}

TEST_CASE("weight decay", "[layers]") {
  const Change l2 = [](double p, double g) { return g + 0.3 * p; };
  const Change l1 = [](double p, double g) { return g + 0.3 * (p > 0 ? 1 : p < 0 ? -1 : 0); };
  check(Optimizer("sgd", 0.1, l2_decay(0.3f)), sgd_reference, l2);
  check(Optimizer("sgd", 0.1, l1_decay(0.3f)), sgd_reference, l1);
  // The parameter's own overrides the optimizer's.
  check(Optimizer("sgd", 0.1, l1_decay(9)), sgd_reference, l2, {.regularizer = l2_decay(0.3f)});
}

TEST_CASE("clip by value comes before weight decay", "[layers]") {
  check(Optimizer("sgd", 0.1, l2_decay(0.3f)), sgd_reference,
        [](double p, double g) { return std::clamp(g, -0.1, 0.2) + 0.3 * p; },
        {.gradient_clip = clip_by_value(0.2f, -0.1f)});
}

TEST_CASE("what cannot be optimized is said", "[layers]") {
  using Catch::Matchers::Contains;
  NetCase c;
  const std::string x = data(c.b, "x", {3});
  const std::string loss = mean(c.b, fc(c.b, x, 1));
  CHECK_THROWS_WITH(minimize(c.b, mean(c.b, x), Optimizer("sgd", 1)),
                    Contains("depends on no trainable parameter"));
  CHECK_THROWS_WITH(minimize(c.b, loss, Optimizer("sgd", 1), {.parameter_list = {"fc_0.w_1"}}),
                    Contains("there is no variable 'fc_0.w_1'") && Contains("fc_0.w_0"));
  CHECK_THROWS_WITH(minimize(c.b, loss, Optimizer("sgd", 0.0)),
                    Contains("sgd needs a positive learning_rate"));
  CHECK_THROWS_WITH(set_gradient_clip(c.net.main, clip_by_norm(1), {"x"}),
                    Contains("it is no parameter"));
}

TEST_CASE("only listed parameters are updated", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {3});
  const std::string loss = mean(c.b, fc(c.b, x, 1));
  const Minimized m = minimize(c.b, loss, Optimizer("sgd", 1), {.no_grad_set = {"fc_0.w_0"}});
  REQUIRE(m.params_grads.size() == 1);
  CHECK(m.params_grads[0].param == "fc_0.b_0");
  CHECK(m.optimize_ops.size() == 1);
}
