#include "exec/gpu.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/file.h"
#include "exec/networks.h"
#include "support/child.h"
#include "support/temporary.h"

using namespace paddle;
using namespace paddle::test;

namespace {

const std::shared_ptr<Gpu>& gpu() {
  static const std::shared_ptr<Gpu> emulated = open_gpu(GpuKind::emulated, 0);
  return emulated;
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
  std::vector<double> cpu, emulated;
  const std::vector<double> a = losses(t, nullptr, cpu), b = losses(t, gpu(), emulated);
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(b[i] == Approx(a[i]).epsilon(1e-5));
  REQUIRE(cpu.size() == emulated.size());
  for (size_t i = 0; i < cpu.size(); ++i) CHECK(emulated[i] == Approx(cpu[i]).epsilon(1e-4));
  CHECK(a.back() < a.front());
}

}  // namespace

TEST_CASE("a plan on the emulated GPU", "[exec]") {
  Trained t;

  SECTION("trains as on the CPU") {
    const auto [rule, act] = GENERATE(table<const char*, const char*>(
        {{"sgd", "tanh"}, {"momentum", "relu"}, {"adam", "sigmoid"}}));
    mlp(t, act, 12);
    minimize(Builder(t.net), t.loss, Optimizer(rule, 0.05));
    same_as_cpu(t);
  }
  SECTION("runs ops without a kernel for it on the CPU, between copies") {
    bag_of_words(t, "max");
    minimize(Builder(t.net), t.loss, Optimizer("adagrad", 0.1));
    REQUIRE(gpu()->find_op("lookup_table") == nullptr);
    REQUIRE(gpu()->find_op("sequence_pool") == nullptr);
    REQUIRE(gpu()->find_op("mul") != nullptr);
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
  Accelerator& device = *gpu()->device();

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
    memory.reserve(gpu()->device(), 64);
    float host[16] = {};
    CHECK_THROWS_WITH(device.copy(memory.data(), host, sizeof host),
                      Catch::Contains("memory of the host"));
  }
  SECTION("says how much memory it does not have") {
    DeviceMemory memory;
    CHECK_THROWS_WITH(memory.reserve(gpu()->device(), size_t{1} << 40),
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
