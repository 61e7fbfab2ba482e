// Rows of sparse tables between trainers' clients and shards on real sockets in one process: the
// rows of every step have the bits of one table that is driven by plain calls, and no gradient is
// lost or applied twice, whatever happens to connections.
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <thread>

#include "base/log.h"
#include "exec/networks.h"
#include "exec/table_store.h"
#include "obs/exchange_times.h"
#include "pserver/client.h"
#include "pserver/table_part.h"
#include "trainer/cutting_proxy.h"
#include "trainer/ps_client.h"

using namespace paddle;
using namespace paddle::test;

namespace rows_test {

using Ids = std::vector<uint64_t>;
using Floats = std::vector<float>;
constexpr int64_t width = 3;

struct QuietLog {
  QuietLog() { start_log({.min_level = 4}); }
  ~QuietLog() { start_log({}); }
};

struct Cluster {
  Cluster(size_t n, const ShardOptions& options = {}) {
    for (size_t i = 0; i < n; ++i) shards.push_back(std::make_unique<RunningShard>(options));
    for (const auto& s : shards) ports.push_back(s->port());
  }
  std::vector<std::unique_ptr<RunningShard>> shards;
  std::vector<uint16_t> ports;
};

PsOptions options_of(const std::vector<uint16_t>& ports, uint32_t trainer, uint32_t trainers,
                     wire::Mode mode) {
  PsOptions out;
  for (const uint16_t p : ports) out.shards.push_back({"127.0.0.1", p});
  out.hello = wire::make_hello(wire::Role::trainer);
  out.hello.job = "rows";
  out.hello.program = "digest";
  out.hello.process = "trainer" + std::to_string(trainer);
  out.hello.mode = mode;
  out.hello.trainer = trainer;
  out.hello.trainers = trainers;
  out.hello.shards = static_cast<uint32_t>(ports.size());
  out.geo_steps = mode == wire::Mode::geo ? 4 : 0;
  out.peer_timeout = 60;
  out.spin_microseconds = 0;
  return out;
}

// A network with two tables beside its parameters, on all shards.
struct Job {
  Job(size_t shards, uint32_t trainers, wire::Mode mode, const std::string& rule)
      : mode(mode), trainers(trainers) {
    mlp(net, "tanh", 6);
    const Builder b(net.net);
    minimize(b, net.loss, Optimizer("sgd", 0.125f));
    for (const char* name : {"emb", "wide"}) {
      TableSpec s{.param = name, .grad = std::string(name) + "@GRAD", .width = width};
      s.rule = rule;
      for (const auto& op : net.net.main.global().ops())
        if (op->type == "sgd") s.learning_rate = op->in["LearningRate"][0];
      s.seed = 5;
      if (rule != "sgd") {
        s.init = "normal";
        s.init_b = 0.1f;
      }
      net.net.main.tables.push_back(s);
    }
    Names endpoints;
    for (size_t i = 0; i < shards; ++i) endpoints.push_back("s:" + std::to_string(i + 1));
    cut = transpile(net.net.main, net.net.startup,
                    {.trainers = trainers,
                     .endpoints = endpoints,
                     .sync = mode == wire::Mode::sync,
                     .geo = mode == wire::Mode::geo,
                     .min_block_size = 5});
    cut.trainer.tables = net.net.main.tables;
    REQUIRE(cut.table_shards.size() == shards);
  }
  Trained net;
  Cut cut;
  wire::Mode mode;
  uint32_t trainers;
  bool ahead = true;  // the next step's ids are announced
  RowCacheOptions cache;
};

// Some ids are everybody's, and now and then a trainer has none.
Ids ids_of(int32_t table, uint32_t trainer, uint64_t step) {
  Ids out;
  if ((trainer + step + static_cast<uint64_t>(table)) % 5 == 4) return out;
  std::set<uint64_t> all;
  const RandomStream random(99 + static_cast<uint64_t>(table), trainer * 1000 + step);
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t bits = random.bits(i);
    all.insert(i % 4 == 0 ? bits : bits % 23);
  }
  out.assign(all.begin(), all.end());
  return out;
}

// Small whole numbers: sums are exact in any order.
Floats grads_of(uint32_t trainer, uint64_t step, const Ids& ids) {
  Floats out;
  for (const uint64_t id : ids)
    for (int64_t j = 0; j < width; ++j)
      out.push_back(
          static_cast<float>(static_cast<int64_t>((id + trainer * 7 + step * 3) % 9) + j - 4));
  return out;
}

Floats pulled(const Table& table, const Ids& ids) {
  Floats out(ids.size() * static_cast<size_t>(width));
  table.pull(ids, out.data());
  return out;
}

// What all trainers must see, step by step.
class Reference {
 public:
  explicit Reference(const Job& job) {
    for (const TableSpec& s : job.cut.trainer.tables)
      tables.push_back(std::make_unique<Table>(table_options(s)));
  }
  void step(uint64_t step, uint32_t trainers) {
    for (int32_t t = 0; t < 2; ++t) {
      RowSum sum(width);
      Ids ids;
      Floats grads;
      for (uint32_t trainer = 0; trainer < trainers; ++trainer) {
        ids = ids_of(t, trainer, step);
        grads = grads_of(trainer, step, ids);
        if (trainers > 1) sum.add(ids, grads.data());
      }
      if (trainers > 1) sum.take(1.0f / static_cast<float>(trainers), ids, grads);
      tables[static_cast<size_t>(t)]->push(ids, grads.data(), 0.125f, step);
    }
  }
  std::vector<std::unique_ptr<Table>> tables;
};

struct Result {
  std::vector<std::vector<Floats>> rows;  // by step and table
  std::vector<Floats> last;               // of looked_at, after all have finished
  std::string problem;
  uint64_t lost = 0, ahead = 0;
};

const Ids looked_at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 22, ~0ull};

// Without a plan: gradients of parameters are given numbers, those of rows grads_of().
class Worker {
 public:
  Worker(const Job& job, const PsOptions& options, Result& result) : job_(job), result_(result) {
    executor_.run(job.net.net.startup, scope_);
    client_ = std::make_unique<PsClient>(job.cut, scope_, options,
                                         [this] { executor_.run(job_.net.net.startup, scope_); });
    for (const ParamGrad& p : job.cut.params) {
      grads_.emplace_back(DType::f32, scope_.tensor(p.param).shape());
      std::fill_n(grads_.back().data<float>(), grads_.back().numel(), 0.25f);
    }
  }

  void run(uint64_t steps) {
    result_.rows.resize(steps);
    step_ = client_->join(0).step;
    for (bool over = false; !over;) try {
        while (step_ < steps) one_step();
        client_->finish(step_);
        client_->wait_for_others();
        look_at_rows();
        over = true;
      } catch (const Rewind& back) {
        if (back.over) return;
        if (back.place && back.place->record != back.step)
          result_.problem = text("step ", back.step, " at record ", back.place->record);
        step_ = back.step;
      }
    for (const uint64_t n : client_->rows().lost()) result_.lost += n;
    result_.ahead = client_->rows().requests().ahead();
    client_->say_bye();
  }

 private:
  void look_at_rows() {
    result_.last.clear();
    for (int32_t t = 0; t < 2 && job_.mode != wire::Mode::sync; ++t) {
      Floats rows(looked_at.size() * static_cast<size_t>(width));
      client_->pull_rows(t, looked_at, rows.data(), step_);  // may find that the job is over
      result_.last.push_back(std::move(rows));
    }
  }

  void one_step() {
    client_->begin_step(step_, {.record = step_}, {.record = step_ + 1});
    const uint32_t trainer = client_->trainer();
    std::vector<Floats> rows;
    for (int32_t t = 0; t < 2 && client_->takes_announcements(); ++t)
      client_->announce_rows(t, ids_of(t, trainer, step_ + 1), step_ + 1);
    for (int32_t t = 0; t < 2; ++t) {
      const Ids ids = ids_of(t, trainer, step_);
      rows.emplace_back(ids.size() * static_cast<size_t>(width));
      client_->pull_rows(t, ids, rows.back().data(), step_);
    }
    for (int32_t p = 0; p < static_cast<int32_t>(grads_.size()); ++p)
      client_->pull(p, View{}, step_);
    for (int32_t t = 0; t < 2; ++t) {
      const Ids ids = ids_of(t, trainer, step_);
      client_->set_rate(t, 0.125f);
      client_->push_rows(t, ids, grads_of(trainer, step_, ids).data(), step_);
      for (size_t p = static_cast<size_t>(t); p < grads_.size(); p += 2) {
        View v;
        v.data = grads_[p].raw();
        client_->push(static_cast<int32_t>(p), v, step_);
      }
    }
    client_->end_step();
    result_.rows[step_++] = std::move(rows);
  }

  const Job& job_;
  Result& result_;
  Executor executor_;
  Scope scope_;
  std::unique_ptr<PsClient> client_;
  std::vector<Tensor> grads_;
  uint64_t step_ = 0;
};

std::vector<Result> train_all(const Job& job, const std::vector<uint16_t>& ports, uint64_t steps) {
  std::vector<Result> results(job.trainers);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < job.trainers; ++i)
    threads.emplace_back([&, i] {
      try {
        PsOptions options = options_of(ports, i, job.trainers, job.mode);
        options.rows_ahead = job.ahead;
        options.row_cache = job.cache;
        Worker(job, options, results[i]).run(steps);
      } catch (const Error& e) {
        results[i].problem = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return results;
}

void check_sync(const Job& job, const std::vector<Result>& results, uint64_t steps) {
  Reference expected(job);
  for (uint64_t step = 0; step < steps; ++step) {
    for (uint32_t i = 0; i < job.trainers; ++i) {
      INFO("trainer " << i << ", step " << step);
      for (size_t t = 0; t < 2; ++t)
        CHECK(results[i].rows[step].at(t) ==
              pulled(*expected.tables[t], ids_of(static_cast<int32_t>(t), i, step)));
    }
    expected.step(step, job.trainers);
  }
}

TEST_CASE("rows that trainers pull equal those of one table in every step", "[trainer]") {
  const QuietLog quiet;
  const auto [trainers, shards] =
      GENERATE(table<uint32_t, size_t>({{1, 1}, {2, 2}, {3, 2}, {2, 5}}));
  const std::string rule = GENERATE("sgd", "adagrad", "adam");
  INFO(rule << ", " << trainers << " trainers, " << shards << " shards");
  Job job(shards, trainers, wire::Mode::sync, rule);
  job.ahead = rule != "sgd";
  const Cluster running(shards);
  constexpr uint64_t steps = 12;
  const auto results = train_all(job, running.ports, steps);
  for (const Result& r : results) {
    CHECK(r.problem.empty());
    CHECK(r.ahead == (job.ahead ? 2 * (steps - 1) : 0));  // all but those of the first step
  }
  check_sync(job, results, steps);
}

TEST_CASE("connections that are cut change no bit of a row", "[trainer]") {
  const QuietLog quiet;
  const uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const Job job(2, 2, wire::Mode::sync, "adagrad");
  const Cluster running(2);
  const CuttingProxy proxy({.seed = seed,
                            .cuts = 12,
                            .delays = 20,
                            .least = 200,
                            .most = 9000,
                            .longest_delay = std::chrono::milliseconds(3),
                            .repeats = true},
                           running.ports);
  constexpr uint64_t steps = 15;
  const auto results = train_all(job, proxy.ports(), steps);
  for (const Result& r : results) CHECK(r.problem.empty());
  CHECK(proxy.cuts() > 3);
  check_sync(job, results, steps);
}

// Both trainers' gradients of all steps are in the rows, each once, with this rate.
void check_each_once(const Job& job, const std::vector<Result>& results, uint64_t steps,
                     float rate) {
  Reference expected(job);
  for (size_t t = 0; t < 2; ++t)
    for (uint64_t step = 0; step < steps; ++step)
      for (uint32_t i = 0; i < 2; ++i) {
        const Ids ids = ids_of(static_cast<int32_t>(t), i, step);
        expected.tables[t]->push(ids, grads_of(i, step, ids).data(), rate, step);
      }
  for (const Result& r : results) {
    CHECK(r.problem.empty());
    CHECK(r.lost == 0);
    for (size_t t = 0; t < r.last.size(); ++t)
      CHECK(r.last[t] == pulled(*expected.tables[t], looked_at));
  }
  CHECK((!results[0].last.empty() || !results[1].last.empty()));
}

// The sums do not depend on the order, so the rows say whether each gradient counted once.
TEST_CASE("async: every gradient of a row is applied once, whatever is cut", "[trainer]") {
  const QuietLog quiet;
  const auto mode = GENERATE(wire::Mode::async, wire::Mode::half_async);
  const uint64_t seed = GENERATE(1u, 2u, 3u);
  Job job(2, 2, mode, "sgd");
  job.cache = {.bytes = uint64_t{64} << 10, .steps = GENERATE(0u, 3u)};
  if (job.cache.steps == 0) job.cache.bytes = 0;
  const uint64_t hits = exchange_times().row_cache.hits;
  const Cluster running(2);
  const CuttingProxy proxy({.seed = seed,
                            .cuts = 10,
                            .delays = 10,
                            .least = 300,
                            .most = 9000,
                            .longest_delay = std::chrono::milliseconds(2),
                            .repeats = true},
                           running.ports);
  constexpr uint64_t steps = 15;
  const auto results = train_all(job, proxy.ports(), steps);
  check_each_once(job, results, steps, 0.125f);
  CHECK((exchange_times().row_cache.hits > hits) == (job.cache.bytes > 0));
}

// Two trainers, rate 1/8 and small whole gradients: halves of sums are exact in any order too.
TEST_CASE("geo: every difference of a row is added once, whatever is cut", "[trainer]") {
  const QuietLog quiet;
  const uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const Job job(2, 2, wire::Mode::geo, "sgd");
  const Cluster running(2);
  const CuttingProxy proxy({.seed = seed,
                            .cuts = 10,
                            .delays = 10,
                            .least = 300,
                            .most = 9000,
                            .longest_delay = std::chrono::milliseconds(2),
                            .repeats = true},
                           running.ports);
  constexpr uint64_t steps = 22;  // the last exchange is that of the end
  const auto results = train_all(job, proxy.ports(), steps);
  check_each_once(job, results, steps, 0.0625f);
  CHECK(proxy.cuts() > 1);
}

}  // namespace rows_test
