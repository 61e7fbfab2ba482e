#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace reduce_test {

struct Rule {
  std::string type;
  double start;
  double (*join)(double, double);
};
const Rule rules[] = {
    {"reduce_sum", 0, [](double a, double b) { return a + b; }},
    {"reduce_mean", 0, [](double a, double b) { return a + b; }},
    {"reduce_max", -HUGE_VAL, [](double a, double b) { return std::max(a, b); }},
    {"reduce_min", HUGE_VAL, [](double a, double b) { return std::min(a, b); }},
    {"reduce_prod", 1, [](double a, double b) { return a * b; }},
};

// One element of X at a time, into the place that its kept coordinates say.
std::vector<double> reference(const Rule& rule, const Tensor& x, const Ints& dim, bool all) {
  const Shape& s = x.shape();
  const int rank = s.rank();
  std::vector<bool> gone(static_cast<size_t>(rank), all);
  for (int d : dim) gone[static_cast<size_t>(d < 0 ? d + rank : d)] = true;
  int64_t kept = 1, joined = 1;
  for (int d = 0; d < rank; ++d) (gone[static_cast<size_t>(d)] ? joined : kept) *= s[d];
  std::vector<double> out(static_cast<size_t>(kept), rule.start);
  const std::vector<double> v = values_of(x);
  for (size_t i = 0; i < v.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t c = rest % s[d];
      rest /= s[d];
      if (gone[static_cast<size_t>(d)]) continue;
      at += c * stride;
      stride *= s[d];
    }
    out[static_cast<size_t>(at)] = rule.join(out[static_cast<size_t>(at)], v[i]);
  }
  if (rule.type == "reduce_mean")
    for (double& o : out) o /= static_cast<double>(joined);
  return out;
}

struct Where {
  Shape shape;
  Ints dim;
  bool all = false;
};
const Where places[] = {
    {{1}, {0}},
    {{7}, {0}},
    {{3, 5}, {0}},
    {{3, 5}, {1}},
    {{3, 5}, {-1}},
    {{3, 5}, {0, 1}},
    {{2, 3, 17}, {1}},
    {{2, 3, 17}, {0, 2}},
    {{2, 3, 17}, {-3}},
    {{2, 3, 4, 3}, {1, 3}},
    {{2, 1, 4, 1}, {0, 2}},
    {{2, 3, 4}, {0}, true},
    {{2, 1, 3, 2, 2}, {0, 2, 4}},
};

TEST_CASE("reductions", "[ops]") {
  for (const Rule& rule : rules) {
    DYNAMIC_SECTION(rule.type) {
      for (const Where& w : places) {
        const Attrs attrs = {{"dim", w.dim}, {"reduce_all", w.all}};
        CAPTURE(w.shape.str(), w.dim, w.all);
        for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
          const Tensor x = random_tensor(dtype, w.shape, 3, -4, 4);
          if (dtype == DType::i64 && rule.type == "reduce_mean") continue;
          const Tensor got = run_op({rule.type, {{"X", {x}}}, attrs}).at("Out")[0];
          CHECK(difference(got, reference(rule, x, w.dim, w.all)) < 1e-5);
        }
        const Tensor x = random_tensor(DType::f64, w.shape, 5, 0.5, 2);
        CHECK(grad_error({rule.type, {{"X", {x}}}, attrs}, {"X"}) < 1e-6);
      }
    }
  }
}

TEST_CASE("reductions give the same bits on any number of threads", "[ops]") {
  for (const Rule& rule : rules) {
    for (const Where& w : {Where{{100003}, {0}}, Where{{511, 129}, {0}}, Where{{511, 129}, {1}},
                           Where{{13, 70, 129}, {0, 2}}}) {
      const OpCase c{
          rule.type, {{"X", {random_tensor(DType::f32, w.shape, 3, 0.9, 1.1)}}}, {{"dim", w.dim}}};
      const Tensor one = run_op(c, 1).at("Out")[0], three = run_op(c, 3).at("Out")[0];
      CHECK(values_of(one) == values_of(three));
      if (rule.type != "reduce_prod")
        CHECK(difference(one, reference(rule, c.in[0].second[0], w.dim, false)) < 1e-5);
    }
  }
}

TEST_CASE("the shape of a reduction", "[ops]") {
  const auto shape = [](const Attrs& attrs) {
    return run_op({"reduce_sum", {{"X", {random_tensor(DType::f32, {2, 3, 4}, 1)}}}, attrs})
        .at("Out")[0]
        .shape();
  };
  CHECK(shape({}) == Shape{3, 4});
  CHECK(shape({{"dim", Ints{1}}, {"keep_dim", true}}) == Shape{2, 1, 4});
  CHECK(shape({{"reduce_all", true}}) == Shape{1});
  CHECK(shape({{"reduce_all", true}, {"keep_dim", true}}) == Shape{1, 1, 1});
  CHECK(shape({{"dim", Ints{0, 1, 2}}}) == Shape{1});
}

TEST_CASE("reductions of nothing", "[ops]") {
  const Tensor empty(DType::f32, {0, 3});
  const Attrs rows = {{"dim", Ints{1}}};
  CHECK(run_op({"reduce_max", {{"X", {empty}}}, rows}).at("Out")[0].shape() == Shape{0});
  CHECK(values_of(run_op({"reduce_sum", {{"X", {empty}}}}).at("Out")[0]) ==
        std::vector<double>(3, 0.0));
  CHECK(values_of(run_op({"reduce_prod", {{"X", {empty}}}}).at("Out")[0]) ==
        std::vector<double>(3, 1.0));
  CHECK_THROWS_WITH(run_op({"reduce_max", {{"X", {empty}}}}), Contains("[0, 3]"));
  CHECK_THROWS_WITH(run_op({"reduce_mean", {{"X", {empty}}}}), Contains("no elements"));
}

TEST_CASE("the gradient of a product with zeros", "[ops]") {
  const Tensor x = Tensor::of<double>({3, 3}, {2.0, 0.0, 3.0, 0.0, 0.0, 5.0, 1.0, 2.0, 3.0});
  CHECK(grad_error({"reduce_prod", {{"X", {x}}}, {{"dim", Ints{1}}}}, {"X"}) < 1e-6);
}

TEST_CASE("a NaN is not hidden by reduce_max", "[ops]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({4}, {1.0f, nan, 3.0f, 2.0f});
  CHECK(std::isnan(values_of(run_op({"reduce_max", {{"X", {x}}}}).at("Out")[0])[0]));
}

TEST_CASE("reductions keep the LoD of the first dimension", "[ops]") {
  Tensor x = random_tensor(DType::f32, {3, 2}, 1);
  x.set_lod({{0, 1, 3}});
  CHECK(run_op({"reduce_sum", {{"X", {x}}}, {{"dim", Ints{1}}}}).at("Out")[0].lod() == x.lod());
  CHECK(run_op({"reduce_sum", {{"X", {x}}}}).at("Out")[0].lod().empty());
}

TEST_CASE("what reductions refuse", "[ops]") {
  const Tensor x = random_tensor(DType::f32, {2, 3}, 1);
  CHECK_THROWS_WITH(run_op({"reduce_sum", {{"X", {x}}}, {{"dim", Ints{2}}}}),
                    Contains("reduce_sum") && Contains("axis 2") && Contains("2 dimensions"));
  CHECK_THROWS_WITH(run_op({"reduce_sum", {{"X", {random_tensor(DType::boolean, {2}, 1)}}}}),
                    Contains("reduce_sum") && Contains("bool"));
}

}  // namespace reduce_test
