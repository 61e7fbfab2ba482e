#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

struct Form {
  Shape x, y;
  int axis;
  // y's element for element i of x, as the rule says in words: written out by hand for each form.
  int64_t (*y_of)(int64_t i);
};
const Form forms[] = {
    {{1}, {1}, -1, [](int64_t) -> int64_t { return 0; }},
    {{3, 5}, {3, 5}, -1, [](int64_t i) { return i; }},
    {{4, 7}, {7}, -1, [](int64_t i) { return i % 7; }},
    {{4, 7}, {7}, 1, [](int64_t i) { return i % 7; }},
    {{4, 7}, {4}, 0, [](int64_t i) { return i / 7; }},
    {{4, 7}, {4, 1}, 0, [](int64_t i) { return i / 7; }},
    {{4, 7}, {4, 1}, -1, [](int64_t i) { return i / 7; }},
    {{2, 3, 4, 5}, {3, 4}, 1, [](int64_t i) { return i / 5 % 12; }},
    {{2, 3, 5}, {3, 1}, 1, [](int64_t i) { return i / 5 % 3; }},
    {{2, 3, 5}, {3, 1}, -1, [](int64_t i) { return i / 5 % 3; }},
    {{3, 5}, {1}, -1, [](int64_t) -> int64_t { return 0; }},
    {{3, 5}, {1, 1}, -1, [](int64_t) -> int64_t { return 0; }},
    {{0, 5}, {5}, -1, [](int64_t i) { return i; }},
    {{0, 5}, {0, 5}, -1, [](int64_t i) { return i; }},
};

struct Binary {
  std::string type;
  double (*reference)(double x, double y);
  bool has_grad = true;
};
const Binary binaries[] = {
    {"elementwise_add", [](double x, double y) { return x + y; }},
    {"elementwise_sub", [](double x, double y) { return x - y; }},
    {"elementwise_mul", [](double x, double y) { return x * y; }},
    {"elementwise_div", [](double x, double y) { return x / y; }},
    {"elementwise_max", [](double x, double y) { return x > y ? x : y; }},
    {"elementwise_min", [](double x, double y) { return x < y ? x : y; }},
    {"elementwise_pow", [](double x, double y) { return std::pow(x, y); }},
    {"elementwise_mod", [](double x, double y) { return x - y * std::trunc(x / y); }, false},
    {"elementwise_floordiv", [](double x, double y) { return std::trunc(x / y); }, false},
};

OpCase make_case(const Binary& b, const Form& f, DType dtype) {
  const bool integer = dtype == DType::i32 || dtype == DType::i64;
  const double low = integer ? 1 : 0.5, high = integer ? 9 : 2;
  return {b.type,
          {{"X", {random_tensor(dtype, f.x, 3, low, high)}},
           {"Y", {random_tensor(dtype, f.y, 4, low, high)}}},
          {{"axis", f.axis}}};
}

}  // namespace

TEST_CASE("elementwise ops broadcast Y to X", "[ops]") {
  for (const Binary& b : binaries) {
    DYNAMIC_SECTION(b.type) {
      for (const Form& f : forms) {
        CAPTURE(f.x, f.y, f.axis);
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
          const OpCase c = make_case(b, f, dtype);
          const auto x = values_of(c.in[0].second[0]), y = values_of(c.in[1].second[0]);
          std::vector<double> expected;
          for (size_t i = 0; i < x.size(); ++i) {
            const double v = b.reference(x[i], y[static_cast<size_t>(f.y_of(int64_t(i)))]);
            expected.push_back(dtype == DType::i32 || dtype == DType::i64 ? std::trunc(v) : v);
          }
          const Tensor got = run_op(c).at("Out")[0];
          CHECK(got.shape() == f.x);
          CHECK(difference(got, expected) < (dtype == DType::f32 ? 1e-6 : 1e-14));
        }
        if (!b.has_grad) continue;
        const OpCase c = make_case(b, f, DType::f64);
        CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
        CHECK(grad_error(c, {"X"}) < 1e-6);
        CHECK(grad_error(c, {"Y"}) < 1e-6);
      }
    }
  }
}

TEST_CASE("elementwise ops pass on the LoD of X", "[ops]") {
  Tensor x = random_tensor(DType::f32, {3, 2}, 1);
  x.set_lod({{0, 1, 3}});
  const OpCase c{"elementwise_add", {{"X", {x}}, {"Y", {random_tensor(DType::f32, {2}, 2)}}}};
  CHECK(run_op(c).at("Out")[0].lod() == x.lod());
  CHECK(run_grad(c, {"X"}).at("X")[0].lod() == x.lod());
}

TEST_CASE("elementwise ops do not depend on the number of threads", "[ops]") {
  const auto [y, axis] =
      GENERATE(std::pair{Shape{301, 7, 41}, -1}, std::pair{Shape{41}, -1}, std::pair{Shape{301}, 0},
               std::pair{Shape{7}, 1}, std::pair{Shape{1}, -1});
  const OpCase c{"elementwise_mul",
                 {{"X", {random_tensor(DType::f32, {301, 7, 41}, 1)}},
                  {"Y", {random_tensor(DType::f32, y, 2)}}},
                 {{"axis", axis}}};
  CHECK(difference(run_op(c, 3).at("Out")[0], values_of(run_op(c, 1).at("Out")[0])) == 0);
}

TEST_CASE("elementwise integer corner cases", "[ops]") {
  const auto of = [](const std::string& type, std::initializer_list<int64_t> x,
                     std::initializer_list<int64_t> y) {
    const auto n = static_cast<int64_t>(x.size());
    return run_op(
               {type, {{"X", {Tensor::of<int64_t>({n}, x)}}, {"Y", {Tensor::of<int64_t>({n}, y)}}}})
        .at("Out")[0];
  };
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  CHECK(of("elementwise_div", {lowest}, {-1}).data<int64_t>()[0] == lowest);
  CHECK(of("elementwise_mod", {lowest}, {-1}).data<int64_t>()[0] == 0);
  CHECK(values_of(of("elementwise_mod", {-7, 7}, {3, -3})) == std::vector<double>{-1, 1});
  CHECK(values_of(of("elementwise_pow", {3, -1, 5, 0}, {4, -3, -1, 0})) ==
        std::vector<double>{81, -1, 0, 1});
  for (const char* type : {"elementwise_div", "elementwise_mod", "elementwise_floordiv"})
    CHECK_THROWS_WITH(of(type, {1, 2}, {1, 0}),
                      Contains("element 1 of Y [2] is 0") && Contains(type));
}

TEST_CASE("elementwise ops refuse what does not fit", "[ops]") {
  const auto run = [](const Shape& x, const Shape& y, int axis, DType y_type = DType::f32) {
    return run_op({"elementwise_add",
                   {{"X", {random_tensor(DType::f32, x, 1)}}, {"Y", {random_tensor(y_type, y, 1)}}},
                   {{"axis", axis}}});
  };
  CHECK_THROWS_WITH(run({2, 3}, {2}, -1), Contains("op elementwise_add") &&
                                              Contains("Y (Y_0) [2]") &&
                                              Contains("X (X_0) [2, 3]"));
  CHECK_THROWS_WITH(run({2, 3}, {3}, 2), Contains("does not fit at that axis"));
  CHECK_THROWS_WITH(run({3}, {2, 3}, -1), Contains("more dimensions"));
  CHECK_THROWS_WITH(run({3}, {3}, -1, DType::f64), Contains("float32") && Contains("float64"));
}
