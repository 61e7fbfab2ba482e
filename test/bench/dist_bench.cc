// dist_bench w1|w4|w5 [seconds per turn [n [sync|async batch]]]: training with 2 (n) trainers and
// as many pservers on this machine: real paddle_pserver processes; trainers with the executor and
// the client of the real trainer, and their data in memory, as the peers have it, each on its share
// of the CPUs, as paddle launch starts them. w1: steps per second. w4: the dense part of W4, w5:
// all of it with its sparse table, sync and async, both beside the same processes training on their
// own at the same time; w5 also with rows that are asked for when their step has begun (rows_late).
// JSON lines.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/version.h"
#include "bench/generator.h"
#include "bench/processes.h"
#include "bench/report.h"
#include "exec/executor.h"
#include "kernels/cpu.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "paddle/cpus.h"
#include "trainer/ps_client.h"

using namespace paddle;
using namespace paddle::bench;

namespace {

constexpr int turns = 5;
int trainers = 2;  // and pservers

struct Workload {
  Net net;
  std::string loss;
  std::vector<std::pair<std::string, Tensor>> data;  // by the names of the feeds
  int64_t batch = 0;
  bool sparse = false;                                 // it has a table
  std::vector<std::pair<std::string, Tensor>> values;  // first ones, of parameters
};

std::unique_ptr<Workload> w1(const Line& line) {
  auto w = std::make_unique<Workload>();
  const Builder b(w->net);
  data(b, "x", {13});
  data(b, "y", {1});
  w->loss = mean(b, square_error_cost(b, fc(b, "x", 1), "y"));
  minimize(b, w->loss, Optimizer("sgd", 0.001));
  w->data = {{"x", line.x}, {"y", line.y}};
  w->batch = 20;
  w->values = {{"fc_0.w_0", xavier(4, 13, 1)}};
  return w;
}

std::unique_ptr<Workload> w4_dense() {
  constexpr int64_t n = 20000;
  auto w = std::make_unique<Workload>();
  const Builder b(w->net);
  data(b, "x", {273});
  data(b, "y", {1}, {.dtype = DType::i64});
  std::string h = "x";
  for (int k = 0; k < 3; ++k) h = fc(b, h, 400, {.act = "relu"});
  w->loss = mean(b, cross_entropy(b, fc(b, h, 2, {.act = "softmax"}), "y"));
  minimize(b, w->loss, Optimizer("sgd", 1e-4));
  w->data = {{"x", uniform(31, {n, 273}, 0, 1)}, {"y", integers(32, {n, 1}, 2)}};
  w->batch = 1000;
  w->values = {{"fc_0.w_0", xavier(34, 273, 400)},
               {"fc_1.w_0", xavier(35, 400, 400)},
               {"fc_2.w_0", xavier(36, 400, 400)},
               {"fc_3.w_0", xavier(37, 400, 2)}};
  return w;
}

// W4 whole: 13 numbers and 26 ids, which share a sparse table, and the AUC.
std::unique_ptr<Workload> w5(const Clicks& clicks, int64_t batch) {
  auto w = std::make_unique<Workload>();
  const Builder b(w->net);
  data(b, "dense", {13});
  data(b, "ids", {26, 1}, {.dtype = DType::i64});
  data(b, "y", {1}, {.dtype = DType::i64});
  const std::string e = embedding(b, "ids", {Clicks::height, 10}, {.is_sparse = true});
  std::string h = concat(b, Names{"dense", reshape(b, e, {-1, 260})}, 1);
  for (int k = 0; k < 3; ++k) h = fc(b, h, 400, {.act = "relu"});
  const std::string p = fc(b, h, 2, {.act = "softmax"});
  w->loss = mean(b, cross_entropy(b, p, "y"));
  auc(b, p, "y");
  minimize(b, w->loss, Optimizer("sgd", 1e-4));
  w->sparse = true;
  w->data = {{"dense", clicks.dense}, {"ids", clicks.ids}, {"y", clicks.y}};
  w->batch = batch;
  w->values = {{"embedding_0.w_0", xavier(33, Clicks::height, 10)},
               {"fc_0.w_0", xavier(34, 273, 400)},
               {"fc_1.w_0", xavier(35, 400, 400)},
               {"fc_2.w_0", xavier(36, 400, 400)},
               {"fc_3.w_0", xavier(37, 400, 2)}};
  return w;
}

struct Setup {
  bool remote = true;  // through pservers; else each trainer on its own
  bool pinned = true;  // to the share of the CPUs that paddle launch gives to a trainer by default
  wire::Mode mode = wire::Mode::sync;
  bool rows_ahead = true;
  RowCacheOptions row_cache = {};
};

// One trainer: every second batch of the data, through the pservers or, where there are none, on
// its own.
class Trainer {
 public:
  Trainer(const Workload& w, uint32_t id, const Names& endpoints, const Setup& place)
      : executor_({.threads = 1}), remote_(!endpoints.empty()) {
    flush_denormals();
    executor_.run(w.net.startup, scope_);
    for (const auto& [name, value] : w.values) scope_.var(name).tensor = value.clone();
    Names feeds;
    for (const auto& [name, all] : w.data) {
      feeds.push_back(name);
      std::vector<Tensor>& batches = batches_.emplace_back();
      for (int64_t at = id * w.batch; at + w.batch <= all.shape()[0]; at += trainers * w.batch)
        batches.push_back(all.rows(at, at + w.batch));
    }
    if (remote_) {
      cut_ = transpile(w.net.main, w.net.startup,
                       {.trainer_id = id,
                        .trainers = static_cast<uint32_t>(trainers),
                        .endpoints = endpoints,
                        .sync = place.mode == wire::Mode::sync,
                        .tables = true});
      connect(id, endpoints, place);
    }
    const PlanOptions options{.remote = client_.get()};
    plan_ = std::make_unique<Plan>(remote_ ? cut_.trainer : w.net.main, 0, scope_, feeds,
                                   Names{w.loss}, executor_.pool(), options);
  }

  void steps(int64_t count) {
    for (int64_t i = 0; i < count; ++i, ++step_) {
      if (remote_) client_->begin_step(step_, {}, {});
      for (size_t f = 0; f < batches_.size(); ++f)
        plan_->feed(f, batches_[f][step_ % batches_[f].size()]);
      if (remote_) announce_next();
      plan_->run(step_);
      if (remote_) client_->end_step();
    }
  }
  double loss() { return plan_->fetched(0).as<float>()[0]; }
  Scope& scope() {  // with the parameters that the next step would use
    if (remote_) client_->refresh(step_);
    return scope_;
  }
  void leave() {
    if (!remote_) return;
    client_->finish(step_);
    client_->say_bye();
  }

 private:
  void announce_next() {
    following_.clear();
    for (const std::vector<Tensor>& batches : batches_)
      following_.push_back(batches[(step_ + 1) % batches.size()]);
    plan_->announce(following_, step_ + 1);
  }
  void connect(uint32_t id, const Names& endpoints, const Setup& place) {
    PsOptions options;
    for (const std::string& e : endpoints)
      options.shards.push_back(wire::parse_endpoint(e, "the pserver"));
    options.hello = wire::make_hello(wire::Role::trainer);
    options.hello.job = options.hello.program = "bench";
    options.hello.mode = place.mode;
    options.hello.trainer = id;
    options.hello.trainers = static_cast<uint32_t>(trainers);
    options.hello.shards = static_cast<uint32_t>(endpoints.size());
    options.rows_ahead = place.rows_ahead;
    options.row_cache = place.row_cache;
    client_ = std::make_unique<PsClient>(cut_, scope_, options, [] {});
    step_ = client_->join(0).step;
  }

  Executor executor_;
  bool remote_;
  Scope scope_;
  Cut cut_;
  std::unique_ptr<PsClient> client_;
  std::unique_ptr<Plan> plan_;
  std::vector<std::vector<Tensor>> batches_;  // of each feed
  std::vector<Tensor> following_;             // the next batch
  uint64_t step_ = 0;
};

struct Outcome {
  double rate = 0;               // steps per second of the slowest trainer
  double trainer_cpu = 0;        // seconds per step of all trainers
  double pserver_cpu = 0;        // and of all pservers
  double before = 0, after = 0;  // what `check` says before the first step and after `warm_up`
};

void keep_to_share(uint32_t id) {
  const std::vector<int> cpus = cpu_share(own_cpus(), id, trainers, 1);
  const cpu_set_t mask = cpu_mask(cpus);
  require(cpus.empty() || ::sched_setaffinity(0, sizeof mask, &mask) == 0, Error::Kind::config,
          "cannot keep trainer ", id, " to its share of the CPUs");
}

template <class Check>
Outcome run(const Workload& w, Setup place, int64_t warm_up, int64_t steps, const Check& check) {
  const bool remote = place.remote;
  std::vector<std::unique_ptr<Pserver>> servers;
  Names endpoints;
  for (int i = 0; remote && i < trainers; ++i) {
    servers.push_back(
        std::make_unique<Pserver>(PserverOptions{.trainers = trainers, .spin_microseconds = -1}));
    endpoints.push_back(servers.back()->endpoint());
  }
  const auto one = [&](uint32_t id) -> std::vector<double> {
    if (place.pinned) keep_to_share(id);
    Trainer t(w, id, endpoints, place);
    const double before = check(t);
    t.steps(warm_up);
    const auto servers_cpu = [&] {
      double sum = 0;
      for (const auto& s : servers) sum += s->cpu();
      return sum;
    };
    const double after = check(t), start = seconds(), cpu = cpu_seconds(::getpid());
    const double pservers = servers_cpu();
    t.steps(steps);
    const double rate = static_cast<double>(steps) / (seconds() - start);
    const double used = (cpu_seconds(::getpid()) - cpu) / static_cast<double>(steps);
    const double used_there = (servers_cpu() - pservers) / static_cast<double>(steps);
    t.leave();
    return {rate, used, before, after, used_there};
  };
  std::vector<std::unique_ptr<Child>> children;
  for (uint32_t id = 0; id < static_cast<uint32_t>(trainers); ++id)
    children.push_back(std::make_unique<Child>([&one, id] { return one(id); }));
  Outcome out;
  for (size_t id = 0; id < children.size(); ++id) {
    const std::vector<double> r = children[id]->result();
    out.rate = id == 0 ? r[0] : std::min(out.rate, r[0]);
    out.trainer_cpu += r[1];
    if (id == 0) out.before = r[2], out.after = r[3], out.pserver_cpu = r[4];
  }
  return out;
}

void measure_w1(double secs) {
  constexpr int64_t epoch = 1000;  // steps of each of both trainers
  const Line line;
  const auto w = w1(line);
  const auto error = [&](Trainer& t) {
    Scope& s = t.scope();
    return line.error(s.tensor("fc_0.w_0").data<float>(), s.tensor("fc_0.b_0").data<float>()[0]);
  };
  int64_t steps = 500;
  steps = static_cast<int64_t>(secs * run(*w, {}, epoch, steps, error).rate);
  std::vector<double> rates, trainer, pserver;
  Outcome o;
  for (int turn = 0; turn < turns; ++turn) {
    o = run(*w, {}, epoch, steps, error);
    rates.push_back(o.rate);
    trainer.push_back(1e6 * o.trainer_cpu);
    pserver.push_back(1e6 * o.pserver_cpu);
  }
  std::printf(
      "{\"workload\": \"W1 2x2\", \"peer\": \"paddle\", \"cfg\": {\"batch\": 20, \"workers\": 2}, "
      "\"unit\": \"steps/s\", \"median\": %.1f, \"min\": %.1f, \"max\": %.1f, "
      "\"trainers_cpu_us_per_step\": %.1f, \"pservers_cpu_us_per_step\": %.1f, "
      "\"mse_init\": %.5f, \"mse_1epoch\": %.5f}\n",
      median(rates), percentile(rates, 0), percentile(rates, 1), median(trainer), median(pserver),
      o.before, o.after);
}

// Samples per second through pservers beside those of the same two processes on their own.
void measure_beside(const Workload& w, const std::string& what, Setup place, double secs,
                    const Numbers& goals) {
  const auto none = [](Trainer&) { return 0.0; };
  const double per_step = static_cast<double>(trainers * w.batch);
  Setup own = place;
  own.remote = false;
  const auto steps =
      std::max<int64_t>(5, static_cast<int64_t>(secs * run(w, own, 5, 10, none).rate));
  Setup later = place;
  later.rows_ahead = false;
  Setup cached = place;
  cached.row_cache = {.bytes = uint64_t{64} << 20, .steps = 10};
  const bool caches = w.sparse && place.mode == wire::Mode::async;
  std::vector<double> together, alone, late, with_cache;
  double trainer = 0, pserver = 0, alone_cpu = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const Outcome o = run(w, place, 5, steps, none);
    together.push_back(per_step * o.rate);
    trainer = o.trainer_cpu;
    pserver = o.pserver_cpu;
    if (w.sparse) late.push_back(per_step * run(w, later, 5, steps, none).rate);
    if (caches) with_cache.push_back(per_step * run(w, cached, 5, steps, none).rate);
    const Outcome apart = run(w, own, 5, steps, none);
    alone.push_back(per_step * apart.rate);
    alone_cpu = apart.trainer_cpu;
  }
  Numbers row = {{"ours", median(together)},
                 {"raw", median(alone)},
                 {"percent", 100 * median(together) / median(alone)},
                 {"trainers_cpu_us_per_step", 1e6 * trainer},
                 {"alone_cpu_us_per_step", 1e6 * alone_cpu},
                 {"pservers_cpu_us_per_step", 1e6 * pserver}};
  if (w.sparse) row.emplace_back("rows_late", median(late));
  if (caches) row.emplace_back("rows_cached", median(with_cache));
  row.insert(row.end(), goals.begin(), goals.end());
  print_row(what, "samples/s", row);
}

void measure_w4(double secs) {
  const auto w = w4_dense();
  const std::string what = "W4 dense part, 2 x 2, sync, batch 1000";
  measure_beside(*w, what, {}, secs, {{"goal_percent", 75}});
  measure_beside(*w, what + ", --pin_cpus=false", {.pinned = false}, secs, {});
}

void measure_w5(double secs, const std::string& only_mode, int64_t only_batch) {
  const Clicks clicks;
  for (const auto& [mode, name, small, large] : {std::tuple{wire::Mode::sync, "sync", 50e3, 95e3},
                                                 {wire::Mode::async, "async", 60e3, 105e3}})
    for (const int64_t batch : {100, 1000}) {
      if ((!only_mode.empty() && only_mode != name) || (only_batch > 0 && only_batch != batch))
        continue;
      measure_beside(*w5(clicks, batch),
                     text("W5, ", trainers, " x ", trainers, ", ", name, ", batch ", batch),
                     {.mode = mode}, secs, {{"goal", batch == 100 ? small : large}});
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const double secs = argc > 2 ? std::atof(argv[2]) : 1;
  if (argc > 3) trainers = std::max(1, std::min(64, std::atoi(argv[3])));
  try {
    if (which == "w1") return measure_w1(secs), 0;
    if (which == "w4") return measure_w4(secs), 0;
    if (which == "w5")
      return measure_w5(secs, argc > 4 ? argv[4] : "", argc > 5 ? std::atoi(argv[5]) : 0), 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "dist_bench: %s\n", e.what());
    return 1;
  }
  std::fprintf(stderr, "usage: dist_bench w1|w4|w5 [seconds per turn [n [sync|async batch]]]\n");
  return 2;
}
