// A GPU that has too little memory, or fails: what the errors say.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/file.h"
#include "exec/gpu.h"
#include "exec/networks.h"
#include "support/child.h"
#include "support/temporary.h"

using namespace paddle;
using namespace paddle::test;

namespace {

std::shared_ptr<Gpu> open_with(const std::string& wishes) {
  return open_gpu(GpuKind::emulated, 1, "", {.emulated = wishes});
}

// The error of some steps on such a GPU.
Error error_on(const std::string& wishes, bool replay) {
  Trained t;
  mlp(t, "tanh", 4096);
  minimize(Builder(t.net), t.loss, Optimizer("sgd", 0.5));
  Executor executor({.plan = {.gpu = open_with(wishes), .replay = replay}});
  Scope scope;
  try {
    executor.run(t.net.startup, scope);
    for (uint64_t i = 0; i < 6; ++i) executor.run(t.net.main, scope, t.feeds, {t.loss}, i);
  } catch (const Error& e) {
    return e;
  }
  FAIL("no error");
  std::abort();
}

}  // namespace

TEST_CASE("a GPU that has not enough memory", "[exec]") {
  const Error e = error_on("memory=300000", true);
  CHECK(e.kind() == Error::Kind::config);
  CHECK_THAT(e.what(), Catch::Contains("not enough memory for ") &&
                           Catch::Contains(" of 300000 bytes are free") &&
                           Catch::Contains("taking memory for ") &&
                           Catch::Contains("bytes of variables") &&
                           Catch::Contains("take a smaller batch"));
}

TEST_CASE("a kernel that fails on a GPU", "[exec]") {
  const bool replay = GENERATE(false, true);
  for (int kernel = 20; kernel < 150; kernel += 13) {
    const Error e = error_on("fail=" + std::to_string(kernel), replay);
    CHECK(e.kind() == Error::Kind::io);
    CHECK_THAT(e.what(), Catch::Contains("a kernel of the emulated GPU failed"));
    CHECK_THAT(e.what(), Catch::Contains("running ") ||
                             Catch::Contains("the last kernel that began was one of "));
    CHECK_THAT(e.what(), Catch::Contains("fc_") || Catch::Contains("tmp_"));  // its variables
  }
}

TEST_CASE("a kernel that a GPU refuses", "[exec]") {
  const Error e = error_on("refuse=30", true);
  CHECK(e.kind() == Error::Kind::io);
  CHECK_THAT(e.what(), Catch::Contains("refused a kernel"));
}

TEST_CASE("a kernel that leaves its memory on the emulated GPU", "[exec]") {
  const TemporaryDirectory directory;
  const std::string said = directory.path() + "/stderr";
  const auto run = [&](int64_t rows) {
    return in_child([&] {
      if (::dup2(::open(said.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), STDERR_FILENO) < 0)
        return 98;
      const std::shared_ptr<Gpu> gpu = open_with("");
      const Op op{.type = "cvm",
                  .in = {{"X", {"x"}}, {"CVM", {"c"}}},
                  .out = {{"Y", {"y"}}},
                  .attrs = {{"use_cvm", true}}};
      const Kernel kernel = gpu->find_op("cvm")->bind(
          Bind(op, {DType::f32, DType::f32}, {DType::f32}, {false, false}, 0));
      DeviceMemory in, out;
      in.reserve(gpu->device(), 100 * 4 * sizeof(float));
      out.reserve(gpu->device(), 100 * 4 * sizeof(float));
      View x{.data = in.data(), .shape = {rows, 4}}, c{.data = in.data(), .shape = {rows, 2}},
          y{.data = out.data(), .shape = {rows, 4}};
      View* args[] = {&x, &c, &y};
      ThreadPool pool(1);
      Scratch scratch(gpu->device());
      gpu->device()->running("cvm");
      kernel(Run(args, Device(pool, *gpu->device()), scratch, 0, 0));
      gpu->device()->wait();
      return 0;
    });
  };
  CHECK(run(100) == 0);
  CHECK(run(105) == 1);
  CHECK(read_file(said, 4096).find("a kernel left its memory on the emulated GPU in op cvm") !=
        std::string::npos);
}

TEST_CASE("an emulated GPU runs copies and kernels late", "[exec]") {
  std::vector<double> first;
  for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    Trained t;
    mlp(t, "tanh", 12);
    minimize(Builder(t.net), t.loss, Optimizer("adam", 0.05));
    Executor executor({.plan = {.gpu = open_with(std::string("seed=") + seed)}});
    Scope scope;
    executor.run(t.net.startup, scope);
    std::vector<double> losses;
    for (uint64_t i = 0; i < 8; ++i)
      losses.push_back(values_of(executor.run(t.net.main, scope, t.feeds, {t.loss}, i)[0])[0]);
    if (first.empty()) first = losses;
    CHECK(losses == first);
  }
  CHECK_THROWS_WITH(open_with("speed=9"),
                    Catch::Contains("'speed=9'") && Catch::Contains("seed=N"));
}
