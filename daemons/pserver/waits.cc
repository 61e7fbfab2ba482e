#include "pserver/waits.h"

#include <algorithm>

namespace paddle {

Waits::Waits(Store& store, Outbox& out, bool sync)
    : store_(store),
      out_(out),
      sync_(sync),
      by_slice_(store.parts().size()),
      since_(store.parts().size()) {}

Waits::Where Waits::find(const Versioned& slice, uint64_t version, const Member& member) const {
  const uint64_t now = slice.version();
  if (version == now || (version < now && !sync_)) return Where::here;
  if (version + 1 == now && slice.has_previous()) return Where::before;
  // Only a trainer that joins ahead of the others, as one that was dropped does, may ask for more
  // than the next version.
  const bool joins_there = version == member.first_round;
  if (version < now || (sync_ && version > now + 1 && !joins_there)) return Where::nowhere;
  return Where::later;
}

void Waits::refuse(const Peer& who, PeerId peer, uint64_t id, const wire::PullPart& part) {
  const Versioned& slice = *store_.part(part.slice);
  const uint64_t now = slice.version();
  out_.fail(peer, id, wire::FailureCode::unknown_version,
            text(who.name(), " asked for version ", part.version, " of '", slice.info().name,
                 "', which is at version ", now,
                 part.version < now ? " and keeps at most one before it" : ""));
}

uint32_t Waits::new_request(PeerId peer, uint64_t id, std::span<const wire::PullPart> parts) {
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
  r.ids.clear();
  return number;
}

void Waits::await(const Peer& who, PeerId peer, uint64_t id, std::span<const wire::PullPart> parts,
                  const Member& member, Time now) {
  const uint32_t number = new_request(peer, id, parts);
  Request& r = requests_[number];
  // In sync no slice changes before this trainer has pushed again, which it does after it has read
  // this answer; where no round waits for it, that does not hold.
  r.stays = sync_ && member.state == MemberState::joined;
  // Otherwise nothing is copied either, or a slow trainer would cost a copy of what it reads. An
  // element may then be newer than the version that the answer names, as it may be in a trainer,
  // which uses values while they arrive. A lowered update leaves the memory where it is.
  r.live = !sync_ && member.state == MemberState::joined;
  for (const wire::PullPart& part : parts) {
    const Where where = find(*store_.part(part.slice), part.version, member);
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
  enlist(number, member, now);
}

void Waits::enlist(uint32_t number, const Member& member, Time now) {
  unused_.pop_back();  // the number
  for (const wire::PullPart& part : requests_[number].parts) {
    const Versioned& slice = *store_.part(part.slice);
    if (find(slice, part.version, member) != Where::later) continue;
    const size_t place = slice.info().place;
    if (by_slice_[place].empty()) since_[place] = now;
    by_slice_[place].push_back({number, part.version});
  }
}

void Waits::await_rows(const Peer& who, PeerId peer, uint64_t id, const wire::PullPart& part,
                       std::span<const uint64_t> ids, const Member& member, Time now) {
  const Where where = part.version == wire::any_version
                          ? Where::here
                          : find(*store_.part(part.slice), part.version, member);
  if (where == Where::nowhere) return refuse(who, peer, id, part);
  const uint32_t number = new_request(peer, id, {&part, 1});
  Request& r = requests_[number];
  if (where != Where::later) {
    answer_rows(r, ids);
    r.peer = no_peer;
    return;
  }
  r.claim = ByteClaim(store_.budget());
  if (!r.claim.add(ids.size_bytes())) {
    r.peer = no_peer;
    return out_.fail(peer, id, wire::FailureCode::refused,
                     text("there is no memory for ", ids.size(), " ids that ", who.name(),
                          " asks for: use more pservers, or raise --memory_limit"));
  }
  r.ids.assign(ids.begin(), ids.end());
  r.missing = 1;
  enlist(number, member, now);
}

void Waits::answer(const Request& r) {
  if (!r.ids.empty()) return answer_rows(r, r.ids);
  bool stays = r.stays, live = r.live;
  out_.begin_values(r.peer, r.id, false);
  for (const wire::PullPart& part : r.parts) {
    const Versioned& v = *store_.part(part.slice);
    const bool before = sync_ && part.version + 1 == v.version() && v.has_previous();
    const uint64_t version = before ? v.version() - 1 : v.version();
    stays = stays && !before;  // the next gradient overwrites it
    live = live && v.lowered();
    const Slice* slice = store_.slice(part.slice);  // a push to a table is answered without rows
    out_.add_part({version, part.slice, 0}, slice == nullptr ? Bytes{}
                                            : before         ? slice->previous()
                                                             : slice->values());
  }
  out_.last().stays = stays;
  out_.last().live = live;
}

// The rows are gathered into memory of the outbox, which stays until they are sent or copied.
void Waits::answer_rows(const Request& r, std::span<const uint64_t> ids) {
  TablePart& table = *table_of(store_, r.parts[0].slice);
  const bool before = sync_ && r.parts[0].version + 1 == table.version() && table.has_previous();
  const std::span<std::byte> rows = out_.make_bulk(table.row_bytes(ids.size()));
  try {
    table.read(ids, before, rows.data());
  } catch (const Error& e) {
    return out_.fail(r.peer, r.id, wire::FailureCode::not_finite, e.what());
  }
  out_.begin_values(r.peer, r.id, false);
  out_.add_part({before ? table.version() - 1 : table.version(), r.parts[0].slice, 0}, rows);
}

void Waits::release(uint32_t request) {
  requests_[request].peer = no_peer;
  requests_[request].claim.clear();
  unused_.push_back(request);
}

void Waits::advanced(const Versioned& slice) {
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
      std::erase_if(by_slice_[store_.part(part.slice)->info().place],
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
