// Clipping against references, for dense and sparse gradients.
#include <cmath>

#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// loss = mean(x w1) + mean(x w2): the gradients are the means of x's columns, (1, 2) for both.
struct TwoWeights : NetCase {
  std::string loss;

  TwoWeights() {
    const std::string x = data(b, "x", {2});
    Names parts;
    for (const char* name : {"w1", "w2"})
      parts.push_back(mean(b, fc(b, x, 1,
                                 {.param_attr = {.name = name, .initializer = init::Constant{0}},
                                  .bias_attr = ParamAttr::none()})));
    loss = sum(b, parts);
  }
  void step(const Optimizer& o = Optimizer("sgd", 1)) {
    minimize(b, loss, o);
    start();
    run({{"x", Tensor::of<float>({2, 2}, {0, 1, 2, 3})}}, {});
  }
  void check(const std::string& name, double first, double second) {
    const std::vector<double> w = values(name);
    CHECK(w[0] == Approx(-first).margin(1e-6));
    CHECK(w[1] == Approx(-second).margin(1e-6));
  }
};

}  // namespace

TEST_CASE("clip by value", "[layers]") {
  TwoWeights c;
  set_gradient_clip(c.net.main, clip_by_value(1.5f, 1.25f), {"w1"});
  c.step();
  c.check("w1", 1.25, 1.5);
  c.check("w2", 1, 2);
}

TEST_CASE("clip by norm takes each gradient alone", "[layers]") {
  TwoWeights c;
  set_gradient_clip(c.net.main, clip_by_norm(1), {"w2"});
  c.step();
  c.check("w1", 1, 2);
  c.check("w2", 1 / std::sqrt(5), 2 / std::sqrt(5));
}

TEST_CASE("clip by global norm scales a group together", "[layers]") {
  TwoWeights c;
  SECTION("one group") {
    set_gradient_clip(c.net.main, clip_by_global_norm(0.5f));
    c.step();
    const double factor = 0.5 / std::sqrt(10);
    c.check("w1", factor, 2 * factor);
    c.check("w2", factor, 2 * factor);
  }
  SECTION("below the limit nothing changes") {
    set_gradient_clip(c.net.main, clip_by_global_norm(100));
    c.step();
    c.check("w1", 1, 2);
  }
  SECTION("two groups do not see each other") {
    set_gradient_clip(c.net.main, clip_by_global_norm(1, "left"), {"w1"});
    set_gradient_clip(c.net.main, clip_by_global_norm(2, "right"), {"w2"});
    c.step();
    c.check("w1", 1 / std::sqrt(5), 2 / std::sqrt(5));
    c.check("w2", 2 / std::sqrt(5), 4 / std::sqrt(5));
  }
  SECTION("with weight decay after it") {
    set_gradient_clip(c.net.main, clip_by_global_norm(0.5f));
    c.step(Optimizer("sgd", 1, l2_decay(0.5f)));  // weights are 0 at first
    c.check("w1", 0.5 / std::sqrt(10), 1 / std::sqrt(10));
  }
  SECTION("one group has one limit") {
    set_gradient_clip(c.net.main, clip_by_global_norm(1), {"w1"});
    set_gradient_clip(c.net.main, clip_by_global_norm(2), {"w2"});
    CHECK_THROWS_WITH(minimize(c.b, c.loss, Optimizer("sgd", 1)),
                      Catch::Matchers::Contains("different norms: 1 and 2"));
  }
}
