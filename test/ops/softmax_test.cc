#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

std::vector<double> reference(const Tensor& x, int axis, bool logarithm) {
  const Shape& s = x.shape();
  if (axis < 0) axis += s.rank();
  const int64_t outer = s.product(0, axis), n = s[axis], inner = s.product(axis + 1, s.rank());
  const std::vector<double> v = values_of(x);
  std::vector<double> out(v.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      const auto at = [&](int64_t k) { return static_cast<size_t>((o * n + k) * inner + j); };
      double top = -HUGE_VAL, sum = 0;
      for (int64_t k = 0; k < n; ++k) top = std::max(top, v[at(k)]);
      for (int64_t k = 0; k < n; ++k) sum += std::exp(v[at(k)] - top);
      for (int64_t k = 0; k < n; ++k) {
        const double l = v[at(k)] - top - std::log(sum);
        out[at(k)] = logarithm ? l : std::exp(l);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("softmax", "[ops]") {
  struct Where {
    Shape shape;
    int axis;
  };
  const std::string type = GENERATE("softmax", "log_softmax");
  const bool logarithm = type == "log_softmax";
  for (const Where& w :
       {Where{{1}, -1}, Where{{1, 1}, -1}, Where{{5, 2}, -1}, Where{{3, 7}, 1}, Where{{3, 7}, 0},
        Where{{2, 33}, -1}, Where{{2, 3, 5}, 1}, Where{{2, 3, 5}, -3}, Where{{2, 2, 3, 4}, 3}}) {
    CAPTURE(type, w.shape.str(), w.axis);
    const Attrs attrs = {{"axis", w.axis}};
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = random_tensor(dtype, w.shape, 3, -5, 5);
      const Tensor got = run_op({type, {{"X", {x}}}, attrs}).at("Out")[0];
      CHECK(difference(got, reference(x, w.axis, logarithm)) <
            (dtype == DType::f32 ? 1e-6 : 1e-12));
    }
    CHECK(grad_error({type, {{"X", {random_tensor(DType::f64, w.shape, 5)}}}, attrs}, {"X"}) <
          1e-6);
  }
  SECTION("large inputs neither overflow nor vanish") {
    const Tensor x = Tensor::of<float>({2, 3}, {1e4f, 1e4f - 1, -1e4f, -3e4f, -3e4f, -3e4f - 2});
    CHECK(difference(run_op({type, {{"X", {x}}}}).at("Out")[0], reference(x, -1, logarithm)) <
          1e-6);
  }
  SECTION("an empty batch stays empty") {
    CHECK(run_op({type, {{"X", {Tensor(DType::f32, {0, 4})}}}}).at("Out")[0].shape() ==
          Shape{0, 4});
  }
  SECTION("threads do not change it") {
    for (const Shape& shape : {Shape{3001, 10}, Shape{40, 1001}, Shape{30, 20, 40}}) {
      const OpCase c{type, {{"X", {random_tensor(DType::f32, shape, 3)}}}, {{"axis", 1}}};
      const Tensor one = run_op(c, 1).at("Out")[0];
      CHECK(values_of(one) == values_of(run_op(c, 3).at("Out")[0]));
      CHECK(difference(one, reference(c.in[0].second[0], 1, logarithm)) < 1e-5);
    }
  }
  SECTION("the LoD is passed on") {
    Tensor x = random_tensor(DType::f32, {3, 2}, 1);
    x.set_lod({{0, 1, 3}});
    CHECK(run_op({type, {{"X", {x}}}}).at("Out")[0].lod() == x.lod());
  }
  SECTION("wrong axes and types are refused") {
    const Tensor x = random_tensor(DType::f32, {2, 3}, 1);
    CHECK_THROWS_WITH(run_op({type, {{"X", {x}}}, {{"axis", 2}}}),
                      Contains("op " + type) && Contains("axis 2"));
    CHECK_THROWS_WITH(run_op({type, {{"X", {random_tensor(DType::i64, {2, 3}, 1)}}}}),
                      Contains("int64"));
  }
}
