// Snapshots of a sparse table: snapshot_bench [GB [DIR]] fills a pserver over loopback with so many
// GB of rows (default 1) of 16 values with adagrad, and measures, beside a trainer that goes on
// with whole steps in sync: a snapshot of all rows, one of what changed since, and kill -9 until
// the first good step. What the disk of DIR (default: the present directory) can do is measured in
// the same go. Prints one JSON object per line.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/generator.h"
#include "bench/processes.h"
#include "bench/report.h"
#include "exec/executor.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "pserver/snapshot.h"
#include "trainer/ps_client.h"

namespace paddle::bench {
namespace {

constexpr int64_t width = 16;
constexpr double row_bytes = 16 + 2 * 4 * width;  // head, values, state
constexpr size_t batch = 4096;

// One trainer; ids are hashes.
class Trainer {
 public:
  explicit Trainer(const std::string& endpoint) : grads_(batch * width, 0x1p-10f), values_(grads_) {
    Net net;
    const Builder b(net);
    data(b, "ids", {1}, {.dtype = DType::i64});
    const std::string e =
        embedding(b, "ids", {-1, width},
                  {.is_distributed = true,
                   .param_attr = {.name = "emb", .initializer = init::Uniform{-1, 1, 1}}});
    minimize(b, mean(b, e), Optimizer("adagrad", 0.1));
    cut_ = transpile(net.main, net.startup, {.endpoints = {endpoint}, .tables = true});
    Executor().run(net.startup, scope_);
    PsOptions o;
    o.shards = {wire::parse_endpoint(endpoint, "the pserver")};
    o.hello = wire::make_hello(wire::Role::trainer);
    o.hello.job = o.hello.program = "bench";
    o.hello.shards = 1;
    client_ = std::make_unique<PsClient>(cut_, scope_, o, [] {});
    step = client_->join(0).step;
  }

  // A whole step, or a push alone, with the rows from `first` on. Seconds.
  double go(uint64_t first, bool pulls) {
    const double start = seconds();
    ids_.resize(batch);
    for (uint64_t i = 0; i < batch; ++i) ids_[i] = mix64(first + i);
    client_->begin_step(step, {}, {});
    if (pulls) client_->pull_rows(0, ids_, values_.data(), step);
    client_->push_rows(0, ids_, grads_.data(), step);
    client_->end_step();
    ++step;
    return seconds() - start;
  }
  void settle() { client_->refresh(step); }

  uint64_t step = 0;

 private:
  Cut cut_;
  Scope scope_;
  std::unique_ptr<PsClient> client_;
  std::vector<uint64_t> ids_;
  std::vector<float> grads_, values_;
};

// GB/s of dd past the page cache, as written (and brought to the disk) and as read.
std::pair<double, double> disk_limit(const std::string& directory) {
  constexpr double bytes = 1 << 30;
  const std::string file = directory + "/limit", end = " bs=8M 2>/dev/null";
  const auto rate = [&](const std::string& words) {
    const double start = seconds();
    require(std::system(words.c_str()) == 0, Error::Kind::io, "this failed: ", words);
    return 1e-9 * bytes / (seconds() - start);
  };
  const double written =
      rate("dd if=/dev/zero of=" + file + " count=128 oflag=direct conv=fsync" + end);
  const double read = rate("dd if=" + file + " of=/dev/null iflag=direct" + end);
  std::filesystem::remove(file);
  return {written, read};
}

class Measurement {
 public:
  Measurement(double gb, const std::string& directory)
      : rows_(static_cast<uint64_t>(gb * 1e9 / row_bytes) / batch * batch),
        period_(rows_ / batch + 200),
        snapshots_(directory + "/snapshots") {}

  void run(const std::string& directory) {
    const auto limit = disk_limit(directory);
    auto first = std::make_unique<Trainer>(start());
    Trainer& trainer = *first;
    while (trainer.step < rows_ / batch) trainer.go(trainer.step * batch, false);
    trainer.settle();
    std::vector<double> calm;
    const auto work = [&] { return trainer.go(mix64(trainer.step) % (rows_ - batch), true); };
    while (trainer.step < period_) calm.push_back(work());
    snapshot("snapshot of all rows", trainer, work, calm, limit.first);
    const auto few = [&] { return trainer.go(mix64(trainer.step) % (rows_ / 50), true); };
    while (trainer.step < 2 * period_) few();
    snapshot("snapshot of changes", trainer, few, calm, limit.first);
    restart(std::move(first), limit.second);
  }

 private:
  std::string start() {
    server_ = std::make_unique<Pserver>(
        PserverOptions{.flags = {"--snapshot_dir=" + snapshots_,
                                 text("--snapshot_period=", period_), "--snapshots_keep=1"}});
    return server_->endpoint();
  }
  std::string path(uint64_t step) const { return snapshots_ + "/shard-0/" + snapshot_name(step); }

  // Whole steps until the snapshot that has just become due is there.
  template <class F>
  void snapshot(const char* name, Trainer& trainer, const F& step, const std::vector<double>& calm,
                double disk) {
    const std::string at = path(trainer.step), done = at + "/done";
    const double start = seconds();
    std::vector<double> during;
    while (!std::filesystem::exists(done)) during.push_back(step());
    const double took = seconds() - start;
    double bytes = 0;  // of the newest dump: files that it shares were there before
    size_t last = 0;
    while (std::filesystem::exists(at + "/table-0." + std::to_string(last + 1))) ++last;
    bytes = static_cast<double>(std::filesystem::file_size(
        at + "/table-0" + (last == 0 ? "" : "." + std::to_string(last))));
    print_row(name, "GB/s",
              {{"ours", 1e-9 * bytes / took},
               {"dd", disk},
               {"percent", 1e-7 * bytes / took / disk},
               {"GB", 1e-9 * bytes},
               {"seconds", took},
               {"steps", static_cast<double>(during.size())},
               {"step_ms", 1e3 * median(during)},
               {"step_ms_p99", 1e3 * percentile(during, 0.99)},
               {"step_ms_longest", 1e3 * percentile(during, 1)},
               {"calm_ms", 1e3 * median(calm)},
               {"calm_ms_longest", 1e3 * percentile(calm, 1)},
               {"slowdown_percent", 100 * (mean_of(during) / mean_of(calm) - 1)}});
  }
  static double mean_of(const std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum / static_cast<double>(v.size());
  }

  // What it had applied since its last snapshot is done again.
  void restart(std::unique_ptr<Trainer> trainer, double disk) {
    const uint64_t before = trainer->step;
    const double start = seconds();
    server_.reset();  // kill -9
    trainer.reset();
    const double killed = seconds();
    const std::string endpoint = this->start();
    const double listens = seconds();
    Trainer again(endpoint);
    require(again.step <= before && again.step > 0, Error::Kind::numeric,
            "the job went on at step ", again.step);
    again.go(0, true);
    again.settle();
    const double bytes = static_cast<double>(rows_) * row_bytes;
    print_row("kill -9 until the first good step", "s",
              {{"ours", seconds() - start},
               {"GB", 1e-9 * bytes},
               {"until_it_listens", listens - killed},
               {"GB_per_s", 1e-9 * bytes / (listens - killed)},
               {"dd_read", disk}});
  }

  const uint64_t rows_, period_;
  const std::string snapshots_;
  std::unique_ptr<Pserver> server_;
};

}  // namespace
}  // namespace paddle::bench

int main(int argc, char** argv) {
  using namespace paddle;
  try {
    const double gb = argc > 1 ? std::atof(argv[1]) : 1;
    std::string directory = std::string(argc > 2 ? argv[2] : ".") + "/snapshot_bench.XXXXXX";
    require(::mkdtemp(directory.data()) != nullptr, Error::Kind::io, "cannot make '", directory,
            "'");
    directory = std::filesystem::absolute(directory).string();
    bench::Measurement(gb, directory).run(directory);
    std::filesystem::remove_all(directory);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "snapshot_bench: %s\n", e.what());
    return 1;
  }
}
