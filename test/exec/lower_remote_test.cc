// The trainer's half of a cut in a plan: where it pushes and pulls, and that training through
// shards gives the bits of training in one process.
#include "exec/lower_remote.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "exec/networks.h"
#include "graph/transpile.h"
#include "layers/schedules.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// Shards without a network: each has its program, its scope and one plan per block.
class Shards : public Remote {
 public:
  // Parameters start as they are in `first`.
  Shards(const Cut& cut, uint32_t trainers, const Scope& first, ThreadPool& pool)
      : cut_(cut), trainers_(trainers) {
    Executor executor;
    for (size_t i = 0; i < cut.pservers.size(); ++i) {
      scopes_.push_back(std::make_unique<Scope>());
      executor.run(cut.startups[i], *scopes_[i]);
    }
    for (const SliceSpec& s : cut.slices) {
      Scope& scope = *scopes_[s.shard];
      put(s, scope.var(s.name).tensor, first.tensor(s.param).raw());
      for (const std::string& name : arriving(s)) scope.var(name).tensor = Tensor(s.dtype, s.shape);
      updates_.push_back(std::make_unique<Plan>(cut.pservers[s.shard], s.block, scope, Names{},
                                                Names{}, pool, PlanOptions{.fuse = false}));
    }
    for (size_t i = 0; i < cut.pservers.size(); ++i) {
      const Op& listen = *cut.pservers[i].global().ops()[0];
      const auto block = listen.attrs.get<int32_t>("lr_decay_block_id");
      if (block >= 0)
        schedules_.push_back(std::make_unique<Plan>(cut.pservers[i], block, *scopes_[i], Names{},
                                                    Names{}, pool, PlanOptions{.fuse = false}));
      steps_.push_back(-1);
    }
  }

  ReadUntil read_until(int32_t) const override { return ReadUntil::pushed; }
  void push(int32_t param, const View& grad, uint64_t step) override {
    for (size_t k = 0; k < cut_.slices.size(); ++k) {
      const SliceSpec& s = cut_.slices[k];
      if (s.param_index != param) continue;
      // All trainers of the test have the same data, so their mean is any of them.
      for (const std::string& name : arriving(s))
        put(s, scopes_[s.shard]->var(name).tensor, grad.data);
      if (steps_[s.shard] != static_cast<int64_t>(step) && !schedules_.empty())
        schedules_[s.shard]->run(step);
      steps_[s.shard] = static_cast<int64_t>(step);
      updates_[k]->run(step);
    }
  }

  void pull(int32_t param, const View& value, uint64_t) override {
    for (const SliceSpec& s : cut_.slices)
      if (s.param_index == param)
        std::memcpy(value.as<char>() + first_byte(s), scopes_[s.shard]->tensor(s.name).raw(),
                    static_cast<size_t>(s.bytes()));
  }

  // A variable of the uncut program, put together of its slices.
  std::vector<double> whole(const std::string& name) const {
    std::vector<double> out;
    for (const SliceSpec& s : cut_.slices) {
      const bool state = std::count(s.states.begin(), s.states.end(), name) > 0;
      if (s.param != name && !state) continue;
      const Tensor& t = scopes_[s.shard]->tensor(state ? name : s.name);
      if (t.shape() != s.shape) return values_of(t);  // a number, the same in every shard
      const std::vector<double> part = values_of(t);
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }
  const Scope& scope(size_t shard) const { return *scopes_[shard]; }

 private:
  Names arriving(const SliceSpec& s) const {
    if (trainers_ == 1) return {s.merged_grad};
    Names out;
    for (uint32_t i = 0; i < trainers_; ++i) out.push_back(text(s.merged_grad, ".trainer_", i));
    return out;
  }
  static size_t first_byte(const SliceSpec& s) {
    return static_cast<size_t>(s.first_element()) * size_of(s.dtype);
  }
  static void put(const SliceSpec& s, Tensor& to, const void* whole) {
    if (to.empty()) to = Tensor(s.dtype, s.shape);
    std::memcpy(to.raw(), static_cast<const char*>(whole) + first_byte(s),
                static_cast<size_t>(s.bytes()));
  }

  const Cut& cut_;
  uint32_t trainers_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<std::unique_ptr<Plan>> updates_, schedules_;  // by slice, by shard
  std::vector<int64_t> steps_;                              // that the schedule was run for
};

const Names three = {"a:1", "b:1", "c:1"};
// So small that slicing is certain.
TranspileOptions small_slices(uint32_t trainers = 1) {
  return {.trainers = trainers, .endpoints = three, .min_block_size = 5};
}

void copy_values(const Scope& from, Scope& to) {
  for (const std::string& name : from.names())
    to.var(name).tensor = from.find(name)->tensor.clone();
}

void check_equal_training(Trained& t, const TranspileOptions& options) {
  const Cut cut = transpile(t.net.main, t.net.startup, options);
  size_t sliced = 0;
  for (const SliceSpec& s : cut.slices) sliced += s.name != s.param;
  REQUIRE(sliced >= 3);

  Executor executor;
  Scope local, remote;
  executor.run(t.net.startup, local);
  copy_values(local, remote);
  Shards shards(cut, options.trainers, local, executor.pool());
  const Names feeds = {t.feeds[0].first, t.feeds[1].first};
  Plan whole(t.net.main, 0, local, feeds, {t.loss}, executor.pool(), {.fuse = false});
  Plan half(cut.trainer, 0, remote, feeds, {t.loss}, executor.pool(),
            {.fuse = false, .remote = &shards});
  for (uint64_t step = 0; step < 10; ++step) {
    for (Plan* plan : {&whole, &half}) {
      for (size_t f = 0; f < feeds.size(); ++f) plan->feed(f, t.feeds[f].second);
      plan->run(step);
    }
    INFO("step " << step);
    CHECK(values_of(whole.fetch(0)) == values_of(half.fetch(0)));
    for (const SliceSpec& s : cut.slices) {
      INFO(s.name);
      CHECK(remote.find(s.grad) == nullptr);  // what is copied at once needs no memory of its own
      CHECK(shards.whole(s.param) == values_of(local.tensor(s.param)));
      for (const std::string& state : s.states) {
        INFO(state);
        CHECK(shards.whole(state) == values_of(local.tensor(state)));
      }
    }
    for (const std::string& name : cut.shared)
      for (size_t i = 0; i < three.size(); ++i)
        CHECK(values_of(shards.scope(i).tensor(name)) == values_of(local.tensor(name)));
  }
}

// What a plan made of the trainer's half, by type.
Names op_types_of(const Plan& plan) {
  Names out;
  for (const OpCost& c : plan.profile()) out.push_back(c.op.substr(0, c.op.find(':')));
  return out;
}

// Remembers each gradient's memory and content, and looks whether they last.
class Keeper : public Remote {
 public:
  void push(int32_t param, const View& grad, uint64_t) override {
    Kept& k = kept[param];
    k.data = grad.data;
    const auto* bytes = grad.as<const char>();
    k.copy.assign(bytes, bytes + static_cast<size_t>(grad.numel()) * size_of(grad.dtype));
  }
  void pull(int32_t param, const View&, uint64_t) override {
    const auto it = kept.find(param);
    if (it == kept.end()) return;
    ++checked;
    CHECK(std::memcmp(it->second.data, it->second.copy.data(), it->second.copy.size()) == 0);
  }
  struct Kept {
    const void* data;
    std::vector<char> copy;
  };
  std::map<int32_t, Kept> kept;
  int checked = 0;
};

// Reads the gradients of every second parameter until it was asked for them.
class Awaiter : public Remote {
 public:
  ReadUntil read_until(int32_t param) const override {
    return param % 2 == 0 ? ReadUntil::answered : ReadUntil::pushed;
  }
  void push(int32_t param, const View& grad, uint64_t) override {
    if (param % 2 != 0) return;
    CHECK(kept.count(param) == 0);
    const auto* bytes = grad.as<const char>();
    kept[param] = {grad.data, {bytes, bytes + grad.numel() * 4}};
  }
  void await_answer(int32_t param, uint64_t) override {
    const auto it = kept.find(param);
    if (it == kept.end()) return;
    ++checked;
    CHECK(std::memcmp(it->second.data, it->second.copy.data(), it->second.copy.size()) == 0);
    kept.erase(it);
  }
  void pull(int32_t, const View&, uint64_t) override {}
  struct Kept {
    const void* data;
    std::vector<char> copy;
  };
  std::map<int32_t, Kept> kept;
  int checked = 0;
};

}  // namespace

TEST_CASE("training through shards gives the bits of one process", "[exec]") {
  Trained t;
  mlp(t, "tanh", 8);
  const Builder b(t.net);
  const Regularizer l2 = l2_decay(0.01f);
  set_gradient_clip(t.net.main, clip_by_value(0.02f));
  const uint32_t trainers = GENERATE(1u, 2u);

  SECTION("sgd") { minimize(b, t.loss, Optimizer("sgd", 0.3, l2)); }
  SECTION("sgd, decayed rate") {
    minimize(b, t.loss, Optimizer("sgd", exponential_decay(b, 0.3f, 2, 0.5f), l2));
  }
  SECTION("momentum") {
    minimize(b, t.loss, Optimizer("momentum", piecewise_decay(b, {3, 6}, {0.3f, 0.2f, 0.1f}), l2));
  }
  SECTION("adagrad") {
    minimize(b, t.loss, Optimizer("adagrad", inverse_time_decay(b, 0.3f, 2, 0.5f), l2));
  }
  SECTION("adam") {
    minimize(b, t.loss, Optimizer("adam", exponential_decay(b, 0.05f, 3, 0.7f, true), l2));
  }
  SECTION("adamax, rate of one parameter halved") {
    b.var("fc_1.w_0").param->learning_rate = 0.5f;
    minimize(b, t.loss, Optimizer("adamax", 0.05, l1_decay(0.01f)));
  }
  check_equal_training(t, small_slices(trainers));
}

TEST_CASE("what is read whole is updated whole, with the same bits", "[exec]") {
  Trained t;
  mlp(t, "relu", 8);
  const Builder b(t.net);
  b.var("fc_0.w_0").param->clip = clip_by_norm(0.01f);
  minimize(b, t.loss, Optimizer("ftrl", 0.1));
  check_equal_training(t, small_slices());
}

TEST_CASE("a table with sparse gradients trains as a dense one", "[exec]") {
  Trained t;
  bag_of_words(t, "sum");
  minimize(Builder(t.net), t.loss, Optimizer("adagrad", 0.2));
  check_equal_training(t, small_slices());
}

TEST_CASE("a plan pushes and pulls at the right places", "[exec]") {
  Trained t;
  mlp(t, "tanh", 8);
  minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.1));
  const Cut cut = transpile(t.net.main, t.net.startup, small_slices());
  Executor executor;
  Scope scope;
  executor.run(t.net.startup, scope);
  Keeper keeper;
  const auto make = [&](bool fuse) {
    return std::make_unique<Plan>(cut.trainer, 0, scope, Names{"x", "y"}, Names{t.loss},
                                  executor.pool(), PlanOptions{.fuse = fuse, .remote = &keeper});
  };
  const auto run = [&](Plan& plan, uint64_t step, size_t rows) {
    const Tensor x = random_tensor(DType::f32, {static_cast<int64_t>(rows), 6}, step),
                 y = labels(static_cast<int64_t>(rows), 4);
    plan.feed(0, x);
    plan.feed(1, y);
    plan.run(step);
  };

  SECTION("fused: neighbours are still fused around them") {
    const auto plan = make(true);
    const Names fused = {"pull", "pull", "fused_fc"}, last = {"fused_fc_grad", "push", "push"};
    const Names types = op_types_of(*plan);
    CHECK(Names(types.begin(), types.begin() + 3) == fused);
    CHECK(Names(types.end() - 3, types.end()) == last);
    CHECK(std::count(types.begin(), types.end(), "fused_fc_grad") == 3);
    CHECK(std::count(types.begin(), types.end(), "pull") == 6);
    CHECK(std::count(types.begin(), types.end(), "push") == 6);
    for (const char* gone :
         {"send", "recv", "send_barrier", "fetch_barrier", "split_byref", "concat", "mul_grad"})
      CHECK(std::count(types.begin(), types.end(), gone) == 0);
  }
  SECTION("not fused: right after the gradient and right before the reader") {
    const auto plan = make(false);
    const Names types = op_types_of(*plan);
    CHECK(Names(types.begin(), types.begin() + 4) ==
          Names{"pull", "mul", "pull", "elementwise_add"});
    CHECK(Names(types.end() - 4, types.end()) ==
          Names{"elementwise_add_grad", "push", "mul_grad", "push"});
  }
  SECTION("a pushed gradient keeps its memory until the next step has pulled") {
    const auto plan = make(GENERATE(true, false));
    const std::vector<size_t> batches = {8, 8, 3, 8, 8};  // the layout changes in between
    for (uint64_t step = 0; step < batches.size(); ++step) run(*plan, step, batches[step]);
    CHECK(keeper.checked == 6 * 4);
    for (const auto& [param, kept] : keeper.kept) {
      const std::string& grad = cut.params[static_cast<size_t>(param)].grad;
      CHECK(scope.tensor(grad).raw() == kept.data);
    }
  }
  SECTION("a gradient that is read until it was answered keeps its memory until then") {
    Awaiter awaiter;
    Plan plan(cut.trainer, 0, scope, {"x", "y"}, {t.loss}, executor.pool(),
              {.fuse = GENERATE(true, false), .remote = &awaiter});
    const Names types = op_types_of(plan);
    CHECK(std::count(types.begin(), types.end(), "await_answer") == 3);
    for (uint64_t step = 0; step < 4; ++step) run(plan, step, step == 2 ? 3 : 8);
    CHECK(awaiter.checked == 3 * 3);
    CHECK(awaiter.kept.size() == 3);
    for (size_t i = 0; i < cut.params.size(); ++i)
      CHECK((scope.find(cut.params[i].grad) != nullptr) == (i % 2 == 0));
  }
  SECTION("without pservers the half is refused") {
    Plan plan(cut.trainer, 0, scope, {"x", "y"}, {t.loss}, executor.pool(), {});
    CHECK_THROWS_WITH(run(plan, 0, 8), Contains("no pservers are connected"));
  }
  SECTION("the test program reads parameters and moves nothing") {
    const Program test = t.net.main.pruned({t.loss});
    Plan plan(test, 0, scope, {"x", "y"}, {t.loss}, executor.pool(), {});
    const Names types = op_types_of(plan);
    CHECK(std::count(types.begin(), types.end(), "pull") == 0);
    CHECK_NOTHROW(run(plan, 0, 8));
  }
}

TEST_CASE("ops of another cut are refused", "[exec]") {
  Program p;
  Block& b = p.global();
  b.create({.name = "g", .shape = {4, 2}});
  ThreadPool pool(1);
  Scope scope;
  const auto plan = [&] { Plan(p, 0, scope, {"g"}, {}, pool, {}); };

  SECTION("a program that does not say what it exchanges") {
    b.append({.type = "send", .in = {{"X", {"g"}}}, .attrs = {{"param", 0}}});
    CHECK_THROWS_WITH(plan(), Contains("does not say which parameters it exchanges"));
  }
  p.exchanged = {{"w", "g"}};
  SECTION("a gradient that nothing computes") {
    b.append({.type = "send", .in = {{"X", {"g"}}}, .attrs = {{"param", 0}}});
    CHECK_THROWS_WITH(plan(), Contains("'g' is sent, but no op computes it"));
  }
  SECTION("selected rows") {
    b.var("g").kind = VarKind::selected_rows;
    b.append({.type = "send", .in = {{"X", {"g"}}}, .attrs = {{"param", 0}}});
    CHECK_THROWS_WITH(plan(), Contains("cannot push 'g'"));
  }
}
