#include <catch2/catch.hpp>

#include "graph/backward.h"
#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace shape_test {

int32_t number(DType t) { return static_cast<int32_t>(t); }

// Runs an op that keeps order and elements, and its gradient; returns the new shape.
Shape reshaped(const std::string& type, const Shape& from, const Attrs& attrs) {
  const Tensor x = random_tensor(DType::f64, from, 3);
  const OpCase c{type, {{"X", {x}}}, attrs};
  const Results r = run_op(c);
  CHECK(values_of(r.at("Out")[0]) == values_of(x));
  Shape kept{0};
  for (const int64_t d : from) kept.append(d);
  CHECK(r.at("XShape")[0].shape() == kept);
  CHECK(grad_error(c, {"X"}) < 1e-6);
  CHECK(run_grad(c, {"X"}).at("X")[0].shape() == from);
  return r.at("Out")[0].shape();
}

Shape built(const std::string& type, const Shape& declared, const Attrs& attrs) {
  Program p;
  p.global().create({.name = "x", .dtype = DType::f32, .shape = declared});
  p.global().append({.type = type, .in = {{"X", {"x"}}}, .out = {{"Out", {"y"}}}, .attrs = attrs});
  return p.global().var("y").shape;
}

TEST_CASE("reshape2", "[ops]") {
  const auto to = [](const Shape& from, const Ints& shape) {
    return reshaped("reshape2", from, {{"shape", shape}});
  };
  CHECK(to({2, 6}, {3, 4}) == Shape{3, 4});
  CHECK(to({2, 6}, {-1}) == Shape{12});
  CHECK(to({2, 3, 4}, {0, -1}) == Shape{2, 12});
  CHECK(to({2, 3, 4}, {0, 0, 2, 2}) == Shape{2, 3, 2, 2});
  CHECK(to({1}, {1, 1, 1}) == Shape{1, 1, 1});
  CHECK(to({0, 4}, {-1, 2, 2}) == Shape{0, 2, 2});
  SECTION("lengths that are not known yet") {
    CHECK(built("reshape2", {-1, 6}, {{"shape", Ints{0, -1}}}) == Shape{-1, 6});
    CHECK(built("reshape2", {-1, 6}, {{"shape", Ints{-1, 2, 3}}}) == Shape{-1, 2, 3});
  }
  SECTION("what is refused") {
    const Tensor x = random_tensor(DType::f32, {2, 6}, 1);
    const auto run = [&](const Ints& shape) {
      run_op({"reshape2", {{"X", {x}}}, {{"shape", shape}}});
    };
    CHECK_THROWS_WITH(run({5}), Contains("reshape2") && Contains("[2, 6]") && Contains("[5]"));
    CHECK_THROWS_WITH(run({5, -1}), Contains("[2, 6]") && Contains("multiple"));
    CHECK_THROWS_WITH(run({-1, -1}), Contains("more than one -1"));
    CHECK_THROWS_WITH(run({2, 6, 0}), Contains("[2, 6]") && Contains("place 2"));
    CHECK_THROWS_WITH(run({-3, 4}), Contains("-3"));
    CHECK_THROWS_WITH(run({}), Contains("empty"));
  }
  SECTION("rows that stay keep their LoD") {
    Tensor x = random_tensor(DType::f32, {3, 4}, 1);
    x.set_lod({{0, 1, 3}});
    const auto lod = [&](const Ints& shape) {
      return run_op({"reshape2", {{"X", {x}}}, {{"shape", shape}}}).at("Out")[0].lod();
    };
    CHECK(lod({0, 2, 2}) == x.lod());
    CHECK(lod({6, 2}).empty());
  }
  SECTION("shares memory where its input is not needed any more") {
    Program p;
    Block& b = p.global();
    b.create({.name = "x", .dtype = DType::f32, .shape = {-1, 6}});
    b.append({.type = "softmax", .in = {{"X", {"x"}}}, .out = {{"Out", {"s"}}}});
    b.append({.type = "reshape2",
              .in = {{"X", {"s"}}},
              .out = {{"Out", {"y"}}, {"XShape", {"xs"}}},
              .attrs = {{"shape", Ints{-1, 2, 3}}}});
    Scope scope;
    ThreadPool pool(1);
    Plan plan(p, 0, scope, {"x"}, {"y"}, pool, {.fuse = false});
    const Tensor x = random_tensor(DType::f32, {64, 6}, 1);
    plan.feed(0, x);
    plan.run(0);
    CHECK(plan.arena_bytes() == x.bytes());
    CHECK(difference(plan.fetch(0), values_of(run_op({"softmax", {{"X", {x}}}}).at("Out")[0])) <=
          (tests_gpu() ? 1e-6 : 0));
  }
}

TEST_CASE("squeeze2, unsqueeze2 and flatten2", "[ops]") {
  const auto squeeze = [](const Shape& s, const Ints& a) {
    return reshaped("squeeze2", s, {{"axes", a}});
  };
  const auto unsqueeze = [](const Shape& s, const Ints& a) {
    return reshaped("unsqueeze2", s, {{"axes", a}});
  };
  const auto flatten = [](const Shape& s, int a) { return reshaped("flatten2", s, {{"axis", a}}); };
  CHECK(squeeze({1, 3, 1, 5}, {0}) == Shape{3, 1, 5});
  CHECK(squeeze({1, 3, 1, 5}, {0, -2}) == Shape{3, 5});
  CHECK(squeeze({1, 3, 1, 5}, {}) == Shape{3, 5});
  CHECK(squeeze({1, 1}, {}) == Shape{1});
  CHECK(unsqueeze({3, 5}, {0}) == Shape{1, 3, 5});
  CHECK(unsqueeze({3, 5}, {0, 2}) == Shape{1, 3, 1, 5});
  CHECK(unsqueeze({3, 5}, {-1}) == Shape{3, 5, 1});
  CHECK(flatten({2, 3, 4}, 1) == Shape{2, 12});
  CHECK(flatten({2, 3, 4}, 0) == Shape{1, 24});
  CHECK(flatten({2, 3, 4}, 3) == Shape{24, 1});
  CHECK(flatten({0, 3}, 1) == Shape{0, 3});
  CHECK(built("flatten2", {-1, 3, 4}, {}) == Shape{-1, 12});
  CHECK_THROWS_WITH(squeeze({2, 3}, {0}),
                    Contains("squeeze2") && Contains("[2, 3]") && Contains("length 2"));
  CHECK_THROWS_WITH(unsqueeze({2, 3}, {4}), Contains("unsqueeze2") && Contains("axis 4"));
  CHECK_THROWS_WITH(flatten({2, 3}, 3), Contains("flatten2") && Contains("[2, 3]"));
}

TEST_CASE("transpose2", "[ops]") {
  struct Where {
    Shape shape;
    Ints axis;
  };
  for (const Where& w :
       {Where{{1}, {0}}, Where{{3, 5}, {1, 0}}, Where{{3, 5}, {0, 1}}, Where{{2, 3, 4}, {2, 0, 1}},
        Where{{2, 3, 4}, {0, 2, 1}}, Where{{2, 1, 3, 2}, {3, 1, 0, 2}}, Where{{0, 3}, {1, 0}}}) {
    const Tensor x = random_tensor(DType::f64, w.shape, 3);
    const int rank = w.shape.rank();
    Shape shape;
    for (const int a : w.axis) shape.append(w.shape[a]);
    std::vector<double> expected(static_cast<size_t>(x.numel()));
    const std::vector<double> v = values_of(x);
    for (int64_t i = 0; i < x.numel(); ++i) {
      int64_t c[8], rest = i, at = 0;
      for (int d = rank - 1; d >= 0; --d) c[d] = rest % w.shape[d], rest /= w.shape[d];
      for (int d = 0; d < rank; ++d) at = at * shape[d] + c[w.axis[static_cast<size_t>(d)]];
      expected[static_cast<size_t>(at)] = v[static_cast<size_t>(i)];
    }
    const OpCase c{"transpose2", {{"X", {x}}}, {{"axis", w.axis}}};
    const Tensor out = run_op(c).at("Out")[0];
    CHECK(out.shape() == shape);
    CHECK(values_of(out) == expected);
    CHECK(grad_error(c, {"X"}) < 1e-6);
  }
  SECTION("large, of any type, on any number of threads") {
    const Tensor x = random_tensor(DType::u8, {40, 30, 50}, 3, 0, 255);
    const OpCase c{"transpose2", {{"X", {x}}}, {{"axis", Ints{2, 1, 0}}}};
    const Tensor one = run_op(c, 1).at("Out")[0];
    CHECK(values_of(one) == values_of(run_op(c, 3).at("Out")[0]));
    CHECK(one.data<uint8_t>()[7 * 1200 + 5 * 40 + 3] == x.data<uint8_t>()[3 * 1500 + 5 * 50 + 7]);
  }
  SECTION("what is refused") {
    const Tensor x = random_tensor(DType::f32, {2, 3}, 1);
    for (const Ints& axis : {Ints{0}, Ints{0, 0}, Ints{0, 2}})
      CHECK_THROWS_WITH(run_op({"transpose2", {{"X", {x}}}, {{"axis", axis}}}),
                        Contains("transpose2") && Contains("[2, 3]"));
  }
}

TEST_CASE("cast", "[ops]") {
  const auto cast = [](const Tensor& x, DType to) {
    return OpCase{
        "cast", {{"X", {x}}}, {{"in_dtype", number(x.dtype())}, {"out_dtype", number(to)}}};
  };
  Tensor x = Tensor::of<float>({4, 1}, {-1.7f, 0.0f, 0.4f, 3.9f});
  x.set_lod({{0, 1, 4}});
  CHECK(values_of(run_op(cast(x, DType::i64)).at("Out")[0]) == std::vector<double>{-1, 0, 0, 3});
  CHECK(values_of(run_op(cast(x, DType::boolean)).at("Out")[0]) == std::vector<double>{1, 0, 1, 1});
  CHECK(run_op(cast(x, DType::f64)).at("Out")[0].dtype() == DType::f64);
  CHECK(run_op(cast(x, DType::i32)).at("Out")[0].lod() == x.lod());
  CHECK(run_op(cast(Tensor(DType::f32, {0, 3}), DType::i64)).at("Out")[0].shape() == Shape{0, 3});
  CHECK(grad_error(cast(to_double(x), DType::f64), {"X"}) < 1e-6);
  const Results g = run_grad(cast(x, DType::f64), {"X"});
  CHECK(g.at("X")[0].dtype() == DType::f32);
  CHECK_THROWS_WITH(
      run_op({"cast", {{"X", {x}}}, {{"in_dtype", number(DType::i64)}, {"out_dtype", 5}}}),
      Contains("cast") && Contains("int64") && Contains("float32"));
  CHECK_THROWS_WITH(run_op({"cast", {{"X", {x}}}, {{"in_dtype", 5}, {"out_dtype", 77}}}),
                    Contains("77"));
}

TEST_CASE("shape and assign_value", "[ops]") {
  const Tensor out = run_op({"shape", {{"Input", {Tensor(DType::f32, {0, 3, 7})}}}}).at("Out")[0];
  CHECK(out.dtype() == DType::i32);
  CHECK(values_of(out) == std::vector<double>{0, 3, 7});
  const Results r =
      run_op({"assign_value",
              {},
              {{"shape", Ints{2, 2}}, {"dtype", 5}, {"fp32_values", Floats{1, 2, 3, 4.5f}}}});
  CHECK(r.at("Out")[0].shape() == Shape{2, 2});
  CHECK(values_of(r.at("Out")[0]) == std::vector<double>{1, 2, 3, 4.5});
  const Results ints = run_op(
      {"assign_value", {}, {{"shape", Ints{3}}, {"dtype", 2}, {"int32_values", Ints{7, 8, 9}}}});
  CHECK(ints.at("Out")[0].dtype() == DType::i32);
  CHECK(values_of(ints.at("Out")[0]) == std::vector<double>{7, 8, 9});
  CHECK_THROWS_WITH(
      run_op(
          {"assign_value", {}, {{"shape", Ints{3}}, {"dtype", 5}, {"fp32_values", Floats{1, 2}}}}),
      Contains("[3]") && Contains("found 2"));
  CHECK_THROWS_WITH(run_op({"assign_value", {}, {{"shape", Ints{1}}, {"dtype", 0}}}),
                    Contains("bool"));
}

}  // namespace shape_test
