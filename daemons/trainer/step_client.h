// A trainer whose batches come from outside, one call per step: a Python script. It makes steps as
// train.cc does (step_protocol.h), but cannot go back in the data, which only the script could do.
//
// A step is whole when the parameters of the next one are here (async and geo: when it was
// computed), so that a step that broke can be computed again with the batch in hand, with the same
// bits. Where the pservers go back further, the batch in hand is the next one that they get, and
// the log says how many are not repeated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/plan.h"
#include "trainer/parameter_stats.h"
#include "trainer/ps_client.h"
#include "trainer/step_protocol.h"
#include "trainer/step_report.h"

namespace paddle {

// Tells whether two processes train the same network. Seeds do not count: whoever configures the
// pservers brings the first values of all.
std::string network_digest(const Program& main, const Program& startup);
// Lines that differ where the digests do.
std::string network_outline(const Program& main, const Program& startup);

class StepClient {
 public:
  // `cut` and `scope` outlive it. `parameter_period`: as the option of that name.
  StepClient(const Cut& cut, Scope& scope, const PsOptions& options, double parameter_period);

  // What plans of the trainer half talk to.
  Remote& remote() { return client_; }
  // One step: a plan of `program` (the trainer half, in geo mode the whole). `feed` gives the plan
  // its feeds, each time that the step is computed. The first step joins the job, and waits for the
  // pservers. `samples` are in the batch; `figures` is asked after some of the steps, for events.
  void run(Plan& plan, const Program& program, const std::function<void()>& feed,
           int64_t samples = 0, const std::function<StepFigures()>& figures = {});
  // A plan of another program, which looks up rows of the job's tables as they are between two
  // steps.
  void look_up(Plan& plan, uint64_t step, const std::function<void()>& feed);
  // Parameters and optimizer state of the pservers into the scope.
  void collect();
  // A table with is_distributed, as its file has it.
  void save_table(const std::string& param, const TableWriter::Sink& sink);
  // Leaves the job cleanly; others go on. One that made no step joins first, so that no other
  // trainer waits for it. Nothing happens the second time.
  void close();

  bool joined() const { return joined_; }
  bool closed() const { return closed_; }
  uint64_t step() const { return step_; }  // that is computed next
  uint32_t trainer() const { return client_.trainer(); }

 private:
  void join();
  void ready();
  void keep_first();
  void first_values();
  void hold();
  bool moved() const;
  bool go_to(const Rewind& to);
  void go_between_steps(const Rewind& to);
  template <class Body>
  void retried(const Body& body);
  bool waits() const;
  bool has_arrays() const;

  const Cut& cut_;
  Scope& scope_;
  PsOptions options_;
  PsClient client_;
  StepProtocol steps_;
  std::vector<std::pair<std::string, Tensor>> first_;     // values of step 0
  std::vector<std::pair<const Variable*, Tensor>> held_;  // memory that slices land in
  uint64_t step_ = 0;
  bool joined_ = false, closed_ = false, broken_ = false;
  bool in_step_ = false;  // the step at hand has begun
  StepReport report_;
  ModelEvents model_;
};

}  // namespace paddle
