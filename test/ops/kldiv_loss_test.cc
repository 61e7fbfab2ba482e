#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("kldiv_loss", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor(dtype, {4, 3}, 1, -3, 0);
    const Tensor target = random_tensor(dtype, {4, 3}, 2, -0.2, 1);  // some are not above 0
    std::vector<double> parts;
    double sum = 0;
    for (size_t i = 0; i < 12; ++i) {
      const double t = values_of(target)[i];
      parts.push_back(t > 0 ? t * (std::log(t) - values_of(x)[i]) : 0);
      sum += parts.back();
    }
    const std::pair<const char*, std::vector<double>> cases[] = {
        {"none", parts}, {"sum", {sum}}, {"mean", {sum / 12}}, {"batchmean", {sum / 4}}};
    for (const auto& [reduction, expected] : cases) {
      const OpCase c{"kldiv_loss",
                     {{"X", {x}}, {"Target", {target}}},
                     {{"reduction", std::string(reduction)}}};
      CHECK(difference(run_op(c).at("Loss")[0], expected) < 1e-6);
      CHECK(grad_error(c, {"X"}, {"Loss"}) < 1e-6);
    }
  }
  const Tensor x = random_tensor(DType::f32, {4, 3}, 1);
  CHECK_THROWS_WITH(
      run_op({"kldiv_loss", {{"X", {x}}, {"Target", {x}}}, {{"reduction", std::string("most")}}}),
      Contains("'most'"));
}
