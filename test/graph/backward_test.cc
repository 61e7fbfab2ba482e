#include "graph/backward.h"

#include <catch2/catch.hpp>

#include "exec/executor.h"
#include "support/op_check.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

// Variables x and w of shape [2], and ops on them.
struct Case {
  Program program;
  Block& block = program.global();

  Case() {
    block.create({.name = "x", .shape = {2}, .stop_gradient = true});
    block.create({.name = "w", .shape = {2}, .persistable = true, .param = ParamInfo{}});
  }
  void binary(const std::string& type, const std::string& x, const std::string& y,
              const std::string& out) {
    block.append({.type = type, .in = {{"X", {x}}, {"Y", {y}}}, .out = {{"Out", {out}}}});
  }
  void sum_to(const std::string& x, const std::string& out) {
    block.append({.type = "reduce_sum",
                  .in = {{"X", {x}}},
                  .out = {{"Out", {out}}},
                  .attrs = {{"reduce_all", true}}});
  }
  Names types(size_t from) const {
    Names out;
    for (size_t i = from; i < block.ops().size(); ++i) out.push_back(block.ops()[i]->type);
    return out;
  }
  std::vector<double> run(const std::string& fetch) {
    Scope scope;
    scope.var("w").tensor = Tensor::of<float>({2}, {3, -4});
    Executor exe;
    return test::values_of(
        exe.run(program, scope, {{"x", Tensor::of<float>({2}, {2, 5})}}, {fetch})[0]);
  }
};

}  // namespace

TEST_CASE("one use gives one gradient", "[graph]") {
  Case c;
  c.binary("elementwise_mul", "x", "w", "y");
  c.sum_to("y", "loss");
  const auto pairs = append_backward(c.program, "loss");
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].param == "w");
  CHECK(pairs[0].grad == "w@GRAD");
  CHECK(c.types(2) == Names{"fill_constant", "reduce_sum_grad", "elementwise_mul_grad"});
  CHECK(c.block.ops()[1]->role() == (role::forward | role::loss));
  CHECK(c.block.ops()[2]->role() == (role::backward | role::loss));
  CHECK(c.block.ops()[3]->role() == role::backward);
  CHECK(c.block.ops()[4]->attrs.get<Strings>(role::var_attr) == Strings{"w", "w@GRAD"});
  CHECK(c.block.ops()[3]->attrs.get<Strings>(role::var_attr).empty());
  CHECK(c.run("w@GRAD") == std::vector<double>{2, 5});
}

TEST_CASE("two uses are summed", "[graph]") {
  Case c;
  c.binary("elementwise_mul", "x", "w", "y");
  c.binary("elementwise_mul", "y", "w", "z");  // x w^2
  c.sum_to("z", "loss");
  append_backward(c.program, "loss");
  const Op& sum = *c.block.ops().back();
  CHECK(sum.type == "sum");
  CHECK(sum.in["X"] == Names{"w@GRAD@RENAME@0", "w@GRAD@RENAME@1"});
  CHECK(sum.out["Out"] == Names{"w@GRAD"});
  CHECK(sum.attrs.get<Strings>(role::var_attr) == Strings{"w", "w@GRAD"});
  CHECK(c.run("w@GRAD") == std::vector<double>{12, -40});  // 2 x w
}

TEST_CASE("two uses in one op are summed", "[graph]") {
  Case c;
  c.binary("elementwise_mul", "w", "w", "y");
  c.sum_to("y", "loss");
  append_backward(c.program, "loss");
  CHECK(c.run("w@GRAD") == std::vector<double>{6, -8});
}

TEST_CASE("a variable that is used twice on the way is summed before it goes on", "[graph]") {
  Case c;
  c.binary("elementwise_mul", "x", "w", "y");
  c.binary("elementwise_mul", "y", "x", "a");
  c.binary("elementwise_add", "a", "y", "b");
  c.sum_to("b", "loss");  // x^2 w + x w
  append_backward(c.program, "loss");
  CHECK(c.run("w@GRAD") == std::vector<double>{6, 30});
}

TEST_CASE("no gradient flows where it is stopped", "[graph]") {
  Case c;
  c.binary("elementwise_mul", "x", "w", "y");
  c.binary("elementwise_mul", "y", "w", "z");
  c.sum_to("z", "loss");

  SECTION("by stop_gradient") {
    c.block.var("y").stop_gradient = true;
    append_backward(c.program, "loss");
    CHECK(c.run("w@GRAD") == std::vector<double>{6, -20});  // y
  }
  SECTION("by no_grad_set") {
    append_backward(c.program, "loss", {}, {"y"});
    CHECK(c.run("w@GRAD") == std::vector<double>{6, -20});
  }
  SECTION("in a parameter that does not train") {
    c.block.var("w").param->trainable = false;
    CHECK(append_backward(c.program, "loss").empty());
  }
  SECTION("in parameters that are not listed") {
    c.block.create({.name = "v", .shape = {2}, .persistable = true, .param = ParamInfo{}});
    CHECK(append_backward(c.program, "loss", {"v"}).empty());
  }
}

TEST_CASE("a loss must be one number", "[graph]") {
  Case c;
  c.binary("elementwise_mul", "x", "w", "y");
  CHECK_THROWS_WITH(append_backward(c.program, "y"),
                    Contains("must have shape [1], found [2]") && Contains("mean()"));
}

TEST_CASE("gradients of any variable can be asked for", "[graph]") {
  Case c;
  c.block.var("x").stop_gradient = false;
  c.binary("elementwise_mul", "x", "w", "y");
  const Names grads = append_gradients(c.program, {"y"}, {"x", "w"});
  REQUIRE(grads == Names{"x@GRAD", "w@GRAD"});
  CHECK(c.run("x@GRAD") == std::vector<double>{3, -4});
}

TEST_CASE("gradients start from a given one, and leave those of an earlier call alone", "[graph]") {
  Case c;
  c.block.var("x").stop_gradient = false;
  c.binary("elementwise_mul", "x", "w", "y");
  CHECK(append_gradients(c.program, {"y"}, {"x"}) == Names{"x@GRAD"});
  const Names again = append_gradients(c.program, {"y"}, {"x"}, {"w"});
  REQUIRE(again == Names{"x@GRAD_0"});
  CHECK(c.run("x@GRAD") == std::vector<double>{3, -4});
  CHECK(c.run("x@GRAD_0") == std::vector<double>{9, 16});
  CHECK_THROWS_WITH(append_gradients(c.program, {"y"}, {"x"}, {"w", "w"}),
                    Contains("as many target gradients as targets"));
}
