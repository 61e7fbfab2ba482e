// A variable that several ops write, as in `reshape(x, inplace=True)`: every op sees the value, the
// shape and the LoD that the variable has at its place in the program.
#include <catch2/catch.hpp>

#include "exec/networks.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<double>;

Op unary(const std::string& type, const std::string& x, const std::string& out, Attrs attrs = {}) {
  return {.type = type, .in = {{"X", {x}}}, .out = {{"Out", {out}}}, .attrs = std::move(attrs)};
}

Program with_input(const Shape& shape, int32_t lod_level = 0) {
  Program p;
  p.global().create({.name = "x", .shape = shape, .lod_level = lod_level});
  return p;
}

}  // namespace

TEST_CASE("a variable written twice", "[exec]") {
  const bool fuse = GENERATE(true, false);
  Executor executor({.plan = {.fuse = fuse}});
  Scope scope;
  const Tensor x = Tensor::of<float>({4, 1}, {1, 2, 3, 4});

  SECTION("first longer, then shorter") {
    Program p = with_input({-1, 1});
    p.global().append(unary("scale", "x", "s", {{"scale", 10.0f}}));
    p.global().append(unary("relu", "s", "first"));
    p.global().append(unary("mean", "x", "m"));
    p.global().append(unary("scale", "m", "s", {{"scale", 2.0f}}));
    p.global().append(unary("relu", "s", "second"));
    const auto out = executor.run(p, scope, {{"x", x}}, {"first", "second", "s"});
    CHECK(values_of(out[0]) == Values{10, 20, 30, 40});
    CHECK(out[0].shape() == Shape{4, 1});
    CHECK(values_of(out[1]) == Values{5});
    CHECK(values_of(out[2]) == Values{5});
  }
  SECTION("first shorter, then longer, for every length of the batch") {
    Program p = with_input({-1, 1});
    p.global().append(unary("mean", "x", "m"));
    p.global().append(unary("scale", "m", "s", {{"scale", 2.0f}}));
    p.global().append(unary("relu", "s", "first"));
    p.global().append(unary("scale", "x", "s", {{"scale", 10.0f}}));
    p.global().append(unary("relu", "s", "second"));
    for (const int64_t rows : {1, 4, 100000, 4, 1}) {  // 1: both have one element
      const Tensor batch = random_tensor(DType::f32, {rows, 1}, 7);
      const auto out = executor.run(p, scope, {{"x", batch}}, {"m", "first", "second"});
      CHECK(out[1].shape() == Shape{1});
      CHECK(values_of(out[1])[0] == Approx(std::max(0.0, 2 * values_of(out[0])[0])));
      REQUIRE(out[2].shape() == Shape{rows, 1});
      const double last = values_of(batch).back();
      CHECK(values_of(out[2]).back() == Approx(std::max(0.0, 10 * last)));
    }
  }
  SECTION("a feed that is reshaped in place") {
    Program p = with_input({-1, 4});
    p.global().append(unary("scale", "x", "before"));
    p.global().append({.type = "reshape2",
                       .in = {{"X", {"x"}}},
                       .out = {{"Out", {"x"}}, {"XShape", {"xs"}}},
                       .attrs = {{"shape", Ints{-1, 2}}}});
    p.global().append({.type = "reduce_sum",
                       .in = {{"X", {"x"}}},
                       .out = {{"Out", {"sums"}}},
                       .attrs = {{"dim", Ints{1}}}});
    // The op has inferred the later shape; a feed is checked against the declared one.
    p.global().var("x").shape = {-1, 4};
    const Tensor rows = Tensor::of<float>({1, 4}, {1, 2, 3, 4});
    const auto out = executor.run(p, scope, {{"x", rows}}, {"before", "sums"});
    CHECK(out[0].shape() == Shape{1, 4});
    CHECK(values_of(out[1]) == Values{3, 7});
  }
  SECTION("with another element type") {
    Program p = with_input({-1, 1});
    p.global().append(unary("scale", "x", "s", {{"scale", 2.5f}}));
    p.global().append(unary("relu", "s", "first"));
    p.global().append(unary("cast", "first", "s", {{"in_dtype", 5}, {"out_dtype", 3}}));
    const auto out = executor.run(p, scope, {{"x", x}}, {"first", "s"});
    CHECK(values_of(out[0]) == Values{2.5, 5, 7.5, 10});
    CHECK(out[1].dtype() == DType::i64);
    CHECK(values_of(out[1]) == Values{2, 5, 7, 10});
  }
  SECTION("with and without sequences") {
    Program p = with_input({-1, 1}, 1);
    p.global().create({.name = "y", .shape = {-1, 1}});
    p.global().append(unary("scale", "x", "s"));
    p.global().append({.type = "sequence_pool",
                       .in = {{"X", {"s"}}},
                       .out = {{"Out", {"sums"}}, {"MaxIndex", {"unused"}}},
                       .attrs = {{"pooltype", std::string("SUM")}}});
    p.global().append(unary("scale", "y", "s"));
    p.global().append(unary("relu", "s", "last"));
    Tensor sequences = x;
    sequences.set_lod({{0, 3, 4}});
    const auto out = executor.run(p, scope, {{"x", sequences}, {"y", x}}, {"sums", "last"});
    CHECK(values_of(out[0]) == Values{6, 4});
    CHECK(out[1].lod().empty());
  }
  SECTION("is refused with both shapes where its value is kept") {
    Program p = with_input({-1, 1});
    p.global().create({.name = "kept", .shape = {4, 1}, .persistable = true});
    p.global().append(unary("scale", "x", "kept"));
    p.global().append(unary("relu", "kept", "first"));
    p.global().append(unary("mean", "x", "kept"));
    CHECK_THROWS_WITH(
        executor.run(p, scope, {{"x", x}}, {"first"}),
        Contains("'kept'") && Contains("[4, 1]") && Contains("[1]") && Contains("another name"));
  }
  SECTION("is refused where a kept value is read with one shape and written with another") {
    Program p = with_input({-1, 1});
    p.global().create({.name = "kept", .shape = {2}, .persistable = true});
    p.global().append(unary("relu", "kept", "first"));
    p.global().append(unary("mean", "x", "kept"));
    scope.var("kept").tensor = Tensor::of<float>({2}, {5, 6});
    CHECK_THROWS_WITH(executor.run(p, scope, {{"x", x}}, {"first"}),
                      Contains("'kept'") && Contains("[2]") && Contains("[1]"));
    CHECK(values_of(scope.var("kept").tensor) == Values{5, 6});
  }
}
