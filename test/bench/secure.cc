#include "bench/secure.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/generator.h"
#include "bench/processes.h"
#include "bench/raw_tls.h"
#include "bench/report.h"
#include "bench/shard_client.h"
#include "support/temporary.h"
#include "wire/make_certificates.h"

namespace paddle::bench {
namespace {

constexpr int turns = 9;
constexpr size_t tensor = 4 << 20, in_flight = 4;
using Ask = ShardClient::Ask;

// A pserver and its client, both with the same kind of protection.
struct Pair {
  std::unique_ptr<Parameters> parameters;
  Pserver server;
  ShardClient client;

  Pair(const std::vector<std::string>& flags, const wire::Credentials& credentials)
      : parameters(make_parameters(std::vector<int64_t>(in_flight, tensor / 4), 1)),
        server({.cpu = 1, .flags = flags}),
        client(server.endpoint(), *parameters, false, credentials) {}
};

// Turns of ours and of the limit, one after the other; `limit` gives bytes per second. Beside the
// rate stands what a second of one processor moves at the busier end: other work on the machine
// changes it less.
void measure(const std::string& what, Ask ask, Pair& ours, double secs,
             const std::function<double(double)>& limit, std::pair<const char*, double> goal) {
  const double turn = secs / turns / 2;
  std::vector<double> rates, limits;
  double moved = 0, client_cpu = 0, server_cpu = 0;
  for (int t = 0; t < turns; ++t) {
    const double before = ours.server.cpu(), mine = cpu_seconds(::getpid()), start = seconds();
    rates.push_back(tensor * ours.client.rate(ask, 0, in_flight, in_flight, turn));
    moved += rates.back() * (seconds() - start);
    client_cpu += cpu_seconds(::getpid()) - mine;
    server_cpu += ours.server.cpu() - before;
    limits.push_back(limit(turn));
  }
  constexpr double giga = 1e-9, mib = 1 << 20;
  print_row(what, "GB/s",
            {{"window", double(in_flight)},
             {"ours", giga * median(rates)},
             {"best", giga * percentile(rates, 1)},
             {"raw", giga * median(limits)},
             {"percent", 100 * median(rates) / median(limits)},
             {"trainer_cpu_us_per_mib", 1e6 * client_cpu / moved * mib},
             {"pserver_cpu_us_per_mib", 1e6 * server_cpu / moved * mib},
             goal});
  if (goal.first == std::string("goal"))
    print_row(what + ", a second of one core", "GB",
              {{"ours", giga * moved / std::max(client_cpu, server_cpu)}, goal});
}

}  // namespace

void measure_secure(double secs) {
  const TemporaryDirectory directory;
  const std::string at = directory.path() + "/", token = at + "token";
  wire::make_certificates(directory.path(), {{"pserver", {"127.0.0.1"}}, {"trainer", {}}}, {});
  write_secret_file(token, wire::new_token_text().bytes(), false);
  {
    Pair plain({}, {});
    Pair tokens({"--token_file=" + token}, wire::client_credentials({token, "", "", ""}));
    measure("push + sgd, 4 MiB, token (limit: none)", Ask::push, tokens, secs,
            [&](double turn) {
              return tensor * plain.client.rate(Ask::push, 0, in_flight, in_flight, turn);
            },
            {"goal_percent", 95});
    tokens.client.verify();
  }
  RawTls raw(directory.path(), 1);
  const auto openssl = [&](double turn) { return raw.rate(turn); };
  Pair tls({"--cert_file=" + at + "pserver.pem", "--key_file=" + at + "pserver.key",
            "--ca_file=" + at + "ca.pem"},
           wire::client_credentials({"", at + "trainer.pem", at + "trainer.key", at + "ca.pem"}));
  measure("push + sgd, 4 MiB, TLS (limit: OpenSSL)", Ask::push, tls, secs, openssl, {"goal", 2.0});
  measure("pull, 4 MiB, TLS (limit: OpenSSL)", Ask::pull, tls, secs, openssl, {"goal", 2.0});
  tls.client.verify();
}

}  // namespace paddle::bench
