#include "exec/gpu.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "exec/networks.h"
#include "graph/transpile.h"
#include "support/child.h"
#include "support/temporary.h"

using namespace paddle;
using namespace paddle::test;

namespace {

const std::shared_ptr<Gpu>& emulated() {
  static const std::shared_ptr<Gpu> opened = open_gpu(GpuKind::emulated, 0);
  return opened;
}

// A real one where PADDLE_TEST_DEVICE says so (scripts/gpu_check).
const std::shared_ptr<Gpu>& gpu() {
  const char* device = std::getenv("PADDLE_TEST_DEVICE");
  if (device == nullptr || device != std::string("real")) return emulated();
  static const std::shared_ptr<Gpu> real = open_gpu(GpuKind::real, 0);
  return real;
}

// The losses of some steps, and a parameter behind them.
std::vector<double> losses(Trained& t, const std::shared_ptr<Gpu>& on, std::vector<double>& param) {
  Executor executor({.plan = {.gpu = on}});
  Scope scope;
  executor.run(t.net.startup, scope);
  std::vector<double> out;
  for (uint64_t i = 0; i < 20; ++i)
    out.push_back(values_of(executor.run(t.net.main, scope, t.feeds, {t.loss}, i)[0])[0]);
  for (const std::string& name : scope.names())
    if (name.ends_with(".w_0")) param = values_of(scope.tensor(name));
  return out;
}

void same_as_cpu(Trained& t) {
  std::vector<double> cpu, there;
  const std::vector<double> a = losses(t, nullptr, cpu), b = losses(t, gpu(), there);
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(b[i] == Approx(a[i]).epsilon(1e-5));
  REQUIRE(cpu.size() == there.size());
  for (size_t i = 0; i < cpu.size(); ++i) CHECK(there[i] == Approx(cpu[i]).epsilon(1e-4));
  CHECK(a.back() < a.front());
}

// A pserver without a network, with sgd of the rate 0.5.
class OneShard : public Remote {
 public:
  OneShard(const Program& half, const Scope& first) {
    for (const ExchangedParam& e : half.exchanged) values_.push_back(first.tensor(e.param).clone());
  }
  void push(int32_t param, const View& grad, uint64_t) override {
    float* value = values_[static_cast<size_t>(param)].data<float>();
    for (int64_t k = 0; k < grad.numel(); ++k) value[k] -= 0.5f * grad.as<float>()[k];
  }
  void pull(int32_t param, const View& value, uint64_t) override {
    const Tensor& from = values_[static_cast<size_t>(param)];
    std::memcpy(value.data, from.raw(), from.bytes());
  }

 private:
  std::vector<Tensor> values_;
};

}  // namespace

TEST_CASE("the half of a trainer on the emulated GPU", "[exec]") {
  Trained t;
  mlp(t, "tanh", 12);
  minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
  const Cut cut = transpile(t.net.main, t.net.startup, {.endpoints = {"a:1"}});
  std::vector<double> param;
  const std::vector<double> want = losses(t, nullptr, param);
  Scope scope;
  {
    Executor cpu;
    cpu.run(t.net.startup, scope);
    OneShard shard(cut.trainer, scope);
    Executor executor({.plan = {.remote = &shard, .gpu = gpu()}});
    const uint64_t pinned = gpu()->device()->work.pinned;
    for (uint64_t i = 0; i < 20; ++i) {
      const auto found = executor.run(cut.trainer, scope, t.feeds, {t.loss}, i);
      CHECK(values_of(found[0])[0] == Approx(want[i]).epsilon(1e-5));
    }
    uint64_t bytes = 0;
    for (const ExchangedParam& e : cut.trainer.exchanged)
      bytes += 2 * scope.tensor(e.param).bytes();           // and its gradient
    CHECK(gpu()->device()->work.pinned - pinned >= bytes);  // and those of feeds and fetches
  }
  const uint64_t held = gpu()->device()->work.pinned;
  scope.erase("fc_0.w_0");
  CHECK(gpu()->device()->work.pinned < held);
}

TEST_CASE("a plan on the emulated GPU", "[exec]") {
  Trained t;

  SECTION("trains as on the CPU") {
    const auto [rule, act] = GENERATE(table<const char*, const char*>(
        {{"sgd", "tanh"}, {"momentum", "relu"}, {"adam", "sigmoid"}}));
    mlp(t, act, 12);
    minimize(Builder(t.net), t.loss, Optimizer(rule, 0.05));
    same_as_cpu(t);
  }
  SECTION("runs ops of sparse tables on the CPU, between copies") {
    bag_of_words(t, "max");
    minimize(Builder(t.net), t.loss, Optimizer("adagrad", 0.1));
    REQUIRE(gpu()->find_op("sequence_pool") != nullptr);
    same_as_cpu(t);
  }
  SECTION("adds up the rows of ids that repeat, in the order of the CPU") {
    const auto count = GENERATE(int64_t{5}, 64, 65, 129, 1000);
    const Builder b(t.net);
    t.net.startup.random_seed = 3;
    data(b, "ids", {1}, {.dtype = DType::i64});
    t.loss = mean(b, embedding(b, "ids", {37, 3}));
    minimize(b, t.loss, Optimizer("sgd", 0.5));
    Tensor ids = random_tensor(DType::i64, {count, 1}, 5, 0, 37);
    t.feeds = {{"ids", ids}};
    same_as_cpu(t);
  }
  SECTION("gives variables back to who asks the scope, and takes what is written there") {
    mlp(t, "tanh", 4);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    Executor executor({.plan = {.gpu = gpu()}});
    Scope scope;
    executor.run(t.net.startup, scope);
    const auto loss = [&] {
      return values_of(executor.run(t.net.main, scope, t.feeds, {t.loss})[0])[0];
    };
    const double first = loss();
    const std::vector<double> after = values_of(scope.tensor("fc_0.w_0"));
    loss();
    CHECK(values_of(scope.tensor("fc_0.w_0")) != after);
    for (const std::string& name : scope.names())
      if (name.starts_with("fc_")) scope.tensor(name).zero();
    CHECK(loss() == Approx(std::log(4.0)));
    CHECK(first != Approx(std::log(4.0)));
  }
  SECTION("finds numbers that are not finite, and names the op") {
    mlp(t, "relu", 4);
    minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
    Executor executor({.plan = {.check_nan_inf = true, .gpu = gpu()}});
    Scope scope;
    executor.run(t.net.startup, scope);
    scope.tensor("fc_0.w_0").data<float>()[0] = INFINITY;
    CHECK_THROWS_WITH(executor.run(t.net.main, scope, t.feeds, {t.loss}),
                      Catch::Contains("after op"));
  }
}

TEST_CASE("the emulated GPU", "[exec]") {
  Accelerator& device = *emulated()->device();

  SECTION("ends a process whose host code uses its memory, and names the op") {
    const TemporaryDirectory directory;
    const std::string said = directory.path() + "/stderr";
    const int code = in_child([&] {
      if (::dup2(::open(said.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO) < 0) return 98;
      const auto own = open_gpu(GpuKind::emulated, 0)->device();  // the test has a handler too
      DeviceMemory memory;
      memory.reserve(own, 64);
      own->running("fused_fc");
      return static_cast<int>(*static_cast<volatile float*>(memory.data()));
    });
    CHECK(code == 1);
    CHECK(read_file(said, 4096).find("in op fused_fc") != std::string::npos);
  }
  SECTION("refuses memory of the host") {
    DeviceMemory memory;
    memory.reserve(emulated()->device(), 64);
    float host[16] = {};
    CHECK_THROWS_WITH(device.copy(memory.data(), host, sizeof host),
                      Catch::Contains("memory of the host"));
  }
  SECTION("refuses functors that hold memory of the host") {
    const Op op{.type = "cvm",
                .in = {{"X", {"x"}}, {"CVM", {"c"}}},
                .out = {{"Y", {"y"}}},
                .attrs = {{"use_cvm", true}}};
    const Kernel kernel = emulated()->find_op("cvm")->bind(
        Bind(op, {DType::f32, DType::f32}, {DType::f32}, {false, false}, 0));
    DeviceMemory memory;
    memory.reserve(emulated()->device(), 1024);
    std::vector<float> host(16);
    ThreadPool pool(1);
    Scratch scratch(emulated()->device());
    const auto run = [&](void* out) {
      View x{.data = memory.data(), .shape = {2, 4}}, c{.data = memory.data(), .shape = {2, 2}},
          y{.data = out, .shape = {2, 4}};
      View* args[] = {&x, &c, &y};
      kernel(Run(args, Device(pool, device), scratch, 0, 0));
    };
    CHECK_THROWS_WITH(run(host.data()), Catch::Contains("memory of the host"));
    CHECK_NOTHROW(run(static_cast<float*>(memory.data()) + 64));
    device.wait();
  }
  SECTION("copies what was there when it was asked to, however late it runs") {
    DeviceMemory memory;
    memory.reserve(emulated()->device(), 128);
    auto* first = static_cast<int*>(memory.data());
    for (int i = 0; i < 200; ++i) {
      int number = i, back = -1;
      device.upload(first, &number, sizeof number);
      number = -2;
      device.copy(first + 8, first, sizeof number);
      device.upload(first, &number, sizeof number);
      if (i % 3 == 0) device.wait();
      device.download(&back, first + 8, sizeof back);
      CHECK(back == i);
    }
  }
  SECTION("serves threads, one op at a time") {
    std::vector<std::vector<double>> found(4);
    std::vector<std::thread> threads;
    for (auto& out : found)
      threads.emplace_back([&out] {
        Trained t;
        mlp(t, "tanh", 4);
        minimize(Builder(t.net), t.loss, Optimizer("adam", 0.05));
        std::vector<double> param;
        out = losses(t, emulated(), param);
      });
    for (std::thread& t : threads) t.join();
    for (const auto& out : found) CHECK(out == found[0]);
    CHECK(found[0].size() == 20);
  }
  SECTION("says how much memory it does not have") {
    DeviceMemory memory;
    CHECK_THROWS_WITH(memory.reserve(emulated()->device(), size_t{1} << 40),
                      Catch::Contains("1099511627776 bytes"));
  }
  SECTION("has two numbers") {
    std::string why;
    CHECK(count_gpus(GpuKind::emulated, why) == 2);
    CHECK_THROWS_WITH(open_gpu(GpuKind::emulated, 2), Catch::Contains("no emulated GPU 2"));
  }
}

TEST_CASE("the name of a GPU", "[exec]") {
  CHECK(gpu_kind("") == GpuKind::real);
  CHECK(gpu_kind("emulated") == GpuKind::emulated);
  CHECK_THROWS_WITH(gpu_kind("fast"), Catch::Contains("'fast'"));
}
