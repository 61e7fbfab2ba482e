// paddle launch: pservers, then trainers; shows how far they are (launch_screen.h), and ends when
// all have ended.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/run_main.h"
#include "obs/events.h"
#include "options/environment.h"
#include "options/program.h"
#include "options/record.h"
#include "paddle/commands.h"
#include "paddle/job_page.h"
#include "paddle/launch_hosts.h"
#include "paddle/launch_plan.h"
#include "paddle/launch_screen.h"
#include "paddle/launch_tls.h"
#include "paddle/launch_token.h"
#include "paddle/lines.h"
#include "paddle/process.h"
#include "paddle/targets.h"

namespace paddle {
namespace {

constexpr std::chrono::milliseconds tick{100};
constexpr double ready_seconds = 60;   // until a pserver listens
constexpr double ending_seconds = 30;  // until a pserver whose job is done ends by itself
constexpr double stop_seconds = 10;    // from SIGTERM to SIGKILL

struct Child {
  const PlannedProcess* plan = nullptr;
  std::unique_ptr<Output> output;
  Lines events;
  Process* process = nullptr;
  bool ended = false;
  std::vector<std::string> shards;  // dense ones that listen
  std::string exit_reason;          // as its last event says
};
using Children = std::vector<std::unique_ptr<Child>>;  // pointers: pipes write into them

class Launch {
 public:
  Launch(LaunchPlan plan, const Options& options, const Environment& environment)
      : plan_(std::move(plan)),
        executable_(own_executable()),
        python_(options.text("python")),
        screen_(plan_, executable_, options, environment),
        targets_(plan_.workspace + "/job/targets.json") {
    open_page(options);
    token_with_input_ = options.flag("token_with_input");
    if (options.flag("stop_with_input")) input_.emplace(0);
  }

  int run() {
    const LaunchToken token(plan_.token_file, token_with_input_);
    const LaunchCertificates certificates(plan_.makes_certs ? plan_.certs_dir : "");
    const int code = run_job();
    screen_.clear();
    keep_page();
    if (const Child* failed = cause()) return report(*failed);
    require(starter_gone_.empty(), Error::Kind::peer, "whoever started the job is gone (",
            starter_gone_, "): all processes of this machine were stopped");
    if (stop_signal() != 0)
      screen_.report_stop(stop_signal());
    else if (code == 0)
      screen_.report_success();
    return code;
  }

 private:
  // Everything up to the end of the last process. Not 0 where launch itself gave up.
  int run_job() {
    for (const PlannedProcess& server : plan_.servers) start(server, servers_, {});
    const double deadline = steady_seconds() + ready_seconds;
    std::string list = plan_.pservers;
    for (const auto& server : servers_) {
      while (server->shards.size() < plan_.shards) {
        if (!step()) return stop_all();
        if (steady_seconds() > deadline) {
          stop_all();
          throw Error(Error::Kind::peer, server->plan->name, " does not listen after ",
                      ready_seconds, " s; see ", server->output->path());
        }
      }
      if (plan_.pservers.empty())
        for (const std::string& shard : server->shards) list += (list.empty() ? "" : ",") + shard;
    }
    screen_.show_pservers(list);
    show_page(list);

    std::vector<std::string> more{pservers_word(plan_, list)};
    if (plan_.script) more.insert(more.end(), {python_, plan_.config});
    for (const PlannedProcess& worker : plan_.workers) start(worker, workers_, more);
    while (any_running(workers_))
      if (!step()) return stop_all();
    screen_.clear();
    // On several machines a pserver stays for the trainers of the others.
    const double end = steady_seconds() + ending_seconds;
    while (any_running(servers_)) {
      if (!step()) return stop_all();
      if (steady_seconds() < end || plan_.nodes) continue;
      screen_.say(
          text("the pservers have not ended within ", ending_seconds, " s and are stopped"));
      return stop_all();
    }
    return 0;
  }

  void start(const PlannedProcess& plan, Children& kind, const std::vector<std::string>& more) {
    const size_t index = kind.size();
    const bool worker = &kind == &workers_;
    Child& child = *kind.emplace_back(std::make_unique<Child>());
    child.plan = &plan;
    child.output = screen_.output(plan, index, worker);
    std::vector<std::string> words;
    if (!worker || !plan_.script) words.push_back(executable_);
    words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
    words.insert(words.end(), more.begin(), more.end());
    child.process =
        &group_.start({.name = plan.name,
                       .arguments = std::move(words),
                       .output = [&child](std::string_view bytes) { child.output->take(bytes); },
                       .events =
                           [this, &child, index, worker](std::string_view bytes) {
                             child.events.take(bytes, [&](const std::string& line) {
                               take_event(child, line, index, worker);
                             });
                           },
                       .cpus = plan.cpus});
  }

  void open_page(const Options& options) {
    // Of several machines the first one shows the job, where no port is given for each.
    const bool first = !plan_.nodes || plan_.nodes->rank == 0;
    if (options.integer("ui_port") < 0 || !(first || options.given("ui_port"))) return;
    page_ = std::make_unique<JobPage>(options, plan_.workspace, plan_.config);
    credentials_ = credential_files(options);
    if (!plan_.token_file.empty()) credentials_.token_file = plan_.token_file;
    if (!plan_.certs_dir.empty()) credentials_ = observer_files(plan_.certs_dir);
  }

  void show_page(const std::string& list) {
    if (!page_) return;
    Endpoints shards;
    std::istringstream words(list);
    for (std::string shard; std::getline(words, shard, ',');) shards.dense.push_back(shard);
    // Of other machines no events come here.
    const auto own = static_cast<uint32_t>(plan_.workers.size());
    const uint32_t before = plan_.nodes ? static_cast<uint32_t>(plan_.nodes->rank) * own : 0;
    page_->watch(
        shards, wire::client_credentials(credentials_),
        {.progress = plan_.nodes.has_value(), .first_own = before, .after_own = before + own});
    screen_.say(page_->show(plan_.nodes.has_value()));  // into the log of a scheduler
  }

  void keep_page() {
    if (page_) page_->keep();
    page_.reset();
  }

  void take_event(Child& child, const std::string& line, size_t index, bool worker) {
    emit_line(line + "\n");
    if (page_) page_->put(line);
    const std::optional<event::Any> event = read_event(line);
    if (!event) return;
    screen_.take(child.plan->name, *event, index, worker);
    if (const auto* shard = std::get_if<event::Listening>(&*event); shard && !shard->sparse)
      child.shards.push_back(shard->endpoint);
    if (const auto* http = std::get_if<event::Serving>(&*event))
      targets_.add(child.plan->name, worker, http->address);
    if (const auto* end = std::get_if<event::Exit>(&*event)) child.exit_reason = end->reason;
  }

  // Waits a moment. False once the job has to end: a process failed, or a signal asks to stop.
  bool step() {
    group_.wait(tick);
    for (auto* kind : {&servers_, &workers_})
      for (const auto& child : *kind)
        if (!child->ended && !child->process->running()) {
          child->ended = true;
          child->output->finish();
          // While others are stopped one may still end for a reason of its own.
          if (child->process->code() != 0 && !(stopping_ && was_stopped(*child)))
            failures_.push_back(child.get());
        }
    if (any_running(workers_)) screen_.draw();
    if (input_ && starter_gone_.empty()) starter_gone_ = input_->gone(steady_seconds());
    return failures_.empty() && stop_signal() == 0 && starter_gone_.empty();
  }

  static bool was_stopped(const Child& child) {
    return child.process->code() == 128 + SIGTERM || child.process->code() == 128 + SIGKILL;
  }

  static bool any_running(const Children& kind) {
    return std::any_of(kind.begin(), kind.end(), [](const auto& child) { return !child->ended; });
  }

  // Trainers first, so that they do not report pservers that have ended. Always 1: the caller gives
  // up.
  int stop_all() {
    stopping_ = true;
    for (auto* kind : {&workers_, &servers_}) {
      for (const auto& child : *kind) child->process->send(SIGTERM);
      const double deadline = steady_seconds() + stop_seconds;
      while (any_running(*kind) && steady_seconds() < deadline) step();
      for (const auto& child : *kind) child->process->send(SIGKILL);
      while (any_running(*kind)) step();
    }
    return 1;
  }

  // The process whose failure ended the job: the first that failed for another reason than a
  // missing peer, else the first.
  const Child* cause() const {
    for (const Child* child : failures_)
      if (child->process->code() != exit_code(Error::Kind::peer)) return child;
    return failures_.empty() ? nullptr : failures_.front();
  }

  int report(const Child& failed) {
    const Process& p = *failed.process;
    std::string reason = failed.exit_reason;
    if (p.killed_by() == SIGKILL)
      reason = "killed (SIGKILL): the kernel does that when memory runs out; see dmesg";
    else if (p.killed_by() != 0)
      reason = text(::strsignal(p.killed_by()), "; the end of its log says more");
    // Long reasons are cut in events, but not on stderr.
    else if (reason.empty() || reason.ends_with("…"))
      reason = failed.output->last_lines();
    if (reason.empty()) reason = "(it printed nothing)";
    screen_.report_failure(p.name(), p.code(), failed.output->path(), reason);
    return p.code();
  }

  const LaunchPlan plan_;
  const std::string executable_, python_;
  LaunchScreen screen_;
  Targets targets_;
  std::unique_ptr<JobPage> page_;  // null: none
  CredentialFiles credentials_;    // of the page
  std::optional<InputWatch> input_;
  std::string starter_gone_;  // why, once it is
  Children servers_, workers_;
  std::vector<const Child*> failures_;  // in the order in which they ended
  bool stopping_ = false, token_with_input_ = false;
  ProcessGroup group_;  // last: ends first
};

// What repeats the whole job; the processes record their own options.
void record_launch(const LaunchPlan& plan, Options options,
                   std::span<const std::string> arguments) {
  for (const std::string& flag : plan.record_flags) {
    const size_t equals = flag.find('=');
    options.replace(flag.substr(2, equals - 2), flag.substr(equals + 1), "the clock");
  }
  if (options.text("record_file").empty())
    options.replace("record_file", plan.workspace + "/job/launch.flags", "launch");
  write_record(std::move(options), "launch", run_notes("paddle launch", arguments), plan.job,
               Recorded::given);
}

}  // namespace

int launch_main(std::span<const std::string> arguments) {
  const Environment environment = current_environment();
  const Options options = Options::parse(arguments, environment, launch_options());
  if (answer_help(
          options,
          "usage: paddle launch --config=JOB.json [--server_num=2] [--worker_num=2] [flags]\n"
          "       paddle launch --hosts=HOST,HOST,… --config=JOB.json [flags]\n"
          "Flags of paddle trainer and paddle pserver go to them.",
          std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  start_events(options.text("event_file"), "launch");
  if (const std::vector<Host> hosts = hosts_of(options); !hosts.empty())
    return launch_on_hosts(hosts, options, arguments, environment);
  LaunchPlan plan = plan_launch(options, arguments, environment);
  std::optional<WorkspaceLock> lock;
  if (plan.nodes) lock.emplace(plan.workspace);
  prepare_directories(plan);
  record_launch(plan, options, arguments);
  return Launch(std::move(plan), options, environment).run();
}

}  // namespace paddle
