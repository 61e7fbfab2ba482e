// Requests for values that wait for versions which are not there yet: pulls, and pushes that want
// the new values. One request may name many slices and is answered once, when the last one has its
// version. A request for rows names one part of a table, and ids.
#pragma once

#include <span>
#include <vector>

#include "pserver/members.h"
#include "pserver/outbox.h"
#include "pserver/store.h"

namespace paddle {

class Waits {
 public:
  Waits(Store& store, Outbox& out, bool sync);

  // Who asks, under which number, and the versions: at least these, in sync exactly these.
  struct Request {
    PeerId peer = no_peer;
    uint64_t id = 0;
    std::vector<wire::PullPart> parts;
    uint32_t missing = 0;       // parts whose version is not there yet
    bool stays = false;         // the answer may refer to the slices' memory, which does not change
    bool live = false;          // the answer may refer to it though it changes
    std::vector<uint64_t> ids;  // of the rows that it asks for
    ByteClaim claim = ByteClaim();  // while it waits
  };
  // Answers now or later, with a failure where a version is gone or can never come. The slices are
  // in the store; `member` is the trainer that asks.
  void await(const Peer& who, PeerId peer, uint64_t id, std::span<const wire::PullPart> parts,
             const Member& member, Time now);
  // The same for rows: `ids` are copied where the version is not there yet.
  void await_rows(const Peer& who, PeerId peer, uint64_t id, const wire::PullPart& part,
                  std::span<const uint64_t> ids, const Member& member, Time now);
  // The slice has a new version.
  void advanced(const Versioned& slice);
  void forget(PeerId peer);
  void fail_all(wire::FailureCode code, const std::string& why);

  size_t size() const { return requests_.size() - unused_.size(); }
  bool any(size_t place) const { return !by_slice_[place].empty(); }
  // Since when somebody waits for the slice.
  Time since(size_t place) const { return since_[place]; }

 private:
  struct Wait {
    uint32_t request = 0;
    uint64_t version = 0;
  };
  enum class Where { here, before, later, nowhere };
  Where find(const Versioned& slice, uint64_t version, const Member& member) const;
  void refuse(const Peer& who, PeerId peer, uint64_t id, const wire::PullPart& part);
  uint32_t new_request(PeerId peer, uint64_t id, std::span<const wire::PullPart> parts);
  void enlist(uint32_t request, const Member& member, Time now);
  void answer(const Request& request);
  void answer_rows(const Request& request, std::span<const uint64_t> ids);
  void release(uint32_t request);

  Store& store_;
  Outbox& out_;
  const bool sync_;
  std::vector<std::vector<Wait>> by_slice_;
  std::vector<Time> since_;
  std::vector<Request> requests_;
  std::vector<uint32_t> unused_;
};

}  // namespace paddle
