// Which parameters the cut makes sparse tables, and what it says of them.
#include "graph/find_tables.h"

#include <catch2/catch.hpp>

#include "graph/transpile.h"
#include "layers/schedules.h"
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

const Names two_shards = {"a:1", "b:2"};

// Two lookups of one table, summed, and a fully connected layer.
struct Lookups : NetCase {
  std::string loss, table_rows;

  explicit Lookups(EmbeddingOptions options = {.is_sparse = true}, const Shape& size = {100, 4}) {
    net.main.random_seed = net.startup.random_seed = 5;
    data(b, "ids", {1}, {.dtype = DType::i64});
    data(b, "more", {1}, {.dtype = DType::i64});
    options.param_attr.name = "table";
    const std::string one = embedding(b, "ids", size, options);
    const std::string other = embedding(b, "more", size, options);
    table_rows = elementwise_add(b, one, other);
    loss = mean(b, fc(b, table_rows, 3));
  }
  Cut cut(TranspileOptions o = {.endpoints = two_shards}) const {
    o.tables = true;
    return transpile(net.main, net.startup, o);
  }
};

float setting(const TableSpec& t, const std::string& name) {
  for (const auto& [key, value] : t.settings)
    if (key == name) return value;
  FAIL("no setting " << name);
  return 0;
}

bool has_setting(const TableSpec& t, const std::string& name) {
  for (const auto& [key, value] : t.settings)
    if (key == name) return true;
  return false;
}

}  // namespace

TEST_CASE("a sparse parameter of lookups becomes a table of the trainer's half", "[graph]") {
  Lookups n({.is_sparse = true, .param_attr = {.initializer = init::Uniform{-0.5f, 0.25f, 9}}});
  minimize(n.b, n.loss, Optimizer("adagrad", 0.1, Dict{{"initial_accumulator_value", 0.5}}));
  const Cut cut = n.cut();
  REQUIRE(cut.trainer.tables.size() == 1);
  const TableSpec& t = cut.trainer.tables[0];
  CHECK(t.param == "table");
  CHECK(t.grad == "table@GRAD");
  CHECK(t.width == 4);
  CHECK(t.height == 100);
  CHECK(t.rule == "adagrad");
  CHECK(setting(t, "epsilon") == 1e-6f);
  CHECK(setting(t, "initial_accumulator_value") == 0.5f);
  CHECK(t.l2 == 0);
  CHECK(t.learning_rate == "learning_rate_0");
  CHECK(t.rate_factor == 1);
  CHECK(t.init == "uniform");
  CHECK(t.init_a == -0.5f);
  CHECK(t.init_b == 0.25f);
  CHECK(t.seed == 9);
  CHECK(t.first_values_sent);
  CHECK(cut.notes.empty());

  // No slice, no update, no state; the gradient stays sparse.
  for (const ParamGrad& p : cut.params) CHECK(p.param != "table");
  for (const SliceSpec& s : cut.slices) CHECK(s.param != "table");
  const Block& trainer = cut.trainer.global();
  CHECK(trainer.find("table") != nullptr);
  CHECK(trainer.find("table_moment_0") == nullptr);
  CHECK(trainer.var("table@GRAD").kind == VarKind::selected_rows);
  for (const auto& op : trainer.ops()) {
    CHECK(op->type != "adagrad");
    CHECK_FALSE((op->type == "send" && op->in.uses("table@GRAD")));
  }
  CHECK(cut.trainer_startup.global().find("table") != nullptr);
  CHECK(cut.trainer_startup.global().find("table_moment_0") != nullptr);  // sent with the rows
  for (const Program& p : cut.pservers) CHECK(p.global().find("table") == nullptr);
  for (const Program& p : cut.startups) CHECK(p.global().find("table_moment_0") == nullptr);
}

TEST_CASE("tables without the option stay dense slices", "[graph]") {
  Lookups n;
  minimize(n.b, n.loss, Optimizer("sgd", 0.1));
  const Cut cut = transpile(n.net.main, n.net.startup, {.endpoints = two_shards});
  CHECK(cut.trainer.tables.empty());
  CHECK(cut.table_shards.empty());
  CHECK(cut.params.size() == 3);
}

TEST_CASE("a distributed table without the option is refused, and the user told what to do",
          "[graph]") {
  Lookups n({.is_distributed = true}, {-1, 4});
  minimize(n.b, n.loss, Optimizer("sgd", 0.1));
  CHECK_THROWS_WITH(transpile(n.net.main, n.net.startup, {.endpoints = two_shards}),
                    Contains("'table'") && Contains("set is_sparse in place of is_distributed"));
}

TEST_CASE("geo: a trainer runs the whole program but the updates of its tables", "[graph]") {
  Lookups n({.is_distributed = true});
  minimize(n.b, n.loss, Optimizer("adagrad", 0.1));
  const Cut cut = n.cut({.endpoints = two_shards, .geo = true});
  REQUIRE(cut.trainer.tables.size() == 1);
  CHECK(cut.trainer.tables[0].learning_rate == "learning_rate_0");
  const Block& trainer = cut.trainer.global();
  CHECK(trainer.find("learning_rate_0") != nullptr);
  CHECK(trainer.find("table_moment_0") == nullptr);
  size_t updates = 0;
  for (const auto& op : trainer.ops()) {
    CHECK_FALSE((op->type == "send" || op->type == "recv"));
    updates += op->type == "adagrad";
    CHECK_FALSE(op->in.uses("table@GRAD"));
  }
  CHECK(updates == cut.params.size());
  CHECK(cut.trainer_startup.global().find("table") != nullptr);
  CHECK(cut.trainer_startup.global().find("table_moment_0") == nullptr);
  for (const auto& op : cut.trainer_startup.global().ops()) CHECK(op->type != "recv");
  CHECK(cut.table_shards == std::vector<size_t>{0, 1});
}

TEST_CASE("geo refuses tables whose ids wait for a row", "[graph]") {
  Lookups n({.is_distributed = true, .table = TableSpec{.admit_probability = 0.5f}});
  minimize(n.b, n.loss, Optimizer("sgd", 0.1));
  CHECK(n.cut().trainer.tables.size() == 1);
  CHECK_THROWS_WITH(n.cut({.endpoints = two_shards, .geo = true}),
                    Contains("'table' has probability") && Contains("train in another mode"));
}

TEST_CASE("a distributed table makes its own first values", "[graph]") {
  Lookups n({.is_distributed = true, .param_attr = {.initializer = init::Normal{0.5f, 2.0f}}});
  minimize(n.b, n.loss, Optimizer("sgd", 0.1));
  const Cut cut = n.cut();
  REQUIRE(cut.trainer.tables.size() == 1);
  const TableSpec& t = cut.trainer.tables[0];
  CHECK_FALSE(t.first_values_sent);
  CHECK(t.init == "normal");
  CHECK(t.init_a == 0.5f);
  CHECK(t.init_b == 2.0f);
  CHECK(t.seed == 5);
  CHECK(t.rule == "sgd");
  CHECK(cut.trainer.global().var("table@GRAD").kind == VarKind::selected_rows);
}

TEST_CASE("first values in one piece are sent, or refused", "[graph]") {
  const init::Values given{std::vector<float>(400, 0.5f)};
  SECTION("is_sparse") {
    Lookups n({.is_sparse = true, .param_attr = {.initializer = given}});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    CHECK(n.cut().trainer.tables.at(0).first_values_sent);
  }
  SECTION("is_distributed") {
    Lookups n({.is_distributed = true, .param_attr = {.initializer = given}});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    CHECK_THROWS_WITH(n.cut(), Contains("'table'") && Contains("in one piece"));
  }
}

TEST_CASE("rules that touch all rows are tables only where the user says distributed", "[graph]") {
  const auto cut_with = [](bool distributed, const Optimizer& optimizer) {
    Lookups n({.is_sparse = true, .is_distributed = distributed});
    minimize(n.b, n.loss, optimizer);
    return n.cut();
  };
  for (const char* rule : {"momentum", "adam", "adamax", "decayed_adagrad", "rmsprop"}) {
    CAPTURE(rule);
    const Cut sparse = cut_with(false, Optimizer(rule, 0.1));
    CHECK(sparse.trainer.tables.empty());
    REQUIRE(sparse.notes.size() == 1);
    CHECK_THAT(sparse.notes[0], Contains("'table' is sent whole"));
    const Cut table = cut_with(true, Optimizer(rule, 0.1));
    REQUIRE(table.trainer.tables.size() == 1);
    CHECK(table.trainer.tables[0].rule == rule);
    REQUIRE(table.notes.size() == 1);
    CHECK_THAT(table.notes[0], Contains("'table'") && Contains("other rows stay"));
  }
  for (const auto& [rule, keys] : {std::pair<const char*, Dict>{"sgd", {}},
                                   {"adagrad", {}},
                                   {"ftrl", {}},
                                   {"adam", Dict{{"lazy_mode", true}}}}) {
    CAPTURE(rule);
    const Cut sparse = cut_with(false, Optimizer(rule, 0.1, keys));
    CHECK(sparse.trainer.tables.size() == 1);
    CHECK(sparse.notes.empty());
  }
}

TEST_CASE("the decay of a distributed table touches the rows of a batch", "[graph]") {
  SECTION("distributed") {
    Lookups n({.is_distributed = true});
    minimize(n.b, n.loss, Optimizer("adagrad", 0.1, l2_decay(0.25f)));
    const Cut cut = n.cut();
    REQUIRE(cut.trainer.tables.size() == 1);
    CHECK(cut.trainer.tables[0].l2 == 0.25f);
    CHECK(cut.trainer.tables[0].grad == "table@GRAD");
    REQUIRE(cut.notes.size() == 1);
    CHECK_THAT(cut.notes[0], Contains("adagrad and L2"));
  }
  SECTION("sparse alone: every row decays, as in one process") {
    Lookups n;
    minimize(n.b, n.loss, Optimizer("adagrad", 0.1, l2_decay(0.25f)));
    CHECK(n.cut().trainer.tables.empty());
  }
  SECTION("L1 is refused") {
    Lookups n({.is_distributed = true});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1, l1_decay(0.25f)));
    CHECK_THROWS_WITH(n.cut(), Contains("'table'") && Contains("the op sign"));
  }
}

TEST_CASE("all shards know the learning rates of tables", "[graph]") {
  Lookups n({.is_sparse = true, .param_attr = {.learning_rate = 0.5f}});
  SECTION("a schedule and the parameter's own factor") {
    const std::string rate = exponential_decay(n.b, 0.1f, 10, 0.5f, false);
    minimize(n.b, n.loss, Optimizer("sgd", rate));
    const Cut cut = n.cut({.endpoints = {"a:1"}, .sparse_endpoints = {"a:2", "a:3"}});
    const TableSpec& t = cut.trainer.tables.at(0);
    CHECK(cut.table_shards == std::vector<size_t>{1, 2});
    REQUIRE(cut.pservers.size() == 3);
    for (const Program& p : cut.pservers) {
      const Var* v = p.global().find_local(t.learning_rate);
      REQUIRE(v != nullptr);
      CHECK(v->persistable);
      bool made = false;
      for (const auto& op : p.block(1).ops()) made |= op->out.uses(t.learning_rate);
      CHECK(made);
    }
    for (const SliceSpec& s : cut.slices) CHECK(s.shard == 0);
    const Op& serve = *cut.pservers[2].global().ops().back();
    CHECK(serve.attrs.get<std::string>("endpoint") == "a:3");
  }
  SECTION("a number") {
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    const Cut cut = n.cut({.endpoints = {"a:1", "b:1", "c:1"}, .slice_var_up = false});
    CHECK(cut.table_shards == std::vector<size_t>{0, 1, 2});
    for (const Program& p : cut.pservers)
      CHECK(p.global().find_local(cut.trainer.tables.at(0).learning_rate) != nullptr);
    CHECK(cut.shared == Names{"learning_rate_0"});
  }
}

TEST_CASE("a program of tables alone can be cut", "[graph]") {
  NetCase n;
  data(n.b, "ids", {1}, {.dtype = DType::i64});
  const std::string rows =
      embedding(n.b, "ids", {100, 4}, {.is_sparse = true, .param_attr = {.name = "table"}});
  minimize(n.b, mean(n.b, rows), Optimizer("sgd", 0.1));
  const Cut cut = transpile(n.net.main, n.net.startup, {.endpoints = two_shards, .tables = true});
  CHECK(cut.trainer.tables.size() == 1);
  CHECK(cut.slices.empty());
  CHECK(cut.shared == Names{"learning_rate_0"});
}

TEST_CASE("what is no table is named", "[graph]") {
  SECTION("another op reads it") {
    Lookups n({.is_sparse = true});
    n.loss = elementwise_add(n.b, n.loss, mean(n.b, "table"));
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    CHECK(n.cut().trainer.tables.empty());
  }
  SECTION("another op reads a distributed one") {
    Lookups n({.is_distributed = true});
    n.loss = elementwise_add(n.b, n.loss, mean(n.b, "table"));
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    CHECK_THROWS_WITH(n.cut(), Contains("'table'") && Contains("mean"));
  }
  SECTION("its gradient is clipped") {
    Lookups n({.is_distributed = true, .param_attr = {.gradient_clip = clip_by_norm(1)}});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    CHECK_THROWS_WITH(n.cut(), Contains("'table'") && Contains("clip_by_norm"));
  }
  SECTION("nothing trains it") {
    Lookups n({.is_distributed = true, .param_attr = {.trainable = false}});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    CHECK_THROWS_WITH(n.cut(), Contains("nothing trains the table 'table'"));
  }
}

TEST_CASE("a rule's settings are those of the op", "[graph]") {
  Lookups n;
  minimize(n.b, n.loss,
           Optimizer("adam", 0.1, Dict{{"lazy_mode", true}, {"beta1", 0.5}, {"epsilon", 0.25}}));
  const TableSpec t = n.cut().trainer.tables.at(0);
  CHECK(setting(t, "beta1") == 0.5f);
  CHECK(setting(t, "beta2") == 0.999f);
  CHECK(setting(t, "epsilon") == 0.25f);
  CHECK(setting(t, "lazy_mode") == 1);
  CHECK_FALSE(has_setting(t, "op_role"));
}
