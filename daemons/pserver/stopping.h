// How a shard stops: it ends the step at hand where a snapshot needs that, makes a snapshot and
// informs the peers.
#pragma once

#include "pserver/job.h"

namespace paddle {

// The reason that peers get while a shard stops.
inline constexpr const char* shard_stopping = "this pserver is stopping";

class Stopping {
 public:
  bool begun() const { return begun_; }
  // `job` may be null.
  void begin(Context& context, SnapshotMaker& maker, const Job* job);
  // It waits for the end of the step at hand.
  bool settles() const { return until_ != Time{}; }
  // That has taken too long.
  bool overdue(Time now) const { return settles() && now > until_; }
  // While it waits, a shard whose slices stand between two steps takes what the slower ones lack.
  bool accepts(const Job& job, const wire::Message& message) const;
  // Sets Outbox::stopped.
  void finish(Context& context, SnapshotMaker& maker, const Job* job) const;

 private:
  bool begun_ = false;
  uint64_t version_ = 0;  // that all slices shall reach
  Time until_{};
};

}  // namespace paddle
