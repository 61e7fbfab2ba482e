#include "exec/plan.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "exec/networks.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// y = x * 2 + 1, then z = relu(y)
Program chain(int length) {
  Program p;
  p.global().create({.name = "x0", .shape = {-1, 64}});
  for (int i = 0; i < length; ++i)
    p.global().append({.type = i % 2 ? "tanh" : "scale",
                       .in = {{"X", {"x" + std::to_string(i)}}},
                       .out = {{"Out", {"x" + std::to_string(i + 1)}}}});
  return p;
}

}  // namespace

TEST_CASE("plan", "[exec]") {
  ThreadPool pool(1);
  Scope scope;

  SECTION("temporaries share the arena") {
    const Program p = chain(20);
    Plan plan(p, 0, scope, {"x0"}, {"x20"}, pool, {.fuse = false});
    const Tensor x = random_tensor(DType::f32, {10, 64}, 1);
    plan.feed(0, x);
    plan.run(0);
    CHECK(plan.arena_bytes() <= 2 * x.bytes());
    double v = values_of(x)[5];
    for (int i = 0; i < 20; ++i) v = i % 2 ? std::tanh(v) : v;
    CHECK(values_of(plan.fetch(0))[5] == Approx(v).epsilon(1e-5));
  }
  SECTION("adapts to new shapes, and back") {
    const Program p = chain(3);
    Plan plan(p, 0, scope, {"x0"}, {"x3"}, pool, {});
    for (const int64_t rows : {5, 1, 9, 5, 0}) {
      const Tensor x = random_tensor(DType::f32, {rows, 64}, 7);
      plan.feed(0, x);
      plan.run(0);
      CHECK(plan.fetch(0).shape() == Shape{rows, 64});
    }
  }
  SECTION("leaves out what nobody needs") {
    const Program p = chain(10);
    CHECK(Plan(p, 0, scope, {"x0"}, {"x4"}, pool, {.fuse = false}).profile().size() == 4);
    CHECK(Plan(p, 0, scope, {"x0"}, {}, pool, {.fuse = false}).profile().size() == 0);
  }
  SECTION("reports what is missing or wrong") {
    const Program p = chain(2);
    Plan plan(p, 0, scope, {"x0"}, {"x2"}, pool, {});
    CHECK_THROWS_WITH(plan.run(0), Contains("'x0' was not fed"));
    CHECK_THROWS_WITH(plan.feed(0, random_tensor(DType::f64, {1, 64}, 1)),
                      Contains("float32") && Contains("float64"));
    CHECK_THROWS_WITH(plan.feed(0, random_tensor(DType::f32, {1, 63}, 1)),
                      Contains("[-1, 64]") && Contains("[1, 63]"));
    CHECK_THROWS_WITH(Plan(p, 0, scope, {"x0"}, {"x22"}, pool, {}), Contains("did you mean 'x2'"));
    Plan other(p, 0, scope, {}, {"x2"}, pool, {});
    CHECK_THROWS_WITH(other.run(0), Contains("'x0' is read before anything writes it"));
  }
  SECTION("a parameter without a value asks for the startup program") {
    Trained t;
    mlp(t, "tanh", 2);
    Plan plan(t.net.main, 0, scope, {"x", "y"}, {t.loss}, pool, {});
    plan.feed(0, t.feeds[0].second);
    plan.feed(1, t.feeds[1].second);
    CHECK_THROWS_WITH(plan.run(0), Contains("has no value: run the startup program"));
  }
  SECTION("names the op and the variable of the first number that is none") {
    Program p;
    p.global().create({.name = "x", .shape = {-1}});
    p.global().append({.type = "log", .in = {{"X", {"x"}}}, .out = {{"Out", {"bad"}}}});
    p.global().append({.type = "scale", .in = {{"X", {"bad"}}}, .out = {{"Out", {"worse"}}}});
    const Tensor x = Tensor::of<float>({3}, {1, -1, 1});
    Plan plan(p, 0, scope, {"x"}, {"worse"}, pool, {.check_nan_inf = true});
    plan.feed(0, x);
    CHECK_THROWS_WITH(plan.run(0), Contains("element 1 of 'bad'") && Contains("after op log"));
    Plan unchecked(p, 0, scope, {"x"}, {"worse"}, pool, {});
    unchecked.feed(0, x);
    CHECK_NOTHROW(unchecked.run(0));
  }
  SECTION("follows a tensor of the scope that was replaced") {
    Program p;
    p.global().create({.name = "w", .shape = {2}, .persistable = true});
    p.global().append({.type = "scale",
                       .in = {{"X", {"w"}}},
                       .out = {{"Out", {"y"}}},
                       .attrs = {{"scale", 2.0f}}});
    scope.var("w").tensor = Tensor::of<float>({2}, {1, 2});
    Plan plan(p, 0, scope, {}, {"y"}, pool, {});
    plan.run(0);
    CHECK(values_of(plan.fetch(0)) == std::vector<double>{2, 4});
    scope.var("w").tensor = Tensor::of<float>({3}, {5, 6, 7});
    plan.run(0);
    CHECK(values_of(plan.fetch(0)) == std::vector<double>{10, 12, 14});
  }
  SECTION("says which feeds it writes to") {
    Program p = chain(2);
    p.global().append(
        {.type = "scale", .in = {{"X", {"x1"}}}, .out = {{"Out", {"x0"}}}, .attrs = {}});
    const Plan both(p, 0, scope, {"x0", "x1"}, {"x0"}, pool, {.fuse = false});
    CHECK(both.writes_feed(0));
    const Plan reads(chain(2), 0, scope, {"x0"}, {"x2"}, pool, {.fuse = false});
    CHECK_FALSE(reads.writes_feed(0));
  }
  SECTION("errors say where the op was made, also of a fused one") {
    Program p;
    p.current_origin = "train.py:7: fc(x)";
    p.global().create({.name = "x", .shape = {-1, 4}});
    p.global().create({.name = "w", .shape = {4, 2}});
    p.global().create({.name = "b", .shape = {2}});
    p.global().append({.type = "mul", .in = {{"X", {"x"}}, {"Y", {"w"}}}, .out = {{"Out", {"m"}}}});
    p.global().append({.type = "elementwise_add",
                       .in = {{"X", {"m"}}, {"Y", {"b"}}},
                       .out = {{"Out", {"y"}}},
                       .attrs = {{"axis", 1}}});
    for (const bool fuse : {false, true}) {
      Plan plan(p, 0, scope, {"x"}, {"y"}, pool, {.fuse = fuse});
      CHECK(plan.profile().size() == (fuse ? 1 : 2));
      plan.feed(0, random_tensor(DType::f32, {3, 4}, 1));
      CHECK_THROWS_WITH(plan.run(0),
                        Contains("'w' is read before") && Contains("made at train.py:7: fc(x)"));
    }
  }
  SECTION("measures every op") {
    const Program p = chain(4);
    Plan plan(p, 0, scope, {"x0"}, {"x4"}, pool, {.fuse = false, .profile = true});
    const Tensor x = random_tensor(DType::f32, {10, 64}, 1);
    plan.feed(0, x);
    for (int i = 0; i < 3; ++i) plan.run(0);
    REQUIRE(plan.profile().size() == 4);
    for (const OpCost& c : plan.profile()) {
      CHECK(c.calls == 3);
      CHECK(c.least > 0);
      CHECK(c.least <= c.most);
      CHECK(c.most <= c.seconds);
    }
  }
  SECTION("LoD follows the batch") {
    Trained t;
    bag_of_words(t, "sum");
    Executor executor;
    executor.run(t.net.startup, scope);
    const std::string pooled = "sequence_pool_0.tmp_0";
    for (const Lod& lod : {Lod{{0, 1, 7}}, Lod{{0, 3, 7}}, Lod{{0, 1, 2, 7}}}) {
      Tensor ids = t.feeds[0].second;
      ids.set_lod(lod);
      const int64_t n = static_cast<int64_t>(lod[0].size()) - 1;
      const Tensor out =
          executor.run(t.net.main, scope, {{"ids", ids}, {"y", labels(n, 2)}}, {pooled})[0];
      const std::vector<double> table = values_of(scope.tensor("embedding_0.w_0"));
      REQUIRE(out.shape() == Shape{n, 3});
      for (int64_t s = 0; s < n; ++s) {
        double sum = 0;
        for (size_t e = lod[0][static_cast<size_t>(s)]; e < lod[0][static_cast<size_t>(s) + 1]; ++e)
          sum += table[static_cast<size_t>(ids.data<int64_t>()[e]) * 3 + 1];
        CHECK(values_of(out)[static_cast<size_t>(s) * 3 + 1] == Approx(sum));
      }
    }
    CHECK_THROWS_WITH(
        executor.run(t.net.main, scope,
                     {{"ids", Tensor::of<int64_t>({1, 1}, {0})}, {"y", labels(1, 2)}}, {t.loss}),
        Contains("has no LoD"));
  }
}
