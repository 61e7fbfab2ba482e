// One job on a shard: who takes part, where its values are from, the store and what is exchanged
// with it. A state machine without sockets, clock or disk: events are plain calls, the time is in
// the context, and answers go to its outbox. A shard without a job has none of these.
#pragma once

#include <string>

#include "pserver/job_values.h"
#include "pserver/totals_report.h"

namespace paddle {

class Job {
 public:
  Job(Context& context, SnapshotMaker& maker, Identity identity);
  // Restores a snapshot, at once. Throws Error.
  Job(Context& context, SnapshotMaker& maker, Snapshot snapshot);
  ~Job() { values_.drop("the job has ended"); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const JobState& state() const { return state_; }
  Exchange* exchange() { return state_.exchange.get(); }
  JobValues& values() { return values_; }
  TotalsReport& totals() { return totals_; }
  const JobValues& values() const { return values_; }

  // ---- messages. The peer has greeted, and belongs to this job but for admit().
  // Whether the process may be the trainer that it says; answers where it may not.
  bool admit(PeerId peer, uint64_t id, const wire::Hello& hello);
  void join(PeerId peer, uint64_t id, const wire::Join& join);
  void complete(PeerId peer, uint64_t id, const wire::Complete& complete);
  void beat(PeerId peer, uint64_t id, const wire::Progress& progress);
  void heard(const Peer& peer) {
    if (state_.members.holds(peer.trainer, peer.incarnation))
      state_.members[peer.trainer].holder.heard = context_.now;
  }

  // ---- other events
  void gone(PeerId peer);
  void stood_still(Time::duration time) { state_.members.stood_still(time); }
  void tick();
  // Rounds may be able to close that were not: somebody came or left, or the disk is free again.
  void close_rounds();
  void fail(const std::string& why) { state_.fail(context_, why); }
  // What the heartbeats' answers say, at once and not with the next beat.
  void announce();

  // For whom the shard waits; "" where it has what it needs.
  std::string waiting_text() const;
  bool done() const;

 private:
  void lose(const Loss& loss);
  wire::BeatAck beat_ack();

  Context& context_;
  JobState state_;
  JobWatch watch_;
  JobValues values_;
  TotalsReport totals_;
};

}  // namespace paddle
