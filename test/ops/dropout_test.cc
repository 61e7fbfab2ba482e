#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

OpCase op_case(const Tensor& x, float prob, const std::string& how, bool is_test = false) {
  return {"dropout",
          {{"X", {x}}},
          {{"dropout_prob", prob}, {"dropout_implementation", how}, {"is_test", is_test}}};
}

const std::string downgrade = "downgrade_in_infer", upscale = "upscale_in_train";

}  // namespace

TEST_CASE("dropout", "[ops]") {
  const Tensor x = random_tensor(DType::f32, {50, 1001}, 3, 1, 2);  // no zeros of its own
  const std::vector<double> values = values_of(x);
  for (const float prob : {0.0f, 0.3f, 0.5f, 1.0f}) {
    for (const std::string& how : {downgrade, upscale}) {
      CAPTURE(prob, how);
      const OpCase c = op_case(x, prob, how);
      const Results got = run_op(c);
      const std::vector<double> mask = values_of(got.at("Mask")[0]);
      const double scale = how == upscale && prob < 1 ? 1 / (1 - static_cast<double>(prob)) : 1;
      std::vector<double> expected;
      double kept = 0;
      for (size_t k = 0; k < mask.size(); ++k) {
        if (mask[k] != 0 && mask[k] != 1) FAIL("a mask of " << mask[k]);
        kept += mask[k];
        expected.push_back(values[k] * mask[k] * scale);
      }
      CHECK(got.at("Mask")[0].dtype() == DType::u8);
      CHECK(difference(got.at("Out")[0], expected) < 1e-6);
      // Five standard deviations of a binomial count.
      const auto n = static_cast<double>(mask.size());
      CHECK(std::abs(kept - n * (1 - prob)) <=
            5 * std::sqrt(n * prob * (1 - static_cast<double>(prob))));
      const Results again = run_op(c, 3);
      CHECK(values_of(again.at("Mask")[0]) == mask);
      CHECK(values_of(again.at("Out")[0]) == values_of(got.at("Out")[0]));
    }
  }
  SECTION("in inference") {
    for (const std::string& how : {downgrade, upscale}) {
      std::vector<double> expected;
      for (const double v : values) expected.push_back(how == upscale ? v : v * 0.75);
      CHECK(difference(run_op(op_case(x, 0.25f, how, true)).at("Out")[0], expected) < 1e-6);
    }
  }
  SECTION("gradients") {
    const Tensor small = random_tensor(DType::f64, {4, 7}, 5);
    for (const std::string& how : {downgrade, upscale})
      for (const bool is_test : {false, true})
        CHECK(grad_error(op_case(small, 0.4f, how, is_test), {"X"}) < 1e-6);
  }
  SECTION("without a mask that anybody reads") {
    OpCase c = op_case(x, 0.5f, downgrade);
    const Tensor with = run_op(c).at("Out")[0];
    c.out = {{"Out", 1}};
    CHECK(values_of(run_op(c).at("Out")[0]) == values_of(with));
  }
}

TEST_CASE("dropout draws by step and seed", "[ops]") {
  const auto masks = [](Attrs attrs, uint32_t program_seed, const std::vector<uint64_t>& steps) {
    Program program;
    program.random_seed = program_seed;
    Block& block = program.global();
    block.create({.name = "x", .dtype = DType::f32, .shape = {-1}});
    block.append({.type = "dropout",
                  .in = {{"X", {"x"}}},
                  .out = {{"Out", {"y"}}, {"Mask", {"m"}}},
                  .attrs = std::move(attrs)});
    Scope scope;
    ThreadPool pool(1);
    Plan plan(program, 0, scope, {"x"}, {"m"}, pool, {});
    const Tensor x = random_tensor(DType::f32, {999}, 1);
    plan.feed(0, x);
    std::vector<std::vector<double>> out;
    for (const uint64_t step : steps) {
      plan.run(step);
      out.push_back(values_of(plan.fetch(0)));
    }
    return out;
  };
  const auto a = masks({}, 7, {0, 1, 2});
  CHECK(a[0] != a[1]);
  CHECK(a[1] != a[2]);
  CHECK(masks({}, 7, {2, 0}) == std::vector{a[2], a[0]});  // as after a restart
  CHECK(masks({}, 8, {0})[0] != a[0]);
  const Attrs fixed{{"fix_seed", true}, {"seed", 5}}, other{{"fix_seed", true}, {"seed", 6}};
  CHECK(masks(fixed, 7, {3}) == masks(fixed, 8, {3}));
  CHECK(masks(fixed, 7, {3}) != masks(other, 7, {3}));
}

TEST_CASE("dropout refuses", "[ops]") {
  const Tensor x = random_tensor(DType::f32, {3}, 3);
  CHECK_THROWS_WITH(run_op(op_case(x, 1.5f, downgrade)), Contains("dropout") && Contains("1.5"));
  CHECK_THROWS_WITH(run_op(op_case(x, 0.5f, "sometimes")), Contains("sometimes"));
  CHECK_THROWS_WITH(run_op({"dropout_grad",
                            {{"Mask", {random_tensor(DType::u8, {4}, 1, 0, 2)}}, {"Out@GRAD", {x}}},
                            {}}),
                    Contains("Mask (Mask_0) [4]") && Contains("[3]"));
}
