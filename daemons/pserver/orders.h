// What admins have asked a shard for (paddle admin): a stop, which is passed on, or a snapshot,
// which is answered when it is on the disk.
#pragma once

#include <string>
#include <vector>

#include "pserver/job.h"

namespace paddle {

class Orders {
 public:
  // `job` may be null. The peer is an admin.
  void take(Context& context, SnapshotMaker& maker, const Job* job, PeerId peer, uint64_t id,
            const wire::Command& command);
  // The snapshot of `step` was written; `problem` says why not, "" where it was.
  void written(Context& context, const Job* job, uint64_t step, const std::string& problem);
  // Answers those whose snapshot will not come: the job has ended, or has gone back.
  void check(Context& context, const Job* job);
  void gone(PeerId peer);

 private:
  struct Waiting {
    PeerId peer = no_peer;
    uint64_t id = 0, step = 0, epoch = 0;
  };
  void snapshot(Context& context, SnapshotMaker& maker, const JobState& state, PeerId peer,
                uint64_t id, uint64_t step);

  std::vector<Waiting> waiting_;
};

}  // namespace paddle
