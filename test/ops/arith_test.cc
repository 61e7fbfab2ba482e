#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/op_check.h"
#include "support/run_kernel.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {
Tensor as_tensor(const std::vector<double>& v) {
  return Tensor::of<double>({static_cast<int64_t>(v.size())}, std::span<const double>(v));
}
}  // namespace

TEST_CASE("mean", "[ops]") {
  const Shape shape = GENERATE(Shape{1}, Shape{3, 5}, Shape{30001});
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const OpCase c{"mean", {{"X", {random_tensor(dtype, shape, 3)}}}};
  double sum = 0;
  for (const double v : values_of(c.in[0].second[0])) sum += v;
  const Tensor out = run_op(c).at("Out")[0];
  CHECK(out.shape() == Shape{1});
  CHECK(difference(out, {sum / static_cast<double>(shape.numel())}) <
        (dtype == DType::f32 ? 1e-6 : 1e-13));
  CHECK(difference(out, values_of(run_op(c, 3).at("Out")[0])) == 0);
  if (shape.numel() < 100) CHECK(grad_error(c, {"X"}) < 1e-6);
}

TEST_CASE("mean of nothing is no number, and has an empty gradient", "[ops]") {
  const OpCase c{"mean", {{"X", {Tensor(DType::f64, {0, 3})}}}};
  CHECK(std::isnan(run_op(c).at("Out")[0].data<double>()[0]));
  CHECK(run_grad(c, {"X"}).at("X")[0].shape() == Shape{0, 3});
}

TEST_CASE("scale", "[ops]") {
  const bool after = GENERATE(true, false);
  const Shape shape = GENERATE(Shape{1}, Shape{3, 5}, Shape{0, 2});
  const Attrs attrs{{"scale", 2.5f}, {"bias", -3.0f}, {"bias_after_scale", after}};
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32}) {
    const Tensor x = random_tensor(dtype, shape, 3, -20, 20);
    std::vector<double> expected;
    for (const double v : values_of(x)) {
      const double y = after ? 2.5 * v - 3 : 2.5 * (v - 3);
      expected.push_back(dtype == DType::i32 || dtype == DType::i64 ? std::trunc(y) : y);
    }
    CHECK(difference(run_op({"scale", {{"X", {x}}}, attrs}).at("Out")[0], expected) <
          (dtype == DType::f32 ? 1e-6 : 1e-14));
  }
  CHECK(grad_error({"scale", {{"X", {random_tensor(DType::f64, shape, 1)}}}, attrs}, {"X"}) < 1e-6);
}

TEST_CASE("scale and assign keep selected rows and LoD", "[ops]") {
  const Value x{random_tensor(DType::f64, {3, 2}, 1), {3, 0, 3}, 5};
  std::vector<double> doubled;
  for (const double v : x.dense()) doubled.push_back(2 * v);
  const Value scaled = run_kernel({"scale", {{"X", {x}}}, {{"scale", 2.0f}}}).at("Out");
  CHECK(scaled.rows == x.rows);
  CHECK(difference(as_tensor(scaled.dense()), doubled) < 1e-15);
  const Value same = run_kernel({"assign", {{"X", {x}}}}).at("Out");
  CHECK(same.rows == x.rows);
  CHECK(same.height == 5);
  CHECK(difference(same.tensor, values_of(x.tensor)) == 0);
  Tensor t = random_tensor(DType::f32, {3}, 1);
  t.set_lod({{0, 1, 3}});
  CHECK(run_op({"assign", {{"X", {t}}}}).at("Out")[0].lod() == t.lod());
  CHECK(run_op({"scale", {{"X", {t}}}}).at("Out")[0].lod() == t.lod());
}

TEST_CASE("assign copies every type", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}) {
    const Tensor x = random_tensor(dtype, {3, 2}, 1, 0, 100);
    CHECK(difference(run_op({"assign", {{"X", {x}}}}).at("Out")[0], values_of(x)) == 0);
  }
  CHECK(grad_error({"assign", {{"X", {random_tensor(DType::f64, {4}, 1)}}}}, {"X"}) < 1e-6);
}

TEST_CASE("increment counts in place", "[ops]") {
  Program program;
  Block& block = program.global();
  block.create({.name = "n", .dtype = DType::i64, .shape = {1}, .persistable = true});
  block.append({.type = "increment", .in = {{"X", {"n"}}}, .out = {{"Out", {"n"}}}});
  Scope scope;
  scope.var("n").tensor = Tensor::of<int64_t>({1}, {int64_t{1} << 40});
  ThreadPool pool(1);
  Plan plan(program, 0, scope, {}, {}, pool, {});
  for (int i = 0; i < 3; ++i) plan.run(0);
  CHECK(scope.var("n").tensor.data<int64_t>()[0] == (int64_t{1} << 40) + 3);
  CHECK(values_of(run_op({"increment", {{"X", {Tensor::of<float>({1}, {1})}}}, {{"step", -2.5f}}})
                      .at("Out")[0]) == std::vector<double>{-1.5});
  CHECK_THROWS_WITH(run_op({"increment", {{"X", {Tensor::of<float>({2}, {1, 2})}}}}),
                    Contains("op increment") && Contains("[2]") && Contains("one element"));
}

TEST_CASE("minus", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {3, 5}, 1), y = random_tensor(DType::f64, {3, 5}, 2);
  std::vector<double> expected;
  for (size_t i = 0; i < 15; ++i) expected.push_back(values_of(x)[i] - values_of(y)[i]);
  const OpCase c{"minus", {{"X", {x}}, {"Y", {y}}}};
  CHECK(difference(run_op(c).at("Out")[0], expected) == 0);
  CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
  CHECK(grad_error(c, {"Y"}) < 1e-6);
  CHECK_THROWS_WITH(run_op({"minus", {{"X", {x}}, {"Y", {random_tensor(DType::f64, {5}, 1)}}}}),
                    Contains("op minus") && Contains("[3, 5]") && Contains("Y (Y_0) [5]"));
}

TEST_CASE("squared_l2_norm", "[ops]") {
  const Shape shape = GENERATE(Shape{1}, Shape{3, 5}, Shape{0, 5});
  const OpCase c{"squared_l2_norm", {{"X", {random_tensor(DType::f64, shape, 3)}}}};
  double sum = 0;
  for (const double v : values_of(c.in[0].second[0])) sum += v * v;
  CHECK(difference(run_op(c).at("Out")[0], {sum}) < 1e-14);
  CHECK(grad_error(c, {"X"}) < 1e-6);
  const Value rows{random_tensor(DType::f64, {2, 2}, 1), {1, 1}, 3};
  CHECK_THROWS_WITH(run_kernel({"squared_l2_norm", {{"X", {rows}}}}), Contains("selected rows"));
}

TEST_CASE("isfinite looks at every element of every input", "[ops]") {
  const double bad =
      GENERATE(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
               std::numeric_limits<double>::quiet_NaN());
  const Tensor good = random_tensor(DType::f64, {3, 7}, 1);
  const auto finite = [](const std::vector<Tensor>& x) {
    const Tensor out = run_op({"isfinite", {{"X", x}}}).at("Out")[0];
    CHECK(out.dtype() == DType::boolean);
    return out.data<bool>()[0];
  };
  CHECK(finite({good, random_tensor(DType::i64, {2}, 1), Tensor(DType::f32, {0})}));
  for (const int64_t at : {0, 9, 20}) {
    const Tensor x = good.clone();
    x.data<double>()[at] = bad;
    CHECK_FALSE(finite({good, x}));
  }
}
