#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("data_norm", "[ops]") {
  const Tensor x = Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 9});
  const OpCase c{"data_norm",
                 {{"X", {x}},
                  {"BatchSize", {Tensor::of<double>({2}, {10, 20})}},
                  {"BatchSum", {Tensor::of<double>({2}, {5, 40})}},
                  {"BatchSquareSum", {Tensor::of<double>({2}, {40, 5})}}},
                 {{"epsilon", 0.5f}}};
  // Means 0.5 and 2, scales 0.5 and 2.
  CHECK(difference(run_op(c).at("Y")[0], {0.25, 0, 1.25, 4, 2.25, 14}) < 1e-12);
  CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  // The gradients of the sums are what the batch adds to them, whatever Y's gradient is.
  const Results g = run_grad(c, {"BatchSize", "BatchSum", "BatchSquareSum"}, {"Y"});
  CHECK(values_of(g.at("BatchSize")[0]) == std::vector<double>{3, 3});
  CHECK(values_of(g.at("BatchSum")[0]) == std::vector<double>{9, 15});
  CHECK(difference(g.at("BatchSquareSum")[0], {0.25 + 6.25 + 20.25 + 1.5, 0 + 4 + 49 + 1.5}) <
        1e-12);
  OpCase wrong = c;
  wrong.in[1].second[0] = Tensor::of<double>({3}, {1, 1, 1});
  CHECK_THROWS_WITH(run_op(wrong), Contains("one number per column"));
}
