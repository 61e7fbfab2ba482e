// paddle admin: what only an admin of a job may ask its pservers for.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/error.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/shard_status.h"

namespace paddle {
namespace {

constexpr double state_seconds = 3;  // for the state of all shards
constexpr double stop_answer_seconds = 10;
constexpr int attempts = 5;  // a sync job may be faster than the question

using Answers = std::vector<CommandAnswer>;

// A step that no shard has reached when it hears of it; where nobody trains, that of now.
uint64_t common_step(const std::vector<ShardStatus>& shards, int attempt) {
  uint64_t lowest = ~uint64_t{0}, highest = 0;
  double rate = 0;
  for (const ShardStatus& s : shards) {
    if (s.slices.empty() && s.tables.empty()) continue;
    lowest = std::min(lowest, s.step);
    rate = std::max(rate, s.steps_per_second);
    for (const SliceStatus& slice : s.slices) highest = std::max(highest, slice.version);
    for (const wire::TableStatus& table : s.tables) highest = std::max(highest, table.version);
  }
  if (attempt == 0 && rate == 0 && lowest == highest) return highest;
  return highest + 2 + static_cast<uint64_t>(std::ceil(rate * (attempt + 1)));
}

// Only shards that hold something have snapshots.
Endpoints holders(const std::vector<ShardStatus>& shards) {
  Endpoints out;
  for (const ShardStatus& s : shards) {
    require(s.answered(), Error::Kind::peer, s.endpoint, " does not answer: ", s.problem);
    if (s.slices.empty() && s.tables.empty()) continue;
    (s.sparse ? out.sparse : out.dense).push_back(s.endpoint);
  }
  require(!out.dense.empty() || !out.sparse.empty(), Error::Kind::peer,
          "no pserver has values yet: a snapshot can be made once the trainers have joined");
  return out;
}

const CommandAnswer* first_problem(const Answers& answers) {
  for (const CommandAnswer& a : answers)
    if (!a.problem.empty() && !a.again) return &a;
  for (const CommandAnswer& a : answers)
    if (!a.problem.empty()) return &a;
  return nullptr;
}

void make_snapshot(const Endpoints& endpoints, double seconds,
                   const wire::Credentials& credentials) {
  for (int attempt = 0;; ++attempt) {
    const std::vector<ShardStatus> shards = ask_shards(endpoints, state_seconds, credentials);
    const Endpoints where = holders(shards);
    const Answers answers = command_shards(
        where, {wire::Order::snapshot, common_step(shards, attempt)}, seconds, credentials);
    const CommandAnswer* problem = first_problem(answers);
    if (problem == nullptr) {
      for (const CommandAnswer& a : answers)
        std::cout << a.endpoint << ": the snapshot of step " << a.step << " is on the disk\n";
      return;
    }
    require(problem->again && attempt + 1 < attempts, Error::Kind::peer, problem->endpoint,
            " made no snapshot: ", problem->problem);
  }
}

// A pserver with several ports stops with the first of them.
void stop_pservers(const Endpoints& endpoints, const wire::Credentials& credentials) {
  Endpoints where;
  where.dense = endpoints.dense;
  std::string problems;
  for (const CommandAnswer& a :
       command_shards(where, {wire::Order::stop, 0}, stop_answer_seconds, credentials)) {
    if (a.problem.empty())
      std::cout << a.endpoint << " stops\n";
    else if (a.problem.find("is stopping") == std::string::npos)
      problems += text(problems.empty() ? "" : "; ", a.endpoint, ": ", a.problem);
  }
  require(problems.empty(), Error::Kind::peer, "not all pservers stop: ", problems);
}

}  // namespace

int admin_main(std::span<const std::string> arguments) {
  const bool named = !arguments.empty() && !arguments[0].starts_with("-");
  const Options options =
      Options::parse(arguments.subspan(named ? 1 : 0), current_environment(), admin_options());
  if (answer_help(options,
                  "usage: paddle admin snapshot --pservers=HOST[:PORT],… [flags]\n"
                  "       paddle admin stop     --pservers=HOST[:PORT],… [flags]\n"
                  "Asks all pservers of a job for a snapshot of one step, or to stop cleanly.\n"
                  "With a token or certificates only an admin may (docs/security.md).",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  const std::string order = named ? arguments[0] : "";
  require(order == "snapshot" || order == "stop", Error::Kind::config,
          order.empty() ? "it is not said what to do" : "'" + order + "' is no command",
          ": write 'paddle admin snapshot' or 'paddle admin stop'");
  const Endpoints endpoints = endpoints_of(options);
  const wire::Credentials credentials = wire::client_credentials(credential_files(options));
  if (order == "stop")
    stop_pservers(endpoints, credentials);
  else
    make_snapshot(endpoints, static_cast<double>(options.integer("wait_seconds")), credentials);
  std::cout.flush();
  return 0;
}

}  // namespace paddle
