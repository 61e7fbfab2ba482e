#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace sample_logits_test {

OpCase sample_case(int32_t drawn, bool remove = true) {
  return {"sample_logits",
          {{"Logits", {random_tensor(DType::f64, {3, 9}, 1)}},
           {"Labels", {Tensor::of<int64_t>({3, 2}, {0, 3, 8, 2, 2, 5})}}},
          {{"num_samples", drawn}, {"seed", 5}, {"remove_accidental_hits", remove}}};
}

}  // namespace sample_logits_test

using namespace sample_logits_test;

TEST_CASE("sample_logits: own classes, then distinct ones for the whole batch", "[ops]") {
  const bool remove = GENERATE(true, false);
  const OpCase c = sample_case(6, remove);
  const Results r = run_op(c);
  const auto samples = values_of(r.at("Samples")[0]), p = values_of(r.at("Probabilities")[0]),
             out = values_of(r.at("SampledLogits")[0]), label = values_of(c.in[1].second[0]),
             logits = values_of(c.in[0].second[0]);
  const std::set<double> drawn(samples.begin() + 2, samples.begin() + 8);
  CHECK(drawn.size() == 6);
  for (size_t row = 0; row < 3; ++row)
    for (size_t j = 0; j < 8; ++j) {
      const double k = samples[row * 8 + j];
      CHECK(k == (j < 2 ? label[row * 2 + j] : samples[j]));
      const bool hit = j >= 2 && (k == label[row * 2] || k == label[row * 2 + 1]);
      const double score = logits[row * 9 + static_cast<size_t>(k)] - std::log(p[row * 8 + j]);
      if (hit && remove)
        CHECK(out[row * 8 + j] < -1e19);
      else
        CHECK(out[row * 8 + j] == Approx(score));
      CHECK((p[row * 8 + j] > 0 && p[row * 8 + j] <= 1));
    }
  CHECK(values_of(r.at("SampledLabels")[0]) == std::vector<double>{0, 1, 0, 1, 0, 1});
  CHECK(values_of(run_op(c, 2).at("Samples")[0]) == samples);
  CHECK(grad_error(sample_case(6, false), {"Logits"}, {"SampledLogits"}) < 1e-6);
}

TEST_CASE("sample_logits: the probability is that of being drawn at all", "[ops]") {
  // With all classes drawn, counted over seeds: how often each is among two drawn ones.
  std::vector<double> seen(9, 0), expected(9, 0);
  constexpr int32_t seeds = 3000;
  OpCase c = sample_case(2);
  c.in[0].second[0] = random_tensor(DType::f64, {1, 9}, 1);
  c.in[1].second[0] = Tensor::of<int64_t>({1, 1}, {0});
  for (int32_t seed = 1; seed <= seeds; ++seed) {
    c.attrs.set("seed", seed);
    const Results r = run_op(c);
    for (size_t j = 1; j < 3; ++j) ++seen[static_cast<size_t>(values_of(r.at("Samples")[0])[j])];
  }
  // Two draws without repeating: p_k + sum over the first of p_i * p_k / (1 - p_i).
  double all = 0;
  std::vector<double> p(9);
  for (size_t k = 0; k < 9; ++k) all += p[k] = std::log((k + 2.0) / (k + 1.0));
  for (double& value : p) value /= all;
  for (size_t k = 0; k < 9; ++k) {
    expected[k] = p[k];
    for (size_t i = 0; i < 9; ++i)
      if (i != k) expected[k] += p[i] * p[k] / (1 - p[i]);
    CHECK(seen[k] / seeds == Approx(expected[k]).margin(0.03));
  }
}

TEST_CASE("sample_logits: what does not fit is refused", "[ops]") {
  CHECK_THROWS_WITH(run_op(sample_case(10)), Contains("num_samples must be from 1 to"));
  OpCase c = sample_case(2);
  c.in[1].second[0] = Tensor::of<int64_t>({3, 2}, {0, 3, 9, 2, 2, 5});
  CHECK_THROWS_WITH(run_op(c), Contains("the class 9 at place 2 is none of 9 classes"));
  c = sample_case(2);
  c.attrs.set("use_customized_samples", true);
  CHECK_THROWS_WITH(run_op(c), Contains("not supported"));
}
