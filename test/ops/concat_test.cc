#include <catch2/catch.hpp>

#include "graph/backward.h"
#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// The element of `t` at `at`, by its own arithmetic.
double element(const Tensor& t, const std::vector<int64_t>& at) {
  int64_t i = 0;
  for (int d = 0; d < t.shape().rank(); ++d) i = i * t.shape()[d] + at[static_cast<size_t>(d)];
  return values_of(t)[static_cast<size_t>(i)];
}

// Calls f with every coordinate of a shape.
template <class F>
void each(const Shape& s, const F& f) {
  std::vector<int64_t> at(static_cast<size_t>(s.rank()));
  for (int64_t i = 0; i < s.numel(); ++i) {
    int64_t rest = i;
    for (int d = s.rank() - 1; d >= 0; --d) at[static_cast<size_t>(d)] = rest % s[d], rest /= s[d];
    f(at);
  }
}

void check_joined(const Tensor& whole, const std::vector<Tensor>& parts, int axis) {
  const auto a = static_cast<size_t>(axis < 0 ? axis + whole.shape().rank() : axis);
  int64_t begin = 0;
  for (const Tensor& p : parts) {
    each(p.shape(), [&](std::vector<int64_t> at) {
      const double v = element(p, at);
      at[a] += begin;
      CHECK(element(whole, at) == v);
    });
    begin += p.shape()[static_cast<int>(a)];
  }
  CHECK(whole.shape()[static_cast<int>(a)] == begin);
}

}  // namespace

TEST_CASE("concat", "[ops]") {
  const auto run = [](const std::vector<Tensor>& x, int axis) {
    return run_op({"concat", {{"X", x}}, {{"axis", axis}}}).at("Out")[0];
  };
  SECTION("along any axis") {
    struct Where {
      Shape a, b, c;
      int axis;
    };
    for (const Where& w :
         {Where{{2}, {3}, {1}, 0}, Where{{2, 3}, {1, 3}, {4, 3}, 0},
          Where{{2, 3}, {2, 1}, {2, 4}, 1}, Where{{2, 3, 2}, {2, 1, 2}, {2, 5, 2}, -2},
          Where{{2, 3}, {0, 3}, {1, 3}, 0}, Where{{0, 3}, {0, 1}, {0, 2}, 1}}) {
      const std::vector<Tensor> x = {random_tensor(DType::f64, w.a, 1),
                                     random_tensor(DType::f64, w.b, 2),
                                     random_tensor(DType::f64, w.c, 3)};
      check_joined(run(x, w.axis), x, w.axis);
      CHECK(grad_error({"concat", {{"X", x}}, {{"axis", w.axis}}}, {"X"}) < 1e-6);
    }
    const std::vector<Tensor> ids = {random_tensor(DType::i64, {2, 2}, 1, 0, 9),
                                     random_tensor(DType::i64, {2, 1}, 2, 0, 9)};
    check_joined(run(ids, 1), ids, 1);
  }
  SECTION("threads do not change it") {
    const OpCase c{
        "concat",
        {{"X",
          {random_tensor(DType::f32, {300, 100}, 1), random_tensor(DType::f32, {300, 33}, 2)}}},
        {{"axis", 1}}};
    const Tensor one = run_op(c, 1).at("Out")[0];
    CHECK(values_of(one) == values_of(run_op(c, 3).at("Out")[0]));
    CHECK(one.data<float>()[299 * 133 + 132] == c.in[0].second[1].data<float>()[300 * 33 - 1]);
  }
  SECTION("only the gradients that are wanted") {
    Program p;
    Block& b = p.global();
    for (const char* n : {"a", "b"}) b.create({.name = n, .dtype = DType::f32, .shape = {2, 2}});
    b.append({.type = "concat",
              .in = {{"X", {"a", "b"}}},
              .out = {{"Out", {"y"}}},
              .attrs = {{"axis", 1}}});
    b.append({.type = "reduce_sum",
              .in = {{"X", {"y"}}},
              .out = {{"Out", {"s"}}},
              .attrs = {{"reduce_all", true}}});
    const Names g = append_gradients(p, {"s"}, {"b"});
    Scope scope;
    ThreadPool pool(1);
    Plan plan(p, 0, scope, {"a", "b"}, g, pool, {});
    const Tensor t = random_tensor(DType::f32, {2, 2}, 1);
    plan.feed(0, t);
    plan.feed(1, t);
    plan.run(0);
    CHECK(values_of(plan.fetch(0)) == std::vector<double>(4, 1.0));
  }
  SECTION("the LoD of the rows, where they stay rows") {
    Tensor x = random_tensor(DType::f32, {3, 2}, 1);
    x.set_lod({{0, 1, 3}});
    CHECK(run({x, x}, 1).lod() == x.lod());
    CHECK(run({x, x}, 0).lod().empty());
  }
  SECTION("what is refused") {
    const Tensor x = random_tensor(DType::f32, {2, 3}, 1);
    CHECK_THROWS_WITH(run({x, random_tensor(DType::f32, {3, 3}, 1)}, 1),
                      Contains("op concat") && Contains("[2, 3]") && Contains("[3, 3]"));
    CHECK_THROWS_WITH(run({x, random_tensor(DType::f32, {2}, 1)}, 0), Contains("[2]"));
    CHECK_THROWS_WITH(run({x, random_tensor(DType::i64, {2, 3}, 1)}, 0),
                      Contains("float32") && Contains("int64"));
    CHECK_THROWS_WITH(run({x, x}, 2), Contains("axis 2"));
  }
}

TEST_CASE("split", "[ops]") {
  const auto split = [](const Tensor& x, const Attrs& attrs, int parts,
                        const char* type = "split") {
    return OpCase{type, {{"X", {x}}}, attrs, {{"Out", parts}}};
  };
  SECTION("into equal parts and into sections") {
    const Tensor x = random_tensor(DType::f64, {4, 6, 2}, 1);
    for (const int axis : {0, 1, -2, 2}) {
      const OpCase c = split(x, {{"num", 2}, {"axis", axis}}, 2);
      check_joined(x, run_op(c).at("Out"), axis);
      CHECK(grad_error(c, {"X"}) < 1e-6);
    }
    const OpCase c = split(x, {{"sections", Ints{1, 3, 2}}, {"axis", 1}}, 3);
    check_joined(x, run_op(c).at("Out"), 1);
    CHECK(grad_error(c, {"X"}) < 1e-6);
  }
  SECTION("by reference: rows") {
    const Tensor x = random_tensor(DType::f32, {7, 3}, 1);
    check_joined(x, run_op(split(x, {{"sections", Ints{4, 3}}}, 2, "split_byref")).at("Out"), 0);
  }
  SECTION("a part that nothing uses has no gradient") {
    Program p;
    Block& b = p.global();
    b.create({.name = "x", .dtype = DType::f32, .shape = {2, 4}});
    b.append({.type = "split",
              .in = {{"X", {"x"}}},
              .out = {{"Out", {"a", "b"}}},
              .attrs = {{"num", 2}, {"axis", 1}}});
    b.append({.type = "reduce_sum",
              .in = {{"X", {"b"}}},
              .out = {{"Out", {"s"}}},
              .attrs = {{"reduce_all", true}}});
    const Names g = append_gradients(p, {"s"}, {"x"});
    Scope scope;
    ThreadPool pool(1);
    Plan plan(p, 0, scope, {"x"}, g, pool, {});
    const Tensor x = random_tensor(DType::f32, {2, 4}, 1);
    plan.feed(0, x);
    plan.run(0);
    CHECK(values_of(plan.fetch(0)) == std::vector<double>{0, 0, 1, 1, 0, 0, 1, 1});
  }
  SECTION("what is refused") {
    const Tensor x = random_tensor(DType::f32, {4, 6}, 1);
    CHECK_THROWS_WITH(run_op(split(x, {{"num", 4}, {"axis", 1}}, 4)),
                      Contains("op split") && Contains("[4, 6]") && Contains("4 equal parts"));
    CHECK_THROWS_WITH(run_op(split(x, {{"sections", Ints{1, 2}}}, 2)), Contains("[1, 2]"));
    CHECK_THROWS_WITH(run_op(split(x, {{"num", 2}}, 3)), Contains("3 outputs"));
    CHECK_THROWS_WITH(run_op(split(x, {}, 2)), Contains("sections"));
    CHECK_THROWS_WITH(run_op(split(x, {{"sections", Ints{-1, 5}}}, 2)), Contains("-1"));
  }
}

TEST_CASE("stack", "[ops]") {
  for (const int axis : {0, 1, 2, -1, -3}) {
    const std::vector<Tensor> x = {random_tensor(DType::f64, {2, 3}, 1),
                                   random_tensor(DType::f64, {2, 3}, 2)};
    const OpCase c{"stack", {{"X", x}}, {{"axis", axis}}};
    const Tensor y = run_op(c).at("Y")[0];
    const int a = axis < 0 ? axis + 3 : axis;
    for (int64_t k = 0; k < 2; ++k)
      each({2, 3}, [&](std::vector<int64_t> at) {
        const double v = element(x[static_cast<size_t>(k)], at);
        at.insert(at.begin() + a, k);
        CHECK(element(y, at) == v);
      });
    CHECK(y.shape()[a] == 2);
    CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  }
  CHECK_THROWS_WITH(
      run_op(
          {"stack",
           {{"X", {random_tensor(DType::f32, {2, 3}, 1), random_tensor(DType::f32, {2, 2}, 1)}}}}),
      Contains("stack") && Contains("[2, 3]") && Contains("[2, 2]"));
}
