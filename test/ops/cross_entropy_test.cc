#include <catch2/catch.hpp>
#include <cmath>

#include "label_support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("cross entropy of hard labels", "[ops]") {
  const std::string type = GENERATE("cross_entropy", "cross_entropy2");
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 3}, Shape{7, 40}, Shape{2, 3, 4}, Shape{3}}) {
    CAPTURE(type, shape.str());
    const int64_t n = shape[shape.rank() - 1];
    const Tensor label = labels(one_class(shape, -1), n, 4);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = probabilities(dtype, shape, 3);
      const Tensor y = run_op({type, {{"X", {x}}, {"Label", {label}}}}).at("Y")[0];
      CHECK(y.shape() == one_class(shape, -1));
      CHECK(difference(y, label_loss(values_of(x), shape, -1, label, false)) < 1e-6);
    }
    const Tensor x = probabilities(DType::f64, shape, 3);
    CHECK(grad_error({type, {{"X", {x}}, {"Label", {label}}}}, {"X"}, {"Y"}) < 1e-6);
  }
  SECTION("ignored labels cost nothing and push nothing") {
    const Tensor x = probabilities(DType::f64, {3, 4}, 1);
    const Tensor label = Tensor::of<int64_t>({3, 1}, {1, 7, 3});
    const OpCase c{type, {{"X", {x}}, {"Label", {label}}}, {{"ignore_index", 7}}};
    const std::vector<double> y = values_of(run_op(c).at("Y")[0]);
    CHECK(y[1] == 0);
    CHECK(y[0] > 0);
    CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  }
  SECTION("a probability of zero gives a large finite loss and gradient") {
    const Tensor x = Tensor::of<float>({1, 2}, {0.0f, 1.0f});
    const OpCase c{type, {{"X", {x}}, {"Label", {Tensor::of<int64_t>({1, 1}, {0})}}}};
    CHECK(values_of(run_op(c).at("Y")[0])[0] == Approx(1e20));
    for (const double g : values_of(run_grad(c, {"X"}, {"Y"}).at("X")[0])) CHECK(std::isfinite(g));
  }
  SECTION("labels may come without their last dimension") {
    const Tensor x = probabilities(DType::f32, {3, 4}, 1);
    const Tensor label = labels({3}, 4, 2);
    CHECK(difference(run_op({type, {{"X", {x}}, {"Label", {label}}}}).at("Y")[0],
                     label_loss(values_of(x), {3, 4}, -1, label, false)) < 1e-6);
  }
  SECTION("an empty batch has no loss") {
    const OpCase c{type,
                   {{"X", {Tensor(DType::f64, {0, 4})}}, {"Label", {Tensor(DType::i64, {0, 1})}}}};
    CHECK(run_op(c).at("Y")[0].shape() == Shape{0, 1});
    CHECK(run_grad(c, {"X"}, {"Y"}).at("X")[0].shape() == Shape{0, 4});
  }
  SECTION("threads do not change it, and the LoD is passed on") {
    Tensor x = probabilities(DType::f32, {40000, 3}, 1);
    x.set_lod({{0, 100, 40000}});
    const OpCase c{type, {{"X", {x}}, {"Label", {labels({40000, 1}, 3, 2)}}}};
    const Tensor one = run_op(c, 1).at("Y")[0];
    CHECK(values_of(one) == values_of(run_op(c, 3).at("Y")[0]));
    CHECK(one.lod() == x.lod());
  }
  SECTION("what is refused") {
    const Tensor x = probabilities(DType::f32, {2, 3}, 1);
    const auto run = [&](const Tensor& label) { run_op({type, {{"X", {x}}, {"Label", {label}}}}); };
    CHECK_THROWS_WITH(run(Tensor::of<int64_t>({2, 1}, {0, 3})),
                      Contains("op " + type) && Contains("label 3 of row 1") &&
                          Contains("3 classes") && Contains("ignore_index"));
    CHECK_THROWS_WITH(run(Tensor::of<int64_t>({2, 1}, {-1, 0})), Contains("label -1 of row 0"));
    CHECK_THROWS_WITH(run(Tensor::of<int64_t>({3, 1}, {0, 1, 2})),
                      Contains("Label") && Contains("[3, 1]") && Contains("[2, 3]"));
    CHECK_THROWS_WITH(run(Tensor::of<float>({2, 1}, {0, 1})),
                      Contains("Label") && Contains("int64"));
  }
}

TEST_CASE("cross entropy of soft labels", "[ops]") {
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 3}, Shape{2, 3, 4}}) {
    const Tensor x = probabilities(DType::f64, shape, 3),
                 label = probabilities(DType::f64, shape, 4);
    const OpCase c{"cross_entropy", {{"X", {x}}, {"Label", {label}}}, {{"soft_label", true}}};
    CHECK(difference(run_op(c).at("Y")[0], label_loss(values_of(x), shape, -1, label, true)) <
          1e-12);
    CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  }
  CHECK_THROWS_WITH(run_op({"cross_entropy",
                            {{"X", {probabilities(DType::f32, {2, 3}, 1)}},
                             {"Label", {probabilities(DType::f32, {2, 2}, 1)}}},
                            {{"soft_label", true}}}),
                    Contains("cross_entropy") && Contains("[2, 3]") && Contains("[2, 2]"));
}
