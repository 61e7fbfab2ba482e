#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"
#include "support/run_kernel.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace clip_test {
double clipped(double v) { return v < -0.25 ? -0.25 : v > 0.5 ? 0.5 : v; }
const Attrs limits{{"min", -0.25f}, {"max", 0.5f}};

std::vector<double> by_norm(std::vector<double> v, double max_norm) {
  double squares = 0;
  for (const double x : v) squares += x * x;
  if (std::sqrt(squares) > max_norm)
    for (double& x : v) x *= max_norm / std::sqrt(squares);
  return v;
}
Tensor as_tensor(const std::vector<double>& v) {
  return Tensor::of<double>({static_cast<int64_t>(v.size())}, std::span<const double>(v));
}
TEST_CASE("clip", "[ops]") {
  const Shape shape = GENERATE(Shape{1}, Shape{3, 5}, Shape{0, 2}, Shape{20001});
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const Tensor x = random_tensor(dtype, shape, 3);
  std::vector<double> expected;
  for (const double v : values_of(x)) expected.push_back(clipped(v));
  const OpCase c{"clip", {{"X", {x}}}, limits};
  CHECK(difference(run_op(c, 3).at("Out")[0], expected) == 0);
  if (shape.numel() < 100) CHECK(grad_error(c, {"X"}) < 1e-6);
}

TEST_CASE("clip refuses limits in the wrong order, and their absence", "[ops]") {
  const Tensor x = random_tensor(DType::f32, {2}, 1);
  CHECK_THROWS_WITH(run_op({"clip", {{"X", {x}}}, {{"min", 1.0f}, {"max", 0.0f}}}),
                    Contains("op clip") && Contains("min is 1 and max is 0"));
  CHECK_THROWS_WITH(run_op({"clip", {{"X", {x}}}}), Contains("'min' is missing"));
}

TEST_CASE("clip of selected rows limits the sums of repeated rows", "[ops]") {
  const Value x{random_tensor(DType::f64, {5, 3}, 2), {4, 1, 4, 4, 0}, 6};
  std::vector<double> expected;
  for (const double v : x.dense()) expected.push_back(clipped(v));
  const Value out = run_kernel({"clip", {{"X", {x}}}, limits}).at("Out");
  CHECK(difference(as_tensor(out.dense()), expected) < 1e-15);
}

TEST_CASE("clip_by_norm", "[ops]") {
  const float max_norm = GENERATE(0.5f, 100.0f);
  const Shape shape = GENERATE(Shape{1}, Shape{7, 3}, Shape{0, 3});
  const Tensor x = random_tensor(DType::f64, shape, 3);
  const OpCase c{"clip_by_norm", {{"X", {x}}}, {{"max_norm", max_norm}}};
  CHECK(difference(run_op(c).at("Out")[0], by_norm(values_of(x), max_norm)) < 1e-14);
  SECTION("of selected rows, after merging") {
    const Value rows{random_tensor(DType::f64, {4, 3}, 2), {2, 0, 2, 5}, 7};
    const Value out =
        run_kernel({"clip_by_norm", {{"X", {rows}}}, {{"max_norm", max_norm}}}).at("Out");
    CHECK(out.rows == rows.rows);
    CHECK(difference(as_tensor(out.dense()), by_norm(rows.dense(), max_norm)) < 1e-14);
  }
  SECTION("has the gradient that finite differences see, below the limit and above it") {
    for (const float limit : {0.5f, 100.0f})
      CHECK(grad_error({"clip_by_norm", {{"X", {x}}}, {{"max_norm", limit}}}, {"X"}) < 1e-6);
    const Tensor zeros = Tensor::of<double>({2}, {0, 0});
    CHECK(grad_error({"clip_by_norm", {{"X", {zeros}}}, {{"max_norm", 1.0f}}}, {"X"}) < 1e-6);
  }
  SECTION("needs a positive norm") {
    CHECK_THROWS_WITH(run_op({"clip_by_norm", {{"X", {x}}}, {{"max_norm", 0.0f}}}),
                      Contains("max_norm must be greater than 0"));
  }
}

}  // namespace clip_test
