// A fused plan computes what the plain one computes, over several steps of training.
#include <catch2/catch.hpp>
#include <set>

#include "exec/networks.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// Losses of the steps and all persistable variables afterwards.
std::vector<std::vector<double>> train(const Trained& t, bool fuse, int threads) {
  Executor executor({.threads = threads, .plan = {.fuse = fuse}});
  Scope scope;
  executor.run(t.net.startup, scope);
  std::vector<std::vector<double>> out;
  for (uint64_t step = 0; step < 5; ++step)
    out.push_back(values_of(executor.run(t.net.main, scope, t.feeds, {t.loss}, step)[0]));
  for (const auto& v : t.net.main.global().vars())
    if (v->persistable) out.push_back(values_of(scope.tensor(v->name)));
  return out;
}

void check_same(const Trained& t) {
  const auto plain = train(t, false, 1);
  for (const int threads : {1, 3}) {
    const auto fused = train(t, true, threads);
    REQUIRE(fused.size() == plain.size());
    for (size_t i = 0; i < plain.size(); ++i)
      for (size_t k = 0; k < plain[i].size(); ++k)
        CHECK(fused[i][k] == Approx(plain[i][k]).epsilon(1e-4).margin(1e-6));
  }
}

std::string fused_text(const Trained& t, const Names& fetches) {
  Executor executor;
  Scope scope;
  executor.run(t.net.startup, scope);
  Names feeds;
  for (const auto& f : t.feeds) feeds.push_back(f.first);
  return executor.plan(t.net.main, scope, feeds, fetches).text();
}

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// A chain of fully connected layers; every tenth has no activation.
void fc_chain(Trained& t, int layers) {
  const Builder b(t.net);
  data(b, "x", {4});
  std::string h = "x";
  for (int i = 0; i < layers; ++i) h = fc(b, h, 4, {.act = i % 10 == 9 ? "" : "tanh"});
  t.loss = mean(b, h);
  minimize(b, t.loss, Optimizer("sgd", 0.1));
  t.feeds = {{"x", random_tensor(DType::f32, {2, 4}, 9)}};
}

}  // namespace

TEST_CASE("fusion changes nothing but speed", "[exec]") {
  Trained t;
  SECTION("mlp") {
    const std::string act = GENERATE("tanh", "relu", "sigmoid", "");
    const int64_t batch = GENERATE(1, 7);
    mlp(t, act, batch);
    const int optimizer = GENERATE(0, 1, 2);
    const Builder b(t.net);
    if (optimizer == 0) minimize(b, t.loss, Optimizer("sgd", 0.1));
    if (optimizer == 1) minimize(b, t.loss, Optimizer("adam", 0.01));
    if (optimizer == 2) minimize(b, t.loss, Optimizer("sgd", 0.1, l2_decay(0.01f)));
    check_same(t);
  }
  SECTION("sequences") {
    const std::string pool = GENERATE("sum", "average", "sqrt", "max", "last");
    bag_of_words(t, pool);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    check_same(t);
  }
  SECTION("a weight used twice") {
    const Builder b(t.net);
    t.net.startup.random_seed = 3;
    data(b, "x", {6});
    const FcOptions shared = {
        .param_attr = {.name = "w"}, .bias_attr = {.name = "b"}, .act = "tanh"};
    t.loss = mean(b, fc(b, fc(b, "x", 6, shared), 6, shared));
    minimize(b, t.loss, Optimizer("sgd", 0.1));
    t.feeds = {{"x", random_tensor(DType::f32, {4, 6}, 9)}};
    check_same(t);
  }
}

TEST_CASE("fusion finds its patterns", "[exec]") {
  Trained t;
  SECTION("fc, softmax and cross entropy, sgd") {
    mlp(t, "tanh", 4);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.1));
    const std::string plan = fused_text(t, {t.loss});
    CHECK(count(plan, "fused_fc:") == 3);
    CHECK(count(plan, "fused_fc_grad:") == 3);
    CHECK(count(plan, "sgd:") == 0);
    CHECK(count(plan, "softmax_with_cross_entropy:") == 1);
    CHECK(count(plan, "softmax_with_cross_entropy_grad:") == 1);
    CHECK_THAT(plan,
               !Contains("mul:") && !Contains("elementwise_add") && !Contains("cross_entropy2:"));
  }
  SECTION("what is fetched is kept") {
    mlp(t, "tanh", 4);
    const auto pairs = minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.1)).params_grads;
    const std::string plan = fused_text(t, {t.loss, pairs[0].grad});
    CHECK(count(plan, "sgd:") == 1);
    const std::string with_product = fused_text(t, {"fc_0.tmp_0"});
    CHECK_THAT(with_product, Contains("mul: Out=[fc_0.tmp_0]"));
  }
  SECTION("embedding and pool") {
    bag_of_words(t, "average");
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    const std::string plan = fused_text(t, {t.loss});
    CHECK(count(plan, "fused_embedding_seq_pool:") == 1);
    CHECK(count(plan, "fused_embedding_seq_pool_grad:") == 1);
    CHECK_THAT(plan, !Contains("lookup_table"));
  }
}

TEST_CASE("every layer of a long chain is fused", "[exec]") {
  constexpr size_t layers = 300;
  Trained t;
  fc_chain(t, layers);
  const std::string plan = fused_text(t, {t.loss});
  CHECK(count(plan, "fused_fc:") == layers);
  CHECK(count(plan, "fused_fc_grad:") == layers);
  CHECK(count(plan, "WOut=") == layers);
  CHECK(count(plan, "BiasOut=") == layers);
  // What is left beside them: mean, the first gradient and mean's.
  CHECK(count(plan, "\n") == 2 * layers + 3 + 1);
}
