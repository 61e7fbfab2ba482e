// Pushes and pulls of a store that is ready: what each means, in terms of rounds, waits and places
// for gradients. One per store. Slices and parts of tables are treated alike; what is different is
// behind Versioned.
#pragma once

#include <vector>

#include "pserver/context.h"
#include "pserver/inbox.h"
#include "pserver/row_pulls.h"

namespace paddle {

class Exchange {
 public:
  Exchange(Context& context, Store& store, Members& members, SnapshotMaker& maker, wire::Mode mode,
           uint64_t epoch);

  // The head of a push is here: it is checked, once, and its bulk gets a place.
  LandingPlace land(PeerId peer, const wire::Push& push, uint64_t bulk);
  void landed(PeerId peer, size_t bytes) { inbox_.landed(peer, bytes); }
  // The whole push. Throws Error where the update cannot be run: the job cannot go on.
  void push(PeerId peer, uint64_t id, const wire::Push& push, uint64_t bulk);
  void pull(PeerId peer, uint64_t id, const wire::Pull& pull);
  RowPulls& row_pulls() { return row_pulls_; }

  // Whatever the peer was sending or waiting for is void; only what it was sending.
  void abandon(PeerId peer);
  void discard(PeerId peer);
  // The bulk of the peer's message lies, or will lie, in memory of this store.
  bool holds_bulk_of(PeerId peer) {
    return inbox_[peer].data != nullptr || row_pulls_.landing(peer);
  }
  // Rounds wait for others than before. Throws as push() does.
  void members_changed();
  void fail_waiting(wire::FailureCode code, const std::string& why) { waits_.fail_all(code, why); }
  // Before the store goes away: those whose message waits for a place learn that it is void.
  void resume_held() { inbox_.resume_all(); }

  Rounds& rounds() { return rounds_; }
  // Pulls and pushes whose answer waits for a version.
  size_t waiting() const { return waits_.size(); }

 private:
  bool sync() const { return mode_ == wire::Mode::sync; }
  PushVerdict check(PeerId peer, const wire::Push& push, uint64_t bulk);
  PushVerdict check_part(const Peer& peer, const wire::Push& push, const wire::PushPart& part,
                         uint64_t& bytes);
  const Versioned* find_infinite(PeerId peer, const wire::Push& push);
  void refuse_infinite(PeerId peer, uint64_t id, const wire::Push& push, const Versioned& slice);
  void contribute(PeerId peer, uint64_t id, const wire::Push& push);
  const Versioned* apply(PeerId peer, uint64_t id, const wire::Push& push);
  void answer_applied(PeerId peer, uint64_t id, const wire::Push& push);
  bool too_old(uint64_t stale) const;
  void answer(PeerId peer, uint64_t id, const wire::Push& push);
  void fail_unreachable_pulls();

  Context& context_;
  Store& store_;
  Members& members_;
  const wire::Mode mode_;
  const uint64_t epoch_;
  Waits waits_;
  Rounds rounds_;
  Inbox inbox_;
  std::vector<wire::PullPart> wanted_;    // reused
  std::vector<wire::ValuesPart> values_;  // reused
  std::vector<double> largest_;           // absolute value in each part of the push; reused
  RowPulls row_pulls_;
};

}  // namespace paddle
