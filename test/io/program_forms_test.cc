#include <catch2/catch.hpp>

#include "graph/dot.h"
#include "graph/text.h"
#include "io/sample.h"

using namespace paddle;
using Catch::Matchers::Contains;

TEST_CASE("the text of a program", "[graph]") {
  const std::string t = program_text(sample_program());
  CHECK(t.rfind("program: 2 blocks, random seed 7\nblock 0 (parent -1)\n", 0) == 0);
  CHECK_THAT(t, Contains("  var x: float32 [-1, 2], lod 1, stop_gradient, need_check_feed\n"));
  CHECK_THAT(t,
             Contains("  param fc_0.w_0: float32 [2, 3], persistable, learning rate x 0.5, l2 0.1, "
                      "global norm clipped to 5 in 'towers'\n"));
  CHECK_THAT(t, Contains("  var table: selected_rows float32 [9, 2], persistable\n"));
  CHECK_THAT(t, Contains("  var reader: reader, persistable\n"));
  CHECK_THAT(t, Contains("  op 0 mul: Out=[fc_0.tmp_0] <- X=[x], Y=[fc_0.w_0]"));
  CHECK_THAT(t, Contains("ints=[1, -2]") && Contains("a \"quoted\"\\nline"));
  CHECK_THAT(
      t, Contains(" optimize|lr_sched target\n") && Contains("block 1 (parent 0, forward 0)\n"));
  CHECK_THAT(t, !Contains("op_callstack") && !Contains("op_namescope"));
  CHECK(program_text(sample_program()) == t);
  // One line each: nothing in a name or an attribute breaks a line.
  CHECK(std::count(t.begin(), t.end(), '\n') == 1 + 2 + 9 + 4);
}

TEST_CASE("the words of roles and kinds", "[graph]") {
  CHECK(role_text(role::forward) == "forward");
  CHECK(role_text(role::forward | role::loss) == "loss");
  CHECK(role_text(role::optimize | role::lr_sched | 32) == "optimize|lr_sched|32");
  CHECK(name_of(VarKind::step_scopes) == "step_scopes");
  CHECK(name_of(static_cast<VarKind>(99)) == "kind 99");
  CHECK(escaped("a\tb\x01") == "a\\tb\\x01");
}

TEST_CASE("the graph of a program", "[graph]") {
  Program p;
  p.global().create({.name = "w\"x\\\n", .shape = {2}, .persistable = true, .param = ParamInfo{}});
  p.global().create({.name = "y", .shape = {-1}});
  Op op{"mul", {{"X", {"w\"x\\\n", "ghost"}}}, {{"Out", {"y"}}}};
  op.attrs.set("op_role", role::backward);
  p.global().adopt(op);
  const std::string d = program_dot(p);
  CHECK_THAT(d, Contains("digraph program {"));
  CHECK_THAT(d, Contains(R"(v0 [shape=ellipse, label="w\"x\\\\n\nfloat32 [2]", style=filled)"));
  CHECK_THAT(d, Contains("o0_0 [shape=box, style=filled, fillcolor=lightsalmon, label=\"mul\""));
  CHECK_THAT(d, Contains("v0 -> o0_0 [label=\"X\"]") && Contains("o0_0 -> v1 [label=\"Out\"]"));
  CHECK_THAT(d, Contains("style=dashed, label=\"ghost\""));
  CHECK_THAT(program_dot(sample_program()), Contains("subgraph cluster_1"));
}
