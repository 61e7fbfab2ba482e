// What paddle launch shows. On a terminal people read one progress line, one line per pass,
// warnings and the end; the output of the processes is in files, and shown with --verbose.
// Elsewhere every line of every process is shown.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "obs/pass_lines.h"
#include "options/options.h"
#include "paddle/job_view.h"
#include "paddle/launch_plan.h"
#include "paddle/output.h"

namespace paddle {

class LaunchScreen {
 public:
  // `program` is the path of the running program. The plan outlives the screen.
  LaunchScreen(const LaunchPlan& plan, const std::string& program, const Options& options,
               const Environment& environment);

  // The output of a process, into its file and, unless people read the screen, onto it.
  std::unique_ptr<Output> output(const PlannedProcess& process, size_t index, bool worker);
  // An event of a process; `index` is that of a trainer.
  void take(const std::string& process, const event::Any& event, size_t index, bool worker);

  // Draws the progress line; at most five times a second.
  void draw();
  void clear() { terminal_.set_status(""); }
  // A sentence of launch itself.
  void say(const std::string& line);
  // Where the shards listen: "h:1,h:2".
  void show_pservers(const std::string& list);

  void report_stop(int signal);
  void report_failure(const std::string& process, int code, const std::string& log,
                      const std::string& reason);
  void report_success();

 private:
  // An error that did not end the job, so far: its other processes report one that does, each in
  // its own words, and then only the first of them is shown, with the end.
  struct HeldError {
    double time;
    std::string line;
  };

  void show(const std::string& line);  // broken at the width of a terminal
  void show_errors_before(double time);
  void show_total();
  void take_totals(const event::Totals& totals);
  std::string what_is_there() const;
  std::string typed_program() const;
  void draw_curve() const;
  double seconds() const;  // since the start

  const LaunchPlan& plan_;
  const std::string program_;
  Terminal terminal_;
  const bool people_, quiet_, colour_, utf8_;
  JobView view_;
  PassLines passes_;
  std::set<std::string> warned_;
  std::vector<HeldError> held_;
  std::string total_;  // the newest that was not shown: people see it with the line of a pass
  const double start_;
  double next_draw_ = 0;
  double last_total_ = 0;  // when numbers of all trainers were shown
};

}  // namespace paddle
