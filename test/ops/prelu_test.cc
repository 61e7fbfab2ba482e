#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("prelu", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {2, 3, 4}, 1);
  const std::pair<const char*, int64_t> modes[] = {{"all", 1}, {"channel", 3}, {"element", 12}};
  for (const auto& [mode, count] : modes) {
    const Tensor alpha = random_tensor(DType::f64, {count}, 2);
    const OpCase c{"prelu", {{"X", {x}}, {"Alpha", {alpha}}}, {{"mode", std::string(mode)}}};
    std::vector<double> expected;
    for (size_t e = 0; e < 24; ++e) {
      const size_t a = count == 1 ? 0 : count == 3 ? e / 4 % 3 : e % 12;
      const double v = values_of(x)[e];
      expected.push_back(v > 0 ? v : values_of(alpha)[a] * v);
    }
    CHECK(difference(run_op(c).at("Out")[0], expected) < 1e-12);
    CHECK(grad_error(c, {"X", "Alpha"}) < 1e-6);
  }
  const Tensor two = random_tensor(DType::f64, {2}, 2);
  CHECK_THROWS_WITH(
      run_op({"prelu", {{"X", {x}}, {"Alpha", {two}}}, {{"mode", std::string("channel")}}}),
      Contains("3 elements") && Contains("[2]"));
}
