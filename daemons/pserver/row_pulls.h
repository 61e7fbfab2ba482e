// Pulls of rows of tables: where their ids land while they come in, what they mean, and whether
// they are answered now or wait (waits.h). One list of ids per connection, taken from the pserver's
// budget.
#pragma once

#include <vector>

#include "pserver/context.h"
#include "pserver/inbox.h"

namespace paddle {

class RowPulls {
 public:
  // All of these outlive it.
  RowPulls(Context& context, Store& store, const Members& members, Waits& waits, uint64_t epoch)
      : context_(context), store_(store), members_(members), waits_(waits), epoch_(epoch) {}

  // The head of a pull is here: where its ids go.
  LandingPlace land(PeerId peer, const wire::PullRows& pull, uint64_t bulk);
  // The whole message.
  void pull(PeerId peer, uint64_t id, const wire::PullRows& pull, uint64_t bulk);
  bool landing(PeerId peer) const { return peer < lists_.size() && lists_[peer].landed > 0; }
  void forget(PeerId peer) {
    if (peer < lists_.size()) lists_[peer] = List{};
  }

 private:
  struct List {
    std::vector<uint64_t> ids;
    size_t landed = 0;  // of the message that is coming in
    ByteClaim claim = ByteClaim();
  };

  Context& context_;
  Store& store_;
  const Members& members_;
  Waits& waits_;
  const uint64_t epoch_;
  std::vector<List> lists_;  // by PeerId
};

}  // namespace paddle
