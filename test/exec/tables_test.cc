// Sparse tables in a plan: the same bits as a parameter that is one array, for every rule.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "exec/networks.h"
#include "exec/table_store.h"
#include "graph/transpile.h"
#include "layers/schedules.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

constexpr int64_t height = 40, width = 5;
constexpr float low = -0.5f, high = 0.25f;

enum class Kind { dense, sparse, distributed };

// Two slots share a table, one of them with padding; a third slot has a table of its own, with one
// id per sample.
struct Slots3 : Trained {
  Scope scope;
  Executor exe;

  Slots3(Kind kind, const std::function<void(const Builder&, const std::string&)>& train,
         int64_t rows = height, bool sequences = true, bool all_slots = true) {
    const Builder b(net);
    net.main.random_seed = net.startup.random_seed = 3;
    for (const char* name : {"a", "b"})
      data(b, name, {1}, {.dtype = DType::i64, .lod_level = sequences ? 1 : 0});
    data(b, "c", {1}, {.dtype = DType::i64});
    data(b, "y", {1}, {.dtype = DType::i64});
    EmbeddingOptions o{.is_sparse = kind == Kind::sparse,
                       .is_distributed = kind == Kind::distributed,
                       .param_attr = {.name = "shared", .initializer = init::Uniform{low, high}}};
    const auto pooled = [&](const std::string& rows_of) {
      return sequences ? sequence_pool(b, rows_of, "sum") : rows_of;
    };
    const std::string a = pooled(embedding(b, "a", {rows, width}, o));
    o.padding_idx = 0;
    const std::string second = pooled(embedding(b, "b", {rows, width}, o));
    o.padding_idx = {};
    o.param_attr.name = "own";
    const std::string c = embedding(b, "c", {rows, width}, o);
    const std::string all = all_slots ? concat(b, {{a, second, c}}, 1) : c;
    loss = mean(b, cross_entropy(b, fc(b, all, 3, {.act = "softmax"}), "y"));
    train(b, loss);
    exe.run(net.startup, scope);
    if (kind == Kind::distributed) return;
    for (const char* name : {"shared", "own"}) fill(name, rows);
  }

  // The first values that rows of a table of this name have.
  void fill(const std::string& name, int64_t rows) {
    Tensor t(DType::f32, {rows, width});
    for (int64_t id = 0; id < rows; ++id)
      init_row(RowInit::uniform(low, high), init_key(3, name), static_cast<uint64_t>(id), width,
               t.data<float>() + id * width);
    scope.var(name).tensor = t;
  }

  float step(const Feeds& f, uint64_t number) {
    return exe.run(net.main, scope, f, {loss}, number)[0].data<float>()[0];
  }

  // All rows of a parameter, wherever they are.
  std::vector<float> rows_of(const std::string& name) {
    std::vector<float> out(height * width);
    if (TableStore::Kept* k = scope.part<TableStore>().find(name)) {
      std::vector<uint64_t> ids(height);
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = i;
      k->table->pull(ids, out.data());
    } else {
      std::memcpy(out.data(), scope.tensor(name).raw(), out.size() * sizeof(float));
    }
    return out;
  }
};

// Samples of several ids, some of them the padding of slot b, which is id 0; `all`: every id
// occurs.
Feeds batch(uint64_t seed, int64_t samples, bool all, bool sequences = true) {
  const RandomStream random(seed, 7);
  uint64_t at = 0;
  const auto slot = [&](int64_t per_sample, int64_t first) {
    const int64_t n = samples * per_sample;
    Tensor t(DType::i64, {n, 1});
    for (int64_t i = 0; i < n; ++i)
      t.data<int64_t>()[i] =
          all ? i % height : first + static_cast<int64_t>(random.below(at++, 12)) * 3;
    return t;
  };
  Feeds out;
  for (const char* name : {"a", "b"}) {
    Tensor t = slot(sequences ? 4 : 1, std::string(name) == "a" ? 3 : 0);
    if (sequences) {
      Lod lod(1);
      for (int64_t i = 0; i <= samples; ++i) lod[0].push_back(static_cast<size_t>(4 * i));
      t.set_lod(lod);
    }
    out.emplace_back(name, t);
  }
  out.emplace_back("c", slot(1, 3));
  out.emplace_back("y", labels(samples, 3));
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

using Train = std::function<void(const Builder&, const std::string&)>;
Train with(const std::string& rule, const Dict& keys = {}, Regularizer decay = {}) {
  return [=](const Builder& b, const std::string& loss) {
    minimize(b, loss, Optimizer(rule, 0.2, decay, keys));
  };
}

// Row 0 is padding of one slot. A parameter is updated there with a gradient of 0, which nobody
// sees; a table leaves it alone.
void compare_rows(Slots3& table, Slots3& whole, bool padding_too) {
  REQUIRE(table.scope.part<TableStore>().find("own") != nullptr);
  for (const char* name : {"shared", "own"}) {
    if (table.scope.part<TableStore>().find(name) == nullptr) continue;
    CAPTURE(name);
    std::vector<float> mine = table.rows_of(name), theirs = whole.rows_of(name);
    if (!padding_too) {
      std::fill_n(mine.begin(), width, 0.0f);
      std::fill_n(theirs.begin(), width, 0.0f);
    }
    CHECK(same_bits(mine, theirs));
  }
}

void check_same(Slots3& table, Slots3& whole, bool all, bool sequences = true) {
  for (uint64_t step = 0; step < 6; ++step) {
    const Feeds f = batch(step, step % 2 == 0 ? 10 : 6, all, sequences);
    INFO("step " << step);
    CHECK(table.step(f, step) == whole.step(f, step));
  }
  compare_rows(table, whole, all);
  CHECK(table.scope.find("shared") == nullptr);  // there is no array of it
}

Names types_of(const Plan& plan) {
  Names out;
  for (const OpCost& c : plan.profile()) out.push_back(c.op.substr(0, c.op.find(':')));
  return out;
}

int64_t count_of(const Names& list, const std::string& word) {
  return std::count(list.begin(), list.end(), word);
}

}  // namespace

TEST_CASE("a table has the bits of a sparse parameter, with repeated ids", "[exec]") {
  const bool sequences = GENERATE(true, false);
  const auto check = [&](const Train& train) {
    Slots3 table(Kind::distributed, train, height, sequences),
        whole(Kind::sparse, train, height, sequences);
    check_same(table, whole, false, sequences);
  };
  SECTION("adagrad") { check(with("adagrad", {{"initial_accumulator_value", 0.25}})); }
  SECTION("ftrl") { check(with("ftrl", {{"l1", 0.01}})); }
  SECTION("lazy adam") { check(with("adam", {{"lazy_mode", true}})); }
  SECTION("a schedule of the rate") {
    check([](const Builder& b, const std::string& loss) {
      minimize(b, loss, Optimizer("adagrad", exponential_decay(b, 0.3f, 2, 0.5f)));
    });
  }
  SECTION("the parameter's own factor") {
    check([](const Builder& b, const std::string& loss) {
      b.var("shared").param->learning_rate = 0.5f;
      minimize(b, loss, Optimizer("adagrad", 0.2));
    });
  }
}

TEST_CASE("sgd of a table adds up the gradients of an id first, as a dense one does", "[exec]") {
  Slots3 table(Kind::distributed, with("sgd"), height, true, false),
      whole(Kind::dense, with("sgd"), height, true, false);
  check_same(table, whole, false);
}

TEST_CASE("where all rows learn in each step, every rule has the bits of an array", "[exec]") {
  const auto check = [](Slots3&& table, Slots3&& whole) {
    for (uint64_t step = 0; step < 5; ++step) {
      const Feeds f = batch(step, height, true);
      CHECK(table.step(f, step) == whole.step(f, step));
    }
    compare_rows(table, whole, true);
  };
  const auto sparse = [&](const std::string& rule, const Dict& keys = {}) {
    const Train train = with(rule, keys);
    check(Slots3(Kind::distributed, train), Slots3(Kind::sparse, train));
  };
  const auto decayed = [&](const std::string& rule) {  // a decayed sparse gradient is dense
    const Train train = with(rule, {}, l2_decay(0.1f));
    check(Slots3(Kind::distributed, train, height, true, false),
          Slots3(Kind::dense, train, height, true, false));
  };
  SECTION("momentum") { sparse("momentum", {{"use_nesterov", true}}); }
  SECTION("adam") { sparse("adam"); }
  SECTION("adamax") { sparse("adamax"); }
  SECTION("decayed_adagrad") { sparse("decayed_adagrad"); }
  SECTION("rmsprop") { sparse("rmsprop", {{"momentum", 0.5}}); }
  SECTION("centered rmsprop") { sparse("rmsprop", {{"centered", true}}); }
  SECTION("adadelta") { sparse("adadelta"); }
  SECTION("sgd with L2") { decayed("sgd"); }
  SECTION("adam with L2") { decayed("adam"); }
}

TEST_CASE("lookups of a table stay fused, and one op pulls and pushes", "[exec]") {
  Slots3 n(Kind::distributed, with("adagrad"));
  const Names feeds = {"a", "b", "c", "y"};
  Plan& plan = n.exe.plan(n.net.main, n.scope, feeds, {n.loss});
  const Names types = types_of(plan);
  CHECK(count_of(types, "pull_rows") == 2);
  CHECK(count_of(types, "push_rows") == 2);
  CHECK(count_of(types, "fused_embedding_seq_pool") == 2);
  CHECK(count_of(types, "fused_embedding_seq_pool_grad") == 2);
  CHECK(count_of(types, "adagrad") == 2);  // of fc
}

TEST_CASE("a test program looks rows up and makes none", "[exec]") {
  Slots3 n(Kind::distributed, with("adagrad"), -1);
  n.step(batch(1, 5, false), 0);
  const TableStore::Kept& kept = *n.scope.part<TableStore>().find("shared");
  const size_t rows = kept.table->rows();
  const uint64_t digest = kept.table->digest();
  CHECK(rows > 0);
  const Program test = n.net.main.clone(true).pruned({n.loss});
  const Feeds other = batch(99, 40, true);
  const float first = n.exe.run(test, n.scope, other, {n.loss})[0].data<float>()[0];
  CHECK(n.exe.run(test, n.scope, other, {n.loss})[0].data<float>()[0] == first);
  CHECK(kept.table->rows() == rows);
  CHECK(kept.table->digest() == digest);
  CHECK(kept.version == 1);
}

TEST_CASE("a table before any update tests with its first values", "[exec]") {
  Slots3 table(Kind::distributed, with("adagrad")), whole(Kind::sparse, with("adagrad"));
  const Feeds f = batch(4, 7, false);
  const Program test = table.net.main.clone(true).pruned({table.loss});
  CHECK(table.exe.run(test, table.scope, f, {table.loss})[0].data<float>()[0] ==
        whole.exe.run(test, whole.scope, f, {whole.loss})[0].data<float>()[0]);
  check_same(table, whole, false);
}

TEST_CASE("tables of any height take any id", "[exec]") {
  const int64_t rows = GENERATE(int64_t{-1}, int64_t{1} << 40);
  Trained t;
  Scope scope;
  Executor exe;
  const Builder b(t.net);
  data(b, "ids", {1}, {.dtype = DType::i64});
  const std::string e =
      embedding(b, "ids", {rows, 4}, {.is_distributed = true, .param_attr = {.name = "big"}});
  t.loss = mean(b, fc(b, e, 2));
  minimize(b, t.loss, Optimizer("adam", 0.1));
  exe.run(t.net.startup, scope);
  const int64_t top = rows < 0 ? std::numeric_limits<int64_t>::min() : rows - 1;
  const Feeds f = {{"ids", Tensor::of<int64_t>({4, 1}, {0, top, 7, top})}};
  for (uint64_t i = 0; i < 3; ++i) exe.run(t.net.main, scope, f, {t.loss}, i);
  const Table& table = *scope.part<TableStore>().find("big")->table;
  CHECK(table.rows() == 3);
  CHECK(table.find(static_cast<uint64_t>(top))->count == 3);
  CHECK(scope.find("big_moment1_0") == nullptr);
}

TEST_CASE("ids outside of a table are named", "[exec]") {
  Slots3 n(Kind::distributed, with("adagrad"), height, false);
  Feeds f = batch(1, 5, false, false);
  for (const int64_t bad : {int64_t{-1}, height, std::numeric_limits<int64_t>::max()}) {
    f[0].second.data<int64_t>()[3] = bad;
    CHECK_THROWS_WITH(n.step(f, 0), Contains(text("the id ", bad)) && Contains("position 3") &&
                                        Contains("'a'") && Contains("'shared'") &&
                                        Contains("rows 0 to 39"));
  }
  CHECK(n.scope.part<TableStore>().find("shared") == nullptr);
}

TEST_CASE("an empty batch is a step without rows", "[exec]") {
  Trained t;
  Scope scope;
  Executor exe;
  const Builder b(t.net);
  data(b, "ids", {1}, {.dtype = DType::i64});
  const std::string e =
      embedding(b, "ids", {-1, 4}, {.is_distributed = true, .param_attr = {.name = "table"}});
  t.loss = reduce_sum(b, e);
  minimize(b, t.loss, Optimizer("sgd", 0.5));
  exe.run(t.net.startup, scope);
  exe.run(t.net.main, scope, {{"ids", Tensor(DType::i64, {0, 1})}}, {}, 0);
  const TableStore::Kept& k = *scope.part<TableStore>().find("table");
  CHECK(k.version == 1);
  CHECK(k.table->rows() == 0);
  exe.run(t.net.main, scope, {{"ids", Tensor::of<int64_t>({2, 1}, {5, 5})}}, {}, 1);
  CHECK(k.version == 2);
  CHECK(k.table->rows() == 1);
}

TEST_CASE("the startup program begins a table anew", "[exec]") {
  Slots3 n(Kind::distributed, with("adagrad"));
  const Feeds f = batch(1, 5, false);
  const float first = n.step(f, 0);
  CHECK(n.step(f, 1) != first);
  n.exe.run(n.net.startup, n.scope);
  CHECK(n.step(f, 0) == first);
}

TEST_CASE("what a table cannot do is said", "[exec]") {
  SECTION("no startup program") {
    Slots3 n(Kind::distributed, with("sgd"));
    Scope empty;
    CHECK_THROWS_WITH(n.exe.run(n.net.main, empty, batch(1, 5, false), {n.loss}),
                      Contains("startup program"));
  }
  SECTION("fetching all of it") {
    Slots3 n(Kind::distributed, with("sgd"));
    for (const char* name : {"shared", "shared@GRAD"})
      CHECK_THROWS_WITH(n.exe.run(n.net.main, n.scope, batch(1, 5, false), {name}),
                        Contains(name) && Contains("rows by id"));
  }
  SECTION("first values in one piece") {
    Trained t;
    const Builder b(t.net);
    data(b, "ids", {1}, {.dtype = DType::i64});
    embedding(b, "ids", {2, 2},
              {.is_distributed = true,
               .param_attr = {.name = "t", .initializer = init::Values{{1, 2, 3, 4}}}});
    Scope scope;
    CHECK_THROWS_WITH(Executor().run(t.net.startup, scope),
                      Contains("'t'") && Contains("in one piece"));
  }
}

TEST_CASE("ids that are computed behind the first lookup are computed before it", "[exec]") {
  const auto loss_of = [](bool distributed) {
    Trained t;
    Scope scope;
    Executor exe;
    const Builder b(t.net);
    t.net.main.random_seed = t.net.startup.random_seed = 3;
    data(b, "ids", {1}, {.dtype = DType::i64});
    const EmbeddingOptions o{.is_sparse = true,
                             .is_distributed = distributed,
                             .param_attr = {.name = "shared", .initializer = init::Constant{0.5f}}};
    const std::string one = embedding(b, "ids", {height, width}, o);
    const std::string next = scale(b, "ids", {.scale = 1, .bias = 1});
    const std::string two = embedding(b, next, {height, width}, o);
    t.loss = mean(b, fc(b, elementwise_mul(b, one, two), 1));
    minimize(b, t.loss, Optimizer("adagrad", 0.2));
    exe.run(t.net.startup, scope);
    const Feeds f = {{"ids", Tensor::of<int64_t>({3, 1}, {3, 4, 3})}};
    std::vector<float> out;
    for (uint64_t i = 0; i < 4; ++i)
      out.push_back(exe.run(t.net.main, scope, f, {t.loss}, i)[0].data<float>()[0]);
    return out;
  };
  CHECK(loss_of(true) == loss_of(false));
}

TEST_CASE("the trainer's half pulls and pushes the rows of its tables", "[exec]") {
  // The rows stay in a table here; the rate is what the shard of a real job would compute.
  struct Rows : Remote {
    Table table;
    uint64_t pushes = 0;
    explicit Rows(const TableSpec& spec) : table(table_options(spec)) {}
    void push(int32_t, const View&, uint64_t) override {}
    void pull(int32_t, const View&, uint64_t) override {}
    void pull_rows(int32_t, std::span<const uint64_t> ids, float* rows, uint64_t) override {
      table.pull(ids, rows);
    }
    void push_rows(int32_t, std::span<const uint64_t> ids, const float* grads, uint64_t) override {
      table.push(ids, grads, 0.2f, pushes++);
    }
  };
  const auto make = [](Trained& t, bool distributed) {
    const Builder b(t.net);
    t.net.main.random_seed = t.net.startup.random_seed = 3;
    data(b, "ids", {1}, {.dtype = DType::i64});
    const EmbeddingOptions o{
        .is_sparse = true, .is_distributed = distributed, .param_attr = {.name = "shared"}};
    t.loss = mean(b, square(b, embedding(b, "ids", {-1, width}, o)));
    minimize(b, t.loss, Optimizer("adagrad", 0.2));
  };
  Trained t;
  make(t, true);
  const Cut cut = transpile(t.net.main, t.net.startup, {.endpoints = {"a:1"}, .tables = true});
  REQUIRE(cut.trainer.tables.size() == 1);
  Rows rows(cut.trainer.tables[0]);
  Executor remote({.plan = {.remote = &rows}}), local;
  Scope far, near;
  remote.run(t.net.startup, far);
  local.run(t.net.startup, near);
  for (uint64_t i = 0; i < 4; ++i) {
    const Feeds f = {{"ids", Tensor::of<int64_t>({3, 1}, {3, static_cast<int64_t>(i), 3})}};
    CHECK(remote.run(cut.trainer, far, f, {t.loss}, i)[0].data<float>()[0] ==
          local.run(t.net.main, near, f, {t.loss}, i)[0].data<float>()[0]);
  }
  CHECK(rows.pushes == 4);
  CHECK(rows.table.digest() == near.part<TableStore>().find("shared")->table->digest());
  CHECK_THROWS_WITH(remote.run(t.net.main, far, {{"ids", Tensor(DType::i64, {1, 1})}}, {t.loss}),
                    Contains("'shared'") && Contains("cut the program"));
}

TEST_CASE("a table is saved and loaded, and goes on with the same bits", "[exec]") {
  const auto train = with("adam", {{"lazy_mode", true}});
  Slots3 n(Kind::distributed, train, -1);
  for (uint64_t i = 0; i < 3; ++i) n.step(batch(i, 8, false), i);
  std::string bytes;
  TableStore& store = n.scope.part<TableStore>();
  store.save("shared", [&](std::string_view part) { bytes += part; });
  const auto load = [](Scope& scope, const std::string& from, const char* table = "shared") {
    size_t at = 0;
    TableReader in(
        [&](std::span<char> to) {
          if (from.size() - at < to.size()) return false;
          std::memcpy(to.data(), from.data() + at, to.size());
          at += to.size();
          return true;
        },
        "file");
    scope.part<TableStore>().load(table, in);
  };
  SECTION("also into a scope with another seed") {
    Slots3 again(Kind::distributed, train, -1);
    again.net.startup.random_seed = 77;
    again.exe.run(again.net.startup, again.scope);
    load(again.scope, bytes);
    for (const std::string& name : n.scope.names())
      again.scope.var(name).tensor = n.scope.find(name)->tensor.clone();
    std::string own;
    store.save("own", [&](std::string_view part) { own += part; });
    load(again.scope, own, "own");
    for (uint64_t i = 3; i < 6; ++i)
      CHECK(again.step(batch(i, 8, false), i) == n.step(batch(i, 8, false), i));
    CHECK(store.find("shared")->table->digest() ==
          again.scope.part<TableStore>().find("shared")->table->digest());
  }
  SECTION("damage is found at every byte") {
    Scope scope;
    for (size_t at = 0; at < bytes.size(); at += 7) {
      std::string broken = bytes;
      broken[at] = static_cast<char>(broken[at] ^ 1);
      CHECK_THROWS_AS(load(scope, broken), Error);
      CHECK_THROWS_AS(load(scope, bytes.substr(0, at)), Error);
    }
    CHECK(scope.part<TableStore>().find("shared") == nullptr);
    load(scope, bytes);
    CHECK(scope.part<TableStore>().find("shared") != nullptr);
  }
}

TEST_CASE("rows of a table expire in one process too", "[exec]") {
  Trained t;
  Scope scope;
  Executor exe;
  const Builder b(t.net);
  data(b, "ids", {1}, {.dtype = DType::i64});
  EmbeddingOptions o{.is_distributed = true, .param_attr = {.name = "table"}};
  o.table.expire_unseen_steps = 500;
  t.loss = mean(b, embedding(b, "ids", {-1, 2}, o));
  minimize(b, t.loss, Optimizer("sgd", 0.5));
  exe.run(t.net.startup, scope);
  Plan& plan = exe.plan(t.net.main, scope, {"ids"}, {t.loss});
  const Tensor both = Tensor::of<int64_t>({2, 1}, {5, 6}),
               one = Tensor::of<int64_t>({2, 1}, {6, 6});
  for (uint64_t i = 0; i < 999; ++i) {
    plan.feed(0, i < 10 ? both : one);
    plan.run(i);
  }
  const Table& table = *scope.part<TableStore>().find("table")->table;
  CHECK(table.rows() == 2);
  plan.run(999);
  CHECK(table.rows() == 1);
  CHECK(table.find(6).has_value());
  CHECK(table.counters().expired == 1);
}
