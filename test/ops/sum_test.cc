#include <catch2/catch.hpp>

#include "support/op_check.h"
#include "support/run_kernel.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {
Value rows_of(std::vector<int64_t> ids, int64_t height, uint64_t seed) {
  const Shape shape{static_cast<int64_t>(ids.size()), 3};
  return {random_tensor(DType::f64, shape, seed), std::move(ids), height};
}
std::vector<double> add(const std::vector<Value>& parts) {
  std::vector<double> sum(parts[0].dense().size(), 0.0);
  for (const Value& v : parts) {
    const std::vector<double> d = v.dense();
    for (size_t i = 0; i < d.size(); ++i) sum[i] += d[i];
  }
  return sum;
}
}  // namespace

TEST_CASE("sum of dense tensors", "[ops]") {
  const Shape shape = GENERATE(Shape{1}, Shape{3, 5}, Shape{0, 4}, Shape{20001});
  const size_t count = GENERATE(1u, 2u, 3u, 5u);
  const DType dtype = GENERATE(DType::f32, DType::f64, DType::i32, DType::i64);
  std::vector<Tensor> parts;
  std::vector<double> expected(static_cast<size_t>(shape.numel()), 0.0);
  for (size_t k = 0; k < count; ++k) {
    parts.push_back(random_tensor(dtype, shape, k + 1, -9, 9));
    const auto v = values_of(parts.back());
    for (size_t i = 0; i < v.size(); ++i) expected[i] += v[i];
  }
  const OpCase c{"sum", {{"X", parts}}};
  const Tensor out = run_op(c, 3).at("Out")[0];
  CHECK(out.shape() == shape);
  // Partial sums reach 45 where the result may be near 0: each is rounded at their size.
  CHECK(difference(out, expected) < (dtype == DType::f32 ? 45 * 1.2e-7 : 1e-14));
  if (dtype == DType::f64 && shape.numel() < 100) CHECK(grad_error(c, {"X"}) < 1e-6);
}

TEST_CASE("sum may write to the memory of its first input", "[ops]") {
  const Value a{random_tensor(DType::f64, {4, 3}, 1)}, b{random_tensor(DType::f64, {4, 3}, 2)};
  KernelCase c{"sum", {{"X", {a, b, a}}}, {}, {{"Out", "X"}}};
  CHECK(difference(run_kernel(c).at("Out").tensor, add({a, b, a})) < 1e-15);
  SECTION("also where that holds rows and the sum is dense") {
    const Value rows = rows_of({3, 0, 3, 1}, 4, 3);
    c.in = {{"X", {rows, a}}};
    CHECK(difference(run_kernel(c).at("Out").tensor, add({rows, a})) < 1e-15);
  }
}

TEST_CASE("sum takes an input that is given twice, in a program", "[ops]") {
  Program program;
  Block& block = program.global();
  block.create({.name = "x", .dtype = DType::f64, .shape = {5}});
  block.append(
      {.type = "scale", .in = {{"X", {"x"}}}, .out = {{"Out", {"y"}}}, .attrs = {{"scale", 2.0f}}});
  block.append({.type = "sum", .in = {{"X", {"y", "x", "y"}}}, .out = {{"Out", {"z"}}}});
  Scope scope;
  ThreadPool pool(1);
  Plan plan(program, 0, scope, {"x"}, {"z"}, pool, {});
  const Tensor x = random_tensor(DType::f64, {5}, 4);
  plan.feed(0, x);
  plan.run(0);
  for (size_t i = 0; i < 5; ++i)
    CHECK(plan.fetch(0).values<double>()[i] == Approx(5 * x.values<double>()[i]));
}

TEST_CASE("sum of selected rows joins them", "[ops]") {
  const Value a = rows_of({4, 1, 4}, 6, 1), b = rows_of({}, 6, 2), c = rows_of({1, 0}, 6, 3);
  const Value out = run_kernel({"sum", {{"X", {a, b, c}}}}).at("Out");
  CHECK(out.rows == std::vector<int64_t>{4, 1, 4, 1, 0});
  CHECK(out.height == 6);
  CHECK(difference(Tensor::of<double>({18}, std::span<const double>(out.dense())), add({a, b, c})) <
        1e-15);
}

TEST_CASE("sum of rows and dense tensors is dense", "[ops]") {
  const Value dense{random_tensor(DType::f64, {6, 3}, 9)};
  const Value rows = rows_of({5, 5, 2}, 6, 1);
  const int threads = GENERATE(1, 3);
  for (const std::vector<Value>& parts :
       {std::vector{dense, rows}, std::vector{rows, dense, rows}}) {
    const Value out =
        run_kernel({.type = "sum", .in = {{"X", parts}}, .threads = threads}).at("Out");
    CHECK_FALSE(out.is_rows());
    CHECK(difference(out.tensor, add(parts)) < 1e-15);
  }
  const Value wrong = rows_of({2, 6}, 6, 1);
  CHECK_THROWS_WITH(run_kernel({"sum", {{"X", {dense, wrong}}}}),
                    Contains("names row 6 of a table of 6 rows"));
}

TEST_CASE("sum refuses unequal parts and passes LoD on", "[ops]") {
  Tensor x = random_tensor(DType::f32, {2, 3}, 1);
  CHECK_THROWS_WITH(run_op({"sum", {{"X", {x, random_tensor(DType::f32, {3, 2}, 1)}}}}),
                    Contains("op sum") && Contains("X (X_0) [2, 3]") && Contains("X (X_1) [3, 2]"));
  CHECK_THROWS_WITH(run_op({"sum", {{"X", {x, random_tensor(DType::f64, {2, 3}, 1)}}}}),
                    Contains("float32") && Contains("float64"));
  x.set_lod({{0, 2}});
  CHECK(run_op({"sum", {{"X", {x, x}}}}).at("Out")[0].lod() == x.lod());
}
