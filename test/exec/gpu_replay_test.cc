// Recorded ops of the emulated GPU: what is recorded, when a recording is dropped, and that the
// numbers are those of ops that are started one by one.
#include <catch2/catch.hpp>
#include <cmath>

#include "exec/gpu.h"
#include "exec/networks.h"
#include "layers/schedules.h"

using namespace paddle;
using namespace paddle::test;

namespace {

const std::shared_ptr<Gpu>& emulated_gpu() {
  static const std::shared_ptr<Gpu> opened = open_gpu(GpuKind::emulated, 0);
  return opened;
}

// A network in training.
struct Job {
  Job(Trained& t, PlanOptions options) : t(t), executor({.plan = std::move(options)}) {
    executor.run(t.net.startup, scope);
  }
  double step(const Feeds& feeds) {
    return values_of(executor.run(t.net.main, scope, feeds, {t.loss}, number++)[0])[0];
  }
  double step() { return step(t.feeds); }
  // What a step asks of the device.
  DeviceWork work_of_step(const Feeds& feeds) {
    const DeviceWork before = emulated_gpu()->device()->work;
    step(feeds);
    const DeviceWork after = emulated_gpu()->device()->work;
    DeviceWork w;
    w.launches = after.launches + after.products - after.replayed -
                 (before.launches + before.products - before.replayed);  // one by one
    w.uploads = after.uploads - before.uploads;
    w.downloads = after.downloads - before.downloads;
    w.replays = after.replays - before.replays;
    w.replayed = after.replayed - before.replayed;
    w.waits = after.waits - before.waits;
    return w;
  }
  DeviceWork work_of_step() { return work_of_step(t.feeds); }

  Trained& t;
  Executor executor;
  Scope scope;
  uint64_t number = 0;
};

PlanOptions replaying() { return {.gpu = emulated_gpu()}; }

Feeds smaller(const Trained& t, int64_t rows) {
  Feeds out;
  for (const auto& [name, tensor] : t.feeds) out.emplace_back(name, tensor.rows(0, rows));
  return out;
}

// The same steps on both, with what `between` does to the scope before each of them.
void same_steps(Trained& t, int steps, const std::function<void(Job&, int)>& between = {}) {
  Job cpu(t, {}), gpu(t, replaying());
  for (int i = 0; i < steps; ++i) {
    if (between) between(cpu, i);
    if (between) between(gpu, i);
    CHECK(gpu.step() == Approx(cpu.step()).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("steps that a GPU replays", "[exec]") {
  Trained t;

  SECTION("are started as one, and the host waits for them once") {
    mlp(t, "tanh", 12);
    minimize(Builder(t.net), t.loss, Optimizer("adam", 0.05));
    Job job(t, replaying());
    const DeviceWork eager = job.work_of_step();
    CHECK(eager.launches > 20);
    CHECK(eager.replays == 0);
    job.step();  // records
    for (int i = 0; i < 3; ++i) {
      const DeviceWork w = job.work_of_step();
      CHECK(w.launches == 0);
      CHECK(w.replays == 1);
      CHECK(w.replayed > 20);
      CHECK(w.uploads == 2);    // the feeds
      CHECK(w.downloads == 2);  // the loss, and what the checks have found
      CHECK(w.waits <= 2);
    }
  }
  SECTION("give the bits of ops that are started one by one") {
    mlp(t, "sigmoid", 12);
    minimize(Builder(t.net), t.loss, Optimizer("momentum", 0.05));
    Job one_by_one(t, {.gpu = emulated_gpu(), .replay = false}), replayed(t, replaying());
    for (int i = 0; i < 10; ++i) CHECK(one_by_one.step() == replayed.step());
    CHECK(one_by_one.work_of_step().replays == 0);
    CHECK(replayed.work_of_step().replays == 1);
  }
  SECTION("take the rate of their step") {
    mlp(t, "tanh", 12);
    const Builder b(t.net);
    minimize(b, t.loss, Optimizer("sgd", exponential_decay(b, 0.5f, 2, 0.5f, false)));
    same_steps(t, 10);
    Job job(t, replaying());
    for (int i = 0; i < 4; ++i) job.step();
    CHECK(job.work_of_step().launches == 0);
  }
  SECTION("take values that were written between them") {
    mlp(t, "tanh", 12);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    same_steps(t, 9, [](Job& job, int i) {
      if (i % 3 != 2) return;
      for (const std::string& name : job.scope.names())
        if (name.starts_with("fc_1") || name.starts_with("learning_rate"))
          for (float& x : job.scope.tensor(name).values<float>()) x *= 0.75f;
    });
  }
  SECTION("are recorded anew for another shape") {
    mlp(t, "tanh", 12);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    Job cpu(t, {}), gpu(t, replaying());
    for (const int64_t rows : {12, 12, 12, 5, 5, 12, 7, 12, 12, 12})
      CHECK(gpu.step(smaller(t, rows)) == Approx(cpu.step(smaller(t, rows))).epsilon(1e-5));
    CHECK(gpu.work_of_step(smaller(t, 12)).launches == 0);
    CHECK(gpu.work_of_step(smaller(t, 5)).replays == 0);
    CHECK(gpu.work_of_step(smaller(t, 5)).replays == 1);
  }
  SECTION("are recorded anew where memory was given back since") {
    mlp(t, "tanh", 12);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    Job cpu(t, {}), gpu(t, replaying());
    for (int i = 0; i < 9; ++i) {
      if (i % 4 == 3) DeviceMemory().reserve(emulated_gpu()->device(), 64);
      CHECK(gpu.step() == Approx(cpu.step()).epsilon(1e-5));
    }
    CHECK(gpu.work_of_step().replays == 1);
    DeviceMemory().reserve(emulated_gpu()->device(), 64);
    CHECK(gpu.work_of_step().replays == 0);
  }
  SECTION("stand between ops that need the host") {
    bag_of_words(t, "max");
    minimize(Builder(t.net), t.loss, Optimizer("adagrad", 0.1));
    same_steps(t, 8);
    Job job(t, replaying());
    for (int i = 0; i < 3; ++i) job.step();
    const DeviceWork w = job.work_of_step();
    CHECK(w.replays >= 1);
    CHECK(w.launches > 0);  // of sequences
  }
  SECTION("leave out ops that draw other numbers in each step") {
    const Builder b(t.net);
    t.net.startup.random_seed = 3;
    data(b, "x", {6});
    data(b, "y", {1}, {.dtype = DType::i64});
    const std::string h = dropout(b, fc(b, "x", 8, {.act = "tanh"}), 0.5f);
    t.loss = mean(b, cross_entropy(b, fc(b, h, 4, {.act = "softmax"}), "y"));
    t.feeds = {{"x", random_tensor(DType::f32, {12, 6}, 9)}, {"y", labels(12, 4)}};
    minimize(b, t.loss, Optimizer("sgd", 0.5));
    same_steps(t, 8);
    Job job(t, replaying());
    for (int i = 0; i < 3; ++i) job.step();
    const DeviceWork w = job.work_of_step();
    CHECK(w.replays == 2);  // before and after it
    CHECK(w.launches == 2);
  }
  SECTION("do nothing with a batch that has a mistake, and say what it is") {
    mlp(t, "tanh", 12);
    minimize(Builder(t.net), t.loss, Optimizer("momentum", 0.5));
    Feeds wrong = t.feeds;
    wrong[1].second = t.feeds[1].second.clone();
    wrong[1].second.data<int64_t>()[7] = 4;
    const auto message = [&](Job& job) -> std::string {
      try {
        job.step(wrong);
      } catch (const Error& e) {
        return e.what();
      }
      return "";
    };
    Job cpu(t, {}), gpu(t, replaying());
    for (Job* job : {&cpu, &gpu})
      for (int i = 0; i < 4; ++i) job->step();
    const std::string want = message(cpu);
    CHECK_THAT(want, Catch::Contains("the label 4 of row 7"));
    CHECK(message(gpu) == want);
    cpu.number = gpu.number = 5;
    for (const std::string& name : gpu.scope.names()) {
      if (!name.starts_with("fc_")) continue;
      const std::vector<double> a = values_of(cpu.scope.tensor(name)),
                                b = values_of(gpu.scope.tensor(name));
      for (size_t i = 0; i < a.size(); ++i) CHECK(b[i] == Approx(a[i]).margin(1e-5));
    }
    for (int i = 0; i < 3; ++i) CHECK(gpu.step() == Approx(cpu.step()).epsilon(1e-5));
    CHECK(message(gpu) == want);
  }
}

TEST_CASE("the next batch goes to the GPU while it computes", "[exec]") {
  Trained t;
  mlp(t, "tanh", 12);
  minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
  std::vector<Feeds> batches;
  for (uint64_t i = 0; i < 6; ++i) {
    batches.push_back(t.feeds);
    batches.back()[0].second = random_tensor(DType::f32, {12, 6}, 20 + i);
  }
  Job cpu(t, {}), gpu(t, replaying());
  Plan& plan = gpu.executor.plan(t.net.main, gpu.scope, {"x", "y"}, {t.loss});
  const auto announce = [&](const Feeds& next, uint64_t step) {
    const std::vector<Tensor> tensors = {next[0].second, next[1].second};
    plan.announce(tensors, step);
  };
  for (uint64_t i = 0; i < batches.size(); ++i) {
    plan.feed(0, batches[i][0].second);
    plan.feed(1, batches[i][1].second);
    // Step 3 is announced and does not come: its place is taken by step 4.
    if (i + 1 < batches.size()) announce(batches[i == 2 ? 0 : i + 1], i + 1);
    const DeviceWork before = emulated_gpu()->device()->work;
    plan.run(i);
    const DeviceWork after = emulated_gpu()->device()->work;
    CHECK(values_of(plan.fetch(0))[0] == Approx(cpu.step(batches[i])).epsilon(1e-5));
    // What was announced is there; both feeds of the next step go.
    if (i == 1 || i == 4) CHECK(after.uploads - before.uploads == 2);
    if (i == 5) CHECK(after.uploads == before.uploads);
  }
}
