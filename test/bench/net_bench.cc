// net_bench [seconds per row [barrier|tensors|small|latency|secure|rows|apply …]]: what a shard
// does over loopback, beside raw sockets that move the same bytes with the same options and in the
// same go. One JSON line per row; scripts/bench net makes a table of them. The shard is the real
// paddle_pserver, pinned to CPU 1; the client uses the connection and the messages of every trainer
// and is pinned to CPU 0, as are the raw programs.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/apply.h"
#include "bench/barrier.h"
#include "bench/generator.h"
#include "bench/raw.h"
#include "bench/report.h"
#include "bench/secure.h"
#include "bench/shard_client.h"
#include "bench/table_rows.h"

using namespace paddle;
using namespace paddle::bench;

namespace {

using Ask = ShardClient::Ask;
constexpr size_t ack = 16;  // bytes of a raw program's short message
constexpr int turns = 9;    // of ours and raw, one after the other
constexpr double mib = 1 << 20;

// Parameters of all rows, in one job.
constexpr size_t big = 0, big_count = 4, page = big_count, page_count = 256, tiny = 260,
                 tiny_count = 256;
std::vector<int64_t> sizes() {
  std::vector<int64_t> out(big_count, 1 << 20);
  out.insert(out.end(), page_count, 1 << 10);
  out.insert(out.end(), tiny_count, 16);
  return out;
}

struct Shape {
  const char* name;
  Ask what;
  size_t first, count, window;
  size_t request, answer;  // bytes of the raw program
  double payload;          // bytes that count, per request
  double goal_percent, goal;
};

// CPU time of both ends over one measurement.
class Cost {
 public:
  explicit Cost(const Pserver& server) : server_(server) {}
  double client() const { return cpu_seconds(::getpid()) - client_; }
  double server() const { return server_.cpu() - before_; }

 private:
  const Pserver& server_;
  double client_ = cpu_seconds(::getpid()), before_ = server_.cpu();
};

// Many small messages travel in one system call here and would not in a plain program: their goals
// are rates, and there is no raw program beside them.
void measure(const Shape& s, Pserver& server, ShardClient& client, double secs) {
  std::unique_ptr<Raw> raw;
  if (s.goal_percent > 0)
    raw = std::make_unique<Raw>(
        RawOptions{.request = s.request, .answer = s.answer, .window = s.window, .server_cpu = 1});
  const double turn = secs / turns / 2;
  client.rate(s.what, s.first, s.count, s.window, turn);
  if (raw) raw->rate(turn);
  std::vector<double> ours, limit;
  double moved = 0, client_cpu = 0, server_cpu = 0;
  for (int t = 0; t < turns; ++t) {
    const Cost cost(server);
    const double start = seconds();
    ours.push_back(client.rate(s.what, s.first, s.count, s.window, turn));
    moved += ours.back() * (seconds() - start) * s.payload / mib;
    client_cpu += cost.client();
    server_cpu += cost.server();
    if (raw) limit.push_back(raw->rate(turn));
  }
  const bool counts = s.payload < 100;  // operations, not bytes
  const double unit = counts ? 1e-6 : 1e-9 * s.payload;
  Numbers numbers{{"window", double(s.window)},
                  {"ours", unit * median(ours)},
                  {"best", unit * percentile(ours, 1)},
                  {"trainer_cpu_us_per_mib", 1e6 * client_cpu / moved},
                  {"pserver_cpu_us_per_mib", 1e6 * server_cpu / moved}};
  if (raw)
    numbers.insert(numbers.end(), {{"raw", unit * median(limit)},
                                   {"raw_best", unit * percentile(limit, 1)},
                                   {"percent", 100 * median(ours) / median(limit)},
                                   {"goal_percent", s.goal_percent}});
  else
    numbers.emplace_back("goal", s.goal);
  print_row(s.name, counts ? "M ops/s" : "GB/s", numbers);
}

void measure_all(std::initializer_list<Shape> shapes, double secs) {
  const auto parameters = make_parameters(sizes(), 1);
  Pserver server({.cpu = 1});
  ShardClient client(server.endpoint(), *parameters, false);
  for (const Shape& s : shapes) measure(s, server, client, secs);
  client.verify();
}

void tensors(double secs) {
  constexpr size_t tensor = 4 << 20;
  for (const size_t window : {1, 4})
    measure_all({{"push + sgd, 4 MiB", Ask::push, big, window, window, tensor, ack, tensor, 65, 0},
                 {"pull, 4 MiB", Ask::pull, big, window, window, ack, tensor, tensor, 60, 0},
                 {"push + pull, 4 MiB", Ask::push_pull, big, window, window, tensor, tensor,
                  2 * tensor, 70, 0}},
                secs);
}

void small_ones(double secs) {
  measure_all({{"push + sgd, 4 KiB", Ask::push, page, page_count, 64, 4096, ack, 4096, 0, 0.5},
               {"pull, 4 KiB", Ask::pull, page, page_count, 64, ack, 4096, 4096, 0, 0.5},
               {"push + sgd, 64 bytes", Ask::push, tiny, tiny_count, 256, 64, ack, 64, 0, 0.6},
               {"pull, 64 bytes", Ask::pull, tiny, tiny_count, 256, ack, 64, 64, 0, 0.6}},
              secs);
}

void latency(bool spins, double secs) {
  const auto parameters = make_parameters(sizes(), 1);
  Pserver server({.spin_microseconds = spins ? 1000 : 0, .cpu = 1});
  ShardClient client(server.endpoint(), *parameters, spins);
  Raw raw({.spins = spins, .server_cpu = 1});
  const auto count = static_cast<size_t>(std::max(100.0, secs / turns / 2 / 30e-6));
  std::vector<double> ours, ours_late, limit, limit_late;
  for (int t = 0; t < turns; ++t) {
    const std::vector<double> mine = client.latencies(Ask::pull, tiny, count),
                              theirs = raw.latencies(count);
    ours.push_back(median(mine));
    ours_late.push_back(percentile(mine, 0.99));
    limit.push_back(median(theirs));
    limit_late.push_back(percentile(theirs, 0.99));
  }
  print_row(text("pull, 64 bytes, one by one, ", spins ? "spinning" : "sleeping"), "us",
            {{"ours", 1e6 * median(ours)},
             {"ours_p99", 1e6 * median(ours_late)},
             {"raw", 1e6 * median(limit)},
             {"raw_p99", 1e6 * median(limit_late)},
             {"times", median(ours) / median(limit)},
             {"goal_times", 2.5}});
}

}  // namespace

int main(int argc, char** argv) {
  const double secs = argc > 1 ? std::atof(argv[1]) : 2;
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  try {
    std::printf("{\"congestion_control\": \"%s\", \"processors\": %ld}\n",
                congestion_control().c_str(), ::sysconf(_SC_NPROCESSORS_ONLN));
    std::fflush(stdout);
    if (wanted("barrier")) measure_barrier(secs);
    pin(0);
    if (wanted("tensors")) tensors(secs);
    if (wanted("small")) small_ones(secs);
    if (wanted("latency")) {
      latency(true, secs);
      latency(false, secs);
    }
    if (wanted("secure")) measure_secure(2 * secs);
    if (wanted("rows")) measure_rows(secs);
    if (wanted("apply")) measure_apply(3 * secs);
  } catch (const Error& e) {
    std::fprintf(stderr, "net_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
