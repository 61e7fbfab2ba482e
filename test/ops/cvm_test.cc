#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("cvm", "[ops]") {
  const Tensor x = Tensor::of<double>({2, 4}, {3, 1, 5, 6, 0, 0, 7, 8}),
               counts = Tensor::of<double>({2, 2}, {1, 0, 1, 1});
  OpCase c{"cvm", {{"X", {x}}, {"CVM", {counts}}}};
  const double shown = std::log(4.0);
  CHECK(difference(run_op(c).at("Y")[0], {shown, std::log(2.0) - shown, 5, 6, 0, 0, 7, 8}) < 1e-12);
  // The counts are the gradient of the first two columns.
  const auto gradient = [&] { return values_of(run_grad(c, {"X"}, {"Y"}).at("X")[0]); };
  CHECK(gradient()[0] == 1);
  CHECK(gradient()[1] == 0);
  CHECK(gradient()[5] == 1);
  c.attrs.set("use_cvm", false);
  CHECK(values_of(run_op(c).at("Y")[0]) == std::vector<double>{5, 6, 7, 8});
  CHECK(gradient()[4] == 1);
  CHECK(gradient()[2] != 0);
  CHECK_THROWS_WITH(run_op({"cvm", {{"X", {counts}}, {"CVM", {counts}}}}),
                    Contains("more than 2 columns"));
}
