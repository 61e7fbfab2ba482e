// train_bench w1|w2|w3|w4 [seconds per repeat [gpu]]: the workloads of docs/benchmarks.md on this
// program, one thread, through the layers and the executor that every job uses; with the word gpu
// on one, with what a step asks of it. One JSON line per configuration, in the form of the peers'
// programs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "bench/generator.h"
#include "exec/executor.h"
#include "exec/gpu.h"
#include "layers/layers.h"
#include "layers/optimizers.h"

using namespace paddle;
using namespace paddle::bench;

namespace {

// One network with its first values, and batches cut from whole arrays without copies.
struct Workload {
  Net net;
  std::string loss;
  std::vector<std::pair<std::string, Tensor>> data;    // by feed
  std::vector<std::pair<std::string, Tensor>> values;  // of parameters
};

std::shared_ptr<Gpu> gpu;  // null for the CPU

class Runner {
 public:
  Runner(Workload& w, int64_t batch)
      : executor_(
            {.threads = 1,
             .plan = {.profile = std::getenv("PADDLE_BENCH_PROFILE") != nullptr, .gpu = gpu}}) {
    executor_.run(w.net.startup, scope_);
    for (const auto& [name, value] : w.values) scope_.var(name).tensor = value.clone();
    Names feeds;
    for (const auto& [name, whole] : w.data) {
      feeds.push_back(name);
      std::vector<Tensor> parts;
      for (int64_t at = 0; at + batch <= whole.shape()[0]; at += batch)
        parts.push_back(whole.rows(at, at + batch));
      batches_.push_back(std::move(parts));
    }
    plan_ = &executor_.plan(w.net.main, scope_, feeds, {w.loss});
  }

  double step(int64_t i) {
    const auto k = static_cast<size_t>(i) % batches_[0].size();
    for (size_t f = 0; f < batches_.size(); ++f) plan_->feed(f, batches_[f][k]);
    if (gpu) {
      next_.clear();
      for (const auto& batches : batches_) next_.push_back(batches[(k + 1) % batches.size()]);
      plan_->announce(next_, static_cast<uint64_t>(i) + 1);
    }
    plan_->run(static_cast<uint64_t>(i));
    return plan_->fetched(0).as<float>()[0];
  }

  Scope& scope() { return scope_; }
  const Plan& plan() const { return *plan_; }

 private:
  Executor executor_;
  Scope scope_;
  std::vector<std::vector<Tensor>> batches_;
  std::vector<Tensor> next_;
  Plan* plan_;
};

// What a step asks of the GPU; nothing on the CPU.
std::string gpu_work(Runner& runner, int64_t step) {
  if (!gpu) return "";
  const DeviceWork before = gpu->device()->work;
  runner.step(step);
  const DeviceWork after = gpu->device()->work;
  const auto some = [&](uint64_t DeviceWork::*count) {
    return static_cast<unsigned long long>(after.*count - before.*count);
  };
  return text("\"launches\": ", some(&DeviceWork::launches),
              ", \"products\": ", some(&DeviceWork::products),
              ", \"product_flops\": ", some(&DeviceWork::product_flops),
              ", \"replays\": ", some(&DeviceWork::replays),
              ", \"replayed\": ", some(&DeviceWork::replayed),
              ", \"kernel_bytes\": ", runner.plan().gpu_traffic(),
              ", \"uploads\": ", some(&DeviceWork::uploads),
              ", \"uploaded\": ", some(&DeviceWork::uploaded),
              ", \"downloads\": ", some(&DeviceWork::downloads),
              ", \"downloaded\": ", some(&DeviceWork::downloaded),
              ", \"waits\": ", some(&DeviceWork::waits), ", ");
}

void report(const char* workload, const std::string& config, Runner& runner, double per_step,
            const char* unit, double secs, const std::string& check) {
  int64_t it = 60;
  double t = seconds();
  for (int i = 0; i < 40; ++i) runner.step(it++);
  const auto steps = std::max<int64_t>(10, static_cast<int64_t>(secs / ((seconds() - t) / 40)));
  double rate[3], cpu = 0, wall = 0;
  for (double& r : rate) {
    const clock_t c0 = clock();
    t = seconds();
    for (int64_t i = 0; i < steps; ++i) runner.step(it++);
    const double w = seconds() - t;
    wall += w;
    cpu += static_cast<double>(clock() - c0) / CLOCKS_PER_SEC;
    r = static_cast<double>(steps) * per_step / w;
  }
  std::sort(rate, rate + 3);
  const std::string asked = gpu_work(runner, it);
  std::printf(
      "{\"workload\": \"%s\", \"peer\": \"%s\", \"cfg\": {%s, \"threads\": 1}, \"unit\": "
      "\"%s\", \"median\": %.1f, "
      "\"min\": %.1f, \"max\": %.1f, \"steps\": %lld, \"cpu_per_wall\": %.2f, %s%s}\n",
      workload, gpu ? "paddle_gpu" : "paddle", config.c_str(), unit, rate[1], rate[0], rate[2],
      static_cast<long long>(steps), cpu / wall, asked.c_str(), check.c_str());
  std::fflush(stdout);
  for (const OpCost& c : runner.plan().profile())
    if (c.calls > 0)
      std::fprintf(stderr, "%9.2f us  %s\n", 1e6 * c.seconds / static_cast<double>(c.calls),
                   c.op.c_str());
}

// Losses of step 0 and step 19, to compare with the other programs.
std::string first_losses(Runner& runner) {
  double first = 0, last = 0;
  for (int i = 0; i < 20; ++i) {
    last = runner.step(i);
    if (i == 0) first = last;
  }
  char out[80];
  std::snprintf(out, sizeof out, "\"loss0\": %.5f, \"loss19\": %.5f", first, last);
  return out;
}

void w1(double secs) {
  const int64_t batches = 2000, batch = 20;
  const Line line;
  Workload w;
  const Builder b(w.net);
  data(b, "x", {13});
  data(b, "y", {1});
  w.loss = mean(b, square_error_cost(b, fc(b, "x", 1), "y"));
  minimize(b, w.loss, Optimizer("sgd", 0.001));
  w.data = {{"x", line.x}, {"y", line.y}};
  w.values = {{"fc_0.w_0", xavier(4, 13, 1)}};
  Runner runner(w, batch);
  const auto mse = [&] {
    return line.error(runner.scope().tensor("fc_0.w_0").data<float>(),
                      runner.scope().tensor("fc_0.b_0").data<float>()[0]);
  };
  const double before = mse();
  for (int64_t i = 0; i < batches; ++i) runner.step(i);
  char check[80];
  std::snprintf(check, sizeof check, "\"mse_init\": %.5f, \"mse_1epoch\": %.5f", before, mse());
  report("W1", "\"batch\": 20, \"opt\": \"sgd\"", runner, 1, "steps/s", secs, check);
}

void w2(double secs) {
  const int64_t n = 512 * 32;
  const Tensor x = uniform(11, {n, 784}, -1, 1), truth = uniform(12, {784, 10}, -1, 1);
  Tensor y(DType::i64, {n, 1});
  for (int64_t i = 0; i < n; ++i) {
    double score[10] = {};
    for (int k = 0; k < 784; ++k)
      for (int j = 0; j < 10; ++j)
        score[j] +=
            static_cast<double>(x.data<float>()[i * 784 + k]) * truth.data<float>()[k * 10 + j];
    y.data<int64_t>()[i] = std::max_element(score, score + 10) - score;
  }
  for (const std::string act : {"tanh", "relu"}) {
    for (const int64_t batch : {64, 512}) {
      for (const std::string opt : {"sgd", "adam"}) {
        Workload w;
        const Builder b(w.net);
        data(b, "x", {784});
        data(b, "y", {1}, {.dtype = DType::i64});
        const std::string h1 = fc(b, "x", 200, {.act = act}), h2 = fc(b, h1, 200, {.act = act});
        w.loss = mean(b, cross_entropy(b, fc(b, h2, 10, {.act = "softmax"}), "y"));
        if (opt == "sgd")
          minimize(b, w.loss, Optimizer("sgd", 0.01));
        else
          minimize(b, w.loss, Optimizer("adam", 0.001));
        w.data = {{"x", x}, {"y", y}};
        w.values = {{"fc_0.w_0", xavier(13, 784, 200)},
                    {"fc_1.w_0", xavier(14, 200, 200)},
                    {"fc_2.w_0", xavier(15, 200, 10)}};
        Runner runner(w, batch);
        const std::string check = first_losses(runner);
        report("W2", text("\"batch\": ", batch, ", \"opt\": \"", opt, "\", \"act\": \"", act, "\""),
               runner, static_cast<double>(batch), "samples/s", secs, check);
      }
    }
  }
}

void w3(double secs) {
  const int64_t height = 2073, batch = 100, n = batch * 200;
  Tensor ids = integers(21, {n, 4, 1}, 2073);
  const Tensor extra = integers(22, {n}, 16);
  Tensor y(DType::i64, {n, 1});
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* p = ids.data<int64_t>() + i * 4;
    y.data<int64_t>()[i] = ((p[0] + p[1] + p[2] + p[3]) * 7 + extra.data<int64_t>()[i]) % height;
  }
  Workload w;
  const Builder b(w.net);
  data(b, "ids", {4, 1}, {.dtype = DType::i64});
  data(b, "y", {1}, {.dtype = DType::i64});
  const std::string e = embedding(b, "ids", {height, 32}, {.is_sparse = true});
  const std::string h = fc(b, reshape(b, e, {-1, 128}), 256, {.act = "sigmoid"});
  w.loss = mean(b, cross_entropy(b, fc(b, h, height, {.act = "softmax"}), "y"));
  minimize(b, w.loss, Optimizer("sgd", 0.001));
  w.data = {{"ids", ids}, {"y", y}};
  w.values = {{"embedding_0.w_0", xavier(23, height, 32)},
              {"fc_0.w_0", xavier(24, 128, 256)},
              {"fc_1.w_0", xavier(25, 256, height)}};
  Runner runner(w, batch);
  const std::string check = first_losses(runner);
  report("W3", "\"batch\": 100, \"opt\": \"sgd\"", runner, static_cast<double>(batch), "samples/s",
         secs, check);
}

void w4(double secs) {
  const Clicks clicks;
  for (const int64_t batch : {100, 1000}) {
    Workload w;
    const Builder b(w.net);
    data(b, "dense", {13});
    data(b, "ids", {26, 1}, {.dtype = DType::i64});
    data(b, "y", {1}, {.dtype = DType::i64});
    const std::string e = embedding(b, "ids", {Clicks::height, 10}, {.is_sparse = true});
    std::string h = concat(b, Names{"dense", reshape(b, e, {-1, 260})}, 1);
    for (int k = 0; k < 3; ++k) h = fc(b, h, 400, {.act = "relu"});
    const std::string p = fc(b, h, 2, {.act = "softmax"});
    w.loss = mean(b, cross_entropy(b, p, "y"));
    // The area under the curve belongs to the step: its histograms are kept up to date.
    auc(b, p, "y");
    minimize(b, w.loss, Optimizer("sgd", 1e-4));
    w.data = {{"dense", clicks.dense}, {"ids", clicks.ids}, {"y", clicks.y}};
    w.values = {{"embedding_0.w_0", xavier(33, Clicks::height, 10)},
                {"fc_0.w_0", xavier(34, 273, 400)},
                {"fc_1.w_0", xavier(35, 400, 400)},
                {"fc_2.w_0", xavier(36, 400, 400)},
                {"fc_3.w_0", xavier(37, 400, 2)}};
    Runner runner(w, batch);
    const std::string check = first_losses(runner);
    report("W4", text("\"batch\": ", batch, ", \"opt\": \"sgd\""), runner,
           static_cast<double>(batch), "samples/s", secs, check);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const double secs = argc > 2 ? std::atof(argv[2]) : 0.5;
  if (argc > 3 && argv[3] == std::string("gpu")) {
    const char* device = std::getenv("PADDLE_CUDA_DEVICE");
    gpu = open_gpu(gpu_kind(device == nullptr ? "" : device), 0, "no word gpu");
  }
  if (which == "w1") return w1(secs), 0;
  if (which == "w2") return w2(secs), 0;
  if (which == "w3") return w3(secs), 0;
  if (which == "w4") return w4(secs), 0;
  std::fprintf(stderr, "usage: train_bench w1|w2|w3|w4 [seconds per repeat [gpu]]\n");
  return 2;
}
