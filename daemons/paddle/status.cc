// paddle status: one look at the shards of a job, or one every second.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/run_main.h"
#include "base/wrap.h"
#include "obs/plot.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/local_jobs.h"
#include "paddle/status_view.h"

namespace paddle {
namespace {

constexpr double answer_seconds = 3;
constexpr int watch_milliseconds = 1000;
constexpr int rate_milliseconds = 250;  // between two looks, for rates

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

// What the screen shows below the tables: the costs that trainers have reported.
class Curve {
 public:
  void take(std::span<const ShardStatus> shards) {
    double sum = 0;
    uint64_t count = 0, step = 0;
    for (const MemberStatus& t : trainers_of(shards)) {
      if (t.progress.samples == 0 || t.state != "joined") continue;
      sum += t.progress.cost;
      step = std::max(step, t.progress.step);
      ++count;
    }
    if (count == 0 || step == step_) return;  // nothing new
    step_ = step;
    costs_.push_back(sum / static_cast<double>(count));
    if (costs_.size() > most_costs) costs_.erase(costs_.begin());
  }
  std::string text(bool unicode) const {
    if (costs_.size() < 3) return "";
    return "\n" + plot(costs_, {.title = "cost of the trainers, since this began",
                                .x_label = "look",
                                .width = 72,
                                .height = 7,
                                .unicode = unicode});
  }

 private:
  static constexpr size_t most_costs = 3600;
  std::vector<double> costs_;
  uint64_t step_ = 0;
};

// Jobs of one process: their logs say how far they are.
void list_runs(std::ostream& out, const std::vector<LocalRun>& runs) {
  if (runs.empty()) return;
  out << "without pservers, so that only their logs say how far they are:\n";
  for (const LocalRun& run : runs) {
    const std::string last = last_logged(run.process);
    out << "  " << run.workspace << ": process " << run.process << (last.empty() ? "" : ": ")
        << one_line(last) << "\n";
  }
}

// The job to look at where none was named: the only one of this user here. Says on stderr which
// that is. False where there are several, which are listed.
bool find_job(Options& options) {
  const std::string& workspace = options.text("workspace");
  const std::vector<LocalJob> jobs = local_jobs(workspace);
  const std::vector<LocalRun> runs = local_runs(workspace);
  if (jobs.empty() && !runs.empty() && !options.flag("json")) {
    list_runs(std::cout, runs);
    std::cout << std::flush;
    return false;
  }
  if (jobs.empty()) {
    require(workspace.empty(), Error::Kind::config, "no job with pservers runs in ", workspace,
            is_file(workspace + "/job/events.jsonl")
                ? ": it has ended; paddle ui and paddle compare read its events, paddle logs its "
                  "output"
                : "; give --pservers for one on other machines");
    std::cerr << "no job of this user runs here; asking the default, " << options.text("pservers")
              << ":" << options.text("port") << std::endl;
    return true;
  }
  if (jobs.size() > 1) {
    std::cout << jobs.size() << " jobs run here; name one by --workspace or --pservers:\n";
    for (const LocalJob& job : jobs) std::cout << "  " << describe(job) << "\n";
    list_runs(std::cout, runs);
    std::cout << std::flush;
    return false;
  }
  const std::string source = "the job in " + jobs[0].workspace;
  options.replace("pservers", jobs[0].pservers, source);
  for (const auto& [name, value] : jobs[0].options)
    if (!options.given(name)) options.replace(name, value, source);
  std::cerr << describe(jobs[0]) << std::endl;
  list_runs(std::cerr, runs);
  return true;
}

}  // namespace

int status_main(std::span<const std::string> arguments) {
  const Environment environment = current_environment();
  Options options = Options::parse(arguments, environment, status_options());
  if (answer_help(options,
                  "usage: paddle status [--workspace=DIR] [--watch] [--json]\n"
                  "       paddle status --pservers=HOST[:PORT],… [--watch] [--json]\n"
                  "Shows what the pservers and trainers of a job are doing. Without --pservers\n"
                  "it looks for the jobs of this user on this machine; of several it prints a\n"
                  "list.",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  const bool named = options.given("pservers") || options.given("port");
  if (!named && !find_job(options)) return 0;
  const Endpoints endpoints = endpoints_of(options);
  const wire::Credentials credentials = wire::client_credentials(credential_files(options));
  const bool watch = options.flag("watch"), json = options.flag("json");
  std::vector<ShardStatus> before;
  Clock::time_point last{};
  Curve curve;
  if (!json) {
    before = ask_shards(endpoints, answer_seconds, credentials);
    last = Clock::now();
    ::poll(nullptr, 0, rate_milliseconds);
  }
  for (;;) {
    std::vector<ShardStatus> shards = ask_shards(endpoints, answer_seconds, credentials);
    const auto time = Clock::now();
    const double seconds = std::chrono::duration<double>(time - last).count();
    curve.take(shards);
    print(json ? status_json(shards)
               : status_tables(shards, before, seconds) +
                     (watch ? curve.text(speaks_utf8(environment)) : ""),
          watch);
    if (!watch) require_an_answer(shards);
    if (!watch || !std::cout) return 0;
    ::poll(nullptr, 0, watch_milliseconds);  // Ctrl-C ends the wait
    if (stop_signal() != 0) return 0;
    before = std::move(shards);
    last = time;
  }
}

}  // namespace paddle
