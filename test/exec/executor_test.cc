#include "exec/executor.h"

#include <catch2/catch.hpp>

#include "exec/networks.h"

using namespace paddle;
using namespace paddle::test;

TEST_CASE("executor", "[exec]") {
  Trained t;
  mlp(t, "tanh", 4);
  minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
  Executor executor;
  Scope scope;
  executor.run(t.net.startup, scope);

  SECTION("trains") {
    const double first = values_of(executor.run(t.net.main, scope, t.feeds, {t.loss})[0])[0];
    double last = first;
    for (int i = 0; i < 200; ++i)
      last = values_of(executor.run(t.net.main, scope, t.feeds, {t.loss})[0])[0];
    CHECK(last < 0.2 * first);
  }
  SECTION("keeps plans, and notices that a program changed") {
    Plan* first = &executor.plan(t.net.main, scope, {"x", "y"}, {t.loss});
    CHECK(&executor.plan(t.net.main, scope, {"x", "y"}, {t.loss}) == first);
    t.net.main.global().append({.type = "scale",
                                .in = {{"X", {t.loss}}},
                                .out = {{"Out", {"twice"}}},
                                .attrs = {{"scale", 2.0f}}});
    const auto out = executor.run(t.net.main, scope, t.feeds, {t.loss, "twice"});
    CHECK(values_of(out[1])[0] == Approx(2 * values_of(out[0])[0]));
  }
  SECTION("a plan of a scope that is gone is not taken for another's at the same address") {
    std::vector<double> seen;
    Program p;
    p.global().create({.name = "w", .shape = {1}, .persistable = true});
    p.global().append({.type = "scale", .in = {{"X", {"w"}}}, .out = {{"Out", {"y"}}}});
    for (const float value : {1.0f, 2.0f}) {
      Scope own;
      own.var("w").tensor = Tensor::of<float>({1}, {value});
      seen.push_back(values_of(executor.run(p, own, {}, {"y"})[0])[0]);
    }
    CHECK(seen == std::vector<double>{1, 2});
  }
  SECTION("the same seed gives the same bits, on any number of threads") {
    std::vector<std::vector<double>> seen;
    for (const int threads : {1, 1, 3}) {
      Executor e({.threads = threads});
      Scope s;
      e.run(t.net.startup, s);
      for (int i = 0; i < 3; ++i) e.run(t.net.main, s, t.feeds, {t.loss});
      seen.push_back(values_of(s.tensor("fc_0.w_0")));
    }
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0] == seen[2]);
  }
}
