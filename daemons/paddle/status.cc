// paddle status: one look at the shards of a job, or one every second.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "base/error.h"
#include "base/run_main.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/status_view.h"

namespace paddle {
namespace {

constexpr double answer_seconds = 3;
constexpr int watch_milliseconds = 1000;
constexpr int rate_milliseconds = 250;  // between two looks, for rates
using Clock = std::chrono::steady_clock;

void print(const std::string& look, bool watch) {
  constexpr const char* clear_screen = "\x1b[H\x1b[2J";
  if (watch && ::isatty(STDOUT_FILENO) == 1) std::cout << clear_screen;
  std::cout << look << std::flush;
}

void require_an_answer(std::span<const ShardStatus> shards) {
  const bool any =
      std::any_of(shards.begin(), shards.end(), [](const ShardStatus& s) { return s.answered(); });
  require(any, Error::Kind::peer,
          "no shard answers; is --pservers the list that the trainers were given, and do the "
          "pservers run?");
}

}  // namespace

int status_main(std::span<const std::string> arguments) {
  const Options options = Options::parse(arguments, current_environment(), status_options());
  if (answer_help(options, "usage: paddle status --pservers=HOST[:PORT],… [--watch] [--json]",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  const Endpoints endpoints = endpoints_of(options);
  const wire::Credentials credentials = wire::client_credentials(credential_files(options));
  const bool watch = options.flag("watch"), json = options.flag("json");
  std::vector<ShardStatus> before;
  Clock::time_point last{};
  if (!json) {
    before = ask_shards(endpoints, answer_seconds, credentials);
    last = Clock::now();
    ::poll(nullptr, 0, rate_milliseconds);
  }
  for (;;) {
    std::vector<ShardStatus> shards = ask_shards(endpoints, answer_seconds, credentials);
    const auto time = Clock::now();
    const double seconds = std::chrono::duration<double>(time - last).count();
    print(json ? status_json(shards) : status_tables(shards, before, seconds), watch);
    if (!watch) require_an_answer(shards);
    if (!watch || !std::cout) return 0;
    ::poll(nullptr, 0, watch_milliseconds);  // Ctrl-C ends the wait
    if (stop_signal() != 0) return 0;
    before = std::move(shards);
    last = time;
  }
}

}  // namespace paddle
