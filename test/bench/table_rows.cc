#include "bench/table_rows.h"

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/generator.h"
#include "bench/processes.h"
#include "bench/report.h"
#include "exec/executor.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "trainer/ps_client.h"

namespace paddle::bench {
namespace {

constexpr int64_t width = 16;
constexpr uint64_t rows = 2000000;
constexpr size_t batch = 4 * 4096;  // ids of a request; ps-lite was measured with 4 x 4096
constexpr int turns = 9;

class RowClient {
 public:
  RowClient(const std::string& endpoint, wire::Mode mode) {
    Net net;
    const Builder b(net);
    data(b, "ids", {1}, {.dtype = DType::i64});
    const std::string e =
        embedding(b, "ids", {-1, width},
                  {.is_distributed = true,
                   .param_attr = {.name = "emb", .initializer = init::Uniform{-1, 1, 1}}});
    minimize(b, mean(b, e), Optimizer("sgd", 0.1));
    cut_ = transpile(net.main, net.startup,
                     {.endpoints = {endpoint}, .sync = mode == wire::Mode::sync, .tables = true});
    Executor().run(net.startup, scope_);
    PsOptions o;
    o.shards = {wire::parse_endpoint(endpoint, "the pserver")};
    o.hello = wire::make_hello(wire::Role::trainer);
    o.hello.job = o.hello.program = "bench";
    o.hello.mode = mode;
    o.hello.shards = 1;
    client_ = std::make_unique<PsClient>(cut_, scope_, o, [] {});
    step_ = client_->join(0).step;
    fill();
  }

  // Of one kind of request, for so many seconds: rows per second.
  double rate(bool pulls, bool pushes, double secs) {
    size_t done = 0;
    const double start = seconds();
    while (seconds() < start + secs) {
      const std::span<const uint64_t> ids = next();
      client_->begin_step(step_, {}, {});
      if (pulls) client_->pull_rows(0, ids, values_.data(), step_);
      if (pushes) {
        client_->push_rows(0, ids, grads_.data(), step_);
        client_->end_step();
        ++step_;
      }
      done += ids.size();
    }
    client_->refresh(step_);
    return static_cast<double>(done) / (seconds() - start);
  }

 private:
  std::span<const uint64_t> next() {
    at_ = at_ + batch > ids_.size() ? 0 : at_;
    const auto out = std::span<const uint64_t>(ids_).subspan(at_, batch);
    at_ += batch;
    return out;
  }
  // All rows, in any order: ids are hashes.
  void fill() {
    ids_.resize(rows);
    for (uint64_t i = 0; i < rows; ++i) ids_[i] = mix64(i);
    std::shuffle(ids_.begin(), ids_.end(), std::mt19937_64(1));
    values_.resize(batch * width);
    grads_.assign(batch * width, 0x1p-10f);
    for (uint64_t i = 0; i < rows / batch; ++i, ++step_) {
      client_->begin_step(step_, {}, {});
      client_->push_rows(0, next(), grads_.data(), step_);
      client_->end_step();
    }
    client_->refresh(step_);
    at_ = 0;
    ids_.resize(rows / batch * batch);
    std::shuffle(ids_.begin(), ids_.end(), std::mt19937_64(2));
  }

  Cut cut_;
  Scope scope_;
  std::unique_ptr<PsClient> client_;
  std::vector<uint64_t> ids_;
  std::vector<float> values_, grads_;
  size_t at_ = 0;
  uint64_t step_ = 0;
};

}  // namespace

void measure_rows(double secs) {
  const auto print = [&](const std::string& what, Pserver& server, RowClient& client, bool pulls,
                         bool pushes, double goal) {
    std::vector<double> rates;
    double moved = 0, mine = 0, theirs = 0;
    client.rate(pulls, pushes, secs / turns);
    for (int t = 0; t < turns; ++t) {
      const double start = seconds(), own = cpu_seconds(::getpid()), other = server.cpu();
      rates.push_back(client.rate(pulls, pushes, secs / turns));
      moved += 1e-6 * rates.back() * (seconds() - start);
      mine += cpu_seconds(::getpid()) - own;
      theirs += server.cpu() - other;
    }
    print_row(what, "M rows/s",
              {{"ours", 1e-6 * median(rates)},
               {"best", 1e-6 * percentile(rates, 1)},
               {"goal", goal},
               {"trainer_cpu_us_per_mib", 1e6 * mine / moved / (1e6 * width * 4 / (1 << 20))},
               {"pserver_cpu_us_per_mib", 1e6 * theirs / moved / (1e6 * width * 4 / (1 << 20))}});
  };
  for (const auto& [name, mode] :
       {std::pair{"sync", wire::Mode::sync}, {"async", wire::Mode::async}}) {
    Pserver server({.cpu = 1});
    RowClient client(server.endpoint(), mode);
    print(text("rows of 16, pull, ", name), server, client, true, false, 15);
    print(text("rows of 16, push + sgd, ", name), server, client, false, true, 10);
    print(text("rows of 16, whole step, ", name), server, client, true, true, 5);
  }
}

}  // namespace paddle::bench
