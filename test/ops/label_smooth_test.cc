#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("label_smooth", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor(dtype, {5, 4}, 3), prior = random_tensor(dtype, {1, 4}, 4, 0, 1);
    OpCase c{"label_smooth", {{"X", {x}}}, {{"epsilon", 0.25f}}};
    std::vector<double> even, given;
    for (size_t i = 0; i < 20; ++i) {
      even.push_back(values_of(x)[i] * 0.75 + 0.25 / 4);
      given.push_back(values_of(x)[i] * 0.75 + 0.25 * values_of(prior)[i % 4]);
    }
    CHECK(difference(run_op(c).at("Out")[0], even) < 1e-6);
    CHECK(grad_error(c, {"X"}) < 1e-6);
    c.in.push_back({"PriorDist", {prior}});
    CHECK(difference(run_op(c).at("Out")[0], given) < 1e-6);
    CHECK(grad_error(c, {"X"}) < 1e-6);
    c.attrs.set("epsilon", 1.5f);
    CHECK_THROWS_WITH(run_op(c), Contains("epsilon") && Contains("1.5"));
    const Tensor short_prior = random_tensor(dtype, {1, 3}, 4);
    CHECK_THROWS_WITH(run_op({"label_smooth", {{"X", {x}}, {"PriorDist", {short_prior}}}}),
                      Contains("[1, 3]") && Contains("[5, 4]"));
  }
}
