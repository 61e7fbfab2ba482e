// How the values of a job get here: a trainer sends them (Configure, SetValue), or they are in a
// snapshot that the shard restores when it starts, or goes back to (Rollback). A state machine as
// the job itself.
#pragma once

#include <optional>
#include <string>

#include "pserver/job_state.h"
#include "pserver/job_watch.h"
#include "pserver/setup.h"
#include "pserver/snapshot_load.h"

namespace paddle {

class JobValues {
 public:
  // All of these outlive it.
  JobValues(Context& context, SnapshotMaker& maker, JobState& state, JobWatch& watch)
      : context_(context), maker_(maker), state_(state), watch_(watch) {}

  // Restores a snapshot, at once. Throws Error.
  void restore(Snapshot snapshot);
  // Answers those who wait, and ends connections that use the memory.
  void drop(const std::string& why);

  // ---- messages. The peer belongs to the job.
  void configure(PeerId peer, uint64_t id, wire::Configure configure);
  // `Set` is SetValue or SetRows.
  template <class Set>
  LandingPlace land(PeerId peer, const Set& set, uint64_t bulk);
  template <class Set>
  void set_value(PeerId peer, uint64_t id, const Set& set, uint64_t bulk);
  void rollback(PeerId peer, uint64_t id, const wire::Rollback& rollback);

  // ---- other events
  void gone(PeerId peer);
  // Goes on with what is done in steps.
  void proceed();

  wire::ShardState state() const;
  // Whether trainers must fit this job: nobody has to fit a configuration that was refused.
  bool bind() const { return !refused_ || setup_ || state_.exchange; }
  // What the shard lacks before it has values; "" where it has them.
  std::string waiting_text() const;

 private:
  void retire(std::unique_ptr<Store> store);
  void finish_setup();
  void refuse_setup(wire::FailureCode code, const std::string& why);
  void forget_configuration();
  bool goes_in_circles(uint64_t step);
  void finish_load();
  std::string go_back(const SnapshotLoad& load);

  Context& context_;
  SnapshotMaker& maker_;
  JobState& state_;
  JobWatch& watch_;
  std::optional<Setup> setup_;
  bool refused_ = false;  // the last configuration
  std::optional<SnapshotLoad> load_;
  struct {
    uint64_t step = 0;
    int times = 0;
  } back_;  // to which step the job went, how often without completing one in between
};

}  // namespace paddle
