// Trainers' clients and shards on real sockets in one process: after every step all trainers hold
// the bits that one process computes alone, and no gradient is lost or applied twice, whatever
// happens to connections.
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/log.h"
#include "exec/networks.h"
#include "layers/schedules.h"
#include "pserver/client.h"
#include "trainer/cutting_proxy.h"
#include "trainer/ps_client.h"

using namespace paddle;
using namespace paddle::test;

namespace {

constexpr int64_t batch = 6;

// The log of all these recoveries is for nobody.
struct Quiet {
  Quiet() { start_log({.min_level = 3}); }
  ~Quiet() { start_log({}); }
};

class Shards {
 public:
  Shards(size_t n, const ShardOptions& options = {}) {
    for (size_t i = 0; i < n; ++i) shards_.push_back(std::make_unique<RunningShard>(options));
    for (const auto& s : shards_) ports.push_back(s->port());
  }
  std::vector<uint16_t> ports;

 private:
  std::vector<std::unique_ptr<RunningShard>> shards_;
};

PsOptions options_of(const std::vector<uint16_t>& ports, uint32_t trainer, uint32_t trainers,
                     wire::Mode mode = wire::Mode::sync) {
  PsOptions out;
  for (const uint16_t p : ports) out.shards.push_back({"127.0.0.1", p});
  out.hello = wire::make_hello(wire::Role::trainer);
  out.hello.job = "test";
  out.hello.program = "digest";
  out.hello.process = "trainer" + std::to_string(trainer);
  out.hello.mode = mode;
  out.hello.trainer = trainer;
  out.hello.trainers = trainers;
  out.hello.shards = static_cast<uint32_t>(ports.size());
  out.peer_timeout = 60;
  out.spin_microseconds = 0;
  return out;
}

Cut cut_of(const Trained& t, size_t shards, uint32_t trainers, bool sync = true) {
  Names endpoints;
  for (size_t i = 0; i < shards; ++i) endpoints.push_back("s:" + std::to_string(i + 1));
  return transpile(
      t.net.main, t.net.startup,
      {.trainers = trainers, .endpoints = endpoints, .sync = sync, .min_block_size = 5});
}

wire::Position place_of(uint64_t step) { return {.record = step}; }

// Runs `body` until it has ended without a Rewind, which leads back to `step`. False where the job
// is over, and nobody is left to hear the end of this trainer.
template <class Body, class Then>
bool persist(uint64_t& step, std::string& problem, const Body& body, const Then& rewound) {
  for (;;) {
    try {
      body();
      return true;
    } catch (const Rewind& back) {
      if (back.over) return false;
      if (back.place && back.place->record != back.step)
        problem = text("step ", back.step, " shall begin at record ", back.place->record);
      step = back.step;
      rewound();
    }
  }
}

// ---- the same sums in one process

// Gives the present values and keeps what is pushed.
class Capture : public Remote {
 public:
  void push(int32_t param, const View& grad, uint64_t) override {
    const auto* first = grad.as<const float>();
    grads[param].assign(first, first + grad.numel());
  }
  void pull(int32_t, const View&, uint64_t) override {}
  std::map<int32_t, std::vector<float>> grads;
};

uint64_t digest(const Cut& cut, const Scope& scope) {
  uint64_t h = 0;
  for (const ParamGrad& p : cut.params) {
    const Tensor& t = scope.tensor(p.param);
    h = mix64(h ^ hash_text({static_cast<const char*>(t.raw()), t.bytes()}));
  }
  return h;
}

// Another batch for every trainer and step.
Feeds batch_of(uint32_t trainer, uint64_t step) {
  return {{"x", random_tensor(DType::f32, {batch, 6}, 1 + step * 16 + trainer)},
          {"y", labels(batch, 4)}};
}

Names feed_names() { return {"x", "y"}; }

void run_plan(Plan& plan, const Feeds& feeds, uint64_t step) {
  for (size_t i = 0; i < feeds.size(); ++i) plan.feed(i, feeds[i].second);
  plan.run(step);
}

// Digests after every step of gradients that are summed in the order of trainers, divided by their
// number and given to the optimizer ops of the program as it was before the cut.
std::vector<uint64_t> in_one_process(const Trained& t, const Cut& cut, uint32_t trainers,
                                     uint64_t steps) {
  Executor executor;
  Scope scope;
  executor.run(t.net.startup, scope);
  Capture capture;
  Plan compute(cut.trainer, 0, scope, feed_names(), {t.loss}, executor.pool(),
               {.remote = &capture});
  Program updates = t.net.main;
  for (size_t i = updates.global().ops().size(); i-- > 0;)
    if ((updates.global().ops()[i]->role() & (role::optimize | role::lr_sched)) == 0)
      updates.global().remove_op(i);
  Names grads;
  for (const ParamGrad& p : cut.params) grads.push_back(p.grad);
  Scope& own = scope;
  Plan update(updates, 0, own, grads, {}, executor.pool(), {.fuse = false});
  std::vector<uint64_t> out;
  for (uint64_t step = 0; step < steps; ++step) {
    std::vector<std::vector<float>> sums(cut.params.size());
    for (uint32_t trainer = 0; trainer < trainers; ++trainer) {
      run_plan(compute, batch_of(trainer, step), step);
      for (auto& [param, grad] : capture.grads) {
        auto& sum = sums[static_cast<size_t>(param)];
        if (trainer == 0) sum = grad;
        for (size_t k = 0; trainer > 0 && k < sum.size(); ++k) sum[k] += grad[k];
      }
    }
    std::vector<Tensor> mean;
    for (size_t i = 0; i < sums.size(); ++i) {
      mean.emplace_back(DType::f32, scope.tensor(cut.params[i].param).shape());
      const float factor = 1.0f / static_cast<float>(trainers);
      for (size_t k = 0; k < sums[i].size(); ++k)
        mean[i].data<float>()[k] = trainers > 1 ? sums[i][k] * factor : sums[i][k];
      update.feed(i, mean[i]);
    }
    update.run(step);
    out.push_back(digest(cut, scope));
  }
  return out;
}

// ---- a trainer

struct Trainer {
  std::vector<uint64_t> digests;
  std::string problem;
};

void train(const Trained& t, const Cut& cut, const PsOptions& options, uint64_t steps,
           Trainer& result) {
  try {
    Executor executor;
    Scope scope;
    executor.run(t.net.startup, scope);
    PsClient client(cut, scope, options, [&] { executor.run(t.net.startup, scope); });
    Plan plan(cut.trainer, 0, scope, feed_names(), {t.loss}, executor.pool(), {.remote = &client});
    result.digests.resize(steps);
    uint64_t step = client.join(0).step;
    const auto body = [&] {
      while (step < steps) {
        client.begin_step(step, place_of(step), place_of(step + 1));
        run_plan(plan, batch_of(client.trainer(), step), step);
        client.end_step();
        client.refresh(step + 1);
        result.digests[step++] = digest(cut, scope);
      }
      client.finish(step);
      client.wait_for_others();
    };
    const auto rewound = [&] {  // the values of `step` are there
      if (step > 0) result.digests[step - 1] = digest(cut, scope);
    };
    if (persist(step, result.problem, body, rewound)) client.say_bye();
  } catch (const Error& e) {
    result.problem = e.what();
  }
}

std::vector<Trainer> train_all(const Trained& t, const Cut& cut, const std::vector<uint16_t>& ports,
                               uint32_t trainers, uint64_t steps) {
  std::vector<Trainer> results(trainers);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < trainers; ++i)
    threads.emplace_back(
        [&, i] { train(t, cut, options_of(ports, i, trainers), steps, results[i]); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

void minimize_by(const std::string& rule, Trained& t) {
  const Builder b(t.net);
  const Regularizer l2 = l2_decay(0.01f);
  set_gradient_clip(t.net.main, clip_by_value(0.02f));
  if (rule == "sgd") minimize(b, t.loss, Optimizer("sgd", exponential_decay(b, 0.3f, 2, 0.5f), l2));
  if (rule == "momentum")
    minimize(b, t.loss, Optimizer("momentum", piecewise_decay(b, {3, 6}, {0.3f, 0.2f, 0.1f}), l2));
  if (rule == "adagrad")
    minimize(b, t.loss, Optimizer("adagrad", inverse_time_decay(b, 0.3f, 2, 0.5f), l2));
  if (rule == "adam")
    minimize(b, t.loss, Optimizer("adam", exponential_decay(b, 0.05f, 3, 0.7f, true), l2));
}

}  // namespace

TEST_CASE("trainers and shards equal one process after every step", "[trainer]") {
  const Quiet quiet;
  const std::string rule = GENERATE("sgd", "momentum", "adagrad", "adam");
  const auto [trainers, shards] = GENERATE(table<uint32_t, size_t>({{1, 1}, {2, 2}, {3, 2}}));
  INFO(rule << ", " << trainers << " trainers, " << shards << " shards");
  Trained t;
  mlp(t, "tanh", batch);
  minimize_by(rule, t);
  const Cut cut = cut_of(t, shards, trainers);
  constexpr uint64_t steps = 12;
  const auto expected = in_one_process(t, cut, trainers, steps);
  CHECK(expected[0] != expected[steps - 1]);
  const Shards running(shards);
  for (const Trainer& result : train_all(t, cut, running.ports, trainers, steps)) {
    CHECK(result.problem.empty());
    CHECK(result.digests == expected);
  }
}

TEST_CASE("connections that are cut and delayed and repeated change no bit", "[trainer]") {
  const Quiet quiet;
  const uint64_t seed = GENERATE(1, 2, 3);
  INFO("seed " << seed);
  constexpr uint32_t trainers = 3;
  constexpr uint64_t steps = 150;
  Trained t;
  mlp(t, "tanh", batch);
  minimize_by("adam", t);
  const Cut cut = cut_of(t, 2, trainers);
  const Shards running(2);
  const CuttingProxy proxy({.seed = seed,
                            .cuts = 30,
                            .delays = 60,
                            .least = 1,
                            .most = 20000,
                            .longest_delay = std::chrono::milliseconds(5),
                            .repeats = true},
                           running.ports);
  const auto expected = in_one_process(t, cut, trainers, steps);
  for (const Trainer& result : train_all(t, cut, proxy.ports(), trainers, steps)) {
    CHECK(result.problem.empty());
    CHECK(result.digests == expected);
  }
  CHECK(proxy.cuts() > 5);
  CHECK(proxy.repeats() > 0);
}

// ---- integer gradients and a rate of 1: sums of floats are exact, so nothing can hide

namespace {

// The gradient of a trainer for one element; small, so that all sums are below 2^24.
float whole_number(uint32_t trainer, uint64_t step, size_t element) {
  return static_cast<float>(static_cast<int>(mix64(trainer * 1000003 + step * 97 + element) % 17) -
                            8);
}

// Pushes by hand, as the ops of a plan do.
void push_numbers(const Cut& cut, PsClient& client, Scope& scope, uint64_t step) {
  for (size_t i = 0; i < cut.params.size(); ++i) client.pull(static_cast<int32_t>(i), {}, step);
  for (size_t i = 0; i < cut.params.size(); ++i) {
    Tensor& grad = scope.var(cut.params[i].grad).tensor;
    for (int64_t k = 0; k < grad.numel(); ++k)
      grad.data<float>()[k] =
          whole_number(client.trainer(), step, i * 1000 + static_cast<size_t>(k));
    client.push(static_cast<int32_t>(i), {.data = grad.raw(), .shape = grad.shape()}, step);
  }
}

struct Summed {
  std::vector<std::vector<double>> values;  // of each parameter, as trainer 0 collects them
  std::string problem;
};

void sum(const Cut& cut, const Trained& t, const PsOptions& options, uint64_t steps,
         Summed& result) {
  try {
    Executor executor;
    Scope scope;
    const auto zeros = [&] {
      executor.run(t.net.startup, scope);
      for (const ParamGrad& p : cut.params) scope.var(p.param).tensor.zero();
    };
    zeros();
    for (const ParamGrad& p : cut.params)
      scope.var(p.grad).tensor = Tensor(DType::f32, scope.tensor(p.param).shape());
    PsClient client(cut, scope, options, zeros);
    uint64_t step = client.join(0).step;
    const auto body = [&] {
      while (step < steps) {
        client.begin_step(step, place_of(step), place_of(step + 1));
        push_numbers(cut, client, scope, step);
        client.end_step();
        ++step;
      }
      client.finish(step);
      client.wait_for_others();
      if (client.trainer() > 0) return;
      client.collect();
      result.values.clear();
      for (const ParamGrad& p : cut.params)
        result.values.push_back(values_of(scope.tensor(p.param)));
    };
    if (persist(step, result.problem, body, [] {})) client.say_bye();
  } catch (const Error& e) {
    result.problem = e.what();
  }
}

void check_sums(wire::Mode mode, uint32_t trainers, uint64_t steps, const CuttingPlan& plan,
                bool mean, size_t shards = 2, LossPolicy policy = LossPolicy::wait) {
  const Quiet quiet;
  Trained t;
  mlp(t, "tanh", batch);
  minimize(Builder(t.net), t.loss, Optimizer("sgd", 1));
  const Cut cut = cut_of(t, shards, trainers, mode == wire::Mode::sync);
  const Shards running(shards, {.leases = {.policy = policy}});
  const CuttingProxy proxy(plan, running.ports);
  std::vector<Summed> results(trainers);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < trainers; ++i)
    threads.emplace_back(
        [&, i] { sum(cut, t, options_of(proxy.ports(), i, trainers, mode), steps, results[i]); });
  for (std::thread& thread : threads) thread.join();
  for (const Summed& r : results) CHECK(r.problem.empty());
  REQUIRE(results[0].values.size() == cut.params.size());
  size_t wrong = 0;
  for (size_t i = 0; i < cut.params.size(); ++i)
    for (size_t k = 0; k < results[0].values[i].size(); ++k) {
      double expected = 0;
      for (uint32_t trainer = 0; trainer < trainers; ++trainer)
        for (uint64_t step = 0; step < steps; ++step)
          expected -= whole_number(trainer, step, i * 1000 + k);
      wrong += results[0].values[i][k] != (mean ? expected / trainers : expected);
    }
  CHECK(wrong == 0);
  CHECK(proxy.cuts() > 8);
}

}  // namespace

TEST_CASE("every gradient counts exactly once", "[trainer]") {
  const uint64_t seed = GENERATE(11, 12, 13);
  CAPTURE(seed);
  const CuttingPlan cuts{.seed = seed, .cuts = 25, .least = 1, .most = 12000};
  CuttingPlan worse = cuts;
  worse.delays = 40;
  worse.longest_delay = std::chrono::milliseconds(4);
  worse.repeats = true;
  SECTION("sync") { check_sums(wire::Mode::sync, 2, 200, worse, true); }
  // Nobody is lost whose connections are cut and made again at once.
  SECTION("sync, drop, three pservers") {
    check_sums(wire::Mode::sync, 4, 200, worse, true, 3, LossPolicy::drop);
  }
  SECTION("sync, fail, one pserver") {
    check_sums(wire::Mode::sync, 2, 200, cuts, true, 1, LossPolicy::fail);
  }
  SECTION("half-async, fail, three pservers") {
    check_sums(wire::Mode::half_async, 2, 200, worse, false, 3, LossPolicy::fail);
  }
  SECTION("async, drop, three pservers") {
    check_sums(wire::Mode::async, 2, 1000, cuts, false, 3, LossPolicy::drop);
  }
  SECTION("half-async") { check_sums(wire::Mode::half_async, 3, 200, worse, false); }
  SECTION("async") { check_sums(wire::Mode::async, 3, 1000, cuts, false); }
  SECTION("async, repeated") { check_sums(wire::Mode::async, 2, 1000, worse, false); }
}
