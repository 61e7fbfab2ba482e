#include "graph/program.h"

#include <catch2/catch.hpp>

#include "graph/backward.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

Op relu(const std::string& x, const std::string& out) {
  return {.type = "relu", .in = {{"X", {x}}}, .out = {{"Out", {out}}}};
}

// x -> a -> b, and x -> c beside them.
Program chain() {
  Program p;
  Block& block = p.global();
  block.create({.name = "x", .shape = {-1, 3}});
  block.append(relu("x", "b_first"));
  block.append(relu("b_first", "a_second"));
  block.append(relu("x", "c"));
  return p;
}

Names var_names(const Program& p) {
  Names out;
  for (const auto& v : p.global().vars()) out.push_back(v->name);
  return out;
}

}  // namespace

TEST_CASE("a block infers what its ops make", "[graph]") {
  const Program p = chain();
  CHECK(p.global().var("a_second").shape == Shape{-1, 3});
  CHECK(p.global().ops()[0]->role() == role::forward);
  CHECK(p.global().ops()[0]->attrs.get<std::string>(role::scope_attr) == "/");
}

TEST_CASE("an unknown variable gets a suggestion", "[graph]") {
  const Program p = chain();
  CHECK_THROWS_WITH(p.global().var("a_secand"),
                    Contains("there is no variable 'a_secand'") && Contains("'a_second'"));
  CHECK_THROWS_WITH(Program(p).global().append(relu("y", "z")), Contains("'y'"));
}

TEST_CASE("a shape error names the op and its variables", "[graph]") {
  Program p;
  p.global().create({.name = "x", .shape = {2, 3}});
  p.global().create({.name = "y", .shape = {4}});
  CHECK_THROWS_WITH(
      p.global().append(
          {.type = "elementwise_add", .in = {{"X", {"x"}}, {"Y", {"y"}}}, .out = {{"Out", {"z"}}}}),
      Contains("op elementwise_add") &&
          Contains("while adding elementwise_add: Out=[z] <- X=[x], Y=[y]"));
}

TEST_CASE("roles last as long as their guard", "[graph]") {
  Program p = chain();
  {
    const OpRoleGuard outer(p, role::optimize, {"w", "w@GRAD"});
    {
      const OpRoleGuard inner(p, role::lr_sched);
      CHECK(p.global().append(relu("x", "r1")).role() == role::lr_sched);
    }
    const Op& op = p.global().append(relu("x", "r2"));
    CHECK(op.role() == role::optimize);
    CHECK(op.attrs.get<Strings>(role::var_attr) == Strings{"w", "w@GRAD"});
  }
  CHECK(p.global().append(relu("x", "r3")).role() == role::forward);
}

TEST_CASE("a copy is its own program", "[graph]") {
  const Program p = chain();
  Program copy = p;
  CHECK(copy.revision() != p.revision());
  copy.global().rename_var("x", "input");
  CHECK(p.global().find("x") != nullptr);
  CHECK(&copy.global().program() == &copy);
  const Program moved = std::move(copy);
  CHECK(&moved.global().program() == &moved);
  CHECK(moved.global().find("input") != nullptr);
}

TEST_CASE("renaming reaches every op of the block", "[graph]") {
  Program p = chain();
  const uint64_t before = p.revision();
  p.global().rename_var("x", "input");
  CHECK(p.revision() != before);
  CHECK(p.global().find("x") == nullptr);
  CHECK(p.global().ops()[0]->in["X"] == Names{"input"});
  CHECK(p.global().ops()[2]->in["X"] == Names{"input"});
  CHECK_THROWS_WITH(p.global().rename_var("gone", "z"), Contains("no such variable"));
  CHECK_THROWS_WITH(p.global().rename_var("c", "input"), Contains("that name is taken"));
}

TEST_CASE("pruning keeps what the targets need", "[graph]") {
  const Program p = chain();
  const Program kept = p.pruned({"a_second"});
  REQUIRE(kept.global().ops().size() == 2);
  CHECK(var_names(kept) == Names{"a_second", "b_first", "x"});  // sorted
  CHECK(p.global().ops().size() == 3);
  CHECK_THROWS_WITH(p.pruned({"nothing"}), Contains("there is no variable 'nothing'"));
}

TEST_CASE("clone for test sets is_test and leaves the rest", "[graph]") {
  Program p = chain();
  p.global().append({.type = "dropout",
                     .in = {{"X", {"x"}}},
                     .out = {{"Out", {"d"}}, {"Mask", {"m"}}},
                     .attrs = {{"dropout_prob", 0.5f}}});
  const Program test = p.clone(true);
  CHECK(test.global().ops().back()->attrs.get<bool>("is_test"));
  CHECK_FALSE(p.global().ops().back()->attrs.get<bool>("is_test"));
  CHECK_FALSE(test.global().ops()[0]->attrs.has("is_test"));
  CHECK_FALSE(p.clone(false).global().ops().back()->attrs.get<bool>("is_test"));
}

TEST_CASE("a sub-block sees its parent's variables", "[graph]") {
  Program p = chain();
  const Block& sub = p.append_block(0);
  CHECK(sub.find("x") == p.global().find("x"));
  CHECK(sub.find_local("x") == nullptr);
  CHECK_THROWS_WITH(p.block(7), Contains("there is no block 7"));
}

TEST_CASE("names are counted per key", "[graph]") {
  NameMaker names;
  CHECK(names.next("fc") == "fc_0");
  CHECK(names.next("fc") == "fc_1");
  CHECK(names.next("fc_0.tmp") == "fc_0.tmp_0");
  CHECK(names.next("embedding") == "embedding_0");
  names.prefix = "left/";
  CHECK(names.next("fc") == "left/fc_2");
}

TEST_CASE("ops know where they were made", "[graph]") {
  Program p;
  p.global().create({.name = "x", .shape = {-1, 3}});
  p.current_origin = "train.py:3: y = relu(x)";
  p.global().append(relu("x", "y"));
  p.current_origin = "train.py:4: loss = mean(y)";
  p.global().append({.type = "mean", .in = {{"X", {"y"}}}, .out = {{"Out", {"loss"}}}});
  p.current_origin.clear();
  append_gradients(p, {"loss"}, {"x"});
  p.global().append(relu("x", "z"));

  const auto origin = [&](const std::string& type) {
    for (const auto& op : p.global().ops())
      if (op->type == type) return op->origin;
    return std::string("no such op");
  };
  CHECK(origin("relu") == "train.py:3: y = relu(x)");
  CHECK(origin("relu_grad") == "train.py:3: y = relu(x)");  // a gradient is its forward op's
  CHECK(origin("mean_grad") == "train.py:4: loss = mean(y)");
  CHECK(p.global().ops().back()->origin.empty());

  SECTION("which is no part of what they are") {
    Op same = *p.global().ops()[0];
    same.origin = "elsewhere";
    CHECK(same == *p.global().ops()[0]);
  }
  SECTION("and errors say it") {
    p.global().create({.name = "w", .shape = {5, 2}});
    p.current_origin = "train.py:9: y = mul(x, w)";
    CHECK_THROWS_WITH(
        p.global().append(
            {.type = "mul", .in = {{"X", {"x"}}, {"Y", {"w"}}}, .out = {{"Out", {"bad"}}}}),
        Contains("while adding mul") && Contains("made at train.py:9: y = mul(x, w)"));
  }
}
