#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace similarity_test {

// x / sqrt(sum of x^2 over the axis + epsilon), element by element.
std::vector<double> normalized(const Tensor& x, int axis, double epsilon) {
  const std::vector<double> v = values_of(x);
  const Shape& s = x.shape();
  const int64_t inner = s.product(axis + 1, s.rank()), n = s[axis];
  std::vector<double> out;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t first = i / (n * inner) * n * inner + i % inner;
    double sum = epsilon;
    for (int64_t k = 0; k < n; ++k)
      sum += v[static_cast<size_t>(first + k * inner)] * v[static_cast<size_t>(first + k * inner)];
    out.push_back(v[static_cast<size_t>(i)] / std::sqrt(sum));
  }
  return out;
}

double length(const std::vector<double>& v, size_t row, size_t width) {
  double sum = 0;
  for (size_t k = 0; k < width; ++k) sum += v[row * width + k] * v[row * width + k];
  return std::sqrt(sum);
}

}  // namespace similarity_test

using namespace similarity_test;

TEST_CASE("norm", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int axis : {0, 1, 2, -1}) {
      const Tensor x = random_tensor(dtype, {3, 4, 5}, 3);
      const OpCase c{"norm", {{"X", {x}}}, {{"axis", axis}, {"epsilon", 0.01f}}};
      const int at = axis < 0 ? 2 : axis;
      CHECK(difference(run_op(c).at("Out")[0], normalized(x, at, 0.01f)) < 1e-6);
      Shape lengths = x.shape();
      lengths[at] = 1;
      CHECK(run_op(c).at("Norm")[0].shape() == lengths);
      CHECK(grad_error(c, {"X"}) < 1e-6);
    }
  }
  const OpCase big{"norm", {{"X", {random_tensor(DType::f32, {700, 60}, 3)}}}, {{"axis", 1}}};
  CHECK(values_of(run_op(big, 1).at("Out")[0]) == values_of(run_op(big, 3).at("Out")[0]));
  CHECK_THROWS_WITH(
      run_op({"norm", {{"X", {random_tensor(DType::f32, {3, 4}, 1)}}}, {{"axis", 2}}}),
      Contains("op norm") && Contains("axis 2"));
}

TEST_CASE("cos_sim", "[ops]") {
  for (const int64_t rows_of_y : {5, 1}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = random_tensor(dtype, {5, 3}, 3), y = random_tensor(dtype, {rows_of_y, 3}, 4);
      const OpCase c{"cos_sim", {{"X", {x}}, {"Y", {y}}}};
      const std::vector<double> a = values_of(x), b = values_of(y);
      std::vector<double> expected;
      for (size_t r = 0; r < 5; ++r) {
        const size_t other = rows_of_y == 1 ? 0 : r;
        double dot = 0;
        for (size_t k = 0; k < 3; ++k) dot += a[r * 3 + k] * b[other * 3 + k];
        expected.push_back(dot / length(a, r, 3) / length(b, other, 3));
      }
      const Results got = run_op(c);
      CHECK(got.at("Out")[0].shape() == Shape{5, 1});
      CHECK(difference(got.at("Out")[0], expected) < 1e-6);
      CHECK(got.at("YNorm")[0].shape() == Shape{rows_of_y, 1});
      CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
    }
  }
  const Tensor x = random_tensor(DType::f32, {5, 3}, 3);
  CHECK_THROWS_WITH(
      run_op({"cos_sim", {{"X", {x}}, {"Y", {random_tensor(DType::f32, {5, 4}, 3)}}}}),
      Contains("[5, 3]") && Contains("[5, 4]"));
  CHECK_THROWS_WITH(
      run_op({"cos_sim", {{"X", {x}}, {"Y", {random_tensor(DType::f32, {4, 3}, 3)}}}}),
      Contains("one row"));
}
