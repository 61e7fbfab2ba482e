#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("lod_reset", "[ops]") {
  const Tensor x = Tensor::of<double>({5, 1}, {1, 2, 3, 4, 5});
  Tensor five = x.clone();
  five.set_lod({{0, 2, 2, 5}});
  const OpCase by_y{"lod_reset", {{"X", {x}}, {"Y", {five}}}};
  CHECK(run_op(by_y).at("Out")[0].lod() == five.lod());
  CHECK(values_of(run_op(by_y).at("Out")[0]) == values_of(x));
  CHECK(grad_error(by_y, {"X"}) < 1e-6);
  const OpCase by_list{"lod_reset", {{"X", {five}}}, {{"target_lod", Ints{0, 4, 5}}}};
  CHECK(run_op(by_list).at("Out")[0].lod() == Lod{{0, 4, 5}});
  CHECK(grad_error(by_list, {"X"}) < 1e-6);
  CHECK_THROWS_WITH(run_op({"lod_reset", {{"X", {x}}}, {{"target_lod", Ints{0, 4}}}}),
                    Contains("ends at 4") && Contains("5 rows"));
}
