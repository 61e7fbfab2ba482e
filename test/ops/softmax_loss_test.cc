#include <catch2/catch.hpp>
#include <cmath>

#include "label_support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

std::vector<double> softmax(const Tensor& x, int axis) {
  const Shape& s = x.shape();
  if (axis < 0) axis += s.rank();
  const int64_t n = s[axis], inner = s.product(axis + 1, s.rank());
  const std::vector<double> v = values_of(x);
  std::vector<double> out(v.size());
  for (size_t i = 0; i < v.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i), base = at / (n * inner) * n * inner + at % inner;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += std::exp(v[static_cast<size_t>(base + k * inner)]);
    out[i] = std::exp(v[i]) / sum;
  }
  return out;
}

}  // namespace

TEST_CASE("softmax with cross entropy", "[ops]") {
  struct Where {
    Shape shape;
    int axis;
  };
  const bool soft = GENERATE(false, true);
  for (const Where& w : {Where{{1, 1}, -1}, Where{{5, 3}, -1}, Where{{3, 40}, 1},
                         Where{{2, 3, 4}, -1}, Where{{2, 3, 4}, 1}, Where{{4, 3}, 0}}) {
    CAPTURE(soft, w.shape.str(), w.axis);
    const int axis = w.axis < 0 ? w.axis + w.shape.rank() : w.axis;
    const Tensor label = soft ? probabilities(DType::f64, w.shape, 9)
                              : labels(one_class(w.shape, axis), w.shape[axis], 9);
    const Tensor x = random_tensor(DType::f64, w.shape, 3, -3, 3);
    const Attrs attrs = {{"soft_label", soft}, {"axis", w.axis}};
    const OpCase c{"softmax_with_cross_entropy", {{"Logits", {x}}, {"Label", {label}}}, attrs};
    const Results r = run_op(c);
    const std::vector<double> p = softmax(x, axis);
    CHECK(difference(r.at("Softmax")[0], p) < 1e-12);
    CHECK(difference(r.at("Loss")[0], label_loss(p, w.shape, axis, label, soft)) < 1e-12);
    CHECK(r.at("Loss")[0].shape() == one_class(w.shape, axis));
    CHECK(grad_error(c, {"Logits"}, {"Loss"}) < 1e-6);
    // The softmax is left out where nobody asks for it.
    OpCase alone = c;
    alone.out = {{"Loss", 1}};
    CHECK(values_of(run_op(alone).at("Loss")[0]) == values_of(r.at("Loss")[0]));
  }
}

TEST_CASE("softmax with cross entropy at the edges", "[ops]") {
  const auto with = [](const Tensor& x, const Tensor& label) {
    return OpCase{"softmax_with_cross_entropy", {{"Logits", {x}}, {"Label", {label}}}};
  };
  SECTION("a hopeless logit has an exact loss, not a clipped one") {
    const OpCase c =
        with(Tensor::of<float>({1, 2}, {0.0f, 1000.0f}), Tensor::of<int64_t>({1, 1}, {0}));
    CHECK(values_of(run_op(c).at("Loss")[0])[0] == Approx(1000));
  }
  SECTION("ignored rows") {
    const OpCase c =
        with(random_tensor(DType::f64, {2, 3}, 1), Tensor::of<int64_t>({2, 1}, {-100, 2}));
    CHECK(values_of(run_op(c).at("Loss")[0])[0] == 0);
    CHECK(grad_error(c, {"Logits"}, {"Loss"}) < 1e-6);
  }
  SECTION("threads do not change it") {
    const OpCase c = with(random_tensor(DType::f32, {5000, 10}, 1), labels({5000, 1}, 10, 2));
    CHECK(values_of(run_op(c, 1).at("Loss")[0]) == values_of(run_op(c, 3).at("Loss")[0]));
  }
  SECTION("an empty batch") {
    const OpCase c = with(Tensor(DType::f64, {0, 3}), Tensor(DType::i64, {0, 1}));
    CHECK(run_op(c).at("Loss")[0].shape() == Shape{0, 1});
    CHECK(run_grad(c, {"Logits"}, {"Loss"}).at("Logits")[0].shape() == Shape{0, 3});
  }
  SECTION("labels outside of the classes") {
    CHECK_THROWS_WITH(
        run_op(with(random_tensor(DType::f32, {2, 3}, 1), Tensor::of<int64_t>({2, 1}, {0, 5}))),
        Contains("softmax_with_cross_entropy") && Contains("label 5 of row 1") &&
            Contains("3 classes"));
  }
  SECTION("labels of another shape") {
    CHECK_THROWS_WITH(run_op(with(random_tensor(DType::f32, {2, 3}, 1), labels({2, 3}, 3, 1))),
                      Contains("[2, 3]") && Contains("[2, 1]"));
  }
}
