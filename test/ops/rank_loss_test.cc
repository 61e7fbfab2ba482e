#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace rank_loss_test {

double softplus(double x) { return std::log1p(std::exp(x)); }

Tensor bits(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  Tensor t = random_tensor(dtype, shape, seed);
  with_float(dtype, [&](auto z) {
    for (auto& v : t.values<decltype(z)>()) v = static_cast<decltype(z)>(v > 0 ? high : low);
  });
  return t;
}

}  // namespace rank_loss_test

using namespace rank_loss_test;

TEST_CASE("rank_loss", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor left = random_tensor(dtype, {6, 1}, 1, -3, 3),
                 right = random_tensor(dtype, {6, 1}, 2, -3, 3),
                 label = bits(dtype, {6, 1}, 3, 0, 1);
    const OpCase c{"rank_loss", {{"Label", {label}}, {"Left", {left}}, {"Right", {right}}}};
    std::vector<double> expected;
    for (size_t i = 0; i < 6; ++i) {
      const double o = values_of(left)[i] - values_of(right)[i];
      expected.push_back(softplus(o) - values_of(label)[i] * o);
    }
    CHECK(difference(run_op(c).at("Out")[0], expected) < 1e-6);
    CHECK(grad_error(c, {"Left", "Right"}) < 1e-6);
    CHECK_THROWS_WITH(
        run_op(
            {"rank_loss",
             {{"Label", {label}}, {"Left", {left}}, {"Right", {random_tensor(dtype, {5, 1}, 2)}}}}),
        Contains("[6, 1]") && Contains("[5, 1]"));
  }
}

TEST_CASE("margin_rank_loss", "[ops]") {
  const Tensor x1 = random_tensor(DType::f64, {20, 1}, 1),
               x2 = random_tensor(DType::f64, {20, 1}, 2),
               label = bits(DType::f64, {20, 1}, 3, -1, 1);
  const OpCase c{
      "margin_rank_loss", {{"X1", {x1}}, {"X2", {x2}}, {"Label", {label}}}, {{"margin", 0.1f}}};
  std::vector<double> expected;
  for (size_t i = 0; i < 20; ++i)
    expected.push_back(
        std::max(0.0, -values_of(label)[i] * (values_of(x1)[i] - values_of(x2)[i]) + double(0.1f)));
  CHECK(difference(run_op(c).at("Out")[0], expected) < 1e-12);
  CHECK(grad_error(c, {"X1", "X2"}) < 1e-6);
}

TEST_CASE("bpr_loss", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {4, 5}, 1, -2, 2);
  const Tensor label = Tensor::of<int64_t>({4, 1}, {0, 4, 2, 2});
  const OpCase c{"bpr_loss", {{"X", {x}}, {"Label", {label}}}};
  std::vector<double> expected;
  for (size_t r = 0; r < 4; ++r) {
    const auto own = static_cast<size_t>(values_of(label)[r]);
    double sum = 0;
    for (size_t j = 0; j < 5; ++j)
      if (j != own) sum += softplus(values_of(x)[r * 5 + j] - values_of(x)[r * 5 + own]);
    expected.push_back(sum / 4);
  }
  CHECK(difference(run_op(c).at("Y")[0], expected) < 1e-12);
  CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  const Tensor wrong = Tensor::of<int64_t>({4, 1}, {0, 5, 2, 2});
  CHECK_THROWS_WITH(run_op({"bpr_loss", {{"X", {x}}, {"Label", {wrong}}}}),
                    Contains("label 5") && Contains("row 1"));
  CHECK_THROWS_WITH(
      run_op({"bpr_loss", {{"X", {random_tensor(DType::f64, {4, 1}, 1)}}, {"Label", {label}}}}),
      Contains("at least 2 classes"));
}

TEST_CASE("smooth_l1_loss", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {5, 2, 3}, 1, -2, 2),
               y = random_tensor(DType::f64, {5, 2, 3}, 2, -2, 2),
               inside = random_tensor(DType::f64, {5, 2, 3}, 3, 0.5, 1),
               outside = random_tensor(DType::f64, {5, 2, 3}, 4, 0.5, 1);
  for (const bool weighted : {false, true}) {
    OpCase c{"smooth_l1_loss", {{"X", {x}}, {"Y", {y}}}, {{"sigma", 1.5f}}};
    if (weighted) {
      c.in.push_back({"InsideWeight", {inside}});
      c.in.push_back({"OutsideWeight", {outside}});
    }
    std::vector<double> expected(5, 0);
    for (size_t i = 0; i < 30; ++i) {
      const double d = (values_of(x)[i] - values_of(y)[i]) * (weighted ? values_of(inside)[i] : 1);
      const double s = 2.25, a = std::abs(d);
      expected[i / 6] +=
          (a < 1 / s ? s * d * d / 2 : a - 0.5 / s) * (weighted ? values_of(outside)[i] : 1);
    }
    const Results got = run_op(c);
    CHECK(got.at("Out")[0].shape() == Shape{5, 1});
    CHECK(difference(got.at("Out")[0], expected) < 1e-12);
    CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
  }
}

TEST_CASE("teacher_student_sigmoid_loss", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {8, 1}, 1, -3, 3);
  const Tensor label = Tensor::of<double>({8, 1}, {-2, -1, 0, 0.3, 0.99, 1, 1.4, 2});
  const OpCase c{"teacher_student_sigmoid_loss", {{"X", {x}}, {"Label", {label}}}};
  std::vector<double> expected;
  for (size_t i = 0; i < 8; ++i) {
    const double v = values_of(x)[i], l = values_of(label)[i];
    const double click = l < -1 ? 0 : l < 0 ? 1 : l < 1 ? 0 : 1;
    double loss = softplus(v) - click * v;
    if (l >= 0) loss += softplus(v) - (l - click) * v;
    expected.push_back(loss);
  }
  CHECK(difference(run_op(c).at("Y")[0], expected) < 1e-12);
  CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  const OpCase far{
      "teacher_student_sigmoid_loss",
      {{"X", {Tensor::of<double>({1, 1}, {20})}}, {"Label", {Tensor::of<double>({1, 1}, {0})}}}};
  CHECK(values_of(run_grad(far, {"X"}, {"Y"}).at("X")[0])[0] == 0);  // beyond the bound
}
