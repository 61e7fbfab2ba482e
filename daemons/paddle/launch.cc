// paddle launch: pservers, then trainers, their output on one screen, and one end for all of them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/run_main.h"
#include "base/suggest.h"
#include "obs/plot.h"
#include "options/environment.h"
#include "options/program.h"
#include "paddle/commands.h"
#include "paddle/job_view.h"
#include "paddle/launch_plan.h"
#include "paddle/output.h"
#include "paddle/process.h"
#include "paddle/status_watch.h"

namespace paddle {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr std::chrono::milliseconds tick{100};
constexpr double ready_seconds = 60;   // until a pserver listens
constexpr double ending_seconds = 30;  // until a pserver whose job is done ends by itself
constexpr double stop_seconds = 10;    // from SIGTERM to SIGKILL
constexpr int server_colours[] = {35, 34, 95, 94}, worker_colours[] = {36, 32, 33, 96, 92, 93};

struct Child {
  const PlannedProcess* plan = nullptr;
  std::unique_ptr<Output> output;
  Process* process = nullptr;
  bool ended = false;
};

double now() { return Seconds(ProcessGroup::Clock::now().time_since_epoch()).count(); }

class Launch {
 public:
  Launch(LaunchPlan plan, const Options& options, const Environment& environment)
      : plan_(std::move(plan)),
        executable_(own_executable()),
        quiet_(!options.flag("logtostderr")),
        colour_(terminal_.present() && wants_colour(environment)),
        utf8_(speaks_utf8(environment)),
        view_(plan_.workers.size(), plan_.passes),
        start_(now()) {}

  int run() {
    prepare_directories(plan_);
    const int code = run_job();
    terminal_.set_status("");
    for (const PlannedProcess& server : plan_.servers) ::unlink(server.ready_file.c_str());
    if (const Child* failed = cause()) return report(*failed);
    if (stop_signal() != 0)
      say(text("stopped by ", stop_signal() == SIGINT ? "Ctrl-C" : "a signal", " after ",
               duration_text(now() - start_), "; no process is left; ", what_is_there()));
    else if (code == 0)
      congratulate();
    return code;
  }

 private:
  // Everything up to the end of the last process. Not 0 where launch itself gave up.
  int run_job() {
    for (const PlannedProcess& server : plan_.servers) start(server, servers_, server_colours, {});
    std::vector<std::string> shards;
    const double deadline = now() + ready_seconds;
    for (const Child& server : servers_) {
      std::vector<std::string> own;
      while ((own = ready_shards(server.plan->ready_file)).empty()) {
        if (!step()) return stop_all();
        if (now() > deadline) {
          stop_all();
          throw Error(Error::Kind::peer, server.plan->name, " does not listen after ",
                      ready_seconds, " s; ", server.output->path(), " tells what it does");
        }
      }
      shards.insert(shards.end(), own.begin(), own.end());
    }
    std::string list;
    for (const std::string& shard : shards) list += (list.empty() ? "" : ",") + shard;
    say("look at the job with: " + program() + " status --pservers=" + list);

    for (const PlannedProcess& worker : plan_.workers)
      start(worker, workers_, worker_colours, {"--pservers=" + list});
    if (terminal_.present()) watch_ = std::make_unique<StatusWatch>(shards[0]);
    while (any_running(workers_))
      if (!step()) return stop_all();
    watch_.reset();
    terminal_.set_status("");
    const double end = now() + ending_seconds;
    while (any_running(servers_)) {
      if (!step()) return stop_all();
      if (now() < end) continue;
      say("the pservers do not end by themselves and are stopped");
      return stop_all();
    }
    return 0;
  }

  template <size_t N>
  void start(const PlannedProcess& plan, std::vector<Child>& kind, const int (&colours)[N],
             const std::vector<std::string>& more) {
    const size_t index = kind.size();
    Child child;
    child.plan = &plan;
    const Output::Look look{name_width(), colour_ ? colours[index % N] : 0, quiet_};
    const bool worker = &kind == &workers_;
    child.output = std::make_unique<Output>(terminal_, plan.name, plan.output, look,
                                            [this, worker, index](const std::string& line) {
                                              if (worker) view_.take(index, line, now());
                                            });
    std::vector<std::string> words{executable_};
    words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
    words.insert(words.end(), more.begin(), more.end());
    child.process = &group_.start(
        plan.name, words, [out = child.output.get()](std::string_view b) { out->take(b); },
        plan.cpus);
    kind.push_back(std::move(child));
  }

  size_t name_width() const {
    return std::max(plan_.servers.back().name.size(), plan_.workers.back().name.size());
  }

  // Lets time pass. False once the job has to end: a process failed, or somebody asks to stop.
  bool step() {
    group_.wait(tick);
    for (auto* kind : {&servers_, &workers_})
      for (Child& child : *kind)
        if (!child.ended && !child.process->running()) {
          child.ended = true;
          child.output->finish();
          // While others are stopped one may still end for a reason of its own.
          if (child.process->code() != 0 && !(stopping_ && was_told_to(child)))
            failures_.push_back(&child);
        }
    if (watch_)
      for (const TrainerStatus& status : watch_->take()) view_.take(status, now());
    if (terminal_.present() && any_running(workers_))
      terminal_.set_status(view_.progress(terminal_.columns()));
    return failures_.empty() && stop_signal() == 0;
  }

  static bool was_told_to(const Child& child) {
    return child.process->code() == 128 + SIGTERM || child.process->code() == 128 + SIGKILL;
  }

  static bool any_running(const std::vector<Child>& kind) {
    for (const Child& child : kind)
      if (!child.ended) return true;
    return false;
  }

  // Trainers first, so that they do not complain about pservers that leave. Always 1: the caller
  // gives up.
  int stop_all() {
    stopping_ = true;
    for (auto* kind : {&workers_, &servers_}) {
      for (const Child& child : *kind) child.process->send(SIGTERM);
      const double deadline = now() + stop_seconds;
      while (any_running(*kind) && now() < deadline) step();
      for (const Child& child : *kind) child.process->send(SIGKILL);
      while (any_running(*kind)) step();
    }
    return 1;
  }

  // The process whose failure ended the job: the first, but one that only missed a peer gives way.
  const Child* cause() const {
    for (const Child* child : failures_)
      if (child->process->code() != exit_code(Error::Kind::peer)) return child;
    return failures_.empty() ? nullptr : failures_.front();
  }

  int report(const Child& failed) {
    const Process& p = *failed.process;
    std::string words = failed.output->last_words();
    if (p.killed_by() == SIGKILL)
      words = "killed; the kernel does that when memory runs out: dmesg tells";
    else if (p.killed_by() != 0)
      words = text(::strsignal(p.killed_by()), "; the end of its log tells more");
    if (words.empty()) words = "(it said nothing)";
    terminal_.put_line(text("\npaddle launch: ", p.name(), " ended with exit code ", p.code(),
                            ", and the other processes were stopped. All that it said is in ",
                            failed.output->path(), "; ", what_is_there(), "; its last words:\n",
                            words, "\n"));
    return p.code();
  }

  // After a job that did not come to its end.
  std::string what_is_there() const {
    if (view_.last_saved().empty()) return "no model was saved";
    return text("the last model is ", view_.last_saved(), ": go on with --init_model_path=",
                std::filesystem::absolute(view_.last_saved()).string());
  }

  void congratulate() {
    if (view_.costs().size() > 1)
      std::cerr << "\n"
                << plot(view_.costs(), {.title = "cost of the passes (trainer.0)",
                                        .x_label = "pass",
                                        .x_first = static_cast<double>(view_.first_pass()),
                                        .x_last = static_cast<double>(view_.first_pass()) +
                                                  static_cast<double>(view_.costs().size()) - 1,
                                        .unicode = utf8_});
    std::cerr << "done in " << duration_text(now() - start_) << "; logs are in " << plan_.log_dir
              << std::endl;
    if (view_.model().empty()) {
      std::cerr << "no model was saved; --save_dir=output saves one after every pass\n";
      return;
    }
    std::cout << "the model is in " << view_.model() << std::endl;
    std::cerr << "Next, test it:\n  " << program() << " train --config=" << plan_.config
              << " --job=test --init_model_path=" << view_.model() << std::endl;
  }

  // As the user can type it.
  std::string program() const {
    const std::string path = std::filesystem::path(executable_)
                                 .lexically_proximate(std::filesystem::current_path())
                                 .string();
    return path.compare(0, 2, "..") == 0 ? "paddle" : path;
  }

  void say(const std::string& line) { terminal_.put_line("launch: " + line + "\n"); }

  Terminal terminal_{2};
  const LaunchPlan plan_;
  const std::string executable_;
  const bool quiet_, colour_, utf8_;
  JobView view_;
  const double start_;
  std::vector<Child> servers_, workers_;
  std::vector<const Child*> failures_;  // in the order in which they ended
  bool stopping_ = false;
  std::unique_ptr<StatusWatch> watch_;  // where there is somebody to show progress to
  ProcessGroup group_;                  // last: ends first
};

}  // namespace

int launch_main(std::span<const std::string> arguments) {
  const Environment environment = current_environment();
  const Options options = Options::parse(arguments, environment, launch_options());
  if (answer_help(options,
                  "usage: paddle launch --config=JOB.json [--server_num=2] [--worker_num=2] [flags]"
                  "   (flags of paddle trainer and paddle pserver go to them)",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  return Launch(plan_launch(options, arguments, environment), options, environment).run();
}

}  // namespace paddle
