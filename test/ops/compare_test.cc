#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

struct Rule {
  std::string type;
  bool (*holds)(double, double);
};
const Rule comparisons[] = {
    {"less_than", [](double x, double y) { return x < y; }},
    {"less_equal", [](double x, double y) { return x <= y; }},
    {"greater_than", [](double x, double y) { return x > y; }},
    {"greater_equal", [](double x, double y) { return x >= y; }},
    {"equal", [](double x, double y) { return x == y; }},
    {"not_equal", [](double x, double y) { return x != y; }},
};
const Rule logic[] = {
    {"logical_and", [](double x, double y) { return x != 0 && y != 0; }},
    {"logical_or", [](double x, double y) { return x != 0 || y != 0; }},
    {"logical_xor", [](double x, double y) { return (x != 0) != (y != 0); }},
};

void check_rule(const Rule& rule, const Tensor& x, const Tensor& y) {
  const std::vector<double> a = values_of(x), b = values_of(y);
  std::vector<double> expected;
  for (size_t i = 0; i < a.size(); ++i)
    expected.push_back(rule.holds(a[i], b[b.size() == 1 ? 0 : i]));
  const OpCase c{rule.type, {{"X", {x}}, {"Y", {y}}}};
  const Tensor got = run_op(c).at("Out")[0];
  CHECK(got.dtype() == DType::boolean);
  CHECK(got.shape() == x.shape());
  CHECK(difference(got, expected) == 0);
  CHECK(values_of(run_op(c, 3).at("Out")[0]) == expected);
}

// Small whole numbers, so that some are equal.
Tensor coarse(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor t = random_tensor(DType::i64, shape, seed, 0, 3), out(dtype, shape);
  with_dtype(dtype, [&](auto z) {
    using T = decltype(z);
    for (int64_t i = 0; i < t.numel(); ++i) out.data<T>()[i] = static_cast<T>(t.data<int64_t>()[i]);
  });
  return out;
}

}  // namespace

TEST_CASE("comparisons", "[ops]") {
  for (const Rule& rule : comparisons)
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean})
      for (const Shape& shape : {Shape{1}, Shape{17}, Shape{3, 5, 2}, Shape{0, 4}, Shape{70001}}) {
        check_rule(rule, coarse(dtype, shape, 1), coarse(dtype, shape, 2));
        check_rule(rule, coarse(dtype, shape, 1), coarse(dtype, {1}, 3));
      }
}

TEST_CASE("logic", "[ops]") {
  for (const Rule& rule : logic)
    for (const Shape& shape : {Shape{1}, Shape{33}, Shape{3, 5}, Shape{0}})
      check_rule(rule, coarse(DType::boolean, shape, 1), coarse(DType::boolean, shape, 2));
  const Tensor x = Tensor::of<bool>({3}, {true, false, true});
  CHECK(values_of(run_op({"logical_not", {{"X", {x}}}}).at("Out")[0]) ==
        std::vector<double>{0, 1, 0});
}

TEST_CASE("comparisons pass the LoD on and refuse what does not fit", "[ops]") {
  Tensor x = random_tensor(DType::f32, {3, 1}, 1);
  x.set_lod({{0, 1, 3}});
  const auto run = [&](const std::string& type, const Tensor& y) {
    return run_op({type, {{"X", {x}}, {"Y", {y}}}}).at("Out")[0];
  };
  CHECK(run("equal", x).lod() == x.lod());
  CHECK_THROWS_WITH(run("equal", random_tensor(DType::f32, {2, 1}, 1)),
                    Contains("op equal") && Contains("[3, 1]") && Contains("[2, 1]"));
  CHECK_THROWS_WITH(run("less_than", random_tensor(DType::i64, {3, 1}, 1)),
                    Contains("float32") && Contains("int64"));
  CHECK_THROWS_WITH(run("logical_and", x), Contains("logical_and") && Contains("bool"));
}
