// How a plan announces to a Remote the rows that its next run will look up.
#include <catch2/catch.hpp>

#include "exec/networks.h"
#include "exec/plan.h"
#include "graph/transpile.h"

using namespace paddle;
using namespace paddle::test;

namespace announce_test {

using Ids = std::vector<uint64_t>;

// Rows that follow from their ids; keeps what it was asked for.
struct Rows : Remote {
  bool takes = true;
  std::vector<Ids> pulled, announced;
  std::vector<uint64_t> steps;  // of what was announced
  void push(int32_t, const View&, uint64_t) override {}
  void pull(int32_t, const View&, uint64_t) override {}
  void pull_rows(int32_t, std::span<const uint64_t> ids, float* rows, uint64_t) override {
    pulled.emplace_back(ids.begin(), ids.end());
    for (size_t i = 0; i < 4 * ids.size(); ++i)
      rows[i] = static_cast<float>(ids[i / 4] % 13) + 0.25f * static_cast<float>(i % 4);
  }
  void push_rows(int32_t, std::span<const uint64_t>, const float*, uint64_t) override {}
  void announce_rows(int32_t table, std::span<const uint64_t> ids, uint64_t step) override {
    CHECK(table == 0);
    announced.emplace_back(ids.begin(), ids.end());
    steps.push_back(step);
  }
  bool takes_announcements() const override { return takes; }
};

// Two inputs look up rows of one table of 100 rows, the second one with the padding 7; with
// `computed` its ids come out of an op.
struct TwoInputs {
  TwoInputs(bool computed, int64_t height = 100) {
    const Builder b(t.net);
    t.net.main.random_seed = t.net.startup.random_seed = 3;
    data(b, "y", {1});
    for (const char* name : {"a", "b"}) data(b, name, {1}, {.dtype = DType::i64});
    EmbeddingOptions o{.is_sparse = true, .is_distributed = true, .param_attr = {.name = "emb"}};
    const std::string one = embedding(b, "a", {height, 4}, o);
    o.padding_idx = 7;
    const std::string ids = computed ? reshape(b, "b", {-1, 1}) : "b";
    const std::string two = embedding(b, ids, {height, 4}, o);
    t.loss = mean(b, square_error_cost(b, fc(b, elementwise_add(b, one, two), 1), "y"));
    minimize(b, t.loss, Optimizer("adagrad", 0.2));
    cut = transpile(t.net.main, t.net.startup, {.endpoints = {"a:1"}, .tables = true});
    executor.run(t.net.startup, scope);
  }
  Plan& plan() { return executor.plan(cut.trainer, scope, {"y", "a", "b"}, {t.loss}); }
  void run(const std::vector<Tensor>& feeds, uint64_t step) {
    for (size_t i = 0; i < feeds.size(); ++i) plan().feed(i, feeds[i]);
    plan().run(step);
  }
  Rows rows;
  Trained t;
  Cut cut;
  Scope scope;
  Executor executor{{.plan = {.remote = &rows}}};
};

std::vector<Tensor> feeds_of(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto n = static_cast<int64_t>(a.size());
  const std::vector<float> y(a.size(), 1.0f);
  return {Tensor::of<float>(Shape{n, 1}, y), Tensor::of<int64_t>(Shape{n, 1}, a),
          Tensor::of<int64_t>(Shape{n, 1}, b)};
}

TEST_CASE("the next run's ids are announced as it will pull them", "[exec]") {
  TwoInputs net(false);
  const auto first = feeds_of({1, 2}, {2, 3}), next = feeds_of({5, 9, 5}, {9, 7, 4});
  net.plan().announce(next, 1);
  CHECK(net.rows.announced.empty());  // nothing is bound before the first run
  net.run(first, 0);
  net.plan().announce(next, 1);
  CHECK(net.rows.announced == std::vector<Ids>{{5, 9, 4}});  // 7 is padding
  CHECK(net.rows.steps == Ids{1});
  net.run(first, 1);  // another one came: the announcement has changed nothing
  net.run(next, 2);
  CHECK(net.rows.pulled == std::vector<Ids>{{1, 2, 3}, {1, 2, 3}, {5, 9, 4}});
  SECTION("not to somebody who makes no use of it") {
    net.rows.takes = false;
    net.plan().announce(next, 3);
    CHECK(net.rows.announced.size() == 1);
  }
  SECTION("not with an id that no table has, which the run itself reports") {
    net.plan().announce(feeds_of({5, 100}, {1, 2}), 3);
    CHECK(net.rows.announced.size() == 1);
    CHECK_THROWS_AS(net.run(feeds_of({5, 100}, {1, 2}), 3), Error);
  }
}

// Two batches are known at a time, and some come otherwise than they were announced.
TEST_CASE("announcements change no result", "[exec]") {
  std::vector<std::vector<Tensor>> batches;
  for (int64_t i = 0; i < 8; ++i)
    batches.push_back(feeds_of({i, 2 * i, 3, i + i % 2}, {7, i % 3, 9 - i, 4}));
  const auto losses = [&](bool announces) {
    TwoInputs net(false);
    net.rows.takes = announces;
    std::vector<float> out;
    for (size_t i = 0; i < batches.size(); ++i) {
      if (i + 1 < batches.size()) net.plan().announce(batches[i == 3 ? 1 : i + 1], i + 1);
      net.run(batches[i], i);
      out.push_back(net.plan().fetched(0).as<float>()[0]);
    }
    CHECK(net.rows.announced.size() == (announces ? 6 : 0));
    return std::pair(out, net.rows.pulled);
  };
  CHECK(losses(true) == losses(false));
}

TEST_CASE("ids that are computed are not announced", "[exec]") {
  TwoInputs net(true);
  const auto feeds = feeds_of({1, 2}, {2, 3});
  net.run(feeds, 0);
  net.plan().announce(feeds, 1);
  CHECK(net.rows.announced.empty());
  CHECK(net.rows.pulled == std::vector<Ids>{{1, 2, 3}});
}

}  // namespace announce_test
