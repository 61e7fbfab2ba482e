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
      pool_(store.pool()),
      rounds_(store.slices().size()) {
  lowest_ = ~uint64_t{0};
  for (const Slice& s : store.slices()) {
    find_turn(s, 0);
    lowest_ = std::min(lowest_, s.version());
    highest_ = std::max(highest_, s.version());
  }
  at_lowest_ =
      static_cast<size_t>(std::count_if(store.slices().begin(), store.slices().end(),
                                        [&](const Slice& s) { return s.version() == lowest_; }));
}

void Rounds::find_turn(const Slice& slice, size_t from) {
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

void Rounds::contribute(Slice& slice, Member& member, const std::byte* grad,
                        GradientPool::Handle buffer, Time now) {
  const size_t place = slice.info().place;
  Round& r = rounds_[place];
  if (slice.summed() == 0 && r.parked.empty()) r.begun = now;
  member.steps[place] = slice.version() + 1;
  if (grad == nullptr) {
    r.spare_lent = false;
    slice.begin_sum();
  } else if (member.id <= r.turn && (slice.summed() > 0 || !r.spare_lent)) {
    slice.add_to_sum(grad);
  } else {
    const auto at = std::find_if(r.parked.begin(), r.parked.end(),
                                 [&](const Parked& p) { return p.trainer > member.id; });
    r.parked.insert(at, {member.id, buffer, grad});
    pool_.add_user(buffer);
    leave_turn_region(slice);
  }
  if (grad == nullptr && r.sealed) {
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
void Rounds::leave_turn_region(const Slice& slice) {
  Round& r = rounds_[slice.info().place];
  for (Parked& p : r.parked) {
    if (p.trainer <= r.turn || !pool_.in_turn(p.buffer)) continue;
    const GradientPool::Handle beside = pool_.acquire_beside(slice.bytes());
    std::memcpy(pool_.data(beside), p.grad, slice.bytes());
    pool_.release(p.buffer);
    p.buffer = beside;
    p.grad = pool_.data(beside);
    moved_ = true;
  }
}

// Those who have joined since the round was sealed: as if they had come after it was closed.
void Rounds::drop_parked(Slice& slice) {
  Round& r = rounds_[slice.info().place];
  for (const Parked& p : r.parked) pool_.release(p.buffer);
  r.parked.clear();
}

void Rounds::add_parked(Slice& slice) {
  Round& r = rounds_[slice.info().place];
  size_t added = 0;
  for (; added < r.parked.size() && r.parked[added].trainer < r.turn; ++added) {
    if (slice.summed() == 0 && r.spare_lent) break;  // one that is landing there comes first
    slice.add_to_sum(r.parked[added].grad);
    pool_.release(r.parked[added].buffer);
  }
  if (added == 0) return;
  r.parked.erase(r.parked.begin(), r.parked.begin() + static_cast<std::ptrdiff_t>(added));
  moved_ = true;
}

void Rounds::close(Slice& slice) {
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
  for (Slice& s : store_.slices()) {
    find_turn(s, 0);
    leave_turn_region(s);
    add_parked(s);
    close(s);
  }
}

bool Rounds::apply(Slice& slice, Member& member, uint64_t steps, const Gradient& grad, bool geo) {
  maker_.before_change(slice);
  if (!geo) store_.schedule().run(slice.version());
  uint64_t& done = member.steps[slice.info().place];
  const uint64_t before = std::exchange(done, steps);
  if (!(geo ? slice.add(grad.data, grad.largest) : slice.apply(grad.data, grad.largest))) {
    done = before;
    return false;
  }
  advanced(slice);
  return true;
}

// The lowest version is known without a look at all slices but once per step.
void Rounds::advanced(const Slice& slice) {
  highest_ = std::max(highest_, slice.version());
  if (slice.version() - 1 == lowest_ && --at_lowest_ == 0) {
    lowest_ = slice.version();
    for (const Slice& s : store_.slices()) lowest_ = std::min(lowest_, s.version());
    for (const Slice& s : store_.slices()) at_lowest_ += s.version() == lowest_ ? 1 : 0;
  }
  waits_.advanced(slice);
  maker_.advanced(slice, lowest_);
}

std::vector<uint32_t> Rounds::missing(const Slice& slice) const {
  std::vector<uint32_t> out;
  for (const Member& m : members_.all())
    if (!m.contributed(slice.info().place, slice.version()) &&
        members_.required(m, slice.version()))
      out.push_back(m.id);
  return out;
}

bool Rounds::open(const Slice& slice) const {
  const size_t place = slice.info().place;
  return slice.summed() > 0 || !rounds_[place].parked.empty() || waits_.any(place);
}

bool Rounds::abandoned(const Slice& slice) const {
  const Round& r = rounds_[slice.info().place];
  return r.turn == nobody && slice.summed() == 0 && r.parked.empty() && !r.spare_lent;
}

Time Rounds::begun(const Slice& slice) const {
  const size_t place = slice.info().place;
  const Round& r = rounds_[place];
  return slice.summed() > 0 || !r.parked.empty() ? r.begun : waits_.since(place);
}

}  // namespace paddle
