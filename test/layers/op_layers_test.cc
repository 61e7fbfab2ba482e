#include "layers/op_layers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "graph/op_def.h"
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("rows of layers of one op fit its definition", "[layers]") {
  for (const OpLayer& layer : op_layers()) {
    INFO(layer.name);
    const OpDef& def = op_def(layer.op);
    std::set<std::string> given;
    for (const OpLayer::Input& in : layer.inputs) {
      const auto slot = std::find_if(def.in.begin(), def.in.end(),
                                     [&](const SlotDef& s) { return s.name == in.slot; });
      REQUIRE(slot != def.in.end());
      CHECK(((slot->flags & SlotDef::optional) != 0) == (in.kind == OpLayer::Input::optional));
      CHECK(((slot->flags & SlotDef::many) != 0) == (in.kind == OpLayer::Input::several));
      given.insert(in.slot);
    }
    for (const SlotDef& slot : def.in)
      CHECK((given.count(slot.name) == 1 || (slot.flags & SlotDef::optional) != 0));
    for (const OpLayer::Setting& s : layer.settings) {
      const Attr* attr = def.attrs.find(s.attr.empty() ? s.argument : s.attr);
      REQUIRE(attr != nullptr);
      CHECK(attr->index() == s.fallback.index());
    }
    std::set<std::string> made(layer.results.begin(), layer.results.end());
    made.insert(layer.others.begin(), layer.others.end());
    std::set<std::string> wanted;
    for (const SlotDef& slot : def.out) wanted.insert(slot.name);
    CHECK(made == wanted);
  }
}

TEST_CASE("a layer of one op", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {3}), y = data(c.b, "y", {3});
  const Names out = build_op_layer(c.b, op_layer("cos_sim"), {{"X", {x}}, {"Y", {y}}});
  CHECK(out == Names{"cos_sim_0.tmp_0"});
  CHECK(op_types(c.net.main) == Names{"cos_sim"});
  CHECK(c.net.main.global().ops()[0]->out["XNorm"] == Names{"cos_sim_0.tmp_1"});
  CHECK(c.b.var(out[0]).shape == Shape{-1, 1});
  const Names named =
      build_op_layer(c.b, op_layer("cumsum"), {{"X", {x}}}, {{"reverse", true}}, "sums");
  CHECK(named == Names{"sums.tmp_0"});
  CHECK(c.net.main.global().ops()[1]->attrs.get<bool>("reverse"));
  CHECK_THROWS_WITH(op_layer("cosine"), Contains("'cosine'"));
}

TEST_CASE("prelu has an alpha of the mode's shape", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {3, 4, 5});
  CHECK(prelu(c.b, x, "all") == "prelu_0.tmp_0");
  prelu(c.b, x, "channel");
  prelu(c.b, x, "element");
  CHECK(c.b.var("prelu_0.w_0").shape == Shape{1});
  CHECK(c.b.var("prelu_1.w_0").shape == Shape{1, 3, 1, 1});
  CHECK(c.b.var("prelu_2.w_0").shape == Shape{1, 3, 4, 5});
  CHECK_THROWS_WITH(prelu(c.b, x, "each"), Contains("'each'"));
}
