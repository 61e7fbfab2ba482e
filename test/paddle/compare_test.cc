#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "paddle/compare_runs.h"

using namespace paddle;
using Catch::Contains;

namespace compare_test {

TEST_CASE("compare: numbers", "[paddle]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  NumberDifference d;
  SECTION("with the same bits are equal") {
    d.add(1, 1);
    d.add(nan, nan);
    CHECK(d.count == 2);
    CHECK(d.differing == 0);
    CHECK(d.within(0));
  }
  SECTION("that differ are measured") {
    d.add(1, 1.5);
    d.add(-2, -2.25);
    d.add(0, 0);
    CHECK(d.differing == 2);
    CHECK(d.largest == 0.5);
    CHECK(d.relative == Approx(1. / 3));
    CHECK(!d.within(0));
    CHECK(!d.within(0.4));
    CHECK(d.within(0.5));
  }
  SECTION("that are none never count as near") {
    d.add(nan, 1);
    CHECK(d.not_finite == 1);
    CHECK(!d.within(1e9));
  }
  SECTION("zeros of both signs have other bits") {
    d.add(0., -0.);
    CHECK(!d.within(0));
    CHECK(d.within(1e-9));
  }
}

TEST_CASE("compare: tensors of each type", "[paddle]") {
  CHECK(difference(Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({2}, {1, 4})).largest == 2);
  CHECK(difference(Tensor::of<double>({1}, {1}), Tensor::of<double>({1}, {1})).differing == 0);
  CHECK(difference(Tensor::of<int64_t>({1}, {7}), Tensor::of<int64_t>({1}, {-7})).largest == 14);
  CHECK(difference(Tensor::of<int32_t>({1}, {7}), Tensor::of<int32_t>({1}, {8})).differing == 1);
  CHECK(difference(Tensor::of<uint8_t>({2}, {7, 8}), Tensor::of<uint8_t>({2}, {7, 9})).differing ==
        1);
}

TEST_CASE("compare: runs", "[paddle]") {
  RunResults a, b;
  a.passes[0]["cost"] = 2;
  a.passes[1]["cost"] = 1;
  b = a;
  CHECK(compare_runs("a", a, "b", b, 0).equal);
  SECTION("with another cost") {
    b.passes[1]["cost"] = 1.25;
    const ModelComparison found = compare_runs("a", a, "b", b, 0);
    CHECK(!found.equal);
    CHECK(found.text ==
          "cost\n"
          "PASS  a  b     DIFFERENCE\n"
          "0     2  2     0\n"
          "1     1  1.25  0.25\n\n");
    CHECK(compare_runs("a", a, "b", b, 0.25).equal);
  }
  SECTION("with a pass less") {
    b.passes.erase(1);
    const ModelComparison found = compare_runs("a", a, "b", b, 1e9);
    CHECK(!found.equal);
    CHECK_THAT(found.text, Contains("1     1  -  -"));
  }
  SECTION("with other options, which are shown only") {
    a.options = {{"seed", "1"}, {"save_dir", "x"}};
    b.options = {{"seed", "2"}, {"save_dir", "x"}, {"trainer_count", "2"}};
    const ModelComparison found = compare_runs("a", a, "b", b, 0);
    CHECK(found.equal);
    CHECK_THAT(found.text, Contains("seed           1            2") &&
                               Contains("trainer_count  (not given)  2") && !Contains("save_dir"));
  }
}

}  // namespace compare_test
