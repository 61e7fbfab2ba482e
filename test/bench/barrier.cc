#include "bench/barrier.h"

#include "base/version.h"
#include "bench/generator.h"
#include "bench/processes.h"
#include "bench/report.h"
#include "bench/shard_client.h"
#include "trainer/ps_client.h"

namespace paddle::bench {
namespace {

// One trainer's part, with the client of the real trainer: median and 99th percentile in seconds.
std::vector<double> rounds(const std::string& endpoint, uint32_t trainer, int64_t spin,
                           size_t count) {
  const auto made = make_parameters({16}, 2);
  PsOptions options;
  options.shards = {wire::parse_endpoint(endpoint, "the pserver")};
  options.hello = wire::make_hello(wire::Role::trainer);
  options.hello.job = "bench";
  options.hello.program = "barrier";
  options.hello.trainer = trainer;
  options.hello.trainers = 2;
  options.spin_microseconds = spin;
  PsClient client(made->cut, made->scope, options, [] {});
  uint64_t step = client.join(0).step;
  const Tensor gradient = uniform(1, {16, 1}, -1, 1);
  const View grad{.data = gradient.raw(), .shape = gradient.shape()};
  std::vector<double> took;
  for (size_t i = 0; i < count; ++i, ++step) {
    const double start = seconds();
    client.begin_step(step, {}, {});
    client.push(0, grad, step);
    client.end_step();
    client.pull(0, {}, step + 1);
    took.push_back(seconds() - start);
  }
  client.finish(step);
  client.say_bye();
  return {median(took), percentile(took, 0.99)};
}

}  // namespace

void measure_barrier(double secs) {
  for (const int spin : {-1, 0, 50}) {
    const auto count = static_cast<size_t>(std::max(200.0, secs / 60e-6));
    Pserver server({.trainers = 2, .spin_microseconds = spin});
    Child first([&] { return rounds(server.endpoint(), 0, spin, count); }),
        second([&] { return rounds(server.endpoint(), 1, spin, count); });
    const std::vector<double> a = first.result(), b = second.result();
    const std::string how = spin < 0    ? "as it comes"
                            : spin == 0 ? "sleeping"
                                        : text("spinning ", spin, " us");
    print_row("barrier of 2 trainers, " + how, "us",
              {{"ours", 1e6 * std::max(a[0], b[0])},
               {"ours_p99", 1e6 * std::max(a[1], b[1])},
               {"goal_at_most", spin < 0 ? 60 : 0}});
  }
}

}  // namespace paddle::bench
