// What became of the updates that this trainer has sent, slice by slice: which of its steps are on
// the shards, as far as it knows, and how many were lost with a pserver. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trainer/slice_layout.h"
#include "trainer/value_origins.h"
#include "wire/messages.h"

namespace paddle {

struct UpdateKind {
  bool get_lost = true;         // else a step that broke is computed again until it is complete
  bool repeat_steps = true;     // a step that some slices lack is computed again
  uint64_t steps_per_push = 1;  // at most
};

class SentUpdates {
 public:
  // `layout` outlives it.
  SentUpdates(const SliceLayout& layout, const UpdateKind& kind);

  // An update with the steps up to this one is on its way.
  void pushed(uint32_t slice, uint64_t step);
  // Values came; `answers`: also to the update on its way.
  void arrived(const wire::ValuesPart& values, bool answers);
  // Before the trainer joins a shard. Where the shard had lost its state it goes on with some
  // trainer's values: whatever was seen applied later than what they and this trainer's have in
  // common is gone, and what was not answered counts as gone. `there` is what the shards said of
  // each slice.
  void joining(size_t shard, uint64_t step, std::span<const wire::SliceState> there,
               const ShardValues& values);
  // The job goes on with `step`: what the shards have lost is counted.
  void joined(uint64_t step, std::span<const wire::SliceState> there);
  // The trainer goes on with `step`, although a shard may lack steps before it.
  void goes_on(uint64_t step);

  // Steps whose update is not in the slice, though the trainer goes on behind them: they went with
  // a pserver, or with the process that was this trainer before. Where a shard lost everything this
  // counts all that may be missing. By id, since the beginning.
  std::span<const uint64_t> lost() const { return lost_; }
  uint64_t dropped() const { return dropped_; }  // async: updates that were too old
  // The version of a slice on its shard, as this trainer knows it.
  uint64_t version(uint32_t slice) const { return slices_[slice].arrived; }
  // Steps of this trainer that may be in these values of the shard, where it does not know.
  uint64_t may_hold(size_t shard, const ShardValues& values) const;
  // Whether it has joined a shard, since this was asked last, whose values come only from processes
  // that it never joined: a process of this trainer that is gone may have pushed there.
  bool take_strange() { return std::exchange(strange_, false); }
  // Where the values that this trainer has of a shard come from.
  std::vector<wire::Origin> origins(size_t shard) const;

 private:
  struct Slice {
    uint64_t arrived = 0;   // version of the values that came last
    uint64_t included = 0;  // steps of this trainer in them, or counted as lost
    uint64_t pushed = 0;    // steps of this trainer, with the update on its way
    uint64_t answered = 0;  // steps of this trainer that the shard has acknowledged
    uint64_t made = 0;      // steps of this trainer that may be lost, at most
    bool joined = false;    // once
    ValueOrigins origins;
  };
  // Counts so many of the steps before `behind` as lost.
  void lose(uint32_t id, uint64_t steps, uint64_t behind);
  // A push with the steps up to `steps` is on the shard.
  void measure_push(const Slice& slice, uint64_t steps);
  // Returns how many steps are counted now, as there or as lost.
  uint64_t count_known(uint32_t id, uint64_t step, uint64_t last);

  const SliceLayout& layout_;
  const UpdateKind kind_;
  std::vector<Slice> slices_;
  std::vector<uint64_t> lost_;
  uint64_t dropped_ = 0;
  bool strange_ = false;
  uint64_t largest_push_ = 1;  // steps
};

}  // namespace paddle
