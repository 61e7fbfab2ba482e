#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace hsigmoid_test {

OpCase tree_case(int64_t classes, std::vector<int64_t> labels) {
  const auto rows = static_cast<int64_t>(labels.size());
  return {"hierarchical_sigmoid",
          {{"X", {random_tensor(DType::f64, {rows, 3}, 1)}},
           {"W", {random_tensor(DType::f64, {classes - 1, 3}, 2)}},
           {"Label", {Tensor::of<int64_t>({rows, 1}, labels)}},
           {"Bias", {random_tensor(DType::f64, {classes - 1, 1}, 3)}}},
          {{"num_classes", static_cast<int32_t>(classes)}}};
}

// The probability of each class is the product over the turns on the way from the root; the way is
// found by walking the heap upwards.
double probability(const OpCase& c, size_t row, int64_t label, int64_t classes) {
  const auto x = values_of(c.in[0].second[0]), w = values_of(c.in[1].second[0]),
             bias = values_of(c.in[3].second[0]);
  double p = 1;
  for (int64_t node = label + classes; node > 1; node /= 2) {
    const auto parent = static_cast<size_t>(node / 2 - 1);
    double z = bias[parent];
    for (size_t d = 0; d < 3; ++d) z += x[row * 3 + d] * w[parent * 3 + d];
    p *= 1 / (1 + std::exp(node % 2 == 1 ? -z : z));
  }
  return p;
}

}  // namespace hsigmoid_test

using namespace hsigmoid_test;

TEST_CASE("hierarchical_sigmoid", "[ops]") {
  const int64_t classes = GENERATE(2, 3, 6, 8, 9);
  std::vector<int64_t> labels;
  for (int64_t k = 0; k < classes; ++k) labels.push_back(k);
  const OpCase c = tree_case(classes, labels);
  const auto cost = values_of(run_op(c).at("Out")[0]);
  const int64_t longest = 63 - __builtin_clzll(static_cast<uint64_t>(2 * classes - 1));
  for (size_t row = 0; row < labels.size(); ++row) {
    const int64_t turns = 63 - __builtin_clzll(static_cast<uint64_t>(labels[row] + classes));
    const double missing = static_cast<double>(longest - turns) * std::log(2.0);  // as Fluid counts
    CHECK(cost[row] == Approx(-std::log(probability(c, row, labels[row], classes)) + missing));
    double all = 0;
    for (int64_t k = 0; k < classes; ++k) all += probability(c, row, k, classes);
    CHECK(all == Approx(1));
  }
  CHECK(grad_error(c, {"X", "W", "Bias"}) < 1e-6);
}

TEST_CASE("hierarchical_sigmoid: what does not fit is refused", "[ops]") {
  CHECK_THROWS_WITH(run_op(tree_case(5, {1, 5})), Contains("the label 5 of row 1 is none of 5"));
  OpCase c = tree_case(5, {1});
  c.attrs.set("num_classes", 6);
  CHECK_THROWS_WITH(run_op(c), Contains("one row less than there are classes"));
}
