// Where gradients land while they come in. A gradient goes to one of three places: the first one of
// a round, in turn, straight into its slice; others into the pool; and where the pool is full it
// stays in its socket: the peer is held until there is a place.
//
// Why nobody waits for ever (sync; a trainer pushes its gradients of a step without waiting for
// others, and a trainer that dies is lost or returns):
// - A message of trainer 0 is always in turn: there is no lower id. It waits at most for the region
//   of the pool that is kept for messages in turn. Whatever lies there is either still coming in,
//   and leaves when it is whole or its peer is gone, or waits for a gradient that is coming into
//   the slice. (Where a dropped trainer with a lower id joins in the middle of a round, gradients
//   that have to wait for it leave the region: Rounds::leave_turn_region.) Messages are served
//   there in the order in which they came, and the region holds the largest message, so each gets
//   its place.
// - Suppose that all messages of trainers below k get their place. They are of the same step or
//   earlier ones, so in every slice of a message of trainer k the turn reaches k. Then that message
//   is in turn, and gets its place as above. It follows for all k, whatever the order in which the
//   trainers send their slices, and however small the rest of the pool is.
// Async: every message is in turn.
// Rows of tables, of which there may be any number, take memory of their own from the pserver's
// budget: where it has no more, one ahead of its turn waits as above, and one in turn is refused.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "pserver/outbox.h"
#include "pserver/rounds.h"

namespace paddle {

// What can be said of a push before its gradients are here.
struct PushVerdict {
  enum class Kind : uint8_t { take, duplicate, fail } kind = Kind::take;
  wire::FailureCode code = wire::FailureCode::protocol;
  std::string why;
};

// Where bulk goes.
struct LandingPlace {
  enum class Kind : uint8_t { into, discard, hold } kind = Kind::discard;
  std::span<std::byte> memory;
};

class Inbox {
 public:
  struct Landing {
    enum class Where : uint8_t { nowhere, spare, pool, held } where = Where::nowhere;
    std::optional<PushVerdict> verdict;
    Slice* slice = nullptr;  // of a push of one slice
    bool rows = false;       // of a push of a part of a table
    GradientPool::Handle buffer = GradientPool::none;
    std::byte* data = nullptr;
    size_t bytes = 0, come = 0, seen = 0;  // that are expected, here, and free of NaN and Inf
    bool finite = true;                    // so far, and the new values that are made already
    double largest = 0;                    // absolute value so far
    uint32_t trainer = 0;
    std::vector<wire::PushPart> parts;
  };

  Inbox(Store& store, Rounds& rounds, Outbox& out, bool sync)
      : store_(store), rounds_(rounds), out_(out), sync_(sync) {}

  // Of the message that is coming in; its verdict is kept here until the message is whole.
  Landing& operator[](PeerId peer);
  // Gives the gradients of a checked push their place, or holds the peer, or changes the verdict
  // where there is no memory.
  LandingPlace place(PeerId peer, uint32_t trainer, std::span<const wire::PushPart> parts,
                     uint64_t bulk);
  // Looks for NaN and Inf, and makes new values where that can be done now, while the numbers are
  // in the cache.
  void landed(PeerId peer, size_t bytes);
  // The message is whole and was used, or will never be: its place is free again.
  void release(PeerId peer);
  // Peers that are held and can go on now do.
  void serve_held();
  void resume_all();

 private:
  bool in_turn(const Landing& l) const;
  bool find_place(Landing& l, bool may_use_pool);

  Store& store_;
  Rounds& rounds_;
  Outbox& out_;
  const bool sync_;
  std::vector<Landing> landings_;  // by PeerId
  std::deque<PeerId> held_;        // in the order in which they came
};

}  // namespace paddle
