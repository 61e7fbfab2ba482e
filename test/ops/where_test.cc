#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

Tensor bools(const Shape& shape, const std::vector<bool>& values) {
  Tensor t(DType::boolean, shape);
  std::copy(values.begin(), values.end(), t.data<bool>());
  return t;
}

}  // namespace

TEST_CASE("where_index", "[ops]") {
  const auto places = [](const Tensor& condition) {
    return run_op({"where_index", {{"Condition", {condition}}}}).at("Out")[0];
  };
  SECTION("one row of coordinates for each place") {
    const Tensor line = places(bools({3}, {true, false, true}));
    CHECK(line.shape() == Shape{2, 1});
    CHECK(line.dtype() == DType::i64);
    CHECK(values_of(line) == std::vector<double>{0, 2});
    const Tensor cube = places(bools({2, 2, 3}, {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0}));
    CHECK(cube.shape() == Shape{3, 3});
    CHECK(values_of(cube) == std::vector<double>{0, 0, 2, 1, 0, 0, 1, 1, 1});
  }
  SECTION("no row where it holds nowhere") {
    CHECK(places(bools({3}, {false, false, false})).shape() == Shape{0, 1});
    CHECK(places(bools({0, 4}, {})).shape() == Shape{0, 2});
  }
  SECTION("other values need another number of rows") {
    Program p;
    Block& b = p.global();
    b.create({.name = "c", .dtype = DType::boolean, .shape = {-1}});
    b.append({.type = "where_index", .in = {{"Condition", {"c"}}}, .out = {{"Out", {"out"}}}});
    CHECK(b.var("out").shape == Shape{-1, 1});
    Scope scope;
    Executor executor;
    for (const auto& [values, expected] :
         {std::pair<std::vector<bool>, std::vector<double>>{{true, true, false}, {0, 1}},
          {{false, true, false}, {1}},
          {{false, false, true}, {2}},  // as many, at another place
          {{true, true, true, true}, {0, 1, 2, 3}}}) {
      const Tensor c = bools({static_cast<int64_t>(values.size())}, values);
      CHECK(values_of(executor.run(p, scope, {{"c", c}}, {"out"})[0]) == expected);
    }
  }
  SECTION("only a bool variable is a condition") {
    CHECK_THROWS_WITH(places(Tensor::of<int64_t>({2}, {0, 1})),
                      Contains("must be bool") && Contains("int64"));
  }
}

TEST_CASE("where", "[ops]") {
  const Tensor condition = bools({2, 3}, {true, false, true, false, false, true});
  const Tensor x = random_tensor(DType::f64, {2, 3}, 1), y = random_tensor(DType::f64, {2, 3}, 2);
  const OpCase where{"where", {{"Condition", {condition}}, {"X", {x}}, {"Y", {y}}}};
  const auto other = [&](const Tensor& c, const Tensor& a, const Tensor& b) {
    return OpCase{"where", {{"Condition", {c}}, {"X", {a}}, {"Y", {b}}}};
  };
  SECTION("takes an element of the one or the other") {
    std::vector<double> expected;
    for (int k = 0; k < 6; ++k)
      expected.push_back(condition.data<bool>()[k] ? x.data<double>()[k] : y.data<double>()[k]);
    CHECK(values_of(run_op(where).at("Out")[0]) == expected);
    const Tensor n = Tensor::of<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor zeros = Tensor::of<int64_t>({2, 3}, {0, 0, 0, 0, 0, 0});
    CHECK(values_of(run_op(other(condition, n, zeros)).at("Out")[0]) ==
          std::vector<double>{1, 0, 3, 0, 0, 6});
  }
  SECTION("has the gradient that differences see") {
    CHECK(grad_error(where, {"X", "Y"}) < 1e-6);
    CHECK(grad_error(where, {"X"}) < 1e-6);
    CHECK(grad_error(where, {"Y"}) < 1e-6);
  }
  SECTION("threads give the same") {
    Tensor c(DType::boolean, {50000});
    for (int64_t k = 0; k < c.numel(); ++k) c.data<bool>()[k] = k % 3 == 0;
    const OpCase big =
        other(c, random_tensor(DType::f32, {50000}, 1), random_tensor(DType::f32, {50000}, 2));
    CHECK(values_of(run_op(big, 1).at("Out")[0]) == values_of(run_op(big, 3).at("Out")[0]));
  }
  SECTION("refuses other shapes and types") {
    CHECK_THROWS_WITH(run_op(other(condition, x, random_tensor(DType::f64, {3, 2}, 2))),
                      Contains("[2, 3]") && Contains("[3, 2]"));
    CHECK_THROWS_WITH(run_op(other(condition, x, random_tensor(DType::f32, {2, 3}, 2))),
                      Contains("float64") && Contains("float32"));
    CHECK_THROWS_WITH(run_op(other(x, x, y)), Contains("must be bool"));
  }
}
