// What a trainer does next, from what all shards answered when it greeted them. Pure logic:
// joining.h asks it again after every change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace paddle {

// A shard's Welcome.
struct Greeting {
  struct Slice {
    uint32_t id = 0;
    uint64_t version = 0;
    bool contributed = false;  // this trainer's gradient for the round of `version` is there
    uint64_t steps = 0;        // async: steps of this trainer applied so far, or unknown_steps
  };
  std::string endpoint;  // for sentences
  // By the cut slices belong here. A shard without any, where there are more of them than slices,
  // takes no snapshots and has no step: it follows the others and decides nothing.
  bool holds = true;
  uint64_t instance = 0, epoch = 0, oldest = 0;
  wire::ShardState state = wire::ShardState::empty;
  uint32_t trainer = 0;
  std::string init, configured_by;
  std::vector<Slice> slices;
  std::vector<uint64_t> snapshots;
  bool lost = false, forgot = false;
  enum class End { none, saved, result } end = End::none;  // as BeatAck names them
  std::optional<wire::LastPush> last_push;  // the newest step of this trainer that it knows of
};
Greeting read_greeting(const wire::Welcome& welcome, const std::string& endpoint);

struct JoinDecision {
  enum class Action {
    wait,       // another trainer is at work: ask again
    configure,  // give `shards` their first values
    rollback,   // send `shards` back to the snapshot of `step`
    join,       // all are ready: go on with `step`
    over,       // the job has its result: nothing is left to do for this trainer
  };
  Action action = Action::wait;
  std::vector<size_t> shards;
  uint64_t epoch = 0;
  uint64_t step = 0;
  bool reset = false;          // configure: replaces what the shards hold
  bool continues = false;      // configure: with the values of a trainer in the middle of its work
  bool unknown_steps = false;  // join: a shard does not remember how far this trainer was
  bool knows_step = true;      // join: false where no shard remembers how far this trainer was
  std::optional<wire::Position> place;  // join: where the data of `step` begins
  std::vector<wire::Origin> origins;    // configure: of values that continue
  std::string why;                      // for the log: whom or what this is about
};

struct JoinQuestion {
  wire::Mode mode = wire::Mode::sync;
  std::string init;         // digest of this trainer's first values
  uint64_t first_step = 0;  // version of the first values
  uint64_t margin = 0;      // a dropped trainer joins this many versions later
  bool finished = false;    // it has used all its data
  bool lives = false;       // it has joined before, and has values of the middle of the job
  // The trainer that began to configure with other values does not go on.
  bool configurer_timed_out = false;
};

// Whether a shard says that nothing is left to do for this trainer.
bool knows_end(const Greeting& shard, const JoinQuestion& question);
JoinDecision decide(const std::vector<Greeting>& shards, const JoinQuestion& question);

}  // namespace paddle
