#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

struct Loss {
  std::string type, x, label, out;
  Attrs attrs;
  double (*reference)(double x, double label);
  double low, high;
};

const Loss losses[] = {
    {"sigmoid_cross_entropy_with_logits",
     "X",
     "Label",
     "Out",
     {},
     [](double x, double l) {
       const double p = 1 / (1 + std::exp(-x));
       return -l * std::log(p) - (1 - l) * std::log(1 - p);
     },
     -4,
     4},
    {"log_loss",
     "Predicted",
     "Labels",
     "Loss",
     {{"epsilon", 0.01f}},
     [](double p, double l) {
       const double e = 0.01f;
       return -l * std::log(p + e) - (1 - l) * std::log(1 - p + e);
     },
     0.05,
     0.95},
    {"hinge_loss",
     "Logits",
     "Labels",
     "Loss",
     {},
     [](double x, double l) { return std::max(0.0, 1 - (2 * l - 1) * x); },
     -3,
     3},
    {"huber_loss",
     "X",
     "Y",
     "Out",
     {{"delta", 0.5f}},
     [](double x, double y) {
       const double d = std::abs(y - x);
       return d <= 0.5 ? d * d / 2 : 0.5 * (d - 0.25);
     },
     -2,
     2},
};

OpCase case_of(const Loss& l, DType dtype, const Shape& shape) {
  // Labels of 0 and 1.
  Tensor label = random_tensor(dtype, shape, 8);
  with_float(dtype, [&](auto z) {
    for (auto& v : label.values<decltype(z)>()) v = v > 0;
  });
  return {l.type,
          {{l.x, {random_tensor(dtype, shape, 3, l.low, l.high)}}, {l.label, {label}}},
          l.attrs};
}

}  // namespace

TEST_CASE("losses", "[ops]") {
  for (const Loss& l : losses) {
    DYNAMIC_SECTION(l.type) {
      for (const Shape& shape : {Shape{1, 1}, Shape{7, 1}, Shape{3, 5}, Shape{0, 1}}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
          const OpCase c = case_of(l, dtype, shape);
          const std::vector<double> x = values_of(c.in[0].second[0]),
                                    y = values_of(c.in[1].second[0]);
          std::vector<double> expected;
          for (size_t i = 0; i < x.size(); ++i) expected.push_back(l.reference(x[i], y[i]));
          const Tensor got = run_op(c).at(l.out)[0];
          CHECK(got.shape() == shape);
          CHECK(difference(got, expected) < (dtype == DType::f32 ? 1e-6 : 1e-12));
        }
        CHECK(grad_error(case_of(l, DType::f64, shape), {l.x}, {l.out}) < 1e-6);
      }
      Tensor x = random_tensor(DType::f32, {3, 1}, 1, 0.2, 0.8);
      x.set_lod({{0, 1, 3}});
      const Tensor label = random_tensor(DType::f32, {3, 1}, 2, 0, 1);
      CHECK(run_op({l.type, {{l.x, {x}}, {l.label, {label}}}, l.attrs}).at(l.out)[0].lod() ==
            x.lod());
      const OpCase big = case_of(l, DType::f32, {40001, 1});
      CHECK(values_of(run_op(big, 1).at(l.out)[0]) == values_of(run_op(big, 3).at(l.out)[0]));
      const Tensor other = random_tensor(DType::f32, {4, 1}, 2);
      CHECK_THROWS_WITH(run_op({l.type, {{l.x, {x}}, {l.label, {other}}}, l.attrs}),
                        Contains("op " + l.type) && Contains("[3, 1]") && Contains("[4, 1]"));
      const Tensor whole = random_tensor(DType::i64, {3, 1}, 2);
      CHECK_THROWS_WITH(run_op({l.type, {{l.x, {x}}, {l.label, {whole}}}, l.attrs}),
                        Contains("float32") && Contains("int64"));
    }
  }
}

TEST_CASE("sigmoid cross entropy", "[ops]") {
  const std::string type = "sigmoid_cross_entropy_with_logits";
  SECTION("ignored labels, and the mean over the others") {
    const Tensor x = random_tensor(DType::f64, {4, 1}, 3);
    const Tensor label = Tensor::of<double>({4, 1}, {1, -1, 0, -1});
    OpCase c{type, {{"X", {x}}, {"Label", {label}}}, {{"ignore_index", -1}}};
    const std::vector<double> plain = values_of(run_op(c).at("Out")[0]);
    CHECK(plain[1] == 0);
    c.attrs.set("normalize", true);
    CHECK(difference(run_op(c).at("Out")[0], {plain[0] / 2, 0, plain[2] / 2, 0}) < 1e-12);
    CHECK(grad_error(c, {"X"}) < 1e-6);
  }
  SECTION("large logits do not overflow") {
    const Tensor x = Tensor::of<float>({2}, {-500.0f, 500.0f});
    const Tensor label = Tensor::of<float>({2}, {1.0f, 0.0f});
    CHECK(difference(run_op({type, {{"X", {x}}, {"Label", {label}}}}).at("Out")[0], {500, 500}) <
          1e-6);
  }
}

TEST_CASE("huber loss", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {5, 1}, 3, -2, 2),
               y = random_tensor(DType::f64, {5, 1}, 4);
  const OpCase c{"huber_loss", {{"X", {x}}, {"Y", {y}}}, {{"delta", 1.0f}}};
  CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
  std::vector<double> residual;
  for (size_t i = 0; i < 5; ++i) residual.push_back(values_of(y)[i] - values_of(x)[i]);
  CHECK(difference(run_op(c).at("Residual")[0], residual) == 0);
  CHECK_THROWS_WITH(run_op({"huber_loss", {{"X", {x}}, {"Y", {y}}}, {{"delta", 0.0f}}}),
                    Contains("delta"));
  CHECK_THROWS_WITH(run_op({"huber_loss", {{"X", {x}}, {"Y", {y}}}}), Contains("delta"));
}
