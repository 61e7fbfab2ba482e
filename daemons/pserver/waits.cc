#include "pserver/waits.h"

#include <algorithm>

namespace paddle {

Waits::Waits(Store& store, Outbox& out, bool sync)
    : store_(store),
      out_(out),
      sync_(sync),
      by_slice_(store.slices().size()),
      since_(store.slices().size()) {}

Waits::Where Waits::find(const Slice& slice, uint64_t version, const Member& member) const {
  const uint64_t now = slice.version();
  if (version == now || (version < now && !sync_)) return Where::here;
  if (version + 1 == now && !slice.previous().empty()) return Where::before;
  // Only a trainer that joins ahead of the others, as one that was dropped does, may ask for more
  // than the next version.
  const bool joins_there = version == member.first_round;
  if (version < now || (sync_ && version > now + 1 && !joins_there)) return Where::nowhere;
  return Where::later;
}

void Waits::refuse(const Peer& who, PeerId peer, uint64_t id, const wire::PullPart& part) {
  const Slice& slice = *store_.slice(part.slice);
  const uint64_t now = slice.version();
  out_.fail(peer, id, wire::FailureCode::unknown_version,
            text(who.name(), " asked for version ", part.version, " of '", slice.info().name,
                 "', which is at version ", now,
                 part.version < now ? " and keeps at most one before it" : ""));
}

void Waits::await(const Peer& who, PeerId peer, uint64_t id, std::span<const wire::PullPart> parts,
                  const Member& member, Time now) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const uint32_t number = unused_.back();
  Request& r = requests_[number];
  r.peer = peer;
  r.id = id;
  r.parts.assign(parts.begin(), parts.end());
  r.missing = 0;
  // In sync no slice changes before this trainer has pushed again, which it does after it has read
  // this answer; where no round waits for it, that does not hold.
  r.stays = sync_ && member.state == MemberState::joined;
  // Otherwise nothing is copied either, or a slow trainer would cost a copy of what it reads. An
  // element may then be newer than the version that the answer names, as it may be in a trainer,
  // which uses values while they arrive. A lowered update leaves the memory where it is.
  r.live = !sync_ && member.state == MemberState::joined;
  for (const wire::PullPart& part : parts) {
    const Where where = find(*store_.slice(part.slice), part.version, member);
    if (where == Where::later) ++r.missing;
    if (where != Where::nowhere) continue;
    r.peer = no_peer;
    return refuse(who, peer, id, part);
  }
  if (r.missing == 0) {
    answer(r);
    r.peer = no_peer;
    return;
  }
  unused_.pop_back();
  for (const wire::PullPart& part : parts) {
    const Slice& slice = *store_.slice(part.slice);
    if (find(slice, part.version, member) != Where::later) continue;
    const size_t place = slice.info().place;
    if (by_slice_[place].empty()) since_[place] = now;
    by_slice_[place].push_back({number, part.version});
  }
}

void Waits::answer(const Request& r) {
  bool stays = r.stays, live = r.live;
  out_.begin_values(r.peer, r.id, false);
  for (const wire::PullPart& part : r.parts) {
    const Slice& slice = *store_.slice(part.slice);
    const bool before = sync_ && part.version + 1 == slice.version() && !slice.previous().empty();
    stays = stays && !before;  // the next gradient overwrites it
    live = live && slice.lowered();
    out_.add_part({before ? slice.version() - 1 : slice.version(), part.slice, 0},
                  before ? slice.previous() : slice.values());
  }
  out_.last().stays = stays;
  out_.last().live = live;
}

void Waits::release(uint32_t request) {
  requests_[request].peer = no_peer;
  unused_.push_back(request);
}

void Waits::advanced(const Slice& slice) {
  auto& waits = by_slice_[slice.info().place];
  if (waits.empty()) return;
  size_t kept = 0;
  for (const Wait w : waits) {
    if (w.version > slice.version()) {
      waits[kept++] = w;
      continue;
    }
    Request& r = requests_[w.request];
    if (--r.missing > 0) continue;
    answer(r);
    release(w.request);
  }
  waits.resize(kept);
}

void Waits::forget(PeerId peer) {
  for (uint32_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i].peer != peer) continue;
    for (const wire::PullPart& part : requests_[i].parts)
      std::erase_if(by_slice_[store_.slice(part.slice)->info().place],
                    [&](const Wait& w) { return w.request == i; });
    release(i);
  }
}

void Waits::fail_all(wire::FailureCode code, const std::string& why) {
  for (auto& waits : by_slice_) waits.clear();
  for (uint32_t i = 0; i < requests_.size(); ++i)
    if (requests_[i].peer != no_peer) {
      out_.fail(requests_[i].peer, requests_[i].id, code, why);
      release(i);
    }
}

}  // namespace paddle
