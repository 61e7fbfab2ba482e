#include "pserver/rounds.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace paddle {

Rounds::Rounds(Store& store, Members& members, Waits& waits, SnapshotMaker& maker)
    : store_(store),
      members_(members),
      waits_(waits),
      maker_(maker),
      pool_(store.pool(), store.budget()),
      rounds_(store.parts().size()) {
  lowest_ = ~uint64_t{0};
  for (const Versioned* s : store.parts()) {
    find_turn(*s, 0);
    lowest_ = std::min(lowest_, s->version());
    highest_ = std::max(highest_, s->version());
  }
  at_lowest_ = static_cast<size_t>(
      std::count_if(store.parts().begin(), store.parts().end(),
                    [&](const Versioned* s) { return s->version() == lowest_; }));
}

void Rounds::find_turn(const Versioned& slice, size_t from) {
  Round& r = rounds_[slice.info().place];
  if (r.sealed) return;
  const std::vector<Member>& all = members_.all();
  const uint64_t version = slice.version();
  for (size_t i = from; i < all.size(); ++i)
    if (!all[i].contributed(slice.info().place, version) && members_.required(all[i], version)) {
      r.turn = all[i].id;
      r.turn_at = i;
      return;
    }
  r.turn = nobody;
  r.turn_at = all.size();
}

std::span<std::byte> Rounds::lend_spare(Slice& slice, uint32_t trainer) {
  assert(spare_free(slice));
  Round& r = rounds_[slice.info().place];
  r.spare_lent = true;
  const std::span<std::byte> place = slice.take_spare();
  r.sealed = may_seal(slice, trainer);
  if (r.sealed) slice.begin_early();
  return place;
}

// Others who are required would have to be added to the gradient before it is used.
bool Rounds::may_seal(const Slice& slice, uint32_t trainer) {
  const Round& r = rounds_[slice.info().place];
  if (!slice.can_make_early() || r.turn != trainer || !r.parked.empty()) return false;
  const std::vector<Member>& all = members_.all();
  for (size_t i = r.turn_at + 1; i < all.size(); ++i)
    if (members_.required(all[i], slice.version())) return false;
  try {
    store_.schedule().run(slice.version());
  } catch (const Error&) {  // close() reports it
    return false;
  }
  return true;
}

void Rounds::return_spare(Slice& slice) {
  Round& r = rounds_[slice.info().place];
  r.spare_lent = false;
  moved_ = true;
  if (std::exchange(r.sealed, false)) find_turn(slice, 0);
  add_parked(slice);
  close(slice);
}

void Rounds::contribute(Versioned& slice, Member& member, const Gradient& grad,
                        GradientPool::Handle buffer, Time now) {
  const size_t place = slice.info().place;
  Round& r = rounds_[place];
  if (slice.summed() == 0 && r.parked.empty()) r.begun = now;
  member.steps[place] = slice.version() + 1;
  const bool in_spare = grad.data == nullptr;
  if (in_spare) {
    r.spare_lent = false;
    store_.slice(slice.info().id)->begin_sum();
  } else if (member.id <= r.turn && (slice.summed() > 0 || !r.spare_lent)) {
    slice.contribute(grad);
  } else {
    const auto at = std::find_if(r.parked.begin(), r.parked.end(),
                                 [&](const Parked& p) { return p.trainer > member.id; });
    r.parked.insert(at, {member.id, buffer, grad});
    pool_.add_user(buffer);
    leave_turn_region(slice);
  }
  if (in_spare && r.sealed) {
    r.turn = nobody;
    drop_parked(slice);
    moved_ = true;
  } else if (member.id == r.turn) {
    find_turn(slice, r.turn_at + 1);
    moved_ = true;
  }
  add_parked(slice);
}

// A gradient was in turn when it landed, and one with a lower id has joined since: that one's needs
// the region of those in turn.
void Rounds::leave_turn_region(const Versioned& slice) {
  Round& r = rounds_[slice.info().place];
  for (Parked& p : r.parked) {
    if (p.trainer <= r.turn || !pool_.in_turn(p.buffer)) continue;
    const size_t bytes = *slice.gradient_bytes(p.grad.rows);
    const GradientPool::Handle beside = pool_.acquire_beside(bytes);
    std::memcpy(pool_.data(beside), p.grad.data, bytes);
    pool_.release(p.buffer);
    p.buffer = beside;
    p.grad.data = pool_.data(beside);
    moved_ = true;
  }
}

// Those who have joined since the round was sealed: as if they had come after it was closed.
void Rounds::drop_parked(const Versioned& slice) {
  Round& r = rounds_[slice.info().place];
  for (const Parked& p : r.parked) pool_.release(p.buffer);
  r.parked.clear();
}

void Rounds::add_parked(Versioned& slice) {
  Round& r = rounds_[slice.info().place];
  size_t added = 0;
  for (; added < r.parked.size() && r.parked[added].trainer < r.turn; ++added) {
    if (slice.summed() == 0 && r.spare_lent) break;  // one that is landing there comes first
    slice.contribute(r.parked[added].grad);
    pool_.release(r.parked[added].buffer);
  }
  if (added == 0) return;
  r.parked.erase(r.parked.begin(), r.parked.begin() + static_cast<std::ptrdiff_t>(added));
  moved_ = true;
}

void Rounds::close(Versioned& slice) {
  Round& r = rounds_[slice.info().place];
  if (r.turn != nobody || slice.summed() == 0 || !r.parked.empty()) return;
  if (maker_.must_wait(slice.version() + 1)) return;
  store_.schedule().run(slice.version());
  maker_.before_change(slice);
  slice.close_round();
  r.sealed = false;
  find_turn(slice, 0);
  moved_ = true;
  advanced(slice);
}

void Rounds::members_changed() {
  moved_ = true;
  for (Versioned* s : store_.parts()) {
    find_turn(*s, 0);
    leave_turn_region(*s);
    add_parked(*s);
    close(*s);
  }
}

bool Rounds::apply(Versioned& slice, Member& member, uint64_t steps, const Gradient& grad,
                   bool geo) {
  maker_.before_change(slice);
  if (!geo) store_.schedule().run(slice.version());
  uint64_t& done = member.steps[slice.info().place];
  const uint64_t before = std::exchange(done, steps);
  if (!slice.update(grad, geo)) {
    done = before;
    return false;
  }
  advanced(slice);
  return true;
}

// The lowest version is known without a look at all slices but once per step.
void Rounds::advanced(const Versioned& slice) {
  highest_ = std::max(highest_, slice.version());
  if (slice.version() - 1 == lowest_ && --at_lowest_ == 0) {
    lowest_ = slice.version();
    for (const Versioned* s : store_.parts()) lowest_ = std::min(lowest_, s->version());
    for (const Versioned* s : store_.parts()) at_lowest_ += s->version() == lowest_ ? 1 : 0;
  }
  waits_.advanced(slice);
  maker_.advanced(slice, lowest_);
}

std::vector<uint32_t> Rounds::missing(const Versioned& slice) const {
  std::vector<uint32_t> out;
  for (const Member& m : members_.all())
    if (!m.contributed(slice.info().place, slice.version()) &&
        members_.required(m, slice.version()))
      out.push_back(m.id);
  return out;
}

bool Rounds::open(const Versioned& slice) const {
  const size_t place = slice.info().place;
  return slice.summed() > 0 || !rounds_[place].parked.empty() || waits_.any(place);
}

bool Rounds::abandoned(const Versioned& slice) const {
  const Round& r = rounds_[slice.info().place];
  return r.turn == nobody && slice.summed() == 0 && r.parked.empty() && !r.spare_lent;
}

Time Rounds::begun(const Versioned& slice) const {
  const size_t place = slice.info().place;
  const Round& r = rounds_[place];
  return slice.summed() > 0 || !r.parked.empty() ? r.begun : waits_.since(place);
}

}  // namespace paddle
