// A shard of a pserver as a state machine: events in, actions out (Outbox), no sockets, no clock,
// no thread. Whoever drives it, the service of a real pserver or a simulation, carries out the
// actions after every call, in their order. Snapshots go to the disk that it is given.
#pragma once

#include <optional>
#include <string>

#include "pserver/job.h"
#include "pserver/last_job.h"
#include "pserver/orders.h"
#include "pserver/report.h"
#include "pserver/stopping.h"

namespace paddle {

class Shard {
 public:
  // Restores the newest snapshot. `label` stands in front of log lines. `disk` may be null and
  // outlives the shard, as do the options. Throws Error(data) where no snapshot can be used.
  Shard(const ShardOptions& options, SnapshotDisk* disk, std::string label, uint64_t instance,
        Time now);

  // ---- connections. The number of a connection is free again after gone().
  void opened(PeerId peer, std::string address, Time now, const wire::Proof& proof = {});
  void gone(PeerId peer, const std::string& why, Time now);
  void set_traffic(PeerId peer, const Traffic& traffic) { context_.peers[peer].traffic = traffic; }
  const Peer& peer(PeerId peer) const { return context_.peers[peer]; }

  // ---- messages. What these throw as Error(protocol) ends the connection with that sentence.
  // The head of a message with `bulk` > 0 bytes behind it: where these go. After `hold` it is asked
  // again when a resume action says so.
  LandingPlace land(PeerId peer, const wire::Message& message, uint64_t bulk, Time now);
  // So many bytes more are where land() said.
  void landed(PeerId peer, size_t bytes);
  // The whole message; its bulk is where land() said.
  // Takes a configuration out of the message.
  void handle(PeerId peer, wire::Message& message, uint64_t bulk, Time now);

  // ---- other events
  void tick(Time now);     // about once a second
  void proceed(Time now);  // Outbox::continues asked for it
  void written(uint64_t step, const std::string& problem, Time now);  // a snapshot, or ""
  // Ends the step at hand where a snapshot needs that, makes a snapshot and tells the peers;
  // Outbox::stopped is set when it has ended.
  void stop(Time now) {
    context_.now = now;
    stopping_.begin(context_, maker_, job());
  }

  Outbox& outbox() { return context_.out; }
  void set_background(std::function<void(std::function<void()>)> run) {
    context_.background = std::move(run);
  }
  void release_retired() { context_.retired.clear(); }
  wire::Status status(Time now);
  // Why the job failed, "" where it did not.
  const std::string& failure() const {
    return job_ && !job_->state().failure.empty() ? job_->state().failure : failure_;
  }
  bool stopping() const { return stopping_.begun(); }

 private:
  void dispatch(PeerId peer, wire::Message& message, uint64_t bulk);
  void hello(PeerId peer, uint64_t id, const wire::Hello& hello);
  Job* job() { return job_ ? &*job_ : nullptr; }
  void release_identity(const wire::Hello& hello);
  void end_job_if_done();
  void drop_job(const std::string& why);

  Context context_;
  SnapshotMaker maker_;
  const Time started_;
  Time ticked_{};  // last
  std::optional<Job> job_;
  LastJob last_job_;
  std::string failure_;
  bool done_ = false;
  Stopping stopping_;
  Orders orders_;
};

}  // namespace paddle
