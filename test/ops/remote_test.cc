// Ops that cross the cut: push and pull reach the Remote that the plan has, and Fluid's own ops are
// checked like all others.
#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// Remembers what was pushed, and gives out a number that identifies parameter and step.
class Recorder : public Remote {
 public:
  void push(int32_t param, const View& grad, uint64_t step) override {
    pushed.push_back({param, step, grad.as<float>()[0], grad.shape});
  }
  void pull(int32_t param, const View& value, uint64_t step) override {
    std::fill_n(value.as<float>(), value.numel(),
                static_cast<float>(10 * param) + static_cast<float>(step));
  }
  struct Pushed {
    int32_t param;
    uint64_t step;
    float first;
    Shape shape;
  };
  std::vector<Pushed> pushed;
};

Program pull_double_push() {
  Program p;
  Block& b = p.global();
  b.create({.name = "w", .shape = {2, 3}, .persistable = true});
  b.append({.type = "pull", .out = {{"Out", {"w"}}}, .attrs = {{"param", 4}}});
  b.append(
      {.type = "scale", .in = {{"X", {"w"}}}, .out = {{"Out", {"g"}}}, .attrs = {{"scale", 2.0f}}});
  b.append({.type = "push", .in = {{"X", {"g"}}}, .attrs = {{"param", 7}}});
  return p;
}

Op split(const Longs& sections) {
  return {.type = "split_selected_rows",
          .in = {{"X", {"g"}}},
          .out = {{"Out", {"a", "b"}}},
          .attrs = {{"height_sections", sections}}};
}

}  // namespace

TEST_CASE("push and pull", "[ops]") {
  const Program p = pull_double_push();
  ThreadPool pool(1);
  Scope scope;

  SECTION("move what the program says, with the number of the step") {
    Recorder remote;
    Plan plan(p, 0, scope, {}, {}, pool, {.remote = &remote});
    plan.run(3);
    plan.run(4);
    REQUIRE(remote.pushed.size() == 2);
    CHECK(remote.pushed[0].param == 7);
    CHECK(remote.pushed[0].step == 3);
    CHECK(remote.pushed[0].shape == Shape{2, 3});
    CHECK(remote.pushed[0].first == 86.0f);
    CHECK(remote.pushed[1].step == 4);
    CHECK(remote.pushed[1].first == 88.0f);
    CHECK(values_of(scope.tensor("w"))[5] == 44);
  }
  SECTION("are refused where there are no pservers") {
    Plan plan(p, 0, scope, {}, {}, pool, {});
    CHECK_THROWS_WITH(plan.run(0), Contains("no pservers are connected") &&
                                       Contains("--pservers") && Contains("running pull: Out=[w]"));
  }
  SECTION("need the number of the parameter") {
    Program other;
    other.global().create({.name = "w", .shape = {2}});
    CHECK_THROWS_WITH(other.global().append({.type = "pull", .out = {{"Out", {"w"}}}}),
                      Contains("'param' is missing"));
  }
  SECTION("selected rows are not pushed") {
    Program sparse;
    Block& b = sparse.global();
    b.create({.name = "w", .shape = {5, 2}, .persistable = true});
    b.create({.name = "ids", .dtype = DType::i64, .shape = {-1, 1}});
    b.create({.name = "dy", .shape = {-1, 2}});
    b.append({.type = "lookup_table_grad",
              .in = {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"dy"}}},
              .out = {{"W@GRAD", {"w@GRAD"}}},
              .attrs = {{"is_sparse", true}}});
    b.append({.type = "push", .in = {{"X", {"w@GRAD"}}}, .attrs = {{"param", 0}}});
    scope.var("w").tensor = random_tensor(DType::f32, {5, 2}, 1);
    Recorder remote;
    Plan plan(sparse, 0, scope, {"ids", "dy"}, {}, pool, {.remote = &remote});
    const Tensor ids = Tensor::of<int64_t>({1, 1}, {3}), dy = Tensor::of<float>({1, 2}, {1, 2});
    plan.feed(0, ids);
    plan.feed(1, dy);
    CHECK_THROWS_WITH(plan.run(0), Contains("cannot push 'w@GRAD'"));
  }
}

TEST_CASE("split_selected_rows", "[ops]") {
  Program p;
  Block& b = p.global();
  b.create({.name = "g", .kind = VarKind::selected_rows, .shape = {5, 3}});

  SECTION("gives each part its range of rows") {
    b.append(split({1, 4}));
    CHECK(b.var("a").kind == VarKind::selected_rows);
    CHECK(b.var("a").shape == Shape{1, 3});
    CHECK(b.var("b").shape == Shape{4, 3});
  }
  SECTION("the parts must be the whole, and as many as there are outputs") {
    CHECK_THROWS_WITH(b.append(split({3, 3})), Contains("6 rows") && Contains("has 5"));
    CHECK_THROWS_WITH(b.append(split({5})), Contains("has 1") && Contains("2 outputs"));
  }
  SECTION("a dense tensor is refused") {
    b.var("g").kind = VarKind::lod_tensor;
    CHECK_THROWS_WITH(b.append(split({1, 4})), Contains("must hold selected rows"));
  }
}

TEST_CASE("listen_and_serv is not an op of a plan", "[ops]") {
  Program p;
  p.global().append({.type = "listen_and_serv", .attrs = {{"endpoint", std::string("h:1")}}});
  CHECK(p.global().ops()[0]->attrs.get<int32_t>("Fanin") == 1);
  ThreadPool pool(1);
  Scope scope;
  CHECK_THROWS_WITH(Plan(p, 0, scope, {}, {}, pool, {}),
                    Contains("op listen_and_serv cannot be run"));
}
