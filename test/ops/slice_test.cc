#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

OpCase slice_of(const Tensor& x, const Ints& axes, const Ints& starts, const Ints& ends) {
  return {"slice", {{"Input", {x}}}, {{"axes", axes}, {"starts", starts}, {"ends", ends}}};
}

}  // namespace

TEST_CASE("slice", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {3, 4, 5}, 1);
  // x[b0:e0, b1:e1, b2:e2], by hand.
  const auto expected = [&](int b0, int e0, int b1, int e1, int b2, int e2) {
    std::vector<double> out;
    for (int i = b0; i < e0; ++i)
      for (int j = b1; j < e1; ++j)
        for (int k = b2; k < e2; ++k) out.push_back(x.data<double>()[(i * 4 + j) * 5 + k]);
    return out;
  };
  const auto check = [&](const OpCase& c, const Shape& shape, const std::vector<double>& values) {
    const Tensor out = run_op(c).at("Out")[0];
    CHECK(out.shape() == shape);
    CHECK(values_of(out) == values);
    CHECK(grad_error(c, {"Input"}) < 1e-6);
  };
  SECTION("some axes") {
    check(slice_of(x, {0}, {1}, {3}), {2, 4, 5}, expected(1, 3, 0, 4, 0, 5));
    check(slice_of(x, {1, 2}, {1, 2}, {3, 5}), {3, 2, 3}, expected(0, 3, 1, 3, 2, 5));
    check(slice_of(x, {0, 1, 2}, {2, 3, 4}, {3, 4, 5}), {1, 1, 1}, expected(2, 3, 3, 4, 4, 5));
  }
  SECTION("ends from the back and beyond the end") {
    check(slice_of(x, {0, 2}, {-2, 0}, {1000, -1}), {2, 4, 4}, expected(1, 3, 0, 4, 0, 4));
    check(slice_of(x, {1}, {-100}, {2}), {3, 2, 5}, expected(0, 3, 0, 2, 0, 5));
  }
  SECTION("axes that are dropped") {
    OpCase c = slice_of(x, {1}, {2}, {3});
    c.attrs.set("decrease_axis", Ints{1});
    check(c, {3, 5}, expected(0, 3, 2, 3, 0, 5));
    c = slice_of(x, {0, 1, 2}, {0, 1, 2}, {1, 2, 3});
    c.attrs.set("decrease_axis", Ints{0, 1, 2});
    check(c, {1}, expected(0, 1, 1, 2, 2, 3));
    c.attrs.set("ends", Ints{2, 2, 3});
    CHECK_THROWS_WITH(run_op(c), Contains("decrease_axis"));
  }
  SECTION("an empty batch") {
    CHECK(run_op(slice_of(Tensor(DType::f32, {0, 4}), {1}, {1}, {3})).at("Out")[0].shape() ==
          Shape{0, 2});
    CHECK(run_op(slice_of(Tensor(DType::f32, {0, 4}), {0}, {0}, {3})).at("Out")[0].shape() ==
          Shape{0, 4});
  }
  SECTION("any type, any number of threads") {
    const OpCase c =
        slice_of(random_tensor(DType::i32, {400, 100}, 1, 0, 1000), {0, 1}, {7, 3}, {390, 98});
    const Tensor one = run_op(c, 1).at("Out")[0];
    CHECK(values_of(one) == values_of(run_op(c, 3).at("Out")[0]));
    CHECK(one.data<int32_t>()[95 * 2 + 1] == c.in[0].second[0].data<int32_t>()[9 * 100 + 4]);
  }
  SECTION("the LoD stays where all rows stay") {
    Tensor rows = random_tensor(DType::f32, {3, 2}, 1);
    rows.set_lod({{0, 1, 3}});
    CHECK(run_op(slice_of(rows, {1}, {0}, {1})).at("Out")[0].lod() == rows.lod());
    CHECK(run_op(slice_of(rows, {0}, {0}, {2})).at("Out")[0].lod().empty());
  }
  SECTION("what is refused") {
    CHECK_THROWS_WITH(run_op(slice_of(x, {3}, {0}, {1})),
                      Contains("op slice") && Contains("axis 3") && Contains("[3, 4, 5]"));
    CHECK_THROWS_WITH(run_op(slice_of(x, {0}, {2}, {1})),
                      Contains("from 2 to 1") && Contains("[3, 4, 5]"));
    CHECK_THROWS_WITH(run_op(slice_of(x, {0, 1}, {0}, {1})), Contains("as many"));
  }
}

TEST_CASE("expand", "[ops]") {
  struct Where {
    Shape shape;
    Ints times;
  };
  for (const Where& w :
       {Where{{1}, {1}}, Where{{3}, {2}}, Where{{2, 3}, {1, 1}}, Where{{2, 3}, {2, 1}},
        Where{{2, 3}, {1, 4}}, Where{{2, 3}, {3, 2}}, Where{{2, 1, 3}, {2, 3, 2}}}) {
    CAPTURE(w.shape.str(), w.times);
    const Tensor x = random_tensor(DType::f64, w.shape, 1);
    const OpCase c{"expand", {{"X", {x}}}, {{"expand_times", w.times}}};
    const Tensor out = run_op(c).at("Out")[0];
    for (int64_t i = 0; i < out.numel(); ++i) {
      int64_t at = 0, stride = 1, rest = i;
      for (int d = w.shape.rank() - 1; d >= 0; --d) {
        at += rest % out.shape()[d] % w.shape[d] * stride;
        rest /= out.shape()[d];
        stride *= w.shape[d];
      }
      REQUIRE(out.data<double>()[i] == x.data<double>()[at]);
    }
    for (int d = 0; d < w.shape.rank(); ++d)
      CHECK(out.shape()[d] == w.shape[d] * w.times[static_cast<size_t>(d)]);
    CHECK(grad_error(c, {"X"}) < 1e-6);
  }
  const Tensor x = random_tensor(DType::f32, {2, 3}, 1);
  CHECK_THROWS_WITH(run_op({"expand", {{"X", {x}}}, {{"expand_times", Ints{2}}}}),
                    Contains("op expand") && Contains("[2, 3]"));
  CHECK_THROWS_WITH(run_op({"expand", {{"X", {x}}}, {{"expand_times", Ints{2, 0}}}}),
                    Contains("0"));
  CHECK(run_op({"expand", {{"X", {Tensor(DType::f32, {0, 2})}}}, {{"expand_times", Ints{3, 2}}}})
            .at("Out")[0]
            .shape() == Shape{0, 4});
}
