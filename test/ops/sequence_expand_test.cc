#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

Tensor with_lod(Tensor t, Lod lod) {
  t.set_lod(std::move(lod));
  return t;
}

OpCase op_case(const Tensor& x, const Tensor& y, int level) {
  return {"sequence_expand", {{"X", {x}}, {"Y", {y}}}, {{"ref_level", level}}};
}

}  // namespace

TEST_CASE("sequence_expand", "[ops]") {
  const Tensor four = Tensor::of<double>({4, 1}, {1, 2, 3, 4});
  const Tensor y8 = random_tensor(DType::f32, {8, 1}, 1), y6 = random_tensor(DType::f32, {6, 1}, 1);
  struct Case {
    Tensor x, y;
    int level;
    std::vector<double> values;
    Lod lod;
  };
  const Case cases[] = {
      {with_lod(four.clone(), {{0, 2, 4}}),
       with_lod(y8, {{0, 2, 4}, {0, 3, 6, 7, 8}}),
       0,
       {1, 2, 1, 2, 3, 4, 3, 4},
       {{0, 2, 4, 6, 8}}},
      {with_lod(four.clone(), {{0, 1, 4}}),
       with_lod(y8, {{0, 2, 4}, {0, 3, 6, 6, 8}}),
       0,
       {1, 1, 2, 3, 4, 2, 3, 4},
       {{0, 1, 2, 5, 8}}},
      {four, with_lod(y6, {{0, 2, 3, 3, 6}}), -1, {1, 1, 2, 4, 4, 4}, {}},
      {with_lod(four.clone(), {{0, 3, 3, 4}}),
       with_lod(y6, {{0, 1, 4, 6}}),
       -1,
       {1, 2, 3, 4, 4},
       {{0, 3, 3, 3, 3, 4, 5}}},
  };
  for (const Case& c : cases) {
    const Tensor out = run_op(op_case(c.x, c.y, c.level)).at("Out")[0];
    CHECK(out.shape() == Shape{static_cast<int64_t>(c.values.size()), 1});
    CHECK(values_of(out) == c.values);
    CHECK(out.lod() == c.lod);
    CHECK(grad_error(op_case(c.x, c.y, c.level), {"X"}) < 1e-6);
  }
  SECTION("refuses what does not fit") {
    CHECK_THROWS_WITH(
        run_op(op_case(four, with_lod(y6, {{0, 2, 6}}), -1)),
        Contains("sequence_expand") && Contains("X (X_0) [4, 1]") && Contains("Y (Y_0) [6, 1]"));
    CHECK_THROWS_WITH(run_op(op_case(four, y6, -1)), Contains("Y (Y_0) [6, 1]"));
    CHECK_THROWS_WITH(run_op(op_case(four, with_lod(y6, {{0, 2, 3, 3, 6}}), 1)),
                      Contains("ref_level 1"));
  }
}

// The length of the result follows the offsets, so the same number of sequences is not enough to
// keep a plan as it is.
TEST_CASE("sequence_expand follows the offsets of each batch", "[ops]") {
  Program program;
  Block& block = program.global();
  block.create({.name = "x", .dtype = DType::f64, .shape = {-1, 1}});
  block.create({.name = "y", .dtype = DType::f32, .shape = {-1, 1}, .lod_level = 1});
  block.append(
      {.type = "sequence_expand", .in = {{"X", {"x"}}, {"Y", {"y"}}}, .out = {{"Out", {"out"}}}});
  CHECK(block.var("out").shape == Shape{-1, 1});
  Scope scope;
  ThreadPool pool(1);
  Plan plan(program, 0, scope, {"x", "y"}, {"out"}, pool, {});
  const Tensor x = Tensor::of<double>({2, 1}, {1, 2});
  const auto run = [&](Lod lod) {
    const Tensor y = with_lod(random_tensor(DType::f32, {3, 1}, 1), std::move(lod));
    plan.feed(0, x);
    plan.feed(1, y);
    plan.run(0);
    return values_of(plan.fetch(0));
  };
  CHECK(run({{0, 1, 3}}) == std::vector<double>{1, 2, 2});
  CHECK(run({{0, 2, 3}}) == std::vector<double>{1, 1, 2});
  CHECK(run({{0, 0, 3}}) == std::vector<double>{2, 2, 2});
}
