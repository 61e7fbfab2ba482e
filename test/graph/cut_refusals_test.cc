// Programs and options that cannot be cut are refused with a sentence.
#include <catch2/catch.hpp>

#include "graph/transpile.h"
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace cut_refusals_test {

struct Case : NetCase {
  std::string loss;

  explicit Case(const ParamAttr& attr = {}) {
    ParamAttr w = attr, bias = attr;
    w.name = "w";
    bias.name = "bias";
    data(b, "x", {4});
    loss = mean(b, fc(b, "x", 3, {.param_attr = w, .bias_attr = bias}));
  }
  void train() { minimize(b, loss, Optimizer("sgd", 0.1)); }
  Cut cut(const TranspileOptions& o = {}) const { return transpile(net.main, net.startup, o); }
  Op& op(const std::string& type) {
    for (const auto& op : net.main.global().ops())
      if (op->type == type) return *op;
    FAIL("no op " << type);
    return *net.main.global().ops()[0];
  }
  // An op that belongs to the update of w.
  void in_update(Op op) {
    const OpRoleGuard guard(net.main, role::optimize, {"w", "w@GRAD"});
    b.op(std::move(op));
  }
};

TEST_CASE("options of a cut are checked", "[graph]") {
  Case c;
  c.train();
  CHECK_NOTHROW(c.cut());
  CHECK_THROWS_WITH(c.cut({.endpoints = {}}), Contains("no pserver") && Contains("--pservers"));
  CHECK_THROWS_WITH(c.cut({.endpoints = {"a:1", "b:1", "a:1"}}), Contains("a:1 is listed twice"));
  CHECK_THROWS_WITH(c.cut({.trainers = 0}), Contains("at least one trainer"));
  CHECK_THROWS_WITH(c.cut({.trainer_id = 2, .trainers = 2}),
                    Contains("trainer id 2") && Contains("from 0 to 1"));
  CHECK_THROWS_WITH(c.cut({.min_block_size = 0}), Contains("min_block_size"));
  CHECK(split_method_of("bytes") == SplitMethod::by_bytes);
  CHECK(split_method_of("round_robin") == SplitMethod::round_robin);
  CHECK(split_method_of("hash") == SplitMethod::hash_name);
  CHECK_THROWS_WITH(split_method_of("round_robbin"), Contains("did you mean 'round_robin'"));
}

TEST_CASE("programs that cannot be cut", "[graph]") {
  SECTION("no optimizer") {
    CHECK_THROWS_WITH(Case().cut(), Contains("no optimizer") && Contains("minimize()"));
  }
  SECTION("a half of a cut") {
    Case c;
    c.train();
    const Cut cut = c.cut();
    CHECK_THROWS_WITH(transpile(cut.trainer, c.net.startup, {}), Contains("half of a cut already"));
    CHECK_THROWS_WITH(transpile(cut.pservers[0], c.net.startup, {}),
                      Contains("half of a cut already"));
  }
  SECTION("the global norm of several parameters") {
    Case c({.gradient_clip = clip_by_global_norm(1)});
    c.train();
    CHECK_THROWS_WITH(c.cut(), Contains("the update of 'bias'") && Contains("the update of 'w'") &&
                                   Contains("clip by norm or by value"));
  }
  SECTION("an op of the optimizer that names no parameter") {
    Case c;
    c.train();
    c.op("sgd").attrs.set(role::var_attr, Strings{});
    CHECK_THROWS_WITH(c.cut(), Contains("op_role_var") && Contains("sgd"));
  }
  SECTION("a parameter that nothing updates") {
    Case c;
    c.train();
    c.op("sgd").out.set("ParamOut", {"elsewhere"});
    c.b.block().create({.name = "elsewhere", .shape = {3}});
    CHECK_THROWS_WITH(c.cut(), Contains("no op updates the parameter 'bias'"));
  }
  SECTION("a gradient that nothing computes") {
    Case c;
    c.train();
    c.op("mul_grad").out.rename("w@GRAD", "other");
    CHECK_THROWS_WITH(c.cut(), Contains("makes the gradient 'w@GRAD'"));
  }
  SECTION("a gradient of another shape") {
    Case c;
    c.train();
    c.b.var("w@GRAD").shape = {4, 4};
    CHECK_THROWS_WITH(c.cut(), Contains("[4, 4]") && Contains("[4, 3]"));
  }
  SECTION("a parameter of unknown length") {
    Case c;
    c.train();
    c.b.var("w").shape = {-1, 3};
    CHECK_THROWS_WITH(c.cut(), Contains("the shape [-1, 3] of the parameter 'w' is not known"));
  }
  SECTION("an update that reads what only the trainer has") {
    Case c;
    c.train();
    c.in_update({.type = "scale", .in = {{"X", {c.loss}}}, .out = {{"Out", {"tmp"}}}});
    CHECK_THROWS_WITH(c.cut(), Contains("the update of 'w' reads '" + c.loss + "'") &&
                                   Contains("only the trainer computes"));
  }
  SECTION("state that two updates share") {
    Case c;
    c.train();
    for (const char* param : {"w", "bias"}) {
      const OpRoleGuard guard(c.net.main, role::optimize, {param, grad_name(param)});
      c.b.op(
          {.type = "fill_constant", .out = {{"Out", {"state"}}}, .attrs = {{"shape", Longs{1}}}});
    }
    CHECK_THROWS_WITH(c.cut(), Contains("both write 'state'"));
  }
  SECTION("a schedule that reads what only the trainer has") {
    Case c;
    c.train();
    const OpRoleGuard guard(c.net.main, role::lr_sched);
    c.b.op({.type = "scale", .in = {{"X", {c.loss}}}, .out = {{"Out", {"rate"}}}});
    CHECK_THROWS_WITH(c.cut(), Contains("computed from '" + c.loss + "'"));
  }
  SECTION("a network that reads what only pservers have") {
    Case c;
    minimize(c.b, c.loss, Optimizer("momentum", 0.1));
    c.b.op({.type = "scale", .in = {{"X", {"w_velocity_0"}}}, .out = {{"Out", {"tmp"}}}});
    CHECK_THROWS_WITH(c.cut(), Contains("reads 'w_velocity_0', which pservers compute"));
  }
}

}  // namespace cut_refusals_test
