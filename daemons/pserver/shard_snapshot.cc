// Copies for snapshots, taken slice by slice at the step they belong to; the writing happens in
// another thread.
#include <algorithm>

#include "base/log.h"
#include "io/program_buffer.h"
#include "pserver/shard.h"

namespace paddle {
namespace {

// Where a trainer stands before `step`: after its push of the step before, or with that of the step
// itself, which may have come already.
std::optional<wire::LastPush> push_before(const std::optional<wire::LastPush>& p, uint64_t step) {
  if (!p || p->step < step || step == 0) return p;
  return wire::LastPush{step - 1, p->begin, p->begin};
}

}  // namespace

// A slice has a new version. In sync a snapshot is due at the same step on all slices and shards;
// otherwise versions are independent, and all is copied at one moment.
void Shard::snapshot_slice(const Slice& slice) {
  if (sync()) {
    if (!snapshots_->due(slice.version())) return;
    Building& to = building(slice.version());
    copy_slice(to, slice);
    if (to.slices_left == 0) finish_snapshot(to);
    return;
  }
  if (slice.version() < last_snapshot_ + snapshots_->period()) return;
  const uint64_t low = lowest_version();
  if (low >= last_snapshot_ + snapshots_->period()) snapshot_all(low);
}

void Shard::snapshot_all(uint64_t step) {
  Building& to = building(step);
  for (const Slice& s : store_->slices()) copy_slice(to, s);
  finish_snapshot(to);
}

// The snapshot of `step` that is being put together, begun where there is none.
Shard::Building& Shard::building(uint64_t step) {
  for (Building& b : building_)
    if (b.snapshot.step == step) return b;
  Building& b = building_.emplace_back();
  Snapshot& s = b.snapshot;
  b.slices_left = store_->slices().size();
  s.identity = *identity_;
  s.init = init_;
  s.configured_by = configured_by_;
  s.epoch = epoch_;
  s.step = step;
  s.program = to_flatbuffer(store_->program());
  s.variables = store_->variables();
  s.values.resize(s.variables.size());
  s.slices.resize(store_->slices().size());
  for (uint32_t t = 0; t < members_->count(); ++t) {
    const MemberState state = (*members_)[t].state;
    s.members.push_back({state == MemberState::finished || state == MemberState::gone,
                         sync() ? push_before(last_pushes_[t], step) : last_pushes_[t]});
  }
  return b;
}

void Shard::copy_slice(Building& to, const Slice& slice) {
  const auto copy = [&](const std::string& name) {
    for (size_t i = 0; i < to.snapshot.variables.size(); ++i)
      if (to.snapshot.variables[i].name == name && to.snapshot.values[i].empty())
        to.snapshot.values[i] = store_->value(i).clone();
  };
  copy(slice.info().name);
  for (const std::string& name : slice.state()) {
    const bool shared = store_->schedule().counter_at(name, 0).has_value();
    if (!shared) copy(name);
  }
  SnapshotSlice& s = to.snapshot.slices[slice.info().place];
  s = {slice.info(), slice.version(), {}};
  if (!sync())
    for (uint32_t t = 0; t < members_->count(); ++t) s.steps.push_back(slice.steps_of(t));
  --to.slices_left;
}

// What belongs to no slice is the same for all of them, or a count of updates.
void Shard::finish_snapshot(Building& done) {
  Snapshot& s = done.snapshot;
  for (size_t i = 0; i < s.values.size(); ++i) {
    if (s.values[i].empty()) s.values[i] = store_->value(i).clone();
    const auto count = store_->schedule().counter_at(s.variables[i].name, s.step);
    if (count) write_number(s.values[i], *count);
  }
  last_snapshot_ = s.step;
  Snapshot out = std::move(s);
  building_.remove_if([&](const Building& b) { return &b == &done; });
  snapshots_->write(std::move(out));
}

void Shard::on_written(uint64_t step, const std::string& problem) {
  if (problem.empty())
    log_detail(1, text("port ", port(), ": wrote the snapshot of step ", step));
  else
    note_error(text("there is no snapshot of step ", step, ": ", problem,
                    "; training goes on, and the one before stays"));
}

}  // namespace paddle
