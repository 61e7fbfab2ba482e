// Where the values of a slice came from. A pserver that lost its state goes on with the values that
// a trainer had of an earlier process, or with a snapshot of one. So the processes of a shard form
// a tree: two trainers may each know a branch of it that the other one has never seen. What both
// branches have in common shows which of a trainer's updates are still there. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/messages.h"

namespace paddle {

// The values of a shard as its Welcome describes them.
struct ShardValues {
  uint64_t instance = 0, base = 0;    // its process, and the version that it began with
  std::vector<wire::Origin> origins;  // of those values, oldest first
};

// The newest values that both come from; empty where there are none.
std::vector<wire::Origin> common_origins(std::span<const wire::Origin> a,
                                         std::span<const wire::Origin> b);

// One slice, as one trainer knows it. Its own steps are counted from the beginning of the job.
class ValueOrigins {
 public:
  // A process that the values came from, the present one last.
  struct Life {
    uint64_t instance = 0;
    uint64_t version = 0;    // of the values that were taken over from it; of the last one: seen
    uint64_t accounted = 0;  // own steps that were counted, as there or as lost, when it began
    // What was taken over may have own steps of versions up to this one, where it is higher: the
    // snapshot of a shard has the lowest version of its slices.
    uint64_t counted_to = 0;
    // Own steps whose answers never came, and that a later process had: of versions up to this one.
    uint64_t unanswered = 0, until = 0;
  };
  // What a shard that does not know this trainer's steps may have of them.
  struct Found {
    uint64_t steps = 0;        // own steps in its values, at most: all that were ever sent
    uint64_t later = 0;        // counted since the last common values, in processes that are gone
    uint64_t versions = 0;     // that the last common process made after those values …
    uint64_t unanswered = 0;   // own steps in it that a later process reported, behind those values
    uint64_t steps_there = 0;  // own steps that were counted while it lived
    bool strange = false;      // its values come only from processes that were never joined here
  };
  // `counted`: own steps that were counted up to now.
  Found find(const ShardValues& there, uint64_t counted) const;
  struct Own {
    uint64_t steps = 0;    // in the values of the shard, at most, or exactly where `known`
    uint64_t counted = 0;  // up to now
    bool known = false;
    uint64_t unanswered = 0;  // of the steps there
    uint64_t version = 0;     // of the slice there; the shard's may be lower
  };
  // The trainer joins the shard. Returns whether it is another process than the one that it had
  // joined before.
  bool join(const ShardValues& there, const Own& own);

  void pushed(uint64_t steps);
  void arrived(uint64_t version);

  // Those of the values that this trainer holds: those of another process have arrived, or not yet.
  std::vector<wire::Origin> of_values() const;

 private:
  static constexpr size_t nothing = ~size_t{0};
  // The newest life that these values come from, and the version that they have of it.
  size_t common(const ShardValues& there, uint64_t& version) const;

  std::vector<Life> lives_;
  std::vector<wire::Origin> held_;  // while values of the last life have not arrived
  bool arrived_ = false;            // they have
  // Own steps that any process was sent, or had. A process that goes on with another trainer's
  // values of one of these may have as many. A push that was on its way is never sent again.
  uint64_t ever_ = 0;
};

}  // namespace paddle
