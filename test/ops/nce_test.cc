#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace nce_test {

constexpr int64_t rows = 3, width = 4, classes = 7, own = 2, drawn = 3;

OpCase nce_case(int sampler = 0) {
  return {"nce",
          {{"Input", {random_tensor(DType::f64, {rows, width}, 1)}},
           {"Label", {Tensor::of<int64_t>({rows, own}, {0, 3, 6, 2, 2, 5})}},
           {"Weight", {random_tensor(DType::f64, {classes, width}, 2)}},
           {"Bias", {random_tensor(DType::f64, {classes, 1}, 3)}},
           {"SampleWeight", {Tensor::of<double>({rows, 1}, {1, 0.5, 2})}}},
          {{"num_total_classes", static_cast<int32_t>(classes)},
           {"num_neg_samples", static_cast<int32_t>(drawn)},
           {"sampler", sampler},
           {"custom_neg_classes", Ints{1, 6, 4}}}};
}

// Straight from the definition, row by row.
std::vector<double> reference(const OpCase& c, int sampler) {
  const auto x = values_of(c.in[0].second[0]), label = values_of(c.in[1].second[0]),
             w = values_of(c.in[2].second[0]), bias = values_of(c.in[3].second[0]),
             weight = values_of(c.in[4].second[0]);
  std::vector<double> out;
  for (int64_t i = 0; i < rows; ++i) {
    double cost = 0;
    for (int64_t j = 0; j < own + drawn; ++j) {
      const auto k =
          static_cast<size_t>(j < own ? label[static_cast<size_t>(i * own + j)]
                                      : std::vector<double>{1, 6, 4}[static_cast<size_t>(j - own)]);
      double z = bias[k];
      for (int64_t d = 0; d < width; ++d)
        z += x[static_cast<size_t>(i * width + d)] * w[k * width + static_cast<size_t>(d)];
      const double o = 1 / (1 + std::exp(-z));
      const double p = sampler == 0
                           ? 1.0 / classes
                           : std::log((static_cast<double>(k) + 2) / (static_cast<double>(k) + 1)) /
                                 std::log(classes + 1.0);
      cost -= std::log(j < own ? o / (o + p * drawn) : p * drawn / (o + p * drawn));
    }
    out.push_back(cost * weight[static_cast<size_t>(i)]);
  }
  return out;
}

}  // namespace nce_test

using namespace nce_test;

TEST_CASE("nce", "[ops]") {
  const int sampler = GENERATE(0, 1);
  const OpCase c = nce_case(sampler);
  CHECK(difference(run_op(c).at("Cost")[0], reference(c, sampler)) < 1e-12);
  CHECK(grad_error(c, {"Input", "Weight", "Bias"}, {"Cost"}) < 1e-6);
  OpCase sparse = c;
  sparse.attrs.set("is_sparse", true);
  CHECK(grad_error(sparse, {"Input", "Weight", "Bias"}, {"Cost"}) < 1e-6);
}

TEST_CASE("nce: classes are drawn by the sampler, the same ones for a seed", "[ops]") {
  constexpr int64_t many = 2000;
  const int sampler = GENERATE(0, 1);
  OpCase c{"nce",
           {{"Input", {random_tensor(DType::f64, {many, 2}, 1)}},
            {"Label", {Tensor::of<int64_t>({many, 1}, std::vector<int64_t>(many, 0))}},
            {"Weight", {random_tensor(DType::f64, {5, 2}, 2)}}},
           {{"num_total_classes", 5}, {"num_neg_samples", 8}, {"sampler", sampler}, {"seed", 11}}};
  const auto first = values_of(run_op(c).at("SampleLabels")[0]);
  CHECK(values_of(run_op(c, 2).at("SampleLabels")[0]) == first);
  std::vector<double> count(5, 0);
  for (size_t i = 0; i < first.size(); ++i)
    if (i % 9 != 0) ++count[static_cast<size_t>(first[i])];
  for (size_t k = 0; k < 5; ++k) {
    const double p = sampler == 0 ? 0.2 : std::log((k + 2.0) / (k + 1.0)) / std::log(6.0);
    CHECK(count[k] / (many * 8) == Approx(p).margin(0.015));
  }
  c.attrs.set("seed", 12);
  CHECK(values_of(run_op(c).at("SampleLabels")[0]) != first);
}

TEST_CASE("nce: what does not fit is refused", "[ops]") {
  OpCase c = nce_case();
  c.in[1].second[0] = Tensor::of<int64_t>({rows, own}, {0, 3, 7, 2, 2, 5});
  CHECK_THROWS_WITH(run_op(c), Contains("the class 7 at place 2 is none of 7 classes"));
  c = nce_case();
  c.attrs.set("custom_neg_classes", Ints{1, 2});
  CHECK_THROWS_WITH(run_op(c), Contains("must have num_neg_samples entries"));
  c = nce_case();
  c.attrs.set("sampler", 2);
  CHECK_THROWS_WITH(run_op(c), Contains("0 (uniform) or 1 (log_uniform)"));
  c = nce_case();
  c.in[2].second[0] = random_tensor(DType::f64, {classes - 1, width}, 2);
  CHECK_THROWS_WITH(run_op(c), Contains("must be [7 classes, width]"));
}
