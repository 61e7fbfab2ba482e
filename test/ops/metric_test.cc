#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

constexpr int32_t thresholds = 99;

Tensor zeros(const Shape& shape) {
  Tensor t(DType::i64, shape);
  t.zero();
  return t;
}

struct Batch {
  Tensor predict, label;
};
Batch batch_of(int64_t rows, uint64_t seed) {
  Batch b{Tensor(DType::f32, {rows, 2}), random_tensor(DType::i64, {rows, 1}, seed + 1, 0, 2)};
  const std::vector<double> p = values_of(random_tensor(DType::f32, {rows}, seed, 0, 1));
  for (int64_t i = 0; i < rows; ++i) {
    b.predict.data<float>()[2 * i] = 1 - static_cast<float>(p[static_cast<size_t>(i)]);
    b.predict.data<float>()[2 * i + 1] = static_cast<float>(p[static_cast<size_t>(i)]);
  }
  return b;
}

// The share of pairs of a positive and a negative row in which the positive one has the higher bin;
// equal bins count half.
double pair_auc(const std::vector<Batch>& batches) {
  std::vector<int> positive, negative;
  for (const Batch& b : batches)
    for (int64_t i = 0; i < b.label.numel(); ++i)
      (b.label.data<int64_t>()[i] ? positive : negative)
          .push_back(static_cast<int>(b.predict.data<float>()[2 * i + 1] * thresholds));
  double won = 0;
  for (const int p : positive)
    for (const int n : negative) won += p > n ? 1 : p == n ? 0.5 : 0;
  return won / static_cast<double>(positive.size() * negative.size());
}

OpCase auc_case(const Batch& b, const Tensor& pos, const Tensor& neg, int32_t steps) {
  return {"auc",
          {{"Predict", {b.predict}}, {"Label", {b.label}}, {"StatPos", {pos}}, {"StatNeg", {neg}}},
          {{"num_thresholds", thresholds}, {"slide_steps", steps}}};
}

}  // namespace

TEST_CASE("accuracy", "[ops]") {
  const auto run = [](const Tensor& indices, const Tensor& label) {
    return run_op({"accuracy",
                   {{"Out", {random_tensor(DType::f32, indices.shape(), 1)}},
                    {"Indices", {indices}},
                    {"Label", {label}}}});
  };
  SECTION("a row is right if any of its k guesses is") {
    const Results r = run(Tensor::of<int64_t>({3, 2}, {1, 2, 0, 3, 5, 4}),
                          Tensor::of<int64_t>({3, 1}, {2, 1, 5}));
    CHECK(values_of(r.at("Accuracy")[0])[0] == Approx(2.0 / 3));
    CHECK(values_of(r.at("Correct")[0])[0] == 2);
    CHECK(values_of(r.at("Total")[0])[0] == 3);
    CHECK(r.at("Accuracy")[0].dtype() == DType::f32);
  }
  SECTION("of no rows") {
    const Results r = run(Tensor(DType::i64, {0, 1}), Tensor(DType::i64, {0, 1}));
    CHECK(values_of(r.at("Accuracy")[0])[0] == 0);
    CHECK(values_of(r.at("Total")[0])[0] == 0);
  }
  SECTION("what is refused") {
    CHECK_THROWS_WITH(run(zeros({3, 1}), zeros({4, 1})),
                      Contains("accuracy") && Contains("[4, 1]") && Contains("[3, 1]"));
    CHECK_THROWS_WITH(run(zeros({3, 1}), random_tensor(DType::f32, {3, 1}, 1)),
                      Contains("Label") && Contains("int64"));
  }
}

TEST_CASE("auc over everything so far", "[ops]") {
  const std::vector<Batch> batches = {batch_of(37, 1), batch_of(1, 5), batch_of(64, 9)};
  const Shape shape = GENERATE(Shape{1, thresholds + 1}, Shape{thresholds + 1});
  Tensor pos = zeros(shape), neg = zeros(shape);
  std::vector<Batch> seen;
  for (const Batch& b : batches) {
    seen.push_back(b);
    const Results r = run_op(auc_case(b, pos, neg, 0));
    CHECK(r.at("AUC")[0].dtype() == DType::f64);
    CHECK(r.at("StatPosOut")[0].shape() == shape);
    CHECK(values_of(r.at("AUC")[0])[0] == Approx(pair_auc(seen)));
    pos = r.at("StatPosOut")[0];
    neg = r.at("StatNegOut")[0];
  }
}

TEST_CASE("auc over the last batches", "[ops]") {
  const int steps = GENERATE(1, 2, 3);
  const bool ring = GENERATE(false, true);  // as PaddlePaddle 1.5 and 1.8 keep the counts
  const Shape shape =
      ring ? Shape{(steps + 1) * (thresholds + 1) + 1} : Shape{steps, thresholds + 1};
  Tensor pos = zeros(shape), neg = zeros(shape);
  std::vector<Batch> window;
  for (uint64_t k = 0; k < 5; ++k) {
    window.push_back(batch_of(30, 10 + 2 * k));
    if (window.size() > static_cast<size_t>(steps)) window.erase(window.begin());
    const Results r = run_op(auc_case(window.back(), pos, neg, steps));
    CHECK(values_of(r.at("AUC")[0])[0] == Approx(pair_auc(window)));
    pos = r.at("StatPosOut")[0];
    neg = r.at("StatNegOut")[0];
    if (!ring) continue;
    CHECK(values_of(pos).back() == static_cast<double>(k + 1));  // batches so far
    const auto in_window = [&](const Tensor& t) {
      double all = 0;
      for (int b = 0; b <= thresholds; ++b)
        all += values_of(t)[static_cast<size_t>(steps * (thresholds + 1) + b)];
      return all;
    };
    CHECK(in_window(pos) + in_window(neg) == 30.0 * static_cast<double>(window.size()));
  }
}

TEST_CASE("auc at the edges", "[ops]") {
  const Tensor stat = zeros({1, thresholds + 1});
  const auto one = [&](std::vector<float> p, std::vector<int64_t> label) {
    const auto n = static_cast<int64_t>(p.size());
    return OpCase{"auc",
                  {{"Predict", {Tensor::of<float>({n, 1}, std::span<const float>(p))}},
                   {"Label", {Tensor::of<int64_t>({n, 1}, std::span<const int64_t>(label))}},
                   {"StatPos", {stat}},
                   {"StatNeg", {stat}}},
                  {{"num_thresholds", thresholds}, {"slide_steps", 0}}};
  };
  const auto area = [](const OpCase& c) { return values_of(run_op(c).at("AUC")[0])[0]; };
  CHECK(area(one({0.0f, 1.0f}, {0, 1})) == 1);
  CHECK(area(one({0.0f, 1.0f}, {1, 0})) == 0);
  CHECK(area(one({0.5f, 0.7f}, {1, 1})) == 0);
  CHECK(area(one({}, {})) == 0);
  CHECK_THROWS_WITH(area(one({0.5f, 1.5f}, {0, 1})), Contains("row 1") && Contains("1.5"));
  // A model that has diverged is no mistake in the network.
  for (const float bad : {NAN, INFINITY})
    CHECK_THROWS_WITH(area(one({bad}, {0})), Contains("row 0") && Contains("diverged") &&
                                                 Contains("learning rate") && !Contains("softmax"));
  OpCase pr = one({0.9f, 0.8f, 0.7f}, {1, 0, 1});
  pr.attrs.set("curve", std::string("PR"));
  // Precision 1, 1/2, 2/3 at recall 1/2, 1/2, 1.
  CHECK(area(pr) == Approx(0.5 * 1 + 0.5 * (1.0 / 2 + 2.0 / 3) / 2));
  pr.attrs.set("curve", std::string("RPC"));
  CHECK_THROWS_WITH(area(pr), Contains("RPC"));
  OpCase small = one({0.5f}, {0});
  small.attrs.set("slide_steps", 2);
  CHECK_THROWS_WITH(area(small), Contains("auc") && Contains("[1, 100]") && Contains("200"));
}
