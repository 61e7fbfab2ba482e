#include "pserver/inbox.h"

#include <algorithm>
#include <cmath>

namespace paddle {

Inbox::Landing& Inbox::operator[](PeerId peer) {
  if (landings_.size() <= peer) landings_.resize(peer + 1);
  return landings_[peer];
}

bool Inbox::in_turn(const Landing& l) const {
  return !sync_ || std::all_of(l.parts.begin(), l.parts.end(), [&](const wire::PushPart& p) {
    return rounds_.in_turn(*store_.part(p.slice), l.trainer);
  });
}

// `may_use_pool`: nobody who came before waits for it.
bool Inbox::find_place(Landing& l, bool may_use_pool) {
  const bool turn = in_turn(l);
  if (sync_ && turn && l.slice != nullptr && rounds_.spare_free(*l.slice)) {
    l.data = rounds_.lend_spare(*l.slice, l.trainer).data();
    l.where = Landing::Where::spare;
    return true;
  }
  if (!may_use_pool) return false;
  l.buffer = l.rows ? rounds_.pool().acquire_rows(l.bytes) : rounds_.pool().acquire(l.bytes, turn);
  if (l.buffer == GradientPool::none) return false;
  l.data = rounds_.pool().data(l.buffer);
  l.where = Landing::Where::pool;
  return true;
}

LandingPlace Inbox::place(PeerId peer, uint32_t trainer, std::span<const wire::PushPart> parts,
                          uint64_t bulk) {
  Landing& l = (*this)[peer];
  l.trainer = trainer;
  l.bytes = static_cast<size_t>(bulk);
  l.slice = parts.size() == 1 ? store_.slice(parts[0].slice) : nullptr;
  l.rows = table_of(store_, parts[0].slice) != nullptr;
  l.parts.assign(parts.begin(), parts.end());
  // In the order of arrival, but a message in turn goes before those that are ahead of their turn.
  const bool waits = in_turn(l) ? std::any_of(held_.begin(), held_.end(),
                                              [&](PeerId p) { return in_turn(landings_[p]); })
                                : !held_.empty();
  if (find_place(l, !waits || l.rows)) return {LandingPlace::Kind::into, {l.data, l.bytes}};
  if (l.rows && in_turn(l)) {
    const std::string& name = store_.part(parts[0].slice)->info().name;
    l.verdict = {PushVerdict::Kind::fail, wire::FailureCode::refused,
                 text("there is no memory for ", l.bytes, " bytes of gradients of the table '",
                      name, "': use more pservers, or raise --memory_limit")};
    return {};
  }
  l.where = Landing::Where::held;
  held_.push_back(peer);
  return {LandingPlace::Kind::hold, {}};
}

void Inbox::landed(PeerId peer, size_t bytes) {
  if (peer >= landings_.size()) return;  // ids of a pull
  Landing& l = landings_[peer];
  if (l.slice == nullptr || l.data == nullptr) return;
  l.come += bytes;
  const size_t whole = l.come == l.bytes ? l.come : l.come / 8 * 8;  // elements
  const bool early = l.where == Landing::Where::spare && l.slice->early();
  if (early) {
    l.finite = l.finite && l.slice->make_early(l.seen, whole);
  } else {
    l.largest = std::max(l.largest, l.slice->largest(l.data + l.seen, whole - l.seen));
    l.finite = std::isfinite(l.largest);
  }
  l.seen = whole;
}

void Inbox::release(PeerId peer) {
  if (peer >= landings_.size()) return;
  Landing& l = landings_[peer];
  const auto where = std::exchange(l.where, Landing::Where::nowhere);
  if (where == Landing::Where::held) std::erase(held_, peer);
  if (where == Landing::Where::pool) {
    rounds_.pool().release(l.buffer);
    rounds_.buffer_freed();
  }
  // Whole ones were contributed, which takes the spare buffer back.
  if (where == Landing::Where::spare) rounds_.return_spare(*l.slice);
  l.verdict.reset();
  l.slice = nullptr;
  l.rows = false;
  l.buffer = GradientPool::none;
  l.data = nullptr;
  l.come = l.seen = 0;
  l.finite = true;
  l.largest = 0;
}

// In the order in which they came. A message in turn that finds no place stops later ones from
// taking the region that it needs; one ahead of its turn only those that are ahead as well.
void Inbox::serve_held() {
  if (!rounds_.take_moved() || held_.empty()) return;
  bool turn_blocked = false, ahead_blocked = false;
  std::erase_if(held_, [&](PeerId peer) {
    Landing& l = landings_[peer];
    const bool turn = in_turn(l);
    const bool may = turn ? !turn_blocked : !ahead_blocked && !turn_blocked;
    if (find_place(l, may || l.rows) || (l.rows && turn)) {  // the latter is refused
      out_.resume(peer);
      return true;
    }
    (turn ? turn_blocked : ahead_blocked) = true;
    return false;
  });
}

void Inbox::resume_all() {
  for (const PeerId peer : held_) {
    landings_[peer].where = Landing::Where::nowhere;
    landings_[peer].verdict.reset();
    out_.resume(peer);
  }
  held_.clear();
}

}  // namespace paddle
