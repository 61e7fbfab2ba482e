#include "paddle/launch_screen.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/wrap.h"
#include "obs/plot.h"
#include "obs/totals.h"
#include "options/program.h"
#include "paddle/launch_tls.h"

namespace paddle {
namespace {

constexpr double draw_seconds = 0.2;
constexpr double hold_seconds = 2;     // of an error that may end the job
constexpr double period_seconds = 10;  // between two lines of numbers within a pass
constexpr int server_colours[] = {35, 34, 95, 94}, worker_colours[] = {36, 32, 33, 96, 92, 93};

template <size_t N>
int pick(const int (&colours)[N], size_t index) {
  return colours[index % N];
}

std::string short_path(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

LaunchScreen::LaunchScreen(const LaunchPlan& plan, const std::string& program,
                           const Options& options, const Environment& environment)
    : plan_(plan),
      program_(program),
      terminal_(2, variable(environment, "TERM") != "dumb"),
      people_(terminal_.present() && !wants_log_lines(options)),
      quiet_(!options.flag("logtostderr")),
      colour_(terminal_.present() && wants_colour(environment)),
      utf8_(speaks_utf8(environment)),
      view_(plan.workers.size(), plan.passes, plan.script),
      passes_(plan.passes),
      start_(steady_seconds()),
      last_total_(start_) {}

double LaunchScreen::seconds() const { return steady_seconds() - start_; }

std::unique_ptr<Output> LaunchScreen::output(const PlannedProcess& process, size_t index,
                                             bool worker) {
  const size_t width = std::max(plan_.servers.back().name.size(), plan_.workers.back().name.size());
  const int colour = worker ? pick(worker_colours, index) : pick(server_colours, index);
  const Output::Show lines = people_  ? Output::Show::nothing
                             : quiet_ ? Output::Show::warnings
                                      : Output::Show::all;
  return std::make_unique<Output>(terminal_, process.name, process.output,
                                  Output::Look{width, colour_ ? colour : 0, lines});
}

void LaunchScreen::take(const std::string& process, const event::Any& event, size_t index,
                        bool worker) {
  if (worker) view_.take(index, event);
  if (const auto* totals = std::get_if<event::Totals>(&event)) take_totals(*totals);
  if (!people_) return show_total();
  if (worker && index == 0) {
    const std::string line = passes_.take(event, view_.samples_per_second(), terminal_.columns());
    if (!line.empty()) {
      show_total();
      terminal_.put_line(line + "\n");
    }
  }
  // Several processes often have the same reason to warn.
  if (const auto* warning = std::get_if<event::Warning>(&event);
      warning && warned_.insert(warning->message).second)
    show(process + ": warning: " + warning->message);
  if (const auto* error = std::get_if<event::Failed>(&event);
      error && warned_.insert(error->message).second)
    held_.push_back({steady_seconds(), process + ": error: " + error->message});
}

// People see the line of a pass with that of trainer 0, and within a pass one every ten seconds.
void LaunchScreen::take_totals(const event::Totals& totals) {
  if (totals.trainers <= 1) return;
  const double now = steady_seconds();
  if (people_ && !totals.pass_ended && now - last_total_ < period_seconds) return;
  total_ = totals_text(totals);
  last_total_ = now;
  if (!totals.pass_ended) show_total();
}

void LaunchScreen::show_total() {
  if (!total_.empty()) say(std::exchange(total_, {}));
}

void LaunchScreen::show_errors_before(double time) {
  size_t due = 0;
  for (; due < held_.size() && held_[due].time < time; ++due) show(held_[due].line);
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(due));
}

void LaunchScreen::draw() {
  const double now = steady_seconds();
  if (!terminal_.present() || now < next_draw_) return;
  next_draw_ = now + draw_seconds;
  show_errors_before(now - hold_seconds);
  terminal_.set_status(view_.progress(now, terminal_.columns()));
}

void LaunchScreen::show(const std::string& line) {
  terminal_.put_line((people_ ? wrapped(line, terminal_.columns()) : line) + "\n");
}

void LaunchScreen::say(const std::string& line) { show(people_ ? line : "launch: " + line); }

void LaunchScreen::show_pservers(const std::string& list) {
  if (people_)
    say(text(plan_.servers.size(), plan_.servers.size() == 1 ? " pserver and " : " pservers and ",
             plan_.workers.size(), plan_.workers.size() == 1 ? " trainer" : " trainers",
             "; logs are in ", short_path(plan_.log_dir)));
  std::string proof = plan_.token_file.empty() ? "" : " --token_file=" + plan_.token_file;
  for (const std::string& flag : certificate_flags(plan_.certs_dir, "observer"))
    proof += " " + flag;
  say("look at the job with: " + typed_program() + " status --pservers=" + list + proof);
}

void LaunchScreen::report_stop(int signal) {
  say(text("stopped by ", signal == SIGINT ? "Ctrl-C" : "a signal", " after ",
           duration_text(seconds()), "; no process is left; ", what_is_there()));
}

void LaunchScreen::report_failure(const std::string& process, int code, const std::string& log,
                                  const std::string& reason) {
  show(text("\npaddle launch: ", process, " ended with exit code ", code,
            ", and the other processes were stopped. Its output is in ", short_path(log), "; ",
            what_is_there(), "; it ended because:\n", reason));
}

// After a job that did not finish.
std::string LaunchScreen::what_is_there() const {
  if (view_.last_saved().empty()) return "no model was saved";
  return text("the last model is ", view_.last_saved(), ": go on with --init_model_path=",
              std::filesystem::absolute(view_.last_saved()).string());
}

void LaunchScreen::draw_curve() const {
  if (view_.costs().size() < 2) return;
  const auto first = static_cast<double>(view_.first_pass()) + 1;  // people count from 1
  std::cerr << "\n"
            << plot(view_.costs(), {.title = "cost of the passes (trainer.0)",
                                    .x_label = "pass",
                                    .x_first = first,
                                    .x_last = first + static_cast<double>(view_.costs().size()) - 1,
                                    .unicode = utf8_});
}

void LaunchScreen::report_success() {
  show_errors_before(steady_seconds());
  show_total();
  draw_curve();
  std::cerr << "done in " << duration_text(seconds()) << "; logs are in "
            << short_path(plan_.log_dir) << std::endl;
  if (view_.model().empty()) {  // of what a script saves nothing is known
    if (!plan_.script && (!plan_.nodes || plan_.nodes->rank == 0))
      std::cerr << "no model was saved; --save_dir=output saves one after every pass\n";
    return;
  }
  std::cout << "the model is in " << view_.model() << std::endl;
  std::cerr << "Next, test it:\n  "
            << wrapped_command({typed_program(), "train", "--config=" + plan_.config, "--job=test",
                                "--init_model_path=" + view_.model()},
                               people_ ? terminal_.columns() - 2 : 1 << 16)
            << std::endl;
}

// As the user can type it.
std::string LaunchScreen::typed_program() const {
  const std::string path =
      std::filesystem::path(program_).lexically_proximate(std::filesystem::current_path()).string();
  return path.compare(0, 2, "..") == 0 ? "paddle" : path;
}

}  // namespace paddle
