#include "trainer/sent_updates.h"

#include <algorithm>

namespace paddle {

SentUpdates::SentUpdates(const SliceLayout& layout, const UpdateKind& kind)
    : layout_(layout), kind_(kind), slices_(layout.slices.size()), lost_(layout.slices.size()) {}

void SentUpdates::pushed(uint32_t slice, uint64_t step) {
  slices_[slice].pushed = std::max(slices_[slice].pushed, step + 1);
}

void SentUpdates::arrived(const wire::ValuesPart& values, bool answers) {
  Slice& s = slices_[values.slice];
  if (answers && s.pushed > s.answered) {
    largest_push_ = std::max(largest_push_, s.pushed - s.answered);
    s.answered = s.pushed;
  }
  s.arrived = values.version;
  s.included = s.answered;
  dropped_ += values.dropped;
}

uint64_t SentUpdates::pushed_to(size_t shard) const {
  uint64_t most = 0;
  for (size_t i = 0; i < slices_.size(); ++i)
    if (layout_.slices[i].shard == shard) most = std::max(most, slices_[i].pushed);
  return most;
}

void SentUpdates::joining(size_t shard, uint64_t step, std::span<const wire::SliceState> there,
                          uint64_t base) {
  const uint64_t from = std::max(step, pushed_to(shard));
  for (uint32_t id = 0; id < slices_.size(); ++id) {
    if (layout_.slices[id].shard != shard || there[id].last_step != wire::unknown_steps) continue;
    Slice& s = slices_[id];
    if (s.arrived > base) lost_[id] += std::min((s.arrived - base) * largest_push_, s.included);
    s.arrived = std::min(s.arrived, base);
    if (from > s.included) lost_[id] += from - s.included;
    s.answered = s.included = from;
  }
}

void SentUpdates::joined(uint64_t step, std::span<const wire::SliceState> there) {
  for (uint32_t id = 0; kind_.get_lost && id < slices_.size(); ++id) {
    const uint64_t last = there[id].last_step;
    if (last == wire::unknown_steps) continue;
    Slice& s = slices_[id];
    // A process that joins for the first time goes on behind what was pushed before it.
    const uint64_t had = joined_ ? s.answered : step;
    if (!joined_ && last > 0) largest_push_ = std::max(largest_push_, kind_.steps_per_push);
    s.answered = s.pushed = last;
    if (had > last) lost_[id] += had - last;
  }
  joined_ = true;
}

void SentUpdates::goes_on(uint64_t step) {
  if (!kind_.repeat_steps || !kind_.get_lost) return;
  for (uint32_t id = 0; id < slices_.size(); ++id) {
    Slice& s = slices_[id];
    if (step > s.answered) lost_[id] += step - s.answered;
    s.answered = std::max(s.answered, step);
  }
}

}  // namespace paddle
