// One job on a shard: who takes part, where its values are from, the store and what is exchanged
// with it. A state machine without sockets, clock or disk: events are plain calls, the time is in
// the context, and answers go to its outbox. A shard without a job has none of these.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pserver/exchange.h"
#include "pserver/job_watch.h"
#include "pserver/setup.h"

namespace paddle {

class Job {
 public:
  struct State {
    Identity identity;
    Members members;
    uint64_t epoch = 0, base_step = 0;  // of the values that the epoch began with
    std::string init, configured_by;
    std::shared_ptr<const std::string> program = {};  // of the shard; snapshots share it
    std::string failure = {};                         // why the job ended, "" while it goes on
    std::unique_ptr<Store> store = {};                // where there are values
    std::unique_ptr<Exchange> exchange = {};          // beside the store
    double steps_per_second = 0;

    bool sync() const { return identity.mode == wire::Mode::sync; }
    uint64_t lowest_version() const;
    // All slices have the same version, so that a snapshot of this moment makes sense.
    bool same_version() const;
  };

  Job(Context& context, SnapshotMaker& maker, Identity identity);
  // Restores a snapshot, at once. Throws Error.
  Job(Context& context, SnapshotMaker& maker, Snapshot snapshot);
  ~Job();  // answers those who wait, and ends connections that use its memory
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const State& state() const { return state_; }
  Exchange* exchange() { return state_.exchange.get(); }
  wire::ShardState shard_state() const;
  // Whether trainers must fit this job: nobody has to fit a configuration that was refused.
  bool binds() const { return !refused_ || setup_ || state_.exchange; }

  // ---- messages. The peer has greeted, and belongs to this job but for admit().
  // Whether the process may be the trainer that it says; answers where it may not.
  bool admit(PeerId peer, uint64_t id, const wire::Hello& hello);
  void join(PeerId peer, uint64_t id, const wire::Join& join);
  void complete(PeerId peer, uint64_t id, const wire::Complete& complete);
  void beat(PeerId peer, uint64_t id, const wire::Progress& progress);
  void configure(PeerId peer, uint64_t id, const wire::Configure& configure);
  LandingPlace land_value(PeerId peer, const wire::SetValue& set, uint64_t bulk);
  void set_value(PeerId peer, uint64_t id, const wire::SetValue& set, uint64_t bulk);
  void rollback(PeerId peer, uint64_t id, const wire::Rollback& rollback);

  void heard(const Peer& peer) {
    if (state_.members.holds(peer.trainer, peer.incarnation))
      state_.members.heard(peer.trainer, context_.now);
  }

  // ---- other events
  void gone(PeerId peer);
  void stood_still(Time::duration time) { state_.members.stood_still(time); }
  void tick();
  // Goes on with what is done in steps.
  void proceed();
  // Rounds may be able to close that were not: somebody came or left, or the disk is free again.
  void close_rounds();
  void fail(const std::string& why);

  // For whom the shard waits; "" where it has what it needs.
  std::string waiting_text() const;
  bool done() const;

 private:
  void lose(const Loss& loss);
  wire::BeatAck beat_ack();
  void drop_store(const std::string& why);
  void retire(std::unique_ptr<Store> store);
  void finish_setup();
  void refuse_setup(wire::FailureCode code, const std::string& why);
  void forget_configuration();
  bool goes_in_circles(uint64_t step);
  struct Load;
  void begin_load(const std::string& by, const wire::Rollback& rollback);
  void finish_load();
  std::string go_back(const Load& load);

  Context& context_;
  SnapshotMaker& maker_;
  State state_;
  std::optional<Setup> setup_;
  JobWatch watch_;
  bool refused_ = false;  // the last configuration
  struct Load {           // a snapshot that is being read
    struct Result {       // by another thread until `done`
      std::optional<Snapshot> snapshot;
      std::string problem;
      std::atomic<bool> done = false;
    };
    struct Asked {
      PeerId peer;
      uint64_t id;
      wire::Rollback what;
    };
    uint64_t epoch = 0, step = 0;
    std::string by = {};  // who asked first
    std::vector<Asked> asked = {};
    std::shared_ptr<Result> result = std::make_shared<Result>();  // shared with the other thread
  };
  std::optional<Load> load_;
  struct {
    uint64_t step = 0;
    int times = 0;
  } back_;  // to which step the job went, how often without completing one in between
};

}  // namespace paddle
