#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// A program in which the sparse gradient of a lookup of ids 2, 0, 2 in a table of 4 rows is
// [[1, 2], [3, 4], [5, 6]].
struct Sparse {
  Program program;
  Block& block = program.global();

  Sparse() {
    block.create({.name = "w", .shape = {4, 2}, .persistable = true});
    block.create({.name = "ids", .dtype = DType::i64, .shape = {-1, 1}});
    block.create({.name = "dy", .shape = {-1, 2}});
    block.append({.type = "lookup_table_grad",
                  .in = {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"dy"}}},
                  .out = {{"W@GRAD", {"g"}}},
                  .attrs = {{"is_sparse", true}}});
  }
  void unary(const std::string& type, const std::string& x, const std::string& out) {
    block.append({.type = type, .in = {{"X", {x}}}, .out = {{"Out", {out}}}});
  }
  std::vector<double> run(const std::string& fetch, const Shape& ids,
                          std::initializer_list<int64_t> id_values, const Shape& dy,
                          std::initializer_list<float> dy_values) {
    Scope scope;
    scope.var("w").tensor = Tensor::of<float>({4, 2}, {0, 0, 0, 0, 0, 0, 0, 0});
    Executor exe;
    Plan& plan = exe.plan(program, scope, {"ids", "dy"}, {fetch});
    const Tensor id_tensor = Tensor::of<int64_t>(ids, id_values);
    const Tensor dy_tensor = Tensor::of<float>(dy, dy_values);
    plan.feed(0, id_tensor);
    plan.feed(1, dy_tensor);
    plan.run(0);
    return values_of(plan.fetch(0));
  }
  std::vector<double> run(const std::string& fetch) {
    return run(fetch, {3, 1}, {2, 0, 2}, {3, 2}, {1, 2, 3, 4, 5, 6});
  }
};

}  // namespace

TEST_CASE("merge_selected_rows", "[ops]") {
  Sparse s;
  s.unary("merge_selected_rows", "g", "m");
  s.unary("get_tensor_from_selected_rows", "m", "values");

  SECTION("changes no sum") { CHECK(s.run("m") == std::vector<double>{3, 4, 0, 0, 6, 8, 0, 0}); }
  SECTION("holds each row once, and zeros") {
    CHECK(s.run("values") == std::vector<double>{3, 4, 6, 8, 0, 0});
  }
  SECTION("rejects a row outside of the table") {
    CHECK_THROWS_AS(s.run("m", {1, 1}, {4}, {1, 2}, {1, 1}), Error);
  }
  SECTION("wants selected rows") {
    CHECK_THROWS_WITH(s.unary("merge_selected_rows", "dy", "n"),
                      Contains("X (dy) must hold selected rows"));
  }
}

TEST_CASE("get_tensor_from_selected_rows gives the values as they stand", "[ops]") {
  Sparse s;
  s.unary("get_tensor_from_selected_rows", "g", "values");
  CHECK(s.run("values") == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("selected rows times a number keep their rows", "[ops]") {
  Sparse s;
  s.block.append({.type = "fill_constant",
                  .out = {{"Out", {"half"}}},
                  .attrs = {{"shape", Longs{1}}, {"value", 0.5f}}});
  s.block.append({.type = "elementwise_mul",
                  .in = {{"X", {"g"}}, {"Y", {"half"}}},
                  .out = {{"Out", {"scaled"}}}});
  CHECK(s.run("scaled") == std::vector<double>{1.5, 2, 0, 0, 3, 4, 0, 0});
}
